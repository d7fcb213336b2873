//! One transaction: the next entry of its client, beside a row drawn from all.

use super::parameters::LedgerParameters;
use super::statements::{LedgerRole, statements};
use plimsoll_engine::workload::Input;
use plimsoll_engine::{DeclaredWorkload, Failure, Session, Statement};
use plimsoll_load::recorder::End;
use plimsoll_wire::Value;
use std::io::Write;

/// The workload with its parameters.
#[derive(Clone, Debug)]
pub struct LedgerWorkload {
    rows: u64,
}

/// What a connection keeps.
#[derive(Debug)]
pub struct LedgerState {
    client: i64,
    /// Its last entry that is committed; none if that has to be asked.
    last: Option<i64>,
    text: Vec<u8>,
}

impl LedgerWorkload {
    pub fn new(parameters: &LedgerParameters) -> LedgerWorkload {
        LedgerWorkload { rows: parameters.rows }
    }
}

/// The client that a connection, counted from 0, writes as.
pub fn client(connection: u64) -> u64 {
    connection + 1
}

/// `CRC32('client/number/row')`, as the server computes it.
fn checksum(client: i64, number: i64, row: i64, text: &mut Vec<u8>) -> i64 {
    text.clear();
    // Writing into memory does not fail.
    let _ = write!(text, "{client}/{number}/{row}");
    i64::from(crc32fast::hash(text))
}

impl DeclaredWorkload for LedgerWorkload {
    type State = LedgerState;

    fn statements(&self) -> Vec<Statement> {
        statements()
    }

    fn state(&self, connection: usize, _connections: usize) -> LedgerState {
        LedgerState { client: client(connection as u64) as i64, last: None, text: Vec::new() }
    }

    async fn transaction(
        &self,
        state: &mut LedgerState,
        session: &mut Session,
        input: &mut Input,
    ) -> Result<End, Failure> {
        // After a failure it stays unknown.
        let last = match state.last.take() {
            Some(last) => last,
            None => {
                session.select(LedgerRole::Last as usize, &[Value::Int(state.client)]).await?;
                session.row(0).ok_or_else(|| Failure::Setup("the server gave no last entry".to_owned()))?.int(0)?
            }
        };
        let (number, row) = (last + 1, input.rng.between(1, self.rows) as i64);
        let sum = checksum(state.client, number, row, &mut state.text);
        let [client, number, row, sum] = [state.client, number, row, sum].map(Value::Int);
        session.execute(LedgerRole::Begin as usize, &[]).await?;
        session.execute(LedgerRole::Row as usize, &[client, number, sum, row]).await?;
        session.execute(LedgerRole::Entry as usize, &[client, number, row, sum]).await?;
        session.execute(LedgerRole::Client as usize, &[client, number, sum]).await?;
        input.entry = last as u64 + 1;
        session.execute(LedgerRole::Commit as usize, &[]).await?;
        state.last = Some(last + 1);
        Ok(End::Committed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_that_of_the_server() {
        // SELECT CRC32('1/2/3') on MariaDB 10.11 and MySQL 9.7.
        assert_eq!(checksum(1, 2, 3, &mut Vec::new()), i64::from(crc32fast::hash(b"1/2/3")));
        assert_eq!(crc32fast::hash(b"MySQL"), 3_259_397_556, "the example of the MySQL Reference Manual");
    }
}
