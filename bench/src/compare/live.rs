//! What the live view costs: the same run with its standard error on a terminal that is read, on one that nobody reads,
//! and in a file.

use super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::{PeerLoad, PeerMeasurement, plimsoll};
use crate::pty;

const CONNECTIONS: usize = 16;
/// Of throughput, over that with a file: what is looked at is the same, watched or not.
const ALIKE: BenchTarget = BenchTarget::AtLeast(0.97);
/// A reader who takes nothing is given up at the end of a run.
const GIVING_UP_SECONDS: u64 = 2;

pub fn expected_seconds(pairs: u64, seconds: u64) -> u64 {
    pairs * (3 * seconds + GIVING_UP_SECONDS) + 10
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let load = PeerLoad { workload: "oltp_point_select", connections: CONNECTIONS, seconds: extent.seconds };
    let title = format!("live view on {}: {CONNECTIONS} connections, point-select", arena.label());
    plimsoll::prepare(arena)?;
    // Once without counting: whoever comes first fills the caches.
    plimsoll::run(arena, &load)?;
    let [watched, stalled, file] = in_turn(
        &title,
        extent.pairs as usize,
        [
            ("a terminal that is read", &|| plimsoll::run_on(arena, &load, pty::watched()?)),
            ("a terminal that nobody reads", &|| unread(arena, &load)),
            ("a file", &|| plimsoll::run(arena, &load)),
        ],
        PeerMeasurement::to_string,
    )?;
    let rate = |on: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("queries/s, {on}"), 0, all.iter().map(|measured| measured.transactions_per_second))
    };
    let cpu = |on: &str, all: &[PeerMeasurement]| {
        BenchRow::new(format!("CPU µs/query, {on}"), 2, all.iter().map(|measured| measured.process_us_per_query))
    };
    let rates = [rate("read", &watched), rate("unread", &stalled), rate("file", &file)];
    let cpus = [cpu("read", &watched), cpu("unread", &stalled), cpu("file", &file)];
    let read_over_file = BenchRow::ratio("queries/s: read ÷ file", &rates[0], &rates[2]).with_target(ALIKE);
    let unread_over_file = BenchRow::ratio("queries/s: unread ÷ file", &rates[1], &rates[2]).with_target(ALIKE);
    let findings =
        vec![read_over_file.finding("live-view", arena), unread_over_file.finding("live-view-unread", arena)];
    let ratios = [
        read_over_file,
        unread_over_file,
        BenchRow::ratio("CPU: read ÷ file", &cpus[0], &cpus[2]),
        BenchRow::ratio("CPU: unread ÷ file", &cpus[1], &cpus[2]),
    ];
    let rows = rates.into_iter().chain(cpus).chain(ratios).collect();
    let notes = vec![
        "the terminal has 100 columns and knows colours and UTF-8; a view is drawn up to 4 times a second, in \
                      the same process and on the same CPUs as the load"
            .to_owned(),
    ];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}

fn unread(arena: &Arena, load: &PeerLoad) -> anyhow::Result<PeerMeasurement> {
    let (terminal, _unread) = pty::stalled()?;
    plimsoll::run_on(arena, load, terminal)
}
