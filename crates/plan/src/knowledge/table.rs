//! The names: one row for each that no longer means what it says, with the version of each vendor since which that is
//! so.
//!
//! Sources: the lists of removed options in the vendors' manuals ("What Is New in MySQL 8.0" and "8.4", "MySQL Server
//! Version Reference", "Upgrading from MariaDB 10.4 to 10.5", "10.5 to 10.6", "10.11 to 11.0"), and what servers say: `mysqld --validate-config` of
//! 9.7, `mariadbd --verbose --help` of 10.11 and 11.8. MariaDB still takes many of the removed names and ignores them
//! with a line in its error log.

use super::{Version, is_off};
use Fate::{Multiplied, NotOurs, Removed, Renamed, Valued};

/// A name, maybe only with some values, since a version of each vendor.
pub(super) struct NameRow {
    pub(super) name: &'static str,
    pub(super) values: Values,
    /// `None`: nothing has happened to it with this vendor.
    pub(super) mysql: Option<Version>,
    pub(super) mariadb: Option<Version>,
    pub(super) fate: Fate,
}

/// The values that a row applies to.
#[derive(Clone, Copy)]
pub(super) enum Values {
    All,
    These(&'static [&'static str]),
    /// Names of files in directories.
    Paths,
    /// All but ON and OFF.
    Names,
}

impl Values {
    pub(super) fn include(self, value: &str) -> bool {
        let value = value.trim();
        match self {
            Values::All => true,
            Values::These(these) => these.iter().any(|this| this.eq_ignore_ascii_case(value)),
            Values::Paths => value.contains('/'),
            Values::Names => !is_off(value) && !["", "on", "true", "1"].contains(&value.to_ascii_lowercase().as_str()),
        }
    }
}

/// What became of a name.
pub(super) enum Fate {
    /// Gone, and what to do instead.
    Removed(&'static str),
    Renamed(&'static str),
    /// Renamed, and the value is in another unit.
    Multiplied(&'static str, u64),
    /// The name stays with this value, and why.
    Valued(&'static str, &'static str),
    /// Not to be set on a private server, and who decides it.
    NotOurs(&'static str),
}

/// Since the vendor's first server: it never had the name.
pub(super) const EVER: Version = (0, 0, 0);
const ALWAYS: Option<Version> = Some(EVER);
const NEVER: Option<Version> = None;

const fn v(major: u32, minor: u32, patch: u32) -> Option<Version> {
    Some((major, minor, patch))
}

const fn row(name: &'static str, mysql: Option<Version>, mariadb: Option<Version>, fate: Fate) -> NameRow {
    NameRow { name, values: Values::All, mysql, mariadb, fate }
}

const fn only(
    name: &'static str,
    values: Values,
    mysql: Option<Version>,
    mariadb: Option<Version>,
    fate: Fate,
) -> NameRow {
    NameRow { name, values, mysql, mariadb, fate }
}

const QUERY_CACHE: &str = "there is no longer a query cache; an application or a proxy may cache results";
const ONE_POOL: &str = "there is one buffer pool, flushed by one thread";
const NO_TICKETS: &str = "InnoDB no longer limits threads; thread_handling = pool-of-threads does";
const FILE_FORMAT: &str = "there is one file format";
const SCRUBBING: &str = "pages are no longer scrubbed";
const COMPRESSED: &str = "pages of compressed tables are no longer logged as a whole";
const SOCKET_ONLY: &str = "a private server is reached only over Plimsoll's own socket";
const PLACE: &str =
    "Plimsoll decides where files of a private server are stored; `datadir` of a variant names the storage";
const LAYOUT_REDO: &str = "`layout.redo` of a variant places the redo log";
pub(super) const CLIENT: &str = "an option of a client program";
const MYSQL_ONLY: &str = "only MySQL has it";
const MARIADB_ONLY: &str = "only MariaDB has it";
const DOUBLEWRITE: &str = "it tunes MySQL's doublewrite buffer; MariaDB's has a fixed size";

/// By theme. Of several rows for a name, the first that applies counts.
#[rustfmt::skip]
pub(super) const TABLE: &[NameRow] = &[
    // Names that changed.             MySQL          MariaDB
    row("innodb_autoextend_inc",       ALWAYS,        ALWAYS,        Renamed("innodb_autoextend_increment")),
    row("innodb_file_io_threads",      v(5, 5, 0),    v(5, 5, 0),    Renamed("innodb_read_io_threads")),
    row("innodb_log_file_size",        v(8, 0, 30),   NEVER,         Multiplied("innodb_redo_log_capacity", 2)),
    row("innodb_max_dirty_pages",      ALWAYS,        ALWAYS,        Renamed("innodb_max_dirty_pages_pct")),
    row("innodb_redo_log_capacity",    NEVER,         ALWAYS,        Renamed("innodb_log_file_size")),
    row("innodb_undo_logs",            v(8, 0, 0),    NEVER,         Renamed("innodb_rollback_segments")),
    row("innodb_use_native_io",        ALWAYS,        ALWAYS,        Renamed("innodb_use_native_aio")),
    row("binlog_group_commit_sync_delay", NEVER,      ALWAYS,        Renamed("binlog_commit_wait_usec")),
    row("binlog_group_commit_sync_no_delay_count", NEVER, ALWAYS,    Renamed("binlog_commit_wait_count")),
    row("binlog_commit_wait_usec",     ALWAYS,        NEVER,         Renamed("binlog_group_commit_sync_delay")),
    row("binlog_commit_wait_count",    ALWAYS,        NEVER,
        Renamed("binlog_group_commit_sync_no_delay_count")),
    row("log_bin_compress",            v(8, 0, 20),   NEVER,         Renamed("binlog_transaction_compression")),
    row("log_bin_compress",            ALWAYS,        NEVER,         Removed(MARIADB_ONLY)),
    row("binlog_transaction_compression", NEVER,      ALWAYS,        Renamed("log_bin_compress")),
    row("rpl_semi_sync_master_enabled", v(8, 0, 26),  NEVER,         Renamed("rpl_semi_sync_source_enabled")),
    row("rpl_semi_sync_master_timeout", v(8, 0, 26),  NEVER,         Renamed("rpl_semi_sync_source_timeout")),
    row("rpl_semi_sync_master_wait_point", v(8, 0, 26), NEVER,       Renamed("rpl_semi_sync_source_wait_point")),
    row("rpl_semi_sync_source_enabled", NEVER,        ALWAYS,        Renamed("rpl_semi_sync_master_enabled")),
    row("rpl_semi_sync_source_timeout", NEVER,        ALWAYS,        Renamed("rpl_semi_sync_master_timeout")),
    row("rpl_semi_sync_source_wait_point", NEVER,     ALWAYS,        Renamed("rpl_semi_sync_master_wait_point")),
    row("default_table_type",          v(5, 5, 0),    v(5, 5, 0),    Renamed("default_storage_engine")),
    row("storage_engine",              v(5, 7, 5),    ALWAYS,        Renamed("default_storage_engine")),
    row("table_type",                  v(5, 5, 0),    v(5, 5, 0),    Renamed("default_storage_engine")),
    row("expire_logs_days",            v(8, 2, 0),    NEVER,         Multiplied("binlog_expire_logs_seconds", 86_400)),
    row("key_buffer",                  ALWAYS,        ALWAYS,        Renamed("key_buffer_size")),
    row("log_slow_queries",            v(5, 6, 1),    v(10, 0, 0),   Renamed("slow_query_log")),
    row("record_buffer",               v(4, 0, 3),    ALWAYS,        Renamed("read_buffer_size")),
    row("replica_parallel_workers",    NEVER,         ALWAYS,        Renamed("slave_parallel_threads")),
    row("skip_locking",                v(5, 5, 3),    ALWAYS,        Renamed("skip_external_locking")),
    row("slave_parallel_threads",      v(8, 0, 26),   NEVER,         Renamed("replica_parallel_workers")),
    row("slave_parallel_threads",      ALWAYS,        NEVER,         Renamed("slave_parallel_workers")),
    row("sort_buffer",                 ALWAYS,        ALWAYS,        Renamed("sort_buffer_size")),
    row("table_cache",                 v(5, 1, 3),    v(5, 1, 3),    Renamed("table_open_cache")),
    row("thread_cache",                ALWAYS,        ALWAYS,        Renamed("thread_cache_size")),
    row("tmp_memory_table_size",       ALWAYS,        NEVER,         Renamed("tmp_table_size")),
    row("tx_isolation",                ALWAYS,        ALWAYS,        Renamed("transaction_isolation")),
    row("tx_read_only",                ALWAYS,        ALWAYS,        Renamed("transaction_read_only")),

    // Names that were removed.
    row("innodb_adaptive_max_sleep_delay", NEVER,     v(10, 6, 0),   Removed(NO_TICKETS)),
    row("innodb_additional_mem_pool_size", v(5, 7, 4), v(10, 2, 2),
        Removed("memory comes from the allocator")),
    row("innodb_buffer_pool_instances", NEVER,        v(10, 6, 0),   Removed(ONE_POOL)),
    row("innodb_change_buffer_max_size", NEVER,       v(11, 0, 0),
        Removed("there is no longer a change buffer")),
    row("innodb_change_buffering",     NEVER,         v(11, 0, 0),
        Removed("there is no longer a change buffer")),
    only("innodb_checksum_algorithm", Values::These(&["none", "innodb", "strict_none", "strict_innodb"]),
                                       NEVER,         v(10, 6, 0),
        Removed("this value is gone: pages have a crc32, which cannot be switched off")),
    row("innodb_checksums",            v(8, 0, 0),    v(10, 5, 0),
        Removed("innodb_checksum_algorithm says how pages are checked")),
    row("innodb_commit_concurrency",   NEVER,         v(10, 6, 0),   Removed(NO_TICKETS)),
    row("innodb_concurrency_tickets",  NEVER,         v(10, 6, 0),   Removed(NO_TICKETS)),
    row("innodb_file_format",          v(8, 0, 0),    v(10, 6, 0),   Removed(FILE_FORMAT)),
    row("innodb_file_format_check",    v(8, 0, 0),    v(10, 3, 1),   Removed(FILE_FORMAT)),
    row("innodb_file_format_max",      v(8, 0, 0),    v(10, 3, 1),   Removed(FILE_FORMAT)),
    row("innodb_idle_flush_pct",       NEVER,         v(10, 5, 0),
        Removed("innodb_io_capacity governs flushing while idle")),
    row("innodb_large_prefix",         v(8, 0, 0),    v(10, 6, 0),   Removed(FILE_FORMAT)),
    row("innodb_locks_unsafe_for_binlog", v(8, 0, 0), v(10, 5, 0),
        Removed("transaction_isolation = READ-COMMITTED locks just as little")),
    row("innodb_log_checksums",        NEVER,         v(10, 6, 0),
        Removed("the redo log is always checked")),
    row("innodb_log_compressed_pages", NEVER,         v(10, 6, 0),   Removed(COMPRESSED)),
    row("innodb_log_files_in_group",   v(8, 0, 30),   NEVER,
        Removed("innodb_redo_log_capacity is the size of all of them")),
    row("innodb_log_files_in_group",   NEVER,         v(10, 6, 0),
        Removed("there is one file, whose size is innodb_log_file_size")),
    row("innodb_mirrored_log_groups",  v(5, 7, 0),    v(10, 0, 0),
        Removed("there was only ever one group")),
    row("innodb_page_cleaners",        NEVER,         v(10, 6, 0),   Removed(ONE_POOL)),
    row("innodb_purge_rseg_truncate_frequency", NEVER, v(10, 6, 16),
        Removed("undo logs are truncated as purge proceeds")),
    row("innodb_rollback_segments",    NEVER,         v(10, 5, 0),   Removed("there are 128")),
    row("innodb_scrub_log",            ALWAYS,        v(10, 6, 0),   Removed(SCRUBBING)),
    row("innodb_stats_sample_pages",   v(8, 0, 0),    v(10, 5, 0),
        Removed("use innodb_stats_transient_sample_pages for statistics that are not persistent")),
    row("innodb_support_xa",           v(8, 0, 0),    v(10, 3, 0),
        Removed("two-phase commit cannot be switched off")),
    row("innodb_sync_array_size",      NEVER,         v(10, 6, 0),
        Removed("latches no longer wait in arrays")),
    row("innodb_thread_concurrency",   NEVER,         v(10, 6, 0),   Removed(NO_TICKETS)),
    row("innodb_thread_sleep_delay",   NEVER,         v(10, 6, 0),   Removed(NO_TICKETS)),
    row("innodb_undo_logs",            NEVER,         v(10, 6, 0),   Removed("there are 128")),
    row("innodb_undo_tablespaces",     v(8, 0, 14),   NEVER,
        Removed("CREATE UNDO TABLESPACE adds more than two")),
    row("innodb_use_sys_malloc",       v(5, 7, 4),    v(10, 2, 2),
        Removed("memory comes from the allocator")),
    row("character_set_client_handshake", v(8, 3, 0), NEVER,
        Removed("clients choose their character set")),
    row("date_format",                 v(8, 0, 3),    v(11, 3, 0),   Removed("it never did anything")),
    row("default_authentication_plugin", v(8, 4, 0),  NEVER,
        Removed("authentication_policy says how new accounts log in")),
    row("default_authentication_plugin", NEVER,       ALWAYS,
        Removed("accounts say how they log in themselves")),
    row("log_warnings",                v(8, 0, 3),    NEVER,         Removed("use log_error_verbosity")),
    row("metadata_locks_cache_size",   v(8, 0, 13),   NEVER,         Removed("it no longer did anything")),
    row("old_passwords",               v(8, 0, 11),   NEVER,
        Removed("accounts say how they log in themselves")),
    row("query_cache_limit",           v(8, 0, 3),    NEVER,         Removed(QUERY_CACHE)),
    row("query_cache_min_res_unit",    v(8, 0, 3),    NEVER,         Removed(QUERY_CACHE)),
    row("query_cache_size",            v(8, 0, 3),    NEVER,         Removed(QUERY_CACHE)),
    row("query_cache_type",            v(8, 0, 3),    NEVER,         Removed(QUERY_CACHE)),
    row("query_cache_wlock_invalidate", v(8, 0, 3),   NEVER,         Removed(QUERY_CACHE)),
    row("ssl",                         v(8, 4, 0),    NEVER,         Removed("tls_version = '' switches TLS off")),
    row("sync_frm",                    v(8, 0, 0),    NEVER,
        Removed("tables are described in the dictionary")),
    row("thread_concurrency",          v(5, 7, 2),    v(10, 5, 0),
        Removed("a hint that only Solaris followed")),

    // Names that only one vendor has.
    row("binlog_order_commits",        NEVER,         ALWAYS,        Removed(MYSQL_ONLY)),
    row("container_aware",             NEVER,         ALWAYS,        Removed(MYSQL_ONLY)),
    row("enforce_gtid_consistency",    NEVER,         ALWAYS,        Removed(MYSQL_ONLY)),
    row("gtid_mode",                   NEVER,         ALWAYS,
        Removed("MariaDB's transactions always have GTIDs")),
    row("innodb_ddl_buffer_size",      NEVER,         ALWAYS,        Removed(MYSQL_ONLY)),
    row("innodb_ddl_threads",          NEVER,         ALWAYS,        Removed(MYSQL_ONLY)),
    row("innodb_dedicated_server",     NEVER,         ALWAYS,
        Removed("set innodb_buffer_pool_size and innodb_log_file_size")),
    row("innodb_doublewrite_batch_size", NEVER,       ALWAYS,        Removed(DOUBLEWRITE)),
    row("innodb_doublewrite_files",    NEVER,         ALWAYS,        Removed(DOUBLEWRITE)),
    row("innodb_doublewrite_pages",    NEVER,         ALWAYS,        Removed(DOUBLEWRITE)),
    row("innodb_extend_and_initialize", NEVER,        ALWAYS,        Removed(MYSQL_ONLY)),
    row("innodb_fsync_threshold",      NEVER,         ALWAYS,        Removed(MYSQL_ONLY)),
    row("innodb_log_spin_cpu_abs_lwm", NEVER,         ALWAYS,        Removed(MYSQL_ONLY)),
    row("innodb_log_spin_cpu_pct_hwm", NEVER,         ALWAYS,        Removed(MYSQL_ONLY)),
    row("innodb_log_wait_for_flush_spin_hwm", NEVER,  ALWAYS,        Removed(MYSQL_ONLY)),
    row("innodb_log_writer_threads",   NEVER,         ALWAYS,
        Removed("the committing thread writes the log")),
    row("innodb_native_foreign_keys",  NEVER,         ALWAYS,
        Removed("InnoDB always enforces foreign keys itself")),
    row("innodb_parallel_read_threads", NEVER,        ALWAYS,        Removed(MYSQL_ONLY)),
    row("innodb_spin_wait_pause_multiplier", NEVER,   ALWAYS,
        Removed("innodb_spin_wait_delay alone decides how long")),
    row("innodb_use_fdatasync",        NEVER,         ALWAYS,
        Removed("MariaDB always uses fdatasync")),
    row("internal_tmp_mem_storage_engine", NEVER,     ALWAYS,
        Removed("temporary tables are MEMORY or Aria")),
    row("range_optimizer_max_mem_size", NEVER,        ALWAYS,        Removed("optimizer_max_sel_arg_weight limits it")),
    row("replica_preserve_commit_order", NEVER,       ALWAYS,        Removed("use slave_parallel_mode")),
    row("server_memory",               NEVER,         ALWAYS,        Removed(MYSQL_ONLY)),
    row("super_large_pages",           NEVER,         ALWAYS,        Removed(MYSQL_ONLY)),
    row("temptable_max_mmap",          NEVER,         ALWAYS,
        Removed("temporary tables are MEMORY or Aria")),
    row("temptable_max_ram",           NEVER,         ALWAYS,
        Removed("tmp_memory_table_size limits them in memory")),
    row("aria_pagecache_buffer_size",  ALWAYS,        NEVER,
        Removed("temporary tables on disk are InnoDB's")),
    row("binlog_file_cache_size",      ALWAYS,        NEVER,         Removed(MARIADB_ONLY)),
    row("extra_port",                  ALWAYS,        NEVER,         Removed("use admin_port")),
    row("innodb_data_file_buffering",  ALWAYS,        NEVER,         Removed("use innodb_flush_method")),
    row("innodb_linux_aio",            ALWAYS,        NEVER,         Removed("use innodb_use_native_aio")),
    row("innodb_log_file_buffering",   ALWAYS,        NEVER,         Removed("use innodb_flush_method")),
    row("innodb_log_file_mmap",        ALWAYS,        NEVER,         Removed(MARIADB_ONLY)),
    row("innodb_snapshot_isolation",   ALWAYS,        NEVER,         Removed(MARIADB_ONLY)),
    row("innodb_use_atomic_writes",    ALWAYS,        NEVER,
        Removed("use innodb_doublewrite = OFF if writes are atomic")),
    row("join_cache_level",            ALWAYS,        NEVER,         Removed(MARIADB_ONLY)),
    row("optimizer_use_condition_selectivity", ALWAYS, NEVER,        Removed(MARIADB_ONLY)),
    row("thread_pool_oversubscribe",   ALWAYS,        NEVER,
        Removed("MySQL's community edition has no thread pool")),
    row("thread_pool_size",            ALWAYS,        NEVER,
        Removed("MySQL's community edition has no thread pool")),
    row("thread_pool_stall_limit",     ALWAYS,        NEVER,
        Removed("MySQL's community edition has no thread pool")),

    // Names that are not set on a private server.
    only("innodb_data_file_path", Values::Paths, ALWAYS, ALWAYS,
        NotOurs("tables have files of their own; `layout.tables` of a variant places them")),
    only("log_bin", Values::Names,     ALWAYS,        ALWAYS,
        Valued("ON", "is on, and its files are with the data unless `layout.binlog` says otherwise")),
    row("basedir",                     ALWAYS,        ALWAYS,        NotOurs("`build` of a variant names the server")),
    row("bind_address",                ALWAYS,        ALWAYS,        NotOurs(SOCKET_ONLY)),
    row("datadir",                     ALWAYS,        ALWAYS,        NotOurs(PLACE)),
    row("innodb_data_home_dir",        ALWAYS,        ALWAYS,        NotOurs(PLACE)),
    row("innodb_doublewrite_dir",      ALWAYS,        ALWAYS,
        NotOurs("`layout.doublewrite` of a variant places it")),
    row("innodb_log_arch_dir",         ALWAYS,        ALWAYS,        NotOurs(LAYOUT_REDO)),
    row("innodb_log_group_home_dir",   ALWAYS,        ALWAYS,        NotOurs(LAYOUT_REDO)),
    row("innodb_temp_tablespaces_dir", ALWAYS,        ALWAYS,        NotOurs("`layout.tmp` of a variant places them")),
    row("innodb_tmpdir",               ALWAYS,        ALWAYS,        NotOurs("`layout.tmp` of a variant places them")),
    row("innodb_undo_directory",       ALWAYS,        ALWAYS,        NotOurs("`layout.undo` of a variant places it")),
    row("log_error",                   ALWAYS,        ALWAYS,        NotOurs("the recording keeps the error log")),
    row("no_auto_rehash",              ALWAYS,        ALWAYS,        NotOurs(CLIENT)),
    row("pid_file",                    ALWAYS,        ALWAYS,        NotOurs(PLACE)),
    row("port",                        ALWAYS,        ALWAYS,        NotOurs(SOCKET_ONLY)),
    row("quick",                       ALWAYS,        ALWAYS,        NotOurs(CLIENT)),
    row("secure_file_priv",            ALWAYS,        ALWAYS,        NotOurs(PLACE)),
    row("skip_networking",             ALWAYS,        ALWAYS,        NotOurs(SOCKET_ONLY)),
    row("socket",                      ALWAYS,        ALWAYS,        NotOurs(SOCKET_ONLY)),
    row("tmpdir",                      ALWAYS,        ALWAYS,
        NotOurs("`layout.tmp` of a variant places temporary files")),
    row("user",                        ALWAYS,        ALWAYS,
        NotOurs("a private server runs as whoever runs Plimsoll")),
];
