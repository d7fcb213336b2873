//! What a value of a setting costs in safety. A class belongs to a value, not to a setting: `1` can be safe where `2` is not.

use serde::{Deserialize, Serialize};
use std::fmt;

/// From harmless to harmful, in the order in which a comparison would mind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// No cost in durability or correctness.
    #[default]
    D0,
    /// Availability: memory, disk, long recovery, refused connections.
    A,
    /// Isolation, SQL semantics or result sets may change.
    I,
    /// Commits of about the last second are lost if the machine fails.
    D1,
    /// The same already if the server's process dies.
    D1p,
    /// Pages that are half-written at a crash cannot be repaired.
    D2,
    /// Replication and recovery to a point in time are unsafe, or there is no binary log.
    D4,
    /// Corruption may stay undetected.
    D3,
}

impl Class {
    pub const ALL: [Class; 8] = [Class::D0, Class::A, Class::I, Class::D1, Class::D1p, Class::D2, Class::D4, Class::D3];

    /// As it is written in plans, recordings and reports.
    pub fn name(self) -> &'static str {
        match self {
            Class::D0 => "d0",
            Class::A => "a",
            Class::I => "i",
            Class::D1 => "d1",
            Class::D1p => "d1p",
            Class::D2 => "d2",
            Class::D4 => "d4",
            Class::D3 => "d3",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }

    /// What may happen, in words.
    pub fn words(self) -> &'static str {
        match self {
            Class::D0 => "costs no durability",
            Class::A => "may cost availability",
            Class::I => "changes what statements mean",
            Class::D1 => "loses the last second of commits if the machine fails",
            Class::D1p => "loses the last second of commits if the server's process dies",
            Class::D2 => "leaves torn pages unrepaired after a crash",
            Class::D4 => "makes replication or recovery to a point in time unsafe",
            Class::D3 => "lets corruption go undetected",
        }
    }

    /// Whether commits, pages or the binary log are less safe than with [`Class::D0`].
    pub fn costs_durability(self) -> bool {
        self >= Class::D1
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why two classes may not be ranked without a word, as one set: the classes above [`Class::I`] of all settings of a
/// trial. Empty is as safe as the servers can be.
pub type Risks = std::collections::BTreeSet<Class>;
