//! What a transaction sends.

use super::schema::{CLIENTS, ENTRIES, ROWS};
use plimsoll_engine::Statement;
use plimsoll_model::StatementKind;

/// What a statement is for. Its place in [`statements`] is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerRole {
    /// Asked when a connection begins, and after a failure: what it was told may not be all that was committed.
    Last,
    Begin,
    Row,
    Entry,
    Client,
    Commit,
}

impl LedgerRole {
    pub const ALL: [LedgerRole; 6] = [
        LedgerRole::Last,
        LedgerRole::Begin,
        LedgerRole::Row,
        LedgerRole::Entry,
        LedgerRole::Client,
        LedgerRole::Commit,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            LedgerRole::Last => "last",
            LedgerRole::Begin => "begin",
            LedgerRole::Row => "row",
            LedgerRole::Entry => "entry",
            LedgerRole::Client => "client",
            LedgerRole::Commit => "commit",
        }
    }

    pub const fn kind(self) -> StatementKind {
        match self {
            LedgerRole::Last => StatementKind::Select,
            LedgerRole::Begin => StatementKind::Begin,
            LedgerRole::Row => StatementKind::Update,
            LedgerRole::Entry | LedgerRole::Client => StatementKind::Insert,
            LedgerRole::Commit => StatementKind::Commit,
        }
    }

    pub fn sql(self) -> String {
        match self {
            LedgerRole::Last => format!("SELECT COALESCE(MAX(number), 0) FROM {ENTRIES} WHERE client = ?"),
            LedgerRole::Begin => "BEGIN".to_owned(),
            LedgerRole::Row => format!("UPDATE {ROWS} SET client = ?, number = ?, checksum = ? WHERE id = ?"),
            LedgerRole::Entry => {
                format!("INSERT INTO {ENTRIES} (client, number, row_id, checksum) VALUES (?, ?, ?, ?)")
            }
            LedgerRole::Client => format!(
                "INSERT INTO {CLIENTS} (client, entries, last, checksum) VALUES (?, 1, ?, ?) ON DUPLICATE KEY UPDATE \
                 entries = entries + 1, last = VALUES(last), checksum = checksum ^ VALUES(checksum)"
            ),
            LedgerRole::Commit => "COMMIT".to_owned(),
        }
    }
}

/// All texts.
pub fn statements() -> Vec<Statement> {
    let statement = |role: LedgerRole| Statement {
        name: role.name(),
        kind: role.kind(),
        sql: role.sql(),
        prepared: !matches!(role, LedgerRole::Begin | LedgerRole::Commit),
    };
    LedgerRole::ALL.map(statement).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_to_the_statements() {
        for role in LedgerRole::ALL {
            assert_eq!(statements()[role as usize].name, role.name());
        }
    }
}
