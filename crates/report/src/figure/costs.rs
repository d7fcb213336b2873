//! What a transaction cost, a group of bars for each kind of cost.

use super::label::{LINE, shortened, widest};
use crate::document::Figure;
use crate::document::NARROW;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::diagnosis::Cost;
use plimsoll_model::number::{NOTHING, short};

/// Name, unit and value. Each has an axis of its own, from 0.
type Kind = (&'static str, &'static str, fn(&Cost) -> Option<f64>);

const KINDS: [Kind; 13] = [
    ("Server CPU", "µs", |cost| cost.server_cpu_us),
    ("Client CPU", "µs", |cost| cost.client_cpu_us),
    ("Syncs", "", |cost| cost.fsyncs),
    ("Reads", "requests", |cost| cost.reads),
    ("Writes", "requests", |cost| cost.writes),
    ("Read", "KB", |cost| cost.read_kb),
    ("Written", "KB", |cost| cost.written_kb),
    ("Share of reads", "%", |cost| cost.read_share.map(|share| 100.0 * share)),
    ("Request size", "KB", |cost| cost.request_kb),
    ("Context switches", "", |cost| cost.context_switches),
    ("Host CPU", "µs", |cost| cost.host_cpu_us),
    ("Storage server CPU", "µs", |cost| cost.storage_cpu_us),
    ("Round trips to storage", "", |cost| cost.storage_round_trips),
];

const BAR: f64 = 12.0;
const PITCH: f64 = 19.0;

/// Room for a number right of its bar.
const LABEL: f64 = 50.0;

/// By variant or load point. `None` if nothing is known, or if there is only one, with nothing to compare it with.
pub fn draw(id: &str, of: &[(String, Cost)], caption: &str) -> Option<Figure> {
    let is_known = |kind: &Kind| of.iter().any(|(_, cost)| value(kind, cost).is_some_and(|value| value > 0.0));
    let kinds: Vec<Kind> = KINDS.into_iter().filter(is_known).collect();
    if kinds.is_empty() || of.len() < 2 {
        return None;
    }
    Some(Figure::drawn(id, caption, table(&kinds, of), |width| drawing(&kinds, of, width)))
}

fn value(kind: &Kind, cost: &Cost) -> Option<f64> {
    kind.2(cost).filter(|value| value.is_finite() && *value >= 0.0)
}

fn table(kinds: &[Kind], of: &[(String, Cost)]) -> Table {
    let mut columns = vec![Column::words("", of.iter().map(|(name, _)| name.clone()).collect())];
    for kind in kinds {
        let cells = of.iter().map(|(_, cost)| value(kind, cost).map_or(NOTHING.to_owned(), short)).collect();
        columns.push(Column::numbers(kind.0, kind.1, cells));
    }
    Table::new(columns)
}

fn drawing(kinds: &[Kind], of: &[(String, Cost)], width: f64) -> String {
    let names = 1.06 * widest(of.iter().map(|(name, _)| name.as_str())).min(0.3 * width) + 16.0;
    let beside = if width > NARROW { 3 } else { 1 };
    let pitch = (width - names) / beside as f64;
    let height = 2.0 * LINE + PITCH * of.len() as f64 + 10.0;
    let lines = kinds.len().div_ceil(beside);
    let mut svg = Svg::new(width, height * lines as f64, "What a transaction cost");
    for (at, kind) in kinds.iter().enumerate() {
        let (left, top) = (names + pitch * (at % beside) as f64, height * (at / beside) as f64);
        if at % beside == 0 {
            for (row, (name, _)) in of.iter().enumerate() {
                svg.text((names - 9.0, middle(top, row) + 4.0), Anchor::End, "label", &shortened(name, names - 12.0));
            }
        }
        panel(&mut svg, left, top, pitch - LABEL - 8.0, kind, of);
    }
    svg.finish()
}

/// Middle of a bar in a panel that begins at `top`.
fn middle(top: f64, row: usize) -> f64 {
    top + 1.6 * LINE + PITCH * (row as f64 + 0.5)
}

fn panel(svg: &mut Svg, left: f64, top: f64, width: f64, kind: &Kind, of: &[(String, Cost)]) {
    svg.panel_title((left, top + 14.0), kind.0, kind.1);
    let highest = of.iter().filter_map(|(_, cost)| value(kind, cost)).fold(0.0, f64::max);
    let x = Scale::linear((0.0, highest), (left, left + width));
    for (row, (name, cost)) in of.iter().enumerate() {
        let y = middle(top, row);
        let Some(value) = value(kind, cost) else {
            svg.line((left + 3.0, y), (left + 11.0, y), "empty");
            svg.text((left + 16.0, y + 4.0), Anchor::Start, "tick", "not measured");
            continue;
        };
        let hint = format!("{name}: {} {}", short(value), kind.1);
        svg.bar((left, y - 0.5 * BAR), (x.at(value) - left, BAR), "bar s1", hint.trim_end());
        svg.text((x.at(value) + 6.0, y + 4.0), Anchor::Start, "tick", &short(value));
    }
    svg.line((left, top + 1.6 * LINE), (left, middle(top, of.len()) - 0.5 * PITCH), "zero");
}
