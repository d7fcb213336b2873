//! Finds the server to use: looks for a binary and asks it for its flavour and version.

use crate::ServerError;
use crate::ask::{Bounds, ProgramOutput, ask};
use crate::error::package_of;
use plimsoll_model::{Build, Flavour};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// Directories of servers that are not in an ordinary user's PATH, in the order in which they are tried.
const PLACES: [&str; 9] = [
    "/usr/sbin",
    "/usr/bin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/libexec",
    "/usr/local/mariadb/bin",
    "/usr/local/mysql/bin",
    "/opt/mysql/bin",
];

/// Where a server is below an unpacked directory.
const BELOW: [&str; 6] = ["", "bin", "sbin", "usr/sbin", "usr/bin", "libexec"];

/// A program that takes longer for `--version`, or prints more, is not a server.
const OF_VERSION: Bounds = Bounds { time: Duration::from_secs(30), bytes: 64 << 10 };

/// Asks `binary` for its version. The program must end within 30 s, and print at most 64 KiB.
///
/// # Errors
/// [`ServerError::NotAServer`] when it cannot be run or does not answer like a server.
pub fn inspect(binary: &Path) -> Result<Build, ServerError> {
    let refuse = |found: String| ServerError::NotAServer { path: binary.to_owned(), found };
    let binary = std::path::absolute(binary).map_err(|e| refuse(e.to_string()))?;
    let text = version_text(&binary).map_err(refuse)?;
    let (flavour, version) = version_in(&text)
        .ok_or_else(|| refuse(format!("`--version` printed `{}`", text.lines().next().unwrap_or_default())))?;
    Ok(Build { flavour, version: version.to_owned(), binary })
}

/// What the user requested: `auto`, `mariadb`, `mysql`, or a path.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Selector {
    /// MariaDB if there is one, else MySQL.
    #[default]
    Auto,
    Flavour(Flavour),
    /// A server binary, or a directory that contains one.
    Path(PathBuf),
}

impl FromStr for Selector {
    type Err = ServerError;

    fn from_str(text: &str) -> Result<Selector, ServerError> {
        match text {
            "auto" => Ok(Selector::Auto),
            "mariadb" => Ok(Selector::Flavour(Flavour::MariaDb)),
            "mysql" => Ok(Selector::Flavour(Flavour::MySql)),
            path if path.contains('/') || Path::new(path).exists() => Ok(Selector::Path(path.into())),
            _ => Err(ServerError::Selector { given: text.to_owned() }),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selector::Auto => f.write_str("auto"),
            Selector::Flavour(flavour) => flavour.fmt(f),
            Selector::Path(path) => path.display().fmt(f),
        }
    }
}

/// Finds the server that `selector` names, in PATH and the usual places.
///
/// # Errors
/// [`ServerError::NoBuild`] says what was looked for and where; [`ServerError::NotAServer`] if a given path has no
/// server.
pub fn find(selector: &Selector) -> Result<Build, ServerError> {
    match selector {
        Selector::Path(path) => find_at(path),
        Selector::Flavour(flavour) => find_flavour(*flavour, &places()).ok_or_else(|| nothing(Some(*flavour))),
        Selector::Auto => {
            let places = places();
            find_flavour(Flavour::MariaDb, &places)
                .or_else(|| find_flavour(Flavour::MySql, &places))
                .ok_or_else(|| nothing(None))
        }
    }
}

fn nothing(flavour: Option<Flavour>) -> ServerError {
    let places: Vec<String> = places().iter().map(|p| p.display().to_string()).collect();
    ServerError::NoBuild {
        wanted: flavour.map_or("MySQL-family", |f| if f == Flavour::MariaDb { "MariaDB" } else { "MySQL" }),
        names: if flavour == Some(Flavour::MySql) { "`mysqld`" } else { "`mariadbd` and `mysqld`" },
        places: places.join(", "),
        package: package_of(flavour),
    }
}

fn places() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = Vec::new();
    for place in std::env::split_paths(&path).chain(PLACES.map(PathBuf::from)) {
        if place.is_absolute() && !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

fn names_of(flavour: Flavour) -> &'static [&'static str] {
    match flavour {
        Flavour::MariaDb => &["mariadbd", "mysqld"],
        Flavour::MySql => &["mysqld"],
    }
}

fn find_flavour(flavour: Flavour, places: &[PathBuf]) -> Option<Build> {
    // By name first: if both flavours are installed, `mysqld` may be a link to `mariadbd`.
    names_of(flavour)
        .iter()
        .flat_map(|name| places.iter().map(move |place| place.join(name)))
        .filter(|binary| binary.is_file())
        .filter_map(|binary| inspect(&binary).ok())
        .find(|build| build.flavour == flavour)
}

fn find_at(path: &Path) -> Result<Build, ServerError> {
    let refuse = |found: &str| ServerError::NotAServer { path: path.to_owned(), found: found.to_owned() };
    let facts = fs::metadata(path).map_err(|e| refuse(&e.to_string()))?;
    if facts.is_file() {
        return inspect(path);
    }
    let candidates = BELOW.iter().flat_map(|below| ["mariadbd", "mysqld"].map(|name| path.join(below).join(name)));
    let binary = candidates.into_iter().find(|binary| binary.is_file());
    inspect(&binary.ok_or_else(|| refuse("neither it nor its bin, sbin or usr/sbin contains `mariadbd` or `mysqld`"))?)
}

/// The output of `--version`, or why there is none.
fn version_text(binary: &Path) -> Result<String, String> {
    let arguments = ["--no-defaults", "--version"].map(str::to_owned);
    match ask(binary, &arguments, OF_VERSION) {
        Ok(ProgramOutput { text, status }) if status.success() => Ok(text),
        Ok(ProgramOutput { status, .. }) => Err(format!("`--version` ended with {status}")),
        Err(problem) => Err(format!("asked for `--version`, {problem}")),
    }
}

/// `mysqld  Ver 9.7.4-2 for Linux on x86_64` → MySQL, `9.7.4-2`. What precedes `Ver` is a path and may contain any
/// name.
fn version_in(text: &str) -> Option<(Flavour, &str)> {
    let (_, told) = text.split_once(" Ver ")?;
    let version = told.split_whitespace().next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    Some((Flavour::from_version_text(told), version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(flavour: Flavour, version: &str) -> Build {
        Build { flavour, version: version.into(), binary: "/usr/sbin/mysqld".into() }
    }

    #[test]
    fn versions_are_read_from_what_servers_print() {
        let maria = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert_eq!(version_in(maria), Some((Flavour::MariaDb, "10.11.19-MariaDB-0+deb12u1")));
        let mysql = "/opt/not-mariadb/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))";
        assert_eq!(version_in(mysql), Some((Flavour::MySql, "9.7.4-2")));
        assert_eq!(version_in("sh (GNU coreutils) 9.1"), None);
        assert_eq!(build(Flavour::MariaDb, "10.11.19-MariaDB-0+deb12u1").numbers(), (10, 11, 19));
        assert_eq!(build(Flavour::MySql, "9.7.4-2").numbers(), (9, 7, 4));
    }

    #[test]
    fn data_are_opened_by_the_same_series_only() {
        let data = build(Flavour::MariaDb, "10.11.6-MariaDB");
        assert!(build(Flavour::MariaDb, "10.11.19-MariaDB").may_open_data_of(&data));
        assert!(!build(Flavour::MariaDb, "10.11.5-MariaDB").may_open_data_of(&data));
        assert!(!build(Flavour::MariaDb, "11.8.2-MariaDB").may_open_data_of(&data));
        assert!(!build(Flavour::MySql, "10.11.6").may_open_data_of(&data));
    }

    #[test]
    fn selectors_are_parsed() {
        assert_eq!("auto".parse::<Selector>().unwrap(), Selector::Auto);
        assert_eq!("mysql".parse::<Selector>().unwrap(), Selector::Flavour(Flavour::MySql));
        assert_eq!("/opt/x".parse::<Selector>().unwrap(), Selector::Path("/opt/x".into()));
        assert!("postgres".parse::<Selector>().unwrap_err().to_string().contains("auto, mariadb, mysql"));
    }

    #[test]
    fn the_message_for_nothing_found_names_the_places_and_the_remedy() {
        let message = nothing(None).to_string();
        for part in ["`mariadbd`", "/usr/sbin", "mariadb-server-core", "--server PATH"] {
            assert!(message.contains(part), "{part} is missing in: {message}");
        }
    }

    #[test]
    fn a_program_that_is_no_server_is_refused() {
        let message = inspect(Path::new("/bin/true")).unwrap_err().to_string();
        assert!(message.contains("/bin/true") && message.contains("not a MySQL-family server"), "{message}");
    }
}
