//! `plimsoll io`: the contract of its JSON, what it refuses, and that nothing stays behind.

use crate::harness::{Done, PATIENCE, begin, run};
use crate::lanes::Shore;
use plimsoll_testkit::servers::{self, tmpfs, wait_until};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tempfile::TempDir;

const MIB: u64 = 1 << 20;

/// A home, and a directory whose storage is evaluated.
struct Bench {
    home: TempDir,
    disk: PathBuf,
    _made: Option<TempDir>,
}

impl Bench {
    fn new() -> Bench {
        let made = tempfile::tempdir().expect("a directory");
        Bench { home: servers::home(), disk: made.path().to_owned(), _made: Some(made) }
    }

    fn on(disk: &Path) -> Bench {
        Bench { home: servers::home(), disk: disk.to_owned(), _made: None }
    }

    fn command(&self, options: &str) -> Command {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), self.home.path());
        command.arg("io").arg(&self.disk).args(options.split_whitespace());
        command
    }

    fn clean(&self) -> Command {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), self.home.path());
        command.arg("clean");
        command
    }

    #[track_caller]
    fn does(&self, options: &str) -> Done {
        let done = run(self.command(options)).exits(0);
        self.is_clean();
        done
    }

    /// Nothing of ours is left in the directory.
    #[track_caller]
    fn is_clean(&self) {
        let left = self.ours();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    fn ours(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.disk).expect("it is still there").flatten();
        let all = entries.map(|entry| entry.path());
        all.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("plimsoll"))).collect()
    }

    /// The latest recording has a second of measurement.
    fn is_measured(&self) -> bool {
        let intervals = self.trials().into_iter().map(|trial| fs::read_to_string(trial.join("intervals.ndjson")));
        intervals.flatten().any(|text| text.contains("\"phase\":\"measure\""))
    }

    /// Of the latest recording.
    fn trials(&self) -> Vec<PathBuf> {
        let trials = self.recordings().pop().map(|recording| recording.join("trials"));
        let entries = trials.and_then(|trials| fs::read_dir(trials).ok()).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// A file that a run under way works on, as somebody else sees it.
    #[track_caller]
    fn file(&self, name: &str) -> File {
        let [place] = &self.ours()[..] else { panic!("one directory of the run") };
        File::options().read(true).write(true).open(place.join(name)).expect("a file of the run")
    }

    fn recordings(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.home.path().join("recordings")).into_iter().flatten().flatten();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        all.sort();
        all
    }
}

fn probes(summary: &Value) -> &[Value] {
    summary["probes"].as_array().expect("a list of probes")
}

/// The fields that the contract of `io --json` names, each of its type.
#[track_caller]
fn keeps_the_contract(summary: &Value) {
    assert_eq!(summary["schema_version"], 1);
    assert!(summary["directory"].is_string() && summary["device"].is_object(), "{summary}");
    assert!(summary["caveats"].is_array() && summary["sheet"].is_array(), "{summary}");
    for line in summary["sheet"].as_array().expect("a sheet") {
        assert!(line["statement"].is_string() && line["unit"].is_string() && line["probes"].is_array(), "{line}");
    }
    for probe in probes(summary) {
        assert!(probe["id"].is_string() && probe["name"].is_string() && probe["params"].is_object(), "{probe}");
        assert!(probe["caveats"].is_array() && probe["error"].is_null(), "{probe}");
        for field in ["iops", "mb_per_second", "cpu_us_per_op"] {
            assert!(probe[field].as_f64().is_some_and(|value| value > 0.0), "{field}: {probe}");
        }
        for field in ["flushes_per_op", "device_bytes_per_op"] {
            let known = summary["device"]["name"].is_string();
            assert!(!known || probe[field].as_f64().is_some_and(|value| value >= 0.0), "{field}: {probe}");
        }
        let latency = probe["latency_us"].as_object().expect("latencies by kind");
        assert!(!latency.is_empty(), "{probe}");
        for (kind, values) in latency {
            let at = |name: &str| values[name].as_f64().unwrap_or_else(|| panic!("{kind} {name}: {values}"));
            assert!(at("min") <= at("p50") && at("p50") <= at("p99") && at("p99") <= at("max"), "{kind}: {values}");
            assert!(at("mean") <= at("max") && at("p90") <= at("p999"), "{kind}: {values}");
        }
    }
}

#[test]
fn a_short_evaluation_keeps_the_contract_and_leaves_nothing() {
    let bench = Bench::new();
    let done = bench.does("--probes 1,6 --time 2s --size 64M --seed 7 --json");
    let summary = done.json();
    keeps_the_contract(&summary);
    assert_eq!((&summary["suite"], &summary["seed"]), (&"quick".into(), &7.into()));
    let numbers: Vec<_> = probes(&summary).iter().filter_map(|probe| probe["probe"].as_u64()).collect();
    assert!(numbers.contains(&1) && numbers.contains(&6) && numbers.iter().all(|n| [1, 6].contains(n)), "{numbers:?}");
    for probe in probes(&summary) {
        let counts = &probe["counts"];
        let of = |name: &str| counts[name].as_u64().expect("a count");
        assert_eq!(of("started"), of("finished") + of("failed") + of("unfinished"), "{probe}");
    }
    done.tells(&["seed 7", "measurements"]);
    recording_is_whole(&bench, &summary);
}

#[track_caller]
fn recording_is_whole(bench: &Bench, summary: &Value) {
    let [recording] = &bench.recordings()[..] else { panic!("one recording") };
    assert_eq!(summary["recording"], recording.display().to_string());
    let kept: Value = serde_json::from_slice(&fs::read(recording.join("io.json")).expect("kept")).expect("JSON");
    assert_eq!(kept["probes"], summary["probes"]);
    assert!(fs::metadata(recording.join("report.html")).is_ok_and(|page| page.len() > 1000));
    let view = plimsoll_record::read::open(recording).expect("it can be read");
    assert_eq!(view.trials.len(), probes(summary).len());
    assert!(view.io.is_some() && view.summary.is_none());
    for trial in &view.trials {
        let series = trial.series().expect("series");
        assert!(!series.intervals.is_empty() && !series.host.is_empty(), "{:?}", trial.facts);
        assert_eq!(series.device.is_empty(), summary["device"]["name"].is_null(), "{:?}", trial.facts);
        assert!(!trial.latency(0..u64::MAX).expect("histograms").is_empty(), "{:?}", trial.facts);
    }
}

#[test]
fn without_json_the_sheet_is_printed_and_the_report_is_its_last_line() {
    let bench = Bench::new();
    let done = bench.does("--probes 6 --time 1s --size 16M");
    let last = done.out.lines().last().expect("a path");
    assert!(last.ends_with("report.html") && Path::new(last).exists(), "{done}");
    let page = fs::read_to_string(last).expect("a page");
    let seed = done.err.split("seed ").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("a seed");
    assert!(page.contains(&format!("--seed {seed}")), "how to repeat it is on the page");
}

#[test]
fn wrong_arguments_are_refused_with_nothing_made() {
    let bench = Bench::new();
    for (options, told) in [
        ("--probes 1,99", "has no probe 99"),
        ("--probes 14", "--steady"),
        ("--time 0s", "longer than 0"),
        ("--suite slow", "slow"),
        ("--size 900T --probes 6", "smaller --size"),
        ("--threads 4", "--test"),
        ("--test rndrd --suite full", "--suite"),
        ("--test rndxx", "rndxx"),
        ("--test rndrd --size 100 --files 3", "nearest"),
        ("--test rndrd --io-mode mmap --direct", "page cache"),
        ("--test rndrd --rate 0", "rate"),
        ("--test rndrd --arrivals constant", "--rate"),
        ("--suite percona-2008 --steady", "--steady"),
    ] {
        run(bench.command(options)).refuses(2, &[told]);
        bench.is_clean();
        assert!(bench.recordings().is_empty(), "{options}");
    }
    run(bench.command("--validate=/no/such/server --probes 1")).refuses(3, &["/no/such/server"]);
    bench.is_clean();
    let nowhere = Bench::on(Path::new("/no/such/directory"));
    run(nowhere.command("")).refuses(2, &["/no/such/directory"]);
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_removes_the_files() {
    let bench = Bench::new();
    let mut running = begin(bench.command("--probes 6 --time 60s --size 16M --json"));
    running.wait_for("a second of measurement", || bench.is_measured());
    running.signal(Signal::INT);
    let done = running.end().exits(130).tells(&["interrupted"]);
    bench.is_clean();
    let summary = done.json();
    assert_eq!(summary["interrupted"], true);
    assert_eq!(probes(&summary).len(), 1);
    assert!(probes(&summary)[0]["iops"].as_f64().is_some_and(|iops| iops > 0.0), "{summary}");
}

#[test]
fn what_a_kill_leaves_is_removed_by_clean() {
    let bench = Bench::new();
    let running = begin(bench.command("--probes 6 --time 60s --size 16M"));
    assert!(wait_until(PATIENCE, || !bench.ours().is_empty()), "it makes a directory of its own");
    running.kill();
    assert!(!bench.ours().is_empty(), "nobody was there to remove it");
    run(bench.clean()).exits(0);
    bench.is_clean();
}

#[test]
fn every_test_mode_is_measured_and_verified() {
    let bench = Bench::new();
    for mode in ["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"] {
        let done =
            bench.does(&format!("--test {mode} --size 8M --files 2 --threads 2 --rate 500 --time 2s --verify --json"));
        let summary = done.json();
        let [probe] = probes(&summary) else { panic!("one measurement: {summary}") };
        assert_eq!((&summary["suite"], &probe["error"]), (&"test".into(), &Value::Null), "{mode}");
        assert_eq!(probe["found"]["mismatches"], 0.0, "{mode}: {probe}");
        let done = |kind: &str| probe["operations"][kind].as_u64().unwrap_or(0);
        let reads = mode.ends_with("rd") || mode == "rndrw";
        assert_eq!((done("read") > 0, done("write") > 0), (reads, mode.contains('w')), "{mode}: {probe}");
    }
}

/// Each block rests most of the time, and is read and written some ten times a second.
const VERIFIED: &str = "--test rndrw --verify --size 1M --files 2 --block 16K --rate 2000 --time 12s --json";
const BLOCK: u64 = 16 << 10;
/// Of each of the two files.
const BLOCKS: u64 = 32;

/// The run has found that blocks of this file are not what was written, and says so.
#[track_caller]
fn is_found(done: Done, file: &str, what: &str) {
    let summary = done.exits(1).json();
    let [probe] = probes(&summary) else { panic!("one measurement: {summary}") };
    assert!(probe["found"]["mismatches"].as_f64().is_some_and(|found| found > 0.0), "{probe}");
    let told = probe["caveats"].as_array().expect("a list").iter().find(|caveat| caveat["code"] == "corrupt");
    let told = told.and_then(|caveat| caveat["message"].as_str()).expect("a caveat");
    let (_, at) = told.split_once(&format!("first {file} at offset ")).unwrap_or_else(|| panic!("{told}"));
    let (offset, found) = at.split_once(": ").expect("what was found");
    let offset: u64 = offset.parse().expect("a number");
    assert!(offset < BLOCKS * BLOCK && found.starts_with(what), "{told}");
}

#[test]
fn a_bit_that_somebody_flips_is_found_and_named() {
    let bench = Bench::new();
    let mut running = begin(bench.command(VERIFIED));
    running.wait_for("a second of measurement", || bench.is_measured());
    let file = bench.file("test.1");
    // Some are written again before they are read; not all.
    for block in 0..BLOCKS {
        let mut byte = [0];
        file.read_exact_at(&mut byte, block * BLOCK + 100).expect("read");
        file.write_all_at(&[byte[0] ^ 1], block * BLOCK + 100).expect("written");
    }
    is_found(running.end(), "test.1", "checksum ");
    bench.is_clean();
}

#[test]
fn a_write_that_was_lost_is_found_and_named() {
    let bench = Bench::new();
    let mut running = begin(bench.command(VERIFIED));
    running.wait_for("a second of measurement", || bench.is_measured());
    let file = bench.file("test.0");
    let read = |block: u64| {
        let mut bytes = vec![0; BLOCK as usize];
        file.read_exact_at(&mut bytes, block * BLOCK).expect("read");
        bytes
    };
    let before: Vec<_> = (0..BLOCKS).map(read).collect();
    running.wait_for("another write of each block", || (0..BLOCKS).all(|block| read(block) != before[block as usize]));
    for (block, bytes) in (0..).zip(&before) {
        file.write_all_at(bytes, block * BLOCK).expect("written");
    }
    is_found(running.end(), "test.0", "an older write ");
    bench.is_clean();
}

#[test]
fn a_rate_gives_response_times_and_kept_files_stay() {
    let bench = Bench::new();
    let line = "--test rndrd --size 8M --files 1 --time 1s --rate 200 --arrivals constant --keep --json";
    let summary = run(bench.command(line)).exits(0).json();
    let [probe] = probes(&summary) else { panic!("one measurement: {summary}") };
    let offered = probe["counts"]["offered"].as_u64().expect("a count");
    assert!((199..=201).contains(&offered), "a constant rate is kept: {offered}");
    assert!(probe["response_us"]["read"]["p99"].as_f64() >= probe["latency_us"]["read"]["p50"].as_f64(), "{probe}");
    assert!(!bench.ours().is_empty(), "--keep leaves the files");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_disk_that_is_full_is_refused_before_anything_starts() {
    let Some(disk) = tmpfs(64 * MIB) else { return };
    let filler = File::create(disk.path().join("filler")).expect("a file");
    rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), 0, 62 * MIB).expect("room");
    let bench = Bench::on(disk.path());
    run(bench.command("--probes 1,6 --time 1s --json"))
        .refuses(2, &["the files need ", " but only 2 MB are free there"]);
    bench.is_clean();
    assert!(bench.recordings().is_empty());
    assert!(disk.path().join("filler").exists(), "the files of others are left alone");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_read_only_directory_is_refused() {
    let Some(disk) = tmpfs(64 * MIB) else { return };
    let mut read_only = Command::new("mount");
    read_only.args(["-o", "remount,ro"]).arg(disk.path());
    run(read_only).exits(0);
    let bench = Bench::on(disk.path());
    run(bench.command("--probes 6 --time 1s")).refuses(2, &[&disk.path().display().to_string()]).in_one_message();
    assert!(bench.recordings().is_empty());
}

/// Why each probe could not be measured, in order; `None` for one that was.
fn errors(summary: &Value) -> Vec<Option<&str>> {
    probes(summary).iter().map(|probe| probe["error"].as_str()).collect()
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_device_that_fails_in_mid_run_fails_the_probe_and_not_the_rest() {
    let Some(shore) = Shore::new() else { return };
    // Only what is measured reaches the device meanwhile: an error in its journal would end the file system.
    let name = "ext4,error=eio,options=commit=300+noatime";
    let bench = Bench::on(&shore.up(name, "--size 256M --no-check"));
    let trigger = shore.lane(name).join("fail");
    let mut running = begin(bench.command("--probes 6 --time 3s --size 16M --json"));
    running.wait_for("a second of measurement", || bench.is_measured());
    fs::write(&trigger, "").expect("a trigger");
    // At once: the second probe may fail as well, the third is to find the device well.
    let begun = Instant::now();
    while bench.trials().len() < 2 {
        assert!(begun.elapsed() < PATIENCE, "the first probe goes on");
        std::thread::yield_now();
    }
    fs::remove_file(&trigger).expect("removed");
    let done = running.end().exits(1).tells(&["measurements failed: 6.depth-1"]);
    let summary = done.json();
    let errors = errors(&summary);
    assert!(errors[0].is_some_and(|why| why.contains("reading") && why.contains("Input/output error")), "{errors:?}");
    assert_eq!(errors.last(), Some(&None), "the rest goes on");
    bench.is_clean();

    let before = bench.recordings().len();
    let mut running = begin(bench.command("--test rndrd --direct --time 60s --size 16M --files 1 --json"));
    running.wait_for("a second of measurement", || bench.recordings().len() > before && bench.is_measured());
    fs::write(&trigger, "").expect("a trigger");
    let summary = running.end().exits(3).json();
    assert!(probes(&summary)[0]["error"].as_str().is_some_and(|why| why.contains("Input/output error")), "{summary}");
    fs::remove_file(&trigger).expect("removed");
    shore.ends("lane down").exits(0);
    shore.is_empty("after errors");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_mount_that_vanishes_in_mid_run_is_told_and_nothing_is_written_below_it() {
    let Some(disk) = tmpfs(256 * MIB) else { return };
    let bench = Bench::on(disk.path());
    let mut running = begin(bench.command("--probes 6 --time 2s --size 16M --json"));
    running.wait_for("a second of measurement", || bench.is_measured());
    let mut unmount = Command::new("umount");
    unmount.arg("--lazy").arg(disk.path());
    run(unmount).exits(0);
    // The files that are open stay open; the next probe finds none, and there is nothing left to evaluate.
    let summary = running.end().exits(3).tells(&["ended early", "is gone"]).json();
    let errors = errors(&summary);
    assert!(errors.len() > 1 && errors[0].is_none(), "{errors:?}");
    let place = disk.path().display().to_string();
    assert!(errors[1..].iter().all(|why| why.is_some_and(|why| why.contains(&place))), "{errors:?}");
    assert_eq!(fs::read_dir(disk.path()).expect("the directory below").count(), 0);
    run(bench.clean()).exits(0);
}
