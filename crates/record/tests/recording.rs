//! What is written is what is read, also after a kill, a full disk or a newer Plimsoll.

use hdrhistogram::Histogram;
use jiff::Timestamp;
use plimsoll_host::facts::HostFacts;
use plimsoll_model::LoadPoint;
use plimsoll_model::samples::{
    CollectorSample, CpuShares, HostSample, Interval, Phase, ServerSample, StatusSample, StorageSample,
};
use plimsoll_plan::{Plan, StoragePlan};
use plimsoll_record::bounds::{LONGEST_LINE, LONGEST_TRIAL_NS};
use plimsoll_record::read::FoundRecording;
use plimsoll_record::{Happening, LoadParameters, Parameters};
use plimsoll_record::{Manifest, RecordError, RecordedSetting, Recording, Status, TrialFacts, TrialWriter, read};

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

const START: &str = "2026-11-21T19:30:00.25Z";
const SECOND: u64 = 1_000_000_000;

fn manifest(name: &str) -> Manifest {
    let plan = Plan::Storage(StoragePlan { seed: u64::MAX, ..StoragePlan::default() });
    Manifest::new(name, "0.1.0", START.parse().unwrap(), plan, HostFacts { cpus: 2, ..HostFacts::default() })
}

fn trial(recording: &Recording) -> TrialWriter {
    let facts = TrialFacts {
        index: 1,
        variant: "group/member".to_owned(),
        point: "c64".to_owned(),
        round: 2,
        started: START.parse().unwrap(),
        parameters: Parameters::Load(Box::new(LoadParameters {
            point: LoadPoint::closed(64),
            ..LoadParameters::default()
        })),
    };
    recording.trial(&facts).unwrap()
}

fn interval(second: u64) -> Interval {
    Interval {
        t_ns: second * SECOND,
        phase: Phase::Measure,
        seconds: 1.0,
        transactions: 100 + second,
        rollbacks: 1,
        committed: BTreeMap::from([("new_order".to_owned(), 4)]),
        queries: 2000,
        statements: Default::default(),
        sent: Default::default(),
        errors: BTreeMap::from([(1213, 2)]),
        retries: 2,
        lost_connections: 0,
        reconnects: 0,
        counts: Default::default(),
        latency_ms: Default::default(),
        response_ms: None,
        loop_cpu_us: 250_000.0,
        scheduling_lag_ms_max: 0.125,
        completed: None,
        script_us: None,
        missing: 0,
    }
}

fn histogram(values: &[u64]) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1_000, 3_600_000_000_000, 3).unwrap();
    for &value in values {
        histogram.record(value).unwrap();
    }
    histogram
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_recording_is_named_after_time_and_name_and_private() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::create(&home.path().join("deep/recordings"), manifest("a/b")).unwrap();
    let name = recording.directory().file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("20261121T193000Z-a_b-") && name.len() == "20261121T193000Z-a_b-0000".len(), "{name}");
    for path in [recording.directory(), recording.directory().parent().unwrap()] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700);
    }
    let events = fs::read_to_string(recording.directory().join("events.ndjson")).unwrap();
    assert_eq!(events, "{\"schema\":\"plimsoll.events\",\"version\":1}\n");
}

#[test]
fn names_that_would_leave_the_directory_are_refused() {
    let home = tempfile::tempdir().unwrap();
    for name in ["", "../x", "/etc/passwd", "A", "a b"] {
        let refused = Recording::create(home.path(), manifest(name)).unwrap_err();
        assert!(matches!(refused, RecordError::BadName { .. }), "{refused}");
    }
    assert!(read::list(home.path()).unwrap().recordings.is_empty());
    let recording = Recording::create(home.path(), manifest("a")).unwrap();
    assert!(recording.attach("../report.html", "").is_err());
    assert!(recording.attach("report.html", "<html/>").unwrap().ends_with("report.html"));
}

#[test]
fn everything_written_is_read_back() {
    let home = tempfile::tempdir().unwrap();
    let mut recording = Recording::create(home.path(), manifest("full")).unwrap();
    recording.event(5, Happening::PhaseBegins { trial: 1, phase: Phase::Measure }).unwrap();
    let mut writer = trial(&recording);
    let cores = BTreeMap::from([(0, CpuShares { user: 0.1, ..CpuShares::default() })]);
    let host = HostSample { t_ns: 7, user: 0.1, context_switches: 12, cores, ..Default::default() };
    let status = StatusSample { t_ns: 8, commits: Some(5), ..Default::default() };
    let collected = CollectorSample { t_ns: 9, name: "busy".into(), value: Some(1.5), error: None };
    let server = ServerSample { t_ns: 8, cpu_user_us: 9, read_bytes: Some(4096), ..Default::default() };
    writer.interval(&interval(1)).unwrap();
    writer.interval(&interval(2)).unwrap();
    writer.host(&host).unwrap();
    writer.server(&server).unwrap();
    writer.status(&status).unwrap();
    let silent = StorageSample { t_ns: 9, seconds: 1.0, ended: vec!["tgtd".into()], ..Default::default() };
    let operations = Some(BTreeMap::from([("READ".to_owned(), 3)]));
    let told = StorageSample { t_ns: 10, server_cpu: Some(0.5), operations, ..Default::default() };
    writer.storage(&silent).unwrap();
    writer.storage(&told).unwrap();
    writer.collectors().unwrap().append(&collected).unwrap();
    let visible = RecordedSetting { requested: Some("1".into()), effective: Some("2".into()), origin: "user".into() };
    let settings = BTreeMap::from([("innodb_x".to_owned(), visible.clone()), ("ssl_key".to_owned(), visible.clone())]);
    writer.settings(&settings).unwrap();
    writer.my_cnf("[mysqld]\nport = 0\n").unwrap();
    writer.error_log("ready\n").unwrap();

    let view = read::open(recording.directory()).unwrap();
    assert!(view.being_written && view.summary.is_none());
    assert_eq!(view.manifest, *recording.manifest());
    assert_eq!(view.events[0].what, Happening::PhaseBegins { trial: 1, phase: Phase::Measure });
    let seen = &view.trials[0];
    assert!(seen.directory.ends_with("trials/0001-group_member-c64-r2"));
    assert_eq!(seen.facts.load().map(|load| load.point), Some(LoadPoint::closed(64)));
    let series = seen.series().unwrap();
    assert_eq!(series.intervals, [interval(1), interval(2)]);
    assert_eq!((&series.host[..], &series.server[..]), (&[host][..], &[server][..]));
    assert_eq!(series.storage, [silent, told]);
    assert_eq!((&series.status[..], &series.collectors[..]), (&[status][..], &[collected][..]));
    assert_eq!(seen.settings["innodb_x"], visible);
    assert_eq!(seen.settings["ssl_key"], RecordedSetting { origin: "user".into(), ..RecordedSetting::default() });

    let ended: Timestamp = "2026-11-21T19:31:00Z".parse().unwrap();
    recording.finish(Status::Done, ended).unwrap();
    let directory = recording.directory().to_owned();
    drop((recording, writer));
    let view = read::open(&directory).unwrap();
    assert!(!view.being_written);
    assert_eq!((view.manifest.status, view.manifest.ended), (Status::Done, Some(ended)));
}

/// Lines of the first version of this program, before there was more to tell.
#[test]
fn older_series_are_read() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::create(home.path(), manifest("old")).unwrap();
    let directory = trial(&recording).directory().to_owned();
    let host = r#"{"t_ns":1,"user":0.5,"system":0.1,"iowait":0.0,"steal":0.0,"idle":0.4,
        "context_switches":9,"processes_running":2}"#;
    let server = r#"{"t_ns":1,"cpu_user_us":5,"cpu_system_us":6,"resident_bytes":7,"read_bytes":null,
        "written_bytes":8,"context_switches":null}"#;
    for (name, line) in [("host", host), ("server", server)] {
        let head = format!("{{\"schema\":\"plimsoll.{name}\",\"version\":1}}");
        let line = line.replace('\n', "");
        std::fs::write(directory.join(format!("{name}.ndjson")), format!("{head}\n{line}\n")).unwrap();
    }
    let series = read::open(recording.directory()).unwrap().trials[0].series().unwrap();
    assert_eq!((series.host[0].user, series.host[0].memory, series.host[0].cores.len()), (0.5, None, 0));
    assert_eq!((series.server[0].written_bytes, series.server[0].threads), (Some(8), None));
    assert!(series.status.is_empty() && series.collectors.is_empty());
}

#[test]
fn latency_is_merged_by_tag_over_the_window_only() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::create(home.path(), manifest("latency")).unwrap();
    let mut writer = trial(&recording);
    let warm_up = histogram(&[9_000_000]);
    writer.append_histogram("stmt.point_select", 0, SECOND, &warm_up).unwrap();
    writer.append_histogram("stmt.point_select", SECOND, SECOND, &histogram(&[1_000_000, 2_000_000])).unwrap();
    writer.append_histogram("stmt.point_select", 2 * SECOND, SECOND, &histogram(&[3_000_000])).unwrap();
    writer.append_histogram("txn.oltp.service", 2 * SECOND + 400_000, SECOND, &histogram(&[])).unwrap();
    assert!(matches!(writer.append_histogram("two words", 0, SECOND, &warm_up), Err(RecordError::BadTag { .. })));
    append(&writer.directory().join("latency.hlog"), "Tag=stmt.point_select,3.000,1.0");

    let seen = &read::open(recording.directory()).unwrap().trials[0];
    let merged = seen.latency(SECOND..3 * SECOND).unwrap();
    let mut expected = histogram(&[1_000_000, 2_000_000]);
    expected.add(histogram(&[3_000_000])).unwrap();
    assert_eq!(merged["stmt.point_select"], expected);
    assert_eq!(merged["txn.oltp.service"].len(), 0);
    assert_eq!(seen.latency(0..u64::MAX).unwrap()["stmt.point_select"].len(), 4);
    assert!(seen.latency(9 * SECOND..10 * SECOND).unwrap().is_empty());
    let log = fs::read_to_string(seen.directory.join("latency.hlog")).unwrap();
    assert!(log.contains("#[BaseTime: 1795289400.250 (seconds since epoch)]\n"), "{log}");
}

#[test]
fn a_torn_last_line_is_forgiven_and_a_broken_one_before_is_named() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::create(home.path(), manifest("torn")).unwrap();
    let mut writer = trial(&recording);
    writer.interval(&interval(1)).unwrap();
    let path = writer.directory().join("intervals.ndjson");
    append(&path, "{\"t_ns\":12");
    assert_eq!(read::open(recording.directory()).unwrap().trials[0].series().unwrap().intervals, [interval(1)]);
    append(&path, "\n");
    let error = read::open(recording.directory()).unwrap().trials[0].series().unwrap_err();
    assert!(matches!(&error, RecordError::Malformed { line: 3, .. }), "{error}");
    assert!(error.to_string().contains("intervals.ndjson, line 3"), "{error}");
}

#[test]
fn unknown_fields_are_skipped_and_later_versions_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let mut recording = Recording::create(home.path(), manifest("future")).unwrap();
    recording.event(1, Happening::Caveats(Vec::new())).unwrap();
    append(
        &recording.directory().join("events.ndjson"),
        "{\"t_ns\":2,\"kind\":\"new\",\"detail\":1,\"colour\":\"blue\"}\n",
    );
    assert_eq!(read::open(recording.directory()).unwrap().events.len(), 2);
    let path = recording.directory().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let with_version = |version: u64| text.replace("\"schema_version\": 2", &format!("\"schema_version\": {version}"));
    fs::write(&path, with_version(1)).unwrap();
    let error = read::open(recording.directory()).unwrap_err().to_string();
    assert!(
        error.contains("schema version 1, this program reads 2; read it with the Plimsoll that wrote it"),
        "{error}"
    );
    fs::write(&path, with_version(3)).unwrap();
    assert!(matches!(read::open(recording.directory()), Err(RecordError::TooNew { found: 3, .. })));
    let listing = read::list(home.path()).unwrap();
    assert_eq!((listing.recordings.len(), listing.unreadable.len()), (0, 1));
}

#[test]
fn a_list_holds_recordings_only_oldest_first() {
    let home = tempfile::tempdir().unwrap();
    assert!(read::list(&home.path().join("absent")).unwrap().recordings.is_empty());
    let mut older = manifest("z-older");
    older.started = "2025-01-01T00:00:00Z".parse().unwrap();
    drop(Recording::create(home.path(), manifest("a-newer")).unwrap());
    drop(Recording::create(home.path(), older).unwrap());
    fs::create_dir(home.path().join("something-else")).unwrap();
    fs::write(home.path().join("file"), "").unwrap();
    let listing = read::list(home.path()).unwrap();
    let names: Vec<_> = listing.recordings.iter().map(|entry| entry.manifest.name.as_str()).collect();
    assert_eq!(names, ["z-older", "a-newer"]);
    assert!(listing.unreadable.is_empty());
}

#[test]
fn only_recordings_are_removed_and_links_are_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::create(home.path(), manifest("gone")).unwrap();
    let directory = recording.directory().to_owned();
    let outside = home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "x").unwrap();
    std::os::unix::fs::symlink(&outside, directory.join("link")).unwrap();
    let link = home.path().join("link-to-recording");
    std::os::unix::fs::symlink(&directory, &link).unwrap();

    assert!(matches!(read::remove(&outside, true), Err(RecordError::NotARecording { .. })));
    assert!(matches!(read::remove(&link, true), Err(RecordError::NotARecording { .. })));
    assert!(matches!(read::remove(&home.path().join("absent"), true), Err(RecordError::NotARecording { .. })));
    fs::write(outside.join("manifest.json"), "{\"name\":\"an app\"}").unwrap();
    assert!(matches!(read::remove(&outside, true), Err(RecordError::NotARecording { .. })));
    assert!(matches!(read::remove(&directory, false), Err(RecordError::InUse { .. })));
    drop(recording);
    read::remove(&directory, false).unwrap();
    assert!(!directory.exists() && outside.join("precious").exists());
}

#[test]
fn a_recording_in_use_goes_only_by_force() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::create(home.path(), manifest("busy")).unwrap();
    read::remove(recording.directory(), true).unwrap();
    assert!(!recording.directory().exists());
}

#[test]
fn a_recording_is_gone_on_with_behind_its_last_whole_line() {
    let home = tempfile::tempdir().unwrap();
    let mut recording = Recording::create(home.path(), manifest("lab")).unwrap();
    let directory = recording.directory().to_owned();
    recording.event(5, Happening::Caveats(Vec::new())).unwrap();
    assert!(matches!(Recording::reopen(&directory), Err(RecordError::InUse { .. })));
    recording.finish(Status::Interrupted, START.parse().unwrap()).unwrap();
    drop(recording);
    append(&directory.join("events.ndjson"), "{\"t_ns\":6,\"ki");
    let mut recording = Recording::reopen(&directory).unwrap();
    recording.event(7, Happening::Caveats(Vec::new())).unwrap();
    let view = read::open(&directory).unwrap();
    assert!(view.being_written);
    assert_eq!((view.manifest.status, view.manifest.ended), (Status::Running, None));
    assert_eq!(view.events.iter().map(|event| event.t_ns).collect::<Vec<_>>(), [5, 7]);
}

/// Whoever looks whether it is being written holds a lock on it for a moment.
#[test]
fn a_look_does_not_keep_a_recording_from_being_gone_on_with() {
    let home = tempfile::tempdir().unwrap();
    let directory = Recording::create(home.path(), manifest("looked-at")).unwrap().directory().to_owned();
    let looking = fs::File::open(directory.join("events.ndjson")).unwrap();
    looking.lock_shared().unwrap();
    let looked = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(looking);
    });
    assert!(Recording::reopen(&directory).is_ok());
    looked.join().unwrap();
}

#[test]
fn only_trials_of_its_own_are_discarded() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::create(home.path(), manifest("lab")).unwrap();
    let unfinished = trial(&recording).directory().to_owned();
    fs::create_dir(recording.directory().join("trials/0002-torn")).unwrap();
    assert_eq!(read::trial_directories(recording.directory()).unwrap().len(), 2, "one has no files yet");
    recording.discard(&unfinished).unwrap();
    assert!(!unfinished.exists());
    let elsewhere = home.path().join("0001-x");
    fs::create_dir(&elsewhere).unwrap();
    assert!(recording.discard(&elsewhere).is_err() && elsewhere.exists());
}

#[test]
fn lines_that_cannot_be_are_named() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::create(home.path(), manifest("absurd")).unwrap();
    let writer = trial(&recording);
    let path = writer.directory().join("intervals.ndjson");
    let head = "{\"schema\":\"plimsoll.intervals\",\"version\":1}\n";
    let long = "x".repeat(LONGEST_LINE + 1);
    let of = |interval: Interval| serde_json::to_string(&interval).unwrap();
    let latest = Interval { t_ns: LONGEST_TRIAL_NS, ..interval(1) };
    let cases = [
        (of(Interval { t_ns: LONGEST_TRIAL_NS + 1, ..interval(1) }), "90 days"),
        (of(Interval { seconds: -1.0, ..interval(1) }), "seconds -1.0"),
        (of(interval(1)).replace("\"seconds\":1.0", "\"seconds\":1e999"), "number out of range at column"),
        (long, "without a line break"),
    ];
    for (line, why) in cases {
        fs::write(&path, format!("{head}{}\n{line}", of(latest.clone()))).unwrap();
        append(&path, "\n");
        let error = read::open(recording.directory()).unwrap().trials[0].series().unwrap_err();
        assert!(matches!(&error, RecordError::Malformed { line: 3, .. }), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
    fs::write(&path, format!("{head}{}\n", of(latest.clone()))).unwrap();
    assert_eq!(read::open(recording.directory()).unwrap().trials[0].series().unwrap().intervals, [latest]);
}

/// What is small in a file and large in memory.
#[test]
fn a_document_of_more_values_than_any_of_ours_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::create(home.path(), manifest("heavy")).unwrap();
    let path = recording.directory().join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"cpus\": 2", &format!("\"x\": [{}{{}}]", "{},".repeat(600_000)))).unwrap();
    let error = read::manifest(recording.directory()).unwrap_err().to_string();
    assert!(error.contains("manifest.json, line 1: more values"), "{error}");
}

#[test]
fn recordings_are_found_however_their_names_are_spelt() {
    let home = tempfile::tempdir().unwrap();
    let make = |name: &str| drop(Recording::create(home.path(), manifest(name)).unwrap());
    ["oltp-read-write", "group/member", "twin/a", "twin-a"].into_iter().for_each(make);
    let listing = read::list(home.path()).unwrap();
    let name = |text: &str| match listing.find(text) {
        FoundRecording::Name(entries) => entries[0].manifest.name.clone(),
        FoundRecording::Directory(entry) => format!("one {}", entry.manifest.name),
        FoundRecording::Several(entries) => format!("{} of them", entries.len()),
        FoundRecording::Nothing => "nothing".to_owned(),
    };
    for text in ["oltp-read-write", "oltp_read_write", "OLTP Read_Write"] {
        assert_eq!(name(text), "oltp-read-write", "{text}");
    }
    assert_eq!((name("group_member").as_str(), name("Group/Member").as_str()), ("group/member", "group/member"));
    assert_eq!(name("READ_wri"), "one oltp-read-write", "a part of a directory's name");
    assert_eq!((name("twin/a"), name("twin-a")), ("twin/a".to_owned(), "twin-a".to_owned()), "as they are written");
    assert_eq!((name("twin_a"), name("nothing_like_it")), ("2 of them".to_owned(), "nothing".to_owned()));
}

#[test]
fn a_recording_without_a_manifest_is_listed_as_what_it_is() {
    let home = tempfile::tempdir().unwrap();
    let recording = Recording::create(home.path(), manifest("begun")).unwrap();
    let directory = recording.directory().to_owned();
    fs::remove_file(directory.join("manifest.json")).unwrap();
    assert!(read::list(home.path()).unwrap().unreadable.is_empty(), "it is being begun");
    drop(recording);
    let listing = read::list(home.path()).unwrap();
    let error = listing.unreadable_of("BEGUN").expect("it is there").to_string();
    assert!(error.contains("manifest.json is missing") && error.contains(directory.to_str().unwrap()), "{error}");
    assert!(listing.unreadable_of("else").is_none() && listing.recordings.is_empty());
}
