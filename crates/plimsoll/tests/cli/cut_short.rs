//! Recordings of runs and labs that were killed: a report of what is left, and of what is missing.

use crate::dashboard::Dashboard;
use crate::harness::{Lab, signal_process};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn document(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The report of a recording as JSON.
fn reported(lab: &Lab, name: &str) -> Value {
    lab.does(&format!("report {name} --format json")).json()
}

#[track_caller]
fn says(report: &Value, texts: &[&str]) {
    let all = report.to_string();
    for text in texts {
        assert!(all.contains(text), "{text:?} is missing: {all:.4000}");
    }
}

/// A point that is summed up again from its seconds is the one that the run summed up.
fn sums_up_again(lab: &Lab) {
    lab.does("run oltp_read_write --connections 2 --warmup 1s --time 2s --name whole");
    let directory = lab.recordings().pop().expect("a recording");
    let summary = document(&directory.join("summary.json"));
    fs::remove_file(directory.join("summary.json")).expect("removed");
    let report = reported(lab, "whole");
    says(&report, &["summary.json is not there"]);
    let (was, is) = (&summary["points"][0], &report["data"]["summary"]["points"][0]);
    for field in ["connections", "seconds", "transactions", "queries", "transactions_per_second"] {
        assert_eq!(was[field], is[field], "{field}");
    }
    for field in ["p50", "p99", "max"] {
        assert_eq!(was["latency_ms"][field], is["latency_ms"][field], "{field}");
    }
}

fn a_killed_run_is_reported(lab: &Lab) {
    let mut running = lab.begins("run oltp_read_write --connections 1,2,4 --rate 200 --time 30s --name cut");
    lab.wait_until_measured(&mut running);
    running.kill();
    let report = reported(lab, "cut");
    says(&report, &["summary.json is not there", "of 30 s of its measured window", "2 load points were not run"]);
    let points = &report["data"]["summary"]["points"];
    assert_eq!(points.as_array().map(Vec::len), Some(1));
    assert!(points[0]["transactions"].as_u64().is_some_and(|count| count > 0), "{points}");
    let page = lab.home().join("cut.html");
    lab.does(&format!("report cut -o {}", page.display()));
    assert!(fs::read_to_string(&page).expect("a page").contains("were not run"));
}

#[test]
fn a_run_that_was_killed_is_reported_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --table-size 1000");
    a_killed_run_is_reported(&lab);
    sums_up_again(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_run_that_was_killed_is_reported_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    lab.up("");
    lab.does("load oltp_read_write --table-size 1000");
    a_killed_run_is_reported(&lab);
}

const PLAN: &str = "[workload]\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 1000\n[load]\nconnections = [2]\nrate = 200\n\
                    [trials]\nrounds = 3\nwarmup = \"0s\"\nmeasure = \"2s\"\npause = \"0s\"\n[[variant]]\nname = \"a\"\n\
                    [[variant]]\nname = \"b\"\nconfig = { innodb_flush_log_at_trx_commit = 2 }\n";

#[test]
#[ignore = "starts a server for each of two trials; make test-all"]
fn a_lab_that_was_killed_is_reported() {
    let Some(lab) = Lab::mariadb() else { return };
    let plan = lab.plan("half", PLAN);
    let mut running = lab.begins(&format!("lab {}", plan.display()));
    running.wait_for("a second of the second trial", || {
        let trials = lab.recordings().pop().map(|recording| recording.join("trials"));
        let second = trials.and_then(|trials| fs::read_dir(trials).ok()?.flatten().map(|entry| entry.path()).max());
        let series =
            second.filter(|path| path.to_string_lossy().contains("0002-")).map(|path| path.join("intervals.ndjson"));
        series.and_then(|path| fs::read_to_string(path).ok()).is_some_and(|text| text.contains("\"phase\":\"measure\""))
    });
    says(&reported(&lab, "half"), &["till running: trial 2 of 6"]);
    running.kill();
    let report = reported(&lab, "half");
    says(&report, &["lab.json is not there", "5 of about 6 trials were not run", "left out of the estimates"]);
    assert_eq!(report["data"]["lab"]["trials"]["done"], 1);
    let answer = report["answer"].as_str().expect("a sentence");
    assert!(answer.contains("interrupted after 1 trial"), "{answer}");
}

/// Every way to look at a recording says why it ended, before anything else of it.
#[track_caller]
fn says_why(lab: &Lab, id: &str, why: &str) {
    let first = |format: &str, lines: usize| {
        let text = lab.does(&format!("report {id} --format {format} -o -")).out;
        text.lines().take(lines).collect::<Vec<_>>().join("\n")
    };
    let page = lab.does(&format!("report {id} --format html -o -")).out;
    let head = page.split("<main>").next().unwrap_or_default().to_owned();
    let finding = reported(lab, id)["findings"][0].clone();
    assert_eq!(finding["label"], "Ended early", "{finding}");
    let dashboard = Dashboard::over(lab.home(), "127.0.0.1:0");
    let shown = [
        ("html", head),
        ("md", first("md", 6)),
        ("csv", first("csv", 6)),
        ("json", finding["text"].to_string()),
        ("terminal", lab.does(&format!("recordings show {id}")).out.lines().next().unwrap_or_default().to_owned()),
        ("list", lab.does("recordings list").out),
        ("dashboard", dashboard.get("/").body),
        ("report on the dashboard", dashboard.get(&format!("/recording/{id}")).body),
    ];
    for (what, text) in shown {
        let text = text.replace(['\u{a0}', '\u{2060}'], " ");
        assert!(text.contains(why), "{what} does not say {why:?}: {text:.2000}");
    }
}

#[test]
fn a_run_that_failed_says_why_wherever_it_is_looked_at() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_read_write --table-size 1000");
    let mut running = lab.begins("run oltp_read_write --connections 2,4 --warmup 0s --time 30s");
    lab.wait_until_measured(&mut running);
    signal_process(lab.control().peer_pid().expect("a local server"), Signal::KILL);
    running.end().exits(3).tells(&["ended early", "the private server is gone"]);
    let directory = lab.recordings().pop().expect("a recording");
    let id = directory.file_name().and_then(|id| id.to_str()).expect("UTF-8").to_owned();
    says_why(&lab, &id, "private server is gone");
    let answer = reported(&lab, &id)["answer"].to_string();
    assert!(answer.contains("ended early") && !answer.contains("interrupted"), "nobody interrupted it: {answer}");
}
