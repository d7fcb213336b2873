//! The workload that asks for nothing: one `SELECT 1`, so that what is measured is the path and the load generator.
//!
//! `SELECT 1` rather than `DO 0`, because it answers with a result, like the reads that it stands for, and because
//! servers count it as a SELECT.

use plimsoll_engine::workload::Input;
use plimsoll_engine::{DeclaredWorkload, Failure, Session, Statement};
use plimsoll_load::recorder::End;
use plimsoll_model::StatementKind;

const NAME: &str = "null";
const SQL: &str = "SELECT 1";

/// The workload. It has no data and no parameters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Null;

impl DeclaredWorkload for Null {
    type State = ();

    fn statements(&self) -> Vec<Statement> {
        vec![Statement { name: NAME, kind: StatementKind::Select, sql: SQL.to_owned(), prepared: true }]
    }

    fn state(&self, _connection: usize, _connections: usize) {}

    async fn transaction(&self, _: &mut (), session: &mut Session, _: &mut Input) -> Result<End, Failure> {
        session.execute(0, &[]).await?;
        Ok(End::Autocommit(1))
    }
}
