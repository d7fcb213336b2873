//! Rules of `plimsoll advise` on real servers: each setting here is wrong, and its rule says so. Those that speak of a bottleneck
//! are tried where it is planted, in [`bottlenecks`](crate::bottlenecks) and [`bottlenecks_storage`](crate::bottlenecks_storage).

use crate::harness::Lab;
use plimsoll_testkit::servers;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Statements read and sort thousands of rows, and some change them.
const WORKLOAD: &str = "[workload]\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 20000\nrange_size = 6000\n\
                        [trials]\nwarmup = \"500ms\"\nmeasure = \"6s\"\nrounds = 1\n[load]\nconnections = [18]\n";

/// A sort does not fit, nor does a temporary table; nearly all connections are taken; commits are lost in any crash.
const WRONG: &str = "sort_buffer_size = \"32K\", tmp_table_size = \"16K\", max_heap_table_size = \"16K\", \
                     max_connections = 20, innodb_flush_log_at_trx_commit = 0";

/// What an application needs that this server is not.
const NEEDS: &str = "[needs]\nlatency = \"p99 < 1us\"\nreplication = true\nisolation = \"SERIALIZABLE\"\n";

fn rules(advice: &Value) -> BTreeSet<&str> {
    let steps = advice["steps"].as_array().expect("six steps");
    let findings = steps.iter().flat_map(|step| step["findings"].as_array().expect("findings"));
    findings.filter_map(|finding| finding["rule"].as_str()).collect()
}

/// Runs a server that is so, and asks for advice.
#[track_caller]
fn says(lab: &Lab, server: &str, expected: &[&str]) {
    let needs = lab.home().join("needs.toml");
    fs::write(&needs, NEEDS).expect("it can be written");
    lab.does(&format!("lab {} --json", lab.plan("wrong", &format!("{server}\n{WORKLOAD}")).display()));
    let advice = lab.does(&format!("advise wrong --needs {} --json", needs.display())).json();
    let found = rules(&advice);
    assert!(expected.iter().all(|rule| found.contains(rule)), "{expected:?} should speak: {advice:#}");
}

const OF_WRONG: [&str; 8] = [
    "sort.merge",
    "tmp.disk",
    "scan.rows",
    "conc.max-used",
    "integrity.commits",
    "needs.latency",
    "needs.replication",
    "needs.isolation",
];

#[test]
#[ignore = "as long as several tests; make test-all"]
fn wrong_settings_are_told_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    let server = format!("config = {{ {WRONG}, query_cache_type = \"ON\", query_cache_size = \"16M\" }}");
    says(&lab, &server, &[&OF_WRONG[..], &["qc.on"]].concat());
}

#[test]
#[ignore = "as long as several tests; make test-all"]
fn wrong_settings_are_told_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    says(&lab, &format!("config = {{ {WRONG}, log_bin = \"OFF\" }}"), &OF_WRONG);
}

#[test]
#[ignore = "as long as several tests; make test-all"]
fn data_in_memory_are_told_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return servers::skip("there is no /dev/shm") };
    says(&lab, &format!("datadir = {:?}", memory.path()), &["io.mount"]);
}
