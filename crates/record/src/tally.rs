//! Latencies of an interval, as loops count them.

use crate::{RecordError, TrialWriter};
use plimsoll_load::tally::{Names, Tally};

impl TrialWriter {
    /// Records the latencies of one interval of a load that began `before_ns` after its series.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn latencies(
        &mut self,
        tally: &Tally,
        names: &Names,
        before_ns: u64,
        open_loop: bool,
    ) -> Result<(), RecordError> {
        let at = before_ns.saturating_add(tally.start_ns);
        let length = tally.end_ns.saturating_sub(tally.start_ns);
        let mut append = |tag: &str, histogram: &hdrhistogram::Histogram<u64>| match histogram.is_empty() {
            true => Ok(()),
            false => self.append_histogram(tag, at, length, histogram),
        };
        for (name, transaction) in names.transactions.iter().zip(&tally.transactions) {
            append(&format!("txn.{name}.service"), &transaction.service)?;
            if open_loop {
                append(&format!("txn.{name}.response"), &transaction.response)?;
            }
        }
        for (name, statement) in names.statements.iter().zip(&tally.statements) {
            append(&format!("stmt.{name}"), &statement.latency)?;
        }
        Ok(())
    }
}
