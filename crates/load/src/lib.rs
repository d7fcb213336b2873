//! How load is offered and counted: seeds, arrivals, stop conditions, the recorder; and where it comes from, as a value.
//!
//! Everything here is a pure state machine: `now` is an argument in nanoseconds, nothing sleeps, nothing
//! does I/O. Begin with [`seed`] (who draws which numbers), then [`arrivals`] and [`terminals`] (when transactions
//! are due), [`window`] (what is measured) and [`recorder`] (what came of it). What follows a load knows it as a
//! [`source::LoadSource`] alone; [`lines`] are what one in another process tells.

pub mod arrivals;
pub mod assembly;
pub mod histogram;
pub mod lines;
pub mod recorder;
pub mod seed;
pub mod source;
pub mod tally;
pub mod terminals;
pub mod window;
