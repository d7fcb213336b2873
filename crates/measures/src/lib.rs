//! What was counted becomes numbers here, and nowhere else: tallies and samples → points, outcomes → the summary of a lab.
//!
//! It does no I/O. Begin with [`summarise`], a load point out of the tallies of its window; [`estimates`] says how far
//! each number can be trusted, [`caveats`] why it should not be trusted fully. [`lab`] sums up all trials of a plan,
//! [`rounds`] puts the rounds of a load point together, [`gate`] judges limits, [`trend`] sees where recordings over time change their level, [`metric`] finds what a printed number of a storage measurement speaks of.

pub mod caveats;
pub mod estimates;
pub mod gate;
pub mod lab;
pub mod metric;
pub mod rounds;
pub mod scaling;
pub mod summarise;
pub mod trend;
