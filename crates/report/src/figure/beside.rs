//! Published beside measured.

use super::NARROW;
use super::label::{Swatch, key, shortened};
use super::rows::Rows;
use crate::document::Figure;
use crate::format::{NOTHING, number, short, tick};
use crate::interval::Measured;
use crate::scale::Scale;
use crate::subject::Published;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};

/// More pairs than this stand in the table alone.
const MOST_ROWS: usize = 60;

/// A number that was printed and measured.
struct Pair<'a> {
    of: &'a Published,
    printed: f64,
    /// Measured ÷ published.
    ratio: Measured,
}

/// The published numbers that were measured here as well, as pairs of marks on an axis of ratios; None without any.
/// Ranges and orderings stand in the table behind it.
pub fn draw(id: &str, of: &[Published], caption: &str) -> Option<Figure> {
    let pairs: Vec<Pair<'_>> = of.iter().filter_map(pair).take(MOST_ROWS).collect();
    let any = !pairs.is_empty();
    any.then(|| Figure::drawn(id, caption, table(of), |width| drawing(&pairs, width)))
}

fn pair(of: &Published) -> Option<Pair<'_>> {
    let printed = of.value.filter(|value| *value > 0.0 && value.is_finite())?;
    let measured = of.measured.as_ref().filter(|measured| measured.value > 0.0 && measured.value.is_finite())?;
    Some(Pair { of, printed, ratio: Measured::from(&measured.scaled(1.0 / printed)) })
}

/// What was printed, in a few words: `new orders, fc, pool 6 GB, 32 connections`.
fn name(of: &Published) -> String {
    let cpus = of.cpus.map(|cpus| format!("{cpus} CPUs"));
    let connections = of.connections.map(|connections| format!("{connections} connections"));
    let metric = of.metric.replace('_', " ");
    let words = [Some(metric), of.workload.clone(), of.variant.clone(), of.rung.clone(), connections, cpus];
    words.into_iter().flatten().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

fn table(of: &[Published]) -> Table {
    let words = |cell: fn(&Published) -> String| of.iter().map(cell).collect::<Vec<_>>();
    let measured: Vec<Measured> =
        of.iter().map(|of| of.measured.as_ref().map(Measured::from).unwrap_or_default()).collect();
    let ratio =
        |of: &Published| pair(of).and_then(|pair| pair.ratio.value).map_or(NOTHING.to_owned(), |r| number(r, 2));
    let mut columns = vec![
        Column::words("place", words(|of| of.place.clone())),
        Column::words("what", words(name)),
        Column::words("published", words(published)),
        Column::measured("measured", "", 2, &measured),
        Column::words("unit", words(|of| of.unit.clone())),
        Column::numbers("measured ÷ published", "", words(ratio)),
        Column::words("holds", words(holds)),
    ];
    columns.retain(|column| column.cells.iter().any(|cell| !matches!(cell.as_str(), "" | NOTHING)));
    Table::new(columns)
}

/// The number, range or ordering as it was printed; what was derived or claimed is said to be.
fn published(of: &Published) -> String {
    let told = match (of.value, of.range, &of.ordering) {
        (Some(value), _, _) => short(value),
        (None, Some((low, high)), _) => format!("{} – {}", tick(low), tick(high)),
        (None, None, Some(ordering)) => ordering.join(" before "),
        (None, None, None) => NOTHING.to_owned(),
    };
    if of.kind.is_empty() || of.kind == "printed" { told } else { format!("{told} ({})", of.kind) }
}

fn holds(of: &Published) -> String {
    match (of.holds, &of.unknown) {
        (Some(true), _) => "holds here".to_owned(),
        (Some(false), _) => "does not hold".to_owned(),
        (None, Some(why)) => format!("not known: {why}"),
        (None, None) => String::new(),
    }
}

fn drawing(pairs: &[Pair<'_>], width: f64) -> String {
    let names: Vec<String> = pairs.iter().map(|pair| name(pair.of)).collect();
    let mut svg = Svg::new(width, 0.0, "What was measured here against what was published");
    svg.panel_title((6.0, 14.0), "Measured ÷ published", "ratio, logarithmic");
    let entries = [
        (Swatch::Printed, String::new(), "published".to_owned()),
        (Swatch::Marker(0), "dot s1".to_owned(), "measured here".to_owned()),
    ];
    let top = 24.0 + key(&mut svg, &entries, (6.0, width), 35.0);
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
    let hint = |what: &str, value: f64| format!("{what}: {} {}", short(value), pair.of.unit);
    svg.marker((x.at(1.0), y), 4.0, 2, "printed", &hint("published", pair.printed));
    svg.dot((x.at(ratio), y), 4.0, "dot s1", &hint("measured", measured));
    let label = format!("{} → {}", short(pair.printed), short(measured));
    let label = if with_unit { format!("{label} {}", pair.of.unit) } else { label };
    svg.text((rows.right + 10.0, y + 4.0), Anchor::Start, "tick", &shortened(&label, 196.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_printed_is_told_as_it_was_printed() {
        let of = |range, ordering| published(&Published { range, ordering, ..Published::default() });
        assert_eq!(of(Some((0.05, 1.5)), None), "0.05 – 1.5");
        assert_eq!(of(None, Some(vec!["fc".to_owned(), "nfs".to_owned()])), "fc before nfs", "less may be better");
    }
}
