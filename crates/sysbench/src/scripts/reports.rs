//! Reports of a script, which may print them itself.

use super::PreparedTest;
use super::state::MainState;
use crate::console;
use crate::follow::Reporter;
use crate::general::General;
use crate::halt::Halt;
use crate::text::{self, Closing, QueueState};
use crate::totals::RunTotals;
use mlua::Table;
use plimsoll_script::aside::AsidePlace;
use std::sync::atomic::Ordering;

pub struct ScriptReporter<'a> {
    prepared: &'a PreparedTest,
    /// Where the run was begun and is ended.
    main: MainState,
    /// Where intermediate reports are made, if there are any.
    background: Option<MainState>,
    prints_intervals: bool,
    prints_totals: bool,
}

impl<'a> ScriptReporter<'a> {
    /// Asks the script what it prints itself. Reports during the run are made in a state of their own.
    ///
    /// # Errors
    /// As [`MainState::load`].
    pub fn new(prepared: &'a PreparedTest, mut main: MainState) -> Result<ScriptReporter<'a>, Halt> {
        let General { interval, checkpoints, threads, .. } = &prepared.general;
        let prints_totals = main.is("has_hook", "report_cumulative")?;
        let mut background = None;
        if *interval > 0 || !checkpoints.is_empty() {
            let place = AsidePlace { tid: *threads, ..prepared.place.clone() };
            let mut state = MainState::load(prepared, place)?;
            state.call("read_options", ())?;
            background = Some(state);
        }
        let prints_intervals = match &mut background {
            Some(state) => state.is("has_hook", "report_intermediate")?,
            None => false,
        };
        Ok(ScriptReporter { prepared, main, background, prints_intervals, prints_totals })
    }

    /// What the script does after the last report.
    ///
    /// # Errors
    /// As [`MainState::call_function`].
    pub fn done(mut self) -> Result<(), Halt> {
        if let Some(mut state) = self.background.take() {
            state.call("end_reports", ())?;
        }
        self.main.call("end_reports", ())?;
        if self.main.is("is_defined", "done")? {
            told("done", self.main.call("done", ()));
        }
        Ok(())
    }
}

impl Reporter for ScriptReporter<'_> {
    fn failed(&mut self, why: &str) {
        if !self.prepared.dialect().is_compatible {
            console::say(&format!("FATAL: {why}"));
        }
    }

    fn is_sql(&self) -> bool {
        self.prepared.dialect().uses_sql.load(Ordering::Relaxed)
    }

    fn interval(
        &mut self,
        general: &General,
        at: u64,
        totals: &RunTotals,
        backlog: Option<QueueState>,
    ) -> Result<String, Halt> {
        match &mut self.background {
            Some(state) if self.prints_intervals => {
                let stat = stat(state, general, at as f64, totals, general.threads)
                    .and_then(|stat| {
                        let backlog = backlog.unwrap_or_default();
                        stat.set("queue_length", backlog.waiting)?;
                        stat.set("concurrency", backlog.running)?;
                        Ok(stat)
                    })
                    .map_err(unmade)?;
                told("report_intermediate", state.call("report_intermediate", stat));
                Ok(String::new())
            }
            _ => Ok(text::interval(general, at, totals, self.is_sql(), backlog)),
        }
    }

    fn report(&mut self, general: &General, ending: &Closing, totals: &RunTotals) -> Result<String, Halt> {
        if !self.prints_totals {
            return Ok(text::report(general, ending, totals, self.is_sql()));
        }
        let stat = stat(&self.main, general, ending.elapsed, totals, 0).and_then(|stat| {
            for (name, ms) in [("min", totals.least), ("max", totals.most), ("avg", totals.mean()), ("sum", totals.sum)]
            {
                stat.set(format!("latency_{name}"), ms / 1e3)?;
            }
            Ok(stat)
        });
        told("report_cumulative", self.main.call("report_cumulative", stat.map_err(unmade)?));
        Ok(String::new())
    }
}

/// What is called at the end, or for a report, may fail: that is told, and ends nothing.
fn told<T>(hook: &str, called: Result<T, Halt>) {
    if let Err(Halt::Fatal(text)) = called {
        console::say(&format!("FATAL: `{hook}' function failed: {text}"));
    }
}

fn unmade(error: mlua::Error) -> Halt {
    Halt::Fatal(format!("a report cannot be made: {error}"))
}

/// What a script's hook is given: seconds, counts, latencies in seconds.
fn stat(state: &MainState, general: &General, time: f64, totals: &RunTotals, threads: usize) -> mlua::Result<Table> {
    let stat = state.lua().create_table()?;
    let latency = totals.latency.percentile(general.percentile) / 1e3;
    for (name, number) in [("time_interval", totals.seconds()), ("time_total", time), ("latency_pct", latency)] {
        stat.set(name, number)?;
    }
    let RunTotals { events, reads, writes, other, errors, reconnects, .. } = totals;
    let counts = [
        ("threads_running", threads as u64),
        ("events", *events),
        ("reads", *reads),
        ("writes", *writes),
        ("other", *other),
        ("errors", *errors),
        ("reconnects", *reconnects),
    ];
    counts.into_iter().try_for_each(|(name, count)| stat.set(name, count as f64))?;
    Ok(stat)
}
