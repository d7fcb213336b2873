//! `plimsoll crash` that is killed or interrupted itself: nothing is left that `clean` would not remove, and what was interrupted
//! goes on to what was planned.

use crate::crash::powered;
use crate::harness::{Done, Lab, Running, alive};
use crate::lanes::nothing_is_left_of;
use plimsoll_load::seed::Rng;
use plimsoll_testkit::servers;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// A dozen trials, on a slow machine.
const LONGEST: Duration = Duration::from_secs(900);
/// What is measured, and beside it faults that come soon.
const SHORT: &str = "--connections 4 --rows 5000 --load 1s --time 1s";
/// Loads without a fault, which come first.
const ROUNDS: usize = 3;

/// What came of the trials of a recording that came to their end, in order.
pub fn outcomes(recording: &Path) -> Vec<Value> {
    let entries = fs::read_dir(recording.join("trials")).into_iter().flatten().flatten();
    let mut trials: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    trials.sort();
    let texts = trials.iter().filter_map(|trial| fs::read_to_string(trial.join("outcome.json")).ok());
    texts.map(|text| serde_json::from_str(&text).expect("it is there as a whole, or not at all")).collect()
}

/// Those of faults.
fn faults(recording: &Path) -> Vec<Value> {
    outcomes(recording).into_iter().filter(|outcome| outcome["crash"].is_object()).collect()
}

fn latest(lab: &Lab) -> PathBuf {
    lab.recordings().pop().expect("a recording")
}

/// Interrupts it after its first fault, and lets it go on; how it was then, and its recording.
#[track_caller]
fn interrupted_and_resumed(lab: &Lab, line: &str) -> (Done, PathBuf) {
    let before = lab.recordings().len();
    let mut running: Running = lab.begins(line);
    running.wait_for("a fault", || lab.recordings().get(before).is_some_and(|recording| !faults(recording).is_empty()));
    running.signal(Signal::INT);
    let recording = latest(lab);
    let name = recording.file_name().expect("a directory has a name").to_string_lossy().into_owned();
    running.end_within(LONGEST).exits(130).tells(&["results so far are kept", &format!("lab --resume {name}")]);
    let kept = faults(&recording);
    assert!(!kept.is_empty(), "the recording is kept");
    let resumed = lab.begins(&format!("lab --resume {name} --json")).end_within(LONGEST).exits(0);
    assert_eq!(faults(&recording)[..kept.len()], kept, "what was there is not done again");
    (resumed, recording)
}

/// How many faults of each kind a summary has.
fn counts(summary: &Value) -> Vec<(&str, u64)> {
    let cells = summary["crashes"].as_array().expect("faults");
    cells
        .iter()
        .map(|cell| (cell["fault"].as_str().expect("a name"), cell["faults"].as_u64().expect("a count")))
        .collect()
}

#[test]
#[ignore = "runs several crashes; make test-all"]
fn an_interrupted_crash_goes_on_to_what_was_planned() {
    let Some(lab) = Lab::mariadb() else { return };
    let (resumed, recording) = interrupted_and_resumed(&lab, &format!("crash --faults kill --trials 3 {SHORT}"));
    assert_eq!(counts(&resumed.json()), [("kill", 3)]);
    assert_eq!(outcomes(&recording).len(), ROUNDS + 3);
    let name = recording.file_name().expect("a directory has a name").to_string_lossy().into_owned();
    let trial = ROUNDS + 1;
    let (resumed, recording) =
        interrupted_and_resumed(&lab, &format!("crash --repeat {name} --trial {trial} --trials 3"));
    assert_eq!(counts(&resumed.json()), [("kill", 3)]);
    assert_eq!(outcomes(&recording).len(), 3, "a fault that is done again has nothing beside it");
    lab.leaves_nothing();
}

#[test]
#[ignore = "mounts; make test-all"]
fn interrupted_power_cuts_go_on_to_what_was_planned() {
    for lab in [Lab::mariadb, Lab::mysql] {
        let Some(powered) = powered(lab) else { continue };
        let line = format!("crash --faults kill,power --trials 2 --set innodb_flush_method=fsync {SHORT}");
        let (resumed, recording) = interrupted_and_resumed(&powered.lab, &line);
        assert_eq!(counts(&resumed.json()), [("kill", 2), ("power", 2)]);
        assert_eq!(outcomes(&recording).len(), ROUNDS + 4);
        powered.lab.leaves_nothing();
        nothing_is_left_of(powered.lab.home(), "after it went on");
    }
}

/// The process of this home that is the device of its lane.
fn device(lab: &Lab) -> u32 {
    let home = lab.home().to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let mut numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_device = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains("lane-part\0device\0") && line.contains(&home)
    };
    numbers.find(is_device).expect("the lane is up")
}

#[test]
#[ignore = "kills, mounts; make test-all"]
fn a_crash_that_is_killed_while_the_power_is_cut_goes_on_to_what_was_planned() {
    let Some(powered) = powered(Lab::mariadb) else { return };
    let lab = &powered.lab;
    let mut running = lab.begins(&format!("crash --faults power --trials 2 {SHORT}"));
    running.wait_for("the last load without a fault", || {
        lab.recordings().pop().is_some_and(|recording| outcomes(&recording).len() >= ROUNDS)
    });
    let device = device(lab);
    running.wait_for("the power cut", || !alive(device));
    running.kill();
    let name = latest(lab).file_name().expect("a directory has a name").to_string_lossy().into_owned();
    let resumed = lab.begins(&format!("lab --resume {name} --json")).end_within(LONGEST).exits(0);
    assert_eq!(counts(&resumed.json()), [("power", 2)]);
    lab.leaves_nothing();
    nothing_is_left_of(lab.home(), "after it went on");
}

/// Trials that have ended before each kill: it comes while the lane is built, under load, and twice in the first of both faults.
const KILLED_AFTER: [usize; 7] = [0, 0, 1, ROUNDS, ROUNDS, ROUNDS + 1, ROUNDS + 1];
/// No later than this after that.
const LATEST_MS: u64 = 4_000;

#[test]
#[ignore = "kills, mounts; make test-all"]
fn a_crash_that_is_killed_leaves_nothing_that_clean_does_not_remove() {
    let Some(powered) = powered(Lab::mariadb) else { return };
    is_killed(&powered.lab, "kill,power", &KILLED_AFTER, LATEST_MS);
}

#[test]
#[ignore = "kills, mounts, and has a storage server; make test-all"]
fn a_crash_that_is_killed_while_its_storage_server_restarts_leaves_nothing_either() {
    let Some(powered) = powered(Lab::mariadb) else { return };
    if !Path::new("/usr/bin/ganesha.nfsd").exists() {
        servers::skip("NFS-Ganesha is missing: apt-get install nfs-ganesha nfs-ganesha-vfs rpcbind");
        return;
    }
    // The fault comes after half a second at the earliest, the server is away for seconds, and killed three seconds later.
    is_killed(&powered.lab, "server-power", &[ROUNDS; 4], 2 * LATEST_MS);
}

/// Kills `plimsoll crash` at random moments after so many of its trials, and cleans up each time.
fn is_killed(lab: &Lab, faults: &str, after: &[usize], latest_ms: u64) {
    let seed = RandomState::new().build_hasher().finish();
    println!("seed of the kills: {seed}");
    let mut random = Rng::new(seed, 0, 0);
    for ended in after.iter().copied() {
        let before = lab.recordings().len();
        let mut running = lab.begins(&format!("crash --faults {faults} --trials 4 {SHORT}"));
        running.wait_for("so many trials", || {
            ended == 0 || lab.recordings().get(before).is_some_and(|recording| outcomes(recording).len() >= ended)
        });
        let pause = Duration::from_millis(random.between(0, latest_ms));
        thread::sleep(pause);
        running.kill();
        let when = format!("killed {pause:?} after {ended} trials had ended");
        println!("{when}");
        lab.does("clean");
        nothing_is_left_of(lab.home(), &when);
        lab.leaves_nothing();
    }
}
