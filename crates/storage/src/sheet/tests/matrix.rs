//! What the article of 2008 learned from its matrix.

use super::{disk, line, probe, says_nothing_of, sheet};
use plimsoll_model::io::{Probe, SheetLine};
use serde_json::json;

const PAGE: f64 = 16384.0;

fn run(number: u8, what: &str, (files, threads): (u64, u64), iops: f64) -> Probe {
    let params = json!({
        "set_bytes": 134_217_728u64, "files": files, "threads": threads, "block": PAGE, "what": what, "dsync": what == "write"
    });
    Probe { id: format!("percona.{}", number - 100), name: "a run".to_owned(), ..probe(number, params, iops) }
}

fn writes(one: f64, many: f64, many_files: f64) -> Vec<Probe> {
    vec![run(103, "write", (1, 1), one), run(104, "write", (1, 64), many), run(105, "write", (128, 64), many_files)]
}

fn one_writer(probes: &[Probe]) -> SheetLine {
    line(&sheet(&disk(), probes), "one_writer_percona_5").clone()
}

#[test]
fn a_file_that_takes_one_write_at_a_time_is_found() {
    // As printed.
    let found = one_writer(&writes(142.62, 142.83, 827.94));
    assert_eq!((&found.value, found.warning), (&Some(true.into()), true), "{found:?}");
    assert!(found.statement.starts_with("A file takes one write at a time: 64 threads make 828 writes"), "{found:?}");
    assert_eq!(found.probes, ["percona.3", "percona.4", "percona.5"]);
    // Many threads gain as much on one file.
    assert_eq!(one_writer(&writes(142.0, 2200.0, 2250.0)).value, Some(false.into()));
    // Neither threads nor files bring anything: another limit.
    assert_eq!(one_writer(&writes(142.0, 143.0, 150.0)).value, Some(false.into()));
}

#[test]
fn threads_are_compared_where_nothing_else_differs() {
    let reads = [run(109, "read", (128, 1), 259.28), run(110, "read", (128, 64), 2334.63)];
    let found = line(&sheet(&disk(), &reads), "scaling_percona_10").clone();
    assert!(found.number().is_some_and(|times| (9.0..9.01).contains(&times)), "{found:?}");
    let unlike = [run(109, "read", (1, 1), 259.28), run(110, "read", (128, 64), 2334.63)];
    says_nothing_of("scaling_percona_10", &unlike);
}

#[test]
fn blocks_are_counted_against_requests() {
    let mut reads = [run(109, "read", (128, 1), 259.28), run(110, "read", (128, 64), 2334.63)];
    for (probe, kilobytes) in reads.iter_mut().zip([4248.0, 38_338.0]) {
        probe.found.insert("read_kb_per_second".to_owned(), kilobytes);
    }
    let lines = sheet(&disk(), &reads);
    let found = line(&lines, "blocks_percona_10");
    assert!(found.number().is_some_and(|share| (share - 1.002).abs() < 0.001), "{found:?}");
    assert!(lines.iter().all(|line| line.key != "blocks_percona_9"), "most is under way in the other: {lines:#?}");
}
