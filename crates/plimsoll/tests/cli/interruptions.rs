//! What interrupts a load: a server that stalls, a load generator that is stopped, rows that another session holds,
//! connections that are closed. Each is planted, and correctly named.

use crate::harness::{Lab, signal_process};
use crate::open_loop::codes;
use plimsoll_model::diagnosis::{Bottleneck, BottleneckVerdict, Diagnosis};
use plimsoll_testkit::servers::timed_run;
use rustix::process::Signal;
use serde_json::Value;
use std::thread;
use std::time::Duration;

const CLOSED: &str = "--connections 4";
const OPEN: &str = "--connections 8 --rate 50";
/// How long something is stopped.
const STOPPED: Duration = Duration::from_secs(3);

/// Who is stopped in the middle of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Who {
    Server,
    Generator,
    /// As when a virtual machine is suspended.
    Both,
}

fn ready(lab: Option<Lab>) -> Option<Lab> {
    let lab = lab?;
    lab.up("");
    lab.does("load oltp_point_select --tables 1 --table-size 1000");
    Some(lab)
}

/// Stops it for a while; what the run says of itself, and the verdict.
fn stopped(lab: &Lab, who: Who, load: &str) -> (Value, Diagnosis) {
    let _alone = timed_run();
    let mut run = lab.begins(&format!("run oltp_point_select --tables 1 --table-size 1000 {load} --time 12s --json"));
    let server = lab.control().peer_pid().expect("a local server");
    lab.wait_until_measured(&mut run);
    // So that no whole seconds are all that is missing.
    thread::sleep(Duration::from_millis(500));
    let pids = match who {
        Who::Server => vec![server],
        Who::Generator => vec![run.pid()],
        Who::Both => vec![run.pid(), server],
    };
    pids.iter().for_each(|pid| signal_process(*pid, Signal::STOP));
    thread::sleep(STOPPED);
    pids.iter().rev().for_each(|pid| signal_process(*pid, Signal::CONT));
    let summary = run.end().exits(0).json();
    let found = lab.last_diagnosis();
    println!("{who:?}, {load}: {:?}; {}", codes(&summary), found.sentence);
    (summary, found)
}

fn a_stalled_server_is_named(lab: &Lab, load: &str) {
    let (summary, Diagnosis { verdict, sentence, .. }) = stopped(lab, Who::Server, load);
    assert_ne!(verdict, BottleneckVerdict::NotLimited, "{sentence}");
    let codes = codes(&summary);
    assert!(codes.contains(&"stalled"), "{codes:?}");
    // A machine that stalls stops the generator, too, and not for as long.
    let lag_ms = summary["points"][0]["client"]["scheduling_lag_ms_max"].as_f64().expect("a lag");
    assert!(lag_ms < 2500.0, "nobody stopped the generator: {lag_ms} ms");
    assert_eq!(codes.contains(&"generator_stopped"), lag_ms >= 1000.0, "{codes:?}: {lag_ms} ms");
    let seconds = summary["points"][0]["stalled"]["seconds"].as_f64();
    assert!(seconds.is_some_and(|seconds| seconds > 2.0), "{}", summary["points"][0]);
    assert!(sentence.contains("; no transaction was completed for "), "{sentence}");
}

/// Whatever the server did meanwhile, nobody was there to see it.
fn a_stopped_generator_blames_itself(lab: &Lab, who: Who, load: &str) {
    let (summary, Diagnosis { verdict, sentence, candidates, .. }) = stopped(lab, who, load);
    let codes = codes(&summary);
    assert!(codes.contains(&"generator_stopped") && !codes.contains(&"stalled"), "{codes:?}");
    let lag_ms = summary["points"][0]["client"]["scheduling_lag_ms_max"].as_f64();
    assert!(lag_ms.is_some_and(|ms| ms > 2000.0), "{}", summary["points"][0]["client"]);
    let blames_itself = matches!(verdict, BottleneckVerdict::NotClear | BottleneckVerdict::Limited(Bottleneck::Client));
    assert!(blames_itself, "{verdict:?}: {sentence}");
    let mut evidence = candidates.iter().flat_map(|candidate| &candidate.evidence);
    let seconds = evidence.find(|found| found.unit == "s").expect("it did not run").value;
    assert!(lag_ms.is_some_and(|ms| seconds < 1.5 * ms / 1e3), "one stop is counted once: {lag_ms:?} ms, {seconds} s");
}

#[test]
fn a_stalled_server_is_named_in_an_open_loop_on_mariadb() {
    let Some(lab) = ready(Lab::mariadb()) else { return };
    a_stalled_server_is_named(&lab, OPEN);
}

#[test]
#[ignore = "stops servers for seconds; make test-all"]
fn a_stalled_server_is_named_in_both_loops_on_mysql() {
    let Some(lab) = ready(Lab::mysql()) else { return };
    a_stalled_server_is_named(&lab, OPEN);
    a_stalled_server_is_named(&lab, CLOSED);
}

#[test]
#[ignore = "stops servers for seconds; make test-all"]
fn a_stalled_server_is_named_in_a_closed_loop_on_mariadb() {
    let Some(lab) = ready(Lab::mariadb()) else { return };
    a_stalled_server_is_named(&lab, CLOSED);
}

#[test]
#[ignore = "stops the load generator for seconds; make test-all"]
fn a_stopped_generator_blames_itself_in_both_loops() {
    let Some(lab) = ready(Lab::mariadb()) else { return };
    for load in [CLOSED, OPEN, "--connections 4 --loops 2"] {
        a_stopped_generator_blames_itself(&lab, Who::Generator, load);
    }
}

#[test]
#[ignore = "stops the load generator for seconds; make test-all"]
fn of_a_server_that_is_stopped_with_its_generator_nothing_is_known() {
    let Some(lab) = ready(Lab::mariadb()) else { return };
    for load in [CLOSED, OPEN] {
        a_stopped_generator_blames_itself(&lab, Who::Both, load);
    }
}

/// A server that is up, and somebody else's; its URL.
fn external(lab: &Lab, statements: &[&str]) -> String {
    let url = lab.up("");
    lab.does("load oltp_update_non_index --tables 1 --table-size 100");
    lab.sql(statements);
    url
}

fn rows_that_another_session_holds_are_named(lab: &Lab) {
    let url = external(lab, &["SET GLOBAL innodb_lock_wait_timeout = 1"]);
    let mut holder = lab.control();
    for statement in ["BEGIN", "SELECT * FROM sbtest.sbtest1 WHERE id <= 10 FOR UPDATE"] {
        holder.run(statement).expect("nobody else holds them");
    }
    let line =
        "run oltp_update_non_index --tables 1 --table-size 100 --rand-type uniform --connections 8 --time 4s --json";
    let mut run = lab.begins(&format!("{line} --target {url}"));
    lab.wait_until_measured(&mut run);
    thread::sleep(STOPPED);
    drop(holder);
    let summary = run.end().exits(0).json();
    let point = &summary["points"][0];
    let found = lab.last_diagnosis();
    assert_eq!(found.verdict, BottleneckVerdict::Limited(Bottleneck::RowLocks), "{found:#?}");
    assert!(found.sentence.contains("(errors 1213 and 1205)"), "{}", found.sentence);
    let (errors, ms) = (point["errors"]["1205"].as_u64(), point["failed_attempts_ms"]["1205"].as_f64());
    assert!(errors.is_some_and(|errors| errors > 0), "{point}");
    // The server waits a second before it gives up, whatever else the machine is at.
    assert!(ms.zip(errors).is_some_and(|(ms, errors)| ms >= 900.0 * errors as f64), "{point}");
}

#[test]
#[ignore = "waits for lock timeouts; make test-all"]
fn rows_that_another_session_holds_are_named_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    rows_that_another_session_holds_are_named(&lab);
}

#[test]
#[ignore = "waits for lock timeouts; make test-all"]
fn rows_that_another_session_holds_are_named_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    rows_that_another_session_holds_are_named(&lab);
}

/// Every transaction finds its connection closed, and no wait of ours is in its latency.
fn idle_connections_that_are_closed_are_made_anew_at_once(lab: &Lab) {
    let url = external(lab, &["SET GLOBAL wait_timeout = 1"]);
    let line = "run oltp_update_non_index --tables 1 --table-size 100 --connections 1 --rate 0.5 --arrivals constant";
    let summary = lab.does(&format!("{line} --time 9s --json --target {url}")).json();
    let point = &summary["points"][0];
    assert!(point["reconnects"].as_u64().is_some_and(|count| count >= 2), "{point}");
    // What a back-off of 100 ms before the first attempt leaves is one transaction at most, the first.
    let median = point["latency_ms"]["p50"].as_f64();
    assert!(median.is_some_and(|ms| ms < 100.0), "{point}");
    assert!(codes(&summary).contains(&"reconnects"), "{}", summary["caveats"]);
}

#[test]
#[ignore = "waits for idle connections to be closed; make test-all"]
fn idle_connections_that_are_closed_are_made_anew_at_once_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    idle_connections_that_are_closed_are_made_anew_at_once(&lab);
}

#[test]
#[ignore = "waits for idle connections to be closed; make test-all"]
fn idle_connections_that_are_closed_are_made_anew_at_once_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    idle_connections_that_are_closed_are_made_anew_at_once(&lab);
}

/// All connections of the run are killed, that of its own questions among them.
fn a_run_whose_connections_are_killed_gives_its_verdict(lab: &Lab) {
    let url = lab.up("");
    lab.does("load tpcc --warehouses 1");
    let line = "run tpcc --warehouses 1 --connections 4 --time 4s --check --json";
    let mut run = lab.begins(&format!("{line} --target {url}"));
    lab.wait_until_measured(&mut run);
    let mut killer = lab.control();
    let others = "SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()";
    let others = killer.rows(others).expect("root sees all").rows;
    assert!(others.len() >= 5, "four of the load, and one for questions: {others:?}");
    for id in others.iter().filter_map(|row| row[0].as_deref()) {
        // One of them may have ended by itself.
        let _ = killer.run(&format!("KILL {id}"));
    }
    let summary = run.end().exits(0).json();
    let point = &summary["points"][0];
    assert!(point["reconnects"].as_u64().is_some_and(|count| count >= 4), "{point}");
    let farewells = ["1053", "1927"].iter().filter_map(|code| point["errors"][code].as_u64()).sum::<u64>();
    assert!(point["lost_connections"].as_u64().is_some_and(|lost| lost + farewells >= 4), "{point}");
    assert!(codes(&summary).contains(&"reconnects"), "{}", summary["caveats"]);
    let checks = summary["checks"].as_array().expect("they were asked for");
    assert!(!checks.is_empty() && checks.iter().all(|check| check["holds"] == true), "{checks:#?}");
}

#[test]
#[ignore = "loads a warehouse; make test-all"]
fn a_run_whose_connections_are_killed_gives_its_verdict_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_run_whose_connections_are_killed_gives_its_verdict(&lab);
}

#[test]
#[ignore = "loads a warehouse; make test-all"]
fn a_run_whose_connections_are_killed_gives_its_verdict_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_run_whose_connections_are_killed_gives_its_verdict(&lab);
}
