//! What is known of each setting: what it means, its default, when it applies, which values a server takes, which are worth
//! trying, what each costs in safety, and how to see that it took effect. A setting is one row of a file in `settings/`.
//!
//! Names, defaults, ranges and when a value applies are those that MariaDB 10.11 and 11.8 and MySQL 9.7 answer themselves
//! (`information_schema.SYSTEM_VARIABLES`; `performance_schema.variables_info` and `variables_metadata`, and `SET GLOBAL`), and a test of the
//! command line asks them again. What older versions have is from the vendors' documentation, which each file names.

use super::release::{Release, number_of, since};
use super::{Version, normal, unswitched};
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_model::{Class, Flavour};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Text that may depend on vendor and version: `"4"`, or `{ mysql = "4", mysql-8.4 = "auto", mariadb = "4" }`, where each key is
/// a vendor, or the vendor's version since which it holds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ByVersion {
    Always(String),
    Since(BTreeMap<String, String>),
}

impl ByVersion {
    /// What holds for this server; `None` if the vendor has nothing of the kind.
    pub fn at(&self, release: Release) -> Option<&str> {
        let texts = match self {
            ByVersion::Always(text) => return Some(text),
            ByVersion::Since(texts) => texts,
        };
        let reached = texts.iter().filter_map(|(key, text)| {
            let (_, since) =
                since(key).filter(|(vendor, since)| *vendor == release.flavour && *since <= release.version)?;
            Some((since, text.as_str()))
        });
        reached.max().map(|(_, text)| text)
    }
}

/// When a new value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// `SET GLOBAL` changes it for all.
    Live,
    /// `SET GLOBAL` changes it for sessions that begin later; each may have a value of its own.
    Session,
    Restart,
    /// When the data directory is made; never after.
    Initialisation,
}

impl Applies {
    fn of(text: &str) -> Option<Applies> {
        match text {
            "live" => Some(Applies::Live),
            "session" => Some(Applies::Session),
            "restart" => Some(Applies::Restart),
            "initialisation" => Some(Applies::Initialisation),
            _ => None,
        }
    }

    /// Whether `SET GLOBAL` can change it.
    pub fn is_dynamic(self) -> bool {
        matches!(self, Applies::Live | Applies::Session)
    }
}

/// A row: one setting.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingFacts {
    /// In a line: what it is.
    pub meaning: String,
    /// The version of each vendor that had it first, if it is newer than MySQL 5.7 or MariaDB 10.6: of what several series got at
    /// a time, the first version of each, in their order. Series between them that are not named never got it.
    #[serde(default)]
    since: BTreeMap<String, String>,
    /// Of its number.
    pub unit: Option<String>,
    /// As servers are configured: `128M`. `auto`: computed from the machine or from other settings.
    default: Option<ByVersion>,
    applies: ByVersion,
    /// Why a server may have it and not show it as a variable.
    pub unseen: Option<String>,
    /// Whether it takes effect at once for all sessions and nothing has to be built up or thrown away for it, so that sides of a
    /// comparison may take turns on one running server.
    #[serde(default)]
    flips: bool,
    /// `5M..`, `0..100` or `OFF, ON`; none if any text may be a value.
    accepts: Option<ByVersion>,
    /// The values that are worth trying, and on which scale; none if no other value than the default is.
    pub search: Option<String>,
    /// Values that mean something of their own.
    #[serde(default)]
    pub special: BTreeMap<String, String>,
    /// What must hold for it to matter: `log_bin = ON`, `x above 0`, `x other than none`, or a few words.
    pub needs: Option<String>,
    /// What bounds it on a machine.
    pub cap: Option<String>,
    /// What else to know.
    pub note: Option<String>,
    /// What values cost in safety. A key is `all`, `on`, `off`, a value, or `not` and a value.
    #[serde(default)]
    risk: BTreeMap<String, Vec<Class>>,
    /// What of a server it can ease.
    #[serde(default)]
    pub acts_on: Vec<Bottleneck>,
    /// How to see that it took effect.
    pub shows: Option<String>,
    /// The chapters of each vendor's documentation; those of its file.
    #[serde(skip)]
    source: Sources,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sources {
    mysql: String,
    mariadb: String,
}

impl SettingFacts {
    pub fn default(&self, release: Release) -> Option<&str> {
        self.default.as_ref()?.at(release)
    }

    /// `None` if the vendor has no such setting.
    pub fn applies(&self, release: Release) -> Option<Applies> {
        Applies::of(self.applies.at(release)?)
    }

    pub fn accepts(&self, release: Release) -> Option<&str> {
        self.accepts.as_ref()?.at(release)
    }

    /// The version that had it first, if this one is older.
    pub fn first_in(&self, release: Release) -> Option<Version> {
        let versions = self.since.get(vendor_key(release.flavour))?.split(", ").filter_map(number_of);
        let firsts: Vec<Version> = versions.collect();
        let of_series = firsts.iter().find(|(major, minor, _)| (*major, *minor) == release.series());
        let first = of_series.or_else(|| firsts.iter().find(|first| **first > release.version));
        first.copied().filter(|first| release.version < *first)
    }

    /// `MySQL manual, “Server System Variables”`.
    pub fn source(&self, flavour: Flavour) -> String {
        match flavour {
            Flavour::MySql => format!("MySQL manual: {}", self.source.mysql),
            Flavour::MariaDb => format!("MariaDB documentation: {}", self.source.mariadb),
        }
    }

    /// What this value costs in safety, by the row alone.
    pub(super) fn risks<'f>(&'f self, value: &'f str) -> impl Iterator<Item = Class> + 'f {
        let is_off = super::is_off(value);
        let meant = move |key: &str| match (key, key.strip_prefix("not ")) {
            ("all", _) => true,
            ("on", _) => !is_off,
            ("off", _) => is_off,
            (_, Some(other)) => !other.eq_ignore_ascii_case(value),
            (key, None) => key.eq_ignore_ascii_case(value),
        };
        self.risk.iter().filter(move |(key, _)| meant(key)).flat_map(|(_, classes)| classes.iter().copied())
    }
}

fn vendor_key(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::MySql => "mysql",
        Flavour::MariaDb => "mariadb",
    }
}

/// A file of `settings/`.
#[derive(Deserialize)]
struct Theme {
    source: Sources,
    #[serde(flatten)]
    settings: BTreeMap<String, SettingFacts>,
}

const THEMES: [&str; 8] = [
    include_str!("settings/binlog.toml"),
    include_str!("settings/connections.toml"),
    include_str!("settings/logging.toml"),
    include_str!("settings/memory.toml"),
    include_str!("settings/pages.toml"),
    include_str!("settings/redo.toml"),
    include_str!("settings/statements.toml"),
    include_str!("settings/transactions.toml"),
];

static SETTINGS: LazyLock<BTreeMap<String, SettingFacts>> = LazyLock::new(|| {
    let rows = THEMES.iter().flat_map(|text| {
        let Theme { source, settings } =
            toml::from_str(text).expect("the files are part of the program, and a test reads them");
        settings.into_iter().map(move |(name, facts)| (name, SettingFacts { source: source.clone(), ..facts }))
    });
    rows.collect()
});

/// What is known of a setting, whose name may have dashes and capitals.
pub fn facts(name: &str) -> Option<&'static SettingFacts> {
    let name = normal(name);
    SETTINGS.get(name.as_str()).or_else(|| SETTINGS.get(unswitched(&name, "").0))
}

/// All of them, by name.
pub fn all_settings() -> impl Iterator<Item = (&'static str, &'static SettingFacts)> {
    SETTINGS.iter().map(|(name, facts)| (name.as_str(), facts))
}

/// Whether it can be flipped on a running server.
pub fn is_live(name: &str) -> bool {
    SETTINGS.get(normal(name).as_str()).is_some_and(|facts| facts.flips)
}

/// All that can, in their order.
pub fn live_settings() -> impl Iterator<Item = &'static str> {
    all_settings().filter(|(_, facts)| facts.flips).map(|(name, _)| name)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Release {
        Release::parse(text).unwrap()
    }

    #[test]
    fn every_row_can_be_read_and_says_when_it_applies() {
        assert!(SETTINGS.len() >= 250, "{}", SETTINGS.len());
        let releases = [release("mysql-5.7"), release("mysql-9.7"), release("mariadb-11.8")];
        for (name, facts) in all_settings() {
            assert_eq!(*name, normal(name), "as variables are written");
            let words = [Some(&facts.meaning), facts.unit.as_ref(), facts.search.as_ref(), facts.shows.as_ref()];
            assert!(words.into_iter().flatten().all(|text| !text.is_empty() && !text.ends_with('.')), "{name}");
            for (key, text) in &facts.since {
                let versions: Vec<_> = text.split(", ").map(number_of).collect();
                let is_read = versions.iter().all(Option::is_some) && versions.is_sorted();
                assert!(["mysql", "mariadb"].contains(&key.as_str()) && is_read, "{name}: since {key}");
            }
            let texts = [Some(&facts.applies), facts.default.as_ref(), facts.accepts.as_ref()];
            for text in texts.into_iter().flatten() {
                let ByVersion::Since(texts) = text else { continue };
                assert!(texts.keys().all(|key| since(key).is_some()), "{name}: {texts:?}");
            }
            let applies = releases.map(|release| facts.applies.at(release));
            assert!(applies.into_iter().flatten().all(|text| Applies::of(text).is_some()), "{name}: {applies:?}");
            assert!(applies.iter().any(Option::is_some), "{name}");
            assert!(!facts.flips || facts.applies(release("mysql-9.7")).is_none_or(Applies::is_dynamic), "{name}");
        }
    }

    #[test]
    fn text_by_version_is_that_of_the_newest_version_reached() {
        let default = |name: &str, text: &str| facts(name).and_then(|facts| facts.default(release(text)));
        assert_eq!(default("innodb-log-buffer-size", "mysql-8.0.41"), Some("16M"));
        assert_eq!(default("innodb_log_buffer_size", "mysql-8.4.0"), Some("64M"));
        assert_eq!(default("innodb_log_buffer_size", "mysql-26.7.0"), Some("64M"));
        assert_eq!(default("innodb_log_buffer_size", "mariadb-11.8.6"), Some("16M"));
        assert_eq!(default("innodb_redo_log_capacity", "mariadb-11.8.6"), None);
        assert_eq!(default("innodb_buffer_pool_size", "mariadb-10.6.0"), Some("128M"));
    }

    #[test]
    fn what_is_newer_than_a_server_is_known() {
        let first = |text: &str| facts("innodb_redo_log_capacity").unwrap().first_in(release(text));
        assert_eq!(first("mysql-8.0.29"), Some((8, 0, 30)));
        assert_eq!(first("mysql-8.0.30"), None);
        assert_eq!(first("mariadb-10.6.0"), None, "it never had it: see `table`");
    }

    #[test]
    fn what_several_series_got_at_a_time_is_known_of_each() {
        let first = |text: &str| facts("innodb_buffer_pool_size_max").unwrap().first_in(release(text));
        assert_eq!(first("mariadb-10.11.5"), Some((10, 11, 12)));
        assert_eq!(first("mariadb-11.4.2"), Some((11, 4, 6)));
        assert_eq!(first("mariadb-10.6.20"), Some((10, 11, 12)));
        assert_eq!(first("mariadb-11.2.9"), Some((11, 4, 6)), "it ended before");
        assert_eq!(first("mariadb-11.7.2"), Some((11, 8, 2)));
        for text in ["mariadb-10.11.12", "mariadb-11.4.6", "mariadb-11.4", "mariadb-11.8", "mariadb-12.1.2"] {
            assert_eq!(first(text), None, "{text}");
        }
    }

    #[test]
    fn defaults_and_ranges_of_older_releases_are_their_own() {
        let default = |name: &str, text: &str| facts(name).and_then(|facts| facts.default(release(text)));
        let accepts = |name: &str, text: &str| facts(name).and_then(|facts| facts.accepts(release(text)));
        assert_eq!(default("explicit_defaults_for_timestamp", "mariadb-10.6"), Some("OFF"));
        assert_eq!(default("explicit_defaults_for_timestamp", "mariadb-10.11"), Some("ON"));
        let ahead = "innodb_log_write_ahead_size";
        assert_eq!((default(ahead, "mariadb-10.6"), accepts(ahead, "mariadb-10.6")), (Some("8K"), Some("512..16K")));
        assert_eq!((default(ahead, "mariadb-11.8"), accepts(ahead, "mariadb-11.8")), (Some("512"), Some("512..4K")));
        let workers = "replica_parallel_workers";
        assert_eq!((accepts(workers, "mysql-8.0"), accepts(workers, "mysql-9.7")), (Some("0..1024"), Some("1..1024")));
        let first = |name: &str, text: &str| facts(name).unwrap().first_in(release(text));
        assert_eq!(first("transaction_isolation", "mysql-5.7.18"), None, "the option is older than the variable");
        assert_eq!(first("binlog_transaction_dependency_history_size", "mysql-5.7.22"), None);
    }

    #[test]
    fn a_switch_is_its_setting() {
        assert_eq!(facts("skip-log-bin").unwrap().meaning, facts("log_bin").unwrap().meaning);
        assert!(facts("skip_name_resolve").is_some() && facts("no_such_setting").is_none());
    }

    #[test]
    fn sizes_of_memory_are_not_flipped_though_most_can_be_set() {
        assert!(is_live("Innodb-Io-Capacity") && is_live("sync_binlog"));
        assert!(!is_live("innodb_buffer_pool_size") && !is_live("no_such_setting"));
        assert_eq!(live_settings().count(), 29);
    }
}
