//! What the systems are, and what was asked of them, side by side.

use super::{System, parameters};
use crate::document::{Block, Section};
use crate::subject::Recorded;
use crate::table::{Column, Mark, Table};
use plimsoll_model::comparison::{unlike_in_words, unlike_work};
use plimsoll_model::number::NOTHING;

/// What was asked of each; if that differs, the numbers do not measure the same thing.
pub(super) fn asked(systems: &[System<'_>]) -> Option<Section> {
    let table = side_by_side(systems, |recorded| &recorded.asked)?;
    let differing = table.marks.iter().flatten().count();
    let text = match differing {
        0 => "All systems were asked the same.".to_owned(),
        n => format!(
            "{} not the same: compare with that in mind.",
            if n == 1 { "One thing was" } else { "Several things were" }
        ),
    };
    Section::of("asked", "What was asked", vec![Block::paragraph(text), Block::table("asked", table, [])])
}

pub(super) fn environments(systems: &[System<'_>]) -> Option<Section> {
    let table = side_by_side(systems, |recorded| &recorded.environment.facts)?;
    Section::of("environment", "Test environments", vec![Block::table("environment", table, [])])
}

/// Names and values of each system; rows whose values differ are marked and come first. `None` without any.
fn side_by_side(systems: &[System<'_>], of: fn(&Recorded) -> &Vec<(String, String)>) -> Option<Table> {
    let value = |system: &System<'_>, name: &str| {
        let of_name = of(system.recorded).iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let values: Vec<&str> = of_name.collect();
        if values.is_empty() { NOTHING.to_owned() } else { values.join("; ") }
    };
    let differs = |name: &String| systems.iter().any(|system| value(system, name) != value(&systems[0], name));
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in systems.iter().flat_map(|system| of(system.recorded)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| !differs(name));
    let marks = names.iter().map(|name| differs(name).then_some(Mark::Differs)).collect();
    let head = Column::words("", names.iter().map(|name| (*name).clone()).collect());
    let column =
        |system: &System<'_>| Column::words(&system.name, names.iter().map(|name| value(system, name)).collect());
    let columns = [head].into_iter().chain(systems.iter().map(column)).collect();
    (!names.is_empty()).then_some(Table { columns, marks })
}

/// ` (table_size 100000 and 250000)`: how the first system that was asked something else differs from the first of all.
pub(super) fn unlike(systems: &[System<'_>]) -> String {
    let Some((first, others)) = systems.split_first() else { return String::new() };
    let of = |other: &System<'_>| {
        let (a, b) = first.cells.iter().find_map(|cell| Some((cell, other.cells.iter().find(|of| of.is_at(cell))?)))?;
        Some(unlike_work(&parameters(first, a), &parameters(other, b))).filter(|unlike| !unlike.is_empty())
    };
    others.iter().find_map(of).map_or(String::new(), |unlike| format!(" ({})", unlike_in_words(&unlike)))
}
