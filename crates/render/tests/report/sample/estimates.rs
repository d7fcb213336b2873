//! The sample's intervals and what its sweep tells as a whole.

use plimsoll_model::Estimate;
use plimsoll_model::metric::{Estimates, Metric, Statistic};
use plimsoll_model::scaling::{Knee, ModelPeak, Saturation, Scaling};
use plimsoll_model::summary::Point;

/// `value` with ends at so many of it.
pub fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    let method = "5 batches of 2 s, t interval".to_owned();
    Estimate::new(value, (low * value, high * value), 0.95, 6.4, method)
}

/// Fills in the estimates of everything that the point has.
pub fn estimate_all(point: &mut Point) {
    let percentile = |statistic| match statistic {
        Statistic::Mean => (0.97, 1.03),
        Statistic::P50 => (0.98, 1.02),
        Statistic::P90 => (0.97, 1.04),
        Statistic::P95 => (0.95, 1.06),
        Statistic::P99 => (0.91, 1.13),
        Statistic::P999 => (0.8, 1.4),
    };
    let halves = [
        (Metric::TransactionsPerSecond, 0.021),
        (Metric::QueriesPerSecond, 0.021),
        (Metric::Nopm, 0.021),
        (Metric::ClientCpuUsPerQuery, 0.012),
        (Metric::ClientCpuUsPerTransaction, 0.012),
        (Metric::ClientCpuFraction, 0.02),
        (Metric::ServerCpuUsPerQuery, 0.015),
        (Metric::ServerCpuUsPerTransaction, 0.015),
        (Metric::ServerReadBytesPerQuery, 0.4),
        (Metric::ServerWrittenBytesPerQuery, 0.05),
        (Metric::HostBusy, 0.006),
        (Metric::HostUser, 0.011),
        (Metric::HostSystem, 0.014),
        (Metric::HostIowait, 0.2),
        (Metric::HostSteal, 0.0),
    ];
    let of_window = halves.map(|(metric, half)| (metric, (1.0 - half, 1.0 + half)));
    let times = Statistic::ALL.into_iter().flat_map(|statistic| {
        [Metric::Latency(statistic), Metric::Response(statistic)].map(|metric| (metric, percentile(statistic)))
    });
    let all = of_window.into_iter().chain(times);
    let known = |(metric, (low, high)): (Metric, (f64, f64))| Some((metric, estimate(metric.value(point)?, low, high)));
    let mut estimates: Estimates = all.filter_map(known).collect();
    if let Some(switches) = Metric::ServerContextSwitchesPerQuery.value(point) {
        let why = "they are read at the two ends of the window only: looking at each thread would disturb the server";
        let bare = Estimate::bare(switches, 1.0, "difference over the window".to_owned(), why.to_owned());
        estimates.insert(Metric::ServerContextSwitchesPerQuery, bare);
    }
    point.estimates = estimates;
    for operation in &mut point.operations {
        operation.latency_mean_ms = operation.latency_ms.mean.map(|mean| estimate(mean, 0.97, 1.03));
    }
}

pub fn knee(load: Estimate, peak_load: f64, peak: f64) -> Knee {
    let peak = estimate(peak, 0.979, 1.021);
    Knee { load, throughput: 0.95 * peak.value, peak_load, peak, open_ended: false }
}

/// Of [`super::SWEEP`], whose shape the model does not quite have.
pub fn scaling(metric: Metric, peak: f64) -> Scaling {
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
