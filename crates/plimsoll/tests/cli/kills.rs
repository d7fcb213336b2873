//! Kills and Ctrl-C: results so far are kept, loading can continue, and nothing is left running.

use crate::harness::{Done, Lab, PATIENCE, Running, alive, signal_process};
use plimsoll_testkit::servers::wait_until;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

/// Large enough that a debug build is busy with it for a while after the first chunk.
const LOAD: &str = "load oltp_read_write --tables 3 --table-size 150000";
/// Large enough where there is one chunk after the other.
const SHORT_LOAD: &str = "load oltp_read_write --tables 3 --table-size 100000";

fn uninterrupted(lab: &Lab, load: &str) -> Vec<String> {
    lab.does(&format!("{load} --database whole"));
    lab.checksums("whole", 3)
}

fn goes_on(lab: &Lab, load: &str) {
    lab.ends("check oltp_read_write").refuses(2, &["has not finished", "plimsoll load"]);
    lab.ends("run oltp_read_write").refuses(2, &["not completely loaded", "plimsoll load"]);
    lab.ends("load oltp_read_write --table-size 9").refuses(2, &["other parameters"]);
    // Another number of threads than before.
    lab.does(&format!("{load} --threads 3")).tells(&[", continued)"]);
    lab.does("check oltp_read_write");
}

fn killed_load_goes_on(lab: &Lab) {
    lab.up("");
    let mut load = lab.begins(&format!("{SHORT_LOAD} --threads 1"));
    lab.wait_until_loaded(&mut load, "sbtest", 1);
    load.kill();
    goes_on(lab, SHORT_LOAD);
    assert_eq!(lab.checksums("sbtest", 3), uninterrupted(lab, SHORT_LOAD), "as if nobody had killed it");
}

#[test]
fn a_killed_load_goes_on_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    killed_load_goes_on(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_killed_load_goes_on_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    killed_load_goes_on(&lab);
}

fn goes_on_after_its_server_was_killed(lab: &Lab) {
    let mut load = lab.begins(LOAD);
    lab.wait_until_loaded(&mut load, "sbtest", 1);
    let pid = lab.control().peer_pid().expect("a local server");
    signal_process(pid, Signal::KILL);
    load.end().refuses(3, &["the server is gone", "error log"]);
    lab.up("");
    goes_on(lab, LOAD);
    assert_eq!(lab.checksums("sbtest", 3), uninterrupted(lab, LOAD), "as if nobody had killed it");
}

#[test]
#[ignore = "3 loads; make test-all"]
fn a_load_goes_on_after_its_server_was_killed_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    goes_on_after_its_server_was_killed(&lab);
}

#[test]
#[ignore = "once more on MySQL; make test-all"]
fn a_load_goes_on_after_its_server_was_killed_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    goes_on_after_its_server_was_killed(&lab);
}

/// All settings by which a load may change a private server.
fn settings(lab: &Lab) -> Vec<Vec<Option<String>>> {
    lab.sql(&["SHOW GLOBAL VARIABLES LIKE 'innodb%'"])
}

fn changed_settings_are_put_back(lab: &Lab) {
    lab.up("--set innodb_max_dirty_pages_pct_lwm=7");
    let before = settings(lab);
    let mut load = lab.begins(&format!("{LOAD} --threads 1"));
    lab.wait_until_loaded(&mut load, "sbtest", 2);
    load.kill();
    assert_ne!(settings(lab), before, "nobody was there to put them back");
    let mut load = lab.begins(LOAD);
    lab.wait_until_loaded(&mut load, "sbtest", 4);
    assert_ne!(settings(lab), before, "changed for the load");
    load.signal(Signal::INT);
    load.end().exits(130);
    assert_eq!(settings(lab), before, "after a kill and an interrupt");
    let mut load = lab.begins(LOAD);
    let mut control = lab.control();
    load.wait_for("a connection that loads", || {
        let rows = control.rows("SELECT id FROM information_schema.processlist WHERE info LIKE 'LOAD DATA LOCAL%'");
        let found = rows.expect("a list").single().map(str::to_owned);
        found.is_some_and(|id| control.run(&format!("KILL {id}")).is_ok())
    });
    load.end().exits(3);
    assert_eq!(settings(lab), before, "after an error");
    lab.does(LOAD);
    assert_eq!(settings(lab), before, "after success");
    assert_eq!(lab.checksums("sbtest", 3), uninterrupted(lab, LOAD), "as if nothing had happened");
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn what_a_load_changes_of_a_server_is_put_back_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    changed_settings_are_put_back(&lab);
}

#[test]
#[ignore = "3 loads; make test-all"]
fn ctrl_c_during_a_load_lets_it_go_on() {
    let Some(lab) = Lab::mariadb() else { return };
    let mut load = lab.begins(LOAD);
    lab.wait_until_loaded(&mut load, "sbtest", 1);
    load.signal(Signal::INT);
    load.end().refuses(130, &["interrupted", "continues where it stopped"]);
    assert!(lab.does("server list").out.contains("down"), "the server was started for the load and goes with it");
    lab.up("");
    goes_on(&lab, LOAD);
    assert_eq!(lab.checksums("sbtest", 3), uninterrupted(&lab, LOAD), "as if nobody had interrupted it");
}

/// An early end still prints one document with the point that was under way.
fn partial_point(done: &Done) {
    let summary = done.json();
    assert_eq!(summary["interrupted"], true);
    let points = summary["points"].as_array().expect("a list");
    assert_eq!(points.len(), 1, "{summary}");
    assert!(points[0]["transactions"].as_u64().is_some_and(|count| count > 0), "{summary}");
    assert!(points[0]["seconds"].as_f64().is_some_and(|seconds| seconds > 0.5 && seconds < 600.0), "{summary}");
    let recording = summary["recording"].as_str().expect("a recording");
    let kept = fs::read_to_string(format!("{recording}/summary.json")).expect("the recording has the summary too");
    let kept: Value = serde_json::from_str(&kept).expect("JSON");
    assert_eq!(kept["points"], summary["points"]);
}

/// At a rate that leaves the machine to others, and for longer than any test waits.
const RUN: &str = "run oltp_read_write --connections 4,8 --rate 200 --time 10m --json";

#[test]
fn ctrl_c_during_a_run_keeps_what_was_measured() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_read_write --table-size 1000");
    let mut run = lab.begins(RUN);
    lab.wait_until_measured(&mut run);
    let pid = lab.control().peer_pid().expect("a local server");
    run.signal(Signal::INT);
    let done = run.end().exits(130).tells(&["interrupted"]);
    partial_point(&done);
    assert_eq!(done.json()["totals"]["statements"], done.json()["server"]["statements"], "it drained in order");
    assert!(!alive(pid), "the server was started for the run and goes with it");
    lab.does("check oltp_read_write");
}

fn server_killed_during_a_run(lab: &Lab) {
    lab.does("load oltp_read_write --table-size 1000");
    let mut run = lab.begins(RUN);
    lab.wait_until_measured(&mut run);
    signal_process(lab.control().peer_pid().expect("a local server"), Signal::KILL);
    let done = run.end().exits(3).tells(&["ended early", "the private server is gone", "error log"]);
    partial_point(&done);
    lab.does("run oltp_read_write --events 20");
}

#[test]
fn a_server_killed_during_a_run_ends_it_at_once_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    server_killed_during_a_run(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_server_killed_during_a_run_ends_it_at_once_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    server_killed_during_a_run(&lab);
}

#[test]
fn a_second_ctrl_c_ends_it_at_once() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_read_write --table-size 1000");
    let mut run = lab.begins(RUN);
    lab.wait_until_measured(&mut run);
    let pid = lab.control().peer_pid().expect("a local server");
    run.signal(Signal::INT);
    run.signal(Signal::INT);
    run.end().exits(130);
    assert!(wait_until(PATIENCE, || !alive(pid)), "the server goes either way");
}

/// A run on a server that is not Plimsoll's to watch over: only its connections tell that it is gone.
fn external_run(lab: &Lab, options: &str) -> Running {
    let url = lab.up("");
    lab.does("load oltp_point_select --table-size 1000");
    let line = "run oltp_point_select --connections 4 --rate 500 --json";
    let mut run = lab.begins(&format!("{line} {options} --target {url}"));
    lab.wait_until_measured(&mut run);
    let pid = lab.control().peer_pid().expect("a local server");
    signal_process(pid, Signal::KILL);
    assert!(wait_until(PATIENCE, || !alive(pid)));
    run
}

/// Of the last recording, by its seconds so far.
fn reconnects(lab: &Lab) -> u64 {
    let recording = lab.recordings().pop().expect("there is a recording");
    let trial = fs::read_dir(recording.join("trials")).expect("trials").flatten().next().expect("a trial");
    let seconds = fs::read_to_string(trial.path().join("intervals.ndjson")).unwrap_or_default();
    let seconds = seconds.lines().filter_map(|second| serde_json::from_str::<Value>(second).ok());
    seconds.filter_map(|second| second["reconnects"].as_u64()).sum()
}

#[test]
fn an_external_server_that_comes_back_is_driven_on() {
    let Some(lab) = Lab::mariadb() else { return };
    let mut run = external_run(&lab, "--time 10m --outage-limit 60s");
    lab.up("");
    run.wait_for("four connections anew", || reconnects(&lab) >= 4);
    run.signal(Signal::INT);
    let summary = run.end().exits(130).json();
    let point = &summary["points"][0];
    assert!(point["reconnects"].as_u64().is_some_and(|count| count >= 4), "{point}");
}

#[test]
fn an_external_server_that_stays_away_ends_the_run_after_the_limit() {
    let Some(lab) = Lab::mariadb() else { return };
    let run = external_run(&lab, "--time 10m --outage-limit 5s");
    let done = run.end().exits(3).tells(&["ended early"]);
    partial_point(&done);
    assert!(!done.err.contains("private server"), "{done}");
}

#[test]
fn a_killed_plimsoll_leaves_no_server_and_touches_no_other() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_read_write --table-size 1000");
    let mut run = lab.begins(RUN);
    lab.wait_until_measured(&mut run);
    let pid = lab.control().peer_pid().expect("a local server");
    run.kill();
    assert!(wait_until(PATIENCE, || !alive(pid)), "the server dies with the Plimsoll that started it");
    assert!(lab.does("server list").out.contains("stale"));
    lab.does("server start bystander");
    let done = lab.does("clean");
    assert!(done.out.contains(".sock") && !done.out.contains("bystander"), "{done}");
    lab.does("clean").refuses(0, &["nothing to clean"]);
    let listed = lab.does("server list --json").json();
    let state = |name: &str| {
        let rows = listed.as_array().expect("a list");
        let row = rows.iter().find(|row| row["name"] == name).expect("both are there");
        row["state"].as_str().expect("a state").to_owned()
    };
    assert!(state("bystander").starts_with("up") && state("default-mariadb") == "down", "{listed}");
    lab.does("server stop bystander");
    lab.does("check oltp_read_write");
}

#[test]
fn a_second_plimsoll_is_told_who_has_the_server() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_read_write --table-size 1000");
    let mut run = lab.begins("run oltp_read_write --connections 4 --rate 200 --time 10m --json");
    lab.wait_until_measured(&mut run);
    for line in ["run oltp_read_write", "check oltp_read_write", "drop oltp_read_write", "server stop default-mariadb"]
    {
        lab.ends(line).refuses(3, &["plimsoll run oltp_read_write"]).in_one_message();
    }
    lab.ends("clean").exits(3).tells(&["left alone", "plimsoll run oltp_read_write"]);
    run.signal(Signal::TERM);
    partial_point(&run.end().exits(130));
}
