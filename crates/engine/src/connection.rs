//! The protocol on a stream: log in, ask, read the answer.

use crate::endpoint::Endpoint;
use crate::error::Failure;
use crate::executor::{Reactor, Slot};
use crate::stream::{RECEIVES, ReceivedBytes, Stream};
use plimsoll_load::source::Peer;
use plimsoll_wire::auth::{AuthStep, Authentication};
use plimsoll_wire::handshake::{self, AgreedHandshake, Greeting, HandshakeOptions};
use plimsoll_wire::response::{self, Answer, Discard, PreparedStatement, ResponseReader, ResponseTotals, Sink};
use plimsoll_wire::{Value, WireError, command, frame, text};
use rustls::pki_types::ServerName;
use std::rc::Rc;

/// No method takes more packets of the server's to log in.
const LOGIN_PACKETS: u32 = 16;
/// A packet of the login is shorter; a public key has some hundred bytes.
const LOGIN_PACKET_BYTES: usize = 64 << 10;

/// A logged-in connection. One exchange at a time.
pub struct Connection {
    stream: Stream,
    input: ReceivedBytes,
    output: Vec<u8>,
    reader: ResponseReader,
    greeting: Greeting,
    status: u16,
}

impl Connection {
    /// Connects and logs in.
    pub async fn open(endpoint: &Endpoint, reactor: Rc<Reactor>, slot: Rc<Slot>) -> Result<Connection, Failure> {
        let mut stream = Stream::connect(&endpoint.resolved, reactor, slot).await?;
        let mut input = ReceivedBytes::default();
        let (mut sequence, payload) = packet(&mut stream, &mut input).await?;
        let greeting = handshake::parse_greeting(&payload)?.map_err(Failure::Server)?;
        sequence = sequence.wrapping_add(1);
        let offered = greeting.capabilities & plimsoll_wire::capability::TLS != 0;
        let tls = endpoint.tls.decide(offered, stream.is_unix())?.cloned();
        let database = endpoint.database.as_deref();
        let asked = HandshakeOptions { tls: tls.is_some(), local_files: endpoint.local_files, database };
        let agreed = handshake::negotiate(&greeting, &asked);
        let mut output = Vec::with_capacity(1024);
        if let Some(config) = tls {
            // What came unprotected must not be taken for what comes protected.
            if !input.filled().is_empty() {
                return Err(WireError::Malformed { what: "greeting", found: "more bytes after it".to_owned() }.into());
            }
            sequence = handshake::put_tls_request(&mut output, &agreed, sequence);
            stream.send(&output).await?;
            output.clear();
            stream.start_tls(config, server_name(endpoint)?).await?;
        }
        let reader = ResponseReader::new(agreed.capabilities());
        let mut connection = Connection { stream, input, output, reader, greeting, status: 0 };
        connection.log_in(endpoint, &agreed, sequence).await?;
        Ok(connection)
    }

    async fn log_in(&mut self, endpoint: &Endpoint, agreed: &AgreedHandshake<'_>, sequence: u8) -> Result<(), Failure> {
        let password = endpoint.password.0.as_bytes();
        let trust = endpoint.tls.trust(self.stream.channel());
        let mut authentication = Authentication::new(password, trust, &self.greeting.plugin, &self.greeting.scramble);
        let proof = authentication.first_proof()?;
        let plugin = authentication.plugin().to_owned();
        handshake::put_login(&mut self.output, agreed, sequence, &endpoint.user, &plugin, &proof);
        for _ in 0..LOGIN_PACKETS {
            if !self.output.is_empty() {
                self.stream.send(&self.output).await?;
                self.output.clear();
            }
            let (sequence, payload) = packet(&mut self.stream, &mut self.input).await?;
            match authentication.step(&payload)? {
                AuthStep::Accepted => {
                    self.status = response::login_status(&payload);
                    return Ok(());
                }
                AuthStep::Refused(message) => return Err(Failure::Server(message)),
                AuthStep::Wait => {}
                AuthStep::Send(answer) => {
                    let start = frame::begin(&mut self.output);
                    self.output.extend_from_slice(&answer);
                    frame::finish(&mut self.output, start, sequence.wrapping_add(1));
                }
            }
        }
        Err(WireError::Malformed { what: "login", found: format!("no end after {LOGIN_PACKETS} packets") }.into())
    }

    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    pub fn peer(&self) -> Peer {
        Peer { pid: self.peer_pid(), version: Some(self.greeting.version.clone()) }
    }

    /// The local process that serves this connection, if it came over a Unix socket.
    pub fn peer_pid(&self) -> Option<u32> {
        self.stream.peer_pid()
    }

    /// Whether a transaction is open, as the server said last.
    pub fn in_transaction(&self) -> bool {
        self.status & plimsoll_wire::capability::IN_TRANSACTION != 0
    }

    fn backslash_escapes(&self) -> bool {
        self.status & plimsoll_wire::capability::NO_BACKSLASH_ESCAPES == 0
    }

    /// Prepares a statement; `sink` is told the columns of its result.
    pub async fn prepare<S: Sink>(&mut self, sql: &str, sink: &mut S) -> Result<PreparedStatement, Failure> {
        self.expect_nothing()?;
        self.output.clear();
        command::put(&mut self.output, command::STMT_PREPARE, sql.as_bytes());
        self.reader.expect_prepare(frame::next_sequence(&self.output));
        self.stream.send(&self.output).await?;
        match self.answer(sink).await? {
            Answer::Prepared(prepared) => Ok(prepared),
            Answer::Failed(message) => Err(Failure::Server(message)),
            other => Err(unexpected(&other).into()),
        }
    }

    /// Executes a prepared statement; `sink` receives its rows.
    #[inline]
    pub async fn execute<S: Sink>(
        &mut self,
        statement: u32,
        values: &[Value<'_>],
        types: bool,
        sink: &mut S,
    ) -> Result<ResponseTotals, Failure> {
        self.output.clear();
        command::put_execute(&mut self.output, statement, values, types);
        self.exchange(sink).await
    }

    /// Sends a statement as text with its parameters written in; `sink` receives its rows.
    pub async fn execute_text<S: Sink>(
        &mut self,
        template: &text::Template,
        values: &[Value<'_>],
        sink: &mut S,
    ) -> Result<ResponseTotals, Failure> {
        self.output.clear();
        let escapes = self.backslash_escapes();
        template.put_query(&mut self.output, values, escapes);
        self.exchange(sink).await
    }

    /// Sends a statement as it stands; `sink` receives its rows.
    pub async fn query<S: Sink>(&mut self, sql: &[u8], sink: &mut S) -> Result<ResponseTotals, Failure> {
        self.output.clear();
        command::put(&mut self.output, command::QUERY, sql);
        self.exchange(sink).await
    }

    /// Asks whether the server is there, which it answers without doing anything else (COM_PING).
    pub async fn ping(&mut self) -> Result<(), Failure> {
        self.output.clear();
        command::put(&mut self.output, command::PING, &[]);
        self.exchange(&mut Discard).await.map(drop)
    }

    /// Sends what is in the output and reads the whole answer.
    #[inline]
    async fn exchange<S: Sink>(&mut self, sink: &mut S) -> Result<ResponseTotals, Failure> {
        self.expect_nothing()?;
        self.reader.expect_result(frame::next_sequence(&self.output));
        self.stream.send(&self.output).await?;
        match self.answer(sink).await? {
            Answer::Done(outcome) => {
                self.status = outcome.status;
                Ok(outcome)
            }
            Answer::Failed(message) => Err(Failure::Server(message)),
            other => Err(unexpected(&other).into()),
        }
    }

    /// What came behind the last answer would be taken for the next one.
    #[inline]
    fn expect_nothing(&self) -> Result<(), Failure> {
        match frame::announced(self.input.filled()) {
            // A farewell, which the next exchange tells of.
            None | Some((0, _)) => Ok(()),
            Some(_) => {
                Err(WireError::Malformed { what: "answer", found: "more bytes after its end".to_owned() }.into())
            }
        }
    }

    #[inline]
    async fn answer<S: Sink>(&mut self, sink: &mut S) -> Result<Answer, Failure> {
        let mut received = 0u32;
        loop {
            self.stream.receive(&mut self.input).await?;
            let progress = self.reader.advance(self.input.filled(), sink)?;
            self.input.consume(progress.consumed);
            if let Some(answer) = progress.answer {
                if received > 0 {
                    self.stream.answered();
                }
                return Ok(answer);
            }
            if received == 0 {
                self.stream.begin_answer();
            }
            received = received.wrapping_add(1);
            if received.is_multiple_of(RECEIVES) {
                self.stream.give_way().await;
            }
        }
    }

    /// Runs a LOAD DATA LOCAL whose content `fill` produces piece by piece: it appends to the buffer and
    /// returns false when there is no more. The server is told nothing of any real file.
    pub async fn load_data(
        &mut self,
        sql: &str,
        mut fill: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<ResponseTotals, Failure> {
        self.output.clear();
        command::put(&mut self.output, command::QUERY, sql.as_bytes());
        self.expect_nothing()?;
        self.reader.expect_result(frame::next_sequence(&self.output));
        self.reader.allow_local_file(true);
        self.stream.send(&self.output).await?;
        let mut answer = self.answer(&mut Discard).await;
        self.reader.allow_local_file(false);
        if let Ok(Answer::WantsFile) = answer {
            let mut sequence = self.reader.sequence();
            let mut more = true;
            while more {
                self.output.clear();
                let start = frame::begin(&mut self.output);
                more = fill(&mut self.output);
                // An empty packet would end the content.
                if self.output.len() > frame::HEADER {
                    sequence = frame::finish(&mut self.output, start, sequence);
                    self.stream.send(&self.output).await?;
                }
            }
            self.output.clear();
            let start = frame::begin(&mut self.output);
            sequence = frame::finish(&mut self.output, start, sequence);
            self.stream.send(&self.output).await?;
            self.reader.set_sequence(sequence);
            answer = self.answer(&mut Discard).await;
        }
        match answer? {
            Answer::Done(outcome) => {
                self.status = outcome.status;
                Ok(outcome)
            }
            Answer::Failed(message) => Err(Failure::Server(message)),
            other => Err(unexpected(&other).into()),
        }
    }

    /// Lets the server forget a prepared statement, to which it answers nothing.
    ///
    /// # Errors
    /// Those of sending.
    pub async fn close_statement(&mut self, statement: u32) -> Result<(), Failure> {
        self.output.clear();
        command::put(&mut self.output, command::STMT_CLOSE, &statement.to_le_bytes());
        self.stream.send(&self.output).await
    }

    /// Says good-bye; the server's end of the socket is closed by it.
    pub async fn quit(mut self) {
        self.output.clear();
        command::put(&mut self.output, command::QUIT, &[]);
        // It is gone either way.
        let _ = self.stream.send(&self.output).await;
    }
}

fn unexpected(answer: &Answer) -> WireError {
    WireError::Malformed { what: "answer", found: format!("{answer:?}") }
}

/// Reads one packet, for the login.
async fn packet(stream: &mut Stream, input: &mut ReceivedBytes) -> Result<(u8, Vec<u8>), Failure> {
    loop {
        if let Some((sequence, payload)) = frame::split(input.filled()) {
            let payload = payload.to_vec();
            input.consume(frame::HEADER + payload.len());
            return Ok((sequence, payload));
        }
        if let Some((_, bytes)) = frame::announced(input.filled()).filter(|(_, bytes)| *bytes > LOGIN_PACKET_BYTES) {
            let found = format!(
                "a packet of {bytes} bytes, where no server sends more than {LOGIN_PACKET_BYTES}; is this the port of one?"
            );
            return Err(WireError::Malformed { what: "login", found }.into());
        }
        stream.receive(input).await?;
    }
}

/// The name that a certificate has to carry.
fn server_name(endpoint: &Endpoint) -> Result<ServerName<'static>, Failure> {
    let host = match &endpoint.address {
        crate::Address::Unix(_) => "localhost",
        crate::Address::Tcp { host, .. } => host,
    };
    ServerName::try_from(host.to_owned())
        .map_err(|_| Failure::Setup(format!("`{host}` cannot be the name in a certificate")))
}
