//! The sections of runs, some shared with labs, one file each: functions from what was recorded to a
//! [`Section`](crate::document::Section), or `None` if there is nothing to say.

pub mod agents;
pub mod caveats;
pub mod cost;
pub mod environment;
pub mod latency;
pub mod limit;
pub mod memory;
pub mod repeat;
pub mod settings;
pub mod storage_server;
pub mod timeline;

use crate::subject::{Recorded, Subject, Trial};
use plimsoll_model::diagnosis::Cost;

/// Names a trial among several: `32 connections`; in a lab `fc, 32 connections, round 2`.
pub fn label(trial: &Trial, recorded: &Recorded) -> String {
    let load = trial.load;
    match (&recorded.subject, recorded.trials.iter().any(|other| other.round > 1)) {
        (Subject::Run(_), _) => load.to_string(),
        (_, true) => format!("{}, {load}, round {}", trial.variant, trial.round),
        (_, false) => format!("{}, {load}", trial.variant),
    }
}

/// What a transaction cost: the mean over the trials where it is known.
pub fn mean_cost(trials: &[&Trial]) -> Cost {
    let mean = |pick: fn(&Cost) -> Option<f64>| {
        let known: Vec<f64> = trials.iter().filter_map(|trial| pick(&trial.cost)).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    Cost {
        client_cpu_us: mean(|cost| cost.client_cpu_us),
        server_cpu_us: mean(|cost| cost.server_cpu_us),
        reads: mean(|cost| cost.reads),
        writes: mean(|cost| cost.writes),
        read_kb: mean(|cost| cost.read_kb),
        written_kb: mean(|cost| cost.written_kb),
        read_share: mean(|cost| cost.read_share),
        request_kb: mean(|cost| cost.request_kb),
        fsyncs: mean(|cost| cost.fsyncs),
        context_switches: mean(|cost| cost.context_switches),
        host_cpu_us: mean(|cost| cost.host_cpu_us),
        storage_cpu_us: mean(|cost| cost.storage_cpu_us),
        storage_round_trips: mean(|cost| cost.storage_round_trips),
    }
}

/// `8 of 10 are shown; all are in the table.`; nothing if all are shown.
pub fn left_out(shown: usize, all: usize) -> Option<String> {
    (shown < all).then(|| format!("{shown} of {all} are shown; all are in the table."))
}

/// Of the judged trials of a variant, the one that carried most; `None` without any.
pub fn busiest<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Option<&'a Trial> {
    let rate = |trial: &Trial| {
        let point = trial.point.as_ref();
        point.and_then(|point| point.nopm.or(point.transactions_per_second)).unwrap_or(0.0)
    };
    let judged = trials.into_iter().filter(|trial| trial.diagnosis.is_some());
    // Of several that carried the same, the first.
    judged.reduce(|best, trial| if rate(trial) > rate(best) { trial } else { best })
}
