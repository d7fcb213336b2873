//! Why storage was not evaluated, and who can mend it.

use plimsoll_lanes::LaneError;
use plimsoll_plan::PlanError;
use plimsoll_record::RecordError;
use plimsoll_storage::StorageError;

#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// The request cannot be met; nothing was started.
    #[error("{0}")]
    Refused(String),
    /// The machine does not allow it.
    #[error("{0}")]
    Environment(String),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Lane(#[from] LaneError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Record(#[from] RecordError),
}
