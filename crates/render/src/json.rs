//! The document as data, and data within a page.

use plimsoll_model::layout::{clean, clean_lines};
use plimsoll_model::text::escaped_json;
use plimsoll_report::document::{Block, Chart, Document, Figure, Finding, Item, Section, TitledTable};
use plimsoll_report::table::{Column, Table};
use serde_json::{Value, json};

/// Adding fields does not raise it.
const SCHEMA_VERSION: u32 = 1;

/// One JSON document.
pub(super) fn text(document: &Document) -> String {
    let value = json!({
        "schema_version": SCHEMA_VERSION,
        "title": document.title,
        "answer": document.answer,
        "findings": document.findings.iter().map(finding).collect::<Vec<_>>(),
        "facts": document.facts,
        "generated": document.generated,
        "sections": document.sections.iter().map(section).collect::<Vec<_>>(),
        "data": document.data,
    });
    format!("{:#}\n", Inert(harmless(value)))
}

/// A chart for a script element.
pub(super) fn embedded(chart: &Chart) -> String {
    // Numbers and texts always become JSON; not-a-number becomes null.
    let value = serde_json::to_value(chart).unwrap_or_default();
    Inert(harmless(value)).to_string()
}

fn section(section: &Section) -> Value {
    json!({
        "id": section.id,
        "heading": section.heading,
        "blocks": section.blocks.iter().map(block).collect::<Vec<_>>(),
    })
}

fn block(block: &Block) -> Value {
    match block {
        Block::Subheading(text) => json!({"kind": "subheading", "text": text}),
        Block::Paragraph(text) => json!({"kind": "paragraph", "text": text}),
        Block::Lead { lead, text } => json!({"kind": "lead", "lead": lead, "text": text}),
        Block::Remark(text) => json!({"kind": "remark", "text": text}),
        Block::List(items) => json!({"kind": "list", "items": items.iter().map(item).collect::<Vec<_>>()}),
        Block::Pairs(pairs) => {
            let pairs: Vec<Value> = pairs.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
            json!({"kind": "pairs", "pairs": pairs})
        }
        Block::Table(table) => titled(table, None),
        Block::Folded { words, table } => titled(table, Some(words)),
        Block::Figure(figure) => self::figure(figure),
        Block::Listing(text) => json!({"kind": "listing", "text": text}),
        Block::Caveats(caveats) => json!({"kind": "caveats", "caveats": caveats}),
    }
}

/// A table with its name, and the words that represent it while it is folded.
fn titled(of: &TitledTable, folded: Option<&str>) -> Value {
    let TitledTable { name, table, remarks } = of;
    let mut value = json!({"kind": "table", "name": name, "table": self::table(table), "remarks": remarks});
    if let Some(words) = folded {
        value["folded"] = words.into();
    }
    value
}

fn finding(finding: &Finding) -> Value {
    json!({"label": finding.label, "text": finding.text})
}

fn item(item: &Item) -> Value {
    json!({"text": item.text, "small": item.small, "warning": item.warning})
}

fn figure(figure: &Figure) -> Value {
    json!({
        "kind": "figure",
        "id": figure.id,
        "caption": figure.caption,
        "table": table(&figure.table),
        "chart": figure.chart,
    })
}

fn table(table: &Table) -> Value {
    let marks: Vec<Value> =
        (0..table.rows()).map(|row| table.mark(row).map_or(Value::Null, |mark| mark.name().into())).collect();
    json!({"columns": table.columns.iter().map(column).collect::<Vec<_>>(), "marks": marks})
}

fn column(column: &Column) -> Value {
    let cells: Vec<Value> = (0..column.cells.len()).map(|row| cell(column, row)).collect();
    json!({"name": column.name, "unit": column.unit, "cells": cells})
}

/// Words as they are; for a number its value, its interval, and why an end of that is missing.
fn cell(column: &Column, row: usize) -> Value {
    let Some(value) = column.value(row) else {
        return json!({"text": column.cells[row]});
    };
    let mut cell = json!({"text": column.cells[row], "value": value});
    if let Some(estimate) = column.of.get(row).and_then(|measured| measured.estimate.as_ref()) {
        let (low, high) = column.ends(row);
        cell["low"] = low.into();
        cell["high"] = high.into();
        cell["confidence"] = estimate.confidence.into();
        cell["method"] = estimate.method.clone().into();
        cell["missing"] = estimate.missing.clone().into();
    }
    cell
}

/// The same without characters that could steer the terminal of whoever prints its texts.
fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean_lines(&text)),
        Value::Array(all) => Value::Array(all.into_iter().map(harmless).collect()),
        Value::Object(all) => Value::Object(all.into_iter().map(|(name, of)| (clean(&name), harmless(of))).collect()),
        other => other,
    }
}

/// A value whose text cannot end an element of a page or reverse a line: such characters are written like `\u003c`.
struct Inert(Value);

impl std::fmt::Display for Inert {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = if f.alternate() { format!("{:#}", self.0) } else { self.0.to_string() };
        // These occur only inside texts.
        for c in escaped_json(&text).chars() {
            match c {
                '<' | '>' | '&' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_end_a_script_is_written_as_its_number() {
        let evil = "</script><!--&\u{2028}\u{202e}\u{1b}[2J\n\"x";
        let text = Inert(harmless(json!({ "a": evil }))).to_string();
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{202e}', '\u{1b}', '\n']), "{text}");
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["a"], "</script><!--&[2J\n\"x");
        let unchanged: Value = serde_json::from_str(&Inert(json!([evil, "\u{10fffe}"])).to_string()).unwrap();
        assert_eq!(unchanged, json!([evil, "\u{10fffe}"]), "nothing is lost by the writing itself");
    }
}
