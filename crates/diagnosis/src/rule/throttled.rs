//! CPU time that the server wanted and was denied, by its control group or by a hypervisor.

use super::{candidate, cpus, evidence, queue, round};
use crate::signals::Signals;
use plimsoll_model::diagnosis::{Bottleneck, Candidate, Evidence};
use plimsoll_model::number::whole_percent;

/// Every virtual machine loses less than this of the transactions' time.
const WORTH_A_WORD: f64 = 0.01;

pub fn weigh(signals: &Signals) -> Option<Candidate> {
    let mut ways: Vec<(f64, Vec<Evidence>)> =
        [by_group(signals), by_hypervisor(signals)].into_iter().flatten().collect();
    ways.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let share = ways.first()?.0;
    candidate(Bottleneck::Throttled, share, ways.into_iter().flat_map(|(_, evidence)| evidence).collect())
}

/// A used-up quota stops all tasks that want more until the next period begins (Linux,
/// `Documentation/scheduler/sched-bwc.rst`).
fn by_group(signals: &Signals) -> Option<(f64, Vec<Evidence>)> {
    let (server, in_flight) = (&signals.server, signals.load.in_flight?);
    let (limit, stops) = (server.group.cpu_limit?, server.group.stops?);
    if stops == 0.0 {
        return None;
    }
    let beside = if server.shares_group { signals.client.cpus_busy.unwrap_or(0.0) } else { 0.0 };
    let used = server.cpus_busy? + beside;
    let share = queue::share(limit, used / limit, in_flight);
    let whose = if server.shares_group { "it and the load generator" } else { "it" };
    let found = vec![
        evidence(
            format!("{whose} used {} of the {} that its control group allows", round(used), cpus(limit)),
            used,
            "CPU",
            "server.ndjson: group.cpu_limit",
        ),
        evidence(
            format!("it was stopped for that {} times a second", round(stops)),
            stops,
            "1/s",
            "server.ndjson: group.throttled_periods",
        ),
    ];
    Some((share, found))
}

/// What was stolen, as a share of what the busy CPUs wanted.
fn by_hypervisor(signals: &Signals) -> Option<(f64, Vec<Evidence>)> {
    let (host, in_flight) = (&signals.host, signals.load.in_flight?);
    let (stolen, busy, all) = (host.cpus_stolen?, host.cpus_busy?, host.cpus?);
    signals.server.cpus_busy?;
    let wanted = stolen + busy;
    let share = stolen / wanted.max(f64::EPSILON) * queue::share(all, wanted / all, in_flight);
    let statement = format!("the hypervisor took {} of the CPUs’ time", whole_percent(stolen / all));
    Some((share, vec![evidence(statement, stolen / all, "1", "host.ndjson: steal")]))
        .filter(|(share, _)| *share > WORTH_A_WORD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{Client, ControlGroup, Host, LoadSignals, Server};

    fn signals(server: Server, client: Client, host: Host) -> Signals {
        Signals {
            server,
            client,
            host,
            load: LoadSignals { in_flight: Some(16.0), ..LoadSignals::default() },
            ..Signals::default()
        }
    }

    fn limited(used: f64, stops: f64) -> Server {
        let group =
            ControlGroup { cpu_limit: Some(0.5), stops: Some(stops), stopped: Some(0.5), ..ControlGroup::default() };
        Server { cpus_busy: Some(used), group, ..Server::default() }
    }

    #[test]
    fn a_quota_that_is_used_up_limits() {
        let found = weigh(&signals(limited(0.5, 9.0), Client::default(), Host::default())).unwrap();
        assert!(found.share > 0.9, "{found:?}");
        assert_eq!(found.evidence[0].statement, "it used 0.5 of the 0.5 CPUs that its control group allows");
        assert_eq!(weigh(&signals(limited(0.5, 0.0), Client::default(), Host::default())), None, "never stopped");
        assert!(weigh(&signals(limited(0.1, 0.5), Client::default(), Host::default())).unwrap().share < 0.1);
    }

    #[test]
    fn a_quota_may_be_one_for_both() {
        let both = Server { shares_group: true, ..limited(0.3, 9.0) };
        let client = Client { cpus_busy: Some(0.19), ..Client::default() };
        let found = weigh(&signals(both, client, Host::default())).unwrap();
        assert!(found.share > 0.9 && found.evidence[0].statement.contains("and the load generator"), "{found:?}");
    }

    #[test]
    fn a_hypervisor_that_takes_half_limits_by_half() {
        let host = |stolen| Host {
            cpus: Some(2.0),
            cpus_busy: Some(2.0 - stolen),
            cpus_stolen: Some(stolen),
            ..Host::default()
        };
        let server = Server { cpus_busy: Some(1.0), ..Server::default() };
        let share =
            |stolen| weigh(&signals(server.clone(), Client::default(), host(stolen))).map_or(0.0, |found| found.share);
        assert!((share(1.0) - 0.5).abs() < 0.01 && share(0.02) < 0.02 && share(0.0) == 0.0);
    }
}
