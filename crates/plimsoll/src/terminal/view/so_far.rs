//! What the finished trials of a lab say so far.

use super::super::line::{Style, TerminalLine};
use super::super::tty::Room;
use plimsoll_model::Estimate;
use plimsoll_model::LoadPoint;
use plimsoll_model::lab::{Cell, LabSummary, Ladder, LadderStep, LoadLine, RungVerdict};
use plimsoll_model::number::{counted, decimals_for, number, short, signed_percent};
use plimsoll_model::tune::{TuneConclusion, TuneSummary};
use plimsoll_report::interval::Measured;

/// Columns of the longest name, and of the longest if room is short.
const LONGEST_NAME: usize = 28;
const SHORTEST_NAME: usize = 8;
/// Blanks between columns.
const GAP: usize = 2;
/// Positions of cells: a load may have its short name, rounds may be left out, and numbers follow.
const LOAD: usize = 1;
const ROUNDS: usize = 2;
/// Configurations of a search that are named: the best ones.
const NAMED: usize = 5;

#[derive(Clone, Debug, Default)]
pub struct SoFar {
    heads: [&'static str; 5],
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Row {
    cells: [String; 5],
    /// For when there is no room for the load in words.
    short_load: String,
    style: Option<Style>,
}

impl SoFar {
    pub fn of(summary: &LabSummary, rounds: u32) -> SoFar {
        let cells = summary.cells.iter().filter(|cell| cell.rounds + cell.failed > 0);
        let measured: Vec<Row> = cells.map(|cell| measured(cell, rounds)).collect();
        let steps =
            summary.ladders.iter().flat_map(|ladder| ladder.steps.iter().map(move |step| climbed(ladder, step)));
        let steps: Vec<Row> = steps.collect();
        let lines: Vec<Row> = summary.load_lines.iter().filter(|line| !line.tried.is_empty()).map(sought).collect();
        if let Some(tune) = &summary.tune {
            return SoFar { heads: ["trial", "changed", "", "better by", ""], rows: searched(tune) };
        }
        if !steps.is_empty() {
            return SoFar { heads: ["rung", "verdict", "", "change", ""], rows: steps };
        }
        if !lines.is_empty() && measured.is_empty() {
            return SoFar { heads: ["variant", "load", "rates", "kept", "missed"], rows: lines };
        }
        let has_nopm = summary.cells.iter().any(|cell| cell.nopm.is_some());
        let throughput = if has_nopm { "NOPM" } else { "transactions/s" };
        SoFar { heads: ["variant", "load", "rounds", throughput, "p99 ms"], rows: measured }
    }

    /// As much as there is room for. Of the rows, those of the `current` load come first; of the columns, the numbers.
    pub fn lines(&self, current: Option<&str>, room: Room) -> Vec<TerminalLine> {
        if self.rows.is_empty() || room.rows < 2 {
            return Vec::new();
        }
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        let fit = room.rows - 1;
        if rows.len() > fit {
            rows.sort_by_key(|row| current.is_some_and(|current| row.cells[LOAD] != current));
        }
        let hidden = rows.len().saturating_sub(fit);
        // One of the lines that fit says how many do not.
        rows.truncate(if hidden > 0 { fit - 1 } else { fit });
        let heads = Row {
            cells: self.heads.map(str::to_owned),
            short_load: self.heads[LOAD].to_owned(),
            style: Some(Style::Dim),
        };
        let widths = widths(&heads, &rows, room.columns.saturating_sub(1));
        let mut lines = vec![heads.line(widths)];
        lines.extend(rows.iter().map(|row| row.line(widths)));
        if hidden > 0 {
            lines.push(TerminalLine::new().with(Style::Dim, &format!("… and {} more", hidden + 1)));
        }
        lines
    }
}

/// Columns of each cell. If there are too few for all, the rounds go first, then the words of loads, then the ends of
/// names.
fn widths(heads: &Row, rows: &[&Row], columns: usize) -> [usize; 5] {
    let of = |text: &str| TerminalLine::new().with(Style::Plain, text).width();
    let widest = |cell: &dyn Fn(&Row) -> usize| rows.iter().map(|row| cell(row)).fold(cell(heads), usize::max);
    let mut widths: [usize; 5] = std::array::from_fn(|at| widest(&|row| of(&row.cells[at])));
    widths[0] = widths[0].min(LONGEST_NAME);
    let missing = |widths: &[usize; 5]| {
        let taken: usize = widths.iter().filter(|width| **width > 0).map(|width| width + GAP).sum();
        taken.saturating_sub(columns + GAP)
    };
    if missing(&widths) > 0 {
        widths[ROUNDS] = 0;
    }
    if missing(&widths) > 0 {
        widths[LOAD] = widest(&|row| of(&row.short_load));
    }
    widths[0] = widths[0].saturating_sub(missing(&widths)).max(widths[0].min(SHORTEST_NAME));
    widths
}

impl Row {
    fn line(&self, widths: [usize; 5]) -> TerminalLine {
        let mut line = TerminalLine::new();
        let mut column = 0;
        for (at, (cell, width)) in self.cells.iter().zip(widths).enumerate().filter(|(_, (_, width))| *width > 0) {
            let told = |text: &str| TerminalLine::new().with(self.style.unwrap_or(Style::Plain), text);
            let whole = told(cell);
            let is_short = at == LOAD && whole.width() > width;
            let cell = if is_short { told(&self.short_load) } else { whole }.cut(width);
            let blanks = if at <= ROUNDS { 0 } else { width - cell.width().min(width) };
            line = line.padded_to(column + blanks).and(cell);
            column += width + GAP;
        }
        line
    }
}

fn measured(cell: &Cell, rounds: u32) -> Row {
    let failed = if cell.failed > 0 { format!(", {} failed", cell.failed) } else { String::new() };
    let throughput = cell.nopm.as_ref().or(cell.transactions_per_second.as_ref());
    Row {
        cells: [
            cell.variant.clone(),
            cell.load.to_string(),
            format!("{} of {rounds}{failed}", cell.rounds),
            throughput.map_or("-".to_owned(), told),
            cell.p99_ms.as_ref().map_or("-".to_owned(), |p99| short(p99.value)),
        ],
        short_load: cell.load.label(),
        style: (cell.failed > 0).then_some(Style::Red),
    }
}

/// `1,786 ± 34`, or without an interval where there is none yet.
fn told(estimate: &Estimate) -> String {
    Measured::from(estimate).label(decimals_for(estimate.value))
}

/// `+38.0 % (31.0 – 45.0)`, or without an interval where there is none yet.
fn change(change: &Estimate) -> String {
    let percent = |share: f64| number(100.0 * share, 1);
    let sign = if change.value > 0.0 { "+" } else { "" };
    match change.interval() {
        Some((low, high)) => format!("{sign}{} % ({} – {})", percent(change.value), percent(low), percent(high)),
        None => format!("{sign}{} %", percent(change.value)),
    }
}

/// The best that a search has tried; before them, what was left of it when it was measured again.
fn searched(tune: &TuneSummary) -> Vec<Row> {
    let row = |name: &str, settings: &[(&str, &str)], better: String, style: Option<Style>| {
        let cells = [name.to_owned(), changed(settings), String::new(), better, String::new()];
        Row { cells, short_load: counted(settings.len() as f64, "setting"), style }
    };
    let kept = tune.kept_settings();
    let kept: Vec<(&str, &str)> = kept.into_iter().map(|of| (of.name.as_str(), of.value.as_str())).collect();
    let style = match tune.conclusion {
        TuneConclusion::Confirmed => Some(Style::Green),
        TuneConclusion::NotConfirmed => Some(Style::Red),
        TuneConclusion::Open | TuneConclusion::Nothing => None,
    };
    let again = tune.shown_gain().map(|gain| row("measured again", &kept, change(gain), style));
    let tried = tune.best().take(NAMED).map(|(tried, gain)| {
        let settings: Vec<(&str, &str)> = tried.changed.iter().map(|(name, value)| (&**name, &**value)).collect();
        row(&tried.label, &settings, signed_percent(gain), None)
    });
    again.into_iter().chain(tried).collect()
}

/// `innodb_io_capacity = 4000 and 2 more`.
fn changed(settings: &[(&str, &str)]) -> String {
    match settings {
        [] => "nothing".to_owned(),
        [(name, value)] => format!("{name} = {value}"),
        [(name, value), more @ ..] => format!("{name} = {value} and {} more", more.len()),
    }
}

fn climbed(ladder: &Ladder, step: &LadderStep) -> Row {
    let style = match step.verdict {
        RungVerdict::Kept => Some(Style::Green),
        RungVerdict::Worse | RungVerdict::NotApplied => Some(Style::Red),
        _ => None,
    };
    let change = step.change.as_ref().map_or("-".to_owned(), change);
    let cells = [
        format!("{}/{}", ladder.variant, step.rung),
        step.verdict.words().to_owned(),
        String::new(),
        change,
        String::new(),
    ];
    Row { cells, short_load: step.verdict.words().to_owned(), style }
}

fn sought(line: &LoadLine) -> Row {
    let best = |kept: bool, pick: fn(f64, f64) -> f64| {
        let rates = line.tried.iter().filter(|tried| tried.kept == kept).map(|tried| tried.rate);
        rates.reduce(pick).map_or("-".to_owned(), |rate| format!("{}/s", short(rate)))
    };
    let point = LoadPoint::closed(line.connections);
    let cells = [
        line.variant.clone(),
        point.to_string(),
        format!("{} tried", line.tried.len()),
        best(true, f64::max),
        best(false, f64::min),
    ];
    Row { cells, short_load: point.label(), style: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_testkit::tuned::{tried_settings, tune_summary};

    fn row(name: &str, connections: usize) -> Row {
        let point = LoadPoint::closed(connections);
        let cells = [name, &point.to_string(), "2 of 3", "1,786 ± 34", "12.3"].map(str::to_owned);
        Row { cells, short_load: point.label(), style: None }
    }

    fn shown(so_far: &SoFar, current: Option<&str>, (columns, rows): (usize, usize)) -> Vec<String> {
        let room = Room { columns, rows, unicode: true };
        so_far.lines(current, room).iter().map(|line| line.rendered(room, false)).collect()
    }

    const HEADS: [&str; 5] = ["variant", "load", "rounds", "transactions/s", "p99 ms"];

    #[test]
    fn numbers_stand_below_each_other() {
        let so_far = SoFar { heads: HEADS, rows: vec![row("計測", 4), row("a/rather-long-name-of-a-variant", 64)] };
        let expected = [
            "variant                       load            rounds  transactions/s  p99 ms",
            "計測                          4 connections   2 of 3      1,786 ± 34    12.3",
            "a/rather-long-name-of-a-var…  64 connections  2 of 3      1,786 ± 34    12.3",
        ];
        assert_eq!(shown(&so_far, None, (100, 12)), expected);
    }

    #[test]
    fn numbers_are_the_last_to_go() {
        let so_far = SoFar { heads: HEADS, rows: vec![row("計測", 4), row("a/rather-long-name-of-a-variant", 64)] };
        let expected = [
            "variant                       load            transactions/s  p99 ms",
            "計測                          4 connections       1,786 ± 34    12.3",
            "a/rather-long-name-of-a-var…  64 connections      1,786 ± 34    12.3",
        ];
        assert_eq!(shown(&so_far, None, (70, 12)), expected);
        let expected = [
            "variant    load  transactions/s  p99 ms",
            "計測       c4        1,786 ± 34    12.3",
            "a/rather…  c64       1,786 ± 34    12.3",
        ];
        assert_eq!(shown(&so_far, None, (40, 12)), expected);
    }

    #[test]
    fn a_search_names_its_best_trials_and_first_what_was_measured_again() {
        let mut tune = tune_summary();
        tune.tried.extend([tried_settings("3", &["a"], Ok(-0.1)), tried_settings("4", &["a", "b", "c"], Ok(0.5))]);
        let rows = |tune: &TuneSummary| searched(tune).into_iter().map(|row| row.cells).collect::<Vec<_>>();
        let tried = [["4", "a = 9 and 2 more", "", "+50.0 %", ""], ["3", "a = 9", "", "−10.0 %", ""]];
        let again = ["measured again", "a = 1", "", "+38.0 % (31.0 – 45.0)", ""];
        assert_eq!(rows(&tune), [again, tried[0], tried[1]]);
        (tune.confirmed, tune.kept) = (None, None);
        assert_eq!(rows(&tune), tried);
    }

    #[test]
    fn where_there_is_little_room_the_load_of_now_comes_first() {
        let rows = (1..=9).map(|number| row(&format!("v{number}"), number)).collect();
        let so_far = SoFar { heads: ["variant", "load", "", "", ""], rows };
        let lines = shown(&so_far, Some("7 connections"), (100, 4));
        assert!(lines[1].starts_with("v7") && lines[2].starts_with("v1") && lines[3] == "… and 7 more", "{lines:?}");
        assert!(shown(&so_far, None, (100, 1)).is_empty());
    }
}
