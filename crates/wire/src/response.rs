//! Answers: one state machine that reads the whole answer to a command, result by result, straight from the read
//! buffer.

use crate::budget::{self, Share};
use crate::bytes::Fields;
use crate::capability::{DEPRECATE_EOF, MARIADB_CACHE_METADATA, MORE_RESULTS};
use crate::error::{ServerMessage, WireError, printable};
use crate::frame::{self, HEADER, MAX_PAYLOAD};

/// Column definitions and rows larger than this are refused if they have to be kept.
pub const KEPT_PAYLOAD_LIMIT: usize = 64 << 20;
/// Anything but a row is shorter: definitions, errors, OK packets. Their fields have at most a few hundred bytes.
pub const OTHER_PAYLOAD_LIMIT: usize = 64 << 10;
/// The most results of one statement: a procedure returns one for each of its queries.
const RESULT_LIMIT: u32 = 1000;
/// The server's own limit on columns of a result is 4096.
const COLUMN_LIMIT: u64 = 4096;

/// Receives the rows of a result. A load run discards them: [`Discard`].
pub trait Sink {
    /// False if rows are only counted: their bytes are then not kept across packets.
    const KEEPS: bool;
    /// A result begins.
    fn result(&mut self) {}
    fn column(&mut self, definition: &[u8]) -> Result<(), WireError>;
    fn row(&mut self, payload: &[u8]) -> Result<(), WireError>;
}

/// Counts rows and keeps nothing.
pub struct Discard;

impl Sink for Discard {
    const KEEPS: bool = false;
    #[inline]
    fn column(&mut self, _definition: &[u8]) -> Result<(), WireError> {
        Ok(())
    }
    #[inline]
    fn row(&mut self, _payload: &[u8]) -> Result<(), WireError> {
        Ok(())
    }
}

/// A whole answer without error: sums over its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseTotals {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub rows: u64,
    pub warnings: u16,
    pub status: u16,
    /// Results with columns, even if they had no rows.
    pub result_sets: u32,
}

/// The content of the answer to a prepare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreparedStatement {
    pub statement: u32,
    pub parameters: u16,
    pub columns: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done(ResponseTotals),
    Prepared(PreparedStatement),
    /// The server waits for the content of a LOAD DATA LOCAL; afterwards the reader continues.
    WantsFile,
    Failed(ServerMessage),
}

/// What [`ResponseReader::advance`] found: how many bytes are used up, and the answer if it is complete.
#[derive(Debug, PartialEq, Eq)]
pub struct ReadProgress {
    pub consumed: usize,
    pub answer: Option<Answer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Header,
    Prepare,
    PrepareDefinitions(u32),
    Columns(u32),
    ColumnsEnd,
    Rows,
}

/// Reads the answer to one command at a time. Begin each with [`ResponseReader::expect_result`] or
/// [`ResponseReader::expect_prepare`].
#[derive(Debug)]
pub struct ResponseReader {
    state: State,
    sequence: u8,
    capabilities: u64,
    local_file: bool,
    outcome: ResponseTotals,
    /// Results of this answer so far, including those without columns.
    results: u32,
    prepared: PreparedStatement,
    /// Payload pieces of a packet over 16 MiB.
    spill: Vec<u8>,
    share: Share,
    spilling: bool,
    /// Bytes to come of a row that is only counted.
    skip: usize,
}

impl ResponseReader {
    pub fn new(capabilities: u64) -> ResponseReader {
        ResponseReader {
            state: State::Header,
            sequence: 1,
            capabilities,
            local_file: false,
            outcome: ResponseTotals::default(),
            results: 0,
            prepared: PreparedStatement::default(),
            spill: Vec::new(),
            share: Share::default(),
            spilling: false,
            skip: 0,
        }
    }

    /// The answer's packets are numbered from `sequence` on, which follows those of the command:
    /// [`frame::next_sequence`].
    #[inline]
    pub fn expect_result(&mut self, sequence: u8) {
        self.state = State::Header;
        self.sequence = sequence;
        self.results = 0;
        self.outcome = ResponseTotals::default();
    }

    pub fn expect_prepare(&mut self, sequence: u8) {
        self.expect_result(sequence);
        self.state = State::Prepare;
    }

    /// Allows the server to ask for the content of a file in the answer that follows.
    pub fn allow_local_file(&mut self, allowed: bool) {
        self.local_file = allowed;
    }

    /// The number of the next packet that this client sends within the same exchange.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// Continues after packets of ours within the same exchange.
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Reads as many whole packets as `input` holds, up to the end of the answer. Of a row that is only counted, it
    /// uses up what is there, so that nobody has to keep it until the end arrives.
    #[inline]
    pub fn advance<S: Sink>(&mut self, input: &[u8], sink: &mut S) -> Result<ReadProgress, WireError> {
        let mut consumed = 0;
        if self.skip > 0 {
            consumed = self.skip_row(input, sink)?;
        }
        while let Some((sequence, payload)) = frame::split(&input[consumed..]) {
            consumed += HEADER + payload.len();
            if sequence != self.sequence && !self.is_farewell(sequence, payload) {
                return Err(WireError::OutOfOrder { expected: self.sequence, found: sequence });
            }
            self.sequence = self.sequence.wrapping_add(1);
            let answer = if payload.len() == MAX_PAYLOAD || self.spilling {
                self.long_packet(payload, sink)?
            } else {
                self.packet(payload, false, sink)?
            };
            if answer.is_some() {
                return Ok(ReadProgress { consumed, answer });
            }
        }
        if consumed < input.len() {
            consumed += self.begun::<S>(&input[consumed..])?;
        }
        Ok(ReadProgress { consumed, answer: None })
    }

    /// Servers that close an idle connection say why before they are asked anything, as packet number 0.
    #[cold]
    fn is_farewell(&self, sequence: u8, payload: &[u8]) -> bool {
        sequence == 0 && self.sequence == 1 && payload.first() == Some(&0xff)
    }

    #[cold]
    fn long_packet<S: Sink>(&mut self, piece: &[u8], sink: &mut S) -> Result<Option<Answer>, WireError> {
        let bytes = self.spill.len() + piece.len();
        if self.state != State::Rows {
            return Err(self.too_large(bytes));
        }
        // A sink that only counts needs the first byte to tell a row from the end.
        if S::KEEPS {
            if bytes > KEPT_PAYLOAD_LIMIT {
                return Err(WireError::TooLarge { what: "a packet", bytes, limit: KEPT_PAYLOAD_LIMIT });
            }
            if bytes > self.spill.capacity() {
                budget::reserve(&mut self.spill, &mut self.share, bytes)?;
            }
            self.spill.extend_from_slice(piece);
        } else if !self.spilling {
            self.spill.extend_from_slice(&piece[..1]);
        }
        self.spilling = piece.len() == MAX_PAYLOAD;
        if self.spilling {
            return Ok(None);
        }
        let payload = std::mem::take(&mut self.spill);
        let answer = self.packet(&payload, true, sink);
        self.share = Share::default();
        answer
    }

    /// Examines an incomplete packet: if it may not be that long, it is refused before it is kept, and a row that is
    /// only counted is used up. Returns how many bytes are used up.
    #[cold]
    fn begun<S: Sink>(&mut self, input: &[u8]) -> Result<usize, WireError> {
        let Some((sequence, length)) = frame::announced(input) else { return Ok(0) };
        if sequence != self.sequence {
            // A farewell is short, and comes before everything else.
            let farewell = sequence == 0 && self.sequence == 1 && length <= OTHER_PAYLOAD_LIMIT;
            return if farewell {
                Ok(0)
            } else {
                Err(WireError::OutOfOrder { expected: self.sequence, found: sequence })
            };
        }
        let is_row = match (self.state, input.get(HEADER)) {
            (State::Rows, None) => return Ok(0),
            (State::Rows, Some(0xfe)) => self.spilling || length == MAX_PAYLOAD,
            (State::Rows, Some(0xff)) => self.spilling,
            (State::Rows, Some(_)) => true,
            _ => false,
        };
        if !is_row {
            return if length > OTHER_PAYLOAD_LIMIT { Err(self.too_large(length)) } else { Ok(0) };
        }
        if S::KEEPS {
            return Ok(0);
        }
        self.sequence = self.sequence.wrapping_add(1);
        if !self.spilling {
            self.spill.push(input[HEADER]);
        }
        // The row continues in another packet.
        self.spilling = length == MAX_PAYLOAD;
        self.skip = HEADER + length - input.len();
        Ok(input.len())
    }

    /// Continues a row that is only counted. Returns how many bytes of `input` belong to it.
    #[cold]
    fn skip_row<S: Sink>(&mut self, input: &[u8], sink: &mut S) -> Result<usize, WireError> {
        let skipped = self.skip.min(input.len());
        self.skip -= skipped;
        if self.skip == 0 && !self.spilling {
            self.outcome.rows += 1;
            sink.row(&self.spill)?;
            self.spill.clear();
        }
        Ok(skipped)
    }

    #[cold]
    fn too_large(&self, bytes: usize) -> WireError {
        let what = match self.state {
            State::Header | State::Prepare => "the head of an answer",
            State::Columns(_) | State::PrepareDefinitions(_) => "a column definition",
            State::ColumnsEnd | State::Rows => "the end of a result",
        };
        WireError::TooLarge { what, bytes, limit: OTHER_PAYLOAD_LIMIT }
    }

    #[inline]
    fn packet<S: Sink>(&mut self, payload: &[u8], long: bool, sink: &mut S) -> Result<Option<Answer>, WireError> {
        match self.state {
            State::Rows => self.row(payload, long, sink),
            _ if payload.len() > OTHER_PAYLOAD_LIMIT => Err(self.too_large(payload.len())),
            // No definition begins like this.
            _ if payload.first() == Some(&0xff) => Ok(Some(Answer::Failed(parse_error(payload)?))),
            State::Columns(left) => {
                sink.column(payload)?;
                self.after_column(left - 1);
                Ok(None)
            }
            State::Header => self.header(payload, sink),
            State::ColumnsEnd => {
                parse_eof(payload)?;
                self.state = State::Rows;
                Ok(None)
            }
            State::Prepare => self.prepare(payload),
            State::PrepareDefinitions(left) => {
                // Parameters come first, then the columns, each followed by an EOF packet unless that is deprecated.
                let end = u32::from(!self.deprecates_eof());
                if left > end && left <= u32::from(self.prepared.columns) + end {
                    sink.column(payload)?;
                }
                self.state = State::PrepareDefinitions(left - 1);
                Ok((left == 1).then_some(Answer::Prepared(self.prepared)))
            }
        }
    }

    #[inline]
    fn row<S: Sink>(&mut self, payload: &[u8], long: bool, sink: &mut S) -> Result<Option<Answer>, WireError> {
        match payload.first() {
            Some(0xfe) if !long && self.deprecates_eof() => self.ok(payload),
            Some(0xfe) if !long && payload.len() < 9 => {
                let (warnings, status) = parse_eof(payload)?;
                self.outcome.warnings = self.outcome.warnings.saturating_add(warnings);
                self.finished(status)
            }
            Some(0xff) => Ok(Some(Answer::Failed(parse_error(payload)?))),
            Some(_) => {
                self.outcome.rows += 1;
                sink.row(payload)?;
                Ok(None)
            }
            None => Err(WireError::Truncated { what: "row" }),
        }
    }

    #[inline]
    fn header<S: Sink>(&mut self, payload: &[u8], sink: &mut S) -> Result<Option<Answer>, WireError> {
        match payload.first() {
            Some(0x00) => self.ok(payload),
            Some(0xfb) if self.local_file => Ok(Some(Answer::WantsFile)),
            Some(0xfb) => Err(WireError::UnaskedLocalFile),
            _ => {
                let mut fields = Fields::new(payload, "result header");
                let columns = fields.length()?;
                if columns == 0 || columns > COLUMN_LIMIT {
                    return Err(WireError::Malformed { what: "result header", found: format!("{columns} columns") });
                }
                let cached = self.capabilities & MARIADB_CACHE_METADATA != 0 && fields.u8()? == 0;
                self.outcome.result_sets += 1;
                sink.result();
                self.after_column(if cached { 0 } else { columns as u32 });
                Ok(None)
            }
        }
    }

    #[inline]
    fn after_column(&mut self, left: u32) {
        self.state = match left {
            0 if self.deprecates_eof() => State::Rows,
            0 => State::ColumnsEnd,
            left => State::Columns(left),
        };
    }

    fn prepare(&mut self, payload: &[u8]) -> Result<Option<Answer>, WireError> {
        let mut fields = Fields::new(payload, "answer to a prepare");
        if fields.u8()? != 0 {
            return Err(WireError::Malformed { what: "answer to a prepare", found: printable(payload) });
        }
        let (statement, columns, parameters) = (fields.u32()?, fields.u16()?, fields.u16()?);
        self.prepared = PreparedStatement { statement, parameters, columns };
        let ends = if self.deprecates_eof() { 0 } else { 1 };
        let definitions = |count: u16| if count == 0 { 0 } else { u32::from(count) + ends };
        match definitions(parameters) + definitions(columns) {
            0 => Ok(Some(Answer::Prepared(self.prepared))),
            left => {
                self.state = State::PrepareDefinitions(left);
                Ok(None)
            }
        }
    }

    #[inline]
    fn ok(&mut self, payload: &[u8]) -> Result<Option<Answer>, WireError> {
        let mut fields = Fields::new(payload, "OK packet");
        fields.u8()?;
        self.outcome.affected_rows = self.outcome.affected_rows.saturating_add(fields.length()?);
        self.outcome.last_insert_id = fields.length()?;
        let status = fields.u16()?;
        self.outcome.warnings = self.outcome.warnings.saturating_add(fields.u16()?);
        self.finished(status)
    }

    #[inline]
    fn finished(&mut self, status: u16) -> Result<Option<Answer>, WireError> {
        self.outcome.status = status;
        if status & MORE_RESULTS != 0 {
            self.results += 1;
            if self.results > RESULT_LIMIT {
                return Err(WireError::TooMany { what: "results", limit: RESULT_LIMIT });
            }
            self.state = State::Header;
            return Ok(None);
        }
        Ok(Some(Answer::Done(self.outcome)))
    }

    #[inline]
    fn deprecates_eof(&self) -> bool {
        self.capabilities & DEPRECATE_EOF != 0
    }
}

fn parse_eof(payload: &[u8]) -> Result<(u16, u16), WireError> {
    let mut fields = Fields::new(payload, "EOF packet");
    match fields.u8()? {
        0xfe => Ok((fields.u16()?, fields.u16()?)),
        other => Err(WireError::Malformed { what: "EOF packet", found: format!("first byte {other:#x}") }),
    }
}

/// The status flags in the OK packet that ends a login; none if it ends too early.
pub fn login_status(payload: &[u8]) -> u16 {
    let mut fields = Fields::new(payload, "OK packet");
    let status = |fields: &mut Fields| {
        fields.u8()?;
        fields.length()?;
        fields.length()?;
        fields.u16()
    };
    status(&mut fields).unwrap_or_default()
}

/// An ERR packet: code, SQL state (`HY000` if the server sent none), text.
pub fn parse_error(payload: &[u8]) -> Result<ServerMessage, WireError> {
    let mut fields = Fields::new(payload, "error packet");
    fields.u8()?;
    let code = fields.u16()?;
    let mut state = *b"HY000";
    if fields.rest().first() == Some(&b'#') {
        fields.take(1)?;
        state.copy_from_slice(fields.take(5)?);
    }
    Ok(ServerMessage { code, state, text: printable(fields.rest()) })
}
