//! Reasons, found by the tool, not to trust a number fully.

use crate::estimates::Seconds;
use crate::target::OpenTarget;
use plimsoll_model::Caveat;
use plimsoll_model::summary::{DISTURBED, Finding, Point, STOLEN, TargetFacts};
use plimsoll_plan::points::LoadPoint;
use plimsoll_report::format::load;
use plimsoll_stats::change_points::{ChangePoint, change_points};
use plimsoll_stats::stalls::stalls;
use plimsoll_stats::steady::{Steadiness, steadiness, truncation};
use plimsoll_storage::lane::Lane;
use plimsoll_storage::lane::spec::Spec;

/// A loop busier than this measures itself.
const CLIENT_BUSY: f64 = 0.9;
const NEAR_CEILING: f64 = 0.6;
/// Share by which throughput may drift over a window, or change within it.
const DRIFT: f64 = 0.05;

/// What holds for the whole run.
pub fn standing(target: &OpenTarget, facts: &TargetFacts) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if target.control.peer_pid().is_some() {
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

/// What holds for all that is measured on a network lane; none of a lane that lies on no network.
pub fn of_lane(lane: &Lane) -> Option<Caveat> {
    let message = format!(
        "the data lie on the lane {}, whose storage server runs on this machine: the network between is a virtual one \
         within this machine (loopback), storage server, client and database share its CPUs (shared cores), and a \
         flush ends in this machine's own disk, which may acknowledge it (flush acknowledged by memory); compare \
         protocols for round trips, CPU and semantics, not for megabytes per second",
        lane.name
    );
    (!lane.parts.is_empty()).then(|| Caveat::new("network_lane", message))
}

/// Why a lane of this name must not be timed, if that is so.
pub fn not_for_timing(name: &str) -> Option<String> {
    let spec = Spec::parse(name).ok().filter(|spec| !spec.is_for_timing())?;
    Some(format!(
        "the lane {} is for correctness only: sshfs answers a write before the storage server has it, even one with \
         O_DIRECT, so that latencies of writes say nothing; use nfs-files to time files on a network, and \
         `plimsoll lane check` to try this one",
        spec.name()
    ))
}

/// Load points of which a second measurement counts, because others had disturbed the first.
pub fn measured_again(points: &[LoadPoint]) -> Option<Caveat> {
    let points: Vec<String> = points.iter().map(|point| load(point.connections, point.rate)).collect();
    let message = format!(
        "the numbers at {} are of a second measurement at the end of the run, since other processes had disturbed the \
         first; the recording has both",
        points.join(", ")
    );
    (!points.is_empty()).then(|| Caveat::new("measured_again", message))
}

/// Invariants of the data that were broken after the load.
pub fn of_checks(findings: &[Finding]) -> Option<Caveat> {
    let broken: Vec<&Finding> = findings.iter().filter(|finding| !finding.holds).collect();
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

/// What the numbers of a point say themselves.
pub fn of_point(point: &Point) -> Vec<Caveat> {
    let mut caveats = of_client(point);
    caveats.extend(of_counts(point));
    if let Some(others) = point.cpus_of_others().filter(|cpus| *cpus >= DISTURBED) {
        let what = format!("other processes used {others:.1} of the host's CPUs {}", at(point));
        caveats.push(Caveat::new("noisy_host", format!("{what}: repeat when they are gone")));
    }
    if point.host.is_some_and(|host| host.steal > STOLEN) {
        let what = format!("the hypervisor took more than {:.0} % of the CPU {}", STOLEN * 100.0, at(point));
        caveats.push(Caveat::new("stolen_cpu", format!("{what}: repeat on a quieter machine")));
    }
    caveats
}

/// What the seconds of a point's window say: whether its mean is one of a settled state.
pub fn of_seconds(point: &Point, seconds: &Seconds) -> Vec<Caveat> {
    let (rates, at) = (seconds.rates(), at(point));
    let mut caveats = Vec::new();
    let longest = point.response_ms.unwrap_or(point.latency_ms).p99.unwrap_or(0.0) / 1e3;
    if let Some(stall) = stalls(&seconds.progress(), longest).into_iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds))
    {
        let (length, start) = (stall.seconds, stall.start);
        caveats.push(Caveat::new(
            "stalled",
            format!(
                "no transaction was completed for {length:.0} s from second {start:.0} of the window on, {at}: find \
                 out what happened then"
            ),
        ));
    }
    // What was offered decides throughput where a rate is set.
    if point.response_ms.is_none()
        && let Some(how) = unsteady(&rates)
    {
        let advice = match truncation(&rates) {
            Some(cut) if cut > 0 => format!("its first {cut} s look like warm-up: make --warmup {cut} s longer"),
            _ => "measure longer, or find out what happened then".to_owned(),
        };
        caveats.push(Caveat::new("unsteady", format!("throughput {how} {at}: {advice}")));
    }
    caveats
}

/// How the level of a series moved, if it did. A ramp looks like several steps, so that a drift is asked for before
/// them.
fn unsteady(rates: &[f64]) -> Option<String> {
    let changes = change_points(rates, DRIFT);
    let step = |change: &ChangePoint| {
        let (before, after, second) = (change.before, change.after, change.at);
        format!("went from {before:.0} to {after:.0} per second at second {second} of the window")
    };
    match (&changes[..], steadiness(rates, DRIFT)) {
        ([only], _) => Some(step(only)),
        (_, Steadiness::Drifting { change }) => {
            let direction = if change.value > 0.0 { "rose" } else { "fell" };
            Some(format!("{direction} by {:.0} % during the window", 100.0 * change.value.abs()))
        }
        ([first, ..], _) => Some(format!("changed its level {} times: it first {}", changes.len(), step(first))),
        ([], _) => None,
    }
}

fn at(point: &Point) -> String {
    match point.connections {
        1 => "at 1 connection".to_owned(),
        connections => format!("at {connections} connections"),
    }
}

fn of_client(point: &Point) -> Vec<Caveat> {
    let (client, at) = (&point.client, at(point));
    let mut caveats = Vec::new();
    if client.cpu_fraction.is_some_and(|fraction| fraction > CLIENT_BUSY) {
        let message = format!("the load generator's loops were busy more than 90 % of the time {at}: add --loops");
        caveats.push(Caveat::new("client_bound", message));
    }
    if client.ceiling_fraction.is_some_and(|fraction| fraction > NEAR_CEILING) {
        let message = format!(
            "the load generator ran above 60 % of its own ceiling {at}: add --loops, or load from another machine"
        );
        caveats.push(Caveat::new("near_ceiling", message));
    }
    caveats
}

fn of_counts(point: &Point) -> Vec<Caveat> {
    let (counts, at) = (&point.counts, at(point));
    let mut caveats = Vec::new();
    let mut add = |holds: bool, code, message: String| {
        if holds {
            caveats.push(Caveat::new(code, message));
        }
    };
    add(
        // In a closed loop it is work that was queued when the run ended.
        counts.dropped > 0 && point.response_ms.is_some(),
        "dropped",
        format!(
            "{} of {} arrivals found no free connection {at}: the rate is above what was carried",
            counts.dropped, counts.offered
        ),
    );
    add(
        point.rate_offered.is_some() && counts.late * 100 > counts.started,
        "late",
        format!(
            "{} of {} transactions were sent more than 1 ms late {at}; response_ms contains that wait",
            counts.late, counts.started
        ),
    );
    add(counts.failed > 0, "failed", format!("{} transactions failed {at}: see errors", counts.failed));
    add(
        counts.unfinished > 0,
        "unfinished",
        format!(
            "{} transactions were still not answered when the run ended {at} (it waits up to 5 s for them): their \
             latency is not counted",
            counts.unfinished
        ),
    );
    caveats
}
