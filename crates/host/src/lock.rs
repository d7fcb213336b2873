//! Locks of files (flock(2)), and the one on a directory of ours, which names its holder.

use crate::error::{During, HostError};
use plimsoll_model::text::clean;
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a process that was being started when Plimsoll was killed may take, on a busy machine, to become its program.
const STARTED_WITHIN: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);

/// The lock on a server or a template; released when dropped, also by a kill.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// A process that is being started has our files open for an instant, so closing them would not be enough.
impl Drop for Lock {
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Lock {
    /// Takes the lock file at `path` unless somebody holds it, and writes down who we are.
    pub fn try_take(path: &Path, holder: &str) -> Result<Option<Lock>, HostError> {
        Lock::attempt(path, holder, FlockOperation::NonBlockingLockExclusive)
    }

    /// The same, shared.
    pub fn try_share(path: &Path, holder: &str) -> Result<Option<Lock>, HostError> {
        Lock::attempt(path, holder, FlockOperation::NonBlockingLockShared)
    }

    fn attempt(path: &Path, holder: &str, operation: FlockOperation) -> Result<Option<Lock>, HostError> {
        let mut file = Lock::file(path).during("open the lock", path)?;
        // The previous holder may have removed the file; then it locks nothing.
        if !try_lock(&file, operation).during("lock", path)? || !is_still_there(&file, path).during("look at", path)? {
            return Ok(None);
        }
        let text = format!("{} (pid {})\n", clean(holder), std::process::id());
        file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).during("write the lock", path)?;
        Ok(Some(Lock { file }))
    }

    /// The holder of the lock at `path`, as written in it.
    pub fn holder(path: &Path) -> String {
        let mut text = String::new();
        let read = File::open(path).and_then(|file| file.take(200).read_to_string(&mut text));
        match (read, clean(text.trim())) {
            (Ok(_), named) if !named.is_empty() => named,
            _ => "another Plimsoll".to_owned(),
        }
    }

    /// Whether the lock is free, without leaving a trace.
    ///
    /// # Errors
    /// The file cannot be opened or locked, which says nothing of who holds it.
    pub fn try_peek(path: &Path) -> io::Result<bool> {
        // On NFS only what is open for writing can be locked exclusively.
        match Lock::options().open(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(e) => Err(e),
            Ok(file) => {
                let lock = try_lock(&file, FlockOperation::NonBlockingLockExclusive)?.then(|| Lock { file });
                Ok(lock.is_some())
            }
        }
    }

    fn file(path: &Path) -> io::Result<File> {
        Lock::options().create(true).truncate(false).mode(0o600).open(path)
    }

    fn options() -> OpenOptions {
        let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(no_follow);
        options
    }
}

fn is_still_there(file: &File, path: &Path) -> io::Result<bool> {
    let inode = file.metadata()?.ino();
    Ok(fs::symlink_metadata(path).is_ok_and(|facts| facts.ino() == inode))
}

/// Locks a file unless somebody holds the lock: [`lock_within`] no time.
///
/// # Errors
/// As [`lock_within`].
pub fn try_lock(file: &File, operation: FlockOperation) -> io::Result<bool> {
    lock_within(file, operation, Duration::ZERO)
}

/// Locks a file unless somebody holds the lock for longer than `patience`; `operation` is one that does not block. A process that a
/// killed Plimsoll was just starting has its files open, and so its locks, until it is the program that it becomes: once the
/// holder is gone, the lock is waited for.
///
/// # Errors
/// The file cannot be locked, which says nothing of who holds it.
pub fn lock_within(file: &File, operation: FlockOperation, patience: Duration) -> io::Result<bool> {
    let begun = Instant::now();
    loop {
        match flock(file, operation) {
            Ok(()) => return Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => {}
            Err(errno) => return Err(errno.into()),
        }
        let waited = begun.elapsed();
        if waited >= patience && (waited >= STARTED_WITHIN || has_living_holder(file)?) {
            return Ok(false);
        }
        sleep(POLL);
    }
}

/// Whether a process that locked this file lives (proc(5), locks). One of another container is not listed.
fn has_living_holder(file: &File) -> io::Result<bool> {
    let inode = file.metadata()?.ino().to_string();
    let holds = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let of_file = words.get(5).and_then(|file| file.rsplit(':').next()) == Some(inode.as_str());
        of_file && Path::new("/proc").join(words[4]).exists()
    };
    Ok(fs::read_to_string("/proc/locks").unwrap_or_default().lines().any(holds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_lock_is_looked_at_without_a_trace() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        assert!(Lock::try_peek(&path).unwrap() && !path.exists());
        let held = Lock::try_take(&path, "a test").unwrap().expect("it is free");
        assert!(!Lock::try_peek(&path).unwrap());
        drop(held);
        assert!(Lock::try_peek(&path).unwrap());
        assert!(Lock::holder(&path).starts_with("a test (pid "), "{}", Lock::holder(&path));
    }

    #[test]
    fn a_lock_that_outlives_its_holder_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let exclusive = FlockOperation::NonBlockingLockExclusive;
        let file = Lock::file(&path).unwrap();
        // flock(1) takes the lock and ends; the shell has it until it has been read to.
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec 9<>\"$1\"; flock 9; echo; read _", "sh"]).arg(&path);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        shell.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(flock(&file, exclusive), Err(rustix::io::Errno::WOULDBLOCK));
        assert!(!has_living_holder(&file).unwrap());
        let input = shell.stdin.take();
        let lets_go = std::thread::spawn(move || {
            sleep(10 * POLL);
            drop(input);
            shell.wait().unwrap();
        });
        assert!(try_lock(&file, exclusive).unwrap());
        lets_go.join().unwrap();
        let other = Lock::file(&path).unwrap();
        assert!(has_living_holder(&other).unwrap() && !try_lock(&other, exclusive).unwrap());
    }

    #[test]
    fn what_cannot_be_opened_for_writing_cannot_be_looked_at() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Lock::try_peek(directory.path()).is_err());
    }
}
