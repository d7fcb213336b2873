//! The OLTP family of sysbench 1.0.20, written natively: same tables, rows, statements, parameters and defaults, so
//! that either tool can run on data loaded by the other.
//!
//! Begin with [`statements`], which reads like the transaction it describes, then [`schema`] and [`load`] (the data),
//! [`tx`] (one transaction) and [`check`] (what must hold afterwards). [`parameters`] is the table of everything that
//! can be set.

pub mod check;
pub mod describe;
pub mod load;
pub mod parameters;
pub mod schema;
pub mod statements;
pub mod tx;
pub mod values;

pub use tx::Oltp;
pub use values::{OltpParameters, SysbenchLayout};

/// The workloads of the family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OltpKind {
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

impl OltpKind {
    pub const ALL: [OltpKind; 11] = [
        OltpKind::ReadWrite,
        OltpKind::ReadOnly,
        OltpKind::WriteOnly,
        OltpKind::PointSelect,
        OltpKind::Insert,
        OltpKind::Delete,
        OltpKind::UpdateIndex,
        OltpKind::UpdateNonIndex,
        OltpKind::SelectRandomPoints,
        OltpKind::SelectRandomRanges,
        OltpKind::BulkInsert,
    ];

    /// The kinds that the layout `sysbench-0.4` has: its complex mode, read-only, write-only, and its simple mode.
    pub const OF_SYSBENCH_0_4: [OltpKind; 4] =
        [OltpKind::ReadWrite, OltpKind::ReadOnly, OltpKind::WriteOnly, OltpKind::PointSelect];

    pub const fn name(self) -> &'static str {
        match self {
            OltpKind::ReadWrite => "oltp_read_write",
            OltpKind::ReadOnly => "oltp_read_only",
            OltpKind::WriteOnly => "oltp_write_only",
            OltpKind::PointSelect => "oltp_point_select",
            OltpKind::Insert => "oltp_insert",
            OltpKind::Delete => "oltp_delete",
            OltpKind::UpdateIndex => "oltp_update_index",
            OltpKind::UpdateNonIndex => "oltp_update_non_index",
            OltpKind::SelectRandomPoints => "select_random_points",
            OltpKind::SelectRandomRanges => "select_random_ranges",
            OltpKind::BulkInsert => "bulk_insert",
        }
    }

    pub fn from_name(name: &str) -> Option<OltpKind> {
        OltpKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The family of data that it loads and drives.
    pub fn dataset_family(self) -> &'static str {
        match self {
            OltpKind::BulkInsert => "bulk_insert",
            _ => "sbtest",
        }
    }

    /// What it does, in one sentence.
    pub fn summary(self) -> &'static str {
        match self {
            OltpKind::ReadWrite => {
                "Transactions of point and range reads, updates of an indexed and of a plain column, and a delete with re-insert."
            }
            OltpKind::ReadOnly => "Transactions of point and range reads.",
            OltpKind::WriteOnly => "Transactions of updates and a delete with re-insert.",
            OltpKind::PointSelect => {
                "Single reads by primary key, the lightest query there is: it measures the path to the server."
            }
            OltpKind::Insert => "Single-row inserts, always as text.",
            OltpKind::Delete => "Single-row deletes by primary key; the table empties as it runs.",
            OltpKind::UpdateIndex => "Single-row updates of the indexed column k.",
            OltpKind::UpdateNonIndex => "Single-row updates of the text column c, which no index covers.",
            OltpKind::SelectRandomPoints => "One SELECT of rows at several values of the indexed column k.",
            OltpKind::SelectRandomRanges => "One SELECT that counts rows in several ranges of the indexed column k.",
            OltpKind::BulkInsert => {
                "Multi-row inserts of 512 KiB each, one table per connection; a transaction is a row."
            }
        }
    }
}
