//! A program that serves MySQL's protocol.

use crate::Flavour;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// One server program on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    pub flavour: Flavour,
    /// As the program prints it: `10.11.19-MariaDB-0+deb12u1`, `9.7.4-2`.
    pub version: String,
    pub binary: PathBuf,
}

impl Build {
    /// Major, minor, patch; missing parts are 0.
    pub fn numbers(&self) -> (u32, u32, u32) {
        let mut parts = self
            .version
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .next()
            .unwrap_or_default()
            .split('.')
            .map(|part| part.parse().unwrap_or(0));
        let mut next = || parts.next().unwrap_or(0);
        (next(), next(), next())
    }

    /// Whether this build may open data that `data` made: the same series, and not older. Servers upgrade
    /// data within a series by themselves; nothing else is promised in both directions.
    pub fn may_open_data_of(&self, data: &Build) -> bool {
        let (major, minor, patch) = self.numbers();
        let (data_major, data_minor, data_patch) = data.numbers();
        self.flavour == data.flavour && (major, minor) == (data_major, data_minor) && patch >= data_patch
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (`{}`)", self.flavour, self.version, self.binary.display())
    }
}
