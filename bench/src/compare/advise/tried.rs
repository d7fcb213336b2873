//! The first proposals of an advisor as rungs of a ladder: what each of them brings to the server that it was made for.

use super::situation::Situation;
use crate::arena::Arena;
use crate::child::Interrupted;
use crate::peers::advisors::Proposal;
use anyhow::Context;
use plimsoll_model::Estimate;
use plimsoll_model::lab::{LabSummary, LadderStep, RungVerdict};
use plimsoll_plan::lab::file::draft::{DraftAsks, DraftRung};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
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
    let path = arena.scratch().join("tried.toml");
    let mut rungs = Vec::new();
    for (place, proposal) in proposals.iter().enumerate() {
        let Some(rung) = rung(place, proposal) else { continue };
        if is_planned(arena, situation, &path, &rung)? {
            rungs.push(rung);
        }
    }
    let steps = if rungs.is_empty() { Vec::new() } else { climb(arena, situation, &path, rungs)? };
    let outcome = |(place, proposal): (usize, Proposal)| {
        let step = steps.iter().find(|step| Some(&step.rung) == rung(place, &proposal).map(|rung| rung.name).as_ref());
        let outcome = match step {
            _ if proposal.change.is_none() => ProposalOutcome::NoChange,
            None => ProposalOutcome::Refused,
            Some(step) => of(step.verdict),
        };
        let costs = step.is_some_and(|step| step.risks.iter().any(|class| class.costs_durability()));
        let is_unsafe = costs && !proposal.tells_cost;
        TriedProposal { outcome, change: step.and_then(|step| step.change.clone()), is_unsafe, proposal }
    };
    Ok(proposals.into_iter().enumerate().map(outcome).collect())
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

fn rung(place: usize, proposal: &Proposal) -> Option<DraftRung> {
    let (setting, value) = proposal.change.clone()?;
    let name = format!("{}-{}", place + 1, setting.replace('_', "-"));
    Some(DraftRung { name, settings: [(setting, value)].into(), why: proposal.text.clone() })
}

/// Whether a plan with this rung alone is one that the server can take; nothing is started.
fn is_planned(arena: &Arena, situation: &Situation, path: &Path, rung: &DraftRung) -> anyhow::Result<bool> {
    let asks = DraftAsks::Ladder { rungs: vec![rung.clone()], most_rounds: MOST_ROUNDS };
    fs::write(path, situation.draft(arena, asks)?.text())?;
    let mut lab = arena.plimsoll_alone("lab");
    lab.arg(path).args(["--dry-run", "--allow-commands", "--server"]).arg(&arena.build().binary);
    match arena.run(lab, PATIENCE) {
        Ok(_) => Ok(true),
        Err(error) if error.is::<Interrupted>() => Err(error),
        Err(error) => {
            eprintln!("    {}: {error:#}", rung.name);
            Ok(false)
        }
    }
}

fn climb(arena: &Arena, situation: &Situation, path: &Path, rungs: Vec<DraftRung>) -> anyhow::Result<Vec<LadderStep>> {
    let asks = DraftAsks::Ladder { rungs, most_rounds: MOST_ROUNDS };
    fs::write(path, situation.draft(arena, asks)?.text())?;
    let mut lab = arena.plimsoll_alone("lab");
    lab.arg(path).args(["--allow-commands", "--json", "--server"]).arg(&arena.build().binary);
    let finished = arena.run(lab, PATIENCE)?;
    let summary: LabSummary = serde_json::from_str(&finished.stdout).context("the summary of plimsoll lab")?;
    let ladder = summary.ladders.into_iter().next();
    Ok(ladder.with_context(|| format!("the lab climbed nothing: {}", summary.headline))?.steps)
}
