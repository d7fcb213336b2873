//! What of the commits that clients were told of is there after a crash.

use crate::error::LabError;
use crate::load_point::Counted;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::LoggedCommit;
use plimsoll_model::summary::InvariantFinding;
use plimsoll_workloads::chosen::ChosenWorkload;
use plimsoll_workloads::ledger::{check, tx};
use plimsoll_workloads::tpcc::statements::TransactionKind;
use std::collections::{BTreeMap, BTreeSet};

/// What the data say of the commits that clients were told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reckoning {
    pub acknowledged: u64,
    pub lost: u64,
    /// When the first client was told of one that is lost, as the log has it, nanoseconds.
    pub first_lost_ns: Option<u64>,
    /// Commits that are there and that nobody was told of; none where they are not counted.
    pub unacknowledged: Option<u64>,
}

/// Commits of which clients were told and that can be found again.
pub(super) fn acknowledged(chosen: &ChosenWorkload, counted: &Counted, told: &[LoggedCommit]) -> u64 {
    match chosen {
        ChosenWorkload::Ledger(_) => told.len() as u64,
        _ => [TransactionKind::NewOrder, TransactionKind::Payment]
            .map(|kind| counted.committed(kind.name()))
            .iter()
            .sum(),
    }
}

/// What is missing of `acknowledged` commits as the checks found it, where commits cannot be told apart.
pub(super) fn of_findings(acknowledged: u64, told: &[LoggedCommit], findings: &[InvariantFinding]) -> Reckoning {
    let lost: u64 = findings.iter().filter_map(|finding| finding.missing).sum();
    // Which of them are lost is not known; a server loses the last.
    let first = told.get(told.len().saturating_sub(lost as usize)).filter(|_| lost > 0);
    Reckoning { acknowledged, lost, first_lost_ns: first.map(|commit| commit.t_ns), unacknowledged: None }
}

/// The numbers of all entries, by client.
pub(super) type Entries = BTreeMap<u64, BTreeSet<u64>>;

/// # Errors
/// If the server cannot be asked.
pub(super) fn entries(target: &mut OpenTarget) -> Result<Entries, LabError> {
    let mut numbers = |query: &str| -> Result<Vec<u64>, LabError> {
        let failed = |failure| LabError::sql("reading the entries of the ledger", &failure);
        let rows = target.control.rows(query).map_err(failed)?;
        let number = |row: Vec<Option<String>>| row.into_iter().next().flatten()?.parse().ok();
        Ok(rows.rows.into_iter().filter_map(number).collect())
    };
    let clients = numbers(&check::clients())?;
    clients.into_iter().map(|client| Ok((client, numbers(&check::numbers_of(client))?.into_iter().collect()))).collect()
}

/// Whether a commit is among them.
pub(super) fn has(entries: &Entries, commit: &LoggedCommit) -> bool {
    entries.get(&tx::client(commit.connection)).is_some_and(|of| of.contains(&commit.number))
}

/// What is missing of the commits that clients were told of, compared one by one.
pub(super) fn of_entries(told: &[LoggedCommit], entries: &Entries) -> Reckoning {
    let lost: Vec<&LoggedCommit> = told.iter().filter(|commit| !has(entries, commit)).collect();
    let present: u64 = entries.values().map(|of| of.len() as u64).sum();
    let acknowledged = told.len() as u64;
    Reckoning {
        acknowledged,
        lost: lost.len() as u64,
        first_lost_ns: lost.iter().map(|commit| commit.t_ns).min(),
        unacknowledged: Some(present.saturating_sub(acknowledged - lost.len() as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_compared_one_by_one() {
        let told = [(0, 1, 10), (0, 2, 20), (1, 1, 15), (1, 2, 30)].map(|(connection, number, t_ns)| LoggedCommit {
            connection,
            number,
            t_ns,
        });
        let entries = |of: [(u64, Vec<u64>); 2]| of.map(|(client, numbers)| (client, numbers.into_iter().collect()));
        let all = Entries::from(entries([(1, vec![1, 2, 3]), (2, vec![1, 2])]));
        let found = of_entries(&told, &all);
        assert_eq!((found.acknowledged, found.lost, found.unacknowledged), (4, 0, Some(1)));
        // One too many does not hide one that is missing.
        let some = Entries::from(entries([(1, vec![1, 2, 3, 4]), (2, vec![1])]));
        let found = of_entries(&told, &some);
        assert_eq!((found.lost, found.first_lost_ns, found.unacknowledged), (1, Some(30), Some(2)));
        assert_eq!(of_entries(&told, &Entries::new()).first_lost_ns, Some(10));
    }
}
