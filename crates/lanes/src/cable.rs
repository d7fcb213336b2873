//! A cable between a TCP port and the Unix socket of a server, which can be cut: from then on nothing passes any more,
//! either way, and neither end is told, as with a cable that is pulled out.
//!
//! It listens on this machine only, and carries what processes of this user send: whoever may use the port could use the
//! socket too.

use crate::LaneError;
use crate::error::DuringLane;
use crate::link::{CHUNK, read};
use rustix::process::geteuid;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle, Scope};
use std::time::Duration;

const POLL: Duration = Duration::from_millis(10);
const SOCKETS: &str = "/proc/self/net/tcp";

/// A cable that is plugged in; nothing of it is left when it is dropped.
#[derive(Debug)]
pub struct Cable {
    port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    listener: TcpListener,
    socket: PathBuf,
    is_cut: AtomicBool,
    is_over: AtomicBool,
    /// Kept open until the end, so that a cut is seen by nobody.
    wires: Mutex<Vec<Arc<Wire>>>,
}

/// Both ends of a connection.
#[derive(Debug)]
struct Wire {
    near: TcpStream,
    far: UnixStream,
}

impl Cable {
    /// Lays one to the Unix socket of a server.
    ///
    /// # Errors
    /// [`LaneError::Io`] if it cannot listen.
    pub fn lay(socket: &Path) -> Result<Cable, LaneError> {
        let here = Path::new("127.0.0.1");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).during("listen on", here)?;
        listener.set_nonblocking(true).during("listen on", here)?;
        let port = listener.local_addr().during("listen on", here)?.port();
        let shared = Arc::new(Shared {
            listener,
            socket: socket.to_owned(),
            is_cut: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            wires: Mutex::default(),
        });
        let served = Arc::clone(&shared);
        let thread = thread::Builder::new().name("cable".into()).spawn(move || served.serve());
        Ok(Cable { port, shared, thread: Some(thread.during("relay from", here)?) })
    }

    /// Its port on this machine.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Nothing passes any more.
    pub fn cut(&self) {
        self.shared.is_cut.store(true, Ordering::Release);
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // It has nothing to report.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn serve(&self) {
        thread::scope(|scope| {
            while !self.is_over.load(Ordering::Acquire) {
                match self.listener.accept() {
                    // A connection that is not carried is closed, which its client sees.
                    Ok((near, from)) if !self.is_cut() => drop(self.plug_in(near, from, scope)),
                    Ok(_) => {}
                    Err(_) => thread::sleep(POLL),
                }
            }
            self.wires.lock().unwrap_or_else(PoisonError::into_inner).drain(..).for_each(|wire| wire.close());
        });
    }

    fn plug_in<'s>(&'s self, near: TcpStream, from: SocketAddr, scope: &'s Scope<'s, '_>) -> io::Result<()> {
        near.set_nonblocking(false)?;
        near.set_nodelay(true)?;
        if !is_ours(from, near.local_addr()?)? {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let wire = Arc::new(Wire { near, far: UnixStream::connect(&self.socket)? });
        self.wires.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&wire));
        let back = Arc::clone(&wire);
        thread::Builder::new().spawn_scoped(scope, move || self.carry(&wire.near, &wire.far, &wire))?;
        thread::Builder::new().spawn_scoped(scope, move || self.carry(&back.far, &back.near, &back))?;
        Ok(())
    }

    fn carry(&self, mut from: impl Read, mut to: impl Write, wire: &Wire) {
        let mut chunk = vec![0; CHUNK];
        while let Some(bytes) = read(&mut from, &mut chunk) {
            // What is on its way is lost with the cable.
            if self.is_cut() || to.write_all(&chunk[..bytes]).is_err() {
                break;
            }
        }
        if !self.is_cut() {
            wire.close();
        }
    }

    fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::Acquire)
    }
}

impl Wire {
    fn close(&self) {
        // An end that is closed already cannot be closed again.
        let _ = (self.near.shutdown(Shutdown::Both), self.far.shutdown(Shutdown::Both));
    }
}

/// Whether a connection on this machine was made by a process of this user.
fn is_ours(from: SocketAddr, to: SocketAddr) -> io::Result<bool> {
    let (SocketAddr::V4(from), SocketAddr::V4(to)) = (from, to) else { return Ok(false) };
    Ok(owner(&fs::read_to_string(SOCKETS)?, from, to) == Some(geteuid().as_raw()))
}

/// The user who has the end `from` of a connection (Linux, `Documentation/networking/proc_net_tcp.rst`).
fn owner(table: &str, from: SocketAddrV4, to: SocketAddrV4) -> Option<u32> {
    let written = |at: SocketAddrV4| format!("{:08X}:{:04X}", u32::from_ne_bytes(at.ip().octets()), at.port());
    let (from, to) = (written(from), written(to));
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_it = words.next() == Some(&from) && words.next() == Some(&to);
        // State, queues, timer and retransmissions stand between.
        if is_it { words.nth(4)?.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// Both ends of a connection over a cable.
    fn ends(directory: &Path) -> (Cable, TcpStream, UnixStream) {
        let socket = directory.join("server.sock");
        let server = UnixListener::bind(&socket).unwrap();
        let cable = Cable::lay(&socket).unwrap();
        let client = TcpStream::connect((Ipv4Addr::LOCALHOST, cable.port())).unwrap();
        let (server, _) = server.accept().unwrap();
        (cable, client, server)
    }

    #[test]
    fn a_cable_carries_both_ways_and_its_end_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let (cable, mut client, mut server) = ends(directory.path());
        let mut heard = [0; 4];
        client.write_all(b"ping").unwrap();
        server.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"ping");
        server.write_all(b"pong").unwrap();
        client.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"pong");
        drop(cable);
        assert_eq!(client.read(&mut heard).unwrap(), 0);
        assert_eq!(server.read(&mut heard).unwrap(), 0);
    }

    #[test]
    fn nothing_passes_a_cut_and_neither_end_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let (cable, mut client, mut server) = ends(directory.path());
        cable.cut();
        client.write_all(b"ping").unwrap();
        server.write_all(b"pong").unwrap();
        for end in [&client as &dyn TimedRead, &server] {
            assert_eq!(end.waits().unwrap_err().kind(), ErrorKind::WouldBlock);
        }
        drop(cable);
        assert_ne!(client.read(&mut [0]).unwrap_or(0), 1, "not even afterwards");
    }

    trait TimedRead {
        fn waits(&self) -> io::Result<usize>;
    }

    impl TimedRead for TcpStream {
        fn waits(&self) -> io::Result<usize> {
            self.set_read_timeout(Some(Duration::from_millis(100)))?;
            (&*self).read(&mut [0])
        }
    }

    impl TimedRead for UnixStream {
        fn waits(&self) -> io::Result<usize> {
            self.set_read_timeout(Some(Duration::from_millis(100)))?;
            (&*self).read(&mut [0])
        }
    }

    #[test]
    fn a_connection_of_somebody_else_is_told_by_its_owner() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: \
                     0100007F:9C40 0100007F:0CEA 01 00000000:00000000 00:00000000 00000000  1000        0 12 1\n";
        let at = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
        assert_eq!(owner(table, at(0x9c40), at(0x0cea)), Some(1000));
        assert_eq!(owner(table, at(0x0cea), at(0x9c40)), None, "the other end");
    }
}
