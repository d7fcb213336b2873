//! The private server on which contestants meet, and what they need to reach it.

use crate::child::{self, Finished, Interrupted};
use anyhow::{Context, bail};
use plimsoll_engine::Endpoint;
use plimsoll_engine::control::Control;
use plimsoll_lab::target::private_endpoint;
use plimsoll_server::{Build, Home, Opening, PrivateServer, baseline, host};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const STOPS_WITHIN: Duration = Duration::from_secs(120);
/// No statement of ours between the runs takes longer, dropping a database included.
const STATEMENT_LIMIT: Duration = Duration::from_secs(600);

/// The programs that are compared, and whether to go on.
pub struct Tools {
    pub plimsoll: PathBuf,
    /// This program, which is also the floor.
    pub own: PathBuf,
    /// Its name and version, as it says.
    pub sysbench: String,
    pub interrupted: Arc<AtomicBool>,
}

impl Tools {
    /// Finds the `plimsoll` beside this program, and sysbench.
    ///
    /// # Errors
    /// Which of them is missing, and what to do about it.
    pub fn find(interrupted: Arc<AtomicBool>) -> anyhow::Result<Tools> {
        let own = std::env::current_exe().context("finding this program")?;
        let plimsoll = own.with_file_name("plimsoll");
        if !plimsoll.is_file() {
            bail!("there is no `{}`: build it with `cargo build --release --package plimsoll`", plimsoll.display());
        }
        let sysbench = match Command::new("sysbench").arg("--version").output() {
            Ok(output) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                text.split(" (").next().unwrap_or_default().trim().to_owned()
            }
            _ => bail!(
                "SYSBENCH IS MISSING, and every comparison is with it: install the package `sysbench` \
                 (Debian, Ubuntu: `apt install sysbench`)"
            ),
        };
        Ok(Tools { plimsoll, own, sysbench, interrupted })
    }
}

/// A private server, up; dropping it stops the server, and it dies with this process however that ends.
pub struct Arena<'t> {
    // Before the server: it is dropped first.
    control: RefCell<Control>,
    server: PrivateServer,
    home: PathBuf,
    scratch: tempfile::TempDir,
    tools: &'t Tools,
    label: String,
    /// Whether the tables that all contestants run on are there.
    pub prepared: Cell<bool>,
}

impl<'t> Arena<'t> {
    pub fn open(build: &Build, home: &Home, tools: &'t Tools) -> anyhow::Result<Arena<'t>> {
        let label = format!("{} {}", build.flavour, build.version.split('-').next().unwrap_or_default());
        eprintln!("starting {label}");
        let opening =
            Opening::new("plimsoll-bench").watched_by(|_, _| match tools.interrupted.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            });
        let settings = baseline(build, host::memory_bytes());
        let server = PrivateServer::open(home, &format!("bench-{}", build.flavour), build, &settings, opening);
        if tools.interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        let server = server.context("starting the private server")?;
        let mut control = Control::open(&private_endpoint(server.socket()))?;
        control.set_limit(STATEMENT_LIMIT);
        Ok(Arena {
            control: RefCell::new(control),
            home: home.path().to_owned(),
            scratch: tempfile::tempdir_in(home.path())?,
            server,
            tools,
            label,
            prepared: Cell::new(false),
        })
    }

    /// Stops the server.
    pub fn close(self) -> anyhow::Result<()> {
        drop(self.control);
        self.server.stop(STOPS_WITHIN).context("stopping the private server")?;
        Ok(())
    }

    /// Flavour and version.
    pub fn label(&self) -> &str {
        &self.label
    }

    pub fn socket(&self) -> &Path {
        self.server.socket()
    }

    pub fn endpoint(&self, database: &str) -> Endpoint {
        Endpoint { database: Some(database.to_owned()), ..private_endpoint(self.socket()) }
    }

    /// A directory of this arena's, on the server's disk.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    pub fn sql(&self, statement: &str) -> anyhow::Result<()> {
        self.control.borrow_mut().run(statement).with_context(|| statement.to_owned())?;
        Ok(())
    }

    /// Makes `database` anew, empty.
    pub fn empty_database(&self, database: &str) -> anyhow::Result<()> {
        self.sql(&format!("DROP DATABASE IF EXISTS `{database}`"))?;
        self.sql(&format!("CREATE DATABASE `{database}`"))
    }

    /// `plimsoll` with a subcommand and workload, aimed at `database` of this server.
    pub fn plimsoll(&self, subcommand: &str, workload: &str, database: &str) -> Command {
        let mut command = Command::new(&self.tools.plimsoll);
        command.env("PLIMSOLL_HOME", &self.home).env_remove("MYSQL_PWD").args([subcommand, workload]);
        let socket = self.socket().display();
        command.arg(format!("--target=mysql://root@localhost/{database}?socket={socket}"));
        command
    }

    /// `sysbench` with its connection options for `database` of this server.
    pub fn sysbench(&self, workload: &str, database: &str) -> Command {
        let mut command = Command::new("sysbench");
        command.arg(workload).args(["--mysql-user=root", "--mysql-password="]);
        command.arg(format!("--mysql-socket={}", self.socket().display())).arg(format!("--mysql-db={database}"));
        command
    }

    /// This program itself, in another role.
    pub fn own(&self) -> Command {
        Command::new(&self.tools.own)
    }

    /// Runs a contestant that should take no longer than `patience`.
    pub fn run(&self, command: Command, patience: Duration) -> anyhow::Result<Finished> {
        let finished = child::run(command, self.scratch(), patience, &self.tools.interrupted);
        if finished.is_err() && !self.server.is_alive() {
            eprintln!("the server is gone; its error log ends with:\n{}", self.server.error_log_tail(12));
        }
        finished
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn go_on(&self) -> anyhow::Result<()> {
        if self.tools.interrupted.load(Ordering::Relaxed) { Err(Interrupted.into()) } else { Ok(()) }
    }
}
