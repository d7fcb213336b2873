//! Loading a million rows with their secondary indexes: wall time of the whole command.

use super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::local_data::TableFiles;
use crate::peers::{plimsoll, sysbench};
use plimsoll_workloads::oltp::load::OltpData;
use plimsoll_workloads::oltp::{OltpKind, OltpParameters};
use std::time::Duration;

const TABLES: u64 = 4;
const ROWS: u64 = 250_000;
const THREADS: usize = 2;
const DATABASE: &str = "bench_load";
const OVER_SYSBENCH: BenchTarget = BenchTarget::AtMost(0.75);
/// What it should come to one day.
const GOAL: f64 = 0.70;
const OVER_LOCAL_DATA: BenchTarget = BenchTarget::AtMost(1.10);

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("load on {}: {TABLES} tables of {ROWS} rows, {THREADS} connections", arena.label());
    eprintln!("writing the files that LOAD DATA LOCAL takes");
    let (tables, rows) = (TABLES.to_string(), ROWS.to_string());
    let shape = [("tables", tables.as_str()), ("table-size", rows.as_str())];
    let dataset = OltpData::new(OltpKind::ReadWrite, &OltpParameters::parse(OltpKind::ReadWrite, shape)?, 1);
    let files = TableFiles::make(arena, &dataset)?;
    // Everybody finds the database empty; making it so is not in anybody's time.
    let into_empty = |load: &dyn Fn() -> anyhow::Result<Duration>| {
        arena.go_on()?;
        arena.empty_database(DATABASE)?;
        load()
    };
    let [ours, theirs, prepared] = in_turn(
        &title,
        extent.load_pairs.unwrap_or(extent.pairs) as usize,
        [
            ("plimsoll", &|| into_empty(&|| plimsoll::load(arena, DATABASE, TABLES, ROWS, THREADS))),
            ("sysbench", &|| into_empty(&|| sysbench::load(arena, DATABASE, TABLES, ROWS, THREADS))),
            ("LOAD DATA LOCAL", &|| into_empty(&|| files.load(arena, DATABASE, THREADS))),
        ],
        |time| format!("{:.2} s", time.as_secs_f64()),
    )?;
    arena.sql(&format!("DROP DATABASE {DATABASE}"))?;
    let seconds =
        |who: &str, all: &[Duration]| BenchRow::new(format!("{who}: s"), 2, all.iter().map(Duration::as_secs_f64));
    let times = [
        seconds("plimsoll", &ours),
        seconds("sysbench prepare", &theirs),
        seconds("LOAD DATA LOCAL of prepared files", &prepared),
    ];
    let over_sysbench = BenchRow::ratio("time: plimsoll ÷ sysbench", &times[0], &times[1]).with_target(OVER_SYSBENCH);
    let over_local =
        BenchRow::ratio("time: plimsoll ÷ LOAD DATA LOCAL", &times[0], &times[2]).with_target(OVER_LOCAL_DATA);
    let local_over_sysbench = BenchRow::ratio("time: LOAD DATA LOCAL ÷ sysbench", &times[2], &times[1]);
    let findings = vec![over_sysbench.finding("load", arena), over_local.finding("load-over-local-data", arena)];
    let rows = times.into_iter().chain([over_sysbench, over_local, local_over_sysbench]).collect();
    let notes = vec![format!("the goal over sysbench is {GOAL:.2}")];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}
