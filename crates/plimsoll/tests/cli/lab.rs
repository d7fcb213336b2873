//! Labs on real servers: what a plan leaves behind, crashes of servers and of the lab itself, recoveries.

use crate::harness::{Lab, Running, signal_process};
use plimsoll_load::seed::Rng;
use plimsoll_testkit::servers::{timed_run, wait_until};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than any plan here takes.
const PATIENCE: Duration = Duration::from_secs(900);

const SMALL: &str = "[workload]\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 1000\n";

fn document(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn trials(recording: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(recording.join("trials")).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    all.sort();
    all
}

fn outcomes(recording: &Path) -> Vec<Value> {
    trials(recording).iter().map(|trial| document(&trial.join("outcome.json"))).collect()
}

/// The status of each trial, in order.
fn statuses(recording: &Path) -> Vec<String> {
    let status = |outcome: &Value| outcome["status"].as_str().expect("a status").to_owned();
    outcomes(recording).iter().map(status).collect()
}

impl Lab {
    fn begins_lab(&self, name: &str, plan: &str) -> Running {
        self.begins(&format!("lab {}", self.plan(name, plan).display()))
    }

    #[track_caller]
    fn the_recording(&self) -> PathBuf {
        match self.recordings().as_slice() {
            [only] => only.clone(),
            all => panic!("one recording was expected: {all:?}"),
        }
    }

    /// Waits until this trial, from 1, has a second of measurement.
    fn wait_until_in_trial(&self, running: &mut Running, trial: usize) {
        running.wait_for("a second of measurement in that trial", || {
            let recordings = self.recordings();
            let trial = recordings.last().and_then(|recording| trials(recording).get(trial - 1).cloned());
            let measured = |text: String| text.contains("\"phase\":\"measure\"");
            trial.and_then(|trial| fs::read_to_string(trial.join("intervals.ndjson")).ok()).is_some_and(measured)
        });
    }
}

const GRID: &str = "[load]\nconnections = [1, 2]\n[trials]\nrounds = 2\nwarmup = \"0s\"\nmeasure = \"500ms\"\n\
                    checksums = true\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n\
                    config = { innodb_flush_log_at_trx_commit = 2 }\n";

const FILES: [&str; 11] = [
    "trial.json",
    "intervals.ndjson",
    "latency.hlog",
    "host.ndjson",
    "server.ndjson",
    "variables.json",
    "my.cnf",
    "error.log",
    "outcome.json",
    "innodb-status-start.txt",
    "innodb-status-end.txt",
];

fn a_grid_is_recorded(lab: &Lab) {
    lab.begins_lab("grid", &format!("{SMALL}{GRID}")).end_within(PATIENCE).exits(0);
    let recording = lab.the_recording();
    assert_eq!(document(&recording.join("manifest.json"))["status"], "done");
    let counts = &document(&recording.join("lab.json"))["trials"];
    assert_eq!((&counts["done"], &counts["failed"]), (&8.into(), &0.into()));
    let trials = trials(&recording);
    assert_eq!(trials.len(), 8, "{trials:?}");
    for trial in &trials {
        let missing = FILES.iter().find(|file| !trial.join(file).is_file());
        assert_eq!(missing, None, "in {}", trial.display());
    }
    every_phase_is_an_event(&recording);
    let outcomes = outcomes(&recording);
    let sums: BTreeSet<String> = outcomes.iter().map(|outcome| outcome["restored"]["checksums"].to_string()).collect();
    assert!(sums.len() == 1 && sums.iter().all(|sums| sums.contains("sbtest")), "data are not identical: {sums:?}");
    let is_measured = |outcome: &Value, speed: &str| outcome[speed].as_f64().is_some_and(|value| value > 0.0);
    let speeds = outcomes.iter().all(|outcome| is_measured(outcome, "cpu_speed") && is_measured(outcome, "commit_us"));
    assert!(speeds, "what may explain how trials differ is measured: {outcomes:#?}");
    let loses_commits = |outcome: &&Value| outcome["risks"].to_string().contains("\"d1\"");
    let risky = outcomes.iter().filter(loses_commits).count();
    assert_eq!(risky, 4, "those of the variant that does not sync");
    let id = recording.file_name().expect("a directory has a name").to_string_lossy().into_owned();
    let compared = lab.does(&format!("compare {id}:a {id}:b --json")).json();
    assert_eq!((&compared["design"], &compared["a"]["rounds"]), (&"paired".into(), &2.into()), "{compared:#}");
    assert!(compared["headline"]["verdict"].is_string(), "{compared:#}");
    let listed = fs::read_dir(lab.home().join("servers")).into_iter().flatten().flatten().count();
    assert_eq!(listed, 0, "what the lab's servers worked in goes with it");
}

/// Each phase of each trial begins and ends once, in the events as in the outcome.
fn every_phase_is_an_event(recording: &Path) {
    let events = lines(&recording.join("events.ndjson"));
    for (index, outcome) in outcomes(recording).iter().enumerate() {
        let told = |kind: &str| -> Vec<&Value> {
            let of_trial = events.iter().filter(|event| event["kind"] == kind && event["detail"]["trial"] == index + 1);
            of_trial.map(|event| &event["detail"]["phase"]).collect()
        };
        let phases: Vec<&Value> =
            outcome["phases"].as_array().expect("phases").iter().map(|span| &span["phase"]).collect();
        assert_eq!(phases, ["restore", "start", "verify", "measure", "drain", "collect", "stop"]);
        assert_eq!((told("phase_begins"), told("phase_ends")), (phases.clone(), phases));
    }
}

#[test]
fn a_grid_is_recorded_whole_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_grid_is_recorded(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_grid_is_recorded_whole_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_grid_is_recorded(&lab);
}

/// Three trials of 7 s on data that are loaded once: who acts after the first second has six to do it in.
const ROUNDS: &str = "[load]\nconnections = [1]\nrate = 100\n[trials]\nrestore = \"none\"\nrounds = 3\nwarmup = \"0s\"\n\
                      measure = \"7s\"\n";

#[test]
fn a_trial_whose_server_crashes_fails_and_the_rest_goes_on() {
    let Some(lab) = Lab::mariadb() else { return };
    let mut running = lab.begins_lab("crash", &format!("{SMALL}{ROUNDS}"));
    lab.wait_until_in_trial(&mut running, 2);
    signal_process(lab.control().peer_pid().expect("a local server"), Signal::KILL);
    running.end_within(PATIENCE).exits(1).tells(&["1 of 3 trials failed"]);
    let recording = lab.the_recording();
    assert_eq!(statuses(&recording), ["done", "failed", "done"]);
    let failed = &outcomes(&recording)[1];
    let why = failed["why"].as_str().expect("a reason");
    assert!(why.contains("measure") && why.contains("error log"), "{why}");
    assert!(trials(&recording)[1].join("error.log").is_file());
    assert_eq!(document(&recording.join("manifest.json"))["status"], "done");
}

#[test]
#[ignore = "commands around trials; make test-all"]
fn a_command_that_fails_fails_its_trial_and_is_quoted() {
    let Some(lab) = Lab::mariadb() else { return };
    let plan = "before = [\"echo $PLIMSOLL_VARIANT $PLIMSOLL_TRIAL; \
                test $PLIMSOLL_TRIAL = 1 || sh -c 'echo away; exit 7'\"]\n";
    let procedure = ROUNDS.replace("rounds = 3", "rounds = 2");
    let plan = lab.plan("commands", &format!("{SMALL}{procedure}[[variant]]\nname = \"only\"\n{plan}"));
    lab.ends(&format!("lab {}", plan.display())).refuses(2, &["--allow-commands"]);
    let line = format!("lab {} --allow-commands", plan.display());
    lab.begins(&line).end_within(PATIENCE).exits(1);
    let recording = lab.the_recording();
    assert_eq!(statuses(&recording), ["done", "failed"]);
    let why = outcomes(&recording)[1]["why"].as_str().expect("a reason").to_owned();
    assert!(why.contains("away") && why.contains("exit status: 7"), "{why}");
    let printed =
        trials(&recording).into_iter().map(|trial| fs::read_to_string(trial.join("before-1.txt")).expect("kept"));
    assert_eq!(printed.collect::<Vec<_>>(), ["only 1\n", "only 2\naway\n"]);
}

#[test]
#[ignore = "commands around trials; make test-all"]
fn what_is_put_back_after_a_trial_is_put_back_after_an_interrupt_too() {
    let Some(lab) = Lab::mariadb() else { return };
    let after = "after = [\"sleep 1; echo back\"]\n";
    let plan = lab.plan("tidies", &format!("{SMALL}{ROUNDS}[[variant]]\nname = \"only\"\n{after}"));
    let mut running = lab.begins(&format!("lab {} --allow-commands", plan.display()));
    lab.wait_until_in_trial(&mut running, 1);
    running.signal(Signal::INT);
    running.end().exits(130);
    let recording = lab.the_recording();
    assert_eq!(statuses(&recording), ["interrupted"]);
    assert_eq!(fs::read_to_string(trials(&recording)[0].join("after-1.txt")).expect("kept"), "back\n");
}

/// A script of one's own in two variants, which needs permission: a verdict, and a report that names it.
#[test]
fn a_lab_with_a_script_has_a_verdict() {
    let Some(lab) = Lab::mariadb() else { return };
    let text = "sysbench.cmdline.options = { rows = { 'Rows', 10 } }\n\
                function thread_init() con = sysbench.sql.driver():connect() end\n\
                function event() con:query('SELECT c FROM sbtest1 WHERE id = ' .. sysbench.rand.uniform(1, sysbench.opt.rows)) end";
    let plan = lab.plan(
        "scripted",
        "[workload]\nkind = \"lua\"\nscript = \"own.lua\"\ndata = \"oltp_read_write\"\n\
         tables = 1\ntable_size = 200\n[load]\nconnections = 2\n\
         [trials]\nwarmup = \"0s\"\nmeasure = { events = 50 }\nrounds = 3\n\
         [[variant]]\nname = \"few\"\n[[variant]]\nname = \"many\"\nworkload.set.rows = 100\n",
    );
    let own = plan.parent().expect("a directory").join("own.lua");
    lab.ends(&format!("lab {}", plan.display())).refuses(2, &["own.lua"]);
    // What runs only when it is run: a dry run does not.
    fs::write(&own, format!("io.open('{}.ran', 'w'):close()\n{text}", own.display())).expect("a script is written");
    let ran = own.with_extension("lua.ran");
    let listed = lab.ends(&format!("lab {} --dry-run", plan.display())).exits(0);
    assert!(listed.out.contains("runs this Lua script, which may do whatever you may"), "{listed}");
    lab.ends(&format!("lab {}", plan.display())).refuses(2, &["runs this Lua script", "--allow-commands"]);
    assert!(!ran.exists(), "nothing of a script is run without permission");
    lab.begins(&format!("lab {} --allow-commands", plan.display())).end_within(PATIENCE).exits(0);
    assert!(ran.exists());
    let recording = lab.the_recording();
    assert_eq!(statuses(&recording), ["done"; 6]);
    let report = fs::read_to_string(recording.join("report.html")).expect("a report");
    assert!(report.contains("own.lua") && report.contains("many against few"), "the report names the script");
}

#[test]
fn an_interrupted_lab_is_resumed() {
    let Some(lab) = Lab::mariadb() else { return };
    let plan = lab.plan("resumed", &format!("{SMALL}{ROUNDS}"));
    let mut running = lab.begins(&format!("lab {} --fail-if errors>1000000 --fail-if-unclear", plan.display()));
    lab.wait_until_in_trial(&mut running, 1);
    lab.ends("lab --resume resumed").refuses(2, &["still writing"]);
    lab.wait_until_in_trial(&mut running, 2);
    running.signal(Signal::INT);
    running.end().exits(130).tells(&["--resume", "--fail-if 'errors>1000000' --fail-if-unclear` continues it"]);
    let recording = lab.the_recording();
    assert_eq!(document(&recording.join("manifest.json"))["status"], "interrupted");
    assert_eq!(statuses(&recording), ["done", "interrupted"]);
    lab.begins("lab --resume resumed").end_within(PATIENCE).exits(0);
    assert_eq!(lab.the_recording(), recording);
    assert_eq!(statuses(&recording), ["done"; 3]);
    let manifest = document(&recording.join("manifest.json"));
    assert!(manifest["status"] == "done" && manifest["ended"].is_string(), "{manifest}");
    let times: Vec<u64> =
        lines(&recording.join("events.ndjson")).iter().filter_map(|event| event["t_ns"].as_u64()).collect();
    assert!(times.is_sorted(), "the clock goes on: {times:?}");
    lab.ends("lab --resume resumed").refuses(2, &["is done"]);
}

#[test]
#[ignore = "a lab of its own for one interrupt; make test-all"]
fn an_interrupt_in_a_pause_costs_no_trial() {
    let Some(lab) = Lab::mariadb() else { return };
    let rounds = ROUNDS.replace("restore = \"none\"", "pause = \"300s\"");
    let mut running = lab.begins_lab("pausing", &format!("{SMALL}{rounds}"));
    running.wait_for("the pause after the first trial", || {
        let events = lab.recordings().last().map(|recording| recording.join("events.ndjson"));
        let text = events.and_then(|events| fs::read_to_string(events).ok());
        text.is_some_and(|text| text.contains("\"phase\":\"pause\""))
    });
    running.signal(Signal::INT);
    running.end().exits(130);
    let recording = lab.the_recording();
    assert_eq!(statuses(&recording), ["done", "interrupted"]);
    let phases = outcomes(&recording)[1]["phases"].clone();
    let phases: Vec<&Value> = phases.as_array().expect("phases").iter().map(|span| &span["phase"]).collect();
    assert_eq!(phases, ["restore", "pause"], "data are restored meanwhile");
}

#[test]
#[ignore = "three trials twice; make test-all"]
fn a_trial_whose_series_were_torn_is_done_again() {
    let Some(lab) = Lab::mariadb() else { return };
    let mut running = lab.begins_lab("torn", &format!("{SMALL}{ROUNDS}"));
    lab.wait_until_in_trial(&mut running, 2);
    running.signal(Signal::INT);
    running.end().exits(130);
    let recording = lab.the_recording();
    let host = trials(&recording)[0].join("host.ndjson");
    let before = fs::read(&host).expect("a series");
    fs::write(&host, &before[..before.len() - 1]).expect("cut");
    let done = lab.begins("lab --resume torn").end_within(PATIENCE).exits(0);
    assert!(done.out.contains("torn_series: trial 0001"), "{done}");
    assert_eq!(statuses(&recording), ["done"; 3]);
    let after = fs::read(&host).expect("a series");
    assert!(after != before && after.ends_with(b"\n"), "it was measured anew");
}

#[test]
#[ignore = "warms up for long; make test-all"]
fn a_warm_up_that_decides_itself_says_how() {
    let Some(lab) = Lab::mariadb() else { return };
    let procedure = ROUNDS.replace("\"0s\"", "\"auto\"").replace("rounds = 3", "rounds = 1");
    lab.begins_lab("auto", &format!("{SMALL}{procedure}")).end_within(PATIENCE).exits(0);
    let recording = lab.the_recording();
    let outcome = &outcomes(&recording)[0];
    assert!(outcome["warm_up"].as_str().is_some_and(|how| how.contains("after")), "{}", outcome["warm_up"]);
    let intervals = lines(&trials(&recording)[0].join("intervals.ndjson"));
    let seconds = |phase: &str| intervals.iter().filter(|interval| interval["phase"] == phase).count();
    assert!(seconds("warm-up") >= 10 && seconds("measure") == 7, "{intervals:#?}");
    let times: Vec<u64> = intervals.iter().filter_map(|interval| interval["t_ns"].as_u64()).collect();
    assert!(times.is_sorted(), "both runs are on the trial's clock: {times:?}");
}

fn recovers(lab: &Lab) {
    let procedure = ROUNDS.replace("rounds = 3", "rounds = 1\nrecovery = true");
    lab.begins_lab("recovery", &format!("{SMALL}{procedure}")).end_within(PATIENCE).exits(0);
    let outcome = &outcomes(&lab.the_recording())[0];
    let recovery = &outcome["recovery"];
    assert!(recovery["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{recovery}");
    assert!(recovery["redo_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{recovery}");
    assert_eq!(recovery["broken"], serde_json::json!([]));
    assert!(outcome["phases"].to_string().contains("recover"), "{}", outcome["phases"]);
}

#[test]
#[ignore = "kills and recovers; make test-all"]
fn a_server_that_is_killed_under_load_recovers_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    recovers(&lab);
}

#[test]
#[ignore = "kills and recovers; make test-all"]
fn a_server_that_is_killed_under_load_recovers_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    recovers(&lab);
}

/// Seconds of recovery and bytes of redo after so many seconds of writing.
fn recovery_after(lab: &Lab, seconds: u32) -> (f64, f64) {
    // A log that a fast machine does not fill meanwhile.
    let config = "[server.config]\ninnodb_buffer_pool_size = \"2G\"\ninnodb_max_dirty_pages_pct = 90\n\
                  innodb_max_dirty_pages_pct_lwm = 0\ninnodb_log_file_size = \"2G\"\n";
    let workload =
        "[workload]\nkind = \"oltp_update_non_index\"\ntables = 4\ntable_size = 50000\n[load]\nconnections = [8]\n";
    let procedure = format!("[trials]\nrounds = 1\nwarmup = \"0s\"\nmeasure = \"{seconds}s\"\nrecovery = true\n");
    lab.begins_lab(&format!("grows-{seconds}"), &format!("{config}{workload}{procedure}"))
        .end_within(PATIENCE)
        .exits(0);
    let recording = lab.recordings().pop().expect("a recording");
    let recovery = &outcomes(&recording)[0]["recovery"];
    assert_eq!(recovery["broken"], serde_json::json!([]));
    (recovery["seconds"].as_f64().expect("seconds"), recovery["redo_bytes"].as_f64().expect("bytes"))
}

#[test]
#[ignore = "writes for minutes; make test-all"]
fn recovery_takes_longer_with_more_redo() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    let _timed = timed_run();
    let (little, much) = (recovery_after(&lab, 1), recovery_after(&lab, 90));
    println!("(seconds, bytes of redo): {little:?}, {much:?}");
    assert!(much.1 > 4.0 * little.1, "the longer load left more redo: {little:?}, {much:?}");
    assert!(much.0 > little.0, "it takes longer to read: {little:?}, {much:?}");
}

/// What a lab has outside of its recording and its datasets.
fn left_behind(lab: &Lab) -> Vec<PathBuf> {
    let below = |name: &str| fs::read_dir(lab.home().join(name)).into_iter().flatten().flatten();
    below("servers").chain(below("places")).map(|entry| entry.path()).collect()
}

/// Kills a lab at random points until it has been killed so many times or is done; how often it was.
fn killed_again_and_again(lab: &Lab, plan: &str, times: u32) -> u32 {
    let seed = RandomState::new().build_hasher().finish();
    println!("seed of the kills: {seed}");
    let mut random = Rng::new(seed, 0, 0);
    let mut running = lab.begins_lab("killed", plan);
    for kill in 0..times {
        let wait = Duration::from_millis(random.between(50, 6000));
        if wait_until(wait, || running.has_ended()) {
            running.end().exits(0);
            return kill;
        }
        running.kill();
        let manifest = |recording: &PathBuf| recording.join("manifest.json");
        running = match lab.recordings().last().filter(|recording| manifest(recording).is_file()) {
            Some(recording) if document(&manifest(recording))["status"] == "done" => return kill + 1,
            Some(recording) => lab.begins(&format!("lab --resume {}", recording.display())),
            None => lab.begins_lab("killed", plan),
        };
    }
    running.end_within(PATIENCE).exits(0);
    times
}

#[test]
#[ignore = "kills a lab twenty times; make test-all"]
fn a_lab_that_is_killed_at_random_points_comes_to_its_end() {
    let Some(lab) = Lab::mariadb() else { return };
    let procedure = "[load]\nconnections = [2]\n[trials]\nrounds = 8\nwarmup = \"0s\"\nmeasure = \"1s\"\n\
                     checksums = true\n[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n";
    let killed = killed_again_and_again(&lab, &format!("{SMALL}{procedure}"), 20);
    println!("killed {killed} times");
    assert!(killed >= 5, "it was too fast to be killed: {killed}");
    let recording = lab.recordings().pop().expect("a recording");
    assert_eq!(statuses(&recording), ["done"; 16]);
    assert_eq!(document(&recording.join("manifest.json"))["status"], "done");
    let sums = outcomes(&recording);
    let sums: BTreeSet<String> = sums.iter().map(|outcome| outcome["restored"]["checksums"].to_string()).collect();
    assert_eq!(sums.len(), 1, "all on the same data: {sums:?}");
    lab.does("clean");
    assert_eq!(left_behind(&lab), Vec::<PathBuf>::new());
}
