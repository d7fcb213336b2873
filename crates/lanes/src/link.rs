//! A relay that makes the way between a client and its server longer. What the client sends is delayed, so that each
//! round trip takes that much longer, while requests that follow each other closely stay as close as they were.
//!
//! Each connection has three threads: for the delayed direction one that reads and one that writes when it is time, and
//! one for the other direction. A connection holds back at most [`HELD_BACK`] bytes; then its client has to wait, as
//! with a full send buffer.

use crate::LaneError;
use crate::error::DuringLane;
use rustix::thread::set_current_timer_slack;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The most that one read returns, bytes.
pub(crate) const CHUNK: usize = 64 << 10;
/// The most in flight on one connection, bytes.
pub const HELD_BACK: usize = 16 << 20;
/// How long a server may take to accept a connection.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// The pause before the next connection is accepted after a failure.
const PAUSE: Duration = Duration::from_millis(100);
/// Approximate memory of a chunk of one byte.
const OVERHEAD: usize = 64;

/// What to relay, and with which delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Where it listens.
    pub listen: IpAddr,
    /// Where it connects to, at the same port.
    pub server: IpAddr,
    pub ports: Vec<u16>,
    /// The delay of what the client sends.
    pub delay: Duration,
}

/// Relays until the process is ended.
///
/// # Errors
/// [`LaneError::Io`] if it cannot listen.
pub fn run(link: &Link) -> Result<(), LaneError> {
    // Otherwise a sleep takes 50 microseconds more (prctl(2), PR_SET_TIMERSLACK); threads inherit it. It works without.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let listeners = link.ports.iter().map(|port| {
        let listener = TcpListener::bind((link.listen, *port)).during("listen for", Path::new(&port.to_string()))?;
        Ok((listener, SocketAddr::new(link.server, *port)))
    });
    let listeners: Vec<_> = listeners.collect::<Result<_, LaneError>>()?;
    thread::scope(|scope| {
        for (listener, server) in &listeners {
            scope.spawn(|| accept(listener, *server, link.delay));
        }
    });
    Ok(())
}

/// Relays the connections of one port.
fn accept(listener: &TcpListener, server: SocketAddr, delay: Duration) {
    for client in listener.incoming() {
        // A connection that cannot be relayed is closed, which its client sees.
        let begun = client.and_then(|client| thread::Builder::new().spawn(move || pass_on(client, server, delay)));
        if begun.is_err() {
            // Without file descriptors or threads the next would fail at once too.
            thread::sleep(PAUSE);
        }
    }
}

/// Relays a connection until both sides have closed it.
fn pass_on(client: TcpStream, server: SocketAddr, delay: Duration) -> io::Result<()> {
    let server = TcpStream::connect_timeout(&server, ANSWERS_WITHIN)?;
    for end in [&client, &server] {
        end.set_nodelay(true)?;
    }
    let held = Arc::new(Held::default());
    let (reader, writer) = (held.clone(), held);
    let [from, to] = [client.try_clone()?, server.try_clone()?];
    thread::Builder::new().spawn(move || hold_back(from, &reader, delay))?;
    thread::Builder::new().spawn(move || release(&writer, to))?;
    copy(server, client);
    Ok(())
}

/// The server's answers are not delayed.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    let mut chunk = vec![0; CHUNK];
    while let Some(bytes) = read(&mut from, &mut chunk) {
        if to.write_all(&chunk[..bytes]).is_err() {
            break;
        }
    }
    // The sender learns that nobody listens.
    let _ = (to.shutdown(Shutdown::Write), from.shutdown(Shutdown::Read));
}

fn hold_back(mut from: TcpStream, held: &Held, delay: Duration) {
    let mut chunk = vec![0; CHUNK];
    while let Some(bytes) = read(&mut from, &mut chunk) {
        if !held.push(chunk[..bytes].to_vec(), Instant::now() + delay) {
            break;
        }
    }
    held.end();
    let _ = from.shutdown(Shutdown::Read);
}

fn release(held: &Held, mut to: TcpStream) {
    while let Some((chunk, due)) = held.pop() {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&chunk).is_err() {
            held.end();
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// How many bytes arrived; none at the end.
pub(crate) fn read(from: &mut impl Read, chunk: &mut [u8]) -> Option<usize> {
    loop {
        match from.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read.ok().filter(|bytes| *bytes > 0),
        }
    }
}

/// Chunks in flight, in order, each with its time of arrival.
#[derive(Default)]
struct Held {
    way: Mutex<Way>,
    changed: Condvar,
}

#[derive(Default)]
struct Way {
    chunks: VecDeque<(Vec<u8>, Instant)>,
    bytes: usize,
    is_over: bool,
}

impl Held {
    /// Waits until there is room. False if there is no receiver any more.
    fn push(&self, chunk: Vec<u8>, due: Instant) -> bool {
        let way = self.changed.wait_while(self.way(), |way| way.bytes >= HELD_BACK && !way.is_over);
        let mut way = way.unwrap_or_else(PoisonError::into_inner);
        if !way.is_over {
            way.bytes += chunk.len() + OVERHEAD;
            way.chunks.push_back((chunk, due));
            self.changed.notify_all();
        }
        !way.is_over
    }

    /// Waits for the next chunk; none at the end.
    fn pop(&self) -> Option<(Vec<u8>, Instant)> {
        let way = self.changed.wait_while(self.way(), |way| way.chunks.is_empty() && !way.is_over);
        let mut way = way.unwrap_or_else(PoisonError::into_inner);
        let next = way.chunks.pop_front()?;
        way.bytes -= next.0.len() + OVERHEAD;
        self.changed.notify_all();
        Some(next)
    }

    /// Nothing more is sent; what is in flight still arrives.
    fn end(&self) {
        self.way().is_over = true;
        self.changed.notify_all();
    }

    fn way(&self) -> MutexGuard<'_, Way> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than anybody waits for whom nothing comes.
    const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));

    /// A server that sends back what it gets, behind a link; a connection to it.
    fn echo(delay: Duration) -> TcpStream {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        thread::spawn(move || {
            let (stream, _) = server.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            let _ = io::copy(&mut &stream, &mut &stream);
            let _ = stream.shutdown(Shutdown::Write);
        });
        let link = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = link.local_addr().unwrap();
        thread::spawn(move || accept(&link, address, delay));
        let client = TcpStream::connect(at).unwrap();
        client.set_nodelay(true).unwrap();
        client
    }

    #[test]
    fn a_round_trip_takes_the_delay_and_requests_overlap() {
        let delay = Duration::from_secs(1);
        let mut client = echo(delay);
        let begun = Instant::now();
        for number in 0..20_u8 {
            client.write_all(&[number]).unwrap();
            thread::sleep(Duration::from_millis(2));
        }
        let mut answers = [0; 20];
        client.read_exact(&mut answers).unwrap();
        let took = begun.elapsed();
        assert!(answers.iter().copied().eq(0..20), "in order: {answers:?}");
        assert!(took >= delay, "{took:?}");
        assert!(took < 10 * delay, "one after the other they take 20 delays: {took:?}");
    }

    #[test]
    fn what_was_sent_arrives_after_the_end_and_the_end_after_it() {
        let mut client = echo(Duration::from_millis(50));
        let sent: Vec<u8> = (0..2 << 20).map(|at: usize| (at % 251) as u8).collect();
        let mut writer = client.try_clone().unwrap();
        let expected = sent.clone();
        let sender = thread::spawn(move || {
            writer.write_all(&sent).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        sender.join().unwrap();
        assert!(answer == expected, "{} bytes", answer.len());
    }

    /// Both ends of a connection behind a link.
    fn ends(delay: Duration) -> (TcpStream, TcpStream) {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let link = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = link.local_addr().unwrap();
        thread::spawn(move || accept(&link, address, delay));
        let client = TcpStream::connect(at).unwrap();
        (client, server.accept().unwrap().0)
    }

    #[test]
    fn an_end_that_dies_ends_the_other_that_waits() {
        let (mut client, server) = ends(Duration::from_millis(10));
        client.set_read_timeout(PATIENCE).unwrap();
        drop(server);
        assert_eq!(client.read(&mut [0]).unwrap(), 0, "the server is gone");
        let (client, mut server) = ends(Duration::from_millis(10));
        server.set_read_timeout(PATIENCE).unwrap();
        drop(client);
        assert_eq!(server.read(&mut [0]).unwrap(), 0, "the client is gone");
    }

    #[test]
    fn a_server_that_is_not_there_holds_up_no_other_connection() {
        // A port that is free because it was given back might be another test's by now.
        let nobody = SocketAddr::from((plimsoll_testkit::servers::loopback(), 9));
        let link = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = link.local_addr().unwrap();
        thread::spawn(move || accept(&link, nobody, Duration::ZERO));
        for _ in 0..2 {
            let mut client = TcpStream::connect(at).unwrap();
            client.set_read_timeout(PATIENCE).unwrap();
            match client.read(&mut [0]) {
                Ok(bytes) => assert_eq!(bytes, 0, "it is closed"),
                Err(error) => assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "it is not closed"),
            }
        }
    }

    #[test]
    fn no_more_is_held_back_than_the_limit() {
        let held = Held::default();
        let due = Instant::now();
        while held.way().bytes < HELD_BACK {
            assert!(held.push(vec![0; CHUNK], due));
        }
        thread::scope(|scope| {
            let waits = scope.spawn(|| held.push(vec![0; CHUNK], due));
            thread::sleep(Duration::from_millis(50));
            assert!(!waits.is_finished());
            held.pop().unwrap();
            assert!(waits.join().unwrap());
        });
        held.end();
        assert!(!held.push(vec![0], due));
    }
}
