//! The tables that the answer rests on, with intervals.

use super::tables;
use crate::comparison::interval_in_full;
use crate::document::{Block, Item, Section};
use plimsoll_model::lab::{LabSummary, Ladder, LoadLine};
use plimsoll_model::number::{counted, percent, signed_percent};

/// Variants and load points, then ladders and load lines.
pub fn section(summary: &LabSummary) -> Option<Section> {
    let mut blocks = Vec::new();
    // Storage trials have their own sections.
    if summary.cells.iter().any(|cell| cell.transactions_per_second.is_some() || cell.failed > 0) {
        let remark = "Geometric means over the rounds with 95 % intervals.";
        blocks.push(Block::table("cells", tables::cells(&summary.cells), [remark.to_owned()]));
    }
    blocks.extend(summary.ladders.iter().enumerate().flat_map(|(place, of)| ladder(place, of)));
    if !summary.load_lines.is_empty() {
        blocks.push(Block::subheading("Load lines"));
        blocks.push(Block::table("load-lines", tables::load_lines(&summary.load_lines), []));
        blocks.extend(items(summary.load_lines.iter().filter_map(without_line)));
    }
    let measured = summary.cells.len();
    let found = if measured > 0 { counted(measured as f64, "load point") } else { String::new() };
    Some(Section::of("numbers", "In numbers", blocks)?.found(found))
}

/// The table of a ladder, a sentence for each rung, and what all kept rungs bring together.
fn ladder(place: usize, ladder: &Ladder) -> Vec<Block> {
    let floor = match &ladder.floor {
        Some(floor) => format!("The base differs from itself by up to {} in 19 of 20 cases.", percent(floor.value)),
        None => "No floor was measured.".to_owned(),
    };
    let mut blocks = vec![Block::subheading(format!("Ladder of {}", ladder.variant))];
    blocks.push(Block::table(&format!("ladder-{}", place + 1), tables::ladder(ladder), [floor]));
    let whys = ladder.steps.iter().map(|step| format!("{}: {}", step.rung, step.why));
    blocks.extend(items(whys));
    blocks.extend(ladder.gain.as_ref().map(|gain| {
        Block::lead("All kept together:", format!("{} ({}).", signed_percent(gain.value), interval_in_full(gain)))
    }));
    blocks
}

fn without_line(line: &LoadLine) -> Option<String> {
    let why = line.why_not.as_ref()?;
    Some(format!("{} at {} connections: {why}", line.variant, line.connections))
}

fn items(texts: impl Iterator<Item = String>) -> Option<Block> {
    let items: Vec<Item> = texts.map(|text| Item::of(format!("{text}."))).collect();
    (!items.is_empty()).then_some(Block::List(items))
}
