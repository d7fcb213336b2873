//! One file per subcommand, all of the same shape: arguments in, an exit code out.

pub mod advise;
pub mod agent;
mod baseline;
pub mod calibrate;
pub mod check;
pub mod clean;
pub mod compare;
pub mod completions;
pub mod crash;
pub mod datasets;
mod drafted;
pub mod drop;
pub mod fleet;
pub mod gate;
pub mod io;
pub mod lab;
pub mod lane;
pub mod lane_part;
pub mod load;
pub mod man;
pub mod quickstart;
pub mod recordings;
pub mod report;
pub mod run;
pub mod script;
pub mod serve;
pub mod server;
pub mod sysbench;
pub mod target;
pub mod tune;
pub mod workloads;

use plimsoll_analysis::AnalysisError;
use plimsoll_archive::ArchiveError;
use plimsoll_data::DataError;
use plimsoll_data::dataset::Marker;
use plimsoll_lab::LabError;
use plimsoll_plan::PlanError;
use plimsoll_workloads::chosen::ChosenWorkload;

pub const DONE: u8 = 0;
pub const CHECK_FAILED: u8 = 1;
const USAGE: u8 = 2;
pub const ENVIRONMENT: u8 = 3;
/// Of `--fail-if-unclear`.
pub const UNDECIDED: u8 = 4;
pub const INTERRUPTED: u8 = 130;

/// What an error that reached the top means to the caller.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<LabError>() {
        return error.exit_code();
    }
    if let Some(error) = error.downcast_ref::<DataError>() {
        return error.exit_code();
    }
    if let Some(error) = error.downcast_ref::<AnalysisError>() {
        return error.exit_code();
    }
    match error.downcast_ref::<ArchiveError>() {
        Some(ArchiveError::Foreign(_) | ArchiveError::Exists { .. }) => return USAGE,
        Some(ArchiveError::Interrupted) => return INTERRUPTED,
        Some(ArchiveError::Record(_) | ArchiveError::Io { .. }) | None => {}
    }
    let usage = error.is::<PlanError>() || error.is::<plimsoll_workloads::Error>();
    if usage { USAGE } else { ENVIRONMENT }
}

/// The workload with the parameters given, on top of those that its data were loaded with.
pub fn chosen(
    name: &str,
    typed: &[(String, String)],
    marker: Option<&Marker>,
) -> Result<ChosenWorkload, plimsoll_workloads::Error> {
    ChosenWorkload::new(name, typed, marker.map(|marker| marker.description.loaded()))
}
