//! The trials of a lab by variant and load point, and which of them are shown if there is no room for all.

use crate::section::{mean_cost, storage_server};
use crate::subject::{Recorded, Trial};
use plimsoll_model::diagnosis::{Cost, Diagnosis, StorageUse};
use plimsoll_model::lab::{Cell, LabSummary, RungVerdict};

/// The number that can be told apart in a figure.
const MOST_DRAWN: usize = 8;

/// Trials of one variant at one load point: its rounds.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// `fc, 32 connections`.
    pub label: String,
    /// In the order in which they ran; at least one.
    pub trials: Vec<&'a Trial>,
}

/// All trials by variant and load point, in the order in which these first occur. Trials in which a ladder compares its
/// base with itself belong to the base.
pub fn all(recorded: &Recorded) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for trial in &recorded.trials {
        let is_it = |group: &&mut Group<'_>| key(group.trials[0]) == key(trial);
        match groups.iter_mut().find(is_it) {
            Some(group) => group.trials.push(trial),
            None => groups.push(Group { label: label(trial), trials: vec![trial] }),
        }
    }
    groups
}

/// The same as labels and trials.
pub fn trials(recorded: &Recorded) -> Vec<(String, Vec<&Trial>)> {
    all(recorded).into_iter().map(|group| (group.label, group.trials)).collect()
}

/// Where some trials stand among all of a recording.
pub fn indices(recorded: &Recorded, some: &[&Trial]) -> Vec<usize> {
    let is_one = |trial: &Trial| some.iter().any(|one| std::ptr::eq(*one, trial));
    (0..recorded.trials.len()).filter(|place| is_one(&recorded.trials[*place])).collect()
}

fn key(trial: &Trial) -> (&str, usize, Option<u64>) {
    (variant(trial), trial.load.connections, trial.load.rate.map(f64::to_bits))
}

/// The label of a trial's variant; a trial in which a ladder compares its base with itself belongs to the base.
pub fn variant(trial: &Trial) -> &str {
    let rest = trial.variant.strip_prefix(&trial.base).unwrap_or_default();
    if rest.starts_with("/floor/") { &trial.base } else { &trial.variant }
}

/// `fc, 32 connections`, `fc/pool-6g/with, 32 connections`.
fn label(trial: &Trial) -> String {
    format!("{}, {}", variant(trial), trial.load)
}

/// The groups that are drawn and described in full, in the order of the plan: for a ladder, its base and all rungs that
/// were kept; otherwise all if there is room, or for each variant the load point that carried most.
pub fn shown<'a>(recorded: &'a Recorded, summary: &LabSummary) -> Vec<Group<'a>> {
    let mut groups = all(recorded);
    if !summary.ladders.is_empty() {
        let kept: Vec<String> = summary.ladders.iter().filter_map(last_kept).collect();
        groups.retain(|group| {
            let of = variant(group.trials[0]);
            of == group.trials[0].base || kept.iter().any(|label| label == of)
        });
    }
    if groups.len() > MOST_DRAWN {
        groups = best(groups);
    }
    let cells = &summary.cells;
    groups.sort_by_key(|group| cells.iter().position(|cell| is_of(group, cell)).unwrap_or(cells.len()));
    groups.truncate(MOST_DRAWN);
    groups
}

fn is_of(group: &Group<'_>, cell: &Cell) -> bool {
    let first = group.trials[0];
    (&first.base, first.load) == (&cell.variant, cell.load)
}

/// The trials with all rungs that were kept.
fn last_kept(ladder: &plimsoll_model::lab::Ladder) -> Option<String> {
    let kept = ladder.steps.iter().rev().find(|step| step.verdict == RungVerdict::Kept)?;
    Some(ladder.label(kept, "with"))
}

/// The load point of each variant that carried most.
fn best(groups: Vec<Group<'_>>) -> Vec<Group<'_>> {
    let mut best: Vec<Group<'_>> = Vec::new();
    for group in groups {
        match best.iter_mut().find(|known| variant(known.trials[0]) == variant(group.trials[0])) {
            Some(known) if throughput(&group) > throughput(known) => *known = group,
            Some(_) => {}
            None => best.push(group),
        }
    }
    best
}

/// Mean over its trials; 0 without any.
fn throughput(group: &Group<'_>) -> f64 {
    let known: Vec<f64> = group.trials.iter().filter_map(|trial| rate(trial)).collect();
    known.iter().sum::<f64>() / known.len().max(1) as f64
}

fn rate(trial: &Trial) -> Option<f64> {
    let point = trial.point.as_ref()?;
    point.nopm.or(point.transactions_per_second)
}

/// The rounds of a group that agree on what limited them.
pub struct Agreed<'a> {
    /// The one in the middle by throughput.
    pub trial: &'a Trial,
    pub diagnosis: &'a Diagnosis,
    pub rounds: usize,
    /// Of so many that were judged.
    pub of: usize,
}

impl Agreed<'_> {
    /// ` (in 2 of 3 rounds)`; nothing where all agree.
    pub fn how_many(&self) -> String {
        if self.rounds == self.of { String::new() } else { format!(" (in {} of {} rounds)", self.rounds, self.of) }
    }
}

/// The verdict that most rounds of a group agree on, the earlier of several; `None` if nothing was judged.
pub fn agreed<'a>(group: &Group<'a>) -> Option<Agreed<'a>> {
    let judged: Vec<(&'a Trial, &'a Diagnosis)> =
        group.trials.iter().filter_map(|trial| Some((*trial, trial.diagnosis.as_ref()?))).collect();
    let alike = |verdict| judged.iter().filter(move |(_, diagnosis)| diagnosis.verdict == verdict).copied();
    let most = judged.iter().map(|(_, diagnosis)| diagnosis.verdict);
    let most = most.reduce(|best, next| if alike(next).count() > alike(best).count() { next } else { best })?;
    let mut agreeing: Vec<(&Trial, &Diagnosis)> = alike(most).collect();
    agreeing.sort_by(|(a, _), (b, _)| rate(a).unwrap_or(0.0).total_cmp(&rate(b).unwrap_or(0.0)));
    let (trial, diagnosis) = *agreeing.get(agreeing.len() / 2)?;
    Some(Agreed { trial, diagnosis, rounds: agreeing.len(), of: judged.len() })
}

/// What a transaction cost in each group: means over the rounds.
pub fn costs(groups: &[Group<'_>]) -> Vec<(String, Cost)> {
    let measured = groups.iter().filter(|group| group.trials.iter().any(|trial| trial.point.is_some()));
    measured.map(|group| (group.label.clone(), mean_cost(&group.trials))).collect()
}

/// What network lanes did in each group: means over the rounds, without groups that use none.
pub fn storage(groups: &[Group<'_>]) -> Vec<storage_server::Used> {
    let of = |group: &Group<'_>| {
        let rounds: Vec<&StorageUse> = group.trials.iter().filter_map(|trial| trial.storage.as_ref()).collect();
        Some((group.label.clone(), storage_server::mean(&rounds)?, mean_cost(&group.trials)))
    };
    groups.iter().filter_map(of).collect()
}

/// The group of each variant of the plan that carried most, in the order in which the variants first occur.
pub fn best_of_variants<'a>(recorded: &'a Recorded, summary: &LabSummary) -> Vec<Group<'a>> {
    let groups = match summary.ladders.is_empty() {
        true => all(recorded),
        false => shown(recorded, summary),
    };
    let mut best: Vec<Group<'a>> = Vec::new();
    for group in groups {
        match best.iter_mut().find(|known| known.trials[0].base == group.trials[0].base) {
            Some(known) if throughput(&group) > throughput(known) => *known = group,
            Some(_) => {}
            None => best.push(group),
        }
    }
    best
}
