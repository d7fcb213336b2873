//! Network lanes as storage: what a delay between the two sides shows, what is recorded of them, what is refused.

use crate::harness::{Lab, run};
use plimsoll_testkit::servers;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What a commit needs one after the other: its write, then the sync that makes it durable.
const ROUND_TRIPS: f64 = 2.0;
/// More of them, with what a busy machine adds, belong to no protocol.
const MOST: f64 = 16.0;
const DELAY_MS: f64 = 1.0;
const WINDOWS: usize = 4;

/// A home with lanes, which are taken down when it is dropped.
struct Lanes {
    home: TempDir,
}

impl Lanes {
    /// `None` was said with [`servers::skip`].
    #[track_caller]
    fn new(transport: &str) -> Option<Lanes> {
        let lanes = Lanes { home: servers::home() };
        if !rustix::process::geteuid().is_root() {
            servers::skip("lanes need root");
            return None;
        }
        let listed = run(lanes.command("lane list --json")).exits(0).json();
        let kinds = listed["kinds"].as_array().expect("a list of kinds");
        let kind = kinds.iter().find(|kind| kind["name"] == transport).expect("the transport is listed");
        if kind["missing"].as_array().is_some_and(|missing| !missing.is_empty()) {
            servers::skip(&format!("{transport} needs {}", kind["missing"]));
            return None;
        }
        Some(lanes)
    }

    fn command(&self, line: &str) -> Command {
        plimsoll(self.home.path(), line)
    }

    #[track_caller]
    fn up(&self, name: &str) -> PathBuf {
        PathBuf::from(run(self.command(&format!("lane up {name} --size 1G"))).exits(0).out.trim())
    }

    /// The commit of one session as MySQL writes it, milliseconds at the median.
    #[track_caller]
    fn commit_ms(&self, directory: &Path) -> f64 {
        let line = format!("io {} --probes 1 --time 2s --size 64M --json", directory.display());
        let summary = run(self.command(&line)).exits(0).json();
        let probes = summary["probes"].as_array().expect("a list of probes");
        let buffered = probes.iter().find(|probe| probe["params"]["server"] == "mysql");
        let us = buffered.and_then(|probe| probe["latency_us"]["commit"]["p50"].as_f64());
        us.unwrap_or_else(|| panic!("no commit was measured: {summary}")) / 1e3
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        run(self.command("lane down"));
        run(self.command("clean"));
    }
}

fn plimsoll(home: &Path, line: &str) -> Command {
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home);
    command.args(line.split_whitespace());
    command
}

/// What others do on the machine only adds: of windows that take turns, the shortest commits are those of the lane itself.
#[track_caller]
fn a_delay_shows_the_round_trips(transport: &str) {
    let Some(lanes) = Lanes::new(transport) else { return };
    let (near, far) = (lanes.up(transport), lanes.up(&format!("{transport},delay={DELAY_MS}ms")));
    let windows: Vec<[f64; 2]> = (0..WINDOWS).map(|_| [&near, &far].map(|lane| lanes.commit_ms(lane))).collect();
    let shortest = |side: usize| windows.iter().map(|window| window[side]).fold(f64::INFINITY, f64::min);
    let shift = (shortest(1) - shortest(0)) / DELAY_MS;
    assert!((0.9 * ROUND_TRIPS..=MOST).contains(&shift), "{transport}, without and with its delay: {windows:.2?} ms");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_delay_shows_the_round_trips_of_nbd() {
    a_delay_shows_the_round_trips("nbd");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_delay_shows_the_round_trips_of_iscsi() {
    a_delay_shows_the_round_trips("iscsi");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_delay_shows_the_round_trips_of_an_image_on_nfs() {
    a_delay_shows_the_round_trips("nfs-image");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_delay_shows_the_round_trips_of_files_on_nfs() {
    a_delay_shows_the_round_trips("nfs-files");
}

#[test]
#[ignore = "mounts; make test-all"]
fn what_answers_before_it_has_written_is_not_timed() {
    let Some(lanes) = Lanes::new("sshfs") else { return };
    let directory = lanes.up("sshfs");
    let refused = run(lanes.command(&format!("io {} --probes 1", directory.display())));
    refused.refuses(2, &["sshfs", "correctness only", "nfs-files"]).in_one_message();
    assert_eq!(fs::read_dir(&directory).expect("it is mounted").count(), 0, "nothing was begun");
    assert!(!lanes.home.path().join("recordings").exists());
}

#[test]
fn a_plan_on_a_lane_that_is_not_for_timing_is_refused() {
    let Some(lab) = Lab::mariadb() else { return };
    let plan = lab.plan("sshfs", "lane = \"sshfs\"\n[workload]\nkind = \"oltp_point_select\"\n");
    let refused = run(plimsoll(lab.home(), &format!("lab {}", plan.display())));
    refused.refuses(2, &["sshfs", "correctness only"]).in_one_message();
}

/// What a lab of some seconds of updates on a lane records of its two sides, and the report of it as data.
#[track_caller]
fn recorded_and_reported(lab: &Lab, lane: &str, more: &str) -> (Vec<Value>, Value) {
    let plan = format!(
        "lane = \"{lane}\"\n[workload]\nkind = \"oltp_update_non_index\"\ntables = 1\ntable_size = 1000\n[load]\n\
         connections = [2]\n[trials]\nwarmup = \"1s\"\nmeasure = \"4s\"\nrounds = 1\n{more}"
    );
    let plan = lab.plan("remote", &plan);
    lab.does(&format!("lab {}", plan.display()));
    let recording = lab.recordings().pop().expect("a recording");
    let trial = fs::read_dir(recording.join("trials")).expect("trials").flatten().next().expect("a trial").path();
    let text = fs::read_to_string(trial.join("storage.ndjson")).expect("both sides were sampled");
    let lines: Vec<Value> = text.lines().skip(1).map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.len() >= 3, "{text}");
    assert!(lines.iter().any(|line| line["server_cpu"].as_f64() > Some(0.0)), "{text}");
    assert!(lines.iter().any(|line| line["server_device"]["flushes"].as_u64() > Some(0)), "{text}");
    let page = lab.does(&format!("report {} --format json -o -", recording.display())).json();
    let used = &page["data"]["trials"][0]["storage"];
    assert!(used["requests"].as_f64() > Some(0.0) && used["server_cpus"].as_f64() > Some(0.0), "{used}");
    let trips = page["data"]["trials"][0]["cost"]["storage_round_trips"].as_f64();
    assert!(trips >= Some(1.0), "each commit is at least a write or a flush: {trips:?}");
    let text = page.to_string();
    let caveat = ["loopback", "shared cores", "flush acknowledged by memory", "not for megabytes per second"];
    for part in ["The storage server", "network_lane"].into_iter().chain(caveat) {
        assert!(text.contains(part), "{part}: {text}");
    }
    (lines, page)
}

/// Both sides are sampled, the report shows them, and the caveat stands in it.
#[test]
#[ignore = "mounts; make test-all"]
fn both_sides_of_a_network_lane_are_recorded_and_reported() {
    let Some(lanes) = Lanes::new("nbd") else { return };
    drop(lanes);
    let Some(lab) = Lab::mariadb() else { return };
    let (lines, page) = recorded_and_reported(&lab, "nbd", "");
    assert!(lines.iter().all(|line| line["operations"].is_null()), "a device has no operations, not 0: {lines:?}");
    assert!(page.to_string().contains("nbdkit"), "{page}");
}

/// From the client's count to the number beside a printed one, a kind of operation is called the same.
#[test]
#[ignore = "mounts; make test-all"]
fn operations_are_counted_by_kind_and_shares_of_them_reported() {
    let Some(lanes) = Lanes::new("nfs-files") else { return };
    drop(lanes);
    let Some(lab) = Lab::mariadb() else { return };
    let printed = "[[published]]\nid = \"T1\"\nplace = \"this test\"\nmetric = \"nfs_write_percent\"\nunit = \"%\"\n\
                   value = 43\n";
    let (lines, page) = recorded_and_reported(&lab, "nfs-files", printed);
    let counts = |kind: &str| lines.iter().filter_map(|line| line["operations"][kind].as_u64()).sum::<u64>();
    assert!(counts("WRITE") > 0 && counts("write") == 0, "{lines:?}");
    let published = &page["data"]["published"][0];
    assert!(published["measured"]["value"].as_f64() > Some(0.0), "{published}");
}
