//! Variants of one lab, some of whose trials failed.

use super::{CLOSED, Desk, fill, made};
use jiff::{SignedDuration, Timestamp};
use plimsoll_host::facts::HostFacts;
use plimsoll_model::comparison::{Design, Verdict};
use plimsoll_model::lab::{LabSummary, TrialCounts, TrialOutcome, TrialStatus};
use plimsoll_plan::Plan;
use plimsoll_record::{LoadParameters, Parameters};
use plimsoll_record::{Manifest, Recording, Status, TrialFacts};
use plimsoll_testkit::simulated;

fn summary() -> LabSummary {
    LabSummary {
        schema_version: plimsoll_model::lab::SCHEMA_VERSION,
        name: "plan".to_owned(),
        title: None,
        source: None,
        preset: None,
        recording: None,
        headline: String::new(),
        trials: TrialCounts::default(),
        restores: Vec::new(),
        cells: Vec::new(),
        comparisons: Vec::new(),
        ladders: Vec::new(),
        load_lines: Vec::new(),
        crashes: Vec::new(),
        tune: None,
        caveats: Vec::new(),
        interrupted: false,
    }
}

/// A lab of two variants in interleaved rounds, `b` a tenth faster; the trials at these places, from 1, failed.
fn lab(desk: &Desk, rounds: u32, failed: &[u32]) {
    let start: Timestamp = "2026-11-21T19:30:00Z".parse().unwrap();
    let variants = ["a", "b"].map(|name| simulated::variant(name, &[CLOSED])).to_vec();
    let plan = Plan::Lab(Box::new(simulated::plan(1, rounds, variants)));
    let manifest = Manifest::new("plan", "0.1.0", start, plan, HostFacts { cpus: 2, ..HostFacts::default() });
    let mut recording = Recording::create(desk.home.path(), manifest).unwrap();
    for place in 0..2 * rounds {
        let (variant, tps) = if place % 2 == 0 { ("a", 1000) } else { ("b", 1100) };
        let (index, round) = (place + 1, place / 2 + 1);
        let started = start + SignedDuration::from_secs(5 * i64::from(place));
        let parameters = Parameters::Load(Box::new(LoadParameters {
            workload: "oltp_read_write".to_owned(),
            point: CLOSED,
            ..LoadParameters::default()
        }));
        let facts =
            TrialFacts { index, variant: variant.to_owned(), point: CLOSED.label(), round, started, parameters };
        let writer = recording.trial(&facts).unwrap();
        let status = if failed.contains(&index) { TrialStatus::Failed } else { TrialStatus::Done };
        writer.outcome(&TrialOutcome::new(status)).unwrap();
        fill(writer, &made("plan", 0, tps), tps + u64::from(round));
    }
    recording.lab_summary(&summary()).unwrap();
    recording.finish(Status::Done, start + SignedDuration::from_secs(90)).unwrap();
}

#[test]
fn variants_of_a_lab_are_compared_round_by_round() {
    let desk = Desk::new();
    lab(&desk, 4, &[]);
    let found = desk.compare("plan:a", "plan:b").unwrap();
    assert_eq!((found.design, found.headline.verdict), (Design::Paired, Verdict::Higher));
    assert_eq!((found.a.rounds, found.b.rounds), (4, 4));
}

#[test]
fn a_trial_that_failed_takes_its_partner_with_it() {
    let desk = Desk::new();
    lab(&desk, 5, &[3]);
    let found = desk.compare("plan:a", "plan:b").unwrap();
    assert_eq!((found.design, found.a.rounds, found.b.rounds), (Design::Paired, 4, 4));
    let said: Vec<&str> = found.caveats.iter().map(|caveat| caveat.message.as_str()).collect();
    assert!(said.iter().any(|text| text.contains("1 of 5 trials")), "{said:?}");
    assert!(said.iter().any(|text| text.contains("round 2")), "{said:?}");
}
