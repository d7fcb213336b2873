//! The section with the caveats.

use crate::document::{Block, Finding, Item, Section};
use plimsoll_model::Caveat;
use plimsoll_model::number::counted;

/// What is missing first, then the caveats or that there are none, then a remark that applies to all.
pub fn section(caveats: &[Caveat], remark: Option<&str>, missing: &[String]) -> Option<Section> {
    let mut blocks: Vec<Block> = list(missing).into_iter().collect();
    blocks.push(Block::Caveats(caveats.to_vec()));
    blocks.extend(remark.map(Block::remark));
    let section = Section::of("caveats", "Caveats", blocks)?;
    let found = match section.warnings() {
        0 => "none".to_owned(),
        many => counted(many as f64, "reason") + " for care",
    };
    Some(section.found(found))
}

/// What is missing, in full; `None` if nothing is.
pub(crate) fn list(missing: &[String]) -> Option<Block> {
    let items =
        missing.iter().map(|text| Item { warning: true, ..Item::of(format!("{}.", text.trim_end_matches('.'))) });
    (!missing.is_empty()).then(|| Block::List(items.collect()))
}

/// The same in short for the first screen: `Missing: summary.json is not there.`
pub(crate) fn findings(missing: &[String]) -> impl Iterator<Item = Finding> {
    let short = |text: &String| text.split([':', ';']).next().unwrap_or_default().to_owned();
    // File names keep their lower case.
    missing.iter().map(move |text| Finding::labelled("Missing", format!("{}.", short(text))))
}
