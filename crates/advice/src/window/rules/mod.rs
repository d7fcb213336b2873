//! The rules, a row each: what it is called, to which step it belongs, and the function that judges. A rule that says nothing of a
//! window in which nothing is wrong, and something of one in which it is, has a case for each in its file's tests.

mod commits;
mod machine;
mod pages;
mod statements;
mod threads;

use super::seen::SeenServer;
use super::{WindowFinding, WindowVerdict};
use plimsoll_model::advice::{AdviceStep, Severity};
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

pub const RULES: [WindowRule; 17] = [
    rule("integrity.commits", AdviceStep::Assess, commits::integrity),
    rule("redo.fsync-bound", AdviceStep::Io, commits::sync_bound),
    rule("redo.buffer", AdviceStep::Io, commits::log_buffer),
    rule("redo.small", AdviceStep::Io, pages::redo_small),
    rule("mem.pool-small", AdviceStep::Memory, pages::pool_small),
    rule("mem.wait-free", AdviceStep::Memory, pages::wait_free),
    rule("conc.limit", AdviceStep::Memory, threads::limit),
    rule("conc.threads-created", AdviceStep::Memory, threads::created),
    rule("tc.overflow", AdviceStep::Memory, threads::table_cache),
    rule("lock.rows", AdviceStep::Measure, statements::row_locks),
    rule("sort.merge", AdviceStep::Memory, statements::sorts),
    rule("tmp.disk", AdviceStep::Memory, statements::temporary_tables),
    rule("mem.too-much", AdviceStep::Memory, machine::memory),
    rule("host.throttle", AdviceStep::Assess, machine::throttled),
    rule("net.round-trips", AdviceStep::Measure, machine::network),
    rule("client.bound", AdviceStep::Measure, machine::client),
    rule("cpu.bound", AdviceStep::Measure, machine::cpu),
];

/// Below this share of the transactions' time, a cause is not worth a change.
const WORTH: f64 = 0.05;
/// From this share on, it is.
const MUCH: f64 = 0.2;

/// `512M`: bytes in the largest unit that divides them.
fn sized(bytes: f64) -> String {
    let units = [(1u64 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    let whole = bytes as u64;
    let unit = units.iter().find(|(size, _)| whole >= *size && whole.is_multiple_of(*size));
    unit.map_or_else(|| whole.to_string(), |(size, letter)| format!("{}{letter}", whole / size))
}

/// The next power of two that is not smaller.
fn power_of_two(bytes: f64) -> f64 {
    2f64.powf(bytes.max(1.0).log2().ceil())
}

/// A value that is larger by a factor, within what the server accepts and what is sensible; none if it is there already.
fn larger(seen: &SeenServer, name: &str, factor: f64, most: f64) -> Option<String> {
    let now = seen.number(name)?;
    let facts = facts(name)?;
    let end = facts.accepts(seen.release)?.split_once("..").and_then(|(_, end)| number(end));
    let most = end.map_or(most, |end| end.min(most));
    let next = (now * factor).min(most);
    let written = if facts.unit.as_deref() == Some("bytes") { sized(next) } else { format!("{next:.0}") };
    (next > now).then_some(written)
}

/// Something that runs out so many times a second, and the setting that gives more of it.
struct RunsOut {
    setting: &'static str,
    factor: f64,
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
        if per_second <= self.above {
            return WindowVerdict::Fine;
        }
        let Some(value) = larger(seen, self.setting, self.factor, self.most) else { return WindowVerdict::Fine };
        WindowVerdict::Found(WindowFinding {
            worth: self.worth,
            severity: self.severity,
            change: Some((self.setting, value)),
            found: found(per_second),
            advised: None,
            why: self.why.to_owned(),
        })
    }
}

#[cfg(test)]
pub(crate) mod fixtures {
    use super::*;
    use plimsoll_model::diagnosis::Bottleneck;
    use plimsoll_plan::knowledge::Release;

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
        ];
        let mut seen = SeenServer {
            release: Release::parse("mysql-9.7").unwrap(),
            seconds: 30.0,
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
            },
            memory_left: Some(8e9),
        };
        seen.signals.storage.misses = Some(0.0);
        seen.signals.storage.free_waits = Some(0.0);
        seen.signals.storage.redo_written = Some(1e5);
        seen.signals.storage.checkpoint_age = Some(0.1);
        seen.signals.host.swapped_bytes = Some(0.0);
        seen.signals.host.memory_stalled = Some(0.0);
        seen
    }

    /// The same, limited by something.
    pub(crate) fn limited_by(bottleneck: Bottleneck) -> SeenServer {
        SeenServer { shares: [(bottleneck, 0.7)].into(), limit: Some(bottleneck), ..healthy() }
    }

    /// What the rule of this name says.
    pub(crate) fn says(id: &str, seen: &SeenServer) -> WindowVerdict {
        (RULES.iter().find(|rule| rule.id == id).expect("a rule").judge)(seen)
    }

    /// What it advises to change.
    pub(crate) fn change(id: &str, seen: &SeenServer) -> Option<(&'static str, String)> {
        match says(id, seen) {
            WindowVerdict::Found(found) => found.change,
            _ => None,
        }
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
