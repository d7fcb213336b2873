//! The private server on which contestants meet, and what they need to reach it.

use crate::child::{self, FinishedProcess, Interrupted};
use crate::peers::brought::{GO_TPC, MYSQLTUNER, SYSBENCH_TPCC, TUNERS};
use crate::peers::fio;
use anyhow::{Context, bail};
use plimsoll_data::target::private_endpoint;
use plimsoll_engine::Endpoint;
use plimsoll_engine::control::Control;
use plimsoll_host::{Home, facts};
use plimsoll_model::Build;
use plimsoll_model::statements::{StatementCounts, StatementKind};
use plimsoll_server::{Opening, PrivateServer, baseline};
use plimsoll_wire::rows::TextRows;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const STOPS_WITHIN: Duration = Duration::from_secs(120);
/// No statement of ours between the runs takes longer, dropping a database included.
const STATEMENT_LIMIT: Duration = Duration::from_secs(600);
const ORIGIN: &str = "plimsoll-bench";
/// Who comes over TCP, without a password; it may enter databases whose names begin with `bench_`, and nothing else.
pub const USER: &str = "bench";

/// The programs that are compared, and whether to go on.
pub struct Tools {
    pub plimsoll: PathBuf,
    /// This program, which is also the floor.
    pub own: PathBuf,
    /// Its name and version, as it says.
    pub sysbench: String,
    /// The same, if it is there.
    pub fio: Option<String>,
    /// The program, if it is there.
    pub go_tpc: Option<PathBuf>,
    /// The directory of its scripts, if it is there.
    pub sysbench_tpcc: Option<PathBuf>,
    /// The script of its latest version, if it is there.
    pub mysqltuner: Option<PathBuf>,
    /// The Python that has the tuners, if it is there.
    pub tuners: Option<PathBuf>,
    /// The `plimsoll` that `make packages` packs, if it is there.
    pub packaged: Option<PathBuf>,
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
        let go_tpc = GO_TPC.find(|name| std::env::var_os(name))?;
        let sysbench_tpcc = SYSBENCH_TPCC.find(|name| std::env::var_os(name))?;
        let mysqltuner = MYSQLTUNER.find(|name| std::env::var_os(name))?.map(|place| place.join("mysqltuner.pl"));
        let tuners = TUNERS.find(|name| std::env::var_os(name))?.map(|place| place.join("bin/python3"));
        let fio = fio::version();
        let target = format!("{}-unknown-linux-musl/packaged/plimsoll", std::env::consts::ARCH);
        let packaged = own.ancestors().nth(2).map(|built| built.join(target)).filter(|program| program.is_file());
        Ok(Tools { plimsoll, own, sysbench, fio, go_tpc, sysbench_tpcc, mysqltuner, tuners, packaged, interrupted })
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
    /// On 127.0.0.1.
    port: u16,
    /// Whether the tables that all contestants run on are there.
    pub prepared: Cell<bool>,
}

impl<'t> Arena<'t> {
    pub fn open(build: &Build, home: &Home, tools: &'t Tools) -> anyhow::Result<Arena<'t>> {
        let label = format!("{} {}", build.flavour, build.version.split('-').next().unwrap_or_default());
        eprintln!("starting {label}");
        let opening = Opening::new(ORIGIN).watched_by(|_, _| match tools.interrupted.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        let mut settings = baseline(build, facts::memory_bytes());
        let port = free_port().context("finding a free TCP port")?;
        settings.set("skip_networking", "OFF", ORIGIN)?;
        settings.set("port", &port.to_string(), ORIGIN)?;
        let server = PrivateServer::open(home, &format!("bench-{}", build.flavour), build, &settings, opening);
        if tools.interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        let server = server.context("starting the private server")?;
        let mut control = Control::open(&private_endpoint(server.socket()))?;
        control.set_limit(STATEMENT_LIMIT);
        let arena = Arena {
            control: RefCell::new(control),
            home: home.path().to_owned(),
            scratch: tempfile::tempdir_in(home.path())?,
            server,
            tools,
            label,
            port,
            prepared: Cell::new(false),
        };
        arena.admit()?;
        Ok(arena)
    }

    /// Lets [`USER`] in over TCP.
    fn admit(&self) -> anyhow::Result<()> {
        // The server calls the other end of the loopback by one or the other name.
        for host in ["localhost", "127.0.0.1"] {
            self.sql(&format!("CREATE USER IF NOT EXISTS `{USER}`@`{host}`"))?;
            self.sql(&format!("GRANT ALL ON `bench\\_%`.* TO `{USER}`@`{host}`"))?;
        }
        Ok(())
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

    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    pub fn build(&self) -> &Build {
        self.server.build()
    }

    /// The home that the server lives in.
    pub fn home(&self) -> anyhow::Result<Home> {
        let root = self.home.clone().into_os_string();
        let lookup = |name: &str| if name == "PLIMSOLL_HOME" { Some(root.clone()) } else { std::env::var_os(name) };
        Ok(Home::resolve(lookup)?)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn tools(&self) -> &Tools {
        self.tools
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

    pub fn rows(&self, query: &str) -> anyhow::Result<TextRows> {
        self.control.borrow_mut().rows(query).with_context(|| query.to_owned())
    }

    /// The one number that `query` returns.
    pub fn number(&self, query: &str) -> anyhow::Result<f64> {
        let rows = self.rows(query)?;
        rows.single().and_then(|text| text.parse().ok()).with_context(|| format!("`{query}` returned no number"))
    }

    /// What the server has counted since its start, whoever sent it.
    pub fn statement_counts(&self) -> anyhow::Result<StatementCounts> {
        let rows = self.rows("SHOW GLOBAL STATUS LIKE 'Com\\_%'")?;
        let found: BTreeMap<&str, &str> = rows.pairs().collect();
        let mut counts = StatementCounts::default();
        for kind in StatementKind::ALL {
            counts[kind] = found.get(kind.status_variable()).and_then(|text| text.parse().ok()).unwrap_or(0);
        }
        Ok(counts)
    }

    /// Makes `database` anew, empty.
    pub fn empty_database(&self, database: &str) -> anyhow::Result<()> {
        self.sql(&format!("DROP DATABASE IF EXISTS `{database}`"))?;
        self.sql(&format!("CREATE DATABASE `{database}`"))
    }

    /// `database` over the Unix socket, for `plimsoll`.
    pub fn socket_target(&self, database: &str) -> String {
        format!("mysql://root@localhost/{database}?socket={}", self.socket().display())
    }

    /// `database` over TCP and without TLS, for `plimsoll`, where its peer knows no Unix sockets.
    pub fn tcp_target(&self, database: &str) -> String {
        format!("mysql://{USER}@127.0.0.1:{}/{database}?ssl-mode=disabled", self.port)
    }

    /// `plimsoll` with a subcommand and workload, aimed at a target of this server.
    pub fn plimsoll(&self, subcommand: &str, workload: &str, target: &str) -> Command {
        let mut command = self.plimsoll_alone(subcommand);
        command.arg(workload).arg(format!("--target={target}"));
        command
    }

    /// `plimsoll` with a subcommand that brings servers of its own, in the home of this one.
    pub fn plimsoll_alone(&self, subcommand: &str) -> Command {
        self.build_of_plimsoll(&self.tools.plimsoll, subcommand)
    }

    /// The same with another build of it.
    pub fn build_of_plimsoll(&self, program: &Path, subcommand: &str) -> Command {
        let mut command = Command::new(program);
        command.env("PLIMSOLL_HOME", &self.home).env_remove("MYSQL_PWD").arg(subcommand);
        command
    }

    /// `sysbench` with its connection options for `database` of this server.
    pub fn sysbench(&self, script: impl AsRef<OsStr>, database: &str) -> Command {
        self.reaching(Command::new("sysbench"), script, database)
    }

    /// The same command line with `plimsoll sysbench`.
    pub fn drop_in(&self, script: impl AsRef<OsStr>, database: &str) -> Command {
        self.reaching(self.plimsoll_alone("sysbench"), script, database)
    }

    fn reaching(&self, mut command: Command, script: impl AsRef<OsStr>, database: &str) -> Command {
        command.arg(script).args(["--mysql-user=root", "--mysql-password="]);
        command.arg(format!("--mysql-socket={}", self.socket().display())).arg(format!("--mysql-db={database}"));
        command
    }

    /// This program itself, in another role.
    pub fn own(&self) -> Command {
        Command::new(&self.tools.own)
    }

    /// Runs a contestant that should take no longer than `patience`.
    pub fn run(&self, command: Command, patience: Duration) -> anyhow::Result<FinishedProcess> {
        self.run_on(command, None, patience)
    }

    /// The same, with its standard error on a terminal if there is one.
    pub fn run_on(
        &self,
        command: Command,
        terminal: Option<OwnedFd>,
        patience: Duration,
    ) -> anyhow::Result<FinishedProcess> {
        let finished = child::run(command, terminal, self.scratch(), patience, &self.tools.interrupted);
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

/// A port that nobody listens on. Somebody else may take it before the server does: then that says so.
pub fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
