//! Those who advise on a server's configuration, one file each: how each is asked of a server that is under load, and how
//! what it prints becomes changes of settings that can be tried.

pub mod mysqltuner;
pub mod plimsoll;
pub mod variable_advisor;

use serde::{Deserialize, Serialize};

/// Who advises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advisor {
    Plimsoll,
    /// That of the distribution.
    Mysqltuner,
    /// The latest, if it was brought.
    LatestMysqltuner,
    /// pt-variable-advisor.
    Percona,
}

impl Advisor {
    pub const ALL: [Advisor; 4] = [Advisor::Plimsoll, Advisor::Mysqltuner, Advisor::LatestMysqltuner, Advisor::Percona];

    pub fn name(self) -> &'static str {
        match self {
            Advisor::Plimsoll => "plimsoll advise",
            Advisor::Mysqltuner => "mysqltuner (Debian)",
            Advisor::LatestMysqltuner => "mysqltuner (latest)",
            Advisor::Percona => "pt-variable-advisor",
        }
    }

    /// As files are named.
    pub fn slug(self) -> &'static str {
        match self {
            Advisor::Plimsoll => "plimsoll",
            Advisor::Mysqltuner => "mysqltuner",
            Advisor::LatestMysqltuner => "mysqltuner-latest",
            Advisor::Percona => "pt-variable-advisor",
        }
    }
}

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// As the advisor says it.
    pub text: String,
    /// Setting and value, if it comes to one.
    pub change: Option<(String, String)>,
    /// It says that the server will be faster.
    pub claims_gain: bool,
    /// It says what it costs in safety.
    pub tells_cost: bool,
}

/// What an advisor said of a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Advised {
    Said(Vec<Proposal>),
    /// It is not here, or died; with its last words.
    Nothing(String),
}
