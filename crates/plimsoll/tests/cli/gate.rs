//! Gates on real servers: limits, what they write for continuous integration, and what is refused before anything starts.

use crate::harness::{Lab, PATIENCE, run};
use roxmltree::Document;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const RUN: &str = "run oltp_point_select --connections 1,2 --rate 100 --events 50 --report-interval 0";

/// Counts are exact, and half a second has no intervals, whatever the machine does.
const PASSES: &str = "--fail-if errors>0 --fail-if failed>1%";
const UNDECIDED: &str = "--fail-if tps<1000k";
/// No transaction of it is a new order.
const FAILS: &str = "--fail-if nopm<1";

/// A lab of two variants that are the same. It offers no rate: a machine that is late for one of a hundred arrivals has no
/// p99.
const PLAN: &str = "[workload]\nkind = \"oltp_point_select\"\ntables = 1\ntable_size = 100\n[load]\nconnections = [1]\n\
                    [trials]\nwarmup = \"0s\"\nmeasure = { events = 50 }\n[[variant]]\nname = \"a\"\n\
                    [[variant]]\nname = \"b\"\n";

/// How many cases of a JUnit file have failed, are skipped, and are there.
#[track_caller]
fn junit(path: &Path) -> (usize, usize, usize) {
    let text = fs::read_to_string(path).expect("a JUnit file");
    let document = Document::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    (count("failure"), count("skipped"), count("testcase"))
}

fn a_run_is_judged(lab: &Lab) {
    lab.does("load oltp_point_select --tables 1 --table-size 100");
    let file = lab.home().join("gate.xml");
    let judged = |limits: &str| lab.ends(&format!("{RUN} {limits} --junit {}", file.display()));
    judged(PASSES).exits(0).tells(&["gate passed: errors>0 at 1 connection at 100 arrivals per second: 0 errors"]);
    assert_eq!(junit(&file), (0, 0, 4));
    judged(&format!("{PASSES} {UNDECIDED}")).exits(0).tells(&["gate undecided: tps<1000k at 2 connections"]);
    assert_eq!(junit(&file), (0, 2, 6));
    judged(&format!("{UNDECIDED} --fail-if-unclear")).exits(4);
    assert_eq!(junit(&file), (2, 0, 2));
    judged(&format!("{PASSES} {FAILS} {UNDECIDED} --fail-if-unclear")).exits(1).tells(&["there are no samples"]);
    assert_eq!(junit(&file), (4, 0, 8));
}

#[test]
fn a_run_is_judged_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_run_is_judged(&lab);
}

#[test]
#[ignore = "as on MariaDB; make test-all"]
fn a_run_is_judged_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_run_is_judged(&lab);
}

/// The documents on standard output, annotations beside other notes, and the summary of a job, which others write to as well.
#[test]
fn a_job_of_github_is_told() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_point_select --tables 1 --table-size 100");
    let summary = lab.home().join("summary.md");
    fs::write(&summary, "# A step before\n").expect("the home can be written");
    let mut command = lab.command(&format!("{RUN} --json --github {PASSES} {FAILS}"));
    command.env("GITHUB_STEP_SUMMARY", &summary);
    let done = run(command).exits(1);
    let gate = done.json()["gate"].clone();
    let decisions: Vec<&Value> =
        gate.as_array().expect("findings").iter().map(|finding| &finding["decision"]).collect();
    assert_eq!(decisions, ["passed", "passed", "passed", "passed", "failed", "failed"]);
    let errors: Vec<&str> = done.err.lines().filter(|line| line.starts_with("::error title=plimsoll::")).collect();
    assert_eq!(errors.len(), 2, "{done}");
    let text = fs::read_to_string(&summary).expect("a summary");
    assert!(text.starts_with("# A step before\n"), "{text}");
    for part in ["# Gate failed: 2 of 6 limits", "nopm&lt;1", "there are no samples", "transactions per second"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_run_that_cannot_end_is_an_error_of_its_suite() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_point_select --tables 1 --table-size 100");
    let file = lab.home().join("gate.xml");
    let line = format!("{} --junit {} {PASSES}", RUN.replace("--events 50", "--time 60s"), file.display());
    let mut running = lab.begins(&line);
    lab.wait_until_measured(&mut running);
    running.signal(Signal::INT);
    running.end_within(PATIENCE).exits(130);
    let text = fs::read_to_string(&file).expect("a JUnit file");
    assert!(text.contains("<error message=\"it was interrupted\"/>"), "{text}");
    // The second load point was never reached.
    assert!(text.contains("at 2 connections") && text.contains("nothing was measured"), "{text}");
}

#[track_caller]
fn a_lab_is_judged(lab: &Lab) {
    let plan = lab.plan("gate", PLAN);
    let file = lab.home().join("gate.xml");
    let line = format!("lab {} --rounds 1 {PASSES} --fail-if-slower 50% --junit {}", plan.display(), file.display());
    let done = lab.ends(&line).exits(0);
    done.tells(&["gate passed: errors>0 at b, 1 connection", "gate undecided: b slower than a by more than 50 %"]);
    assert_eq!(junit(&file), (0, 1, 5));
}

#[test]
fn a_lab_is_judged_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_lab_is_judged(&lab);
}

#[test]
#[ignore = "as on MariaDB; make test-all"]
fn a_lab_is_judged_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_lab_is_judged(&lab);
}

#[test]
fn two_names_are_judged() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_point_select --tables 1 --table-size 100");
    for name in ["before", "after"] {
        lab.does(&format!("{RUN} --name {name}"));
    }
    let file = lab.home().join("gate.xml");
    let line = format!("compare before after --fail-if-slower 5% --junit {}", file.display());
    lab.ends(&line).exits(0).tells(&["gate undecided: after slower than before by more than 5 %"]);
    assert_eq!(junit(&file), (0, 1, 1));
}

/// What the recordings of this name are said to be, oldest first.
#[track_caller]
fn labels(lab: &Lab, name: &str) -> Vec<Value> {
    let listed = lab.does("recordings list --json").json();
    let rows = listed.as_array().expect("a list").iter().filter(|row| row["name"] == name);
    rows.map(|row| serde_json::json!([row["kept"], row["tags"], row["note"]])).collect()
}

#[test]
fn a_baseline_is_kept_and_new_runs_are_judged_by_it() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_point_select --tables 1 --table-size 100");
    lab.ends(&format!("{RUN} --name new --baseline main --fail-if-slower 5%"))
        .exits(2)
        .tells(&["recordings keep main"]);
    lab.does(&format!("{RUN} --name main"));
    lab.does("recordings keep main").tells(&["the baseline of main: 1 recording"]);
    lab.ends("recordings keep main").exits(2).tells(&["since it was kept the last time"]);
    lab.ends("recordings keep nobody").exits(2).tells(&["no recording is called `nobody`"]);
    // One round of each has no interval.
    let judged = lab.does(&format!("{RUN} --name new --baseline main --fail-if-slower 5%"));
    judged.tells(&["gate undecided: ", " slower than main by more than 5 %", "cannot have an interval"]);
    lab.ends("recordings rm main").exits(2).tells(&["kept as a baseline", "recordings keep main --release"]);
    lab.does("recordings tag main nightly before-upgrade");
    lab.does("recordings tag main nightly --remove");
    lab.does("recordings note main slow");
    assert_eq!(labels(&lab, "main"), [serde_json::json!([true, ["before-upgrade"], "slow"])]);
    let listed = lab.does("recordings list");
    assert!(listed.out.contains("kept, before-upgrade: slow"), "{listed}");
    lab.ends("recordings tag main two,words").exits(2).tells(&["cannot name a tag"]);
    lab.does("recordings keep main --release");
    lab.does("recordings rm main");
    assert_eq!(labels(&lab, "main"), Vec::<Value>::new());
}

#[test]
fn what_no_gate_could_judge_is_refused_before_anything_starts() {
    let Some(lab) = Lab::mariadb() else { return };
    let ladder = lab.plan("ladder", &format!("{PLAN}[[rung]]\nname = \"r\"\nconfig = {{ sync_binlog = 0 }}\n"));
    let search = lab.plan("search", &PLAN.replace("connections = [1]", "connections = [1]\nfind = \"p99 < 20ms\""));
    let plan = lab.plan("plan", PLAN);
    let of = |options: &str, path: &Path| format!("lab {} {options}", path.display());
    for (line, says) in [
        (format!("{RUN} --fail-if p99<20ms"), "accepted is 'p99 > 20ms'"),
        (format!("{RUN} --fail-if p99>20"), "a time with its unit"),
        (format!("{RUN} --fail-if speed>1"), "such as 'p99 > 20ms'"),
        (format!("{RUN} --junit gate.xml"), "give it a limit: "),
        (format!("{RUN} --github"), "give it a limit: "),
        (format!("{RUN} --fail-if-unclear"), "give it a limit: "),
        (format!("{RUN} {PASSES} --junit {}/none/gate.xml", lab.home().display()), "its directory does not exist"),
        (format!("{RUN} {PASSES} --junit {}", lab.home().display()), "it is a directory"),
        ("compare a b --fail-if-unclear".to_owned(), "give it a limit: "),
        (of(PASSES, &ladder), "a ladder judges its rungs itself"),
        (of("--fail-if-slower 5%", &ladder), "a ladder judges its rungs itself"),
        (of(PASSES, &search), "a search for a load line chooses its rates itself"),
        (of("--max-time 1m", &plan), "give --rounds auto as well"),
        (of("--max-time 1m", &ladder), "cannot be kept by a ladder"),
        (format!("{RUN} --fail-if-slower 5%"), "--baseline"),
        (format!("{RUN} --baseline main"), "--fail-if-slower"),
    ] {
        let done = lab.ends(&line).exits(2);
        assert!(done.err.contains(says), "{line}: {done}");
    }
    assert_eq!(lab.recordings(), Vec::<PathBuf>::new());
}
