//! Where it was measured, as a table and as a diagram.

use crate::document::{Block, Section};
use crate::figure::diagram;
use crate::subject::Recorded;

pub fn section(recorded: &Recorded) -> Option<Section> {
    let environment = &recorded.environment;
    let mut blocks = Vec::new();
    if !environment.facts.is_empty() {
        blocks.push(Block::Pairs(environment.facts.clone()));
    }
    blocks.extend(diagram::draw("diagram", &environment.diagram).map(Block::Figure));
    if !environment.described.is_empty() {
        blocks.extend([Block::subheading("As described in the plan"), Block::Pairs(environment.described.clone())]);
    }
    for (variant, facts) in environment.variants.iter().filter(|(_, facts)| !facts.is_empty()) {
        blocks.extend([Block::subheading(format!("Variant {variant}")), Block::Pairs(facts.clone())]);
    }
    let server = environment.facts.iter().find(|(name, _)| name == "Server").map(|(_, value)| value.clone());
    Some(Section::of("environment", "Test environment", blocks)?.found(server.unwrap_or_default()))
}
