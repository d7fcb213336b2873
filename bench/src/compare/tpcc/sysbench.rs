//! Profile `sysbench` in compat, text, against sysbench-tpcc on the same tables: transactions of all types, what a query
//! costs the client, and whether a transaction of each type sends as many statements.

use super::super::{BenchExtent, BenchFinding, BenchRow, BenchTarget, PeerComparison, in_turn};
use super::inventory::{PeerSchema, verify};
use super::{CONNECTIONS, seconds, skipped};
use crate::arena::Arena;
use crate::peers::brought::SYSBENCH_TPCC;
use crate::peers::{OrderEntryRun, OrderLoad, WAREHOUSES, plimsoll, sysbench_tpcc};
use plimsoll_model::statements::{StatementCounts, StatementKind};
use std::path::Path;

const DATABASE: &str = "bench_tpcc_sysbench";
const LOADERS: usize = 2;
const PROFILE: [&str; 4] = ["--profile=sysbench", "--fidelity=compat", "--protocol=text", "--fk=none"];
/// Those of them that decide what is loaded.
const SHAPE: [&str; 2] = [PROFILE[0], PROFILE[3]];
const THROUGHPUT: BenchTarget = BenchTarget::AtLeast(1.05);
const CPU: BenchTarget = BenchTarget::AtMost(0.50);
const STATEMENTS: BenchTarget = BenchTarget::Within(0.95, 1.05);
const FINDINGS: [&str; 3] = ["tpcc-sysbench-tps", "tpcc-sysbench-cpu", "tpcc-sysbench-statements"];

/// A type of transaction: our name, what its script calls it, the mix that has nothing else, how many are counted.
/// Deliveries must not empty the queues of new orders, which either fills with 900 in each district.
const TYPES: [(&str, &str, &str, u64); 5] = [
    ("new_order", "new_order", "1/0/0/0/0", 2_000),
    ("payment", "payment", "0/1/0/0/0", 4_000),
    ("order_status", "orderstatus", "0/0/1/0/0", 4_000),
    ("delivery", "delivery", "0/0/0/1/0", 400),
    ("stock_level", "stocklevel", "0/0/0/0/1", 1_000),
];
/// Kinds that a transaction sends more rarely on average are left to chance: a rollback in a hundred new orders.
const RARE: f64 = 0.05;

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!(
        "tpcc-sysbench on {}: {CONNECTIONS} connections, {WAREHOUSES} warehouses, row by row, text, Unix socket",
        arena.label()
    );
    let Some(scripts) = &arena.tools().sysbench_tpcc else {
        return Ok(skipped(title, &SYSBENCH_TPCC, &FINDINGS, arena));
    };
    eprintln!("loading {WAREHOUSES} warehouses, the same for both");
    arena.empty_database(DATABASE)?;
    let target = arena.socket_target(DATABASE);
    plimsoll::load_orders(arena, &target, &SHAPE, LOADERS)?;
    verify(arena, DATABASE, PeerSchema::Sysbench)?;
    let statements = count_statements(arena, scripts)?;
    let load = OrderLoad { database: DATABASE, connections: CONNECTIONS, seconds: seconds(extent.seconds) };
    let us = || plimsoll::run_orders(arena, &target, &PROFILE, &load);
    let them = || sysbench_tpcc::run(arena, scripts, &load);
    // Once without counting: whoever comes first fills the caches.
    us()?;
    them()?;
    let contestants = [("plimsoll", &us as _), ("sysbench-tpcc", &them as _)];
    let [ours, theirs] = in_turn(&title, extent.pairs as usize, contestants, |entry: &OrderEntryRun| {
        let cpu = entry.cpu_us_per_query().unwrap_or_default();
        format!("{:.0} transactions/s, {cpu:.1} µs CPU per query", entry.transactions_per_second())
    })?;
    arena.sql(&format!("DROP DATABASE {DATABASE}"))?;
    Ok(judge(title, arena, &statements, &ours, &theirs))
}

fn judge(
    title: String,
    arena: &Arena,
    statements: &[PerType],
    ours: &[OrderEntryRun],
    theirs: &[OrderEntryRun],
) -> PeerComparison {
    let row = |who: &str, what: &str, all: &[OrderEntryRun], value: fn(&OrderEntryRun) -> Option<f64>| {
        BenchRow::new(format!("{who}: {what}"), 2, all.iter().filter_map(value))
    };
    let both = |what: &str, value: fn(&OrderEntryRun) -> Option<f64>| {
        [row("plimsoll", what, ours, value), row("sysbench-tpcc", what, theirs, value)]
    };
    let rates = both("transactions/s", |entry| Some(entry.transactions_per_second()));
    let cpus = both("CPU µs/query, whole process", OrderEntryRun::cpu_us_per_query);
    let queries = both("queries/transaction", |entry| Some(entry.queries? / entry.transactions));
    let rate =
        BenchRow::ratio("transactions/s: plimsoll ÷ sysbench-tpcc", &rates[0], &rates[1]).with_target(THROUGHPUT);
    let cpu = BenchRow::ratio("CPU: plimsoll ÷ sysbench-tpcc", &cpus[0], &cpus[1]).with_target(CPU);
    let same = statements_finding(arena, statements);
    let findings = vec![rate.finding(FINDINGS[0], arena), cpu.finding(FINDINGS[1], arena), same];
    let per_type = statements.iter().flat_map(PerType::rows);
    let rows = rates.into_iter().chain(cpus).chain(queries).chain([rate, cpu]).chain(per_type).collect();
    let notes = vec![
        "statements of one type: as the server counts them (Com_*) in a run of that type only, on one connection; \
         BEGIN and COMMIT or ROLLBACK are in it"
            .to_owned(),
    ];
    PeerComparison { title, rows, findings, notes, ..PeerComparison::default() }
}

/// Statements that one transaction of a type sends on average, by kind, plimsoll's and sysbench-tpcc's.
struct PerType {
    name: &'static str,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl PerType {
    /// Plimsoll over sysbench-tpcc for each kind that is not rare.
    fn ratios(&self) -> Vec<(&'static str, f64)> {
        let kinds = StatementKind::ALL.iter().zip(&self.ours).zip(&self.theirs);
        let often = kinds.filter(|((_, ours), theirs)| **ours >= RARE || **theirs >= RARE);
        often.map(|((kind, ours), theirs)| (kind.name(), ours / theirs)).collect()
    }

    fn rows(&self) -> [BenchRow; 2] {
        let row = |who: &str, counts: &[f64]| {
            BenchRow::new(format!("{who}: statements/{}", self.name), 2, [counts.iter().sum::<f64>()])
        };
        [row("plimsoll", &self.ours), row("sysbench-tpcc", &self.theirs)]
    }
}

fn count_statements(arena: &Arena, scripts: &Path) -> anyhow::Result<Vec<PerType>> {
    let target = arena.socket_target(DATABASE);
    let mut all = Vec::new();
    for (name, function, mix, events) in TYPES {
        eprintln!("counting the statements of {name}");
        let ours = counted(arena, || plimsoll::run_one_type(arena, &target, &PROFILE, mix, events))?;
        let theirs = counted(arena, || sysbench_tpcc::run_one_type(arena, scripts, DATABASE, function, events))?;
        all.push(PerType { name, ours, theirs });
    }
    Ok(all)
}

/// What the server counted during a run, per transaction.
fn counted(arena: &Arena, run: impl Fn() -> anyhow::Result<OrderEntryRun>) -> anyhow::Result<Vec<f64>> {
    let before = arena.statement_counts()?;
    let entry = run()?;
    let sent: StatementCounts = arena.statement_counts()? - before;
    Ok(StatementKind::ALL.iter().map(|kind| sent[*kind] as f64 / entry.transactions).collect())
}

/// The kind of statement that differs most decides.
fn statements_finding(arena: &Arena, all: &[PerType]) -> BenchFinding {
    let distance = |ratio: f64| (ratio - 1.0).abs();
    let ratios = all.iter().flat_map(|per| per.ratios().into_iter().map(|(kind, ratio)| (per.name, kind, ratio)));
    let worst = ratios.max_by(|a, b| distance(a.2).total_cmp(&distance(b.2)));
    BenchFinding {
        name: FINDINGS[2],
        on: arena.label().to_owned(),
        value: worst.map_or("–".to_owned(), |(name, kind, ratio)| format!("{ratio:.2} at worst: {kind} of {name}")),
        target: STATEMENTS.to_string(),
        met: worst.map(|(_, _, ratio)| STATEMENTS.met_by(ratio)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_the_other_does_not_send_is_no_small_difference() {
        let mut per = PerType { name: "payment", ours: vec![1.0; 8], theirs: vec![1.0; 8] };
        per.ours[3] = 2.0;
        per.theirs[2] = 0.01;
        per.ours[2] = 0.02;
        per.theirs[7] = 0.0;
        let ratios = per.ratios();
        assert_eq!(ratios.len(), 7, "{ratios:?}");
        assert!(ratios.contains(&("select", 2.0)) && !ratios.iter().any(|(kind, _)| *kind == "rollback"));
        assert_eq!(ratios.last(), Some(&("call", f64::INFINITY)));
        assert!(!STATEMENTS.met_by(f64::INFINITY));
    }
}
