//! What limited a load point, and what a transaction of it cost, from what was sampled while it was measured.
//!
//! Everything is a pure function of [`Observed`], so that a recording is judged the same today and in a year.
//! [`signals`] turns samples into a few numbers; each file in [`rule`] weighs one bottleneck by them, as the share of
//! the transactions' time that it explains; [`decide`] compares the candidates and words the verdict.

pub mod caveats;
pub mod cost;
pub mod decide;
pub mod observed;
pub mod rule;
pub mod signals;
mod storage;

pub use decide::diagnose;
pub use observed::Observed;
pub use storage::storage_use;
