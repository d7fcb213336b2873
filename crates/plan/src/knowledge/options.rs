//! Which options servers take in an option file: `options.txt`, which says how it was made.

use super::release::Release;
use super::{Version, unswitched};
use plimsoll_model::Flavour;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::LazyLock;

/// The servers of the columns, in their order.
const SERVERS: [(Flavour, Version); 5] = [
    (Flavour::MySql, (5, 7, 18)),
    (Flavour::MySql, (8, 0, 41)),
    (Flavour::MySql, (9, 7, 4)),
    (Flavour::MariaDb, (10, 11, 19)),
    (Flavour::MariaDb, (11, 8, 6)),
];
/// Of so many servers, the first, the names are those of their own lists, which leave out what plugins and engines bring.
const OF_OWN_LIST: usize = 2;
/// Beginnings of what plugins and storage engines of MySQL bring.
const OF_PLUGINS: [&str; 20] = [
    "archive",
    "audit_log",
    "authentication_ldap_",
    "blackhole",
    "caching_sha2_password",
    "clone_",
    "connection_control_",
    "daemon_memcached",
    "federated",
    "group_replication",
    "innodb",
    "keyring_",
    "mysql_native_password",
    "mysqlx",
    "ndb",
    "ngram",
    "partition",
    "rpl_semi_sync_",
    "sha256_password",
    "validate_password",
];
/// Since when MySQL has, or no longer has, options in which 8.0.41 and 9.7.4 differ, as far as its manual says ("MySQL Server
/// Version Reference: Option and Variable Changes"; "What Is New in MySQL 8.3").
const CHANGED: [(&str, Version); 22] = [
    ("abort_slave_event_count", (8, 2, 0)),
    ("admin_ssl", (8, 4, 0)),
    ("avoid_temporal_upgrade", (8, 4, 0)),
    ("binlog_transaction_dependency_tracking", (8, 4, 0)),
    ("disconnect_slave_event_count", (8, 2, 0)),
    ("explain_json_format_version", (8, 3, 0)),
    ("language", (8, 4, 0)),
    ("log_bin_use_v1_row_events", (8, 3, 0)),
    ("master_info_file", (8, 3, 0)),
    ("master_info_repository", (8, 3, 0)),
    ("mysql_native_password_proxy_users", (9, 0, 0)),
    ("new", (8, 4, 0)),
    ("old", (8, 4, 0)),
    ("performance_schema_max_meter_classes", (8, 2, 0)),
    ("performance_schema_max_metric_classes", (8, 2, 0)),
    ("relay_log_info_file", (8, 3, 0)),
    ("relay_log_info_repository", (8, 3, 0)),
    ("restrict_fk_on_non_standard_key", (8, 4, 0)),
    ("set_operations_buffer_size", (8, 2, 0)),
    ("slave_rows_search_algorithms", (8, 3, 0)),
    ("tls_certificates_enforced_validation", (8, 1, 0)),
    ("transaction_write_set_extraction", (8, 3, 0)),
];
/// A name that differs in more characters than this is another name.
const MOST_TYPOS: usize = 3;

/// What a server does with an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionFate {
    Taken,
    /// Taken, with a line in the error log that it does nothing.
    Ignored,
    /// Taken, with a line in the error log that it will go, and maybe what to write instead.
    Deprecated(Option<&'static str>),
    /// The server does not start.
    Unknown,
}

/// What the lists of the servers before and after a release that was not asked say of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListedFate {
    /// Nothing speaks against it.
    Taken,
    /// The server before has it, and the one after has not.
    Leaving { had: String, lacks: String },
    /// The server after has it, and the one before has not.
    Coming { lacks: String, has: String },
    /// The only list on one side is without it, and on the other side there is none.
    Doubtful,
    /// Both lists are without it, or the manual says that it is gone: the server does not start.
    Missing,
}

struct OptionRow {
    letters: &'static [u8],
    instead: Option<&'static str>,
}

static OPTIONS: LazyLock<BTreeMap<&str, OptionRow>> = LazyLock::new(|| {
    let lines = include_str!("options.txt").lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?, OptionRow { letters: words.next()?.as_bytes(), instead: words.next() }))
    });
    rows.collect()
});

/// What this release does with an option, `name` as variables are written; `None` if no server of its series was asked.
pub fn fate(name: &str, release: Release) -> Option<OptionFate> {
    let of_release = |(flavour, version): &(Flavour, Version)| {
        *flavour == release.flavour && (version.0, version.1) == release.series()
    };
    let at = SERVERS.iter().position(of_release).filter(|_| release.was_asked())?;
    Some(of_letter(letter(name, at), row(name)))
}

fn of_letter(letter: u8, row: Option<&'static OptionRow>) -> OptionFate {
    match letter {
        b'y' => OptionFate::Taken,
        b'~' => OptionFate::Ignored,
        b'd' => OptionFate::Deprecated(row.and_then(|row| row.instead)),
        _ => OptionFate::Unknown,
    }
}

/// What a server does with a name, or with the setting behind it if the name is a switch.
fn letter(name: &str, at: usize) -> u8 {
    let of = |name: &str| OPTIONS.get(name).map(|row| row.letters[at]).filter(|letter| *letter != b'.');
    of(name).or_else(|| of(unswitched(name, "").0)).unwrap_or(b'.')
}

/// What is known of an option, `name` as variables are written, on a release that was not asked. See [`fate`] for one that was.
pub fn listed(name: &str, release: Release) -> ListedFate {
    let columns: Vec<ListedIn> = (0..SERVERS.len()).filter_map(|at| ListedIn::of(name, at, release.flavour)).collect();
    // Within a series nothing goes.
    if columns.iter().any(|column| column.has && (column.version.0, column.version.1) == release.series()) {
        return ListedFate::Taken;
    }
    let before = columns.iter().rfind(|column| column.version <= release.version);
    let after = columns.iter().find(|column| column.version > release.version);
    let changed = CHANGED.iter().find(|(changed, _)| *changed == name && release.flavour == Flavour::MySql);
    let has_changed = changed.map(|(_, since)| *since <= release.version);
    match (before, after) {
        (Some(before), Some(after)) if before.has && !after.has => match has_changed {
            Some(true) => ListedFate::Missing,
            Some(false) => ListedFate::Taken,
            None => ListedFate::Leaving { had: before.server(), lacks: after.server() },
        },
        (Some(before), Some(after)) if !before.has && after.has => match has_changed {
            Some(true) => ListedFate::Taken,
            _ => ListedFate::Coming { lacks: before.server(), has: after.server() },
        },
        (Some(before), Some(after)) if !before.has && !after.has => ListedFate::Missing,
        // A server that is newer than all lists may have what is in none of them.
        (Some(before), None) if !before.has && !is_known(name) => ListedFate::Doubtful,
        (Some(before), None) if !before.has => ListedFate::Missing,
        (None, Some(after)) if !after.has => ListedFate::Doubtful,
        _ => ListedFate::Taken,
    }
}

/// Whether the list of a server of a vendor has an option.
struct ListedIn {
    flavour: Flavour,
    version: Version,
    has: bool,
}

impl ListedIn {
    /// `None` of another vendor's server, and of options that its list leaves out.
    fn of(name: &str, at: usize, flavour: Flavour) -> Option<ListedIn> {
        let (vendor, version) = SERVERS[at];
        let has = letter(name, at) != b'.';
        let is_told = has || at >= OF_OWN_LIST || !is_of_plugin(name);
        (vendor == flavour && is_told).then_some(ListedIn { flavour, version, has })
    }

    /// `MySQL 8.0`.
    fn server(&self) -> String {
        series_of(self.flavour, self.version)
    }
}

/// Whether a plugin or a storage engine of MySQL brings it.
fn is_of_plugin(name: &str) -> bool {
    let base = unswitched(name, "").0;
    OF_PLUGINS.iter().any(|beginning| base.starts_with(beginning))
}

fn series_of(flavour: Flavour, version: Version) -> String {
    format!("{} {}.{}", super::vendor(flavour), version.0, version.1)
}

/// All names, in their order.
pub fn names() -> impl Iterator<Item = &'static str> {
    OPTIONS.keys().copied()
}

/// Whether any server is known to take it.
pub fn is_known(name: &str) -> bool {
    row(name).is_some()
}

fn row(name: &str) -> Option<&'static OptionRow> {
    OPTIONS.get(name).or_else(|| OPTIONS.get(unswitched(name, "").0))
}

/// The servers that take it and do something with it: `MySQL 8.0`, `MariaDB 10.11`.
pub fn takers(name: &str) -> Vec<String> {
    let takes = |letter: &u8| matches!(letter, b'y' | b'd');
    let of_row = |row: &'static OptionRow| SERVERS.iter().zip(row.letters).filter(move |(_, letter)| takes(letter));
    row(name).into_iter().flat_map(of_row).map(|((flavour, version), _)| series_of(*flavour, *version)).collect()
}

/// Whether a server takes the beginning of an option's name for the option: MariaDB's does, MySQL's no longer does.
pub fn takes_beginnings(flavour: Flavour) -> bool {
    flavour == Flavour::MariaDb
}

/// The one option that begins with `name`.
pub fn unabbreviated(name: &str, release: Release) -> Option<&'static str> {
    if is_known(name) {
        return None;
    }
    let taken = |full: &&str| matches!(fate(full, release), None | Some(OptionFate::Taken | OptionFate::Deprecated(_)));
    let from = OPTIONS.range::<str, _>((Bound::Included(name), Bound::Unbounded)).map(|(full, _)| *full);
    let mut longer = from.take_while(|full| full.starts_with(name)).filter(taken);
    let first = longer.next()?;
    longer.next().is_none().then_some(first)
}

/// The option of this vendor that is spelt most alike, if it is spelt alike at all.
pub fn nearest(name: &str, release: Release) -> Option<&'static str> {
    let of_vendor = |row: &OptionRow| {
        SERVERS.iter().zip(row.letters).any(|((flavour, ..), letter)| *flavour == release.flavour && *letter != b'.')
    };
    let alike = OPTIONS
        .iter()
        .filter(|(_, row)| of_vendor(row))
        .map(|(known, _)| (strsim::damerau_levenshtein(name, known), *known));
    alike.min().filter(|(typos, known)| *typos <= MOST_TYPOS && *typos * 4 <= known.len()).map(|(_, known)| known)
}

/// Names of options that may stand several times, each adding to the others.
pub fn adds_up(name: &str) -> bool {
    const LISTS: [&str; 9] = [
        "plugin_load_add",
        "early_plugin_load",
        "binlog_do_db",
        "binlog_ignore_db",
        "ignore_db_dirs",
        "ignore_db_dir",
        "performance_schema_instrument",
        "performance_schema_consumer",
        "optimizer_switch",
    ];
    LISTS.contains(&name) || name.starts_with("replicate_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Release {
        Release::parse(text).unwrap()
    }

    #[test]
    fn every_line_has_a_letter_for_each_server() {
        assert!(OPTIONS.len() > 1000);
        for (name, row) in OPTIONS.iter() {
            assert_eq!(row.letters.len(), SERVERS.len(), "{name}");
            assert!(row.letters.iter().all(|letter| b"y~d.".contains(letter)), "{name}");
            assert!(row.letters.iter().any(|letter| *letter != b'.'), "{name}");
            assert!(row.instead.is_none_or(|instead| OPTIONS.contains_key(instead)), "{name}: {:?}", row.instead);
        }
    }

    #[test]
    fn a_server_takes_ignores_or_does_not_know_an_option() {
        let mysql = release("mysql-9.7");
        assert_eq!(fate("innodb_thread_concurrency", mysql), Some(OptionFate::Taken));
        assert_eq!(fate("innodb_thread_concurrency", release("mariadb-10.11")), Some(OptionFate::Ignored));
        assert_eq!(fate("query_cache_size", mysql), Some(OptionFate::Unknown));
        assert_eq!(fate("slave_net_timeout", mysql), Some(OptionFate::Deprecated(Some("replica_net_timeout"))));
        assert_eq!(fate("skip_log_bin", mysql), Some(OptionFate::Taken), "a switch");
        assert_eq!(fate("query_cache_size", release("mysql-8.4")), None, "not asked");
        assert_eq!(takers("query_cache_size"), ["MySQL 5.7", "MariaDB 10.11", "MariaDB 11.8"]);
    }

    #[test]
    fn a_release_between_two_lists_is_judged_by_both() {
        let of = |name: &str, text: &str| listed(name, release(text));
        for (name, text) in [
            ("query_cache_size", "mysql-8.0"),
            ("query_cache_size", "mysql-8.4"),
            ("query_cache_size", "mysql-9.1"),
            ("secure_auth", "mysql-8.4"),
            ("log_syslog", "mysql-8.4"),
            ("internal_tmp_disk_storage_engine", "mysql-8.4"),
            ("plugin_maturity", "mysql-8.4"),
            ("wsrep_on", "mysql-8.4"),
            ("query_cache_size", "mysql-26.7"),
            ("gtid_executed_compression_period", "mariadb-11.4"),
            // Of these the manual says since when they are gone.
            ("master_info_repository", "mysql-8.4"),
            ("slave_rows_search_algorithms", "mysql-8.3"),
        ] {
            assert_eq!(of(name, text), ListedFate::Missing, "{name} on {text}");
        }
        for (name, text) in [
            ("query_cache_size", "mysql-5.7"),
            ("master_info_repository", "mysql-8.2"),
            ("set_operations_buffer_size", "mysql-8.4"),
            ("max_connections", "mysql-8.4"),
            ("tls_version", "mysql-8.0"),
            ("ssl_ca", "mysql-5.7"),
            ("mysqlx_port", "mysql-8.0"),
            ("innodb_io_capacity", "mysql-5.7"),
            ("thread_pool_size", "mariadb-10.6"),
        ] {
            assert_eq!(of(name, text), ListedFate::Taken, "{name} on {text}");
        }
        let leaves = ListedFate::Leaving { had: "MySQL 8.0".to_owned(), lacks: "MySQL 9.7".to_owned() };
        assert_eq!(of("old_style_user_limits", "mysql-8.4"), leaves);
        assert!(matches!(of("table_open_cache_triggers", "mysql-8.4"), ListedFate::Coming { .. }));
        for (name, text) in [
            ("innodb_log_file_size", "mysql-8.4"),
            ("validate_password_policy", "mysql-8.0"),
            ("log_error_verbosity", "mariadb-10.6"),
            ("no_such_thing", "mysql-26.7"),
        ] {
            assert_eq!(of(name, text), ListedFate::Doubtful, "{name} on {text}");
        }
    }

    #[test]
    fn names_are_abbreviated_or_misspelt() {
        let mysql = release("mysql-9.7");
        assert_eq!(unabbreviated("thread_cache", mysql), Some("thread_cache_size"));
        assert_eq!(unabbreviated("innodb_max_dirty_pages", mysql), None, "two begin so");
        assert_eq!(nearest("inodb_bufer_pool_size", mysql), Some("innodb_buffer_pool_size"));
        assert_eq!(nearest("completely_different", mysql), None);
    }
}
