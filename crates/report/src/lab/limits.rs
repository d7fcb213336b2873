//! What limited each variant, over its rounds.

use super::places::{self, Agreed, Group, agreed};
use crate::document::{Block, Item, Section};
use crate::found::tallied;
use crate::section::left_out;
use crate::section::limit::{EVIDENCE_REMARK, evidence, shares, words};
use crate::subject::Recorded;
use crate::table::{Column, Table};
use plimsoll_model::lab::LabSummary;
use plimsoll_model::number::counted;

/// At most this many lines of evidence are shown for each.
const MOST_EVIDENCE: usize = 3;

/// The groups that are shown in full, what to try next, once, and every load point in a table.
pub fn section(recorded: &Recorded, summary: &LabSummary) -> Option<Section> {
    let shown: Vec<Group<'_>> = places::shown(recorded, summary);
    let judged: Vec<(&Group<'_>, Agreed<'_>)> =
        shown.iter().filter_map(|group| Some((group, agreed(group)?))).collect();
    let mut blocks: Vec<Block> = judged.iter().flat_map(|(group, agreed)| in_full(group, agreed)).collect();
    if blocks.iter().any(|block| matches!(block, Block::List(_))) {
        blocks.push(Block::remark(EVIDENCE_REMARK));
    }
    blocks.extend(left_out(shown.len(), places::all(recorded).len()).map(Block::remark));
    blocks.extend(next(&judged));
    blocks.extend(overview(recorded));
    Some(Section::of("limit", "What limited it", blocks)?.found(found(recorded)))
}

/// `server CPU at 5 of 8 load points, commits at 3`: what limits most of them first.
fn found(recorded: &Recorded) -> String {
    let groups = places::all(recorded);
    let counts = tallied(groups.iter().filter_map(|group| Some(words(agreed(group)?.diagnosis))));
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    let mut parts: Vec<String> = counts.iter().map(|(limited_by, count)| format!("{limited_by} at {count}")).collect();
    if let Some(first) = parts.first_mut() {
        *first += &format!(" of {}", counted(all as f64, "load point"));
    }
    parts.join(", ")
}

/// The verdict, and what decided it in the middle round.
fn in_full(group: &Group<'_>, agreed: &Agreed<'_>) -> Vec<Block> {
    let sentence = format!("{}{}", agreed.diagnosis.sentence, agreed.how_many());
    let mut blocks = vec![Block::lead(format!("{}:", group.label), sentence)];
    let items: Vec<Item> = agreed.diagnosis.candidates.iter().flat_map(evidence).take(MOST_EVIDENCE).collect();
    if !items.is_empty() {
        blocks.push(Block::List(items));
    }
    blocks
}

/// What to try next: each piece of advice once, with where it applies if there are several.
fn next(judged: &[(&Group<'_>, Agreed<'_>)]) -> Vec<Block> {
    let mut advice: Vec<(&str, Vec<&str>)> = Vec::new();
    for (group, agreed) in judged {
        let Some(next) = agreed.diagnosis.next.as_deref() else { continue };
        match advice.iter_mut().find(|(text, _)| *text == next) {
            Some((_, labels)) => labels.push(&group.label),
            None => advice.push((next, vec![&group.label])),
        }
    }
    let is_only = advice.len() == 1;
    let lead = |labels: &[&str]| match is_only {
        true => "What to try next:".to_owned(),
        false => format!("What to try next ({}):", labels.join("; ")),
    };
    advice.iter().map(|(text, labels)| Block::lead(lead(labels), *text)).collect()
}

/// What the rounds of every load point agree on; `None` if there is only one.
fn overview(recorded: &Recorded) -> Option<Block> {
    let groups = places::all(recorded);
    let judged: Vec<(&Group<'_>, Agreed<'_>)> =
        groups.iter().filter_map(|group| Some((group, agreed(group)?))).collect();
    if judged.len() < 2 {
        return None;
    }
    let cells = |of: fn(&Agreed<'_>) -> String| judged.iter().map(|(_, agreed)| of(agreed)).collect::<Vec<_>>();
    let table = Table::new(vec![
        Column::words("load point", judged.iter().map(|(group, _)| group.label.clone()).collect()),
        Column::words("limited by", cells(|agreed| words(agreed.diagnosis).to_owned())),
        Column::words("rounds", cells(|agreed| format!("{} of {}", agreed.rounds, agreed.of))),
        Column::words("share of the time", cells(|agreed| shares(agreed.diagnosis))),
    ]);
    let remark = "The verdict that most rounds agree on. The share is an estimate, from the middle round, of how much of its \
                  time a transaction spent on it; several may overlap.";
    Some(Block::table("limits", table, [remark.to_owned()]))
}
