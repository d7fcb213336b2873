//! Disks that are too small or fill up, and outputs that nobody reads.

use crate::harness::{Lab, begin_into, run};
use plimsoll_testkit::servers::{self, tmpfs};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const MIB: u64 = 1 << 20;

/// Takes what is left of the disk.
fn fill(directory: &Path) {
    let mut file = File::options().append(true).create(true).open(directory.join("filler")).expect("one more file");
    let block = vec![1; 64 << 10];
    while file.write_all(&block).is_ok() {}
    while file.write_all(&[1]).is_ok() {}
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_server_that_does_not_fit_says_so() {
    let Some(disk) = tmpfs(24 * MIB) else { return };
    let Some(lab) = Lab::mariadb_in(disk.path()) else { return };
    let done = lab.ends("load oltp_read_write --table-size 100").exits(3).in_one_message();
    // As the server puts it: 28 is ENOSPC.
    done.tells(&["did not start", "error 28", "error.log"]);
    assert!(lab.does("server list").out.contains("down"), "nothing is left running");
    let mut larger = Command::new("mount");
    larger.args(["-o", "remount,size=2G"]).arg(disk.path());
    run(larger).exits(0);
    lab.does("load oltp_read_write --table-size 100");
    lab.does("check oltp_read_write");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_load_that_does_not_fit_is_refused_before_it_starts() {
    let Some(disk) = tmpfs(1500 * MIB) else { return };
    let Some(lab) = Lab::mariadb_in(disk.path()) else { return };
    lab.up("");
    let done = lab.ends("load oltp_read_write --tables 4 --table-size 5000000");
    done.refuses(3, &["MiB free", "load fewer rows"]).in_one_message();
    assert_eq!(lab.value("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'sbtest'"), "0");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_disk_that_fills_up_during_a_load_ends_it_and_the_load_goes_on_later() {
    let Some(disk) = tmpfs(1500 * MIB) else { return };
    let Some(lab) = Lab::mariadb_in(disk.path()) else { return };
    lab.up("");
    let line = "load oltp_read_write --tables 2 --table-size 300000";
    let mut load = lab.begins(line);
    lab.wait_until_loaded(&mut load, "sbtest", 1);
    fill(disk.path());
    load.end().refuses(3, &["full"]).in_one_message();
    fs::remove_file(disk.path().join("filler")).expect("removed");
    lab.does(line).tells(&[", continued)"]);
    lab.does("check oltp_read_write");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_recording_that_cannot_be_written_ends_the_run_with_its_summary() {
    let Some(disk) = tmpfs(4 * MIB) else { return };
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --table-size 1000");
    std::os::unix::fs::symlink(disk.path(), lab.home().join("recordings")).expect("a link");
    let mut run = lab.begins("run oltp_read_write --connections 4 --rate 500 --time 60s --json");
    lab.wait_until_measured(&mut run);
    fill(disk.path());
    let done = run.end().exits(3).tells(&["ended early", "space"]);
    let summary = done.json();
    assert_eq!(summary["interrupted"], true);
    assert!(summary["points"][0]["transactions"].as_u64().is_some_and(|count| count > 0), "{summary}");
    // Nothing can be written from the start: there is nothing to sum up either.
    lab.ends("run oltp_read_write --time 30s --json").refuses(3, &["space"]).in_one_message();
}

#[test]
fn an_output_that_is_full_is_said_and_the_exit_code_tells() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --table-size 100");
    for line in ["run oltp_read_write --events 5 --json", "check oltp_read_write", "workloads", "server list"] {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full");
        let done = begin_into(lab.command(line), full).end().exits(3).in_one_message();
        done.tells(&["cannot write to standard output", "space"]);
    }
    assert_eq!(lab.recordings().len(), 1, "the recording has what could not be printed");
    assert!(lab.recordings()[0].join("summary.json").is_file());
}

#[test]
fn an_output_that_nobody_reads_does_no_harm() {
    let home = servers::home();
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/systems/eight-cpus");
    let recording = recording.display().to_string();
    for words in [["completions", "bash"].as_slice(), &["report", &recording, "--format", "json"]] {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.args(words);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let done = begin_into(command, Stdio::from(writer)).end().exits(0);
        assert!(done.err.is_empty(), "{done}");
    }
}
