//! Statements by what they do, and how many of each were sent.

use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, Index, IndexMut, Sub};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatementKind {
    Begin,
    Commit,
    Rollback,
    Select,
    Insert,
    Update,
    Delete,
    Call,
}

impl StatementKind {
    pub const ALL: [StatementKind; 8] = [
        StatementKind::Begin,
        StatementKind::Commit,
        StatementKind::Rollback,
        StatementKind::Select,
        StatementKind::Insert,
        StatementKind::Update,
        StatementKind::Delete,
        StatementKind::Call,
    ];

    pub fn name(self) -> &'static str {
        match self {
            StatementKind::Begin => "begin",
            StatementKind::Commit => "commit",
            StatementKind::Rollback => "rollback",
            StatementKind::Select => "select",
            StatementKind::Insert => "insert",
            StatementKind::Update => "update",
            StatementKind::Delete => "delete",
            StatementKind::Call => "call",
        }
    }

    /// Whether it changes data, or may.
    pub fn changes_data(self) -> bool {
        matches!(self, StatementKind::Insert | StatementKind::Update | StatementKind::Delete | StatementKind::Call)
    }

    /// The server's status variable that counts this kind (`SHOW GLOBAL STATUS LIKE 'Com\_%'`).
    pub fn status_variable(self) -> &'static str {
        match self {
            StatementKind::Begin => "Com_begin",
            StatementKind::Commit => "Com_commit",
            StatementKind::Rollback => "Com_rollback",
            StatementKind::Select => "Com_select",
            StatementKind::Insert => "Com_insert",
            StatementKind::Update => "Com_update",
            StatementKind::Delete => "Com_delete",
            StatementKind::Call => "Com_call_procedure",
        }
    }
}

/// How many statements of each kind were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementCounts {
    pub begin: u64,
    pub commit: u64,
    pub rollback: u64,
    pub select: u64,
    pub insert: u64,
    pub update: u64,
    pub delete: u64,
    pub call: u64,
}

impl Index<StatementKind> for StatementCounts {
    type Output = u64;
    fn index(&self, kind: StatementKind) -> &u64 {
        match kind {
            StatementKind::Begin => &self.begin,
            StatementKind::Commit => &self.commit,
            StatementKind::Rollback => &self.rollback,
            StatementKind::Select => &self.select,
            StatementKind::Insert => &self.insert,
            StatementKind::Update => &self.update,
            StatementKind::Delete => &self.delete,
            StatementKind::Call => &self.call,
        }
    }
}

impl IndexMut<StatementKind> for StatementCounts {
    fn index_mut(&mut self, kind: StatementKind) -> &mut u64 {
        match kind {
            StatementKind::Begin => &mut self.begin,
            StatementKind::Commit => &mut self.commit,
            StatementKind::Rollback => &mut self.rollback,
            StatementKind::Select => &mut self.select,
            StatementKind::Insert => &mut self.insert,
            StatementKind::Update => &mut self.update,
            StatementKind::Delete => &mut self.delete,
            StatementKind::Call => &mut self.call,
        }
    }
}

/// The sum of counts. A recording from elsewhere may have some that no sum holds: then it is the largest number that
/// there is.
pub fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

impl AddAssign for StatementCounts {
    fn add_assign(&mut self, other: StatementCounts) {
        for kind in StatementKind::ALL {
            self[kind] = total([self[kind], other[kind]]);
        }
    }
}

impl Sub for StatementCounts {
    type Output = StatementCounts;
    fn sub(mut self, other: StatementCounts) -> StatementCounts {
        for kind in StatementKind::ALL {
            self[kind] = self[kind].saturating_sub(other[kind]);
        }
        self
    }
}
