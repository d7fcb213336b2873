//! What a power cut may leave of a trial: its outcome only after everything that it was made from.

use plimsoll_host::facts::HostFacts;
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_model::samples::HostSample;
use plimsoll_plan::{Plan, StoragePlan};
use plimsoll_record::Parameters;
use plimsoll_record::{Manifest, Recording, TrialFacts, read};
use plimsoll_testkit::servers;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

const START: &str = "2026-11-21T19:30:00Z";
/// Where the traced process writes.
const HOME: &str = "PLIMSOLL_TEST_POWER_CUT";

/// A recording with one trial that came to its end.
fn recorded(home: &Path) -> PathBuf {
    let manifest = Manifest::new(
        "lab",
        "0.1.0",
        START.parse().unwrap(),
        Plan::Storage(StoragePlan::default()),
        HostFacts::default(),
    );
    let recording = Recording::create(home, manifest).unwrap();
    let facts = TrialFacts {
        index: 1,
        variant: "small".to_owned(),
        point: "c2".to_owned(),
        round: 1,
        started: START.parse().unwrap(),
        parameters: Parameters::Load(Box::default()),
    };
    let mut trial = recording.trial(&facts).unwrap();
    for t_ns in 0..9 {
        trial.host(&HostSample { t_ns, ..HostSample::default() }).unwrap();
    }
    trial.outcome(&TrialOutcome::new(TrialStatus::Done)).unwrap();
    recording.directory().to_owned()
}

#[test]
fn a_series_that_lost_its_end_is_found() {
    let home = tempfile::tempdir().unwrap();
    let directory = recorded(home.path());
    let torn = || read::open(&directory).unwrap().trials[0].torn.clone();
    assert_eq!(torn(), None);
    let trial = read::trial_directories(&directory).unwrap().pop().unwrap();
    let host = trial.join("host.ndjson");
    let length = fs::metadata(&host).unwrap().len();
    File::options().write(true).open(&host).unwrap().set_len(length - 1).unwrap();
    assert_eq!(torn(), Some(format!("host.ndjson has {} of the {length} bytes that it had", length - 1)));
    fs::remove_file(&host).unwrap();
    assert_eq!(torn(), Some(format!("host.ndjson has 0 of the {length} bytes that it had")));
    fs::remove_file(trial.join("series.json")).unwrap();
    assert_eq!(torn(), None, "recordings of earlier versions say nothing of lengths");
}

#[test]
#[ignore = "the process that is traced; run by the test below"]
fn traced() {
    if let Some(home) = std::env::var_os(HOME) {
        recorded(Path::new(&home));
    }
}

#[test]
fn the_outcome_has_its_name_after_everything_else_is_on_disk() {
    let home = tempfile::tempdir().unwrap();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-s", "200", "-e", "trace=fsync,fdatasync,rename,renameat,renameat2"]);
    strace.arg(std::env::current_exe().unwrap()).args(["--exact", "traced", "--ignored"]).env(HOME, home.path());
    let Ok(done) = strace.output() else { return servers::skip("no strace on this machine") };
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    if !done.status.success() {
        return servers::skip(&format!("strace may not trace here: {}", text.lines().last().unwrap_or_default()));
    }
    let calls: Vec<&str> = text.lines().filter(|line| line.contains("sync(") || line.contains("rename")).collect();
    let last = calls.iter().position(|call| call.contains("rename") && call.contains("\"outcome.json\"")).expect(&text);
    for series in ["intervals.ndjson", "host.ndjson", "server.ndjson", "latency.hlog"] {
        let synced = calls.iter().position(|call| call.contains("sync(") && call.contains(&format!("/{series}>")));
        assert!(synced.is_some_and(|at| at < last), "{series} before the outcome: {calls:#?}");
    }
    for (at, call) in calls.iter().enumerate().filter(|(_, call)| call.contains("rename")) {
        // `renameat(5</the/directory>, "new", …`: what is synced next is that directory.
        let directory = call.split('<').nth(1).and_then(|rest| rest.split('>').next()).expect("a directory");
        let next = calls.get(at + 1).copied().unwrap_or_default();
        assert!(next.contains("fsync(") && next.contains(&format!("<{directory}>")), "{call} is followed by {next}");
    }
}
