//! What can be wrong with a fleet.

/// Why a fleet cannot do what it is asked for.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum FleetError {
    /// What was asked for is not accepted.
    #[error("{0}")]
    Refused(String),
    /// The broker or an agent cannot be reached, or does not answer.
    #[error("{0}")]
    Environment(String),
    #[error("interrupted")]
    Interrupted,
}
