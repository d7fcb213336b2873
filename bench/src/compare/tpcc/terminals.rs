//! A hundred thousand paced terminals on one loop's thread against the null transport: what a terminal costs in memory,
//! and whether it is served when it is due.

use super::super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::terminals::TerminalReport;
use anyhow::Context;
use std::time::Duration;

const TERMINALS: u64 = 100_000;
/// Whose memory is subtracted: everything else is the same.
const FEW: u64 = 1_000;
/// It is a matter of whether, not of how fast: a few rounds tell.
const ROUNDS: u32 = 3;
/// Each terminal has its turn about once.
const SECONDS: u32 = 20;
const AROUND: Duration = Duration::from_secs(60);
const STATE: BenchTarget = BenchTarget::AtMost(1024.0);
const LATE: BenchTarget = BenchTarget::AtMost(10.0);

pub fn expected_seconds(pairs: u32) -> u64 {
    u64::from(pairs.min(ROUNDS)) * 2 * (u64::from(SECONDS) + 6)
}

struct Observed {
    said: TerminalReport,
    resident_bytes: u64,
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("tpcc-terminals: {TERMINALS} terminals with spec pacing, one loop, null transport");
    let [many, few] = in_turn(
        &title,
        extent.pairs.min(ROUNDS) as usize,
        [("plimsoll", &|| observe(arena, TERMINALS)), ("a few of them", &|| observe(arena, FEW))],
        |observed: &Observed| {
            let TerminalReport { transactions_per_second, response_ms, .. } = observed.said;
            let megabytes = observed.resident_bytes as f64 / 1e6;
            format!("{transactions_per_second:.0}/s, 99 % within {response_ms:.2} ms, {megabytes:.1} MB resident")
        },
    )?;
    let row = |what: &str, digits, value: fn(&Observed) -> f64| BenchRow::new(what, digits, many.iter().map(value));
    let per_terminal = many
        .iter()
        .zip(&few)
        .map(|(many, few)| (many.resident_bytes as f64 - few.resident_bytes as f64) / (TERMINALS - FEW) as f64);
    let state = BenchRow::new("resident bytes/terminal", 0, per_terminal).with_target(STATE);
    let response = row("due to answered, 99th percentile: ms", 2, |many| many.said.response_ms).with_target(LATE);
    let findings = vec![state.finding("tpcc-terminals-state", arena), response.finding("tpcc-terminals-due", arena)];
    let rows = vec![
        row("transactions/s", 0, |many| many.said.transactions_per_second),
        row("resident MB of the process", 1, |many| many.resident_bytes as f64 / 1e6),
        state,
        response,
        row("sent to answered, 99th percentile: ms", 2, |many| many.said.service_ms),
        row("still waiting at the end", 0, |many| many.said.dropped as f64),
        row("CPU µs/transaction, loop only", 1, |many| many.said.loop_cpu_us),
    ];
    let notes = vec![
        "a transaction is one SELECT here; the connections are few, and shared by all terminals".to_owned(),
        format!("memory: over that of the same process with {FEW} terminals, per terminal"),
        "a transaction cannot be answered before it is sent: what is answered within 10 ms was sent within 10 ms"
            .to_owned(),
    ];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}

fn observe(arena: &Arena, terminals: u64) -> anyhow::Result<Observed> {
    let mut command = arena.own();
    command.args(["terminals", &format!("--terminals={terminals}"), &format!("--seconds={SECONDS}")]);
    let finished = arena.run(command, Duration::from_secs(SECONDS.into()) + AROUND)?;
    let said = serde_json::from_str(&finished.stdout).context("the report of the terminals")?;
    Ok(Observed { said, resident_bytes: finished.resident_bytes })
}
