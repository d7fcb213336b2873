//! What is switched on or off: mostly where the server's CPUs or its latches limit. No counter says what that would bring, so that
//! it is only good to know until it is measured.

use super::super::{WindowFinding, WindowVerdict, share_words};
use super::{MUCH, SeenServer};
use WindowVerdict::{Fine, Found};
use plimsoll_model::Flavour;
use plimsoll_model::advice::Severity;
use plimsoll_model::diagnosis::Bottleneck;

/// Share of the time that such a change is taken to be worth.
const LITTLE: f64 = 0.05;
/// With fewer CPUs the threads that write the log take them from others; with more they bring something (MySQL manual,
/// `innodb_log_writer_threads`).
const FEW_CPUS: f64 = 16.0;
const MANY_CPUS: f64 = 32.0;
/// Statements under way for each CPU, from which on fewer at a time get more done.
const CROWD: f64 = 8.0;

/// Whether CPUs or latches limit.
fn computes(seen: &SeenServer) -> Option<Bottleneck> {
    seen.limit.filter(|limit| [Bottleneck::Cpu, Bottleneck::Threads].contains(limit))
}

fn try_out(seen: &SeenServer, limit: Bottleneck, name: &'static str, value: &str, why: &str) -> WindowVerdict {
    let now = seen.setting(name).unwrap_or_default();
    Found(WindowFinding {
        worth: LITTLE,
        severity: Severity::Info,
        found: format!("{}; {name} = {now}", share_words(seen, limit)),
        changes: vec![(name, value.to_owned())],
        advised: None,
        why: why.to_owned(),
    })
}

/// A setting that is on or off, the other way round.
fn flipped(seen: &SeenServer, name: &'static str, from: &str, to: &str, why: &str) -> WindowVerdict {
    match computes(seen).filter(|_| seen.setting(name) == Some(from)) {
        Some(limit) => try_out(seen, limit, name, to, why),
        None => Fine,
    }
}

pub fn hash_index(seen: &SeenServer) -> WindowVerdict {
    let why = "It saves steps of a search and costs a latch: which is more depends on the workload.";
    match flipped(seen, "innodb_adaptive_hash_index", "ON", "OFF", why) {
        Fine => flipped(seen, "innodb_adaptive_hash_index", "OFF", "ON", why),
        found => found,
    }
}

pub fn instruments(seen: &SeenServer) -> WindowVerdict {
    let why = "Every statement is counted in several places; who looks at that needs it.";
    flipped(seen, "performance_schema", "ON", "OFF", why)
}

pub fn log_writers(seen: &SeenServer) -> WindowVerdict {
    let Some(cpus) = seen.signals.host.cpus.filter(|_| seen.is_here) else {
        return WindowVerdict::Unseen("CPUs of the server’s machine");
    };
    let name = "innodb_log_writer_threads";
    match () {
        () if cpus <= FEW_CPUS => {
            flipped(seen, name, "ON", "OFF", "Threads that write the log need CPUs of their own.")
        }
        () if cpus >= MANY_CPUS => flipped(seen, name, "OFF", "ON", "Commits of many CPUs queue for whoever writes."),
        () => Fine,
    }
}

/// Far more statements are under way than there are CPUs.
pub fn crowd(seen: &SeenServer) -> WindowVerdict {
    let (Some(running), Some(cpus)) = (seen.signals.server.threads_running, seen.signals.server.cpus_allowed) else {
        return WindowVerdict::Unseen("statements under way, and the server’s CPUs");
    };
    let Some(limit) = computes(seen).filter(|_| running > CROWD * cpus) else { return Fine };
    let why = format!("{running:.0} statements share {cpus:.0} CPUs; they wait for each other instead of being done.");
    match seen.release.flavour {
        Flavour::MariaDb if seen.setting("thread_handling") == Some("one-thread-per-connection") => {
            try_out(seen, limit, "thread_handling", "pool-of-threads", &why)
        }
        _ => Found(WindowFinding {
            worth: LITTLE,
            severity: Severity::Info,
            changes: Vec::new(),
            found: share_words(seen, limit),
            advised: Some("let the application keep a pool of fewer connections".to_owned()),
            why,
        }),
    }
}

/// Each change of a table empties the query cache of it, under one latch.
pub fn query_cache(seen: &SeenServer) -> WindowVerdict {
    let is_on = seen.setting("query_cache_type").is_some_and(|value| value != "OFF");
    let has_room = seen.number("query_cache_size").is_some_and(|bytes| bytes > 0.0);
    let commits = seen.signals.storage.changes;
    if !is_on || !has_room || commits < 1.0 {
        return Fine;
    }
    Found(WindowFinding {
        worth: LITTLE,
        severity: Severity::Warn,
        changes: vec![("query_cache_type", "OFF".to_owned())],
        found: format!("the query cache is on, and {commits:.0} statements a second change rows"),
        advised: None,
        why: "Each change empties it of a table, and all statements wait for its latch.".to_owned(),
    })
}

/// Pages are written twice, where whoever asks could do without.
pub fn doublewrite(seen: &SeenServer) -> WindowVerdict {
    let share = seen.share(Bottleneck::PageFlush);
    let is_accepted = seen.allowed.contains(&plimsoll_model::Class::D2);
    if share < MUCH || !is_accepted || seen.setting("innodb_doublewrite") != Some("ON") {
        return Fine;
    }
    Found(WindowFinding {
        worth: share,
        severity: Severity::Warn,
        changes: vec![("innodb_doublewrite", "OFF".to_owned())],
        found: share_words(seen, Bottleneck::PageFlush),
        advised: None,
        why: "Every page is written twice; torn pages were said to be acceptable.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{change, limited_by, says};
    use super::*;

    #[test]
    fn switches_are_tried_only_where_cpus_limit() {
        let mut seen = limited_by(Bottleneck::Cpu);
        assert_eq!(change("cpu.ahi", &seen), Some(("innodb_adaptive_hash_index", "ON".to_owned())));
        seen.settings.insert("innodb_adaptive_hash_index".to_owned(), "ON".to_owned());
        assert_eq!(change("cpu.ahi", &seen), Some(("innodb_adaptive_hash_index", "OFF".to_owned())));
        seen.limit = Some(Bottleneck::CommitSync);
        assert_eq!(says("cpu.ahi", &seen), Fine);
    }

    #[test]
    fn the_cpus_that_count_are_those_of_the_servers_machine() {
        let mut seen = limited_by(Bottleneck::Cpu);
        assert_eq!(change("redo.writer-threads", &seen), Some(("innodb_log_writer_threads", "OFF".to_owned())));
        seen.is_here = false;
        assert!(matches!(says("redo.writer-threads", &seen), WindowVerdict::Unseen(_)));
    }

    #[test]
    fn a_crowd_is_pooled_where_the_server_can() {
        let mut seen = limited_by(Bottleneck::Threads);
        (seen.signals.server.threads_running, seen.signals.server.cpus_allowed) = (Some(100.0), Some(4.0));
        assert_eq!(change("conc.peak", &seen), None, "that is for the application to do");
        assert!(matches!(says("conc.peak", &seen), Found(_)));
        seen.release = plimsoll_plan::knowledge::Release::parse("mariadb-10.11").unwrap();
        seen.settings.insert("thread_handling".to_owned(), "one-thread-per-connection".to_owned());
        assert_eq!(change("conc.peak", &seen), Some(("thread_handling", "pool-of-threads".to_owned())));
        seen.signals.server.threads_running = Some(8.0);
        assert_eq!(says("conc.peak", &seen), Fine);
    }

    #[test]
    fn the_doublewrite_buffer_stays_unless_torn_pages_are_acceptable() {
        let mut seen = limited_by(Bottleneck::PageFlush);
        assert_eq!(says("dblwr.cost", &seen), Fine);
        seen.allowed = [plimsoll_model::Class::D2].into();
        assert_eq!(change("dblwr.cost", &seen), Some(("innodb_doublewrite", "OFF".to_owned())));
    }
}
