//! What is known about server settings: what became of a name, by vendor and version, and what a value costs in
//! safety.
//!
//! [`settings`] says what each is and what its values cost, [`table`] what became of a name, [`number`] which numbers exist,
//! [`sql_mode`] which modes are gone, [`allowed`] what a plan may set without permission, [`value`] when two values are the
//! same. [`translate()`] turns the
//! settings of a plan into those that a current server takes. Only the build knows what it accepts; this module says what to do about a name that it
//! does not accept.

pub mod allowed;
pub mod classes;
pub mod durability;
pub mod number;
pub mod options;
pub mod release;
pub mod settings;
pub mod sql_mode;
mod table;
pub mod translate;
pub mod value;

pub use allowed::is_allowed;
pub use classes::{class, classes, risks, risks_by_variable};
use plimsoll_model::Flavour;
pub use release::Release;
pub use settings::{is_live, live_settings, without_fixed_default};
use table::{Fate, NameRow, TABLE, Values};
pub use translate::{Consequence, Translated, TranslatedSetting, standings, translate};

/// Version of a server: major, minor, patch. Only versions of one vendor can be compared.
pub type Version = (u32, u32, u32);

/// What a setting's name means on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As far as is known it means what it says; only the server knows whether it has it.
    Current,
    /// It has another name today, and maybe another value.
    Renamed { name: String, value: String, remark: String },
    /// This version no longer has it; in words since when, and what to do instead.
    Removed { remark: String },
    /// An option of a client or of the operating system, or one that Plimsoll decides itself: left out, and reported.
    NotOurs { remark: String },
}

/// What `name` = `value` means on this server. `name` may have dashes and capitals.
pub fn standing(name: &str, value: &str, flavour: Flavour, version: Version) -> Standing {
    let name = normal(name);
    let (base, base_value) = unswitched(&name, value);
    match row(&name, value, flavour, version).or_else(|| row(base, base_value, flavour, version)) {
        Some((row, since)) => standing_of(row, since, value, flavour),
        None => Standing::Current,
    }
}

/// Whether it is only this value of a setting that the server no longer has.
pub fn is_value_gone(name: &str, value: &str, flavour: Flavour, version: Version) -> bool {
    let found = row(&normal(name), value, flavour, version);
    found.is_some_and(|(row, _)| matches!((&row.fate, row.values), (Fate::Removed(_), Values::These(_))))
}

fn row(name: &str, value: &str, flavour: Flavour, version: Version) -> Option<(&'static NameRow, Version)> {
    let since = |row: &NameRow| match flavour {
        Flavour::MySql => row.mysql,
        Flavour::MariaDb => row.mariadb,
    };
    let reached = |row: &NameRow| since(row).is_some_and(|since| since <= version);
    let applies = |row: &&NameRow| row.name == name && row.values.include(value) && reached(row);
    TABLE.iter().find(applies).and_then(|row| Some((row, since(row)?)))
}

fn standing_of(row: &NameRow, since: Version, value: &str, flavour: Flavour) -> Standing {
    let vendor = vendor(flavour);
    let renamed = |name: &str, value: String| {
        let remark = match since {
            table::EVER => format!("is called {name} on {vendor}"),
            since => format!("is called {name} since {vendor} {}", shown(since)),
        };
        Standing::Renamed { name: name.to_owned(), value, remark }
    };
    match row.fate {
        Fate::Renamed(name) => renamed(name, value.to_owned()),
        Fate::Multiplied(name, factor) => match times(value, factor) {
            Some(product) => renamed(name, product),
            None => Standing::Removed { remark: format!("use {name} = a number instead") },
        },
        Fate::Valued(value, remark) => {
            Standing::Renamed { name: row.name.to_owned(), value: value.to_owned(), remark: remark.to_owned() }
        }
        Fate::Removed(advice) if since == table::EVER => {
            Standing::Removed { remark: format!("{vendor} has no such setting: {advice}") }
        }
        Fate::Removed(advice) => {
            Standing::Removed { remark: format!("{vendor} removed it in {}: {advice}", shown(since)) }
        }
        Fate::NotOurs(remark) => Standing::NotOurs { remark: remark.to_owned() },
    }
}

/// Whether something has become of the name, on any server.
pub fn is_in_table(name: &str) -> bool {
    TABLE.iter().any(|row| row.name == normal(name))
}

/// Whether it is an option of client programs, with which no server starts.
pub fn is_of_client(name: &str) -> bool {
    TABLE.iter().any(|row| row.name == normal(name) && matches!(row.fate, Fate::NotOurs(table::CLIENT)))
}

/// The variable under which the value of an option can be read back, if it is not the option's own name.
pub fn variable(option: &str, flavour: Flavour, version: Version) -> &str {
    match (option, flavour) {
        // MariaDB 11.1 gave the variable the name that the option always had.
        ("transaction_isolation", Flavour::MariaDb) if version < (11, 1, 1) => "tx_isolation",
        ("transaction_read_only", Flavour::MariaDb) if version < (11, 1, 1) => "tx_read_only",
        ("external_locking", _) => "skip_external_locking",
        ("table_cache", _) => "table_open_cache",
        (same, _) => same,
    }
}

/// A name as variables are written: lower case, underscores, without `loose`.
pub fn normal(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase().replace('-', "_");
    name.strip_prefix("loose_").map_or(name.clone(), str::to_owned)
}

/// Variables whose names begin with `skip_`.
const SKIPPING: [&str; 10] = [
    "skip_external_locking",
    "skip_grant_tables",
    "skip_host_cache",
    "skip_locking",
    "skip_name_resolve",
    "skip_networking",
    "skip_replica_start",
    "skip_replication",
    "skip_show_database",
    "skip_slave_start",
];

/// The setting behind a switch: `skip_x` and `disable_x` are `x` = OFF, `enable_x` is `x` = ON. Of a value behind it, servers
/// look at `0` alone, which negates; `skip_x = OFF` is `x` = OFF (`my_getopt` of both vendors).
pub fn unswitched<'a>(name: &'a str, value: &'a str) -> (&'a str, &'a str) {
    let negates = value.trim() == "0";
    let (off, on) = if negates { ("ON", "OFF") } else { ("OFF", "ON") };
    if SKIPPING.contains(&name) {
        return (name, value);
    }
    if let Some(base) = name.strip_prefix("skip_").or_else(|| name.strip_prefix("disable_")) {
        return (base, off);
    }
    name.strip_prefix("enable_").map_or((name, value), |base| (base, on))
}

/// `OFF`, in any of the ways to write it.
pub(crate) fn is_off(value: &str) -> bool {
    ["off", "false", "0", "no", "none"].contains(&value.trim().to_ascii_lowercase().as_str())
}

/// `500M` × 2 is `1000M`.
pub(crate) fn times(value: &str, factor: u64) -> Option<String> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.trim().parse().ok()?;
    Some(format!("{}{}", number.checked_mul(factor)?, &value[digits.len()..]))
}

fn vendor(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::MySql => "MySQL",
        Flavour::MariaDb => "MariaDB",
    }
}

fn shown(version: Version) -> String {
    let (major, minor, patch) = version;
    if patch == 0 { format!("{major}.{minor}") } else { format!("{major}.{minor}.{patch}") }
}

#[cfg(test)]
mod tests;
