//! Settings that can be flipped on a running server: `SET GLOBAL` takes effect at once for all sessions, no session has
//! a value of its own, and nothing has to be built up or thrown away for it (MySQL 9.7 manual, "Server System Variables"
//! and "InnoDB System Variables"; MariaDB Knowledge Base, "Server System Variables" and "InnoDB System Variables").
//!
//! Sizes of memory are not here, though most can be set: a buffer pool that grows starts empty. Tests of the command line
//! set each of these on each server.

use super::normal;

const LIVE: [&str; 29] = [
    "innodb_adaptive_flushing",
    "innodb_adaptive_flushing_lwm",
    "innodb_adaptive_max_sleep_delay",
    "innodb_concurrency_tickets",
    "innodb_deadlock_detect",
    "innodb_fast_shutdown",
    "innodb_flush_log_at_timeout",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_neighbors",
    "innodb_flush_sync",
    "innodb_flushing_avg_loops",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_lru_scan_depth",
    "innodb_max_dirty_pages_pct",
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_max_purge_lag",
    "innodb_max_purge_lag_delay",
    "innodb_old_blocks_time",
    "innodb_purge_batch_size",
    "innodb_random_read_ahead",
    "innodb_read_ahead_threshold",
    "innodb_spin_wait_delay",
    "innodb_sync_spin_loops",
    "innodb_thread_concurrency",
    "innodb_thread_sleep_delay",
    "max_connect_errors",
    "sync_binlog",
    "thread_cache_size",
];

/// Whether it can be flipped on a running server.
pub fn is_live(name: &str) -> bool {
    LIVE.contains(&normal(name).as_str())
}

/// All of them, in their order.
pub fn live_settings() -> impl Iterator<Item = &'static str> {
    LIVE.into_iter()
}

/// The setting whose default depends on the value of this one, or on memory and connections: where sides that take turns differ
/// in `name`, only a value of their own gives it back to either of them (MySQL 9.7 manual, "InnoDB Startup Options and System
/// Variables": `innodb_io_capacity_max` is twice `innodb_io_capacity` if it is not given, and the largest number after
/// `SET GLOBAL … = DEFAULT`; "Server System Variables": `thread_cache_size`).
pub fn without_fixed_default(name: &str) -> Option<&'static str> {
    match normal(name).as_str() {
        "innodb_io_capacity" | "innodb_io_capacity_max" => Some("innodb_io_capacity_max"),
        "thread_cache_size" => Some("thread_cache_size"),
        _ => None,
    }
}
