//! The ways to do an operation: threads, io_uring, mapped memory, nothing at all, committers with a leader.
//!
//! The measuring loop is generic over them. It has as many slots as the engine has depth, begins an operation in each
//! free slot, and asks for completions; whether each operation blocks the thread is up to the engine.

pub mod committers;
pub mod fit;
mod latched;
pub mod mmap;
pub mod null;
pub mod threads;
pub mod uring;

use crate::op::{Direction, Op};
use plimsoll_model::OpKind;
use std::io;

/// One loop's way to do operations. An engine belongs to one thread.
pub trait Engine {
    /// Operations that may be under way at the same time: slots `0..depth`.
    fn depth(&self) -> usize;

    /// Begins an operation in a free slot. io_uring hands it to the kernel, which may take a while; engines that block
    /// do it in [`Engine::complete`].
    ///
    /// # Errors
    /// If it could not begin; then it will not complete either.
    fn begin(&mut self, slot: usize, op: &Op) -> io::Result<()>;

    /// Waits until an operation is done, or until `deadline_ns` ([`crate::clock`]) if one is given and the engine
    /// supports that, and calls `done` for each completed operation. Called only while operations are under way.
    ///
    /// # Errors
    /// If nothing more can be learned about what is under way. A failed operation is not an error but a completion.
    fn complete(&mut self, deadline_ns: Option<u64>, done: impl FnMut(CompletedOp)) -> io::Result<()>;

    /// What this slot writes next, or what it has read: memory that verification fills and checks. Empty for engines
    /// that do not move the caller's data.
    fn buffer(&mut self, _slot: usize, _direction: Direction) -> &mut [u8] {
        &mut []
    }
}

/// A completed operation.
#[derive(Debug)]
pub struct CompletedOp {
    /// The slot that it began in; `None` for extra operations of an engine, such as a leader's write and sync for the
    /// commits of others.
    pub slot: Option<usize>,
    pub kind: OpKind,
    /// When it was handed to the system, and when it came back.
    pub sent_ns: u64,
    pub done_ns: u64,
    /// Bytes read or written; 0 for other kinds.
    pub bytes: u64,
    pub result: io::Result<()>,
}

impl CompletedOp {
    /// For an operation in a slot that moved all its bytes, or failed.
    pub fn of(slot: usize, op: &Op, sent_ns: u64, done_ns: u64, result: io::Result<()>) -> CompletedOp {
        let (read, written) = op.bytes();
        CompletedOp { slot: Some(slot), kind: op.kind(), sent_ns, done_ns, bytes: read + written, result }
    }
}

/// For an operation that moved `moved` of its bytes.
///
/// # Errors
/// If it moved fewer: a file that is too short, or a full device.
pub fn whole(moved: usize, bytes: usize) -> io::Result<()> {
    if moved == bytes {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("only {moved} of {bytes} bytes were transferred")))
}
