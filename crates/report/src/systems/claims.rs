//! What the source of several systems printed, and what each of them shows about it.

use super::System;
use crate::document::{Block, Section};
use crate::figure::beside::name;
use crate::lab::published::said;
use crate::subject::Published;
use crate::table::{Column, Table};
use plimsoll_model::number::{NOTHING, short};
use plimsoll_model::published::Printed;

/// Every result that a plan carries, once, with a column for each system, and on how many of them it holds.
pub(super) fn section(systems: &[System<'_>]) -> Option<Section> {
    let mut results: Vec<&Printed> = Vec::new();
    for of in systems.iter().flat_map(|system| &system.recorded.published) {
        if of.printed.kind.is_result() && !results.contains(&&of.printed) {
            results.push(&of.printed);
        }
    }
    if results.is_empty() {
        return None;
    }
    let words = |of: &dyn Fn(&Printed) -> String| results.iter().map(|printed| of(printed)).collect::<Vec<_>>();
    let column = |system: &System<'_>| Column::words(&system.name, words(&|printed| here(asked(system, printed))));
    let mut columns = vec![
        Column::words("place", words(&|printed| printed.place.clone().unwrap_or_default())),
        Column::words("what", words(&name)),
        Column::words("published", words(&said)),
        Column::words("unit", words(&|printed| printed.unit.clone().unwrap_or_default())),
    ];
    columns.extend(systems.iter().map(column));
    columns.push(Column::words("holds on", words(&|printed| holds_on(systems, printed))));
    columns.push(Column::words("note", words(&|printed| printed.note.clone().unwrap_or_default())));
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    let remark =
        "A number is what was measured there; an ordering or a range holds if the intervals leave no doubt about it.";
    Section::of(
        "published",
        "Published and measured",
        vec![Block::table("claims", Table::new(columns), [remark.to_owned()])],
    )
}

fn asked<'a>(system: &System<'a>, printed: &Printed) -> Option<&'a Published> {
    system.recorded.published.iter().find(|of| of.printed == *printed)
}

/// `1,234`, `holds`, `3.4: does not hold`; nothing if nothing was measured.
fn here(of: Option<&Published>) -> String {
    let measured = of.and_then(|of| of.measured.as_ref()).map(|measured| short(measured.value));
    let holds = match of.map(|of| (of.holds, &of.unknown)) {
        Some((Some(true), _)) => Some("holds"),
        Some((Some(false), _)) => Some("does not hold"),
        Some((None, Some(_))) if measured.is_some() => Some("cannot be decided"),
        _ => None,
    };
    let told: Vec<String> = measured.into_iter().chain(holds.map(str::to_owned)).collect();
    if told.is_empty() { NOTHING.to_owned() } else { told.join(": ") }
}

/// `2 of 3`: only those where that can be decided.
fn holds_on(systems: &[System<'_>], printed: &Printed) -> String {
    let told: Vec<bool> = systems.iter().filter_map(|system| asked(system, printed)?.holds).collect();
    match told.len() {
        0 => String::new(),
        all => format!("{} of {all}", told.iter().filter(|holds| **holds).count()),
    }
}
