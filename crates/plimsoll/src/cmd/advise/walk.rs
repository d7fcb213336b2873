//! `plimsoll advise --walk`: the six steps one after the other. It asks for what only people know, does the rest by the commands
//! that anybody could type, and asks before anything that takes longer than a minute. Every answer is kept, so that a walk that
//! was stopped goes on where it was.

use super::super::{DONE, ENVIRONMENT, INTERRUPTED};
use crate::args::AdviseArgs;
use crate::terminal;
use anyhow::Context;
use plimsoll_host::Home;
use plimsoll_host::replace::replace;
use plimsoll_lab::LabError;
use plimsoll_model::advice::{AdviceFinding, AdviceStep};
use plimsoll_model::text::shell_word;
use plimsoll_plan::knowledge::Release;
use plimsoll_plan::lab::file::needs::needs;
use plimsoll_plan::quantity;
use plimsoll_server::find::{Selector, find};
use plimsoll_workloads::chosen::ChosenWorkload;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use signal_hook::consts::SIGINT;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is kept of a walk.
const KEPT: &str = "walk.json";
/// What was told of the application, for the commands.
const NEEDS: &str = "walk-needs.toml";

/// Something that is asked.
struct Question {
    key: &'static str,
    text: &'static str,
    /// What an empty answer means; empty if it means that it is not known, or not wanted.
    default: &'static str,
    /// Why an answer to the question of this key cannot be taken.
    refuse: fn(&str, &str) -> Option<String>,
}

/// Questions about the application whose answers are values of `[needs]`.
const NEEDED: [Question; 6] = [
    need("latency", "How fast must transactions be answered, such as p99 < 20ms?"),
    need(
        "loss",
        "What of the last second's commits may be lost: none, machine (if it fails), server (if its process dies)?",
    ),
    need("recovery", "How soon must the server answer again after a crash, such as 2m?"),
    need("backup", "How long may a backup take, such as 4h?"),
    need("replication", "Are there replicas, or recovery to a point in time: true or false?"),
    need("isolation", "Which isolation level was the application written for, such as READ-COMMITTED?"),
];

const SERVER: Question = Question {
    key: "server",
    text: "Which server: auto, mariadb, mysql, or the path of its binary?",
    default: "auto",
    refuse: no_server,
};
const WORKLOAD: Question = Question {
    key: "workload",
    text: "Which workload is most like yours (`plimsoll workloads` lists them)?",
    default: "oltp_read_write",
    refuse: no_workload,
};
const CONNECTIONS: Question =
    Question { key: "connections", text: "With how many connections?", default: "16", refuse: no_number };
const CONFIG: Question =
    Question { key: "config", text: "Which option file is the server to have (a path)?", default: "", refuse: no_file };
const STORAGE: Question = Question {
    key: "storage",
    text: "Which directory is its storage in? `plimsoll io` evaluates it, in about 90 s.",
    default: "",
    refuse: no_directory,
};
const LOOK: Question = Question {
    key: "look",
    text: "Load data, and look at a private server under this workload, in about a minute: yes or no?",
    default: "yes",
    refuse: no_choice,
};
const MEASURE: Question = Question {
    key: "measure",
    text: "For how long may what is advised be tried on that server, such as 30m?",
    default: "",
    refuse: no_duration,
};

const fn need(key: &'static str, text: &'static str) -> Question {
    Question { key, text, default: "", refuse: no_need }
}

pub fn run(args: &AdviseArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let mut walk = Walk::open(&home, args.anew)?;
    match walk.steps() {
        Ok(()) => {
            walk.note("the walk is over; --anew begins another");
            Ok(DONE)
        }
        Err(Stop::Paused) => {
            walk.note("the walk was stopped; `plimsoll advise --walk` goes on here");
            Ok(INTERRUPTED)
        }
        Err(Stop::Failed(code)) => Ok(code),
        Err(Stop::Error(error)) => Err(error),
    }
}

/// Why a walk does not go on.
enum Stop {
    /// Nobody answers any more, or a command was interrupted.
    Paused,
    /// A command ended with this exit code, and has said why.
    Failed(u8),
    Error(anyhow::Error),
}

impl Stop {
    /// By the exit code of a command; a signal may have ended it.
    fn of(status: Option<i32>) -> Stop {
        match status.and_then(|code| u8::try_from(code).ok()) {
            Some(INTERRUPTED) => Stop::Paused,
            code => Stop::Failed(code.unwrap_or(ENVIRONMENT)),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Error(error.into())
    }
}

/// What was answered and found so far.
#[derive(Debug, Default, Serialize, Deserialize)]
struct WalkRecord {
    answers: BTreeMap<String, String>,
    /// Steps that are done and need not be done again.
    done: Vec<AdviceStep>,
    /// The advice of the look, as `plimsoll advise --json` prints it.
    look: Option<Value>,
}

struct Walk {
    directory: PathBuf,
    record: WalkRecord,
    /// Whether Ctrl-C ends it at once, as it does while a question is asked.
    ends_by_signal: Arc<AtomicBool>,
}

impl Walk {
    fn open(home: &Home, anew: bool) -> anyhow::Result<Walk> {
        let directory = home.path().to_owned();
        let path = directory.join(KEPT);
        let record = match fs::read(&path) {
            Ok(bytes) if !anew => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} cannot be read; --anew begins another walk", path.display()))?,
            _ => WalkRecord::default(),
        };
        let ends_by_signal = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_default(SIGINT, ends_by_signal.clone())?;
        Ok(Walk { directory, record, ends_by_signal })
    }

    fn steps(&mut self) -> Result<(), Stop> {
        for step in AdviceStep::ALL {
            terminal::note(&format!("\n{}. {}", step.number(), step.words()));
            match step {
                AdviceStep::Assess => self.assess()?,
                AdviceStep::Install => self.install()?,
                AdviceStep::Io => self.storage()?,
                AdviceStep::Memory => self.look()?,
                AdviceStep::FileSystem => self.found(&[step])?,
                AdviceStep::Measure => self.measure()?,
            }
        }
        Ok(())
    }

    /// What only people know.
    fn assess(&mut self) -> Result<(), Stop> {
        for question in [&SERVER, &WORKLOAD, &CONNECTIONS].into_iter().chain(&NEEDED) {
            self.ask(question)?;
        }
        let lines = NEEDED.iter().filter_map(|question| Some(need_line(question.key, self.answer(question.key)?)));
        fs::write(self.directory.join(NEEDS), format!("[needs]\n{}", lines.collect::<String>()))?;
        Ok(())
    }

    fn install(&mut self) -> Result<(), Stop> {
        self.ask(&CONFIG)?;
        let Some(file) = self.answer("config").map(str::to_owned) else { return Ok(()) };
        let release = self.release()?;
        let needs = self.directory.join(NEEDS).display().to_string();
        self.once(AdviceStep::Install, &["advise", "--config-file", &file, "--for", &release, "--needs", &needs])
    }

    fn storage(&mut self) -> Result<(), Stop> {
        self.ask(&STORAGE)?;
        let Some(directory) = self.answer("storage").map(str::to_owned) else { return Ok(()) };
        self.once(AdviceStep::Io, &["io", &directory])
    }

    fn look(&mut self) -> Result<(), Stop> {
        self.ask(&LOOK)?;
        if self.answer("look") == Some("yes") && self.record.look.is_none() {
            let words = self.of_workload();
            let mut command = self.command(&words);
            command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::inherit());
            let output = self.without_interrupts(|| command.output())?;
            if !output.status.success() {
                return Err(Stop::of(output.status.code()));
            }
            self.record.look = Some(serde_json::from_slice(&output.stdout)?);
            self.keep()?;
        }
        if let Some(answer) = self.record.look.as_ref().and_then(|look| look["answer"].as_str()) {
            terminal::note(answer);
        }
        // Of what was asked before, the look can only tell now.
        self.found(&[AdviceStep::Assess, AdviceStep::Io, AdviceStep::Memory])
    }

    /// What the look has found for these steps.
    fn found(&self, steps: &[AdviceStep]) -> Result<(), Stop> {
        let Some(look) = &self.record.look else {
            self.note("not looked at");
            return Ok(());
        };
        let mut findings: Vec<AdviceFinding> = Vec::new();
        for step in steps {
            let of_step = look["steps"][step.number() - 1]["findings"].clone();
            findings.append(&mut serde_json::from_value(of_step).context("the walk's look; --anew begins another")?);
        }
        for of in &findings {
            self.note(&format!("{} {}: {}", of.severity.name(), of.found, of.advised));
        }
        if findings.is_empty() {
            self.note("nothing to do");
        }
        Ok(())
    }

    fn measure(&mut self) -> Result<(), Stop> {
        self.found(&[AdviceStep::Measure])?;
        self.ask(&MEASURE)?;
        let Some(time) = self.answer("measure").map(str::to_owned) else { return Ok(()) };
        let mut words = self.of_workload();
        words.extend(["--measure".to_owned(), time]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.once(AdviceStep::Measure, &words)
    }

    /// The command that looks at the workload.
    fn of_workload(&self) -> Vec<String> {
        let answer = |key: &str| self.answer(key).unwrap_or_default().to_owned();
        let needs = self.directory.join(NEEDS).display().to_string();
        let mut words: Vec<String> = ["advise", "--workload"].map(str::to_owned).into();
        words.push(answer("workload"));
        for (option, value) in [
            ("--server", answer("server")),
            ("--connections", answer("connections")),
            ("--needs", needs),
            ("--config-file", answer("config")),
        ] {
            if !value.is_empty() {
                words.extend([option.to_owned(), value]);
            }
        }
        words
    }

    /// That of the server that was chosen.
    fn release(&self) -> Result<String, Stop> {
        let selector = self.answer("server").unwrap_or("auto").parse::<Selector>()?;
        let build = find(&selector)?;
        Ok(release_name(Release::of(build.flavour, &build.version)))
    }

    /// Asks until there is an answer that can be taken, unless it was answered before.
    fn ask(&mut self, question: &Question) -> Result<(), Stop> {
        if let Some(answer) = self.record.answers.get(question.key) {
            let answer = if answer.is_empty() { "not known" } else { answer };
            terminal::note(&format!("  {} {answer} (answered before)", question.text));
            return Ok(());
        }
        loop {
            let default = if question.default.is_empty() { "Enter: not known, or no" } else { question.default };
            let Some(line) = terminal::ask(&format!("  {} [{default}]", question.text))? else {
                return Err(Stop::Paused);
            };
            let answer = if line.trim().is_empty() { question.default } else { line.trim() };
            match (question.refuse)(question.key, answer).filter(|_| !answer.is_empty()) {
                Some(why) => self.note(&why),
                None => {
                    self.record.answers.insert(question.key.to_owned(), answer.to_owned());
                    self.keep()?;
                    return Ok(());
                }
            }
        }
    }

    /// An answer that is not empty.
    fn answer(&self, key: &str) -> Option<&str> {
        self.record.answers.get(key).map(String::as_str).filter(|answer| !answer.is_empty())
    }

    /// Does what a step needs by a command, unless it was done before.
    fn once(&mut self, step: AdviceStep, words: &[&str]) -> Result<(), Stop> {
        if self.record.done.contains(&step) {
            self.note(&format!("done before: {}", typed(words)));
            return Ok(());
        }
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut command = self.command(&words);
        let status = self.without_interrupts(|| command.status())?;
        // What a check finds is no reason to stop.
        if !matches!(status.code(), Some(0 | 1)) {
            return Err(Stop::of(status.code()));
        }
        self.record.done.push(step);
        self.keep()?;
        Ok(())
    }

    /// This program with these words, said before it runs.
    fn command(&self, words: &[String]) -> Command {
        self.note(&typed(words));
        // What it says stands below.
        terminal::settle();
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("plimsoll"));
        let mut command = Command::new(program);
        command.args(words).stdin(Stdio::null());
        command
    }

    /// Waits for a command. Ctrl-C is its own affair meanwhile: it ends in order, and so does the walk.
    fn without_interrupts<T>(&self, wait: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
        self.ends_by_signal.store(false, Ordering::SeqCst);
        let ended = wait();
        self.ends_by_signal.store(true, Ordering::SeqCst);
        ended
    }

    fn keep(&self) -> anyhow::Result<()> {
        let path = self.directory.join(KEPT);
        let text = serde_json::to_vec_pretty(&self.record)?;
        fs::create_dir_all(&self.directory)?;
        replace(&path, &text).with_context(|| format!("the walk cannot be kept: {}", path.display()))
    }

    fn note(&self, text: &str) {
        terminal::note(&format!("  {text}"));
    }
}

/// A command, as somebody would type it.
fn typed(words: &[impl AsRef<str>]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_word(word.as_ref())).collect();
    format!("plimsoll {}", words.join(" "))
}

/// `mariadb-10.11.6`: without its patch level, a release is the latest of its series.
fn release_name(Release { flavour, version: (major, minor, patch) }: Release) -> String {
    format!("{flavour}-{major}.{minor}.{patch}")
}

/// A line of `[needs]`: true and false have no quotes.
fn need_line(key: &str, answer: &str) -> String {
    match answer {
        "true" | "false" => format!("{key} = {answer}\n"),
        text => format!("{key} = {}\n", serde_json::Value::from(text)),
    }
}

/// What is wrong with an answer that is to be a value of `[needs]`.
fn no_need(key: &str, answer: &str) -> Option<String> {
    let read = needs("the answer", &format!("[needs]\n{}", need_line(key, answer)));
    read.err().map(|error| error.to_string())
}

fn no_server(_: &str, answer: &str) -> Option<String> {
    let found = answer.parse::<Selector>().map_err(|error| error.to_string());
    found.and_then(|selector| find(&selector).map_err(|error| error.to_string())).err()
}

fn no_workload(_: &str, answer: &str) -> Option<String> {
    ChosenWorkload::before_data(answer, &[]).err().map(|error| error.to_string())
}

fn no_number(_: &str, answer: &str) -> Option<String> {
    let number = answer.parse::<u16>().ok().filter(|number| *number > 0);
    number.is_none().then(|| "accepted is a number from 1 to 65535".to_owned())
}

fn no_file(_: &str, answer: &str) -> Option<String> {
    (!PathBuf::from(answer).is_file()).then(|| format!("{answer} is no file"))
}

fn no_directory(_: &str, answer: &str) -> Option<String> {
    (!PathBuf::from(answer).is_dir()).then(|| format!("{answer} is no directory"))
}

fn no_choice(_: &str, answer: &str) -> Option<String> {
    (!["yes", "no"].contains(&answer)).then(|| "accepted is yes or no".to_owned())
}

fn no_duration(_: &str, answer: &str) -> Option<String> {
    quantity::duration(answer).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Flavour;

    #[test]
    fn a_command_that_is_said_can_be_typed() {
        let words = ["advise", "--config-file", "/etc/my file.cnf", "--needs", "/home/x/walk-needs.toml"];
        let line = "plimsoll advise --config-file '/etc/my file.cnf' --needs /home/x/walk-needs.toml";
        assert_eq!(typed(&words), line);
    }

    #[test]
    fn a_command_that_was_interrupted_stops_the_walk() {
        assert!(matches!(Stop::of(Some(130)), Stop::Paused));
        assert!(matches!(Stop::of(Some(2)), Stop::Failed(2)) && matches!(Stop::of(None), Stop::Failed(ENVIRONMENT)));
    }

    #[test]
    fn a_server_is_judged_as_what_it_is_and_not_as_the_newest_of_its_series() {
        let release = Release::of(Flavour::MariaDb, "10.11.6-MariaDB-0+deb12u1");
        assert_eq!(release_name(release), "mariadb-10.11.6");
        assert_eq!(Release::parse(&release_name(release)).expect("a release"), release);
    }
}
