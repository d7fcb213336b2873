//! Rows that transactions waited for.

use super::storage::rate;
use super::{gauge, number};
use crate::Observed;

/// Codes of errors with which a server ends a transaction for the sake of others (MySQL and MariaDB, error reference:
/// `ER_LOCK_DEADLOCK`, `ER_LOCK_WAIT_TIMEOUT`).
const DEADLOCK: u16 = 1213;
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// Row locks in the window. Rates are per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Locks {
    /// Transactions that waited for a row, on average.
    pub waiters: Option<f64>,
    /// Waits that began.
    pub waits: Option<f64>,
    /// By the server's count, otherwise by its answers to the load.
    pub deadlocks: Option<f64>,
    /// Waits given up, by the server's answers to the load.
    pub timeouts: f64,
    /// Transactions sent again.
    pub retries: f64,
    /// Connections busy with an attempt that ended in a deadlock or in a wait that was given up, on average.
    pub at_failed_attempts: Option<f64>,
}

impl Locks {
    pub(super) fn of(observed: &Observed<'_>) -> Locks {
        let (point, lines) = (observed.point, observed.status());
        let each_second = |count: u64| number(Some(count as f64 / point.seconds)).unwrap_or(0.0);
        let errors = |code: u16| each_second(point.errors.get(&code).copied().unwrap_or(0));
        let failed_ms: f64 =
            [DEADLOCK, LOCK_WAIT_TIMEOUT].iter().filter_map(|code| point.failed_attempts_ms.get(code)).sum();
        // Time is counted when a wait ends, so long waits show only in the samples.
        let ended = rate(&lines, |line| line.row_lock_ms).map(|ms| ms / 1e3);
        let seen = gauge(lines.iter().filter_map(|line| line.row_lock_waiting));
        Locks {
            waiters: ended.into_iter().chain(seen).reduce(f64::max),
            waits: rate(&lines, |line| line.row_lock_waits),
            deadlocks: rate(&lines, |line| line.deadlocks).or(Some(errors(DEADLOCK)).filter(|rate| *rate > 0.0)),
            timeouts: errors(LOCK_WAIT_TIMEOUT),
            retries: each_second(point.retries),
            at_failed_attempts: number(Some(failed_ms / 1e3 / point.seconds)).filter(|number| *number > 0.0),
        }
    }
}
