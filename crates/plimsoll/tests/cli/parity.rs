//! sysbench as the oracle: for the same number of events both tools send the same statements.

use crate::harness::{Lab, begin};
use plimsoll_model::StatementKind;
use plimsoll_testkit::servers::skip;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

pub const EVENTS: u64 = 12;

/// All workloads that drive `sbtest`; the one that empties the table comes last.
pub const WORKLOADS: [&str; 10] = [
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_update_index",
    "oltp_update_non_index",
    "select_random_points",
    "select_random_ranges",
    "oltp_insert",
    "oltp_delete",
];

/// Debian's sysbench; false was said with [`skip`].
#[track_caller]
pub fn sysbench_is_here() -> bool {
    let here = Command::new("sysbench").arg("--version").output().is_ok();
    if !here {
        skip("no sysbench; install it");
    }
    here
}

/// Runs sysbench on this server, which must succeed.
#[track_caller]
pub fn sysbench(socket: &Path, database: &str, line: &str) {
    let mut command = Command::new("sysbench");
    command.args(line.split_whitespace()).arg(format!("--mysql-socket={}", socket.display()));
    command.args(["--db-driver=mysql", "--mysql-user=root", &format!("--mysql-db={database}")]);
    begin(command).end().exits(0);
}

/// The server's own counts.
fn counted(lab: &Lab) -> BTreeMap<&'static str, u64> {
    let rows = lab.sql(&["SHOW GLOBAL STATUS LIKE 'Com\\_%'"]);
    let value = |name: &str| {
        let row = rows.iter().find(|row| row[0].as_deref() == Some(name));
        row.and_then(|row| row[1].as_deref()?.parse().ok()).unwrap_or_else(|| panic!("no {name}"))
    };
    StatementKind::ALL.into_iter().map(|kind| (kind.name(), value(kind.status_variable()))).collect()
}

fn difference(
    before: &BTreeMap<&'static str, u64>,
    after: &BTreeMap<&'static str, u64>,
) -> BTreeMap<&'static str, u64> {
    after.iter().map(|(name, count)| (*name, count - before[name])).collect()
}

fn by_kind(counts: &Value) -> BTreeMap<&'static str, u64> {
    StatementKind::ALL.into_iter().map(|kind| (kind.name(), counts[kind.name()].as_u64().expect("a count"))).collect()
}

/// Statements per transaction as sysbench's own report has them.
fn per_transaction(workload: &str) -> u64 {
    match workload {
        "oltp_read_write" => 20,
        "oltp_read_only" => 16,
        "oltp_write_only" => 6,
        _ => 1,
    }
}

fn same_statements(lab: &Lab, protocol: &str) {
    let sysbench_mode = if protocol == "text" { "disable" } else { "auto" };
    lab.up("");
    lab.does("load oltp_read_write --tables 2 --table-size 500");
    let socket = lab.socket();
    for workload in WORKLOADS {
        let before = counted(lab);
        let line = format!(
            "{workload} --tables=2 --table-size=500 --events={EVENTS} --time=0 --threads=1 --db-ps-mode={sysbench_mode} run"
        );
        sysbench(&socket, "sbtest", &line);
        let theirs = difference(&before, &counted(lab));
        let run = format!("run {workload} --events-per-connection {EVENTS} --protocol {protocol} --json");
        let summary = lab.does(&run).json();
        let ours = by_kind(&summary["server"]["statements"]);
        assert_eq!(ours, theirs, "{workload}, {protocol}: ours, then those of sysbench");
        assert_eq!(by_kind(&summary["totals"]["statements"]), ours, "{workload}");
        assert_eq!(summary["points"][0]["queries"], EVENTS * per_transaction(workload), "{workload}");
        assert_eq!(summary["points"][0]["transactions"], EVENTS, "{workload}");
    }
}

#[test]
fn every_workload_sends_what_sysbench_sends_prepared() {
    let Some(lab) = Lab::mariadb().filter(|_| sysbench_is_here()) else { return };
    same_statements(&lab, "prepared");
}

#[test]
fn every_workload_sends_what_sysbench_sends_as_text() {
    let Some(lab) = Lab::mariadb().filter(|_| sysbench_is_here()) else { return };
    same_statements(&lab, "text");
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn every_workload_sends_what_sysbench_sends_to_mysql() {
    let Some(lab) = Lab::mysql().filter(|_| sysbench_is_here()) else { return };
    same_statements(&lab, "prepared");
}

#[test]
fn a_transaction_of_bulk_insert_is_a_row() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load bulk_insert --tables 2");
    let summary = lab.does("run bulk_insert --connections 2 --events-per-connection 70000 --json").json();
    assert_eq!(summary["points"][0]["counts"]["finished"], 140_000);
    assert_eq!(summary["totals"]["statements"], summary["server"]["statements"]);
    let inserts = summary["totals"]["statements"]["insert"].as_u64().expect("a count");
    assert!((2..100).contains(&inserts), "{inserts} statements of 512 KiB and less");
    for table in ["sbtest1", "sbtest2"] {
        assert_eq!(lab.value(&format!("SELECT COUNT(*) FROM sbtest.{table}")), "70000");
    }
}
