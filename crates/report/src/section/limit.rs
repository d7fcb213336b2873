//! What limited the load points of a run, with the evidence that decided it.

use super::{busiest, label};
use crate::document::{Block, Item, Section};
use crate::subject::{Recorded, Trial};
use crate::table::{Column, Table};
use plimsoll_model::diagnosis::{BottleneckVerdict, Candidate, Diagnosis};
use plimsoll_model::layout::capitalised;
use plimsoll_model::number::in_percent;

/// Candidates in a cell of a table.
const MOST_CANDIDATES: usize = 3;

/// The load point that carried most in full, then all of them in a table.
pub fn section(recorded: &Recorded) -> Option<Section> {
    let most = busiest(&recorded.trials);
    let blocks = most.into_iter().flat_map(|trial| in_full(trial, recorded)).chain(overview(recorded));
    Section::of("limit", "What limited it", blocks.collect())
}

/// The verdict on one trial, what decided it, what to try, and what was not recorded.
fn in_full(trial: &Trial, recorded: &Recorded) -> Vec<Block> {
    let Some(diagnosis) = &trial.diagnosis else { return Vec::new() };
    let mut blocks = vec![Block::lead(format!("At {}:", label(trial, recorded)), &diagnosis.sentence)];
    let evidence: Vec<Item> = diagnosis.candidates.iter().flat_map(evidence).collect();
    if !evidence.is_empty() {
        blocks.extend([Block::List(evidence), Block::remark(EVIDENCE_REMARK)]);
    }
    blocks.extend(diagnosis.next.as_ref().map(|next| Block::lead("What to try next:", next)));
    if !diagnosis.missing.is_empty() {
        blocks
            .push(Block::remark(format!("Not recorded, but would have said more: {}.", diagnosis.missing.join("; "))));
    }
    blocks
}

pub(crate) const EVIDENCE_REMARK: &str = "The evidence covers the whole measured window; small type says where it stands in the recording. \
                               No intervals: what decides is which evidence is far beyond the rest.";

/// What speaks for a candidate, and where it stands.
pub(crate) fn evidence(candidate: &Candidate) -> Vec<Item> {
    let item = |text: String, source: &str| Item { small: Some(source.to_owned()), ..Item::of(text) };
    let words = capitalised(candidate.bottleneck.words());
    candidate.evidence.iter().map(|of| item(format!("{words}: {}", of.statement), &of.source)).collect()
}

/// `the server’s CPU`, `nothing was near its limit`, `not clear`.
pub fn words(diagnosis: &Diagnosis) -> &'static str {
    match diagnosis.verdict {
        BottleneckVerdict::Limited(bottleneck) => bottleneck.words(),
        BottleneckVerdict::NotLimited => "nothing was near its limit",
        BottleneckVerdict::NotClear => "not clear",
    }
}

/// Every load point's verdict; `None` if there is only one.
fn overview(recorded: &Recorded) -> Option<Block> {
    let judged: Vec<(String, &Diagnosis)> =
        recorded.trials.iter().filter_map(|trial| Some((label(trial, recorded), trial.diagnosis.as_ref()?))).collect();
    if judged.len() < 2 {
        return None;
    }
    let table = Table::new(vec![
        Column::words("load point", judged.iter().map(|(label, _)| label.clone()).collect()),
        Column::words("limited by", judged.iter().map(|(_, of)| words(of).to_owned()).collect()),
        Column::words("share of the time", judged.iter().map(|(_, of)| shares(of)).collect()),
    ]);
    let remark = "The share is an estimate of how much of its time a transaction spent on it; several may overlap.";
    Some(Block::table("limits", table, [remark.to_owned()]))
}

/// `the server’s CPU 71 %, row locks 12 %`.
pub(crate) fn shares(diagnosis: &Diagnosis) -> String {
    let shares = diagnosis.candidates.iter().take(MOST_CANDIDATES);
    let shares = shares.map(|of| format!("{} {} %", of.bottleneck.words(), in_percent(of.share)));
    shares.collect::<Vec<_>>().join(", ")
}
