//! How long transactions took: the curve of percentiles, and by second.

use super::label::{LineEnd, Swatch, axis_room, key, names, widest};
use super::{Panel, thinned};
use crate::document::Figure;
use crate::document::NARROW;
use crate::scale::Scale;
use crate::subject::Latency;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::number::{NOTHING, number, short, tick};
use plimsoll_model::total;

/// Ticks of the axis of percentiles, as shares; each nine takes as much room.
const TICKS: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/// Rows of the table behind, as shares.
const TOLD: [f64; 7] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999];

/// A line with what can be drawn of it: shares and milliseconds.
struct Curve {
    name: String,
    number: usize,
    places: Vec<(f64, f64)>,
}

impl Curve {
    fn class(&self) -> String {
        format!("s{}", self.number % 8 + 1)
    }

    /// The latency that exactly this share did not exceed, where it is known.
    fn at(&self, share: f64) -> Option<f64> {
        self.places.iter().find(|place| (place.0 - share).abs() < 1e-9).map(|place| place.1)
    }
}

/// Latency over percentiles up to the last that the samples can show, a line for each curve; `None` without any.
pub fn percentiles(id: &str, of: &[(String, &Latency)], caption: &str) -> Option<Figure> {
    let curve = |(number, (name, latency)): (usize, &(String, &Latency))| Curve {
        name: name.clone(),
        number,
        places: told(latency),
    };
    let curves: Vec<Curve> = of.iter().enumerate().map(curve).filter(|curve| curve.places.len() > 1).collect();
    let any = !curves.is_empty();
    any.then(|| Figure::drawn(id, caption, percentiles_table(&curves), |width| percentiles_drawing(&curves, width)))
}

/// The places of a curve that can be drawn and that at least one transaction lies beyond.
fn told(latency: &Latency) -> Vec<(f64, f64)> {
    let all: f64 = latency.columns.iter().flatten().map(|count| *count as f64).sum();
    let is_told = |share: f64| (0.0..1.0).contains(&share) && (all == 0.0 || (1.0 - share) * all >= 0.999);
    let usable = |&(share, ms): &(f64, f64)| is_told(share) && ms > 0.0 && ms.is_finite();
    latency.percentiles.iter().copied().filter(usable).collect()
}

/// How many nines a share begins with: 0.9 with one, 0.999 with three.
fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

fn percentiles_table(curves: &[Curve]) -> Table {
    let told: Vec<f64> =
        TOLD.into_iter().filter(|share| curves.iter().any(|curve| curve.at(*share).is_some())).collect();
    let percents = told.iter().map(|share| tick(100.0 * share)).collect();
    let mut columns = vec![Column::numbers("transactions that took at most", "%", percents)];
    for curve in curves {
        let cell = |share: &f64| curve.at(*share).map_or(NOTHING.to_owned(), short);
        columns.push(Column::numbers(&curve.name, "ms", told.iter().map(cell).collect()));
    }
    Table::new(columns)
}

fn percentiles_drawing(curves: &[Curve], width: f64) -> String {
    let longest = widest(curves.iter().map(|curve| curve.name.as_str()));
    let is_named_at_ends = width > NARROW && (2..=8).contains(&curves.len()) && longest < 180.0;
    let room = if is_named_at_ends { longest + 16.0 } else { 18.0 };
    let mut svg = Svg::new(width, 0.0, "Latency over percentiles");
    let keyed = curves.len() > 1 && !is_named_at_ends;
    let head = if keyed { percentiles_key(&mut svg, curves, width) } else { 0.0 };
    let left = axis_room(0.0, width);
    let panel = Panel { left, right: width - 12.0 - room, top: head + 40.0, bottom: head + 270.0 };
    let all = || curves.iter().flat_map(|curve| &curve.places);
    let (low, high) = all().fold((f64::INFINITY, 0.0f64), |(low, high), place| (place.1.min(low), place.1.max(high)));
    let last = all().map(|place| nines(place.0)).fold(1.0, f64::max);
    let (x, y) = (
        Scale::linear((0.0, last), (panel.left, panel.right)),
        Scale::logarithmic_round((low, high), panel.vertical()),
    );
    let shown = TICKS.into_iter().filter(|share| nines(*share) <= last + 1e-9);
    let ticks: Vec<(f64, String)> = shown.map(|share| (x.at(nines(share)), tick(100.0 * share))).collect();
    for (at, _) in &ticks {
        svg.line((*at, panel.top), (*at, panel.bottom), "grid");
    }
    panel.frame(&mut svg, &y, 6, "Latency", "ms, logarithmic");
    let mut ends = Vec::new();
    for curve in curves {
        let class = curve.class();
        let places = apart(curve.places.iter().map(|&(share, ms)| (x.at(nines(share)), y.at(ms))));
        svg.polyline(&places, &format!("line {class}"));
        for share in TICKS {
            if let Some(ms) = curve.at(share).filter(|_| nines(share) <= last) {
                let hint = format!("{}: {} % took at most {} ms", curve.name, tick(100.0 * share), short(ms));
                svg.marker((x.at(nines(share)), y.at(ms)), 3.4, curve.number, &format!("dot {class}"), &hint);
            }
        }
        ends.extend(places.last().map(|place| LineEnd { name: curve.name.clone(), class, place: *place }));
    }
    if is_named_at_ends {
        names(&mut svg, &ends, (panel.top, panel.bottom), width);
    }
    panel.horizontal_axis(&mut svg, &thinned(ticks), "% of transactions, every nine equally wide");
    svg.with_height(panel.bottom + 46.0).finish()
}

fn percentiles_key(svg: &mut Svg, curves: &[Curve], width: f64) -> f64 {
    let entry = |curve: &Curve| (Swatch::Marker(curve.number), format!("dot {}", curve.class()), curve.name.clone());
    key(svg, &curves.iter().map(entry).collect::<Vec<_>>(), 6.0, width, 14.0)
}

/// Without places that the eye cannot tell from the one before; the last stays.
fn apart(places: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut skipped = None;
    for place in places {
        let is_close = |before: &(f64, f64)| (place.0 - before.0).abs() < 1.0 && (place.1 - before.1).abs() < 1.0;
        skipped = match kept.last().is_some_and(is_close) {
            true => Some(place),
            false => {
                kept.push(place);
                None
            }
        };
    }
    kept.extend(skipped);
    kept
}

/// Most columns and rows of a heat map, by the width of the figure.
fn most(width: f64) -> (usize, usize) {
    if width > NARROW { (96, 28) } else { (48, 20) }
}

/// The number of shades that can be told apart in grey.
const SHADES: usize = 6;

/// Seconds and bins merged so that they can be told apart: counts by column, then by row from below.
struct Grid {
    counts: Vec<Vec<u64>>,
    /// Seconds in a column.
    seconds: usize,
    /// Lower end of the lowest row and upper ends of all, milliseconds.
    edges: Vec<f64>,
    /// The largest of the counts.
    most: u64,
}

impl Grid {
    /// `None` with fewer than two seconds or without a transaction.
    fn of(latency: &Latency, columns: usize, rows: usize) -> Option<Grid> {
        let bins = latency.bins_ms.len();
        let is_used =
            |bin: &usize| latency.columns.iter().any(|column| column.get(*bin).is_some_and(|count| *count > 0));
        let (first, last) = ((0..bins).find(is_used)?, (0..bins).rfind(is_used)?);
        if latency.columns.len() < 2 || !latency.bins_ms.iter().all(|end| *end > 0.0 && end.is_finite()) {
            return None;
        }
        let (width, height) = (latency.columns.len().div_ceil(columns), (last + 1 - first).div_ceil(rows));
        let row = |of: &[Vec<u64>], row: usize| -> u64 {
            let bins = first + row * height..(first + (row + 1) * height).min(last + 1);
            let counts = of.iter().flat_map(|column| bins.clone().filter_map(|bin| column.get(bin)));
            total(counts.copied())
        };
        let rows = (last + 1 - first).div_ceil(height);
        let column = |chunk: &[Vec<u64>]| (0..rows).map(|n| row(chunk, n)).collect();
        let counts: Vec<Vec<u64>> = latency.columns.chunks(width).map(column).collect();
        let most = counts.iter().flatten().copied().max().unwrap_or(1);
        let ends = &latency.bins_ms;
        let lowest =
            if first > 0 { ends[first - 1] } else { ends[0] * ends[0] / ends.get(1).unwrap_or(&(2.0 * ends[0])) };
        let upper = (0..rows).map(|n| ends[(first + (n + 1) * height - 1).min(last)]);
        Some(Grid {
            counts,
            seconds: width * latency.width.max(1),
            edges: std::iter::once(lowest).chain(upper).collect(),
            most,
        })
    }

    /// From 0 for none to [`SHADES`]; proportional to the square root, so that what is rare still shows.
    fn shade(&self, count: u64) -> usize {
        ((count as f64 / self.most as f64).sqrt() * SHADES as f64).ceil() as usize
    }
}

/// How many transactions took how long in each second: time from left to right, latency upwards. `None` with fewer than
/// two seconds.
pub fn heat_map(id: &str, of: &Latency, caption: &str) -> Option<Figure> {
    let behind = Grid::of(of, 12, usize::MAX)?;
    Some(Figure::drawn(id, caption, heat_table(&behind, of.seconds), |width| {
        let (columns, rows) = most(width);
        Grid::of(of, columns, rows).map(|grid| heat_drawing(&grid, of.seconds, width)).unwrap_or_default()
    }))
}

fn heat_table(grid: &Grid, seconds: usize) -> Table {
    let columns = grid.counts.len();
    let span = |at: usize| (at * grid.seconds, ((at + 1) * grid.seconds).min(seconds));
    let spans = (0..columns).map(span).map(|(from, to)| format!("{from} – {to}")).collect();
    let counts = grid.counts.iter().map(|column| number(column.iter().map(|count| *count as f64).sum(), 0)).collect();
    let at_most = |share: f64| -> Vec<String> {
        grid.counts
            .iter()
            .map(|column| percentile(column, share).map_or(NOTHING.to_owned(), |row| short(grid.edges[row + 1])))
            .collect()
    };
    Table::new(vec![
        Column::words("seconds", spans),
        Column::numbers("transactions", "", counts),
        Column::numbers("half took at most", "ms", at_most(0.5)),
        Column::numbers("99 % took at most", "ms", at_most(0.99)),
        Column::numbers("all took at most", "ms", at_most(1.0)),
    ])
}

/// The row that, with those below it, holds this share of a column's transactions.
fn percentile(column: &[u64], share: f64) -> Option<usize> {
    let all = total(column.iter().copied());
    let mut below = 0u64;
    (0..column.len()).find(|row| {
        below = below.saturating_add(column[*row]);
        all > 0 && below as f64 >= share * all as f64
    })
}

fn heat_drawing(grid: &Grid, seconds: usize, width: f64) -> String {
    let left = axis_room(0.0, width);
    let panel = Panel { left, right: width - 24.0, top: 58.0, bottom: 258.0 };
    let mut svg = Svg::new(width, panel.bottom + 46.0, "How many transactions took how long, second by second");
    let x = Scale::linear((0.0, seconds as f64), (panel.left, panel.right));
    let y = Scale::logarithmic((grid.edges[0], grid.edges[grid.edges.len() - 1]), panel.vertical());
    panel.frame(&mut svg, &y, 6, "", "");
    svg.panel_title((panel.left, 14.0), "Latency", "ms, logarithmic");
    shades_key(&mut svg, panel.left);
    for shade in 1..=SHADES {
        let cells = runs(grid, shade).map(|(row, from, to)| {
            let (left, right) = ((from * grid.seconds) as f64, (to * grid.seconds).min(seconds) as f64);
            let (top, bottom) = (y.at(grid.edges[row + 1]), y.at(grid.edges[row]));
            (x.at(left), top, x.at(right) - x.at(left), bottom - top)
        });
        svg.cells(&cells.collect::<Vec<_>>(), "density", opacity(shade));
    }
    let ticks = x.ticks(6).into_iter().map(|value| (x.at(value), tick(value))).collect();
    panel.horizontal_axis(&mut svg, &thinned(ticks), "seconds of the measured window");
    svg.finish()
}

/// Stretches of neighbouring columns with this shade: row, first column, and the one after the last.
fn runs(grid: &Grid, shade: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let is_in =
        move |column: usize, row: usize| grid.counts.get(column).is_some_and(|column| grid.shade(column[row]) == shade);
    let begins = move |column: usize, row: usize| is_in(column, row) && (column == 0 || !is_in(column - 1, row));
    let places = (0..grid.edges.len() - 1).flat_map(|row| (0..grid.counts.len()).map(move |column| (row, column)));
    places.filter(move |&(row, column)| begins(column, row)).map(move |(row, column)| {
        let end = (column..).find(|next| !is_in(*next, row)).unwrap_or(column + 1);
        (row, column, end)
    })
}

fn opacity(shade: usize) -> f64 {
    0.12 + 0.88 * (shade as f64 / SHADES as f64).powf(1.3)
}

/// The key: which shades mean few transactions and which many.
fn shades_key(svg: &mut Svg, left: f64) {
    svg.text((left, 36.0), Anchor::Start, "tick", "few");
    for shade in 1..=SHADES {
        svg.cells(&[(left + 24.0 + 14.0 * shade as f64 - 14.0, 27.0, 14.0, 10.0)], "density", opacity(shade));
    }
    let end = left + 30.0 + 14.0 * SHADES as f64;
    svg.text((end, 36.0), Anchor::Start, "tick", "many transactions in a second");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nine_is_as_wide() {
        let places: Vec<f64> = [0.0, 0.9, 0.99, 0.999].into_iter().map(nines).collect();
        assert!(places.windows(2).all(|pair| (pair[1] - pair[0] - 1.0).abs() < 1e-9), "{places:?}");
    }

    #[test]
    fn percentiles_without_a_transaction_beyond_them_are_not_drawn() {
        let percentiles = vec![(0.5, 1.0), (0.99, 2.0), (0.999, 3.0), (1.0, 4.0)];
        let latency =
            Latency { percentiles, bins_ms: vec![1.0], columns: vec![vec![60], vec![60]], width: 1, seconds: 2 };
        assert_eq!(told(&latency), [(0.5, 1.0), (0.99, 2.0)]);
    }

    #[test]
    fn a_row_tells_exactly_its_share_or_nothing() {
        let of = |shares: &[(f64, f64)]| Latency { percentiles: shares.to_vec(), ..Latency::default() };
        let (a, b) = (of(&[(0.4, 1.0), (0.5, 2.0), (0.602, 3.0), (0.9, 4.0)]), of(&[(0.4, 1.0), (0.602, 3.0)]));
        let figure = percentiles("f", &[("a".to_owned(), &a), ("b".to_owned(), &b)], "").expect("two curves");
        let cells = |column: usize| figure.table.columns[column].cells.clone();
        assert_eq!(cells(0), ["50", "90"], "no row without a number");
        assert_eq!((cells(1), cells(2)), (vec!["2.00".to_owned(), "4.00".to_owned()], vec![NOTHING.to_owned(); 2]));
    }

    #[test]
    fn no_transaction_is_lost_on_the_grid() {
        let bins_ms: Vec<f64> = (0..100).map(|n| 1.1f64.powi(n)).collect();
        let columns: Vec<Vec<u64>> = (0..1000).map(|s| (0..100).map(|bin| (s * bin) % 7).collect()).collect();
        let all: u64 = columns.iter().flatten().sum();
        let grid = Grid::of(&Latency { bins_ms, columns, width: 3, seconds: 3000, ..Latency::default() }, 96, 28)
            .expect("a grid");
        assert_eq!(grid.counts.iter().flatten().sum::<u64>(), all);
        assert!(grid.counts.len() <= 96 && grid.edges.len() <= 29);
        assert_eq!(grid.seconds, 33, "eleven columns of three seconds each");
    }
}
