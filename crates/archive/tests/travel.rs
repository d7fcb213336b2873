//! A recording goes out and comes in again, and what a stranger may send instead does no harm.

use jiff::Timestamp;
use plimsoll_archive::{ArchiveError, Scrubber, export, import};
use plimsoll_host::facts::{HostFacts, StorageFacts};
use plimsoll_plan::{Plan, StoragePlan};
use plimsoll_record::{Manifest, Parameters, Recording, Status, TrialFacts, read};
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// Nobody presses Ctrl-C.
const GO_ON: fn() -> bool = || false;

/// A recording with names in it, of a run that was done.
fn recorded(home: &Path) -> PathBuf {
    let started = Timestamp::from_second(1_790_000_000).unwrap();
    let storage = StorageFacts {
        path: "/home/mara/data".into(),
        mount_point: "/home".into(),
        filesystem: "nfs4".to_owned(),
        device: Some("filer.example.com:/export".to_owned()),
        options: vec!["addr=10.1.2.3".to_owned()],
        block: None,
    };
    let host = HostFacts { storage: Some(storage), ..HostFacts::default() };
    let manifest = Manifest::new("main", "0.1.0", started, Plan::Storage(StoragePlan::default()), host);
    let mut recording = Recording::create(home, manifest).unwrap();
    recording.attach("report.html", "a page of mara's").unwrap();
    recording.finish(Status::Done, started).unwrap();
    recording.directory().to_owned()
}

fn packed(recording: &Path, scrubber: Option<&Scrubber>) -> Vec<u8> {
    let mut out = Vec::new();
    export(recording, &mut out, scrubber, &GO_ON).unwrap();
    out
}

#[test]
fn what_goes_out_comes_in_again() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recording = recorded(home.path());
    let file = packed(&recording, None);
    let recordings = other.path().join("recordings");
    let imported = import(Cursor::new(&file), &recordings, &GO_ON).unwrap();
    assert_eq!(imported.file_name(), recording.file_name());
    for name in ["manifest.json", "report.html", "events.ndjson"] {
        assert_eq!(fs::read(imported.join(name)).unwrap(), fs::read(recording.join(name)).unwrap(), "{name}");
    }
    assert!(matches!(import(Cursor::new(&file), &recordings, &GO_ON), Err(ArchiveError::Exists { .. })));
    assert_eq!(fs::read_dir(&recordings).unwrap().count(), 1, "nothing half done is left");
    read::must_be_ours(&imported).unwrap();
}

#[test]
fn packing_can_be_interrupted() {
    let home = tempfile::tempdir().unwrap();
    let recording = recorded(home.path());
    let packed = export(&recording, Vec::<u8>::new(), None, &|| true);
    assert!(matches!(packed, Err(ArchiveError::Interrupted)), "{packed:?}");
}

/// A storage trial of a lab has a recording of its own.
#[test]
fn files_deep_below_come_in_again() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recording = recorded(home.path());
    let below = Path::new("trials/0001-nfs-io-r1/io/20260101T000000Z-io-1f3a/trials/0001-read-1-r1");
    fs::create_dir_all(recording.join(below)).unwrap();
    fs::write(recording.join(below).join("intervals.ndjson"), "{}\n").unwrap();
    let imported = import(Cursor::new(packed(&recording, None)), other.path(), &GO_ON).unwrap();
    assert_eq!(fs::read_to_string(imported.join(below).join("intervals.ndjson")).unwrap(), "{}\n");
}

#[test]
fn an_import_that_is_interrupted_leaves_nothing() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = packed(&recorded(home.path()), None);
    let looks = Cell::new(0);
    let is_interrupted = || {
        looks.set(looks.get() + 1);
        looks.get() > 2
    };
    let found = import(Cursor::new(&file), other.path(), &is_interrupted);
    assert!(matches!(found, Err(ArchiveError::Interrupted)), "{found:?}");
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 0);
}

/// A load that agents made, of which one was lost.
fn recorded_of_fleet(home: &Path) -> PathBuf {
    let started = Timestamp::from_second(1_790_000_000).unwrap();
    let plan = json!({
        "workload": "oltp_read_write", "params": {}, "target": "mysql://bench@db9:3306/sbtest", "points": [],
        "arrivals": "poisson", "warmup_seconds": 0.0, "measure": {"seconds": 1.0}, "seed": 1, "loops": 1,
        "protocol": "prepared", "outage_limit_seconds": 30.0, "ignore_errors": [], "report_interval_seconds": 1,
        "fleet": {"broker": "tls://broker.example:4222?key=/home/mara/key", "listen": "10.1.2.3:3306"},
    });
    let plan = Plan::Run(serde_json::from_value(plan).unwrap());
    let manifest = Manifest::new("fleet", "0.1.0", started, plan, HostFacts::default());
    let mut recording = Recording::create(home, manifest).unwrap();
    let facts = TrialFacts {
        index: 1,
        variant: "run".to_owned(),
        point: "c1".to_owned(),
        round: 1,
        started,
        parameters: Parameters::Load(Box::default()),
    };
    let lost = "berta has not beaten: db9 is gone, so is broker.example of mara";
    let sample = json!({"t_ns": 1_000_000_000, "agent": "berta", "cpu_us": 1, "host": null, "lost": lost});
    let mut trial = recording.trial(&facts).unwrap();
    trial.agent(&serde_json::from_value(sample).unwrap()).unwrap();
    drop(trial);
    recording.finish(Status::Done, started).unwrap();
    recording.directory().to_owned()
}

#[test]
fn an_anonymous_fleet_names_none_of_its_machines_and_can_be_read() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recording = recorded_of_fleet(home.path());
    let scrubber = Scrubber::of(&read::open(&recording).unwrap()).unwrap();
    let imported = import(Cursor::new(packed(&recording, Some(&scrubber))), other.path(), &GO_ON).unwrap();
    let trial = read::trial_directories(&imported).unwrap().pop().unwrap();
    for file in [imported.join("manifest.json"), trial.join("agents.ndjson")] {
        let text = fs::read_to_string(&file).unwrap();
        for name in ["berta", "broker.example", "db9", "mara", "10.1.2.3"] {
            assert!(!text.contains(name), "{name}: {text}");
        }
    }
    assert_eq!(read::open(&imported).unwrap().trials[0].series().unwrap().agents[0].agent, "anonymous");
}

#[test]
fn an_anonymous_one_names_nobody() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recording = recorded(home.path());
    let scrubber = Scrubber::knowing(["mara".to_owned()]);
    let imported = import(Cursor::new(packed(&recording, Some(&scrubber))), other.path(), &GO_ON).unwrap();
    assert!(!imported.join("report.html").exists());
    let text = fs::read_to_string(imported.join("manifest.json")).unwrap();
    for name in ["mara", "home", "filer", "example", "10.1.2.3", "export"] {
        assert!(!text.contains(name), "{name}: {text}");
    }
    assert_eq!(read::manifest(&imported).unwrap().started, read::manifest(&recording).unwrap().started);
}

/// An archive with these entries after its name.
fn planted(id: &str, entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut archive = Builder::new(zstd::Encoder::new(Vec::new(), 1).unwrap());
    let all = [("id", EntryType::Regular, id.as_bytes())];
    for (path, kind, content) in all.iter().chain(entries) {
        let mut header = Header::new_ustar();
        // As a stranger writes it, whatever a path may be.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o6777);
        header.set_cksum();
        archive.append(&header, *content).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

#[test]
fn what_a_stranger_may_send_does_no_harm() {
    let home = tempfile::tempdir().unwrap();
    let recordings = home.path().join("recordings");
    let manifest = fs::read(recorded(home.path()).join("manifest.json")).unwrap();
    let whole = ("recording/manifest.json", EntryType::Regular, manifest.as_slice());
    let file = EntryType::Regular;
    let mut cut = packed(&recorded(home.path()), None);
    cut.truncate(cut.len() / 2);
    let mut garbage = b"no archive".to_vec();
    garbage.write_all(&[7; 1000]).unwrap();
    let deep = format!("recording/{}e", "a/".repeat(32));
    let mut shell: Value = serde_json::from_slice(&manifest).unwrap();
    shell["name"] = json!("a; reboot");
    let shell = shell.to_string();
    let none = packed(&recorded(home.path()), None);
    assert!(import(Cursor::new(&none), &recordings, &GO_ON).is_ok());
    for (what, sent) in [
        ("nothing", Vec::new()),
        ("garbage", garbage),
        ("cut short", cut),
        ("a path upwards", planted("a", &[whole, ("recording/../../x", file, b"x")])),
        ("an absolute path", planted("a", &[whole, ("/tmp/plimsoll-planted", file, b"x")])),
        ("another directory", planted("a", &[whole, ("other/x", file, b"x")])),
        ("a link", planted("a", &[whole, ("recording/x", EntryType::Symlink, b"")])),
        ("a hard link", planted("a", &[whole, ("recording/x", EntryType::Link, b"")])),
        ("a device", planted("a", &[whole, ("recording/x", EntryType::Char, b"")])),
        ("a long name", planted("a", &[whole, ("recording/x", EntryType::GNULongName, b"recording/y")])),
        ("an extension", planted("a", &[whole, ("recording/x", EntryType::XHeader, b"20 path=/tmp/x\n")])),
        ("the same twice", planted("a", &[whole, whole])),
        ("no manifest", planted("a", &[("recording/x.json", file, b"{}")])),
        ("a name upwards", planted("../a", &[whole])),
        ("a hidden name", planted(".a", &[whole])),
        ("no name", planted("", &[whole])),
        ("a deep path", planted("a", &[whole, (deep.as_str(), file, b"x")])),
        ("a command in its name", planted("a", &[("recording/manifest.json", file, shell.as_bytes())])),
    ] {
        let found = import(Cursor::new(&sent), &recordings, &GO_ON);
        assert!(matches!(found, Err(ArchiveError::Foreign(_) | ArchiveError::Record(_))), "{what}: {found:?}");
        assert_eq!(fs::read_dir(&recordings).unwrap().count(), 1, "{what}: nothing is left of it");
    }
    assert!(!Path::new("/tmp/plimsoll-planted").exists() && !home.path().join("x").exists());
}
