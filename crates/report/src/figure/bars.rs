//! Grouped bars with intervals: variants, or members of groups beside each other (NetApp TR-3693, Figure 1).

use super::label::{Swatch, key, width_of};
use super::rows::Rows;
use crate::document::Figure;
use crate::interval::Measured;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::layout::capitalised;
use plimsoll_model::number::signed_percent;
use plimsoll_model::number::{NOTHING, decimals_for, short};

/// Groups from top to bottom, in each the same members. An empty cell is drawn as empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// `new orders`
    pub what: String,
    /// `1/min`
    pub unit: String,
    pub groups: Vec<String>,
    pub members: Vec<String>,
    /// By group, then by member.
    pub values: Vec<Vec<Measured>>,
    /// What the source printed for the same bars; empty, or beside the values.
    pub published: Vec<Vec<Option<f64>>>,
    /// Which members a group has; empty if every group has all of them.
    pub has: Vec<Vec<bool>>,
    /// Bars also show their change against the first bar in percent; in each group, where several groups have members.
    pub against_first: bool,
}

/// One bar.
struct Cell<'a> {
    group: &'a str,
    /// Number and name of the member.
    member: (usize, &'a str),
    value: Measured,
    published: Option<f64>,
    /// Against the first bar, as a share.
    change: Option<f64>,
}

/// `None` without any value.
pub fn draw(id: &str, bars: &Bars, caption: &str) -> Option<Figure> {
    let cells = cells(bars);
    if !cells.iter().any(|cell| cell.value.value.or(cell.published).is_some()) {
        return None;
    }
    Some(Figure::drawn(id, caption, table(bars, &cells), |width| drawing(bars, &cells, width)))
}

fn cells(bars: &Bars) -> Vec<Cell<'_>> {
    let mut cells: Vec<Cell<'_>> = Vec::new();
    let mut first: Option<f64> = None;
    let mut is_first = true;
    for (group, name) in bars.groups.iter().enumerate() {
        is_first |= is_grouped(bars);
        for (number, member) in bars.members.iter().enumerate() {
            if bars.has.get(group).and_then(|has| has.get(number)) == Some(&false) {
                continue;
            }
            let value = bars.values.get(group).and_then(|values| values.get(number)).cloned().unwrap_or_default();
            let published = bars.published.get(group).and_then(|values| *values.get(number)?);
            let change = value.value.zip(first).map(|(value, first)| value / first - 1.0);
            let change = change.filter(|_| bars.against_first && !is_first);
            if is_first {
                first = value.value.filter(|value| *value > 0.0);
                is_first = false;
            }
            cells.push(Cell { group: name, member: (number, member), value, published, change });
        }
    }
    cells
}

fn is_grouped(bars: &Bars) -> bool {
    bars.groups.len() > 1 && bars.members.len() > 1
}

fn table(bars: &Bars, cells: &[Cell<'_>]) -> Table {
    let words = |of: for<'a> fn(&'a Cell<'_>) -> &'a str| cells.iter().map(|cell| of(cell).to_owned()).collect();
    let values: Vec<Measured> = cells.iter().map(|cell| cell.value.clone()).collect();
    let mut columns = Vec::new();
    if bars.groups.len() > 1 {
        columns.push(Column::words("group", words(|cell| cell.group)));
    }
    if bars.members.len() > 1 || columns.is_empty() {
        columns.push(Column::words("member", words(|cell| cell.member.1)));
    }
    columns.push(super::column(&bars.what, &bars.unit, 2, &values));
    let shown = |value: Option<f64>, of: fn(f64) -> String| value.map_or(NOTHING.to_owned(), of);
    if cells.iter().any(|cell| cell.change.is_some()) {
        let changes = cells.iter().map(|cell| shown(cell.change, signed_percent)).collect();
        columns.push(Column::numbers("against the first", "", changes));
    }
    if cells.iter().any(|cell| cell.published.is_some()) {
        let published = cells.iter().map(|cell| shown(cell.published, short)).collect();
        columns.push(Column::numbers("published", &bars.unit, published));
    }
    Table::new(columns)
}

/// Room for a value and its percentage, right of the bars.
const LABELS: f64 = 118.0;

fn drawing(bars: &Bars, cells: &[Cell<'_>], width: f64) -> String {
    let grouped = is_grouped(bars);
    let name = |cell: &Cell<'_>| if bars.members.len() > 1 { cell.member.1.to_owned() } else { cell.group.to_owned() };
    let names: Vec<String> = cells.iter().map(name).collect();
    let published = cells.iter().any(|cell| cell.published.is_some());
    let top = if published { 50.0 } else { 28.0 };
    let headings: &[String] = if grouped { &bars.groups } else { &[] };
    let rows = Rows::new(width, names.iter().chain(headings).map(String::as_str), LABELS, top);
    let bottom = rows.bottom((cells.len() + headings.len()) as f64);
    let mut svg = Svg::new(width, bottom + 26.0, &format!("{} as bars", bars.what));
    svg.panel_title((6.0, 14.0), &capitalised(&bars.what), &bars.unit);
    if published {
        key(&mut svg, &[(Swatch::Printed, String::new(), "published".to_owned())], 6.0, width, 34.0);
    }
    let x = Scale::from_zero(highest(cells), rows.range(), 5);
    rows.axis(&mut svg, &x, bottom);
    let mut row = 0.0;
    let mut group = "";
    for (cell, name) in cells.iter().zip(&names) {
        if grouped && cell.group != group {
            group = cell.group;
            rows.heading(&mut svg, row, cell.group);
            row += 1.0;
        }
        rows.name(&mut svg, row, name);
        bar(&mut svg, &rows, row, &x, cell, &bars.unit);
        row += 1.0;
    }
    svg.finish()
}

/// The end of the axis: above all values; ends of intervals far beyond all values are cut off instead.
fn highest(cells: &[Cell<'_>]) -> f64 {
    let values = cells.iter().flat_map(|cell| [cell.value.value, cell.published]).flatten().fold(0.0, f64::max);
    let ends = cells.iter().filter_map(|cell| cell.value.ends().1).filter(|end| *end < 1.5 * values);
    ends.fold(values, f64::max)
}

fn bar(svg: &mut Svg, rows: &Rows, row: f64, x: &Scale, cell: &Cell<'_>, unit: &str) {
    let mut end = x.at(0.0);
    match cell.value.value {
        Some(value) => {
            let shown = cell.value.label_in(unit, decimals_for(value));
            let class = format!("bar s{}", cell.member.0 % 8 + 1);
            rows.bar(svg, row, x, (0.0, value), &class, &format!("{}: {shown}", cell.member.1));
            rows.whisker(svg, row, x, &cell.value);
            end = x.at(cell.value.ends().1.unwrap_or(value).max(value)).min(rows.right);
            let (number, change) = (short(value), cell.change.map(signed_percent).unwrap_or_default());
            // Heavy digits are wider.
            let of_number = 1.15 * width_of(&number);
            let width = 24.0 + of_number + width_of(&change);
            // Behind its bar, unless the mark of the printed number stands there.
            let mark = cell.published.map(|published| x.at(published));
            end = mark.filter(|mark| (end - 6.0..end + width).contains(mark)).unwrap_or(end);
            let y = rows.middle(row) + 4.0;
            svg.text((end + 9.0, y), Anchor::Start, "strong", &number);
            if cell.change.is_some() {
                svg.text((end + 16.0 + of_number, y), Anchor::Start, "tick", &change);
            }
        }
        None => rows.empty(svg, row, end),
    }
    if let Some(published) = cell.published {
        end = x.at(published);
        let hint = format!("published: {} {unit}", short(published));
        svg.marker((end, rows.middle(row)), 4.0, 2, "printed", &hint);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Estimate;

    #[test]
    fn an_interval_beyond_the_axis_ends_in_an_arrow_and_the_caption_says_so() {
        let draw = |high| {
            let value = Measured::from(&Estimate::new(10.0, (9.0, high), 0.95, 4.0, String::new()));
            let values = vec![vec![value]];
            let (groups, members) = (vec!["a".to_owned()], vec![String::new()]);
            draw("f", &Bars { groups, members, values, ..Bars::default() }, "Means.").expect("a bar")
        };
        assert_eq!(draw(11.0).caption, "Means.");
        assert!(draw(1000.0).caption.ends_with("An arrow marks an interval that extends beyond the axis."));
    }
}
