//! What the tests of the other crates need and no user ever gets: real servers, found and shared fairly, and fake
//! ones that do what no real one should.
//!
//! A dev-dependency only. It never stands in for what it tests, and never hides that a test did not run: whoever
//! cannot run here says so with [`skip`], on the real standard error, which `cargo test` does not capture.
//! Begin with [`servers`], then [`fake`].

pub mod broker;
pub mod certificates;
pub mod fake;
pub mod groups;
pub mod programs;
pub mod proxy;
pub mod servers;
pub mod simulated;
pub mod surfaces;
pub mod tuned;
