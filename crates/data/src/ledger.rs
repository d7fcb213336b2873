//! The ledger: what clients were told is committed, kept beside the data in the part `client` of the table
//! `plimsoll_dataset`. With it `check` finds commits that were acknowledged and lost, and rows that nobody committed.
//!
//! A run marks itself as open before it starts and adds its numbers when it ends. A killed run stays open: what it
//! committed is unknown.

use crate::DataError;
use crate::dataset::{self, TABLE, literal};
use plimsoll_engine::Failure;
use plimsoll_engine::control::Control;
use plimsoll_workloads::check::Ledger;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The name of the part.
pub const PART: &str = "client";
/// The server's "table does not exist".
const NO_TABLE: u16 = 1146;

/// What the clients of one run were told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldCounts {
    /// Acknowledged commits from the first connection to the last answer, warm-up and drain included: `new_order`,
    /// `payment`, `delivered_orders`.
    pub committed: BTreeMap<String, u64>,
    /// Transactions whose COMMIT was sent and not answered.
    pub unknown: u64,
}

/// How a run treats the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conduct {
    /// It keeps defects of the original, which does not maintain every counter.
    pub compat: bool,
    /// It deletes delivered orders.
    pub purge: bool,
}

/// Notes that a run begins. False if the data have no marker: they have no ledger.
pub fn begin_run(control: &mut Control, family: &str, conduct: Conduct) -> Result<bool, DataError> {
    if dataset::marker(control, family)?.is_none() {
        return Ok(false);
    }
    change(control, family, |ledger| {
        ledger.open_runs += 1;
        ledger.compat |= conduct.compat;
        ledger.purge |= conduct.purge;
    })?;
    Ok(true)
}

/// Takes the mark of a run that sent nothing away again.
pub fn withdraw_run(control: &mut Control, family: &str) -> Result<(), DataError> {
    change(control, family, close)
}

fn close(ledger: &mut Ledger) {
    ledger.open_runs = ledger.open_runs.saturating_sub(1);
}

/// Adds what a run that is marked as open has committed.
pub fn end_run(control: &mut Control, family: &str, counts: &ToldCounts) -> Result<(), DataError> {
    change(control, family, |ledger| {
        close(ledger);
        ledger.runs += 1;
        ledger.unknown += counts.unknown;
        for (what, count) in &counts.committed {
            *ledger.committed.entry(what.clone()).or_default() += count;
        }
    })
}

/// The ledger of all runs so far; none if there was no run.
pub fn read(control: &mut Control, family: &str) -> Result<Option<Ledger>, DataError> {
    find(control, family, "")
}

fn sql(failure: &Failure) -> DataError {
    DataError::sql("reading or writing the ledger in the table plimsoll_dataset", failure)
}

fn find(control: &mut Control, family: &str, locking: &str) -> Result<Option<Ledger>, DataError> {
    let query = format!("SELECT detail FROM {TABLE} WHERE family = {} AND part = '{PART}'{locking}", literal(family));
    match control.rows(&query) {
        Ok(rows) => rows.single().map(parsed).transpose(),
        Err(Failure::Server(message)) if message.code == NO_TABLE => Ok(None),
        Err(failure) => Err(sql(&failure)),
    }
}

/// Reads, changes and writes in one transaction, since several runs may be under way.
fn change(control: &mut Control, family: &str, change: impl FnOnce(&mut Ledger)) -> Result<(), DataError> {
    control.run("START TRANSACTION").map_err(|failure| sql(&failure))?;
    let changed = (|| {
        let mut ledger = find(control, family, " FOR UPDATE")?.unwrap_or_default();
        change(&mut ledger);
        let replace = format!(
            "REPLACE INTO {TABLE} (family, part, state, detail) VALUES ({}, '{PART}', '{PART}', {})",
            literal(family),
            literal(&stored(&ledger).to_string())
        );
        control.run(&replace).map(|_| ()).map_err(|failure| sql(&failure))
    })();
    let end = if changed.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = control.run(end).map(|_| ()).map_err(|failure| sql(&failure));
    changed.and(ended)
}

fn stored(ledger: &Ledger) -> Value {
    json!({
        "runs": ledger.runs, "open_runs": ledger.open_runs, "compat": ledger.compat, "purge": ledger.purge,
        "committed": ledger.committed, "unknown": ledger.unknown,
    })
}

fn parsed(detail: &str) -> Result<Ledger, DataError> {
    let unreadable = || {
        DataError::Environment(format!(
            "the part `{PART}` of the table {TABLE} is not in the format of this version of Plimsoll; drop the data \
             and load them again"
        ))
    };
    let found: Value = serde_json::from_str(detail).map_err(|_| unreadable())?;
    let number = |name: &str| found[name].as_u64().ok_or_else(unreadable);
    let flag = |name: &str| found[name].as_bool().ok_or_else(unreadable);
    let committed = found["committed"].as_object().ok_or_else(unreadable)?.iter();
    Ok(Ledger {
        runs: number("runs")?,
        open_runs: number("open_runs")?,
        compat: flag("compat")?,
        purge: flag("purge")?,
        committed: committed
            .map(|(what, count)| Ok((what.clone(), count.as_u64().ok_or_else(unreadable)?)))
            .collect::<Result<_, DataError>>()?,
        unknown: number("unknown")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_never_began_leaves_others_open() {
        let mut ledger = Ledger { runs: 4, open_runs: 2, ..Ledger::default() };
        close(&mut ledger);
        assert_eq!(ledger, Ledger { runs: 4, open_runs: 1, ..Ledger::default() });
    }

    #[test]
    fn a_ledger_reads_as_it_was_written() {
        let committed = BTreeMap::from([("new_order".to_owned(), 7), ("payment".to_owned(), 8)]);
        let ledger = Ledger { runs: 3, open_runs: 1, compat: true, purge: false, committed, unknown: 2 };
        assert_eq!(parsed(&stored(&ledger).to_string()).expect("its own words"), ledger);
        for other in ["", "{}", "{\"runs\": \"3\"}"] {
            assert!(parsed(other).is_err(), "{other}");
        }
    }
}
