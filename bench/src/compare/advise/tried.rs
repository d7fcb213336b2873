//! The first proposals of an advisor as rungs of a ladder: what each of them brings to the server that it was made for.

use super::situation::Situation;
use crate::arena::Arena;
use crate::child::Interrupted;
use crate::peers::advisors::Proposal;
use crate::peers::plimsoll;
use anyhow::Context;
use plimsoll_model::Estimate;
use plimsoll_model::lab::{LadderStep, RungVerdict};
use plimsoll_plan::lab::file::draft::{DraftAsks, DraftRung};
use serde::{Deserialize, Serialize};
use std::process::Command;
use std::time::Duration;

/// What so few rounds leave open is said to be so.
const MOST_ROUNDS: u32 = 8;
/// Of a ladder with five rungs.
const PATIENCE: Duration = Duration::from_secs(3 * 3600);

/// A proposal, and what came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TriedProposal {
    pub proposal: Proposal,
    pub outcome: ProposalOutcome,
    /// With it ÷ without it − 1, as a share.
    pub change: Option<Estimate>,
    /// It costs durability, and does not say so.
    pub is_unsafe: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProposalOutcome {
    Helped,
    NoEffect,
    Worse,
    NotMeasurable,
    /// The server does not have the setting, or not with this value.
    Refused,
    /// It comes to no value of a setting.
    NoChange,
}

impl ProposalOutcome {
    pub fn words(self) -> &'static str {
        match self {
            ProposalOutcome::Helped => "helped",
            ProposalOutcome::NoEffect => "no effect",
            ProposalOutcome::Worse => "worse",
            ProposalOutcome::NotMeasurable => "not measurable here",
            ProposalOutcome::Refused => "refused by the server",
            ProposalOutcome::NoChange => "no value of a setting",
        }
    }
}

/// Tries them in their order, each on top of what helped.
///
/// # Errors
/// If the ladder could not be climbed, or on Ctrl-C.
pub fn tried(arena: &Arena, situation: &Situation, proposals: Vec<Proposal>) -> anyhow::Result<Vec<TriedProposal>> {
    let rungs: Vec<Option<DraftRung>> = (1..).zip(&proposals).map(|(place, proposal)| rung(place, proposal)).collect();
    let mut possible = Vec::new();
    for rung in rungs.iter().flatten() {
        if is_planned(arena, situation, rung)? {
            possible.push(rung.clone());
        }
    }
    let steps = if possible.is_empty() { Vec::new() } else { climb(arena, situation, possible)? };
    let outcome = |(proposal, rung): (Proposal, Option<DraftRung>)| {
        let step = rung.as_ref().and_then(|rung| steps.iter().find(|step| step.rung == rung.name));
        let outcome = match (&rung, step) {
            (None, _) => ProposalOutcome::NoChange,
            (Some(_), None) => ProposalOutcome::Refused,
            (Some(_), Some(step)) => of(step.verdict),
        };
        let costs = step.is_some_and(|step| step.risks.iter().any(|class| class.costs_durability()));
        let is_unsafe = costs && !proposal.tells_cost;
        TriedProposal { outcome, change: step.and_then(|step| step.change.clone()), is_unsafe, proposal }
    };
    Ok(proposals.into_iter().zip(rungs).map(outcome).collect())
}

fn of(verdict: RungVerdict) -> ProposalOutcome {
    match verdict {
        RungVerdict::Kept => ProposalOutcome::Helped,
        RungVerdict::NoEffect => ProposalOutcome::NoEffect,
        RungVerdict::Worse => ProposalOutcome::Worse,
        RungVerdict::NotMeasurableHere => ProposalOutcome::NotMeasurable,
        RungVerdict::NotApplied | RungVerdict::RemovedOnThisServer | RungVerdict::RefusedForSafety => {
            ProposalOutcome::Refused
        }
    }
}

/// `place` is from 1: two proposals may be of one setting.
fn rung(place: usize, proposal: &Proposal) -> Option<DraftRung> {
    let (setting, value) = proposal.change.clone()?;
    let name = format!("{place}-{}", setting.replace('_', "-"));
    Some(DraftRung { name, settings: [(setting, value)].into(), why: proposal.text.clone() })
}

/// The lab whose ladder has these rungs.
fn ladder(arena: &Arena, situation: &Situation, rungs: Vec<DraftRung>) -> anyhow::Result<Command> {
    let asks = DraftAsks::Ladder { rungs, most_rounds: MOST_ROUNDS };
    plimsoll::lab(arena, "tried", &situation.draft(arena, asks)?.text())
}

/// Whether a plan with this rung alone is one that the server can take; nothing is started.
fn is_planned(arena: &Arena, situation: &Situation, rung: &DraftRung) -> anyhow::Result<bool> {
    let mut lab = ladder(arena, situation, vec![rung.clone()])?;
    lab.arg("--dry-run");
    match arena.run(lab, PATIENCE) {
        Ok(_) => Ok(true),
        Err(error) if error.is::<Interrupted>() => Err(error),
        Err(error) => {
            eprintln!("    {}: {error:#}", rung.name);
            Ok(false)
        }
    }
}

fn climb(arena: &Arena, situation: &Situation, rungs: Vec<DraftRung>) -> anyhow::Result<Vec<LadderStep>> {
    let summary = plimsoll::summary_of_lab(arena, ladder(arena, situation, rungs)?, PATIENCE)?;
    let ladder = summary.ladders.into_iter().next();
    Ok(ladder.with_context(|| format!("the lab climbed nothing: {}", summary.headline))?.steps)
}
