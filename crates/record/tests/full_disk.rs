//! A full disk is said with the file's name, and what was written before stays readable.

use plimsoll_host::facts::HostFacts;
use plimsoll_model::samples::HostSample;
use plimsoll_plan::{Plan, StoragePlan};
use plimsoll_record::{Happening, Parameters};
use plimsoll_record::{Manifest, RecordError, Recording, Status, TrialFacts, read};

use std::path::Path;
use std::process::Command;

/// A tmpfs of 256 KiB, unmounted when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        let directory = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs"])
            .arg(directory.path())
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(SmallDisk(directory))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.path()).status();
    }
}

#[test]
fn a_full_disk_is_reported_with_the_file_and_leaves_whole_lines() {
    let Some(disk) = SmallDisk::mount() else {
        eprintln!("SKIPPED: a small tmpfs cannot be mounted here (needs root), the full disk was not tested");
        return;
    };
    let now = "2026-11-21T19:30:00Z".parse().unwrap();
    let manifest = Manifest::new("small", "0.1.0", now, Plan::Storage(StoragePlan::default()), HostFacts::default());
    let mut recording = Recording::create(disk.path(), manifest).unwrap();
    let facts = TrialFacts {
        index: 1,
        variant: "default".into(),
        point: "c1".into(),
        round: 1,
        started: now,
        parameters: Parameters::Load(Box::default()),
    };
    let mut trial = recording.trial(&facts).unwrap();
    let mut written = 0;
    let error = loop {
        match trial.host(&HostSample { t_ns: written, ..HostSample::default() }) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 100_000, "256 KiB hold that much?");
    };
    let full = |error: &RecordError, name: &str| {
        let RecordError::Write { path, source } = error else { panic!("{error}") };
        assert!(path.ends_with(name) && source.raw_os_error() == Some(28), "{error}");
        assert!(error.to_string().contains("free some space"), "{error}");
    };
    full(&error, "host.ndjson");
    // Less than a line may still fit; then even the smallest event is refused.
    let refused = (0..10_000).find_map(|t| recording.event(t, Happening::Step { id: "y".repeat(200) }).err()).unwrap();
    full(&refused, "events.ndjson");
    full(&recording.finish(Status::Failed, now).unwrap_err(), "manifest.json");

    let view = read::open(recording.directory()).unwrap();
    assert_eq!(view.trials[0].series().unwrap().host.len() as u64, written);
    assert_eq!(view.manifest.status, Status::Running, "the old manifest is whole");
    let kept = std::fs::read(view.trials[0].directory.join("host.ndjson")).unwrap();
    assert_eq!(kept.last(), Some(&b'\n'));
}
