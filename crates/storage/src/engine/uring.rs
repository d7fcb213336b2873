//! io_uring(7): one ring per loop with many operations under way. Each is submitted as soon as it begins; if it waited
//! for others to be prepared, it would be late. Completions are reaped together.

use super::{CompletedOp, Engine, threads, whole};
use crate::buffer::Buffers;
use crate::clock::now_ns;
use crate::files::FileSet;
use crate::op::Direction;
use crate::op::{Durable, Op, SyncMode};
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;

/// A write and its linked sync are two entries.
const ENTRIES_PER_SLOT: usize = 2;
/// More operations than any device has queues for.
pub const MOST_DEPTH: u32 = 4096;

/// One operation under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    op: Op,
    sent_ns: u64,
    /// Entries that have not completed yet.
    entries: u8,
    /// The result of the write or read: bytes moved or a negative errno; of a linked sync only its error.
    result: i32,
}

/// A loop's ring.
pub struct Uring {
    ring: IoUring,
    buffers: Buffers,
    /// The memory is registered, so that the kernel need not look it up each time.
    registered: bool,
    slots: Vec<Option<UnderWay>>,
    under_way: usize,
}

impl Uring {
    /// A ring of this depth with all files registered; to be created on the thread that uses it.
    ///
    /// # Errors
    /// If io_uring is refused ([`refused`]).
    #[allow(unsafe_code)]
    pub fn new(files: &FileSet, depth: usize, buffers: Buffers) -> io::Result<Uring> {
        let ring = ring((depth * ENTRIES_PER_SLOT) as u32)?;
        let descriptors: Vec<i32> = files.files.iter().map(AsRawFd::as_raw_fd).collect();
        ring.submitter().register_files(&descriptors)?;
        let memory = buffers.memory();
        let memory = libc::iovec { iov_base: memory.as_ptr().cast_mut().cast(), iov_len: memory.len() };
        // SAFETY: the memory belongs to `buffers`, never moves, and lives until `drop` has waited for every completion.
        // If RLIMIT_MEMLOCK does not allow it, operations work without.
        let registered = unsafe { ring.submitter().register_buffers(&[memory]) }.is_ok();
        Ok(Uring { ring, buffers, registered, slots: vec![None; depth], under_way: 0 })
    }

    fn entry(&mut self, slot: usize, op: &Op) -> io::Result<Entry> {
        match *op {
            Op::Read { file, offset, bytes } => {
                let (file, to) = (Fixed(file), self.buffers.read(slot, bytes as usize).as_mut_ptr());
                Ok(match self.registered {
                    true => opcode::ReadFixed::new(file, to, bytes, 0).offset(offset).build(),
                    false => opcode::Read::new(file, to, bytes).offset(offset).build(),
                })
            }
            Op::Write { file, offset, bytes, durable, atomic } => {
                let flags = threads::write_flags(durable, atomic).bits() as i32;
                let (file, from) = (Fixed(file), self.buffers.write(slot, bytes as usize).as_ptr());
                Ok(match self.registered {
                    true => opcode::WriteFixed::new(file, from, bytes, 0).offset(offset).rw_flags(flags).build(),
                    false => opcode::Write::new(file, from, bytes).offset(offset).rw_flags(flags).build(),
                })
            }
            Op::Sync { file, mode } => Ok(sync(file, mode)),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "io_uring reads, writes and syncs only")),
        }
    }

    /// Waits for one completion, or until the deadline.
    fn enter(&mut self, deadline_ns: Option<u64>) -> io::Result<()> {
        let Some(deadline_ns) = deadline_ns else { return tolerated(self.ring.submit_and_wait(1)) };
        let left = Timespec::from(std::time::Duration::from_nanos(deadline_ns.saturating_sub(now_ns())));
        tolerated(self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&left)))
    }

    /// Reports the operations whose entries have all completed.
    fn reap(&mut self, mut done: impl FnMut(CompletedOp)) {
        let done_ns = now_ns();
        for completion in self.ring.completion() {
            let slot = completion.user_data() as usize;
            let Some(under_way) = self.slots.get_mut(slot).and_then(Option::as_mut) else { continue };
            under_way.entries -= 1;
            under_way.result = combined(under_way.result, completion.result());
            if under_way.entries > 0 {
                continue;
            }
            let UnderWay { op, sent_ns, result, .. } = *under_way;
            self.slots[slot] = None;
            self.under_way -= 1;
            done(CompletedOp::of(slot, &op, sent_ns, done_ns, outcome(&op, result)));
        }
    }
}

impl Engine for Uring {
    fn depth(&self) -> usize {
        self.slots.len()
    }

    #[allow(unsafe_code)]
    fn begin(&mut self, slot: usize, op: &Op) -> io::Result<()> {
        let first = self.entry(slot, op)?.user_data(slot as u64);
        let linked = match *op {
            Op::Write { file, durable: Durable::Linked, .. } => Some(sync(file, SyncMode::Fdatasync)),
            _ => None,
        };
        let mut queue = self.ring.submission();
        // SAFETY: the entries point into `buffers`, which live until everything has completed; the slot is free, so
        // nobody else uses its part of them.
        let pushed = unsafe {
            match &linked {
                None => queue.push(&first),
                Some(sync) => queue.push_multiple(&[first.flags(Flags::IO_LINK), sync.clone().user_data(slot as u64)]),
            }
        };
        drop(queue);
        pushed.map_err(|_| io::Error::other("the submission queue is full"))?;
        let entries = if linked.is_some() { 2 } else { 1 };
        self.slots[slot] = Some(UnderWay { op: *op, sent_ns: now_ns(), entries, result: 0 });
        self.under_way += 1;
        // An error here happens again, and is reported, where completions are waited for.
        let _ = self.ring.submit();
        Ok(())
    }

    fn complete(&mut self, deadline_ns: Option<u64>, done: impl FnMut(CompletedOp)) -> io::Result<()> {
        self.enter(deadline_ns)?;
        self.reap(done);
        Ok(())
    }

    fn buffer(&mut self, slot: usize, direction: Direction) -> &mut [u8] {
        self.buffers.buffer(slot, direction)
    }
}

impl Drop for Uring {
    /// The kernel may write into the buffers as long as anything is under way.
    fn drop(&mut self) {
        while self.under_way > 0 && self.complete(None, |_| {}).is_ok() {}
        if self.under_way > 0 {
            std::mem::forget(std::mem::take(&mut self.buffers));
        }
    }
}

/// A ring that only its thread uses, so that the kernel completes operations when we ask for it (Linux 6.1; older
/// kernels do without).
fn ring(entries: u32) -> io::Result<IoUring> {
    let lean = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
    lean.or_else(|error| match error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) {
        true => IoUring::new(entries),
        false => Err(error),
    })
}

fn sync(file: u32, mode: SyncMode) -> Entry {
    let flags = match mode {
        SyncMode::Fsync => FsyncFlags::empty(),
        SyncMode::Fdatasync => FsyncFlags::DATASYNC,
    };
    opcode::Fsync::new(Fixed(file)).flags(flags).build()
}

/// A passed deadline and a signal are not failures.
fn tolerated(entered: io::Result<usize>) -> io::Result<()> {
    match entered.map_err(|error| (error.raw_os_error().map(Errno::from_raw_os_error), error)) {
        Ok(_) | Err((Some(Errno::TIME | Errno::INTR | Errno::AGAIN | Errno::BUSY), _)) => Ok(()),
        Err((_, error)) => Err(error),
    }
}

/// The result of two linked entries, which complete in order: that of the first, not that the second was cancelled
/// because of it (a short write breaks the chain too); otherwise why the second failed.
fn combined(before: i32, now: i32) -> i32 {
    let cancelled = now == -Errno::CANCELED.raw_os_error();
    if before < 0 || before > 0 && cancelled {
        return before;
    }
    if now < 0 { now } else { before.max(now) }
}

fn outcome(op: &Op, result: i32) -> io::Result<()> {
    let (read, written) = op.bytes();
    match usize::try_from(result) {
        Ok(moved) => whole(moved, (read + written) as usize),
        Err(_) => Err(io::Error::from_raw_os_error(-result)),
    }
}

/// Why io_uring cannot be used by this process; `None` if it can.
pub fn refused() -> Option<String> {
    let error = ring(1).err()?;
    let disabled = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    Some(match (error.raw_os_error().map(Errno::from_raw_os_error), disabled.trim()) {
        (Some(Errno::NOSYS), _) => "this kernel has no io_uring".to_owned(),
        (Some(Errno::PERM), "2") => "io_uring is disabled: kernel.io_uring_disabled = 2".to_owned(),
        (Some(Errno::PERM), "1") => {
            "io_uring is restricted to a group: kernel.io_uring_disabled = 1, kernel.io_uring_group".to_owned()
        }
        (Some(Errno::PERM | Errno::ACCESS), _) => {
            "a security policy (seccomp, as in containers) forbids io_uring".to_owned()
        }
        _ => format!("io_uring cannot be set up: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_write_fails_for_its_own_reason() {
        let (cancelled, io) = (-Errno::CANCELED.raw_os_error(), -Errno::IO.raw_os_error());
        assert_eq!(combined(combined(0, 4096), 0), 4096);
        assert_eq!(combined(combined(0, 4096), io), io);
        assert_eq!(combined(combined(0, io), cancelled), io);
        assert_eq!(combined(combined(0, 512), cancelled), 512, "a short write");
    }

    #[test]
    fn a_ring_can_be_made_or_it_is_said_why_not() {
        match (ring(1), refused()) {
            (Ok(_), refused) => assert_eq!(refused, None),
            (Err(_), refused) => assert!(refused.is_some_and(|why| why.contains("io_uring"))),
        }
    }
}
