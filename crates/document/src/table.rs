//! A table before it is rendered, by the crate `render` or by [`crate::terminal`] with the same digits.

use crate::interval::{IntervalCell, Measured};
use plimsoll_model::number::{NOTHING, column, column_decimals, parsed};

/// How a row is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Peak,
    Knee,
    /// Something in it is not as it should be.
    Broken,
    /// What was requested is not what was found.
    Differs,
}

impl Mark {
    pub fn name(self) -> &'static str {
        match self {
            Mark::Peak => "peak",
            Mark::Knee => "knee",
            Mark::Broken => "broken",
            Mark::Differs => "differs",
        }
    }

    /// The word beside the row; in a broken row, a cell says it.
    pub fn tag(self) -> Option<&'static str> {
        (self != Mark::Broken).then(|| self.name())
    }
}

/// A column; numbers are set flush right.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    /// Empty for none.
    pub unit: String,
    pub is_number: bool,
    pub cells: Vec<String>,
    /// The numbers that the cells show, in full; empty if the cells say everything.
    pub of: Vec<Measured>,
    /// How far each number can be trusted; empty for counts and for numbers that are not means.
    pub spreads: Vec<IntervalCell>,
    /// True if there is no room for the spreads.
    pub is_narrow: bool,
    /// Where there is no room for all columns, the one of the highest rank gives way first; one of rank 0 stays.
    pub rank: u8,
}

impl Column {
    pub fn numbers(name: &str, unit: &str, cells: Vec<String>) -> Column {
        Column { unit: unit.to_owned(), is_number: true, ..Column::words(name, cells) }
    }

    /// Means or percentiles with their intervals, with at most so many decimals.
    pub fn measured(name: &str, unit: &str, most_decimals: usize, of: &[Measured]) -> Column {
        let values: Vec<Option<f64>> = of.iter().map(|measured| measured.value).collect();
        let decimals = column_decimals(&values, most_decimals);
        let spreads = of.iter().map(|measured| measured.spread(decimals)).collect();
        Column { spreads, of: of.to_vec(), ..Column::numbers(name, unit, column(&values, most_decimals)) }
    }

    /// The number in a row, as exactly as it is known; `None` if there is a word or nothing.
    pub fn value(&self, row: usize) -> Option<f64> {
        match self.of.get(row) {
            Some(measured) => measured.value.filter(|value| value.is_finite()),
            None => self.cells.get(row).filter(|_| self.is_number).and_then(|cell| parsed(cell)),
        }
    }

    /// Its interval, the ends that are known.
    pub fn ends(&self, row: usize) -> (Option<f64>, Option<f64>) {
        self.of.get(row).map_or((None, None), Measured::ends)
    }

    /// The same column without room for its intervals.
    pub fn narrow(self) -> Column {
        Column { is_narrow: true, ..self }
    }

    /// The same column, which gives way to all of a lower rank.
    pub fn ranked(self, rank: u8) -> Column {
        Column { rank, ..self }
    }

    /// What is shown beside the numbers.
    pub fn shown_spreads(&self) -> &[IntervalCell] {
        if self.is_narrow { &[] } else { &self.spreads }
    }

    /// True if it has intervals without room for them.
    fn lacks_room(&self) -> bool {
        self.is_narrow && self.has_intervals()
    }

    /// True if the interval of any cell is known, or known to say nothing.
    pub fn has_intervals(&self) -> bool {
        self.spreads.iter().any(|spread| !matches!(spread.text.as_str(), "" | NOTHING))
    }

    /// Why intervals of this column are incomplete: everything that is missing, and the first of several reasons.
    fn missing(&self) -> Vec<(&'static str, String)> {
        let mut found: Vec<(&'static str, Vec<&str>)> = Vec::new();
        for (what, why) in self.spreads.iter().filter_map(|spread| spread.missing.as_ref()) {
            match found.iter_mut().find(|(known, _)| known == what) {
                Some((_, reasons)) if !reasons.contains(&why.as_str()) => reasons.push(why),
                Some(_) => {}
                None => found.push((what, vec![why])),
            }
        }
        let told = |(what, reasons): (&'static str, Vec<&str>)| {
            let more = if reasons.len() > 1 { " (similar in other rows)" } else { "" };
            (what, format!("{}{more}", reasons[0]))
        };
        found.into_iter().map(told).collect()
    }

    pub fn words(name: &str, cells: Vec<String>) -> Column {
        Column {
            name: name.to_owned(),
            unit: String::new(),
            is_number: false,
            cells,
            of: Vec::new(),
            spreads: Vec::new(),
            is_narrow: false,
            rank: 0,
        }
    }
}

/// Columns of equally many cells. Cells are not escaped yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<Column>,
    /// By row; rows beyond the end have none.
    pub marks: Vec<Option<Mark>>,
}

impl Table {
    pub fn new(columns: Vec<Column>) -> Table {
        Table { columns, marks: Vec::new() }
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// A line for each reason why an interval is missing: `no interval (transactions, queries): 3 s are too few`. A
    /// column in [`Table::without_room`] is named there.
    pub fn missing(&self) -> Vec<String> {
        let mut by_reason: Vec<((&'static str, String), Vec<&str>)> = Vec::new();
        for column in self.columns.iter().filter(|column| !column.lacks_room()) {
            for reason in column.missing() {
                match by_reason.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, names)) => names.push(&column.name),
                    None => by_reason.push((reason, vec![&column.name])),
                }
            }
        }
        by_reason.iter().map(|((what, why), names)| format!("{what} ({}): {why}", names.join(", "))).collect()
    }

    /// The columns that have intervals without room for them.
    pub fn without_room(&self) -> Vec<&str> {
        let narrow = self.columns.iter().filter(|column| column.lacks_room());
        narrow.map(|column| column.name.as_str()).collect()
    }

    pub fn mark(&self, row: usize) -> Option<Mark> {
        self.marks.get(row).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Estimate;

    #[test]
    fn a_reason_is_told_once_with_the_columns_that_it_is_about() {
        let bare = |why: &str| Measured::from(&Estimate::bare(5.0, 1.0, String::new(), why.to_owned()));
        let known = Measured::from(&Estimate::new(5.0, (4.0, 6.0), 0.95, 9.0, String::new()));
        let column = |name: &str, cells: &[Measured]| Column::measured(name, "", 0, cells);
        let table = Table::new(vec![
            column("a", &[bare("3 s are too few"), known.clone()]),
            column("b", &[bare("3 s are too few"), bare("3 s are too few")]),
            column("c", &[bare("9 are too few"), bare("8 are too few")]),
            column("d", &[known.clone(), Measured::default()]),
        ]);
        assert_eq!(
            table.missing(),
            ["no interval (a, b): 3 s are too few", "no interval (c): 9 are too few (similar in other rows)"]
        );
        assert_eq!(table.columns[0].spreads[1].text, "± 1");
        let narrow = Table::new(vec![column("a", &[known]).narrow(), column("b", &[bare("too few")]).narrow()]);
        assert_eq!((narrow.without_room(), narrow.missing()), (vec!["a"], vec!["no interval (b): too few".to_owned()]));
    }
}
