//! Where a person wrote something.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A line of a file that a person wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Where {
    pub file: String,
    /// From 1.
    pub line: usize,
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}", self.file, self.line)
    }
}
