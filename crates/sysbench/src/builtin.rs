//! The tests that need no server: each thread of them is a thread of the machine.

mod cpu;
mod fileio;
mod memory;
mod mutex;
mod task;
mod threads;

use crate::console;
use crate::follow::{Reporter, follow};
use crate::general::General;
use crate::halt::Halt;
use crate::options::{OptionSet, OptionSpec, listed};
use crate::planned;
use crate::request::{AskedRun, Caller, TestRequest};
use crate::text::{self, Closing, QueueState};
use crate::totals::RunTotals;
use plimsoll_engine::Run;
use plimsoll_load::source::LoadSource;
use plimsoll_script::dialect::Budget;
use std::sync::Arc;
use task::{Alone, BuiltinTask};

pub use task::spec;

/// A test that comes with the program.
pub struct BuiltinTest {
    pub name: &'static str,
    pub title: &'static str,
    options: &'static [OptionSpec],
    /// What comes before the test and after it, if anything does.
    prepare: Option<Command>,
    cleanup: Option<Command>,
    begin: fn(&TestRequest, &OptionSet) -> Result<Begun, Halt>,
}

type Command = fn(&OptionSet) -> Result<(), Halt>;

const ALONE: BuiltinTest =
    BuiltinTest { name: "", title: "", options: &[], prepare: None, cleanup: None, begin: cpu::begin };

pub static ALL: [BuiltinTest; 5] = [
    BuiltinTest {
        name: "fileio",
        title: "File I/O test",
        options: &fileio::OPTIONS,
        prepare: Some(fileio::prepare),
        cleanup: Some(fileio::cleanup),
        begin: fileio::begin,
    },
    BuiltinTest { name: "cpu", title: "CPU performance test", options: &cpu::OPTIONS, begin: cpu::begin, ..ALONE },
    BuiltinTest {
        name: "memory",
        title: "Memory functions speed test",
        options: &memory::OPTIONS,
        begin: memory::begin,
        ..ALONE
    },
    BuiltinTest {
        name: "threads",
        title: "Threads subsystem performance test",
        options: &threads::OPTIONS,
        begin: threads::begin,
        ..ALONE
    },
    BuiltinTest {
        name: "mutex",
        title: "Mutex performance test",
        options: &mutex::OPTIONS,
        begin: mutex::begin,
        ..ALONE
    },
];

/// The test of this name.
pub fn find(name: &str) -> Option<&'static BuiltinTest> {
    ALL.iter().find(|test| test.name == name)
}

/// What a test is once its options are read.
struct Begun {
    /// What is told before its threads begin.
    preamble: String,
    headline: Headline,
    follow: Box<Following>,
}

/// Begins the load of a test and follows it to its end; the exit code.
type Following = dyn FnOnce(AskedRun<'_>, &mut dyn Reporter, &mut Caller<'_>) -> Result<u8, Halt>;

type OfTotals = Box<dyn Fn(&RunTotals) -> String>;

/// What a test says in words of its own.
struct Headline {
    /// In place of an intermediate report.
    interval: Option<OfTotals>,
    /// Before the last.
    report: OfTotals,
    /// What is done once the test is over is no event of it.
    leaves_out_the_end: bool,
}

impl Headline {
    fn none() -> Headline {
        Headline { interval: None, report: Box::new(|_| String::new()), leaves_out_the_end: false }
    }
}

impl Begun {
    fn new<T: BuiltinTask>(request: &TestRequest, preamble: String, headline: Headline, task: T) -> Begun {
        let General { events, time, .. } = request.general;
        let events = if T::HAS_ITS_OWN_END { 0 } else { events };
        let (spec, budget) = (spec(&request.general, events), Budget::new(events, time * 1_000_000_000));
        Begun::of(preamble, headline, move || Ok(Run::begin(spec, Arc::new(Alone { task, budget }))))
    }

    fn of<S: LoadSource>(
        preamble: String,
        headline: Headline,
        source: impl FnOnce() -> Result<S, Halt> + 'static,
    ) -> Begun {
        let follow = move |run: AskedRun<'_>, reporter: &mut dyn Reporter, around: &mut Caller<'_>| {
            let source = source()?;
            console::say("Initializing worker threads...\n");
            follow(source, run, reporter, around)
        };
        Begun { preamble, headline, follow: Box::new(follow) }
    }
}

/// Does what the command says with a test; the exit code.
///
/// # Errors
/// Why it cannot be done.
pub fn run(test: &BuiltinTest, mut request: TestRequest, around: &mut Caller) -> Result<u8, Halt> {
    request.options.know(test.options)?;
    let options = &request.options;
    if let Some(unknown) = options.unknown().first() {
        return Err(Halt::Usage(format!("invalid option: {}", unknown.word)));
    }
    let name = test.name;
    match request.line.command.as_deref() {
        None => Err(Halt::Usage(format!("The '{name}' test requires a command argument. See 'sysbench {name} help'"))),
        Some("help") => {
            console::print(&format!("{name} options:\n{}\n", listed(test.options)));
            Ok(0)
        }
        Some(command @ ("prepare" | "cleanup")) => {
            let work = if command == "prepare" { test.prepare } else { test.cleanup };
            let missing = || Halt::Usage(format!("'{name}' test does not implement the '{command}' command."));
            work.ok_or_else(missing)?(options).map(|()| 0)
        }
        Some("run") => measure(test, &request, around),
        Some(other) => Err(Halt::Usage(format!("Unknown command: {other}"))),
    }
}

fn measure(test: &BuiltinTest, request: &TestRequest, around: &mut Caller) -> Result<u8, Halt> {
    let TestRequest { options, general, .. } = request;
    let Begun { preamble, headline, follow } = (test.begin)(request, options)?;
    console::report(&text::preamble(general));
    console::report(&preamble);
    let plan = planned::plan(request, &spec(general, general.events), planned::NO_SERVER.to_owned());
    follow(AskedRun { general, plan: &plan }, &mut Headed(headline), around)
}

/// A report with a headline of the test's.
struct Headed(Headline);

impl Reporter for Headed {
    fn is_sql(&self) -> bool {
        false
    }

    fn leaves_out_the_end(&self) -> bool {
        self.0.leaves_out_the_end
    }

    fn failed(&mut self, why: &str) {
        console::say(&format!("FATAL: {why}"));
    }

    fn interval(
        &mut self,
        general: &General,
        at: u64,
        totals: &RunTotals,
        backlog: Option<QueueState>,
    ) -> Result<String, Halt> {
        Ok(match &self.0.interval {
            Some(line) => format!("[ {at}s ] {}\n", line(totals)),
            None => text::interval(general, at, totals, false, backlog),
        })
    }

    fn report(&mut self, general: &General, ending: &Closing, totals: &RunTotals) -> Result<String, Halt> {
        Ok((self.0.report)(totals) + &text::report(general, ending, totals, false))
    }
}
