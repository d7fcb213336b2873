//! Requests per second of each measurement of a storage matrix, on a logarithmic axis, with what the source printed.

use super::label::{Swatch, key};
use super::rows::Rows;
use crate::document::Figure;
use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::number::{NOTHING, short, tick};

/// A measurement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The set-up: neighbours in one group stand below its name.
    pub group: String,
    pub name: String,
    pub value: Measured,
    pub published: Option<f64>,
}

/// `None` without any value.
pub fn draw(id: &str, requests: &[Request], caption: &str) -> Option<Figure> {
    let any = requests.iter().any(|of| of.value.value.is_some_and(|value| value > 0.0));
    any.then(|| Figure::drawn(id, caption, table(requests), |width| drawing(requests, width)))
}

fn table(requests: &[Request]) -> Table {
    let words = |of: fn(&Request) -> &String| requests.iter().map(|request| of(request).clone()).collect::<Vec<_>>();
    let values: Vec<Measured> = requests.iter().map(|of| of.value.clone()).collect();
    let mut columns = vec![
        Column::words("variant", words(|of| &of.group)),
        Column::words("measurement", words(|of| &of.name)),
        super::column("requests", "1/s", 0, &values),
    ];
    if requests.iter().any(|of| of.published.is_some()) {
        let published = requests.iter().map(|of| of.published.map_or(NOTHING.to_owned(), tick)).collect();
        columns.push(Column::numbers("published", "1/s", published));
    }
    Table::new(columns)
}

/// Room for a value, right of the rows.
const LABELS: f64 = 64.0;

fn drawing(requests: &[Request], width: f64) -> String {
    let mut svg = Svg::new(width, 0.0, "Requests per second of each measurement");
    svg.panel_title((6.0, 14.0), "Requests", "1/s, logarithmic");
    let mut top = 28.0;
    if requests.iter().any(|of| of.published.is_some()) {
        let entries = [
            (Swatch::Printed, String::new(), "published".to_owned()),
            (Swatch::Marker(0), "dot s1".to_owned(), "measured here".to_owned()),
        ];
        top = 24.0 + key(&mut svg, &entries, 6.0, width, 35.0);
    }
    let groups = requests.chunk_by(|a, b| a.group == b.group);
    let names = requests.iter().flat_map(|of| [of.name.as_str(), of.group.as_str()]);
    let rows = Rows::new(width, names, LABELS, top);
    let bottom = rows.bottom((requests.len() + groups.clone().count()) as f64);
    let x = scale(requests, &rows);
    rows.axis(&mut svg, &x, bottom);
    let mut row = 0.0;
    for group in groups {
        rows.heading(&mut svg, row, &group[0].group);
        for of in group {
            row += 1.0;
            rows.name(&mut svg, row, &of.name);
            marks(&mut svg, &rows, row, &x, of);
        }
        row += 1.0;
    }
    svg.with_height(bottom + 26.0).finish()
}

fn scale(requests: &[Request], rows: &Rows) -> Scale {
    let all = requests.iter().flat_map(|of| [of.value.value, of.published]).flatten().filter(|value| *value > 0.0);
    let (low, high) = all.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    Scale::logarithmic_round((0.9 * low, 1.1 * high), (rows.left + 8.0, rows.right - 8.0))
}

fn marks(svg: &mut Svg, rows: &Rows, row: f64, x: &Scale, of: &Request) {
    let y = rows.middle(row);
    let published = of.published.filter(|value| *value > 0.0);
    match of.value.value.filter(|value| *value > 0.0) {
        Some(value) => {
            if let Some(published) = published {
                svg.line((x.at(published), y), (x.at(value), y), "line thin s1");
            }
            rows.whisker(svg, row, x, &of.value);
            svg.dot((x.at(value), y), 4.0, "dot s1", &format!("measured: {} /s", short(value)));
            svg.text((rows.right + 8.0, y + 4.0), Anchor::Start, "strong", &short(value));
        }
        None => rows.empty(svg, row, rows.left),
    }
    if let Some(published) = published {
        svg.marker((x.at(published), y), 4.0, 2, "printed", &format!("published: {} /s", tick(published)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_stand_below_their_variant_beside_what_was_printed() {
        let of = |group: &str, name: &str, value: Option<f64>| Request {
            group: group.to_owned(),
            name: name.to_owned(),
            value: Measured { value, ..Measured::default() },
            published: Some(142.62),
        };
        let all = [of("write-back", "1 thread", Some(9000.0)), of("write-through", "1 thread", Some(140.0))];
        let figure = draw("requests", &all, "Rates.").expect("a figure");
        for text in ["write-back", "write-through", "published: 142.62 /s", "measured: 140 /s", "1/s, logarithmic"] {
            assert!(figure.svg.contains(text), "{text}");
        }
        assert!(draw("requests", &[of("write-back", "1 thread", None)], "Rates.").is_none());
    }
}
