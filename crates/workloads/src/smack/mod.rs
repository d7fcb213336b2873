//! The two workloads that come with super-smack, written natively: its table, its rows and its statements, so that data
//! loaded by either tool is driven by the other.
//!
//! Begin with [`statements`], then [`schema`] and [`load`] (the data), [`keys`] (which rows are asked for), [`tx`] (one
//! round), [`check`] (what must hold) and [`report`] (the figures as super-smack prints them).

pub mod check;
pub mod describe;
pub mod keys;
pub mod load;
pub mod parameters;
pub mod report;
pub mod schema;
pub mod statements;
pub mod tx;

pub use parameters::Parameters;
pub use tx::Smack;

/// The workloads of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    SelectKey,
    UpdateSelect,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::SelectKey, Kind::UpdateSelect];

    pub const fn name(self) -> &'static str {
        match self {
            Kind::SelectKey => "smack_select_key",
            Kind::UpdateSelect => "smack_update_select",
        }
    }

    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The family of data that it loads and drives.
    pub fn dataset_family(self) -> &'static str {
        "smack"
    }

    /// What it does, in one sentence.
    pub fn summary(self) -> &'static str {
        match self {
            Kind::SelectKey => "Rounds of two single-row reads by a text primary key, as select-key of super-smack.",
            Kind::UpdateSelect => {
                "Rounds of a read and an update of single rows by a text primary key, as update-select of super-smack."
            }
        }
    }

    /// The client that the original's report names.
    pub fn client(self) -> &'static str {
        match self {
            Kind::SelectKey => "smacker1",
            Kind::UpdateSelect => "smacker",
        }
    }
}
