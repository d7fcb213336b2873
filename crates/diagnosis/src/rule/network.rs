//! Round trips between the load generator and the server.

use super::{candidate, evidence, round};
use crate::signals::Signals;
use plimsoll_model::diagnosis::{Bottleneck, Candidate};
use plimsoll_model::number::whole_percent;

/// How long a ping over a socket of this machine takes if both sides have to be woken: that is no network.
const LOCAL_SECONDS: f64 = 1e-4;

/// Each statement of a transaction costs a round trip, which was measured before the load. To a server process on this
/// machine there is no network, and a ping that took longer than the load's own statements says nothing about them.
pub fn weigh(signals: &Signals) -> Option<Candidate> {
    let load = &signals.load;
    let round_trip = signals.client.round_trip_seconds.filter(|_| signals.server.cpus_busy.is_none())?;
    let (statements, latency) = (load.queries_per_transaction?, load.latency_seconds?);
    if round_trip * statements > latency {
        return None;
    }
    let share = (round_trip - LOCAL_SECONDS).max(0.0) * statements / latency;
    let ms = 1e3 * round_trip;
    let statement = format!(
        "round trips of {} ms, {} in each transaction, are {} of its {} ms",
        round(ms),
        round(statements),
        whole_percent(round_trip * statements / latency),
        round(1e3 * latency)
    );
    let mut found = vec![evidence(statement, ms, "ms", "summary.json: client.round_trip_us")];
    if let Some(again) = signals.host.retransmits.filter(|again| *again >= 1.0) {
        let statement = format!("{} TCP segments a second were sent again", round(again));
        found.push(evidence(statement, again, "1/s", "host.ndjson: tcp_retransmits"));
    }
    candidate(Bottleneck::Network, share, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{Client, LoadSignals, Server};

    fn signals(round_trip: f64, statements: f64, latency: f64) -> Signals {
        let load = LoadSignals {
            queries_per_transaction: Some(statements),
            latency_seconds: Some(latency),
            ..LoadSignals::default()
        };
        let client = Client { round_trip_seconds: Some(round_trip), ..Client::default() };
        Signals { load, client, ..Signals::default() }
    }

    fn share(signals: &Signals) -> f64 {
        weigh(signals).map_or(0.0, |found| found.share)
    }

    #[test]
    fn many_round_trips_make_a_long_transaction() {
        assert!((share(&signals(0.0101, 20.0, 0.25)) - 0.8).abs() < 1e-9);
        assert!(share(&signals(0.0005, 1.0, 0.01)) < 0.05);
    }

    #[test]
    fn a_server_on_this_machine_has_no_network() {
        assert_eq!(share(&signals(0.000_06, 1.0, 0.000_1)), 0.0);
        let server = Server { cpus_busy: Some(1.0), ..Server::default() };
        assert_eq!(share(&Signals { server, ..signals(0.01, 20.0, 0.25) }), 0.0);
    }

    #[test]
    fn a_ping_that_was_disturbed_says_nothing() {
        assert_eq!(share(&signals(0.003, 1.0, 0.0013)), 0.0);
    }
}
