//! The values: what each costs in safety.
//!
//! A class says what is in effect, not what is usual: without a binary log nothing can be recovered to a point in time,
//! although that is MariaDB's default and private servers run that way. A comparison looks at how its variants differ.

use super::{is_off, normal, unswitched};
use Class::{A, D0, D1, D1p, D2, D3, D4, I};
use plimsoll_model::durability::Risks;
use plimsoll_model::{Class, Flavour};
use std::collections::BTreeMap;

/// Values that cost something, and what they cost.
struct Cost {
    name: &'static str,
    values: Values,
    classes: &'static [Class],
}

enum Values {
    All,
    On,
    Off,
    These(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

impl Values {
    fn include(&self, value: &str) -> bool {
        let among = |these: &[&str]| these.iter().any(|this| this.eq_ignore_ascii_case(value));
        match self {
            Values::All => true,
            Values::On => !is_off(value),
            Values::Off => is_off(value),
            Values::These(these) => among(these),
            Values::AllBut(these) => !among(these),
        }
    }
}

const fn cost(name: &'static str, values: Values, classes: &'static [Class]) -> Cost {
    Cost { name, values, classes }
}

/// Sources: the vendors' manuals on each variable. `O_DIRECT_NO_FSYNC` leaves data pages in the write cache of the
/// storage, which loses them with the power unless the cache is protected (MySQL manual, `innodb_flush_method`).
/// MariaDB's `innodb_doublewrite = fast` does not synchronise the data files after a doublewrite.
#[rustfmt::skip]
const COSTS: &[Cost] = &[
    // What a commit survives.
    cost("innodb_flush_log_at_trx_commit", Values::These(&["0"]),                      &[D1p]),
    cost("innodb_flush_log_at_trx_commit", Values::These(&["2"]),                      &[D1]),
    cost("rocksdb_flush_log_at_trx_commit", Values::AllBut(&["1"]),                    &[D1]),
    cost("innodb_flush_method",            Values::These(&["nosync", "littlesync"]),   &[D1, D2]),
    cost("innodb_flush_method",            Values::These(&["O_DIRECT_NO_FSYNC"]),      &[D1]),
    cost("debug_no_sync",                  Values::On,                                 &[D1, D2]),
    cost("sync_binlog",                    Values::AllBut(&["1"]),                     &[D1, D4]),

    // What a page survives.
    cost("innodb_doublewrite",             Values::Off,                                &[D2]),
    cost("innodb_doublewrite",             Values::These(&["DETECT_ONLY", "fast"]),    &[D2]),
    cost("innodb_checksum_algorithm",      Values::These(&["none", "strict_none"]),    &[D3]),
    cost("innodb_checksums",               Values::Off,                                &[D3]),
    cost("innodb_log_checksums",           Values::Off,                                &[D3]),
    cost("binlog_checksum",                Values::Off,                                &[D3]),
    cost("innodb_force_recovery",          Values::On,                                 &[D3]),

    // What replicas and backups can rely on.
    cost("log_bin",                        Values::Off,                                &[D4]),
    cost("innodb_support_xa",              Values::Off,                                &[D4]),
    cost("binlog_row_image",               Values::AllBut(&["FULL", "FULL_NODUP"]),    &[D4]),
    cost("binlog_format",                  Values::These(&["STATEMENT"]),              &[D4]),
    cost("binlog_order_commits",           Values::Off,                                &[D4]),
    cost("replica_preserve_commit_order",  Values::Off,                                &[D4]),
    cost("slave_preserve_commit_order",    Values::Off,                                &[D4]),
    cost("innodb_locks_unsafe_for_binlog", Values::On,                                 &[D4, I]),

    // What statements mean.
    cost("transaction_isolation",          Values::AllBut(&["REPEATABLE-READ"]),       &[I]),
    cost("tx_isolation",                   Values::AllBut(&["REPEATABLE-READ"]),       &[I]),
    cost("innodb_snapshot_isolation",      Values::On,                                 &[I]),
    cost("innodb_native_foreign_keys",     Values::On,                                 &[I]),
    cost("innodb_rollback_on_timeout",     Values::On,                                 &[I]),
    cost("innodb_deadlock_detect",         Values::Off,                                &[A, I]),
    cost("character_set_server",           Values::All,                                &[I]),
    cost("collation_server",               Values::All,                                &[I]),
    cost("lower_case_table_names",         Values::All,                                &[I]),
    cost("optimizer_switch",               Values::All,                                &[I]),
    cost("sql_mode",                       Values::All,                                &[I]),

    // What burdens memory, disks and connections.
    cost("binlog_cache_size",              Values::All,                                &[A]),
    cost("innodb_buffer_pool_size",        Values::All,                                &[A]),
    cost("innodb_ddl_buffer_size",         Values::All,                                &[A]),
    cost("innodb_dedicated_server",        Values::On,                                 &[A]),
    cost("innodb_lock_wait_timeout",       Values::All,                                &[A]),
    cost("innodb_log_compressed_pages",    Values::Off,                                &[A]),
    cost("innodb_log_file_size",           Values::All,                                &[A]),
    cost("innodb_max_purge_lag",           Values::AllBut(&["0"]),                     &[A]),
    cost("innodb_open_files",              Values::All,                                &[A]),
    cost("innodb_redo_log_capacity",       Values::All,                                &[A]),
    cost("innodb_undo_log_truncate",       Values::Off,                                &[A]),
    cost("join_buffer_size",               Values::All,                                &[A]),
    cost("key_buffer_size",                Values::All,                                &[A]),
    cost("large_pages",                    Values::On,                                 &[A]),
    cost("max_allowed_packet",             Values::All,                                &[A]),
    cost("max_connections",                Values::All,                                &[A]),
    cost("max_prepared_stmt_count",        Values::All,                                &[A]),
    cost("open_files_limit",               Values::All,                                &[A]),
    cost("read_buffer_size",               Values::All,                                &[A]),
    cost("read_rnd_buffer_size",           Values::All,                                &[A]),
    cost("sort_buffer_size",               Values::All,                                &[A]),
    cost("table_definition_cache",         Values::All,                                &[A]),
    cost("table_open_cache",               Values::All,                                &[A]),
    cost("temptable_max_mmap",             Values::All,                                &[A]),
    cost("temptable_max_ram",              Values::All,                                &[A]),
    cost("tmp_memory_table_size",          Values::All,                                &[A]),
    cost("tmp_table_size",                 Values::All,                                &[A]),
];

/// Everything that the value costs in safety; nothing if it is as safe as servers can be.
pub fn classes(name: &str, value: &str, flavour: Flavour) -> Risks {
    let name = normal(name);
    let (name, value) = unswitched(&name, value.trim());
    // The one value that vendors read differently: in MariaDB, 3 is a flush at each step of a group commit.
    if (name, value, flavour) == ("innodb_flush_log_at_trx_commit", "3", Flavour::MariaDb) {
        return Risks::new();
    }
    let costs = COSTS.iter().filter(|cost| cost.name == name && cost.values.include(value));
    costs.flat_map(|cost| cost.classes.iter().copied()).collect()
}

/// The most harmful of [`classes`], or [`Class::D0`].
pub fn class(name: &str, value: &str, flavour: Flavour) -> Class {
    classes(name, value, flavour).last().copied().unwrap_or(D0)
}

/// What a server with these variables costs in durability: the classes above [`Class::I`] of all of them.
pub fn risks(variables: &BTreeMap<String, String>, flavour: Flavour) -> Risks {
    risks_by_variable(variables, flavour).into_values().flatten().collect()
}

/// The same by variable; those that cost nothing are left out. How the binary log is written does not count if there is
/// none, nor does what only a replica does.
pub fn risks_by_variable(variables: &BTreeMap<String, String>, flavour: Flavour) -> BTreeMap<String, Risks> {
    let no_log = variables.get("log_bin").is_none_or(|value| is_off(value));
    let of_log = |name: &str| name.starts_with("binlog_") || name == "sync_binlog";
    let idle = |name: &str| no_log && of_log(name) || name.ends_with("_preserve_commit_order");
    let counted = variables.iter().filter(|(name, _)| !idle(name));
    let costly = |(name, value): (&String, &String)| {
        let risks = classes(name, value, flavour).into_iter().filter(|class| class.costs_durability()).collect();
        (name.clone(), risks)
    };
    counted.map(costly).filter(|(_, risks): &(String, Risks)| !risks.is_empty()).collect()
}
