//! What a stranger's plan may do without permission, and what needs it: programs, environment, settings, and to whom it
//! has the user's password sent.

use crate::harness::{Done, Lab, run};
use plimsoll_host::facts::HostFacts;
use plimsoll_plan::Plan;
use plimsoll_plan::knowledge::allowed;
use plimsoll_record::Manifest;
use plimsoll_testkit::programs::write_script;
use plimsoll_testkit::servers;
use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const WORKLOAD: &str = "name = \"a\"\n[workload]\nkind = \"oltp_read_write\"\ntable_size = 1000\n";

/// A home with a plan, and a program beside it that writes down that it was run, and then is a server's.
struct Stranger {
    home: TempDir,
}

impl Stranger {
    fn new() -> Stranger {
        let stranger = Stranger { home: servers::home() };
        let server = servers::mariadb().map_or_else(|| "/bin/true".to_owned(), |path| path.display().to_string());
        stranger.program(&format!("echo \"$@\" >>'{}'; exec '{server}' \"$@\"", stranger.ran().display()));
        stranger
    }

    fn program(&self, script: &str) {
        write_script(&self.evil(), &format!("#!/bin/sh\n{script}\n"));
    }

    fn evil(&self) -> PathBuf {
        self.home.path().join("mysqld")
    }

    fn ran(&self) -> PathBuf {
        self.home.path().join("ran")
    }

    /// How the program was called, a line each.
    fn calls(&self) -> String {
        fs::read_to_string(self.ran()).unwrap_or_default()
    }

    /// Runs `plimsoll lab` in the home on a plan of a workload in four lines and `rest`.
    fn lab(&self, rest: &str, options: &str) -> Done {
        fs::write(self.home.path().join("plan.toml"), format!("{WORKLOAD}{rest}")).expect("the home can be written");
        self.says(&format!("plan.toml {options}"), &[])
    }

    fn says(&self, line: &str, environment: &[(&str, &str)]) -> Done {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), self.home.path());
        command.arg("lab").args(line.split_whitespace()).current_dir(self.home.path());
        command.envs(environment.iter().copied());
        run(command)
    }

    /// Nothing was begun.
    fn is_untouched(&self) {
        for made in ["servers", "recordings", "datasets", "places", "lanes"] {
            assert!(!self.home.path().join(made).exists(), "{made}");
        }
    }
}

/// All that [`EVERYTHING`] asks for, in its order.
const ASKED: [&str; 12] = [
    "plan.toml, line 11: collector `count` runs with `sh -c`: touch ran",
    "plan.toml, line 6: `build` of `base` runs as a server this program, which --server does not name: ./mysqld",
    "plan.toml, line 7: `env` of `base` sets in the environment of a server: LD_PRELOAD=./evil.so",
    "old.cnf, line 2: the server gets a setting that may load code or name a path: plugin_load_add = evil.so",
    "old.cnf, line 3: the server gets a setting that may load code or name a path: general_log_file = /etc/profile",
    "plan.toml, line 9: the server gets a setting that may load code or name a path: plugin_dir = /tmp",
    "plan.toml, line 9: the server gets a setting that may load code or name a path: innodb_buffer_pool_filename = x",
    "plan.toml, line 10: `before` of `base` runs with `sh -c`: touch ran",
    "plan.toml, line 16: `build` of rung `r` runs as a server this program, which --server does not name: ./other",
    "plan.toml, line 17: `env` of rung `r` sets in the environment of a server: PATH=.",
    "plan.toml, line 18: the server gets a setting that may load code or name a path: wsrep_notify_cmd = touch ran",
    "plan.toml, line 19: the server gets a setting that may load code or name a path: init_file = x.sql",
];

/// A plan with everything that needs leave, and much that does not.
const EVERYTHING: &str = "[server]
build = \"./mysqld\"
env = { LD_PRELOAD = \"./evil.so\", MALLOC_ARENA_MAX = 2 }
config_file = \"old.cnf\"
config = { plugin_dir = \"/tmp\", innodb_buffer_pool_filename = \"x\", innodb_io_capacity = 5 }
before = \"touch ran\"
[[collector]]
name = \"count\"
command = \"touch ran\"
[[rung]]
name = \"r\"
build = \"./other\"
env.PATH = \".\"
config.wsrep_notify_cmd = \"touch ran\"
config.loose-init-file = \"x.sql\"
config.innodb_doublewrite = \"OFF\"
";

fn with_everything() -> (Stranger, String) {
    let stranger = Stranger::new();
    let old = "[mysqld]\nplugin-load-add = evil.so\nGeneral_Log-File = /etc/profile\nport = 1\nkey_buffer_size = 16M\n";
    fs::write(stranger.home.path().join("old.cnf"), old).expect("the home can be written");
    // A hidden `loose` in a plan is a mistake of its own.
    (stranger, EVERYTHING.replace("loose-init-file", "Init-File"))
}

#[test]
fn everything_that_needs_permission_is_named_with_its_line_before_anything_starts() {
    let (stranger, plan) = with_everything();
    let done = stranger.lab(&plan, "").refuses(2, &["the plan wants 12 things", "--allow-commands"]).in_one_message();
    let told: Vec<&str> = done.err.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(told, ASKED, "{done}");
    assert_eq!(stranger.calls(), "");
    stranger.is_untouched();
}

#[test]
fn a_dry_run_runs_nothing_of_the_plans_with_leave_or_without() {
    let (stranger, plan) = with_everything();
    for leave in ["--dry-run", "--dry-run --allow-commands"] {
        let done = stranger.lab(&plan, leave).exits(0);
        assert_eq!(stranger.calls(), "", "{leave}: {done}");
        for asked in ASKED {
            let (what, value) = asked.rsplit_once(": ").expect("a value");
            assert!(done.out.contains(&format!("{what}, with --allow-commands: {value}")), "{asked} is not in: {done}");
        }
        for text in ["`./mysqld`, not inspected", "plan.toml, line 6: `build` was not inspected"] {
            assert!(done.out.contains(text), "`{text}` is not in: {done}");
        }
        stranger.is_untouched();
    }
}

#[test]
fn a_program_is_run_with_leave_or_if_the_command_line_names_it() {
    if servers::mariadb().is_none() {
        return;
    }
    let plan = "[server]\nbuild = \"./mysqld\"\n[[rung]]\nname = \"r\"\nconfig.innodb_nothing = 1\n";
    for options in ["--allow-commands", "--server ./mysqld", "--server ./mysqld --dry-run"] {
        let stranger = Stranger::new();
        // It ends with what the program says of a setting, before anything starts.
        stranger.lab(plan, options).refuses(2, &["plan.toml, line 9", "has no such setting"]);
        assert!(stranger.calls().contains("--version"), "{options}");
        stranger.is_untouched();
    }
}

#[test]
fn a_dry_run_loads_no_plugin_of_the_plan() {
    if servers::mariadb().is_none() {
        return;
    }
    let stranger = Stranger::new();
    let plan = "[server]\nconfig = { plugin_load_add = \"evil\", evil_setting = 1 }\n";
    let done = stranger.lab(plan, "--dry-run --server ./mysqld --allow-commands").exits(0);
    assert!(done.out.contains("a dry run does not load the plan's plugins"), "{done}");
    assert!(stranger.calls().contains("--help") && !stranger.calls().contains("evil"), "{}", stranger.calls());
}

#[test]
fn the_plan_of_a_recording_passes_the_same_check() {
    let stranger = Stranger::new();
    let read = |text: &str| {
        plimsoll_plan::lab::file::read("p", text, plimsoll_plan::lab::file::PlanChoices::of_seed(1), &|_| {
            Err(String::new())
        })
        .expect("a plan")
    };
    let evil = stranger.evil().display().to_string();
    for (what, tampered, words) in [
        ("as if it had been given", read(WORKLOAD).on(&evil), evil.as_str()),
        ("named", read(&format!("{WORKLOAD}[server]\nbuild = \"{evil}\"\n")), evil.as_str()),
        ("a setting", read(&format!("{WORKLOAD}[server]\nconfig.plugin_dir = \"/x\"\n")), "plugin_dir = /x"),
        ("a variable", read(&format!("{WORKLOAD}[server]\nenv.LD_PRELOAD = \"x\"\n")), "LD_PRELOAD=x"),
    ] {
        let recording = stranger.home.path().join(what.replace(' ', "-"));
        fs::create_dir(&recording).expect("the home can be written");
        let plan = Plan::Lab(Box::new(tampered));
        let started = "2026-01-02T03:04:05Z".parse().expect("a time");
        let manifest = Manifest::new("a", env!("CARGO_PKG_VERSION"), started, plan, HostFacts::default());
        let mut manifest = serde_json::to_value(manifest).expect("a manifest");
        manifest["status"] = "interrupted".into();
        fs::write(recording.join("manifest.json"), manifest.to_string()).expect("the home can be written");
        let done = stranger.says(&format!("--resume {}", recording.display()), &[]);
        done.refuses(2, &["--allow-commands", words]);
        assert_eq!(stranger.calls(), "", "{what}");
    }
    let given = stranger.home.path().join("as-if-it-had-been-given");
    let other = format!("--resume {} --server ./other/mysqld", given.display());
    stranger.says(&other, &[]).refuses(2, &["started with --server", &evil]);
    assert_eq!(stranger.calls(), "");
}

#[test]
fn a_password_goes_only_where_the_user_names_the_server() {
    let stranger = Stranger::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a listener that does not wait");
    let place = listener.local_addr().expect("an address").to_string();
    let came = || std::iter::from_fn(|| listener.accept().ok()).count();
    let plan = format!(
        "[server]\ntarget = \"mysql://u@{place}/d?ssl-mode=disabled\"\n[load]\nconnections = 1\noutage_limit = \"0s\"\n\
         [trials]\nrestore = \"none\"\nrounds = 1\n"
    );
    fs::write(stranger.home.path().join("plan.toml"), format!("{WORKLOAD}{plan}")).expect("the home can be written");
    let port = place.rsplit(':').next().expect("a port");
    let file = |text: &str| fs::write(stranger.home.path().join("my.cnf"), text).expect("the home can be written");

    file("[client]\npassword = hunter2\nhost = elsewhere\n");
    let environment = [("MYSQL_PWD", "hunter2")];
    for (line, environment) in [
        ("plan.toml", &environment[..]),
        ("plan.toml --allow-commands", &environment),
        ("plan.toml --password-for 127.0.0.1", &environment),
        ("plan.toml --password-for /run/mysqld.sock", &environment),
        ("plan.toml --defaults-file my.cnf", &[]),
    ] {
        let hint = format!("--password-for {place}");
        let done = stranger.says(line, environment);
        done.refuses(2, &["plan.toml, line 6", "your password would go to", &hint]).in_one_message();
        assert_eq!(came(), 0, "{line}");
        stranger.is_untouched();
    }

    // Those who are named hear from us, here a server that hangs up.
    file(&format!("[client]\npassword = hunter2\nhost = 127.0.0.1\nport = {port}\n"));
    assert_eq!(came(), 0);
    let named = format!("plan.toml --password-for {place}");
    for (line, environment) in
        [(named.as_str(), &environment[..]), ("plan.toml --defaults-file my.cnf", &[]), ("plan.toml", &[])]
    {
        let listener = listener.try_clone().expect("a second handle");
        let hangs_up =
            std::thread::spawn(move || servers::wait_until(crate::harness::PATIENCE, || listener.accept().is_ok()));
        let done = stranger.says(line, environment);
        assert!(hangs_up.join().expect("no panic"), "nobody came: {done}");
        assert!(!done.err.contains("your password would go"), "{done}");
    }
}

#[test]
#[ignore = "waits for the whole time that a build has to answer, 30 s; make test-all"]
fn a_build_that_hangs_in_its_help_is_an_error_and_is_gone() {
    let stranger = Stranger::new();
    let pids = stranger.home.path().join("pids");
    stranger.program(&format!(
        "case \"$*\" in *--version*) echo 'mysqld  Ver 10.11.6-MariaDB for Linux';; \
         *) sleep 1000 & echo $$ $! >'{}'; wait;; esac",
        pids.display()
    ));
    let done = stranger.lab("[server]\nconfig.innodb_io_capacity = 5\n", "--server ./mysqld --dry-run");
    done.refuses(3, &["asked for `--verbose --help`, it did not end within 30s"]).in_one_message();
    let pids = fs::read_to_string(pids).expect("it was asked");
    for pid in pids.split_whitespace() {
        let pid = pid.parse().expect("a number");
        assert!(servers::wait_until(crate::harness::PATIENCE, || !crate::harness::alive(pid)), "{pid} is left");
    }
}

/// The columns of a query.
fn names(lab: &Lab, query: &str) -> BTreeSet<String> {
    lab.sql(&[query]).into_iter().filter_map(|row| row[0].as_ref().map(|name| name.to_lowercase())).collect()
}

/// Holds the list of allowed settings against the server that is up: no variable on it is a text, but for those that
/// are there by hand, and no name that the server does not know is the beginning of one that is not on the list.
fn is_held_against(lab: &Lab, texts: &str) {
    lab.up("");
    let listed: BTreeSet<String> = allowed::names().map(str::to_owned).collect();
    let texts = names(lab, texts);
    let by_hand = |name: &str| allowed::by_hand().any(|of| of == name);
    let wrong: Vec<&String> = listed.iter().filter(|name| texts.contains(*name) && !by_hand(name)).collect();
    // One vendor's text is a word of the other's.
    let words = ["character_set_", "collation_", "innodb_", "lc_", "myisam_", "tls_version"];
    let wrong: Vec<_> = wrong.into_iter().filter(|name| !words.iter().any(|word| name.starts_with(word))).collect();
    assert!(wrong.is_empty(), "take out {wrong:?}");

    let build = plimsoll_server::find::inspect(lab.server()).expect("a server");
    let known = plimsoll_server::options::known(&build, &[]).expect("its options");
    let known: BTreeSet<&str> = known.iter().collect();
    let beside = |name: &&&str| !listed.contains(**name) && !["log_bin"].contains(*name);
    for name in listed.iter().filter(|name| !known.contains(name.as_str())) {
        // MariaDB takes a beginning that only one name has.
        let begun: Vec<_> = known.iter().filter(|other| other.starts_with(name.as_str())).collect();
        assert!(begun.len() != 1 || !begun.iter().any(beside), "{name} is the beginning of {begun:?}");
    }
    for prefix in ["skip_", "disable_", "enable_"] {
        let hidden =
            known.iter().filter(beside).find(|other| other.strip_prefix(prefix).is_some_and(|n| listed.contains(n)));
        assert_eq!(hidden, None, "an option of its own, taken for a switch");
    }
}

#[test]
fn the_allowed_settings_are_no_texts_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    is_held_against(
        &lab,
        "SELECT variable_name FROM information_schema.system_variables WHERE variable_type = 'VARCHAR'",
    );
}

#[test]
#[ignore = "MariaDB of the next Debian; make test-all"]
fn the_allowed_settings_are_no_texts_on_mariadb_11() {
    let Some(lab) = Lab::mariadb_new() else { return };
    is_held_against(
        &lab,
        "SELECT variable_name FROM information_schema.system_variables WHERE variable_type = 'VARCHAR'",
    );
}

#[test]
fn the_allowed_settings_are_no_texts_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    is_held_against(&lab, "SELECT variable_name FROM performance_schema.variables_metadata WHERE data_type = 'String'");
}

/// What can be flipped is a global variable that can be set now, and no session has a copy of it.
fn are_live(lab: Lab) -> BTreeSet<&'static str> {
    lab.up("");
    let known = names(&lab, "SHOW GLOBAL VARIABLES");
    let live = plimsoll_plan::knowledge::live_settings().filter(|name| known.contains(*name));
    live.inspect(|name| {
        lab.sql(&[&format!("SET GLOBAL {name} = @@GLOBAL.{name}")]);
        let copied = lab.control().rows(&format!("SELECT @@SESSION.{name}"));
        assert!(copied.is_err(), "{name}: sessions have a value of their own");
    })
    .collect()
}

#[test]
fn what_can_be_flipped_is_live_on_both_servers_and_each_is_on_one() {
    let (Some(on_mariadb), Some(on_mysql)) = (Lab::mariadb().map(are_live), Lab::mysql().map(are_live)) else { return };
    let there: BTreeSet<&str> = on_mariadb.union(&on_mysql).copied().collect();
    let unknown: Vec<&str> = plimsoll_plan::knowledge::live_settings().filter(|name| !there.contains(name)).collect();
    assert!(unknown.is_empty(), "neither server has {unknown:?}");
}

#[test]
#[ignore = "MariaDB of the next Debian; make test-all"]
fn what_can_be_flipped_is_live_on_mariadb_11() {
    let Some(lab) = Lab::mariadb_new() else { return };
    assert!(!are_live(lab).is_empty());
}

/// The directory of the program is not that of the plan.
#[test]
fn a_plan_in_another_directory_names_no_program_by_a_bare_word() {
    let stranger = Stranger::new();
    let refused = stranger.lab("[server]\nbuild = \"mysqld\"\n", "--dry-run");
    refused.refuses(2, &["plan.toml, line 6", "auto, mariadb, mysql or the path"]);
    assert!(Path::new(&stranger.evil()).exists() && stranger.calls().is_empty());
}
