//! The tests that need no server: each thread of them is a thread of the machine.

mod cpu;
mod memory;
mod mutex;
mod task;
mod threads;

use crate::console;
use crate::follow::{Reporter, follow};
use crate::general::General;
use crate::halt::Halt;
use crate::options::{OptionSet, OptionSpec, listed};
use crate::request::{Caller, TestRequest};
use crate::text::{self, Closing, QueueState};
use crate::totals::RunTotals;
use plimsoll_engine::Run;
use plimsoll_script::dialect::Budget;
use std::sync::Arc;
use task::{Alone, BuiltinTask, spec};

/// A test that comes with the program.
pub struct BuiltinTest {
    pub name: &'static str,
    pub title: &'static str,
    options: &'static [OptionSpec],
    begin: fn(&TestRequest, &OptionSet) -> Result<Begun, Halt>,
}

pub static ALL: [BuiltinTest; 4] = [
    BuiltinTest { name: "cpu", title: "CPU performance test", options: &cpu::OPTIONS, begin: cpu::begin },
    BuiltinTest {
        name: "memory",
        title: "Memory functions speed test",
        options: &memory::OPTIONS,
        begin: memory::begin,
    },
    BuiltinTest {
        name: "threads",
        title: "Threads subsystem performance test",
        options: &threads::OPTIONS,
        begin: threads::begin,
    },
    BuiltinTest { name: "mutex", title: "Mutex performance test", options: &mutex::OPTIONS, begin: mutex::begin },
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
    run: Box<dyn FnOnce() -> Run>,
}

type OfTotals = Box<dyn Fn(&RunTotals) -> String>;

/// What a test says in words of its own.
struct Headline {
    /// In place of an intermediate report.
    interval: Option<OfTotals>,
    /// Before the last.
    report: OfTotals,
}

impl Headline {
    fn none() -> Headline {
        Headline { interval: None, report: Box::new(|_| String::new()) }
    }
}

impl Begun {
    fn new<T: BuiltinTask>(request: &TestRequest, preamble: String, headline: Headline, task: T) -> Begun {
        let General { events, time, .. } = request.general;
        let events = if T::HAS_ITS_OWN_END { 0 } else { events };
        let (spec, budget) = (spec(&request.general), Budget::new(events, time * 1_000_000_000));
        Begun { preamble, headline, run: Box::new(move || Run::begin(spec, Arc::new(Alone { task, budget }))) }
    }
}

/// Does what the command says with a test; the exit code.
///
/// # Errors
/// Why it cannot be done.
pub fn run(test: &BuiltinTest, mut request: TestRequest, around: &Caller) -> Result<u8, Halt> {
    let mut options = std::mem::take(&mut request.options);
    options.know(test.options)?;
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
            Err(Halt::Usage(format!("'{name}' test does not implement the '{command}' command.")))
        }
        Some("run") => measure(test, &request, &options, around),
        Some(other) => Err(Halt::Usage(format!("Unknown command: {other}"))),
    }
}

fn measure(test: &BuiltinTest, request: &TestRequest, options: &OptionSet, around: &Caller) -> Result<u8, Halt> {
    let Begun { preamble, headline, run } = (test.begin)(request, options)?;
    console::report(&text::preamble(&request.general));
    console::report(&preamble);
    console::say("Initializing worker threads...\n");
    follow(run(), &request.general, &mut Headed(headline), around.is_interrupted)
}

/// A report with a headline of the test's.
struct Headed(Headline);

impl Reporter for Headed {
    fn is_sql(&self) -> bool {
        false
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
