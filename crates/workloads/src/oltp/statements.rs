//! What a transaction sends: its steps in order, and the text of every statement.
//!
//! A [`Role`] is what a statement is for, a [`Step`] is a group of them that goes to one table, and a [`Catalogue`] is
//! the list of texts to prepare: one per role and table, roles in order of first use.

use super::Kind;
use super::schema::table_name;
use super::values::{Layout, Parameters};
use plimsoll_engine::Statement;
use plimsoll_model::{StatementCounts, StatementKind};
use std::iter::repeat_n;

/// What a statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
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

impl Role {
    const COUNT: usize = Role::Commit as usize + 1;

    pub const fn name(self) -> &'static str {
        match self {
            Role::Begin => "begin",
            Role::Point => "point",
            Role::SimpleRange => "simple_range",
            Role::SumRange => "sum_range",
            Role::OrderRange => "order_range",
            Role::DistinctRange => "distinct_range",
            Role::IndexUpdate => "index_update",
            Role::NonIndexUpdate => "non_index_update",
            Role::Delete => "delete",
            Role::Insert => "insert",
            Role::RandomPoints => "random_points",
            Role::RandomRanges => "random_ranges",
            Role::BulkInsert => "bulk_insert",
            Role::Commit => "commit",
        }
    }

    pub const fn kind(self) -> StatementKind {
        match self {
            Role::Begin => StatementKind::Begin,
            Role::Commit => StatementKind::Commit,
            Role::Point | Role::SimpleRange | Role::SumRange | Role::OrderRange | Role::DistinctRange => {
                StatementKind::Select
            }
            Role::RandomPoints | Role::RandomRanges => StatementKind::Select,
            Role::IndexUpdate | Role::NonIndexUpdate => StatementKind::Update,
            Role::Delete => StatementKind::Delete,
            Role::Insert | Role::BulkInsert => StatementKind::Insert,
        }
    }

    const fn names_a_table(self) -> bool {
        !matches!(self, Role::Begin | Role::Commit)
    }

    /// The text for table `table`, with `?` for its parameters.
    fn sql(self, parameters: &Parameters, table: u64) -> String {
        let t = table_name(parameters.layout, table);
        match (self, parameters.layout) {
            (Role::Begin, _) => "BEGIN".to_owned(),
            (Role::Commit, _) => "COMMIT".to_owned(),
            (Role::RandomPoints, _) => {
                let points = listed("?", ", ", parameters.random_points);
                format!("SELECT id, k, c, pad FROM {t} WHERE k IN ({points})")
            }
            (Role::RandomRanges, _) => {
                let ranges = listed("k BETWEEN ? AND ?", " OR ", parameters.number_of_ranges);
                format!("SELECT count(k) FROM {t} WHERE {ranges}")
            }
            (Role::BulkInsert, _) => format!("INSERT INTO {t} VALUES"),
            (_, Layout::Sysbench10) => self.sql_1_0(&t),
            (_, Layout::Sysbench04) => self.sql_0_4(&t),
        }
    }

    fn sql_1_0(self, t: &str) -> String {
        match self {
            Role::Point => format!("SELECT c FROM {t} WHERE id=?"),
            Role::SimpleRange => format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ?"),
            Role::SumRange => format!("SELECT SUM(k) FROM {t} WHERE id BETWEEN ? AND ?"),
            Role::OrderRange => format!("SELECT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c"),
            Role::DistinctRange => format!("SELECT DISTINCT c FROM {t} WHERE id BETWEEN ? AND ? ORDER BY c"),
            Role::IndexUpdate => format!("UPDATE {t} SET k=k+1 WHERE id=?"),
            Role::NonIndexUpdate => format!("UPDATE {t} SET c=? WHERE id=?"),
            Role::Delete => format!("DELETE FROM {t} WHERE id=?"),
            _ => format!("INSERT INTO {t} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }

    fn sql_0_4(self, t: &str) -> String {
        match self {
            Role::Point => format!("SELECT c from {t} where id=?"),
            Role::SimpleRange => format!("SELECT c from {t} where id between ? and ?"),
            Role::SumRange => format!("SELECT SUM(K) from {t} where id between ? and ?"),
            Role::OrderRange => format!("SELECT c from {t} where id between ? and ? order by c"),
            Role::DistinctRange => format!("SELECT DISTINCT c from {t} where id between ? and ? order by c"),
            Role::IndexUpdate => format!("UPDATE {t} set k=k+1 where id=?"),
            Role::NonIndexUpdate => format!("UPDATE {t} set c=? where id=?"),
            Role::Delete => format!("DELETE from {t} where id=?"),
            _ => format!("INSERT INTO {t} values(?,0,' ','{PAD_OF_0_4_INSERTS}')"),
        }
    }
}

/// The `pad` of rows that transactions of sysbench 0.4 insert.
pub const PAD_OF_0_4_INSERTS: &str = "aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy";

fn listed(part: &str, separator: &str, times: u64) -> String {
    repeat_n(part, times as usize).collect::<Vec<_>>().join(separator)
}

/// Statements that go to one table, drawn anew for each step: `roles` in order, `times` over. Each draws its own id,
/// but a delete shares its id with the insert that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub roles: &'static [Role],
    pub times: u64,
}

/// One transaction of `kind`, in order. Steps that would send nothing are left out.
pub fn steps(kind: Kind, p: &Parameters) -> Vec<Step> {
    let step = |roles: &'static [Role], times| Step { roles, times };
    let points = step(&[Role::Point], p.point_selects);
    let range = |roles, times| step(roles, if p.range_selects { times } else { 0 });
    let ranges = [
        range(&[Role::SimpleRange], p.simple_ranges),
        range(&[Role::SumRange], p.sum_ranges),
        range(&[Role::OrderRange], p.order_ranges),
        range(&[Role::DistinctRange], p.distinct_ranges),
    ];
    let index_updates = step(&[Role::IndexUpdate], p.index_updates);
    let non_index_updates = step(&[Role::NonIndexUpdate], p.non_index_updates);
    let writes = [index_updates, non_index_updates, step(&[Role::Delete, Role::Insert], p.delete_inserts)];

    let bracket = |body: Vec<Step>| {
        let brackets = if p.skip_trx { 0 } else { 1 };
        let mut all = vec![step(&[Role::Begin], brackets)];
        all.extend(body);
        all.push(step(&[Role::Commit], brackets));
        all
    };
    let all = match kind {
        Kind::ReadWrite => bracket([&[points], &ranges[..], &writes].concat()),
        Kind::ReadOnly => bracket([&[points], &ranges[..]].concat()),
        Kind::WriteOnly => bracket(writes.to_vec()),
        Kind::PointSelect => vec![step(&[Role::Point], 1)],
        Kind::Insert => vec![step(&[Role::Insert], 1)],
        Kind::Delete => vec![step(&[Role::Delete], 1)],
        Kind::UpdateIndex => vec![index_updates],
        Kind::UpdateNonIndex => vec![non_index_updates],
        Kind::SelectRandomPoints => vec![step(&[Role::RandomPoints], 1)],
        Kind::SelectRandomRanges => vec![step(&[Role::RandomRanges], 1)],
        Kind::BulkInsert => vec![step(&[Role::BulkInsert], 1)],
    };
    all.into_iter().filter(|step| step.times > 0).collect()
}

/// The statements of one transaction by kind. Of `bulk_insert`, whose transaction is a row, it is the insert it is part of.
pub fn per_transaction(kind: Kind, parameters: &Parameters) -> StatementCounts {
    let mut counts = StatementCounts::default();
    for step in steps(kind, parameters) {
        step.roles.iter().for_each(|role| counts[role.kind()] += step.times);
    }
    counts
}

/// All texts of a workload: per role in order of first use, one for each table, or one where no table is named.
#[derive(Clone, Debug)]
pub struct Catalogue {
    statements: Vec<Statement>,
    first: [Option<usize>; Role::COUNT],
}

impl Catalogue {
    pub fn new(kind: Kind, parameters: &Parameters) -> Catalogue {
        // sysbench sends these two as text whatever the protocol.
        let text_only = matches!(kind, Kind::Insert | Kind::BulkInsert);
        // The two select_random workloads read the first table only.
        let only_first = matches!(kind, Kind::SelectRandomPoints | Kind::SelectRandomRanges);
        let mut catalogue = Catalogue { statements: Vec::new(), first: [None; Role::COUNT] };
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

    /// Where the statement of `role` on `table` (from 1) stands in [`Catalogue::statements`]; BEGIN and COMMIT are the
    /// same for every table. `None` if the workload has no such statement.
    #[inline]
    pub fn position(&self, role: Role, table: u64) -> Option<usize> {
        let offset = if role.names_a_table() { table as usize - 1 } else { 0 };
        self.first[role as usize].map(|first| first + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(kind: Kind, pairs: &[(&str, &str)]) -> Parameters {
        Parameters::parse(kind, pairs.iter().copied()).expect("accepted")
    }

    fn texts(kind: Kind, pairs: &[(&str, &str)]) -> Vec<String> {
        let catalogue = Catalogue::new(kind, &parse(kind, pairs));
        catalogue.statements().iter().map(|statement| statement.sql.clone()).collect()
    }

    /// (reads, writes, others) as sysbench counts them.
    fn reads_writes_others(kind: Kind, pairs: &[(&str, &str)]) -> (u64, u64, u64) {
        let counts = per_transaction(kind, &parse(kind, pairs));
        (counts.select, counts.insert + counts.update + counts.delete, counts.begin + counts.commit)
    }

    #[test]
    fn transactions_have_the_statement_counts_of_sysbench() {
        for (kind, expected) in [
            (Kind::ReadWrite, (14, 4, 2)),
            (Kind::ReadOnly, (14, 0, 2)),
            (Kind::WriteOnly, (0, 4, 2)),
            (Kind::PointSelect, (1, 0, 0)),
            (Kind::Insert, (0, 1, 0)),
            (Kind::Delete, (0, 1, 0)),
            (Kind::UpdateIndex, (0, 1, 0)),
            (Kind::UpdateNonIndex, (0, 1, 0)),
            (Kind::SelectRandomPoints, (1, 0, 0)),
            (Kind::SelectRandomRanges, (1, 0, 0)),
            (Kind::BulkInsert, (0, 1, 0)),
        ] {
            assert_eq!(reads_writes_others(kind, &[]), expected, "{kind:?}");
        }
        assert_eq!(reads_writes_others(Kind::ReadWrite, &[("layout", "sysbench-0.4")]), (14, 4, 2));
    }

    #[test]
    fn parameters_change_the_counts() {
        let counts = |pairs: &[_]| reads_writes_others(Kind::ReadWrite, pairs);
        assert_eq!(counts(&[("skip-trx", "on")]), (14, 4, 0));
        assert_eq!(counts(&[("range-selects", "off")]), (10, 4, 2));
        assert_eq!(counts(&[("point-selects", "3"), ("sum-ranges", "5"), ("delete-inserts", "2")]), (11, 6, 2));
        assert_eq!(reads_writes_others(Kind::UpdateIndex, &[("index-updates", "4")]), (0, 4, 0));
    }

    #[test]
    fn a_transaction_reads_in_this_order() {
        let order: Vec<(&str, u64)> = steps(Kind::ReadWrite, &Parameters::default())
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
            texts(Kind::ReadWrite, &[]),
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
            texts(Kind::SelectRandomPoints, &[("random-points", "3"), ("tables", "4")]),
            ["SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?)"]
        );
        assert_eq!(
            texts(Kind::SelectRandomRanges, &[("number-of-ranges", "2")]),
            ["SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?"]
        );
        assert_eq!(
            texts(Kind::BulkInsert, &[("tables", "2")]),
            ["INSERT INTO sbtest1 VALUES", "INSERT INTO sbtest2 VALUES"]
        );
    }

    #[test]
    fn texts_are_those_of_sysbench_0_4() {
        assert_eq!(
            texts(Kind::ReadWrite, &[("layout", "sysbench-0.4")]),
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
        let parameters = parse(Kind::ReadWrite, &[("tables", "7")]);
        let catalogue = Catalogue::new(Kind::ReadWrite, &parameters);
        assert_eq!(catalogue.statements().len(), 9 * 7 + 2);
        for table in 1..=7 {
            for role in steps(Kind::ReadWrite, &parameters).iter().flat_map(|step| step.roles).copied() {
                let statement = &catalogue.statements()[catalogue.position(role, table).expect("used")];
                assert_eq!(statement.name, role.name());
                assert_eq!(statement.sql, role.sql(&parameters, table));
            }
        }
        assert_eq!(catalogue.position(Role::RandomPoints, 1), None);
    }

    #[test]
    fn what_a_transaction_never_sends_is_not_prepared() {
        let unused = [("range-selects", "off"), ("skip-trx", "on"), ("delete-inserts", "0"), ("index-updates", "0")];
        assert_eq!(
            texts(Kind::ReadWrite, &unused),
            ["SELECT c FROM sbtest1 WHERE id=?", "UPDATE sbtest1 SET c=? WHERE id=?"]
        );
    }
}
