//! How long it takes after a fault until the server carries again what it carried before.

use super::backup::UntilDone;
use super::commit_file;
use super::look::AfterFault;
use crate::error::LabError;
use crate::load_point::Circumstances;
use crate::run::one_point;
use crate::trial::{UnderWay, is_interrupt};
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{CommitLog, LoggedCommit, Workload};
use plimsoll_model::samples::Phase;
use plimsoll_plan::RunPlan;
use plimsoll_plan::plan::Measure;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What a server carries is counted over this time, seconds.
const OVER_SECONDS: f64 = 0.5;
/// What it carried before is counted over this time at most, seconds.
const BEFORE_SECONDS: f64 = 2.0;
/// So much of that is all of it: no load is steady to a tenth within half a second.
const FULL: f64 = 0.9;
const LOOK: Duration = Duration::from_millis(10);
/// Sets what its connections draw apart from what they drew before.
const OF_THE_LOAD_AGAIN: u64 = 0xf0_11;

/// Loads the recovered server until it carries as much as before the fault, but no longer than the rules say. Seconds from
/// the beginning of that load to the beginning of the first half second that is full; none if that does not come, as under a load
/// that fails. It comes last: it changes rows whose state is evidence until it was looked at.
///
/// # Errors
/// If it is interrupted.
pub(super) fn back_to_full<W: Workload>(
    now: &mut UnderWay,
    target: &mut OpenTarget,
    after: &AfterFault<W>,
) -> Result<Option<f64>, LabError> {
    let longest = now.plan.crash.as_ref().map(|rules| rules.load_seconds);
    let Some((before, longest)) = rate_before(after.told, after.carried_until_ns).zip(longest) else { return Ok(None) };
    let plan =
        RunPlan { measure: Measure::Seconds(longest), seed: after.plan.seed ^ OF_THE_LOAD_AGAIN, ..after.plan.clone() };
    let log = Arc::new(CommitLog::new(commit_file(now.writer.directory())?));
    let circumstances = Circumstances { commits: Some(&log), ..now.circumstances(Some(Phase::Recover)) };
    let (is_over, is_done) = (AtomicBool::new(false), AtomicBool::new(false));
    let point = now.trial.point;
    let (loaded, full) = thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let full = first_full(&log, before, &is_over);
            is_done.store(true, Ordering::Release);
            full
        });
        let mut watch = UntilDone { inner: &mut now.watch, is_done: &is_done };
        let loaded = one_point(target, &plan, point, after.adapter, circumstances, &mut now.writer, &mut watch);
        is_over.store(true, Ordering::Release);
        (loaded, watching.join())
    });
    let is_ended = full.as_ref().is_ok_and(Option::is_some);
    match loaded {
        Err(error) if is_interrupt(&error) && !is_ended => return Err(error),
        _ if now.watch.interrupted_by_user() => return Err(LabError::Interrupted),
        _ => {}
    }
    Ok(full.unwrap_or_default())
}

/// Commits per second of all kinds just before this moment; none if there were none.
fn rate_before(told: &[LoggedCommit], until_ns: u64) -> Option<f64> {
    let first = told.iter().map(|commit| commit.t_ns).min()?;
    let over = (BEFORE_SECONDS * 1e9) as u64;
    let since = until_ns.saturating_sub(over).max(first);
    let count = told.iter().filter(|commit| (since..until_ns).contains(&commit.t_ns)).count();
    let seconds = until_ns.saturating_sub(since) as f64 / 1e9;
    (count > 0 && seconds > 0.0).then(|| count as f64 / seconds)
}

/// Looks at a log until it has as many commits in half a second as a `rate` says, or the load `is_over`.
fn first_full(log: &CommitLog, rate: f64, is_over: &AtomicBool) -> Option<f64> {
    let mut seen: Vec<Seen> = Vec::new();
    while !is_over.load(Ordering::Acquire) {
        let seconds = log.time_ns(Instant::now()) as f64 / 1e9;
        if seconds > 0.0 {
            seen.push(Seen { seconds, count: log.count() });
            if let Some(full) = full_since(&seen, rate) {
                return Some(full);
            }
        }
        thread::sleep(LOOK);
    }
    None
}

/// How many commits there were so far.
#[derive(Clone, Copy)]
struct Seen {
    seconds: f64,
    count: u64,
}

/// Since when it was full, if it was in the half second up to the last look.
fn full_since(seen: &[Seen], rate: f64) -> Option<f64> {
    let last = seen.last()?;
    let since = seen.iter().rev().find(|seen| last.seconds - seen.seconds >= OVER_SECONDS)?;
    let carried = (last.count - since.count) as f64 / (last.seconds - since.seconds);
    (carried >= FULL * rate).then_some(since.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(times_ms: impl Iterator<Item = u64>) -> Vec<LoggedCommit> {
        times_ms.map(|ms| LoggedCommit { connection: 0, number: ms, t_ns: ms * 1_000_000 }).collect()
    }

    #[test]
    fn the_rate_before_is_that_of_the_last_seconds() {
        let steady = told((0..3000).step_by(10));
        let rate = rate_before(&steady, 3_000_000_000).unwrap();
        assert!((rate - 100.0).abs() < 1.0, "{rate}");
        // One that had just begun has no two seconds.
        let rate = rate_before(&told((2500..3000).step_by(10)), 3_000_000_000).unwrap();
        assert!((rate - 100.0).abs() < 1.0, "{rate}");
        assert_eq!(rate_before(&[], 3_000_000_000), None);
        assert_eq!(rate_before(&told([5000].into_iter()), 3_000_000_000), None);
    }

    #[test]
    fn it_is_full_from_the_first_half_second_that_is() {
        // Nothing for a second, then 100 a second.
        let seen: Vec<Seen> = (0..300)
            .map(|look| f64::from(look) / 100.0)
            .map(|seconds| Seen { seconds, count: ((seconds - 1.0).max(0.0) * 100.0) as u64 })
            .collect();
        let first = (1..=seen.len()).find_map(|end| full_since(&seen[..end], 100.0)).unwrap();
        assert!((0.9..=1.05).contains(&first), "{first}");
        assert_eq!((1..=seen.len()).find_map(|end| full_since(&seen[..end], 200.0)), None);
    }
}
