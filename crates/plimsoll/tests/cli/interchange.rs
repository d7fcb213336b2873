//! Data loaded by sysbench are run and checked by Plimsoll, and the other way round.

use crate::harness::{Lab, counts_agree};
use crate::parity::{EVENTS, WORKLOADS, sysbench, sysbench_is_here};
use std::path::Path;

const SHAPE: &str = "--tables=2 --table-size=600";

/// What holds however the server is reached.
pub const BODIES: [fn(&Lab); 5] =
    [loaded_by_sysbench, loaded_by_plimsoll, same_tables_in_every_way, bulk_insert_both_ways, the_layout_of_0_4];

/// All workloads of the family by both tools, over data that the first has loaded.
fn both_run_all(lab: &Lab, socket: &Path, database: &str) {
    for workload in WORKLOADS {
        let line = format!("run {workload} --database {database} --connections 2 --events {EVENTS} --json");
        let point = &lab.does(&format!("{line} {SHAPE}")).json()["points"][0];
        assert_eq!(point["counts"]["finished"], EVENTS, "{workload}: {point}");
        sysbench(socket, database, &format!("{workload} {SHAPE} --threads=2 --events={EVENTS} --time=0 run"));
    }
    lab.does(&format!("check oltp_read_write --database {database} {SHAPE}"));
}

fn loaded_by_sysbench(lab: &Lab) {
    lab.up("");
    let socket = lab.socket();
    lab.sql(&["CREATE DATABASE theirs"]);
    sysbench(&socket, "theirs", &format!("oltp_read_write {SHAPE} prepare"));
    lab.does(&format!("check oltp_read_write --database theirs {SHAPE}"));
    both_run_all(lab, &socket, "theirs");
    lab.ends("drop oltp_read_write --database theirs").refuses(2, &["nothing was dropped"]);
    sysbench(&socket, "theirs", &format!("oltp_read_write {SHAPE} cleanup"));
}

fn loaded_by_plimsoll(lab: &Lab) {
    lab.up("");
    let socket = lab.socket();
    lab.does(&format!("load oltp_read_write --database ours {SHAPE}"));
    both_run_all(lab, &socket, "ours");
    lab.does("drop oltp_read_write --database ours");
    assert_eq!(lab.value("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'ours'"), "0");
}

/// Both give the same tables: what SHOW CREATE TABLE says, but for the counter that INSERT has moved.
fn same_tables(lab: &Lab, options: &str) {
    lab.up("");
    lab.sql(&["DROP DATABASE IF EXISTS theirs", "CREATE DATABASE theirs"]);
    sysbench(&lab.socket(), "theirs", &format!("oltp_read_write --table-size=10 {options} prepare"));
    lab.does(&format!("load oltp_read_write --database ours --table-size=10 {options}"));
    let created = |database: &str| {
        let text = lab.value(&format!("SHOW CREATE TABLE {database}.sbtest1"));
        let words = text.split_whitespace().filter(|word| !word.starts_with("AUTO_INCREMENT="));
        words.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(created("ours"), created("theirs"), "{options}");
    lab.does("drop oltp_read_write --database ours");
}

fn same_tables_in_every_way(lab: &Lab) {
    for options in ["", "--auto_inc=off", "--secondary=on", "--create_secondary=off"] {
        same_tables(lab, options);
    }
}

fn bulk_insert_both_ways(lab: &Lab) {
    lab.up("");
    let socket = lab.socket();
    lab.sql(&["CREATE DATABASE theirs"]);
    sysbench(&socket, "theirs", "bulk_insert --threads=2 prepare");
    let line = "run bulk_insert --connections 2 --events 60000 --database";
    lab.does(&format!("{line} theirs --tables 2"));
    lab.does("check bulk_insert --database theirs --tables 2");
    lab.does("load bulk_insert --database ours --tables 2");
    sysbench(&socket, "ours", "bulk_insert --threads=2 --events=1000 --time=0 run");
    assert_eq!(lab.value("SELECT (SELECT COUNT(*) FROM ours.sbtest1) + (SELECT COUNT(*) FROM ours.sbtest2)"), "1000");
    lab.does(&format!("{line} ours"));
    lab.does("check bulk_insert --database ours");
    lab.does("drop bulk_insert --database ours");
}

#[test]
fn data_of_sysbench_are_run_and_checked() {
    let Some(lab) = Lab::mariadb().filter(|_| sysbench_is_here()) else { return };
    loaded_by_sysbench(&lab);
}

#[test]
fn data_of_plimsoll_are_run_by_sysbench() {
    let Some(lab) = Lab::mariadb().filter(|_| sysbench_is_here()) else { return };
    loaded_by_plimsoll(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn data_are_interchanged_on_mysql() {
    let Some(lab) = Lab::mysql().filter(|_| sysbench_is_here()) else { return };
    loaded_by_sysbench(&lab);
    loaded_by_plimsoll(&lab);
}

#[test]
fn the_tables_are_those_of_sysbench() {
    let Some(lab) = Lab::mariadb().filter(|_| sysbench_is_here()) else { return };
    same_tables_in_every_way(&lab);
}

#[test]
fn bulk_insert_is_interchanged() {
    let Some(lab) = Lab::mariadb().filter(|_| sysbench_is_here()) else { return };
    bulk_insert_both_ways(&lab);
}

fn the_layout_of_0_4(lab: &Lab) {
    lab.up("");
    lab.does("load oltp_read_write --layout sysbench-0.4 --table-size 2000");
    assert_eq!(lab.value("SELECT COUNT(*) FROM sbtest.sbtest"), "2000");
    for workload in ["oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select"] {
        let summary = lab.does(&format!("run {workload} --connections 4 --events 40 --json")).json();
        assert_eq!(summary["params"]["layout"], "sysbench-0.4", "what was loaded says it");
        assert_eq!(summary["points"][0]["counts"]["finished"], 40);
        counts_agree(lab, &summary, workload);
    }
    lab.does("check oltp_read_write");
    lab.ends("run oltp_read_write --layout sysbench-1.0").refuses(2, &["--layout"]).in_one_message();
    lab.ends("run oltp_insert").refuses(2, &["oltp_insert"]).in_one_message();
    lab.does("drop oltp_read_write");
}

#[test]
fn the_layout_of_sysbench_0_4_is_loaded_run_and_checked() {
    let Some(lab) = Lab::mariadb() else { return };
    the_layout_of_0_4(&lab);
}
