//! One load point, from the first connection to the last answer: connect and prepare, warm-up, measure, drain,
//! collect. What the loops count is recorded as it comes and summed up at the end.

mod ready;
mod round_trip;

use crate::error::LabError;
use crate::telemetry::status::StatusThread;
use crate::telemetry::storage::{self, StorageThread};
use plimsoll_data::epitaph::with_epitaph;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{LoopEvent, Run, RunSpec, Workload};
use plimsoll_host::sample::{Sample, Sampler, context_switches, cpu_wait, process, process_cpu};
use plimsoll_load::recorder::{Served, Totals};
use plimsoll_load::tally::{Names, Tally, add_counts};
use plimsoll_load::window::Limit;
use plimsoll_measures::caveats::{self, PointCaveat};
use plimsoll_measures::estimates::{Around, Seconds};
use plimsoll_measures::summarise::{self, Assembly, Edge, Measured};
use plimsoll_model::samples::{HostSample, Interval, Phase, ServerSample, StorageSample};
use plimsoll_model::statements::{StatementCounts, StatementKind};
use plimsoll_model::summary::{Counts, Point};
use plimsoll_plan::points::LoadPoint;
use plimsoll_record::{EarlyEnd, RecordError, TrialWriter};
use plimsoll_watch::{Event, Watcher};
use ready::until_ready;
use round_trip::round_trip;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the controller looks at the interrupt and at a private server.
const LOOK: Duration = Duration::from_millis(50);
/// Beyond its own drain limit a loop is given this long to say so.
const LOOPS_END_WITHIN: Duration = Duration::from_secs(20);

/// What holds around a load point.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances {
    /// What the load generator can do at most, queries per second.
    pub ceiling: Option<f64>,
    /// When its trial began, from which the series count; none if that is when the load begins.
    pub since: Option<Instant>,
    /// The phase that its seconds are recorded as, where they are not what is measured.
    pub phase: Option<Phase>,
    /// What to ask one of the load's own connections before the load begins.
    pub ask: Option<&'static str>,
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

/// Runs one load point and records it.
///
/// # Errors
/// Only if there is nothing to sum up: the server did not answer, or no connection could be made. Everything else is an
/// [`Outcome`] that says why it ended.
pub fn trial<W: Workload>(
    target: &mut OpenTarget,
    spec: RunSpec,
    workload: Arc<W>,
    point: LoadPoint,
    circumstances: Circumstances,
    writer: &mut TrialWriter,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, LabError> {
    let open_loop = spec.arrivals.rate().is_some() || workload.terminals().is_some();
    let ends = Ends::of(&spec);
    target.keep_control();
    let round_trip = round_trip(&mut target.control)?;
    let run = Run::begin(RunSpec { ask: circumstances.ask, ..spec }, workload);
    let followed = Trial::follow(&run, target, (point, open_loop, ends), circumstances, writer, watcher);
    let (names, loops) = (run.names.clone(), run.loops);
    run.finish();
    let trial = followed?;
    let measured = Measured {
        point,
        loops,
        names: &names,
        open_loop,
        counts: trial.counts,
        served: &trial.served,
        edges: trial.edges.0.zip(trial.edges.1),
        host: &trial.host,
        ceiling: circumstances.ceiling,
        round_trip: Some(round_trip),
    };
    let mut result = summarise::point(trial.window.as_ref(), &measured);
    if let Some(server) = &mut result.server {
        server.statements = trial.counted;
    }
    result.storage_cpus = trial.storage_cpus();
    trial.seconds.judge(&mut result, &names);
    let mut caveats = caveats::of_seconds(&result, &trial.seconds);
    if let Some(window) = &trial.window {
        caveats.extend(caveats::of_range_at(&result, &window.service(), "transactions"));
        caveats.extend(caveats::of_range_at(&result, &window.response(), "responses"));
    }
    let counted = Counted {
        window: named(names.counters, trial.window.as_ref().map_or(&[][..], |window| &window.counted)),
        whole: named(names.counters, &trial.whole),
        committed: named(names.transactions, &trial.committed),
        unknown: trial.unknown,
    };
    Ok(Outcome { point: result, sent: trial.sent, counted, caveats, answer: trial.answer, ended: trial.ended })
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

/// Looks at the host, at a local server, and at the device below the data of one that is ours.
fn sampler(target: &OpenTarget, pid: Option<u32>) -> Sampler {
    let sampler = Sampler::new(pid);
    match &target.server {
        Some(server) => sampler.holding(&server.directory().data()),
        None => sampler,
    }
}

/// When the warm-up and the measured window end, nanoseconds since the load began.
#[derive(Clone, Copy, Debug)]
struct Ends {
    warm_up_ns: u64,
    /// None where a number of transactions ends it.
    window_ns: Option<u64>,
}

impl Ends {
    fn of(spec: &RunSpec) -> Ends {
        let window_ns = match spec.limit {
            Limit::Time(ns) => Some(spec.warmup_ns.saturating_add(ns)),
            Limit::Events(_) | Limit::EventsPerConnection(_) => None,
        };
        Ends { warm_up_ns: spec.warmup_ns, window_ns }
    }

    /// Whether the window may begin or end where an interval of `phase` ends.
    fn has_edge(&self, phase: Phase, end_ns: u64) -> bool {
        match phase {
            Phase::WarmUp => end_ns >= self.warm_up_ns,
            _ => self.window_ns.is_none_or(|window_ns| end_ns >= window_ns),
        }
    }
}

/// A trial under way.
struct Trial {
    start_ns: u64,
    /// From the start of the series to the start of the load.
    before_ns: u64,
    /// What its seconds are recorded as, if not as what they are.
    phase: Option<Phase>,
    assembly: Assembly,
    sampler: Sampler,
    /// Of a private server.
    status: Option<StatusThread>,
    /// Of a network lane.
    storage: Option<StorageThread>,
    pid: Option<u32>,
    loops: usize,
    open_loop: bool,
    ends: Ends,
    point: LoadPoint,
    /// Sum of the intervals of the measured window.
    window: Option<Tally>,
    /// The same, interval by interval.
    seconds: Seconds,
    edges: (Option<Edge>, Option<Edge>),
    /// Samples of the host inside the window.
    host: Vec<HostSample>,
    /// Of a network lane, from the first connection on.
    storage_samples: Vec<StorageSample>,
    counts: Counts,
    served: Vec<Served>,
    sent: StatementCounts,
    /// What the workload counted, and commits by kind, from the first connection to the last answer.
    whole: Vec<u64>,
    committed: Vec<u64>,
    unknown: u64,
    /// To what was asked before the load.
    answer: BTreeMap<String, String>,
    /// The server's own count of statements between the first and the last of ours.
    counted: Option<StatementCounts>,
    drained: usize,
    /// The recording cannot be written any more.
    unrecorded: bool,
    ended: Option<EarlyEnd>,
}

impl Trial {
    /// From the first connection to the last answer.
    fn follow(
        run: &Run,
        target: &mut OpenTarget,
        (point, open_loop, ends): (LoadPoint, bool, Ends),
        circumstances: Circumstances,
        writer: &mut TrialWriter,
        watcher: &mut dyn Watcher,
    ) -> Result<Trial, LabError> {
        let ready = until_ready(run, target, watcher)?;
        let before = statement_counts(target)?;
        let pid = target.server.as_ref().map(|server| server.pid()).or(ready.pid);
        let start_ns = run.start();
        let begun = circumstances.since.unwrap_or_else(Instant::now);
        let before_ns = circumstances.since.map_or(0, |since| {
            (since.elapsed().as_nanos() as u64).saturating_add(start_ns).saturating_sub(run.now_ns())
        });
        let mut trial = Trial {
            start_ns,
            before_ns,
            phase: circumstances.phase,
            answer: ready.answer,
            assembly: Assembly::new(run.loops),
            sampler: sampler(target, pid),
            status: target.is_private().then(|| StatusThread::start(&target.endpoint, begun)),
            storage: target.lane.as_ref().and_then(|lane| StorageThread::start(lane, begun)),
            pid,
            loops: run.loops,
            open_loop,
            ends,
            point,
            window: None,
            seconds: Seconds::default(),
            edges: (None, None),
            host: Vec::new(),
            storage_samples: Vec::new(),
            counts: Counts::default(),
            served: Vec::new(),
            sent: StatementCounts::default(),
            whole: vec![0; run.names.counters.len()],
            committed: vec![0; run.names.transactions.len()],
            unknown: 0,
            counted: None,
            drained: 0,
            unrecorded: false,
            ended: None,
        };
        trial.watch(run, target, writer, watcher);
        // Whatever ended a run early, its server may be silent.
        if trial.ended.is_none() {
            target.keep_control();
        }
        // Where not all are drained, the server may still be at statements that we have given up.
        if trial.drained == run.loops {
            match statement_counts(target) {
                Ok(after) => trial.counted = after.zip(before).map(|(after, before)| after - before),
                Err(error) => trial.fail(error.to_string()),
            }
        }
        Ok(trial)
    }

    /// Follows the run to its end.
    fn watch(&mut self, run: &Run, target: &OpenTarget, writer: &mut TrialWriter, watcher: &mut dyn Watcher) {
        self.edges.0 = Some(self.edge(None, true));
        let mut stopping: Option<Instant> = None;
        while self.drained + run.ended() < run.loops {
            match run.next(LOOK) {
                Some(LoopEvent::Interval(tally)) => {
                    let (whole, spent) = self.assembly.add(*tally);
                    if let Some(spent) = spent {
                        run.recycle(spent);
                    }
                    if let Some(whole) = whole {
                        self.interval(&whole, writer, watcher, &run.names);
                        run.recycle(whole);
                    }
                }
                Some(LoopEvent::Drained(totals)) => self.drained(totals),
                Some(LoopEvent::Failed(reason)) => self.fail(with_epitaph(target, reason.to_string())),
                Some(LoopEvent::Ready { .. }) | None => {}
            }
            if stopping.is_none() && watcher.interrupted() {
                self.ended.get_or_insert(EarlyEnd::Interrupted);
            }
            if stopping.is_none() && target.epitaph().is_some() {
                self.fail(with_epitaph(target, "the server ended during the run".to_owned()));
            }
            if self.ended.is_some() {
                let since = *stopping.get_or_insert_with(|| {
                    run.stop();
                    Instant::now()
                });
                if since.elapsed() > LOOPS_END_WITHIN {
                    break;
                }
            }
        }
        if self.drained < run.loops {
            self.fail(with_epitaph(target, "an event loop did not come to its end".to_owned()));
        }
        for tally in self.assembly.rest() {
            self.interval(&tally, writer, watcher, &run.names);
        }
    }

    fn fail(&mut self, why: String) {
        // What fails after somebody wanted it to end says nothing of the trial.
        self.ended.get_or_insert(EarlyEnd::Failed(why));
    }

    fn drained(&mut self, totals: Totals) {
        self.drained += 1;
        add_counts(&mut self.counts, &totals.counts);
        self.served.extend(totals.served);
        self.sent += totals.sent;
        self.unknown += totals.unknown;
        self.whole.iter_mut().zip(totals.counted).for_each(|(sum, count)| *sum += count);
        self.committed.iter_mut().zip(totals.committed).for_each(|(sum, count)| *sum += count);
    }

    /// Counts and records an interval that all loops have told of, and what the machine did meanwhile. A
    /// recording that cannot be written ends the run; what is measured is still summed up.
    fn interval(&mut self, tally: &Tally, writer: &mut TrialWriter, watcher: &mut dyn Watcher, names: &Names) {
        let mut interval = summarise::interval(tally, names, self.start_ns, self.open_loop);
        interval.t_ns += self.before_ns;
        interval.phase = self.phase.unwrap_or(interval.phase);
        let t_ns = self.before_ns + tally.end_ns.saturating_sub(self.start_ns);
        let sample = self.sampler.sample(t_ns);
        let at_edge = self.ends.has_edge(tally.phase, tally.end_ns.saturating_sub(self.start_ns));
        if tally.phase == Phase::WarmUp {
            self.edges.0 = Some(self.edge(sample.server, at_edge));
        }
        if tally.phase == Phase::Measure {
            let (before, after) = (self.edges.1.or(self.edges.0), self.edge(sample.server, at_edge));
            let edges = before.map(|before| (before, after));
            self.seconds.add(tally, names, &Around { loops: self.loops, edges, host: sample.host.as_ref() });
            self.edges.1 = Some(after);
            self.host.extend(sample.host.clone());
            match &mut self.window {
                Some(window) => window.add(tally),
                None => self.window = Some(tally.clone()),
            }
        }
        let storage: Vec<StorageSample> = self.storage.iter().flat_map(StorageThread::told).collect();
        self.storage_samples.extend(storage.iter().cloned());
        let (host, server) = (sample.host.as_ref(), sample.server.as_ref());
        watcher.tell(Event::Interval { point: self.point, interval: &interval, host, server });
        if !self.unrecorded
            && let Err(error) = self.record(tally, &interval, (&sample, &storage), writer, names)
        {
            self.unrecorded = true;
            self.fail(error.to_string());
        }
    }

    fn record(
        &self,
        tally: &Tally,
        interval: &Interval,
        (sample, storage): (&Sample, &[StorageSample]),
        writer: &mut TrialWriter,
        names: &Names,
    ) -> Result<(), RecordError> {
        writer.interval(interval)?;
        if let Some(host) = &sample.host {
            writer.host(host)?;
        }
        if let Some(server) = &sample.server {
            writer.server(server)?;
        }
        for status in self.status.iter().flat_map(StatusThread::told) {
            writer.status(&status)?;
        }
        for line in storage {
            writer.storage(line)?;
        }
        writer.latencies(tally, names, (self.start_ns, self.before_ns), self.open_loop)
    }

    /// CPUs that a network lane used in the measured window.
    fn storage_cpus(&self) -> Option<f64> {
        let window = self.window.as_ref()?;
        let on_series = |ns: u64| self.before_ns + ns.saturating_sub(self.start_ns);
        storage::cpus(&self.storage_samples, &(on_series(window.start_ns)..on_series(window.end_ns)))
    }

    /// What is looked at between two intervals; every thread of the server only where the window begins or ends.
    fn edge(&mut self, server: Option<ServerSample>, with_threads: bool) -> Edge {
        let pid = self.pid.filter(|_| with_threads);
        Edge {
            process_cpu: process_cpu(),
            process_wait: cpu_wait(std::process::id()),
            server: server.or_else(|| process(self.pid?, 0)),
            server_switches: pid.and_then(context_switches),
            server_wait: pid.and_then(cpu_wait),
        }
    }
}
