//! What faults did to each variant, counted and in words.

use plimsoll_model::FaultKind;
use plimsoll_model::crash::{CopyFacts, CrashCell, CrashEnd, CrashOutcome};
use plimsoll_model::lab::{Recovery, TrialStatus};
use plimsoll_model::number::{at_most, number, short};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::Variant;
use plimsoll_schedule::EndedTrial;
use plimsoll_stats::share::share;

/// By variant, then by fault, as the plan has them.
pub(super) fn cells(plan: &LabPlan, ended: &[EndedTrial]) -> Vec<CrashCell> {
    let Some(rules) = &plan.crash else { return Vec::new() };
    let of = |variant: &Variant| {
        let name = variant.name.clone();
        rules.faults.iter().map(move |fault| cell(plan, &name, *fault, ended))
    };
    plan.variants.iter().flat_map(of).collect()
}

fn cell(plan: &LabPlan, variant: &str, fault: FaultKind, ended: &[EndedTrial]) -> CrashCell {
    let is_of_it = |of: &&EndedTrial| {
        of.trial.variant.name == variant && of.trial.fault.is_some_and(|planned| planned.kind == fault)
    };
    let trials: Vec<&EndedTrial> = ended.iter().filter(is_of_it).collect();
    let crashes: Vec<&CrashOutcome> = trials.iter().filter_map(|of| of.outcome.crash.as_ref()).collect();
    let count = |is_meant: &dyn Fn(&CrashOutcome) -> bool| crashes.iter().filter(|of| is_meant(of)).count();
    let losing = count(&CrashOutcome::loses);
    let seconds = sorted(crashes.iter().filter(|of| of.loses()).filter_map(|of| of.lost_seconds));
    let recoveries: Vec<&Recovery> = trials.iter().filter_map(|of| of.outcome.recovery.as_ref()).collect();
    let redo = recoveries.iter().filter_map(|recovery| recovery.redo_bytes).map(|bytes| bytes as f64);
    CrashCell {
        variant: variant.to_owned(),
        fault,
        faults: crashes.len(),
        failed: trials
            .iter()
            .filter(|of| of.outcome.status == TrialStatus::Failed && of.outcome.crash.is_none())
            .count(),
        acknowledged: crashes.iter().map(|of| of.acknowledged).sum(),
        losing,
        losing_whole: count(&|of| of.loses() && !of.damages()),
        untold: count(&|of| of.end == CrashEnd::Answered && of.lost.is_none()),
        loss: share(losing, crashes.len()),
        lost: crashes.iter().filter_map(|of| of.lost).sum(),
        lost_seconds: middle(&seconds),
        worst_seconds: seconds.last().copied(),
        unacknowledged: crashes.iter().filter_map(|of| of.unacknowledged).sum(),
        hidden: crashes.iter().map(|of| of.hidden).sum(),
        not_started: count(&|of| of.end != CrashEnd::Answered),
        torn: count(&|of| of.is_torn),
        damaged: count(&CrashOutcome::damages),
        recovery_seconds: middle(&sorted(recoveries.iter().map(|recovery| recovery.seconds))),
        redo_bytes: middle(&sorted(redo)),
        full_seconds: middle(&sorted(crashes.iter().filter_map(|of| of.full_seconds))),
        kept: count(&|of| of.kept.is_some()),
        risks: trials.iter().flat_map(|of| &of.outcome.risks).copied().collect(),
        allowed: plan.trials.allow.iter().copied().collect(),
        semi_synchronous: is_semi_synchronous(&crashes),
        copy_seconds: of_copies(&crashes, |copy| Some(copy.seconds)),
        copy_throughput: of_copies(&crashes, |copy| {
            (copy.commits_before > 0.0).then(|| copy.commits_during / copy.commits_before)
        }),
    }
}

/// Whether the primary promised that its replica has everything: in each trial, or in one that lost something. One whose
/// own timeout was over no longer waited.
fn is_semi_synchronous(crashes: &[&CrashOutcome]) -> bool {
    let waited = |of: &CrashOutcome| of.replica.is_some_and(|replica| replica.semi_synchronous);
    let broke = crashes.iter().any(|of| waited(of) && of.loses());
    broke || !crashes.is_empty() && crashes.iter().all(|of| waited(of))
}

/// The median over all online copies.
fn of_copies(crashes: &[&CrashOutcome], value: impl Fn(&CopyFacts) -> Option<f64>) -> Option<f64> {
    middle(&sorted(crashes.iter().filter_map(|of| value(of.copy.as_ref()?))))
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median of sorted values.
fn middle(sorted: &[f64]) -> Option<f64> {
    let low = sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some(f64::midpoint(*low, sorted[sorted.len() / 2]))
}

/// What faults did to each variant, a sentence or two for each. The fault is the unit, not the commit: nothing is called safe
/// without its bound.
pub fn sentences(cells: &[CrashCell]) -> Vec<String> {
    let mut variants: Vec<&str> = Vec::new();
    for cell in cells {
        if !variants.contains(&cell.variant.as_str()) {
            variants.push(&cell.variant);
        }
    }
    variants.into_iter().flat_map(|variant| of_variant(variant, cells)).collect()
}

fn of_variant(variant: &str, cells: &[CrashCell]) -> Vec<String> {
    let of_it = || cells.iter().filter(|cell| cell.variant == variant);
    let kept: Vec<&CrashCell> = of_it().filter(|cell| cell.faults > 0 && cell.losing == 0).collect();
    let mut told: Vec<String> = kept_all(variant, &kept).into_iter().collect();
    told.extend(of_it().filter(|cell| cell.losing > 0).map(lost_some));
    told.extend(
        of_it().filter(|cell| cell.faults == 0).map(|cell| format!("{variant}: no {} came to its end", cell.words())),
    );
    told
}

/// `base lost 0 of 61,204 acknowledged commits in 20 power cuts (some loss in at most 14 % of such cases, 95 % confidence)`.
fn kept_all(variant: &str, kept: &[&CrashCell]) -> Option<String> {
    let fewest = kept.iter().min_by_key(|cell| cell.faults)?;
    let commits = short(kept.iter().map(|cell| cell.acknowledged as f64).sum());
    let faults: Vec<String> = kept.iter().map(|cell| cell.counted()).collect();
    let bound = fewest.loss.as_ref().and_then(|loss| loss.high).map(|high| {
        let of = if kept.len() > 1 { "of each kind" } else { "of such cases" };
        format!(" (some loss in at most {} {of}, 95 % confidence)", at_most(high))
    });
    let hidden: u64 = kept.iter().map(|cell| cell.hidden).sum();
    let hidden = (hidden > 0).then(|| {
        format!("; up to {} more may be missing behind as many that nobody was told of", number(hidden as f64, 0))
    });
    let damaged: Vec<String> = kept
        .iter()
        .filter(|cell| cell.damaged + cell.torn > 0)
        .map(|cell| format!("; after {}{}", cell.counted(), damage(cell).replacen(';', ":", 1)))
        .collect();
    Some(format!(
        "{variant} lost 0 of {commits} acknowledged commits in {}{}{}{}",
        listed(&faults),
        bound.unwrap_or_default(),
        hidden.unwrap_or_default(),
        damaged.concat()
    ))
}

/// `base lost acknowledged commits in 19 of 20 power cuts: 18,400 of 61,204, 1.02 s of commits (median)`.
fn lost_some(cell: &CrashCell) -> String {
    let CrashCell { variant, acknowledged, losing, lost, not_started, untold, .. } = cell;
    let all = cell.counted();
    let told = losing.saturating_sub(not_started + untold);
    if told == 0 && *not_started > 0 {
        let (what, rest) = (unusable(cell.fault), damage_of_started(cell));
        return format!("{variant} {what} {not_started} of {all}{rest}");
    }
    if told == 0 {
        let rest = damage_of_started(cell);
        return format!("{variant}: what is lost could not be told after {untold} of {all}{rest}");
    }
    let seconds = cell.lost_seconds.map(|middle| format!(", {} s of commits (median)", number(middle, 2)));
    format!(
        "{variant} lost acknowledged commits in {told} of {all}: {} of {}{}{}",
        short(*lost as f64),
        short(*acknowledged as f64),
        seconds.unwrap_or_default(),
        damage(cell)
    )
}

/// What a fault left that did not start.
fn unusable(fault: FaultKind) -> &'static str {
    match fault {
        FaultKind::Backup => "had a copy that cannot be used after",
        FaultKind::Replica => "had no replica that took over after",
        _ => "lost everything, since it did not start again, after",
    }
}

/// `a, b and c`.
fn listed(all: &[String]) -> String {
    match all {
        [others @ .., before, last] => [others, &[format!("{before} and {last}")]].concat().join(", "),
        few => few.concat(),
    }
}

/// What else the faults did.
fn damage(cell: &CrashCell) -> String {
    let what = match cell.fault {
        FaultKind::Backup => "the copy could not be used",
        FaultKind::Replica => "the replica did not take over",
        _ => "the server did not start again",
    };
    in_some(cell, cell.not_started, what) + &damage_of_started(cell)
}

/// The same without servers that did not start again.
fn damage_of_started(cell: &CrashCell) -> String {
    let damaged = cell.damaged.saturating_sub(cell.not_started);
    let untold = match cell.losing == cell.untold {
        // That is said already.
        true => String::new(),
        false => in_some(cell, cell.untold, "what is lost could not be told"),
    };
    untold + &in_some(cell, cell.torn, "pages were torn") + &in_some(cell, damaged, "data were damaged")
}

/// `; pages were torn in 2 of 20`; nothing if it never happened.
fn in_some(cell: &CrashCell, count: usize, what: &str) -> String {
    if count > 0 { format!("; {what} in {count} of {}", cell.faults) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::durability::Risks;
    use plimsoll_model::{Class, Estimate};
    use plimsoll_report::lab::crashes::table;
    use plimsoll_report::table::Mark;

    #[test]
    fn the_middle_is_a_value_or_between_two() {
        assert_eq!((middle(&[]), middle(&[3.0]), middle(&[1.0, 2.0])), (None, Some(3.0), Some(1.5)));
        assert_eq!(middle(&[1.0, 5.0, 9.0]), Some(5.0));
    }

    fn cell(fault: FaultKind, losing: usize) -> CrashCell {
        let loss = Estimate {
            value: losing as f64 / 20.0,
            low: Some(0.0),
            high: Some(0.139),
            confidence: 0.95,
            effective_n: 20.0,
            degrees: None,
            method: String::new(),
            missing: None,
        };
        CrashCell {
            variant: "base".to_owned(),
            fault,
            faults: 20,
            failed: 0,
            acknowledged: 61_204,
            losing,
            losing_whole: losing,
            untold: 0,
            loss: Some(loss),
            lost: 900 * losing as u64,
            lost_seconds: (losing > 0).then_some(1.02),
            worst_seconds: (losing > 0).then_some(1.4),
            unacknowledged: 3,
            hidden: 0,
            not_started: 0,
            torn: 0,
            damaged: 0,
            recovery_seconds: Some(1.5),
            redo_bytes: Some(2_000_000.0),
            full_seconds: Some(0.4),
            kept: 0,
            risks: Default::default(),
            allowed: Default::default(),
            semi_synchronous: false,
            copy_seconds: None,
            copy_throughput: None,
        }
    }

    #[test]
    fn nothing_lost_has_its_bound() {
        let sentence = |cell: CrashCell| sentences(&[cell]).concat();
        assert_eq!(
            sentence(cell(FaultKind::Power, 0)),
            "base lost 0 of 61,204 acknowledged commits in 20 power cuts (some loss in at most 14 % of such cases, 95 % \
             confidence)"
        );
        let torn = sentence(CrashCell { torn: 2, not_started: 1, damaged: 3, ..cell(FaultKind::Torn, 2) });
        assert_eq!(
            torn,
            "base lost acknowledged commits in 1 of 20 power cuts with torn writes: 1,800 of 61,204, 1.02 s of commits \
             (median); the server did not start again in 1 of 20; pages were torn in 2 of 20; data were damaged in 2 of 20"
        );
        let gone = sentence(CrashCell { torn: 4, not_started: 4, damaged: 4, lost: 0, ..cell(FaultKind::Torn, 4) });
        assert_eq!(
            gone,
            "base lost everything, since it did not start again, after 4 of 20 power cuts with torn writes; pages were torn in \
             4 of 20"
        );
        let untold = sentence(CrashCell { untold: 2, damaged: 2, lost: 0, ..cell(FaultKind::Power, 2) });
        assert_eq!(
            untold,
            "base: what is lost could not be told after 2 of 20 power cuts; data were damaged in 2 of 20"
        );
        let hidden = sentence(CrashCell { hidden: 8, ..cell(FaultKind::Kill, 0) });
        assert!(hidden.ends_with("; up to 8 more may be missing behind as many that nobody was told of"), "{hidden}");
        let copy = sentence(CrashCell { not_started: 1, damaged: 1, lost: 0, ..cell(FaultKind::Backup, 1) });
        assert_eq!(copy, "base had a copy that cannot be used after 1 of 20 online backups");
        let none = sentence(CrashCell { faults: 0, ..cell(FaultKind::Kill, 0) });
        assert_eq!(none, "base: no kill came to its end");
    }

    #[test]
    fn faults_without_a_loss_are_told_together() {
        let cells = [FaultKind::Kill, FaultKind::Power, FaultKind::Full].map(|fault| cell(fault, 0));
        let told = sentences(&[&cells[..], &[cell(FaultKind::Lying, 20)]].concat());
        assert_eq!(
            told[0],
            "base lost 0 of 183,612 acknowledged commits in 20 kills, 20 power cuts and 20 full devices (some loss in at \
             most 14 % of each kind, 95 % confidence)"
        );
        assert!(
            told[1].starts_with("base lost acknowledged commits in 20 of 20 power cuts of a lying device"),
            "{told:?}"
        );
    }

    #[test]
    fn a_promise_that_is_broken_is_marked() {
        let table = table(&[cell(FaultKind::Power, 0), cell(FaultKind::Power, 20)]);
        assert_eq!((table.mark(0), table.mark(1)), (None, Some(Mark::Differs)));
        let allowed = CrashCell { allowed: Risks::from([Class::D1]), ..cell(FaultKind::Power, 20) };
        assert!(!allowed.breaks_its_promise(), "somebody said that it may");
        let killed = CrashCell { allowed: Risks::from([Class::D1]), ..cell(FaultKind::Kill, 20) };
        assert!(killed.breaks_its_promise(), "that allows what a machine loses, and not what a server does");
        let torn =
            CrashCell { losing_whole: 0, damaged: 20, risks: Risks::from([Class::D2]), ..cell(FaultKind::Torn, 20) };
        assert!(!torn.breaks_its_promise(), "torn pages take their commits with them");
        assert!(
            CrashCell { losing_whole: 1, ..torn }.breaks_its_promise(),
            "whole data that lack a commit are not torn"
        );
    }
}
