//! Pure numbers: from histograms and series to estimates that say how far they can be trusted.
//!
//! Nothing here knows MySQL, reads a clock or does I/O; every function maps values to values, and random numbers come
//! from a constant seed. A [`plimsoll_model::Estimate`] has value, interval, effective n and method; if there is none,
//! a [`plimsoll_model::Refusal`] says what is missing.
//!
//! - Within a trial: [`batch_means`] and [`percentile`] (a window's means and percentiles), [`steady`] (has it settled,
//!   when does a warm-up end), [`change_points`], [`levels`], [`stalls`].
//! - Across rounds: [`comparison`], [`sequential`] where they end by themselves, and [`sides`] for both labs and
//!   `compare`; [`explained`] takes away what others did, [`reach`] tells of rounds to come.
//! - Over cases: [`mod@share`], how often something happens.
//! - Over settings: [`surrogate`].
//! - Over loads: [`scaling`] with [`mod@knee`] and [`saturation`], [`search`].
//!
//! How often the intervals contain the truth is in `docs/statistics.md`, which `make coverage` prints.

mod autocorrelation;
pub mod batch_means;
pub mod change_points;
pub mod comparison;
mod distribution;
pub mod explained;
pub mod fairness;
pub mod knee;
pub mod latency;
pub mod levels;
pub mod percentile;
pub mod reach;
pub mod saturation;
pub mod scaling;
pub mod search;
pub mod sequential;
pub mod share;
pub mod sides;
mod spread;
pub mod stalls;
pub mod steady;
pub mod surrogate;
pub mod switchback;

pub use knee::knee;
