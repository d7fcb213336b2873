//! `cargo xtask test`: the workspace's test programs, several beside each other.
//!
//! `cargo test` runs one program after the other, and the CPUs wait whenever that one does: for a server, for a lock, for
//! its last test. Arguments go on to every program: `cargo xtask test --include-ignored lanes::`.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Instant;
use std::{env, fs, iter, thread};

use anyhow::Context;
use serde::Deserialize;

use crate::metadata::{self, Workspace};

/// So many programs run at once, each with so many threads unless `RUST_TEST_THREADS` says otherwise. Most tests wait;
/// how many servers run, and that one test measures at a time, is seen to by the tests themselves.
const PROGRAMS: usize = 3;
const THREADS: usize = 6;

/// How long each program took when all tests ran the last time, so that the longest is started first.
const SECONDS: &str = "test-seconds.json";

type Seconds = BTreeMap<String, f64>;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    /// Package and target: `plimsoll::cli`.
    name: String,
    executable: PathBuf,
    /// Where `cargo test` would run it.
    directory: PathBuf,
}

/// How a program ended.
struct Ended {
    name: String,
    status: ExitStatus,
    seconds: f64,
    /// The tests that failed.
    failed: Vec<String>,
}

/// Builds the test programs and runs them. True if none failed.
pub fn run(workspace: &Workspace, arguments: &[String]) -> anyhow::Result<bool> {
    let remembered = workspace.target.join(SECONDS);
    let mut seconds = read_seconds(&remembered);
    let programs = longest_first(build(&workspace.root)?, &seconds);
    let ended = run_all(programs, arguments)?;
    if arguments.is_empty() {
        seconds.extend(ended.iter().map(|ended| (ended.name.clone(), ended.seconds)));
        fs::write(&remembered, serde_json::to_string_pretty(&seconds)?)
            .with_context(|| format!("cannot write {}", remembered.display()))?;
    }
    Ok(summarise(&ended))
}

/// With one thread one test runs at a time, so that no other program runs either.
fn run_all(programs: VecDeque<Program>, arguments: &[String]) -> anyhow::Result<Vec<Ended>> {
    let threads = env::var("RUST_TEST_THREADS").ok().and_then(|threads| threads.parse().ok()).unwrap_or(THREADS);
    let programs = Mutex::new(programs);
    let next = || programs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let (sender, ended) = mpsc::channel();
    thread::scope(|scope| {
        for sender in iter::repeat_n(sender, PROGRAMS.min(threads)) {
            scope.spawn(move || {
                iter::from_fn(next).try_for_each(|program| sender.send(program.run(threads, arguments)))
            });
        }
    });
    ended.into_iter().collect()
}

/// What is not there or not readable is no loss: all it decides is which program starts first.
fn read_seconds(path: &Path) -> Seconds {
    fs::read(path).ok().and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default()
}

/// What nobody has timed yet comes first.
fn longest_first(mut programs: Vec<Program>, seconds: &Seconds) -> VecDeque<Program> {
    let length = |program: &Program| seconds.get(&program.name).copied().unwrap_or(f64::INFINITY);
    programs.sort_by(|a, b| length(b).total_cmp(&length(a)));
    programs.into()
}

fn build(root: &Path) -> anyhow::Result<Vec<Program>> {
    let arguments = ["test", "--workspace", "--locked", "--all-targets", "--no-run"];
    let output = metadata::cargo()
        .args(arguments)
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo test")?;
    anyhow::ensure!(output.status.success(), "the tests do not build");
    Ok(output.stdout.split(|byte| *byte == b'\n').filter_map(program).collect())
}

/// The program that cargo says it has built in this line, if it is one of tests.
fn program(line: &[u8]) -> Option<Program> {
    let built: Built = serde_json::from_slice(line).ok()?;
    let directory = built.manifest_path.parent()?.to_path_buf();
    let executable = built.executable.filter(|_| built.profile.test)?;
    let name = format!("{}::{}", directory.file_name()?.display(), built.target.name);
    Some(Program { name, executable, directory })
}

/// What cargo says of one thing that it has built.
#[derive(Deserialize)]
struct Built {
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

impl Program {
    /// Runs it, and passes on each line that it prints with its name before it.
    fn run(self, threads: usize, arguments: &[String]) -> anyhow::Result<Ended> {
        let started = Instant::now();
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(&self.executable);
        command.args(arguments).env("RUST_TEST_THREADS", threads.to_string());
        command.current_dir(&self.directory).stdin(Stdio::null());
        command.stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", self.executable.display()))?;
        // It holds the ends of the pipe that have to be closed for the reader to come to its end.
        drop(command);
        let mut failed = Vec::new();
        for line in BufReader::new(reader).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{} | {line}", self.name);
            failed.extend(failed_test(&line).map(str::to_string));
        }
        Ok(Ended { name: self.name, status: child.wait()?, seconds: started.elapsed().as_secs_f64(), failed })
    }
}

/// The test of which the line says that it failed.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// Says how it ended, last what failed. True if nothing did.
fn summarise(ended: &[Ended]) -> bool {
    let failed: Vec<_> = ended.iter().filter(|ended| !ended.status.success()).collect();
    for program in &failed {
        for test in &program.failed {
            println!("FAILED {}: {test}", program.name);
        }
        if program.failed.is_empty() {
            println!("FAILED {}: {}", program.name, program.status);
        }
    }
    println!("{} of {} test programs passed", ended.len() - failed.len(), ended.len());
    failed.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_holds_tests_is_run() {
        let built = |executable: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/r/crates/stats/Cargo.toml","target":{{"name":"simulated"}},
                    "profile":{{"test":{test}}},"executable":{executable}}}"#
            )
        };
        let found = program(built(r#""/r/target/debug/deps/simulated-1""#, true).as_bytes()).unwrap();
        assert_eq!(found.name, "stats::simulated");
        assert_eq!(found.directory, Path::new("/r/crates/stats"));
        assert_eq!(program(built(r#""/r/target/debug/examples/coverage""#, false).as_bytes()), None);
        assert_eq!(program(built("null", true).as_bytes()), None);
        assert_eq!(program(br#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn the_longest_starts_first_and_what_is_not_known_before_it() {
        let named = |name: &str| Program { name: name.into(), executable: "/x".into(), directory: "/".into() };
        let seconds = Seconds::from([("short".into(), 1.0), ("long".into(), 20.0)]);
        let order = longest_first(["short", "new", "long"].map(named).to_vec(), &seconds);
        assert_eq!(order.iter().map(|program| program.name.as_str()).collect::<Vec<_>>(), ["new", "long", "short"]);
    }

    /// A shell stands for a test program.
    fn shell(script: &str) -> Ended {
        let program = Program { name: "a::b".into(), executable: "/bin/sh".into(), directory: "/".into() };
        program.run(1, &["-c".into(), script.into()]).unwrap()
    }

    #[test]
    fn what_failed_is_known_by_name_and_a_program_that_died_by_its_end() {
        assert!(summarise(&[shell("echo test c::d ... ok")]));
        let failed = shell("echo test c::d ... ok; echo test c::e ... FAILED >&2; exit 101");
        assert_eq!(failed.failed, ["c::e"]);
        assert!(!summarise(&[shell("true"), failed]));
        let died = shell("kill -9 $$");
        assert_eq!((died.status.success(), died.failed.len()), (false, 0));
        assert!(!summarise(&[died]));
    }
}
