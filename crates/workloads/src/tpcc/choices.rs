//! The choices that parameters offer.

use crate::error::Error;

/// The workload's name.
pub const NAME: &str = "tpcc";

/// A named set of defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// As in the specification.
    #[default]
    Spec,
    /// As DBT-2 runs it, server-only.
    Dbt2,
    /// Table sets and mix of Percona's sysbench-tpcc.
    Sysbench,
}

/// Whether known defects of the originals are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fidelity {
    #[default]
    Strict,
    /// Profile `sysbench`, per-row, text only: keeps the defects, so that old numbers can be compared.
    Compat,
}

/// Whether terminals wait between transactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    #[default]
    None,
    /// Keying and think times of clause 5.2.5.
    Spec,
}

/// Which warehouse and district a transaction is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// A terminal has a warehouse of its own (clause 2.x.1.1), and for stock-levels a district (clause 2.8.1.1).
    #[default]
    Home,
    /// A connection has every n-th warehouse to itself; the district is random.
    Slice,
    /// Both are random for each transaction.
    Random,
}

/// How many round trips a transaction takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallStyle {
    /// One statement for each row.
    PerRow,
    /// One statement for the rows of a table.
    #[default]
    Batched,
    /// One CALL between BEGIN and COMMIT.
    Procedure,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    ReadCommitted,
    #[default]
    RepeatableRead,
    Serializable,
}

/// The foreign keys of clause 1.4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForeignKeys {
    #[default]
    None,
    /// They exist; sessions run with foreign_key_checks = 0, as sysbench-tpcc does.
    Declared,
    Enforced,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryPk {
    #[default]
    None,
    /// An AUTO_INCREMENT column `id`, as servers that replicate by row require.
    Auto,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeliveryMode {
    #[default]
    Immediate,
    /// Queued, and executed when a connection is free (clause 2.7.2).
    Deferred,
}

/// Names as on the command line, in the order of the variants.
macro_rules! names {
    ($type:ident: $($variant:ident = $name:literal),+) => {
        impl $type {
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }

            pub fn from_name(name: &str) -> Option<$type> {
                match name { $($name => Some($type::$variant),)+ _ => None }
            }
        }
    };
}

names!(Profile: Spec = "spec", Dbt2 = "dbt2", Sysbench = "sysbench");
names!(Fidelity: Strict = "strict", Compat = "compat");
names!(Pacing: None = "none", Spec = "spec");
names!(Affinity: Home = "home", Slice = "slice", Random = "random");
names!(CallStyle: PerRow = "per-row", Batched = "batched", Procedure = "procedure");
names!(Isolation: ReadCommitted = "read-committed", RepeatableRead = "repeatable-read", Serializable = "serializable");
names!(ForeignKeys: None = "none", Declared = "declared", Enforced = "enforced");
names!(HistoryPk: None = "none", Auto = "auto");
names!(DeliveryMode: Immediate = "immediate", Deferred = "deferred");

impl Profile {
    pub const ALL: [Profile; 3] = [Profile::Spec, Profile::Dbt2, Profile::Sysbench];

    /// Whether both have the same tables, so that data loaded under one can be used under the other.
    pub fn shares_tables_with(self, other: Profile) -> bool {
        (self == Profile::Sysbench) == (other == Profile::Sysbench)
    }
}

pub(super) fn refuse<T>(found: &str, remedy: &str) -> Result<T, Error> {
    Err(Error::Combination { workload: NAME, found: found.to_owned(), remedy: remedy.to_owned() })
}
