//! What a run leaves behind.

use crate::harness::Lab;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

fn document(path: impl AsRef<Path>) -> Value {
    serde_json::from_str(&text(path)).expect("JSON")
}

/// The lines after the first, which names the schema.
fn lines(path: impl AsRef<Path>) -> Vec<Value> {
    let text = text(path);
    let mut all = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is a document"));
    let first = all.next().expect("a first line");
    assert!(first.get("schema").is_some(), "{first}");
    all.collect()
}

fn recording_is_whole(lab: &Lab) {
    lab.up("");
    lab.does("load oltp_read_write --table-size 1000");
    let line = "run oltp_read_write --connections 2,4 --warmup 1s --time 1s --seed 5 --json";
    let summary = lab.does(line).json();
    let recordings = lab.recordings();
    assert_eq!(recordings.len(), 1);
    let recording = &recordings[0];
    assert_eq!(summary["recording"], recording.display().to_string());
    assert_eq!(document(recording.join("summary.json")), summary);
    let manifest = document(recording.join("manifest.json"));
    assert_eq!((&manifest["seed"], &manifest["status"]), (&5.into(), &"done".into()), "{manifest}");
    assert!(!lines(recording.join("events.ndjson")).is_empty());
    let mut trials: Vec<_> = fs::read_dir(recording.join("trials")).expect("trials").flatten().collect();
    trials.sort_by_key(fs::DirEntry::file_name);
    let names: Vec<_> = trials.iter().map(|trial| trial.file_name().into_string().expect("UTF-8")).collect();
    assert_eq!(names, ["0001-run-c2-r1", "0002-run-c4-r1"]);
    for (trial, point) in trials.iter().zip(summary["points"].as_array().expect("a list")) {
        trial_is_whole(&trial.path(), point);
    }
}

fn trial_is_whole(trial: &Path, point: &Value) {
    assert!(document(trial.join("trial.json")).is_object());
    let intervals = lines(trial.join("intervals.ndjson"));
    let of = |phase: &str, field: &str| -> u64 {
        let all = intervals.iter().filter(|interval| interval["phase"] == phase);
        all.map(|interval| interval[field].as_u64().expect("a count")).sum()
    };
    assert_eq!(point["transactions"], of("measure", "transactions"), "the seconds add up to the point");
    assert_eq!(point["queries"], of("measure", "queries"));
    assert!(of("warm-up", "transactions") > 0, "the warm-up is recorded too");
    let times: Vec<u64> = intervals.iter().map(|interval| interval["t_ns"].as_u64().expect("a time")).collect();
    assert!(times.is_sorted(), "{times:?}");
    let histograms = text(trial.join("latency.hlog"));
    for tag in ["txn.transaction.service", "stmt.commit", "stmt.point"] {
        assert!(histograms.contains(&format!("Tag={tag}")), "{tag}");
    }
    assert!(!lines(trial.join("host.ndjson")).is_empty());
    assert!(!lines(trial.join("server.ndjson")).is_empty());
    let variables = document(trial.join("variables.json"));
    let listed = variables.to_string();
    assert!(listed.contains("innodb_flush_log_at_trx_commit") && listed.contains("\"origin\":\"plimsoll\""));
    assert!(text(trial.join("my.cnf")).contains("[mysqld]"));
    assert!(trial.join("error.log").is_file());
}

#[test]
fn a_recording_is_whole_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    recording_is_whole(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_recording_is_whole_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    recording_is_whole(&lab);
}

#[test]
fn values_that_could_be_secrets_are_left_out() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("--set init_connect=SELECT/*hidden-word-17*/1");
    lab.does("load oltp_read_write --table-size 100");
    lab.does("run oltp_read_write --events 5");
    let trial = lab.recordings()[0].join("trials/0001-run-c1-r1");
    let variables = document(trial.join("variables.json"));
    let all = variables.as_object().expect("by name");
    let listed = all.get("variables").and_then(Value::as_object).unwrap_or(all);
    for (name, setting) in listed {
        let telling = ["password", "auth", "secret", "key", "token"].iter().any(|word| name.contains(word));
        assert!(!telling || setting["effective"].is_null(), "{name}: {setting}");
    }
}

#[test]
fn a_calibrated_machine_knows_how_near_its_ceiling_a_run_came() {
    let Some(lab) = Lab::mariadb() else { return };
    let found = lab.does("calibrate --time 1s --json").json();
    let ceiling = found["queries_per_second"].as_f64().expect("a rate");
    assert!(ceiling > 0.0 && found["cpu_us_per_query"].as_f64().is_some_and(|cpu| cpu > 0.0), "{found}");
    assert!(lab.does("calibrate --time 500ms").out.contains("queries/s"));
    lab.up("");
    lab.does("load oltp_point_select --table-size 1000");
    let summary = lab.does("run oltp_point_select --connections 4 --time 1s --json").json();
    let fraction = summary["points"][0]["client"]["ceiling_fraction"].as_f64().expect("it is known now");
    assert!(fraction > 0.0, "{fraction}");
    let sockets: Vec<_> = fs::read_dir(lab.socket().parent().expect("a directory"))
        .expect("it can be read")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains("null"))
        .collect();
    assert!(sockets.is_empty(), "{sockets:?}");
}
