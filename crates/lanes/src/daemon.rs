//! A program of a network lane that runs in the background, in one of the lane's namespaces.

use super::site::Site;
use super::{LaneProcess, LaneSide, namespace, tool};
use crate::LaneError;
use crate::error::DuringLane;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

/// How long it may take until a program can be used.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How many lines of its output are quoted if it cannot be used.
const QUOTED: usize = 8;
const POLL: Duration = Duration::from_millis(10);
/// A listening socket's state in `/proc/net/tcp` (Linux, `Documentation/networking/proc_net_tcp.rst`).
const LISTENS: &str = "0A";

/// How a program shows that it is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// It listens on all of these TCP ports.
    Ports(&'static [u16]),
    /// This Unix socket is there.
    Socket(PathBuf),
    /// This file is there, and not empty.
    File(PathBuf),
    /// A FUSE file system is mounted here.
    Mount(PathBuf),
}

/// How a program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Daemon {
    pub side: LaneSide,
    /// Its name; its words may begin with a program that starts it.
    pub program: &'static str,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Where a program that goes into the background writes its pid; one without this stays in the foreground.
    pub pid_file: Option<PathBuf>,
    pub environment: Vec<(&'static str, PathBuf)>,
    pub ready: Ready,
    /// Programs to run to their end in the same namespace once it is ready.
    pub then: Vec<Vec<String>>,
}

impl Daemon {
    /// One that needs only its words.
    pub fn new(side: LaneSide, program: &'static str, words: Vec<String>, ready: Ready) -> Daemon {
        Daemon { side, program, words, pid_file: None, environment: Vec::new(), ready, then: Vec::new() }
    }

    /// Starts it and waits until it can be used.
    ///
    /// # Errors
    /// [`LaneError::Environment`] with its output, if it ends or is not ready in time.
    pub fn start(&self, site: &Site) -> Result<LaneProcess, LaneError> {
        let said = site.root().join(format!("{}.log", self.program));
        let output = File::create(&said).during("write", &said)?;
        let errors = output.try_clone().during("write", &said)?;
        let net = site.namespace(self.side);
        let mut command = namespace::command(&net, &self.words)?;
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).current_dir(site.root());
        let mut child = command.stdout(output).stderr(errors).spawn().during("start a program of", site.root())?;
        let deadline = Instant::now() + READY_WITHIN;
        let pid = loop {
            // Before the other tests, so that one that ends just now is tested once more.
            let is_over = self.has_failed(&mut child) || Instant::now() >= deadline;
            if let Some(pid) = self.pid(&child).filter(|pid| self.ready.holds(*pid)) {
                break pid;
            }
            if is_over {
                return Err(self.unusable(&said));
            }
            thread::sleep(POLL);
        };
        for words in &self.then {
            let mut command = namespace::command(&net, words)?;
            command.envs(self.environment.iter().map(|(name, value)| (name, value)));
            tool::finish(&words[0], command)?;
        }
        Ok(LaneProcess { side: self.side, program: self.program.to_owned(), pid })
    }

    /// The pid of the program, once it is known.
    fn pid(&self, child: &Child) -> Option<u32> {
        match &self.pid_file {
            None => Some(child.id()),
            Some(path) => fs::read_to_string(path).ok()?.trim().parse().ok(),
        }
    }

    /// A program that goes into the background ends at once, with success.
    fn has_failed(&self, child: &mut Child) -> bool {
        match child.try_wait() {
            Ok(None) => false,
            Ok(Some(status)) => self.pid_file.is_none() || !status.success(),
            Err(_) => true,
        }
    }

    /// With its last output.
    fn unusable(&self, said: &Path) -> LaneError {
        let told = fs::read_to_string(said).unwrap_or_default();
        let told: Vec<&str> = told.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = &told[told.len().saturating_sub(QUOTED)..];
        LaneError::Environment(format!("{} cannot be used: {}", self.program, last.join("; ")))
    }
}

impl Ready {
    fn holds(&self, pid: u32) -> bool {
        match self {
            Ready::Ports(ports) => listens(pid, ports),
            Ready::Socket(path) => path.exists(),
            Ready::File(path) => fs::metadata(path).is_ok_and(|facts| facts.len() > 0),
            Ready::Mount(point) => is_fuse(point),
        }
    }
}

fn is_fuse(point: &Path) -> bool {
    super::mounts::at(point).is_ok_and(|mount| mount.is_some_and(|mount| mount.filesystem.starts_with("fuse")))
}

/// Whether all of these ports are listened on in the network namespace of a process.
fn listens(pid: u32, ports: &[u16]) -> bool {
    let tables =
        ["tcp", "tcp6"].map(|table| fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default());
    ports.iter().all(|port| tables.iter().any(|table| is_listed(table, *port)))
}

/// Whether a table of sockets has one that listens on this port.
fn is_listed(table: &str, port: u16) -> bool {
    let port = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut words = line.split_whitespace().skip(1);
        words.next().is_some_and(|local| local.ends_with(&port)) && words.nth(1) == Some(LISTENS)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_listened_on_is_seen() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let tables = fs::read_to_string("/proc/self/net/tcp").unwrap();
        assert!(is_listed(&tables, port), "{tables}");
        drop(listener);
        // A child that another test has just forked has the socket open, too, until it executes its program.
        let deadline = Instant::now() + Duration::from_secs(30);
        while is_listed(&fs::read_to_string("/proc/self/net/tcp").unwrap(), port) {
            assert!(Instant::now() < deadline, "it is still listened on");
            thread::sleep(POLL);
        }
    }

    #[test]
    fn a_connection_is_no_listener() {
        let table = "  sl  local_address rem_address   st\n   0: 0100007F:0801 0100007F:9C40 01 0:0\n";
        assert!(!is_listed(table, 2049));
        assert!(is_listed(&table.replace(" 01 ", " 0A "), 2049));
    }
}
