//! What the storage server of a network lane did, and its client. Their CPU stands beside the host's, of which it is a
//! part.

use super::label;
use crate::document::{Block, Section};
use crate::found::span;
use crate::subject::{Recorded, Trial};
use crate::table::{Column, Table};
use plimsoll_model::diagnosis::{Cost, StorageUse};
use plimsoll_model::number::{NOTHING, column};
use std::collections::BTreeMap;

const REMARK: &str = "\
Means over the measured window; of several rounds, the means of these. CPUs are what the programs of each side used, a \
part of the host’s; what the kernel does for them, loop devices and the virtual network within this machine \
(loopback), counts only in the host’s. Requests are the operations of the protocol if the client counts them, \
otherwise the reads and writes of the client’s device and its separate flushes. Each waits for an answer from the \
storage server, so per transaction they are its round trips. Flushes are those of the storage server’s disk.";
const KINDS_REMARK: &str =
    "Operations of the client by kind, the most frequent first; the shares of each row add up to 100 %.";
/// At most this many kinds have a column of their own.
const MOST_KINDS: usize = 8;

/// What a lane did in the trials of one place, and what a transaction cost there.
pub type Used = (String, StorageUse, Cost);

/// Of the load points of a run.
pub fn section(recorded: &Recorded) -> Option<Section> {
    let used = |trial: &Trial| Some((label(trial, recorded), trial.storage.clone()?, trial.cost));
    of(&recorded.trials.iter().filter_map(used).collect::<Vec<Used>>())
}

/// `None` if nothing was stored on a network lane.
pub fn of(used: &[Used]) -> Option<Section> {
    if used.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::table("storage-server", table(used), [REMARK.to_owned()])];
    blocks.extend(kinds(used).map(|kinds| Block::table("storage-operations", kinds, [KINDS_REMARK.to_owned()])));
    let ended = used.iter().filter(|(_, of, _)| !of.ended.is_empty());
    blocks.extend(ended.map(|(label, of, _)| {
        let programs = of.ended.join(", ");
        Block::remark(format!("{label}: {programs} ended during the measurement; what they used is not known."))
    }));
    let busy = span(used.iter().filter_map(|(_, of, _)| Some(100.0 * of.disk_busy?)));
    let found = busy.map_or(String::new(), |busy| format!("its disk was busy {busy} % of the time"));
    Some(Section::of("storage-server", "The storage server", blocks)?.found(found))
}

/// The mean over several rounds of what each knows.
pub fn mean(all: &[&StorageUse]) -> Option<StorageUse> {
    let first = all.first()?;
    let mean = |pick: fn(&StorageUse) -> Option<f64>| {
        let known: Vec<f64> = all.iter().filter_map(|of| pick(of)).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let counted: Vec<&BTreeMap<String, f64>> = all.iter().filter_map(|of| of.operations.as_ref()).collect();
    let operations = (!counted.is_empty()).then(|| {
        let mut kinds = BTreeMap::new();
        for (kind, rate) in counted.iter().flat_map(|kinds| kinds.iter()) {
            *kinds.entry(kind.clone()).or_insert(0.0) += rate / counted.len() as f64;
        }
        kinds
    });
    let mut ended: Vec<String> = all.iter().flat_map(|of| &of.ended).cloned().collect();
    ended.sort();
    ended.dedup();
    Some(StorageUse {
        server_cpus: mean(|of| of.server_cpus),
        client_cpus: mean(|of| of.client_cpus),
        link_cpus: mean(|of| of.link_cpus),
        host_cpus: first.host_cpus,
        disk_busy: mean(|of| of.disk_busy),
        disk_reads: mean(|of| of.disk_reads),
        disk_writes: mean(|of| of.disk_writes),
        disk_flushes: mean(|of| of.disk_flushes),
        requests: mean(|of| of.requests),
        operations,
        ended,
    })
}

fn table(used: &[Used]) -> Table {
    let numbers = |name: &str, unit: &str, decimals: usize, pick: fn(&Used) -> Option<f64>| {
        let values: Vec<Option<f64>> = used.iter().map(pick).collect();
        Column::numbers(name, unit, column(&values, decimals))
    };
    let mut columns = vec![
        numbers("storage server", "CPUs", 2, |(_, of, _)| of.server_cpus),
        numbers("its client", "CPUs", 2, |(_, of, _)| of.client_cpus),
        numbers("link", "CPUs", 2, |(_, of, _)| of.link_cpus),
        numbers("disk busy", "%", 1, |(_, of, _)| of.disk_busy.map(|share| 100.0 * share)),
        numbers("disk reads", "1/s", 1, |(_, of, _)| of.disk_reads),
        numbers("disk writes", "1/s", 1, |(_, of, _)| of.disk_writes),
        numbers("flushes", "1/s", 1, |(_, of, _)| of.disk_flushes),
        numbers("requests", "1/s", 1, |(_, of, _)| of.requests),
        numbers("round trips per transaction", "", 2, |(_, _, cost)| cost.storage_round_trips),
        numbers("server CPU per transaction", "µs", 1, |(_, _, cost)| cost.storage_cpu_us),
    ];
    columns.retain(|column| column.cells.iter().any(|cell| cell != NOTHING));
    let labels = Column::words("load point", used.iter().map(|(label, ..)| label.clone()).collect());
    Table::new([labels].into_iter().chain(columns).collect())
}

/// Operations by kind, per second, per transaction and as shares; `None` if they were not counted.
fn kinds(used: &[Used]) -> Option<Table> {
    let counted: Vec<(&Used, &BTreeMap<String, f64>)> =
        used.iter().filter_map(|of| Some((of, of.1.operations.as_ref()?))).collect();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (kind, rate) in counted.iter().flat_map(|(_, kinds)| kinds.iter()) {
        *sums.entry(kind).or_insert(0.0) += rate;
    }
    let mut names: Vec<&str> = sums.keys().copied().collect();
    names.sort_by(|a, b| sums[b].total_cmp(&sums[a]));
    names.truncate(MOST_KINDS);
    let counts: Vec<Counted> =
        counted.iter().flat_map(|(used, kinds)| names.iter().map(move |kind| Counted { used, kinds, kind })).collect();
    let words = |of: fn(&Counted<'_>) -> String| counts.iter().map(of).collect();
    let numbers =
        |of: fn(&Counted<'_>) -> Option<f64>, decimals| column(&counts.iter().map(of).collect::<Vec<_>>(), decimals);
    (!names.is_empty()).then(|| {
        Table::new(vec![
            Column::words("load point", words(|one| one.used.0.clone())),
            Column::words("operation", words(|one| one.kind.to_owned())),
            Column::numbers("per second", "1/s", numbers(|one| Some(one.rate()), 1)),
            Column::numbers("per transaction", "", numbers(|one| one.per_transaction(), 3)),
            Column::numbers("share", "%", numbers(|one| one.used.1.share(one.kind).map(|share| 100.0 * share), 1)),
        ])
    })
}

/// Operations of one kind at one load point.
struct Counted<'a> {
    used: &'a Used,
    kinds: &'a BTreeMap<String, f64>,
    kind: &'a str,
}

impl Counted<'_> {
    fn rate(&self) -> f64 {
        self.kinds.get(self.kind).copied().unwrap_or(0.0)
    }

    /// Its part of all round trips.
    fn per_transaction(&self) -> Option<f64> {
        Some(self.used.2.storage_round_trips? * self.rate() / self.used.1.requests.filter(|all| *all > 0.0)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(server: Option<f64>, kinds: Option<&[(&str, f64)]>) -> StorageUse {
        let operations = kinds.map(|kinds| kinds.iter().map(|(kind, rate)| ((*kind).to_owned(), *rate)).collect());
        StorageUse { server_cpus: server, requests: Some(100.0), operations, ..StorageUse::default() }
    }

    #[test]
    fn what_nobody_counted_has_no_column_and_no_zero() {
        let cost = Cost { storage_round_trips: Some(4.0), ..Cost::default() };
        let table = table(&[("a".to_owned(), used(Some(0.25), None), cost), ("b".to_owned(), used(None, None), cost)]);
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["load point", "storage server", "requests", "round trips per transaction"]);
        assert_eq!(table.columns[1].cells, ["0.25", NOTHING]);
        assert!(of(&[]).is_none());
    }

    #[test]
    fn kinds_are_told_by_second_by_transaction_and_by_share() {
        let cost = Cost { storage_round_trips: Some(4.0), ..Cost::default() };
        let of = used(None, Some(&[("READ", 25.0), ("COMMIT", 75.0)]));
        let table = kinds(&[("nfs".to_owned(), of, cost)]).unwrap();
        let cells: Vec<Vec<&str>> =
            table.columns.iter().map(|column| column.cells.iter().map(String::as_str).collect()).collect();
        assert_eq!(cells[1], ["COMMIT", "READ"]);
        let numbers = |at: usize| cells[at].iter().map(|cell| cell.parse().unwrap()).collect::<Vec<f64>>();
        assert_eq!((numbers(3), numbers(4)), (vec![3.0, 1.0], vec![75.0, 25.0]));
    }

    #[test]
    fn rounds_are_averaged_over_those_that_know() {
        let (one, two) = (used(Some(0.2), Some(&[("READ", 10.0)])), used(Some(0.4), Some(&[("WRITE", 30.0)])));
        let found = mean(&[&one, &two, &used(None, None)]).unwrap();
        assert!((found.server_cpus.unwrap() - 0.3).abs() < 1e-9);
        assert_eq!(found.operations.unwrap(), [("READ".to_owned(), 5.0), ("WRITE".to_owned(), 15.0)].into());
        assert_eq!(mean(&[]), None);
    }
}
