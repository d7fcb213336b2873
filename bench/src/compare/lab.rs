//! What a lab costs beside its phases: from the start of one trial to the start of the next, less what the phases took.

use super::{BenchExtent, BenchRow, PeerComparison};
use crate::arena::Arena;
use anyhow::Context;
use plimsoll_model::lab::{LabSummary, TrialOutcome};
use plimsoll_record::read::{self, TrialView};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Rows of the one table: little, so that the phases are short against what is looked for.
const TABLE_SIZE: u64 = 10_000;
const VARIANTS: [&str; 2] = ["a", "b"];
/// Building the dataset, and for each trial its restore, start and stop.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A guess.
pub fn expected_seconds(pairs: u32) -> u64 {
    30 + u64::from(pairs) * 2 * 8
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("lab on {}: a trial beside its phases", arena.label());
    eprintln!("{title}");
    let plan = arena.home()?.path().join("lab.toml");
    fs::write(&plan, text(extent)).with_context(|| format!("writing {}", plan.display()))?;
    let mut command = arena.plimsoll_alone("lab");
    command.arg(&plan).arg("--server").arg(&arena.build().binary).arg("--json");
    let finished = arena.run(command, PATIENCE)?;
    let summary: LabSummary = serde_json::from_str(&finished.stdout).context("the summary of plimsoll lab")?;
    let recording = summary.recording.context("the summary names no recording")?;
    let trials = read::open(Path::new(&recording))?.trials;
    let beside = BenchRow::new("a trial beside its phases: ms", 1, trials.windows(2).filter_map(beside_ms));
    let phases =
        BenchRow::new("its phases: ms", 0, trials.iter().filter_map(|trial| Some(phases_ms(trial.outcome.as_ref()?))));
    let share = beside.spread().zip(phases.spread()).map(|(beside, phases)| 100.0 * beside.median / phases.median);
    let share = BenchRow::new("beside ÷ phases: %", 2, share);
    let findings = vec![beside.finding("lab-overhead", arena)];
    let notes = vec!["the phases are those of the shortest sensible trial: 1 s of measurement, no warm-up".to_owned()];
    Ok(PeerComparison { title, rows: vec![phases, beside, share], findings, notes })
}

fn text(extent: &BenchExtent) -> String {
    let variants = VARIANTS.map(|name| format!("[[variant]]\nname = \"{name}\"\n")).concat();
    format!(
        "name = \"bench\"\n[workload]\nkind = \"oltp_point_select\"\ntables = 1\n\
         table_size = {TABLE_SIZE}\n[load]\nconnections = [8]\n[trials]\nwarmup = \"0s\"\nmeasure = \"1s\"\n\
         rounds = {}\n{variants}",
        extent.pairs
    )
}

/// Between the starts of two trials in succession, what the phases of the first do not account for.
fn beside_ms(neighbours: &[TrialView]) -> Option<f64> {
    let [first, next] = neighbours else { return None };
    let between = next.facts.started.duration_since(first.facts.started).as_secs_f64() * 1e3;
    Some(between - phases_ms(first.outcome.as_ref()?))
}

fn phases_ms(outcome: &TrialOutcome) -> f64 {
    outcome.phases.iter().map(|phase| phase.seconds * 1e3).sum()
}
