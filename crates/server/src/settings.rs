//! Server settings with their origins: the baseline, overrides, the text of `my.cnf`, what to read back.

use crate::ServerError;
use plimsoll_model::Build;
use plimsoll_model::Flavour;
use plimsoll_model::text::{clean, escaped};
use plimsoll_plan::knowledge::number;
use plimsoll_plan::knowledge::value::truth;
use serde::{Deserialize, Serialize};

/// The origin of the baseline's settings.
pub const ORIGIN: &str = "plimsoll";

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Settings that only Plimsoll decides, because identity and cleaning up depend on them.
const RESERVED: [&str; 6] = ["datadir", "socket", "pid_file", "log_error", "user", "secure_file_priv"];

/// Options that no variable shows.
const UNSHOWN: [&str; 2] = ["mysqlx", "plugin_load_add"];

/// Settings that take effect, or full effect, only when a data directory is initialised.
const FIXED_AT_INITIALISATION: [&str; 5] = [
    "innodb_page_size",
    "innodb_data_file_path",
    "innodb_undo_tablespaces",
    "innodb_checksum_algorithm",
    "lower_case_table_names",
];

/// One server setting and who asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSetting {
    /// In the form of a server variable: lower case, underscores.
    pub name: String,
    pub value: String,
    /// `plimsoll`, or whatever the caller names: a plan's key, a file, the command line.
    pub origin: String,
}

/// Settings in the order in which they were first given, each name once.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings {
    settings: Vec<ServerSetting>,
}

impl Settings {
    /// Adds a setting or replaces the one of that name. `Innodb-Page-Size` is `innodb_page_size`;
    /// `skip_log_bin` is `log_bin` = `OFF`.
    ///
    /// # Errors
    /// [`ServerError::Setting`] for an invalid option name, a value with control characters, and the few settings that
    /// only Plimsoll decides.
    pub fn set(&mut self, name: &str, value: &str, origin: &str) -> Result<(), ServerError> {
        let refuse = |found: &str| {
            let value = escaped(value);
            Err(ServerError::Setting { name: name.to_owned(), value, found: found.to_owned() })
        };
        let normal = name.trim().to_ascii_lowercase().replace('-', "_");
        let (normal, value) = match normal.as_str() {
            "skip_log_bin" | "disable_log_bin" => ("log_bin", if truth(value) == Some(false) { "ON" } else { "OFF" }),
            other => (other, value.trim()),
        };
        let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.');
        if normal.is_empty() || !normal.chars().all(valid) {
            return refuse("accepted in a name are letters, digits, `_`, `-` and `.`");
        }
        if RESERVED.contains(&variable_of(normal)) {
            return refuse("Plimsoll decides it for every private server; leave it out");
        }
        if value.chars().any(char::is_control) {
            return refuse("accepted is a value of one line without control characters");
        }
        if let Some(accepted) = number::refusal(normal, value) {
            return refuse(&format!("accepted is {accepted}"));
        }
        let setting = ServerSetting { name: normal.to_owned(), value: value.to_owned(), origin: origin.to_owned() };
        match self.settings.iter_mut().find(|s| s.name == normal) {
            Some(existing) => *existing = setting,
            None => self.settings.push(setting),
        }
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<&ServerSetting> {
        self.settings.iter().find(|s| s.name == name)
    }

    pub fn iter(&self) -> std::slice::Iter<'_, ServerSetting> {
        self.settings.iter()
    }

    /// Settings that must be given when a data directory is created, because they cannot change later.
    pub fn fixed_at_initialisation(&self) -> impl Iterator<Item = &ServerSetting> {
        self.settings.iter().filter(|s| FIXED_AT_INITIALISATION.contains(&s.name.as_str()))
    }

    /// The text of `my.cnf`: first the paths that Plimsoll decides, then every setting with its origin.
    pub fn rendered(&self, places: &[(&str, String)]) -> String {
        let mut text = "# Written by Plimsoll at every start; changes made here are lost.\n[mysqld]\n".to_owned();
        for (name, value) in places {
            text += &format!("{name} = {}\n", quoted(value));
        }
        let mut origin = "";
        for setting in &self.settings {
            if setting.origin != origin {
                origin = &setting.origin;
                let shown = clean(origin);
                text += &format!("# from {shown}\n");
            }
            text += &match (setting.name.as_str(), truth(&setting.value)) {
                // `log_bin = OFF` would name the files OFF.000001 and so on.
                ("log_bin", Some(false)) => "skip_log_bin\n".to_owned(),
                ("log_bin", Some(true)) => "log_bin\n".to_owned(),
                (name, _) => format!("{name} = {}\n", quoted(&setting.value)),
            };
        }
        text
    }

    /// What to verify on the running server: each setting with the name and value that `SHOW GLOBAL VARIABLES` should
    /// show. Compare with [`plimsoll_plan::knowledge::value`].
    pub fn variables_to_verify(&self) -> Vec<ServerSetting> {
        let asked = self.settings.iter().filter(|s| !UNSHOWN.contains(&variable_of(&s.name)));
        asked
            .map(|s| {
                let name = variable_of(&s.name).to_owned();
                let value = if name == "log_bin" && truth(&s.value) != Some(false) { "ON" } else { &s.value };
                ServerSetting { value: value.to_owned(), name, origin: s.origin.clone() }
            })
            .collect()
    }
}

impl<'a> IntoIterator for &'a Settings {
    type Item = &'a ServerSetting;
    type IntoIter = std::slice::Iter<'a, ServerSetting>;

    fn into_iter(self) -> Self::IntoIter {
        self.settings.iter()
    }
}

/// The baseline for a private server of `build` on a host with `memory_bytes` of memory.
///
/// Durable (flush at every commit, doublewrite), quiet (no network, no binary log, no buffer pool dump that
/// would warm one run by another), and wide enough for thousands of connections that start at once.
pub fn baseline(build: &Build, memory_bytes: u64) -> Settings {
    let pool = pool_bytes(memory_bytes);
    let pool = if pool.is_multiple_of(GIB) { format!("{}G", pool / GIB) } else { format!("{}M", pool / MIB) };
    let mut pairs = vec![
        ("skip_networking", "ON"),
        // Takes effect only if somebody switches the network on: never on all interfaces by accident.
        ("bind_address", "127.0.0.1"),
        ("log_bin", "OFF"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "ON"),
        ("innodb_buffer_pool_size", pool.as_str()),
        ("innodb_buffer_pool_dump_at_shutdown", "OFF"),
        ("innodb_buffer_pool_load_at_startup", "OFF"),
        ("character_set_server", "utf8mb4"),
        ("max_connections", "4000"),
        ("max_prepared_stmt_count", "1048576"),
        ("table_open_cache", "4000"),
        // Unix sockets refuse connections that do not fit in the queue; the kernel caps it at net.core.somaxconn.
        ("back_log", "4000"),
        ("local_infile", "ON"),
    ];
    match (build.flavour, build.numbers()) {
        (Flavour::MariaDb, _) => pairs.push(("innodb_log_file_size", "1G")),
        (Flavour::MySql, (8, 0, 30..) | (8, 1.., _) | (9.., _, _)) => pairs.push(("innodb_redo_log_capacity", "1G")),
        // Older servers keep two files.
        (Flavour::MySql, _) => pairs.push(("innodb_log_file_size", "512M")),
    }
    if build.flavour == Flavour::MySql {
        // `loose`, because MySQL 5.7 has the plugin but does not load it by itself.
        pairs.push(("loose_mysqlx", "OFF"));
    }
    let setting =
        |(name, value): (&str, &str)| ServerSetting { name: name.into(), value: value.into(), origin: ORIGIN.into() };
    Settings { settings: pairs.into_iter().map(setting).collect() }
}

/// A quarter of the memory, at most 4 GiB, in steps that no server rounds: 1 GiB, below that 128 MiB.
fn pool_bytes(memory_bytes: u64) -> u64 {
    let wanted = (memory_bytes / 4).min(4 * GIB);
    let step = if wanted >= GIB { GIB } else { 128 * MIB };
    (wanted / step * step).max(128 * MIB)
}

/// The variable behind an option: `loose_x` sets `x`.
fn variable_of(name: &str) -> &str {
    name.strip_prefix("loose_").unwrap_or(name)
}

/// A value in the form of an option file: there, backslashes begin escapes, and `#` a comment.
fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\");
    if value.contains(['#', '"', '\'', ';', ' ']) { format!("\"{escaped}\"") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(flavour: Flavour, version: &str) -> Build {
        Build { flavour, version: version.into(), binary: "/usr/sbin/mysqld".into() }
    }

    #[test]
    fn the_baseline_follows_flavour_version_and_memory() {
        let maria = baseline(&build(Flavour::MariaDb, "10.11.6-MariaDB"), 24 * GIB);
        assert_eq!(maria.get("innodb_buffer_pool_size").unwrap().value, "4G");
        assert_eq!(maria.get("innodb_log_file_size").unwrap().value, "1G");
        assert!(maria.get("loose_mysqlx").is_none());
        assert!(maria.iter().all(|s| s.origin == "plimsoll"));
        let mysql = baseline(&build(Flavour::MySql, "9.7.0"), 3 * GIB);
        assert_eq!(mysql.get("innodb_buffer_pool_size").unwrap().value, "768M");
        assert_eq!(mysql.get("innodb_redo_log_capacity").unwrap().value, "1G");
        let old = baseline(&build(Flavour::MySql, "8.0.29"), GIB);
        assert_eq!(old.get("innodb_log_file_size").unwrap().value, "512M");
        assert_eq!(pool_bytes(0), 128 * MIB);
        assert_eq!(pool_bytes(13 * GIB), 3 * GIB);
    }

    #[test]
    fn my_cnf_names_origins_and_writes_log_bin_as_a_switch() {
        let mut settings = baseline(&build(Flavour::MySql, "9.7.0"), 8 * GIB);
        settings.set("Innodb-Doublewrite", "OFF", "variant fast").unwrap();
        settings.set("init_connect", "SET @x = '#'", "variant fast").unwrap();
        let text = settings.rendered(&[("datadir", "/a b/data".into())]);
        assert!(text.contains("[mysqld]\ndatadir = \"/a b/data\"\n# from plimsoll\n"), "{text}");
        assert!(text.contains("\nskip_log_bin\n") && !text.contains("log_bin ="), "{text}");
        assert!(text.contains("# from variant fast\ninnodb_doublewrite = OFF\n# from plimsoll\n"), "{text}");
        assert!(text.contains("init_connect = \"SET @x = '#'\"\n"), "{text}");
        settings.set("log_bin", "ON", "x").unwrap();
        assert!(settings.rendered(&[]).contains("\nlog_bin\n"));
        settings.set("skip-log-bin", "", "x").unwrap();
        assert_eq!(settings.get("log_bin").unwrap().value, "OFF");
    }

    #[test]
    fn what_is_verified_are_variables() {
        let mut settings = baseline(&build(Flavour::MySql, "9.7.0"), 8 * GIB);
        settings.set("log_bin", "mysql-bin", "x").unwrap();
        settings.set("loose_some_variable", "3", "x").unwrap();
        let verify = settings.variables_to_verify();
        let value = |name: &str| verify.iter().find(|s| s.name == name).map(|s| s.value.as_str());
        assert_eq!(value("log_bin"), Some("ON"));
        assert_eq!(value("some_variable"), Some("3"));
        assert_eq!(value("mysqlx"), None);
        assert_eq!(value("max_connections"), Some("4000"));
    }

    #[test]
    fn settings_that_would_break_the_file_or_the_identity_are_refused() {
        let mut settings = Settings::default();
        for (name, value) in [
            ("datadir", "/x"),
            ("loose-socket", "/x"),
            ("a b", "1"),
            ("", "1"),
            ("x", "1\n[client]"),
            ("x]", "1"),
            ("max_connections", "-1"),
            ("sort_buffer_size", "99999999999999999999G"),
        ] {
            let error = settings.set(name, value, "test").unwrap_err();
            assert!(matches!(error, ServerError::Setting { .. }), "{name}");
        }
        assert_eq!(settings.iter().count(), 0);
    }
}
