//! Pages that a statement needs and the buffer pool does not have.

use super::{candidate, evidence, round};
use crate::signals::Signals;
use plimsoll_model::diagnosis::{Bottleneck, Candidate};
use plimsoll_model::number::whole_percent;

/// Threads that wait for a page, as a share of the transactions under way.
pub fn weigh(signals: &Signals) -> Option<Candidate> {
    let (load, storage) = (&signals.load, &signals.storage);
    let (misses, in_flight) = (storage.misses.filter(|misses| *misses > 0.0)?, load.in_flight?);
    let share = (storage.read_waiters? / in_flight).min(1.0);
    let each = misses / load.transactions_per_second;
    let source = |field: &str| format!("status.ndjson: {field}");
    let found = vec![
        evidence(
            format!("transactions waited {} of their time for pages to be read", whole_percent(share)),
            share,
            "1",
            &source(storage.read_waiters_source),
        ),
        evidence(
            format!(
                "{} pages a second were not in the buffer pool, {} for each transaction",
                round(misses),
                round(each)
            ),
            misses,
            "1/s",
            &source("pool_reads"),
        ),
    ];
    candidate(Bottleneck::ReadIo, share, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{LoadSignals, StorageSignals};

    fn signals(misses: f64, waiters: f64) -> Signals {
        let storage = StorageSignals {
            misses: Some(misses),
            read_waiters: Some(waiters),
            read_waiters_source: "data_pending_reads",
            ..StorageSignals::default()
        };
        let load = LoadSignals { in_flight: Some(16.0), transactions_per_second: 66.0, ..LoadSignals::default() };
        Signals { storage, load, ..Signals::default() }
    }

    #[test]
    fn threads_that_wait_for_pages_are_its_share() {
        let found = weigh(&signals(300.0, 15.5)).unwrap();
        assert!((found.share - 15.5 / 16.0).abs() < 1e-9, "{found:?}");
        assert_eq!(found.evidence[0].statement, "transactions waited 97 % of their time for pages to be read");
        assert!(found.evidence[1].statement.ends_with("4.55 for each transaction"), "{found:?}");
        assert_eq!(weigh(&signals(300.0, 40.0)).unwrap().share, 1.0, "read-ahead among them");
    }

    #[test]
    fn a_pool_that_holds_everything_waits_for_no_reads() {
        assert_eq!(weigh(&signals(0.0, 1.0)), None);
        assert_eq!(weigh(&signals(9.0, 0.0)), None);
        assert_eq!(weigh(&Signals::default()), None);
    }
}
