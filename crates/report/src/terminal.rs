//! The table in the terminal.

use crate::input::Report;
use crate::order_entry;
use crate::points::load_points;
use crate::sentence::answer;
use crate::sweep::{Sweep, errors_by_code};
use crate::table::{Column, Mark, Table};
use crate::text::{aligned, clean};
use plimsoll_model::summary::{OrderEntry, Point};

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Long lines of words are broken before this many characters.
const WIDTH: usize = 100;

/// Aligned columns with their units, peak and knee marked, then what order entry tells, the durability, the errors, the
/// caveats and the answer; ends with a line break. With `colour` heads are dim and the peak bold, nothing else differs.
pub fn terminal_table(report: &Report, colour: bool) -> String {
    let sweep = Sweep::new(report);
    let style = |code: &'static str, text: String| if colour { format!("{code}{text}{RESET}") } else { text };
    let mut lines = Vec::new();
    if !sweep.points.is_empty() {
        lines.extend(rows(&load_points(&sweep), style));
        lines.push(String::new());
    }
    if let Some((point, entry)) = order_entry::of(&sweep) {
        let title = format!(
            "order entry at {}, profile {}, fidelity {}: TPC-C-like",
            sweep.load_text(point),
            entry.profile,
            entry.fidelity
        );
        lines.push(style(BOLD, clean(&title)));
        lines.extend(rows(&order_entry::transactions(point, entry), style));
        lines.extend(facts(point, entry).iter().flat_map(|fact| wrapped(&clean(fact))));
        lines.push(String::new());
    }
    for listing in sweep.points.iter().filter_map(|point| point.original_listing.as_deref()) {
        lines.extend(aligned(listing).lines().map(clean));
        lines.push(String::new());
    }
    let durability = &report.summary.target.durability;
    if !durability.is_empty() {
        let settings: Vec<String> = durability.iter().map(|(name, value)| format!("{name}={value}")).collect();
        lines.push(clean(&format!("durability: {}", settings.join(", "))));
    }
    lines.extend(errors_by_code(sweep.points).map(|named| format!("errors by code: {named}")));
    lines.extend(
        report.summary.caveats.iter().map(|caveat| clean(&format!("caveat {}: {}", caveat.code, caveat.message))),
    );
    if lines.last().is_some_and(|last| !last.is_empty()) {
        lines.push(String::new());
    }
    lines.push(style(BOLD, answer(report)));
    lines.join("\n") + "\n"
}

/// What stands below the table of order entry, a paragraph each.
fn facts(point: &Point, entry: &OrderEntry) -> Vec<String> {
    let mut facts = vec![order_entry::new_orders(entry)];
    facts.extend(order_entry::backlog(entry));
    facts.push(order_entry::retries(point));
    facts.extend(order_entry::cost(point));
    facts.extend(order_entry::audit_summary(entry).map(|summary| format!("input audit: {summary}")));
    if !entry.skew.is_empty() {
        facts.push("key skew, percent of accesses that went to the hottest 1/10/20/50 % of keys:".to_owned());
        facts.extend(entry.skew.iter().map(|skew| format!("  {}", order_entry::skew_line(skew))));
    }
    facts.extend(entry.notes.iter().map(|note| format!("note: {note}")));
    facts
}

/// Lines of at most [`WIDTH`] characters, but for words that are longer; all but the first are indented.
fn wrapped(text: &str) -> Vec<String> {
    let begin = text.len() - text.trim_start().len();
    let (mut lines, mut line) = (Vec::new(), text[..begin].to_owned());
    for word in text.split_whitespace() {
        if line.trim().is_empty() || line.chars().count() + 1 + word.chars().count() <= WIDTH {
            line.push_str(if line.trim().is_empty() { "" } else { " " });
        } else {
            lines.push(std::mem::replace(&mut line, format!("{}  ", &text[..begin])));
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// The head of a table and its rows.
fn rows(table: &Table, style: impl Fn(&'static str, String) -> String) -> Vec<String> {
    let widths: Vec<usize> = table.columns.iter().enumerate().map(|(at, column)| width(table, at, column)).collect();
    let line = |text: &dyn Fn(usize) -> String| {
        let cells =
            table.columns.iter().zip(&widths).enumerate().map(|(at, (column, &width))| match column.is_number {
                true => format!("{:>width$}", text(at)),
                false => format!("{:<width$}", text(at)),
            });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![style(DIM, line(&|at| clean(&table.columns[at].name)))];
    lines.push(style(DIM, line(&|at| table.columns[at].unit.clone())));
    lines.extend((0..table.rows()).map(|row| {
        let text = line(&|at| cell(table, row, at));
        if table.mark(row) == Some(Mark::Peak) { style(BOLD, text) } else { text }
    }));
    lines
}

/// A cell as shown; the first column carries the marks in its spare room: `peak         32`.
fn cell(table: &Table, row: usize, at: usize) -> String {
    let text = clean(&table.columns[at].cells[row]);
    match table.mark(row).filter(|_| at == 0).and_then(Mark::tag) {
        Some(tag) => format!("{tag} {text:>6}"),
        None => text,
    }
}

fn width(table: &Table, at: usize, column: &Column) -> usize {
    let cells = (0..table.rows()).map(|row| cell(table, row, at).chars().count()).max().unwrap_or(0);
    cells.max(column.name.chars().count()).max(column.unit.chars().count())
}
