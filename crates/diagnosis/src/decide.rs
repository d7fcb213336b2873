//! The verdict: how candidates compare, and the words for it.

use crate::Observed;
use crate::rule::{self, RULES};
use crate::signals::{ControlGroup, LOOKS, Signals};
use plimsoll_model::diagnosis::{Bottleneck, BottleneckVerdict, Candidate, Diagnosis};
use plimsoll_model::number::whole_percent;
use plimsoll_model::summary::DISTURBED;

/// A bottleneck with a smaller share of the transactions' time is not worth a line.
const WORTH_A_LINE: f64 = 0.05;
/// What limits explains at least about half of the time …
const LIMITS: f64 = 0.5;
/// … and the next is smaller by this factor: with a planted limit it was at most 0.53 times as large; where several
/// things held a load back, 0.6 times or more.
const CLEAR: f64 = 0.6;
/// The share of the transactions done that may have failed or gone unanswered.
const LOST: f64 = 0.01;

/// What limited a load point.
pub fn diagnose(observed: &Observed<'_>) -> Diagnosis {
    let signals = Signals::of(observed);
    let mut candidates: Vec<Candidate> = RULES.iter().filter_map(|rule| rule(&signals)).collect();
    candidates.retain(|candidate| candidate.share >= WORTH_A_LINE);
    candidates.sort_by(|one, other| other.share.total_cmp(&one.share));
    let missing = missing(observed);
    let (verdict, sentence) = if kept(observed, &signals) && !is_full(&signals, &candidates) {
        (BottleneckVerdict::NotLimited, carried(&signals))
    } else if let Some(candidate) = limits(&candidates, others(&signals)) {
        (BottleneckVerdict::Limited(candidate.bottleneck), limited(candidate))
    } else {
        (BottleneckVerdict::NotClear, not_clear(&signals, &candidates))
    };
    Diagnosis { verdict, sentence, next: next(verdict, &signals), candidates, missing }
}

/// Whether an open loop carried what was offered, and was answered throughout.
fn kept(observed: &Observed<'_>, signals: &Signals) -> bool {
    let (counts, load) = (&observed.point.counts, &signals.load);
    let done = load.transactions_per_second * load.seconds;
    let lost = [counts.dropped, counts.unfinished, counts.failed].iter().map(|lost| *lost as f64).sum::<f64>();
    let is_answered = load.stalled.is_none() && signals.client.stopped_seconds.is_none();
    is_answered
        && load.rate_offered.is_some()
        && done > 0.0
        && load.rate_not_reached().is_none()
        && lost <= LOST * done + 1.0
}

/// Waits make transactions slow at any rate. What prevents a higher rate is a resource that is full, or that has most
/// connections waiting.
fn is_full(signals: &Signals, candidates: &[Candidate]) -> bool {
    let waiting = signals.load.in_flight.is_some_and(|in_flight| in_flight >= LIMITS * signals.load.connections);
    candidates.iter().filter(|candidate| candidate.share >= LIMITS).any(|candidate| match candidate.bottleneck {
        Bottleneck::Client | Bottleneck::Cpu | Bottleneck::Memory | Bottleneck::Throttled => true,
        _ => waiting,
    })
}

/// The bottleneck that limits, if one does. A stopped server or missing memory makes everything else slow, so it comes
/// first. A conclusion from full CPUs, or from nothing else being full, competes with other processes on the machine.
fn limits(candidates: &[Candidate], others: f64) -> Option<&Candidate> {
    let is_cause = |candidate: &&Candidate| matches!(candidate.bottleneck, Bottleneck::Throttled | Bottleneck::Memory);
    let cause = candidates.iter().find(|candidate| is_cause(candidate) && candidate.share >= LIMITS);
    let first = candidates.first().filter(|first| first.share >= LIMITS)?;
    let next = candidates.get(1).map_or(0.0, |next| next.share);
    let rival = match first.bottleneck {
        Bottleneck::Client | Bottleneck::Cpu | Bottleneck::Threads => next.max(others),
        _ => next,
    };
    cause.or((rival <= CLEAR * first.share).then_some(first))
}

/// The share of the transactions' time that other processes on the server's CPUs explain: their part of what these CPUs
/// were busy with, applied to the time that the server or the load generator waited for a CPU, unless its control group
/// stopped it; if that was not recorded, applied to the queue that such CPUs have.
fn others(signals: &Signals) -> f64 {
    let (server, client) = (&signals.server, &signals.client);
    let explained = || {
        let (taken, allowed, in_flight) = (server.cpus_taken?, server.cpus_allowed?, signals.load.in_flight?);
        let ours = server.cpus_busy? + client.cpus_busy?;
        let part = (1.0 - ours / taken.max(f64::EPSILON)).max(0.0);
        let by_others = |waiting: f64, group: &ControlGroup| (waiting - group.stopped.unwrap_or(0.0)).max(0.0);
        let waited = server.waiting_for_cpu.zip(client.waiting_for_cpu).map(|(of_server, of_client)| {
            let of_server = by_others(of_server, &server.group) / in_flight;
            of_server.max(by_others(of_client, &client.group) / client.loops.max(1.0)).min(1.0)
        });
        Some(part * waited.unwrap_or_else(|| rule::queue::share(allowed, taken / allowed, in_flight)))
    };
    explained().unwrap_or(0.0)
}

/// CPUs of this machine that others kept busy, if both server and load generator are on it.
fn disturbed(signals: &Signals) -> Option<f64> {
    signals.server.cpus_busy?;
    signals.host.cpus_of_others.filter(|cpus| *cpus >= DISTURBED)
}

fn limited(candidate: &Candidate) -> String {
    let clauses: Vec<&str> = candidate.evidence.iter().take(2).map(|found| found.statement.as_str()).collect();
    format!("Limited by {}: {}.", candidate.bottleneck.words(), clauses.join(", and "))
}

fn carried(signals: &Signals) -> String {
    let load = &signals.load;
    format!(
        "Not limited: {} transactions per second were offered and {} were done, with {} of {} connections busy \
         on average.",
        rule::round(load.rate_offered.unwrap_or(load.transactions_per_second)),
        rule::round(load.transactions_per_second),
        rule::round(load.in_flight.unwrap_or(0.0)),
        load.connections
    )
}

fn not_clear(signals: &Signals, candidates: &[Candidate]) -> String {
    let went = |candidate: &Candidate| (whole_percent(candidate.share), candidate.bottleneck.words());
    let told = match candidates {
        _ if signals.load.transactions_per_second == 0.0 => "no transaction was completed".to_owned(),
        [] => "nothing that was recorded explains a transaction’s time".to_owned(),
        [only] => {
            let (share, words) = went(only);
            format!("{share} of a transaction’s time went to {words}")
        }
        [first, next, ..] => {
            let ((share, words), (next_share, next_words)) = (went(first), went(next));
            format!("{share} of a transaction’s time went to {words}, and {next_share} to {next_words}")
        }
    };
    let told = told + &silence(signals);
    match disturbed(signals) {
        Some(cpus) => format!("Not clear: {told}, while other processes used {}.", rule::cpus(cpus)),
        None => format!("Not clear: {told}."),
    }
}

/// For how long no answer came, as far as the load generator was running to see it.
fn silence(signals: &Signals) -> String {
    let stopped = signals.client.stopped_seconds.map(|seconds| {
        format!(
            "; the load generator itself did not run for {} s, a time in which nothing is known about the server",
            rule::round(seconds)
        )
    });
    let stalled = signals.load.stalled.map(|stalled| {
        let (seconds, start) = (rule::round(stalled.seconds), rule::round(stalled.start));
        format!("; no transaction was completed for {seconds} s, from second {start} of the window on")
    });
    [stalled, stopped].into_iter().flatten().collect()
}

/// What to try next.
fn next(verdict: BottleneckVerdict, signals: &Signals) -> Option<String> {
    let text = match verdict {
        BottleneckVerdict::Limited(bottleneck) => experiment(bottleneck),
        BottleneckVerdict::NotLimited => "Offer a higher rate: how much more the server carries is not known.",
        BottleneckVerdict::NotClear if disturbed(signals).is_some() => {
            "Repeat it while nothing else runs on this machine."
        }
        BottleneckVerdict::NotClear if signals.client.stopped_seconds.is_some() => {
            "Repeat it on a machine where nothing stops the load generator."
        }
        BottleneckVerdict::NotClear if signals.load.stalled.is_some() => {
            "Find out what the server was doing while no answer came: see its error log, its storage, its process."
        }
        BottleneckVerdict::NotClear => "Sweep the number of connections: a limit shows where more of them add nothing.",
    };
    Some(text.to_owned())
}

fn experiment(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::Client => "Give the load generator more: its own CPUs, more --loops, or a machine of its own.",
        Bottleneck::Cpu => {
            "Compare the server’s CPU per transaction between settings and versions: more throughput takes less of \
             it, or more CPUs."
        }
        Bottleneck::ReadIo => "Double innodb_buffer_pool_size: reads fall as more of the data fits.",
        Bottleneck::CommitSync => {
            "Put the redo log on storage that syncs faster (`plimsoll io` measures it), or let more connections share \
             a sync."
        }
        Bottleneck::PageFlush => {
            "Double the redo log, so that fewer pages are written; then raise innodb_io_capacity, so that they are written sooner."
        }
        Bottleneck::RowLocks => {
            "Find the rows that all transactions want: shorter transactions or another order of access help; settings hardly do."
        }
        Bottleneck::Threads => "Let more threads work: double the limit, as long as the CPUs have room.",
        Bottleneck::Network => "Move the load generator closer, or send fewer statements per transaction.",
        Bottleneck::Memory => "Give the server more memory, or a smaller buffer pool.",
        Bottleneck::Throttled => {
            "Raise the limit, or accept it as the size of the machine: no setting makes up for it."
        }
    }
}

/// Series that would have said more.
fn missing(observed: &Observed<'_>) -> Vec<String> {
    let absent = [
        (
            observed.server.is_empty(),
            "CPU, memory and I/O of the server’s process: recorded only for a server on this machine",
        ),
        (observed.status.is_empty(), "the server’s own counters, second by second: recorded only for private servers"),
        (
            !observed.status.is_empty() && observed.status().len() < LOOKS,
            "enough samples of the server’s threads and waits: there is one a second, and five are needed",
        ),
        (observed.host.is_empty(), "the host of the load generator"),
        (observed.point.client.round_trip_us.is_none(), "the round trip to the server"),
    ];
    absent.into_iter().filter(|(is_absent, _)| *is_absent).map(|(_, what)| what.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::LoadPoint;
    use plimsoll_model::samples::StatusSample;
    use plimsoll_model::summary::{Counts, LatencyMs, Point};
    use std::collections::BTreeMap;

    fn candidate(bottleneck: Bottleneck, share: f64) -> Candidate {
        Candidate { bottleneck, share, evidence: Vec::new() }
    }

    fn limiting(candidates: &[(Bottleneck, f64)], others: f64) -> Option<Bottleneck> {
        let candidates: Vec<Candidate> = candidates.iter().map(|(found, share)| candidate(*found, *share)).collect();
        limits(&candidates, others).map(|candidate| candidate.bottleneck)
    }

    #[test]
    fn only_what_is_large_and_clear_of_the_next_limits() {
        use Bottleneck::{Client, Cpu, ReadIo, RowLocks};
        assert_eq!(limiting(&[(Cpu, 0.6), (Client, 0.3)], 0.0), Some(Cpu));
        assert_eq!(limiting(&[(Cpu, 0.55), (Client, 0.45)], 0.0), None);
        assert_eq!(limiting(&[(RowLocks, 0.4)], 0.0), None);
        assert_eq!(limiting(&[], 0.0), None);
        assert_eq!(limiting(&[(ReadIo, 0.9), (RowLocks, 0.1)], 0.4), Some(ReadIo));
    }

    #[test]
    fn on_a_disturbed_host_nothing_that_looks_the_same_is_blamed() {
        for bottleneck in [Bottleneck::Client, Bottleneck::Cpu, Bottleneck::Threads] {
            assert_eq!(limiting(&[(bottleneck, 0.7)], 0.5), None);
            assert_eq!(limiting(&[(bottleneck, 0.7)], 0.1), Some(bottleneck));
        }
    }

    #[test]
    fn a_cause_of_the_others_comes_first() {
        use Bottleneck::{Memory, ReadIo, Throttled};
        assert_eq!(limiting(&[(ReadIo, 0.9), (Memory, 0.6)], 0.0), Some(Memory));
        assert_eq!(limiting(&[(ReadIo, 0.9), (Throttled, 0.4)], 0.0), Some(ReadIo));
    }

    fn paced(rate: f64, transactions: u64, dropped: u64) -> Point {
        Point {
            load: LoadPoint { connections: 16, rate: Some(rate) },
            seconds: 10.0,
            transactions,
            counts: Counts { dropped, ..Counts::default() },
            latency_ms: LatencyMs { mean: Some(2.0), ..LatencyMs::default() },
            ..Point::default()
        }
    }

    fn diagnosed(point: &Point) -> Diagnosis {
        let settings = BTreeMap::new();
        diagnose(&Observed::bare(point, &settings))
    }

    #[test]
    fn a_rate_that_is_carried_is_blamed_on_nothing() {
        let found = diagnosed(&paced(100.0, 980, 0));
        assert_eq!(found.verdict, BottleneckVerdict::NotLimited);
        assert_eq!(
            found.sentence,
            "Not limited: 100 transactions per second were offered and 98 were done, with 0.2 of 16 connections busy \
             on average."
        );
        assert_eq!(found.missing.len(), 4);
        for lost in [paced(100.0, 700, 0), paced(100.0, 990, 200), paced(100.0, 0, 0)] {
            assert_eq!(diagnosed(&lost).verdict, BottleneckVerdict::NotClear);
        }
        let counts = Counts { failed: 60, ..Counts::default() };
        assert_eq!(diagnosed(&Point { counts, ..paced(100.0, 980, 0) }).verdict, BottleneckVerdict::NotClear);
    }

    #[test]
    fn where_no_answer_came_nothing_was_carried() {
        let stalled = Some(plimsoll_model::summary::Stalled { start: 4.25, seconds: 3.0 });
        let found = diagnosed(&Point { stalled, ..paced(100.0, 980, 0) });
        assert_eq!(found.verdict, BottleneckVerdict::NotClear);
        assert_eq!(
            found.sentence,
            "Not clear: nothing that was recorded explains a transaction’s time; no transaction was completed for 3 s, \
             from second 4.25 of the window on."
        );
        assert!(found.next.is_some_and(|next| next.starts_with("Find out what the server was doing")));
    }

    #[test]
    fn a_load_generator_that_did_not_run_is_named_itself() {
        let mut point = paced(100.0, 980, 0);
        point.client.scheduling_lag_ms_max = Some(2900.0);
        let found = diagnosed(&point);
        assert_eq!((found.verdict, found.candidates[0].bottleneck), (BottleneckVerdict::NotClear, Bottleneck::Client));
        assert!(
            found.sentence.contains("did not run for 2.9 s, a time in which nothing is known about the server"),
            "{found:?}"
        );
        point.client.scheduling_lag_ms_max = Some(7000.0);
        assert_eq!(diagnosed(&point).verdict, BottleneckVerdict::Limited(Bottleneck::Client));
    }

    #[test]
    fn without_anything_nothing_is_claimed() {
        let point = Point::default();
        let (settings, status) = (BTreeMap::new(), [StatusSample::default()]);
        let observed = Observed { status: &status, ..Observed::bare(&point, &settings) };
        let found = diagnose(&observed);
        assert_eq!((found.verdict, found.missing.len()), (BottleneckVerdict::NotClear, 4));
        assert_eq!(found.sentence, "Not clear: no transaction was completed.");
    }
}
