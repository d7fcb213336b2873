//! `plimsoll sysbench`, and Plimsoll where it is called by sysbench's name.

use super::report::tell_page;
use super::run::recorded;
use super::target::password_of_environment;
use crate::terminal;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::run_record::{FinishedRun, Naming};
use plimsoll_lab::witnessed::WitnessedRun;
use plimsoll_load::assembly::WholeSecond;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::source::Spent;
use plimsoll_plan::Plan;
use plimsoll_record::EarlyEnd;
use plimsoll_record::manifest::{is_name, name_of};
use plimsoll_sysbench::dispatch;
use plimsoll_sysbench::recorder::{ReadyRun, RunRecorder};
use plimsoll_sysbench::request::Caller;
use std::cell::OnceCell;
use std::env;
use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::Ordering;

const NAME: &str = "sysbench";
/// As sysbench ends if it cannot begin.
const FAILED: u8 = 1;
const INCOMPLETE: &str = "the recording is incomplete";

/// The words that are sysbench's affair, if it was called by that name: as the program, through a link, or as the command.
pub fn asked() -> Option<Vec<String>> {
    let mut words = env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = words.next()?;
    let words: Vec<String> = words.collect();
    if Path::new(&program).file_name().is_some_and(|name| name == NAME) {
        return Some(words);
    }
    words.split_first().filter(|(command, _)| *command == NAME).map(|(_, rest)| rest.to_vec())
}

pub fn run(words: &[String]) -> u8 {
    // Only a run asks for it. Until then, and where it cannot be had, Ctrl-C ends the program at once.
    let flag = OnceCell::new();
    let is_interrupted = || {
        let flag = flag.get_or_init(|| terminal::interrupt_flag().ok());
        flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    };
    let mut recorder = HomeRecorder::default();
    let password = match password_of_environment() {
        Ok(password) => password,
        Err(error) => {
            terminal::error(&error.into());
            return FAILED;
        }
    };
    dispatch::run(words, &mut Caller { is_interrupted: &is_interrupted, password, recorder: Some(&mut recorder) })
}

/// Records a run among the others of this user. Where it cannot, that is told, and the run goes on.
#[derive(Default)]
struct HomeRecorder {
    run: Option<WitnessedRun>,
    finished: Option<FinishedRun>,
    /// Something could not be written, and that was told.
    is_broken: bool,
}

impl HomeRecorder {
    fn tell(&mut self, what: &str, error: &dyn Display) {
        if !std::mem::replace(&mut self.is_broken, true) {
            terminal::note(&format!("plimsoll: {what}: {error} (--recording=off turns recording off)"));
        }
    }
}

impl RunRecorder for HomeRecorder {
    fn begin(&mut self, run: ReadyRun<'_>) {
        let ReadyRun { plan, facts, ready, spent } = run;
        let name = name_of_test(&plan.workload);
        let naming = Naming { recording: &name, kind: Plan::Sysbench, tool_version: env!("CARGO_PKG_VERSION") };
        let begun = Home::from_env()
            .map_err(LabError::from)
            .and_then(|home| WitnessedRun::begin(&home, plan, &naming, facts, &ready, spent));
        match begun {
            Ok(run) => self.run = Some(run),
            Err(error) => self.tell("cannot record the run", &error),
        }
    }

    fn second(&mut self, second: &WholeSecond, spent: Option<Spent>) {
        if let Some(Err(error)) = self.run.as_mut().map(|run| run.second(second, spent)) {
            self.tell(INCOMPLETE, &error);
        }
    }

    fn end(&mut self, totals: &LoopTotals, ended: Option<EarlyEnd>) {
        let ended = ended.or_else(|| self.is_broken.then(|| EarlyEnd::Failed(INCOMPLETE.to_owned())));
        let was_ended = ended.is_some();
        self.finished = self.run.take().map(|run| run.end(totals.clone(), ended));
        let unclosed = self.finished.as_ref().and_then(|finished| finished.ended.clone()).filter(|_| !was_ended);
        if let Some(why) = unclosed {
            self.tell(INCOMPLETE, &why.why());
        }
    }

    fn verdict(&mut self) {
        let shown = self.finished.as_ref().and_then(|finished| Some((finished, recorded(finished)?)));
        let Some((finished, shown)) = shown else {
            return terminal::note("plimsoll: no verdict: there is no recording of the run");
        };
        // Nobody reads on where it cannot be written.
        let _ = terminal::styled(&plimsoll_report::terminal(&shown, terminal::look()));
        terminal::note(&format!("recording: {}", finished.recording.display()));
        tell_page(&finished.recording, &shown);
    }
}

/// What the recording of a test is called: a script by its file.
fn name_of_test(test: &str) -> String {
    let stem = Path::new(test).file_stem().map(|stem| name_of(&stem.to_string_lossy()));
    stem.filter(|name| is_name(name)).unwrap_or_else(|| NAME.to_owned())
}
