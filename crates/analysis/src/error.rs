//! Why a recording cannot be shown, or two cannot be compared.

use plimsoll_record::RecordError;

#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// What was asked for cannot be.
    #[error("{0}")]
    Refused(String),
    /// What is there cannot be read.
    #[error("{0}")]
    Environment(String),
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl AnalysisError {
    /// The exit code: 2 for a fault in the request, 3 if something cannot be read.
    pub fn exit_code(&self) -> u8 {
        match self {
            AnalysisError::Refused(_) => 2,
            AnalysisError::Environment(_) => 3,
            AnalysisError::Record(error) => code_of_record(error),
        }
    }
}

/// The exit code for what is wrong with a recording.
pub fn code_of_record(error: &RecordError) -> u8 {
    if matches!(error, RecordError::ReadOnly { .. }) { 2 } else { 3 }
}
