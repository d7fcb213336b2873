//! The latest minutes of everything that is drawn.

use plimsoll_model::samples::{HostSample, Interval, Phase, ServerSample};
use std::collections::VecDeque;

/// How many seconds are kept.
const KEPT_SECONDS: f64 = 300.0;

/// The most points, whatever times a recording claims.
const MOST: usize = 1000;

/// An interval shorter than this, seconds, is the rest of a phase, not a second of it.
const PIECE: f64 = 0.5;

/// Points in time, seconds since the recording's start, and what was measured there.
pub type Points = VecDeque<(f64, f64)>;

/// Lines over the recording's time. Each has the last [`KEPT_SECONDS`], however long a recording is.
#[derive(Clone, Debug, Default)]
pub struct LiveSeries {
    /// Transactions (of storage: operations) per second.
    pub throughput: Points,
    /// Milliseconds; response times if there are due times.
    pub median: Points,
    pub p99: Points,
    /// CPUs busy: of the whole machine, the server's process, the load generator's threads.
    pub host: Points,
    pub server: Points,
    pub client: Points,
    /// Stretches of time that were measured, without warm-up and drain: from and to.
    pub measured: Points,
    /// The end of what is known, seconds since the recording's start.
    pub until: f64,
    /// The beginning of what was read; what came before is not known.
    since: Option<f64>,
    /// The server's CPU time so far, microseconds, and when.
    server_before: Option<(u64, u64)>,
}

impl LiveSeries {
    /// A second of load; the trial began `began` seconds after the recording.
    pub fn interval(&mut self, began: f64, interval: &Interval) {
        // The drain and a fraction of a second say nothing about the load.
        if interval.phase == Phase::Drain || interval.seconds < PIECE {
            return;
        }
        let at = began + interval.t_ns as f64 / 1e9;
        let latency = interval.response_ms.as_ref().unwrap_or(&interval.latency_ms);
        push(&mut self.throughput, at, Some(interval.transactions as f64 / interval.seconds));
        push(&mut self.median, at, latency.p50);
        push(&mut self.p99, at, latency.p99);
        push(&mut self.client, at, Some(interval.loop_cpu_us / 1e6 / interval.seconds));
        self.until = self.until.max(at + interval.seconds);
        self.since.get_or_insert(at);
        if interval.phase == Phase::Measure {
            match self.measured.back_mut().filter(|(_, to)| at - *to < 0.5) {
                Some((_, to)) => *to = at + interval.seconds,
                None => self.measured.push_back((at, at + interval.seconds)),
            }
            while self.measured.len() > MOST || self.measured.front().is_some_and(|(_, to)| at - to > KEPT_SECONDS) {
                self.measured.pop_front();
            }
        }
    }

    /// What the machine did since the previous sample.
    pub fn host(&mut self, began: f64, sample: &HostSample) {
        let at = began + sample.t_ns as f64 / 1e9 - sample.seconds;
        let cpus = sample.cores.len().max(1) as f64;
        push(&mut self.host, at, Some((sample.user + sample.system) * cpus));
    }

    /// What the server's process has used so far.
    pub fn server(&mut self, began: f64, sample: &ServerSample) {
        let now = (sample.t_ns, sample.cpu_us());
        if let Some((t_ns, cpu_us)) = self.server_before.replace(now)
            && now.0 > t_ns
            && now.1 >= cpu_us
        {
            let seconds = (now.0 - t_ns) as f64 / 1e9;
            push(&mut self.server, began + t_ns as f64 / 1e9, Some((now.1 - cpu_us) as f64 / 1e6 / seconds));
        }
    }

    /// The beginning of what is known and kept, seconds since the recording's start.
    pub fn from(&self) -> f64 {
        self.since.unwrap_or(0.0).max(self.until - KEPT_SECONDS)
    }

    /// Another trial begins, with counters of its own.
    pub fn next_trial(&mut self) {
        self.server_before = None;
    }
}

fn push(points: &mut Points, at: f64, value: Option<f64>) {
    let Some(value) = value.filter(|value| value.is_finite()) else { return };
    points.push_back((at, value));
    while points.len() > MOST || points.front().is_some_and(|(first, _)| at - first > KEPT_SECONDS) {
        points.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_minutes_are_kept() {
        let mut points = Points::new();
        for second in 0..10_000 {
            push(&mut points, f64::from(second), Some(1.0));
        }
        assert_eq!(points.len() as f64, KEPT_SECONDS + 1.0);
        push(&mut points, 10_000.0, None);
        push(&mut points, 10_000.0, Some(f64::NAN));
        assert_eq!(points.back(), Some(&(9_999.0, 1.0)));
    }

    #[test]
    fn a_servers_cpu_is_the_difference_of_its_counter() {
        let mut series = LiveSeries::default();
        let sample =
            |t: u64, cpu: u64| ServerSample { t_ns: t * 1_000_000_000, cpu_user_us: cpu, ..ServerSample::default() };
        series.server(10.0, &sample(1, 500_000));
        series.server(10.0, &sample(2, 2_000_000));
        series.next_trial();
        series.server(20.0, &sample(1, 0));
        assert_eq!(series.server, [(11.0, 1.5)]);
    }
}
