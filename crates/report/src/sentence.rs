//! The answer in one sentence.

use crate::format::{counted, decimals_for, number, short};
use crate::input::{Limit, Report};
use crate::interval::Measured;
use crate::order_entry;
use crate::scaling;
use crate::sweep::{Sweep, Unit, error_count, shown_latency};
use plimsoll_model::summary::Point;

/// What the run found, as one plain sentence.
pub fn answer(report: &Report) -> String {
    let sweep = Sweep::new(report);
    let found = match (sweep.points, sweep.peak()) {
        ([], _) => "Nothing was measured: the run ended before its first load point was complete".to_owned(),
        (points, None) => nothing_succeeded(points.iter().map(error_count).sum()),
        ([_], Some(_)) => single_point(&sweep),
        (_, Some(peak)) => several_points(report, &sweep, peak),
    };
    match sweep.points.len() {
        points if report.summary.interrupted && points > 0 => {
            format!("{found}; the run was interrupted after {}.", counted(points as f64, "load point"))
        }
        _ => format!("{found}."),
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
    let connections = counted(point.connections as f64, "connection");
    let mut text = format!("{} {} at {connections}", rate(sweep, point), interval(sweep, point));
    if let Some(offered) = point.rate_offered {
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

fn several_points(report: &Report, sweep: &Sweep<'_>, peak: usize) -> String {
    let point = &sweep.points[peak];
    let (rate, interval) = (rate(sweep, point), interval(sweep, point));
    let at = sweep.load_text(point);
    let at_end = sweep.by_load().last().is_some_and(|last| sweep.x(last) == sweep.x(point));
    let first_load = sweep.by_load().first().map_or(0.0, |first| sweep.x(first));
    let mut text = match at_end {
        true => format!("{rate} {interval} at {at}, the highest load tried: more may be possible"),
        false => format!("{rate} at most {interval}, at {at}"),
    };
    // A knee that rounds to the peak itself tells nothing new.
    if let Some(knee) = sweep.knee().filter(|knee| knee.load.value.round() < knee.peak_load) {
        text.push_str(&match knee.load.value <= first_load {
            true => format!(
                "; already {}, the lowest load tried, reached 95 % of that",
                counted(knee.load.value, "connection")
            ),
            false => {
                format!("; 95 % of that is reached with about {}", scaling::load(&Measured::from(&knee.load).brief()))
            }
        });
    }
    text.push_str(match report.limit {
        Limit::ClientCpu(_) => "; the load generator’s own CPU was the limit, so the server may carry more",
        Limit::HostCpu(_) => "; the host’s CPUs were the limit",
        Limit::NotDetermined(_) => "; what limited it could not be determined",
    });
    text
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
