//! Private servers by hand.

use crate::harness::{Lab, PATIENCE, alive};
use plimsoll_testkit::servers::wait_until;

fn round_trip(lab: &Lab) {
    lab.does("server list").refuses(0, &["no private servers"]);
    let done = lab.does("server start harbour");
    let url = done.out.trim().to_owned();
    assert!(url.starts_with("mysql://root@localhost/?socket=") && done.out.lines().count() == 1, "{done}");
    done.tells(&["harbour", "is up as pid", "plimsoll server stop harbour"]);
    let pid = lab.control().peer_pid().expect("a local server");
    assert_eq!(lab.does("server start harbour").out.trim(), url, "a second start finds it up");
    let listed = lab.does("server list");
    assert!(listed.out.contains("harbour") && listed.out.contains(&format!("up, pid {pid}")), "{listed}");
    let log = lab.does("server logs harbour");
    assert!(log.out.contains("ready for connections"), "{log}");
    lab.does("clean").refuses(0, &["nothing to clean"]);
    assert!(alive(pid), "what `server start` made is left to `server stop`");
    lab.does("server stop").refuses(0, &["harbour is down"]);
    assert!(wait_until(PATIENCE, || !alive(pid)));
    lab.does("server stop").refuses(0, &["no private server is up"]);
    assert!(lab.does("server list").out.contains("down"));
}

#[test]
fn a_server_is_started_listed_and_stopped_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    round_trip(&lab);
}

#[test]
fn a_server_is_started_listed_and_stopped_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    round_trip(&lab);
}

#[test]
fn names_that_do_not_exist_are_said() {
    let Some(lab) = Lab::mariadb() else { return };
    for line in ["server stop nobody", "server logs nobody"] {
        lab.ends(line).refuses(3, &["nobody"]).in_one_message();
    }
    lab.does("clean").refuses(0, &["nothing to clean"]);
}

#[test]
fn settings_are_set_and_wrong_ones_explained() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("--set innodb_buffer_pool_size=64M --set innodb_flush_log_at_trx_commit=2");
    assert_eq!(lab.value("SELECT @@innodb_buffer_pool_size"), (64 << 20).to_string());
    lab.does("load oltp_read_write --table-size 100");
    let summary = lab.does("run oltp_read_write --events 5 --json").json();
    assert_eq!(summary["target"]["durability"]["innodb_flush_log_at_trx_commit"], "2");
    let shown = lab.does("run oltp_read_write --events 5");
    assert!(shown.out.contains("innodb_flush_log_at_trx_commit=2"), "every result says how durable it was: {shown}");
    let codes: Vec<_> = summary["caveats"].as_array().expect("a list").iter().map(|caveat| &caveat["code"]).collect();
    assert!(codes.iter().any(|code| *code == "not_durable"), "{codes:?}");
    let done = lab.does("server start --set innodb_buffer_pool_size=128M");
    done.tells(&["up already, with other settings"]);
    lab.does("server stop");
    let done = lab.ends("server start --set no_such_setting=1").exits(3);
    done.tells(&["no_such_setting"]);
    assert!(!lab.does("server list").out.contains("up, pid"));
    for setting in ["datadir=/tmp", "socket=/tmp/x", "port=3306"] {
        let done = lab.ends(&format!("server start --set {setting}"));
        let name = setting.split('=').next().expect("a name");
        assert!(matches!(done.status.code(), Some(0 | 2)), "{done}");
        if done.status.code() == Some(2) {
            done.refuses(2, &[name]).in_one_message();
        }
    }
}
