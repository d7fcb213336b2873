//! Which settings a plan may have without permission: those that neither load code nor name a path.
//!
//! An allowlist, not a list of what is dangerous: `allowed.txt`, which says how it was made. Names are looked up as
//! they reach the server: Plimsoll writes its `my.cnf` itself, in lower case with underscores, so that no spelling
//! slips by. An abbreviated name, or a prefix that is not undone here, is a name that is not on the list.

use super::table::EVER;
use super::{Standing, normal, standing, unswitched};
use plimsoll_model::Flavour;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Settings whose values have slashes that are not paths: names of time zones and of instruments.
const WITH_SLASHES: [&str; 2] = ["default_time_zone", "performance_schema_instrument"];

static NAMES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let lines = include_str!("allowed.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
});

/// Whether a plan may set `name` = `value` without permission, on whatever server.
pub fn is_allowed(name: &str, value: &str) -> bool {
    [Flavour::MySql, Flavour::MariaDb].into_iter().all(|flavour| match standing(name, value, flavour, EVER) {
        Standing::Current => is_listed(name, value),
        Standing::Renamed { name, value, .. } => is_listed(&name, &value),
        // It reaches no server of this vendor.
        Standing::Removed { .. } | Standing::NotOurs { .. } => true,
    })
}

/// Whether the setting behind this name is on the list and its value names no path.
fn is_listed(name: &str, value: &str) -> bool {
    let name = normal(name);
    match unswitched(&name, value.trim()) {
        // As a switch; with a file name it is turned into one, see `table`.
        ("log_bin", value) => {
            ["on", "off", "1", "0", "true", "false", ""].contains(&value.to_ascii_lowercase().as_str())
        }
        (base, value) => NAMES.contains(base) && (WITH_SLASHES.contains(&base) || !value.contains(['/', '\\'])),
    }
}

/// Those that were added to the list by hand.
pub fn by_hand() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("allowed.txt").lines().skip_while(|line| !line.starts_with("# By hand"));
    lines.filter(|line| !line.starts_with('#'))
}

/// The names of the list, in their order.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::super::table::{Fate, TABLE};
    use super::*;

    #[test]
    fn what_loads_code_or_names_a_path_is_not_allowed_however_it_is_spelt() {
        for name in [
            "plugin_dir",
            "plugin_load",
            "plugin-load-add",
            "PLUGIN_LOAD_ADD",
            "loose_plugin_load_add",
            "loose-loose-plugin-load-add",
            "enable_plugin_load",
            "maximum_plugin_load",
            "plugin_load_ad",
            "early_plugin_load",
            "init_file",
            "init_connect",
            "init_replica",
            "init_slave",
            "general_log_file",
            "slow_query_log_file",
            "log_slow_query_file",
            "log_basename",
            "log_bin_index",
            "log_error_services",
            "log_isam",
            "log_tc",
            "relay_log",
            "relay_log_info_file",
            "master_info_file",
            "wsrep_provider",
            "wsrep_notify_cmd",
            "wsrep_on",
            "aria_log_dir_path",
            "innodb_buffer_pool_filename",
            "innodb_directories",
            "innodb_redo_log_archive_dirs",
            "innodb_temp_data_file_path",
            "ssl_ca",
            "ssl_key",
            "mysqlx_ssl_ca",
            "character_sets_dir",
            "lc_messages_dir",
            "language",
            "slave_load_tmpdir",
            "replica_load_tmpdir",
            "ft_stopword_file",
            "debug",
            "feedback_url",
            "chroot",
            "des_key_file",
            "hot.key_buffer_size",
            "keyring_migration_source",
            "sha256_password_private_key_path",
            "skip_skip_log_bin",
            "nothing_known",
            "",
        ] {
            assert!(!is_allowed(name, "/tmp/x") && !is_allowed(name, "1"), "{name}");
        }
    }

    #[test]
    fn numbers_switches_and_words_are_allowed_without_a_path_in_them() {
        for (name, value) in [
            ("innodb_buffer_pool_size", "8G"),
            ("Innodb-Buffer-Pool-Size", "8G"),
            ("loose_innodb_io_capacity", "5"),
            ("skip-innodb-doublewrite", ""),
            ("disable_log_bin", ""),
            ("log_bin", "ON"),
            // Only its being on reaches a server.
            ("log-bin", "/mnt/binlog"),
            // No server gets them: places are Plimsoll's affair.
            ("datadir", "/mnt"),
            ("innodb_data_file_path", "sys/system:11M"),
            ("innodb_data_file_path", "ibdata1:100M:autoextend"),
            ("sql_mode", "ANSI,NO_ZERO_DATE"),
            ("innodb_monitor_enable", "%"),
            ("default_time_zone", "Europe/Berlin"),
            ("query_cache_size", "0"),
            ("table_cache", "64"),
        ] {
            assert!(is_allowed(name, value), "{name} = {value}");
        }
        for (name, value) in
            [("innodb_io_capacity", "/etc/passwd"), ("slow_query_log", "a/b"), ("lc_messages", "..\\x")]
        {
            assert!(!is_allowed(name, value), "{name} = {value}");
        }
    }

    #[test]
    fn what_a_name_of_old_becomes_is_allowed_too() {
        for row in TABLE.iter().filter(|row| NAMES.contains(row.name)) {
            if let Fate::Renamed(today) | Fate::Multiplied(today, _) = row.fate {
                assert!(NAMES.contains(today), "{} becomes {today}", row.name);
            }
        }
        for row in TABLE.iter().filter(|row| !matches!(row.fate, Fate::NotOurs(_))) {
            assert!(row.name == "log_bin" || row.name == "extra_port" || NAMES.contains(row.name), "{}", row.name);
        }
    }

    #[test]
    fn the_list_is_one_name_per_line_as_variables_are_written() {
        for name in names() {
            assert!(name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_'), "{name}");
            assert!(!name.starts_with("wsrep_"), "{name}");
        }
    }
}
