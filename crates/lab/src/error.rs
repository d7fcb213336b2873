//! Why something was not done, and whose fault that is.

use plimsoll_analysis::AnalysisError;
use plimsoll_analysis::error::code_of_record;
use plimsoll_data::DataError;
use plimsoll_data::error::code_of_server;
use plimsoll_engine::Failure;
use plimsoll_evaluate::EvaluateError;
use plimsoll_host::HostError;
use plimsoll_lanes::LaneError;
use plimsoll_plan::PlanError;
use plimsoll_plan::lab::Where;
use plimsoll_record::{EarlyEnd, RecordError};
use plimsoll_server::ServerError;
use plimsoll_storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The request is impossible; nothing was started.
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

impl From<HostError> for LabError {
    fn from(error: HostError) -> LabError {
        LabError::Server(error.into())
    }
}

/// An early end by an error, which does not affect what was measured before it.
impl From<&LabError> for EarlyEnd {
    fn from(error: &LabError) -> EarlyEnd {
        match error {
            LabError::Interrupted => EarlyEnd::Interrupted,
            other => EarlyEnd::Failed(other.to_string()),
        }
    }
}

impl From<EvaluateError> for LabError {
    fn from(error: EvaluateError) -> LabError {
        match error {
            EvaluateError::Refused(text) => LabError::Refused(text),
            EvaluateError::Environment(text) => LabError::Environment(text),
            EvaluateError::Plan(error) => LabError::Plan(error),
            EvaluateError::Lane(error) => error.into(),
            EvaluateError::Storage(error) => error.into(),
            EvaluateError::Record(error) => LabError::Record(error),
        }
    }
}

impl From<DataError> for LabError {
    fn from(error: DataError) -> LabError {
        match error {
            DataError::Refused(text) => LabError::Refused(text),
            DataError::Plan(error) => LabError::Plan(error),
            DataError::Workload(error) => LabError::Workload(error),
            DataError::Environment(text) => LabError::Environment(text),
            DataError::Server(error) => LabError::Server(error),
            DataError::Interrupted => LabError::Interrupted,
        }
    }
}

impl From<AnalysisError> for LabError {
    fn from(error: AnalysisError) -> LabError {
        match error {
            AnalysisError::Refused(text) => LabError::Refused(text),
            AnalysisError::Environment(text) => LabError::Environment(text),
            AnalysisError::Record(error) => LabError::Record(error),
        }
    }
}

impl From<LaneError> for LabError {
    fn from(error: LaneError) -> LabError {
        match error {
            LaneError::Refused(text) => LabError::Refused(text),
            LaneError::Interrupted => LabError::Interrupted,
            LaneError::Storage(error) => error.into(),
            other => LabError::Environment(other.to_string()),
        }
    }
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
    /// A failed statement, and what it was for.
    pub fn sql(what: &str, failure: &Failure) -> LabError {
        DataError::sql(what, failure).into()
    }

    /// The exit code: 2 if nothing was started for a fault in the request, 3 if the environment failed, 130 if
    /// it was interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            LabError::Refused(_) | LabError::Plan(_) | LabError::Workload(_) => 2,
            LabError::Server(error) => code_of_server(error),
            LabError::Record(error) => code_of_record(error),
            LabError::Environment(_) => 3,
            LabError::Interrupted => 130,
        }
    }
}

/// Something in the plan that is impossible; a default has no line.
pub(crate) fn refused(at: Where, problem: impl Into<String>) -> LabError {
    match at.line {
        0 => LabError::Refused(problem.into()),
        _ => PlanError::File { at, problem: problem.into() }.into(),
    }
}
