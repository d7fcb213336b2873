//! Reasons, found by the tool, not to trust a number fully.

use serde::{Deserialize, Serialize};

/// A reason not to trust a number fully. `code` is stable and for programs, `message` is for people
/// and ends in what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveat {
    pub code: String,
    pub message: String,
}

impl Caveat {
    pub fn new(code: &str, message: impl Into<String>) -> Caveat {
        Caveat { code: code.to_owned(), message: message.into() }
    }
}
