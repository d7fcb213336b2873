//! One operation at a time, with blocking system calls: pread(2), pwritev2(2), fdatasync(2), fallocate(2).

use super::{CompletedOp, Engine, whole};
use crate::buffer::Buffers;
use crate::clock::now_ns;
use crate::files::FileSet;
use crate::job::Access;
use crate::op::Direction;
use crate::op::{Durable, Op, SyncMode};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{ReadWriteFlags, pread, pwrite, pwritev2};
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::sync::Arc;

/// RWF_ATOMIC (pwritev2(2), Linux 6.11): after a crash, all of the write is there or nothing. rustix has no name for
/// it.
pub const RWF_ATOMIC: u32 = 0x40;

/// A thread's engine.
#[derive(Debug)]
pub struct Threads {
    files: Arc<FileSet>,
    buffers: Buffers,
    /// To make names durable; only if names are created.
    directory: Option<File>,
    /// Files that grow are emptied at this length.
    grow_to: u64,
    /// The length of the files of metadata operations.
    created_bytes: u64,
    /// The number of the file that was created and is not removed yet.
    made: Option<u64>,
    under_way: Option<(usize, Op)>,
}

impl Threads {
    /// # Errors
    /// If the directory of the files cannot be opened.
    pub fn new(files: Arc<FileSet>, access: &Access, buffers: Buffers) -> io::Result<Threads> {
        let makes_names = matches!(access, Access::Metadata { .. });
        let directory = makes_names.then(|| File::open(&files.directory)).transpose()?;
        let grow_to = if let Access::Extension { limit, .. } = access { *limit } else { u64::MAX };
        let created_bytes = if let Access::Metadata { bytes } = access { *bytes } else { 0 };
        Ok(Threads { files, buffers, directory, grow_to, created_bytes, made: None, under_way: None })
    }

    fn perform(&mut self, slot: usize, op: &Op) -> io::Result<()> {
        match *op {
            Op::Read { file, offset, bytes } => {
                let buffer = self.buffers.read(slot, bytes as usize);
                whole(pread(&self.files.files[file as usize], buffer, offset)?, bytes as usize)
            }
            Op::Write { file, offset, bytes, durable, atomic } => {
                self.write(slot, file, offset, bytes as usize, write_flags(durable, atomic))
            }
            Op::Sync { file, mode } => sync(&self.files.files[file as usize], mode),
            Op::Extend { file, bytes, allocate } => self.extend(slot, file, bytes, allocate),
            Op::Create { number } => self.create(number),
            Op::Rename { number } => self.rename(number),
            Op::Truncate { number } => self.truncate(number),
            Op::Unlink { number } => self.unlink(number),
            Op::Commit => Err(io::Error::new(io::ErrorKind::Unsupported, "threads cannot commit")),
        }
    }

    fn write(&mut self, slot: usize, file: u32, offset: u64, bytes: usize, flags: ReadWriteFlags) -> io::Result<()> {
        let data = self.buffers.write(slot, bytes);
        let file = &self.files.files[file as usize];
        let written = match flags.is_empty() {
            true => pwrite(file, data, offset)?,
            false => pwritev2(file, &[IoSlice::new(data)], offset, flags)?,
        };
        whole(written, bytes)
    }

    fn extend(&mut self, slot: usize, file: u32, bytes: u64, allocate: bool) -> io::Result<()> {
        let end = self.files.files[file as usize].metadata()?.len();
        if !allocate {
            return self.write(slot, file, end, bytes as usize, ReadWriteFlags::empty());
        }
        Ok(fallocate(&self.files.files[file as usize], FallocateFlags::empty(), end, bytes)?)
    }

    /// Emptied before the timing of an extension starts.
    fn make_room(&self, op: &Op) -> io::Result<()> {
        let Op::Extend { file, .. } = *op else { return Ok(()) };
        let file = &self.files.files[file as usize];
        if file.metadata()?.len() >= self.grow_to {
            file.set_len(0)?;
        }
        Ok(())
    }

    fn path(&self, number: u64) -> PathBuf {
        self.files.directory.join(format!("{}-meta.{number}", self.files.layout.name))
    }

    /// Files are created under another name and then renamed, as servers do with tables.
    fn new_path(&self, number: u64) -> PathBuf {
        self.path(number).with_extension(format!("{number}.new"))
    }

    /// File, its blocks and its name.
    fn create(&mut self, number: u64) -> io::Result<()> {
        self.made = Some(number);
        let file = OpenOptions::new().write(true).create_new(true).open(self.new_path(number))?;
        if self.created_bytes > 0 {
            fallocate(&file, FallocateFlags::empty(), 0, self.created_bytes)?;
        }
        file.sync_all()?;
        self.sync_names()
    }

    fn sync_names(&self) -> io::Result<()> {
        self.directory.as_ref().map_or(Ok(()), File::sync_all)
    }

    fn rename(&self, number: u64) -> io::Result<()> {
        fs::rename(self.new_path(number), self.path(number))?;
        self.sync_names()
    }

    /// To half its length, so that there is something left to unlink.
    fn truncate(&self, number: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.path(number))?;
        file.set_len(self.created_bytes / 2)?;
        file.sync_all()
    }

    fn unlink(&mut self, number: u64) -> io::Result<()> {
        fs::remove_file(self.path(number))?;
        self.made = None;
        self.sync_names()
    }
}

impl Drop for Threads {
    /// The window may end between a file's creation and its removal.
    fn drop(&mut self) {
        if let Some(number) = self.made {
            let _ = fs::remove_file(self.path(number)).or_else(|_| fs::remove_file(self.new_path(number)));
        }
    }
}

impl Engine for Threads {
    fn depth(&self) -> usize {
        1
    }

    fn begin(&mut self, slot: usize, op: &Op) -> io::Result<()> {
        self.make_room(op)?;
        self.under_way = Some((slot, *op));
        Ok(())
    }

    fn complete(&mut self, _deadline_ns: Option<u64>, mut done: impl FnMut(CompletedOp)) -> io::Result<()> {
        if let Some((slot, op)) = self.under_way.take() {
            let sent_ns = now_ns();
            let result = self.perform(slot, &op);
            done(CompletedOp::of(slot, &op, sent_ns, now_ns(), result));
        }
        Ok(())
    }

    fn buffer(&mut self, slot: usize, direction: Direction) -> &mut [u8] {
        self.buffers.buffer(slot, direction)
    }
}

/// Flags of pwritev2(2) and of io_uring's writes.
pub fn write_flags(durable: Durable, atomic: bool) -> ReadWriteFlags {
    let dsync = if durable == Durable::Dsync { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
    let untorn = if atomic { RWF_ATOMIC } else { 0 };
    dsync | ReadWriteFlags::from_bits_retain(untorn)
}

/// Through the C library, as servers do: a preloaded library that swallows their syncs also swallows ours.
fn sync(file: &File, mode: SyncMode) -> io::Result<()> {
    match mode {
        SyncMode::Fsync => file.sync_all(),
        SyncMode::Fdatasync => file.sync_data(),
    }
}
