//! What a workload sends, and how.

use plimsoll_model::StatementKind;

/// A statement that every connection prepares. Its place in the catalogue is its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// What it is called in results; statements on different tables share a name.
    pub name: &'static str,
    pub kind: StatementKind,
    /// With `?` for parameters.
    pub sql: String,
    /// False for what is always sent as text, such as BEGIN and COMMIT.
    pub prepared: bool,
}

/// How statements with parameters are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// COM_STMT_EXECUTE, prepared before the run.
    #[default]
    Prepared,
    /// COM_QUERY with the parameters written into the text.
    Text,
}
