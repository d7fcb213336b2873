//! The OLTP family of sysbench 1.0.20, written natively: same tables, rows, statements, parameters and defaults, so
//! that data loaded by either tool is driven by the other.
//!
//! Begin with [`statements`], which reads like the transaction it describes, then [`schema`] and [`load`] (the data),
//! [`tx`] (one transaction) and [`check`] (what must hold afterwards). [`parameters`] is the table of everything that can be set.

pub mod check;
pub mod describe;
pub mod load;
pub mod parameters;
pub mod schema;
pub mod statements;
pub mod tx;
pub mod values;

pub use tx::Oltp;
pub use values::{Layout, Parameters};

/// The workloads of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    ReadWrite,
    ReadOnly,
    WriteOnly,
    PointSelect,
    Insert,
    Delete,
    UpdateIndex,
    UpdateNonIndex,
    SelectRandomPoints,
    SelectRandomRanges,
    BulkInsert,
}

impl Kind {
    pub const ALL: [Kind; 11] = [
        Kind::ReadWrite,
        Kind::ReadOnly,
        Kind::WriteOnly,
        Kind::PointSelect,
        Kind::Insert,
        Kind::Delete,
        Kind::UpdateIndex,
        Kind::UpdateNonIndex,
        Kind::SelectRandomPoints,
        Kind::SelectRandomRanges,
        Kind::BulkInsert,
    ];

    /// The kinds that the layout `sysbench-0.4` has: its complex mode, read-only, write-only, and its simple mode.
    pub const OF_SYSBENCH_0_4: [Kind; 4] = [Kind::ReadWrite, Kind::ReadOnly, Kind::WriteOnly, Kind::PointSelect];

    pub const fn name(self) -> &'static str {
        match self {
            Kind::ReadWrite => "oltp_read_write",
            Kind::ReadOnly => "oltp_read_only",
            Kind::WriteOnly => "oltp_write_only",
            Kind::PointSelect => "oltp_point_select",
            Kind::Insert => "oltp_insert",
            Kind::Delete => "oltp_delete",
            Kind::UpdateIndex => "oltp_update_index",
            Kind::UpdateNonIndex => "oltp_update_non_index",
            Kind::SelectRandomPoints => "select_random_points",
            Kind::SelectRandomRanges => "select_random_ranges",
            Kind::BulkInsert => "bulk_insert",
        }
    }

    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The family of data that it loads and drives.
    pub fn dataset_family(self) -> &'static str {
        match self {
            Kind::BulkInsert => "bulk_insert",
            _ => "sbtest",
        }
    }

    /// What it does, in one sentence.
    pub fn summary(self) -> &'static str {
        match self {
            Kind::ReadWrite => {
                "Transactions of point and range reads, updates of an indexed and of a plain column, and a delete with re-insert."
            }
            Kind::ReadOnly => "Transactions of point and range reads.",
            Kind::WriteOnly => "Transactions of updates and a delete with re-insert.",
            Kind::PointSelect => {
                "Single reads by primary key, the lightest query there is: it measures the path to the server."
            }
            Kind::Insert => "Single-row inserts, always as text.",
            Kind::Delete => "Single-row deletes by primary key; the table empties as it runs.",
            Kind::UpdateIndex => "Single-row updates of the indexed column k.",
            Kind::UpdateNonIndex => "Single-row updates of the text column c, which no index covers.",
            Kind::SelectRandomPoints => "One SELECT of rows at several values of the indexed column k.",
            Kind::SelectRandomRanges => "One SELECT that counts rows in several ranges of the indexed column k.",
            Kind::BulkInsert => "Multi-row inserts of 512 KiB each, one table per connection; a transaction is a row.",
        }
    }
}
