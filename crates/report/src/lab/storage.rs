//! Storage trials: the sheet and the figures of each variant.

use super::answer::bases;
use crate::document::{Block, Section};
use crate::io;
use crate::subject::Recorded;

/// Sections of a storage evaluation that a lab shows of each variant.
const SHOWN: [&str; 5] = ["sheet", "depth", "commits", "cache", "burst"];

/// Of each variant the last evaluation, with the variant's name before its headings and ids.
pub fn sections(recorded: &Recorded) -> Vec<Section> {
    let last = |base: &str| recorded.trials.iter().rev().find(|trial| trial.base == base && trial.io.is_some());
    let of = |(place, base): (usize, &str)| -> Vec<Section> {
        let Some(summary) = last(base).and_then(|trial| trial.io.as_ref()) else { return Vec::new() };
        let of_variant = io::document(recorded, summary).sections.into_iter();
        of_variant
            .filter(|section| SHOWN.contains(&section.id.as_str()))
            .map(|section| named(section, place, base))
            .collect()
    };
    bases(recorded).into_iter().enumerate().flat_map(of).collect()
}

fn named(section: Section, place: usize, variant: &str) -> Section {
    let unique = |id: &str| format!("{id}-{}", place + 1);
    let block = |block: Block| match block {
        Block::Figure(mut figure) => {
            figure.id = unique(&figure.id);
            Block::Figure(figure)
        }
        other => other,
    };
    Section {
        id: unique(&section.id),
        heading: format!("{variant}: {}", section.heading),
        blocks: section.blocks.into_iter().map(block).collect(),
    }
}
