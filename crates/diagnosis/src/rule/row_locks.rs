//! Rows that several transactions want at once.

use super::{candidate, evidence, round};
use crate::signals::{Locks, Signals};
use plimsoll_model::diagnosis::{Bottleneck, Candidate, Evidence};
use plimsoll_model::number::whole_percent;

/// The share of transactions under way that wait for a row; or, if that is more, the share of attempts that deadlocks
/// undid, or of the time of attempts that ended in a deadlock or a wait that was given up. The load itself shows that
/// time for any server; it shows nothing of waits that ended normally.
pub fn weigh(signals: &Signals) -> Option<Candidate> {
    let (load, locks) = (&signals.load, &signals.locks);
    let waiting = locks.waiters.zip(load.in_flight).map(|(waiters, in_flight)| (waiters / in_flight).min(1.0));
    let mut found: Vec<Evidence> = waiting.map(waited).into_iter().collect();
    let failed = failed_attempts(signals);
    if let Some(share) = failed.filter(|share| *share > waiting.unwrap_or(0.0)) {
        let statement = format!(
            "attempts that ended in a deadlock or a lock wait timeout (errors 1213 and 1205) took {} of the \
             transactions’ time",
            whole_percent(share)
        );
        found.insert(0, evidence(statement, share, "1", "summary.json: failed_attempts_ms"));
    }
    let waiting = waiting.unwrap_or(0.0);
    found.extend(deadlocks(signals));
    found.extend(waits(locks));
    if locks.timeouts > 0.0 {
        let statement = format!("{} waits a second were given up", round(locks.timeouts));
        found.push(evidence(statement, locks.timeouts, "1/s", "summary.json: errors.1205"));
    }
    let in_vain = in_vain(signals);
    if in_vain > 0.0 {
        let statement = format!("{} of all attempts were in vain and were repeated", whole_percent(in_vain));
        found.push(evidence(statement, in_vain, "1", "summary.json: retries"));
    }
    candidate(Bottleneck::RowLocks, waiting.max(in_vain).max(failed.unwrap_or(0.0)), found)
}

fn waited(share: f64) -> Evidence {
    let waited = format!("transactions waited {} of their time for rows that others had locked", whole_percent(share));
    evidence(waited, share, "1", "status.ndjson: row_lock_ms")
}

/// Share of the transactions' time that went to attempts which locks ended. If none was completed, the number under way
/// is not known, but it is at most the number of connections.
fn failed_attempts(signals: &Signals) -> Option<f64> {
    let failed = signals.locks.at_failed_attempts?;
    let under_way = signals.load.in_flight.unwrap_or(signals.load.connections).max(failed);
    (under_way > 0.0).then_some(failed / under_way)
}

fn deadlocks(signals: &Signals) -> Option<Evidence> {
    let deadlocks = signals.locks.deadlocks.filter(|deadlocks| *deadlocks > 0.0)?;
    let each = deadlocks / signals.load.transactions_per_second;
    let mut statement = format!("there were {} deadlocks a second", round(deadlocks));
    if each.is_finite() {
        statement += &format!(", {} for each transaction that was committed", round(each));
    }
    Some(evidence(statement, deadlocks, "1/s", "status.ndjson: deadlocks"))
}

fn waits(locks: &Locks) -> Option<Evidence> {
    let waits = locks.waits.filter(|waits| *waits > 0.0)?;
    let ms = round(1e3 * locks.waiters? / waits);
    let statement = format!("there were {} such waits a second, {ms} ms each", round(waits));
    Some(evidence(statement, waits, "1/s", "status.ndjson: row_lock_waits"))
}

/// Share of the attempts that were repeated; `None` if retries had reasons other than locks.
fn in_vain(signals: &Signals) -> f64 {
    let locks = &signals.locks;
    let attempts = locks.retries + signals.load.transactions_per_second;
    let has_locks = locks.deadlocks.unwrap_or(0.0) + locks.timeouts > 0.0;
    if has_locks && attempts > 0.0 { locks.retries / attempts } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::LoadSignals;

    fn signals(locks: Locks) -> Signals {
        let load = LoadSignals { in_flight: Some(32.0), transactions_per_second: 150.0, ..LoadSignals::default() };
        Signals { locks, load, ..Signals::default() }
    }

    #[test]
    fn waiting_for_one_row_is_its_share() {
        let locks = Locks { waiters: Some(29.0), waits: Some(2000.0), deadlocks: Some(0.0), ..Locks::default() };
        let found = weigh(&signals(locks)).unwrap();
        assert!((found.share - 29.0 / 32.0).abs() < 1e-9 && found.evidence.len() == 2, "{found:?}");
        assert!(found.evidence[0].statement.contains("91 %"), "{found:?}");
        assert_eq!(found.evidence[1].statement, "there were 2000 such waits a second, 14.5 ms each");
    }

    #[test]
    fn deadlocks_are_told_and_what_they_wasted_counts() {
        let locks = Locks { waiters: Some(4.0), deadlocks: Some(720.0), retries: 600.0, ..Locks::default() };
        let found = weigh(&signals(locks)).unwrap();
        assert!((found.share - 0.8).abs() < 1e-9, "{found:?}");
        assert!(found.evidence[1].statement.contains("4.8 for each transaction"), "{found:?}");
        let stuck =
            Signals { load: LoadSignals::default(), ..signals(Locks { deadlocks: Some(9.0), ..Locks::default() }) };
        assert_eq!(weigh(&stuck), None, "nothing was committed: no share of anything");
    }

    #[test]
    fn a_server_that_tells_nothing_of_itself_is_weighed_by_the_load() {
        let locks = Locks { timeouts: 3.2, retries: 3.2, at_failed_attempts: Some(21.0), ..Locks::default() };
        let found = weigh(&signals(locks.clone())).unwrap();
        assert!((found.share - 21.0 / 32.0).abs() < 1e-9, "{found:?}");
        assert_eq!(
            found.evidence[0].statement,
            "attempts that ended in a deadlock or a lock wait timeout (errors 1213 and 1205) took 66 % of the \
             transactions’ time"
        );
        assert!(!found.evidence.iter().any(|found| found.statement.contains("waited 0 %")), "{found:?}");
        let load = LoadSignals { connections: 32.0, ..LoadSignals::default() };
        let given_up = Locks { retries: 0.0, ..locks.clone() };
        let stuck = weigh(&Signals { load, ..signals(given_up) }).unwrap();
        assert!((stuck.share - 21.0 / 32.0).abs() < 1e-9, "nothing was completed: {stuck:?}");
        let told = weigh(&signals(Locks { waiters: Some(28.0), ..locks })).unwrap();
        assert!((told.share - 28.0 / 32.0).abs() < 1e-9, "a server that tells more is believed: {told:?}");
    }

    #[test]
    fn retries_for_other_reasons_are_no_locks() {
        assert_eq!(weigh(&signals(Locks { retries: 600.0, ..Locks::default() })), None);
        assert_eq!(weigh(&Signals::default()), None);
    }
}
