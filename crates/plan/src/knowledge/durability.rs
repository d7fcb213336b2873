//! The settings that decide what a commit survives, by which results are distinguished.

use std::collections::BTreeMap;

const DURABILITY: [&str; 7] = [
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_flush_method",
    "sync_binlog",
    "log_bin",
    "innodb_checksum_algorithm",
    "rocksdb_flush_log_at_trx_commit",
];

/// The durability fingerprint of a server: those of its global variables that decide what a commit survives.
pub fn durability(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let known = |name: &&str| variables.get(*name).map(|value| ((*name).to_owned(), value.clone()));
    DURABILITY.iter().filter_map(known).collect()
}
