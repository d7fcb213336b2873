//! Searches for better settings: Plimsoll's, Optuna's, SMAC3's and random ones, with equal seconds of measuring. On surfaces whose
//! best settings are known, and on real servers, where what each ends with is measured again.

mod real;
mod simulated;

use super::{BenchExtent, PeerComparison};
use crate::arena::Arena;
use crate::peers::tuners::Tuner;

/// A guess: the trials of all tuners in both real cases, and some for what each has found.
pub fn expected_seconds(pairs: u32) -> u64 {
    simulated::expected_seconds(pairs) + real::expected_seconds()
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let python = arena.tools().tuners.as_deref();
    let there: Vec<Tuner> = Tuner::ALL.into_iter().filter(|tuner| tuner.is_there(python)).collect();
    let missing = Tuner::ALL.iter().filter(|tuner| !there.contains(tuner));
    let missing: Vec<String> =
        missing.map(|tuner| format!("{} IS MISSING: `scripts/bench-peers` installs it", tuner.name())).collect();
    missing.iter().for_each(|line| eprintln!("WARNING: {line}"));
    let mut comparison = simulated::compare(arena, &there, extent)?;
    let real = real::compare(arena, &there)?;
    comparison.rows.extend(real.rows);
    comparison.notes.extend(real.notes);
    comparison.notes.extend(missing);
    Ok(comparison)
}
