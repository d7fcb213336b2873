//! What `load` makes, `check` verifies and `drop` removes.

use crate::harness::Lab;
use serde_json::Value;
use std::fs;

fn a_function_of_the_seed(lab: &Lab) {
    lab.up("");
    let load = "load oltp_read_write --tables 2 --table-size 60000 --database";
    lab.does(&format!("{load} one --threads 1"));
    lab.does(&format!("{load} three --threads 3"));
    lab.does(&format!("{load} other --threads 2 --seed 2"));
    let (one, three, other) = (lab.checksums("one", 2), lab.checksums("three", 2), lab.checksums("other", 2));
    assert_eq!(one, three, "the number of threads changes nothing");
    assert!(one[0] != other[0] && one[1] != other[1], "the seed changes every table");
    assert_ne!(one[0], one[1], "tables differ from each other");
    lab.does("check oltp_read_write --database three");
}

#[test]
fn data_are_a_function_of_the_seed_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_function_of_the_seed(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn data_are_a_function_of_the_seed_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_function_of_the_seed(&lab);
}

#[test]
fn where_load_data_is_refused_inserts_give_the_same_rows() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --table-size 3000 --database fast").tells(&["LOAD DATA LOCAL"]);
    lab.sql(&["SET GLOBAL local_infile = OFF"]);
    lab.does("load oltp_read_write --table-size 3000 --database slow").tells(&["INSERT"]);
    assert_eq!(lab.checksums("fast", 1), lab.checksums("slow", 1));
}

#[test]
fn check_names_the_invariant_that_damage_broke() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    let damages = [
        ("UPDATE sbtest.sbtest1 SET c = 'short' WHERE id = 7", "row formats of sbtest1"),
        ("DELETE FROM sbtest.sbtest2 WHERE id = 7", "rows of sbtest2"),
        ("ALTER TABLE sbtest.sbtest1 DROP INDEX k_1", "indexes of sbtest1"),
        ("ALTER TABLE sbtest.sbtest2 MODIFY c VARCHAR(99)", "columns of sbtest2"),
    ];
    for (damage, invariant) in damages {
        lab.does("load oltp_read_write --tables 2 --table-size 100");
        lab.does("check oltp_read_write");
        lab.sql(&["SET GLOBAL sql_mode = ''", damage]);
        let done = lab.ends("check oltp_read_write").exits(1);
        let broken: Vec<&str> = done.out.lines().filter(|line| line.starts_with("BROKEN")).collect();
        let line = broken.iter().find(|line| line.contains(invariant)).unwrap_or_else(|| panic!("{damage}: {done}"));
        // How many there are holds until somebody works on the data, and that may have been another client.
        let others = line.contains("what clients other than Plimsoll's have done since is in no ledger");
        assert_eq!(others, invariant.starts_with("rows of"), "{line}");
        let found = lab.ends("check oltp_read_write --json").exits(1).json();
        assert_eq!(found["broken"], broken.len(), "{found}");
        lab.does("drop oltp_read_write");
    }
}

#[test]
fn what_run_found_broken_stands_in_its_recording() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --table-size 200");
    lab.sql(&["DELETE FROM sbtest.sbtest1 WHERE id = 7"]);
    let printed = lab.ends("run oltp_point_select --events 50 --check --json").exits(1).json();
    let recording = lab.recordings().pop().expect("a recording");
    let kept = fs::read_to_string(recording.join("summary.json")).expect("a summary");
    assert_eq!(serde_json::from_str::<Value>(&kept).expect("JSON")["checks"], printed["checks"]);
    for format in ["html", "md", "csv", "json"] {
        let told = lab.does(&format!("report oltp_point_select --format {format} -o -")).out;
        assert!(told.contains("invariants of the data were broken"), "{format}: {told}");
    }
    let repeat = lab.does("report oltp_point_select --format md -o -").out;
    assert!(repeat.contains("--check"), "{repeat}");
}

#[test]
fn the_number_of_rows_is_an_invariant_only_until_the_first_run() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_delete --table-size 200");
    assert!(lab.does("check oltp_delete").out.contains("rows of sbtest1"));
    lab.does("run oltp_delete --events 50");
    let done = lab.does("check oltp_delete");
    assert!(!done.out.contains("rows of sbtest1"), "{done}");
}

#[test]
fn a_second_load_is_refused_with_what_is_there() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --tables 2 --table-size 100 --seed 5");
    let before = lab.checksums("sbtest", 2);
    for again in ["--tables 2 --table-size 100 --seed 5", "--tables 3", "--table-size 7 --seed 9"] {
        let done = lab.ends(&format!("load oltp_read_write {again}"));
        done.refuses(2, &["already", "tables=2", "table-size=100", "seed=5", "plimsoll drop"]).in_one_message();
    }
    lab.does("run oltp_read_write --events 10");
    lab.ends("load oltp_point_select").refuses(2, &["has been written to by a run"]);
    assert_ne!(lab.checksums("sbtest", 2), before);
}

#[test]
fn a_run_on_more_than_was_loaded_is_refused() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --tables 2 --table-size 100");
    lab.ends("run oltp_read_write --table-size 101").refuses(2, &["--table-size 101", "100"]).in_one_message();
    lab.ends("run oltp_read_write --tables 3").refuses(2, &["--tables 3"]).in_one_message();
    let summary = lab.does("run oltp_read_write --tables 1 --table-size 50 --events 5 --json").json();
    assert_eq!(summary["params"]["table_size"], 50);
}

#[test]
fn drop_removes_its_tables_and_nothing_else() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.sql(&["CREATE DATABASE mixed", "CREATE TABLE mixed.precious (a INT)", "CREATE TABLE mixed.sbtest9 (a INT)"]);
    lab.does("load oltp_read_write --tables 2 --table-size 50 --database mixed");
    lab.does("drop oltp_read_write --database mixed");
    let tables = lab.sql(&["SELECT table_name FROM information_schema.tables WHERE table_schema = 'mixed' ORDER BY 1"]);
    let names: Vec<_> = tables.into_iter().map(|row| row[0].clone().expect("a name")).collect();
    assert_eq!(names, ["precious", "sbtest9"], "the database was there before, so it stays too");
    lab.sql(&["DROP TABLE mixed.precious, mixed.sbtest9"]);
    lab.does("load oltp_read_write --table-size 50 --database mixed");
    lab.does("drop oltp_read_write --database mixed");
    assert!(lab.sql(&["SHOW TABLES FROM mixed"]).is_empty(), "empty now, but somebody else's");
    lab.ends("drop oltp_read_write --database mixed").refuses(2, &["nothing was dropped"]).in_one_message();
    lab.ends("drop oltp_read_write --database nowhere").refuses(2, &["no database `nowhere`"]).in_one_message();
}

#[test]
fn a_database_that_load_made_goes_with_its_last_table() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    let there = || lab.value("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'sbtest'");
    lab.does("load oltp_read_write --table-size 50");
    lab.sql(&["CREATE TABLE sbtest.precious (a INT)"]);
    lab.does("drop oltp_read_write");
    assert_eq!(there(), "1", "somebody put a table there");
    lab.sql(&["DROP DATABASE sbtest"]);
    lab.does("load oltp_read_write --table-size 50");
    lab.does("drop oltp_read_write").tells(&["and the database sbtest"]);
    assert_eq!(there(), "0");
}

#[test]
fn tables_of_others_are_left_alone() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.sql(&["CREATE DATABASE sbtest", "CREATE TABLE sbtest.sbtest2 (a INT)"]);
    let done = lab.ends("load oltp_read_write --tables 2 --table-size 50");
    done.refuses(2, &["`sbtest2`", "did not load"]).in_one_message();
    assert_eq!(lab.sql(&["SHOW TABLES FROM sbtest"]).len(), 1, "nothing was created");
}

#[test]
fn a_stale_marker_is_replaced() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --tables 2 --table-size 50");
    lab.sql(&["DROP TABLE sbtest.sbtest1, sbtest.sbtest2"]);
    lab.does("load oltp_read_write --table-size 70 --seed 3");
    lab.does("check oltp_read_write");
    assert_eq!(lab.value("SELECT COUNT(*) FROM sbtest.sbtest1"), "70");
    lab.does("drop oltp_read_write").tells(&["and the database sbtest"]);
}

#[test]
fn data_stay_between_commands_that_start_the_server_themselves() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_read_write --table-size 500");
    let listed = lab.does("server list");
    assert!(listed.out.contains("default-mariadb") && listed.out.contains("down"), "{listed}");
    lab.does("run oltp_read_write --events 20");
    lab.does("check oltp_read_write");
    lab.does("drop oltp_read_write");
}
