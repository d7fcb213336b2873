//! A home with the binary and one private server, as for a user at a terminal.

use crate::remote::Remote;
use plimsoll_data::target::private_endpoint;
use plimsoll_engine::control::Control;
use plimsoll_testkit::servers::{self, SlotGuard, wait_until};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Longer than anything here takes, on the slowest machine: a test that waits this long has found a hang.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A home of its own, and the right to run one server in it.
pub struct Lab {
    home: PathBuf,
    server: PathBuf,
    /// Locked until the servers are down, which [`Drop`] sees to.
    _slot: SlotGuard,
    _made: Option<TempDir>,
    /// Where commands reach it as somebody else's server; else it is their own.
    remote: Option<Remote>,
}

impl Lab {
    #[track_caller]
    pub fn mariadb() -> Option<Lab> {
        servers::mariadb().map(|server| Lab::with(server, None))
    }

    #[track_caller]
    pub fn mysql() -> Option<Lab> {
        servers::mysql().map(|server| Lab::with(server, None))
    }

    /// MariaDB of the next Debian.
    #[track_caller]
    pub fn mariadb_new() -> Option<Lab> {
        servers::mariadb_new().map(|server| Lab::with(server, None))
    }

    /// MariaDB, with no other server of the tests up meanwhile: for numbers that are to be compared.
    #[track_caller]
    pub fn mariadb_alone() -> Option<Lab> {
        servers::mariadb().map(|server| Lab::within(server, None, servers::alone()))
    }

    /// MySQL, likewise.
    #[track_caller]
    pub fn mysql_alone() -> Option<Lab> {
        servers::mysql().map(|server| Lab::within(server, None, servers::alone()))
    }

    /// MariaDB, with its home in this directory.
    #[track_caller]
    pub fn mariadb_in(home: &Path) -> Option<Lab> {
        servers::mariadb().map(|server| Lab::with(server, Some(home.to_owned())))
    }

    /// MySQL, likewise.
    #[track_caller]
    pub fn mysql_in(home: &Path) -> Option<Lab> {
        servers::mysql().map(|server| Lab::with(server, Some(home.to_owned())))
    }

    fn with(server: PathBuf, home: Option<PathBuf>) -> Lab {
        Lab::within(server, home, servers::slot())
    }

    fn within(server: PathBuf, home: Option<PathBuf>, slot: SlotGuard) -> Lab {
        let made = home.is_none().then(servers::home);
        let home = home.unwrap_or_else(|| made.as_ref().expect("made where none is given").path().to_owned());
        Lab { home, server, _slot: slot, _made: made, remote: None }
    }

    /// The same, its commands over TCP with TLS as [`Remote`] has it: `options` stand behind the URL.
    pub fn over_tls(mut self, options: &str) -> Lab {
        self.remote = Some(Remote::new(options));
        self
    }

    /// Other options behind the URL from now on.
    pub fn with_options(&mut self, options: &str) {
        self.remote.as_mut().expect("a lab over TLS").options = options.to_owned();
    }

    /// Whether commands see a server that is not theirs, of which less is known.
    pub fn is_remote(&self) -> bool {
        self.remote.is_some()
    }

    pub fn remote(&self) -> &Remote {
        self.remote.as_ref().expect("a lab over TLS")
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The binary of this lab's server.
    pub fn server(&self) -> &Path {
        &self.server
    }

    /// Writes a plan of a lab into the home, up to what `[server]` has; its path. This lab's server is given on the
    /// command line.
    pub fn plan(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.join(format!("{name}.toml"));
        let head = format!("name = \"{name}\"\n[server]\n# build: that of --server\n");
        fs::write(&path, head + text).expect("the home can be written");
        path
    }

    /// The binary with these words as its arguments. Where a command needs a server and the words name none, this
    /// lab's is put in.
    pub fn command(&self, line: &str) -> Command {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), &self.home);
        command.args(line.split_whitespace());
        // What other tests do meanwhile is no reason to wait.
        if (line.starts_with("lab ") || line.starts_with("tune ")) && !line.contains("--wait-quiet") {
            command.arg("--noisy-host");
        }
        let server = self.server.display();
        match line.split_whitespace().next() {
            _ if line.contains("--target") || line.contains("--defaults-file") || line.contains("--server") => {}
            Some("check") if line.contains("--same") => {}
            Some("load" | "run" | "check" | "drop") => match &self.remote {
                Some(remote) => remote.aim(&mut command),
                None => drop(command.arg(format!("--target=private:{server}"))),
            },
            Some("quickstart" | "lab" | "crash" | "tune") => {
                command.arg(format!("--server={server}"));
            }
            Some("advise" | "server") if line.starts_with("server start") || line.contains("--workload") => {
                command.arg(format!("--server={server}"));
            }
            _ => {}
        }
        command
    }

    /// What ran in this home has left nothing that `clean` would have to remove.
    #[track_caller]
    pub fn leaves_nothing(&self) {
        let left = self.does("clean");
        assert!(left.out.contains("nothing to clean") || left.err.contains("nothing to clean"), "{left}");
    }

    /// Runs to the end, whatever that is.
    pub fn ends(&self, line: &str) -> Done {
        run(self.command(line))
    }

    /// Runs to the end, which must be success.
    #[track_caller]
    pub fn does(&self, line: &str) -> Done {
        self.ends(line).exits(0)
    }

    /// Begins, and leaves it running.
    pub fn begins(&self, line: &str) -> Running {
        begin(self.command(line))
    }

    /// Starts the server to stay up; its URL.
    #[track_caller]
    pub fn up(&self, options: &str) -> String {
        let Some(remote) = &self.remote else {
            return self.does(&format!("server start {options}")).out.trim().to_owned();
        };
        let url = self.does(&format!("server start {options} {}", remote.settings())).out.trim().to_owned();
        remote.let_in(self);
        url
    }

    /// The server down and, where no command would start it, up again.
    #[track_caller]
    pub fn restarts(&self) {
        self.does("server stop");
        if self.is_remote() {
            self.up("");
        }
    }

    /// The socket of the server that is up.
    #[track_caller]
    pub fn socket(&self) -> PathBuf {
        let listed = self.does("server list --json").json();
        let up = listed.as_array().and_then(|rows| rows.iter().find_map(|row| row["socket"].as_str()));
        PathBuf::from(up.unwrap_or_else(|| panic!("no server is up: {listed}")))
    }

    /// A connection of the test's own, as root.
    #[track_caller]
    pub fn control(&self) -> Control {
        Control::open(&private_endpoint(&self.socket())).expect("the private server lets root in")
    }

    /// Runs statements, all of which must succeed; the rows of the last.
    #[track_caller]
    pub fn sql(&self, statements: &[&str]) -> Vec<Vec<Option<String>>> {
        let mut control = self.control();
        let mut rows = Vec::new();
        for statement in statements {
            rows = control.rows(statement).unwrap_or_else(|failure| panic!("{statement}: {failure}")).rows;
        }
        rows
    }

    /// The one value that a query gives.
    #[track_caller]
    pub fn value(&self, query: &str) -> String {
        match self.sql(&[query]).as_slice() {
            [row] => row.last().cloned().flatten().unwrap_or_default(),
            rows => panic!("{query}: {rows:?}"),
        }
    }

    /// What CHECKSUM TABLE says of this many tables of sysbench's.
    #[track_caller]
    pub fn checksums(&self, database: &str, tables: usize) -> Vec<String> {
        let names: Vec<String> = (1..=tables).map(|table| format!("sbtest{table}")).collect();
        self.checksums_of(database, &names.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// What CHECKSUM TABLE says of each of these tables.
    #[track_caller]
    pub fn checksums_of(&self, database: &str, tables: &[&str]) -> Vec<String> {
        let names: Vec<String> = tables.iter().map(|table| format!("`{database}`.`{table}`")).collect();
        let rows = self.sql(&[&format!("CHECKSUM TABLE {} EXTENDED", names.join(", "))]);
        rows.into_iter().map(|row| row[1].clone().expect("the table exists")).collect()
    }

    /// All recordings, oldest first.
    pub fn recordings(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.home.join("recordings")).into_iter().flatten().flatten();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        all.sort();
        all
    }

    /// Waits until the latest recording has a second of measurement.
    #[track_caller]
    pub fn wait_until_measured(&self, running: &mut Running) {
        let measured = || {
            let Some(recording) = self.recordings().pop() else { return false };
            let trials = fs::read_dir(recording.join("trials")).into_iter().flatten().flatten();
            let intervals = trials.filter_map(|trial| fs::read_to_string(trial.path().join("intervals.ndjson")).ok());
            intervals.into_iter().any(|text| text.contains("\"phase\":\"measure\""))
        };
        running.wait_for("a second of measurement", measured);
    }

    /// Waits until a load of this dataset has committed at least this many chunks.
    #[track_caller]
    pub fn wait_until_loaded(&self, running: &mut Running, database: &str, chunks: u64) {
        let query = format!("SELECT COUNT(*) FROM `{database}`.plimsoll_dataset WHERE part <> ''");
        let mut control = None;
        running.wait_for("a chunk of the load", || {
            if control.is_none() {
                let listed = self.ends("server list --json");
                let listed: Value = serde_json::from_str(&listed.out).unwrap_or_default();
                let socket = listed[0]["socket"].as_str().map(PathBuf::from);
                control = socket.and_then(|socket| Control::open(&private_endpoint(&socket)).ok());
            }
            let Some(control) = &mut control else { return false };
            // Before the load has come so far there is no such table.
            let rows = control.rows(&query).ok();
            rows.and_then(|rows| rows.single()?.parse::<u64>().ok()).is_some_and(|found| found >= chunks)
        });
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.command("server stop").output();
        let _ = self.command("clean").output();
    }
}

/// A command that has ended.
#[derive(Debug)]
pub struct Done {
    pub line: String,
    pub status: ExitStatus,
    pub out: String,
    pub err: String,
}

impl Done {
    /// Checks the exit code, and what holds of every end: no panic, no word that only its authors understand.
    #[track_caller]
    pub fn exits(self, code: i32) -> Done {
        let told = format!("{}\n{}", self.out, self.err);
        assert!(!told.contains("panicked at") && !told.contains("RUST_BACKTRACE"), "{self}");
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    /// Ended with this code, with nothing on standard output and these texts on standard error, within few lines.
    #[track_caller]
    pub fn refuses(self, code: i32, texts: &[&str]) -> Done {
        let done = self.exits(code).tells(texts);
        assert!(done.out.is_empty(), "standard output is for results: {done}");
        done
    }

    /// Standard error has these texts.
    #[track_caller]
    pub fn tells(self, texts: &[&str]) -> Done {
        for text in texts {
            assert!(self.err.contains(text), "`{text}` is not in the message: {self}");
        }
        self
    }

    /// Standard error has one message of the command's own, which says nothing twice.
    #[track_caller]
    pub fn in_one_message(self) -> Done {
        let own: Vec<&str> = self.err.lines().filter_map(|line| line.strip_prefix("plimsoll: ")).collect();
        assert_eq!(own.len(), 1, "{self}");
        let halves = own[0].match_indices(": ").map(|(at, colon)| (&own[0][..at], &own[0][at + colon.len()..]));
        let is_said = |left: &str, right: &str| left == right || (right.len() > 10 && left.contains(right));
        assert!(!halves.into_iter().any(|(left, right)| is_said(left, right)), "it says the same twice: {self}");
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("no single JSON document ({error}): {self}"))
    }
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = |text: &str| text[text.floor_char_boundary(text.len().saturating_sub(4000))..].to_owned();
        let Done { line, status, .. } = self;
        write!(f, "{line}\n{status}\nstandard output:\n{}\nstandard error:\n{}", end(&self.out), end(&self.err))
    }
}

/// Takes CPU from whatever is measured, until it is dropped.
pub struct Neighbour(Child);

impl Neighbour {
    /// Keeps a CPU busy.
    pub fn moves_in() -> Neighbour {
        Neighbour::doing("while :; do :; done")
    }

    /// Takes a CPU for 4 s of 16: a search goes on beside it, and has trials that it disturbed.
    pub fn comes_and_goes() -> Neighbour {
        Neighbour::doing("while :; do timeout --foreground 4 sh -c 'while :; do :; done'; sleep 12; done")
    }

    /// One that takes most of two CPUs for four seconds of each eleven: more than others on a shared machine do.
    pub fn presses() -> Neighbour {
        let four = "for _ in 1 2 3 4; do timeout --foreground 4 sh -c 'while :; do :; done' & done";
        Neighbour::doing(&format!("while :; do {four}; wait; sleep 7; done"))
    }

    fn doing(script: &str) -> Neighbour {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        Neighbour(command.spawn().expect("there is a shell"))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.0);
        kill_process_group(group, Signal::KILL).expect("it is ours");
        self.0.wait().expect("it has ended");
    }
}

/// The file of a plan of this repository.
pub fn plan_called(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans").join(format!("{name}.toml"))
}

/// The report of a recording of this home, as data.
#[track_caller]
pub fn report(home: &Path, recording: &str) -> Value {
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home);
    command.args(["report", recording, "--format", "json", "-o", "-"]);
    run(command).exits(0).json()
}

/// What a report says of a number that was printed.
#[track_caller]
pub fn published<'a>(report: &'a Value, id: &str, metric: &str) -> &'a Value {
    let all = report["data"]["published"].as_array().expect("a list");
    let found = all.iter().find(|of| of["id"] == id && of["metric"] == metric);
    found.unwrap_or_else(|| panic!("{id}, {metric}: {all:#?}"))
}

/// Runs a command to its end.
#[track_caller]
pub fn run(command: Command) -> Done {
    begin(command).end()
}

/// Starts a command. What it says goes to files, so that nobody ever waits for a reader.
#[track_caller]
pub fn begin(mut command: Command) -> Running {
    let file = || tempfile::tempfile().expect("a file for the output");
    let (out, err) = (file(), file());
    command.stdout(out.try_clone().expect("a second handle")).stderr(err.try_clone().expect("a second handle"));
    start(command, out, err)
}

/// The same command, which an interrupt ends unless it asks for something else: whatever a shell starts in the background
/// ignores one (env(1)).
pub fn interruptible(command: &Command) -> Command {
    let mut again = Command::new("env");
    again.arg("--default-signal=INT").arg(command.get_program()).args(command.get_args());
    command.get_current_dir().map(|directory| again.current_dir(directory));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => again.env(name, value),
            None => again.env_remove(name),
        };
    }
    again
}

/// Starts a command with this as its standard output.
#[track_caller]
pub fn begin_into(mut command: Command, out: impl Into<Stdio>) -> Running {
    let err = tempfile::tempfile().expect("a file for the output");
    command.stdout(out).stderr(err.try_clone().expect("a second handle"));
    start(command, tempfile::tempfile().expect("a file for the output"), err)
}

/// Starts a command with this as its standard error.
#[track_caller]
pub fn begin_onto(mut command: Command, err: impl Into<Stdio>) -> Running {
    let out = tempfile::tempfile().expect("a file for the output");
    command.stdout(out.try_clone().expect("a second handle")).stderr(err);
    start(command, out, tempfile::tempfile().expect("a file for the output"))
}

#[track_caller]
fn start(mut command: Command, out: File, err: File) -> Running {
    let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let line = format!("{} {}", command.get_program().to_string_lossy(), arguments.join(" "));
    let child = command.spawn().unwrap_or_else(|error| panic!("{line}: {error}"));
    Running { child, line, out, err }
}

/// A command under way.
pub struct Running {
    child: Child,
    line: String,
    out: File,
    err: File,
}

/// A test that fails must not leave its command at work beside those that follow.
impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Running {
    pub fn signal(&self, signal: Signal) {
        signal_process(self.child.id(), signal);
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it with all that it started, where it was begun as the first of a process group.
    pub fn kill_group(&self) {
        let leader = Pid::from_raw(self.child.id() as i32).expect("a process has a number above 0");
        let _ = kill_process_group(leader, Signal::KILL);
    }

    /// Waits until the condition holds, or panics: because it did not within [`PATIENCE`], or the command ended.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, mut condition: impl FnMut() -> bool) {
        let mut ended = None;
        let found = wait_until(PATIENCE, || {
            ended = self.child.try_wait().expect("a child can be waited for");
            condition() || ended.is_some()
        });
        if let Some(status) = ended {
            panic!("ended before {what}: {}", self.told(status));
        }
        assert!(found, "waited for {what} in vain");
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_some()
    }

    /// Waits for the end.
    #[track_caller]
    pub fn end(self) -> Done {
        self.end_within(PATIENCE)
    }

    /// Waits for the end of something that takes long.
    #[track_caller]
    pub fn end_within(mut self, patience: Duration) -> Done {
        let mut ended = None;
        wait_until(patience, || {
            ended = self.child.try_wait().expect("a child can be waited for");
            ended.is_some()
        });
        match ended {
            Some(status) => self.told(status),
            None => {
                let _ = self.child.kill();
                let status = self.child.wait().expect("a killed child ends");
                panic!("a hang: {}", self.told(status));
            }
        }
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(self) -> Done {
        self.signal(Signal::KILL);
        let done = self.end();
        assert_eq!(done.status.signal(), Some(Signal::KILL.as_raw()), "{done}");
        done
    }

    fn told(&mut self, status: ExitStatus) -> Done {
        let text = |file: &mut File| {
            let mut bytes = Vec::new();
            file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("the output can be read again");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Done { line: self.line.clone(), status, out: text(&mut self.out), err: text(&mut self.err) }
    }
}

pub fn signal_process(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid as i32).expect("a process has a number above 0");
    let _ = kill_process(pid, signal);
}

/// Whether the process is there and is not just waiting to be reaped.
pub fn alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim_start().starts_with('Z'))
}

/// We and the server count the same statements; what a server counted that is not ours is not known.
#[track_caller]
pub fn counts_agree(lab: &Lab, summary: &Value, what: &str) {
    let (ours, theirs) = (&summary["totals"]["statements"], &summary["server"]["statements"]);
    match lab.is_remote() {
        true => assert!(theirs.is_null() && ours.is_object(), "{what}: {ours}, {theirs}"),
        false => assert_eq!(ours, theirs, "{what}"),
    }
}

/// Adds up the statements in a `StatementCounts` of the JSON.
pub fn all_statements(counts: &Value) -> u64 {
    counts.as_object().expect("counts by kind").values().map(|count| count.as_u64().expect("a count")).sum()
}
