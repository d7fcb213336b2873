//! The CPUs that the server may use, all busy, mostly with the server.

use super::{candidate, cpus, evidence, queue, round};
use crate::signals::Signals;
use plimsoll_model::diagnosis::{Bottleneck, Candidate};
use plimsoll_model::number::whole_percent;

/// Transactions that wait for a CPU wait because of whatever runs on it, so the server accounts for its part of what
/// the CPUs were busy with.
pub fn weigh(signals: &Signals) -> Option<Candidate> {
    let server = &signals.server;
    let (busy, allowed, in_flight) = (server.cpus_busy?, server.cpus_allowed?, signals.load.in_flight?);
    let taken = server.cpus_taken.unwrap_or(busy).max(busy);
    let part = if taken > 0.0 { busy / taken } else { 0.0 };
    let share = part * queue::share(allowed, taken / allowed, in_flight);
    let used = format!("it used {} of the {} that it may use", round(busy), cpus(allowed));
    let mut found = vec![evidence(used, busy, "CPU", "server.ndjson: cpu_user_us, cpu_system_us")];
    if taken > 1.1 * busy {
        let all = format!("everything that ran there kept these {} busy", whole_percent(taken / allowed));
        found.push(evidence(all, taken / allowed, "1", "host.ndjson: cores"));
    }
    candidate(Bottleneck::Cpu, share, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{LoadSignals, Server};

    fn share(busy: f64, taken: f64, allowed: f64, in_flight: f64) -> f64 {
        let server =
            Server { cpus_busy: Some(busy), cpus_taken: Some(taken), cpus_allowed: Some(allowed), ..Server::default() };
        let load = LoadSignals { in_flight: Some(in_flight), ..LoadSignals::default() };
        weigh(&Signals { server, load, ..Signals::default() }).map_or(0.0, |found| found.share)
    }

    #[test]
    fn a_server_on_one_core_is_limited_by_it() {
        assert!(share(0.97, 0.99, 1.0, 16.0) > 0.9);
        assert!(share(0.97, 1.1, 8.0, 16.0) < 0.01, "of eight");
    }

    #[test]
    fn what_others_use_is_not_the_servers() {
        assert!(share(1.2, 1.98, 2.0, 16.0) > 0.5, "beside the load generator");
        assert!(share(0.4, 1.0, 1.0, 16.0) < 0.5, "beside somebody else");
    }

    #[test]
    fn without_a_local_server_nothing_is_said() {
        assert_eq!(weigh(&Signals::default()), None);
    }
}
