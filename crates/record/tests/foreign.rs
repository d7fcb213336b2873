//! What others may have put into a recording: links, pipes, second names of files, mounts. Such a recording is read, and
//! nothing more.

use plimsoll_host::facts::HostFacts;
use plimsoll_plan::{Plan, StoragePlan};
use plimsoll_record::Parameters;
use plimsoll_record::{Manifest, Recording, Status, TrialFacts, read};
use plimsoll_testkit::servers::{self, Overmount};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

const START: &str = "2026-11-21T19:30:00Z";

/// An interrupted recording with a trial that did not come to its end.
fn interrupted(home: &Path) -> PathBuf {
    let manifest = Manifest::new(
        "lab",
        "0.1.0",
        START.parse().unwrap(),
        Plan::Storage(StoragePlan::default()),
        HostFacts::default(),
    );
    let mut recording = Recording::create(home, manifest).unwrap();
    let facts = TrialFacts {
        index: 1,
        variant: "small".to_owned(),
        point: "c2".to_owned(),
        round: 1,
        started: START.parse().unwrap(),
        parameters: Parameters::Load(Box::default()),
    };
    drop(recording.trial(&facts).unwrap());
    recording.finish(Status::Interrupted, START.parse().unwrap()).unwrap();
    recording.directory().to_owned()
}

fn trial_of(recording: &Path) -> PathBuf {
    read::trial_directories(recording).unwrap().pop().unwrap()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn files_are_replaced_without_following_a_planted_link() {
    let home = tempfile::tempdir().unwrap();
    let directory = interrupted(home.path());
    let victim = home.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let mut recording = Recording::reopen(&directory).unwrap();
    for name in ["manifest.tmp", "summary.tmp", "lab.tmp", "manifest.new", "manifest.json.new"] {
        symlink(&victim, directory.join(name)).unwrap();
    }
    recording.finish(Status::Interrupted, START.parse().unwrap()).unwrap();
    recording.attach("report.html", "a page").unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(read::manifest(&directory).unwrap().status, Status::Interrupted);
}

/// What is planted in a recording, and the word that the refusal has for it.
type Planted = (&'static str, fn(&Path, &Path));

const PLANTED: [Planted; 8] = [
    ("symbolic link", |recording, victim| symlink(victim, recording.join("manifest.tmp")).unwrap()),
    ("symbolic link", |recording, victim| symlink(victim, trial_of(recording).join("outcome.json")).unwrap()),
    ("symbolic link", |recording, victim| symlink(victim.parent().unwrap(), recording.join("trials/0002-x")).unwrap()),
    ("second name", |recording, victim| {
        let events = recording.join("events.ndjson");
        fs::remove_file(&events).unwrap();
        fs::hard_link(victim, &events).unwrap();
    }),
    ("neither", |recording, _| {
        mknodat(CWD, recording.join("events.fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }),
    ("others can write to it", |recording, _| mode(&recording.join("events.ndjson"), 0o666)),
    ("others can write to it", |recording, _| mode(&recording.join("trials"), 0o777)),
    ("others can write to it", |recording, _| mode(recording, 0o757)),
];

#[test]
fn a_recording_that_holds_what_others_can_have_put_there_is_read_only() {
    for (number, (word, plant)) in PLANTED.into_iter().enumerate() {
        let home = tempfile::tempdir().unwrap();
        let directory = interrupted(&home.path().join("recordings"));
        let victim = home.path().join("victim");
        fs::write(&victim, "{\"schema\":\"plimsoll.events\",\"version\":1}\nprecious").unwrap();
        let before = fs::read(&victim).unwrap();
        plant(&directory, &victim);
        let manifest = fs::read(directory.join("manifest.json")).unwrap();
        let refused = Recording::reopen(&directory).expect_err(&format!("{number}: {word}")).to_string();
        assert!(refused.contains(word) && refused.contains("read only"), "{number}: {refused}");
        assert!(refused.contains(&directory.display().to_string()), "{number}: {refused}");
        assert_eq!(fs::read(&victim).unwrap(), before, "{number}: {word}");
        assert_eq!(fs::read(directory.join("manifest.json")).unwrap(), manifest, "{number}: nothing was written");
        assert_eq!(read::manifest(&directory).unwrap().status, Status::Interrupted, "{number}: it can be read");
    }
}

#[test]
fn a_recording_of_another_user_is_read_only() {
    let home = tempfile::tempdir().unwrap();
    let recordings = home.path().join("recordings");
    let directory = interrupted(&recordings);
    if chown(directory.join("events.ndjson"), Some(1), None).is_err() {
        return servers::skip("only root may give a file away");
    }
    let refused = Recording::reopen(&directory).unwrap_err().to_string();
    assert!(refused.contains("it belongs to user 1") && refused.contains("events.ndjson"), "{refused}");
    chown(directory.join("events.ndjson"), Some(0), None).unwrap();
    assert!(Recording::reopen(&directory).is_ok());
    chown(&recordings, Some(1), None).unwrap();
    let refused = Recording::reopen(&directory).unwrap_err().to_string();
    assert!(refused.contains(&recordings.display().to_string()), "what is above it counts: {refused}");
}

#[test]
#[ignore = "mounts; make test-all"]
fn nothing_behind_a_mount_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let recordings = home.path().join("the recordings");
    let directory = interrupted(&recordings);
    let recording = Recording::reopen(&directory).unwrap();
    for trial in [None, Some(trial_of(&directory))] {
        let point = trial.as_deref().unwrap_or(&directory).join("a mount");
        let Some(mounts) = Overmount::kinds(&point) else { return };
        for mount in mounts {
            let removed = match &trial {
                None => read::remove(&directory, true),
                Some(trial) => recording.discard(trial),
            };
            let refused = removed.expect_err("something is mounted there").to_string();
            assert!(refused.contains("mounted") && refused.contains("a mount"), "{refused}");
            assert!(mount.kept().exists(), "{refused}");
        }
    }
    recording.discard(&trial_of(&directory)).unwrap();
    read::remove(&directory, true).unwrap();
    assert!(!directory.exists());
}
