//! Pages that have to be written before work can go on: for a checkpoint, for a free page, or before the log on the
//! same device.

use super::writing::Writing;
use super::{candidate, evidence, round};
use crate::signals::{Signals, StorageSignals};
use plimsoll_model::diagnosis::{Bottleneck, Candidate, Evidence};
use plimsoll_model::number::whole_percent;

/// An age of the checkpoint, or a share of dirty pages, that is worth mentioning.
const NOTEWORTHY: f64 = 0.3;

/// The share of transactions under way that wait for pages.
pub fn weigh(signals: &Signals) -> Option<Candidate> {
    let (storage, in_flight) = (&signals.storage, signals.load.in_flight?);
    let share = Writing::of(signals)?.pages / in_flight;
    let waited =
        format!("changes waited {} of the transactions’ time for pages to be written", whole_percent(share.min(1.0)));
    let mut found = vec![evidence(waited, share, "1", "status.ndjson: threads_running")];
    found.extend(age(storage));
    found.extend(free_waits(storage));
    found.extend(before_syncs(storage));
    found.extend(dirty(storage));
    candidate(Bottleneck::PageFlush, share, found)
}

fn age(storage: &StorageSignals) -> Option<Evidence> {
    let age = storage.checkpoint_age.filter(|age| *age >= NOTEWORTHY)?;
    let statement = format!("the age of the checkpoint reached {} of its maximum", whole_percent(age));
    Some(evidence(statement, age, "1", "status.ndjson: checkpoint_age_bytes, checkpoint_age_max_bytes"))
}

fn free_waits(storage: &StorageSignals) -> Option<Evidence> {
    let waits = storage.free_waits.filter(|waits| *waits > 0.0)?;
    let statement = format!("{} times a second no page was free", round(waits));
    Some(evidence(statement, waits, "1/s", "status.ndjson: pool_wait_free"))
}

fn before_syncs(storage: &StorageSignals) -> Option<Evidence> {
    let (each, writes) = (storage.pages_per_sync.filter(|pages| *pages > 0.0)?, storage.page_writes?);
    let statement = format!(
        "{} pages a second were written, with the doublewrite buffer {} for each sync of the log",
        round(writes),
        round(each)
    );
    Some(evidence(statement, each, "pages", "status.ndjson: pages_written, doublewrite_pages"))
}

fn dirty(storage: &StorageSignals) -> Option<Evidence> {
    let dirty = storage.dirty.filter(|dirty| *dirty >= NOTEWORTHY)?;
    let statement = format!("{} of the buffer pool was dirty", whole_percent(dirty));
    Some(evidence(statement, dirty, "1", "status.ndjson: pages_dirty"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{LoadSignals, Locks, Server};

    fn signals(storage: StorageSignals) -> Signals {
        let load = LoadSignals { in_flight: Some(16.0), transactions_per_second: 55.0, ..LoadSignals::default() };
        let server = Server { threads_running: Some(16.0), ..Server::default() };
        Signals { load, server, storage, ..Signals::default() }
    }

    fn share(storage: StorageSignals) -> f64 {
        weigh(&signals(storage)).map_or(0.0, |found| found.share)
    }

    fn changing() -> StorageSignals {
        StorageSignals {
            changes: 55.0,
            commits: 55.0,
            syncs_at_commit: true,
            syncs: Some(15.0),
            syncing: Some(1.0),
            ..StorageSignals::default()
        }
    }

    #[test]
    fn a_full_log_lets_nobody_go_on() {
        let full = StorageSignals { checkpoint_age: Some(0.99), checkpoint_pressure: Some(1.0), ..changing() };
        assert_eq!(share(full.clone()), 1.0);
        let found = weigh(&signals(full.clone())).unwrap();
        assert!(found.evidence[1].statement.contains("99 %"), "{found:?}");
        assert_eq!(share(StorageSignals { syncs_at_commit: false, ..full }), 1.0, "whatever a commit waits for");
        assert_eq!(share(StorageSignals { checkpoint_pressure: Some(0.0), ..changing() }), 0.0);
    }

    #[test]
    fn no_free_page_lets_nobody_go_on() {
        assert_eq!(share(StorageSignals { free_waits: Some(60.0), ..changing() }), 1.0);
    }

    #[test]
    fn pages_before_a_sync_are_its_part_of_the_wait() {
        let behind = StorageSignals { behind_pages: Some(0.8), ..changing() };
        assert!((share(behind.clone()) - 0.8).abs() < 1e-9);
        let seldom = StorageSignals { syncing: Some(0.1), ..behind };
        assert!((share(seldom) - 0.08).abs() < 1e-9, "who is not syncing does not wait for a sync");
    }

    #[test]
    fn who_waits_for_a_row_waits_for_no_page() {
        let full = StorageSignals { checkpoint_pressure: Some(1.0), ..changing() };
        let locked = Locks { waiters: Some(12.0), ..Locks::default() };
        let found = weigh(&Signals { locks: locked, ..signals(full) }).unwrap();
        assert!((found.share - 0.25).abs() < 1e-9, "{found:?}");
        assert_eq!(weigh(&Signals::default()), None);
    }
}
