//! 2,000 connections from one loop's thread: every one is served, and the memory stays small.

use super::{BenchExtent, BenchFinding, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::child::Interrupted;
use crate::peers::{PeerLoad, PeerMeasurement, plimsoll, sysbench};

const CONNECTIONS: usize = 2000;
/// It is a matter of whether, not of how fast: a few rounds tell.
const ROUNDS: u32 = 3;
/// With so many threads a server's scheduler takes seconds to come round to each.
const SECONDS: u32 = 10;
const MEMORY_MB: BenchTarget = BenchTarget::AtMost(100.0);
const SERVED: BenchTarget = BenchTarget::AtLeast(1.0);

pub fn rounds(pairs: u32) -> usize {
    pairs.min(ROUNDS) as usize
}

pub fn seconds(asked: u32) -> u32 {
    asked.max(SECONDS)
}

/// A run of the peer that may not get as far.
type Attempt = Result<PeerMeasurement, String>;

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let load = PeerLoad { workload: "oltp_point_select", connections: CONNECTIONS, seconds: seconds(extent.seconds) };
    let title = format!("connections-2000 on {}: point selects from {CONNECTIONS} connections", arena.label());
    plimsoll::prepare(arena)?;
    let [ours, theirs] = in_turn(
        &title,
        rounds(extent.pairs),
        [
            ("plimsoll", &|| plimsoll::run(arena, &load).map(Attempt::Ok)),
            ("sysbench", &|| attempt(sysbench::run(arena, &load))),
        ],
        |attempt| match attempt {
            Ok(measured) => format!("{measured}, {:.0} MB resident", megabytes(measured)),
            Err(why) => why.clone(),
        },
    )?;
    let notes: Vec<String> = theirs.iter().filter_map(|attempt| attempt.as_ref().err().cloned()).collect();
    let (ours, theirs): (Vec<_>, Vec<_>) =
        (ours.into_iter().flatten().collect(), theirs.into_iter().flatten().collect());
    let memory =
        |who: &str, all: &[PeerMeasurement]| BenchRow::new(format!("{who}: resident MB"), 1, all.iter().map(megabytes));
    let rate = |who: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("{who}: queries/s"), 0, all.iter().map(|m| m.transactions_per_second))
    };
    let fewest = ours.iter().filter_map(|m| m.events_min).map(|events| events as f64);
    let fewest = BenchRow::new("plimsoll: queries on the connection with fewest", 0, fewest).with_target(SERVED);
    let resident = memory("plimsoll", &ours).with_target(MEMORY_MB);
    let findings = vec![
        every_round(&fewest, "connections-2000-served", arena),
        resident.finding("connections-2000-memory", arena),
    ];
    let rows = vec![rate("plimsoll", &ours), rate("sysbench", &theirs), fewest, resident, memory("sysbench", &theirs)];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}

/// Here the worst round decides, not the median.
fn every_round(fewest: &BenchRow, name: &'static str, arena: &Arena) -> BenchFinding {
    let worst = fewest.spread().map(|spread| spread.min);
    BenchFinding {
        value: worst.map_or("the summary does not tell".to_owned(), |worst| format!("at least {worst:.0} each")),
        met: worst.map(|worst| SERVED.met_by(worst)),
        ..fewest.finding(name, arena)
    }
}

fn attempt(result: anyhow::Result<PeerMeasurement>) -> anyhow::Result<Attempt> {
    match result {
        Err(error) if error.is::<Interrupted>() => Err(error),
        other => Ok(other.map_err(|error| error.to_string())),
    }
}

fn megabytes(measured: &PeerMeasurement) -> f64 {
    measured.resident_bytes as f64 / 1e6
}
