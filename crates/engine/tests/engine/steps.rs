//! A workload of given statements, one after the other.

use plimsoll_engine::workload::{DeclaredWorkload, Input};
use plimsoll_engine::{Failure, Session, Statement};
use plimsoll_load::recorder::End;
use plimsoll_model::StatementKind;
use plimsoll_wire::Value;

/// Each transaction sends all statements in order. Parameters are the number of the connection, a number drawn
/// from 1 to 1,000,000, and the number of the transaction, as far as a statement has room for them.
pub struct Steps {
    statements: Vec<Statement>,
    end: End,
}

impl Steps {
    /// Statements that are transactions by themselves.
    pub fn autocommit(statements: &[(StatementKind, &str)]) -> Steps {
        Steps { statements: prepared(statements), end: End::Autocommit(statements.len() as u64) }
    }

    /// Statements between BEGIN and COMMIT.
    pub fn transaction(statements: &[(StatementKind, &str)]) -> Steps {
        let mut all = vec![text("begin", StatementKind::Begin, "BEGIN")];
        all.extend(prepared(statements));
        all.push(text("commit", StatementKind::Commit, "COMMIT"));
        Steps { statements: all, end: End::Committed }
    }
}

pub fn text(name: &'static str, kind: StatementKind, sql: &str) -> Statement {
    Statement { name, kind, sql: sql.to_owned(), prepared: false }
}

fn prepared(statements: &[(StatementKind, &str)]) -> Vec<Statement> {
    let statement = |(kind, sql): &(StatementKind, &str)| Statement {
        name: kind.name(),
        kind: *kind,
        sql: (*sql).to_owned(),
        prepared: true,
    };
    statements.iter().map(statement).collect()
}

impl DeclaredWorkload for Steps {
    type State = Vec<usize>;

    fn statements(&self) -> Vec<Statement> {
        self.statements.clone()
    }

    fn state(&self, _connection: usize, _connections: usize) -> Vec<usize> {
        self.statements.iter().map(|statement| statement.sql.matches('?').count()).collect()
    }

    async fn transaction(
        &self,
        parameters: &mut Vec<usize>,
        session: &mut Session,
        input: &mut Input,
    ) -> Result<End, Failure> {
        for (number, count) in parameters.iter().enumerate() {
            let values = [
                Value::Int(input.connection as i64),
                Value::Int(input.rng.between(1, 1_000_000) as i64),
                Value::Int(input.number as i64),
            ];
            session.execute(number, &values[..*count]).await?;
        }
        Ok(self.end)
    }
}
