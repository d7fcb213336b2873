//! A connection of a script, with what belongs to it: its statements, the results of the last one, its bulk insert.

use crate::bulk::BulkInsert;
use crate::dialect::Dialect;
use crate::results::Results;
use crate::statement::{Parameter, ScriptStatement};
use plimsoll_engine::connection::Connection;
use plimsoll_engine::executor::{Slot, SlotBeside};
use plimsoll_engine::session::NOT_PREPARABLE;
use plimsoll_engine::{Connector, Failure, Protocol};
use plimsoll_load::source::Peer;
use plimsoll_model::StatementKind;
use plimsoll_wire::Value;
use plimsoll_wire::response::{Discard, ResponseTotals};
use plimsoll_wire::rows::TextRows;

pub struct Held {
    /// Closed before its slot is given back; none in a dry run.
    connection: Option<Connection>,
    beside: SlotBeside,
    /// The place of its server among several.
    pub server: usize,
    pub statements: Vec<Option<ScriptStatement>>,
    pub results: Results,
    pub bulk: BulkInsert,
}

impl Held {
    /// Connects to the run's server, or to the one at this place among the dialect's.
    ///
    /// # Errors
    /// Those of connecting.
    pub async fn open(
        connector: &Connector,
        slot: &Slot,
        dialect: Option<&Dialect>,
        server: usize,
    ) -> Result<Box<Held>, Failure> {
        let Connector { endpoint, reactor, .. } = connector;
        let beside = reactor.slot_beside(slot);
        let chosen = dialect.map(|dialect| dialect.servers.endpoint(server));
        let connection = match (dialect, chosen) {
            (Some(dialect), _) if dialect.is_dry => None,
            (_, Some(chosen)) => Some(Connection::open(&chosen?, reactor.clone(), beside.slot.clone()).await?),
            (_, None) => Some(Connection::open(endpoint, reactor.clone(), beside.slot.clone()).await?),
        };
        let (statements, results, bulk) = (Vec::new(), Results::default(), BulkInsert::default());
        Ok(Box::new(Held { connection, beside, server, statements, results, bulk }))
    }

    /// What serves it; of a dry run nobody.
    pub fn peer(&self) -> Peer {
        self.connection.as_ref().map(Connection::peer).unwrap_or_default()
    }

    pub fn is_dry(&self) -> bool {
        self.connection.is_none()
    }

    pub fn in_transaction(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::in_transaction)
    }

    /// Sends a statement as text and keeps its rows.
    ///
    /// # Errors
    /// Those of the exchange.
    pub async fn query(&mut self, sql: &[u8]) -> Result<ResponseTotals, Failure> {
        self.results.clear();
        match &mut self.connection {
            Some(connection) => connection.query(sql, &mut self.results).await,
            None => Ok(ResponseTotals::default()),
        }
    }

    /// Prepares a statement: its place. What the server cannot prepare is sent as text.
    ///
    /// # Errors
    /// Those of the exchange.
    pub async fn prepare(
        &mut self,
        sql: &str,
        kind: Option<StatementKind>,
        protocol: Protocol,
    ) -> Result<usize, Failure> {
        let answer = match (&mut self.connection, protocol) {
            (Some(connection), Protocol::Prepared) => match connection.prepare(sql, &mut Discard).await {
                Err(Failure::Server(message)) if message.code == NOT_PREPARABLE => None,
                answer => Some(answer?),
            },
            _ => None,
        };
        self.statements.push(Some(ScriptStatement::new(sql, kind, answer)));
        Ok(self.statements.len() - 1)
    }

    /// The statement at a place, unless it is closed.
    pub fn statement(&mut self, place: usize) -> Option<&mut ScriptStatement> {
        self.statements.get_mut(place)?.as_mut()
    }

    /// Executes a prepared statement with the values that its parameters have; its rows are counted.
    ///
    /// # Errors
    /// Those of the exchange.
    pub async fn execute(&mut self, place: usize, parameters: &[Parameter]) -> Result<ResponseTotals, Failure> {
        self.results.clear();
        let (Some(connection), Some(Some(statement))) = (&mut self.connection, self.statements.get_mut(place)) else {
            return Ok(ResponseTotals::default());
        };
        let value = |place: &usize| parameters.get(*place).map_or(Value::Null, |parameter| parameter.value.as_value());
        let values: Vec<Value<'_>> = statement.parameters.iter().map(value).collect();
        match &mut statement.handle {
            Some(handle) => {
                let (id, types) = handle.bind(&values);
                connection.execute(id, &values, types, &mut Discard).await
            }
            None => connection.execute_text(&statement.template, &values, &mut Discard).await,
        }
    }

    /// Closes a statement, with the server too.
    pub async fn close(&mut self, place: usize) {
        let closed = self.statements.get_mut(place).and_then(Option::take);
        if let (Some(connection), Some(handle)) = (&mut self.connection, closed.and_then(|closed| closed.handle)) {
            // Nothing is answered to it; what is wrong with the connection shows at the next exchange.
            let _ = connection.close_statement(handle.id()).await;
        }
    }

    /// Asks something that is not load.
    ///
    /// # Errors
    /// Those of the exchange.
    pub async fn ask(&mut self, sql: &str) -> Result<TextRows, Failure> {
        let mut rows = TextRows::default();
        if let Some(connection) = &mut self.connection {
            connection.query(sql.as_bytes(), &mut rows).await?;
        }
        Ok(rows)
    }

    /// Says good-bye.
    pub async fn quit(self) {
        let Held { connection, beside, .. } = self;
        if let Some(connection) = connection {
            connection.quit().await;
        }
        drop(beside);
    }
}
