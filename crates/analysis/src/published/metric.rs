//! The metrics that a plan may name, and where a trial has them.

use super::storage;
use plimsoll_measures::metric::value as of_probe;
use plimsoll_model::Estimate;
use plimsoll_model::Metric;
use plimsoll_model::summary::{HostShares, Point};
use plimsoll_plan::lab::Printed;
use plimsoll_report::subject::Trial;
use plimsoll_schedule::quantity::over_rounds;

/// A number of a trial; none where it has none.
type Of<T> = fn(&T) -> Option<f64>;

/// The mean of what a printed number speaks of over trials of one kind.
///
/// # Errors
/// Why there is none.
pub(super) fn over_trials(printed: &Printed, trials: &[&Trial]) -> Result<Estimate, String> {
    let metric = printed.metric.as_str();
    let of_trial = |trial: &&Trial| value(metric, printed.probe.as_deref(), trial);
    let values: Vec<f64> = trials.iter().filter_map(of_trial).collect();
    mean(&values).ok_or_else(|| format!("no trial has {metric}"))
}

/// The mean over rounds: geometric with its interval, but of what was not there in some of them, of which there is no
/// geometric mean.
fn mean(values: &[f64]) -> Option<Estimate> {
    if values.is_empty() || values.iter().all(|value| *value > 0.0) {
        return over_rounds(values);
    }
    let rounds = values.len() as f64;
    let missing = "in some rounds there was none of it, so that its geometric mean has no interval".to_owned();
    Some(Estimate::bare(values.iter().sum::<f64>() / rounds, rounds, format!("mean of {rounds} rounds"), missing))
}

/// Whether a metric, by the name that a plan gives it, is one of trials, or of the probes of one.
pub(super) fn is_measured(metric: &str, probe: Option<&str>) -> bool {
    let metric = &in_milliseconds(metric).map_or_else(|| metric.to_owned(), |(metric, _)| metric);
    match probe {
        Some(name) => of_probe(metric, name, &[]).is_some(),
        None => Metric::of_name(metric).is_some() || of_point(metric).is_some() || beside_load(metric).is_some(),
    }
}

/// A number of a trial by the name that a plan gives it.
fn value(metric: &str, probe: Option<&str>, trial: &Trial) -> Option<f64> {
    if let Some((metric, factor)) = in_milliseconds(metric) {
        return Some(value(&metric, probe, trial)? * factor);
    }
    if let Some(name) = probe {
        return of_probe(metric, name, &trial.io.as_ref()?.probes).flatten();
    }
    match (Metric::of_name(metric), of_point(metric)) {
        (Some(metric), _) => metric.value(trial.point.as_ref()?),
        (None, Some(of)) => of(trial.point.as_ref()?),
        (None, None) => beside_load(metric)?(trial),
    }
}

/// Times can be asked for in seconds, too: `p95_s` is `p95_ms` times the factor.
fn in_milliseconds(metric: &str) -> Option<(String, f64)> {
    metric.strip_suffix("_s").map(|name| (format!("{name}_ms"), 1e-3))
}

fn of_point(metric: &str) -> Option<Of<Point>> {
    fn share(point: &Point, of: fn(&HostShares) -> f64) -> Option<f64> {
        point.host.as_ref().map(|host| 100.0 * of(host))
    }
    fn each(count: u64, of: u64) -> Option<f64> {
        (of > 0).then(|| count as f64 / of as f64)
    }
    Some(match metric {
        "statements_per_transaction" => |point| each(point.queries, point.transactions),
        "errors_per_second" => |point| Some(point.error_count() as f64 / point.seconds),
        "reconnects" => |point| Some(point.reconnects as f64),
        "min_ms" => |point| point.response_ms.unwrap_or(point.latency_ms).min,
        "max_ms" => |point| point.response_ms.unwrap_or(point.latency_ms).max,
        "host_busy_percent" => |point| share(point, |host| host.busy),
        "host_user_percent" => |point| share(point, |host| host.user),
        "host_system_percent" => |point| share(point, |host| host.system),
        "host_iowait_percent" => |point| share(point, |host| host.iowait),
        _ => return None,
    })
}

/// What was sampled beside the load.
fn beside_load(metric: &str) -> Option<Of<Trial>> {
    Some(match metric {
        "host_cpu_us_per_transaction" => |trial| trial.cost.host_cpu_us,
        "client_cpu_us_per_transaction" => |trial| trial.cost.client_cpu_us,
        "device_read_percent" => |trial| Some(100.0 * trial.cost.read_share?),
        "device_request_kb" => |trial| trial.cost.request_kb,
        _ => return storage::of_trial(metric),
    })
}

/// A metric that variants are compared in, by the name that a plan gives it.
pub(super) fn compared_in(name: &str) -> Option<Metric> {
    Metric::of_name(name).filter(|metric| Metric::COMPARED.contains(metric))
}

/// Of a number in which variants are ordered.
pub(super) fn more_is_better(metric: &str) -> bool {
    match Metric::of_name(metric) {
        Some(metric) => metric.more_is_better(),
        None => metric == super::CHANGE || metric.ends_with("_per_second") && metric != "errors_per_second",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_there_in_a_round_has_a_mean_without_an_interval() {
        let found = mean(&[0.0, 2.0]).expect("a mean");
        assert_eq!((found.value, found.interval()), (1.0, None));
        assert!(mean(&[1.0, 1.1, 0.9]).expect("a mean").interval().is_some());
        assert!(mean(&[]).is_none());
    }

    #[test]
    fn what_is_measured_is_known_by_its_name() {
        for metric in ["nopm", "p95_ms", "p95_s", "host_cpu_us_per_transaction", "storage_server_busy_percent"] {
            assert!(is_measured(metric, None), "{metric}");
        }
        assert!(is_measured("requests_per_second", Some("percona.1")) && !is_measured("nopm", Some("percona.1")));
        assert!(!is_measured("ports", None) && !is_measured("warehouses_s", None));
    }

    #[test]
    fn less_is_better_of_times_and_errors() {
        assert!(more_is_better("nopm") && more_is_better("queries_per_second"));
        assert!(!more_is_better("p99_ms") && !more_is_better("errors_per_second"));
    }
}
