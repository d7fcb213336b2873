//! The two sides of a network lane, once a second, while a load runs on it.

use plimsoll_lanes::Lane;
use plimsoll_lanes::sample::StorageSampler;
use plimsoll_model::samples::StorageSample;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(1);
/// Samples that may wait to be fetched. Further ones are lost rather than kept.
const WAITING: usize = 64;

/// A thread that samples a lane every second. It never delays the load: samples not fetched in time are lost.
#[derive(Debug)]
pub(crate) struct StorageThread {
    samples: Receiver<StorageSample>,
    /// Dropped to tell the thread to end.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StorageThread {
    /// Starts it, if it is a network lane; `begun` is the trial's start, from which the series counts.
    pub fn start(lane: &Lane, begun: Instant) -> Option<StorageThread> {
        let mut sampler = StorageSampler::of(lane)?;
        let (sender, samples) = mpsc::sync_channel(WAITING);
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("storage".into());
        // If no thread can be started, there are no samples.
        let thread = thread.spawn(move || follow(&mut sampler, begun, &sender, &stopped)).ok();
        Some(StorageThread { samples, stop: Some(stop), thread })
    }

    /// What was sampled since the last call.
    pub fn told(&self) -> impl Iterator<Item = StorageSample> {
        self.samples.try_iter()
    }
}

impl Drop for StorageThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If it panicked, the panic message said so.
            let _ = thread.join();
        }
    }
}

fn follow(sampler: &mut StorageSampler, begun: Instant, samples: &SyncSender<StorageSample>, stopped: &Receiver<()>) {
    let mut due = Instant::now() + EVERY;
    while stopped.recv_timeout(due.saturating_duration_since(Instant::now())) == Err(RecvTimeoutError::Timeout) {
        drop(samples.try_send(sampler.sample(begun.elapsed().as_nanos() as u64)));
        while due <= Instant::now() {
            due += EVERY;
        }
    }
}

/// CPUs that both sides and the link used in a window of the series (nanoseconds), over the time of the samples whose
/// middle lies in it; `None` without any.
pub(crate) fn cpus(samples: &[StorageSample], window: &Range<u64>) -> Option<f64> {
    let covers = |sample: &&StorageSample| {
        let half = Duration::try_from_secs_f64(sample.seconds / 2.0).unwrap_or_default();
        window.contains(&sample.t_ns.saturating_sub(half.as_nanos() as u64))
    };
    let of = |sample: &StorageSample| {
        let sides = [sample.server_cpu, sample.client_cpu, sample.link_cpu];
        let known: Option<f64> = sides.into_iter().flatten().reduce(|sum, cpus| sum + cpus);
        Some((known? * sample.seconds, sample.seconds))
    };
    let inside = samples.iter().filter(covers).filter_map(of);
    let (spent, seconds) = inside.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (seconds > 0.0).then(|| spent / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_lanes::{LaneProcess, LaneSide};

    fn lane(parts: Vec<LaneProcess>) -> Lane {
        Lane {
            name: "nbd".to_owned(),
            directory: "/no/such/lane/mount".into(),
            device: None,
            group: None,
            trigger: None,
            parts,
            server_device: None,
            operations: None,
            is_volatile: false,
        }
    }

    #[test]
    fn a_lane_without_a_network_is_not_watched() {
        assert!(StorageThread::start(&lane(Vec::new()), Instant::now()).is_none());
    }

    #[test]
    fn each_second_has_a_line_until_it_is_dropped() {
        let part = LaneProcess { side: LaneSide::Link, program: "plimsoll".to_owned(), pid: std::process::id() };
        let begun = Instant::now();
        let thread = StorageThread::start(&lane(vec![part]), begun).unwrap();
        let first = thread.samples.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(first.t_ns <= begun.elapsed().as_nanos() as u64 && first.seconds > 0.5, "{first:?}");
        assert!(first.link_cpu.is_some() && first.server_cpu.is_none(), "{first:?}");
        drop(thread);
    }

    #[test]
    fn the_sides_add_up_over_the_time_of_the_window() {
        let sample = |end: u64, server, client, seconds| StorageSample {
            t_ns: end * 1_000_000_000,
            seconds,
            server_cpu: server,
            client_cpu: client,
            ..StorageSample::default()
        };
        let samples = [
            sample(1, Some(8.0), None, 1.0),
            sample(2, Some(0.5), Some(0.25), 1.0),
            sample(5, Some(1.5), None, 3.0),
            sample(6, None, None, 1.0),
            sample(8, Some(8.0), None, 1.0),
        ];
        let window = 1_000_000_000..7_000_000_000;
        assert_eq!(cpus(&samples, &window), Some((0.75 + 4.5) / 4.0));
        assert_eq!(cpus(&samples[3..4], &window), None);
    }
}
