//! Storage with a known property, on real mounts: the evaluation finds it.

use crate::harness::{Done, run};
use plimsoll_testkit::servers;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A lane that is up, in a home of its own; taken down when dropped.
struct Lane {
    home: TempDir,
    name: &'static str,
    directory: PathBuf,
}

impl Lane {
    /// `None` was said with [`servers::skip`].
    #[track_caller]
    fn up(name: &'static str, options: &str) -> Option<Lane> {
        if !rustix::process::geteuid().is_root() {
            servers::skip("lanes need root");
            return None;
        }
        let home = servers::home();
        let done = run(plimsoll(home.path(), &format!("lane up {name} {options}")));
        if done.err.contains("apt-get install") {
            servers::skip(done.err.trim());
            return None;
        }
        let done = done.exits(0);
        let directory = PathBuf::from(done.out.trim());
        Some(Lane { home, name, directory })
    }

    /// Evaluates the lane's storage; the summary.
    #[track_caller]
    fn evaluated(&self, options: &str) -> Value {
        self.io(plimsoll(self.home.path(), &self.line(options))).json()
    }

    #[track_caller]
    fn io(&self, command: Command) -> Done {
        run(command).exits(0)
    }

    fn line(&self, options: &str) -> String {
        format!("io {} {options} --json", self.directory.display())
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        run(plimsoll(self.home.path(), &format!("lane down {}", self.name)));
        run(plimsoll(self.home.path(), "clean"));
    }
}

fn plimsoll(home: &Path, line: &str) -> Command {
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home);
    command.args(line.split_whitespace());
    command
}

/// The measurements of one probe whose parameters are these.
fn probes<'a>(summary: &'a Value, number: u64, params: &[(&str, Value)]) -> Vec<&'a Value> {
    let all = summary["probes"].as_array().expect("a list of probes");
    let fits = |probe: &&Value| {
        probe["probe"] == number && params.iter().all(|(name, value)| probe["params"][*name] == *value)
    };
    all.iter().filter(fits).collect()
}

#[track_caller]
fn iops(summary: &Value, number: u64, params: &[(&str, Value)]) -> f64 {
    let found = probes(summary, number, params);
    let [probe] = found.as_slice() else { panic!("{} measurements of {number} {params:?}: {summary}", found.len()) };
    probe["iops"].as_f64().unwrap_or_else(|| panic!("not measured: {probe}"))
}

/// The sheet's line of this key.
#[track_caller]
fn line<'a>(summary: &'a Value, key: &str) -> &'a Value {
    let all = summary["sheet"].as_array().expect("a sheet");
    all.iter().find(|line| line["key"] == key).unwrap_or_else(|| panic!("no line `{key}`: {all:#?}"))
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_device_of_200_writes_per_second_is_measured_as_one() {
    let Some(lane) = Lane::up("ext4,iops=200", "") else { return };
    let _quiet = servers::timed_run();
    let summary = lane.evaluated("--probes 7 --time 5s --size 64M");
    let found = probes(&summary, 7, &[]);
    assert!(found.len() >= 2, "{summary}");
    for probe in found {
        // A flush counts as a write where it passes the limit.
        let writes = probe["iops"].as_f64().expect("measured");
        let syncs = probe["operations"]["sync"].as_f64().unwrap_or(0.0) / probe["seconds"].as_f64().expect("seconds");
        assert!((190.0..=210.0).contains(&(writes + syncs)), "{writes} writes and {syncs} syncs per second: {probe}");
    }
}

/// How much more eight files take than one, written by four threads.
fn gain_of_files(summary: &Value, allocation: &str) -> f64 {
    let of = |files: u64| {
        iops(summary, 9, &[("threads", 4.into()), ("files", files.into()), ("allocation", allocation.into())])
    };
    of(8) / of(1)
}

#[test]
#[ignore = "mounts; make test-all"]
fn writes_into_holes_of_one_file_queue_up_on_ext4_and_not_on_xfs() {
    let (Some(ext4), Some(xfs)) = (Lane::up("ext4,delay=2ms", ""), Lane::up("xfs,delay=2ms", "")) else { return };
    let _quiet = servers::timed_run();
    let [ext4, xfs] = [ext4, xfs].map(|lane| lane.evaluated("--probes 9 --time 3s"));
    let gains =
        ["hole", "overwrite"].map(|allocation| (gain_of_files(&ext4, allocation), gain_of_files(&xfs, allocation)));
    let [(ext4_hole, xfs_hole), (ext4_over, xfs_over)] = gains;
    assert!(ext4_hole > 1.8, "{gains:?}");
    assert!(xfs_hole < 1.4 && ext4_over < 1.4 && xfs_over < 1.4, "{gains:?}");
    assert_eq!(line(&ext4, "serialised_hole")["value"], true);
    for (summary, key) in [(&ext4, "serialised_overwrite"), (&xfs, "serialised_hole"), (&xfs, "serialised_overwrite")] {
        assert_eq!(line(summary, key)["value"], false, "{key}");
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn syncs_that_never_reach_the_device_are_called_out() {
    let Some(lying) = Lane::up("ext4,options=barrier=0", "--no-check") else { return };
    let summary = lying.evaluated("--probes 1,5 --time 1s --size 64M");
    assert_eq!(line(&summary, "flush_reaches_device")["value"], false, "{summary}");
    let verdict = line(&summary, "durability");
    assert_eq!((&verdict["value"], &verdict["warning"]), (&"lost".into(), &true.into()), "{verdict}");
    drop(lying);
    let Some(honest) = Lane::up("ext4", "") else { return };
    let summary = honest.evaluated("--probes 1,5 --time 1s --size 64M");
    assert_eq!(line(&summary, "flush_reaches_device")["value"], true, "{summary}");
    let mut eaten = Command::new("eatmydata");
    eaten.arg(env!("CARGO_BIN_EXE_plimsoll")).args(honest.line("--probes 1,5 --time 1s --size 64M").split_whitespace());
    eaten.env("PLIMSOLL_HOME", honest.home.path()).env("NO_COLOR", "1");
    if Command::new("eatmydata").arg("true").status().is_err() {
        return servers::skip("no eatmydata on this machine");
    }
    let summary = honest.io(eaten).json();
    assert_eq!(line(&summary, "flush_reaches_device")["value"], false, "{summary}");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_cache_in_front_of_a_slow_device_is_seen() {
    let Some(lane) = Lane::up("ext4,delay=2ms,cache=256M", "") else { return };
    let _quiet = servers::timed_run();
    let summary = lane.evaluated("--probes 13 --time 3s");
    let reads = probes(&summary, 13, &[("what", "read".into())]);
    let median = |probe: &Value| probe["latency_us"]["read"]["p50"].as_f64().expect("measured");
    let (Some(small), Some(large)) = (reads.first(), reads.last()) else { panic!("no working sets: {summary}") };
    assert_eq!(small["params"]["set_bytes"], 64u64 << 20);
    let (small, large) = (median(small), median(large));
    assert!(large > 2.0 * small && large > 2_000.0, "{small} µs and {large} µs: {summary}");
    assert_eq!(line(&summary, "cached_set")["value"], 64u64 << 20, "{summary}");
}

/// What servers reach on 200 I/Os per second, against what the probes say they can.
#[test]
#[ignore = "mounts; make test-all"]
fn commits_on_a_slow_device_are_as_predicted() {
    let servers = servers::of_each_flavour();
    let Some(lane) = Lane::up("ext4,iops=200", "").filter(|_| !servers.is_empty()) else { return };
    let (_slots, _quiet) = (servers::alone(), servers::timed_run());
    let validated = |server: &PathBuf| {
        let summary = lane.evaluated(&format!("--probes 2 --time 3s --size 64M --validate={}", server.display()));
        summary["validation"].as_array().expect("validated").clone()
    };
    let commits: Vec<Value> = servers.iter().flat_map(validated).collect();
    assert_eq!(commits.len(), 3 * servers.len(), "1, 8 and 64 sessions each: {commits:?}");
    for row in commits {
        let of = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"));
        // A tenth beyond: the probe and the server are measured one after the other, on a machine with neighbours.
        let expected = 0.9 * of("predicted_low")..=1.1 * of("predicted");
        assert!(expected.contains(&of("reached")), "{row}");
    }
}
