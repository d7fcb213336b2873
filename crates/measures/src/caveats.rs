//! Reasons, found by the tool, not to trust a number fully.

mod agents;

use crate::estimates::Seconds;
use hdrhistogram::Histogram;
use plimsoll_model::LoadPoint;
use plimsoll_model::number::counted;
use plimsoll_model::summary::{InvariantFinding, Point, TargetFacts};
use plimsoll_model::text::each_once;
use plimsoll_model::{Caveat, total};
use plimsoll_stats::change_points::{ChangePoint, change_points};
use plimsoll_stats::latency::at_the_ends;
use plimsoll_stats::stalls::StallStretch;
use plimsoll_stats::steady::{Steadiness, steadiness, truncation};
use std::collections::BTreeSet;

/// A loop busier than this measures itself.
const CLIENT_BUSY: f64 = 0.9;
const NEAR_CEILING: f64 = 0.6;
const RANGE: &str = "latency_range";
/// Share by which throughput may drift over a window, or change within it.
const DRIFT: f64 = 0.05;

/// What holds for the whole run; `is_local` if the server runs on the machine of the load generator.
pub fn standing(is_local: bool, facts: &TargetFacts) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if is_local {
        caveats.push(Caveat::new(
            "shared_cores",
            "the load generator and the server share this machine's CPUs: compare results of one machine with each \
             other, and run the load from another machine to learn what the server alone can do",
        ));
    }
    let flush = facts.durability.get("innodb_flush_log_at_trx_commit").map(String::as_str);
    if flush.is_some_and(|flush| flush != "1") {
        caveats.push(Caveat::new(
            "not_durable",
            "innodb_flush_log_at_trx_commit is not 1: a crash loses commits that were answered; compare only with \
             results of the same setting",
        ));
    }
    caveats
}

/// What holds for all that is measured on the network lane of this name.
pub fn of_network_lane(name: &str) -> Caveat {
    let message = format!(
        "the data lie on the lane {name}, whose storage server runs on this machine: the network between is a virtual one \
         within this machine (loopback), storage server, client and database share its CPUs (shared cores), and a \
         flush ends in this machine's own disk, which may acknowledge it (flush acknowledged by memory); compare \
         protocols for round trips, CPU and semantics, not for megabytes per second"
    );
    Caveat::new("network_lane", message)
}

/// What holds for a trial whose load was collected from its agents.
pub fn of_collected() -> Caveat {
    let message = "the lab was killed while agents made this load: what they had kept was collected when it was resumed, and what the \
                   server and this machine did meanwhile is not known";
    Caveat::new("collected", message)
}

/// Load points of which a second measurement counts, because others had disturbed the first.
pub fn measured_again(points: &[LoadPoint]) -> Option<Caveat> {
    let is_empty = points.is_empty();
    let points = points.iter().map(LoadPoint::to_string);
    let message = format!(
        "at {} a second measurement at the end of the run counts, since other processes had disturbed the first; the \
         recording has both",
        each_once(points).join(", ")
    );
    (!is_empty).then(|| Caveat::new("measured_again", message))
}

/// Invariants of the data that were broken after the load.
pub fn of_checks(findings: &[InvariantFinding]) -> Option<Caveat> {
    let broken: Vec<&InvariantFinding> = findings.iter().filter(|finding| !finding.holds).collect();
    let first = broken.first()?;
    let found = first.found.as_deref().unwrap_or("nothing more is known");
    let message = format!(
        "{} of {} invariants of the data were broken after the load, the first of them {}: {found}; the numbers are of \
         damaged data: restore or load them again, and find out what damaged them",
        broken.len(),
        findings.len(),
        first.name
    );
    Some(Caveat::new("broken_data", message))
}

/// A caveat of one load point, before those of one kind are told together.
#[derive(Clone, Debug, PartialEq)]
pub struct PointCaveat {
    code: &'static str,
    /// The load point: `16 connections`.
    at: String,
    /// How bad it is among its kind.
    weight: f64,
    /// What was found: `other processes used 1.3 of the host's CPUs`.
    what: String,
    /// The same where it was just said of another load point: `1.3`.
    again: String,
    /// What it means, or what to do about it.
    advice: String,
}

impl PointCaveat {
    fn new(point: &Point, code: &'static str, weight: f64, what: String, again: String, advice: &str) -> PointCaveat {
        let at = point.load.to_string();
        PointCaveat { code, at, weight, what, again, advice: advice.to_owned() }
    }
}

impl From<PointCaveat> for Caveat {
    fn from(of: PointCaveat) -> Caveat {
        Caveat::new(of.code, format!("{} at {}: {}", of.what, of.at, of.advice))
    }
}

/// One caveat of each kind, with every load point that has it, the worst first.
pub fn together(all: Vec<PointCaveat>) -> Vec<Caveat> {
    let mut kinds: Vec<Vec<PointCaveat>> = Vec::new();
    for of in all {
        match kinds.iter_mut().find(|kind| kind[0].code == of.code) {
            Some(kind) => kind.push(of),
            None => kinds.push(vec![of]),
        }
    }
    kinds.into_iter().map(of_kind).collect()
}

fn of_kind(mut kind: Vec<PointCaveat>) -> Caveat {
    kind.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let worst = &kind[0];
    let others = kind[1..].iter().map(|of| {
        let advice = if of.advice == worst.advice { String::new() } else { format!(" ({})", of.advice) };
        format!("; {} at {}{advice}", of.again, of.at)
    });
    let others: String = others.collect();
    Caveat::new(worst.code, format!("{} at {}{others}: {}", worst.what, worst.at, worst.advice))
}

/// Those of the rounds of one load point: of each kind the worst, and in how many rounds it is.
pub fn of_rounds(rounds: Vec<Vec<PointCaveat>>) -> Vec<PointCaveat> {
    let of = rounds.len();
    if of == 1 {
        return rounds.into_iter().flatten().collect();
    }
    let mut kinds: Vec<(PointCaveat, BTreeSet<usize>)> = Vec::new();
    for (round, caveat) in
        rounds.into_iter().enumerate().flat_map(|(round, all)| all.into_iter().map(move |of| (round, of)))
    {
        match kinds.iter_mut().find(|(worst, _)| worst.code == caveat.code) {
            Some((worst, rounds)) => {
                rounds.insert(round);
                if caveat.weight > worst.weight {
                    *worst = caveat;
                }
            }
            None => kinds.push((caveat, BTreeSet::from([round]))),
        }
    }
    let told = |(mut worst, rounds): (PointCaveat, BTreeSet<usize>)| {
        let share = format!(" in {} of {of} rounds", rounds.len());
        worst.what += &share;
        worst.again += &share;
        worst
    };
    kinds.into_iter().map(told).collect()
}

/// How bad a point is by what its own numbers say of one kind; 0 where they say nothing.
pub fn weight(point: &Point, code: &str) -> f64 {
    of_point(point).iter().find(|of| of.code == code).map_or(0.0, |of| of.weight)
}

/// What the numbers of a point say themselves.
pub fn of_point(point: &Point) -> Vec<PointCaveat> {
    let mut caveats = of_client(point);
    caveats.extend(agents::of_agents(point));
    caveats.extend(reconnects(point));
    caveats.extend(of_counts(point));
    if let Some(others) = point.disturbing_cpus() {
        let what = format!("other processes used {others:.1} of the host's CPUs");
        let again = format!("{others:.1}");
        caveats.push(PointCaveat::new(point, "noisy_host", others, what, again, "repeat when they are gone"));
    }
    if let Some(steal) = point.disturbing_steal() {
        let percent = format!("{:.0} %", 100.0 * steal);
        let what = format!("the hypervisor took {percent} of the CPU");
        caveats.push(PointCaveat::new(point, "stolen_cpu", steal, what, percent, "repeat on a quieter machine"));
    }
    caveats
}

/// Latencies at the ends of what a histogram holds: `what` they are of, in the plural.
pub fn of_range(values: &Histogram<u64>, what: &str) -> Option<Caveat> {
    beyond_range(values, what).map(|(told, _)| Caveat::new(RANGE, told))
}

/// The same of a load point.
pub fn of_range_at(point: &Point, values: &Histogram<u64>, what: &str) -> Option<PointCaveat> {
    let (told, many) = beyond_range(values, what)?;
    Some(PointCaveat::new(point, RANGE, many as f64, told.clone(), told, "the other figures hold"))
}

/// What lies beyond is counted at the ends, and shown as if it were no more; with how many there are.
fn beyond_range(values: &Histogram<u64>, what: &str) -> Option<(String, u64)> {
    let (short, long) = at_the_ends(values);
    let all = values.len();
    let many = total([short, long]);
    let short = (short > 0).then(|| {
        format!(
            "{short} of {all} {what} took 1 µs or less and are shown as 1 µs, so figures of about 1 µs are upper bounds"
        )
    });
    let long = (long > 0).then(|| {
        format!("{long} of {all} {what} took 1 h or more and are shown as 1 h, so means and the highest figures are lower bounds")
    });
    let told: Vec<String> = short.into_iter().chain(long).collect();
    (many > 0).then(|| (told.join("; "), many))
}

/// What the seconds of a point's window say: whether its mean is one of a settled state.
pub fn of_seconds(point: &Point, seconds: &Seconds) -> Vec<PointCaveat> {
    let rates = seconds.rates();
    let mut caveats = Vec::new();
    if let Some(StallStretch { start, seconds: length }) = seconds.stall() {
        let again = format!("{length:.1} s from second {start:.1} of the window on,");
        let what = format!("no transaction was completed for {again}");
        caveats.push(PointCaveat::new(point, "stalled", length, what, again, "find out what happened then"));
    }
    // What was offered decides throughput where a rate is set.
    if point.response_ms.is_none()
        && let Some((how, share)) = unsteady(&rates)
    {
        let advice = match truncation(&rates) {
            Some(cut) if cut > 0 => format!("its first {cut} s look like warm-up: make --warmup {cut} s longer"),
            _ => "measure longer, or find out what happened then".to_owned(),
        };
        caveats.push(PointCaveat::new(point, "unsteady", share, format!("throughput {how}"), how, &advice));
    }
    caveats
}

/// How the level of a series moved, if it did, and by which share. A ramp looks like several steps, so that a drift is
/// asked for before them.
fn unsteady(rates: &[f64]) -> Option<(String, f64)> {
    let changes = change_points(rates, DRIFT);
    let step = |change: &ChangePoint| {
        let (before, after, second) = (change.before, change.after, change.at);
        format!("went from {before:.0} to {after:.0} per second at second {second} of the window")
    };
    let share = |change: &ChangePoint| (change.after - change.before).abs() / change.before.abs().max(1.0);
    let most = changes.iter().map(share).fold(0.0, f64::max);
    match (&changes[..], steadiness(rates, DRIFT)) {
        ([only], _) => Some((step(only), most)),
        (_, Steadiness::Drifting { change }) => {
            let direction = if change.value > 0.0 { "rose" } else { "fell" };
            let share = change.value.abs();
            Some((format!("{direction} by {:.0} % during the window", 100.0 * share), share))
        }
        ([first, ..], _) => {
            Some((format!("changed its level {} times: it first {}", changes.len(), step(first)), most))
        }
        ([], _) => None,
    }
}

fn of_client(point: &Point) -> Vec<PointCaveat> {
    let client = &point.client;
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let mut caveats = Vec::new();
    // Of several agents, each is judged alone.
    let cpu_fraction = client.cpu_fraction.filter(|_| point.agents.is_empty());
    if let Some(busy) = cpu_fraction.filter(|fraction| *fraction > CLIENT_BUSY) {
        let what = format!("the load generator's loops were busy {} of the time", percent(busy));
        caveats.push(PointCaveat::new(point, "client_bound", busy, what, percent(busy), "add --loops"));
    }
    if let Some(seconds) = point.generator_stopped() {
        let again = format!("{seconds:.1} s");
        let what = format!("the load generator itself did not run for {again}");
        let advice = "that time is in the latencies and missing in the throughput, and what the server did then is not \
                      known; repeat where nothing stops it";
        caveats.push(PointCaveat::new(point, "generator_stopped", seconds, what, again, advice));
    }
    let ceiling_fraction = client.ceiling_fraction.filter(|_| point.agents.is_empty());
    if let Some(share) = ceiling_fraction.filter(|fraction| *fraction > NEAR_CEILING) {
        let what = format!("the load generator ran at {} of its own ceiling", percent(share));
        let advice = "add --loops, or load from another machine";
        caveats.push(PointCaveat::new(point, "near_ceiling", share, what, percent(share), advice));
    }
    caveats
}

/// Connections that were lost, and reopened.
fn reconnects(point: &Point) -> Option<PointCaveat> {
    let Point { lost_connections: lost, reconnects, unknown_commits: unknown, .. } = *point;
    let mut again = format!("{} lost, {reconnects} reopened", counted(lost as f64, "connection"));
    if unknown > 0 {
        again += &format!(", {} may have taken effect although no answer came", counted(unknown as f64, "write"));
    }
    let advice = "what that took is in the latencies, and what was under way was sent again; find out who closes \
                  connections: wait_timeout, KILL, a proxy, a restart";
    let weight = total([lost, reconnects]) as f64;
    (weight > 0.0).then(|| PointCaveat::new(point, "reconnects", weight, again.clone(), again, advice))
}

fn of_counts(point: &Point) -> Vec<PointCaveat> {
    let counts = &point.counts;
    let mut caveats = Vec::new();
    let mut add = |holds: bool, code, (few, of): (u64, u64), (again, what): (String, &str), advice: &str| {
        if holds {
            let weight = few as f64 / of.max(1) as f64;
            caveats.push(PointCaveat::new(point, code, weight, format!("{again} {what}"), again, advice));
        }
    };
    let offered = counts.offered;
    add(
        // In a closed loop it is work that was queued when the run ended.
        counts.dropped > 0 && point.response_ms.is_some(),
        "dropped",
        (counts.dropped, offered),
        (format!("{} of {offered} arrivals", counts.dropped), "found no free connection"),
        "the rate is above what was carried",
    );
    add(
        point.load.rate.is_some() && counts.late * 100 > counts.started,
        "late",
        (counts.late, counts.started),
        (format!("{} of {} transactions", counts.late, counts.started), "were sent more than 1 ms late"),
        "response_ms contains that wait",
    );
    let failed = (counts.failed.to_string(), "transactions failed");
    add(counts.failed > 0, "failed", (counts.failed, offered), failed, "see errors");
    add(
        counts.unfinished > 0,
        "unfinished",
        (counts.unfinished, offered),
        (counts.unfinished.to_string(), "transactions were still not answered when the run ended"),
        "it waits up to 5 s for them, and their latency is not counted",
    );
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::summary::{ClientCost, HostShares, ServerCost};

    /// A load point beside which others used so many CPUs.
    fn beside(connections: usize, others: f64) -> Point {
        Point {
            load: LoadPoint::closed(connections),
            seconds: 1.0,
            queries: 1_000_000,
            host: Some(HostShares { cpus: 4, busy: (2.0 + others) / 4.0, ..HostShares::default() }),
            server: Some(ServerCost { cpus_busy: Some(1.0), ..ServerCost::default() }),
            client: ClientCost { process_cpu_us_per_query: Some(1.0), ..ClientCost::default() },
            ..Point::default()
        }
    }

    #[test]
    fn every_disturbed_load_point_is_named_and_the_worst_first() {
        let points = [beside(2, 0.3), beside(8, 0.0), beside(16, 1.29), beside(32, 0.8)];
        let told = together(points.iter().flat_map(of_point).collect());
        let messages: Vec<&str> = told.iter().map(|caveat| caveat.message.as_str()).collect();
        assert_eq!(
            messages,
            ["other processes used 1.3 of the host's CPUs at 16 connections; 0.8 at 32 connections; 0.3 at \
              2 connections: repeat when they are gone"]
        );
        assert_eq!((weight(&points[1], "noisy_host"), told[0].code.as_str()), (0.0, "noisy_host"));
    }

    #[test]
    fn no_caveat_of_a_kind_is_lost_to_another_and_rates_tell_points_apart() {
        let point = |rate: f64, failed: u64, unfinished: u64| {
            let mut point = Point { load: LoadPoint { connections: 4, rate: Some(rate) }, ..Point::default() };
            (point.counts.offered, point.counts.failed, point.counts.unfinished) = (100, failed, unfinished);
            point
        };
        let told = together([point(100.0, 1, 0), point(200.0, 9, 3)].iter().flat_map(of_point).collect());
        assert_eq!(told.len(), 2);
        assert_eq!(
            told[0].message,
            "9 transactions failed at 4 connections at 200 arrivals per second; 1 at 4 connections at 100 arrivals per \
             second: see errors"
        );
        let unlike = |at: &str, advice: &str| PointCaveat {
            code: "unsteady",
            at: at.to_owned(),
            weight: 0.1,
            what: "throughput fell".to_owned(),
            again: "fell".to_owned(),
            advice: advice.to_owned(),
        };
        let told = together(vec![unlike("2 connections", "measure longer"), unlike("4 connections", "warm up")]);
        assert_eq!(
            told[0].message,
            "throughput fell at 2 connections; fell at 4 connections (warm up): measure longer"
        );
    }

    #[test]
    fn latencies_beyond_what_is_recorded_are_counted_and_told() {
        let hour = 3_600_000_000_000;
        let told = |latencies: &[u64]| {
            let mut values = plimsoll_stats::latency::new_histogram();
            latencies.iter().for_each(|ns| plimsoll_load::tally::record(&mut values, *ns));
            of_range(&values, "reads").map(|caveat| caveat.message)
        };
        assert_eq!(told(&[1_100, 5_000_000, hour - hour / 500]), None);
        let short = told(&[0, 200, 999, 5_000]).expect("a caveat");
        assert!(short.starts_with("3 of 4 reads took 1 µs or less and are shown as 1 µs"), "{short}");
        let long = told(&[5_000, 2 * hour, u64::MAX]).expect("a caveat");
        assert!(long.starts_with("2 of 3 reads took 1 h or more and are shown as 1 h"), "{long}");
        assert!(told(&[1, hour]).is_some_and(|both| both.contains("; 1 of 2 reads took 1 h")));
    }
}
