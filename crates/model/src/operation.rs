//! What is counted separately of what is done to files.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Each kind has its own histogram. In JSON it is its [name](OpKind::name).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpKind {
    Read,
    Write,
    Sync,
    /// From one committer's request until it is durable, whoever wrote and synced.
    Commit,
    /// A file grows.
    Extend,
    Create,
    Rename,
    Truncate,
    Unlink,
}

impl OpKind {
    pub const ALL: [OpKind; 9] = [
        OpKind::Read,
        OpKind::Write,
        OpKind::Sync,
        OpKind::Commit,
        OpKind::Extend,
        OpKind::Create,
        OpKind::Rename,
        OpKind::Truncate,
        OpKind::Unlink,
    ];
    /// In the order of [`OpKind::ALL`], which is the order of the transactions of a tally.
    pub const NAMES: [&'static str; 9] =
        ["read", "write", "sync", "commit", "extend", "create", "rename", "truncate", "unlink"];

    pub fn name(self) -> &'static str {
        OpKind::NAMES[self as usize]
    }
}

impl fmt::Display for OpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_its_name_in_json() {
        for (kind, name) in OpKind::ALL.into_iter().zip(OpKind::NAMES) {
            assert_eq!((kind.name(), serde_json::to_value(kind).unwrap()), (name, name.into()));
        }
    }
}
