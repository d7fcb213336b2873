//! Bad input: one clear message, the right exit code, and nothing was started.

use crate::harness::{Lab, run};
use plimsoll_testkit::servers;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn wrong_words_are_refused_before_anything_starts() {
    let home = servers::home();
    let plimsoll = |line: &str| {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.args(line.split_whitespace());
        run(command)
    };
    for (line, texts) in [
        ("run oltp_read_writ", vec!["oltp_read_writ", "oltp_read_write"]),
        ("load tpch", vec!["tpch", "did you mean 'tpcc'?"]),
        ("load tpcc --warehouses 0", vec!["warehouses", "'0'"]),
        ("load tpcc --scale 3", vec!["scale", "warehouses", "sysbench"]),
        ("load tpcc --load-date 2026-02-30", vec!["load-date", "2026-02-30"]),
        ("run tpcc --mix 45/43/4/4", vec!["mix", "45/43/4/4"]),
        ("run tpcc --profile spec --fidelity compat", vec!["compat", "sysbench"]),
        ("run tpcc --fidelity compat --call-style batched", vec!["compat"]),
        ("run tpcc --profile sysbench --fidelity compat --protocol prepared", vec!["prepared", "compat", "text"]),
        ("run tpcc --pacing spec --rate 10", vec!["--rate", "pacing spec"]),
        ("run tpcc --pacing spec --events-per-connection 5", vec!["events per connection", "pacing spec"]),
        ("run tpcc --pacing spec --events 50 --warmup 1s", vec!["warm-up", "pacing spec"]),
        ("load smack_select_key --engine rocksdb", vec!["engine", "rocksdb", "myisam"]),
        ("workloads nothing", vec!["nothing", "oltp_read_write"]),
        ("run oltp_read_write --tables 0", vec!["tables", "'0'", "1 to 100000"]),
        ("run oltp_read_write --rand-type normal", vec!["rand-type", "normal", "uniform"]),
        ("run oltp_point_select --index-updates 3", vec!["index-updates", "oltp_point_select"]),
        ("load oltp_read_write --table-size many", vec!["table-size", "many"]),
        ("load oltp_read_write --layout sysbench-0.4 --tables 2", vec!["2 tables", "sysbench-0.4"]),
        ("run oltp_read_write --target private:", vec!["target"]),
        ("run oltp_read_write --target postgres://root@localhost/x", vec!["target", "mysql://"]),
        ("run oltp_read_write --target mysql://root@localhost/x?ssl-mode=maybe", vec!["ssl-mode", "maybe", "required"]),
        ("run oltp_read_write --target mysql://root@localhost/x?colour=red", vec!["colour", "socket"]),
        ("run oltp_read_write --database a`b", vec!["database", "a`b"]),
        ("run oltp_read_write --defaults-file /nonexistent/my.cnf", vec!["/nonexistent/my.cnf"]),
        ("quickstart --time 0s", vec!["--time"]),
        ("calibrate --time 0s", vec!["--time"]),
        ("quickstart --out /dev/null/page", vec!["--out", "/dev/null/page"]),
        ("server start --set innodb_buffer_pool_size", vec!["--set", "NAME=VALUE"]),
        ("server start ../../escape", vec!["escape"]),
    ] {
        plimsoll(line).refuses(2, &texts).in_one_message();
    }
    let left: Vec<_> = std::fs::read_dir(home.path()).expect("it exists").flatten().collect();
    assert!(left.is_empty(), "nothing was started: {left:?}");
}

#[test]
fn wrong_options_are_refused_with_what_is_accepted() {
    let home = servers::home();
    for (line, text) in [
        ("run oltp_read_write --connections 0", "connections"),
        ("run oltp_read_write --connections 8..4", "8..4"),
        ("run oltp_read_write --time soon", "soon"),
        ("run oltp_read_write --rate -5", "-5"),
        ("run oltp_read_write --rate 0", "rate"),
        ("run oltp_read_write --rate nan", "nan"),
        ("run oltp_read_write --arrivals sometimes", "sometimes"),
        ("run oltp_read_write --protocol binary", "binary"),
        ("run oltp_read_write --loops 0", "loops"),
        ("run oltp_read_write --no-such-option 1", "--no-such-option"),
        ("run oltp_read_write --events 5 --events-per-connection 5", "--events-per-connection"),
        ("run oltp_read_write --events 0", "events"),
        ("run oltp_read_write --events 5 --time 5s", "--time"),
        ("run oltp_read_write --events-per-connection 5 --time 5s", "--time"),
        ("run oltp_read_write --arrivals constant", "--rate"),
        ("run", "WORKLOAD"),
        ("load oltp_read_write --threads 0", "threads"),
        ("quickstart --table-size 0", "table-size"),
        ("nonsense", "nonsense"),
        ("completions klingon", "klingon"),
    ] {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.args(line.split_whitespace());
        let done = run(command);
        assert!(done.err.lines().count() <= 20, "one clear message: {done}");
        done.refuses(2, &[text]);
    }
}

#[test]
fn a_password_that_is_no_text_is_not_taken_for_none() {
    let home = servers::home();
    for line in ["run oltp_read_write --target mysql://u@localhost/", "sysbench oltp_read_write --mysql-user=u run"] {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.args(line.split_whitespace()).env("MYSQL_PWD", OsStr::from_bytes(b"caf\xe9"));
        let code = if line.starts_with("run") { 2 } else { 1 };
        run(command).refuses(code, &["MYSQL_PWD is no UTF-8"]).in_one_message();
    }
}

#[test]
fn a_report_that_could_not_be_written_is_refused_before_anything_is_read() {
    let home = servers::home();
    for line in ["report nothing -o /dev/full/a.html", "report nothing --trend -o /dev/full/a.html"] {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.args(line.split_whitespace());
        run(command).refuses(2, &["/dev/full/a.html", "there is no directory"]).in_one_message();
    }
}

#[test]
#[ignore = "hides the machine's servers under a mount; make test-all"]
fn a_machine_without_a_server_says_what_to_install() {
    let home = servers::home();
    let hidden = "mount -t tmpfs none /usr/sbin && mount -t tmpfs none /usr/local/sbin && exec \"$@\"";
    for line in
        ["quickstart", "run oltp_read_write", "load oltp_read_write", "server start", "server start --server mysql"]
    {
        let mut command = servers::plimsoll("unshare", home.path());
        command.args(["--mount", "sh", "-c", hidden, "sh", "env", "PATH=/nonexistent", env!("CARGO_BIN_EXE_plimsoll")]);
        command.args(line.split_whitespace());
        let done = run(command);
        if done.err.contains("unshare failed") || done.err.contains("mount:") {
            return servers::skip("cannot hide /usr/sbin; run as root");
        }
        done.refuses(3, &["install"]).in_one_message();
    }
}

#[test]
fn a_path_that_is_no_server_is_named() {
    let home = servers::home();
    for path in ["/nonexistent/mysqld", "/bin/true", "/etc/passwd"] {
        for line in ["quickstart --server", "server start --server"] {
            let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
            command.args(line.split_whitespace()).arg(path);
            run(command).refuses(3, &[path]).in_one_message();
        }
    }
}

#[test]
fn tables_that_are_not_there_or_are_others_are_named() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.ends("run oltp_read_write").refuses(2, &["no database `sbtest`", "plimsoll load"]).in_one_message();
    lab.ends("check oltp_read_write").refuses(2, &["no database `sbtest`"]).in_one_message();
    lab.sql(&["CREATE DATABASE sbtest"]);
    lab.ends("run oltp_read_write").refuses(2, &["sbtest1", "plimsoll load"]);
    lab.sql(&["CREATE TABLE sbtest.sbtest1 (id INT PRIMARY KEY, name TEXT)"]);
    lab.ends("run oltp_read_write").refuses(2, &["sbtest1", "not those of oltp_read_write"]).in_one_message();
    lab.ends("check oltp_read_write").exits(1);
    lab.sql(&["DROP TABLE sbtest.sbtest1"]);
    lab.does("load oltp_read_write --table-size 10");
    lab.sql(&["DROP TABLE sbtest.sbtest1"]);
    lab.ends("run oltp_read_write").refuses(2, &["sbtest1"]);
}

#[test]
fn limits_of_the_server_are_named_before_the_run_starts() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("--set max_connections=20 --set max_prepared_stmt_count=100");
    lab.does("load oltp_read_write --table-size 100");
    let done = lab.ends("run oltp_read_write --connections 1,30 --time 20s --json");
    done.refuses(3, &["max_connections is 20", "30 connections", "at least"]).in_one_message();
    let done = lab.ends("run oltp_read_write --connections 15 --time 20s --json");
    done.refuses(3, &["max_prepared_stmt_count is 100", "--protocol text"]).in_one_message();
    lab.does("run oltp_read_write --connections 15 --protocol text --events 30");
    assert_eq!(lab.recordings().len(), 1, "what was refused left no recording");
}

#[test]
fn an_error_of_the_server_stops_the_run_and_is_shown_with_its_statement() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_update_index --table-size 100");
    lab.sql(&["CREATE TRIGGER sbtest.no BEFORE UPDATE ON sbtest.sbtest1 FOR EACH ROW \
         SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 4711, MESSAGE_TEXT = 'not today'"]);
    let done = lab.ends("run oltp_update_index --connections 2 --time 30s --json").exits(3);
    let done = done.tells(&["4711", "not today", "UPDATE sbtest1"]);
    assert_eq!(done.json()["points"][0]["transactions"], 0);
    assert!(done.json()["points"][0]["errors"]["4711"].as_u64().is_some_and(|count| count >= 1), "{done}");
    let done = lab.ends("run oltp_update_index --connections 2 --events 40 --ignore-errors 4711 --json");
    let summary = done.json();
    let point = &summary["points"][0];
    assert_eq!((&point["counts"]["failed"], &point["errors"]["4711"]), (&40.into(), &40.into()), "{point}");
    assert_eq!(summary["caveats"].as_array().expect("a list").iter().filter(|c| c["code"] == "failed").count(), 1);
    assert_eq!(summary["totals"]["statements"], summary["server"]["statements"]);
}
