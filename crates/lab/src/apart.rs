//! A script's load in a process of its own: what a script does to its process, it does not do to the recording. The child
//! is this program again; it is given the load to make on a socket, takes orders there and tells what comes of it.

mod serve;
pub mod told;

use crate::error::LabError;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::RunSpec;
use plimsoll_host::process::{Lifetime, kill_family, spawn};
use plimsoll_host::sample::{LoadProcess, process};
use plimsoll_load::source::{LoadEvent, LoadFacts, LoadSource, Spent};
use plimsoll_load::tally::Tally;
use plimsoll_model::LoadPoint;
use plimsoll_plan::{RunPlan, Url};
use plimsoll_script::last_event::LastEvent;
use plimsoll_script::{Script, Scripted};
use serde::{Deserialize, Serialize};
pub use serve::serve;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use told::ToldLoad;

/// The command of this program that serves such a load.
pub const COMMAND: &str = "script-part";
/// Memory of the child, bytes (setrlimit(2), RLIMIT_DATA).
const MEMORY: u64 = 2 << 30;
/// The child says who it is within this time.
const PATIENCE: Duration = Duration::from_secs(60);
/// One that was told to finish does.
const FAREWELL: Duration = Duration::from_secs(10);
/// One that has closed its socket is gone within this time, or lives on.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What the child is asked for. It never stands in a command line, since a password is among it.
#[derive(Serialize, Deserialize)]
enum Question {
    /// To run the script's top level, and say what is wrong with it.
    Look(ScriptText),
    /// To make its load.
    Load(Box<Assignment>),
}

#[derive(Clone, Serialize, Deserialize)]
struct ScriptText {
    name: String,
    text: Vec<u8>,
    directory: PathBuf,
    options: Vec<(String, String)>,
    memory: u64,
}

impl ScriptText {
    fn of(script: &Script) -> ScriptText {
        ScriptText {
            name: script.name.clone(),
            text: script.text.clone(),
            directory: script.directory.clone(),
            options: script.options.clone(),
            memory: MEMORY,
        }
    }
}

/// A load to be made.
#[derive(Serialize, Deserialize)]
pub struct Assignment {
    script: ScriptText,
    /// Numbers that earlier loads have drawn and that do not repeat.
    drawn: u64,
    plan: RunPlan,
    point: LoadPoint,
    ask: Option<String>,
    /// Of a private server.
    socket: Option<PathBuf>,
    /// Of an external one, with what protects the connection. The plan has only its description.
    url: Option<Url>,
    user: String,
    password: String,
    database: String,
    /// The descriptor of the page that tells the last event.
    last_event: i32,
}

impl Assignment {
    pub fn new(scripted: &Scripted, plan: &RunPlan, point: LoadPoint, target: &OpenTarget) -> Assignment {
        let Scripted { script, drawn, .. } = scripted;
        Assignment {
            drawn: drawn.load(Ordering::Relaxed),
            script: ScriptText::of(script),
            plan: plan.clone(),
            point,
            ask: None,
            socket: target.server.as_ref().map(|server| server.socket().to_owned()),
            url: target.url.clone(),
            user: target.endpoint.user.clone(),
            password: target.endpoint.password.0.clone(),
            database: target.database.clone(),
            last_event: -1,
        }
    }
}

/// The load of a script, seen from outside.
pub struct Apart {
    told: ToldLoad,
    name: String,
    child: Child,
    /// What it uses is the load generator's.
    _counts: LoadProcess,
    last_event: LastEvent,
    /// For the loads that follow.
    drawn: Arc<AtomicU64>,
    /// How the child ended was said.
    is_end_told: bool,
}

impl Apart {
    /// Starts the child and waits until it is at work; its connections are being made then.
    ///
    /// # Errors
    /// It cannot be started, or is not heard of.
    pub fn begin(
        mut assignment: Assignment,
        ask: Option<&str>,
        facts: LoadFacts,
        drawn: Arc<AtomicU64>,
    ) -> Result<Apart, LabError> {
        let name = assignment.script.name.clone();
        let failed = |what: &str, why: String| LabError::Environment(format!("the script {name}: {what}: {why}"));
        let started = |error: io::Error| failed("its process cannot be started", error.to_string());
        let (last_event, inherited) = LastEvent::create().map_err(started)?;
        assignment.ask = ask.map(str::to_owned);
        assignment.last_event = inherited.as_raw_fd();
        let (mut child, orders) = ask_child(&Question::Load(Box::new(assignment))).map_err(started)?;
        drop(inherited);
        let counts = LoadProcess::new(child.id());
        match ToldLoad::begin(orders, facts, PATIENCE) {
            Ok(told) => Ok(Apart { told, name, child, _counts: counts, last_event, drawn, is_end_told: false }),
            Err(why) => {
                let end = epitaph(&mut child, &last_event);
                kill_family(&mut child);
                Err(failed("its process does not begin", format!("{why}; it {end}")))
            }
        }
    }

    /// What is known of a script's load before it begins.
    pub fn facts_of(spec: &RunSpec) -> LoadFacts {
        LoadFacts {
            names: Scripted::counts().names,
            loops: spec.loops,
            tellers: spec.loops,
            open_loop: spec.arrivals.rate().is_some(),
            warmup_ns: spec.warmup_ns,
            limit: spec.limit,
        }
    }

    /// A reason with the script's name and its last event.
    fn named(&self, why: &str) -> String {
        let name = if why.contains(&self.name) { String::new() } else { format!("{}: ", self.name) };
        format!("{name}{why}, {}", place(&self.last_event))
    }
}

/// Which event was begun last.
fn place(last_event: &LastEvent) -> String {
    match last_event.number() {
        0 => "before its first event".to_owned(),
        number => format!("in or after event {number}"),
    }
}

/// How the child came to its end, in words.
fn epitaph(child: &mut Child, last_event: &LastEvent) -> String {
    let how = wait_within(child, LAST_WORDS).map_or("has closed its connection to Plimsoll".to_owned(), how_it_ended);
    format!("{how} {}", place(last_event))
}

/// Runs the top level of a script in a process of its own, where nothing can be asked, so that what is wrong with it or
/// with its options is known before anything is started.
///
/// # Errors
/// What is wrong: file, line and what it says, or how the process ended.
pub fn look_at(script: &Script) -> Result<(), String> {
    let failed = |error: io::Error| format!("its process cannot be asked: {error}");
    let (mut child, answer) = ask_child(&Question::Look(ScriptText::of(script))).map_err(failed)?;
    answer.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut line = String::new();
    let read = BufReader::new(answer).read_line(&mut line);
    let how = wait_within(&mut child, FAREWELL).map_or("has no end".to_owned(), how_it_ended);
    kill_family(&mut child);
    match read {
        Ok(bytes) if bytes > 0 => serde_json::from_str::<Result<(), String>>(&line).unwrap_or(Err(line)),
        _ => Err(format!("its top level {how}")),
    }
}

/// Starts the child and asks it something; it answers on the same socket.
fn ask_child(question: &Question) -> io::Result<(Child, UnixStream)> {
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(COMMAND).stdin(Stdio::from(OwnedFd::from(theirs)));
    let child = spawn(command, Lifetime::WithPlimsoll)?;
    let json = serde_json::to_string(question)?;
    // One that is gone already is noticed where its answer is read.
    let _ = writeln!(ours, "{json}");
    Ok((child, ours))
}

fn how_it_ended(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("ended its process by signal {signal}{}", in_words(signal)),
        None => format!("ended its process with exit code {}", status.code().unwrap_or_default()),
    }
}

/// What a few signals mean to somebody who wrote a script.
fn in_words(signal: i32) -> &'static str {
    match signal {
        6 => " (it was aborted, as where memory runs out)",
        9 => " (it was killed)",
        11 | 7 => " (it touched memory that is not its own, as `ffi` can)",
        _ => "",
    }
}

fn wait_within(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let looks = 100;
    (0..looks).find_map(|_| {
        let ended = child.try_wait().ok().flatten();
        if ended.is_none() {
            thread::sleep(patience / looks);
        }
        ended
    })
}

impl LoadSource for Apart {
    fn facts(&self) -> &LoadFacts {
        &self.told.facts
    }

    fn start(&mut self, _: &dyn Fn() -> bool) -> Duration {
        self.told.order("start");
        Duration::ZERO
    }

    fn next(&mut self, wait: Duration) -> Option<LoadEvent> {
        match self.told.next(wait) {
            Some(LoadEvent::Failed(why)) => Some(LoadEvent::Failed(self.named(&why))),
            None if self.told.is_gone() && !self.is_end_told => {
                self.is_end_told = true;
                let end = epitaph(&mut self.child, &self.last_event);
                Some(LoadEvent::Failed(format!("the script {} {end}", self.name)))
            }
            other => other,
        }
    }

    fn ended(&self) -> usize {
        self.told.ended()
    }

    fn spent(&self) -> Option<Spent> {
        let sample = process(self.child.id(), 0)?;
        let cpu = Duration::from_micros(sample.cpu_user_us.saturating_add(sample.cpu_system_us));
        Some(Spent { cpu, waited: None })
    }

    fn recycle(&mut self, _: Tally) {}

    fn stop(&mut self) {
        self.told.order("stop");
    }

    fn finish(mut self) {
        self.told.order("finish");
        wait_within(&mut self.child, FAREWELL);
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        self.drawn.fetch_max(self.last_event.drawn(), Ordering::Relaxed);
        kill_family(&mut self.child);
    }
}
