//! What was measured in each round of a side: all trials of one recording and round.

use super::Group;
use super::sides::Chosen;
use crate::AnalysisError;
use hdrhistogram::Histogram;
use jiff::{SignedDuration, Timestamp};
use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::samples::{Interval, Phase, ServerSample};
use plimsoll_model::summary::Point;
use plimsoll_record::read::{RecordingView, TrialView};
use plimsoll_schedule::labels::counted_label;
use plimsoll_schedule::{Quantity, of_all_arrivals};
use plimsoll_stats::latency::{latency_ms, new_histogram};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

const P99: f64 = 0.99;

#[derive(Clone, Debug)]
pub struct Round {
    /// The recording's.
    pub directory: PathBuf,
    /// Within the recording, from 1.
    pub number: u32,
    pub started: Timestamp,
    pub ended: Timestamp,
    /// By load point, in the order of the plan.
    pub points: Vec<(LoadPoint, BTreeMap<Metric, f64>)>,
}

impl Round {
    pub fn value(&self, point: LoadPoint, metric: Metric) -> Option<f64> {
        self.points.iter().find(|(of, _)| *of == point)?.1.get(&metric).copied()
    }
}

/// The rounds of a side by the time at which they began.
pub fn rounds(chosen: &Chosen) -> Result<Vec<Round>, AnalysisError> {
    let mut rounds = Vec::new();
    for recording in &chosen.recordings {
        let has = |label: &str| recording.trials.iter().any(|trial| trial.facts.variant == label);
        let counted = counted_label(&chosen.variant, has);
        let known = counted_trials(recording);
        let counts = |trial: &&TrialView| known.is_empty() || known.contains(&trial.facts.index);
        let of_variant = || recording.trials.iter().filter(|trial| trial.facts.variant == counted).filter(counts);
        let numbers: BTreeSet<u32> = of_variant().map(|trial| trial.facts.round).collect();
        for number in numbers {
            let trials: Vec<&TrialView> = of_variant().filter(|trial| trial.facts.round == number).collect();
            rounds.push(round(&recording.directory, number, &trials)?);
        }
    }
    rounds.sort_by_key(|round| round.started);
    Ok(rounds)
}

/// Those of a run that its summary counts: what was measured again counts once. Empty where a summary does not say.
fn counted_trials(recording: &RecordingView) -> BTreeSet<u32> {
    let points = recording.summary.iter().flat_map(|summary| &summary.points);
    points.flat_map(Point::each_round).filter_map(|round| round.trial).collect()
}

fn round(directory: &Path, number: u32, trials: &[&TrialView]) -> Result<Round, AnalysisError> {
    let mut points: Vec<(LoadPoint, Vec<&TrialView>)> = Vec::new();
    for &trial in trials {
        let point = load_point(trial)?;
        match points.iter_mut().find(|(known, _)| *known == point) {
            Some((_, of_it)) => of_it.push(trial),
            None => points.push((point, vec![trial])),
        }
    }
    let mut ended = Timestamp::default();
    for trial in trials {
        let ns = trial.intervals()?.iter().map(end_ns).max().unwrap_or(0);
        let of_trial = trial.facts.started.checked_add(SignedDuration::from_nanos(ns as i64));
        ended = ended.max(of_trial.unwrap_or(trial.facts.started));
    }
    Ok(Round {
        directory: directory.to_owned(),
        number,
        started: trials.iter().map(|trial| trial.facts.started).min().unwrap_or_default(),
        ended,
        points: points
            .into_iter()
            .map(|(point, of_it)| Ok((point, summed(&of_it)?)))
            .collect::<Result<_, AnalysisError>>()?,
    })
}

/// What the trials at one load point measured: what the lab has summed up where it has, so that both say the same of a
/// trial, and nothing has to be read.
fn summed(trials: &[&TrialView]) -> Result<BTreeMap<Metric, f64>, AnalysisError> {
    let outcome = match trials {
        [only] => only.outcome.as_ref().filter(|outcome| outcome.point.is_some()),
        _ => None,
    };
    let Some(outcome) = outcome else {
        let mut sum = Sum::default();
        trials.iter().try_for_each(|trial| sum.add(trial))?;
        return Ok(sum.figures());
    };
    let value = |metric: &Metric| Some((*metric, Quantity::Of(*metric).value(outcome)?));
    Ok(Metric::COMPARED.iter().filter_map(value).collect())
}

fn load_point(trial: &TrialView) -> Result<LoadPoint, AnalysisError> {
    let load = trial.facts.load().ok_or_else(|| {
        AnalysisError::Refused(format!("{} does not say at what load it was measured", trial.directory.display()))
    });
    load.map(|load| load.point)
}

fn end_ns(interval: &Interval) -> u64 {
    interval.t_ns.saturating_add((interval.seconds * 1e9).round() as u64)
}

/// What the measured phases of the trials at one load point counted.
#[derive(Default)]
struct Sum {
    seconds: f64,
    transactions: u64,
    new_orders: u64,
    service: Option<Histogram<u64>>,
    response: Option<Histogram<u64>>,
    /// Arrivals at a set rate that were not answered.
    unanswered: u64,
    /// CPU of the server, microseconds, and the transactions that ended meanwhile.
    server: Option<(u64, u64)>,
}

impl Sum {
    fn add(&mut self, trial: &TrialView) -> Result<(), AnalysisError> {
        let series = trial.series()?;
        let measured: Vec<&Interval> =
            series.intervals.iter().filter(|interval| interval.phase == Phase::Measure).collect();
        let (Some(first), Some(last)) = (measured.first(), measured.last()) else { return Ok(()) };
        let window = first.t_ns..end_ns(last);
        for interval in &measured {
            self.seconds += interval.seconds;
            // A damaged line must not end in a panic.
            self.transactions = self.transactions.saturating_add(interval.transactions);
            let new_orders = interval.committed.get("new_order").copied().unwrap_or(0);
            self.new_orders = self.new_orders.saturating_add(new_orders);
            let counts = interval.counts;
            self.unanswered = self.unanswered.saturating_add(counts.dropped).saturating_add(counts.failed);
        }
        if let Some((cpu_us, ended)) = server_cpu(&series.server, &measured, &window) {
            let (cpu_before, ended_before) = self.server.unwrap_or_default();
            self.server = Some((cpu_before.saturating_add(cpu_us), ended_before.saturating_add(ended)));
        }
        let (service, response) = (&mut self.service, &mut self.response);
        trial.each_latency(
            window,
            |tag| tag.starts_with("txn."),
            |tag, _, values| {
                let sum = match tag.rsplit_once('.') {
                    Some((_, "service")) => &mut *service,
                    Some((_, "response")) => &mut *response,
                    _ => return Ok(()),
                };
                values.add_to(sum.get_or_insert_with(new_histogram));
                Ok(())
            },
        )?;
        Ok(())
    }

    /// Of the responses, if there are any, where arrivals that were not answered are later than all of them.
    fn p99_ms(&self) -> Option<f64> {
        match &self.response {
            Some(values) if self.unanswered > 0 => {
                of_all_arrivals(&latency_ms(values), values.len(), self.unanswered, P99)
            }
            responses => latency_ms(responses.as_ref().or(self.service.as_ref())?).p99,
        }
    }

    /// Only those above 0: of others there is no ratio.
    fn figures(&self) -> BTreeMap<Metric, f64> {
        let per_second = |count: u64| count as f64 / self.seconds;
        let throughput = match self.new_orders {
            0 => (Metric::TransactionsPerSecond, per_second(self.transactions)),
            new_orders => (Metric::Nopm, 60.0 * per_second(new_orders)),
        };
        let p99 = self.p99_ms().map(|ms| (Metric::P99, ms));
        let cpu = self.server.map(|(cpu_us, ended)| (Metric::ServerCpuUsPerTransaction, cpu_us as f64 / ended as f64));
        let all = [Some(throughput), p99, cpu].into_iter().flatten();
        all.filter(|(_, value)| *value > 0.0 && value.is_finite()).collect()
    }
}

/// CPU that the server used between the first and the last look at it in the measured phase, and the transactions that
/// ended between them. It is looked at when an interval ends, so without a warm-up the first second is left out.
fn server_cpu(server: &[ServerSample], measured: &[&Interval], window: &Range<u64>) -> Option<(u64, u64)> {
    let before = server.iter().rfind(|sample| sample.t_ns <= window.start);
    let first = before.or_else(|| server.iter().find(|sample| window.contains(&sample.t_ns)))?;
    let last = server.iter().rfind(|sample| sample.t_ns > first.t_ns && sample.t_ns <= window.end)?;
    let between = measured.iter().filter(|interval| interval.t_ns >= first.t_ns && end_ns(interval) <= last.t_ns);
    let counts = between.flat_map(|interval| [interval.transactions, interval.rollbacks]);
    let ended = counts.fold(0, u64::saturating_add);
    Some((last.cpu_us().checked_sub(first.cpu_us())?, ended))
}

/// The one workload of both sides.
pub fn workload(a: &Group, b: &Group) -> Result<String, AnalysisError> {
    let of = |group: &Group| -> BTreeSet<String> {
        let trials = group.chosen.recordings.iter().flat_map(|view| &view.trials);
        let named = trials.filter_map(|trial| trial.facts.load());
        named.map(|load| load.workload.clone()).collect()
    };
    let (of_a, of_b) = (of(a), of(b));
    let mut all = of_a.union(&of_b);
    match (all.next(), all.next()) {
        (Some(only), None) => Ok(only.clone()),
        _ => {
            let list = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
            Err(AnalysisError::Refused(format!(
                "different workloads cannot be compared: {} is {}, {} is {}",
                a.chosen.name,
                list(of_a),
                b.chosen.name,
                list(of_b)
            )))
        }
    }
}

/// The load points that every round of both sides has, and those that only some have.
pub fn load_points(a: &Group, b: &Group) -> (Vec<LoadPoint>, Vec<LoadPoint>) {
    let rounds: Vec<&Round> = a.rounds.iter().chain(&b.rounds).collect();
    let mut all: Vec<LoadPoint> = rounds.iter().flat_map(|round| &round.points).map(|(point, _)| *point).collect();
    all.sort_by(|a, b| a.connections.cmp(&b.connections).then(a.rate.unwrap_or(0.0).total_cmp(&b.rate.unwrap_or(0.0))));
    all.dedup();
    let everywhere =
        |point: &LoadPoint| rounds.iter().all(|round| round.points.iter().any(|(known, _)| known == point));
    all.into_iter().partition(everywhere)
}

pub fn nothing_in_common(a: &Group, b: &Group) -> AnalysisError {
    let of = |group: &Group| {
        let points = group.rounds.iter().flat_map(|round| &round.points).map(|(point, _)| point.label());
        points.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ")
    };
    AnalysisError::Refused(format!(
        "no load point is in all rounds: {} has {}, {} has {}",
        a.chosen.name,
        of(a),
        b.chosen.name,
        of(b)
    ))
}
