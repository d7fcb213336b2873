//! How long each phase of a trial may take before the watchdog ends it. All limits are generous: they end what hangs,
//! not what is slow.

use plimsoll_model::samples::Phase;
use plimsoll_plan::lab::{TrialRules, WarmUp};
use plimsoll_plan::plan::Measure;
use std::time::Duration;

/// A server that is up just before this is slow; one that is not has failed.
pub const START: Duration = Duration::from_secs(300);
/// An automatic warm-up ends by then, settled or not.
pub const WARM_UP: Duration = Duration::from_secs(600);
/// A command of the user's, unless it restores the data.
pub const COMMAND: Duration = Duration::from_secs(HOUR);
/// A storage evaluation, which knows how long it takes.
pub const STORAGE: Duration = Duration::from_secs(24 * HOUR);
/// How long a clean shutdown may flush before the server is killed.
pub const STOP: Duration = Duration::from_secs(600);

const HOUR: u64 = 3600;
/// What starting, stopping and checking add to a phase.
const MARGIN: Duration = Duration::from_secs(60);

/// How long `phase` may take.
pub fn of(rules: &TrialRules, phase: Phase) -> Duration {
    let (washout, block) = rules.switchback.map_or((0.0, 0.0), |rule| (rule.washout_seconds, rule.block_seconds));
    match phase {
        // Copying, or loading, may take hours.
        Phase::Restore => Duration::from_secs(24 * HOUR),
        // The server itself is given up earlier.
        Phase::Start => START + MARGIN,
        Phase::Verify | Phase::Recover => Duration::from_secs(HOUR),
        Phase::WarmUp => match rules.warmup {
            WarmUp::Seconds(seconds) => twice(seconds.max(washout)),
            WarmUp::Auto => WARM_UP + MARGIN,
        },
        Phase::Measure => match rules.measure {
            Measure::Seconds(seconds) => twice(seconds.max(block)),
            Measure::Events(_) | Measure::EventsPerConnection(_) => Duration::from_secs(24 * HOUR),
        },
        Phase::Flip | Phase::Drain => MARGIN,
        Phase::Collect => 5 * MARGIN,
        Phase::Stop => STOP + MARGIN,
        Phase::Pause => twice(rules.pause_seconds),
    }
}

fn twice(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(2.0 * seconds).unwrap_or_default() + MARGIN
}
