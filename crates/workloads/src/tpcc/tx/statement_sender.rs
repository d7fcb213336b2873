//! A session as a transaction uses it: statements by role, on the tables of one set.

use super::super::roles::{Pick, Role};
use super::super::statements::TpccStatements;
use plimsoll_engine::{Failure, LoadClient, Session};
use plimsoll_load::recorder::End;
use plimsoll_wire::Value;
use plimsoll_wire::cells::ReceivedRow;

/// The values of a statement, in the order of its text.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$(plimsoll_wire::Value::from($value)),*] };
}
pub(super) use values;

/// An amount of money in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cents(pub i64);

impl From<Cents> for Value<'_> {
    fn from(Cents(units): Cents) -> Self {
        Value::Decimal { units, scale: 2 }
    }
}

/// A short text of a row, kept beyond the next statement.
#[derive(Clone, Copy, Debug)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Text { bytes: [0; N], length: 0 }
    }
}

impl<const N: usize> Text<N> {
    /// What is longer than any column of its kind is cut.
    pub fn new(text: &[u8]) -> Text<N> {
        Text::joined(&[text])
    }

    /// The parts one after the other.
    pub fn joined(parts: &[&[u8]]) -> Text<N> {
        let mut text = Text::default();
        for part in parts {
            let room = part.len().min(N - text.length);
            text.bytes[text.length..text.length + room].copy_from_slice(&part[..room]);
            text.length += room;
        }
        text
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The values of a statement whose number depends on its rows.
pub struct List<'a, const N: usize> {
    values: [Value<'a>; N],
    length: usize,
}

impl<'a, const N: usize> List<'a, N> {
    pub fn new() -> List<'a, N> {
        List { values: [Value::Null; N], length: 0 }
    }

    /// There is room for the values of as many rows as there can be.
    pub fn push(&mut self, value: impl Into<Value<'a>>) {
        self.values[self.length] = value.into();
        self.length += 1;
    }

    pub fn extend(&mut self, values: impl IntoIterator<Item = impl Into<Value<'a>>>) {
        values.into_iter().for_each(|value| self.push(value));
    }

    pub fn as_slice(&self) -> &[Value<'a>] {
        &self.values[..self.length]
    }
}

pub struct StatementSender<'a> {
    session: &'a mut Session,
    catalogue: &'a TpccStatements,
    set: u64,
}

impl<'a> StatementSender<'a> {
    pub fn new(session: &'a mut Session, catalogue: &'a TpccStatements, set: u64) -> StatementSender<'a> {
        StatementSender { session, catalogue, set }
    }

    fn number(&self, pick: Pick) -> usize {
        self.catalogue.position(pick, self.set).expect("the catalogue holds every role of the steps")
    }

    pub async fn begin(&mut self) -> Result<(), Failure> {
        self.run(Role::Begin, &[]).await
    }

    pub async fn commit(&mut self) -> Result<End, Failure> {
        self.run(Role::Commit, &[]).await?;
        Ok(End::Committed)
    }

    pub async fn roll_back(&mut self) -> Result<End, Failure> {
        self.session.rollback().await?;
        Ok(End::RolledBack)
    }

    /// Executes a statement that answers no rows, or whose rows nobody needs.
    pub async fn run(&mut self, statement: impl Into<Pick>, values: &[Value<'_>]) -> Result<(), Failure> {
        self.session.execute(self.number(statement.into()), values).await?;
        Ok(())
    }

    /// Executes a statement and keeps its rows; returns their number.
    pub async fn ask(&mut self, statement: impl Into<Pick>, values: &[Value<'_>]) -> Result<usize, Failure> {
        self.session.select(self.number(statement.into()), values).await?;
        Ok(self.session.rows())
    }

    /// Row `number`, from 0, of the last answer. It exists unless the data are not those of the
    /// parameters.
    pub fn row(&self, number: usize) -> Result<ReceivedRow<'_>, Failure> {
        self.session.row(number).ok_or_else(|| {
            let statement = self.session.last_statement();
            Failure::Setup(format!(
                "`{statement}` found no row: the data are incomplete; check them, or load them again"
            ))
        })
    }

    pub fn rows(&self) -> impl Iterator<Item = ReceivedRow<'_>> {
        (0..self.session.rows()).filter_map(|number| self.session.row(number))
    }
}
