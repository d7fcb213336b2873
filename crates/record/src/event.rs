//! What happened while a recording was written.

use serde::{Deserialize, Serialize};

pub(crate) const EVENTS_SCHEMA: &str = "plimsoll.events";

/// One line of `events.ndjson`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Monotonic, since the recording's start.
    pub t_ns: u64,
    pub kind: String,
    pub detail: serde_json::Value,
}
