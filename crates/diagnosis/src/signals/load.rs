//! What was asked of the server, and how it was answered.

use crate::Observed;
use plimsoll_model::summary::Stalled;

/// Share of the offered rate that may be missing, besides what chance takes.
const MISSING: f64 = 0.02;

/// The load of the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadSignals {
    /// Length of the window.
    pub seconds: f64,
    pub connections: f64,
    /// Arrivals per second of an open loop.
    pub rate_offered: Option<f64>,
    /// Transactions that ended as intended, per second, including intended rollbacks.
    pub transactions_per_second: f64,
    /// Statements of one transaction.
    pub queries_per_transaction: Option<f64>,
    /// First send to final answer of a transaction, seconds; retries and back-off included.
    pub latency_seconds: Option<f64>,
    /// Transactions under way at a time, on average (Little's law): the time of all transactions over that of the
    /// window.
    pub in_flight: Option<f64>,
    /// The longest stretch in which nothing was completed although something was due.
    pub stalled: Option<Stalled>,
}

impl LoadSignals {
    pub(super) fn of(observed: &Observed<'_>) -> LoadSignals {
        let point = observed.point;
        let ended = (point.transactions.saturating_add(point.rollbacks)) as f64;
        let per_second = |count: f64| if point.seconds > 0.0 { count / point.seconds } else { 0.0 };
        let latency_seconds = point.latency_ms.mean.filter(|ms| ms.is_finite() && *ms > 0.0).map(|ms| ms / 1e3);
        LoadSignals {
            seconds: point.seconds,
            connections: point.load.connections as f64,
            rate_offered: point.load.rate,
            transactions_per_second: per_second(ended),
            queries_per_transaction: (ended > 0.0).then(|| point.queries as f64 / ended),
            latency_seconds,
            stalled: point.stalled.filter(|stalled| stalled.seconds.is_finite() && stalled.start.is_finite()),
            in_flight: latency_seconds.map(|latency| per_second(ended) * latency).filter(|number| *number > 0.0),
        }
    }
}

impl LoadSignals {
    /// The rate that was offered, if there was one and less was done. Arrivals are counted, so chance may take three
    /// times the square root of how many were due.
    pub fn rate_not_reached(&self) -> Option<f64> {
        let offered = self.rate_offered.filter(|rate| rate.is_finite() && *rate > 0.0)?;
        let chance = 3.0 * (offered * self.seconds).sqrt() / self.seconds;
        let missing = offered - self.transactions_per_second;
        (self.seconds > 0.0 && missing > chance.max(MISSING * offered)).then_some(offered)
    }
}
