//! One load point, from the first connection to the last answer: connect and prepare, warm up, measure, drain,
//! collect. It knows the load as a source alone: what the loops count is recorded as it comes and summed up at the end.

mod observed;
mod round_trip;

use crate::error::LabError;
use observed::Beside;
pub(crate) use observed::ObservedLoad;
use plimsoll_data::epitaph::with_epitaph;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::CommitLog;
use plimsoll_fleet::Fleet;
use plimsoll_follow::{Followed, NotReady, SeriesWriter, follow, until_ready};
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::source::{LoadFacts, LoadSource, Readiness};
use plimsoll_measures::caveats::PointCaveat;
use plimsoll_measures::summarise::{self, MeasuredPoint};
use plimsoll_model::LoadPoint;
use plimsoll_model::agreed::AgreedLoad;
use plimsoll_model::samples::Phase;
use plimsoll_model::statements::{StatementCounts, StatementKind};
use plimsoll_model::summary::Point;
use plimsoll_record::{EarlyEnd, TrialWriter};
use plimsoll_watch::{Event, Watcher};
use round_trip::round_trip;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What circumstances of a load point.
#[derive(Clone, Copy, Default)]
pub struct Circumstances<'c> {
    /// What one loop of the load can do at most, queries per second.
    pub ceiling: Option<f64>,
    /// When its trial began, from which the series count; `None` if that is when the load begins.
    pub since: Option<Instant>,
    /// The phase that its seconds are recorded as, if they are not the measurement.
    pub phase: Option<Phase>,
    /// What to ask one of the load's own connections before the load begins.
    pub ask: Option<&'static str>,
    /// Where commits are written down as clients are told of them; only by a load of this process.
    pub commits: Option<&'c Arc<CommitLog>>,
    /// The agents that make the load; `None` if this process does.
    pub fleet: Option<&'c Fleet>,
    /// The load that they were at when the coordinator before was killed, which is collected instead of made.
    pub collected: Option<&'c AgreedLoad>,
}

pub struct Outcome {
    pub point: Point,
    pub sent: StatementCounts,
    pub counted: Counted,
    /// What the seconds of the window say against its means.
    pub caveats: Vec<PointCaveat>,
    /// What one of the load's own connections answered to [`Circumstances::ask`].
    pub answer: BTreeMap<String, String>,
    pub ended: Option<EarlyEnd>,
}

/// What was counted under the workload's own names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// By the workload itself, in the measured window.
    pub window: Vec<(&'static str, u64)>,
    /// The same from the first connection to the last answer.
    pub whole: Vec<(&'static str, u64)>,
    /// Commits by the kind of transaction, from the first connection to the last answer.
    pub committed: Vec<(&'static str, u64)>,
    /// COMMITs, and writes that commit by themselves, whose answer was lost.
    pub unknown: u64,
}

impl Counted {
    /// From the first connection to the last answer.
    pub fn whole(&self, name: &str) -> u64 {
        find(&self.whole, name)
    }

    /// Commits of a kind of transaction.
    pub fn committed(&self, name: &str) -> u64 {
        find(&self.committed, name)
    }
}

fn find(counts: &[(&'static str, u64)], name: &str) -> u64 {
    counts.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
}

fn named(names: &[&'static str], counts: &[u64]) -> Vec<(&'static str, u64)> {
    names.iter().copied().zip(counts.iter().copied()).collect()
}

/// Runs one load point and records it. `begin` makes its load: it is told what to ask as [`Circumstances::ask`] has it, and
/// whether somebody has interrupted it.
///
/// # Errors
/// Only if there is nothing to sum up: the server did not answer, or no connection could be made. Everything else is an
/// [`Outcome`] that says why it ended.
pub fn trial<S: LoadSource>(
    target: &mut OpenTarget,
    begin: impl FnOnce(Option<&'static str>, &dyn Fn() -> bool) -> Result<S, LabError>,
    point: LoadPoint,
    circumstances: Circumstances,
    writer: &mut TrialWriter,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, LabError> {
    target.keep_control();
    let round_trip = round_trip(&mut target.control)?;
    let mut source = begin(circumstances.ask, &|| watcher.interrupted())?;
    let driven = drive(&mut source, target, point, circumstances, writer, watcher);
    let (facts, agents) = (source.facts().clone(), source.agents());
    // What is collected and given up before all of it has come is kept by whoever made it.
    match circumstances.collected.is_some() && is_interrupted(&driven) {
        true => source.leave(),
        false => source.finish(),
    }
    let mut outcome = driven?.outcome(&facts, circumstances.ceiling, Some(round_trip));
    outcome.point.agents = agents;
    Ok(outcome)
}

fn is_interrupted(driven: &Result<Driven, LabError>) -> bool {
    match driven {
        Ok(driven) => driven.ended == Some(EarlyEnd::Interrupted),
        Err(error) => matches!(error, LabError::Interrupted),
    }
}

/// A load that has come to its end, whichever.
pub(crate) struct Driven {
    pub totals: LoopTotals,
    pub observed: ObservedLoad,
    /// To what was asked before the load.
    pub answer: BTreeMap<String, String>,
    /// The server's own count of statements between the first and the last of ours.
    pub counted: Option<StatementCounts>,
    pub ended: Option<EarlyEnd>,
}

/// From the first connection to the last answer.
fn drive(
    source: &mut dyn LoadSource,
    target: &mut OpenTarget,
    point: LoadPoint,
    circumstances: Circumstances,
    writer: &mut TrialWriter,
    watcher: &mut dyn Watcher,
) -> Result<Driven, LabError> {
    let ready = ready(source, target, watcher)?;
    let before = statement_counts(target)?;
    let begins_in = source.start(&|| watcher.interrupted());
    let begun = circumstances.since.unwrap_or_else(Instant::now);
    let before_ns = circumstances.since.map_or(0, |since| (since.elapsed() + begins_in).as_nanos() as u64);
    let series = SeriesWriter { writer, before_ns, phase: circumstances.phase };
    if let (Some(load), None) = (source.agreed(), circumstances.phase) {
        watcher.tell(Event::Agreed { load: &load });
    }
    let mut observed = match circumstances.collected {
        Some(_) => ObservedLoad::afterwards(source.facts(), point, before_ns),
        None => ObservedLoad::begin(Some(target), &ready, source.facts(), point, before_ns, begun),
    };
    observed.look_before(source.spent());
    let followed = follow(source, &mut Beside { target, observed: &mut observed }, series, watcher);
    let Followed { totals, is_drained, ended } = followed;
    let mut driven = Driven {
        totals,
        observed,
        answer: ready.answer.into_iter().collect(),
        counted: None,
        ended: ended.map(EarlyEnd::from),
    };
    // Whatever ended a run early, its server may be silent.
    if driven.ended.is_none() {
        target.keep_control();
    }
    // Where not all are drained, the server may still be at statements that we have given up.
    if is_drained {
        match statement_counts(target) {
            Ok(after) => driven.counted = after.zip(before).map(|(after, before)| after - before),
            Err(error) => drop(driven.ended.get_or_insert(EarlyEnd::Failed(error.to_string()))),
        }
    }
    Ok(driven)
}

/// Waits until every loop has all its connections.
fn ready(source: &mut dyn LoadSource, target: &OpenTarget, watcher: &mut dyn Watcher) -> Result<Readiness, LabError> {
    until_ready(source, watcher).map_err(|why| match why {
        NotReady::Interrupted => LabError::Interrupted,
        NotReady::Failed(why) => {
            LabError::Environment(with_epitaph(target, format!("cannot make the connections: {why}")))
        }
        NotReady::Ended => LabError::Environment("a loop ended by itself".to_owned()),
    })
}

impl Driven {
    /// The sum of what was counted and seen. `ceiling` as in [`Circumstances`].
    pub fn outcome(self, facts: &LoadFacts, ceiling: Option<f64>, round_trip: Option<Duration>) -> Outcome {
        let Driven { totals, observed, answer, counted, ended } = self;
        let names = &facts.names;
        let mut point = summarise::point(
            observed.window.as_ref(),
            &MeasuredPoint {
                point: observed.point,
                loops: facts.loops,
                names,
                open_loop: facts.open_loop,
                counts: totals.counts,
                served: &totals.served,
                edges: observed.edges(),
                host: &observed.host,
                ceiling,
                round_trip,
            },
        );
        if let Some(server) = &mut point.server {
            server.statements = counted;
        }
        point.storage_cpus = observed.storage_cpus();
        point.program_cpus = observed.program_cpus();
        let caveats = observed.judge(&mut point, names);
        let counted = Counted {
            window: named(names.counters, observed.window.as_ref().map_or(&[][..], |window| &window.counted)),
            whole: named(names.counters, &totals.counted),
            committed: named(names.transactions, &totals.committed),
            unknown: totals.unknown,
        };
        Outcome { point, sent: totals.sent, counted, caveats, answer, ended }
    }
}

/// The server's own `Com_*` counts; asked of private servers only, where nobody else sends statements.
fn statement_counts(target: &mut OpenTarget) -> Result<Option<StatementCounts>, LabError> {
    if !target.is_private() {
        return Ok(None);
    }
    let rows = match target.control.rows("SHOW GLOBAL STATUS LIKE 'Com\\_%'") {
        Ok(rows) => rows,
        // It died in this moment; the trial will say so.
        Err(_) if target.epitaph().is_some() => return Ok(None),
        Err(failure) => return Err(LabError::sql("asking the server what it counted", &failure)),
    };
    let found: BTreeMap<&str, &str> = rows.pairs().collect();
    let mut counts = StatementCounts::default();
    for kind in StatementKind::ALL {
        counts[kind] = found.get(kind.status_variable()).and_then(|value| value.parse().ok()).unwrap_or(0);
    }
    Ok(Some(counts))
}
