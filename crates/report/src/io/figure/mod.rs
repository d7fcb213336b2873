//! The figures of a storage evaluation, in the frame of [`crate::figure`].

pub mod burst;
pub mod cache;
pub mod commits;
pub mod depth;

use crate::document::Figure;
use crate::scale::{Scale, spread};
use crate::svg::{Anchor, Svg};
use crate::table::Table;

fn figure(id: &str, svg: Svg, caption: &str, table: Table) -> Figure {
    Figure { id: id.to_owned(), svg: svg.finish(), narrow: None, caption: caption.to_owned(), table, chart: None }
}

/// A positive number that can be drawn on a logarithmic scale.
fn positive(value: Option<f64>) -> Option<f64> {
    value.filter(|value| *value > 0.0 && value.is_finite())
}

/// A logarithmic scale around these values; `None` without any.
fn logarithmic(values: impl Iterator<Item = f64>, range: (f64, f64)) -> Option<Scale> {
    let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)));
    (low <= high).then(|| Scale::logarithmic_round((low, high), range))
}

/// The names of lines at their right ends, moved apart where they would overlap.
fn names(svg: &mut Svg, ends: &[(String, &str, (f64, f64))], range: (f64, f64)) {
    let heights: Vec<f64> = ends.iter().map(|end| end.2.1).collect();
    for ((name, class, place), height) in ends.iter().zip(spread(&heights, 14.0, range)) {
        svg.text((place.0 + 10.0, height + 4.0), Anchor::Start, &format!("name {class}"), name);
    }
}
