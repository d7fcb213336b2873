//! Why a recording ended before its plan did.

use crate::event::{EVENTS_SCHEMA, Event};
use crate::lines::read_json_lines;
use crate::manifest::{Manifest, Status};
use crate::memory::Allowance;
use crate::read::{Entry, RecordingView};

/// Why something ended before its plan did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    Interrupted,
    Failed(String),
}

impl EarlyEnd {
    /// What a recording says of its end.
    pub fn status(ended: Option<&EarlyEnd>) -> Status {
        match ended {
            None => Status::Done,
            Some(EarlyEnd::Interrupted) => Status::Interrupted,
            Some(EarlyEnd::Failed(_)) => Status::Failed,
        }
    }
}

/// Said where an old recording does not tell.
const NOT_RECORDED: &str = "it failed; why was not recorded";

impl Entry {
    /// Why it ended before its plan did, in words; none of one that is done or still being written.
    pub fn ended_early(&self) -> Option<String> {
        ended_early(&self.manifest, self.being_written, || {
            let events = self.directory.join("events.ndjson");
            told(&read_json_lines(&events, EVENTS_SCHEMA, &Allowance::of_now()).unwrap_or_default())
        })
    }
}

impl RecordingView {
    /// As [`Entry::ended_early`].
    pub fn ended_early(&self) -> Option<String> {
        ended_early(&self.manifest, self.being_written, || told(&self.events))
    }
}

/// The manifest says it, those of older versions in `event` alone.
fn ended_early(manifest: &Manifest, being_written: bool, event: impl FnOnce() -> Option<String>) -> Option<String> {
    match manifest.status {
        Status::Done => None,
        Status::Running if being_written => None,
        Status::Running => Some("Plimsoll was killed".to_owned()),
        Status::Interrupted => Some("it was interrupted".to_owned()),
        Status::Failed => Some(manifest.why.clone().or_else(event).unwrap_or_else(|| NOT_RECORDED.to_owned())),
    }
}

/// What failed last of all, but for a single measurement, which has an id.
fn told(events: &[Event]) -> Option<String> {
    let failed = events.iter().rev().find(|event| event.kind == "failed" && event.detail["id"].is_null())?;
    failed.detail["why"].as_str().map(str::to_owned)
}
