//! Recordings of one name over time: when the level changed, and by how much.

use crate::document::{Block, Document, Finding, Section};
use crate::figure::trend::draw;
use crate::interval::Measured;
use crate::table::{Column, Table};
use crate::terminal::{BOLD, TextLook};
use plimsoll_model::layout::clean;
use plimsoll_model::number::{NOTHING, counted, percent, short};
use plimsoll_model::trend::{LevelChange, Trend, TrendLine, TrendRecording};

/// A change and the line that it is of.
struct ShownChange<'a> {
    line: &'a TrendLine,
    change: &'a LevelChange,
}

impl<'a> ShownChange<'a> {
    fn all(line: &'a TrendLine) -> impl Iterator<Item = ShownChange<'a>> {
        line.changes.iter().map(move |change| ShownChange { line, change })
    }
}

/// The report of a trend. `generated` says when and by what.
pub fn document(trend: &Trend, generated: &str) -> Document {
    let lines: Vec<Block> =
        trend.lines.iter().enumerate().filter_map(|(place, line)| figure(trend, place, line)).collect();
    let sections = [
        Section::of("trend", "Over time", lines),
        Section::of("changes", "Changes of level", changes_table(trend).into_iter().collect()),
        Section::of("recordings", "Recordings", vec![Block::table("recordings", recordings(trend), [])]),
        Section::of("left-out", "Left out", left_out(trend)),
    ];
    let mut changed = sorted(trend).into_iter().map(|of| sentence(trend, &of));
    let answer = changed.next().unwrap_or_else(|| without_change(trend));
    Document {
        title: format!("{} over time", trend.name),
        answer,
        findings: changed.map(Finding::of).collect(),
        facts: vec![counted(trend.recordings.len() as f64, "recording"), span(trend)],
        sections: sections.into_iter().flatten().collect(),
        generated: generated.to_owned(),
        data: serde_json::to_value(trend).unwrap_or_default(),
    }
}

/// The answer, and a line for each change of level; ends with a line break.
pub fn terminal(trend: &Trend, look: TextLook) -> String {
    let mut told = sorted(trend).into_iter().map(|of| sentence(trend, &of));
    let first = told.next().unwrap_or_else(|| without_change(trend));
    let mut lines: Vec<String> = look.wrapped(&first).into_iter().map(|line| look.style(BOLD, line)).collect();
    lines.extend(told.flat_map(|sentence| look.wrapped(&sentence)));
    lines.extend(trend.left_out.iter().map(|why| clean(&format!("left out: {why}"))));
    lines.join("\n") + "\n"
}

/// The latest first; of one recording the one that lost or gained most.
fn sorted(trend: &Trend) -> Vec<ShownChange<'_>> {
    let mut all: Vec<ShownChange<'_>> = trend.lines.iter().flat_map(ShownChange::all).collect();
    all.sort_by(|a, b| {
        let size = |of: &ShownChange<'_>| of.change.share().abs();
        b.change.recording.cmp(&a.change.recording).then(size(b).total_cmp(&size(a)))
    });
    all
}

/// `Worse since 2026-11-20 02:00 (20261120T020000Z-nightly-1f3a): at 16 connections 902 transactions per second instead of
/// 1,000 (−9.8 %).`
fn sentence(trend: &Trend, of: &ShownChange<'_>) -> String {
    let ShownChange { line, change } = of;
    let word = if line.is_worse(change) { "Worse" } else { "Better" };
    let TrendRecording { id, started, .. } = &trend.recordings[change.recording];
    let share = change.share();
    let sign = if share < 0.0 { "−" } else { "+" };
    let (after, before) = (short(change.after), short(change.before));
    clean(&format!(
        "{word} since {started} ({id}): at {} {after} {} instead of {before} ({sign}{}).",
        line.at,
        line.metric.unit(),
        percent(share.abs())
    ))
}

fn without_change(trend: &Trend) -> String {
    let recordings = counted(trend.recordings.len() as f64, "recording");
    match trend.recordings.len() < trend.fewest {
        true => format!(
            "{recordings} of {}: too few to see a change of level; {} can show a large one, and it takes at least three after \
             it.",
            clean(&trend.name),
            trend.fewest
        ),
        false => format!("No change of level in {recordings} of {}.", clean(&trend.name)),
    }
}

/// From the first to the last day.
fn span(trend: &Trend) -> String {
    let day = |recording: &TrendRecording| recording.started.split(' ').next().unwrap_or_default().to_owned();
    match (trend.recordings.first(), trend.recordings.last()) {
        (Some(first), Some(last)) => format!("{} – {}", day(first), day(last)),
        _ => String::new(),
    }
}

fn figure(trend: &Trend, place: usize, line: &TrendLine) -> Option<Block> {
    draw(&format!("trend-{}", place + 1), trend, line).map(Block::Figure)
}

fn changes_table(trend: &Trend) -> Option<Block> {
    let all = sorted(trend);
    let cells = |of: &dyn Fn(&ShownChange<'_>) -> String| all.iter().map(of).collect::<Vec<_>>();
    let columns = vec![
        Column::words("since", cells(&|of| trend.recordings[of.change.recording].started.clone())),
        Column::words("recording", cells(&|of| trend.recordings[of.change.recording].id.clone())),
        Column::words("at", cells(&|of| of.line.at.clone())),
        Column::words("metric", cells(&|of| of.line.metric.unit().to_owned())),
        Column::numbers("before", "", cells(&|of| short(of.change.before))),
        Column::numbers("after", "", cells(&|of| short(of.change.after))),
        Column::numbers("chance", "", cells(&|of| percent(of.change.p_value))),
    ];
    (!all.is_empty()).then(|| Block::table("changes", Table::new(columns), []))
}

/// A row for each recording, a column for each line.
fn recordings(trend: &Trend) -> Table {
    let of = |pick: fn(&TrendRecording) -> String| trend.recordings.iter().map(pick).collect::<Vec<_>>();
    let mut columns = vec![
        Column::words("started (UTC)", of(|it| it.started.clone())),
        Column::words("recording", of(|it| it.id.clone())),
    ];
    columns.extend(trend.lines.iter().map(|line| {
        let values: Vec<Measured> =
            line.values.iter().map(|value| value.as_ref().map(Measured::from).unwrap_or_default()).collect();
        Column::measured(&line.at, line.metric.unit(), 1, &values).narrow()
    }));
    if trend.recordings.iter().any(|it| !it.tags.is_empty()) {
        columns.push(Column::words("tags", of(|it| it.tags.iter().cloned().collect::<Vec<_>>().join(", "))));
    }
    if trend.recordings.iter().any(|it| it.note.is_some()) {
        columns.push(Column::words("note", of(|it| it.note.clone().unwrap_or_else(|| NOTHING.to_owned()))));
    }
    Table::new(columns)
}

fn left_out(trend: &Trend) -> Vec<Block> {
    let all: Vec<crate::document::Item> = trend.left_out.iter().map(crate::document::Item::of).collect();
    if all.is_empty() { Vec::new() } else { vec![Block::List(all)] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::{Estimate, Metric};

    fn trend(of: usize, changes: Vec<LevelChange>) -> Trend {
        let recording = |place: usize| TrendRecording {
            id: format!("r{place}"),
            started: format!("2026-11-{:02} 02:00", place + 1),
            ..TrendRecording::default()
        };
        let value = |place: usize| {
            let level = if changes.iter().any(|change| place >= change.recording) { 902.0 } else { 1000.0 };
            Some(Estimate::new(level, (level - 20.0, level + 20.0), 0.95, 3.0, "3 rounds".to_owned()))
        };
        Trend {
            schema_version: 1,
            name: "nightly".to_owned(),
            recordings: (0..of).map(recording).collect(),
            lines: vec![TrendLine {
                at: "16 connections".to_owned(),
                metric: Metric::TransactionsPerSecond,
                values: (0..of).map(value).collect(),
                changes,
            }],
            fewest: 8,
            left_out: Vec::new(),
        }
    }

    #[test]
    fn the_answer_names_the_first_recording_of_the_new_level() {
        let fall = LevelChange { recording: 19, before: 1000.0, after: 902.0, p_value: 0.001 };
        let document = document(&trend(30, vec![fall]), "");
        assert_eq!(
            document.answer,
            "Worse since 2026-11-20 02:00 (r19): at 16 connections 902 transactions per second instead of 1,000 (−9.8 %)."
        );
        let ids: Vec<&str> = document.sections.iter().map(|section| section.id.as_str()).collect();
        assert_eq!(ids, ["trend", "changes", "recordings"]);
        let figure = document.figures().next().expect("a figure");
        assert!(figure.svg.matches("<circle").count() >= 30 && figure.svg.contains("902"), "{}", figure.svg);
    }

    #[test]
    fn what_is_not_known_is_said() {
        assert_eq!(document(&trend(30, Vec::new()), "").answer, "No change of level in 30 recordings of nightly.");
        let few = document(&trend(4, Vec::new()), "").answer;
        assert!(few.starts_with("4 recordings of nightly: too few to see a change of level; 8 can"), "{few}");
        let none = document(&trend(0, Vec::new()), "");
        assert!(none.answer.starts_with("0 recordings"), "{}", none.answer);
    }
}
