//! Requests to the server, counted by kind as they are sent, and the socket that reports the counts.

use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use nfs3_client::nfs3_types::nfs3::NFS_PROGRAM;

/// NFSPROC3_NULL to NFSPROC3_COMMIT, RFC 1813 section 3.3.
const KINDS: u32 = 22;

/// How many requests of each kind were sent since the start. A repeated one counts again.
#[derive(Debug, Default)]
pub struct Operations {
    sent: [AtomicU64; KINDS as usize],
}

impl Operations {
    pub fn count(&self, kind: NFS_PROGRAM) {
        self.sent[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// One line of JSON: an object with every kind by its name in RFC 1813, `{"GETATTR":12,…}`.
    pub fn line(&self) -> String {
        let kinds = (1..KINDS).filter_map(|number| NFS_PROGRAM::try_from(number).ok());
        let counts: serde_json::Map<_, _> =
            kinds.map(|kind| (name(kind), self.sent[kind as usize].load(Ordering::Relaxed).into())).collect();
        format!("{}\n", serde_json::Value::Object(counts))
    }
}

fn name(kind: NFS_PROGRAM) -> String {
    kind.to_string().trim_start_matches("NFSPROC3_").to_owned()
}

/// A Unix socket that answers each connection with [`Operations::line`] and closes it. Removed when dropped.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Socket {
    /// # Errors
    /// If the path exists and is not a socket, or cannot be bound. A socket left by an earlier process is replaced.
    pub fn open(path: &Path, operations: Arc<Operations>) -> io::Result<Self> {
        if path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket()) {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let thread = thread::Builder::new().name("operations".into()).spawn(move || {
            for stream in listener.incoming().take_while(|_| !end.load(Ordering::Acquire)) {
                // A client that hung up does not want the answer.
                let _ = stream.and_then(|mut stream| stream.write_all(operations.line().as_bytes()));
            }
        })?;
        Ok(Self { path: path.to_owned(), ended, thread: Some(thread) })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // The connection wakes the thread, so that it ends. If connecting fails, the thread is left waiting.
        if UnixStream::connect(&self.path).is_ok() {
            let _ = self.thread.take().map(JoinHandle::join);
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn every_kind_has_its_name_and_its_count() {
        let operations = Operations::default();
        operations.count(NFS_PROGRAM::NFSPROC3_WRITE);
        operations.count(NFS_PROGRAM::NFSPROC3_WRITE);
        operations.count(NFS_PROGRAM::NFSPROC3_COMMIT);
        let counts: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&operations.line()).unwrap();
        assert_eq!(counts.len(), 21);
        assert_eq!((&counts["WRITE"], &counts["COMMIT"], &counts["READDIRPLUS"]), (&2.into(), &1.into(), &0.into()));
    }

    #[test]
    fn the_socket_answers_each_connection_and_goes_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("operations");
        let operations = Arc::new(Operations::default());
        drop(UnixListener::bind(&path).unwrap());
        let socket = Socket::open(&path, operations.clone()).unwrap();
        for times in 0..2 {
            let mut answer = String::new();
            UnixStream::connect(&path).unwrap().read_to_string(&mut answer).unwrap();
            assert!(answer.contains(&format!("\"LOOKUP\":{times},")) && answer.ends_with("}\n"), "{answer}");
            operations.count(NFS_PROGRAM::NFSPROC3_LOOKUP);
        }
        drop(socket);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_in_the_sockets_place_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("operations");
        std::fs::write(&path, "mine").unwrap();
        assert!(Socket::open(&path, Arc::default()).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    }
}
