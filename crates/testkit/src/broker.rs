//! A private NATS server with JetStream, as Debian has it, or the one that `PLIMSOLL_TEST_NATS_SERVER` names.

use crate::servers::{self, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A directory that no disk delays: others keep those of the machine busy.
pub fn in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory can be made")
}

/// Ends with the test.
pub struct Broker {
    program: PathBuf,
    directory: TempDir,
    port: u16,
    /// What its configuration says besides where it listens.
    more: String,
    child: Option<Child>,
}

impl Broker {
    /// A broker that trusts everybody on this machine; `None` was said with [`servers::skip`].
    #[track_caller]
    pub fn start() -> Option<Broker> {
        Broker::with(String::new())
    }

    /// One whose configuration has this as well.
    #[track_caller]
    pub fn with(more: String) -> Option<Broker> {
        Broker::of(servers::nats_server()?, more)
    }

    /// A newer one.
    #[track_caller]
    pub fn newer() -> Option<Broker> {
        Broker::of(servers::nats_server_new()?, String::new())
    }

    fn of(program: PathBuf, more: String) -> Option<Broker> {
        // Free a moment ago; it stays the same when it is started again.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|free| free.local_addr());
        let (directory, port) = (in_memory(), port.expect("a port is free").port());
        let mut broker = Broker { program, directory, port, more, child: None };
        broker.begin();
        Some(broker)
    }

    /// Its address, in the clear.
    pub fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// SIGSTOP: it is there, and does nothing.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("it is running");
        kill_process(Pid::from_child(child), signal).expect("it can be sent a signal");
    }

    /// Removes what it has stored, as a disk that is lost does.
    pub fn forget(&mut self) {
        assert!(self.child.is_none(), "it is running");
        fs::remove_dir_all(self.directory.path().join("store")).expect("it has a store");
    }

    /// Starts it, or starts it again.
    ///
    /// # Panics
    /// If it does not answer.
    pub fn begin(&mut self) {
        let (port, store, more) = (self.port, self.directory.path().join("store"), &self.more);
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\nmax_payload: 1MB\njetstream {{ store_dir: \"{}\" }}\n{more}\n",
            store.display()
        );
        let config = self.directory.path().join("nats.conf");
        fs::write(&config, text).expect("its configuration can be written");
        let log = fs::File::create(self.directory.path().join("log")).expect("its log can be written");
        let child = Command::new(&self.program).arg("-c").arg(&config).stdout(Stdio::null()).stderr(log).spawn();
        self.child = Some(child.expect("the broker starts"));
        let answers = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        assert!(wait_until(Duration::from_secs(120), answers), "{}", self.log());
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}
