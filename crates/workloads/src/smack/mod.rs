//! The two workloads that come with super-smack, written natively: its table, its rows and its statements, so that
//! either tool can run on data loaded by the other.
//!
//! Begin with [`statements`], then [`schema`] and [`load`] (the data), [`keys`] (which rows are requested), [`tx`] (one
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

pub use parameters::SmackParameters;
pub use tx::Smack;

/// The workloads of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SmackKind {
    SelectKey,
    UpdateSelect,
}

impl SmackKind {
    pub const ALL: [SmackKind; 2] = [SmackKind::SelectKey, SmackKind::UpdateSelect];

    pub const fn name(self) -> &'static str {
        match self {
            SmackKind::SelectKey => "smack_select_key",
            SmackKind::UpdateSelect => "smack_update_select",
        }
    }

    pub fn from_name(name: &str) -> Option<SmackKind> {
        SmackKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The family of data that it loads and drives.
    pub fn dataset_family(self) -> &'static str {
        "smack"
    }

    /// What it does, in one sentence.
    pub fn summary(self) -> &'static str {
        match self {
            SmackKind::SelectKey => {
                "Rounds of two single-row reads by a text primary key, like super-smack's select-key."
            }
            SmackKind::UpdateSelect => {
                "Rounds of a read and an update of single rows by a text primary key, like super-smack's update-select."
            }
        }
    }

    /// The client that the original's report names.
    pub fn client(self) -> &'static str {
        match self {
            SmackKind::SelectKey => "smacker1",
            SmackKind::UpdateSelect => "smacker",
        }
    }
}
