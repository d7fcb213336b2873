//! A network that is further away than it is: a proxy that hands everything on later.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Between a TCP port and the Unix socket of a server: whatever comes in goes out later, in both directions, however much
/// is on its way. Gone when dropped.
pub struct DelayingProxy {
    pub address: SocketAddr,
    closing: Arc<AtomicBool>,
}

impl DelayingProxy {
    /// Listens on a loopback address of its own; each byte takes `delay` more each way.
    ///
    /// # Panics
    /// If no loopback address can be bound.
    pub fn to(socket: &Path, delay: Duration) -> DelayingProxy {
        let listener = TcpListener::bind((crate::servers::loopback(), 0)).expect("a loopback address can be bound");
        let address = listener.local_addr().expect("a bound socket has an address");
        let closing = Arc::new(AtomicBool::new(false));
        let (closed, socket) = (closing.clone(), socket.to_owned());
        thread::spawn(move || {
            for client in listener.incoming() {
                if closed.load(Ordering::Acquire) {
                    return;
                }
                // A client that hung up, or a server that is gone, ends its own connection alone.
                let _ = client.and_then(|client| connect(client, &socket, delay));
            }
        });
        DelayingProxy { address, closing }
    }
}

impl Drop for DelayingProxy {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
    }
}

fn connect(client: TcpStream, socket: &PathBuf, delay: Duration) -> io::Result<()> {
    client.set_nodelay(true)?;
    let server = UnixStream::connect(socket)?;
    let (client_out, server_out) = (client.try_clone()?, server.try_clone()?);
    hand_on(client, server_out, delay, |server| server.shutdown(Shutdown::Write));
    hand_on(server, client_out, delay, |client| client.shutdown(Shutdown::Write));
    Ok(())
}

/// One thread reads and stamps, another waits and writes, so that a delay is no limit on how much is on its way.
fn hand_on<R, W>(mut from: R, mut to: W, delay: Duration, close: impl FnOnce(&W) -> io::Result<()> + Send + 'static)
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let (sender, receiver): (Sender<(Instant, Vec<u8>)>, Receiver<_>) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if sender.send((Instant::now() + delay, buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = close(&to);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn an_answer_takes_the_way_twice_and_many_take_it_at_once() {
        let directory = crate::servers::home();
        let socket = directory.path().join("echo.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut copy = stream.try_clone().unwrap();
            io::copy(&mut stream, &mut copy)
        });
        let delay = Duration::from_millis(200);
        let proxy = DelayingProxy::to(&socket, delay);
        let mut client = TcpStream::connect(proxy.address).unwrap();
        let begun = Instant::now();
        for _ in 0..50 {
            client.write_all(b"x").unwrap();
        }
        let mut answer = [0; 50];
        client.read_exact(&mut answer).unwrap();
        let taken = begun.elapsed();
        assert_eq!(answer, [b'x'; 50]);
        assert!(taken >= 2 * delay && taken < 50 * delay, "{taken:?}");
    }
}
