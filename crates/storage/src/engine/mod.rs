//! The ways to do an operation: threads, io_uring, mapped memory, nothing at all, committers behind a leader.
//!
//! The measuring loop is generic over them. It has as many slots as an engine has depth, begins an operation in each free
//! slot, and asks for what is done; whether that blocks the thread for each operation is the engine's affair.

pub mod committers;
pub mod fit;
pub mod mmap;
pub mod null;
pub mod threads;
pub mod uring;

use crate::op::{Direction, Kind, Op};
use std::io;

/// One loop's way to do operations. An engine belongs to one thread.
pub trait Engine {
    /// Operations that may be under way at once: slots `0..depth`.
    fn depth(&self) -> usize;

    /// Takes an operation on in a free slot. io_uring hands it to the kernel, which may take its time over it; engines that
    /// block do it in [`Engine::complete`].
    ///
    /// # Errors
    /// If it could not be begun; then it will not be completed either.
    fn begin(&mut self, slot: usize, op: &Op) -> io::Result<()>;

    /// Waits until an operation is done, or until `deadline_ns` ([`crate::clock`]) if one is given and the engine can,
    /// and tells `done` of everything that is. Called only while operations are under way.
    ///
    /// # Errors
    /// If nothing more can be learned of what is under way. Operations that fail are no errors but completed.
    fn complete(&mut self, deadline_ns: Option<u64>, done: impl FnMut(Completed)) -> io::Result<()>;

    /// What is written next in this slot, or what was read there: memory that verification fills and checks. Empty for
    /// engines that move no data of the caller's.
    fn buffer(&mut self, _slot: usize, _direction: Direction) -> &mut [u8] {
        &mut []
    }
}

/// An operation that is done.
#[derive(Debug)]
pub struct Completed {
    /// The slot that it was begun in; `None` for what an engine did besides, as a leader's write and sync for the commits
    /// of others.
    pub slot: Option<usize>,
    pub kind: Kind,
    /// When it was handed to the system, and when it came back.
    pub sent_ns: u64,
    pub done_ns: u64,
    /// Bytes read or written; 0 for other kinds.
    pub bytes: u64,
    pub result: io::Result<()>,
}

impl Completed {
    /// Of an operation in a slot: it moved all its bytes, or failed.
    pub fn of(slot: usize, op: &Op, sent_ns: u64, done_ns: u64, result: io::Result<()>) -> Completed {
        let (read, written) = op.bytes();
        Completed { slot: Some(slot), kind: op.kind(), sent_ns, done_ns, bytes: read + written, result }
    }
}

/// An operation that moved `moved` bytes of as many as it should.
///
/// # Errors
/// If it moved fewer: a file that is too short, or a full device.
pub fn whole(moved: usize, bytes: usize) -> io::Result<()> {
    if moved == bytes {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("only {moved} of {bytes} bytes were moved")))
}
