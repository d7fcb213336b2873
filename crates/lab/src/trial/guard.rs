//! Ends a trial of a search at once when it does harm, or cannot succeed any more: memory, swap, errors, latency, disk.
//! What it says becomes the reason why the trial failed, and counts against the settings that it had.

use plimsoll_host::sample::disk_free;
use plimsoll_model::number::short;
use plimsoll_model::samples::{HostSample, Interval, Phase, ServerSample};
use plimsoll_plan::lab::{Objective, TuneRules};
use std::path::{Path, PathBuf};

/// Bytes that may go to swap while a trial runs: a machine moves a little at any time.
const MOST_SWAPPED: u64 = 64 << 20;
/// Of the machine's memory, what has to stay available.
const LEAST_AVAILABLE: f64 = 0.03;
/// Bytes that have to stay free where the data are.
const LEAST_FREE: u64 = 256 << 20;
/// Of all transactions, those that may fail, and for how many seconds in a row more may.
const MOST_FAILING: f64 = 0.05;
const SECONDS_FAILING: u32 = 3;
/// Deadlocks and lock waits, which are the load's and are tried again.
const EXPECTED: [u16; 2] = [1205, 1213];
/// A second is hopeless if it misses the limit by this factor, and so many of them in a row are enough.
const HOPELESS: f64 = 3.0;
const SECONDS_HOPELESS: u32 = 10;

/// What a trial is bounded by, and what was seen so far.
#[derive(Debug)]
pub struct TrialGuard {
    keep: Option<Objective>,
    /// Of the machine, bytes.
    memory: u64,
    data: Option<PathBuf>,
    swapped: u64,
    failing: u32,
    hopeless: u32,
    still: u32,
}

impl TrialGuard {
    /// `memory` is that of the machine, bytes.
    pub fn new(rules: &TuneRules, memory: u64) -> TrialGuard {
        // A rate at which a limit is missed shows where the line is, and nothing of the settings alone.
        let keep = rules.keep.clone().filter(|_| rules.line_within().is_none());
        TrialGuard { keep, memory, data: None, swapped: 0, failing: 0, hopeless: 0, still: 0 }
    }

    /// Where the data are from now on.
    pub fn watch_disk(&mut self, data: &Path) {
        self.data = Some(data.to_owned());
    }

    /// Why the trial is to end, after a second of its load.
    pub fn look(
        &mut self,
        interval: &Interval,
        host: Option<&HostSample>,
        server: Option<&ServerSample>,
    ) -> Option<String> {
        if !matches!(interval.phase, Phase::WarmUp | Phase::Measure) {
            return None;
        }
        let load = self.of_the_load(interval);
        let memory = host.and_then(|host| self.of_memory(host, server));
        let free = self.data.as_deref().and_then(|data| disk_free(data).ok());
        let disk = free
            .filter(|free| *free < LEAST_FREE)
            .map(|free| format!("{} MiB are free where its data are, and {} have to be", mib(free), mib(LEAST_FREE)));
        memory.or(disk).or(load)
    }

    fn of_memory(&mut self, host: &HostSample, server: Option<&ServerSample>) -> Option<String> {
        let memory = host.memory.as_ref()?;
        self.swapped = self.swapped.saturating_add(memory.swapped_out_bytes);
        let held =
            server.map_or(String::new(), |server| format!("; the server held {} MiB", mib(server.resident_bytes)));
        if self.swapped > MOST_SWAPPED {
            return Some(format!("the machine swapped: {} MiB went out{held}", mib(self.swapped)));
        }
        let least = (LEAST_AVAILABLE * self.memory as f64) as u64;
        (memory.available_bytes < least).then(|| {
            let left = mib(memory.available_bytes);
            format!("memory ran out: {left} MiB were available of {}{held}", mib(self.memory))
        })
    }

    fn of_the_load(&mut self, interval: &Interval) -> Option<String> {
        let failed: u64 =
            interval.errors.iter().filter(|(code, _)| !EXPECTED.contains(code)).map(|(_, count)| count).sum();
        let is_failing = failed as f64 > MOST_FAILING * (interval.transactions + failed) as f64;
        in_a_row(&mut self.failing, is_failing);
        in_a_row(&mut self.still, interval.transactions == 0 && interval.seconds > 0.5);
        let percentile = |keep: &Objective| {
            let known = interval.response_ms.unwrap_or(interval.latency_ms).known();
            known.into_iter().filter(|(share, _)| *share >= keep.quantile).find_map(|(_, ms)| ms)
        };
        let misses = self.keep.as_ref().and_then(|keep| Some((keep, percentile(keep)?)));
        let is_hopeless = misses.as_ref().is_some_and(|(keep, ms)| *ms > HOPELESS * keep.limit_ms);
        in_a_row(&mut self.hopeless, is_hopeless && interval.phase == Phase::Measure);
        if self.failing >= SECONDS_FAILING {
            let codes: Vec<String> = interval.errors.keys().map(u16::to_string).collect();
            return Some(format!("statements failed for {SECONDS_FAILING} s in a row: errors {}", codes.join(", ")));
        }
        if self.still >= SECONDS_HOPELESS {
            return Some(format!("no transaction ended for {SECONDS_HOPELESS} s"));
        }
        let (keep, _) = misses.filter(|_| self.hopeless >= SECONDS_HOPELESS)?;
        Some(format!("{} was missed by more than a factor of {HOPELESS} for {SECONDS_HOPELESS} s in a row", keep.text))
    }
}

/// Counts seconds in a row.
fn in_a_row(count: &mut u32, is_so: bool) {
    *count = if is_so { *count + 1 } else { 0 };
}

fn mib(bytes: u64) -> String {
    short(bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_load::tally::{Names, Tally};
    use plimsoll_load::window::SECOND_NS;
    use plimsoll_measures::summarise::interval;
    use plimsoll_model::samples::MemorySample;
    use plimsoll_model::summary::LatencyMs;

    fn guard(keep: Option<f64>) -> TrialGuard {
        let keep = keep.map(|limit_ms| Objective { text: "p99 < 20ms".to_owned(), quantile: 0.99, limit_ms });
        TrialGuard { keep, memory: 8 << 30, data: None, swapped: 0, failing: 0, hopeless: 0, still: 0 }
    }

    fn second(transactions: u64) -> Interval {
        let names = Names { transactions: &["pay"], statements: vec!["select"], counters: &[] };
        let mut tally = Tally::new(names.shape());
        (tally.phase, tally.end_ns) = (Phase::Measure, SECOND_NS);
        tally.counters.transactions = transactions;
        interval(&tally, &names, false)
    }

    /// The second after which it ends the trial, and why.
    fn ended(mut guard: TrialGuard, seconds: &[(Interval, Option<HostSample>)]) -> Option<(usize, String)> {
        let mut looks = seconds.iter().map(|(interval, host)| guard.look(interval, host.as_ref(), None));
        looks.by_ref().enumerate().find_map(|(at, why)| Some((at + 1, why?)))
    }

    fn host(available: u64, swapped_out: u64) -> Option<HostSample> {
        let memory =
            MemorySample { available_bytes: available, swapped_out_bytes: swapped_out, ..MemorySample::default() };
        Some(HostSample { memory: Some(memory), ..HostSample::default() })
    }

    #[test]
    fn a_trial_in_which_nothing_is_wrong_goes_on() {
        let fine = vec![(second(100), host(4 << 30, 1 << 20)); 60];
        assert_eq!(ended(guard(Some(20.0)), &fine), None);
    }

    #[test]
    fn swapping_ends_it_and_so_does_memory_that_runs_out() {
        let swaps = vec![(second(100), host(4 << 30, 20 << 20)); 9];
        let (at, why) = ended(guard(None), &swaps).expect("it ends");
        assert!(at == 4 && why.contains("swapped: 80"), "{at}: {why}");
        let full = vec![(second(100), host(100 << 20, 0))];
        assert!(ended(guard(None), &full).expect("it ends").1.contains("memory ran out: 100 MiB"));
    }

    #[test]
    fn errors_end_it_but_deadlocks_do_not() {
        let with = |code: u16| Interval { errors: [(code, 50)].into(), ..second(100) };
        assert_eq!(ended(guard(None), &vec![(with(1213), None); 20]), None);
        let (at, why) = ended(guard(None), &vec![(with(1114), None); 20]).expect("it ends");
        assert!(at == 3 && why.contains("1114"), "{at}: {why}");
        let now_and_then: Vec<_> =
            (0..20).map(|at| (if at % 3 == 0 { second(100) } else { with(1114) }, None)).collect();
        assert_eq!(ended(guard(None), &now_and_then), None);
    }

    #[test]
    fn a_limit_that_is_missed_by_far_and_for_long_ends_it() {
        let slow = |ms: f64| {
            let latency_ms = LatencyMs { p99: Some(ms), ..LatencyMs::default() };
            (Interval { latency_ms, ..second(100) }, None)
        };
        assert_eq!(ended(guard(Some(20.0)), &vec![slow(59.0); 60]), None, "that is for the whole to say");
        let (at, why) = ended(guard(Some(20.0)), &vec![slow(61.0); 60]).expect("it ends");
        assert!(at == 10 && why.contains("p99 < 20ms"), "{at}: {why}");
        assert_eq!(ended(guard(None), &vec![slow(61.0); 60]), None, "nothing has to hold");
        let (at, why) = ended(guard(None), &vec![(second(0), None); 60]).expect("it ends");
        assert!(at == 10 && why.contains("no transaction"), "{at}: {why}");
    }
}
