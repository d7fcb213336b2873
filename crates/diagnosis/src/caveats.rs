//! Reasons not to trust a load point fully, found in its samples. Those that need no samples are found where the
//! point is summed up (`lab::caveats`).

use crate::Observed;
use crate::signals::{SWAPPED, Signals};
use plimsoll_model::Caveat;
use plimsoll_model::diagnosis::{Bottleneck, Diagnosis};
use plimsoll_model::number::duration;

/// The redo log has to be written over this often before the numbers include the cost of checkpoints.
const WRAPS: f64 = 2.0;
/// A load that takes longer than this to write the redo log over once hardly notices its end, seconds.
const MATTERS_WITHIN: f64 = 3600.0;
/// The age of the checkpoint, as a share of its maximum, at which pages are flushed as fast as changes make them
/// dirty.
const SETTLED_AGE: f64 = 0.6;
/// Share of a CPU's time for which a limit held a process back.
const STOPPED: f64 = 0.01;

/// What the samples of a load point say against it. `diagnosis` is of the same load point.
pub fn caveats(observed: &Observed<'_>, diagnosis: &Diagnosis) -> Vec<Caveat> {
    let signals = Signals::of(observed);
    let at = format!("at {}", observed.point.load.connections_in_words());
    let is_flushing = diagnosis.candidates.iter().any(|it| it.bottleneck == Bottleneck::PageFlush);
    let found = [
        too_short(&signals, &at).filter(|_| !is_flushing),
        throttled(&signals, &at),
        // Without the server's process, the host is only known to be that of the load generator.
        swapping(&signals, &at).filter(|_| !observed.server.is_empty()),
        rate_not_reached(&signals, &at),
    ];
    found.into_iter().flatten().collect()
}

fn too_short(signals: &Signals, at: &str) -> Option<Caveat> {
    let storage = &signals.storage;
    let (capacity, per_second) = (storage.redo_capacity?, storage.redo_written.filter(|rate| *rate > 0.0)?);
    let wrap_seconds = capacity / per_second;
    let wraps = signals.load.seconds / wrap_seconds;
    let is_settled = storage.checkpoint_age.is_some_and(|age| age >= SETTLED_AGE);
    if storage.changes <= 0.0 || is_settled || wraps >= WRAPS || wrap_seconds > MATTERS_WITHIN {
        return None;
    }
    let message = format!(
        "the redo log of {:.0} MB was written over {wraps:.2} times {at}, so the numbers hardly include the cost of \
         checkpoints; measure for {}, which is {WRAPS} times over, and compare only windows of the same length",
        capacity / 1e6,
        duration(WRAPS * wrap_seconds),
    );
    Some(Caveat::new("too_short", message))
}

fn throttled(signals: &Signals, at: &str) -> Option<Caveat> {
    let stopped = |group: &crate::signals::ControlGroup| group.stopped.unwrap_or(0.0);
    let (server, client) = (stopped(&signals.server.group), stopped(&signals.client.group));
    let (who, seconds) = match (server >= STOPPED, client >= STOPPED) {
        (true, true) => ("the server and the load generator", server.max(client)),
        (true, false) => ("the server", server),
        (false, true) => ("the load generator", client),
        (false, false) => return None,
    };
    let message = format!(
        "a control group held {who} back for {:.0} ms of each second {at}, so the numbers are those of its limit; raise it, \
         or compare only with measurements under the same limit",
        1e3 * seconds
    );
    Some(Caveat::new("throttled", message))
}

fn swapping(signals: &Signals, at: &str) -> Option<Caveat> {
    let bytes = signals.host.swapped_bytes.filter(|bytes| *bytes >= SWAPPED)?;
    let message = format!(
        "the host moved {:.1} MB a second to and from swap {at}: give the server less memory, or the host more",
        bytes / 1e6
    );
    Some(Caveat::new("swapping", message))
}

fn rate_not_reached(signals: &Signals, at: &str) -> Option<Caveat> {
    let load = &signals.load;
    let offered = load.rate_not_reached()?;
    let message = format!(
        "{offered:.0} transactions per second were offered and {:.0} were done {at}: response times grow for as long \
         as that goes on, so they reflect the length of the measurement; offer less",
        load.transactions_per_second
    );
    Some(Caveat::new("rate_not_reached", message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{ControlGroup, Host, LoadSignals, Server, StorageSignals};

    fn writing(redo_written: f64) -> Signals {
        let storage = StorageSignals {
            changes: 100.0,
            redo_written: Some(redo_written),
            redo_capacity: Some(1e9),
            checkpoint_age: Some(0.1),
            ..StorageSignals::default()
        };
        Signals { storage, load: LoadSignals { seconds: 60.0, ..LoadSignals::default() }, ..Signals::default() }
    }

    #[test]
    fn a_window_without_checkpoints_is_too_short() {
        let message = too_short(&writing(4e6), "at 8 connections").unwrap().message;
        assert!(message.contains("1000 MB was written over 0.24 times at 8 connections"), "{message}");
        assert!(message.contains("measure for 8 min 20 s, which is 2 times over"), "{message}");
        assert_eq!(too_short(&writing(40e6), ""), None, "2.4 times over");
        assert_eq!(too_short(&writing(1e4), ""), None, "it takes a day");
        assert_eq!(too_short(&writing(0.0), ""), None);
        let mut settled = writing(4e6);
        settled.storage.checkpoint_age = Some(0.8);
        assert_eq!(too_short(&settled, ""), None, "it flushes as fast as it writes");
    }

    #[test]
    fn limits_that_held_up_somebody_are_told() {
        let group = ControlGroup { stopped: Some(0.3), ..ControlGroup::default() };
        let mut signals = Signals { server: Server { group, ..Server::default() }, ..Signals::default() };
        assert!(
            throttled(&signals, "").unwrap().message.starts_with("a control group held the server back for 300 ms")
        );
        signals.client.group = group;
        assert!(throttled(&signals, "").unwrap().message.contains("the server and the load generator"));
        assert_eq!(throttled(&Signals::default(), ""), None);
    }

    #[test]
    fn swapping_is_told_but_not_a_page_of_it() {
        let host =
            |swapped| Signals { host: Host { swapped_bytes: Some(swapped), ..Host::default() }, ..Signals::default() };
        assert!(swapping(&host(5e6), "").unwrap().message.contains("5.0 MB"));
        assert_eq!(swapping(&host(4096.0), ""), None);
    }

    #[test]
    fn a_rate_that_was_not_carried_is_told_and_chance_is_not() {
        let load = |done| Signals {
            load: LoadSignals {
                seconds: 10.0,
                rate_offered: Some(300.0),
                transactions_per_second: done,
                ..LoadSignals::default()
            },
            ..Signals::default()
        };
        assert!(
            rate_not_reached(&load(250.0), "").unwrap().message.contains("300 transactions per second were offered")
        );
        assert_eq!(rate_not_reached(&load(290.0), ""), None);
        assert_eq!(rate_not_reached(&Signals { load: LoadSignals::default(), ..load(0.0) }, ""), None, "a closed loop");
        assert_eq!(rate_not_reached(&Signals::default(), ""), None);
    }

    #[test]
    fn times_are_in_units_that_people_use() {}
}
