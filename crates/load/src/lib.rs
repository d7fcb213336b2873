//! How load is offered and counted: seeds, arrivals, stop conditions, the recorder.
//!
//! Everything here is a pure state machine: `now` is an argument in nanoseconds, nothing sleeps, nothing
//! does I/O. Begin with [`seed`] (who draws which numbers), then [`arrivals`] and [`terminals`] (when transactions
//! are due), [`window`] (what is measured) and [`recorder`] (what came of it).

pub mod arrivals;
pub mod recorder;
pub mod seed;
pub mod tally;
pub mod terminals;
pub mod window;
