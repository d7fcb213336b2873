//! Which event a script began last, and how many numbers it has drawn that do not repeat, where another process can read it
//! after this one has died.

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

const BYTES: u64 = 4096;

/// A page of memory that both processes have.
#[derive(Debug)]
pub struct LastEvent {
    page: MmapRaw,
}

impl LastEvent {
    /// A new page, and the descriptor that a child inherits.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn create() -> io::Result<(LastEvent, OwnedFd)> {
        // Without CLOEXEC: it is there for the child.
        let descriptor = memfd_create("plimsoll-last-event", MemfdFlags::empty())?;
        ftruncate(&descriptor, BYTES)?;
        Ok((LastEvent::of(descriptor.try_clone()?)?, descriptor))
    }

    /// The page behind a descriptor that was inherited.
    ///
    /// # Errors
    /// It is none of ours.
    pub fn of(descriptor: OwnedFd) -> io::Result<LastEvent> {
        let page = MmapOptions::new().len(BYTES as usize).map_raw(&File::from(descriptor))?;
        Ok(LastEvent { page })
    }

    #[allow(unsafe_code)]
    fn counter(&self, place: Place) -> &AtomicU64 {
        // SAFETY: the page is as long as this lives, has room for all places, and nobody touches it but by this.
        unsafe { AtomicU64::from_ptr(self.page.as_mut_ptr().cast::<u64>().add(place as usize)) }
    }

    /// Another event begins.
    #[inline]
    pub fn begin(&self) {
        self.counter(Place::Events).fetch_add(1, Ordering::Relaxed);
    }

    /// How many have begun.
    pub fn number(&self) -> u64 {
        self.counter(Place::Events).load(Ordering::Relaxed)
    }

    /// So many numbers were drawn that do not repeat.
    pub fn has_drawn(&self, numbers: u64) {
        self.counter(Place::Drawn).store(numbers, Ordering::Relaxed);
    }

    pub fn drawn(&self) -> u64 {
        self.counter(Place::Drawn).load(Ordering::Relaxed)
    }
}

#[derive(Clone, Copy)]
enum Place {
    Events,
    Drawn,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_has_the_page_reads_what_the_other_has_counted() {
        let (here, descriptor) = LastEvent::create().unwrap();
        let there = LastEvent::of(descriptor).unwrap();
        (0..3).for_each(|_| there.begin());
        assert_eq!(here.number(), 3);
    }
}
