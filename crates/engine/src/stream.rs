//! Bytes to and from a server: a Unix or TCP socket, with or without TLS, on an event loop.

use crate::endpoint::Resolved;
use crate::error::{Failure, SENDING};
use crate::executor::{Reactor, Slot};
use crate::trust::Channel;
use mio::net::{TcpStream, UnixStream};
use plimsoll_wire::WireError;
use plimsoll_wire::budget::{self, Share};
use plimsoll_wire::frame::{HEADER, MAX_PAYLOAD};
use rustix::net::{self, RecvFlags, SendFlags};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// A full accept queue is tried again after this.
const CONNECT_AGAIN_NS: u64 = 2_000_000;

enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// One address of a server.
#[derive(Clone, Copy)]
enum Place<'a> {
    Unix(&'a Path),
    Tcp(SocketAddr),
}

impl Place<'_> {
    /// Begins to connect.
    fn connect(self) -> io::Result<Socket> {
        match self {
            Place::Unix(path) => UnixStream::connect(path).map(Socket::Unix),
            Place::Tcp(address) => TcpStream::connect(address).map(Socket::Tcp),
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Unix(path) => write!(f, "the socket {}", path.display()),
            Place::Tcp(address) => write!(f, "{address}"),
        }
    }
}

/// Runs `$body` with `$socket` bound to whichever socket it is.
macro_rules! on_socket {
    ($self:expr, $socket:ident => $body:expr) => {
        match $self {
            Socket::Unix($socket) => $body,
            Socket::Tcp($socket) => $body,
        }
    };
}

/// After so many receives without an end the other connections get their turn.
pub const RECEIVES: u32 = 64;

/// Received bytes that are not used up yet.
#[derive(Debug)]
pub struct ReceivedBytes {
    bytes: Vec<u8>,
    share: Share,
    start: usize,
    end: usize,
}

const INPUT_BYTES: usize = 8 << 10;
/// Room for the longest packet, and for what comes behind it.
const INPUT_MOST: usize = HEADER + MAX_PAYLOAD + INPUT_BYTES;

impl Default for ReceivedBytes {
    fn default() -> ReceivedBytes {
        ReceivedBytes { bytes: vec![0; INPUT_BYTES], share: Share::default(), start: 0, end: 0 }
    }
}

impl ReceivedBytes {
    #[inline]
    pub fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > budget::FREE {
                *self = ReceivedBytes::default();
            }
        }
    }

    pub fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Free space at the end: made by moving what is there to the front, then by doubling. It grows only as
    /// bytes really come, so a length that a server merely announces costs nothing.
    ///
    /// # Errors
    /// Where all connections together would hold too much.
    #[inline]
    fn space(&mut self) -> Result<&mut [u8], WireError> {
        if self.end == self.bytes.len() {
            if self.start > 0 {
                self.bytes.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            } else {
                let bytes = if self.end < INPUT_MOST { INPUT_MOST.min(self.end * 2) } else { self.end * 2 };
                self.share.resize(bytes)?;
                self.bytes.reserve_exact(bytes - self.end);
                self.bytes.resize(bytes, 0);
            }
        }
        Ok(&mut self.bytes[self.end..])
    }
}

pub struct Stream {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
    slot: Rc<Slot>,
    reactor: Rc<Reactor>,
    local: bool,
}

impl Stream {
    /// Connects to the first of the server's addresses where somebody listens.
    ///
    /// # Errors
    /// That of the last address.
    pub async fn connect(address: &Resolved, reactor: Rc<Reactor>, slot: Rc<Slot>) -> Result<Stream, Failure> {
        let addresses = match address {
            Resolved::Unix(path) => return Stream::connect_to(Place::Unix(path), reactor, slot).await,
            Resolved::Tcp(addresses) => addresses,
        };
        let mut last = Failure::Lost("the server has no address".to_owned());
        for address in addresses {
            match Stream::connect_to(Place::Tcp(*address), reactor.clone(), slot.clone()).await {
                Err(Failure::Lost(text)) => last = Failure::Lost(text),
                other => return other,
            }
        }
        Err(last)
    }

    /// Connects, waiting where the server's accept queue is full.
    async fn connect_to(place: Place<'_>, reactor: Rc<Reactor>, slot: Rc<Slot>) -> Result<Stream, Failure> {
        let failed = |error: &io::Error| Failure::Lost(format!("cannot connect to {place}: {error}"));
        let mut socket = loop {
            match place.connect() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !reactor.sleep_until(&slot, reactor.now_ns() + CONNECT_AGAIN_NS).await {
                        return Err(Failure::Cancelled);
                    }
                }
                other => break other.map_err(|error| failed(&error))?,
            }
        };
        on_socket!(&mut socket, socket => reactor.register(socket, &slot)).map_err(|error| failed(&error))?;
        let local = matches!(socket, Socket::Unix(_));
        let mut stream = Stream { socket, tls: None, slot, reactor, local };
        stream.connected().await.map_err(|error| match error {
            Failure::Lost(text) => Failure::Lost(format!("cannot connect to {place}: {text}")),
            other => other,
        })?;
        Ok(stream)
    }

    /// Waits for a TCP connection to be made.
    async fn connected(&mut self) -> Result<(), Failure> {
        let Socket::Tcp(socket) = &mut self.socket else { return Ok(()) };
        self.reactor.watch_writing(socket, &self.slot, true).map_err(|error| Failure::Lost(error.to_string()))?;
        if !self.slot.writable().await {
            return Err(Failure::Cancelled);
        }
        let outcome = match socket.take_error() {
            Ok(None) => socket.set_nodelay(true),
            Ok(Some(error)) | Err(error) => Err(error),
        };
        outcome
            .and_then(|()| self.reactor.watch_writing(socket, &self.slot, false))
            .map_err(|error| Failure::Lost(error.to_string()))
    }

    /// What the bytes go through, as things stand.
    pub fn channel(&self) -> Channel {
        match (self.local, &self.tls) {
            (true, _) => Channel::Unix,
            (false, Some(_)) => Channel::Tls,
            (false, None) => Channel::Plain,
        }
    }

    pub fn is_unix(&self) -> bool {
        self.local
    }

    /// The process at the other end of a Unix socket.
    #[cfg(target_os = "linux")]
    pub fn peer_pid(&self) -> Option<u32> {
        match &self.socket {
            Socket::Unix(socket) => {
                let credentials = rustix::net::sockopt::socket_peercred(socket).ok()?;
                u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
            }
            Socket::Tcp(_) => None,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub fn peer_pid(&self) -> Option<u32> {
        None
    }

    /// Goes on in TLS from here.
    pub async fn start_tls(&mut self, config: Arc<ClientConfig>, name: ServerName<'static>) -> Result<(), Failure> {
        let failed = |error: rustls::Error| Failure::Setup(format!("TLS with the server failed: {error}"));
        let mut tls = Box::new(ClientConnection::new(config, name).map_err(failed)?);
        let mut records = 0u32;
        while tls.is_handshaking() {
            records = records.wrapping_add(1);
            if records.is_multiple_of(RECEIVES) {
                self.give_way().await;
            }
            while tls.wants_write() {
                self.write_tls(&mut tls).await?;
            }
            if tls.is_handshaking() && tls.wants_read() {
                self.read_tls(&mut tls).await?;
            }
        }
        while tls.wants_write() {
            self.write_tls(&mut tls).await?;
        }
        self.tls = Some(tls);
        Ok(())
    }

    async fn write_tls(&mut self, tls: &mut ClientConnection) -> Result<(), Failure> {
        loop {
            match on_socket!(&mut self.socket, socket => tls.write_tls(socket)) {
                Ok(_) => return Ok(()),
                Err(error) => self.wait_for_room(error).await?,
            }
        }
    }

    async fn read_tls(&mut self, tls: &mut ClientConnection) -> Result<(), Failure> {
        loop {
            if !self.slot.readable().await {
                return Err(Failure::Cancelled);
            }
            match on_socket!(&mut self.socket, socket => tls.read_tls(socket)) {
                Ok(0) => return Err(lost_while_reading(&io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => {
                    tls.process_new_packets()
                        .map_err(|error| Failure::Setup(format!("TLS with the server failed: {error}")))?;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.slot.set_blocked(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost_while_reading(&error)),
            }
        }
    }

    /// Lets the loop serve its other connections and look after itself.
    #[cold]
    pub async fn give_way(&self) {
        self.reactor.give_way(&self.slot).await;
    }

    /// From here to [`Stream::answered`] the rest of an answer is waited for, of which a part has come.
    #[cold]
    pub fn begin_answer(&self) {
        self.slot.begin_answer(self.reactor.now_ns());
    }

    #[cold]
    pub fn answered(&self) {
        self.slot.answered();
    }

    /// Sends all of `bytes`.
    #[inline]
    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        if self.tls.is_some() {
            return self.send_tls(bytes).await;
        }
        let mut rest = bytes;
        loop {
            // The system call itself, without the C library's cancellation point around it.
            match on_socket!(&self.socket, socket => net::send(socket, rest, SendFlags::empty())) {
                Ok(written) if written == rest.len() => return Ok(()),
                Ok(written) => rest = &rest[written..],
                Err(error) => self.wait_for_room(error.into()).await?,
            }
        }
    }

    async fn send_tls(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Some(mut tls) = self.tls.take() else { return Ok(()) };
        let mut rest = bytes;
        let mut sent = Ok(());
        while sent.is_ok() && (!rest.is_empty() || tls.wants_write()) {
            match tls.writer().write(rest) {
                Ok(taken) => rest = &rest[taken..],
                Err(error) => sent = Err(Failure::from_io(&error, SENDING)),
            }
            while sent.is_ok() && tls.wants_write() {
                sent = self.write_tls(&mut tls).await;
            }
        }
        self.tls = Some(tls);
        sent
    }

    #[cold]
    async fn wait_for_room(&mut self, error: io::Error) -> Result<(), Failure> {
        match error.kind() {
            io::ErrorKind::Interrupted => return Ok(()),
            io::ErrorKind::WouldBlock => {}
            _ => return Err(Failure::from_io(&error, SENDING)),
        }
        let watch = |stream: &mut Stream, on| {
            on_socket!(&mut stream.socket, socket => stream.reactor.watch_writing(socket, &stream.slot, on))
                .map_err(|error| Failure::from_io(&error, SENDING))
        };
        watch(self, true)?;
        let room = self.slot.writable().await;
        watch(self, false)?;
        if room { Ok(()) } else { Err(Failure::Cancelled) }
    }

    /// Waits for more bytes and appends them to `input`.
    #[inline]
    pub async fn receive(&mut self, input: &mut ReceivedBytes) -> Result<(), Failure> {
        if self.tls.is_some() {
            return self.receive_tls(input).await;
        }
        loop {
            if !self.slot.readable().await {
                return Err(Failure::Cancelled);
            }
            let space = input.space()?;
            let received = on_socket!(&self.socket, socket => net::recv(socket, &mut *space, RecvFlags::empty()));
            match received.map(|(count, _)| count).map_err(io::Error::from) {
                Ok(0) => return Err(lost_while_reading(&io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => {
                    // Less than there was room for: the socket is empty, and a new edge tells of more (epoll(7)).
                    if count < space.len() {
                        self.slot.set_drained();
                    }
                    input.end += count;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.slot.set_blocked(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost_while_reading(&error)),
            }
        }
    }

    async fn receive_tls(&mut self, input: &mut ReceivedBytes) -> Result<(), Failure> {
        let Some(mut tls) = self.tls.take() else { return Ok(()) };
        let mut records = 0u32;
        let received = loop {
            let space = match input.space() {
                Ok(space) => space,
                Err(refused) => break Err(refused.into()),
            };
            match tls.reader().read(space) {
                Ok(0) => break Err(lost_while_reading(&io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => {
                    input.end += count;
                    break Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if let Err(failure) = self.read_tls(&mut tls).await {
                        break Err(failure);
                    }
                    // Records may come without end that hold nothing to read.
                    records = records.wrapping_add(1);
                    if records.is_multiple_of(RECEIVES) {
                        self.give_way().await;
                    }
                }
                Err(error) => break Err(lost_while_reading(&error)),
            }
        };
        self.tls = Some(tls);
        received
    }
}

fn lost_while_reading(error: &io::Error) -> Failure {
    Failure::from_io(error, "waiting for the server's answer")
}
