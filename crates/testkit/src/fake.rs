//! A server that says what a test tells it to, right or wrong.
//!
//! A script is a function that gets a [`Talk`], one accepted connection, on a thread of its own, and does with it
//! what it likes: greet or not, answer, stall, send garbage, hang up. What it leaves to [`Talk::greet`] and
//! [`Talk::serve`] follows the protocol. Nothing is stored or understood: [`Answers`] gives every SELECT one row.

use plimsoll_wire::capability::DEPRECATE_EOF;
use plimsoll_wire::{command, frame, server};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// No test takes so long: a connection that is still open then was forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);

pub const VERSION: &str = "9.0.0-fake";

/// A valid RSA key, whose other half nobody has.
pub const STRANGERS_KEY: &str = include_str!("stranger.pem");

/// Where a fake server listens.
#[derive(Clone, Debug)]
pub enum FakePlace {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// A fake server, gone when dropped.
pub struct Fake {
    pub place: FakePlace,
    closing: Arc<AtomicBool>,
    _directory: Option<TempDir>,
}

trait Socket: Read + Write + Send {
    fn hang_up(&self);
}

impl Socket for UnixStream {
    fn hang_up(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Socket for TcpStream {
    fn hang_up(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl Fake {
    /// Listens on a Unix socket. The script's errors are those of a client that hung up: they end the connection.
    ///
    /// # Panics
    /// If no socket can be made.
    pub fn unix(script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static) -> Fake {
        let directory = crate::servers::home();
        let path = directory.path().join("fake.sock");
        let listener = UnixListener::bind(&path).expect("a socket can be made in /tmp");
        let accept = move || {
            let (stream, _) = listener.accept()?;
            stream.set_read_timeout(Some(FORGOTTEN))?;
            Ok(Box::new(stream) as Box<dyn Socket>)
        };
        Fake::listening(FakePlace::Unix(path), Some(directory), accept, script)
    }

    /// Listens on a free port of a loopback address of its own.
    ///
    /// # Panics
    /// If no socket can be made.
    pub fn tcp(script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static) -> Fake {
        let listener = TcpListener::bind((crate::servers::loopback(), 0)).expect("a loopback address can be bound");
        let address = listener.local_addr().expect("a bound socket has an address");
        let accept = move || {
            let (stream, _) = listener.accept()?;
            stream.set_read_timeout(Some(FORGOTTEN))?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Socket>)
        };
        Fake::listening(FakePlace::Tcp(address), None, accept, script)
    }

    /// The same script on a Unix socket and over TCP.
    pub fn both(script: impl Fn(&mut Talk) -> io::Result<()> + Clone + Send + Sync + 'static) -> [Fake; 2] {
        [Fake::unix(script.clone()), Fake::tcp(script)]
    }

    fn listening(
        place: FakePlace,
        directory: Option<TempDir>,
        accept: impl Fn() -> io::Result<Box<dyn Socket>> + Send + 'static,
        script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static,
    ) -> Fake {
        let closing = Arc::new(AtomicBool::new(false));
        let (closed, script) = (Arc::clone(&closing), Arc::new(script));
        thread::spawn(move || {
            for number in 0.. {
                let Ok(socket) = accept() else { return };
                if closed.load(Ordering::Acquire) {
                    return;
                }
                let script = Arc::clone(&script);
                thread::spawn(move || {
                    let mut talk = Talk { socket, number, capabilities: 0, input: Vec::new(), start: 0 };
                    // The client has hung up: nothing is left to say.
                    let _ = script(&mut talk);
                    talk.socket.hang_up();
                });
            }
        });
        Fake { place, closing, _directory: directory }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Release);
        // Lets the listener look.
        match &self.place {
            FakePlace::Unix(path) => drop(UnixStream::connect(path)),
            FakePlace::Tcp(address) => drop(TcpStream::connect(address)),
        }
    }
}

/// One connection, seen from the server.
pub struct Talk {
    socket: Box<dyn Socket>,
    number: usize,
    capabilities: u64,
    input: Vec<u8>,
    start: usize,
}

impl Talk {
    /// Which connection this is, counted from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// What the client's login said it can do.
    pub fn capabilities(&self) -> u64 {
        self.capabilities
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes)
    }

    /// Sends one payload as packet `sequence`, however long it is.
    pub fn send_packet(&mut self, sequence: u8, payload: &[u8]) -> io::Result<()> {
        let mut out = Vec::with_capacity(payload.len() + frame::HEADER);
        let start = frame::begin(&mut out);
        out.extend_from_slice(payload);
        frame::finish(&mut out, start, sequence);
        self.send(&out)
    }

    /// The client's next payload with its sequence number; pieces over 16 MiB are put together.
    ///
    /// # Errors
    /// The client has hung up.
    pub fn packet(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut whole = Vec::new();
        loop {
            if let Some((sequence, payload)) = frame::split(&self.input[self.start..]) {
                whole.extend_from_slice(payload);
                self.start += frame::HEADER + payload.len();
                if payload.len() < frame::MAX_PAYLOAD {
                    return Ok((sequence, whole));
                }
                continue;
            }
            self.input.drain(..self.start);
            self.start = 0;
            let mut piece = [0; 16 << 10];
            match self.socket.read(&mut piece)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.input.extend_from_slice(&piece[..count]),
            }
        }
    }

    /// Greets with these capabilities and this method.
    pub fn send_greeting(&mut self, capabilities: u64, plugin: &str) -> io::Result<()> {
        let mut out = Vec::new();
        server::put_greeting(&mut out, VERSION, capabilities, plugin, &[7; 20]);
        self.send(&out)
    }

    /// Greets and lets everybody in.
    pub fn greet(&mut self) -> io::Result<()> {
        self.send_greeting(server::OFFERED, "mysql_native_password")?;
        let (sequence, login) = self.packet()?;
        let (capabilities, _user) = server::parse_login(&login).map_err(io::Error::other)?;
        self.capabilities = capabilities;
        let mut out = Vec::new();
        server::put_ok(&mut out, sequence.wrapping_add(1), 0, 0, 2);
        self.send(&out)
    }

    /// Says nothing more until the client hangs up.
    pub fn stall(&mut self) -> io::Result<()> {
        loop {
            self.packet()?;
        }
    }

    /// Hands each command to `answer`, which appends what is sent back, until the client says good-bye.
    pub fn serve(&mut self, mut answer: impl FnMut(&[u8], &mut Vec<u8>)) -> io::Result<()> {
        let mut out = Vec::new();
        loop {
            let (_, payload) = self.packet()?;
            if payload.first() == Some(&command::QUIT) {
                return Ok(());
            }
            out.clear();
            answer(&payload, &mut out);
            self.send(&out)?;
        }
    }

    /// Greets and answers until the client says good-bye.
    pub fn behave(&mut self) -> io::Result<()> {
        self.greet()?;
        let mut answers = Answers::new(self.capabilities);
        self.serve(|payload, out| answers.put(payload, out))
    }
}

/// What a well-behaved server answers: one row to every SELECT, OK to everything else.
pub struct Answers {
    deprecate_eof: bool,
    /// Whether each prepared statement is a SELECT, in the order of their numbers, which begin with 1.
    reads: Vec<bool>,
}

impl Answers {
    pub fn new(capabilities: u64) -> Answers {
        Answers { deprecate_eof: capabilities & DEPRECATE_EOF != 0, reads: Vec::new() }
    }

    /// Appends the answer to a command.
    pub fn put(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let (first, body) = payload.split_first().unwrap_or((&0, &[]));
        let reads = |sql: &[u8]| sql.get(..6).is_some_and(|word| word.eq_ignore_ascii_case(b"SELECT"));
        match *first {
            command::STMT_PREPARE => {
                self.reads.push(reads(body));
                let parameters = body.iter().filter(|byte| **byte == b'?').count() as u16;
                let columns = u16::from(reads(body));
                server::put_prepared(out, self.reads.len() as u32, parameters, columns, self.deprecate_eof);
            }
            command::STMT_EXECUTE => {
                let number = body.first_chunk().map_or(0, |id| u32::from_le_bytes(*id)) as usize;
                let reads = number.checked_sub(1).and_then(|place| self.reads.get(place)).copied();
                self.answer(reads.unwrap_or_default(), b"\0\0\x05value", out);
            }
            _ => self.answer(reads(body), b"\x05value", out),
        }
    }

    fn answer(&self, reads: bool, row: &[u8], out: &mut Vec<u8>) {
        if reads {
            server::put_result(out, &[row], self.deprecate_eof, 2);
        } else {
            server::put_ok(out, 1, 0, 1, 2);
        }
    }
}
