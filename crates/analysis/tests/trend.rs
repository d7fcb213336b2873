//! Recordings of a name over time, from what lies in a home to the page.

use jiff::{SignedDuration, Timestamp};
use plimsoll_analysis::trend;
use plimsoll_host::facts::HostFacts;
use plimsoll_model::Flavour;
use plimsoll_model::summary::{SCHEMA_VERSION, ServerTotals, Summary, TargetFacts, Totals};
use plimsoll_plan::Plan;
use plimsoll_record::labels::Labels;
use plimsoll_record::{Manifest, Recording, Status, read};
use plimsoll_render::{Format, render};
use plimsoll_testkit::simulated::{CLOSED, reached, run_plan};
use std::path::{Path, PathBuf};

/// A run of a night, which reached so many transactions per second.
fn night(home: &Path, number: i64, tps: f64, status: Status) -> PathBuf {
    let first: Timestamp = "2026-11-01T02:00:00Z".parse().expect("a time");
    let started = first + SignedDuration::from_hours(24 * number);
    let manifest = Manifest::new("nightly", "0.1.0", started, Plan::Run(run_plan(&[CLOSED])), HostFacts::default());
    let mut recording = Recording::create(home, manifest).expect("a recording");
    let summary = Summary {
        schema_version: SCHEMA_VERSION,
        workload: "oltp_read_write".to_owned(),
        params: Default::default(),
        target: TargetFacts {
            flavour: Some(Flavour::MariaDb),
            version: "11.8.2".to_owned(),
            durability: Default::default(),
            data_bytes: None,
        },
        seed: 1,
        points: reached(tps, 5.0).point.into_iter().collect(),
        scaling: None,
        totals: Totals::default(),
        server: ServerTotals::default(),
        caveats: Vec::new(),
        checks: None,
        recording: None,
        interrupted: false,
    };
    recording.summary(&summary).expect("written");
    recording.finish(status, started).expect("finished");
    recording.directory().to_owned()
}

#[test]
fn the_first_night_of_a_new_level_is_named() {
    let home = tempfile::tempdir().expect("a home");
    let tps = |number: i64| if number < 18 { 1000.0 } else { 900.0 } + f64::from(number as i32 * 37 % 11);
    let nights: Vec<PathBuf> = (0..30).map(|number| night(home.path(), number, tps(number), Status::Done)).collect();
    night(home.path(), 31, 10.0, Status::Interrupted);
    let mut labels = Labels::default();
    labels.tag("release").expect("a tag");
    labels.write(&nights[18]).expect("written");
    let listing = read::list(home.path()).expect("a list");

    let found = trend(&listing, "nightly").expect("a trend");
    let document = plimsoll_report::trend::document(&found, "now");
    let id = nights[18].file_name().expect("a name").to_string_lossy().into_owned();
    let expected = format!("Worse since 2026-11-19 02:00 ({id}): at ");
    assert!(document.answer.starts_with(&expected) && document.answer.contains("(−9."), "{}", document.answer);
    assert_eq!((found.recordings.len(), found.left_out.len()), (30, 1), "{:?}", found.left_out);
    assert!(found.left_out[0].ends_with("it is interrupted"), "{:?}", found.left_out);
    let page = render(&document, Format::Html).expect("a page");
    for part in ["Left out", "release", "Over time", "by the day they began"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(trend(&listing, &id).expect("by one of them").lines, found.lines);
}

/// A change of level between them would be one of what was asked for.
#[test]
fn recordings_of_other_work_are_left_out() {
    let home = tempfile::tempdir().expect("a home");
    let nights: Vec<PathBuf> = (0..20).map(|number| night(home.path(), number, 1000.0, Status::Done)).collect();
    for night in &nights[..8] {
        let path = night.join("summary.json");
        let text = std::fs::read_to_string(&path).expect("a summary");
        let mut summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        summary["params"]["table_size"] = 1000.into();
        std::fs::write(&path, summary.to_string()).expect("written");
    }
    let found = trend(&read::list(home.path()).expect("a list"), "nightly").expect("a trend");
    assert_eq!((found.recordings.len(), found.left_out.len()), (12, 8), "{:?}", found.left_out);
    let why = "it did other work than the latest: oltp_read_write with table_size=1000, not oltp_read_write";
    assert!(found.left_out[0].ends_with(why), "{:?}", found.left_out);
}

#[test]
fn a_name_that_nobody_has_is_refused() {
    let home = tempfile::tempdir().expect("a home");
    night(home.path(), 0, 1000.0, Status::Done);
    let listing = read::list(home.path()).expect("a list");
    let refused = trend(&listing, "weekly").expect_err("there is none").to_string();
    assert!(refused.contains("no recording is called `weekly`"), "{refused}");
    let few = trend(&listing, "nightly").expect("a trend");
    let answer = plimsoll_report::trend::document(&few, "now").answer;
    assert!(answer.starts_with("1 recording of nightly: too few"), "{answer}");
}
