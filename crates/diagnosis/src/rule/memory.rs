//! Missing memory: pages that were evicted and are wanted again.

use super::{candidate, evidence, read_io, round};
use crate::signals::{SWAPPED, Signals};
use plimsoll_model::diagnosis::{Bottleneck, Candidate};
use plimsoll_model::number::whole_percent;

/// A group that uses this much of its limit has reached it: the kernel frees a little ahead.
const AT_LIMIT: f64 = 0.97;

/// Tasks wait for memory if a limit or swap takes from them what they want again. The time in which at least one of
/// them waits is an upper bound; the time in which all do, or in which transactions wait for pages to be read, is a
/// lower one (Linux, `Documentation/accounting/psi.rst`). A cache that fills what it may is no shortage, and if the
/// kernel reports only the whole host, another process may be the one that waits: so no more transactions are assumed
/// to wait than pages of the server had been evicted and were read again.
pub fn weigh(signals: &Signals) -> Option<Candidate> {
    let (server, host) = (&signals.server, &signals.host);
    let group = &server.group;
    let used = group.memory_bytes.zip(group.memory_limit_bytes.filter(|limit| *limit > 0.0));
    let used = used.map(|(bytes, limit)| bytes / limit).filter(|used| *used >= AT_LIMIT);
    let swapped = host.swapped_bytes.filter(|bytes| *bytes >= SWAPPED);
    let is_short = used.is_some() || swapped.is_some();
    let stalled = group.memory_stalled.or(host.memory_stalled).filter(|_| is_short)?;
    let again = group.refaults.unwrap_or(0.0) + server.major_faults.unwrap_or(0.0);
    let each = again / signals.load.transactions_per_second.max(f64::EPSILON);
    let least = read_io::weigh(signals).map_or(0.0, |reads| reads.share).max(host.memory_stalled_all.unwrap_or(0.0));
    let source = match group.memory_stalled {
        Some(_) => "server.ndjson: group.memory_stalled_us",
        None => "host.ndjson: pressure.memory",
    };
    let waited = format!("tasks waited for memory in {} of the time", whole_percent(stalled));
    let mut found = vec![evidence(waited, stalled, "1", source)];
    let mut add = |value: Option<f64>, unit: &str, source: &str, words: &dyn Fn(f64) -> String| {
        found.extend(value.map(|value| evidence(words(value), value, unit, source)));
    };
    add(Some(again), "1/s", "server.ndjson: group.refaults, major_faults", &|again| {
        format!("{} pages a second that had been evicted were read again", round(again))
    });
    add(used, "1", "server.ndjson: group.memory_bytes, group.memory_limit_bytes", &|used| {
        format!("the server’s control group used {} of the memory that it may use", whole_percent(used))
    });
    add(swapped, "B/s", "host.ndjson: memory.swapped_in_bytes, memory.swapped_out_bytes", &|bytes| {
        format!("{} MB a second went to and from swap", round(bytes / 1e6))
    });
    candidate(Bottleneck::Memory, stalled.min(least).min(each), found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::{ControlGroup, Host, LoadSignals, Server};

    /// 100 transactions per second, in a group of 100 bytes.
    fn signals(used: f64, swapped: f64, stalled: (f64, f64), again: f64) -> Signals {
        let group =
            ControlGroup { memory_bytes: Some(used), memory_limit_bytes: Some(100.0), ..ControlGroup::default() };
        let host = Host {
            memory_stalled: Some(stalled.0),
            memory_stalled_all: Some(stalled.1),
            swapped_bytes: Some(swapped),
            ..Host::default()
        };
        let server = Server { group, major_faults: Some(again), ..Server::default() };
        let load = LoadSignals { transactions_per_second: 100.0, in_flight: Some(16.0), ..LoadSignals::default() };
        Signals { server, host, load, ..Signals::default() }
    }

    fn share(signals: &Signals) -> f64 {
        weigh(signals).map_or(0.0, |found| found.share)
    }

    #[test]
    fn waiting_for_memory_counts_where_it_is_short() {
        assert_eq!(share(&signals(99.0, 0.0, (0.9, 0.7), 200.0)), 0.7);
        assert_eq!(share(&signals(50.0, 1e6, (0.9, 0.7), 200.0)), 0.7);
        assert_eq!(share(&signals(50.0, 0.0, (0.9, 0.7), 200.0)), 0.0, "somebody else waits");
        assert_eq!(share(&signals(99.0, 0.0, (0.0, 0.0), 200.0)), 0.0, "a cache fills what it may");
    }

    #[test]
    fn beside_a_neighbour_short_of_memory_slow_reads_are_slow_reads() {
        let mut beside = signals(99.0, 0.0, (0.9, 0.7), 1.0);
        beside.storage.misses = Some(300.0);
        beside.storage.read_waiters = Some(15.0);
        assert!(share(&beside) < 0.02, "its cache is full, and hardly anything is wanted again");
        beside.server.group.refaults = Some(900.0);
        assert_eq!(share(&beside), 0.9);
        beside.server.group.memory_stalled = Some(0.1);
        assert_eq!(share(&beside), 0.1, "its own waits are known");
    }

    #[test]
    fn without_a_kernel_that_tells_nothing_is_said() {
        assert_eq!(weigh(&Signals::default()), None);
    }
}
