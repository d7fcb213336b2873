//! What somebody says of recordings, and what the baseline of a name is.

use jiff::Timestamp;
use plimsoll_host::facts::HostFacts;
use plimsoll_plan::{Plan, StoragePlan};
use plimsoll_record::labels::{baseline, keep, release};
use plimsoll_record::{Labels, Manifest, RecordError, Recording, Status, read};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A recording of this name that began in this second of its day and came to this end.
fn recorded(home: &Path, name: &str, second: i64, status: Status) -> PathBuf {
    let started = Timestamp::from_second(1_790_000_000 + second).unwrap();
    let manifest = Manifest::new(name, "0.1.0", started, Plan::Storage(StoragePlan::default()), HostFacts::default());
    let mut recording = Recording::create(home, manifest).unwrap();
    recording.finish(status, started).unwrap();
    recording.directory().to_owned()
}

#[test]
fn the_baseline_is_what_was_recorded_since_it_was_kept_the_last_time() {
    let home = tempfile::tempdir().unwrap();
    let list = || read::list(home.path()).unwrap();
    let [first, second] = [1, 2].map(|second| recorded(home.path(), "main", second, Status::Done));
    recorded(home.path(), "main", 3, Status::Interrupted);
    recorded(home.path(), "other", 4, Status::Done);
    assert_eq!(baseline(&list(), "main").unwrap(), Vec::<PathBuf>::new());
    assert_eq!(keep(&list(), "main").unwrap(), (vec![first.clone(), second.clone()], vec![]));
    assert_eq!(baseline(&list(), "main").unwrap(), [first.clone(), second.clone()]);
    assert_eq!(keep(&list(), "main").unwrap(), (vec![], vec![]), "there is nothing new");
    assert_eq!(baseline(&list(), "main").unwrap().len(), 2);
    let third = recorded(home.path(), "main", 5, Status::Done);
    assert_eq!(keep(&list(), "main").unwrap(), (vec![third.clone()], vec![first, second]));
    assert_eq!(baseline(&list(), "main").unwrap(), vec![third.clone()]);
    assert_eq!(release(&list(), "main").unwrap(), [third]);
    assert_eq!(baseline(&list(), "main").unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn labels_stay_beside_the_recording() {
    let home = tempfile::tempdir().unwrap();
    let directory = recorded(home.path(), "main", 1, Status::Done);
    let mut labels = Labels::of(&directory).unwrap();
    assert_eq!(labels, Labels::default());
    labels.tag("nightly").unwrap();
    labels.annotate(" the old disk ").unwrap();
    labels.write(&directory).unwrap();
    assert_eq!(Labels::of(&directory).unwrap(), labels);
    assert_eq!((labels.note.as_deref(), labels.tags.len()), (Some("the old disk"), 1));
    assert!(matches!(labels.tag("a tag"), Err(RecordError::BadName { what: "tag", .. })));
    assert!(matches!(labels.annotate(&"x".repeat(1001)), Err(RecordError::LongNote { found: 1001, .. })));
    labels.annotate("").unwrap();
    assert_eq!(labels.note, None);
}

#[test]
fn labels_of_others_are_read_and_nothing_is_written_there() {
    let home = tempfile::tempdir().unwrap();
    let directory = recorded(home.path(), "main", 1, Status::Done);
    fs::write(directory.join("labels.json"), "{\"tags\": 7}").unwrap();
    assert!(matches!(Labels::of(&directory), Err(RecordError::Malformed { .. })));
    fs::remove_file(directory.join("labels.json")).unwrap();
    let victim = home.path().join("victim");
    fs::write(&victim, "{\"kept\": true}").unwrap();
    symlink(&victim, directory.join("labels.json")).unwrap();
    assert!(Labels::of(&directory).is_err(), "a link is not followed");
    assert!(matches!(Labels::default().write(&directory), Err(RecordError::ReadOnly { .. })));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "{\"kept\": true}");
    fs::remove_file(directory.join("labels.json")).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(Labels::default().write(&directory), Err(RecordError::ReadOnly { .. })));
}
