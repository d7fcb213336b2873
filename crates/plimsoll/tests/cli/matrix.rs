//! Every workload in every way, on every server there is. Long, so for `make test-all`.

use crate::harness::Lab;
use crate::parity::{EVENTS, WORKLOADS};

const DISTRIBUTIONS: [&str; 5] = ["uniform", "gaussian", "special", "pareto", "zipfian"];

fn every_way(lab: &Lab) {
    lab.up("");
    lab.does("load oltp_read_write --tables 3 --table-size 3000");
    for workload in WORKLOADS {
        for protocol in ["prepared", "text"] {
            for distribution in DISTRIBUTIONS {
                let way = format!("{workload} --protocol {protocol} --rand-type {distribution}");
                let line = format!("run {way} --connections 3 --loops 2 --events {EVENTS} --json");
                let summary = lab.does(&line).json();
                assert_eq!(summary["points"][0]["counts"]["finished"], EVENTS, "{way}");
                assert_eq!(summary["totals"]["statements"], summary["server"]["statements"], "{way}");
            }
        }
    }
    lab.does("check oltp_read_write");
    lab.does("drop oltp_read_write");
}

/// Every way to lay the tables out, driven by the workloads that read and write them.
fn every_layout(lab: &Lab) {
    for options in [
        "--auto-inc off",
        "--secondary on",
        "--create-secondary off",
        "--auto-inc off --secondary on --create-secondary off",
        "--layout sysbench-0.4",
        "--layout sysbench-0.4 --auto-inc off",
    ] {
        lab.does(&format!("load oltp_read_write --table-size 500 {options}"));
        lab.does("check oltp_read_write");
        for workload in ["oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select"] {
            let line = format!("run {workload} --connections 3 --events {EVENTS} --ignore-errors 1062 --json");
            let summary = lab.does(&line).json();
            assert_eq!(summary["totals"]["statements"], summary["server"]["statements"], "{workload} {options}");
        }
        if !options.contains("sysbench-0.4") {
            lab.does(&format!("run oltp_insert --connections 3 --events {EVENTS}"));
            lab.does(&format!("run oltp_insert --connections 2 --events {EVENTS}"));
        }
        lab.does("check oltp_read_write");
        lab.does("drop oltp_read_write");
    }
}

#[test]
#[ignore = "100 runs; make test-all"]
fn every_workload_in_every_way_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    every_way(&lab);
    every_layout(&lab);
}

#[test]
#[ignore = "100 runs; make test-all"]
fn every_workload_in_every_way_on_the_next_mariadb() {
    let Some(lab) = Lab::mariadb_new() else { return };
    every_way(&lab);
    every_layout(&lab);
}

#[test]
#[ignore = "100 runs; make test-all"]
fn every_workload_in_every_way_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    every_way(&lab);
    every_layout(&lab);
}
