//! What an error log says about a server's end: the first complaint, not the trace that follows it.

use std::io::Read;

/// What both vendors write once a server is up. Earlier complaints have not killed it.
const READY: &str = "ready for connections";
/// The line with which the trace of a crash begins, which says only that there was one.
const TRAILER: &str = "got signal";
/// Marks of lines about errors that a server cannot repair.
const COMPLAINTS: [&str; 3] = ["[ERROR]", "[FATAL]", "Assertion failure"];
/// How much of a line is examined, bytes.
const LINE_BYTES: usize = 8 << 10;

/// Reads a log piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    line: Vec<u8>,
    first: Option<String>,
    trailer: Option<String>,
}

impl Complaints {
    pub fn hear(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if text.contains(READY) {
            (self.first, self.trailer) = (None, None);
        } else if text.contains(TRAILER) {
            self.trailer.get_or_insert_with(|| text.to_owned());
        } else if COMPLAINTS.iter().any(|mark| text.contains(mark)) {
            self.first.get_or_insert_with(|| text.to_owned());
        }
    }

    /// The first complaint since the server was ready, or since its start if it never was; the head of the crash trace
    /// if nothing came before that.
    pub fn first(&self) -> Option<&str> {
        self.first.as_deref().or(self.trailer.as_deref())
    }
}

/// The same for a whole log.
pub(crate) fn first_complaint(mut log: impl Read) -> Option<String> {
    let mut complaints = Complaints::default();
    let mut piece = vec![0; 64 << 10];
    while let Ok(count @ 1..) = log.read(&mut piece) {
        complaints.hear(&piece[..count]);
    }
    complaints.end_line();
    complaints.first().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MariaDB 10.11 wrote it when the storage below its data died.
    const MARIADB: &str = "\
2026-11-23  1:55:20 0 [ERROR] mariadbd: Can't open shared library 'ha_none.so'
2026-11-23  1:55:20 0 [Note] /usr/sbin/mariadbd: ready for connections.
Version: '10.11.14-MariaDB-0+deb12u2'  socket: '/tmp/plimsoll-0/1.sock'  port: 0  Debian 12
2026-11-23  1:55:56 6 [ERROR] [FATAL] InnoDB: fdatasync() returned 5
261123  1:55:56 [ERROR] /usr/sbin/mariadbd got signal 6 ;
Sorry, we probably made a mistake, and this is a bug.
Attempting backtrace. Include this in the bug report.
";
    /// The form of MySQL 9.x.
    const MYSQL: &str = "\
2026-11-23T01:53:01.469453Z 0 [System] [MY-010931] [Server] /opt/bin/mysqld: ready for connections. Version: '9.7.0'
2026-11-23T01:53:40.000001Z 0 [Warning] [MY-012145] [InnoDB] Retry attempts for writing partial data failed.
2026-11-23T01:53:40.000002Z 0 [ERROR] [MY-012592] [InnoDB] Operating system error number 5 in a file operation.
2026-11-23T01:53:40.000003Z 0 [ERROR] [MY-012596] [InnoDB] Error number 5 means 'Input/output error'
2026-11-23T01:53:40.000004Z 0 [ERROR] [MY-013183] [InnoDB] Assertion failure: fil0fil.cc:7523 thread 139701
2026-11-23T01:53:40Z UTC - mysqld got signal 6 ;
Most likely, you have hit a bug, but this error can also be caused by malfunctioning hardware.
";

    #[test]
    fn the_first_complaint_since_the_server_was_ready_is_found() {
        let first = |log: &str| first_complaint(log.as_bytes());
        let mariadb = "2026-11-23  1:55:56 6 [ERROR] [FATAL] InnoDB: fdatasync() returned 5";
        assert_eq!(first(MARIADB).as_deref(), Some(mariadb));
        assert!(
            first(MYSQL).is_some_and(|line| line.ends_with("Operating system error number 5 in a file operation."))
        );
        let never_ready = "0 [ERROR] [MY-000067] [Server] unknown variable 'x=1'.\n0 [ERROR] [MY-010119] Aborting";
        assert!(first(never_ready).is_some_and(|line| line.contains("unknown variable")));
        let assertion = "InnoDB: Assertion failure in file buf0buf.cc line 7\n[ERROR] mysqld got signal 6 ;\n";
        assert!(first(assertion).is_some_and(|line| line.contains("Assertion failure")));
        let only_a_crash = "mysqld: ready for connections.\n[ERROR] mysqld got signal 11 ;\nAttempting backtrace.\n";
        assert_eq!(first(only_a_crash).as_deref(), Some("[ERROR] mysqld got signal 11 ;"));
        for quiet in ["", "0 [Note] x: ready for connections.\n", "[ERROR] before\nready for connections\n[Note] y\n"] {
            assert_eq!(first(quiet), None, "{quiet}");
        }
    }

    #[test]
    fn it_does_not_matter_in_which_pieces_a_log_comes() {
        for size in [1, 7, 100] {
            let mut complaints = Complaints::default();
            MARIADB.as_bytes().chunks(size).for_each(|piece| complaints.hear(piece));
            assert!(complaints.first().is_some_and(|line| line.ends_with("fdatasync() returned 5")), "{size}");
        }
        let endless = vec![b'x'; 10 * LINE_BYTES];
        let mut complaints = Complaints::default();
        complaints.hear(&endless);
        assert_eq!(complaints.line.len(), LINE_BYTES);
    }
}
