//! Why something was not done to a target or its data, and who can mend it.

use plimsoll_engine::Failure;
use plimsoll_host::HostError;
use plimsoll_lanes::LaneError;
use plimsoll_plan::PlanError;
use plimsoll_server::ServerError;

#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The request cannot be met; nothing was started.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Workload(#[from] plimsoll_workloads::Error),
    /// The server or the machine failed.
    #[error("{0}")]
    Environment(String),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("interrupted")]
    Interrupted,
}

impl From<HostError> for DataError {
    fn from(error: HostError) -> DataError {
        DataError::Server(error.into())
    }
}

impl From<LaneError> for DataError {
    fn from(error: LaneError) -> DataError {
        match error {
            LaneError::Refused(text) => DataError::Refused(text),
            LaneError::Interrupted => DataError::Interrupted,
            other => DataError::Environment(other.to_string()),
        }
    }
}

impl DataError {
    /// The exit code: 2 if nothing was started because of a fault in the request, 3 if the environment failed, 130 if
    /// it was interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            DataError::Refused(_) | DataError::Plan(_) | DataError::Workload(_) => 2,
            DataError::Server(error) => code_of_server(error),
            DataError::Environment(_) => 3,
            DataError::Interrupted => 130,
        }
    }

    /// What failed while doing what.
    pub fn sql(what: &str, failure: &Failure) -> DataError {
        match failure {
            Failure::Cancelled => DataError::Interrupted,
            other => DataError::Environment(format!("{what}: {other}")),
        }
    }
}

/// The exit code for what went wrong with a private server.
pub fn code_of_server(error: &ServerError) -> u8 {
    match error {
        ServerError::Interrupted { .. } => 130,
        ServerError::Selector { .. }
        | ServerError::Name { .. }
        | ServerError::Setting { .. }
        | ServerError::DatasetName { .. } => 2,
        _ => 3,
    }
}
