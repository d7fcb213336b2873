//! Changes in percent by row and group: what more CPUs bring by system and workload (Bourke's comparison of operating
//! systems), or one side against another by load point.

use super::label::{shortened, width_of};
use super::rows::Rows;
use crate::document::Figure;
use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::number::signed_percent;

/// Changes as shares: with more CPUs ÷ with fewer − 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deltas {
    /// `2 CPUs against 1`
    pub what: String,
    /// What changes: `throughput`.
    pub of: String,
    pub systems: Vec<String>,
    pub workloads: Vec<String>,
    /// By workload, then by system; an empty cell is drawn as empty.
    pub changes: Vec<Vec<Measured>>,
}

impl Deltas {
    /// Percent.
    fn at(&self, workload: usize, system: usize) -> Measured {
        let change = self.changes.get(workload).and_then(|row| row.get(system));
        change.map(|change| change.scaled(100.0)).unwrap_or_default()
    }

    fn all(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.workloads.len()).flat_map(|workload| (0..self.systems.len()).map(move |system| (workload, system)))
    }
}

/// `None` without any change.
pub fn draw(id: &str, deltas: &Deltas, caption: &str) -> Option<Figure> {
    let any = deltas.all().any(|(workload, system)| deltas.at(workload, system).value.is_some());
    any.then(|| Figure::drawn(id, caption, table(deltas), |width| drawing(deltas, width)))
}

fn table(deltas: &Deltas) -> Table {
    let mut columns = vec![Column::words("", deltas.systems.clone())];
    for (workload, name) in deltas.workloads.iter().enumerate() {
        let cells: Vec<Measured> = (0..deltas.systems.len()).map(|system| deltas.at(workload, system)).collect();
        columns.push(Column::measured(name, "%", 1, &cells));
    }
    Table::new(columns)
}

/// Height of a workload's heading, in rows.
const HEADING: f64 = 1.0;

/// Room for percentages on either side of the bars.
const LABELS: f64 = 56.0;

fn drawing(deltas: &Deltas, width: f64) -> String {
    let rows = Rows::new(width, deltas.systems.iter().map(String::as_str), 8.0, 28.0);
    let height = deltas.workloads.len() as f64 * (HEADING + deltas.systems.len() as f64);
    let bottom = rows.bottom(height);
    let mut svg = Svg::new(width, bottom + 26.0, &format!("Change of {}, {}", deltas.of, deltas.what));
    svg.panel_title((6.0, 14.0), &shortened(&deltas.what, width - 150.0), &format!("% change of {}", deltas.of));
    let x = scale(deltas, &rows);
    rows.axis(&mut svg, &x, bottom);
    for (workload, name) in deltas.workloads.iter().enumerate() {
        let first = workload as f64 * (HEADING + deltas.systems.len() as f64);
        let y = rows.top + rows.pitch * (first + 0.75);
        svg.text((6.0, y), Anchor::Start, "label strong halo", &shortened(name, width - 12.0));
        for (system, name) in deltas.systems.iter().enumerate() {
            let row = first + HEADING + system as f64;
            rows.name(&mut svg, row, name);
            bar(&mut svg, &rows, row, &x, &deltas.at(workload, system));
        }
    }
    svg.finish()
}

/// Around all changes, 0 and some room, so that a chance percent does not look like an effect.
fn scale(deltas: &Deltas, rows: &Rows) -> Scale {
    let values = deltas.all().filter_map(|(workload, system)| deltas.at(workload, system).value);
    let (low, high) = values.fold((0.0f64, 10.0f64), |(low, high), value| (low.min(value), high.max(value)));
    let margin = if low < 0.0 { LABELS } else { 0.0 };
    Scale::linear((low, 1.04 * high), (rows.left + margin, rows.right - LABELS))
}

fn bar(svg: &mut Svg, rows: &Rows, row: f64, x: &Scale, percents: &Measured) {
    let Some(value) = percents.value else { return rows.empty(svg, row, x.at(0.0)) };
    let class = if value < 0.0 { "bar s4" } else { "bar s1" };
    rows.bar(svg, row, x, (0.0, value), class, &format!("{} %", percents.label_with_ends(1)));
    rows.whisker(svg, row, x, percents);
    let label = signed_percent(value / 100.0);
    let (low, high) = percents.ends();
    let y = rows.middle(row) + 4.0;
    match value < 0.0 {
        true => {
            let at = x.at(low.unwrap_or(value).min(value)).max(rows.left + width_of(&label) + 8.0);
            svg.text((at - 8.0, y), Anchor::End, "tick halo", &label);
        }
        false => {
            let at = x.at(high.unwrap_or(value).max(value)).min(rows.right - width_of(&label));
            svg.text((at + 8.0, y), Anchor::Start, "tick halo", &label);
        }
    }
}
