//! The sweep as lines over its load points.

use crate::figure::curves::{CurvePoint, Curves, Line};
use crate::interval::Measured;
use crate::run_view::ShownRun;
use crate::sweep::{Sweep, Unit};
use plimsoll_model::metric::{Metric, Statistic};
use plimsoll_model::number::short;
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_model::summary::Point;

/// One line, or several if load points share a place on the axis: other rates, or the same load again.
pub(super) fn curves(run: &ShownRun<'_>) -> Curves {
    let sweep = run.sweep();
    let mut lines: Vec<(Line, Vec<&Point>)> = Vec::new();
    for point in sweep.by_load() {
        let name = name(&sweep, point);
        let x = sweep.x(point);
        let has_room = |(line, points): &&mut (Line, Vec<&Point>)| {
            line.name.starts_with(&name) && points.iter().all(|other| sweep.x(other) < x)
        };
        match lines.iter_mut().find(has_room) {
            Some((_, points)) => points.push(point),
            None => {
                let again = lines.iter().filter(|(line, _)| line.name.starts_with(&name)).count();
                let name = if again > 0 { format!("{name}, again") } else { name };
                lines.push((Line { name, ..Line::default() }, vec![point]));
            }
        }
    }
    let is_one = lines.len() == 1;
    let is_due = sweep.points.iter().any(|point| point.response_ms.is_some());
    let line = |(line, points): (Line, Vec<&Point>)| Line {
        places: points.iter().map(|point| place(run, &sweep, point)).collect(),
        scaling: sweep.scaling.filter(|_| is_one).cloned(),
        ..line
    };
    Curves {
        axis: sweep.axis_title().to_owned(),
        what: "Throughput".to_owned(),
        unit: sweep.unit.name().to_owned(),
        latency: if is_due { "Response time" } else { "Latency" }.to_owned(),
        lines: lines.into_iter().map(line).collect(),
    }
}

/// What a line of such points is called.
fn name(sweep: &Sweep<'_>, point: &Point) -> String {
    match point.load.rate.filter(|_| !sweep.is_one_line()) {
        Some(rate) => format!("{} per second offered", short(rate)),
        None => "measured".to_owned(),
    }
}

fn place(run: &ShownRun<'_>, sweep: &Sweep<'_>, point: &Point) -> CurvePoint {
    CurvePoint {
        x: sweep.x(point),
        throughput: sweep.measured(point),
        seconds: seconds(run, sweep, point),
        p50_ms: Measured::of(point, Metric::Time(Statistic::P50)),
        p95_ms: Measured::of(point, Metric::Time(Statistic::P95)),
        p99_ms: Measured::of(point, Metric::Time(Statistic::P99)),
        disturbed: point.is_disturbed(),
    }
}

/// The slowest and the fastest second. Order entry has none, since its seconds do not count new orders separately.
fn seconds(run: &ShownRun<'_>, sweep: &Sweep<'_>, point: &Point) -> Option<(f64, f64)> {
    let trial = run.trial(point).filter(|_| sweep.unit == Unit::Transactions)?;
    // A short last interval would show chance, not the server.
    let whole = |interval: &&Interval| interval.phase == Phase::Measure && interval.seconds >= 0.9;
    let rates =
        trial.series.intervals.iter().filter(whole).map(|interval| interval.transactions as f64 / interval.seconds);
    let (slowest, fastest) = rates.fold((f64::INFINITY, 0.0), |(low, high), rate| (rate.min(low), rate.max(high)));
    (slowest < fastest).then_some((slowest, fastest))
}
