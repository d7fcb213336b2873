//! Targets and their data: opened, loaded, checked, saved, restored, dropped.
//!
//! It touches only data that the table `plimsoll_dataset` lists, and never generates the load of a measurement. Begin
//! with [`target::OpenTarget`], then [`mod@load`] and [`dataset`], the table that says what was loaded. [`client`] is
//! the ledger, kept with the data; [`mod@check`] compares the two. [`starting_data`] makes each trial of a lab begin
//! with the same files, [`datasets`] saves those of a server.

pub mod check;
pub mod dataset;
pub mod datasets;
pub mod drop;
pub mod epitaph;
pub mod error;
pub mod instance;
pub mod ledger;
pub mod load;
pub mod same;
pub mod size;
pub mod starting_data;
pub mod target;
pub mod text_file;

pub use error::DataError;
pub use target::{OpenTarget, TargetSpec};
