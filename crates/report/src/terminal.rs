//! The table in the terminal.

use crate::input::Report;
use crate::points::load_points;
use crate::sentence::answer;
use crate::sweep::{Sweep, errors_by_code};
use crate::table::{Column, Mark, Table};
use crate::text::clean;

const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Aligned columns with their units, peak and knee marked, then the durability, the errors, the caveats and the
/// answer; ends with
/// a line break. With `colour` the head is dim and the peak bold, nothing else differs.
pub fn terminal_table(report: &Report, colour: bool) -> String {
    let sweep = Sweep::new(report);
    let style = |code: &'static str, text: String| if colour { format!("{code}{text}{RESET}") } else { text };
    let mut lines = Vec::new();
    if !sweep.points.is_empty() {
        let table = load_points(&sweep);
        let widths: Vec<usize> =
            table.columns.iter().enumerate().map(|(at, column)| width(&table, at, column)).collect();
        lines.push(style(DIM, line(&widths, |at| table.columns[at].name.clone())));
        lines.push(style(DIM, line(&widths, |at| table.columns[at].unit.clone())));
        for row in 0..table.rows() {
            let text = line(&widths, |at| cell(&table, row, at));
            lines.push(if table.mark(row) == Some(Mark::Peak) { style(BOLD, text) } else { text });
        }
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

/// A cell as shown; the first column carries the marks in its spare room: `peak         32`.
fn cell(table: &Table, row: usize, at: usize) -> String {
    let text = &table.columns[at].cells[row];
    match table.mark(row).filter(|_| at == 0) {
        Some(mark) => format!("{} {text:>6}", mark.name()),
        None => text.clone(),
    }
}

fn width(table: &Table, at: usize, column: &Column) -> usize {
    let cells = (0..table.rows()).map(|row| cell(table, row, at).chars().count()).max().unwrap_or(0);
    cells.max(column.name.chars().count()).max(column.unit.chars().count())
}

fn line(widths: &[usize], text: impl Fn(usize) -> String) -> String {
    let cells: Vec<String> = widths.iter().enumerate().map(|(at, &width)| format!("{:>width$}", text(at))).collect();
    cells.join("  ")
}
