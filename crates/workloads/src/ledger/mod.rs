//! A workload for crashes: every transaction says who wrote it and which of theirs it is, in three tables, so that a commit
//! that is missing afterwards, or there by half, shows.
//!
//! Begin with [`tx`], one transaction; then [`schema`] and [`load`] (the data) and [`check`] (what must hold).

pub mod check;
pub mod describe;
pub mod load;
pub mod parameters;
pub mod schema;
pub mod statements;
pub mod tx;

pub use parameters::LedgerParameters;
pub use tx::LedgerWorkload;

pub const NAME: &str = "ledger";

/// What it does, in one sentence.
pub fn summary() -> &'static str {
    "Numbered entries of each client in three tables, to find commits that a crash has lost or halved."
}
