//! What the source printed beside what was measured here.

use crate::document::{Block, Figure, Section};
use crate::figure::beside;
use crate::format::{NOTHING, counted, short};
use crate::interval::Measured;
use crate::subject::{Published, Recorded};
use crate::table::{Column, Table};
use serde_json::{Value, json};

pub fn section(recorded: &Recorded) -> Option<Section> {
    let published = &recorded.published;
    if published.is_empty() {
        return None;
    }
    let caption = "What the source printed and what was measured here. Other machines give other numbers: what can be \
                   expected to hold is which is more, and by how much.";
    let remark = "An ordering or a range holds here where the intervals leave no doubt of it.";
    let table = table(published);
    let blocks = match beside::draw("published", published, caption) {
        Some(figure) => vec![Block::Figure(Figure { table, ..figure }), Block::remark(remark)],
        None => vec![Block::table("published", table, [remark.to_owned()])],
    };
    Section::of("published", "Published and measured here", blocks)
}

fn table(published: &[Published]) -> Table {
    let words = |of: fn(&Published) -> String| published.iter().map(of).collect::<Vec<_>>();
    let measured: Vec<Measured> =
        published.iter().map(|of| of.measured.as_ref().map(Measured::from).unwrap_or_default()).collect();
    let mut columns = vec![
        Column::words("place", words(|of| of.place.clone())),
        Column::words("of", words(place)),
        Column::words("metric", words(metric)),
        Column::words("published", words(printed)),
    ];
    if measured.iter().any(|of| of.value.is_some()) {
        columns.push(Column::measured("measured here", "", 1, &measured));
    }
    columns.push(Column::words("here", words(verdict)));
    if published.iter().any(|of| of.note.is_some() || of.kind != "printed") {
        columns.push(Column::words("note", words(note)));
    }
    Table::new(columns)
}

/// `fc, pool-6g, 64 connections`.
pub fn place(of: &Published) -> String {
    let connections = of.connections.map(|n| counted(n as f64, "connection"));
    let cpus = of.cpus.map(|n| counted(n as f64, "CPU"));
    let parts = [of.variant.clone(), of.rung.clone(), of.workload.clone(), connections, cpus];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn metric(of: &Published) -> String {
    match of.unit.is_empty() {
        true => of.metric.clone(),
        false => format!("{}, {}", of.metric, of.unit),
    }
}

fn printed(of: &Published) -> String {
    match (of.value, of.range, &of.ordering) {
        (Some(value), ..) => short(value),
        (_, Some((low, high)), _) => format!("{} to {}", short(low), short(high)),
        (_, _, Some(names)) => names.join(", then "),
        _ => NOTHING.to_owned(),
    }
}

/// `holds here`, `does not`, `not sure: …`; of a number its ratio to what was printed.
fn verdict(of: &Published) -> String {
    let ratio = || {
        let (value, measured) = (of.value.filter(|value| *value > 0.0)?, of.measured.as_ref()?);
        Some(format!("{} × what is printed", short(measured.value / value)))
    };
    match (of.holds, &of.unknown) {
        (Some(true), _) => "holds here".to_owned(),
        (Some(false), _) => "does not".to_owned(),
        (None, Some(why)) if of.measured.is_some() || of.ordering.is_some() => format!("not sure: {why}"),
        (None, Some(why)) => format!("not known: {why}"),
        (None, None) => ratio().unwrap_or_default(),
    }
}

fn note(of: &Published) -> String {
    let kind = if of.kind == "printed" { None } else { Some(of.kind.as_str()) };
    [kind, of.note.as_deref()].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// For programs.
pub fn data(of: &Published) -> Value {
    json!({
        "place": of.place,
        "of": place(of),
        "metric": of.metric,
        "unit": of.unit,
        "value": of.value,
        "range": of.range,
        "ordering": of.ordering,
        "measured": of.measured,
        "holds": of.holds,
        "unknown": of.unknown,
    })
}
