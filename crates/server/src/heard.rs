//! The output of a server that lives no longer than Plimsoll. The server writes to memory, and this copies it to the
//! error log. So its last words are known even if the log is on storage that died under both of them.

use crate::last_words::Complaints;
use rustix::fs::{FallocateFlags, MemfdFlags, OFlags, fallocate, fcntl_setfl, memfd_create};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How often the error log is brought up to date for its readers.
const EVERY: Duration = Duration::from_millis(200);
/// How much of the end is kept in memory, bytes.
const KEPT: u64 = 256 << 10;

/// Listens to one server until it is dropped.
#[derive(Debug)]
pub(crate) struct Heard {
    ears: Arc<Ears>,
}

#[derive(Debug)]
struct Ears {
    said: File,
    complaints: Mutex<(u64, Complaints)>,
    log: Mutex<(u64, File)>,
    over: AtomicBool,
}

impl Heard {
    /// Copies to `log` what is written to the returned file.
    ///
    /// # Errors
    /// If there is no memory or no thread.
    pub fn listen(log: File) -> io::Result<(Heard, File)> {
        let said = File::from(memfd_create("error.log", MemfdFlags::CLOEXEC)?);
        fcntl_setfl(&said, OFlags::APPEND | OFlags::RDWR)?;
        let mouth = said.try_clone()?;
        let ears = Ears { said, complaints: Mutex::default(), log: Mutex::new((0, log)), over: AtomicBool::new(false) };
        let ears = Arc::new(ears);
        let follows = Arc::clone(&ears);
        thread::Builder::new().name("error-log".into()).spawn(move || {
            while !follows.over.load(Ordering::Acquire) {
                thread::sleep(EVERY);
                follows.pass_on();
            }
        })?;
        Ok((Heard { ears }, mouth))
    }

    /// Brings the error log up to date.
    pub fn pass_on(&self) {
        self.ears.pass_on();
    }

    /// The first complaint so far.
    pub fn first_complaint(&self) -> Option<String> {
        self.ears.listen();
        let complaints = self.ears.complaints.lock().ok()?;
        complaints.1.first().map(str::to_owned)
    }

    /// The end of the output so far.
    pub fn end(&self) -> Vec<u8> {
        let length = self.ears.said.metadata().map_or(0, |facts| facts.len());
        let mut end = vec![0; length.min(KEPT) as usize];
        let count = self.ears.said.read_at(&mut end, length.saturating_sub(KEPT)).unwrap_or(0);
        end.truncate(count);
        end
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.ears.over.store(true, Ordering::Release);
    }
}

impl Ears {
    fn listen(&self) {
        let Ok(mut complaints) = self.complaints.lock() else { return };
        let (heard, complaints) = &mut *complaints;
        self.each_piece(heard, |piece| complaints.hear(piece));
    }

    fn pass_on(&self) {
        self.listen();
        // A log on storage that hangs does not stop the listening.
        let Ok(mut log) = self.log.lock() else { return };
        let (passed, log) = &mut *log;
        // If the log cannot be written, only its readers lose.
        self.each_piece(passed, |piece| drop(log.write_all(piece)));
        let spent = passed.saturating_sub(KEPT) & !(KEPT - 1);
        if spent > 0 {
            // If the memory cannot be released, the text stays in it.
            let _ = fallocate(&self.said, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, spent);
        }
    }

    fn each_piece(&self, from: &mut u64, mut take: impl FnMut(&[u8])) {
        let mut piece = vec![0; 64 << 10];
        while let Ok(count @ 1..) = self.said.read_at(&mut piece, *from) {
            take(&piece[..count]);
            *from += count as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_is_said_is_heard_at_once_and_passed_on() {
        let directory = tempfile::tempdir().expect("a directory in /tmp");
        let path = directory.path().join("error.log");
        let (heard, mut mouth) = Heard::listen(File::create(&path).unwrap()).unwrap();
        mouth.write_all(b"ready for connections\nlong ").unwrap();
        let line = [b'x'; 1000];
        for _ in 0..3000 {
            mouth.write_all(&line).unwrap();
        }
        mouth.write_all(b"\n0 [ERROR] [FATAL] InnoDB: fdatasync() returned 5\n").unwrap();
        let complaint = heard.first_complaint();
        assert_eq!(complaint.as_deref(), Some("0 [ERROR] [FATAL] InnoDB: fdatasync() returned 5"));
        assert!(heard.end().len() as u64 == KEPT && heard.end().ends_with(b"returned 5\n"));
        heard.pass_on();
        let mut log = String::new();
        File::open(&path).unwrap().read_to_string(&mut log).unwrap();
        assert_eq!(log.len(), "ready for connections\nlong \n".len() + 3_000_000 + complaint.unwrap().len() + 1);
        assert!(heard.end().ends_with(b"returned 5\n"), "the end stays in memory");
    }
}
