//! Twenty random kills of the command or of its server, during each kind of work. Whatever was hit, nothing is left
//! running, `clean` succeeds, every recording can be read, and the next commands work.

use crate::harness::{Done, Lab, PATIENCE, Running, alive, run, signal_process};
use plimsoll_load::seed::Rng;
use plimsoll_testkit::servers::wait_until;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

const KILLS: u64 = 20;
const LOAD: &str = "load oltp_read_write --tables 2 --table-size 40000";
/// No later than this after the start of the command, which is killed before its end or has just ended.
const LATEST_MS: u64 = 2_500;

/// What is under way when the kill comes.
fn work(lab: &Lab, kind: u64) -> String {
    match kind {
        0 => LOAD.to_owned(),
        1 => "run oltp_read_write --connections 4,8 --time 2s --check".to_owned(),
        2 => format!("io {} --time 100ms", storage(lab).display()),
        _ => {
            let plan = "[workload]\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 1000\n[load]\nconnections = [2]\n\
                        [trials]\nrounds = 2\nwarmup = \"0s\"\nmeasure = \"1s\"\n";
            format!("lab {}", lab.plan("killed", plan).display())
        }
    }
}

/// A directory of the user's, where storage is measured.
fn storage(lab: &Lab) -> PathBuf {
    let path = lab.home().join("storage");
    fs::create_dir_all(&path).expect("the home can be written");
    path
}

/// The processes whose command line names this home: servers, and what else Plimsoll starts.
fn processes_of(lab: &Lab) -> Vec<u32> {
    let home = lab.home().to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let names_home = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        *pid != std::process::id() && alive(*pid) && String::from_utf8_lossy(&line).contains(&home)
    };
    numbers.filter(names_home).collect()
}

fn kill_server(lab: &Lab, command: &Running) {
    let servers = processes_of(lab).into_iter().filter(|pid| *pid != command.pid());
    servers.for_each(|pid| signal_process(pid, Signal::KILL));
}

/// Killed itself, failed by the environment because its server was killed, or done before the kill came.
fn ended_well(done: &Done, server_killed: bool) {
    assert!(!done.err.contains("panicked at"), "{done}");
    match done.status.code() {
        Some(0) => {}
        Some(3) => assert!(server_killed, "{done}"),
        // A lab goes on with its next trial.
        Some(1) => assert!(server_killed && done.err.contains("of 2 trials failed"), "{done}"),
        Some(_) => panic!("{done}"),
        None => assert!(!server_killed, "{done}"),
    }
}

fn all_is_well(lab: &Lab) {
    assert!(wait_until(PATIENCE, || processes_of(lab).is_empty()), "left running: {:?}", processes_of(lab));
    lab.does("clean");
    lab.does("clean").refuses(0, &["nothing to clean"]);
    assert_eq!(fs::read_dir(storage(lab)).expect("a directory").count(), 0, "files of a storage evaluation");
    lab.does("recordings list");
    for recording in lab.recordings() {
        // A kill before the manifest was whole leaves a directory that is no recording yet.
        if !recording.join("manifest.json").exists() {
            continue;
        }
        let mut command = lab.command("report --format json -o -");
        command.arg(&recording);
        let answer: Value = run(command).exits(0).json();
        assert!(answer["answer"].as_str().is_some_and(|answer| !answer.is_empty()), "{answer}");
    }
}

fn kill_one(lab: &Lab, rng: &mut Rng, kind: u64) {
    let line = work(lab, kind);
    let server_killed = kind != 2 && rng.between(0, 1) == 1;
    let delay = Duration::from_millis(rng.between(0, LATEST_MS));
    println!("{line}: {} after {delay:?}", if server_killed { "its server" } else { "the command" });
    if kind == 0 {
        lab.does("drop oltp_read_write");
    }
    let command = lab.begins(&line);
    thread::sleep(delay);
    match server_killed {
        true => kill_server(lab, &command),
        false => command.signal(Signal::KILL),
    }
    ended_well(&command.end(), server_killed);
    all_is_well(lab);
    // The load goes on where it was, unless it came to its end; data that a killed run has changed can still be checked.
    if kind == 0 {
        let again = lab.ends(LOAD);
        match again.status.code() {
            Some(2) => drop(again.refuses(2, &["already has the dataset `sbtest` (it is loaded)"])),
            _ => drop(again.exits(0)),
        }
    }
    lab.does("check oltp_read_write");
}

fn survives(lab: &Lab) {
    let seed = RandomState::new().build_hasher().finish();
    println!("seed {seed}");
    let mut rng = Rng::new(seed, 0, 0);
    lab.does(LOAD);
    for kill in 0..KILLS {
        kill_one(lab, &mut rng, kill % 4);
    }
}

#[test]
#[ignore = "twenty kills; make test-all"]
fn twenty_random_kills_leave_nothing_behind_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    survives(&lab);
}

#[test]
#[ignore = "twenty kills; make test-all"]
fn twenty_random_kills_leave_nothing_behind_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    survives(&lab);
}
