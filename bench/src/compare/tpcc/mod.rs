//! Order entry against the two peers that are nearest: go-tpc, which sends prepared statements for all rows of an order,
//! and sysbench-tpcc, which sends text for each. Both are brought in from outside; without one, its part is left out.
//! And the terminals that neither has.

pub mod go;
mod inventory;
pub mod load;
pub mod sysbench;
pub mod terminals;

use super::{BenchFinding, PeerComparison};
use crate::arena::Arena;
use crate::peers::brought::Brought;

const CONNECTIONS: usize = 16;
/// Deliveries and lock waits of a few tenths of a second need some time to even out.
const SECONDS: u32 = 10;

pub fn seconds(asked: u32) -> u32 {
    asked.max(SECONDS)
}

/// A comparison that nobody came to.
fn skipped(title: String, peer: &Brought, findings: &[&'static str], arena: &Arena) -> PeerComparison {
    eprintln!("{title}\n  {}", peer.missing());
    let findings = findings.iter().map(|name| BenchFinding {
        name,
        on: arena.label().to_owned(),
        value: format!("SKIPPED: no {}", peer.name),
        target: String::new(),
        met: None,
    });
    PeerComparison { title, findings: findings.collect(), notes: vec![peer.missing()], ..PeerComparison::default() }
}
