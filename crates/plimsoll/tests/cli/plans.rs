//! Plans of a lab: what is refused before anything starts, with file and line, and what a dry run says.

use crate::harness::{Done, run};
use plimsoll_testkit::servers;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A home with plans in it, where nothing may start.
struct Desk {
    home: TempDir,
    server: PathBuf,
}

impl Desk {
    fn on(server: Option<PathBuf>) -> Option<Desk> {
        Some(Desk { home: servers::home(), server: server? })
    }

    /// The plan: a small workload in the first seven lines, then `rest`, which `[server]` begins.
    fn plan(&self, rest: &str) -> PathBuf {
        let path = self.home.path().join("plan.toml");
        let head = "name = \"desk\"\n[workload]\nkind = \"oltp_read_write\"\ntable_size = 1000\n[server]\n# build: --server\n\n";
        fs::write(&path, head.to_owned() + rest).expect("the home can be written");
        path
    }

    fn lab(&self, plan: &Path, options: &str) -> Done {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), self.home.path());
        command.arg("lab").arg(plan).arg("--server").arg(&self.server).args(options.split_whitespace());
        run(command)
    }

    /// Whatever was said, nothing was made but the plan and what lies beside it.
    fn is_untouched(&self) {
        for made in ["servers", "recordings", "datasets", "places", "lanes"] {
            assert!(!self.home.path().join(made).exists(), "{made}");
        }
    }
}

/// A plan after its head, the line of the mistake, and what the message has to say. The head has 7 lines.
type Mistake = (&'static str, usize, &'static [&'static str]);

fn all_are_refused(desk: &Desk, mistakes: &[Mistake]) {
    for (rest, line, texts) in mistakes {
        let plan = desk.plan(rest);
        let done = desk.lab(&plan, "");
        let place = format!("plan.toml, line {line}: ");
        assert!(done.err.contains(&place), "{place} is not in: {done}");
        done.refuses(2, texts).in_one_message();
        desk.is_untouched();
    }
}

#[test]
fn what_the_machine_does_not_have_is_refused_with_its_line() {
    let Some(desk) = Desk::on(servers::mariadb()) else { return };
    fs::write(desk.home.path().join("file"), "").expect("the home can be written");
    all_are_refused(
        &desk,
        &[
            ("config.innodb_bufer_pool_size = \"64M\"", 8, &["innodb_bufer_pool_size", "innodb_buffer_pool_size"]),
            ("config.innodb_buffer_pool_size = \"900T\"", 8, &["900T", "memory of this machine"]),
            ("memory = \"900T\"", 8, &["memory", "this machine"]),
            ("cpus = [4095]", 8, &["CPU 4095", "accepted"]),
            ("client_cpus = [4095]", 8, &["client_cpus", "CPU 4095"]),
            ("datadir = \"/nonexistent\"", 8, &["datadir", "/nonexistent", "accepted"]),
            ("datadir = \"/etc/passwd\"", 8, &["/etc/passwd", "not a directory"]),
            ("datadir = \"/proc\"", 8, &["/proc"]),
            ("layout.redo = \"/nonexistent\"", 8, &["layout.redo", "/nonexistent"]),
            ("layout.doublewrite = \"/tmp\"", 8, &["layout.doublewrite", "innodb_doublewrite_dir"]),
            ("layout.tables.stock = \"/tmp\"", 8, &["no table `stock`", "sbtest1"]),
            ("lane = \"zfs\"", 8, &["lane", "zfs", "xfs-16k"]),
            ("[[variant]]\nname = \"a\"\nworkload.kind = \"tpch\"", 10, &["tpch", "tpcc"]),
            ("[[variant]]\nname = \"a\"\nworkload.tables = 0", 10, &["tables", "'0'"]),
            ("[[variant]]\nname = \"a\"\nworkload.dataset = \"mine\"", 10, &["no dataset `mine`", "datasets save"]),
            ("[[variant]]\nname = \"a\"\nworkload.table_size = 100000000000", 10, &["table-size"]),
            ("config.report_password = \"x\"", 8, &["config.report_password", "secret", "recordings"]),
            ("[[rung]]\nname = \"a\"\nload.connections = 4", 10, &["load.connections", "[load]"]),
            ("env.BACKUP_PASSWORD = \"x\"", 8, &["env.BACKUP_PASSWORD", "secret", "recorded"]),
            ("[[rung]]\nname = \"a\"\nenv.API_TOKEN = \"x\"", 10, &["env.API_TOKEN", "recorded"]),
            ("[[rung]]\nname = \"a\"\nconfig = { innodb_nothing = 1 }", 10, &["innodb_nothing", "no such setting"]),
            ("[[rung]]\nname = \"a\"\nconfig = { innodb_buffer_pool_size = \"900T\" }", 10, &["900T"]),
        ],
    );
}

#[test]
fn parameters_of_storage_trials_are_looked_at_before_anything_starts() {
    let home = servers::home();
    let plan = home.path().join("io.toml");
    for (line, texts) in [
        ("probes = \"17,x\"", ["probes", "1,4"]),
        ("probes = 99", ["no probe 99", "17"]),
        ("suite = \"fast\"", ["`fast`", "quick, full"]),
        ("steady = \"perhaps\"", ["steady", "true or false"]),
        ("size = \"much\"", ["size", "much"]),
        ("threads = 3", ["no parameter `threads`", "suite, probes"]),
    ] {
        fs::write(&plan, format!("name = \"io\"\n[workload]\nkind = \"io\"\n{line}\n"))
            .expect("the home can be written");
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.arg("lab").arg(&plan);
        run(command).refuses(2, &[&["io.toml, line 4: "], &texts[..]].concat()).in_one_message();
        assert!(!home.path().join("recordings").exists(), "{line}");
    }
}

#[test]
fn data_that_would_fill_the_disk_are_refused() {
    let (Some(disk), Some(desk)) = (servers::tmpfs(64 << 20), Desk::on(servers::mariadb())) else { return };
    let plan = desk.plan(&format!("datadir = \"{}\"", disk.path().display()));
    desk.lab(&plan, "").refuses(2, &["plan.toml, line 8", "about", "MB free"]).in_one_message();
    assert_eq!(fs::read_dir(disk.path()).expect("it is mounted").count(), 0, "nothing was made");
    desk.is_untouched();
}

#[test]
fn commands_and_prompts_need_leave_and_a_person() {
    let Some(desk) = Desk::on(servers::mariadb()) else { return };
    let commands: &[Mistake] = &[
        ("before = \"touch made\"", 8, &["before", "--allow-commands"]),
        ("[[variant]]\nname = \"a\"\nafter = [\"touch made\"]", 10, &["after", "`a`", "--allow-commands"]),
        ("[[rung]]\nname = \"r\"\nbefore = \"touch made\"", 10, &["rung `r`", "--allow-commands"]),
        ("[[collector]]\nname = \"array\"\ncommand = \"touch made\"", 8, &["collector `array`", "--allow-commands"]),
        ("before = { prompt = \"turn the key\" }", 8, &["waits for a person", "terminal"]),
    ];
    all_are_refused(&desk, commands);
    all_are_refused(
        &desk,
        &[("[trials]\nrestore = { commands = [\"touch made\"] }", 9, &["restore", "--allow-commands"])],
    );
    let plan = desk.plan("[[variant]]\nname = \"a\"\nbuild = \"/bin/true\"");
    let texts = ["plan.toml, line 10: ", "/bin/true", "not a MySQL-family server"];
    desk.lab(&plan, "--allow-commands").refuses(2, &texts).in_one_message();
    let plan = desk.plan("before = { prompt = \"turn the key\" }");
    desk.lab(&plan, "--allow-commands").refuses(2, &["waits for a person"]);
    desk.is_untouched();
}

#[test]
fn a_dry_run_lists_commands_and_prompts_without_leave_or_a_person() {
    let Some(desk) = Desk::on(servers::mariadb()) else { return };
    let plan = desk.plan(
        "before = [\"touch made\", { prompt = \"turn the key\" }]\n\
         [trials]\nrestore = { commands = [\"zfs rollback\"] }\n\
         [[collector]]\nname = \"array\"\ncommand = \"read-array\"\n",
    );
    let done = desk.lab(&plan, "--dry-run").exits(0);
    for text in ["line 8: `before` of `base` runs", "touch made", "turn the key", "line 10: `restore`", "read-array"] {
        assert!(done.out.contains(text), "`{text}` is not in: {done}");
    }
    let found = desk.lab(&plan, "--dry-run --json").json();
    assert_eq!(found["actions"].as_array().map(Vec::len), Some(4), "{found}");
    desk.is_untouched();
}

#[test]
fn a_way_to_restore_that_the_file_system_does_not_have_is_refused() {
    let (Some(disk), Some(desk)) = (servers::tmpfs(1 << 30), Desk::on(servers::mariadb())) else { return };
    for method in ["reflink", "btrfs-snapshot"] {
        let path = disk.path().display();
        let plan = desk.plan(&format!("datadir = \"{path}\"\n[trials]\nrestore = \"{method}\""));
        desk.lab(&plan, "").refuses(2, &["plan.toml, line 10", method, "accepted is \"snapshot\""]).in_one_message();
    }
    assert_eq!(fs::read_dir(disk.path()).expect("it is mounted").count(), 0, "nothing was made");
    let plan = desk.plan("lane = \"ext4\"\n[trials]\nrestore = \"reflink\"");
    desk.lab(&plan, "").refuses(2, &["plan.toml, line 10", "the lane ext4", "reflink"]).in_one_message();
    desk.is_untouched();
}

#[test]
fn secrets_of_an_option_file_stay_out_of_the_plan() {
    let Some(desk) = Desk::on(servers::mariadb()) else { return };
    fs::write(desk.home.path().join("old.cnf"), "[mysqld]\nreport_password = hunter2\nkey_buffer_size = 16M\n")
        .expect("the home can be written");
    let plan = desk.plan("config_file = \"old.cnf\"");
    let done = desk.lab(&plan, "--dry-run").exits(0);
    assert!(!done.out.contains("hunter2"), "{done}");
    for text in ["old.cnf, line 2: report_password: its name says that this is a secret", "key_buffer_size", "16M"] {
        assert!(done.out.contains(text), "`{text}` is not in: {done}");
    }
}

#[test]
fn a_dry_run_says_every_trial_and_every_setting_and_starts_nothing() {
    for server in [servers::mariadb(), servers::mysql()] {
        let Some(desk) = Desk::on(server) else { continue };
        fs::write(desk.home.path().join("old.cnf"), "[mysqld]\nquery_cache_type = 1\nmax_connections = 77\n")
            .expect("the home can be written");
        let plan = desk.plan(
            "config_file = \"old.cnf\"\n\
             config.innodb_io_capacity = 400\n\
             [load]\nconnections = [2, 4]\n\
             [trials]\nrounds = 2\nmeasure = \"3s\"\nseed = 5\n\
             [[variant]]\nname = \"safe\"\n\
             [[variant]]\nname = \"fast\"\nconfig = { innodb_flush_log_at_trx_commit = 2 }\n",
        );
        let done = desk.lab(&plan, "--dry-run").exits(0);
        for text in [
            "8 trials",
            "old.cnf, line 3",
            "plan.toml, line 9",
            "plan.toml, line 20",
            "d1: loses the last second",
            "innodb_doublewrite",
            "nothing was started",
        ] {
            assert!(done.out.contains(text), "`{text}` is not in: {done}");
        }
        let found = desk.lab(&plan, "--dry-run --json").json();
        let trials = found["trials"].as_array().expect("a list");
        assert_eq!((trials.len(), &found["estimate"]["trials"]), (8, &8.into()), "{found}");
        assert_eq!(trials.iter().filter(|trial| trial["variant"] == "fast" && trial["round"] == 2).count(), 2);
        let settings = found["variants"][1]["settings"].as_array().expect("a list");
        let of = |name: &str| settings.iter().find(|setting| setting["name"] == name).expect(name);
        assert_eq!(of("innodb_flush_log_at_trx_commit")["class"], "d1");
        assert_eq!(of("innodb_buffer_pool_size")["origin"], "plimsoll");
        assert_eq!(of("max_connections")["value"], "77");
        desk.is_untouched();
    }
}

#[test]
fn a_dry_run_of_a_ladder_says_which_rungs_will_not_be_tried() {
    let Some(desk) = Desk::on(servers::mariadb()) else { return };
    let plan = desk.plan(
        "[[rung]]\nname = \"pool\"\nconfig = { innodb_buffer_pool_size = \"256M\" }\n\
         [[rung]]\nname = \"unsafe\"\nconfig = { innodb_doublewrite = \"OFF\" }\n\
         [[rung]]\nname = \"gone\"\nconfig = { innodb_support_xa = 1 }\n",
    );
    let done = desk.lab(&plan, "--dry-run").exits(0);
    for text in ["up to", "rung pool\n", "rung unsafe: refused for safety", "d2", "rung gone: removed on this server"] {
        assert!(done.out.contains(text), "`{text}` is not in: {done}");
    }
    desk.is_untouched();
}

#[test]
fn wrong_words_are_refused() {
    let home = servers::home();
    let lab = |line: &str| {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.arg("lab").args(line.split_whitespace());
        run(command)
    };
    lab("/nonexistent.toml").refuses(2, &["/nonexistent.toml"]).in_one_message();
    lab("--resume nothing-of-this-name").refuses(2, &["nothing-of-this-name"]).in_one_message();
    for (line, text) in [
        ("", "PLAN.toml"),
        ("plan.toml --resume x", "--resume"),
        ("--resume x --preset small", "--preset"),
        ("plan.toml --threads 0", "threads"),
    ] {
        lab(line).refuses(2, &[text]);
    }
}
