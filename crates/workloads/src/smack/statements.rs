//! What a round sends: the texts of super-smack, with `?` in place of its dictionary words.

use super::SmackKind;
use plimsoll_engine::Statement;
use plimsoll_model::{StatementCounts, StatementKind};

/// What a statement is for. Its place in [`statements`] is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmackRole {
    Select,
    Update,
}

impl SmackRole {
    /// The original's type, under which it counts.
    pub const fn name(self) -> &'static str {
        match self {
            SmackRole::Select => "select_index",
            SmackRole::Update => "update_index",
        }
    }

    pub const fn kind(self) -> StatementKind {
        match self {
            SmackRole::Select => StatementKind::Select,
            SmackRole::Update => StatementKind::Update,
        }
    }

    pub const fn sql(self) -> &'static str {
        match self {
            SmackRole::Select => "select * from http_auth where username = ?",
            SmackRole::Update => "update http_auth set pass=? where username = ?",
        }
    }
}

/// One round of the original's query barrel, in order.
pub const fn round(kind: SmackKind) -> &'static [SmackRole] {
    match kind {
        SmackKind::SelectKey => &[SmackRole::Select, SmackRole::Select],
        SmackKind::UpdateSelect => &[SmackRole::Select, SmackRole::Update],
    }
}

/// The roles of `kind` without repetition, in the order of their numbers.
pub const fn roles(kind: SmackKind) -> &'static [SmackRole] {
    match kind {
        SmackKind::SelectKey => &[SmackRole::Select],
        SmackKind::UpdateSelect => &[SmackRole::Select, SmackRole::Update],
    }
}

/// All texts of a workload.
pub fn statements(kind: SmackKind) -> Vec<Statement> {
    let statement = |role: &SmackRole| Statement {
        name: role.name(),
        kind: role.kind(),
        sql: role.sql().to_owned(),
        prepared: true,
    };
    roles(kind).iter().map(statement).collect()
}

/// The statements of one round by kind.
pub fn per_transaction(kind: SmackKind) -> StatementCounts {
    let mut counts = StatementCounts::default();
    round(kind).iter().for_each(|role| counts[role.kind()] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_super_smack() {
        let texts = |kind| statements(kind).into_iter().map(|s| (s.name, s.sql)).collect::<Vec<_>>();
        let select = ("select_index", "select * from http_auth where username = ?".to_owned());
        let update = ("update_index", "update http_auth set pass=? where username = ?".to_owned());
        assert_eq!(texts(SmackKind::UpdateSelect), [select.clone(), update]);
        assert_eq!(texts(SmackKind::SelectKey), [select]);
    }

    #[test]
    fn rounds_have_the_statements_of_the_query_barrels() {
        let counts = |kind| (per_transaction(kind).select, per_transaction(kind).update);
        assert_eq!(counts(SmackKind::SelectKey), (2, 0));
        assert_eq!(counts(SmackKind::UpdateSelect), (1, 1));
    }

    #[test]
    fn numbers_lead_to_the_statements() {
        for kind in SmackKind::ALL {
            for role in round(kind) {
                assert_eq!(statements(kind)[*role as usize].name, role.name());
            }
        }
    }
}
