//! The floor: the least that a client of one thread can do. Statements are encoded beforehand, answers are only
//! looked at for where they end; there are no tasks, no histograms, no clock but the one that says when to stop.

use super::{DATABASE, PeerLoad, PeerMeasurement, TABLE_SIZE, TABLES};
use crate::arena::Arena;
use crate::args::FloorArgs;
use anyhow::{Context, bail};
use mio::{Events, Interest, Poll, Token};
use plimsoll_engine::meter::thread_cpu_ns;
use plimsoll_engine::scheduling::do_not_preempt;
use plimsoll_load::seed::Rng;
use plimsoll_wire::auth::{AuthStep, Authentication, Trust};
use plimsoll_wire::handshake::{self, HandshakeOptions};
use plimsoll_wire::response::{Answer, Discard, ResponseReader};
use plimsoll_wire::{Value, command, frame};
use plimsoll_workloads::oltp::OltpParameters;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Ids are drawn beforehand, too, and used again and again.
const IDS: usize = 1 << 16;
const INPUT_BYTES: usize = 8 << 10;
const SILENCE: Duration = Duration::from_secs(10);

/// What the process says of itself.
#[derive(Debug, Serialize, Deserialize)]
struct Said {
    queries: u64,
    seconds: f64,
    loop_cpu_us: f64,
}

/// Runs this program in the role of the floor.
pub fn run(arena: &Arena, load: &PeerLoad) -> anyhow::Result<PeerMeasurement> {
    let mut command = arena.own();
    command.arg("floor").arg("--socket").arg(arena.socket());
    command.args([format!("--connections={}", load.connections), format!("--seconds={}", load.seconds)]);
    let finished = arena.run(command, load.patience())?;
    let said: Said = serde_json::from_str(&finished.stdout).context("the report of the floor")?;
    let queries = said.queries as f64;
    Ok(PeerMeasurement {
        loop_us_per_query: Some(said.loop_cpu_us / queries),
        ..PeerMeasurement::new(&finished, queries / said.seconds, queries)
    })
}

/// That role: point selects on every connection until the time is over, then one line of JSON.
pub fn serve(args: &FloorArgs) -> anyhow::Result<()> {
    do_not_preempt();
    let sampler = OltpParameters::default().distribution().over(1, TABLE_SIZE);
    let mut rng = Rng::new(1, 0, 0);
    let ids: Vec<[u8; 8]> = (0..IDS).map(|_| (sampler.draw(&mut rng) as i64).to_le_bytes()).collect();
    let mut poll = Poll::new()?;
    let mut connections = Vec::with_capacity(args.connections);
    for number in 0..args.connections {
        let mut connection = Connection::open(&args.socket, number as u64 % TABLES + 1)?;
        poll.registry().register(&mut connection.socket, Token(number), Interest::READABLE)?;
        connections.push(connection);
    }
    let mut events = Events::with_capacity(1024);
    let (started, cpu_ns) = (Instant::now(), thread_cpu_ns());
    let mut sent = 0;
    for connection in &mut connections {
        connection.send(&ids[sent % IDS])?;
        sent += 1;
    }
    let time = Duration::from_secs(args.seconds.into());
    let mut queries = 0;
    while started.elapsed() < time {
        poll.poll(&mut events, Some(SILENCE))?;
        if events.is_empty() {
            bail!("the server did not answer for {SILENCE:?}");
        }
        for event in &events {
            let connection = &mut connections[event.token().0];
            if connection.receive()? {
                queries += 1;
                connection.send(&ids[sent % IDS])?;
                sent += 1;
            }
        }
    }
    let loop_cpu_us = (thread_cpu_ns() - cpu_ns) as f64 / 1e3;
    let said = Said { queries, seconds: started.elapsed().as_secs_f64(), loop_cpu_us };
    serde_json::to_writer(io::stdout(), &said)?;
    Ok(())
}

/// One connection: its socket, the one statement it sends, what came of the answer so far.
struct Connection {
    socket: mio::net::UnixStream,
    request: Vec<u8>,
    input: Vec<u8>,
    filled: usize,
}

impl Connection {
    /// Logs in, prepares, and executes once with types, so that from then on only the id changes.
    fn open(path: &Path, table: u64) -> anyhow::Result<Connection> {
        let mut socket = UnixStream::connect(path).context("connecting")?;
        let mut reader = ResponseReader::new(log_in(&mut socket)?);
        let mut request = Vec::new();
        let sql = format!("SELECT c FROM sbtest{table} WHERE id=?");
        command::put(&mut request, command::STMT_PREPARE, sql.as_bytes());
        reader.expect_prepare(1);
        let Answer::Prepared(prepared) = ask(&mut socket, &request, &mut reader)? else {
            bail!("cannot prepare {sql}")
        };
        request.clear();
        command::put_execute(&mut request, prepared.statement, &[Value::Int(1)], true);
        reader.expect_result(1);
        let Answer::Done(_) = ask(&mut socket, &request, &mut reader)? else { bail!("cannot execute {sql}") };
        request.clear();
        command::put_execute(&mut request, prepared.statement, &[Value::Int(1)], false);
        socket.set_nonblocking(true)?;
        let socket = mio::net::UnixStream::from_std(socket);
        Ok(Connection { socket, request, input: vec![0; INPUT_BYTES], filled: 0 })
    }

    /// Sends the statement for the row `id`, the last eight bytes of it.
    #[inline]
    fn send(&mut self, id: &[u8; 8]) -> anyhow::Result<()> {
        let at = self.request.len() - id.len();
        self.request[at..].copy_from_slice(id);
        match self.socket.write(&self.request)? {
            written if written == self.request.len() => Ok(()),
            written => bail!("only {written} bytes of a statement were taken"),
        }
    }

    /// Reads what is there; true if that completes the answer.
    #[inline]
    fn receive(&mut self) -> anyhow::Result<bool> {
        match self.socket.read(&mut self.input[self.filled..]) {
            Ok(0) => bail!("the server closed a connection"),
            Ok(count) => self.filled += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let complete = is_complete(&self.input[..self.filled])?;
        if complete {
            self.filled = 0;
        }
        Ok(complete)
    }
}

/// Whether the bytes end with the packet that ends a result: no other one of this result begins with 0xfe.
#[inline]
fn is_complete(mut input: &[u8]) -> anyhow::Result<bool> {
    while let Some((_, payload)) = frame::split(input) {
        match payload.first() {
            Some(0xfe) => return Ok(true),
            Some(0xff) => bail!("the server answered with an error"),
            _ => input = &input[frame::HEADER + payload.len()..],
        }
    }
    Ok(false)
}

/// Logs in as root without a password; the capabilities that hold.
fn log_in(socket: &mut UnixStream) -> anyhow::Result<u64> {
    let (sequence, payload) = packet(socket)?;
    let greeting = match handshake::parse_greeting(&payload)? {
        Ok(greeting) => greeting,
        Err(message) => bail!("{message}"),
    };
    let agreed =
        handshake::negotiate(&greeting, &HandshakeOptions { database: Some(DATABASE), ..HandshakeOptions::default() });
    let mut authentication = Authentication::new(b"", Trust::Private, &greeting.plugin, &greeting.scramble);
    let verification = authentication.first_proof()?;
    let plugin = authentication.plugin().to_owned();
    let mut output = Vec::new();
    let sequence = sequence.wrapping_add(1);
    handshake::put_login(&mut output, &agreed, sequence, "root", &plugin, &verification);
    loop {
        socket.write_all(&output)?;
        output.clear();
        let (sequence, payload) = packet(socket)?;
        match authentication.step(&payload)? {
            AuthStep::Accepted => return Ok(agreed.capabilities()),
            AuthStep::Refused(message) => bail!("{message}"),
            AuthStep::Wait => {}
            AuthStep::Send(answer) => {
                let start = frame::begin(&mut output);
                output.extend_from_slice(&answer);
                frame::finish(&mut output, start, sequence.wrapping_add(1));
            }
        }
    }
}

fn packet(socket: &mut UnixStream) -> anyhow::Result<(u8, Vec<u8>)> {
    let mut bytes = vec![0; frame::HEADER];
    socket.read_exact(&mut bytes)?;
    bytes.resize(frame::size(&bytes).unwrap_or(frame::HEADER), 0);
    socket.read_exact(&mut bytes[frame::HEADER..])?;
    let (sequence, payload) = frame::split(&bytes).context("a packet")?;
    Ok((sequence, payload.to_vec()))
}

/// Sends a request and reads the whole answer, waiting for it.
fn ask(socket: &mut UnixStream, request: &[u8], reader: &mut ResponseReader) -> anyhow::Result<Answer> {
    socket.write_all(request)?;
    let (mut input, mut filled) = (vec![0; INPUT_BYTES], 0);
    loop {
        match socket.read(&mut input[filled..])? {
            0 => bail!("the server closed a connection"),
            count => filled += count,
        }
        let progress = reader.advance(&input[..filled], &mut Discard)?;
        input.copy_within(progress.consumed..filled, 0);
        filled -= progress.consumed;
        match progress.answer {
            Some(Answer::Failed(message)) => bail!("{message}"),
            Some(answer) => return Ok(answer),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_with_its_last_packet() {
        let answer = [&[1, 0, 0, 1, 1][..], &[3, 0, 0, 2, 0, 0, b'c'], &[5, 0, 0, 3, 0xfe, 0, 0, 2, 0]].concat();
        for cut in 0..answer.len() {
            assert!(!is_complete(&answer[..cut]).unwrap(), "{cut}");
        }
        assert!(is_complete(&answer).unwrap());
        assert!(is_complete(&[3, 0, 0, 1, 0xff, 1, 4]).is_err());
    }
}
