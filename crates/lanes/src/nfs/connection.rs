//! Connections to the server: one request at a time on each, and as many connections as requests are in flight.
//!
//! The client library is asynchronous over any stream. Here each worker waits for its own answer, so the stream is a
//! plain blocking socket, every future is ready when it is polled, and no runtime is needed.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use fuser::Errno;
use nfs3_client::nfs3_types::nfs3::{NFS_PROGRAM, Nfs3Result, nfsstat3};
use nfs3_client::nfs3_types::rpc::{auth_unix, opaque_auth};
use nfs3_client::{Nfs3Client, RpcError};

use super::attributes::errno;
use super::operations::Operations;
use crate::nfs_options::Patience;

const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Small answers arrive in one read of the socket; larger reads bypass the buffer.
const BUFFER: usize = 4096;

pub type NfsClient = Nfs3Client<NfsStream>;

/// A blocking TCP connection in the form that the client library expects.
#[derive(Debug)]
pub struct NfsStream(BufReader<TcpStream>);

impl NfsStream {
    /// # Errors
    /// Those of the socket.
    pub fn connect(address: SocketAddr, answer: Duration) -> io::Result<Self> {
        let socket = TcpStream::connect_timeout(&address, answer)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(answer))?;
        socket.set_write_timeout(Some(answer))?;
        Ok(Self(BufReader::with_capacity(BUFFER, socket)))
    }
}

impl nfs3_client::io::AsyncRead for NfsStream {
    async fn async_read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        moved(buffer.len(), || self.0.read(buffer))
    }
}

impl nfs3_client::io::AsyncWrite for NfsStream {
    async fn async_write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        moved(buffer.len(), || self.0.get_mut().write(buffer))
    }
}

/// Repeats `transfer` until no signal interrupts it. If nothing was moved, the stream has ended; the library's loops
/// would ask for ever.
fn moved(asked: usize, mut transfer: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match transfer() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) if asked > 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            other => return other,
        }
    }
}

/// The value of a future over [`NfsStream`], which never waits.
pub fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// The caller's identity: root of this machine. The kernel has checked the real caller's permissions before.
pub fn credential() -> opaque_auth<'static> {
    let machinename = rustix::system::uname().nodename().to_bytes().to_vec().into();
    opaque_auth::auth_unix(&auth_unix { machinename, ..auth_unix::default() })
}

/// Why a request has no useful answer.
struct Refusal {
    error: Errno,
    /// It was sent more than once, and an earlier attempt may have succeeded.
    resent: bool,
}

/// The NFS service of one server, and its connections that wait for work.
#[derive(Debug)]
pub struct NfsServer {
    address: SocketAddr,
    patience: Patience,
    idle: Mutex<Vec<NfsClient>>,
    operations: Arc<Operations>,
}

impl NfsServer {
    pub fn new(address: SocketAddr, patience: Patience, operations: Arc<Operations>) -> Self {
        Self { address, patience, idle: Mutex::default(), operations }
    }

    /// Asks the server on a connection of its own until it answers. After a lost connection it reconnects and repeats
    /// the request (as a hard mount does, but that never gives up; here [`Patience::give_up`] is the limit); if the server says
    /// "later" (`NFS3ERR_JUKEBOX`), it asks later.
    ///
    /// # Errors
    /// The server's error as the system's number; `EIO` for an invalid answer, or none in time.
    pub fn call<T, E>(
        &self,
        kind: NFS_PROGRAM,
        ask: impl AsyncFn(&mut NfsClient) -> Result<Nfs3Result<T, E>, RpcError>,
    ) -> Result<T, Errno> {
        self.ask(kind, ask).map_err(|refusal| refusal.error)
    }

    /// Asks the server to remove or rename something. If the request was repeated because its answer was lost, "no such
    /// file" means that the first attempt succeeded.
    ///
    /// # Errors
    /// As [`NfsServer::call`].
    pub fn call_once<T, E>(
        &self,
        kind: NFS_PROGRAM,
        ask: impl AsyncFn(&mut NfsClient) -> Result<Nfs3Result<T, E>, RpcError>,
    ) -> Result<(), Errno> {
        match self.ask(kind, ask) {
            Err(Refusal { error, resent: true }) if i32::from(error) == libc::ENOENT => Ok(()),
            Err(refusal) => Err(refusal.error),
            Ok(_) => Ok(()),
        }
    }

    fn ask<T, E>(
        &self,
        kind: NFS_PROGRAM,
        ask: impl AsyncFn(&mut NfsClient) -> Result<Nfs3Result<T, E>, RpcError>,
    ) -> Result<T, Refusal> {
        let (started, mut pause, mut resent) = (Instant::now(), FIRST_PAUSE, false);
        loop {
            match self.ask_once(kind, &ask) {
                Ok(Nfs3Result::Ok(answer)) => return Ok(answer),
                Ok(Nfs3Result::Err((nfsstat3::NFS3ERR_JUKEBOX, _))) => {}
                Err(RpcError::Io(_)) => resent = true,
                Ok(Nfs3Result::Err((status, _))) => return Err(Refusal { error: errno(status), resent }),
                Err(_) => return Err(Refusal { error: Errno::EIO, resent }),
            }
            if started.elapsed() + pause > self.patience.give_up {
                return Err(Refusal { error: Errno::EIO, resent });
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn ask_once<R>(
        &self,
        kind: NFS_PROGRAM,
        ask: &impl AsyncFn(&mut NfsClient) -> Result<R, RpcError>,
    ) -> Result<R, RpcError> {
        let waiting = self.idle().pop();
        let mut client = match waiting {
            Some(client) => client,
            None => {
                let stream = NfsStream::connect(self.address, self.patience.answer)?;
                NfsClient::new_with_auth(stream, credential(), opaque_auth::default())
            }
        };
        self.operations.count(kind);
        let answer = finish(ask(&mut client));
        match &answer {
            Ok(_) => self.idle().push(client),
            // The server is gone, and with it the idle connections.
            Err(RpcError::Io(_)) => self.idle().clear(),
            // The stream may be out of step: the next answer on it may be to another request.
            Err(_) => {}
        }
        answer
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<NfsClient>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use nfs3_client::nfs3_types::nfs3::{REMOVE3args, diropargs3, nfs_fh3};

    use super::*;

    const RECORD: usize = 4;
    const WORD: usize = 4;
    /// RFC 5531: an accepted reply, no verifier, success; RFC 1813: NFS3ERR_NOENT, no attributes before and after.
    const NOT_THERE: [u32; 8] = [1, 0, 0, 0, 0, 2, 0, 0];

    /// A server that takes a request of each connection in turn: it hangs up on the first, answers the second with the
    /// number of another request, and the others with [`NOT_THERE`].
    fn scripted(connections: u32) -> (SocketAddr, thread::JoinHandle<()>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let served = thread::spawn(move || {
            for connection in 0..connections {
                let mut stream = listener.accept().unwrap().0;
                let xid = request(&mut stream);
                if connection > 0 {
                    let number = xid.wrapping_add(u32::from(connection == 1));
                    let length = 1 << 31 | ((NOT_THERE.len() + 1) * WORD) as u32;
                    let words = [length, number].into_iter().chain(NOT_THERE);
                    stream.write_all(&words.flat_map(u32::to_be_bytes).collect::<Vec<_>>()).unwrap();
                }
            }
        });
        (address, served)
    }

    /// Reads a request; gives its number.
    fn request(stream: &mut TcpStream) -> u32 {
        let mut word = [0; RECORD];
        stream.read_exact(&mut word).unwrap();
        let mut call = vec![0; (u32::from_be_bytes(word) & !(1 << 31)) as usize];
        stream.read_exact(&mut call).unwrap();
        u32::from_be_bytes(call[..WORD].try_into().unwrap())
    }

    #[test]
    fn what_was_sent_again_is_done_and_a_stream_out_of_step_is_left() {
        let (address, served) = scripted(4);
        let server = NfsServer::new(address, Patience::default(), Arc::default());
        let object = diropargs3 { dir: nfs_fh3::default(), name: b"name".as_slice().into() };
        let args = REMOVE3args { object };
        let remove = || server.call_once(NFS_PROGRAM::NFSPROC3_REMOVE, async |client| client.remove(&args).await);
        assert_eq!(remove().map_err(i32::from), Err(libc::EIO), "sent again, answered with another's number");
        assert!(server.idle().is_empty());
        assert_eq!(remove().map_err(i32::from), Err(libc::ENOENT), "sent once: there was nothing to remove");
        // The connection that waits is closed by its server: the request goes out again over the last.
        assert_eq!(remove(), Ok(()));
        served.join().unwrap();
    }

    #[test]
    fn the_end_of_a_stream_is_an_error_and_an_interruption_is_none() {
        let mut answers = [Err(io::ErrorKind::Interrupted.into()), Ok(3)].into_iter();
        assert_eq!(moved(8, || answers.next().unwrap()).unwrap(), 3);
        assert_eq!(moved(8, || Ok(0)).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(moved(0, || Ok(0)).unwrap(), 0);
    }
}
