//! Histograms of commit latency by how many sessions commit at once, a figure for each imitated server.

use crate::document::Figure;
use crate::document::WIDTH;
use crate::figure::{LEFT, Panel, thinned};
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::OpKind;
use plimsoll_model::io::Probe;
use plimsoll_model::number::{counted, short, tick};
use plimsoll_model::total;

const SHARE: Panel = Panel { left: LEFT, right: 736.0, top: 58.0, bottom: 228.0 };
/// The number of lines that can be told apart.
const CLASSES: [&str; 5] = ["s1", "s2", "s4", "s3", "aside"];
const SERVERS: [(&str, &str); 2] = [("mysql", "MySQL"), ("mariadb", "MariaDB")];

/// Commits with this many sessions: upper ends of buckets in microseconds, and the share of commits in each, percent.
struct Line {
    sessions: f64,
    buckets: Vec<(f64, f64)>,
}

/// One figure for each server that was imitated.
pub fn draw(probes: &[Probe], caption: &str) -> Vec<Figure> {
    SERVERS.into_iter().filter_map(|(key, name)| histogram(probes, key, name, caption)).collect()
}

fn histogram(probes: &[Probe], server: &str, name: &str, caption: &str) -> Option<Figure> {
    let lines = lines(probes, server);
    let ends = || lines.iter().flat_map(|line| &line.buckets);
    let (low, high) =
        ends().fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), end| (end.0.min(low), end.0.max(high)));
    if low >= high {
        return None;
    }
    let x = Scale::logarithmic_round((low, high), (SHARE.left, SHARE.right));
    let y = Scale::from_zero(ends().map(|end| end.1).fold(0.0, f64::max), SHARE.vertical(), 4);
    let mut svg = Svg::new(WIDTH, SHARE.bottom + 44.0, &format!("Commit latency by sessions: {name}"));
    SHARE.frame(&mut svg, &y, 4, name, "% of all commits, per bucket of an eighth of an octave");
    for (line, class) in lines.iter().zip(CLASSES) {
        let places: Vec<(f64, f64)> = line.buckets.iter().map(|&(us, share)| (x.at(us), y.at(share))).collect();
        svg.polyline(&places, &format!("line {class}"));
        let peak = places.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1));
        let Some(peak) = peak else { continue };
        let label = tick(line.sessions);
        svg.dot(peak, 3.0, &format!("dot {class}"), &counted(line.sessions, "session"));
        svg.text((peak.0, peak.1 - 8.0), Anchor::Middle, &format!("name {class}"), &label);
    }
    let ticks = x.ticks(8).into_iter().map(|us| (x.at(us), tick(us))).collect();
    SHARE.horizontal_axis(
        &mut svg,
        &thinned(ticks),
        "microseconds from the request for a commit to its end, logarithmic",
    );
    Some(super::figure(&format!("commits-{server}"), svg, caption, table(&lines)))
}

/// What is drawn, a row for each bucket.
fn table(lines: &[Line]) -> Table {
    let rows: Vec<(f64, f64, f64)> =
        lines.iter().flat_map(|line| line.buckets.iter().map(|&(us, share)| (line.sessions, us, share))).collect();
    let numbers = |of: fn(&(f64, f64, f64)) -> f64| rows.iter().map(|row| short(of(row))).collect();
    Table::new(vec![
        Column::numbers("sessions", "", numbers(|row| row.0)),
        Column::numbers("commit at most", "µs", numbers(|row| row.1)),
        Column::numbers("share of commits", "%", numbers(|row| row.2)),
    ])
}

/// By sessions, fewest first.
fn lines(probes: &[Probe], server: &str) -> Vec<Line> {
    let of_server = probes.iter().filter(|probe| matches!(probe.probe, 1 | 2) && probe.word("server") == server);
    let mut lines: Vec<Line> = of_server
        .filter_map(|probe| {
            let counts = probe.histogram.get(&OpKind::Commit)?;
            let all = total(counts.iter().map(|(_, count)| *count));
            let share = |count: u64| 100.0 * count as f64 / all as f64;
            let usable = counts.iter().filter(|(us, _)| *us > 0.0 && us.is_finite());
            let buckets = usable.map(|&(us, count)| (us, share(count))).collect();
            (all > 0).then_some(Line { sessions: probe.number("committers")?, buckets })
        })
        .collect();
    lines.sort_by(|a, b| a.sessions.total_cmp(&b.sessions));
    lines.dedup_by(|a, b| a.sessions == b.sessions);
    lines
}
