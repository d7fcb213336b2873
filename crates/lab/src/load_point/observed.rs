//! What is seen around a load while it runs: the host, the server's process and a network lane, second by second beside
//! what the loops count.

use crate::telemetry::status::StatusThread;
use crate::telemetry::storage::{self, StorageThread};
use plimsoll_data::epitaph::with_epitaph;
use plimsoll_data::target::OpenTarget;
use plimsoll_follow::{Account, FollowedSecond, Seen};
use plimsoll_host::sample::{Neighbours, Sampler, context_switches, cpu_wait, process};
use plimsoll_load::source::{LoadFacts, Readiness, Spent};
use plimsoll_load::tally::{Names, Tally};
use plimsoll_load::window::Limit;
use plimsoll_measures::caveats::{self, PointCaveat};
use plimsoll_measures::estimates::{Around, Seconds};
use plimsoll_measures::summarise::Edge;
use plimsoll_model::LoadPoint;
use plimsoll_model::samples::{HostSample, Phase, ServerSample, StorageSample};
use plimsoll_model::summary::Point;
use plimsoll_watch::{Event, Watcher};
use std::time::Instant;

/// When the warm-up and the measured window end, nanoseconds since the load began.
#[derive(Clone, Copy, Debug)]
struct Ends {
    warm_up_ns: u64,
    /// None where a number of transactions ends it.
    window_ns: Option<u64>,
}

impl Ends {
    fn of(facts: &LoadFacts) -> Ends {
        let window_ns = match facts.limit {
            Limit::Time(ns) => Some(facts.warmup_ns.saturating_add(ns)),
            Limit::Events(_) | Limit::EventsPerConnection(_) => None,
        };
        Ends { warm_up_ns: facts.warmup_ns, window_ns }
    }

    /// Whether the window may begin or end where an interval of `phase` ends.
    fn has_edge(&self, phase: Phase, end_ns: u64) -> bool {
        match phase {
            Phase::WarmUp => end_ns >= self.warm_up_ns,
            _ => self.window_ns.is_none_or(|window_ns| end_ns >= window_ns),
        }
    }
}

/// What was counted and seen so far.
pub(crate) struct ObservedLoad {
    /// From the start of the series to the start of the load.
    before_ns: u64,
    /// `None` of a load that was made before anybody looked.
    sampler: Option<Sampler>,
    /// Of a private server.
    status: Option<StatusThread>,
    /// Of a network lane.
    storage: Option<StorageThread>,
    /// Of a local server.
    pid: Option<u32>,
    loops: usize,
    ends: Ends,
    pub point: LoadPoint,
    /// Sum of the intervals of the measured window.
    pub window: Option<Tally>,
    /// The same, interval by interval.
    seconds: Seconds,
    edges: (Option<Edge>, Option<Edge>),
    /// All processes where the window began and where it ended.
    neighbours: (Option<Neighbours>, Option<Neighbours>),
    /// Samples of the host inside the window.
    pub host: Vec<HostSample>,
    /// Of a network lane, from the first connection on.
    storage_samples: Vec<StorageSample>,
}

impl ObservedLoad {
    /// Begins to look. The series began at `begun`, the load begins `before_ns` later. Without a target only the server's
    /// process is looked at, if there is one of this machine.
    pub fn begin(
        target: Option<&OpenTarget>,
        ready: &Readiness,
        facts: &LoadFacts,
        point: LoadPoint,
        before_ns: u64,
        begun: Instant,
    ) -> ObservedLoad {
        let pid = target.and_then(|target| target.server.as_ref()).map(|server| server.pid()).or(ready.server.pid);
        ObservedLoad {
            sampler: Some(sampler(target, pid)),
            status: target
                .filter(|target| target.is_private())
                .map(|target| StatusThread::start(&target.endpoint, begun)),
            storage: target.and_then(|target| target.lane.as_ref()).and_then(|lane| StorageThread::start(lane, begun)),
            pid,
            ..ObservedLoad::afterwards(facts, point, before_ns)
        }
    }

    /// Of a load that was made before: what its loops counted is all that is known.
    pub fn afterwards(facts: &LoadFacts, point: LoadPoint, before_ns: u64) -> ObservedLoad {
        ObservedLoad {
            before_ns,
            sampler: None,
            status: None,
            storage: None,
            pid: None,
            loops: facts.loops,
            ends: Ends::of(facts),
            point,
            window: None,
            seconds: Seconds::default(),
            edges: (None, None),
            neighbours: (None, None),
            host: Vec::new(),
            storage_samples: Vec::new(),
        }
    }

    /// Looks at what was used before the load, whose own processes have `spent` so much.
    pub fn look_before(&mut self, spent: Option<Spent>) {
        self.edges.0 = Some(self.edge(spent, None, true));
        self.neighbours.0 = self.neighbours();
    }

    /// All processes, if anybody looks.
    fn neighbours(&self) -> Option<Neighbours> {
        self.sampler.is_some().then(Neighbours::look)
    }

    /// What was looked at where the window began and where it ended.
    pub fn edges(&self) -> Option<(Edge, Edge)> {
        self.edges.0.zip(self.edges.1)
    }

    /// Adds to a point how far its means can be trusted; what its seconds say against them.
    pub fn judge(&self, point: &mut Point, names: &Names) -> Vec<PointCaveat> {
        self.seconds.judge(point, names);
        let mut caveats = caveats::of_seconds(point, &self.seconds);
        if let Some(window) = &self.window {
            caveats.extend(caveats::of_range_at(point, &window.service(), "transactions"));
            caveats.extend(caveats::of_range_at(point, &window.response(), "responses"));
        }
        caveats
    }

    /// CPUs that a network lane used in the measured window.
    pub fn storage_cpus(&self) -> Option<f64> {
        let window = self.window.as_ref()?;
        let on_series = |ns: u64| self.before_ns.saturating_add(ns);
        storage::cpus(&self.storage_samples, &(on_series(window.start_ns)..on_series(window.end_ns)))
    }

    /// CPUs that programs kept busy in the measured window which are neither the load, nor its server, nor below them.
    pub fn program_cpus(&self) -> Option<f64> {
        let (Some(before), Some(after)) = &self.neighbours else { return None };
        let own: Vec<u32> = self.pid.into_iter().chain([std::process::id()]).collect();
        Some(after.programs_since(before, &own)).filter(|cpus| cpus.is_finite())
    }

    /// Adds a second of the measured window.
    fn measured(&mut self, tally: &Tally, names: &Names, around: &Around) {
        self.seconds.add(tally, names, around);
        self.host.extend(around.host.cloned());
        match &mut self.window {
            Some(window) => window.add(tally),
            None => self.window = Some(tally.clone()),
        }
    }

    /// What is looked at between two intervals; every thread of the server only where the window begins or ends.
    fn edge(&self, spent: Option<Spent>, server: Option<ServerSample>, with_threads: bool) -> Edge {
        let pid = self.pid.filter(|_| with_threads);
        Edge {
            spent,
            server: server.or_else(|| process(self.pid?, 0)),
            server_switches: pid.and_then(context_switches),
            server_wait: pid.and_then(cpu_wait),
        }
    }
}

impl Account for ObservedLoad {
    fn second(&mut self, second: &FollowedSecond<'_>, watcher: &mut dyn Watcher) -> Seen {
        let &FollowedSecond { tally, interval, .. } = second;
        let sample = self.sampler.as_mut().map(|sampler| sampler.sample(second.end_ns)).unwrap_or_default();
        let at_edge = self.ends.has_edge(tally.phase, tally.end_ns);
        if tally.phase == Phase::WarmUp {
            self.edges.0 = Some(self.edge(second.spent, sample.server, at_edge));
            self.neighbours.0 = at_edge.then(|| self.neighbours()).flatten().or(self.neighbours.0.take());
        }
        if tally.phase == Phase::Measure {
            let (before, after) = (self.edges.1.or(self.edges.0), self.edge(second.spent, sample.server, at_edge));
            self.edges.1 = Some(after);
            self.neighbours.1 = at_edge.then(|| self.neighbours()).flatten().or(self.neighbours.1.take());
            let edges = before.map(|before| (before, after));
            self.measured(tally, second.names, &Around { loops: self.loops, edges, host: sample.host.as_ref() });
        }
        let storage: Vec<StorageSample> = self.storage.iter().flat_map(StorageThread::told).collect();
        self.storage_samples.extend(storage.iter().cloned());
        let (host, server) = (sample.host.as_ref(), sample.server.as_ref());
        watcher.tell(Event::Interval { point: self.point, interval, host, server });
        let status = self.status.iter().flat_map(StatusThread::told).collect();
        Seen { host: sample.host, server: sample.server, device: None, status, storage }
    }
}

/// Looks at the host, at a local server, and at the device below the data of one that is ours.
fn sampler(target: Option<&OpenTarget>, pid: Option<u32>) -> Sampler {
    let sampler = Sampler::new(pid);
    match target.and_then(|target| target.server.as_ref()) {
        Some(server) => sampler.holding(&server.directory().data()),
        None => sampler,
    }
}

/// The account of a load on a server that may end meanwhile.
pub(super) struct Beside<'a> {
    pub target: &'a OpenTarget,
    pub observed: &'a mut ObservedLoad,
}

impl Account for Beside<'_> {
    fn second(&mut self, second: &FollowedSecond<'_>, watcher: &mut dyn Watcher) -> Seen {
        self.observed.second(second, watcher)
    }

    fn look(&mut self) -> Option<String> {
        let is_gone = self.target.server.as_ref().is_some_and(|server| !server.is_alive());
        is_gone.then(|| "the server ended during the run".to_owned())
    }

    fn explain(&self, why: String) -> String {
        with_epitaph(self.target, why)
    }
}
