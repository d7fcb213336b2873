//! What can be wrong with what a user asked for.

use crate::origin::Where;
use plimsoll_model::load_point::BadList;
use plimsoll_model::text::escaped;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("{what}: found `{found}`; accepted is {accepted}")]
    Value { what: &'static str, found: String, accepted: &'static str },
    #[error(
        "the target contains a password, which everybody on this machine could read; put it into a file with \
         a [client] section (--defaults-file FILE), into MYSQL_PWD, or type it (--ask-password)"
    )]
    PasswordInUrl,
    #[error("{}, line {line}: {}", escaped(.file), escaped(.problem))]
    DefaultsFile { file: String, line: usize, problem: String },
    /// Something in a plan file, or in an option file that it names.
    #[error("{}: {}", escaped(&.at.to_string()), escaped(.problem))]
    File { at: Where, problem: String },
    #[error("{0}")]
    Combination(String),
}

impl From<BadList> for PlanError {
    fn from(BadList { what, found, accepted }: BadList) -> PlanError {
        PlanError::Value { what, found, accepted }
    }
}

impl PlanError {
    pub fn value(what: &'static str, found: &str, accepted: &'static str) -> PlanError {
        PlanError::Value { what, found: escaped(found), accepted }
    }
}
