//! What a transaction sends: its steps in order, and the text of every statement.
//!
//! An [`OltpRole`] is what a statement is for, a [`OltpStep`] is a group of them that goes to one table, and a [`OltpStatements`] is
//! the list of texts to prepare: one per role and table, roles in order of first use.

use super::OltpKind;
use super::schema::table_name;
use super::values::{OltpParameters, SysbenchLayout};
use plimsoll_engine::Statement;
use plimsoll_model::{StatementCounts, StatementKind};
use std::iter::repeat_n;

/// What a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OltpRole {
    Begin,
    Point,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
    RandomPoints,
    RandomRanges,
    BulkInsert,
    Commit,
}

impl OltpRole {
    const COUNT: usize = OltpRole::Commit as usize + 1;

    pub const fn name(self) -> &'static str {
        match self {
            OltpRole::Begin => "begin",
            OltpRole::Point => "point",
            OltpRole::SimpleRange => "simple_range",
            OltpRole::SumRange => "sum_range",
            OltpRole::OrderRange => "order_range",
            OltpRole::DistinctRange => "distinct_range",
            OltpRole::IndexUpdate => "index_update",
            OltpRole::NonIndexUpdate => "non_index_update",
            OltpRole::Delete => "delete",
            OltpRole::Insert => "insert",
            OltpRole::RandomPoints => "random_points",
            OltpRole::RandomRanges => "random_ranges",
            OltpRole::BulkInsert => "bulk_insert",
            OltpRole::Commit => "commit",
        }
    }

    pub const fn kind(self) -> StatementKind {
        match self {
            OltpRole::Begin => StatementKind::Begin,
            OltpRole::Commit => StatementKind::Commit,
            OltpRole::Point
            | OltpRole::SimpleRange
            | OltpRole::SumRange
            | OltpRole::OrderRange
            | OltpRole::DistinctRange => StatementKind::Select,
            OltpRole::RandomPoints | OltpRole::RandomRanges => StatementKind::Select,
            OltpRole::IndexUpdate | OltpRole::NonIndexUpdate => StatementKind::Update,
            OltpRole::Delete => StatementKind::Delete,
            OltpRole::Insert | OltpRole::BulkInsert => StatementKind::Insert,
        }
    }

    const fn names_a_table(self) -> bool {
        !matches!(self, OltpRole::Begin | OltpRole::Commit)
    }

    /// The text for table `table`, with `?` for its parameters.
    fn sql(self, parameters: &OltpParameters, table: u64) -> String {
        let t = table_name(parameters.layout, table);
        match (self, parameters.layout) {
            (OltpRole::Begin, _) => "BEGIN".to_owned(),
            (OltpRole::Commit, _) => "COMMIT".to_owned(),
            (OltpRole::RandomPoints, _) => {
                let points = listed("?", ", ", parameters.random_points);
                format!("SELECT id, k, c, pad FROM {t} WHERE k IN ({points})")
            }
            (OltpRole::RandomRanges, _) => {
                let ranges = listed("k BETWEEN ? AND ?", " OR ", parameters.number_of_ranges);
                format!("SELECT count(k) FROM {t} WHERE {ranges}")
            }
            (OltpRole::BulkInsert, _) => format!("INSERT INTO {t} VALUES"),
            (_, SysbenchLayout::Sysbench10) => self.sql_1_0(&t),
            (_, SysbenchLayout::Sysbench04) => self.sql_0_4(&t),
        }
    }

    fn sql_1_0(self, t: &str) -> String {
        match self {
            OltpRole::Point => format!("SELECT c FROM {t} WHERE id=?"),
            OltpRole::SimpleRange => format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ?"),
            OltpRole::SumRange => format!("SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?"),
            OltpRole::OrderRange => format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c"),
            OltpRole::DistinctRange => format!("SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c"),
            OltpRole::IndexUpdate => format!("UPDATE {t} SET k=k+1 WHERE id=?"),
            OltpRole::NonIndexUpdate => format!("UPDATE {t} SET c=? WHERE id=?"),
            OltpRole::Delete => format!("DELETE FROM {t} WHERE id=?"),
            _ => format!("INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }

    fn sql_0_4(self, t: &str) -> String {
        match self {
            OltpRole::Point => format!("SELECT c from {t} where id=?"),
            OltpRole::SimpleRange => format!("SELECT c from {t} where id between ? and ?"),
            OltpRole::SumRange => format!("SELECT SUM(K) from {t} where id between ? and ?"),
            OltpRole::OrderRange => format!("SELECT c from {t} where id between ? and ? order by c"),
            OltpRole::DistinctRange => format!("SELECT DISTINCT c from {t} where id between ? and ? order by c"),
            OltpRole::IndexUpdate => format!("UPDATE {t} set k=k+1 where id=?"),
            OltpRole::NonIndexUpdate => format!("UPDATE {t} set c=? where id=?"),
            OltpRole::Delete => format!("DELETE from {t} where id=?"),
            _ => format!("INSERT INTO {t} values(?,0,' ','{PAD_OF_0_4_INSERTS}')"),
        }
    }
}

/// The `pad` of rows that transactions of sysbench 0.4 insert.
pub const PAD_OF_0_4_INSERTS: &str = "aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy";

fn listed(part: &str, separator: &str, times: u64) -> String {
    repeat_n(part, times as usize).collect::<Vec<_>>().join(separator)
}

/// Statements that go to one table, which is drawn anew for each step: `roles` in order, `times` over. Each draws its
/// own id, but a delete shares its id with the insert that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OltpStep {
    pub roles: &'static [OltpRole],
    pub times: u64,
}

/// One transaction of `kind`, in order. Steps that would send nothing are left out.
pub fn steps(kind: OltpKind, p: &OltpParameters) -> Vec<OltpStep> {
    let step = |roles: &'static [OltpRole], times| OltpStep { roles, times };
    let points = step(&[OltpRole::Point], p.point_selects);
    let range = |roles, times| step(roles, if p.range_selects { times } else { 0 });
    let ranges = [
        range(&[OltpRole::SimpleRange], p.simple_ranges),
        range(&[OltpRole::SumRange], p.sum_ranges),
        range(&[OltpRole::OrderRange], p.order_ranges),
        range(&[OltpRole::DistinctRange], p.distinct_ranges),
    ];
    let index_updates = step(&[OltpRole::IndexUpdate], p.index_updates);
    let non_index_updates = step(&[OltpRole::NonIndexUpdate], p.non_index_updates);
    let writes = [index_updates, non_index_updates, step(&[OltpRole::Delete, OltpRole::Insert], p.delete_inserts)];

    let bracket = |body: Vec<OltpStep>| {
        let brackets = if p.skip_trx { 0 } else { 1 };
        let mut all = vec![step(&[OltpRole::Begin], brackets)];
        all.extend(body);
        all.push(step(&[OltpRole::Commit], brackets));
        all
    };
    let all = match kind {
        OltpKind::ReadWrite => bracket([&[points], &ranges[..], &writes].concat()),
        OltpKind::ReadOnly => bracket([&[points], &ranges[..]].concat()),
        OltpKind::WriteOnly => bracket(writes.to_vec()),
        OltpKind::PointSelect => vec![step(&[OltpRole::Point], 1)],
        OltpKind::Insert => vec![step(&[OltpRole::Insert], 1)],
        OltpKind::Delete => vec![step(&[OltpRole::Delete], 1)],
        OltpKind::UpdateIndex => vec![index_updates],
        OltpKind::UpdateNonIndex => vec![non_index_updates],
        OltpKind::SelectRandomPoints => vec![step(&[OltpRole::RandomPoints], 1)],
        OltpKind::SelectRandomRanges => vec![step(&[OltpRole::RandomRanges], 1)],
        OltpKind::BulkInsert => vec![step(&[OltpRole::BulkInsert], 1)],
    };
    all.into_iter().filter(|step| step.times > 0).collect()
}

/// The statements of one transaction by kind. For `bulk_insert`, whose transaction is a row, the insert that contains
/// it.
pub fn per_transaction(kind: OltpKind, parameters: &OltpParameters) -> StatementCounts {
    let mut counts = StatementCounts::default();
    for step in steps(kind, parameters) {
        step.roles.iter().for_each(|role| counts[role.kind()] += step.times);
    }
    counts
}

/// All texts of a workload: per role in order of first use, one for each table, or one where no table is named.
#[derive(Clone, Debug)]
pub struct OltpStatements {
    statements: Vec<Statement>,
    first: [Option<usize>; OltpRole::COUNT],
}

impl OltpStatements {
    pub fn new(kind: OltpKind, parameters: &OltpParameters) -> OltpStatements {
        // sysbench sends these two as text with any protocol.
        let text_only = matches!(kind, OltpKind::Insert | OltpKind::BulkInsert);
        // The two select_random workloads read the first table only.
        let only_first = matches!(kind, OltpKind::SelectRandomPoints | OltpKind::SelectRandomRanges);
        let mut catalogue = OltpStatements { statements: Vec::new(), first: [None; OltpRole::COUNT] };
        for role in steps(kind, parameters).iter().flat_map(|step| step.roles).copied() {
            if catalogue.first[role as usize].is_some() {
                continue;
            }
            catalogue.first[role as usize] = Some(catalogue.statements.len());
            let tables = if role.names_a_table() && !only_first { parameters.tables } else { 1 };
            catalogue.statements.extend((1..=tables).map(|table| Statement {
                name: role.name(),
                kind: role.kind(),
                sql: role.sql(parameters, table),
                prepared: role.names_a_table() && !text_only,
            }));
        }
        catalogue
    }

    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The position of the statement of `role` on `table` (from 1) in [`OltpStatements::statements`]; BEGIN and COMMIT are
    /// the same for every table. `None` if the workload has no such statement.
    #[inline]
    pub fn position(&self, role: OltpRole, table: u64) -> Option<usize> {
        let offset = if role.names_a_table() { table as usize - 1 } else { 0 };
        self.first[role as usize].map(|first| first + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(kind: OltpKind, pairs: &[(&str, &str)]) -> OltpParameters {
        OltpParameters::parse(kind, pairs.iter().copied()).expect("accepted")
    }

    fn texts(kind: OltpKind, pairs: &[(&str, &str)]) -> Vec<String> {
        let catalogue = OltpStatements::new(kind, &parse(kind, pairs));
        catalogue.statements().iter().map(|statement| statement.sql.clone()).collect()
    }

    /// (reads, writes, others) as sysbench counts them.
    fn reads_writes_others(kind: OltpKind, pairs: &[(&str, &str)]) -> (u64, u64, u64) {
        let counts = per_transaction(kind, &parse(kind, pairs));
        (counts.select, counts.insert + counts.update + counts.delete, counts.begin + counts.commit)
    }

    #[test]
    fn transactions_have_the_statement_counts_of_sysbench() {
        for (kind, expected) in [
            (OltpKind::ReadWrite, (14, 4, 2)),
            (OltpKind::ReadOnly, (14, 0, 2)),
            (OltpKind::WriteOnly, (0, 4, 2)),
            (OltpKind::PointSelect, (1, 0, 0)),
            (OltpKind::Insert, (0, 1, 0)),
            (OltpKind::Delete, (0, 1, 0)),
            (OltpKind::UpdateIndex, (0, 1, 0)),
            (OltpKind::UpdateNonIndex, (0, 1, 0)),
            (OltpKind::SelectRandomPoints, (1, 0, 0)),
            (OltpKind::SelectRandomRanges, (1, 0, 0)),
            (OltpKind::BulkInsert, (0, 1, 0)),
        ] {
            assert_eq!(reads_writes_others(kind, &[]), expected, "{kind:?}");
        }
        assert_eq!(reads_writes_others(OltpKind::ReadWrite, &[("layout", "sysbench-0.4")]), (14, 4, 2));
    }

    #[test]
    fn parameters_change_the_counts() {
        let counts = |pairs: &[_]| reads_writes_others(OltpKind::ReadWrite, pairs);
        assert_eq!(counts(&[("skip-trx", "on")]), (14, 4, 0));
        assert_eq!(counts(&[("range-selects", "off")]), (10, 4, 2));
        assert_eq!(counts(&[("point-selects", "3"), ("sum-ranges", "5"), ("delete-inserts", "2")]), (11, 6, 2));
        assert_eq!(reads_writes_others(OltpKind::UpdateIndex, &[("index-updates", "4")]), (0, 4, 0));
    }

    #[test]
    fn a_transaction_reads_in_this_order() {
        let order: Vec<(&str, u64)> = steps(OltpKind::ReadWrite, &OltpParameters::default())
            .iter()
            .flat_map(|step| step.roles.iter().map(|role| (role.name(), step.times)))
            .collect();
        assert_eq!(
            order,
            [
                ("begin", 1),
                ("point", 10),
                ("simple_range", 1),
                ("sum_range", 1),
                ("order_range", 1),
                ("distinct_range", 1),
                ("index_update", 1),
                ("non_index_update", 1),
                ("delete", 1),
                ("insert", 1),
                ("commit", 1),
            ]
        );
    }

    #[test]
    fn texts_are_those_of_sysbench_1_0() {
        assert_eq!(
            texts(OltpKind::ReadWrite, &[]),
            [
                "BEGIN",
                "SELECT c FROM sbtest1 WHERE id=?",
                "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
                "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
                "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
                "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
                "UPDATE sbtest1 SET k=k+1 WHERE id=?",
                "UPDATE sbtest1 SET c=? WHERE id=?",
                "DELETE FROM sbtest1 WHERE id=?",
                "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
                "COMMIT",
            ]
        );
        assert_eq!(
            texts(OltpKind::SelectRandomPoints, &[("random-points", "3"), ("tables", "4")]),
            ["SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?)"]
        );
        assert_eq!(
            texts(OltpKind::SelectRandomRanges, &[("number-of-ranges", "2")]),
            ["SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?"]
        );
        assert_eq!(
            texts(OltpKind::BulkInsert, &[("tables", "2")]),
            ["INSERT INTO sbtest1 VALUES", "INSERT INTO sbtest2 VALUES"]
        );
    }

    #[test]
    fn texts_are_those_of_sysbench_0_4() {
        assert_eq!(
            texts(OltpKind::ReadWrite, &[("layout", "sysbench-0.4")]),
            [
                "BEGIN",
                "SELECT c from sbtest where id=?",
                "SELECT c from sbtest where id between ? and ?",
                "SELECT SUM(K) from sbtest where id between ? and ?",
                "SELECT c from sbtest where id between ? and ? order by c",
                "SELECT DISTINCT c from sbtest where id between ? and ? order by c",
                "UPDATE sbtest set k=k+1 where id=?",
                "UPDATE sbtest set c=? where id=?",
                "DELETE from sbtest where id=?",
                "INSERT INTO sbtest values(?,0,' ','aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy')",
                "COMMIT",
            ]
        );
    }

    #[test]
    fn positions_lead_to_the_statement_of_role_and_table() {
        let parameters = parse(OltpKind::ReadWrite, &[("tables", "7")]);
        let catalogue = OltpStatements::new(OltpKind::ReadWrite, &parameters);
        assert_eq!(catalogue.statements().len(), 9 * 7 + 2);
        for table in 1..=7 {
            for role in steps(OltpKind::ReadWrite, &parameters).iter().flat_map(|step| step.roles).copied() {
                let statement = &catalogue.statements()[catalogue.position(role, table).expect("used")];
                assert_eq!(statement.name, role.name());
                assert_eq!(statement.sql, role.sql(&parameters, table));
            }
        }
        assert_eq!(catalogue.position(OltpRole::RandomPoints, 1), None);
    }

    #[test]
    fn what_a_transaction_never_sends_is_not_prepared() {
        let unused = [("range-selects", "off"), ("skip-trx", "on"), ("delete-inserts", "0"), ("index-updates", "0")];
        assert_eq!(
            texts(OltpKind::ReadWrite, &unused),
            ["SELECT c FROM sbtest1 WHERE id=?", "UPDATE sbtest1 SET c=? WHERE id=?"]
        );
    }
}
