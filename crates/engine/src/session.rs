//! What a workload sees of a connection: its statements, by number, and what came of them.

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::error::Failure;
use crate::executor::{Reactor, Slot};
use crate::measure::Meter;
use crate::workload::Statement;
use plimsoll_load::recorder::Effect;
use plimsoll_model::StatementKind;
use plimsoll_wire::response::Outcome;
use plimsoll_wire::text::Template;
use plimsoll_wire::{Value, command};
use std::rc::Rc;

/// How statements with parameters are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// COM_STMT_EXECUTE, prepared before the run.
    #[default]
    Prepared,
    /// COM_QUERY with the parameters written into the text.
    Text,
}

/// The statements of a workload as all connections of a loop share them.
pub struct Catalogue {
    statements: Vec<(Statement, Template)>,
    /// Statement number to number of its name.
    operations: Vec<usize>,
    pub names: Vec<&'static str>,
    rollback: usize,
}

impl Catalogue {
    pub fn new(statements: Vec<Statement>) -> Catalogue {
        let mut names: Vec<&'static str> = Vec::new();
        let mut operation = |name| match names.iter().position(|known| *known == name) {
            Some(place) => place,
            None => {
                names.push(name);
                names.len() - 1
            }
        };
        let operations = statements.iter().map(|statement| operation(statement.name)).collect();
        let rollback = operation("rollback");
        let statements = statements.into_iter().map(|statement| {
            let template = Template::new(&statement.sql);
            (statement, template)
        });
        Catalogue { statements: statements.collect(), operations, names, rollback }
    }

    pub fn prepared(&self) -> usize {
        self.statements.iter().filter(|(statement, _)| statement.prepared).count()
    }
}

/// A statement as the server knows it on one connection.
#[derive(Clone, Copy, Default)]
struct Handle {
    id: u32,
    /// Types of the parameters last sent; 0 before the first execution.
    signature: u64,
}

pub struct Session {
    connection: Connection,
    catalogue: Rc<Catalogue>,
    handles: Vec<Handle>,
    protocol: Protocol,
    meter: Rc<Meter>,
    /// The statement sent last, for messages.
    last: Option<usize>,
    answered_ns: u64,
    /// Nothing has been waited for since the last answer, so its time is the time.
    fresh: bool,
    open: bool,
}

impl Session {
    pub async fn open(
        endpoint: &Endpoint,
        catalogue: Rc<Catalogue>,
        protocol: Protocol,
        meter: Rc<Meter>,
        reactor: Rc<Reactor>,
        slot: Rc<Slot>,
    ) -> Result<Session, Failure> {
        let connection = Connection::open(endpoint, reactor, slot).await?;
        let handles = vec![Handle::default(); catalogue.statements.len()];
        let mut session = Session {
            connection,
            catalogue,
            handles,
            protocol,
            meter,
            last: None,
            answered_ns: 0,
            fresh: false,
            open: false,
        };
        if protocol == Protocol::Prepared {
            session.prepare_all().await?;
        }
        session.last = None;
        Ok(session)
    }

    async fn prepare_all(&mut self) -> Result<(), Failure> {
        let catalogue = self.catalogue.clone();
        for (number, (statement, _)) in catalogue.statements.iter().enumerate() {
            if statement.prepared {
                self.last = Some(number);
                let prepared = self.connection.prepare(&statement.sql).await.map_err(|failure| match failure {
                    Failure::Server(message) => {
                        Failure::Setup(format!("the statement `{}` cannot be prepared: {message}", statement.sql))
                    }
                    other => other,
                });
                self.handles[number].id = prepared?.statement;
            }
        }
        Ok(())
    }

    /// Executes statement `number` of the catalogue.
    #[inline]
    pub async fn execute(&mut self, number: usize, values: &[Value<'_>]) -> Result<Outcome, Failure> {
        let kind = self.catalogue.statements[number].0.kind;
        let sent_ns = self.sending(kind, Some(number));
        let (statement, template) = &self.catalogue.statements[number];
        let result = if statement.prepared && self.protocol == Protocol::Prepared {
            let signature = command::signature(values);
            let handle = &mut self.handles[number];
            let types = std::mem::replace(&mut handle.signature, signature) != signature;
            self.connection.execute(handle.id, values, types).await
        } else {
            self.connection.execute_text(template, values).await
        };
        self.received(self.catalogue.operations[number], sent_ns, &result);
        result
    }

    /// Sends text that the workload made itself as statement `number` of the catalogue, whose name and kind it has.
    pub async fn query(&mut self, number: usize, sql: &[u8]) -> Result<Outcome, Failure> {
        let kind = self.catalogue.statements[number].0.kind;
        let sent_ns = self.sending(kind, Some(number));
        let result = self.connection.query(sql, &mut plimsoll_wire::response::Discard).await;
        self.received(self.catalogue.operations[number], sent_ns, &result);
        result
    }

    /// Ends the transaction without its effects.
    pub async fn rollback(&mut self) -> Result<Outcome, Failure> {
        let sent_ns = self.sending(StatementKind::Rollback, None);
        let result = self.connection.query(b"ROLLBACK", &mut plimsoll_wire::response::Discard).await;
        self.received(self.catalogue.rollback, sent_ns, &result);
        result
    }

    /// The time. Between an answer and the next statement of the same task next to none passes, so the clock
    /// is looked at once per exchange.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        if self.fresh { self.answered_ns } else { self.meter.now_ns() }
    }

    /// Says that something was waited for since the last answer.
    pub fn waited(&mut self) {
        self.fresh = false;
    }

    /// When the last answer came, which is when a transaction that needed it ended.
    pub fn answered_ns(&self) -> u64 {
        self.answered_ns
    }

    /// Whether a transaction is open that a failed attempt would leave behind.
    pub fn needs_rollback(&self) -> bool {
        self.open || self.connection.in_transaction()
    }

    /// The text of the statement sent last.
    pub fn last_statement(&self) -> &str {
        self.last.map_or("ROLLBACK", |number| self.catalogue.statements[number].0.sql.as_str())
    }

    /// Says good-bye.
    pub async fn quit(self) {
        self.connection.quit().await;
    }

    /// The local process that serves this session.
    pub fn peer_pid(&self) -> Option<u32> {
        self.connection.peer_pid()
    }

    #[inline]
    fn sending(&mut self, kind: StatementKind, number: Option<usize>) -> u64 {
        self.last = number;
        match kind {
            StatementKind::Begin => self.open = true,
            StatementKind::Commit | StatementKind::Rollback => self.open = false,
            _ => {}
        }
        let now = self.now_ns();
        self.fresh = false;
        self.meter.at(now).sent(kind);
        now
    }

    #[inline]
    fn received(&mut self, operation: usize, sent_ns: u64, result: &Result<Outcome, Failure>) {
        let now = self.meter.now_ns();
        self.answered_ns = now;
        self.fresh = true;
        match result {
            Ok(outcome) => {
                let effect = if outcome.result_sets > 0 {
                    Effect::Read
                } else if outcome.affected_rows > 0 {
                    Effect::Write
                } else {
                    Effect::Other
                };
                self.meter.at(now).answered(operation, effect, now - sent_ns);
            }
            Err(Failure::Server(message)) => self.meter.at(now).error(operation, message.code),
            Err(_) => {}
        }
    }
}
