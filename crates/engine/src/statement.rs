//! What a workload sends, and how.

use plimsoll_model::StatementKind;
use plimsoll_wire::{Value, command};

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

/// A prepared statement as the server knows it on one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct PreparedHandle {
    id: u32,
    /// Types of the parameters last sent; 0 before the first execution.
    signature: u64,
}

impl PreparedHandle {
    pub fn new(id: u32) -> PreparedHandle {
        PreparedHandle { id, signature: 0 }
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    /// The statement's id, and whether the server has to be told the types of these values.
    #[inline]
    pub fn bind(&mut self, values: &[Value<'_>]) -> (u32, bool) {
        let signature = command::signature(values);
        (self.id, std::mem::replace(&mut self.signature, signature) != signature)
    }
}
