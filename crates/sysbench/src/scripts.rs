//! Tests that are scripts: found, read, and their commands carried out.

mod native;
mod prepare;
mod reports;
mod state;

use crate::console;
use crate::follow::follow;
use crate::general::General;
use crate::halt::Halt;
use crate::options::{OptionSpec, listed};
use crate::planned;
use crate::request::{AskedRun, Caller, TestRequest};
use crate::text;
use native::NativeOltp;
use plimsoll_engine::{Endpoint, Protocol, Run, RunSpec};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_plan::RunPlan;
use plimsoll_script::aside::AsidePlace;
use plimsoll_script::dialect::Dialect;
use plimsoll_script::{Script, Scripted};
use prepare::{FoundTest, find};
use reports::ScriptReporter;
use state::MainState;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

/// How long a server that went away is waited for where errors are Plimsoll's, as `plimsoll run` does.
const OUTAGE_LIMIT_NS: u64 = 30_000_000_000;

/// A script that was read, and all that its states are made from.
#[derive(Clone)]
pub struct PreparedTest {
    pub name: Option<String>,
    pub script: Arc<Script>,
    pub endpoint: Endpoint,
    pub protocol: Protocol,
    pub general: General,
    pub place: AsidePlace,
}

impl PreparedTest {
    fn dialect(&self) -> &Dialect {
        self.script.dialect.as_deref().expect("every script of this crate has one")
    }
}

/// Loads a script and does what its command says; the exit code.
///
/// # Errors
/// Why it cannot be done.
pub fn run(mut request: TestRequest, around: &mut Caller) -> Result<u8, Halt> {
    let FoundTest { name, text, is_bundled } = find(request.line.test.as_deref())?;
    let prepared = prepare::prepared(name, text, &request, around)?;
    let mut main = MainState::load(&prepared, prepared.place.clone())?;
    let declared = main.declared_options()?;
    if let Some(specs) = &declared {
        request.options.know(specs)?;
        if let Some(unknown) = request.options.unknown().first() {
            return Err(Halt::Usage(format!("invalid option: {}", unknown.word)));
        }
    }
    let (TestRequest { line, options, .. }, dialect) = (&request, prepared.dialect());
    let _ = dialect.options.set(options.all());
    let _ = dialect.globals.set(if declared.is_none() { options.globals() } else { Vec::new() });
    let specs = declared.unwrap_or_default();
    let _ = dialect.test_options.set(described(&prepared, &specs));
    let (Some(name), Some(command)) = (&prepared.name, &line.command) else { return Ok(0) };
    main.call("read_options", ())?;
    if main.is("has_command", command.as_str())? {
        return custom(&prepared, &mut main, command);
    }
    let missing = || Halt::Usage(format!("'{name}' test does not implement the '{command}' command."));
    match command.as_str() {
        "help" if main.is("is_defined", "help")? => main.call_function("help").map(|()| 0),
        "help" if !specs.is_empty() => {
            console::print(&format!("{}\n", described(&prepared, &specs)));
            Ok(0)
        }
        "prepare" | "cleanup" if main.is("is_defined", command.as_str())? => main.call_function(command).map(|()| 0),
        "help" | "prepare" | "cleanup" => Err(missing()),
        "run" => {
            let native = if is_bundled { native::of(&prepared, options) } else { None };
            let spec = spec(&prepared);
            let plan = planned::plan(&request, &spec, servers(dialect));
            measure(&prepared, main, Measured { spec, plan, native }, around)
        }
        other => Err(Halt::Usage(format!("Unknown command: {other}"))),
    }
}

fn described(prepared: &PreparedTest, specs: &[OptionSpec]) -> String {
    format!("{} options:\n{}", prepared.name.as_deref().unwrap_or_default(), listed(specs))
}

/// A command of the script's own, by as many threads as there are, if it is to be.
fn custom(prepared: &PreparedTest, main: &mut MainState, command: &str) -> Result<u8, Halt> {
    let threads = prepared.general.threads;
    if threads == 1 || !main.is("is_parallel", command)? {
        return main.command(command);
    }
    console::say("Initializing worker threads...\n");
    let of_thread = |tid: usize| {
        let place = AsidePlace { tid, ..prepared.place.clone() };
        MainState::load(prepared, place).and_then(|mut state| {
            state.call("read_options", ())?;
            state.command(command)
        })
    };
    let codes: Vec<u8> = thread::scope(|scope| {
        let begun: Vec<_> =
            (0..threads).map(|tid| scope.spawn(move || of_thread(tid).map_err(|halt| said(&halt)))).collect();
        // A panic has been printed by its thread.
        begun
            .into_iter()
            .map(|thread| thread.join().map_or(Halt::FAILED, |code| code.unwrap_or_else(|code| code)))
            .collect()
    });
    Ok(codes.into_iter().max().unwrap_or_default())
}

/// Tells why a thread of a command has ended; its exit code.
fn said(halt: &Halt) -> u8 {
    match halt {
        Halt::Fatal(text) => console::say(&format!("FATAL: {text}")),
        Halt::Usage(text) | Halt::Plain(text) => console::say(text),
        Halt::Quiet(code) => return *code,
    }
    Halt::FAILED
}

/// The servers that connections are made to, as a recording names them.
fn servers(dialect: &Dialect) -> String {
    if dialect.is_dry { planned::NO_SERVER.to_owned() } else { dialect.servers.shown.join("; ") }
}

/// What is measured.
struct Measured {
    spec: RunSpec,
    plan: RunPlan,
    /// In place of the script.
    native: Option<(NativeOltp, Endpoint)>,
}

/// `run`: the events of all threads, measured.
fn measure(prepared: &PreparedTest, mut main: MainState, measured: Measured, around: &mut Caller) -> Result<u8, Halt> {
    let Measured { spec, plan, native } = measured;
    let general = &prepared.general;
    if main.is("is_defined", "init")? {
        main.call_function("init")?;
    }
    if !main.is("is_defined", "event")? && !main.is("runs_itself", ())? {
        let name = prepared.name.as_deref().unwrap_or_default();
        return Err(Halt::Fatal(format!("cannot find the event() function in {name}")));
    }
    console::report(&text::preamble(general));
    console::say("Initializing worker threads...\n");
    let mut reporter = ScriptReporter::new(prepared, main)?;
    let begun = match native {
        Some((workload, endpoint)) => {
            prepared.dialect().uses_sql.store(true, Ordering::Relaxed);
            Run::begin(RunSpec { endpoint, ..spec }, Arc::new(workload))
        }
        None => {
            let scripted = Scripted::of(prepared.script.clone(), prepared.place.drawn.clone());
            Run::begin(spec, Arc::new(scripted))
        }
    };
    let code = follow(begun, AskedRun { general, plan: &plan }, &mut reporter, around)?;
    reporter.done()?;
    Ok(code)
}

fn spec(prepared: &PreparedTest) -> RunSpec {
    let PreparedTest { general, .. } = prepared;
    let Dialect { is_dry, is_compatible, .. } = *prepared.dialect();
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    RunSpec {
        endpoint: prepared.endpoint.clone(),
        connections: general.threads,
        // With nothing to wait for, one thread would be all that works.
        loops: if is_dry { cpus } else { 1 },
        arrivals: match general.rate {
            0 => Arrivals::Closed,
            rate => Arrivals::Poisson { rate: rate as f64 },
        },
        // The script's own budget ends it, between events.
        limit: general.limit(general.events),
        warmup_ns: general.warmup * 1_000_000_000,
        seed: prepared.place.seed,
        protocol: prepared.protocol,
        // sysbench waits for a server for as long as it takes.
        outage_limit_ns: if is_compatible { u64::MAX / 8 } else { OUTAGE_LIMIT_NS },
        ignore_errors: Vec::new(),
        private: false,
        ask: (general.asks_for_verdict && !is_dry).then_some("SHOW GLOBAL VARIABLES"),
        part: None,
        commits: None,
    }
}
