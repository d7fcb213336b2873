//! Published numbers beside measured ones.

use super::label::{Swatch, key, shortened};
use super::rows::Rows;
use crate::document::Figure;
use crate::document::NARROW;
use crate::interval::Measured;
use crate::scale::Scale;
use crate::subject::Published;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::Metric;
use plimsoll_model::number::{NOTHING, counted, fine_decimals, number, short, tick};
use plimsoll_model::published::{Printed, PublishedKind};

/// With more pairs than this, only the table has them.
const MOST_ROWS: usize = 60;

/// A number that was both printed and measured.
struct Pair<'a> {
    of: &'a Published,
    printed: f64,
    /// Measured ÷ published.
    ratio: Measured,
}

/// The published numbers that were also measured here, as pairs of marks on an axis of ratios; `None` without any.
pub fn draw(id: &str, of: &[Published], caption: &str) -> Option<Figure> {
    let pairs: Vec<Pair<'_>> = of.iter().filter_map(pair).collect();
    let drawn = &pairs[..pairs.len().min(MOST_ROWS)];
    (!pairs.is_empty()).then(|| Figure::drawn(id, caption, table(&pairs), |width| drawing(drawn, width)))
}

/// Whether it has a place on the axis: above 0 in both.
pub fn is_drawn(of: &Published) -> bool {
    pair(of).is_some()
}

fn pair(of: &Published) -> Option<Pair<'_>> {
    let printed = of.printed.number().filter(|value| *value > 0.0 && value.is_finite())?;
    let measured = of.measured.as_ref().filter(|measured| measured.value > 0.0 && measured.value.is_finite())?;
    Some(Pair { of, printed, ratio: Measured::from(&measured.scaled(1.0 / printed)) })
}

/// What was printed, in a few words: `fc, pool 6 GB, 32 connections: new orders`.
pub fn name(of: &Printed) -> String {
    let (place, metric) = (measured_on(of), of.metric.replace('_', " "));
    if place.is_empty() { metric } else { format!("{place}: {metric}") }
}

/// What it was measured on: `fc, pool 6 GB, 32 connections`.
fn measured_on(of: &Printed) -> String {
    let cpus = of.cpus.map(|cpus| counted(cpus as f64, "CPU"));
    let connections = of.connections.map(|connections| counted(connections as f64, "connection"));
    let names = [of.variant.clone(), of.rung.clone(), of.workload.clone(), of.probe.clone(), connections, cpus];
    names.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn table(pairs: &[Pair<'_>]) -> Table {
    let words = |cell: fn(&Printed) -> String| pairs.iter().map(|pair| cell(&pair.of.printed)).collect::<Vec<_>>();
    let measured: Vec<Measured> =
        pairs.iter().map(|pair| pair.of.measured.as_ref().map(Measured::from).unwrap_or_default()).collect();
    let ratio = |pair: &Pair<'_>| pair.ratio.value.map_or(NOTHING.to_owned(), |ratio| number(ratio, 2));
    let mut columns = vec![
        Column::words("place", words(|of| of.place.clone().unwrap_or_default())),
        Column::words("what", words(name)),
        Column::numbers("published", "", words(|of| of.value.map_or(NOTHING.to_owned(), tick))),
        Column::measured("measured", "", 2, &measured),
        Column::words("unit", words(unit)),
        Column::numbers("measured ÷ published", "", pairs.iter().map(ratio).collect()),
        Column::words("note", words(note)),
    ];
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    Table::new(columns)
}

/// The unit of transactions per second: it says what was measured, so that a row's name need not, which would be cut.
fn rate(of: &Printed) -> Option<&'static str> {
    (Metric::of_name(&of.metric)? == Metric::TransactionsPerSecond).then_some("transactions/s")
}

fn unit(of: &Printed) -> String {
    of.unit.clone().unwrap_or_default()
}

/// The kind of a number that is not simply printed, the limit that it is judged by if that is the plan's own, and what
/// the plan says about it.
pub fn note(of: &Printed) -> String {
    let kind = (of.kind != PublishedKind::Printed).then(|| of.kind.name().to_owned());
    let limit = of.limit.map(|(low, high)| {
        let unit = of.unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default();
        format!("judged by {} to {}{unit}, a limit of this plan, not of the source", tick(low), tick(high))
    });
    [kind, limit, of.note.clone()].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn drawing(pairs: &[Pair<'_>], width: f64) -> String {
    let row_name = |of: &Printed| match measured_on(of) {
        place if width > NARROW && rate(of).is_some() && !place.is_empty() => place,
        _ => name(of),
    };
    let names: Vec<String> = pairs.iter().map(|pair| row_name(&pair.of.printed)).collect();
    let mut svg = Svg::new(width, 0.0, "What was measured here against what was published");
    svg.panel_title((6.0, 14.0), "Measured ÷ published", "ratio, logarithmic");
    let entries = [
        (Swatch::Printed, String::new(), "published".to_owned()),
        (Swatch::Marker(0), "dot s1".to_owned(), "measured here".to_owned()),
    ];
    let top = 24.0 + key(&mut svg, &entries, 6.0, width, 35.0);
    let labels = if width > NARROW { 200.0 } else { 104.0 };
    let rows = Rows::new(width, names.iter().map(String::as_str), labels, top);
    let bottom = rows.bottom(pairs.len() as f64);
    let x = scale(pairs, &rows);
    rows.axis(&mut svg, &x, bottom);
    svg.line((x.at(1.0), rows.top), (x.at(1.0), bottom), "zero");
    for (row, (pair, name)) in pairs.iter().zip(&names).enumerate() {
        rows.name(&mut svg, row as f64, name);
        marks(&mut svg, &rows, row as f64, &x, pair, width > NARROW);
    }
    svg.with_height(bottom + 26.0).finish()
}

/// Around all ratios and 1; ends of intervals far beyond are cut off instead.
fn scale(pairs: &[Pair<'_>], rows: &Rows) -> Scale {
    let ratios = pairs.iter().filter_map(|pair| pair.ratio.value);
    let (low, high) = ratios.fold((1.0f64, 1.0f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    let within = |end: &f64| (0.5 * low..2.0 * high).contains(end);
    let ends = pairs.iter().flat_map(|pair| [pair.ratio.ends().0, pair.ratio.ends().1]).flatten().filter(within);
    let (low, high) = ends.fold((low, high), |(low, high), end| (low.min(end), high.max(end)));
    Scale::logarithmic_round((low.min(0.9), high.max(1.1)), (rows.left + 8.0, rows.right - 8.0))
}

fn marks(svg: &mut Svg, rows: &Rows, row: f64, x: &Scale, pair: &Pair<'_>, with_unit: bool) {
    let (y, ratio) = (rows.middle(row), pair.ratio.value.unwrap_or(1.0));
    let measured = ratio * pair.printed;
    svg.line((x.at(1.0), y), (x.at(ratio), y), "line thin s1");
    rows.whisker(svg, row, x, &pair.ratio);
    let unit = rate(&pair.of.printed).map_or_else(|| unit(&pair.of.printed), str::to_owned);
    let hint = |what: &str, value: String| format!("{what}: {value} {unit}");
    svg.marker((x.at(1.0), y), 4.0, 2, "printed", &hint("published", tick(pair.printed)));
    svg.dot((x.at(ratio), y), 4.0, "dot s1", &hint("measured", brief(measured)));
    let printed = pair.of.printed.value.map_or_else(|| brief(pair.printed), tick);
    let label = format!("{printed} → {}", brief(measured));
    let label = if with_unit { format!("{label} {unit}") } else { label };
    svg.text((rows.right + 10.0, y + 4.0), Anchor::Start, "tick", &shortened(&label, 196.0));
}

/// Three digits, or two for a number so small that it would show as zero.
fn brief(value: f64) -> String {
    if value.abs() < 0.01 { number(value, fine_decimals(value)) } else { short(value) }
}
