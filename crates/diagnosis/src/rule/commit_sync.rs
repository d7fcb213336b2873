//! The sync that makes a commit durable.

use super::writing::Writing;
use super::{candidate, evidence, round};
use crate::signals::{Signals, StorageSignals};
use plimsoll_model::diagnosis::{Bottleneck, Candidate, Evidence};
use plimsoll_model::number::whole_percent;

/// The share of transactions under way that wait for their own commit.
pub fn weigh(signals: &Signals) -> Option<Candidate> {
    let (storage, in_flight) = (&signals.storage, signals.load.in_flight?);
    let share = Writing::of(signals)?.commit / in_flight;
    let (concluded, source) = match storage.committing {
        Some(_) => ("", "summary.json: operations"),
        None => (", since no other wait explains it", "status.ndjson: threads_running"),
    };
    let waited =
        format!("commits waited {} of the transactions’ time for the log{concluded}", whole_percent(share.min(1.0)));
    let mut found = vec![evidence(waited, share, "1", source)];
    found.extend(syncs(storage));
    candidate(Bottleneck::CommitSync, share, found)
}

fn syncs(storage: &StorageSignals) -> Option<Evidence> {
    let syncs = storage.syncs.filter(|syncs| *syncs > 0.0)?;
    let length = storage.sync_ms.map_or(String::new(), |ms| format!(", {} ms each", round(ms)));
    let group = storage.commits / syncs;
    let statement =
        format!("there were {} syncs a second{length}, with {} commits in each", round(syncs), round(group));
    Some(evidence(statement, syncs, "1/s", "status.ndjson: log_fsyncs, data_fsyncs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{LoadSignals, Server};

    /// 16 connections that update, each update its own commit.
    fn signals(storage: StorageSignals) -> Signals {
        let load = LoadSignals { in_flight: Some(16.0), transactions_per_second: 305.0, ..LoadSignals::default() };
        let server = Server { threads_running: Some(16.0), ..Server::default() };
        Signals { load, server, storage, ..Signals::default() }
    }

    fn syncing(syncs: f64, syncing: f64) -> StorageSignals {
        StorageSignals {
            changes: 305.0,
            commits: 305.0,
            syncs_at_commit: true,
            syncs: Some(syncs),
            syncing: Some(syncing),
            ..StorageSignals::default()
        }
    }

    #[test]
    fn slow_syncs_are_what_commits_wait_for() {
        let timed = StorageSignals { sync_ms: Some(25.0), ..syncing(40.0, 1.0) };
        let found = weigh(&signals(timed)).unwrap();
        assert!(found.share > 0.9, "{found:?}");
        assert_eq!(found.evidence[1].statement, "there were 40 syncs a second, 25 ms each, with 7.62 commits in each");
    }

    #[test]
    fn how_long_a_sync_took_is_told_only_where_the_server_does() {
        let found = weigh(&signals(syncing(40.0, 1.0))).unwrap();
        assert_eq!(found.evidence[1].statement, "there were 40 syncs a second, with 7.62 commits in each");
    }

    #[test]
    fn fast_syncs_are_not() {
        assert!(
            weigh(&signals(syncing(305.0, 0.05))).unwrap().share <= 0.05,
            "while nobody syncs, nobody waits for it"
        );
        assert_eq!(weigh(&signals(StorageSignals { syncs_at_commit: false, ..syncing(40.0, 1.0) })), None);
        assert_eq!(
            weigh(&signals(StorageSignals { changes: 0.0, ..syncing(40.0, 1.0) })),
            None,
            "reads commit for nothing"
        );
        assert_eq!(weigh(&signals(syncing(0.0, 1.0))), None);
        assert_eq!(weigh(&Signals::default()), None);
    }

    #[test]
    fn commits_are_as_long_as_the_load_generator_saw_them() {
        let seen = |committing| StorageSignals { committing: Some(committing), ..syncing(40.0, 1.0) };
        assert!((weigh(&signals(seen(8.0))).unwrap().share - 0.5).abs() < 1e-9);
        let untold = StorageSignals { syncs: None, syncing: None, ..seen(12.0) };
        assert!((weigh(&signals(untold)).unwrap().share - 0.75).abs() < 1e-9, "of a server that is not ours");
    }

    #[test]
    fn what_stands_before_the_sync_is_not_the_sync() {
        let behind = StorageSignals { behind_pages: Some(0.75), ..syncing(40.0, 1.0) };
        assert!((weigh(&signals(behind)).unwrap().share - 0.25).abs() < 0.02);
    }
}
