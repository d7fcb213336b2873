//! The rounds of a load point as one.

use plimsoll_model::metric::{Metric, Statistic};
use plimsoll_model::summary::{Counts, LatencyMs, Operation, Point, ReadWriteOther};
use plimsoll_model::{Estimate, total};
use plimsoll_schedule::quantity::over_rounds;
use std::collections::{BTreeMap, BTreeSet};

/// The rounds of a load point as one point, which keeps them. What was counted is added up. Each metric is its mean over
/// the rounds, with the interval that they give. What has no mean (the mix of transactions, a stall, the trial) is that
/// of the round in the middle by throughput. A single round stays as it is; `None` without rounds.
pub fn pooled(mut rounds: Vec<Point>) -> Option<Point> {
    if rounds.len() < 2 {
        return rounds.pop();
    }
    let mut point = middle(&rounds)?.clone();
    add_up(&mut point, &rounds);
    extremes(&mut point, &rounds);
    let means: Vec<(Metric, Estimate)> =
        Metric::all().filter_map(|metric| Some((metric, over(metric, &rounds)?))).collect();
    point.estimates = Default::default();
    for (metric, estimate) in means {
        metric.set(&mut point, estimate.value);
        point.estimates.insert(metric, estimate);
    }
    of_kinds(&mut point, &rounds);
    point.operations = operations(&rounds);
    point.rounds = rounds;
    Some(point)
}

/// The mean of a metric over rounds; of one round what that knows itself. `None` where a round has no samples, or there
/// is no round. Where a round has 0 there is no interval.
pub fn over<'a>(metric: Metric, rounds: impl IntoIterator<Item = &'a Point>) -> Option<Estimate> {
    let rounds: Vec<&Point> = rounds.into_iter().collect();
    let values: Vec<f64> = rounds.iter().map(|point| metric.value(point)).collect::<Option<_>>()?;
    match (&rounds[..], &values[..]) {
        ([point], [value]) if value.is_finite() => {
            Some(metric.estimate(point).cloned().unwrap_or_else(|| without_interval(*value, 1)))
        }
        _ => mean(&values),
    }
}

fn mean(values: &[f64]) -> Option<Estimate> {
    match values {
        [] => None,
        _ if values.iter().any(|value| !value.is_finite()) => None,
        _ if values.iter().all(|value| *value > 0.0) => over_rounds(values),
        _ => Some(without_interval(values.iter().sum::<f64>() / values.len() as f64, values.len())),
    }
}

fn without_interval(value: f64, rounds: usize) -> Estimate {
    let method = if rounds == 1 { "one number".to_owned() } else { format!("mean of {rounds} rounds") };
    Estimate::bare(value, rounds as f64, method, "it has no interval".to_owned())
}

/// Of an even number, the slower of the two in the middle.
fn middle(rounds: &[Point]) -> Option<&Point> {
    let mut sorted: Vec<&Point> = rounds.iter().collect();
    let rate = |point: &Point| point.transactions_per_second.unwrap_or(0.0);
    sorted.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    sorted.get((rounds.len() - 1) / 2).copied()
}

fn add_up(point: &mut Point, rounds: &[Point]) {
    let sum = |of: fn(&Point) -> u64| total(rounds.iter().map(of));
    point.seconds = rounds.iter().map(|round| round.seconds).sum();
    point.transactions = sum(|of| of.transactions);
    point.rollbacks = sum(|of| of.rollbacks);
    point.queries = sum(|of| of.queries);
    point.statements = ReadWriteOther {
        read: sum(|of| of.statements.read),
        write: sum(|of| of.statements.write),
        other: sum(|of| of.statements.other),
    };
    point.errors = by_code(rounds.iter().map(|of| &of.errors), u64::saturating_add);
    point.retries = sum(|of| of.retries);
    point.retried = by_code(rounds.iter().map(|of| &of.retried), u64::saturating_add);
    point.failed_attempts_ms = by_code(rounds.iter().map(|of| &of.failed_attempts_ms), |a, b| a + b);
    point.lost_connections = sum(|of| of.lost_connections);
    point.unknown_commits = sum(|of| of.unknown_commits);
    point.reconnects = sum(|of| of.reconnects);
    point.counts = Counts {
        offered: sum(|of| of.counts.offered),
        started: sum(|of| of.counts.started),
        finished: sum(|of| of.counts.finished),
        failed: sum(|of| of.counts.failed),
        unfinished: sum(|of| of.counts.unfinished),
        late: sum(|of| of.counts.late),
        dropped: sum(|of| of.counts.dropped),
    };
}

fn by_code<'a, T: Copy + Default + 'a>(
    rounds: impl Iterator<Item = &'a BTreeMap<u16, T>>,
    add: fn(T, T) -> T,
) -> BTreeMap<u16, T> {
    let mut sums = BTreeMap::new();
    for (code, value) in rounds.flatten() {
        let sum: &mut T = sums.entry(*code).or_default();
        *sum = add(*sum, *value);
    }
    sums
}

/// What is the least or the most of all rounds, or has a mean and is no metric.
fn extremes(point: &mut Point, rounds: &[Point]) {
    let all = |of: fn(&Point) -> Option<f64>| rounds.iter().filter_map(of).collect::<Vec<f64>>();
    let average = |of| mean(&all(of)).map(|estimate| estimate.value);
    outermost(&mut point.latency_ms, rounds.iter().map(|round| &round.latency_ms));
    if let Some(response) = &mut point.response_ms {
        outermost(response, rounds.iter().filter_map(|round| round.response_ms.as_ref()));
    }
    point.fairness.events_min = rounds.iter().filter_map(|round| round.fairness.events_min).min();
    point.fairness.events_stddev = average(|of| of.fairness.events_stddev);
    point.fairness.seconds_stddev = average(|of| of.fairness.seconds_stddev);
    point.client.ceiling_fraction = average(|of| of.client.ceiling_fraction);
    point.client.scheduling_lag_ms_max = all(|of| of.client.scheduling_lag_ms_max).into_iter().reduce(f64::max);
    point.client.round_trip_us = all(|of| of.client.round_trip_us).into_iter().reduce(f64::min);
    point.client.script_us_per_query = average(|of| of.client.script_us_per_query);
    point.client.script_ms_max = all(|of| of.client.script_ms_max).into_iter().reduce(f64::max);
    point.storage_cpus = average(|of| of.storage_cpus);
    point.program_cpus = average(|of| of.program_cpus);
}

fn outermost<'a>(into: &mut LatencyMs, rounds: impl Iterator<Item = &'a LatencyMs> + Clone) {
    into.min = rounds.clone().filter_map(|of| of.min).reduce(f64::min);
    into.max = rounds.filter_map(|of| of.max).reduce(f64::max);
}

/// Commits per second of each kind of transaction.
fn of_kinds(point: &mut Point, rounds: &[Point]) {
    let kinds: BTreeSet<&str> = rounds.iter().flat_map(|round| round.estimates.kinds()).collect();
    for kind in kinds {
        let values: Option<Vec<f64>> =
            rounds.iter().map(|round| Some(round.estimates.committed(kind)?.value)).collect();
        if let Some(estimate) = values.as_deref().and_then(mean) {
            point.estimates.insert_committed(kind, estimate);
        }
    }
}

/// Every operation that a round has, in their order.
fn operations(rounds: &[Point]) -> Vec<Operation> {
    let mut of_all: Vec<Vec<&Operation>> = Vec::new();
    for operation in rounds.iter().flat_map(|round| &round.operations) {
        let is_same = |known: &Vec<&Operation>| known[0].kind == operation.kind && known[0].name == operation.name;
        match of_all.iter().position(is_same) {
            Some(place) => of_all[place].push(operation),
            None => of_all.push(vec![operation]),
        }
    }
    of_all.iter().map(|rounds| operation(rounds)).collect()
}

fn operation(rounds: &[&Operation]) -> Operation {
    let sum = |of: fn(&Operation) -> u64| total(rounds.iter().map(|round| of(round)));
    let latencies: Vec<&LatencyMs> = rounds.iter().map(|round| &round.latency_ms).collect();
    let responses: Option<Vec<&LatencyMs>> = rounds.iter().map(|round| round.response_ms.as_ref()).collect();
    let latency_ms = times(&latencies);
    let response_ms = responses.as_deref().map(times);
    Operation {
        kind: rounds[0].kind,
        name: rounds[0].name.clone(),
        count: sum(|of| of.count),
        errors: sum(|of| of.errors),
        latency_mean_ms: over_means(&latencies),
        response_mean_ms: responses.as_deref().and_then(over_means),
        latency_ms,
        response_ms,
        rollbacks: sum(|of| of.rollbacks),
        retries: sum(|of| of.retries),
    }
}

fn times(rounds: &[&LatencyMs]) -> LatencyMs {
    let mut times = LatencyMs::default();
    for statistic in Statistic::ALL {
        let values: Vec<f64> = rounds.iter().filter_map(|round| statistic.of(round)).collect();
        *statistic.of_mut(&mut times) = mean(&values).map(|estimate| estimate.value);
    }
    outermost(&mut times, rounds.iter().copied());
    times
}

fn over_means(rounds: &[&LatencyMs]) -> Option<Estimate> {
    mean(&rounds.iter().map(|round| round.mean).collect::<Option<Vec<f64>>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::summary::{HostShares, OperationKind, ServerCost};

    fn round(trial: u32, rate: f64, p99: f64) -> Point {
        let latency_ms =
            LatencyMs { min: Some(p99 / 10.0), p99: Some(p99), max: Some(2.0 * p99), ..LatencyMs::default() };
        Point {
            trial: Some(trial),
            seconds: 10.0,
            transactions: (10.0 * rate) as u64,
            transactions_per_second: Some(rate),
            latency_ms,
            errors: BTreeMap::from([(1213, u64::from(trial))]),
            counts: Counts { failed: 1, ..Counts::default() },
            server: Some(ServerCost { cpus_busy: Some(1.0), ..ServerCost::default() }),
            host: Some(HostShares { cpus: 2, busy: 0.5, ..HostShares::default() }),
            operations: vec![Operation {
                kind: OperationKind::Statement,
                name: "point".to_owned(),
                count: 100,
                errors: 0,
                latency_ms,
                latency_mean_ms: None,
                response_ms: None,
                response_mean_ms: None,
                rollbacks: 0,
                retries: 0,
            }],
            ..Point::default()
        }
    }

    #[test]
    fn counts_are_added_up_and_metrics_averaged() {
        let rounds = vec![round(1, 100.0, 8.0), round(2, 121.0, 2.0), round(3, 110.0, 4.0)];
        let point = pooled(rounds.clone()).expect("three rounds");
        assert_eq!((point.transactions, point.seconds, point.counts.failed), (3310, 30.0, 3));
        assert_eq!(point.errors, BTreeMap::from([(1213, 6)]));
        assert_eq!(point.trial, Some(3), "the round in the middle");
        assert_eq!((point.latency_ms.min, point.latency_ms.max), (Some(0.2), Some(16.0)));
        let rate = Metric::TransactionsPerSecond.estimate(&point).expect("an estimate");
        let mean = (100.0_f64 * 121.0 * 110.0).cbrt();
        assert!((rate.value - mean).abs() < 1e-9 && point.transactions_per_second == Some(rate.value));
        assert!(rate.low.is_some_and(|low| low < 100.0) && rate.high.is_some_and(|high| high > 121.0), "{rate:?}");
        assert_eq!(rate.method, "geometric mean of 3 rounds");
        let p99 = Metric::Latency(Statistic::P99).value(&point).expect("a percentile");
        assert!((p99 - 4.0).abs() < 1e-9);
        let host = point.host.expect("shares");
        assert_eq!((host.cpus, host.steal, point.operations[0].count), (2, 0.0, 300));
        assert!((host.busy - 0.5).abs() < 1e-9);
        assert!(Metric::HostSteal.estimate(&point).is_some_and(|steal| steal.missing.is_some()));
        assert_eq!(point.rounds, rounds);
    }

    #[test]
    fn two_rounds_have_no_interval_and_one_keeps_its_own() {
        let two = pooled(vec![round(1, 100.0, 8.0), round(2, 121.0, 2.0)]).expect("two rounds");
        let rate = Metric::TransactionsPerSecond.estimate(&two).expect("an estimate");
        assert_eq!(rate.missing.as_deref(), Some("2 rounds cannot have an interval; 3 can"));
        assert_eq!(pooled(vec![round(1, 100.0, 8.0)]), Some(round(1, 100.0, 8.0)));
        assert_eq!(pooled(Vec::new()), None);
    }

    #[test]
    fn what_a_round_has_not_measured_has_no_mean() {
        let silent = Point { transactions_per_second: None, latency_ms: LatencyMs::default(), ..round(2, 0.0, 1.0) };
        let point = pooled(vec![round(1, 100.0, 8.0), silent, round(3, 110.0, 4.0)]).expect("rounds");
        assert!(Metric::TransactionsPerSecond.estimate(&point).is_none());
    }
}
