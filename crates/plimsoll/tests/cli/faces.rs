//! What the command says about itself: help, lists, completion scripts.

use crate::harness::{Done, run};
use plimsoll_testkit::servers;

#[track_caller]
fn plimsoll(line: &str) -> Done {
    let home = servers::home();
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
    command.args(line.split_whitespace());
    run(command)
}

const COMMANDS: [&str; 10] =
    ["quickstart", "workloads", "load", "run", "check", "drop", "server", "calibrate", "clean", "completions"];

#[test]
fn every_command_has_help_with_its_options() {
    let whole = plimsoll("--help").exits(0);
    for command in COMMANDS {
        assert!(whole.out.contains(&format!("  {command} ")), "{whole}");
        for flag in ["-h", "--help"] {
            let help = plimsoll(&format!("{command} {flag}")).exits(0);
            assert!(help.out.contains("Usage: plimsoll ") && help.err.is_empty(), "{help}");
        }
    }
    assert!(whole.out.contains("130 interrupted"), "the exit codes are explained: {whole}");
    for action in ["start", "stop", "list", "logs"] {
        plimsoll(&format!("server {action} --help")).exits(0);
    }
    let long = plimsoll("run --help").exits(0).out;
    for option in ["--connections", "--rate", "--events-per-connection", "--outage-limit"] {
        assert!(long.contains(option), "{option}");
    }
    assert!(!long.contains("--table-size") && !long.contains("--warehouses"), "no workload was named: {long}");
}

#[test]
fn help_shows_the_parameters_of_the_workload_that_was_named() {
    let shown = [
        ("run oltp_read_write --help", "--rand-type", "--warehouses"),
        ("run --connections 4 tpcc --help", "--warehouses", "--rand-type"),
        ("load tpcc --help", "--warehouses", "--table-size"),
        ("prepare oltp_read_write --help", "--table-size", "--warehouses"),
        ("tune --workload tpcc --help", "--warehouses", "--rand-type"),
        ("crash --workload=tpcc --help", "--warehouses", "--table-size"),
    ];
    for (line, own, foreign) in shown {
        let help = plimsoll(line).exits(0).out;
        assert!(help.contains(own), "{line}: {own}");
        assert!(!help.contains(foreign), "{line}: {foreign}");
    }
    assert!(!plimsoll("run tpcc -h").exits(0).out.contains("--warehouses"), "the short help is short");
}

#[test]
fn without_a_command_there_is_help_and_exit_code_2() {
    let done = plimsoll("").exits(2);
    assert!(done.out.is_empty() && done.err.contains("Usage"), "{done}");
}

#[test]
fn the_version_is_printed() {
    assert_eq!(plimsoll("--version").exits(0).out.trim(), concat!("plimsoll ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn workloads_are_listed_and_described() {
    let list = plimsoll("workloads").exits(0).out;
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for name in crate::parity::WORKLOADS.iter().chain(&["bulk_insert"]) {
        assert!(names.contains(name), "{names:?}");
        let described = plimsoll(&format!("workloads {name}")).exits(0).out;
        assert!(described.contains("tables") && described.contains("sbtest"), "{described}");
    }
    let read_write = plimsoll("workloads oltp_read_write").exits(0).out;
    for text in ["range-size", "100", "SELECT DISTINCT c FROM sbtest1", "BETWEEN ? AND ?", "special"] {
        assert!(read_write.contains(text), "{text}: {read_write}");
    }
}
