//! A run in the terminal.

use crate::points::{ORIGINAL_REMARK, TableRoom, load_points};
use crate::run_view::ShownRun;
use crate::sentence::answer;
use crate::subject::Recorded;
use crate::sweep::{Sweep, errors_by_code};
use crate::table::{Mark, Table};
use crate::{order_entry, scaling};
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::layout::{aligned, clean};
use plimsoll_model::number::in_percent;
use plimsoll_model::summary::{OrderEntry, Point};

pub const BOLD: &str = "\x1b[1m";
pub const DIM: &str = "\x1b[2m";
pub(crate) const RESET: &str = "\x1b[0m";

/// Every escape sequence that a text for the terminal may contain.
pub const STYLES: [&str; 3] = [BOLD, DIM, RESET];

/// Where all intervals have room.
const WITH_ROOM: &str = "in the summary (--json) and in the report";

/// How a text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct TextLook {
    /// What matters is bold, and heads are dim; nothing else differs.
    pub colour: bool,
    /// Long lines of words are broken before this many characters.
    pub width: usize,
    /// A terminal has this many characters in a line: columns of tables give way, and no word is broken. Whatever reads it
    /// that is no terminal gets all columns, and each fact in one line.
    pub room: usize,
}

impl TextLook {
    /// Of what is no terminal.
    pub const PLAIN: TextLook = TextLook { colour: false, width: 100, room: usize::MAX };

    /// Nothing has no style: a line without words stays empty.
    pub fn style(self, code: &str, text: String) -> String {
        if self.colour && !text.is_empty() { format!("{code}{text}{RESET}") } else { text }
    }

    pub fn wrapped(self, text: &str) -> Vec<String> {
        wrapped(text, self.width)
    }

    /// A fact that programs look for, too.
    pub(crate) fn fact(self, text: &str) -> Vec<String> {
        wrapped(text, self.room)
    }
}

/// Lines of at most this many characters, except for longer words; all but the first are indented.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let begin = text.len() - text.trim_start().len();
    let (mut lines, mut line) = (Vec::new(), text[..begin].to_owned());
    for word in text.split_whitespace() {
        if line.trim().is_empty() || line.chars().count() + 1 + word.chars().count() <= width {
            line.push_str(if line.trim().is_empty() { "" } else { " " });
        } else {
            lines.push(std::mem::replace(&mut line, format!("{}  ", &text[..begin])));
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// The answer, aligned columns with their units, peak and knee marked, what the sweep shows as a whole, then what order
/// entry reports, the durability, the errors, the caveats and, for who sees only the end, the answer again; ends with a
/// line break. With `colour`, heads are dim and the peak and the answer are bold; nothing else differs.
pub(crate) fn run(run: &ShownRun<'_>, look: TextLook) -> String {
    let sweep = run.sweep();
    let told: Vec<String> = look.fact(&answer(run)).into_iter().map(|line| look.style(BOLD, line)).collect();
    let mut blocks = vec![told.clone(), points(&sweep, look)];
    blocks.push(scaling::lines(&sweep).iter().flat_map(|line| look.wrapped(line)).collect());
    if let Some((point, entry)) = order_entry::of(&sweep) {
        let load = sweep.load_text(point);
        let title =
            format!("order entry at {load}, profile {}, fidelity {}: TPC-C-like", entry.profile, entry.fidelity);
        let mut lines = vec![look.style(BOLD, clean(&title))];
        lines.extend(rows(&order_entry::transactions(point, entry), look));
        lines.extend(facts(point, entry).iter().flat_map(|fact| look.wrapped(&clean(fact))));
        blocks.push(lines);
    }
    let listings: Vec<&str> = sweep.points.iter().filter_map(|point| point.original_listing.as_deref()).collect();
    blocks.extend(listings.iter().map(|listing| aligned(listing).lines().map(clean).collect()));
    if !listings.is_empty() {
        blocks.push(look.wrapped(ORIGINAL_REMARK));
    }
    blocks.push(remarks(run, &sweep, look));
    blocks.push(told);
    blocks.retain(|lines| !lines.is_empty());
    blocks.iter().map(|lines| lines.join("\n") + "\n").collect::<Vec<_>>().join("\n")
}

/// The table of load points, and why intervals are missing from it.
fn points(sweep: &Sweep<'_>, look: TextLook) -> Vec<String> {
    if sweep.points.is_empty() {
        return Vec::new();
    }
    let table = load_points(sweep, TableRoom::Terminal);
    let mut lines = rows(&table, look);
    let narrow = match table.without_room() {
        columns if columns.is_empty() => None,
        columns => Some(format!("intervals of {}: {WITH_ROOM}", columns.join(", "))),
    };
    lines.extend(table.missing().into_iter().chain(narrow).flat_map(|remark| look.wrapped(&remark)));
    lines
}

/// What limited it, durability, errors and caveats.
fn remarks(run: &ShownRun<'_>, sweep: &Sweep<'_>, look: TextLook) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(diagnosis) = sweep.detailed().and_then(|point| run.diagnosis(point)) {
        lines.extend(look.wrapped(&clean(&format!("limit: {}", diagnosis.sentence))));
    }
    let durability = &run.summary.target.durability;
    if !durability.is_empty() {
        let settings: Vec<String> = durability.iter().map(|(name, value)| format!("{name}={value}")).collect();
        lines.extend(look.fact(&clean(&format!("durability: {}", settings.join(", ")))));
    }
    lines.extend(errors_by_code(sweep.points).map(|named| format!("errors by code: {named}")));
    let caveats = run.summary.caveats.iter();
    lines.extend(caveats.flat_map(|caveat| look.fact(&clean(&format!("caveat {}: {}", caveat.code, caveat.message)))));
    lines
}

/// How far it came and what is missing, in lines below an empty one; nothing for a complete recording.
pub(crate) fn unfinished(recorded: &Recorded, look: TextLook) -> String {
    let missing = recorded.missing.iter().map(|text| format!("missing: {text}"));
    let lines: Vec<String> =
        recorded.state.iter().cloned().chain(missing).flat_map(|text| look.wrapped(&clean(&text))).collect();
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

/// What stands below the table of order entry, a paragraph each.
fn facts(point: &Point, entry: &OrderEntry) -> Vec<String> {
    let mut facts = vec![order_entry::new_orders(entry)];
    facts.extend(order_entry::backlog(entry));
    facts.push(order_entry::retries(point));
    facts.extend(order_entry::cost(point));
    facts.extend(order_entry::audit_summary(entry).map(|summary| format!("input audit: {summary}")));
    if !entry.skew.is_empty() {
        facts.push("key skew, percent of accesses that went to the hottest 1/10/20/50 % of keys:".to_owned());
        facts.extend(entry.skew.iter().map(|skew| format!("  {}", order_entry::skew_line(skew))));
    }
    facts.extend(entry.notes.iter().map(|note| format!("note: {note}")));
    facts
}

/// The head of a column of intervals.
const INTERVALS: &str = "±";

/// A column as it is printed: one of a table, or the intervals beside one.
struct Printed {
    name: String,
    unit: String,
    cells: Vec<String>,
    is_number: bool,
    /// Blanks before it.
    gap: &'static str,
    rank: u8,
}

impl Printed {
    fn width(&self) -> usize {
        let heads = [&self.name, &self.unit];
        heads.into_iter().chain(&self.cells).map(|text| text.chars().count()).max().unwrap_or(0)
    }

    fn aligned(&self, text: &str) -> String {
        let width = self.width();
        let text = if self.is_number { format!("{text:>width$}") } else { format!("{text:<width$}") };
        format!("{}{text}", self.gap)
    }
}

fn printed(table: &Table) -> Vec<Printed> {
    let mut all = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        all.push(Printed {
            name: clean(&column.name),
            unit: column.unit.clone(),
            cells: (0..table.rows()).map(|row| cell(table, row, at)).collect(),
            is_number: column.is_number,
            gap: if at == 0 { "" } else { "  " },
            rank: column.rank,
        });
        if !column.shown_spreads().is_empty() {
            all.push(Printed {
                name: INTERVALS.to_owned(),
                unit: format!("{} %", in_percent(CONFIDENCE)),
                cells: column.shown_spreads().iter().map(|spread| spread.text.clone()).collect(),
                is_number: true,
                gap: " ",
                rank: column.rank,
            });
        }
    }
    all
}

/// Leaves out what has no room: columns by their rank, of one rank the last first. Says which.
fn fitted(mut columns: Vec<Printed>, room: usize) -> (Vec<Printed>, Vec<String>) {
    let mut left_out = Vec::new();
    let width = |columns: &[Printed]| columns.iter().map(|of| of.gap.len() + of.width()).sum::<usize>();
    while width(&columns) > room {
        let last = columns.iter().enumerate().filter(|(_, of)| of.rank > 0).max_by_key(|(at, of)| (of.rank, *at));
        let Some((at, _)) = last else { break };
        let column = columns.remove(at);
        // Intervals go with their numbers.
        if column.name != INTERVALS {
            left_out.insert(0, column.name);
        }
    }
    (columns, left_out)
}

/// A table alone; ends with a line break. With `colour` its head is dim and a peak bold.
pub fn table(table: &Table, look: TextLook) -> String {
    rows(table, look).iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

/// The head of a table and its rows.
pub(crate) fn rows(table: &Table, look: TextLook) -> Vec<String> {
    let (columns, left_out) = fitted(printed(table), look.room);
    let line = |text: &dyn Fn(&Printed) -> String| {
        columns.iter().map(|column| column.aligned(&text(column))).collect::<String>().trim_end().to_owned()
    };
    let mut lines = vec![look.style(DIM, line(&|column| column.name.clone()))];
    lines.push(look.style(DIM, line(&|column| column.unit.clone())));
    lines.extend((0..table.rows()).map(|row| {
        let text = line(&|column| column.cells[row].clone());
        if table.mark(row) == Some(Mark::Peak) { look.style(BOLD, text) } else { text }
    }));
    if !left_out.is_empty() {
        let told = format!("no room for {}: a wider terminal and the report have them", left_out.join(", "));
        lines.extend(look.wrapped(&told).into_iter().map(|line| look.style(DIM, line)));
    }
    lines
}

/// A cell as shown; the first column has the marks in its spare room: `peak         32`.
fn cell(table: &Table, row: usize, at: usize) -> String {
    let text = clean(&table.columns[at].cells[row]);
    match table.mark(row).filter(|_| at == 0).and_then(Mark::tag) {
        Some(tag) => format!("{tag} {text:>6}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn cells(text: &str) -> Vec<String> {
        vec![text.to_owned()]
    }

    #[test]
    fn styles_add_no_lines() {
        let table = Table::new(vec![Column::words("recording", cells("a")), Column::words("state", cells("done"))]);
        let lines = |colour| super::table(&table, TextLook { colour, ..TextLook::PLAIN }).lines().count();
        assert_eq!((lines(false), lines(true)), (2, 2));
    }

    #[test]
    fn a_table_drops_what_matters_least_and_says_so() {
        let table = Table::new(vec![
            Column::numbers("connections", "", cells("16")),
            Column::numbers("transactions", "per s", cells("1,234")),
            Column::numbers("p50", "ms", cells("1.2")).ranked(2),
            Column::numbers("p99", "ms", cells("9.9")),
            Column::numbers("client CPU", "%", cells("12.5")).ranked(3),
            Column::numbers("host CPU", "%", cells("99.5")).ranked(3),
        ]);
        let shown = |table_width| super::table(&table, TextLook { room: table_width, ..TextLook::PLAIN });
        let whole = shown(usize::MAX);
        assert!(whole.contains("client CPU") && !whole.contains("no room"), "{whole}");
        let widest = whole.lines().map(str::len).max().unwrap_or(0);
        assert_eq!(shown(widest), whole, "it fits");
        let less = shown(widest - 1);
        assert!(less.contains("no room for host CPU: ") && less.contains("client CPU"), "{less}");
        let narrow = shown(33);
        assert!(narrow.contains("no room for p50, client CPU, host CPU: ") && narrow.contains("p99"), "{narrow}");
        assert!(narrow.lines().take(3).all(|line| line.len() <= 33), "{narrow}");
        assert!(shown(3).contains("connections  transactions  p99"), "what has rank 0 stays");
    }
}
