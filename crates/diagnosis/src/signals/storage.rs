//! Pages read and written, and what a commit waited for.

use super::{gauge, mean, number};
use crate::Observed;
use plimsoll_model::samples::{HostSample, StatusSample};
use plimsoll_model::summary::{Operation, OperationKind};

/// What a sync of the log costs a device, in page writes: the write, the flush, and two of the file system's own
/// journal (ext4). With this number the verdict was right both where pages were made slow on purpose and where syncs
/// were.
const WRITES_OF_A_SYNC: f64 = 4.0;
/// Ages of the checkpoint, as shares of the recorded limit, from which on a server flushes early and at which it lets
/// no change go on: 76 % and 81 % of MySQL's capacity (9.7, its metrics `log_max_modified_age_async` and `_sync`), 7/8
/// and all of MariaDB's `Innodb_checkpoint_max_age`.
const AGES_OF_MYSQL: (f64, f64) = (0.76, 0.81);
const AGES_OF_MARIADB: (f64, f64) = (0.875, 1.0);

/// Storage in the window. Rates are per second; waiters are threads, on average over the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StorageSignals {
    /// Pages that were not in the buffer pool and were read for a statement.
    pub misses: Option<f64>,
    /// Threads that waited for a page to be read.
    pub read_waiters: Option<f64>,
    /// The field that this comes from.
    pub read_waiters_source: &'static str,
    /// Statements of the load that changed rows.
    pub changes: f64,
    /// Commits that have something to make durable: statements, if these commit by themselves.
    pub commits: f64,
    /// Transactions that were at their COMMIT, as the load generator saw it; `None` if statements commit by
    /// themselves.
    pub committing: Option<f64>,
    /// A commit is answered when its log is on stable storage; true if that is not known.
    pub syncs_at_commit: bool,
    /// Of the log, if they are counted separately, otherwise of all InnoDB files.
    pub syncs: Option<f64>,
    /// Share of the time in which the log was being synced, 0 to 1. For a server of this machine that does not report
    /// it, the share of seconds in which the devices that hold the data wrote and a task of the host waited for a
    /// device, which is an upper bound.
    pub syncing: Option<f64>,
    /// How long a sync of the redo log took, milliseconds; `None` for a server that does not report it.
    pub sync_ms: Option<f64>,
    /// Bytes.
    pub redo_written: Option<f64>,
    /// Bytes that the redo log holds before it is written over; the age that a checkpoint may have, if no more is
    /// known.
    pub redo_capacity: Option<f64>,
    /// Age of the checkpoint divided by its maximum, 95th percentile, 0 to 1.
    pub checkpoint_age: Option<f64>,
    /// How urgent the age made flushing, 0 to 1, on average.
    pub checkpoint_pressure: Option<f64>,
    /// Times a thread found no free page.
    pub free_waits: Option<f64>,
    /// Pages written to their places.
    pub page_writes: Option<f64>,
    /// Pages written to their places and to the doublewrite buffer per sync of the log.
    pub pages_per_sync: Option<f64>,
    /// Share of the time of a sync of the log that the pages written beside it take at the device that both share, 0 to
    /// 1, on average.
    pub behind_pages: Option<f64>,
    /// Share of dirty pages in the buffer pool, 0 to 1.
    pub dirty: Option<f64>,
}

impl StorageSignals {
    pub(super) fn of(observed: &Observed<'_>) -> StorageSignals {
        let lines = observed.status();
        let rate = |counter: fn(&StatusSample) -> Option<u64>| rate(&lines, counter);
        // Milliseconds of all threads per second, divided by 1000, are threads.
        let waiting = |timer: fn(&StatusSample) -> Option<u64>| rate(timer).map(|ms| ms / 1e3);
        let timed_reads = waiting(|line| line.page_read_ms).filter(|waiters| *waiters > 0.0);
        let (pages, syncs) = (rate(pages), rate(syncs));
        let (ages, committing) = (ages(&lines), committing(observed));
        let each_second = |count: u64| number(Some(count as f64 / observed.point.seconds)).unwrap_or(0.0);
        let changes = each_second(observed.point.statements.write);
        let commits =
            if committing.is_some() { changes.min(each_second(observed.point.transactions)) } else { changes };
        StorageSignals {
            misses: rate(|line| line.pool_reads),
            read_waiters: timed_reads.or(gauge(lines.iter().filter_map(|line| line.data_pending_reads))),
            read_waiters_source: if timed_reads.is_some() { "page_read_ms" } else { "data_pending_reads" },
            changes,
            commits,
            committing,
            syncs_at_commit: syncs_at_commit(observed),
            syncs,
            syncing: syncing(observed, &lines),
            sync_ms: sync_ms(&lines),
            redo_written: rate(|line| line.redo_written_bytes),
            redo_capacity: redo_capacity(observed, &lines),
            checkpoint_age: percentile_95(&ages),
            checkpoint_pressure: mean(ages.iter().map(|age| pressure(observed, *age))),
            free_waits: rate(|line| line.pool_wait_free),
            page_writes: rate(|line| line.pages_written),
            pages_per_sync: pages.zip(syncs).and_then(|(pages, syncs)| number(Some(pages / syncs))),
            behind_pages: behind_pages(observed, &lines),
            dirty: mean(lines.iter().filter_map(|line| Some(line.pages_dirty? as f64 / line.pages_total? as f64))),
        }
    }
}

/// How far a counter moved per second; `None` if no line has it.
pub fn rate(lines: &[&StatusSample], counter: fn(&StatusSample) -> Option<u64>) -> Option<f64> {
    let found = lines.iter().filter_map(|line| Some((counter(line)? as f64, line.seconds)));
    let (moved, seconds) = found.fold((0.0, 0.0), |(moved, seconds), line| (moved + line.0, seconds + line.1));
    number(Some(moved / seconds))
}

/// Little's law: the time of all COMMITs divided by that of the window. A BEGIN waits only for a round trip, which is
/// not part of it.
fn committing(observed: &Observed<'_>) -> Option<f64> {
    let point = observed.point;
    let statement = |name: &str| {
        let is_it = |it: &&Operation| it.kind == OperationKind::Statement && it.name.eq_ignore_ascii_case(name);
        point.operations.iter().find(is_it)
    };
    let commit = statement("commit")?;
    let round_trip_ms = statement("begin").and_then(|begin| begin.latency_ms.mean).unwrap_or(0.0);
    let each_ms = (commit.latency_ms.mean? - round_trip_ms).max(0.0);
    number(Some(commit.count as f64 * each_ms / 1e3 / point.seconds))
}

/// With 0 and 2 the log is synced once a second (MySQL and MariaDB, `innodb_flush_log_at_trx_commit`), but a binary log
/// may be synced all the same (`sync_binlog`).
fn syncs_at_commit(observed: &Observed<'_>) -> bool {
    let setting = |name: &str| observed.settings.get(name).map(|value| value.trim().to_ascii_lowercase());
    let has_lazy_log = matches!(setting("innodb_flush_log_at_trx_commit").as_deref(), Some("0" | "2"));
    let has_binlog = matches!(setting("log_bin").as_deref(), Some("on" | "1"));
    let syncs_binlog = setting("sync_binlog").is_some_and(|every| every == "1");
    !has_lazy_log || has_binlog && syncs_binlog
}

/// See [`StorageSignals::syncing`].
fn syncing(observed: &Observed<'_>, lines: &[&StatusSample]) -> Option<f64> {
    let timed = rate(lines, |line| Some(line.redo_sync_ms?.saturating_add(line.binlog_sync_ms.unwrap_or(0))));
    let is_blocked = |line: &&HostSample| line.processes_blocked > 0 && writes(line);
    let seen = || mean(observed.host().iter().map(|line| if is_blocked(line) { 1.0 } else { 0.0 }));
    // Without the server's process, the host is only known to be that of the load generator.
    let blocked = || if observed.server.is_empty() { None } else { seen() };
    timed.map(|ms| (ms / 1e3).min(1.0)).filter(|share| *share > 0.0).or_else(blocked)
}

/// See [`StorageSignals::sync_ms`].
fn sync_ms(lines: &[&StatusSample]) -> Option<f64> {
    let (ms, syncs) = (rate(lines, |line| line.redo_sync_ms)?, rate(lines, |line| line.log_fsyncs)?);
    number(Some(ms / syncs)).filter(|ms| *ms > 0.0)
}

/// Whether a device that holds the data wrote or was flushed; true if it is not known which device holds them. How busy
/// it was says nothing: whatever limits its rate holds requests back before they count.
fn writes(line: &HostSample) -> bool {
    let mut holding = line.devices.values().filter(|device| device.holds_data).peekable();
    holding.peek().is_none() || holding.any(|device| device.writes > 0 || device.flushes.is_some_and(|count| count > 0))
}

/// MySQL has had one setting for it since 8.0.30; before, like MariaDB still, it had files of one size.
fn redo_capacity(observed: &Observed<'_>, lines: &[&StatusSample]) -> Option<f64> {
    let setting = |name: &str| observed.settings.get(name)?.parse::<f64>().ok().filter(|bytes| *bytes > 0.0);
    let files = || Some(setting("innodb_log_file_size")? * setting("innodb_log_files_in_group").unwrap_or(1.0));
    let told = || lines.iter().find_map(|line| line.checkpoint_age_max_bytes).map(|bytes| bytes as f64);
    setting("innodb_redo_log_capacity").or_else(files).or_else(told).filter(|bytes| bytes.is_finite() && *bytes > 0.0)
}

/// Ages of the checkpoint divided by their maximum, line by line.
fn ages(lines: &[&StatusSample]) -> Vec<f64> {
    let share = |line: &&StatusSample| {
        let most = line.checkpoint_age_max_bytes.filter(|most| *most > 0)?;
        Some((line.checkpoint_age_bytes? as f64 / most as f64).min(1.0))
    };
    lines.iter().filter_map(share).collect()
}

/// See [`StorageSignals::checkpoint_pressure`]. Only MySQL has a setting for the capacity.
fn pressure(observed: &Observed<'_>, age: f64) -> f64 {
    let is_mysql = observed.settings.contains_key("innodb_redo_log_capacity");
    let (easy, hard) = if is_mysql { AGES_OF_MYSQL } else { AGES_OF_MARIADB };
    ((age - easy) / (hard - easy)).clamp(0.0, 1.0)
}

/// The nearest rank.
fn percentile_95(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() * 95).div_ceil(100).checked_sub(1)?).copied()
}

/// Pages written to their places and to the doublewrite buffer.
fn pages(line: &StatusSample) -> Option<u64> {
    Some(line.pages_written?.saturating_add(line.doublewrite_pages.unwrap_or(0)))
}

/// Of the log, if they are counted separately.
fn syncs(line: &StatusSample) -> Option<u64> {
    line.log_fsyncs.or(line.data_fsyncs)
}

/// See [`StorageSignals::behind_pages`]. A log that is stored elsewhere is assumed to have a device of its own.
fn behind_pages(observed: &Observed<'_>, lines: &[&StatusSample]) -> Option<f64> {
    let log = observed.settings.get("innodb_log_group_home_dir").map(String::as_str);
    if log.is_some_and(|log| !matches!(log, "" | "." | "./")) {
        return None;
    }
    let share = |line: &&StatusSample| {
        let (pages, syncs) = (pages(line)? as f64, syncs(line)? as f64);
        Some(if pages > 0.0 { pages / (pages + WRITES_OF_A_SYNC * syncs) } else { 0.0 })
    };
    mean(lines.iter().filter_map(share))
}
