//! Work that would stop a loop, on a thread of its own.

use crate::executor::{Reactor, Slot};
use mio::net::UnixStream;
use std::io::{self, Write};
use std::rc::Rc;
use std::thread;

/// Does `work` on another thread and waits for what comes of it, while the loop goes on; `None` if the loop is being
/// cancelled meanwhile. Then the work has its end without anybody who waits for it.
///
/// # Errors
/// There is no other thread to be had.
pub async fn on_a_thread<T: Send + 'static>(
    reactor: &Rc<Reactor>,
    slot: &Slot,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let beside = reactor.slot_beside(slot);
    let (mut here, mut there) = UnixStream::pair()?;
    reactor.register(&mut here, &beside.slot)?;
    let body = move || {
        let done = work();
        // Where nobody listens any more, nobody needs to hear.
        let _ = there.write_all(&[1]);
        done
    };
    let thread = thread::Builder::new().name("helper".to_owned()).spawn(body)?;
    if !beside.slot.readable().await {
        return Ok(None);
    }
    // A panic closes the socket, which is an end like any other.
    Ok(thread.join().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use std::time::{Duration, Instant};

    #[test]
    fn the_loop_goes_on_meanwhile() {
        let mut executor = Executor::new(Instant::now()).unwrap();
        let reactor = executor.reactor();
        let slot = reactor.slot(0);
        let work = || {
            thread::sleep(Duration::from_millis(20));
            7
        };
        let done = executor.block_on(&slot, on_a_thread(&reactor, &slot, work), u64::MAX, u64::MAX);
        assert_eq!(done.unwrap().unwrap(), Some(7));
        let cancelled = on_a_thread(&reactor, &slot, || thread::sleep(Duration::from_millis(200)));
        let until_ns = reactor.now_ns() + 1_000_000;
        assert_eq!(executor.block_on(&slot, cancelled, until_ns, u64::MAX).unwrap().unwrap(), None);
    }
}
