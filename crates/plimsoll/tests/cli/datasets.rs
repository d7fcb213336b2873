//! Datasets by hand: saved from servers under load, listed, copied, removed.

use crate::harness::{Done, Lab, Running};
use crate::lanes::Shore;
use plimsoll_testkit::servers::skip;
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LOAD: &str = "load oltp_read_write --tables 2 --table-size 5000";
/// Logs that are quickly copied; what a server does not know of it passes over.
const SMALL_LOGS: &str = "--set loose_innodb_log_file_size=64M --set loose_innodb_redo_log_capacity=64M";
/// Longer than any copy takes: the test ends it.
const RUN: &str = "run oltp_read_write --connections 4 --rate 200 --time 10m --json";

/// A server with data, under load, whose lock the load holds.
fn under_load(lab: &Lab) -> Running {
    lab.up(SMALL_LOGS);
    lab.does(LOAD);
    let mut run = lab.begins(RUN);
    lab.wait_until_measured(&mut run);
    run
}

/// The load was never disturbed: it ends when it is told to, without an error.
fn went_on(run: Running) {
    run.signal(Signal::INT);
    let summary = run.end().exits(130).json();
    let point = &summary["points"][0];
    // Its transactions may well have found each other in a deadlock, which is the load's own affair.
    let errors = point["errors"].as_object().expect("counts by code");
    assert!(errors.keys().all(|code| code == "1213"), "{point}");
    assert_eq!(point["reconnects"], 0, "{point}");
    // Of the other kinds, whoever saves sends some of its own.
    for kind in ["begin", "commit", "insert", "update", "delete"] {
        let (sent, seen) = (&summary["totals"]["statements"][kind], &summary["server"]["statements"][kind]);
        assert_eq!(sent, seen, "every {kind} was answered");
    }
}

/// Saves from a server under load by this method, and looks at what is told of it.
fn saved(lab: &Lab, name: &str, method: &str) -> Value {
    let told = lab.does(&format!("datasets save {name} --method {method} --json")).json();
    assert_eq!((&told["saved"], &told["broken"]), (&Value::Bool(true), &Value::from(0)), "{told}");
    let findings = told["checked"][0]["findings"].as_array().expect("the data were checked");
    assert!(told["checked"][0]["family"] == "sbtest" && !findings.is_empty(), "{told}");
    for when in ["before", "after"] {
        let rate = told["cost"][when]["queries_per_second"].as_f64();
        assert!(rate.is_some_and(|rate| rate > 0.0), "the load went on {when}: {told}");
    }
    let during = told["cost"]["during"]["seconds"].as_f64().expect("it took some time");
    assert!(told["copied_seconds"].as_f64().is_some_and(|copied| copied <= during), "{told}");
    told
}

/// All names in the home's directory `below`.
fn names(home: &Path, below: &str) -> Vec<String> {
    let entries = fs::read_dir(home.join(below)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Nothing is left of a copy that was not finished, and `clean` agrees.
fn nothing_is_left(lab: &Lab) {
    let servers = names(lab.home(), "servers");
    assert!(servers.iter().all(|name| !name.starts_with("save-")), "{servers:?}");
    let datasets = names(lab.home(), "datasets");
    assert!(datasets.is_empty(), "{datasets:?}");
}

/// Bytes of the redo log in a data directory.
fn redo_bytes(data: &Path) -> u64 {
    let files = fs::read_dir(data.join("#innodb_redo")).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = files.chain([data.join("ib_logfile0")]);
    files.filter_map(|file| fs::metadata(file).ok()).map(|facts| facts.len()).sum()
}

fn listed(lab: &Lab) -> Vec<Value> {
    lab.does("datasets list --json").json().as_array().expect("a list").clone()
}

fn saves_under_load(lab: &Lab, method: &str) {
    let run = under_load(lab);
    let told = saved(lab, "half-way", method);
    assert_eq!(told["method"], method);
    let redo = redo_bytes(&lab.home().join("datasets/half-way/data"));
    assert!(redo <= 16 << 20, "the log is {redo} bytes, as that of the server");
    let again = lab.ends("datasets save half-way").exits(3);
    again.tells(&["half-way", "datasets rm"]);
    let rows = listed(lab);
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((&row["dataset"]["id"], &row["dataset"]["origin"]), (&told["id"], &told["method"]));
    assert_eq!(row["dataset"]["contents"][0]["parameters"]["table_size"], 5000);
    assert_eq!(row["dataset"]["checksums"].as_object().map(serde_json::Map::len), Some(2), "{row}");
    assert!(row["bytes_on_disk"].as_u64().is_some_and(|bytes| bytes > 0), "{row}");
    assert_eq!(names(lab.home(), "servers").len(), 1, "the server of the copy is gone");
    went_on(run);
}

#[test]
fn a_server_under_load_is_saved_by_mariadb_backup() {
    let Some(lab) = Lab::mariadb() else { return };
    if !has_backup() {
        return;
    }
    saves_under_load(&lab, "mariadb-backup");
    let shown = lab.does("datasets list");
    assert!(shown.out.contains("half-way") && shown.out.contains("sbtest in `sbtest`"), "{shown}");
}

/// Whether MariaDB's backup program is there; that it is not was said.
fn has_backup() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join("mariadb-backup").is_file());
    if !found {
        skip("no mariadb-backup on this machine; install the package mariadb-backup");
    }
    found
}

#[test]
#[ignore = "the same by another way; make test-all"]
fn a_server_under_load_is_saved_by_mysqls_clone_plugin() {
    let Some(lab) = Lab::mysql() else { return };
    saves_under_load(&lab, "clone");
    let plugins = "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = 'clone'";
    assert_eq!(lab.value(plugins), "0", "the server is as it was");
}

#[test]
fn a_dataset_is_copied_to_another_path_and_removed() {
    let Some(lab) = Lab::mysql() else { return };
    lab.up(SMALL_LOGS);
    lab.does(LOAD);
    lab.does("datasets save quay-side --method clone");
    let elsewhere = plimsoll_testkit::servers::home();
    let line = format!("datasets clone quay {} --json", elsewhere.path().display());
    let told = lab.does(&line).json();
    assert!(told["id"] == "quay-side" && told["seconds"].as_f64().is_some(), "{told}");
    let copy = PathBuf::from(told["directory"].as_str().expect("a path"));
    assert!(copy.starts_with(elsewhere.path().canonicalize().expect("it is there")), "{told}");
    lab.ends(&line).exits(3).tells(&["quay-side"]);
    assert_eq!(listed(&lab).len(), 2, "one here and one there");
    lab.ends("datasets rm quay nothing-like-it").refuses(2, &["nothing-like-it", "quay-side"]).in_one_message();
    assert_eq!(listed(&lab).len(), 2, "nothing is removed where one is not known");
    fs::remove_dir_all(lab.home().join("datasets/quay-side")).expect("it is ours");
    lab.ends("datasets save quay-side").exits(3).tells(&["quay-side"]);
    lab.does("datasets rm quay");
    assert!(listed(&lab).is_empty() && !copy.exists());
    lab.does("datasets list").refuses(0, &["no datasets"]);
    // The one that went by hand has left its lock.
    lab.does("clean");
    nothing_is_left(&lab);
}

#[test]
fn what_cannot_be_saved_is_refused() {
    let Some(lab) = Lab::mysql() else { return };
    lab.ends("datasets save x").refuses(2, &["no private server is running"]).in_one_message();
    lab.ends("datasets save x --server nobody").refuses(3, &["nobody"]).in_one_message();
    lab.ends("datasets save x --method plain").refuses(2, &["plain", "mariadb-backup"]);
    lab.ends("datasets rm x").refuses(2, &["there are none"]).in_one_message();
    lab.up("");
    lab.ends("datasets save Bad/Name").refuses(2, &["Bad/Name", "a-z"]).in_one_message();
    lab.ends("datasets save x --method mariadb-backup").refuses(2, &["only MariaDB"]).in_one_message();
    lab.ends("datasets save x --method btrfs-snapshot").refuses(2, &["not a Btrfs subvolume"]).in_one_message();
    lab.does("server stop");
    lab.up("--set log_bin=ON");
    lab.ends("datasets save x --method reflink").refuses(2, &["log_bin"]).in_one_message();
    nothing_is_left(&lab);
}

/// Interrupts a copy once its directory is there.
fn interrupted(lab: &Lab, end: impl FnOnce(Running) -> Done) -> Done {
    let mut save = lab.begins("datasets save half-way");
    save.wait_for("the copy to begin", || names(lab.home(), "servers").iter().any(|name| name.starts_with("save-")));
    end(save)
}

#[test]
fn an_interrupted_save_leaves_the_server_as_it_was() {
    let Some(lab) = Lab::mysql() else { return };
    let run = under_load(&lab);
    let interrupt = |save: Running| {
        save.signal(Signal::INT);
        save.end()
    };
    interrupted(&lab, interrupt).refuses(130, &["interrupted"]);
    nothing_is_left(&lab);
    interrupted(&lab, Running::kill);
    // The load has its server still.
    lab.ends("clean").exits(3).tells(&["plimsoll run oltp_read_write"]);
    nothing_is_left(&lab);
    went_on(run);
}

/// A lane's home with one server, whose slot is ours.
fn on_lane(server: fn(&Path) -> Option<Lab>, lane: &str, methods: &[&str]) {
    let Some(shore) = Shore::new() else { return };
    let home = shore.up(lane, "--size 3G").join("home");
    fs::create_dir(&home).expect("the lane can be written");
    let Some(lab) = server(&home) else { return };
    let run = under_load(&lab);
    for method in methods {
        let told = saved(&lab, method, method);
        let stopped = told["stopped_seconds"].as_f64();
        assert_eq!(stopped.is_some(), *method == "reflink", "{told}");
        assert!(stopped.is_none_or(|stopped| stopped <= told["copied_seconds"].as_f64().unwrap_or(0.0)), "{told}");
    }
    assert_eq!(saved(&lab, "by-itself", "auto")["method"], "reflink", "what needs no program comes first");
    went_on(run);
    drop(lab);
}

#[test]
#[ignore = "mounts XFS; make test-all"]
fn a_stopped_server_is_saved_by_shared_blocks_on_xfs_on_mariadb() {
    let methods: &[&str] = if has_backup() { &["reflink", "mariadb-backup"] } else { &["reflink"] };
    on_lane(Lab::mariadb_in, "xfs", methods);
}

#[test]
#[ignore = "mounts XFS; make test-all"]
fn a_stopped_server_is_saved_by_shared_blocks_on_xfs_on_mysql() {
    on_lane(Lab::mysql_in, "xfs", &["reflink", "clone"]);
}

#[test]
#[ignore = "mounts Btrfs; make test-all"]
fn a_stopped_server_is_saved_by_shared_blocks_on_btrfs() {
    on_lane(Lab::mariadb_in, "btrfs", &["reflink"]);
}

/// Puts a directory's files into a subvolume of its name, as a lab does with what it restores.
fn into_subvolume(data: &Path) {
    let plain = data.with_extension("plain");
    fs::rename(data, &plain).expect("no server runs on it");
    let commands: [(&str, &[&OsStr]); 2] = [
        ("btrfs", &["subvolume".as_ref(), "create".as_ref(), data.as_ref()]),
        ("cp", &["-a".as_ref(), "-T".as_ref(), plain.as_ref(), data.as_ref()]),
    ];
    for (program, words) in commands {
        let status = Command::new(program).args(words).stdout(Stdio::null()).status().expect("it is installed");
        assert!(status.success(), "{program}: {status}");
    }
    fs::remove_dir_all(plain).expect("it is ours");
}

#[test]
#[ignore = "mounts Btrfs; make test-all"]
fn a_server_in_a_subvolume_is_saved_by_a_snapshot() {
    let Some(shore) = Shore::new() else { return };
    let home = shore.up("btrfs", "--size 3G").join("home");
    fs::create_dir(&home).expect("the lane can be written");
    let Some(lab) = Lab::mariadb_in(&home) else { return };
    lab.does(LOAD);
    into_subvolume(&home.join("servers/default-mariadb/data"));
    let mut run = lab.begins(RUN);
    lab.wait_until_measured(&mut run);
    let told = saved(&lab, "snapshot", "auto");
    assert_eq!((&told["method"], &told["stopped_seconds"]), (&Value::from("btrfs-snapshot"), &Value::Null), "{told}");
    went_on(run);
}
