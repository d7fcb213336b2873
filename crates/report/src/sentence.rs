//! The answer of a run in one sentence, and what stands directly below it.

use crate::document::Finding;
use crate::interval::Measured;
use crate::order_entry;
use crate::run_view::ShownRun;
use crate::scaling;
use crate::section::caveats;
use crate::sweep::{Sweep, Unit, shown_latency};
use plimsoll_model::diagnosis::{Bottleneck, BottleneckVerdict};
use plimsoll_model::layout::{capitalised, sentence};
use plimsoll_model::number::{counted, decimals_for, number, short, tick};
use plimsoll_model::summary::Point;
use plimsoll_model::total;

/// What the run found, as one plain sentence.
pub(crate) fn answer(run: &ShownRun<'_>) -> String {
    let sweep = run.sweep();
    let found = match (sweep.points, sweep.peak()) {
        ([], _) => "Nothing was measured: the run ended before its first load point was complete".to_owned(),
        (points, None) => nothing_succeeded(total(points.iter().map(Point::error_count))),
        ([_], Some(_)) => single_point(&sweep),
        (_, Some(peak)) => several_points(run, &sweep, peak),
    };
    let found = format!("{found}{}", disturbed(&sweep));
    match sweep.points.len() {
        points if run.summary.interrupted && points > 0 => {
            format!("{found}; the run ended early, after {}.", counted(points as f64, "load point"))
        }
        _ => format!("{found}."),
    }
}

/// How many load points were disturbed, as a clause; nothing if none was.
fn disturbed(sweep: &Sweep<'_>) -> String {
    let of = sweep.points.len();
    let peak = sweep.peak().is_some_and(|peak| sweep.points[peak].is_disturbed());
    let many = sweep.points.iter().filter(|point| point.is_disturbed()).count();
    match many {
        0 => String::new(),
        _ if of == 1 => {
            "; but something else used the machine at the same time, so this may not be what it carries".to_owned()
        }
        _ if peak => format!(
            "; but something else used the machine at {many} of {of} load points, including this one, so this may \
             not be what it carries"
        ),
        _ => format!("; but something else used the machine at {many} of {of} load points, so more may be possible"),
    }
}

fn nothing_succeeded(errors: u64) -> String {
    match errors {
        0 => "No transaction was completed".to_owned(),
        n => format!("No transaction succeeded; the server answered with {}", counted(n as f64, "error")),
    }
}

fn single_point(sweep: &Sweep<'_>) -> String {
    let point = &sweep.points[0];
    let latency = shown_latency(point);
    let connections = point.load.connections_in_words();
    let unit = sweep.unit.name();
    if let Some(unsteady) = sweep.measured(point).unsteady() {
        return format!("How many {unit} the server carries at {connections} is {unsteady}");
    }
    let mut text = format!("{} {} at {connections}", rate(sweep, point), interval(sweep, point));
    if let Some(offered) = point.load.rate {
        let unit = if sweep.unit == Unit::NewOrders { " transactions per second" } else { "" };
        text.push_str(&format!(" with {}{unit} offered", number(offered, 0)));
    }
    if sweep.unit == Unit::NewOrders {
        if let Some(p90) = order_entry::new_order_p90(point) {
            text.push_str(&format!("; 90 % of all new orders took at most {} ms", short(p90)));
        }
    } else if let (Some(p50), Some(p99)) = (latency.p50, latency.p99) {
        text.push_str(&format!("; half of them took at most {} ms, 99 % at most {} ms", short(p50), short(p99)));
    }
    text
}

fn several_points(run: &ShownRun<'_>, sweep: &Sweep<'_>, peak: usize) -> String {
    let point = &sweep.points[peak];
    let at_end = sweep.by_load().last().is_some_and(|last| sweep.x(last) == sweep.x(point));
    let end = if at_end { ", the highest load tried: more may be possible" } else { "" };
    let most = if at_end { "" } else { " at most" };
    if let Some(unsteady) = sweep.measured(point).unsteady() {
        let (unit, at) = (sweep.unit.name(), sweep.load_text(point));
        return format!(
            "How many {unit} the server carries at most is {unsteady}. Most were measured at {at}{end}{}",
            limit(run, point)
        );
    }
    let (rate, interval, at) = (rate(sweep, point), interval(sweep, point), sweep.load_text(point));
    format!("{rate}{most} {interval} at {at}{end}{}", limit(run, point))
}

/// What limited the peak, as a clause; nothing if that was not judged.
fn limit(run: &ShownRun<'_>, peak: &Point) -> String {
    match run.diagnosis(peak).map(|diagnosis| diagnosis.verdict) {
        Some(BottleneckVerdict::Limited(Bottleneck::Client)) => {
            format!("; limited by {}, so the server may carry more", Bottleneck::Client.words())
        }
        Some(BottleneckVerdict::Limited(bottleneck)) => format!("; limited by {}", bottleneck.words()),
        Some(BottleneckVerdict::NotLimited) => "; nothing was near its limit".to_owned(),
        Some(BottleneckVerdict::NotClear) => "; what limited it is not clear".to_owned(),
        None => String::new(),
    }
}

/// How far the run came, what limited it, how sure that is, where the knee is, and what is missing: a sentence each,
/// most after a label.
pub(crate) fn findings(run: &ShownRun<'_>) -> Vec<Finding> {
    let sweep = run.sweep();
    let mut findings: Vec<Finding> = run.recorded.state.iter().map(|state| Finding::of(sentence(state))).collect();
    if let Some(point) = sweep.detailed() {
        let judged = run.diagnosis(point).map(|diagnosis| Finding::labelled("What limited it", &diagnosis.sentence));
        findings.extend(judged);
        findings.extend(how_sure(&sweep, point));
    }
    findings.extend(knee(&sweep));
    findings.extend(caveats::findings(&run.recorded.missing));
    findings
}

/// `How sure: 95 % interval 960 – 1,002, from one round of 10 s …`.
fn how_sure(sweep: &Sweep<'_>, point: &Point) -> Option<Finding> {
    let (rate, measured) = (sweep.throughput(point)?, sweep.measured(point));
    let told = capitalised(&measured.told_in_full(decimals_for(rate)));
    let rounds = match point.each_round().len() {
        1 => format!("This was one round of {}; it does not show how far another would differ", window(point)),
        _ => format!("It is the mean of {}", window(point)),
    };
    Some(Finding::labelled("How sure", format!("{told}. {rounds}.")))
}

/// How long a load point was measured: `10 s`, `3 rounds of 5 s`.
pub(crate) fn window(point: &Point) -> String {
    let rounds = point.each_round().len();
    let seconds = format!("{} s", tick((10.0 * point.seconds / rounds as f64).round() / 10.0));
    if rounds == 1 { seconds } else { format!("{rounds} rounds of {seconds}") }
}

/// The load that reaches most of the peak. One that rounds to the peak itself adds nothing.
fn knee(sweep: &Sweep<'_>) -> Option<Finding> {
    let knee = sweep.knee().filter(|knee| knee.load.value.round() < knee.peak_load)?;
    let first_load = sweep.by_load().first().map_or(0.0, |first| sweep.x(first));
    let told = match knee.load.value <= first_load {
        true => {
            let load = counted(knee.load.value, "connection");
            format!("The lowest load tried, {load}, already reached 95 % of the peak.")
        }
        false => {
            let load = scaling::load(&Measured::from(&knee.load).brief());
            format!("95 % of the peak is reached with about {load}.")
        }
    };
    Some(Finding::labelled("Knee", told))
}

/// `12,345 transactions per second`, `2,310 new orders per minute`.
fn rate(sweep: &Sweep<'_>, point: &Point) -> String {
    format!("{} {}", short(sweep.throughput(point).unwrap_or(0.0)), sweep.unit.name())
}

/// `(95 % interval 12,220 – 12,470)`.
fn interval(sweep: &Sweep<'_>, point: &Point) -> String {
    let measured = sweep.measured(point).brief();
    format!("({})", measured.told_in_full(decimals_for(measured.value.unwrap_or(0.0))))
}
