//! The data of one file that a server has acknowledged but not promised to keep.

/// The server's write verifier, which changes when it restarts (`writeverf3`, RFC 1813 section 3.3.7): writes
/// acknowledged under one verifier and committed under another are lost.
pub type WriteVerifier = [u8; 8];

/// Writes that were acknowledged as UNSTABLE and not yet committed.
///
/// A kernel's client keeps the pages until they are committed, and writes them again. This file system no longer has
/// them, so it reports the loss instead, from every fsync until the last handle is closed: the database must know.
#[derive(Debug, Default)]
pub struct Uncommitted {
    verifier: Option<WriteVerifier>,
    lost: bool,
}

impl Uncommitted {
    /// The server acknowledged a write under `verifier` without keeping it.
    pub fn wrote(&mut self, verifier: WriteVerifier) {
        self.lost |= self.verifier.is_some_and(|before| before != verifier);
        self.verifier = Some(verifier);
    }

    /// The verifier that a COMMIT sent now must return; `None` if there is nothing to commit.
    pub fn take(&mut self) -> Option<WriteVerifier> {
        self.verifier.take()
    }

    /// A COMMIT of writes acknowledged under `before` was answered: with `after`, or with an error (`None`), after
    /// which the server may have let the data go.
    pub fn committed(&mut self, before: WriteVerifier, after: Option<WriteVerifier>) {
        self.lost |= after != Some(before);
    }

    /// Whether an acknowledged write is known to be lost.
    pub fn lost(&self) -> bool {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: WriteVerifier = [1; 8];
    const OTHER: WriteVerifier = [2; 8];

    #[test]
    fn a_commit_under_the_same_verifier_keeps_everything() {
        let mut file = Uncommitted::default();
        assert_eq!(file.take(), None);
        file.wrote(ONE);
        file.wrote(ONE);
        assert_eq!(file.take(), Some(ONE));
        file.committed(ONE, Some(ONE));
        assert_eq!((file.lost(), file.take()), (false, None));
    }

    #[test]
    fn a_server_that_was_started_again_has_lost_the_writes() {
        let mut between_writes = Uncommitted::default();
        between_writes.wrote(ONE);
        between_writes.wrote(OTHER);
        assert!(between_writes.lost());
        let mut before_commit = Uncommitted::default();
        before_commit.wrote(ONE);
        let before = before_commit.take().unwrap();
        before_commit.committed(before, Some(OTHER));
        assert!(before_commit.lost());
    }

    #[test]
    fn a_failed_commit_is_a_loss_even_if_a_later_one_succeeds() {
        let mut file = Uncommitted::default();
        file.wrote(ONE);
        let before = file.take().unwrap();
        file.committed(before, None);
        file.wrote(ONE);
        let before = file.take().unwrap();
        file.committed(before, Some(ONE));
        assert!(file.lost());
    }
}
