//! Threads, connections and the tables that they have open.

use super::super::{WindowFinding, WindowVerdict, share_words};
use super::{MUCH, RunsOut, SeenServer, larger};
use WindowVerdict::{Fine, Found};
use plimsoll_diagnosis::signals::TICKETS;
use plimsoll_model::advice::Severity;
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_model::number::short;

/// Threads made in a second from which on keeping them is worth it.
const MANY_THREADS: f64 = 1.0;
const MOST_THREADS: f64 = 1024.0;
/// Threads that are kept where none were.
const LEAST_THREADS: f64 = 16.0;
/// Share of the connections from which on the next ones may be refused.
const NEARLY: f64 = 0.85;
const MOST_CONNECTIONS: f64 = 10_000.0;
/// About what opening a table takes, seconds.
const OPENING: f64 = 1e-4;
const MOST_TABLES: f64 = 20_000.0;

/// Statements wait because the server lets only so many be worked on.
pub fn limit(seen: &SeenServer) -> WindowVerdict {
    let share = seen.share(Bottleneck::Threads);
    let Some(limit) = seen.signals.server.thread_limit.as_ref().filter(|_| share >= MUCH) else { return Fine };
    let change = match limit.setting {
        TICKETS => Some((TICKETS, "0".to_owned())),
        pool => larger(seen, pool, 2.0, MOST_THREADS).map(|threads| (pool, threads)),
    };
    let Some(change) = change else { return Fine };
    Found(WindowFinding {
        worth: share,
        severity: Severity::Warn,
        changes: vec![change],
        found: format!("{}; {} = {}", share_words(seen, Bottleneck::Threads), limit.setting, short(limit.threads)),
        advised: None,
        why: "Statements wait to be let in while CPUs and storage could do more.".to_owned(),
    })
}

/// Nearly as many are connected as may be.
pub fn connections(seen: &SeenServer) -> WindowVerdict {
    let (Some(connected), Some(most)) = (seen.counted.connected, seen.number("max_connections")) else {
        return WindowVerdict::Unseen("connections");
    };
    if connected <= NEARLY * most {
        return Fine;
    }
    let running = seen.signals.server.threads_running.unwrap_or(connected);
    let are_idle = running < connected / 4.0;
    // Each takes memory, even if it does nothing.
    let have_room = are_idle && !seen.swaps();
    let more = larger(seen, "max_connections", 1.5, MOST_CONNECTIONS).filter(|_| have_room);
    Found(WindowFinding {
        worth: 0.0,
        severity: Severity::Warn,
        found: format!("{} of {} connections are taken, {} at work", short(connected), short(most), short(running)),
        advised: more.is_none().then(|| "let the application keep a pool of fewer connections".to_owned()),
        changes: more.map(|more| ("max_connections", more)).into_iter().collect(),
        why: match are_idle {
            true => "The next clients are refused; most of those that are there do nothing.".to_owned(),
            false => {
                "The next clients are refused, and more of them at work would only wait for each other.".to_owned()
            }
        },
    })
}

/// Connections come and go, each with a thread of its own.
pub fn created(seen: &SeenServer) -> WindowVerdict {
    let threads = RunsOut {
        setting: "thread_cache_size",
        bound_by: None,
        factor: 4.0,
        least: LEAST_THREADS,
        most: MOST_THREADS,
        above: MANY_THREADS,
        severity: Severity::Info,
        worth: 0.0,
        why: "Each new connection waits for a thread; a pool of connections in the application avoids both.",
    };
    let found = |created| format!("{} threads were made a second", short(created));
    threads.judge(seen, "Threads_created", seen.counted.threads_created, found)
}

/// Tables are closed and opened again.
pub fn table_cache(seen: &SeenServer) -> WindowVerdict {
    let closed = seen.counted.table_cache_overflows;
    let tables = RunsOut {
        setting: "table_open_cache",
        bound_by: None,
        factor: 2.0,
        least: 0.0,
        most: MOST_TABLES,
        above: 0.0,
        severity: Severity::Warn,
        worth: (closed.unwrap_or(0.0) * OPENING / seen.signals.load.connections.max(1.0)).min(1.0),
        why: "Each session needs its own of every table that it uses; open_files_limit has to allow it.",
    };
    let found = |closed| format!("{} tables were closed a second to make room for others", short(closed));
    tables.judge(seen, "Table_open_cache_overflows", closed, found)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{change, healthy, limited_by, says};
    use super::*;
    use plimsoll_diagnosis::signals::ThreadLimit;

    #[test]
    fn a_limit_that_statements_wait_at_is_raised() {
        let mut seen = limited_by(Bottleneck::Threads);
        assert_eq!(says("conc.limit", &seen), Fine, "latches are no setting");
        seen.signals.server.thread_limit = Some(ThreadLimit { setting: TICKETS, threads: 4.0 });
        assert_eq!(change("conc.limit", &seen), Some((TICKETS, "0".to_owned())));
        seen.release = plimsoll_plan::knowledge::Release::parse("mariadb-11.8").unwrap();
        seen.settings.insert("thread_pool_size".to_owned(), "2".to_owned());
        seen.signals.server.thread_limit = Some(ThreadLimit { setting: "thread_pool_size", threads: 2.0 });
        assert_eq!(change("conc.limit", &seen), Some(("thread_pool_size", "4".to_owned())));
    }

    #[test]
    fn caches_that_overflow_grow_within_bounds() {
        let mut seen = healthy();
        seen.counted.threads_created = Some(40.0);
        seen.counted.table_cache_overflows = Some(2.0);
        assert_eq!(change("conc.threads-created", &seen), Some(("thread_cache_size", "36".to_owned())));
        assert_eq!(change("tc.overflow", &seen), Some(("table_open_cache", "8000".to_owned())));
        seen.settings.insert("table_open_cache".to_owned(), "20000".to_owned());
        assert_eq!(says("tc.overflow", &seen), Fine);
        seen.settings.insert("thread_cache_size".to_owned(), "0".to_owned());
        assert_eq!(change("conc.threads-created", &seen), Some(("thread_cache_size", "16".to_owned())));
    }

    #[test]
    fn more_connections_need_memory_and_a_reason() {
        let mut seen = healthy();
        seen.counted.connected = Some(140.0);
        seen.settings.insert("max_connections".to_owned(), "160".to_owned());
        assert_eq!(change("conc.max-used", &seen), Some(("max_connections", "240".to_owned())));
        seen.signals.host.swapped_bytes = Some(1e7);
        let Found(found) = says("conc.max-used", &seen) else { panic!() };
        assert!(found.changes.is_empty() && found.advised.is_some(), "a machine that swaps has no memory for them");
    }
}
