//! Statements that the server has received but does not work on, because it limits the number of working threads.

use super::writing::Writing;
use super::{candidate, client, cpu, evidence, network, round, throttled};
use crate::signals::{Signals, TICKETS, ThreadLimit};
use plimsoll_model::diagnosis::{Bottleneck, Candidate};

/// What is under way, not being worked on and not explained by something else waits for a thread. Contention for
/// latches does not show in the numbers of one load point, and is not guessed.
pub fn weigh(signals: &Signals) -> Option<Candidate> {
    let (in_flight, limit) = (signals.load.in_flight?, signals.server.thread_limit.as_ref()?);
    let working = working(signals, limit)?;
    let elsewhere: f64 = [client::weigh, cpu::weigh, network::weigh, throttled::weigh]
        .iter()
        .filter_map(|weigh| weigh(signals))
        .map(|one| one.share)
        .sum();
    let share = (1.0 - working / in_flight - elsewhere).max(0.0);
    let statement = format!(
        "on average {} transactions were under way and {} statements worked on",
        round(in_flight),
        round(signals.server.threads_running?)
    );
    let found = vec![
        evidence(statement, in_flight, "1", "status.ndjson: threads_running"),
        evidence(
            format!("{} = {} limits how many are worked on", limit.setting, round(limit.threads)),
            limit.threads,
            "1",
            "variables.json",
        ),
    ];
    candidate(Bottleneck::Threads, share, found)
}

/// Statements that have a thread, including those that wait for rows, reads or writes: a pool goes on with others
/// meanwhile. Those that InnoDB keeps waiting for a ticket count as running, and one that waits for a row gives its
/// ticket back.
fn working(signals: &Signals, limit: &ThreadLimit) -> Option<f64> {
    let running = signals.server.threads_running?;
    let writing = Writing::of(signals).map_or(0.0, |writing| writing.commit + writing.pages);
    let waiting = signals.locks.waiters.unwrap_or(0.0) + signals.storage.read_waiters.unwrap_or(0.0) + writing;
    Some(match limit.setting {
        TICKETS => running.min(limit.threads) + waiting,
        _ => running.max(waiting),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{LoadSignals, Locks, Server};

    fn signals(threads: f64, running: f64) -> Signals {
        let limit = ThreadLimit { setting: "thread_pool_size", threads };
        let server = Server { threads_running: Some(running), thread_limit: Some(limit), ..Server::default() };
        Signals { server, load: LoadSignals { in_flight: Some(16.0), ..LoadSignals::default() }, ..Signals::default() }
    }

    #[test]
    fn a_pool_of_one_lets_the_others_wait() {
        let found = weigh(&signals(1.0, 1.2)).unwrap();
        assert!(found.share > 0.9, "{found:?}");
        assert_eq!(found.evidence[1].statement, "thread_pool_size = 1 limits how many are worked on");
        assert_eq!(weigh(&signals(32.0, 16.0)), None, "all are worked at");
        assert_eq!(weigh(&Signals { server: Server::default(), ..signals(1.0, 1.0) }), None, "nothing limits them");
    }

    #[test]
    fn a_hot_row_is_not_a_lack_of_threads() {
        let mut signals = signals(2.0, 15.0);
        signals.locks = Locks { waiters: Some(14.0), ..Locks::default() };
        assert!(weigh(&signals).unwrap().share < 0.1, "a pool lets others work while some wait for a row");
        signals.server.threads_running = Some(2.0);
        assert!(weigh(&signals).unwrap().share < 0.15);
    }

    #[test]
    fn who_waits_for_a_ticket_counts_as_running() {
        let mut signals = signals(2.0, 16.0);
        signals.server.thread_limit = Some(ThreadLimit { setting: TICKETS, threads: 2.0 });
        assert!((weigh(&signals).unwrap().share - 14.0 / 16.0).abs() < 1e-9);
        signals.locks = Locks { waiters: Some(13.0), ..Locks::default() };
        assert!(weigh(&signals).unwrap().share < 0.1, "for a row, and without a ticket");
    }

    #[test]
    fn what_waits_for_a_cpu_does_not_wait_for_a_thread() {
        let mut signals = signals(2.0, 2.0);
        signals.server =
            Server { cpus_busy: Some(2.0), cpus_taken: Some(2.0), cpus_allowed: Some(2.0), ..signals.server };
        assert_eq!(weigh(&signals), None);
    }
}
