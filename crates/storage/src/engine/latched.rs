//! A log that each session writes and syncs itself, as MySQL's where `innodb_log_writer_threads` is OFF, which is its
//! default on machines of fewer than 32 CPUs.
//!
//! Sessions write in turn, each all that there is. Whoever has written waits for the sync that is under way, which may be
//! too early for it, and begins one if there is none. A session asks for the log once more after a sync that was too
//! early, behind others that write, so that a sync serves far fewer than half of the sessions.

use crate::commit::{Flushed, LogFailure, LogTail, RedoFile, RedoSync, RedoWrite};
use crate::files::FileSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub struct LatchedLog<W = RedoWrite, S = RedoSync> {
    /// Bytes that commits have, from the first on; how many of them are written, and durable.
    reserved: AtomicU64,
    written: AtomicU64,
    durable: AtomicU64,
    write: Mutex<W>,
    /// Only who syncs takes it.
    sync: Mutex<S>,
    syncing: Mutex<Syncing>,
    synced: Condvar,
}

#[derive(Debug, Default)]
struct Syncing {
    is_under_way: bool,
    /// How many have ended.
    ended: u64,
    failed: LogFailure,
}

impl LatchedLog {
    pub fn new(file: RedoFile, files: Arc<FileSet>) -> LatchedLog {
        LatchedLog::of(RedoWrite(file), RedoSync(files))
    }
}

impl<W: LogTail, S: LogTail> LatchedLog<W, S> {
    fn of(write: W, sync: S) -> LatchedLog<W, S> {
        let [reserved, written, durable] = [0; 3].map(AtomicU64::new);
        let (write, sync) = (Mutex::new(write), Mutex::new(sync));
        LatchedLog { reserved, written, durable, write, sync, syncing: Mutex::default(), synced: Condvar::new() }
    }

    /// Returns when this many bytes of the caller's are durable; calls `led` for what it did for that itself.
    ///
    /// # Errors
    /// The first error of a write or a sync, to everyone from then on.
    pub fn commit(&self, bytes: u64, led: &mut impl FnMut(Flushed)) -> io::Result<()> {
        let own = self.reserved.fetch_add(bytes, Ordering::AcqRel) + bytes;
        loop {
            let mut write = lock(&self.write);
            self.write_up_to(own, &mut *write)?.into_iter().for_each(&mut *led);
            let mut syncing = lock(&self.syncing);
            syncing.failed.check()?;
            if !syncing.is_under_way {
                syncing.is_under_way = true;
                drop((syncing, write));
                return self.sync_all().map(|flushed| flushed.into_iter().for_each(led));
            }
            let this = syncing.ended;
            drop(write);
            let _ended = self.synced.wait_while(syncing, |syncing| syncing.ended == this);
            if self.durable.load(Ordering::Acquire) >= own {
                return Ok(());
            }
        }
    }

    /// Writes all that there is, if somebody's bytes are not written yet.
    fn write_up_to(&self, own: u64, write: &mut W) -> io::Result<Option<Flushed>> {
        let from = self.written.load(Ordering::Acquire);
        if from >= own {
            return Ok(None);
        }
        let all = self.reserved.load(Ordering::Acquire);
        let flushed = write.append(all - from).inspect_err(|error| lock(&self.syncing).failed.note(error))?;
        self.written.store(all, Ordering::Release);
        Ok(Some(flushed))
    }

    /// Syncs all that is written, and wakes everyone who waits for that.
    fn sync_all(&self) -> io::Result<Option<Flushed>> {
        let (from, all) = (self.durable.load(Ordering::Acquire), self.written.load(Ordering::Acquire));
        let result = if from < all { lock(&self.sync).append(all - from).map(Some) } else { Ok(None) };
        let mut syncing = lock(&self.syncing);
        match &result {
            Ok(_) => self.durable.store(all, Ordering::Release),
            Err(error) => syncing.failed.note(error),
        }
        (syncing.is_under_way, syncing.ended) = (false, syncing.ended + 1);
        drop(syncing);
        self.synced.notify_all();
        result
    }
}

/// A thread that panicked left nothing incomplete that others would see.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::Redo;
    use crate::commit::tests::files;
    use std::thread;

    #[test]
    fn everyone_returns_after_a_write_and_a_sync_of_its_bytes() {
        const COMMITS: u64 = 50;
        let (_directory, files) = files(1, 1 << 20);
        let log = LatchedLog::new(RedoFile::new(files.clone(), Redo::MySql, 1).unwrap(), files);
        let commits = || {
            let mut syncs = 0;
            for own in 1..=COMMITS {
                log.commit(345, &mut |flushed| syncs += u64::from(flushed.synced.is_some())).unwrap();
                assert!(log.durable.load(Ordering::Acquire) >= 345 * own, "returned before its bytes were durable");
            }
            syncs
        };
        let syncs: u64 = thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(commits)).collect();
            all.into_iter().map(|one| one.join().unwrap()).sum()
        });
        let all = 8 * COMMITS * 345;
        assert_eq!([&log.reserved, &log.written, &log.durable].map(|bytes| bytes.load(Ordering::Acquire)), [all; 3]);
        assert!((1..=8 * COMMITS).contains(&syncs), "{syncs}");
    }

    #[test]
    fn one_session_writes_and_syncs_for_each_commit() {
        let (_directory, files) = files(1, 1 << 20);
        let log = LatchedLog::new(RedoFile::new(files.clone(), Redo::MySql, 1).unwrap(), files);
        let (mut writes, mut syncs) = (0, 0);
        for _ in 0..20 {
            let led = &mut |flushed: Flushed| {
                writes += u64::from(flushed.written.is_some());
                syncs += u64::from(flushed.synced.is_some());
            };
            log.commit(345, led).unwrap();
        }
        assert_eq!((writes, syncs), (20, 20));
    }

    /// Does nothing, and fails after so many times.
    #[derive(Debug)]
    struct Failing(usize);

    impl LogTail for Failing {
        fn append(&mut self, _bytes: u64) -> io::Result<Flushed> {
            self.0 = self.0.checked_sub(1).ok_or_else(|| io::Error::from_raw_os_error(5))?;
            Ok(Flushed::default())
        }
    }

    #[test]
    fn a_failure_reaches_everyone_and_nobody_waits_for_ever() {
        for (writes, syncs) in [(3, usize::MAX), (usize::MAX, 3)] {
            let log = LatchedLog::of(Failing(writes), Failing(syncs));
            let session = || std::iter::repeat_with(|| log.commit(1, &mut |_| {})).find_map(Result::err);
            let errors: Vec<Option<io::Error>> = thread::scope(|scope| {
                let all: Vec<_> = (0..8).map(|_| scope.spawn(session)).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            });
            let is_told =
                |error: &Option<io::Error>| error.as_ref().is_some_and(|of| of.to_string().contains("os error 5"));
            assert!(errors.iter().all(is_told), "{errors:?}");
        }
    }
}
