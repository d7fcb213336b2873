//! What two settings are believed to bring together: a map.

use super::label::shortened;
use crate::document::{Figure, NARROW};
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::number::{NOTHING, signed_percent};
use plimsoll_model::tune::SettingInteraction;

const TOP: f64 = 40.0;
const ROW: f64 = 30.0;
const BELOW: f64 = 50.0;
/// Room for the values at the left.
const LEFT: f64 = 110.0;
const NARROW_LEFT: f64 = 74.0;
/// How strongly the best cell is coloured, and the worst.
const STRONGEST: f64 = 0.85;
const WEAKEST: f64 = 0.06;
/// Cells that are coloured more strongly than this have light writing.
const DARK: f64 = 0.55;

/// `None` without at least two values of each.
pub fn draw(id: &str, of: &SettingInteraction) -> Option<Figure> {
    if of.values_of_a.len() < 2 || of.values_of_b.len() < 2 {
        return None;
    }
    let caption = format!(
        "What {} (down) and {} (across) are believed to bring together against today’s configuration, where the other settings are \
         those of the best: the two of its settings that interact most. This is what the search has learned, not what \
         was measured in each place.",
        of.a, of.b
    );
    Some(Figure::drawn(id, &caption, table(of), |width| drawing(of, width)))
}

fn told(gain: Option<f64>) -> String {
    gain.map_or_else(|| NOTHING.to_owned(), signed_percent)
}

fn table(of: &SettingInteraction) -> Table {
    let column = |(place, value): (usize, &String)| {
        let cells = of.gains.iter().map(|row| told(row.get(place).copied().flatten())).collect();
        Column::numbers(&format!("{} = {value}", of.b), "", cells)
    };
    let values = Column::words(&of.a, of.values_of_a.clone());
    Table::new([values].into_iter().chain(of.values_of_b.iter().enumerate().map(column)).collect())
}

fn drawing(of: &SettingInteraction, width: f64) -> String {
    let height = TOP + ROW * of.values_of_a.len() as f64 + BELOW;
    let mut svg = Svg::new(width, height, &format!("What {} and {} bring together", of.a, of.b));
    let left = if width > NARROW { LEFT } else { NARROW_LEFT };
    let cell = (width - left - 8.0) / of.values_of_b.len() as f64;
    svg.panel_title((6.0, 14.0), &shortened(&of.a, width - 60.0), "better by, %");
    let known = || of.gains.iter().flatten().copied().flatten();
    let (lowest, highest) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    for (row, (value, gains)) in of.values_of_a.iter().zip(&of.gains).enumerate() {
        let top = TOP + ROW * row as f64;
        svg.text((left - 8.0, top + 0.5 * ROW + 4.0), Anchor::End, "tick", &shortened(value, left - 10.0));
        for (place, gain) in gains.iter().enumerate() {
            let corner = (left + cell * place as f64, top);
            let share = gain.map_or(0.0, |gain| (gain - lowest) / (highest - lowest).max(f64::MIN_POSITIVE));
            let opacity = gain.map_or(0.0, |_| WEAKEST + (STRONGEST - WEAKEST) * share);
            svg.cells(&[(corner.0 + 1.0, corner.1 + 1.0, cell - 2.0, ROW - 2.0)], "density", opacity);
            let class = if opacity > DARK { "on-bar s1" } else { "label" };
            let text =
                gain.map_or_else(|| NOTHING.to_owned(), |gain| format!("{:+.0}", 100.0 * gain).replace('-', "−"));
            svg.text((corner.0 + 0.5 * cell, top + 0.5 * ROW + 4.0), Anchor::Middle, class, &text);
        }
    }
    let bottom = TOP + ROW * of.values_of_a.len() as f64;
    for (place, value) in of.values_of_b.iter().enumerate() {
        let at = left + cell * (place as f64 + 0.5);
        svg.text((at, bottom + 17.0), Anchor::Middle, "tick", &shortened(value, cell));
    }
    svg.text((width - 8.0, bottom + 37.0), Anchor::End, "axis-title", &of.b);
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_of_values_has_its_cell() {
        let of = SettingInteraction {
            a: "pool".to_owned(),
            b: "redo".to_owned(),
            values_of_a: vec!["1G".to_owned(), "2G".to_owned()],
            values_of_b: vec!["96M".to_owned(), "1G".to_owned(), "4G".to_owned()],
            gains: vec![vec![Some(-0.02), Some(0.1), None], vec![Some(0.1), Some(0.5), Some(0.6)]],
            most: 0.1,
        };
        let figure = draw("f", &of).expect("a figure");
        assert_eq!(figure.svg.matches("class=\"density\"").count(), 6, "{}", figure.svg);
        assert!(figure.svg.contains(">−2<") && figure.svg.contains(">+60<"), "{}", figure.svg);
        assert_eq!(figure.table.columns[3].cells, [NOTHING, "+60.0 %"]);
        assert!(draw("f", &SettingInteraction { values_of_b: vec!["96M".to_owned()], ..of }).is_none());
    }
}
