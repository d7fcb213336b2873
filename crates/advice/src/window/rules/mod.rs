//! The rules, a row each: what it is called, to which step it belongs, and the function that judges. Each says nothing of a healthy
//! server, and has a row in `fixtures::SPEAKS`, a server of which it says something; a rule without one fails a test.

mod commits;
mod host;
mod machine;
mod needs;
mod pages;
mod statements;
mod switches;
mod threads;

use super::seen::SeenServer;
use super::{WindowFinding, WindowVerdict};
use plimsoll_model::Flavour;
use plimsoll_model::advice::{AdviceStep, Severity};
use plimsoll_plan::knowledge::Release;
use plimsoll_plan::knowledge::settings::facts;
use plimsoll_plan::knowledge::value::number;

/// A rule about a measured window.
pub struct WindowRule {
    pub id: &'static str,
    pub step: AdviceStep,
    pub judge: fn(&SeenServer) -> WindowVerdict,
}

const fn rule(id: &'static str, step: AdviceStep, judge: fn(&SeenServer) -> WindowVerdict) -> WindowRule {
    WindowRule { id, step, judge }
}

pub const RULES: [WindowRule; 43] = [
    rule("needs.latency", AdviceStep::Assess, needs::latency),
    rule("needs.recovery", AdviceStep::Assess, needs::recovery),
    rule("needs.replication", AdviceStep::Assess, needs::replication),
    rule("needs.isolation", AdviceStep::Assess, needs::isolation),
    rule("integrity.commits", AdviceStep::Assess, commits::integrity),
    rule("host.throttle", AdviceStep::Assess, machine::throttled),
    rule("host.governor", AdviceStep::Assess, host::governor),
    rule("redo.fsync-bound", AdviceStep::Io, commits::sync_bound),
    rule("redo.relaxed", AdviceStep::Io, commits::relaxed),
    rule("redo.group", AdviceStep::Io, commits::grouped),
    rule("redo.buffer", AdviceStep::Io, commits::log_buffer),
    rule("redo.small", AdviceStep::Io, pages::redo_small),
    rule("redo.writer-threads", AdviceStep::Io, switches::log_writers),
    rule("flush.furious", AdviceStep::Io, pages::furious),
    rule("flush.over", AdviceStep::Io, pages::eager),
    rule("flush.neighbors", AdviceStep::Io, host::neighbours),
    rule("dblwr.cost", AdviceStep::Io, switches::doublewrite),
    rule("io.method", AdviceStep::Io, pages::flush_method),
    rule("mem.pool-small", AdviceStep::Memory, pages::pool_small),
    rule("mem.wait-free", AdviceStep::Memory, pages::wait_free),
    rule("mem.too-much", AdviceStep::Memory, machine::memory),
    rule("host.thp", AdviceStep::Memory, host::huge_pages),
    rule("host.numa", AdviceStep::Memory, host::nodes),
    rule("conc.limit", AdviceStep::Memory, threads::limit),
    rule("conc.peak", AdviceStep::Memory, switches::crowd),
    rule("conc.max-used", AdviceStep::Memory, threads::connections),
    rule("conc.threads-created", AdviceStep::Memory, threads::created),
    rule("tc.overflow", AdviceStep::Memory, threads::table_cache),
    rule("sort.merge", AdviceStep::Memory, statements::sorts),
    rule("tmp.disk", AdviceStep::Memory, statements::temporary_tables),
    rule("cpu.ahi", AdviceStep::Memory, switches::hash_index),
    rule("pfs.cost", AdviceStep::Memory, switches::instruments),
    rule("qc.on", AdviceStep::Memory, switches::query_cache),
    rule("io.mount", AdviceStep::FileSystem, host::mount),
    rule("io.scheduler", AdviceStep::FileSystem, host::scheduler),
    rule("io.readahead", AdviceStep::FileSystem, host::read_ahead),
    rule("lock.rows", AdviceStep::Measure, statements::row_locks),
    rule("lock.deadlocks", AdviceStep::Measure, statements::deadlocks),
    rule("trx.history", AdviceStep::Measure, statements::history),
    rule("scan.rows", AdviceStep::Measure, statements::scans),
    rule("net.round-trips", AdviceStep::Measure, machine::network),
    rule("client.bound", AdviceStep::Measure, machine::client),
    rule("cpu.bound", AdviceStep::Measure, machine::cpu),
];

/// Below this share of the transactions' time, a cause is not worth a change.
const WORTH: f64 = 0.05;
/// From this share on, it is.
const MUCH: f64 = 0.2;
/// What no window shows, and what does.
const RECOVERY: &str = "how long recovery takes (a plan with `recovery = true` measures it)";

/// `512M`: bytes in the largest unit that divides them.
fn sized(bytes: f64) -> String {
    let units = [(1u64 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    let whole = bytes as u64;
    let unit = units.iter().find(|(size, _)| whole >= *size && whole.is_multiple_of(*size));
    unit.map_or_else(|| whole.to_string(), |(size, letter)| format!("{}{letter}", whole / size))
}

/// The setting of a release that sizes its redo log.
fn redo_setting(release: Release) -> &'static str {
    match release.flavour {
        Flavour::MySql if release.version >= (8, 0, 30) => "innodb_redo_log_capacity",
        _ => "innodb_log_file_size",
    }
}

/// The next power of two that is not smaller.
fn power_of_two(bytes: f64) -> f64 {
    2f64.powf(bytes.max(1.0).log2().ceil())
}

/// A value that is larger by a factor, within what the server accepts and what is sensible; none if it is there already.
fn larger(seen: &SeenServer, name: &str, factor: f64, most: f64) -> Option<String> {
    grown(seen, name, |now| now * factor, most)
}

/// The same, where `next` says how much larger.
fn grown(seen: &SeenServer, name: &str, next: impl FnOnce(f64) -> f64, most: f64) -> Option<String> {
    let now = seen.number(name)?;
    let facts = facts(name)?;
    let end = facts.accepts(seen.release)?.split_once("..").and_then(|(_, end)| number(end));
    let most = end.map_or(most, |end| end.min(most));
    let next = next(now).min(most);
    let written = if facts.unit.as_deref() == Some("bytes") { sized(next) } else { format!("{next:.0}") };
    (next > now).then_some(written)
}

/// Something that runs out so many times a second, and the setting that gives more of it.
struct RunsOut {
    setting: &'static str,
    /// The setting that has to be as large, where there is one: the smaller of both counts.
    bound_by: Option<&'static str>,
    factor: f64,
    /// What it begins with if it is 0 now.
    least: f64,
    /// The largest value that is sensible: one that is there is left alone.
    most: f64,
    /// So many a second are no reason yet.
    above: f64,
    severity: Severity,
    worth: f64,
    why: &'static str,
}

impl RunsOut {
    /// Judges a counter, of which `what` is the name; `found` says in words how fast it moved.
    fn judge(
        self,
        seen: &SeenServer,
        what: &'static str,
        per_second: Option<f64>,
        found: impl FnOnce(f64) -> String,
    ) -> WindowVerdict {
        let Some(per_second) = per_second else { return WindowVerdict::Unseen(what) };
        // A machine that swaps has no memory to give.
        if per_second <= self.above || seen.swaps() {
            return WindowVerdict::Fine;
        }
        let next = |now: f64| if now > 0.0 { now * self.factor } else { self.least };
        let Some(value) = grown(seen, self.setting, next, self.most) else { return WindowVerdict::Fine };
        let is_smaller = |bound: &&str| seen.number(bound).zip(number(&value)).is_some_and(|(bound, own)| bound < own);
        let settings = [Some(self.setting), self.bound_by.filter(is_smaller)];
        WindowVerdict::Found(WindowFinding {
            worth: self.worth,
            severity: self.severity,
            changes: settings.into_iter().flatten().map(|name| (name, value.clone())).collect(),
            found: found(per_second),
            advised: None,
            why: self.why.to_owned(),
        })
    }
}

#[cfg(test)]
pub(crate) mod fixtures {
    use super::super::seen::SeenMachine;
    use super::*;
    use plimsoll_model::diagnosis::Bottleneck;

    /// A healthy server: nothing waits, nothing overflows.
    pub(crate) fn healthy() -> SeenServer {
        let settings = [
            ("innodb_buffer_pool_size", "1073741824"),
            ("innodb_redo_log_capacity", "1073741824"),
            ("innodb_log_buffer_size", "67108864"),
            ("innodb_lru_scan_depth", "1024"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
            ("log_bin", "ON"),
            ("sync_binlog", "1"),
            ("sort_buffer_size", "262144"),
            ("tmp_table_size", "16777216"),
            ("max_heap_table_size", "16777216"),
            ("table_open_cache", "4000"),
            ("thread_cache_size", "9"),
            ("max_connections", "151"),
            ("transaction_isolation", "REPEATABLE-READ"),
            ("innodb_io_capacity", "200"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_flush_neighbors", "0"),
            ("innodb_adaptive_hash_index", "OFF"),
            ("innodb_log_writer_threads", "ON"),
            ("binlog_group_commit_sync_delay", "0"),
            ("performance_schema", "ON"),
        ];
        let mut seen = SeenServer {
            release: Release::parse("mysql-9.7").unwrap(),
            seconds: 30.0,
            is_here: true,
            signals: plimsoll_diagnosis::signals::Signals::default(),
            shares: [(Bottleneck::Cpu, 0.02)].into(),
            limit: None,
            settings: settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            counted: super::super::seen::SeenRates {
                log_waits: Some(0.0),
                sort_merge_passes: Some(0.0),
                tmp_tables: Some(0.0),
                tmp_disk_tables: Some(0.0),
                table_cache_overflows: Some(0.0),
                threads_created: Some(0.0),
                rows_read: Some(100.0),
                questions: Some(100.0),
                flushing_varies: Some(0.2),
                connected: Some(17.0),
                history: Some(500.0),
                history_grows: false,
            },
            memory_left: Some(8e9),
            machine: Some(SeenMachine {
                numa_nodes: Some(1),
                governors: vec!["performance".to_owned()],
                transparent_huge_pages: Some("madvise".to_owned()),
                filesystem: Some("ext4".to_owned()),
                mount_options: vec!["rw".to_owned(), "relatime".to_owned()],
                device: Some("nvme0n1".to_owned()),
                rotational: Some(false),
                scheduler: Some("none".to_owned()),
                read_ahead_bytes: Some(131_072),
            }),
            allowed: std::collections::BTreeSet::new(),
            needs: plimsoll_plan::lab::file::needs::Needs::default(),
            needed_ms: Some(5.0),
            recovered_seconds: Some(3.0),
        };
        seen.signals.storage.misses = Some(0.0);
        seen.signals.storage.free_waits = Some(0.0);
        seen.signals.storage.redo_written = Some(1e5);
        seen.signals.storage.checkpoint_age = Some(0.1);
        seen.signals.host.swapped_bytes = Some(0.0);
        seen.signals.host.memory_stalled = Some(0.0);
        seen.signals.host.cpus = Some(8.0);
        seen.signals.locks.deadlocks = Some(0.0);
        seen.signals.server.threads_running = Some(4.0);
        seen.signals.server.cpus_allowed = Some(8.0);
        seen.signals.storage.dirty = Some(0.1);
        seen.signals.storage.page_writes = Some(10.0);
        seen
    }

    /// What makes a rule speak of a healthy server.
    pub(crate) type Speaks = (&'static str, fn(&mut SeenServer));

    /// A case for each rule; [`healthy`] is that against it.
    pub(crate) const SPEAKS: [Speaks; RULES.len()] = [
        ("needs.latency", |seen| {
            seen.needs = needs("latency = \"p99 < 4ms\"");
        }),
        ("needs.recovery", |seen| {
            seen.needs = needs("recovery = \"2s\"");
        }),
        ("needs.replication", |seen| {
            seen.needs = needs("replication = true");
            set(seen, "log_bin", "OFF");
        }),
        ("needs.isolation", |seen| seen.needs = needs("isolation = \"READ-COMMITTED\"")),
        ("integrity.commits", |seen| set(seen, "innodb_flush_log_at_trx_commit", "2")),
        ("host.throttle", |seen| limit(seen, Bottleneck::Throttled)),
        ("host.governor", |seen| machine(seen).governors = vec!["powersave".to_owned()]),
        ("redo.fsync-bound", |seen| limit(seen, Bottleneck::CommitSync)),
        ("redo.relaxed", |seen| {
            limit(seen, Bottleneck::CommitSync);
            seen.allowed = [plimsoll_model::Class::D1].into();
        }),
        ("redo.group", |seen| {
            limit(seen, Bottleneck::CommitSync);
            (seen.signals.storage.commits, seen.signals.storage.syncs) = (110.0, Some(100.0));
            seen.signals.load.connections = 16.0;
        }),
        ("redo.buffer", |seen| seen.counted.log_waits = Some(3.0)),
        ("redo.small", |seen| {
            (seen.signals.storage.checkpoint_age, seen.signals.storage.redo_written) = (Some(0.9), Some(3e6));
        }),
        ("redo.writer-threads", |seen| limit(seen, Bottleneck::Cpu)),
        ("flush.furious", |seen| {
            (seen.counted.flushing_varies, seen.signals.storage.checkpoint_age) = (Some(1.5), Some(0.9));
        }),
        ("flush.over", |seen| {
            set(seen, "innodb_io_capacity", "10000");
            seen.signals.storage.page_writes = Some(8000.0);
        }),
        ("flush.neighbors", |seen| set(seen, "innodb_flush_neighbors", "1")),
        ("dblwr.cost", |seen| {
            limit(seen, Bottleneck::PageFlush);
            seen.allowed = [plimsoll_model::Class::D2].into();
        }),
        ("io.method", |seen| limit(seen, Bottleneck::ReadIo)),
        ("mem.pool-small", |seen| limit(seen, Bottleneck::ReadIo)),
        ("mem.wait-free", |seen| seen.signals.storage.free_waits = Some(12.0)),
        ("mem.too-much", |seen| seen.signals.host.swapped_bytes = Some(1e7)),
        ("host.thp", |seen| machine(seen).transparent_huge_pages = Some("always".to_owned())),
        ("host.numa", |seen| machine(seen).numa_nodes = Some(2)),
        ("conc.limit", |seen| {
            limit(seen, Bottleneck::Threads);
            let tickets = plimsoll_diagnosis::signals::TICKETS;
            seen.signals.server.thread_limit =
                Some(plimsoll_diagnosis::signals::ThreadLimit { setting: tickets, threads: 4.0 });
        }),
        ("conc.peak", |seen| {
            limit(seen, Bottleneck::Threads);
            seen.signals.server.threads_running = Some(100.0);
        }),
        ("conc.max-used", |seen| seen.counted.connected = Some(140.0)),
        ("conc.threads-created", |seen| seen.counted.threads_created = Some(40.0)),
        ("tc.overflow", |seen| seen.counted.table_cache_overflows = Some(2.0)),
        ("sort.merge", |seen| seen.counted.sort_merge_passes = Some(50.0)),
        ("tmp.disk", |seen| {
            (seen.counted.tmp_tables, seen.counted.tmp_disk_tables) = (Some(100.0), Some(20.0));
        }),
        ("cpu.ahi", |seen| limit(seen, Bottleneck::Cpu)),
        ("pfs.cost", |seen| limit(seen, Bottleneck::Cpu)),
        ("qc.on", |seen| {
            set(seen, "query_cache_type", "ON");
            set(seen, "query_cache_size", "1048576");
            seen.signals.storage.changes = 50.0;
        }),
        ("io.mount", |seen| machine(seen).mount_options.push("barrier=0".to_owned())),
        ("io.scheduler", |seen| machine(seen).scheduler = Some("mq-deadline".to_owned())),
        ("io.readahead", |seen| {
            limit(seen, Bottleneck::ReadIo);
            machine(seen).read_ahead_bytes = Some(4 << 20);
        }),
        ("lock.rows", |seen| limit(seen, Bottleneck::RowLocks)),
        ("lock.deadlocks", |seen| {
            (seen.signals.locks.deadlocks, seen.signals.storage.commits) = (Some(5.0), 1000.0);
        }),
        ("trx.history", |seen| seen.counted.history = Some(2e6)),
        ("scan.rows", |seen| seen.counted.rows_read = Some(1e6)),
        ("net.round-trips", |seen| limit(seen, Bottleneck::Network)),
        ("client.bound", |seen| limit(seen, Bottleneck::Client)),
        ("cpu.bound", |seen| limit(seen, Bottleneck::Cpu)),
    ];

    /// What was told of an application.
    pub(crate) fn needs(lines: &str) -> plimsoll_plan::lab::file::needs::Needs {
        plimsoll_plan::lab::file::needs::needs("needs.toml", &format!("[needs]\n{lines}\n")).expect("needs")
    }

    fn set(seen: &mut SeenServer, name: &str, value: &str) {
        seen.settings.insert(name.to_owned(), value.to_owned());
    }

    fn machine(seen: &mut SeenServer) -> &mut SeenMachine {
        seen.machine.as_mut().expect("a healthy server's is known")
    }

    fn limit(seen: &mut SeenServer, bottleneck: Bottleneck) {
        seen.shares = [(bottleneck, 0.7)].into();
        seen.limit = Some(bottleneck);
    }

    #[test]
    fn each_rule_speaks_of_a_server_that_it_is_for() {
        for (rule, (id, plant)) in RULES.iter().zip(SPEAKS) {
            assert_eq!(rule.id, id, "in the order of the rules");
            let mut seen = healthy();
            plant(&mut seen);
            assert!(matches!((rule.judge)(&seen), WindowVerdict::Found(_)), "{id} says nothing");
        }
    }

    /// What a setting should be is a value that it can have.
    #[test]
    fn what_is_proposed_is_accepted() {
        for (rule, (id, plant)) in RULES.iter().zip(SPEAKS) {
            let mut seen = healthy();
            plant(&mut seen);
            let WindowVerdict::Found(found) = (rule.judge)(&seen) else { continue };
            assert!(!found.changes.is_empty() || found.advised.is_some(), "{id}: there is nothing to do");
            for (name, value) in found.changes {
                assert!(facts(name).is_some(), "{id}: {name} is not known");
                assert!(plimsoll_plan::knowledge::number::refusal(name, &value).is_none(), "{id}: {name} = {value}");
                assert_ne!(seen.setting(name), Some(value.as_str()), "{id}: it is so already");
            }
        }
    }

    /// The same, limited by something.
    pub(crate) fn limited_by(bottleneck: Bottleneck) -> SeenServer {
        SeenServer { shares: [(bottleneck, 0.7)].into(), limit: Some(bottleneck), ..healthy() }
    }

    /// What the rule of this name says.
    pub(crate) fn says(id: &str, seen: &SeenServer) -> WindowVerdict {
        (RULES.iter().find(|rule| rule.id == id).expect("a rule").judge)(seen)
    }

    /// What it advises to change, all of it.
    pub(crate) fn changes(id: &str, seen: &SeenServer) -> Vec<(&'static str, String)> {
        match says(id, seen) {
            WindowVerdict::Found(found) => found.changes,
            _ => Vec::new(),
        }
    }

    /// The setting that it is about.
    pub(crate) fn change(id: &str, seen: &SeenServer) -> Option<(&'static str, String)> {
        changes(id, seen).into_iter().next()
    }

    #[test]
    fn a_healthy_server_is_left_alone() {
        for rule in &RULES {
            assert_eq!((rule.judge)(&healthy()), WindowVerdict::Fine, "{}", rule.id);
        }
    }

    #[test]
    fn sizes_are_written_as_in_option_files() {
        assert_eq!([sized(1073741824.0), sized(1536.0 * 1024.0), sized(1000.0)], ["1G", "1536K", "1000"]);
        assert_eq!(power_of_two(1e9), 1073741824.0);
    }
}
