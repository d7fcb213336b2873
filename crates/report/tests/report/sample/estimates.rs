//! The sample's intervals and what its sweep tells as a whole.

use plimsoll_model::Estimate;
use plimsoll_model::scaling::{Knee, ModelPeak, Saturation, Scaling};
use plimsoll_model::summary::{LatencyMs, Point};
use std::collections::BTreeMap;

/// `value` with ends at so many of it.
pub fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    let method = "5 batches of 2 s, t interval".to_owned();
    Estimate::new(value, (low * value, high * value), 0.95, 6.4, method)
}

/// Fills in the estimates of everything that the point has.
pub fn estimate_all(point: &mut Point) {
    let latency = |of: LatencyMs, prefix: &str| {
        let known = [
            ("mean", of.mean, 0.97, 1.03),
            ("p50", of.p50, 0.98, 1.02),
            ("p90", of.p90, 0.97, 1.04),
            ("p95", of.p95, 0.95, 1.06),
            ("p99", of.p99, 0.91, 1.13),
            ("p999", of.p999, 0.8, 1.4),
        ];
        known.map(|(name, value, low, high)| (format!("{prefix}.{name}"), value.map(|ms| estimate(ms, low, high))))
    };
    let symmetric = |path: &str, value: Option<f64>, half: f64| {
        (path.to_owned(), value.map(|value| estimate(value, 1.0 - half, 1.0 + half)))
    };
    let (client, server, host) = (&point.client, point.server.as_ref(), point.host.as_ref());
    let of_window = [
        symmetric("transactions_per_second", point.transactions_per_second, 0.021),
        symmetric("queries_per_second", point.queries_per_second, 0.021),
        symmetric("nopm", point.nopm, 0.021),
        symmetric("client.cpu_us_per_query", client.cpu_us_per_query, 0.012),
        symmetric("client.cpu_us_per_transaction", client.cpu_us_per_transaction, 0.012),
        symmetric("client.cpu_fraction", client.cpu_fraction, 0.02),
        symmetric("server.cpu_us_per_query", server.and_then(|server| server.cpu_us_per_query), 0.015),
        symmetric("server.cpu_us_per_transaction", server.and_then(|server| server.cpu_us_per_transaction), 0.015),
        symmetric("server.read_bytes_per_query", server.and_then(|server| server.read_bytes_per_query), 0.4),
        symmetric("server.written_bytes_per_query", server.and_then(|server| server.written_bytes_per_query), 0.05),
        symmetric("host.busy", host.map(|host| host.busy), 0.006),
        symmetric("host.user", host.map(|host| host.user), 0.011),
        symmetric("host.system", host.map(|host| host.system), 0.014),
        symmetric("host.iowait", host.map(|host| host.iowait), 0.2),
        symmetric("host.steal", host.map(|host| host.steal), 0.0),
    ];
    let response = point.response_ms.map(|response| latency(response, "response_ms"));
    let all =
        of_window.into_iter().chain(latency(point.latency_ms, "latency_ms")).chain(response.into_iter().flatten());
    point.estimates = all.filter_map(|(path, estimate)| Some((path, estimate?))).collect::<BTreeMap<_, _>>();
    if let Some(switches) = server.and_then(|server| server.context_switches_per_query) {
        let why = "they are read at the two ends of the window only: looking at each thread would disturb the server";
        let bare = Estimate::bare(switches, 1.0, "difference over the window".to_owned(), why.to_owned());
        point.estimates.insert("server.context_switches_per_query".to_owned(), bare);
    }
    for operation in &mut point.operations {
        operation.latency_mean_ms = operation.latency_ms.mean.map(|mean| estimate(mean, 0.97, 1.03));
    }
}

pub fn knee(load: Estimate, peak_load: f64, peak: f64) -> Knee {
    let peak = estimate(peak, 0.979, 1.021);
    Knee { load, throughput: 0.95 * peak.value, peak_load, peak, open_ended: false }
}

/// Of [`super::SWEEP`], whose shape the model does not quite have.
pub fn scaling(metric: &str, peak: f64) -> Scaling {
    let unit = peak / 981.0;
    let estimate = |value: f64, low: f64, high: f64| Estimate {
        effective_n: 7.0,
        method: "least squares of log throughput over 7 load points, t interval".to_owned(),
        ..estimate(value, low, high)
    };
    let model_peak = ModelPeak { load: estimate(22.58, 0.81, 1.34), throughput: estimate(1026.1 * unit, 0.93, 1.07) };
    let interpolated = "interpolated over log2(load), Welch t intervals of the ratios to the peak".to_owned();
    let saturation = Saturation {
        gamma: estimate(339.7 * unit, 0.87, 1.13),
        alpha: estimate(0.2676, 0.7, 1.3),
        beta: estimate(0.001436, 0.01, 2.1),
        peak: Some(model_peak),
        residual: 0.068,
        noise: Some(0.011),
        poor: Some("residuals of 6.8 % exceed the noise of 1.1 %".to_owned()),
    };
    Scaling {
        metric: metric.to_owned(),
        knee: Some(knee(Estimate { method: interpolated, ..estimate(9.07, 0.81, 1.4) }, 32.0, peak)),
        saturation: Some(saturation),
        refusals: Vec::new(),
    }
}
