//! `spec`, batched and prepared, against go-tpc: new orders that were committed, and what they cost the client.

use super::super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use super::inventory::{PeerSchema, verify};
use super::{CONNECTIONS, seconds, skipped};
use crate::arena::Arena;
use crate::peers::brought::GO_TPC;
use crate::peers::{OrderEntryRun, OrderLoad, WAREHOUSES, go_tpc, plimsoll};

const OURS: &str = "bench_tpcc";
const THEIRS: &str = "bench_tpcc_go";
const LOADERS: usize = 2;
/// go-tpc has no home warehouses: both draw one for each transaction.
const PROFILE: [&str; 3] = ["--profile=spec", "--affinity=random", "--mix=45/43/4/4/4"];
const NEW_ORDERS: BenchTarget = BenchTarget::AtLeast(1.15);
/// What it should come to one day.
const GOAL: f64 = 1.25;
const CPU: BenchTarget = BenchTarget::AtMost(0.33);

/// A run, and what the server says came of it.
struct Observed {
    entry: OrderEntryRun,
    /// By how much the next order numbers of all districts rose: committed new orders, whoever counts.
    new_orders: f64,
}

impl Observed {
    fn new_orders_per_minute(&self) -> f64 {
        self.new_orders * 60.0 / self.entry.seconds
    }
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!(
        "tpcc-go on {}: {CONNECTIONS} connections, {WAREHOUSES} warehouses, batched, prepared, TCP",
        arena.label()
    );
    let Some(program) = &arena.tools().go_tpc else {
        return Ok(skipped(title, &GO_TPC, &["tpcc-go-nopm", "tpcc-go-cpu"], arena));
    };
    eprintln!("loading {WAREHOUSES} warehouses twice, each contestant its own");
    arena.empty_database(OURS)?;
    plimsoll::load_orders(arena, &arena.tcp_target(OURS), &PROFILE[..1], LOADERS)?;
    verify(arena, OURS, PeerSchema::Spec)?;
    arena.empty_database(THEIRS)?;
    go_tpc::load(arena, program, THEIRS, LOADERS)?;
    verify(arena, THEIRS, PeerSchema::Spec)?;
    let load = |database| OrderLoad { database, connections: CONNECTIONS, seconds: seconds(extent.seconds) };
    let us = || observe(arena, OURS, || plimsoll::run_orders(arena, &arena.tcp_target(OURS), &PROFILE, &load(OURS)));
    let them = || observe(arena, THEIRS, || go_tpc::run(arena, program, &load(THEIRS)));
    // Once without counting: whoever comes first fills the caches.
    us()?;
    them()?;
    let contestants = [("plimsoll", &us as _), ("go-tpc", &them as _)];
    let [ours, theirs] = in_turn(&title, extent.pairs as usize, contestants, |observed: &Observed| {
        let cpu = observed.entry.cpu_us_per_transaction();
        format!("{:.0} new orders/min, {cpu:.0} µs CPU per transaction", observed.new_orders_per_minute())
    })?;
    for database in [OURS, THEIRS] {
        arena.sql(&format!("DROP DATABASE {database}"))?;
    }
    Ok(judge(title, arena, &ours, &theirs))
}

fn observe(arena: &Arena, database: &str, run: impl Fn() -> anyhow::Result<OrderEntryRun>) -> anyhow::Result<Observed> {
    let next = || arena.number(&format!("SELECT SUM(d_next_o_id) FROM {database}.district"));
    let before = next()?;
    let entry = run()?;
    Ok(Observed { entry, new_orders: next()? - before })
}

fn judge(title: String, arena: &Arena, ours: &[Observed], theirs: &[Observed]) -> PeerComparison {
    let row = |who: &str, what: &str, all: &[Observed], value: fn(&Observed) -> f64| {
        BenchRow::new(format!("{who}: {what}"), 0, all.iter().map(value))
    };
    let both = |what: &str, value: fn(&Observed) -> f64| {
        [row("plimsoll", what, ours, value), row("go-tpc", what, theirs, value)]
    };
    let rates = both("NOPM", Observed::new_orders_per_minute);
    let all = both("transactions/s of all types", |observed| observed.entry.transactions_per_second());
    let cpus = both("CPU µs/transaction, whole process", |observed| observed.entry.cpu_us_per_transaction());
    let rate = BenchRow::ratio("NOPM: plimsoll ÷ go-tpc", &rates[0], &rates[1]).with_target(NEW_ORDERS);
    let cpu = BenchRow::ratio("CPU: plimsoll ÷ go-tpc", &cpus[0], &cpus[1]).with_target(CPU);
    let findings = vec![rate.finding("tpcc-go-nopm", arena), cpu.finding("tpcc-go-cpu", arena)];
    let rows = rates.into_iter().chain(all).chain(cpus).chain([rate, cpu]).collect();
    let notes = vec![
        format!("the goal over go-tpc's NOPM is {GOAL:.2}"),
        "NOPM: by how much the sum of d_next_o_id rose, per minute; what was rolled back is not in it, though \
         go-tpc's own figure has it"
            .to_owned(),
        "go-tpc draws 1 % remote order lines as it should, but takes all of them from the home warehouse's stock"
            .to_owned(),
    ];
    PeerComparison { title, rows, findings, notes, ..PeerComparison::default() }
}
