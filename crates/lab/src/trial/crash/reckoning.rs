//! What of the commits that clients were told of is there after a crash.

use crate::error::LabError;
use crate::limits;
use crate::load_point::Counted;
use plimsoll_data::target::OpenTarget;
use plimsoll_data::{dataset, ledger};
use plimsoll_engine::LoggedCommit;
use plimsoll_model::summary::InvariantFinding;
use plimsoll_workloads::chosen::ChosenWorkload;
use plimsoll_workloads::ledger::{check, tx};
use plimsoll_workloads::tpcc::check::{CLIENT_DELIVERIES, OF_CLIENTS, ORDERS_PER_DELIVERY};
use plimsoll_workloads::tpcc::statements::TransactionKind;
use std::collections::{BTreeMap, BTreeSet};

/// Transactions of order entry whose commits the checks compare with what is there.
const COMPARED: [TransactionKind; 4] =
    [TransactionKind::NewOrder, TransactionKind::Payment, TransactionKind::Delivery, TransactionKind::DeferredDelivery];

/// Refuses data of order entry that do not show what is missing of them. Of the ledger, how many entries are there
/// before the load, of which its clients are not told.
///
/// # Errors
/// [`LabError::Environment`] for those, and if the server cannot be asked.
pub(super) fn can_tell(target: &mut OpenTarget, chosen: &ChosenWorkload) -> Result<u64, LabError> {
    let ChosenWorkload::OrderEntry(parameters) = chosen else { return entries_before(target) };
    let why = match dataset::marker(&mut target.control, chosen.family())? {
        None => "they were not loaded by Plimsoll",
        Some(_) if parameters.purge => "--purge deletes them",
        Some(_) => match ledger::read(&mut target.control, chosen.family())?.and_then(|told| told.hides()) {
            Some(why) => why,
            None => return Ok(0),
        },
    };
    Err(LabError::Environment(format!("what clients committed cannot be told from these data: {why}")))
}

fn entries_before(target: &mut OpenTarget) -> Result<u64, LabError> {
    let failed = |failure| LabError::sql("counting the entries of the ledger", &failure);
    let count = target.control.within(limits::WHOLE_TABLE, |control| control.rows(&check::count())).map_err(failed)?;
    Ok(count.single().and_then(|count| count.parse().ok()).unwrap_or(0))
}

/// What the data say of the commits that clients were told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reckoning {
    pub acknowledged: u64,
    /// None where the data cannot tell.
    pub lost: Option<u64>,
    pub lost_ns: Option<LostTimes>,
    /// Commits that are there and that nobody was told of; none where they are not counted.
    pub unacknowledged: Option<u64>,
}

/// When clients were told of what is lost, as the log has it, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LostTimes {
    pub first: u64,
    pub last: u64,
}

impl LostTimes {
    /// From the first to the fault, or to the last that was told after it: a server may go on for a while.
    pub fn seconds_until(self, struck_ns: u64) -> f64 {
        self.last.max(struck_ns).saturating_sub(self.first) as f64 / 1e9
    }

    fn of<'c>(lost: impl Iterator<Item = &'c LoggedCommit>) -> Option<LostTimes> {
        lost.map(|commit| LostTimes { first: commit.t_ns, last: commit.t_ns })
            .reduce(|a, b| LostTimes { first: a.first.min(b.first), last: a.last.max(b.last) })
    }
}

/// Commits of which clients were told and that can be found again.
pub(super) fn acknowledged(chosen: &ChosenWorkload, counted: &Counted, told: &[LoggedCommit]) -> u64 {
    match chosen {
        ChosenWorkload::Ledger(_) => told.len() as u64,
        _ => COMPARED.map(|kind| counted.committed(kind.name())).iter().sum(),
    }
}

/// What is missing of `acknowledged` commits as the checks found it, where commits cannot be told apart.
pub(super) fn of_findings(acknowledged: u64, told: &[LoggedCommit], findings: &[InvariantFinding]) -> Reckoning {
    // Of a delivery its orders are counted.
    let commits = |finding: &InvariantFinding| match finding.name == CLIENT_DELIVERIES {
        true => Some(finding.missing?.div_ceil(ORDERS_PER_DELIVERY)),
        false => finding.missing,
    };
    if findings.iter().any(|finding| finding.skipped.is_some() && OF_CLIENTS.contains(&finding.name.as_str())) {
        return Reckoning { acknowledged, ..Reckoning::default() };
    }
    let lost: u64 = findings.iter().filter_map(commits).sum();
    // Which of them are lost is not known; a server loses the last. The log has commits of other kinds too.
    let share = lost as f64 / acknowledged.max(1) as f64;
    let last = (share * told.len() as f64).ceil() as usize;
    let lost_ns = LostTimes::of(told.iter().skip(told.len().saturating_sub(last)));
    Reckoning { acknowledged, lost: Some(lost), lost_ns, unacknowledged: None }
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

/// What is missing of the commits that clients were told of, compared one by one; so many entries were there `before`.
pub(super) fn of_entries(told: &[LoggedCommit], entries: &Entries, before: u64) -> Reckoning {
    let lost: Vec<&LoggedCommit> = told.iter().filter(|commit| !has(entries, commit)).collect();
    let present: u64 = entries.values().map(|of| of.len() as u64).sum();
    let acknowledged = told.len() as u64;
    Reckoning {
        acknowledged,
        lost: Some(lost.len() as u64),
        lost_ns: LostTimes::of(lost.iter().copied()),
        unacknowledged: Some(present.saturating_sub(before + acknowledged - lost.len() as u64)),
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
        let found = of_entries(&told, &all, 0);
        assert_eq!((found.acknowledged, found.lost, found.unacknowledged), (4, Some(0), Some(1)));
        assert_eq!(of_entries(&told, &all, 1).unacknowledged, Some(0), "it was there before the load");
        // One too many does not hide one that is missing.
        let some = Entries::from(entries([(1, vec![1, 2, 3, 4]), (2, vec![1])]));
        let found = of_entries(&told, &some, 0);
        assert_eq!((found.lost, found.unacknowledged), (Some(1), Some(2)));
        assert_eq!(found.lost_ns, Some(LostTimes { first: 30, last: 30 }));
        assert_eq!(of_entries(&told, &Entries::new(), 0).lost_ns, Some(LostTimes { first: 10, last: 30 }));
    }

    #[test]
    fn what_is_lost_after_the_fault_counts() {
        let times = LostTimes { first: 2_000_000_000, last: 5_000_000_000 };
        assert_eq!((times.seconds_until(4_000_000_000), times.seconds_until(6_000_000_000)), (3.0, 4.0));
    }

    #[test]
    fn a_delivery_is_one_commit() {
        let told: Vec<LoggedCommit> =
            (0..20).map(|number| LoggedCommit { connection: 0, number, t_ns: number }).collect();
        let missing = |name: &str, missing| InvariantFinding {
            name: name.to_owned(),
            holds: false,
            found: None,
            skipped: None,
            missing: Some(missing),
        };
        let found = of_findings(10, &told, &[missing("new orders", 1), missing(CLIENT_DELIVERIES, 11)]);
        // 3 of 10 commits, so 6 of the 20 that the log has.
        assert_eq!((found.lost, found.lost_ns), (Some(3), Some(LostTimes { first: 14, last: 19 })));
        assert_eq!(of_findings(10, &told, &[]).lost_ns, None);
        // What nobody has looked at is not whole.
        let skipped = Some("a run did not end".to_owned());
        let unseen = InvariantFinding { holds: true, skipped, missing: None, ..missing(OF_CLIENTS[0], 0) };
        assert_eq!((of_findings(10, &told, &[]).lost, of_findings(10, &told, &[unseen]).lost), (Some(0), None));
    }
}
