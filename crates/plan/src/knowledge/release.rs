//! A release of a vendor: `mysql-9.7`, `mariadb-10.11.19`.

use super::Version;
use crate::error::PlanError;
use plimsoll_model::Flavour;
use std::fmt;

/// The oldest releases of which enough is known.
const OLDEST: [(Flavour, Version); 2] = [(Flavour::MySql, (5, 7, 0)), (Flavour::MariaDb, (10, 6, 0))];
/// The series that were asked what they have; see `settings.rs` and `options.txt`.
const ASKED: [(Flavour, (u32, u32)); 3] =
    [(Flavour::MySql, (9, 7)), (Flavour::MariaDb, (10, 11)), (Flavour::MariaDb, (11, 8))];
const ACCEPTED: &str =
    "a vendor and a version, such as mysql-8.4 or mariadb-10.11.19: MySQL from 5.7, MariaDB from 10.6";
/// A patch level that is not given is the latest.
const LATEST: u32 = u32::MAX;

/// A server by its vendor and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    pub flavour: Flavour,
    pub version: Version,
}

impl Release {
    /// Reads `mysql-9.7` or `mariadb-10.11.19`.
    ///
    /// # Errors
    /// [`PlanError::Value`] if it is not written so, or older than what is known.
    pub fn parse(text: &str) -> Result<Release, PlanError> {
        let refused = || PlanError::value("the release", text, ACCEPTED);
        let (flavour, (major, minor, patch)) =
            since(text).filter(|_| text.matches('.').count() > 0).ok_or_else(refused)?;
        let patch = if text.matches('.').count() == 1 { LATEST } else { patch };
        let release = Release { flavour, version: (major, minor, patch) };
        let is_known = OLDEST.iter().any(|(vendor, oldest)| *vendor == flavour && *oldest <= release.version);
        is_known.then_some(release).ok_or_else(refused)
    }

    /// That of a server, by what it says of its version: `10.11.6-MariaDB`.
    pub fn of(flavour: Flavour, version: &str) -> Release {
        let digits = version.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
        let mut parts = digits.split('.').map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        Release { flavour, version: (next(), next(), next()) }
    }

    /// Whether a server of this series was asked; of others, what documentation says is known.
    pub fn was_asked(self) -> bool {
        ASKED.contains(&(self.flavour, self.series()))
    }

    pub(super) fn series(self) -> (u32, u32) {
        (self.version.0, self.version.1)
    }
}

/// `MySQL 9.7`, `MariaDB 10.11.19`.
impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.version;
        write!(f, "{} {major}.{minor}", super::vendor(self.flavour))?;
        if patch == LATEST { Ok(()) } else { write!(f, ".{patch}") }
    }
}

/// `mysql-8.4`, `mariadb-10.11.12`, or a vendor alone: its first version.
pub(super) fn since(text: &str) -> Option<(Flavour, Version)> {
    let (vendor, number) = text.split_once('-').unwrap_or((text, "0"));
    let flavour = match vendor {
        "mysql" => Flavour::MySql,
        "mariadb" => Flavour::MariaDb,
        _ => return None,
    };
    Some((flavour, number_of(number)?))
}

/// `8.4` is version 8.4.0.
pub(super) fn number_of(text: &str) -> Option<Version> {
    let mut parts = text.split('.').map(|part| part.parse::<u32>().ok());
    let version = (parts.next()??, parts.next().unwrap_or(Some(0))?, parts.next().unwrap_or(Some(0))?);
    parts.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_a_vendor_and_a_version() {
        let release = Release::parse("mysql-8.0").unwrap();
        assert_eq!((release.to_string(), release.was_asked()), ("MySQL 8.0".to_owned(), false));
        assert!(release.version > (8, 0, 40), "the latest of its series");
        let release = Release::parse("mariadb-10.11.19").unwrap();
        assert_eq!((release.to_string(), release.was_asked()), ("MariaDB 10.11.19".to_owned(), true));
        assert!(Release::parse("mysql-26.7").is_ok());
        assert_eq!(Release::of(Flavour::MariaDb, "10.11.6-MariaDB-0+deb12u1").version, (10, 11, 6));
    }

    #[test]
    fn what_is_no_release_is_refused() {
        for text in
            ["mysql", "mysql-8", "mysql-5.6", "mariadb-10.5.9", "percona-8.0", "9.7", "mysql-9.7.4.1", "mysql-x.y", ""]
        {
            let error = Release::parse(text).unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("mysql-8.4"), "{error}");
        }
    }
}
