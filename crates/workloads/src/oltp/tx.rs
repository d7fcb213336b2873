//! One transaction of each kind.
//!
//! Each step draws its table uniformly, each statement its id from the chosen distribution, as sysbench 1.0 does. Only
//! the kinds that choose new ids keep a count from one transaction to the next; all others depend on their input alone.

use super::OltpKind;
use super::schema::table_name;
use super::statements::{OltpRole, OltpStatements, OltpStep, per_transaction, steps};
use super::values::{OltpParameters, SysbenchLayout};
use crate::digits::{C_BYTES, PAD_BYTES, append_c, append_integer, append_pad};
use crate::distribution::RangeSampler;
use crate::unique::Unique;
use plimsoll_engine::workload::Input;
use plimsoll_engine::{DeclaredWorkload, Failure, Session, Statement};
use plimsoll_load::recorder::End;
use plimsoll_load::seed::Rng;
use plimsoll_model::StatementKind;
use plimsoll_wire::Value;

/// The client's buffer of `bulk_insert`.
const BULK_BYTES: usize = 512 * 1024;

/// A workload of the family with its parameters.
#[derive(Clone, Debug)]
pub struct Oltp {
    kind: OltpKind,
    parameters: OltpParameters,
    steps: Vec<OltpStep>,
    catalogue: OltpStatements,
    ids: RangeSampler,
    end: End,
    new_ids: Unique,
    first_new_id: u64,
}

/// What a connection keeps.
#[derive(Debug)]
pub struct OltpState {
    c: Vec<u8>,
    pad: Vec<u8>,
    sql: Vec<u8>,
    values: Vec<Value<'static>>,
    /// The values of k that this connection asks for in `select_random_*`.
    slice: RangeSampler,
    /// Transactions that chose new ids, including the current one.
    begun: u64,
    /// The generator of the current transaction. A retry comes with the same one again, and must choose the same ids.
    under_way: Option<Rng>,
    /// The statement that the buffer of `bulk_insert` is sent as.
    bulk: Option<usize>,
    /// The buffer of `bulk_insert` was sent and not accepted so far.
    refused: bool,
}

impl OltpState {
    /// Counts a transaction unless it is a retry; true if it was counted.
    fn begin(&mut self, input: &Input) -> bool {
        let is_new = self.under_way.as_ref() != Some(&input.rng);
        if is_new {
            self.begun += 1;
            self.under_way = Some(input.rng.clone());
        }
        is_new
    }
}

impl Oltp {
    pub fn new(kind: OltpKind, parameters: &OltpParameters) -> Oltp {
        let steps = steps(kind, parameters);
        let counts = per_transaction(kind, parameters);
        let statements = StatementKind::ALL.iter().map(|kind| counts[*kind]).sum();
        Oltp {
            kind,
            parameters: parameters.clone(),
            catalogue: OltpStatements::new(kind, parameters),
            ids: parameters.distribution().over(1, parameters.table_size),
            end: if counts.begin > 0 { End::Committed } else { End::Autocommit(statements) },
            steps,
            new_ids: Unique::new(0),
            first_new_id: 0,
        }
    }

    /// The query to ask before connections are made, if ids of earlier runs must not be chosen again: for
    /// `bulk_insert`, and for `oltp_insert` without AUTO_INCREMENT. It answers one number for [`Oltp::continue_after`].
    pub fn continuation_query(&self) -> Option<String> {
        let per_table = match self.kind {
            OltpKind::BulkInsert => "COALESCE(MAX(id), 0)",
            OltpKind::Insert if !self.parameters.auto_inc => "COUNT(*)",
            _ => return None,
        };
        let tables = (1..=self.parameters.tables).map(|table| table_name(self.parameters.layout, table));
        let parts: Vec<String> = tables.map(|name| format!("SELECT {per_table} AS n FROM {name}")).collect();
        let whole = if self.kind == OltpKind::BulkInsert { "MAX" } else { "SUM" };
        Some(format!("SELECT {whole}(n) FROM ({}) AS tables", parts.join(" UNION ALL ")))
    }

    /// Continues after the ids of earlier runs; `found` is the answer to [`Oltp::continuation_query`].
    pub fn continue_after(&mut self, found: u64) {
        self.first_new_id = match (self.kind, found) {
            (_, 0) => 0,
            (OltpKind::BulkInsert, highest) => highest,
            // Connections that share a sequence use it up unevenly, so its end lies beyond the number of rows: by less
            // than half, unless there were very few.
            (_, rows) => 2 * rows + (1 << 20),
        };
    }

    /// The ids of a range that begins at `id`. sysbench 1.0 lets it run past the end of the table; 0.4 moved its start
    /// so that it fits, and made the distinct range one id longer.
    fn range(&self, role: OltpRole, id: i64) -> [Value<'static>; 2] {
        let length = self.parameters.range_size as i64;
        let (from, to) = match self.parameters.layout {
            SysbenchLayout::Sysbench10 => (id, id + length - 1),
            SysbenchLayout::Sysbench04 => {
                let from = id.min(self.parameters.table_size as i64 - length).max(1);
                (from, from + length - i64::from(role != OltpRole::DistinctRange))
            }
        };
        [Value::Int(from), Value::Int(to)]
    }

    /// Sends the statement of `role` on one row.
    async fn send(
        &self,
        state: &mut OltpState,
        session: &mut Session,
        rng: &mut Rng,
        role: OltpRole,
        table: u64,
        id: i64,
    ) -> Result<(), Failure> {
        let number = self.number(role, table);
        match role {
            OltpRole::Begin | OltpRole::Commit => session.execute(number, &[]).await?,
            OltpRole::Point | OltpRole::IndexUpdate | OltpRole::Delete => {
                session.execute(number, &[Value::Int(id)]).await?
            }
            OltpRole::NonIndexUpdate => {
                state.c.clear();
                append_c(rng, &mut state.c);
                session.execute(number, &[Value::Bytes(&state.c), Value::Int(id)]).await?
            }
            OltpRole::Insert if self.parameters.layout == SysbenchLayout::Sysbench04 => {
                session.execute(number, &[Value::Int(id)]).await?
            }
            OltpRole::Insert => {
                let k = self.ids.draw(rng) as i64;
                state.c.clear();
                state.pad.clear();
                append_c(rng, &mut state.c);
                append_pad(rng, &mut state.pad);
                let values = [Value::Int(id), Value::Int(k), Value::Bytes(&state.c), Value::Bytes(&state.pad)];
                session.execute(number, &values).await?
            }
            _ => session.execute(number, &self.range(role, id)).await?,
        };
        Ok(())
    }

    async fn all_steps(&self, state: &mut OltpState, session: &mut Session, rng: &mut Rng) -> Result<(), Failure> {
        for step in &self.steps {
            let table = rng.between(1, self.parameters.tables);
            for _ in 0..step.times {
                let id = self.ids.draw(rng) as i64;
                for role in step.roles {
                    self.send(state, session, rng, *role, table, id).await?;
                }
            }
        }
        Ok(())
    }

    /// `select_random_points`: k IN (…).
    async fn random_points(&self, state: &mut OltpState, session: &mut Session, rng: &mut Rng) -> Result<(), Failure> {
        state.values.clear();
        for _ in 0..self.parameters.random_points {
            state.values.push(Value::Int(state.slice.draw(rng) as i64));
        }
        session.execute(self.number(OltpRole::RandomPoints, 1), &state.values).await?;
        Ok(())
    }

    /// `select_random_ranges`: k BETWEEN … OR ….
    async fn random_ranges(&self, state: &mut OltpState, session: &mut Session, rng: &mut Rng) -> Result<(), Failure> {
        state.values.clear();
        for _ in 0..self.parameters.number_of_ranges {
            let low = state.slice.draw(rng) as i64;
            state.values.extend([Value::Int(low), Value::Int(low + self.parameters.delta as i64)]);
        }
        session.execute(self.number(OltpRole::RandomRanges, 1), &state.values).await?;
        Ok(())
    }

    /// `oltp_insert`: one row as text. Id 0 lets AUTO_INCREMENT choose.
    async fn insert(&self, state: &mut OltpState, session: &mut Session, input: &mut Input) -> Result<(), Failure> {
        state.begin(input);
        let index = (state.begun - 1) * input.connections as u64 + input.connection as u64;
        let rng = &mut input.rng;
        let table = rng.between(1, self.parameters.tables);
        let id = if self.parameters.auto_inc { 0 } else { self.new_ids.signed_at(self.first_new_id + index) };
        let sql = &mut state.sql;
        sql.clear();
        sql.extend_from_slice(b"INSERT INTO sbtest");
        append_integer(table as i64, sql);
        sql.extend_from_slice(b" (id, k, c, pad) VALUES (");
        append_integer(id, sql);
        sql.extend_from_slice(b", ");
        append_integer(self.ids.draw(rng) as i64, sql);
        sql.extend_from_slice(b", '");
        append_c(rng, sql);
        sql.extend_from_slice(b"', '");
        append_pad(rng, sql);
        sql.extend_from_slice(b"')");
        session.query(self.number(OltpRole::Insert, table), sql).await?;
        Ok(())
    }

    /// `bulk_insert`: adds the row (n, n) to the buffer, and sends the buffer when the row no longer fits. Connections
    /// have tables of their own; if there are fewer tables, connections that share one take turns with n.
    async fn bulk_insert(&self, state: &mut OltpState, session: &mut Session, input: &Input) -> Result<(), Failure> {
        const ROW_BYTES_MAX: usize = ",(2147483647,2147483647)".len();
        let tables = self.parameters.tables;
        let connection = input.connection as u64;
        let table = connection % tables + 1;
        let sharing = (input.connections as u64).div_ceil(tables);
        let is_new = state.begin(input);
        if is_new && state.refused {
            // The transaction that sent the buffer was given up, and its rows with it.
            state.sql.clear();
        }
        if state.sql.len() + ROW_BYTES_MAX > BULK_BYTES {
            state.refused = true;
            session.query(self.number(OltpRole::BulkInsert, table), &state.sql).await?;
            state.sql.clear();
        }
        state.refused = false;
        state.bulk = Some(self.number(OltpRole::BulkInsert, table));
        let n = (self.first_new_id + 1 + (state.begun - 1) * sharing + connection / tables) as i64;
        if state.sql.is_empty() {
            state.sql.extend_from_slice(b"INSERT INTO sbtest");
            append_integer(table as i64, &mut state.sql);
            state.sql.extend_from_slice(b" VALUES(");
        } else {
            state.sql.extend_from_slice(b",(");
        }
        append_integer(n, &mut state.sql);
        state.sql.push(b',');
        append_integer(n, &mut state.sql);
        state.sql.push(b')');
        Ok(())
    }

    #[inline]
    fn number(&self, role: OltpRole, table: u64) -> usize {
        self.catalogue.position(role, table).expect("the catalogue holds every role of the steps")
    }
}

impl DeclaredWorkload for Oltp {
    type State = OltpState;

    fn statements(&self) -> Vec<Statement> {
        self.catalogue.statements().to_vec()
    }

    fn state(&self, connection: usize, connections: usize) -> OltpState {
        let (rows, connections) = (self.parameters.table_size, connections.max(1) as u64);
        let length = (rows / connections).max(1);
        let low = (connection as u64 * length) % rows + 1;
        let (values, bytes) = match self.kind {
            OltpKind::SelectRandomPoints => (self.parameters.random_points, 0),
            OltpKind::SelectRandomRanges => (2 * self.parameters.number_of_ranges, 0),
            OltpKind::Insert => (0, 256),
            OltpKind::BulkInsert => (0, BULK_BYTES),
            _ => (0, 0),
        };
        OltpState {
            c: Vec::with_capacity(C_BYTES),
            pad: Vec::with_capacity(PAD_BYTES),
            sql: Vec::with_capacity(bytes),
            values: Vec::with_capacity(values as usize),
            slice: self.parameters.distribution().over(low, (low + length - 1).min(rows)),
            begun: 0,
            under_way: None,
            bulk: None,
            refused: false,
        }
    }

    async fn transaction(
        &self,
        state: &mut OltpState,
        session: &mut Session,
        input: &mut Input,
    ) -> Result<End, Failure> {
        match self.kind {
            OltpKind::Insert => self.insert(state, session, input).await?,
            OltpKind::BulkInsert => self.bulk_insert(state, session, input).await?,
            OltpKind::SelectRandomPoints => self.random_points(state, session, &mut input.rng).await?,
            OltpKind::SelectRandomRanges => self.random_ranges(state, session, &mut input.rng).await?,
            _ => self.all_steps(state, session, &mut input.rng).await?,
        }
        Ok(self.end)
    }

    /// The rows that are still in the buffer of `bulk_insert`.
    async fn finish(&self, state: OltpState, session: &mut Session) -> Result<(), Failure> {
        if let Some(statement) = state.bulk.filter(|_| !state.sql.is_empty() && !state.refused) {
            session.query(statement, &state.sql).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oltp(kind: OltpKind, pairs: &[(&str, &str)]) -> Oltp {
        Oltp::new(kind, &OltpParameters::parse(kind, pairs.iter().copied()).expect("accepted"))
    }

    #[test]
    fn a_transaction_ends_in_a_commit_or_is_one_per_statement() {
        assert_eq!(oltp(OltpKind::ReadWrite, &[]).end, End::Committed);
        assert_eq!(oltp(OltpKind::ReadWrite, &[("skip-trx", "on")]).end, End::Autocommit(18));
        assert_eq!(oltp(OltpKind::UpdateIndex, &[("index-updates", "3")]).end, End::Autocommit(3));
        assert_eq!(oltp(OltpKind::BulkInsert, &[]).end, End::Autocommit(1));
    }

    #[test]
    fn only_begin_commit_and_text_inserts_are_not_prepared() {
        let unprepared = |kind| {
            let statements = oltp(kind, &[]).statements();
            statements.into_iter().filter(|s| !s.prepared).map(|s| s.name).collect::<Vec<_>>()
        };
        assert_eq!(unprepared(OltpKind::ReadWrite), ["begin", "commit"]);
        assert_eq!(unprepared(OltpKind::Insert), ["insert"]);
        assert_eq!(unprepared(OltpKind::BulkInsert), ["bulk_insert"]);
        assert!(unprepared(OltpKind::SelectRandomRanges).is_empty());
    }

    #[test]
    fn ranges_run_past_the_end_in_1_0_and_fit_in_0_4() {
        let range = |pairs, role, id| {
            oltp(OltpKind::ReadWrite, pairs).range(role, id).map(|v| match v {
                Value::Int(number) => number,
                other => panic!("{other:?} is no id"),
            })
        };
        assert_eq!(range(&[], OltpRole::SimpleRange, 9_990), [9_990, 10_089]);
        assert_eq!(range(&[], OltpRole::DistinctRange, 1), [1, 100]);
        let older = &[("layout", "sysbench-0.4")][..];
        assert_eq!(range(older, OltpRole::SumRange, 5), [5, 104]);
        assert_eq!(range(older, OltpRole::OrderRange, 9_990), [9_900, 9_999]);
        assert_eq!(range(older, OltpRole::DistinctRange, 9_990), [9_900, 10_000]);
        let small = &[("layout", "sysbench-0.4"), ("table-size", "10")][..];
        assert_eq!(range(small, OltpRole::SimpleRange, 7), [1, 100]);
    }

    #[test]
    fn connections_draw_from_slices_of_their_own() {
        let oltp = oltp(OltpKind::SelectRandomPoints, &[("table-size", "100"), ("rand-type", "uniform")]);
        let mut rng = Rng::new(1, 1, 1);
        for (connections, length) in [(4, 25), (3, 33), (200, 1)] {
            for connection in 0..connections {
                let slice = oltp.state(connection, connections).slice;
                let first = (connection as u64 * length) % 100 + 1;
                for _ in 0..50 {
                    let k = slice.draw(&mut rng);
                    assert!((first..first + length).contains(&k), "{connection} of {connections} drew {k}");
                }
            }
        }
    }

    #[test]
    fn a_retry_does_not_count() {
        let mut state = oltp(OltpKind::BulkInsert, &[]).state(0, 1);
        let input = |number| Input {
            rng: Rng::new(1, 0, number),
            connection: 0,
            connections: 1,
            stream: 0,
            number,
            entry: number,
            queued: false,
            transaction: 0,
        };
        assert!(state.begin(&input(0)));
        assert!(!state.begin(&input(0)));
        assert!(state.begin(&input(1)));
        assert_eq!(state.begun, 2);
    }

    #[test]
    fn new_ids_continue_behind_those_of_earlier_runs() {
        let mut bulk = oltp(OltpKind::BulkInsert, &[("tables", "2")]);
        assert_eq!(
            bulk.continuation_query().expect("asks"),
            "SELECT MAX(n) FROM (SELECT COALESCE(MAX(id), 0) AS n FROM sbtest1 \
             UNION ALL SELECT COALESCE(MAX(id), 0) AS n FROM sbtest2) AS tables"
        );
        bulk.continue_after(500);
        assert_eq!(bulk.first_new_id, 500);
        assert_eq!(oltp(OltpKind::Insert, &[]).continuation_query(), None);
        let mut insert = oltp(OltpKind::Insert, &[("auto-inc", "off")]);
        assert_eq!(
            insert.continuation_query().expect("asks"),
            "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM sbtest1) AS tables"
        );
        insert.continue_after(0);
        assert_eq!(insert.first_new_id, 0);
        insert.continue_after(10);
        assert_eq!(insert.first_new_id, 1_048_596);
    }
}
