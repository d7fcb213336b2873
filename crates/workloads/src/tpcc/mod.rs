//! Order entry as TPC-C (revision 5.11) specifies it, under three profiles; derived from it, and therefore called TPC-C-like.
//!
//! Begin with [`tx`], one file per transaction, which reads like its clause; then [`input`] (what a transaction is made from),
//! [`statements`] and `texts` (what it sends), [`schema`] and [`load`] (the data) and `check` (the consistency conditions).
//! [`parameters`] is the table of everything that can be set.

pub mod aliases;
pub mod check;
pub mod choices;
pub mod counters;
pub mod dates;
pub mod describe;
mod fragments;
mod inherit;
pub mod input;
pub mod load;
pub mod names;
pub mod pacing;
pub mod parameters;
pub mod procedures;
pub mod random;
pub mod result;
pub mod roles;
pub mod schema;
pub mod statements;
pub mod strings;
mod texts;
pub mod tx;

pub use choices::NAME;
pub use parameters::TpccParameters;
pub use tx::Tpcc;

/// What it does, in one sentence.
pub const fn summary() -> &'static str {
    "Order entry of a wholesale supplier, TPC-C-like: new orders, payments, order status, deliveries and stock levels."
}
