//! Loading order entry, indexes included: wall time of the whole command, into a database that was just dropped.

use super::super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, take_turns};
use super::inventory::{PeerSchema, verify};
use crate::arena::Arena;
use crate::peers::brought::{GO_TPC, SYSBENCH_TPCC};
use crate::peers::local_data::TableFiles;
use crate::peers::{WAREHOUSES, go_tpc, plimsoll, sysbench_tpcc};
use plimsoll_workloads::tpcc::TpccParameters;
use plimsoll_workloads::tpcc::load::OrderEntryData;
use std::time::Duration;

const DATABASE: &str = "bench_tpcc_load";
const THREADS: usize = 2;
const OVER_GO: BenchTarget = BenchTarget::AtMost(0.50);
const OVER_SYSBENCH: BenchTarget = BenchTarget::AtMost(0.25);
const OVER_LOCAL_DATA: BenchTarget = BenchTarget::AtMost(1.15);

const SPEC: &str = "plimsoll, spec";
const SYSBENCH: &str = "plimsoll, sysbench";
const LOCAL_DATA: &str = "LOAD DATA LOCAL of prepared files";
const GO_PREPARE: &str = "go-tpc prepare";
const SYSBENCH_PREPARE: &str = "sysbench-tpcc prepare";

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("tpcc-load on {}: {WAREHOUSES} warehouses, {THREADS} connections", arena.label());
    eprintln!("writing the files that LOAD DATA LOCAL takes");
    let warehouses = WAREHOUSES.to_string();
    let parameters = TpccParameters::parse([("warehouses", warehouses.as_str())])?;
    let files = TableFiles::make(arena, &OrderEntryData::new(&parameters, 1))?;
    // Everybody finds the database empty; making it so, and looking at what came of it, is not in anybody's time.
    let timed = |schema: PeerSchema, load: &dyn Fn() -> anyhow::Result<Duration>| {
        arena.go_on()?;
        arena.empty_database(DATABASE)?;
        let time = load()?;
        verify(arena, DATABASE, schema)?;
        Ok(time.as_secs_f64())
    };
    let ours = |target: &str, profile: &str| plimsoll::load_orders(arena, target, &[profile], THREADS);
    let spec = || timed(PeerSchema::Spec, &|| ours(&arena.tcp_target(DATABASE), "--profile=spec"));
    let local = || timed(PeerSchema::Spec, &|| files.load(arena, DATABASE, THREADS));
    let sysbench = || timed(PeerSchema::Sysbench, &|| ours(&arena.socket_target(DATABASE), "--profile=sysbench"));
    let (program, scripts) = (&arena.tools().go_tpc, &arena.tools().sysbench_tpcc);
    let go_prepare = program
        .as_ref()
        .map(|program| move || timed(PeerSchema::Spec, &|| go_tpc::load(arena, program, DATABASE, THREADS)));
    let sysbench_prepare = scripts
        .as_ref()
        .map(|scripts| move || timed(PeerSchema::Sysbench, &|| sysbench_tpcc::load(arena, scripts, DATABASE, THREADS)));
    let mut contestants: Vec<super::super::Contestant<f64>> = vec![(SPEC, &spec), (LOCAL_DATA, &local)];
    if let Some(load) = &go_prepare {
        contestants.push((GO_PREPARE, load));
    }
    if let Some(load) = &sysbench_prepare {
        contestants.extend([(SYSBENCH, &sysbench as _), (SYSBENCH_PREPARE, load as _)]);
    }
    let rounds = extent.load_pairs.unwrap_or(extent.pairs) as usize;
    let times = take_turns(&title, rounds, &contestants, |seconds| format!("{seconds:.2} s"))?;
    arena.sql(&format!("DROP DATABASE {DATABASE}"))?;
    let times =
        contestants.iter().zip(times).map(|((name, _), seconds)| BenchRow::new(format!("{name}: s"), 2, seconds));
    Ok(judge(title, arena, times.collect()))
}

/// Of those who are not there, there is no row, and nothing is told of the ratios to them.
fn judge(title: String, arena: &Arena, times: Vec<BenchRow>) -> PeerComparison {
    let nobody = BenchRow::new("", 2, []);
    let of = |name: &str| times.iter().find(|row| row.what == format!("{name}: s")).unwrap_or(&nobody);
    let awake: Vec<f64> =
        of(SYSBENCH_PREPARE).samples.iter().map(|seconds| seconds - sysbench_tpcc::SLEEPS.as_secs_f64()).collect();
    let awake = BenchRow::new("sysbench-tpcc prepare without its fixed sleep: s", 2, awake);
    let over_go = BenchRow::ratio("time: plimsoll ÷ go-tpc", of(SPEC), of(GO_PREPARE)).with_target(OVER_GO);
    let over_sysbench = BenchRow::ratio("time: plimsoll ÷ sysbench-tpcc", of(SYSBENCH), of(SYSBENCH_PREPARE));
    let over_sysbench = over_sysbench.with_target(OVER_SYSBENCH);
    let over_awake = BenchRow::ratio("time: plimsoll ÷ sysbench-tpcc without its sleep", of(SYSBENCH), &awake);
    let over_local = BenchRow::ratio("time: plimsoll ÷ LOAD DATA LOCAL", of(SPEC), of(LOCAL_DATA));
    let over_local = over_local.with_target(OVER_LOCAL_DATA);
    let findings = vec![
        over_go.finding("tpcc-load", arena),
        over_sysbench.finding("tpcc-load-over-sysbench", arena),
        over_local.finding("tpcc-load-over-local-data", arena),
    ];
    let mut notes = vec![
        "after every load the rows of all tables and the indexes are compared; go-tpc has two indexes on history \
         besides, and does not check its data here; foreign keys are declared where sysbench-tpcc does"
            .to_owned(),
        "TCP for go-tpc and plimsoll's spec, Unix sockets for the others".to_owned(),
    ];
    for (peer, name) in [(&GO_TPC, GO_PREPARE), (&SYSBENCH_TPCC, SYSBENCH_PREPARE)] {
        if of(name).samples.is_empty() {
            eprintln!("  {}", peer.missing());
            notes.push(peer.missing());
        }
    }
    let rows = times.into_iter().chain([awake, over_go, over_sysbench, over_awake, over_local]);
    PeerComparison {
        title,
        rows: rows.filter(|row| !row.samples.is_empty()).collect(),
        findings,
        notes,
        ..PeerComparison::default()
    }
}
