//! A server that others load, watched for a while: what advice looks at. It is asked SHOW and SET alone, and nothing on it changes.

use crate::error::LabError;
use crate::telemetry::status::StatusReader;
use plimsoll_data::target::OpenTarget;
use plimsoll_diagnosis::Observed;
use plimsoll_host::sample::Sampler;
use plimsoll_model::LoadPoint;
use plimsoll_model::samples::{HostSample, Interval, Phase, ServerSample, StatusSample};
use plimsoll_model::summary::{LatencyMs, Point, ReadWriteOther, ServerCost};
use plimsoll_watch::{Event, Watcher};
use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How often an interrupt is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// What was seen of a server.
pub struct WatchedServer {
    point: Point,
    intervals: Vec<Interval>,
    host: Vec<HostSample>,
    server: Vec<ServerSample>,
    status: Vec<StatusSample>,
    settings: BTreeMap<String, String>,
    /// Why it was not watched to the end.
    pub lost: Option<String>,
}

impl WatchedServer {
    /// What there is to judge.
    pub fn observed(&self) -> Observed<'_> {
        Observed {
            point: &self.point,
            intervals: &self.intervals,
            host: &self.host,
            server: &self.server,
            status: &self.status,
            storage: &[],
            settings: &self.settings,
        }
    }

    /// The directory of its data, if the server runs on this machine.
    pub fn directory(&self) -> Option<&Path> {
        self.settings.get("datadir").filter(|_| !self.server.is_empty()).map(Path::new)
    }

    /// What could not be seen, and what would show it.
    pub fn unseen(&self) -> Vec<String> {
        let elsewhere =
            "the server's machine: its CPUs, memory and disks; run Plimsoll there, over the server's socket";
        let metrics = "waits for files and the history list, which MySQL shows to who has PROCESS and SELECT on performance_schema";
        let lacks_metrics = self.status.iter().all(|line| line.history_length.is_none());
        let elsewhere = self.server.is_empty().then(|| elsewhere.to_owned());
        elsewhere.into_iter().chain(lacks_metrics.then(|| metrics.to_owned())).collect()
    }
}

/// Watches a server for `time`, looking every `interval`. An interrupt, and a server that is lost, end it early.
///
/// # Errors
/// If the server does not answer at all.
pub fn watch(
    target: &mut OpenTarget,
    time: Duration,
    interval: Duration,
    watcher: &mut dyn Watcher,
) -> Result<WatchedServer, LabError> {
    let asked = |failure| LabError::sql("asking the server what it counts", &failure);
    let rows = target.control.rows("SHOW GLOBAL VARIABLES").map_err(asked)?;
    let settings = rows.pairs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut reader = StatusReader::open(&target.endpoint).map_err(asked)?;
    let pid = target.control.peer_pid();
    let begun = Instant::now();
    let mut sampler = Sampler::new(pid);
    let mut watched = WatchedServer {
        point: Point::default(),
        intervals: Vec::new(),
        host: Vec::new(),
        server: Vec::new(),
        status: Vec::new(),
        settings,
        lost: None,
    };
    watched.server.extend(sampler.sample(0).server);
    let is_here = !watched.server.is_empty();
    let mut due = begun + interval;
    while begun.elapsed() < time {
        watcher.tell(Event::Doing("watching the server"));
        while Instant::now() < due && !watcher.interrupted() {
            thread::sleep(LOOK.min(due.saturating_duration_since(Instant::now())));
        }
        if watcher.interrupted() {
            watched.lost = Some("it was interrupted".to_owned());
            break;
        }
        let t_ns = begun.elapsed().as_nanos() as u64;
        match reader.sample(t_ns) {
            Ok(sample) => watched.status.push(sample),
            Err(failure) => {
                watched.lost = Some(format!("the server was lost: {failure}"));
                break;
            }
        }
        let sample = sampler.sample(t_ns);
        // Of a server elsewhere, this machine says nothing.
        watched.host.extend(sample.host.filter(|_| is_here));
        watched.server.extend(sample.server);
        due += interval;
    }
    watched.sum_up();
    Ok(watched)
}

impl WatchedServer {
    /// The load that others made, as a load point: what it took is known from how many statements were under way (Little's law).
    fn sum_up(&mut self) {
        let total =
            |of: fn(&StatusSample) -> Option<u64>| self.status.iter().filter_map(of).fold(0, u64::saturating_add);
        let mean = |of: fn(&StatusSample) -> Option<u64>| {
            let found: Vec<u64> = self.status.iter().filter_map(of).collect();
            found.iter().sum::<u64>() as f64 / found.len().max(1) as f64
        };
        let seconds: f64 = self.status.iter().map(|line| line.seconds).sum();
        let (questions, commits, writes) = (total(|l| l.questions), total(|l| l.commits), total(|l| l.writes));
        // Whoever commits has transactions; of others, each statement is one.
        let transactions = if commits > 0 { commits } else { questions };
        // Our own question is always under way when it is answered.
        let running = (mean(|line| line.threads_running) - 1.0).max(0.0);
        let latency = (transactions > 0).then(|| 1e3 * running * seconds / transactions as f64);
        let connections = mean(|line| line.threads_connected).round() as usize;
        self.point = Point {
            load: LoadPoint::closed(connections),
            seconds,
            transactions,
            queries: questions,
            statements: ReadWriteOther { write: writes, read: questions.saturating_sub(writes), other: 0 },
            latency_ms: LatencyMs { mean: latency.filter(|ms| *ms > 0.0), ..LatencyMs::default() },
            server: self.cost(seconds),
            ..Point::default()
        };
        self.intervals = self.status.iter().map(interval_of).collect();
    }

    /// What a local server used.
    fn cost(&self, seconds: f64) -> Option<ServerCost> {
        let (first, last) = (self.server.first()?, self.server.last()?);
        let used = last.cpu_us().saturating_sub(first.cpu_us()) as f64 / 1e6;
        let cpus_busy = (seconds > 0.0).then(|| used / seconds);
        Some(ServerCost { cpus_busy, resident_bytes: Some(last.resident_bytes), ..ServerCost::default() })
    }
}

/// The stretch that a sample covers, as a second of a load of which nothing else is known.
fn interval_of(line: &StatusSample) -> Interval {
    Interval {
        transactions: line.commits.unwrap_or(0),
        queries: line.questions.unwrap_or(0),
        ..Interval::empty(line.t_ns.saturating_sub((line.seconds * 1e9) as u64), Phase::Measure, line.seconds)
    }
}
