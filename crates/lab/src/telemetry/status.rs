//! The server's own counters, once a second over a separate connection; for private servers only, since other servers
//! are not to be queried every second.
//!
//! Only SHOW and SET are sent, so that none of it counts among the statements of the load.

use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, Failure};
use plimsoll_model::Flavour;
use plimsoll_model::samples::StatusSample;
use std::collections::HashMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const EVERY: Duration = Duration::from_secs(1);
/// A server that takes longer is asked again, over another connection.
const LIMIT: Duration = Duration::from_secs(5);
/// Samples that may wait to be fetched. Further ones are lost rather than kept.
const WAITING: usize = 64;

/// Time that threads waited for a kind of access to a kind of file, milliseconds.
macro_rules! file_wait {
    ($access:literal, $file:literal) => {
        concat!(
            "SELECT SUM_TIMER_",
            $access,
            " DIV 1000000000 FROM performance_schema.file_summary_by_event_name WHERE EVENT_NAME = 'wait/io/file/",
            $file,
            "'"
        )
    };
}

/// The status variables that are kept; no server has all of them.
const VARIABLES: [&str; 53] = [
    "Bytes_received",
    "Bytes_sent",
    "Com_commit",
    "Com_delete",
    "Com_delete_multi",
    "Com_insert",
    "Com_insert_select",
    "Com_replace",
    "Com_update",
    "Com_update_multi",
    "Created_tmp_disk_tables",
    "Created_tmp_tables",
    "Handler_read_first",
    "Handler_read_key",
    "Handler_read_last",
    "Handler_read_next",
    "Handler_read_prev",
    "Handler_read_rnd",
    "Handler_read_rnd_next",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_buffer_pool_pages_free",
    "Innodb_buffer_pool_pages_total",
    "Innodb_buffer_pool_read_ahead",
    "Innodb_buffer_pool_read_requests",
    "Innodb_buffer_pool_reads",
    "Innodb_buffer_pool_wait_free",
    "Innodb_checkpoint_age",
    "Innodb_checkpoint_max_age",
    "Innodb_data_fsyncs",
    "Innodb_data_pending_reads",
    "Innodb_data_read",
    "Innodb_data_written",
    "Innodb_dblwr_pages_written",
    "Innodb_deadlocks",
    "Innodb_history_list_length",
    "Innodb_log_waits",
    "Innodb_os_log_fsyncs",
    "Innodb_os_log_written",
    "Innodb_pages_read",
    "Innodb_pages_written",
    "Innodb_redo_log_capacity_resized",
    "Innodb_redo_log_checkpoint_lsn",
    "Innodb_redo_log_current_lsn",
    "Innodb_row_lock_current_waits",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Questions",
    "Sort_merge_passes",
    "Table_open_cache_overflows",
    "Threads_connected",
    "Threads_created",
    "Threads_running",
];

/// What MySQL keeps in tables instead: our name for it, which is not the end of another, and what finds the number.
/// Times are milliseconds (`performance_schema.file_summary_by_event_name` has picoseconds); a metric that is off, or
/// an event that is not timed, is left out or stays 0.
const METRICS: [(&str, &str); 5] = [
    ("deadlocks", "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'"),
    ("history", "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'"),
    ("page_read", file_wait!("READ", "innodb/innodb_data_file")),
    ("redo_sync", file_wait!("MISC", "innodb/innodb_log_file")),
    ("binary_sync", file_wait!("MISC", "sql/binlog")),
];

/// A SELECT would be counted (`Com_select`). SET is not: it turns the metrics into a text and converts that to a
/// number, and the warning that it is not a number returns the first 128 characters of the text.
fn ask_metrics() -> String {
    let texts = METRICS.map(|(name, query)| format!("CONCAT('{name}=', ({query}))"));
    format!("SET @plimsoll = CAST(CONCAT_WS(',', {}) AS SIGNED)", texts.join(", "))
}

fn connect(endpoint: &Endpoint) -> Result<Control, Failure> {
    let mut control = Control::open(endpoint)?;
    control.set_limit(LIMIT);
    Ok(control)
}

/// Asks one server again and again.
pub struct StatusReader {
    control: Control,
    ask: String,
    /// MySQL, as long as it has not refused.
    asks_metrics: bool,
    before: Reading,
}

impl StatusReader {
    /// Connects, and notes what was counted so far.
    ///
    /// # Errors
    /// If the server does not let us in or does not answer.
    pub fn open(endpoint: &Endpoint) -> Result<StatusReader, Failure> {
        let control = connect(endpoint)?;
        let ask = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ('{}')", VARIABLES.join("', '"));
        let before = Reading { taken: Instant::now(), found: HashMap::new() };
        let asks_metrics = control.flavour() == Flavour::MySql;
        let mut reader = StatusReader { control, ask, asks_metrics, before };
        reader.before = reader.read()?;
        Ok(reader)
    }

    /// What was counted since the previous sample.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn sample(&mut self, t_ns: u64) -> Result<StatusSample, Failure> {
        let now = self.read()?;
        let sample = now.since(&self.before, t_ns);
        self.before = now;
        Ok(sample)
    }

    fn read(&mut self) -> Result<Reading, Failure> {
        let rows = self.control.rows(&self.ask)?;
        let number = |(name, value): (&str, &str)| Some((name.to_owned(), value.parse().ok()?));
        let mut found: HashMap<String, u64> = rows.pairs().filter_map(number).collect();
        if self.asks_metrics {
            match self.metrics() {
                Ok(metrics) => found.extend(metrics),
                Err(Failure::Server(_)) => self.asks_metrics = false,
                Err(failure) => return Err(failure),
            }
        }
        Ok(Reading { taken: Instant::now(), found })
    }

    fn metrics(&mut self) -> Result<Vec<(String, u64)>, Failure> {
        self.control.run(&ask_metrics())?;
        let warnings = self.control.rows("SHOW WARNINGS")?;
        let text: String = warnings.rows.iter().filter_map(|row| row.last()?.clone()).collect();
        Ok(METRICS.into_iter().filter_map(|(name, _)| Some((name.to_owned(), told(&text, name)?))).collect())
    }
}

/// The number after `name=` in a text of any language.
fn told(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(&format!("{name}="))?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// What a server had counted at one moment, by the name of the variable.
#[derive(Clone, Debug)]
struct Reading {
    taken: Instant,
    found: HashMap<String, u64>,
}

impl Reading {
    fn since(&self, before: &Reading, t_ns: u64) -> StatusSample {
        let now = |name: &str| self.found.get(name).copied();
        let counted = |name: &str| Some(now(name)?.saturating_sub(*before.found.get(name)?));
        let age = || now("Innodb_redo_log_current_lsn")?.checked_sub(now("Innodb_redo_log_checkpoint_lsn")?);
        let is_write = |name: &&str| name.starts_with("Com_") && *name != "Com_commit";
        let writes = VARIABLES.into_iter().filter(is_write);
        let handler_reads = VARIABLES.into_iter().filter(|name| name.starts_with("Handler_read_"));
        StatusSample {
            t_ns,
            seconds: self.taken.duration_since(before.taken).as_secs_f64(),
            questions: counted("Questions"),
            commits: counted("Com_commit"),
            writes: writes.filter_map(counted).reduce(u64::saturating_add),
            bytes_received: counted("Bytes_received"),
            bytes_sent: counted("Bytes_sent"),
            threads_running: now("Threads_running"),
            threads_connected: now("Threads_connected"),
            threads_created: counted("Threads_created"),
            handler_reads: handler_reads.filter_map(counted).reduce(u64::saturating_add),
            tmp_tables: counted("Created_tmp_tables"),
            tmp_disk_tables: counted("Created_tmp_disk_tables"),
            sort_merge_passes: counted("Sort_merge_passes"),
            table_cache_overflows: counted("Table_open_cache_overflows"),
            pool_read_requests: counted("Innodb_buffer_pool_read_requests"),
            pool_reads: counted("Innodb_buffer_pool_reads"),
            pool_read_ahead: counted("Innodb_buffer_pool_read_ahead"),
            pool_wait_free: counted("Innodb_buffer_pool_wait_free"),
            pages_total: now("Innodb_buffer_pool_pages_total"),
            pages_free: now("Innodb_buffer_pool_pages_free"),
            pages_dirty: now("Innodb_buffer_pool_pages_dirty"),
            pages_read: counted("Innodb_pages_read"),
            pages_written: counted("Innodb_pages_written"),
            pages_flushed: counted("Innodb_buffer_pool_pages_flushed"),
            doublewrite_pages: counted("Innodb_dblwr_pages_written"),
            data_read_bytes: counted("Innodb_data_read"),
            data_written_bytes: counted("Innodb_data_written"),
            data_fsyncs: counted("Innodb_data_fsyncs"),
            log_fsyncs: counted("Innodb_os_log_fsyncs"),
            redo_written_bytes: counted("Innodb_os_log_written"),
            data_pending_reads: now("Innodb_data_pending_reads"),
            page_read_ms: counted("page_read"),
            redo_sync_ms: counted("redo_sync"),
            binlog_sync_ms: counted("binary_sync"),
            log_waits: counted("Innodb_log_waits"),
            checkpoint_age_bytes: now("Innodb_checkpoint_age").or_else(age),
            checkpoint_age_max_bytes: now("Innodb_checkpoint_max_age").or(now("Innodb_redo_log_capacity_resized")),
            row_lock_waits: counted("Innodb_row_lock_waits"),
            row_lock_ms: counted("Innodb_row_lock_time"),
            row_lock_waiting: now("Innodb_row_lock_current_waits"),
            deadlocks: counted("Innodb_deadlocks").or_else(|| counted("deadlocks")),
            history_length: now("Innodb_history_list_length").or(now("history")),
        }
    }
}

/// A thread that asks a server every second, as long as the server is there. It never delays the load: samples
/// that are not fetched in time are lost, and a second that took too long is left out.
#[derive(Debug)]
pub(crate) struct StatusThread {
    samples: Receiver<StatusSample>,
    /// Dropped to tell the thread to end.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StatusThread {
    /// Starts it; `begun` is the trial's start, from which the series counts.
    pub fn start(endpoint: &Endpoint, begun: Instant) -> StatusThread {
        let (sender, samples) = mpsc::sync_channel(WAITING);
        let (stop, stopped) = mpsc::channel();
        let endpoint = endpoint.clone();
        let thread = thread::Builder::new().name("status".into());
        // If no thread can be started, there are no samples.
        let thread = thread.spawn(move || follow(&endpoint, begun, &sender, &stopped)).ok();
        StatusThread { samples, stop: Some(stop), thread }
    }

    /// What was sampled since the last call.
    pub fn told(&self) -> impl Iterator<Item = StatusSample> {
        self.samples.try_iter()
    }
}

impl Drop for StatusThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If it panicked, the panic message said so.
            let _ = thread.join();
        }
    }
}

fn follow(endpoint: &Endpoint, begun: Instant, samples: &SyncSender<StatusSample>, stopped: &Receiver<()>) {
    let Ok(mut reader) = StatusReader::open(endpoint) else { return };
    let mut due = Instant::now() + EVERY;
    while stopped.recv_timeout(due.saturating_duration_since(Instant::now())) == Err(RecvTimeoutError::Timeout) {
        match reader.sample(begun.elapsed().as_nanos() as u64) {
            Ok(sample) => drop(samples.try_send(sample)),
            // Its counters go on, so the next sample covers the time in between.
            Err(Failure::Silent(_) | Failure::Endless { .. }) => match connect(endpoint) {
                Ok(control) => reader.control = control,
                Err(_) => return,
            },
            Err(_) => return,
        }
        while due <= Instant::now() {
            due += EVERY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn reading(taken: Instant, value: u64, without: &[&str]) -> Reading {
        let metrics = METRICS.map(|(name, _)| name);
        let names = VARIABLES.into_iter().chain(metrics).filter(|name| !without.contains(name));
        Reading { taken, found: names.map(|name| (name.to_owned(), value)).collect() }
    }

    const OF_MYSQL: [&str; 9] = [
        "Innodb_redo_log_capacity_resized",
        "Innodb_redo_log_checkpoint_lsn",
        "Innodb_redo_log_current_lsn",
        "Innodb_os_log_fsyncs",
        "deadlocks",
        "history",
        "page_read",
        "redo_sync",
        "binary_sync",
    ];
    const OF_MARIADB: [&str; 4] =
        ["Innodb_checkpoint_age", "Innodb_checkpoint_max_age", "Innodb_deadlocks", "Innodb_history_list_length"];

    #[test]
    fn both_servers_fill_the_same_fields() {
        let then = Instant::now();
        let now = then + Duration::from_secs(2);
        let nulls = |without: &[&str]| {
            let sample = reading(now, 7, without).since(&reading(then, 5, without), 9);
            let json = serde_json::to_value(sample).unwrap();
            let fields = json.as_object().unwrap().clone();
            let nulls = fields.into_iter().filter(|(_, value)| value.is_null());
            nulls.map(|(name, _)| name).collect::<BTreeSet<_>>()
        };
        assert!(nulls(&OF_MARIADB).is_empty(), "MySQL tells everything");
        let untold = ["binlog_sync_ms", "log_fsyncs", "page_read_ms", "redo_sync_ms"];
        assert_eq!(nulls(&OF_MYSQL), BTreeSet::from(untold.map(String::from)), "MariaDB does not count those");
    }

    #[test]
    fn counters_are_moved_and_gauges_are_as_they_are() {
        let then = Instant::now();
        let now = then + Duration::from_secs(2);
        let mut after = reading(now, 7, &OF_MARIADB);
        after.found.insert("Innodb_redo_log_current_lsn".into(), 1000);
        after.found.insert("Questions".into(), 3);
        let sample = after.since(&reading(then, 5, &OF_MARIADB), 9);
        assert_eq!((sample.t_ns, sample.commits, sample.threads_running), (9, Some(2), Some(7)));
        assert_eq!((sample.checkpoint_age_bytes, sample.handler_reads), (Some(993), Some(14)));
        assert_eq!(sample.questions, Some(0), "a server that was restarted counts from 0");
        assert!((sample.seconds - 2.0).abs() < 0.1);
    }

    #[test]
    fn metrics_come_back_in_a_warning() {
        let text = "Truncated incorrect INTEGER value: 'deadlocks=3,history=31,redo_sync=7'";
        assert_eq!((told(text, "deadlocks"), told(text, "history")), (Some(3), Some(31)));
        assert_eq!((told(text, "redo_sync"), told(text, "binary_sync")), (Some(7), None));
        assert_eq!(told("deadlocks=", "deadlocks"), None);
        let longest: usize = METRICS.iter().map(|(name, _)| name.len() + "=1234567890,".len()).sum();
        assert!(longest <= 128, "a warning holds that much, milliseconds of four months among them: {longest}");
    }

    proptest! {
        #[test]
        fn no_warning_is_a_reason_to_stop(text in "(\\PC{0,9}(deadlocks=)?[0-9]{0,30}){0,4}") {
            let _ = told(&text, "deadlocks");
        }
    }
}
