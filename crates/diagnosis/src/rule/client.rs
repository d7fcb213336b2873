//! The load generator itself: loops that are always busy, CPUs that it takes from the server, a limit on what it may
//! use, time in which it did not run.

use super::{candidate, cpus, evidence, queue, round};
use crate::signals::Signals;
use plimsoll_model::diagnosis::{Bottleneck, Candidate, Evidence};
use plimsoll_model::number::whole_percent;

/// A cause that explains less than this part of the largest is not worth a clause: a choice of style.
const WORTH_A_CLAUSE: f64 = 0.2;

/// The largest of what its loops, its limit, its part of shared CPUs and its pauses cost the transactions.
pub fn weigh(signals: &Signals) -> Option<Candidate> {
    let ways = [own_loops(signals), own_limit(signals), shared_cpus(signals), stopped(signals)];
    let mut ways: Vec<(f64, Evidence)> = ways.into_iter().flatten().collect();
    ways.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let share = ways.first()?.0;
    ways.retain(|(of_way, _)| *of_way >= WORTH_A_CLAUSE * share);
    candidate(Bottleneck::Client, share, ways.into_iter().map(|(_, evidence)| evidence).collect())
}

/// Answers wait until their loop has time.
fn own_loops(signals: &Signals) -> Option<(f64, Evidence)> {
    let (client, in_flight) = (&signals.client, signals.load.in_flight?);
    let busy = client.loop_busy?;
    let share = queue::share(1.0, busy, in_flight / client.loops);
    let statement = format!("its loops were on a CPU for {} of the time", whole_percent(busy));
    Some((share, evidence(statement, busy, "1", "summary.json: client.cpu_fraction")))
}

/// While it is stopped, it sends nothing and sees no answer.
fn stopped(signals: &Signals) -> Option<(f64, Evidence)> {
    let (seconds, window) = (signals.client.stopped_seconds?, signals.load.seconds);
    let statement = format!("it did not run for {} of the {} s measured", round(seconds), round(window));
    let found = evidence(statement, seconds, "s", "intervals.ndjson: scheduling_lag_ms_max");
    (window > 0.0).then(|| ((seconds / window).min(1.0), found))
}

/// A limit that the server does not have.
fn own_limit(signals: &Signals) -> Option<(f64, Evidence)> {
    let (client, in_flight) = (&signals.client, signals.load.in_flight?);
    let (limit, busy) = (client.group.cpu_limit?, client.cpus_busy?);
    if signals.server.shares_group || client.group.stops? == 0.0 {
        return None;
    }
    let stopped = client.group.stopped.unwrap_or(0.0).min(1.0);
    let share = queue::share(limit, busy / limit, in_flight).max(stopped);
    let statement = format!("it used {} of the {} that its control group allows", round(busy), cpus(limit));
    Some((share, evidence(statement, busy, "CPU", "host.ndjson: client.group")))
}

/// Its part of what the server's CPUs were busy with; on CPUs that the server does not use, it takes nothing from it.
fn shared_cpus(signals: &Signals) -> Option<(f64, Evidence)> {
    let (client, server, in_flight) = (&signals.client, &signals.server, signals.load.in_flight?);
    let (taken, allowed) = (server.cpus_taken?, server.cpus_allowed?);
    let shared = client.cpus_shared.filter(|cpus| *cpus > 0.0)?;
    // It is assumed to be spread evenly over the CPUs that it may run on.
    let busy = client.cpus_busy? * (shared / client.cpus_allowed?).min(1.0);
    let busy = busy.min((taken - server.cpus_busy?).max(0.0));
    let share = busy / taken.max(f64::EPSILON) * queue::share(allowed, taken / allowed, in_flight);
    let statement = format!("it used {} of the {} that it shares with the server", round(busy), cpus(shared));
    Some((share, evidence(statement, busy, "CPU", "host.ndjson: client.cpu_user_us, client.cpu_system_us")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{Client, ControlGroup, LoadSignals, Server};

    fn signals(client: Client, server: Server) -> Signals {
        Signals {
            client,
            server,
            load: LoadSignals { in_flight: Some(16.0), ..LoadSignals::default() },
            ..Signals::default()
        }
    }

    fn share(signals: &Signals) -> f64 {
        weigh(signals).map_or(0.0, |found| found.share)
    }

    #[test]
    fn a_loop_that_is_always_busy_limits() {
        let client = |busy, loops| Client { loops, loop_busy: Some(busy), ..Client::default() };
        assert!(share(&signals(client(0.97, 1.0), Server::default())) > 0.9);
        assert!(share(&signals(client(0.6, 1.0), Server::default())) < 0.1);
        assert!(share(&signals(client(0.97, 4.0), Server::default())) > 0.9, "answers cannot change loops");
    }

    #[test]
    fn one_that_did_not_run_answers_for_that_time() {
        let client = Client { stopped_seconds: Some(3.0), ..Client::default() };
        let load = LoadSignals { seconds: 5.0, ..LoadSignals::default() };
        let found = weigh(&Signals { load, ..signals(client, Server::default()) }).unwrap();
        assert!((found.share - 0.6).abs() < 1e-9, "{found:?}");
        assert_eq!(found.evidence[0].statement, "it did not run for 3 of the 5 s measured");
    }

    #[test]
    fn a_limit_of_its_own_limits_and_one_that_the_server_shares_does_not() {
        let group =
            ControlGroup { cpu_limit: Some(0.2), stops: Some(9.0), stopped: Some(0.8), ..ControlGroup::default() };
        let client = Client { cpus_busy: Some(0.2), group, ..Client::default() };
        let found = weigh(&signals(client.clone(), Server::default())).unwrap();
        assert!(found.share > 0.9 && found.evidence[0].statement.contains("0.2 of the 0.2 CPUs"), "{found:?}");
        assert_eq!(share(&signals(client.clone(), Server { shares_group: true, ..Server::default() })), 0.0);
        let unused = Client { group: ControlGroup { stops: Some(0.0), ..group }, ..client };
        assert_eq!(share(&signals(unused, Server::default())), 0.0);
    }

    #[test]
    fn on_shared_cores_it_answers_for_its_part() {
        let (cpus_allowed, cpus_shared) = (Some(2.0), Some(2.0));
        let client = Client { cpus_busy: Some(0.6), cpus_allowed, cpus_shared, ..Client::default() };
        let server = |taken| Server {
            cpus_busy: Some(1.2),
            cpus_taken: Some(taken),
            cpus_allowed: Some(2.0),
            ..Server::default()
        };
        let beside = share(&signals(client.clone(), server(1.99)));
        assert!((0.2..0.4).contains(&beside), "{beside}");
        assert!(share(&signals(client.clone(), server(1.21))) < 0.01, "it runs elsewhere");
        let half = Client { cpus_shared: Some(1.0), ..client };
        let found = weigh(&signals(half, server(1.99))).unwrap();
        assert_eq!(found.evidence[0].statement, "it used 0.3 of the 1 CPU that it shares with the server");
    }

    #[test]
    fn on_cores_of_its_own_it_does_not_answer_for_a_neighbour() {
        let client =
            Client { cpus_busy: Some(0.25), cpus_allowed: Some(1.0), cpus_shared: Some(0.0), ..Client::default() };
        let server =
            Server { cpus_busy: Some(0.6), cpus_taken: Some(1.0), cpus_allowed: Some(1.0), ..Server::default() };
        assert_eq!(weigh(&signals(client, server)), None);
    }
}
