//! All outcomes of a plan → the summary.

mod comparison;
mod crashes;
mod headline;
mod reach;
mod reasons;
pub mod tune;
mod words;

use crate::caveats;
pub(crate) use comparison::compared;
use comparison::comparisons;
pub use comparison::comparisons_of;
pub use headline::headline;
use plimsoll_model::Caveat;
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::durability::Risks;
use plimsoll_model::lab::{
    Cell, LabSummary, Restored, Restores, SCHEMA_VERSION, TrialCounts, TrialStatus, VariantComparison,
};
use plimsoll_model::number::counted;
use plimsoll_model::summary::Point;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Order, Variant};
use plimsoll_schedule::labels::counted_label;
use plimsoll_schedule::quantity::over_rounds;
use plimsoll_schedule::{EndedTrial, Prospects, Quantity, seeks_line};
pub use reach::{Reach, compares, reach};
use std::collections::{BTreeMap, BTreeSet};
pub use words::{change as change_with_interval, rate_with_interval};

/// Fewer rounds have no interval.
const FEWEST_ROUNDS: u32 = 3;

/// What the trials of a plan say together. Those that failed are counted and left out. The recording is for the caller
/// to name.
pub fn summary(plan: &LabPlan, prospects: &Prospects, ended: &[EndedTrial]) -> LabSummary {
    let mut schedule = plimsoll_schedule::of(plan, prospects);
    ended.iter().for_each(|ended| schedule.tell(ended.clone()));
    let found = schedule.found();
    let is_grid = found.ladders.is_empty() && found.tune.is_none();
    let measured = plan.variants.iter().filter(|variant| !seeks_line(plan, variant));
    // With `rounds = "auto"` a ladder does not measure its base against itself, and a fault that is repeated has no rounds.
    let is_told = |cell: &Cell| is_grid && plan.trials.rounds > 0 || cell.rounds + cell.failed > 0;
    let mut summary = LabSummary {
        schema_version: SCHEMA_VERSION,
        name: plan.name.clone(),
        title: plan.title.clone(),
        source: plan.source.clone(),
        preset: plan.preset.clone(),
        recording: None,
        headline: String::new(),
        trials: TrialCounts {
            done: count(ended, TrialStatus::Done),
            failed: count(ended, TrialStatus::Failed),
            disturbed: ended
                .iter()
                .filter(|ended| !seeks_line(plan, &ended.trial.variant) && is_disturbed(ended))
                .count(),
        },
        restores: restores(ended),
        cells: measured.flat_map(|variant| cells(variant, ended)).filter(is_told).collect(),
        comparisons: if is_grid { comparisons(plan, ended) } else { Vec::new() },
        ladders: found.ladders.into_iter().map(reasons::ladder).collect(),
        load_lines: found.lines.into_iter().map(reasons::load_line).collect(),
        crashes: crashes::cells(plan, ended),
        tune: found.tune.and_then(|found| tune::summary(plan, found)),
        caveats: Vec::new(),
        interrupted: schedule.has_next(),
    };
    summary.caveats = caveats(plan, &summary.comparisons, ended);
    summary.headline = headline(&summary, ended);
    summary
}

fn is_disturbed(ended: &EndedTrial) -> bool {
    ended.outcome.status == TrialStatus::Done && ended.outcome.point.as_ref().is_some_and(Point::is_disturbed)
}

fn count(ended: &[EndedTrial], status: TrialStatus) -> usize {
    ended.iter().filter(|ended| ended.outcome.status == status).count()
}

/// Trials of the variant as the plan has it: its own, and in a ladder those of the base against itself.
pub(crate) fn of_variant<'a>(ended: &'a [EndedTrial], variant: &str) -> impl Iterator<Item = &'a EndedTrial> {
    let counted = counted_label(variant, |label| ended.iter().any(|ended| ended.trial.label == label));
    let floor = format!("{variant}/floor/");
    let is_own = move |label: &str| label == counted || label.starts_with(&floor);
    ended.iter().filter(move |ended| is_own(&ended.trial.label))
}

fn cells<'a>(variant: &'a Variant, ended: &'a [EndedTrial]) -> impl Iterator<Item = Cell> {
    variant.load.points.iter().map(|point| cell(variant, *point, ended))
}

fn cell(variant: &Variant, point: LoadPoint, ended: &[EndedTrial]) -> Cell {
    let trials: Vec<&EndedTrial> =
        of_variant(ended, &variant.name).filter(|ended| ended.trial.point == point).collect();
    let with = |status: TrialStatus| trials.iter().filter(|trial| trial.outcome.status == status).count();
    let mean = |quantity: Quantity| {
        over_rounds(&trials.iter().filter_map(|trial| quantity.value(&trial.outcome)).collect::<Vec<_>>())
    };
    Cell {
        variant: variant.name.clone(),
        load: point,
        rounds: with(TrialStatus::Done),
        failed: with(TrialStatus::Failed),
        transactions_per_second: mean(Quantity::Of(Metric::TransactionsPerSecond)),
        nopm: mean(Quantity::Of(Metric::Nopm)),
        p99_ms: mean(Quantity::Of(Metric::P99)),
        server_cpu_us_per_transaction: mean(Quantity::Of(Metric::ServerCpuUsPerTransaction)),
        recovery_seconds: mean(Quantity::RecoverySeconds),
        risks: trials.iter().flat_map(|trial| &trial.outcome.risks).copied().collect(),
    }
}

/// By method, where anything was restored.
fn restores(ended: &[EndedTrial]) -> Vec<Restores> {
    let mut by_method: BTreeMap<&str, Vec<&Restored>> = BTreeMap::new();
    for restored in ended.iter().filter_map(|ended| ended.outcome.restored.as_ref()) {
        by_method.entry(&restored.method).or_default().push(restored);
    }
    by_method.remove("none");
    let told = |(method, all): (&str, Vec<&Restored>)| {
        let mut seconds: Vec<f64> = all.iter().map(|restored| restored.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let bytes = all.iter().map(|restored| restored.bytes).max().unwrap_or(0);
        Restores { method: method.to_owned(), trials: all.len(), seconds: seconds[seconds.len() / 2], bytes }
    };
    by_method.into_iter().map(told).collect()
}

/// What any trial of a variant as the plan has it risked.
fn cell_risks(ended: &[EndedTrial], variant: &str) -> Risks {
    of_variant(ended, variant).flat_map(|ended| &ended.outcome.risks).copied().collect()
}

fn caveats(plan: &LabPlan, comparisons: &[VariantComparison], ended: &[EndedTrial]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    caveats.extend(failed(ended));
    caveats.extend(comparisons.iter().filter_map(unlike));
    caveats.extend(design(plan));
    caveats.extend(unlike_data(ended));
    caveats.extend(of_trials(ended));
    caveats
}

fn failed(ended: &[EndedTrial]) -> Option<Caveat> {
    let mut failed = ended.iter().filter(|ended| ended.outcome.status == TrialStatus::Failed);
    let first = failed.next()?;
    let message = format!(
        "{} of {} failed and what they measured is left out; the first, {} at {} in round {}: {}",
        1 + failed.count(),
        counted(ended.len() as f64, "trial"),
        first.trial.label,
        first.trial.point.label(),
        first.trial.round,
        first.outcome.why.as_deref().unwrap_or("no reason is recorded")
    );
    Some(Caveat::new("failed_trials", message))
}

fn unlike(comparison: &VariantComparison) -> Option<Caveat> {
    let unlike = comparison.unlike.as_ref()?;
    let VariantComparison { a, b, .. } = comparison;
    let message = format!("{a} and {b} are not equally safe: {unlike}; compare at equal durability");
    Some(Caveat::new("unlike_durability", message))
}

/// Variants whose trials did not all start from the same data.
fn unlike_data(ended: &[EndedTrial]) -> Option<Caveat> {
    let mut data: BTreeMap<&str, BTreeSet<_>> = BTreeMap::new();
    for EndedTrial { trial, outcome } in ended {
        // What was left as it was has a caveat of its own.
        let restored = outcome.restored.as_ref().filter(|restored| restored.method != "none");
        let sums = restored.map(|restored| (&restored.dataset, &restored.checksums));
        data.entry(&trial.label).or_default().extend(sums.filter(|_| outcome.status == TrialStatus::Done));
    }
    let unlike: Vec<&str> = data.into_iter().filter(|(_, found)| found.len() > 1).map(|(label, _)| label).collect();
    let message = format!("trials of {} did not all start from the same data", unlike.join(", "));
    (!unlike.is_empty()).then(|| Caveat::new("unlike_data", message))
}

/// What the plan itself leaves open.
fn design(plan: &LabPlan) -> Vec<Caveat> {
    let rounds = plan.trials.rounds;
    let mut caveats = Vec::new();
    if rounds == 0 {
        return caveats;
    }
    if rounds < FEWEST_ROUNDS && !plan.rungs.is_empty() {
        let message =
            format!("rounds = {rounds} cannot show anything in a ladder: it was run with {FEWEST_ROUNDS} pairs");
        caveats.push(Caveat::new("few_rounds", message));
    } else if rounds < FEWEST_ROUNDS && !plan.variants.iter().all(|variant| seeks_line(plan, variant)) {
        let message =
            format!("{} cannot tell a difference from chance; {FEWEST_ROUNDS} can", counted(rounds as f64, "round"));
        caveats.push(Caveat::new("few_rounds", message));
    }
    let measured: Vec<&Variant> = plan.variants.iter().filter(|variant| !seeks_line(plan, variant)).collect();
    let Some((_, others)) = measured.split_first() else { return caveats };
    if plan.trials.order == Order::Sequential && plan.rungs.is_empty() && !others.is_empty() {
        let message = "the variants were measured one after the other, so a drift of the machine looks like a \
                       difference; order = \"interleaved\" avoids that";
        caveats.push(Caveat::new("not_interleaved", message));
    }
    let pairs = compared(plan);
    let is_paired = |name: &str| pairs.iter().flatten().any(|of| of.name == name);
    let alone: Vec<&str> = measured.iter().map(|of| of.name.as_str()).filter(|name| !is_paired(name)).collect();
    if !alone.is_empty() && !others.is_empty() {
        let message = format!("not compared, since no other variant runs their workload: {}", alone.join(", "));
        caveats.push(Caveat::new("unlike_workloads", message));
    }
    caveats
}

/// So many trials are named after the worst.
const NAMED: usize = 4;

/// Those of the trials: each code once, with what the worst of them says, and which the others are.
fn of_trials(ended: &[EndedTrial]) -> Vec<Caveat> {
    let mut codes: Vec<&str> = Vec::new();
    for caveat in ended.iter().flat_map(|ended| &ended.outcome.caveats) {
        if !codes.contains(&caveat.code.as_str()) {
            codes.push(&caveat.code);
        }
    }
    codes.into_iter().filter_map(|code| of_code(ended, code)).collect()
}

fn of_code(ended: &[EndedTrial], code: &str) -> Option<Caveat> {
    let has = |of: &&EndedTrial| of.outcome.caveats.iter().any(|caveat| caveat.code == code);
    let mut all: Vec<&EndedTrial> = ended.iter().filter(has).collect();
    let weight = |of: &EndedTrial| of.outcome.point.as_ref().map_or(0.0, |point| caveats::weight(point, code));
    all.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let (worst, others) = all.split_first()?;
    let messages: Vec<&str> =
        worst.outcome.caveats.iter().filter(|of| of.code == code).map(|of| of.message.as_str()).collect();
    let more = match messages.iter().collect::<BTreeSet<_>>().len() {
        1 => String::new(),
        several => format!("; and {} more like it", several - 1),
    };
    let name =
        |of: &EndedTrial| format!("{} at {} in round {}", of.trial.label, of.trial.point.label(), of.trial.round);
    // Where all say the same, nothing is lost.
    let differs =
        |of: &&&EndedTrial| !of.outcome.caveats.iter().any(|caveat| messages.contains(&caveat.message.as_str()));
    let others: Vec<&&EndedTrial> = others.iter().filter(differs).collect();
    let mut names: Vec<String> = others.iter().take(NAMED).map(|of| name(of)).collect();
    if others.len() > NAMED {
        names.push(format!("{} more", others.len() - NAMED));
    }
    let also = if names.is_empty() { String::new() } else { format!("; also in {}", names.join(", ")) };
    let trials = counted(ended.len() as f64, "trial");
    let message = messages.first()?;
    Some(Caveat::new(code, format!("in {} of {trials}: {message}{more}{also}", all.len())))
}
