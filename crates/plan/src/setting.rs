//! A setting that a plan asks for.

use crate::origin::Where;
use serde::{Deserialize, Serialize};

/// A server setting as requested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// In the form of a server variable: lower case, underscores.
    pub name: String,
    pub value: String,
    pub at: Where,
    /// From a `config_file`: a name that the server no longer has is left out, and reported.
    pub from_file: bool,
}
