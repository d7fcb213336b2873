//! What a lab costs beside its phases: from the start of one trial to the start of the next, less what the phases took; and
//! how much of that time is measuring.

use super::{BenchExtent, BenchRow, BenchTarget, PeerComparison};
use crate::arena::Arena;
use crate::peers::plimsoll;
use anyhow::Context;
use plimsoll_model::lab::TrialOutcome;
use plimsoll_model::samples::Phase;
use plimsoll_record::read::{self, TrialView};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Rows of the one table: little, so that the phases are short against what is looked for.
const TABLE_SIZE: u64 = 10_000;
const VARIANTS: [&str; 2] = ["a", "b"];
/// Building the dataset, and for each trial its restore, start and stop.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Of the trials that show how much of a lab is measuring: some that people would plan.
const USUAL_SECONDS: f64 = 20.0;
/// Rounds of these.
const USUAL_ROUNDS: u32 = 3;

/// A guess.
pub fn expected_seconds(pairs: u32) -> u64 {
    let usual = VARIANTS.len() as u64 * u64::from(USUAL_ROUNDS) * (USUAL_SECONDS as u64 + 10);
    30 + u64::from(pairs) * 2 * 8 + usual
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("lab on {}: a trial beside its phases, and what of a lab is measuring", arena.label());
    eprintln!("{title}");
    let shortest = trials(arena, &plan(1.0, extent.pairs))?;
    let beside = BenchRow::new("a trial beside its phases: ms", 1, shortest.windows(2).filter_map(beside_ms));
    let phases = BenchRow::new("its phases: ms", 0, outcomes(&shortest).map(phases_ms));
    let share = beside.spread().zip(phases.spread()).map(|(beside, phases)| 100.0 * beside.median / phases.median);
    let share = BenchRow::new("beside ÷ phases: %", 2, share);
    let usual = trials(arena, &plan(USUAL_SECONDS, USUAL_ROUNDS))?;
    let measuring = BenchRow::new("measuring ÷ a trial of 20 s", 2, usual.windows(2).filter_map(measuring))
        .with_target(BenchTarget::AtLeast(0.7));
    let findings = vec![beside.finding("lab-overhead", arena), measuring.finding("lab-measuring", arena)];
    let methods: BTreeSet<&str> =
        outcomes(&usual).filter_map(|outcome| Some(outcome.restored.as_ref()?.method.as_str())).collect();
    let notes = vec![
        "the phases are those of the shortest sensible trial: 1 s of measurement, no warm-up".to_owned(),
        format!(
            "measuring is from the start of a trial to that of the next, without warm-up; data are restored by {}",
            methods.into_iter().collect::<Vec<_>>().join(", ")
        ),
    ];
    Ok(PeerComparison {
        title,
        rows: vec![phases, beside, share, measuring],
        findings,
        notes,
        ..PeerComparison::default()
    })
}

/// Runs a plan and reads its trials.
fn trials(arena: &Arena, plan: &str) -> anyhow::Result<Vec<TrialView>> {
    let summary = plimsoll::summary_of_lab(arena, plimsoll::lab(arena, "lab", plan)?, PATIENCE)?;
    let recording = summary.recording.context("the summary names no recording")?;
    Ok(read::open(Path::new(&recording))?.trials)
}

fn plan(seconds: f64, rounds: u32) -> String {
    let variants = VARIANTS.map(|name| format!("[[variant]]\nname = \"{name}\"\n")).concat();
    format!(
        "name = \"bench\"\n[workload]\nkind = \"oltp_point_select\"\ntables = 1\n\
         table_size = {TABLE_SIZE}\n[load]\nconnections = [8]\n[trials]\nwarmup = \"0s\"\nmeasure = \"{seconds}s\"\n\
         rounds = {rounds}\n{variants}"
    )
}

fn outcomes(trials: &[TrialView]) -> impl Iterator<Item = &TrialOutcome> {
    trials.iter().filter_map(|trial| trial.outcome.as_ref())
}

/// Milliseconds between the starts of two trials in succession.
fn between_ms(neighbours: &[TrialView]) -> Option<f64> {
    let [first, next] = neighbours else { return None };
    Some(next.facts.started.duration_since(first.facts.started).as_secs_f64() * 1e3)
}

/// Between the starts of two trials in succession, what the phases of the first do not account for.
fn beside_ms(neighbours: &[TrialView]) -> Option<f64> {
    Some(between_ms(neighbours)? - phases_ms(neighbours.first()?.outcome.as_ref()?))
}

/// The share of that time in which the first was measured.
fn measuring(neighbours: &[TrialView]) -> Option<f64> {
    let outcome = neighbours.first()?.outcome.as_ref()?;
    let measured =
        outcome.phases.iter().filter(|of| of.phase == Phase::Measure).map(|of| of.seconds * 1e3).sum::<f64>();
    Some(measured / between_ms(neighbours)?)
}

fn phases_ms(outcome: &TrialOutcome) -> f64 {
    outcome.phases.iter().map(|phase| phase.seconds * 1e3).sum()
}
