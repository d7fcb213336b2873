//! Why something was not done, and whose affair that is.

use plimsoll_engine::Failure;
use plimsoll_plan::PlanError;
use plimsoll_record::RecordError;
use plimsoll_server::ServerError;
use plimsoll_storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// What was asked for cannot be; nothing was started.
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
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("interrupted")]
    Interrupted,
}

impl From<StorageError> for LabError {
    fn from(error: StorageError) -> LabError {
        match error {
            StorageError::Refused(text) => LabError::Refused(text),
            StorageError::Interrupted => LabError::Interrupted,
            other => LabError::Environment(other.to_string()),
        }
    }
}

impl LabError {
    /// What failed while doing what.
    pub fn sql(what: &str, failure: &Failure) -> LabError {
        match failure {
            Failure::Cancelled => LabError::Interrupted,
            other => LabError::Environment(format!("{what}: {other}")),
        }
    }

    /// The exit code: 2 if nothing was started for a fault in the request, 3 if the environment failed, 130 if
    /// it was interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            LabError::Refused(_) | LabError::Plan(_) | LabError::Workload(_) => 2,
            LabError::Server(ServerError::Interrupted { .. }) | LabError::Interrupted => 130,
            LabError::Server(
                ServerError::Selector { .. }
                | ServerError::Name { .. }
                | ServerError::Setting { .. }
                | ServerError::DatasetName { .. },
            ) => 2,
            LabError::Record(RecordError::ReadOnly { .. }) => 2,
            LabError::Environment(_) | LabError::Server(_) | LabError::Record(_) => 3,
        }
    }
}
