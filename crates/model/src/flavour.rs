//! Which member of the MySQL family a server is.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    MariaDb,
    MySql,
}

impl Flavour {
    /// Tells the flavour from a version text, as in a server's greeting (`10.11.6-MariaDB-0+deb12u1`,
    /// `9.7.0`) or in what `--version` prints.
    pub fn from_version_text(text: &str) -> Flavour {
        if text.to_ascii_lowercase().contains("mariadb") { Flavour::MariaDb } else { Flavour::MySql }
    }

    /// What it is called in front of people: `MariaDB`.
    pub fn title(self) -> &'static str {
        match self {
            Flavour::MariaDb => "MariaDB",
            Flavour::MySql => "MySQL",
        }
    }

    /// What it is called in recordings and plans: `mariadb`.
    pub fn name(self) -> &'static str {
        match self {
            Flavour::MariaDb => "mariadb",
            Flavour::MySql => "mysql",
        }
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
