//! Everything that a plan may ask of the machine, run to its end: old option files, places, limits, lanes, external
//! servers, data that the user's own commands restore. Whatever was created for it is gone afterwards.

use crate::harness::{Done, Lab, PATIENCE, begin};
use plimsoll_testkit::servers::{self, wait_until};
use rustix::process::{Signal, geteuid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

const SMALL: &str =
    "[workload]\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 1000\n[load]\nconnections = [2]\nrate = 200\n";
const SHORT: &str = "[trials]\nwarmup = \"0s\"\nmeasure = \"1s\"\nrounds = 1\n";

/// A plan that came to its end.
struct Ended {
    done: Done,
    trial: PathBuf,
    outcome: Value,
}

/// Runs a plan of one trial whose server has these settings, and `rest` at the end of [trials]. It must succeed, and
/// leave nothing that `clean` would remove.
#[track_caller]
fn runs(lab: &Lab, name: &str, server: &str, rest: &str) -> Ended {
    let plan = lab.plan(name, &format!("{server}\n{SMALL}{SHORT}{rest}"));
    ends_well(lab, &plan)
}

#[track_caller]
fn ends_well(lab: &Lab, plan: &Path) -> Ended {
    let done = lab.does(&format!("lab {} --allow-commands", plan.display()));
    let recording = lab.recordings().pop().expect("a recording");
    let trials: Vec<PathBuf> =
        fs::read_dir(recording.join("trials")).expect("trials").flatten().map(|trial| trial.path()).collect();
    let [trial] = trials.as_slice() else { panic!("one trial was expected: {trials:?}") };
    let text = fs::read_to_string(trial.join("outcome.json")).expect("an outcome");
    let outcome: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(outcome["status"], "done", "{outcome}");
    lab.leaves_nothing();
    Ended { done, trial: trial.clone(), outcome }
}

/// Directories for a layout, which must be empty again at the end.
fn apart() -> tempfile::TempDir {
    let apart = servers::home();
    for part in ["redo", "undo", "tmp"] {
        fs::create_dir(apart.path().join(part)).expect("the directory can be written");
    }
    apart
}

#[track_caller]
fn a_layout_is_used_and_gone(lab: &Lab) {
    let apart = apart();
    let root = apart.path().display();
    let layout = format!("layout = {{ redo = \"{root}/redo\", undo = \"{root}/undo\", tmp = \"{root}/tmp\" }}");
    runs(lab, "layout", &layout, "");
    for part in ["redo", "undo", "tmp"] {
        let left: Vec<_> = fs::read_dir(apart.path().join(part)).expect("it is there").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_layout_leaves_nothing_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_layout_is_used_and_gone(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_layout_leaves_nothing_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_layout_is_used_and_gone(&lab);
}

#[test]
fn an_old_option_file_runs_and_says_a_line_for_each_dead_setting() {
    let Some(lab) = Lab::mariadb() else { return };
    let old = "[mysqld]\ndatadir=/var/lib/mysql\nsocket=/tmp/mysql.sock\nport=3306\nquery_cache_size=16M\n\
               innodb_additional_mem_pool_size=16M\nthread_concurrency=8\ninnodb_buffer_pool_size=64M\n";
    fs::write(lab.home().join("old.cnf"), old).expect("the home can be written");
    let ended = runs(&lab, "old", "config_file = \"old.cnf\"", "");
    for (line, name) in
        [(2, "datadir"), (3, "socket"), (4, "port"), (6, "innodb_additional_mem_pool_size"), (7, "thread_concurrency")]
    {
        let begins = format!("old.cnf, line {line}: {name}: left out");
        assert_eq!(ended.done.err.lines().filter(|told| told.contains(&begins)).count(), 1, "{begins}: {}", ended.done);
    }
    let verifications = ended.outcome["verifications"].as_array().expect("a list");
    let names: Vec<&str> = verifications.iter().filter_map(|verification| verification["name"].as_str()).collect();
    assert_eq!(names, ["query_cache_size", "innodb_buffer_pool_size"]);
    assert!(verifications.iter().all(|verification| verification["verdict"] == "in_effect"), "{verifications:?}");
}

#[test]
fn a_server_that_is_not_ours_is_measured_and_left_up() {
    let Some(lab) = Lab::mariadb() else { return };
    let url = lab.up("guest");
    for (restore, method) in [("none", "none"), ("reload", "reload")] {
        let path = lab.home().join(format!("{restore}.toml"));
        let text =
            format!("name = \"{restore}\"\n[server]\ntarget = \"{url}\"\n{SMALL}{SHORT}restore = \"{restore}\"\n");
        fs::write(&path, text).expect("the home can be written");
        // The first finds an empty server, so it loads whatever it is asked for.
        let ended = ends_well(&lab, &path);
        let expected = if restore == "none" { "reload" } else { method };
        assert_eq!(ended.outcome["restored"]["method"], expected, "{}", ended.outcome);
    }
    assert_eq!(lab.value("SELECT COUNT(*) FROM sbtest.sbtest1"), "1000");
}

#[test]
fn a_clamped_setting_is_a_caveat_where_the_plan_is_lenient_and_collectors_count_meanwhile() {
    let Some(lab) = Lab::mariadb() else { return };
    let collector = "lenient = true\n[[collector]]\nname = \"load\"\ncommand = \"cut -d' ' -f1 /proc/loadavg\"\n\
                     every = \"1s\"\n";
    let ended = runs(&lab, "clamped", "config.max_connections = 1000000", collector);
    let caveats = ended.outcome["caveats"].as_array().expect("a list");
    let is_told = |caveat: &Value| {
        let message = caveat["message"].as_str().unwrap_or_default();
        caveat["code"] == "setting_not_in_effect" && message.contains("clamped.toml, line 4")
    };
    assert!(caveats.iter().any(is_told), "{caveats:?}");
    let collected = fs::read_to_string(ended.trial.join("collectors.ndjson")).expect("what was collected");
    assert!(collected.contains("\"name\":\"load\",\"value\":"), "{collected}");
}

#[test]
fn data_come_from_commands_of_the_users() {
    let Some(lab) = Lab::mariadb() else { return };
    runs(&lab, "builds", "", "");
    let datasets = fs::read_dir(lab.home().join("datasets")).expect("a store").flatten().map(|entry| entry.path());
    let data = datasets.map(|path| path.join("data")).find(|path| path.is_dir()).expect("a dataset");
    let commands = format!("restore = {{ commands = [\"cp -a {} $PLIMSOLL_DATADIR\"] }}\n", data.display());
    let ended = runs(&lab, "commands", "", &commands);
    assert_eq!(ended.outcome["restored"]["method"], "commands");
}

#[test]
fn a_trial_may_measure_storage() {
    let home = servers::home();
    let Some(lab) = Lab::mariadb_in(home.path()) else { return };
    let plan = home.path().join("io.toml");
    let text = "name = \"io\"\n[workload]\nkind = \"io\"\nprobes = 17\nsize = \"16M\"\n\
                time = \"1s\"\n[trials]\nrounds = 1\n";
    fs::write(&plan, text).expect("the home can be written");
    let ended = ends_well(&lab, &plan);
    let answer = ended.outcome["storage"].as_str().expect("one sentence");
    assert!(answer.bytes().any(|byte| byte.is_ascii_digit()), "{answer}");
    let told: Vec<&str> = ended.done.out.split_whitespace().collect();
    assert!(told.join(" ").contains(&format!("base: {answer}")), "{}", ended.done);
}

fn trials(recording: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(recording.join("trials")).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    all.sort();
    all
}

fn document(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("it is there")).expect("JSON")
}

#[test]
fn a_plan_is_one_labs_and_goes_on_only_with_its_data() {
    let Some(lab) = Lab::mariadb() else { return };
    let procedure = "[trials]\nwarmup = \"0s\"\nmeasure = \"3s\"\nrounds = 2\n";
    let plan = lab.plan("own", &format!("{SMALL}{procedure}"));
    let mut running = lab.begins(&format!("lab {}", plan.display()));
    let recordings = || lab.recordings().pop().map(|recording| trials(&recording)).unwrap_or_default();
    running.wait_for("the first trial", || !recordings().is_empty());
    lab.ends(&format!("lab {}", plan.display()))
        .exits(3)
        .tells(&["the plan `own` is being executed by plimsoll lab own (pid"]);
    running.wait_for("the second trial", || recordings().len() == 2);
    running.signal(Signal::INT);
    running.end().exits(130).tells(&["--resume"]);
    let recording = lab.recordings().pop().expect("a recording");
    let [first, second] = &trials(&recording)[..] else { panic!("two trials were expected") };
    let mut facts = document(&first.join("trial.json"));
    assert_eq!(facts["parameters"]["load"]["surroundings"]["storage"][0]["key"], "datadir", "{facts}");
    let dataset = facts["parameters"]["load"]["surroundings"]["dataset"]["id"].take();
    facts["parameters"]["load"]["surroundings"]["dataset"]["id"] = "another".into();
    facts["parameters"]["load"]["surroundings"]["build"]["version"] = "1.2.3".into();
    fs::write(first.join("trial.json"), facts.to_string()).expect("it can be written");
    lab.ends("lab --resume own").refuses(2, &["`another`", "cannot be resumed"]).in_one_message();
    assert!(second.is_dir(), "a refusal removes nothing");
    assert_eq!(document(&recording.join("manifest.json"))["status"], "interrupted");
    facts["parameters"]["load"]["surroundings"]["dataset"]["id"] = dataset;
    fs::write(first.join("trial.json"), facts.to_string()).expect("it can be written");
    lab.does("lab --resume own");
    let caveats = document(&recording.join("lab.json"))["caveats"].to_string();
    assert!(caveats.contains("other_server") && caveats.contains("1.2.3"), "{caveats}");
}

#[test]
fn a_ladder_of_which_no_step_can_be_tried_is_done() {
    let Some(lab) = Lab::mariadb() else { return };
    let rung = "[[rung]]\nname = \"torn\"\nconfig.innodb_doublewrite = \"OFF\"\n";
    let plan = lab.plan("none", &format!("{SMALL}{SHORT}{rung}"));
    let done = lab.does(&format!("lab {}", plan.display()));
    assert!(done.out.contains("refused for safety") && !done.err.contains("--resume"), "{done}");
}

#[test]
#[ignore = "half a minute; make test-all"]
fn a_load_line_that_no_rate_keeps_is_exit_code_1() {
    let Some(lab) = Lab::mariadb() else { return };
    let searching = SMALL.replace("rate = 200", "find = \"p50 < 1us\"");
    let plan = lab.plan("line", &format!("{searching}{SHORT}"));
    let done = lab.ends(&format!("lab {}", plan.display())).exits(1);
    // Beside other tests the machine is busy, which is said instead.
    let said = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = ["the objective was missed", "the machine was busy"];
    assert!(said.contains("No load line found for ") && why.iter().any(|why| said.contains(why)), "{done}");
}

/// A pseudoterminal: the end of whoever types, and the one that a command has as its standard input.
fn terminal() -> (File, File) {
    let typist = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudoterminal");
    grantpt(&typist).and_then(|()| unlockpt(&typist)).expect("it is ours");
    let name = ptsname(&typist, Vec::new()).expect("it has a name").into_string().expect("a plain one");
    (File::from(typist), File::options().read(true).write(true).open(name).expect("it can be opened"))
}

#[test]
fn a_trial_waits_for_what_a_person_does_by_hand() {
    let home = servers::home();
    let Some(lab) = Lab::mariadb_in(home.path()) else { return };
    let plan = home.path().join("prompt.toml");
    let text = "name = \"prompt\"\n[server]\nbefore = { prompt = \"turn the key\" }\n[workload]\nkind = \"io\"\n\
                probes = 17\nsize = \"16M\"\ntime = \"200ms\"\n[trials]\nrounds = 1\n";
    fs::write(&plan, text).expect("the home can be written");
    let (mut typist, terminal) = terminal();
    let at_the_terminal = || {
        let mut command = lab.command(&format!("lab {}", plan.display()));
        command.stdin(terminal.try_clone().expect("a second handle"));
        begin(command)
    };
    let mut waits = at_the_terminal();
    waits.wait_for("the trial", || !lab.recordings().is_empty());
    waits.signal(Signal::INT);
    waits.end().exits(130).tells(&["interrupted"]);
    let mut goes_on = at_the_terminal();
    // What is typed before the question is no answer, so they type until somebody listens.
    assert!(wait_until(PATIENCE, || typist.write_all(b"\n").is_ok() && goes_on.has_ended()));
    goes_on.end().exits(0).tells(&["turn the key", "press Enter"]);
}

#[test]
fn memory_and_cpus_are_limited() {
    if !geteuid().is_root() {
        return servers::skip("only root can limit memory here");
    }
    let Some(lab) = Lab::mariadb() else { return };
    runs(&lab, "limits", "memory = \"1G\"\ncpus = [0]", "");
}

#[track_caller]
fn lanes_come_and_go(lab: &Lab) {
    if !geteuid().is_root() {
        return servers::skip("only root can build lanes");
    }
    for lane in ["ext4", "xfs,iops=500"] {
        runs(lab, &format!("lane-{}", &lane[..3]), &format!("lane = \"{lane}\""), "");
        assert_eq!(fs::read_dir(lab.home().join("lanes")).into_iter().flatten().count(), 0, "{lane}");
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn lanes_come_and_go_with_a_lab_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    lanes_come_and_go(&lab);
}

#[test]
#[ignore = "mounts; make test-all"]
fn lanes_come_and_go_with_a_lab_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    lanes_come_and_go(&lab);
}
