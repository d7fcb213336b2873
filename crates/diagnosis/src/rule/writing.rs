//! Transactions that wait for something to be written: the log, or pages that have to go first.

use super::{cpu, throttled};
use crate::signals::Signals;

/// Transactions, on average over the window, by what they wait for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Writing {
    /// The sync of their own commits.
    pub commit: f64,
    /// Pages: because the log is full, because no page is free, or because they precede a sync at the device.
    pub pages: f64,
}

impl Writing {
    /// `None` if nothing was changed, or if that is not known.
    pub fn of(signals: &Signals) -> Option<Writing> {
        let storage = &signals.storage;
        if storage.changes <= 0.0 {
            return None;
        }
        let stalled = stalled(signals);
        let waiting = storage.committing.or(stalled)?;
        let (pressing, behind_pages) = (pressing(signals), storage.behind_pages.unwrap_or(0.0));
        let committing = (1.0 - pressing) * syncing(signals, waiting);
        // Without a sync of its own, a commit still writes to the log while others may be syncing it.
        let own = if storage.syncs_at_commit { 1.0 - behind_pages } else { 0.0 };
        let pages = pressing * stalled.unwrap_or(waiting) + behind_pages * committing;
        Some(Writing { commit: own * committing, pages })
    }
}

/// Transactions that the server works on and that neither compute nor wait for a CPU, a row or a page to be read. Those
/// at the load generator or on their way are not running.
fn stalled(signals: &Signals) -> Option<f64> {
    let in_flight = signals.load.in_flight?;
    let running = signals.server.threads_running?.min(in_flight);
    let elsewhere = [cpu::weigh, throttled::weigh];
    let elsewhere: f64 = elsewhere.iter().filter_map(|weigh| weigh(signals)).map(|found| found.share * in_flight).sum();
    let elsewhere = elsewhere.max(signals.server.waiting_for_cpu.unwrap_or(0.0));
    let waiting = signals.locks.waiters.unwrap_or(0.0) + signals.storage.read_waiters.unwrap_or(0.0);
    Some((running - elsewhere - waiting).max(0.0))
}

/// Of the transactions that wait at their commit, as the load generator saw it, or that are stalled if statements
/// commit by themselves, those that wait for a sync: while the log is not being synced, none does.
fn syncing(signals: &Signals, waiting: f64) -> f64 {
    let storage = &signals.storage;
    let in_flight = signals.load.in_flight.unwrap_or(0.0);
    match storage.syncs {
        Some(syncs) if syncs <= 0.0 => 0.0,
        _ => waiting.min(in_flight * storage.syncing.unwrap_or(1.0)),
    }
}

/// How much changes had to wait until pages were written, 0 to 1.
fn pressing(signals: &Signals) -> f64 {
    let storage = &signals.storage;
    let free_waits = storage.free_waits.map_or(0.0, |waits| waits / storage.changes);
    storage.checkpoint_pressure.unwrap_or(0.0).max(free_waits).min(1.0)
}
