//! Network lanes: real protocols between two namespaces. They come up, are checked, hold a database, and leave nothing.

use crate::harness::{Lab, PATIENCE, signal_process};
use crate::lanes::{NETWORK, Shore, killed_at_each_step};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

/// The check of a network lane that must be sound; what it says of `direct` differs.
#[track_caller]
fn comes_up_is_sound_and_goes(shore: &Shore, name: &str) {
    let directory = shore.up(name, "--size 640M");
    fs::write(directory.join("file"), "x").expect("a lane can be written");
    shore.ends(&format!("lane check {name}")).exits(0);
    let listed = shore.ends("lane list --json").exits(0).json();
    assert_eq!((&listed["lanes"][0]["name"], &listed["lanes"][0]["state"]), (&name.into(), &"up".into()));
    shore.ends("clean").refuses(0, &["nothing to clean"]);
    assert!(directory.join("file").exists(), "clean leaves a lane that is up");
    shore.ends(&format!("lane down {name}")).exits(0);
    shore.is_empty(name);
}

#[test]
fn a_device_over_tcp_comes_up_is_sound_and_goes() {
    let Some(shore) = Shore::networked() else { return };
    comes_up_is_sound_and_goes(&shore, "nbd");
}

#[test]
#[ignore = "mounts; make test-all"]
fn every_network_lane_comes_up_is_sound_and_goes() {
    let Some(shore) = Shore::networked() else { return };
    for name in NETWORK {
        comes_up_is_sound_and_goes(&shore, name);
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn modifiers_of_network_lanes_come_up_are_sound_and_go() {
    let Some(shore) = Shore::networked() else { return };
    for name in [
        "nbd,fs=ext4,delay=1ms,scheduler=none,options=noatime",
        "iscsi,fs=btrfs,mtu=9000",
        "nfs-image,delay=500us,scheduler=mq-deadline",
        "nfs-files,delay=1ms,iops=2000,options=noatime+actimeo=30+wsize=65536",
    ] {
        comes_up_is_sound_and_goes(&shore, name);
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn two_lanes_of_one_kind_do_not_meet() {
    let Some(shore) = Shore::networked() else { return };
    let [near, far] = ["nfs-files", "nfs-files,delay=1ms"].map(|name| shore.up(name, "--size 400M --no-check"));
    fs::write(near.join("file"), "near").expect("it can be written");
    fs::write(far.join("file"), "far").expect("it can be written");
    // The server of one must not keep the file systems of the other.
    shore.ends("lane down nfs-files").exits(0);
    assert_eq!(fs::read_to_string(far.join("file")).expect("it is there"), "far");
    shore.ends("lane down").exits(0);
    shore.is_empty("after both");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_lane_that_is_in_use_goes_on_working() {
    let Some(shore) = Shore::networked() else { return };
    for name in ["iscsi", "nfs-files"] {
        let path = shore.up(name, "--size 400M --no-check").join("file");
        let file = fs::File::create(&path).expect("a file");
        shore.ends(&format!("lane down {name}")).refuses(3, &["umount", "end what is using"]).in_one_message();
        fs::write(&path, "still there").expect("its server still works");
        drop(file);
        shore.ends(&format!("lane down {name}")).exits(0);
        shore.is_empty(name);
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn the_export_that_mixes_up_writes_is_refused() {
    let Some(shore) = Shore::networked() else { return };
    let done = shore.ends("lane up iscsi,export=fuse --size 640M");
    done.refuses(1, &["data    refused", "not what was written", "down again"]);
    shore.is_empty("after the refusal");
    // It may mix up what mkfs writes, so that there is nothing to check.
    let done = shore.ends("lane up iscsi,fs=ext4,export=fuse --size 640M");
    assert!(done.status.code().is_some_and(|code| code == 1 || code == 3), "{done}");
    done.tells(&["must not be measured"]);
    shore.is_empty("after the refusal on ext4");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_swallowed_flush_is_refused_on_each_protocol() {
    let Some(shore) = Shore::networked() else { return };
    for name in ["nbd,cache=unsafe", "iscsi,cache=unsafe", "nfs-image,cache=unsafe", "nfs-files,cache=unsafe"] {
        shore.ends(&format!("lane up {name} --size 640M")).refuses(1, &["flush   refused", "down again"]);
        shore.is_empty(name);
    }
}

#[test]
#[ignore = "kills, mounts; make test-all"]
fn a_kill_at_any_step_of_a_network_lane_leaves_nothing_that_clean_does_not_remove() {
    let Some(shore) = Shore::networked() else { return };
    // A step of every kind, the programs of all servers, a FUSE mount of files.
    killed_at_each_step(&shore, "nfs-image,delay=1ms,iops=500,scheduler=none", "700M", 13, &[0, 50]);
    killed_at_each_step(&shore, "nbd", "400M", 9, &[0, 50]);
    killed_at_each_step(&shore, "iscsi", "400M", 9, &[0, 50]);
    killed_at_each_step(&shore, "nfs-files", "400M", 8, &[0, 50]);
    killed_at_each_step(&shore, "sshfs", "400M", 8, &[0]);
}

/// One trial on each lane: `tpcc`, a kill under load, the way back, the data checked.
const PLAN: &str = r#"
[workload]
kind = "tpcc"
warehouses = 1
[load]
connections = [2]
[trials]
warmup = "0s"
measure = "3s"
rounds = 1
recovery = true
"#;

/// A server for lanes that a test builds beside those of other tests. Nobody waits for lanes with a server's slot in hand:
/// whoever has the lanes may wait for a slot.
#[track_caller]
fn beside_other_lanes(lab: fn() -> Option<Lab>) -> Option<Lab> {
    drop(Shore::networked()?);
    lab()
}

#[track_caller]
fn a_server_works_and_recovers_on_each(lab: &Lab) {
    for lane in NETWORK.into_iter().filter(|lane| *lane != "sshfs") {
        let plan = lab.plan(lane, &format!("lane = \"{lane}\"\n{PLAN}"));
        // Data are loaded through a lane that other tests keep busy.
        lab.begins(&format!("lab {}", plan.display())).end_within(4 * PATIENCE).exits(0);
        let recording = lab.recordings().pop().expect("a recording");
        let trial = fs::read_dir(recording.join("trials")).expect("trials").flatten().next().expect("a trial").path();
        let text = fs::read_to_string(trial.join("outcome.json")).expect("an outcome");
        let outcome: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(outcome["status"], "done", "{lane}: {outcome}");
        assert_eq!(outcome["recovery"]["broken"], serde_json::json!([]), "{lane}");
        assert!(outcome["recovery"]["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{lane}: {outcome}");
        let left = fs::read_dir(lab.home().join("lanes")).into_iter().flatten().count();
        assert_eq!(left, 0, "{lane} goes with its lab");
    }
}

/// Kills the storage server below a server that is under load: the message says so, and what the server said first.
#[track_caller]
fn a_dead_storage_server_is_named(lab: &Lab) {
    let plan =
        lab.plan("dead", &format!("lane = \"nbd\"\n{}", PLAN.replace("recovery = true", "").replace("3s", "60s")));
    let mut running = lab.begins(&format!("lab {}", plan.display()));
    lab.wait_until_measured(&mut running);
    let lanes = fs::read_dir(lab.home().join("lanes")).expect("lanes").flatten();
    let journals = lanes.filter_map(|lane| fs::read_to_string(lane.path().join("journal.ndjson")).ok());
    let text = journals.collect::<String>();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut parts = lines.filter_map(|line| line.as_object()?.values().find_map(|step| step.get("parts").cloned()));
    let parts = parts.next_back().unwrap_or_else(|| panic!("a lane that is up: {text}"));
    let parts = parts.as_array().expect("a list");
    let server = parts.iter().find(|part| part["side"] == "server").expect("a storage server");
    let pid = u32::try_from(server["pid"].as_u64().expect("a pid")).expect("a pid");
    signal_process(pid, Signal::KILL);
    let done = running.end_within(2 * PATIENCE);
    let recording = lab.recordings().pop().expect("a recording");
    let trials = fs::read_dir(recording.join("trials")).expect("trials").flatten();
    let outcomes = trials.filter_map(|trial| fs::read_to_string(trial.path().join("outcome.json")).ok());
    let told = format!("{done}\n{}", outcomes.collect::<String>());
    let storage = format!("the storage server ({}, pid {pid})", server["program"].as_str().unwrap_or_default());
    assert!(told.contains(&storage) && told.contains("of the lane nbd died"), "`{storage}`: {told}");
    assert!(told.contains("the first error in its error log: ") && told.contains("[ERROR]"), "{told}");
    assert!(!told.contains("Attempting backtrace") && !told.contains("got signal"), "{told}");
}

#[test]
#[ignore = "mounts, kills; make test-all"]
fn mariadb_says_that_the_storage_server_died() {
    let Some(lab) = beside_other_lanes(Lab::mariadb) else { return };
    a_dead_storage_server_is_named(&lab);
}

#[test]
#[ignore = "mounts, kills; make test-all"]
fn mysql_says_that_the_storage_server_died() {
    let Some(lab) = beside_other_lanes(Lab::mysql) else { return };
    a_dead_storage_server_is_named(&lab);
}

#[test]
#[ignore = "mounts, kills; make test-all"]
fn mariadb_works_and_recovers_on_each_network_lane() {
    let Some(lab) = beside_other_lanes(Lab::mariadb) else { return };
    a_server_works_and_recovers_on_each(&lab);
}

#[test]
#[ignore = "mounts, kills; make test-all"]
fn mysql_works_and_recovers_on_each_network_lane() {
    let Some(lab) = beside_other_lanes(Lab::mysql) else { return };
    a_server_works_and_recovers_on_each(&lab);
}
