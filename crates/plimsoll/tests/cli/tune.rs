//! Searches for better settings on real servers: what they may try, what they say, what they avoid, and that they go on.

use crate::dashboard::Dashboard;
use crate::every_plan::Shortened;
use crate::harness::{Done, Lab, Running, begin, run};
use plimsoll_analysis::replay;
use plimsoll_lab::execute::resume::plan_to_repeat;
use plimsoll_load::seed::Rng;
use plimsoll_record::read;
use plimsoll_schedule::EndedTrial;
use plimsoll_testkit::servers;
use serde_json::Value;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A minute of searching, on a slow machine.
const LONGEST: Duration = Duration::from_secs(900);
/// A load that any server carries, in trials as short as can be.
const SMALL: &str = "--workload oltp_read_write --tables 1 --table-size 2000 --connections 4 --in-memory --measure 500ms \
                     --warmup 200ms";
/// A load that leaves the CPUs to others, whatever is set.
const WAITS: &str = "function thread_init() con = sysbench.sql.driver():connect() end \
                     function event() con:query('SELECT SLEEP(0.005)') end";

/// What a search says in the end: 0 or 1, as it was confirmed or not.
#[track_caller]
fn found(done: Done) -> Value {
    let summary = done.json();
    let code = if summary["tune"]["conclusion"] == "not_confirmed" { 1 } else { 0 };
    done.exits(code);
    summary
}

/// Holds of every search, whatever it has found.
fn is_sound(summary: &Value) {
    let tune = &summary["tune"];
    let tried = tune["tried"].as_array().expect("trials");
    assert!(tried.len() >= 4, "{summary:#}");
    assert!(tried[..3].iter().all(|trial| trial["label"] == "today" && trial["changed"] == serde_json::json!([])));
    let recording = Path::new(summary["recording"].as_str().expect("a recording"));
    let file = fs::read_to_string(recording.join("my.cnf")).ok();
    assert_eq!(file.is_some(), tune["conclusion"] == "confirmed", "{file:?}");
    let kept = tune["found"].as_array().expect("settings").iter().filter(|setting| setting["is_kept"] == true);
    for setting in kept.filter(|_| file.is_some()) {
        let line =
            format!("{} = {}", setting["name"].as_str().expect("a name"), setting["value"].as_str().expect("a value"));
        assert!(file.as_ref().expect("it is there").lines().any(|of| of == line), "{line}: {file:?}");
    }
}

/// The plan of the repository, shortened.
pub fn ends(plan: &Shortened, server: Option<PathBuf>) {
    let Some(server) = server else { return };
    let home = servers::home();
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
    command.arg("lab").arg(plan.path()).args(["--preset", "small", "--json", "--noisy-host", "--server"]).arg(server);
    is_sound(&found(begin(command).end_within(LONGEST)));
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_is_started() {
    let Some(lab) = Lab::mariadb() else { return };
    let refused = |options: &str, texts: &[&str]| {
        lab.ends(&format!("tune {options}")).refuses(2, texts);
    };
    refused("", &["--workload"]);
    refused("--workload tpcd", &["tpcd"]);
    refused("--workload tpcc --settings innodb_page_siz", &["innodb_page_siz", "worth trying"]);
    refused("--workload tpcc --in-memory --settings innodb_page_size", &["fixed when a data directory is made"]);
    refused("--workload tpcc --settings innodb_io_capacity --top 3", &["--top"]);
    refused("--workload tpcc --keep fast", &["fast", "p99 < 20ms"]);
    refused("--workload tpcc --objective load-line", &["--keep"]);
    refused("--workload tpcc --allow d9", &["d9", "d1p"]);
    refused("--workload oltp_read_write", &["fit into the buffer pool", "--in-memory"]);
    refused("--workload oltp_read_write --in-memory --settings innodb_redo_log_capacity", &["no such setting"]);
    refused("--resume nothing-of-the-kind", &["nothing-of-the-kind"]);
    assert!(lab.recordings().is_empty());
    lab.leaves_nothing();
}

fn lists_what_may_be_tried(lab: Option<Lab>) {
    let Some(lab) = lab else { return };
    let line = format!("tune {SMALL} --settings innodb_flush_log_at_trx_commit,innodb_io_capacity --dry-run");
    let told = lab.does(&line).out;
    assert!(told.contains("1 setting searched") && told.contains("innodb_io_capacity"), "{told}");
    assert!(told.contains("1 setting left alone"), "nothing that costs safety: {told}");
    let searched = |options: &str| {
        let found = lab.does(&format!("{line} --json {options}")).json();
        let names = found["search"]["dimensions"].as_array().expect("settings").iter();
        names.map(|of| of["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(searched(""), ["innodb_io_capacity"]);
    assert_eq!(searched("--allow d1"), ["innodb_flush_log_at_trx_commit", "innodb_io_capacity"]);
    let by_itself =
        lab.does(&format!("tune {SMALL} --top 5 --set innodb_buffer_pool_size=64M --dry-run --json")).json();
    assert_eq!(by_itself["search"]["dimensions"].as_array().map(Vec::len), Some(5));
    assert!(by_itself["arms"].as_array().expect("arms").iter().any(|arm| arm["name"] == "baseline"), "{by_itself:#}");
    assert!(lab.recordings().is_empty());
}

#[test]
fn a_dry_run_lists_what_may_be_tried_on_mariadb() {
    lists_what_may_be_tried(Lab::mariadb());
}

#[test]
fn a_dry_run_lists_what_may_be_tried_on_mysql() {
    lists_what_may_be_tried(Lab::mysql());
}

/// Whether the dashboard shows the trials of a search that is under way.
fn is_shown_live(dashboard: &Dashboard, recording: &Path) -> bool {
    let id = recording.file_name().expect("a name").display();
    let page = dashboard.get(&format!("/live/{id}")).body;
    page.contains("What each trial measured") && page.contains("has not come to its end")
}

/// `name` is what recordings are called.
fn says_what_it_found(lab: &Lab, load: &str, name: &str) {
    let line = format!("tune {load} --top 3 --keep p99<60s --seed 5 --json");
    let (dashboard, mut running) = (Dashboard::over(lab.home(), "127.0.0.1:0"), lab.begins(&line));
    running.wait_for("a live page with the search", || {
        lab.recordings().iter().any(|path| is_shown_live(&dashboard, path))
    });
    drop(dashboard);
    let summary = found(running.end_within(LONGEST));
    is_sound(&summary);
    let is_measured = |trial: &Value| trial["gain"].is_number();
    assert!(
        summary["tune"]["tried"].as_array().expect("trials").iter().any(is_measured),
        "within its limit: {summary:#}"
    );
    let recorded: Vec<String> = lab.recordings().iter().map(|path| path.display().to_string()).collect();
    let look = format!("{name}-look");
    assert!(recorded.iter().any(|path| path.contains(&look)), "advice took a look: {recorded:?}");
    let recording = Path::new(summary["recording"].as_str().expect("a recording"));
    let page = fs::read_to_string(recording.join("report.html")).expect("a page");
    assert!(page.contains("The search") && page.contains("better than today’s configuration by"));
    let again = lab.does(&format!("report {name} --format md -o -")).out;
    let (workload, _) = load.split_once(" --tables").expect("what the load is, and how large");
    assert!(again.contains(&format!("plimsoll tune {workload} --time")), "{again}");
    lab.leaves_nothing();
}

#[test]
fn a_search_says_what_it_found_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    let script = lab.home().join("waits.lua");
    fs::write(&script, WAITS).expect("the home can be written");
    let load = SMALL.replace("oltp_read_write", &format!("lua:{} --data oltp_read_write", script.display()));
    says_what_it_found(&lab, &format!("{load} --time 40s"), "tune-waits");
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_search_says_what_it_found_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    says_what_it_found(&lab, &format!("{SMALL} --time 120s"), "tune-oltp-read-write");
}

#[test]
#[ignore = "five trials for each configuration: `make test-all`"]
fn more_is_carried_within_a_limit_or_nothing_is_found() {
    let Some(lab) = Lab::mariadb() else { return };
    let line = format!("tune {SMALL} --time 120s --top 2 --objective load-line --keep p99<5s --seed 2 --json");
    let summary = found(lab.begins(&line).end_within(LONGEST));
    is_sound(&summary);
    assert_eq!(summary["tune"]["line_within"], "p99<5s");
    let headline = summary["headline"].as_str().expect("an answer");
    assert!(headline.contains("throughput within p99<5s") || headline.contains("was over before"), "{headline}");
}

#[test]
fn a_search_becomes_a_plan() {
    let Some(lab) = Lab::mariadb() else { return };
    let path = lab.home().join("search.toml");
    lab.does(&format!(
        "tune {SMALL} --time 90s --keep p99<2s --recovery 30s --objective p99 --plan {}",
        path.display()
    ));
    let text = fs::read_to_string(&path).expect("a plan");
    assert!(
        text.contains("[tune]") && text.contains("keep = \"p99<2s\"") && text.contains("recovery = true"),
        "{text}"
    );
    let told = lab.does(&format!("lab {} --dry-run", path.display())).out;
    assert!(told.contains("12 settings searched"), "{told}");
}

/// A search that was killed now and then has decided as one that was not: every trial is what the outcomes before it lead to.
#[test]
#[ignore = "twenty kills: `make test-all`"]
fn a_search_that_is_killed_at_twenty_random_moments_goes_on_to_the_same_decisions() {
    const KILLS: usize = 20;
    let Some(lab) = Lab::mariadb() else { return };
    let seed = RandomState::new().build_hasher().finish();
    println!("seed of the kills: {seed}");
    let mut random = Rng::new(seed, 0, 0);
    let plan = lab.home().join("search.toml");
    lab.does(&format!("tune {SMALL} --time 120s --top 4 --seed 3 --plan {}", plan.display()));
    let mut running: Running = lab.begins(&format!("lab {} --json", plan.display()));
    running.wait_for("the first recording", || !lab.recordings().is_empty());
    let recording = lab.recordings().pop().expect("a recording");
    let mut kills = 0;
    let done = loop {
        std::thread::sleep(Duration::from_millis(random.between(200, 6_000)));
        if kills == KILLS || running.has_ended() {
            break running.end_within(LONGEST);
        }
        running.kill();
        kills += 1;
        running = lab.begins(&format!("tune --resume {} --json", recording.display()));
    };
    assert!(kills > 5, "{kills}");
    is_sound(&found(done));
    let view = read::open(&recording).expect("a recording");
    let plan = plan_to_repeat(&recording).expect("a plan");
    // A search that was never killed proposes the same.
    let mut schedule = plimsoll_schedule::of(&plan, &replay::prospects(&view));
    for recorded in view.trials.iter().filter(|trial| replay::has_ended(trial)) {
        let tried = recorded.facts.load().and_then(|load| load.trial.as_ref()).expect("what was tried");
        let trial = schedule.next().unwrap_or_else(|| panic!("no trial {}, after {kills} kills", tried.index));
        assert_eq!(trial.variant.config, tried.variant.config, "trial {}", tried.index);
        assert_eq!(trial.seed, tried.seed, "trial {}", tried.index);
        schedule.tell(EndedTrial { trial, outcome: recorded.outcome.clone().expect("an outcome") });
    }
    lab.leaves_nothing();
}

/// A server that does something wrong where a setting is above a limit: a program that then runs the real one.
fn planted(lab: &Lab, what: &str) -> PathBuf {
    let path = lab.home().join("mariadbd");
    let script = format!(
        "#!/bin/sh\nfor word; do case $word in --defaults-file=*) cnf=${{word#--defaults-file=}};; esac; done\n\
         purge=$([ -f \"$cnf\" ] && sed -n 's/^innodb_purge_threads *= *//p' \"$cnf\")\n\
         data=$([ -f \"$cnf\" ] && sed -n 's/^datadir *= *//p' \"$cnf\")\n\
         if [ \"${{purge:-0}}\" -gt 4 ]; then\n{what}\nfi\nexec {} \"$@\"\n",
        lab.server().display()
    );
    fs::write(&path, script).expect("the home can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be made a program");
    path
}

/// Each trial is measured for so long.
fn avoids(what: &str, measured: &str, options: &str, why: &str) {
    let Some(lab) = Lab::mariadb() else { return };
    let (server, small) = (planted(&lab, what), SMALL.replace("500ms", measured));
    let line = format!(
        "tune {small} {options} --time 90s --settings innodb_purge_threads,innodb_io_capacity --seed 9 --json --server {}",
        server.display()
    );
    let summary = found(lab.begins(&line).end_within(LONGEST));
    is_sound(&summary);
    let tried = summary["tune"]["tried"].as_array().expect("trials");
    let threads = |trial: &Value| {
        let changed = trial["changed"].as_array().expect("settings").iter();
        let of = |pair: &Value| (pair[0] == "innodb_purge_threads").then(|| pair[1].as_str()?.parse::<u32>().ok());
        changed.filter_map(of).flatten().next().unwrap_or(4)
    };
    let (bad, good): (Vec<&Value>, Vec<&Value>) = tried.iter().partition(|trial| threads(trial) > 4);
    assert!(!bad.is_empty() && bad.iter().all(|trial| trial["gain"].is_null()), "{tried:#?}");
    assert!(bad.iter().all(|trial| trial["why"].as_str().is_some_and(|of| of.contains(why))), "{bad:#?}");
    assert!(good.len() > bad.len(), "{} of {} trials had what does not work", bad.len(), tried.len());
    let found = summary["tune"]["found"].as_array().expect("settings").iter();
    let mut threads = found.filter(|of| of["name"] == "innodb_purge_threads").filter_map(|of| of["value"].as_str());
    assert!(threads.all(|value| value.parse::<u32>().is_ok_and(|threads| threads <= 4)), "{summary:#}");
}

#[test]
#[ignore = "a minute and more of searching: `make test-all`"]
fn a_setting_with_which_the_server_does_not_start_is_avoided_and_named() {
    avoids("exit 1", "500ms", "", "server");
}

#[test]
#[ignore = "a minute and more of searching: `make test-all`"]
fn a_setting_with_which_it_does_not_come_back_in_time_is_avoided_and_named() {
    // Data on which it has been up before have its mark.
    avoids("[ -f \"$data/mark\" ] && sleep 60; touch \"$data/mark\"", "500ms", "--recovery 20s", "was not ready");
}

/// Swap of this machine's, and a group of processes that get little memory beside it; both end with the test.
struct Swapping {
    file: PathBuf,
    group: PathBuf,
}

impl Swapping {
    /// `None` was said.
    fn here(home: &Path) -> Option<Swapping> {
        let (old, new) = (Path::new("/sys/fs/cgroup/memory"), Path::new("/sys/fs/cgroup"));
        let (groups, limit) = if old.is_dir() { (old, "memory.limit_in_bytes") } else { (new, "memory.max") };
        let name = format!("plimsoll-test-{}", std::process::id());
        let swapping = Swapping { file: home.join("swap"), group: groups.join(name) };
        let limited = fs::create_dir(&swapping.group).and_then(|()| fs::write(swapping.group.join(limit), "67108864"));
        if let Err(error) = limited {
            servers::skip(&format!("memory cannot be limited here: {}: {error}", swapping.group.display()));
            return None;
        }
        let file = swapping.file.display();
        let made = format!("fallocate -l 1G {file} && chmod 600 {file} && mkswap -q {file} && swapon {file}");
        let made = Command::new("sh").args(["-c", &made]).output().expect("a shell");
        if !made.status.success() {
            servers::skip(&format!("no swap can be added here: {}", String::from_utf8_lossy(&made.stderr)));
            return None;
        }
        Some(swapping)
    }

    /// For a shell that becomes a server: beside it, a process needs more memory than it gets, as long as the server runs.
    fn beside_a_server(&self) -> String {
        let needs =
            r#"awk 'BEGIN { s = "y"; for (i = 0; i < 20; i++) s = s s; for (i = 0; i < 256; i++) a[i] = s i }'"#;
        format!(
            "server=$$; (echo $(exec sh -c 'echo $PPID') >{}; while kill -0 $server; do {needs}; done) >/dev/null 2>&1 &",
            self.group.join("cgroup.procs").display()
        )
    }
}

impl Drop for Swapping {
    fn drop(&mut self) {
        let members = self.group.join("cgroup.procs");
        let is_empty = || {
            let pids = fs::read_to_string(&members).unwrap_or_default();
            pids.lines().for_each(|pid| drop(Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status()));
            pids.is_empty()
        };
        servers::wait_until(Duration::from_secs(20), is_empty);
        let _ = Command::new("swapoff").arg(&self.file).status();
        let _ = fs::remove_dir(&self.group);
    }
}

#[test]
#[ignore = "swaps, with nothing else beside it: `make test-all`"]
fn a_setting_that_makes_it_swap_is_avoided_and_named() {
    let home = servers::home();
    let Some(swapping) = Swapping::here(home.path()) else { return };
    avoids(&swapping.beside_a_server(), "2s", "", "the machine swapped");
}

#[test]
fn a_run_without_a_search_is_no_search_to_go_on_with() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("quickstart --time 200ms --connections 1 --rounds 1 --table-size 100");
    let recording = lab.recordings().pop().expect("a recording");
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), lab.home());
    command.arg("tune").arg("--resume").arg(&recording);
    let done = run(command);
    assert!(done.err.contains("plimsoll"), "{done}");
    done.exits(2);
}
