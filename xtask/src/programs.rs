//! `cargo xtask test`: the workspace's test programs, several beside each other.
//!
//! `cargo test` runs one program after the other, and the CPUs wait whenever that one does: for a server, for a lock, for
//! its last test. Arguments go on to every program: `cargo xtask test --include-ignored lanes::`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, BufRead, BufReader, PipeReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use std::{env, fs, iter, thread};

use anyhow::Context;
use serde::Deserialize;

use crate::metadata::{self, Workspace};

/// The threads of each program of those that run at once, unless `RUST_TEST_THREADS` says otherwise. The first is the
/// longest, which the rest is not to wait for. Most tests wait; how many servers run, and that one test measures at a
/// time, is seen to by the tests themselves.
const THREADS: [usize; 3] = [11, 4, 4];

/// How long each program took when all tests ran the last time, so that the longest is started first.
const SECONDS: &str = "test-seconds.json";

/// So long may what a program has started have its output after its end: what was killed needs a while to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

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
    told: Told,
    /// Something that it started outlived it, and still has its output.
    is_held: bool,
}

impl Ended {
    fn is_passed(&self) -> bool {
        self.status.success() && !self.is_held
    }
}

/// What a program has printed of its tests so far.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    /// The tests that failed.
    failed: BTreeSet<String>,
    /// For each test that could not run here, the reason.
    skipped: Vec<String>,
    /// The next lines are names of tests that failed.
    is_list: bool,
}

/// Builds the test programs and runs them. True if none failed.
pub fn run(workspace: &Workspace, arguments: &[String]) -> anyhow::Result<bool> {
    let remembered = workspace.target.join(SECONDS);
    let mut seconds = read_seconds(&remembered);
    let programs = longest_first(build(&workspace.root)?, &seconds);
    let threads = threads(env::var("RUST_TEST_THREADS").ok().as_deref())?;
    let ended = run_all(programs, &threads, arguments)?;
    if arguments.is_empty() {
        seconds.extend(ended.iter().map(|ended| (ended.name.clone(), ended.seconds)));
        fs::write(&remembered, serde_json::to_string_pretty(&seconds)?)
            .with_context(|| format!("cannot write {}", remembered.display()))?;
    }
    Ok(summarise(&ended))
}

/// How many threads each program has of those that run at once. With one thread one test runs at a time, so that no other
/// program runs either.
fn threads(asked: Option<&str>) -> anyhow::Result<Vec<usize>> {
    let Some(asked) = asked else { return Ok(THREADS.to_vec()) };
    let threads = asked.parse::<usize>().ok().filter(|threads| *threads > 0);
    let threads = threads.with_context(|| format!("RUST_TEST_THREADS={asked}: a number is accepted, 1 or more"))?;
    Ok(vec![threads; THREADS.len().min(threads)])
}

fn run_all(mut programs: VecDeque<Program>, threads: &[usize], arguments: &[String]) -> anyhow::Result<Vec<Ended>> {
    let count = programs.len();
    // Whichever of them starts first, the longest has the most threads.
    let begun: Vec<_> = threads.iter().map(|threads| (*threads, programs.pop_front())).collect();
    let programs = Mutex::new(programs);
    let next = || programs.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let (sender, ended) = mpsc::channel();
    thread::scope(|scope| {
        for ((threads, first), sender) in begun.into_iter().zip(iter::repeat_n(sender, threads.len())) {
            scope.spawn(move || {
                let mut all = first.into_iter().chain(iter::from_fn(next));
                all.try_for_each(|program| sender.send(program.run(threads, arguments, PATIENCE)))
            });
        }
    });
    let ended: Vec<Ended> = ended.into_iter().collect::<anyhow::Result<_>>()?;
    anyhow::ensure!(ended.len() == count, "{} of {count} test programs came to an end", ended.len());
    Ok(ended)
}

/// What is not there or not readable is no loss: all it decides is which program starts first.
fn read_seconds(path: &Path) -> Seconds {
    fs::read(path).ok().and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default()
}

/// What nobody has timed yet comes first, the largest before all: what links much takes long.
fn longest_first(mut programs: Vec<Program>, seconds: &Seconds) -> VecDeque<Program> {
    programs.sort_by_cached_key(|program| {
        let milliseconds = seconds.get(&program.name).map_or(u64::MAX, |seconds| (seconds * 1e3) as u64);
        let bytes = fs::metadata(&program.executable).map_or(0, |file| file.len());
        Reverse((milliseconds, bytes))
    });
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
    programs(&output.stdout)
}

/// The test programs that cargo says it has built.
fn programs(said: &[u8]) -> anyhow::Result<Vec<Program>> {
    let lines = said.split(|byte| *byte == b'\n');
    let programs: Vec<Program> = lines.filter_map(|line| program(line).transpose()).collect::<anyhow::Result<_>>()?;
    anyhow::ensure!(!programs.is_empty(), "cargo has built no test program");
    Ok(programs)
}

/// The program that cargo says it has built in this line, if it is one of tests.
fn program(line: &[u8]) -> anyhow::Result<Option<Program>> {
    let is_built = serde_json::from_slice(line).is_ok_and(|said: Said| said.reason == "compiler-artifact");
    if !is_built {
        return Ok(None);
    }
    let unknown = || format!("cargo has built something that is not understood: {}", String::from_utf8_lossy(line));
    let built: Built = serde_json::from_slice(line).with_context(unknown)?;
    let directory = built.manifest_path.parent().with_context(unknown)?.to_path_buf();
    let Some(executable) = built.executable.filter(|_| built.profile.test) else { return Ok(None) };
    let name = format!("{}::{}", directory.file_name().with_context(unknown)?.display(), built.target.name);
    Ok(Some(Program { name, executable, directory }))
}

/// What every line of cargo's has.
#[derive(Deserialize)]
struct Said {
    reason: String,
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
    /// Runs it, and passes on each line that it prints with its name before it. What it has started may have its output
    /// for so long after its end.
    fn run(self, threads: usize, arguments: &[String], patience: Duration) -> anyhow::Result<Ended> {
        let started = Instant::now();
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(&self.executable);
        command.args(arguments).env("RUST_TEST_THREADS", threads.to_string());
        command.current_dir(&self.directory).stdin(Stdio::null());
        command.stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", self.executable.display()))?;
        // It holds the ends of the pipe that have to be closed for the reader to come to its end.
        drop(command);
        let told = Arc::new(Mutex::new(Told::default()));
        let (sender, end) = mpsc::channel();
        let (name, telling) = (self.name.clone(), Arc::clone(&told));
        // It is not waited for in the end: whatever the program has left running keeps the pipe open.
        thread::spawn(move || sender.send(pass_on(reader, &name, &telling)));
        let status = child.wait()?;
        let seconds = started.elapsed().as_secs_f64();
        let is_held = match end.recv_timeout(patience) {
            Ok(read) => read.map(|()| false)?,
            Err(_) => true,
        };
        let told = std::mem::take(&mut *locked(&told));
        Ok(Ended { name: self.name, status, seconds, told, is_held })
    }
}

fn locked(told: &Mutex<Told>) -> MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints each line with the program's name before it, and notes what it tells, until nobody has the other end.
fn pass_on(reader: PipeReader, name: &str, told: &Mutex<Told>) -> io::Result<()> {
    for line in BufReader::new(reader).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{name} | {line}");
        locked(told).note(&line);
    }
    Ok(())
}

impl Told {
    /// Notes what the line tells. At its end a program lists the tests that failed: with one thread their own lines are
    /// torn by what else is printed. One that died has no list.
    fn note(&mut self, line: &str) {
        if line == "failures:" {
            self.is_list = true;
        } else if self.is_list {
            let test = line.strip_prefix("    ").filter(|test| !test.is_empty());
            self.is_list = test.is_some();
            self.failed.extend(test.map(str::to_string));
        } else if let Some(test) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            self.failed.insert(test.trim_end_matches(" - should panic").to_string());
        }
        // `SKIPPED: test (place): reason`, as plimsoll-testkit says it.
        if let Some((_, skipped)) = line.split_once("SKIPPED: ") {
            self.skipped.push(skipped.split_once("): ").map_or(skipped, |(_, reason)| reason).to_string());
        }
    }
}

/// Says how it ended, last what failed. True if nothing did.
fn summarise(ended: &[Ended]) -> bool {
    let failed: Vec<_> = ended.iter().filter(|ended| !ended.is_passed()).collect();
    for program in &failed {
        for test in &program.told.failed {
            println!("FAILED {}: {test}", program.name);
        }
        if !program.status.success() && program.told.failed.is_empty() {
            println!("FAILED {}: {}", program.name, program.status);
        }
        if program.is_held {
            println!("FAILED {}: what it started has outlived it, and still has its output", program.name);
        }
    }
    println!("{}", conclusion(ended));
    failed.is_empty()
}

/// How many programs passed; how often a test said that it could not run here, and why.
fn conclusion(ended: &[Ended]) -> String {
    let passed = ended.iter().filter(|ended| ended.is_passed()).count();
    let skipped: Vec<&str> = ended.iter().flat_map(|ended| &ended.told.skipped).map(String::as_str).collect();
    let text = format!("{passed} of {} test programs passed", ended.len());
    if skipped.is_empty() {
        return text;
    }
    let reasons: BTreeSet<&str> = skipped.iter().copied().collect();
    let reasons: String = reasons.into_iter().map(|reason| format!("\n  {reason}")).collect();
    format!("{text}; {} times SKIPPED, because:{reasons}", skipped.len())
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
        let program = |line: &str| program(line.as_bytes()).unwrap();
        let found = program(&built(r#""/r/target/debug/deps/simulated-1""#, true)).unwrap();
        assert_eq!(found.name, "stats::simulated");
        assert_eq!(found.directory, Path::new("/r/crates/stats"));
        assert_eq!(program(&built(r#""/r/target/debug/examples/coverage""#, false)), None);
        assert_eq!(program(&built("null", true)), None);
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(program(""), None);
    }

    #[test]
    fn no_program_is_lost_and_none_at_all_is_no_success() {
        let error = program(br#"{"reason":"compiler-artifact","executable":"/r/a"}"#).unwrap_err().to_string();
        assert!(error.contains("not understood") && error.contains("/r/a"), "{error}");
        assert!(programs(b"{\"reason\":\"build-finished\"}\n").is_err());
        let named = |name: &str| Program { name: name.into(), executable: "/bin/true".into(), directory: "/".into() };
        let three = VecDeque::from(["a", "b", "c"].map(named));
        assert_eq!(run_all(three, &[1], &[]).unwrap().len(), 3);
    }

    #[test]
    fn each_program_has_a_thread_at_least() {
        assert_eq!((threads(None).unwrap(), threads(Some("2")).unwrap()), (THREADS.to_vec(), vec![2, 2]));
        assert_eq!((threads(Some("1")).unwrap(), threads(Some("8")).unwrap()), (vec![1], vec![8; 3]));
        for wrong in ["0", "", "many"] {
            let error = threads(Some(wrong)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("RUST_TEST_THREADS={wrong}: ")), "{error}");
        }
    }

    #[test]
    fn the_longest_starts_first_and_what_is_not_known_before_it_by_size() {
        let of = |(name, executable): (&str, &str)| Program {
            name: name.into(),
            executable: executable.into(),
            directory: "/".into(),
        };
        let seconds = Seconds::from([("short".into(), 1.0), ("long".into(), 20.0)]);
        let programs = [("short", "/x"), ("new", "/x"), ("large", "/bin/sh"), ("long", "/x")].map(of);
        let order = longest_first(programs.to_vec(), &seconds);
        let names: Vec<_> = order.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["large", "new", "long", "short"]);
    }

    /// A shell stands for a test program.
    fn shell(script: &str) -> Ended {
        let program = Program { name: "a::b".into(), executable: "/bin/sh".into(), directory: "/".into() };
        program.run(1, &["-c".into(), script.into()], Duration::from_secs(2)).unwrap()
    }

    #[test]
    fn what_failed_is_known_by_name_and_a_program_that_died_by_its_end() {
        assert!(summarise(&[shell("echo test c::d ... ok")]));
        let failed = shell("echo test c::d ... ok; echo test c::e ... FAILED >&2; exit 101");
        assert_eq!(failed.told.failed, BTreeSet::from(["c::e".to_string()]));
        assert!(!summarise(&[shell("true"), failed]));
        let died = shell("kill -9 $$");
        assert_eq!((died.status.success(), died.told.failed.len()), (false, 0));
        assert!(!summarise(&[died]));
    }

    #[test]
    fn a_torn_line_hides_neither_a_failed_test_nor_one_that_was_skipped() {
        let text = "test c::d ... SKIPPED: c::d (a.rs:1): this machine has no server\nok\n\
                    test c::e - should panic ... FAILED\ntest c::f ... something\nFAILED\n\n\
                    failures:\n\n---- c::e stdout ----\nx\n\nfailures:\n    c::e\n    c::f\n\n\
                    test result: FAILED. 1 passed\n    c::g\n";
        let mut told = Told::default();
        text.lines().for_each(|line| told.note(line));
        assert_eq!(told.failed, ["c::e", "c::f"].map(str::to_string).into());
        assert_eq!(told.skipped, ["this machine has no server"]);
    }

    #[test]
    fn the_end_says_what_was_skipped_and_why() {
        assert_eq!(conclusion(&[shell("true"), shell("false")]), "1 of 2 test programs passed");
        let said = conclusion(&[shell("for test in a b; do echo \"SKIPPED: $test (a.rs:1): no server\"; done")]);
        let expected = "1 of 1 test programs passed; 2 times SKIPPED, because:\n  no server";
        assert_eq!(said, expected);
    }

    #[test]
    fn what_outlives_its_program_is_a_failure_and_holds_nobody_up() {
        let begun = Instant::now();
        let left = shell("echo test c::d ... FAILED; sleep 30 & exit 0");
        assert!(begun.elapsed() < Duration::from_secs(20) && left.is_held && left.status.success());
        assert_eq!(left.told.failed.len(), 1);
        assert!(!summarise(&[left]));
    }
}
