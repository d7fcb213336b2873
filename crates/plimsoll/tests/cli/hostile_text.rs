//! What a server, a recording, a plan, a log or a file says is only text: it cannot control the terminal that it is
//! shown on, over standard output or standard error, directly or through a pipe.

use crate::harness::{Done, Lab, run};
use jiff::Timestamp;
use plimsoll_host::facts::HostFacts;
use plimsoll_model::text::is_unfit;
use plimsoll_plan::{Plan, RunPlan};
use plimsoll_record::Happening;
use plimsoll_record::{Manifest, Recording};
use plimsoll_testkit::servers;
use plimsoll_testkit::simulated::run_plan;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A title of the terminal, a cleared screen, C1, DEL, marks and overrides of direction, separators, what has no width.
const EVIL: &str =
    "a\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}\r\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\u{200b}\u{feff}z";
/// What people write.
const TEXT: &str = "שלום مرحبا e\u{301} 日本";

/// Nothing unfit on either stream; what is legitimate stays.
#[track_caller]
fn harmless(done: Done) -> Done {
    for stream in [&done.out, &done.err] {
        let unfit = stream.chars().find(|c| !matches!(c, '\n' | '\t') && is_unfit(*c));
        assert_eq!(unfit, None, "{:?}", (&done.line, stream));
    }
    done
}

fn plimsoll(home: &Path, words: &[&str]) -> Done {
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home);
    command.args(words);
    harmless(run(command))
}

fn file_called(name: &str, below: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(below).ok()?.flatten();
    entries.map(|entry| entry.path()).find_map(|path| match path.is_dir() {
        true => file_called(name, &path),
        false => path.ends_with(name).then_some(path),
    })
}

fn rows_and_logs_are_text(lab: &Lab) {
    lab.up("");
    lab.does("load oltp_read_only --tables 1 --table-size 10");
    let column = format!("{}{TEXT}", EVIL.replace('\0', ""));
    lab.sql(&[&format!("ALTER TABLE sbtest.sbtest1 CHANGE k `{column}` INT, CHANGE c `a\nok      b` CHAR(120)")]);
    let done = harmless(lab.ends("check oltp_read_only")).exits(1);
    for text in [r"a\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{7f}\r\u{202e}", TEXT, r"a\nok      b"] {
        assert!(done.out.contains(text), "{done}");
    }
    let document = harmless(lab.ends("check oltp_read_only --json")).exits(1).json();
    assert!(document.to_string().contains(TEXT), "{document}");
    harmless(lab.ends("run oltp_read_only --events 1"));

    let log = file_called("error.log", &lab.home().join("servers")).expect("a log");
    let mut file = OpenOptions::new().append(true).open(&log).expect("the log can be written");
    writeln!(file, "[ERROR] {EVIL}{TEXT}\n\tindented")
        .and_then(|()| file.write_all(b"\xff\x9b31m\n"))
        .expect("written");
    let name = log.parent().and_then(Path::file_name).expect("a name").to_string_lossy().into_owned();
    let done = harmless(lab.does(&format!("server logs {name}")));
    assert!(done.out.contains(r"[ERROR] a\u{1b}]0;owned\u{7}"), "{done}");
    assert!(done.out.contains(TEXT) && done.out.contains("\n\tindented\n"), "{done}");
}

#[test]
fn rows_and_logs_are_text_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    rows_and_logs_are_text(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn rows_and_logs_are_text_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    rows_and_logs_are_text(&lab);
}

#[test]
fn recordings_of_others_are_text() {
    let home = servers::home();
    let evil = |text: &str| format!("{text}{EVIL}{TEXT}");
    let plan = RunPlan {
        workload: evil("oltp_read_write"),
        params: [("tables", "1"), (EVIL, "1")].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        target: evil("private"),
        protocol: evil("text"),
        ..run_plan(&[])
    };
    let host = HostFacts { cpu_model: Some(evil("y")), kernel: evil("Linux"), ..HostFacts::default() };
    let manifest = Manifest::new("hostile", "0.1.0", Timestamp::now(), Plan::Run(plan), host);
    let mut recording = Recording::create(&home.path().join("recordings"), manifest).expect("the home can be written");
    recording.event(1, Happening::Failed { id: None, why: EVIL.to_owned() }).expect("an event");
    let directory = recording.directory().to_owned();
    drop(recording);
    for words in [
        &["recordings", "list"][..],
        &["recordings", "list", "--json"],
        &["recordings", "show", "hostile"],
        &["report", "hostile", "-o", "-", "--format", "md"],
        &["report", "hostile", "-o", "-", "--format", "json"],
        &["compare", "hostile", "hostile"],
        &["compare", "hostile", "hostile", "--json"],
    ] {
        plimsoll(home.path(), words);
    }
    // A manifest that cannot be read is quoted, too.
    let mut manifest: Value =
        serde_json::from_slice(&fs::read(directory.join("manifest.json")).expect("a manifest")).expect("JSON");
    manifest["plan"]["measure"] = json!({ EVIL: EVIL });
    fs::write(directory.join("manifest.json"), manifest.to_string()).expect("it can be written");
    for words in [&["recordings", "list"][..], &["recordings", "show", "hostile"], &["report", "hostile"]] {
        plimsoll(home.path(), words);
    }
}

#[test]
fn words_and_plans_are_text() {
    let home = servers::home();
    let evil = format!("{EVIL}{TEXT}");
    for words in [
        &[evil.as_str()][..],
        &["workloads", &evil],
        &["load", &evil],
        &["load", "oltp_read_only", &format!("--{evil}"), "1"],
        &["load", "oltp_read_only", "--tables", &evil],
        &["run", "oltp_read_only", "--target", &evil],
        &["run", "oltp_read_only", "--connections", &evil],
        &["recordings", "show", &evil],
        &["recordings", "rm", &evil],
        &["datasets", "rm", &evil],
        &["server", "stop", &evil],
        &["lane", "up", &evil],
        &["io", &evil],
        &["compare", &evil, &evil],
        &["lab", &evil],
        &["lab", "--resume", &evil],
    ] {
        let done = plimsoll(home.path(), words);
        assert!(!done.status.success() && !done.err.is_empty(), "{done:?}");
    }
    let quoted = |text: &str| serde_json::to_string(text).expect("text");
    let key = quoted(EVIL).replace("\\u007f", "");
    for (name, plan) in [
        ("key", format!("name = \"p\"\n{key} = 1\n")),
        ("value", format!("name = {key}\n")),
        ("table", format!("name = \"p\"\n[load.{key}]\nx = {key}\n")),
        ("workload", format!("name = \"p\"\ntitle = {key}\n[workload]\nname = {key}\n[load]\nconnections = [1]\n")),
        ("broken", format!("name = \"p\n{EVIL}")),
    ] {
        let path = home.path().join(format!("{name}.toml"));
        fs::write(&path, plan).expect("the home can be written");
        let done = plimsoll(home.path(), &["lab", &path.to_string_lossy(), "--dry-run"]);
        assert!(!done.status.success() && !done.err.is_empty(), "{done:?}");
    }
}
