//! What is asked of a server: the workloads, their data, their statements and what must hold for them.
//!
//! Every workload has the same shape: `parameters` (what can be set), `schema` (tables), `load` (rows), `statements`
//! (texts), `tx` (one transaction), `check` (invariants). Rows and transactions are pure functions of a seed.
//! Nothing here sees a socket, a clock or a histogram, retries or measures: the engine does.
//!
//! Begin with [`tpcc::tx`], one file per transaction, or [`smack`], the smallest; then [`chosen`], where everything
//! that differs between families is decided.

mod begin;
pub mod check;
pub mod chosen;
pub mod dataset;
pub mod digits;
pub mod distribution;
pub mod error;
pub mod ledger;
pub mod null;
pub mod oltp;
pub mod parameter;
pub mod smack;
pub mod tpcc;
pub mod unique;

pub use error::Error;

use error::nearest;

/// The name of every workload with one sentence about it.
pub fn summaries() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_oltp = oltp::OltpKind::ALL.into_iter().map(|kind| (kind.name(), kind.summary()));
    let of_smack = smack::SmackKind::ALL.into_iter().map(|kind| (kind.name(), kind.summary()));
    let others = [(tpcc::NAME, tpcc::summary()), (ledger::NAME, ledger::summary())];
    of_oltp.chain(others).chain(of_smack)
}

/// What the workload of this name does, in full.
///
/// # Errors
/// There is no such workload.
pub fn describe(name: &str) -> Result<String, Error> {
    if let Some(kind) = oltp::OltpKind::from_name(name) {
        return Ok(oltp::describe::describe(kind));
    }
    if let Some(kind) = smack::SmackKind::from_name(name) {
        return Ok(smack::describe::describe(kind));
    }
    match name {
        tpcc::NAME => Ok(tpcc::describe::describe()),
        ledger::NAME => Ok(ledger::describe::describe()),
        _ => Err(unknown_workload(name)),
    }
}

/// The error for a name that no workload has: the workloads that exist, and what may have been meant.
pub fn unknown_workload(name: &str) -> Error {
    let names = || summaries().map(|(name, _)| name);
    let accepted = names().collect::<Vec<_>>().join(", ");
    Error::UnknownWorkload { name: name.to_owned(), nearest: nearest(&name.replace('-', "_"), names()), accepted }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_describes_itself() {
        for (name, summary) in summaries() {
            assert!(describe(name).expect("known").contains(summary));
        }
    }

    #[test]
    fn an_unknown_workload_is_answered_with_the_nearest() {
        let message = describe("oltp-readwrite").expect_err("unknown").to_string();
        assert!(
            message.starts_with("there is no workload 'oltp-readwrite' (did you mean 'oltp_read_write'?); "),
            "{message}"
        );
        assert!(message.ends_with("smack_update_select"), "{message}");
    }
}
