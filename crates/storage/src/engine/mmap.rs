//! Copies from and to a shared mapping (mmap(2)); a sync is msync(2) of the whole file.
//!
//! In a mapping, a device error or a full device causes SIGBUS instead of an error; so files must be allocated in
//! advance.

use super::{CompletedOp, Engine};
use crate::buffer::Buffers;
use crate::clock::now_ns;
use crate::files::FileSet;
use crate::op::Direction;
use crate::op::Op;
use memmap2::MmapRaw;
use std::io;
use std::ptr;
use std::sync::Arc;

/// A thread's engine, with mappings of its own.
#[derive(Debug)]
pub struct Mapped {
    // Keeps the files open as long as they are mapped.
    _files: Arc<FileSet>,
    maps: Vec<MmapRaw>,
    buffers: Buffers,
    under_way: Option<(usize, Op)>,
}

impl Mapped {
    /// # Errors
    /// If a file cannot be mapped: an empty one, or too little address space.
    pub fn new(files: Arc<FileSet>, buffers: Buffers) -> io::Result<Mapped> {
        let maps = files.files.iter().map(MmapRaw::map_raw).collect::<io::Result<Vec<MmapRaw>>>()?;
        Ok(Mapped { _files: files, maps, buffers, under_way: None })
    }

    fn perform(&mut self, slot: usize, op: &Op) -> io::Result<()> {
        match *op {
            Op::Read { file, offset, bytes } => self.read(slot, file, offset, bytes as usize),
            Op::Write { file, offset, bytes, .. } => self.write(slot, file, offset, bytes as usize),
            Op::Sync { file, .. } => self.maps[file as usize].flush(),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "mapped memory can only be read, written and synced")),
        }
    }

    #[allow(unsafe_code)]
    fn read(&mut self, slot: usize, file: u32, offset: u64, bytes: usize) -> io::Result<()> {
        let from = self.place(file, offset, bytes)?;
        let to = self.buffers.read(slot, bytes);
        // SAFETY: `place` has checked that the bytes are within the mapping, which lives as long as `self`; the buffer
        // is our own memory and as long. Other workers may write there meanwhile, as with a read(2).
        unsafe { ptr::copy_nonoverlapping(from, to.as_mut_ptr(), bytes) };
        Ok(())
    }

    #[allow(unsafe_code)]
    fn write(&mut self, slot: usize, file: u32, offset: u64, bytes: usize) -> io::Result<()> {
        let to = self.place(file, offset, bytes)?;
        let from = self.buffers.write(slot, bytes);
        // SAFETY: as for reads; no reference to mapped memory exists, and the files are ours alone.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, bytes) };
        Ok(())
    }

    /// Where these bytes of a file are mapped.
    fn place(&self, file: u32, offset: u64, bytes: usize) -> io::Result<*mut u8> {
        let map = &self.maps[file as usize];
        let start = usize::try_from(offset).ok().filter(|start| start.saturating_add(bytes) <= map.len());
        let start =
            start.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "beyond the end of the mapping"))?;
        Ok(map.as_mut_ptr().wrapping_add(start))
    }
}

impl Engine for Mapped {
    fn depth(&self) -> usize {
        1
    }

    fn begin(&mut self, slot: usize, op: &Op) -> io::Result<()> {
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
