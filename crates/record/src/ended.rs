//! Why a recording ended before its plan did.

use crate::manifest::{Manifest, Status};
use crate::read::{Entry, RecordingView};

/// Why something ended before its plan did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    Interrupted,
    Failed(String),
}

impl EarlyEnd {
    /// In words, as part of a sentence.
    pub fn why(&self) -> &str {
        match self {
            EarlyEnd::Interrupted => INTERRUPTED,
            EarlyEnd::Failed(why) => why,
        }
    }

    /// What a recording says of its end.
    pub fn status(ended: Option<&EarlyEnd>) -> Status {
        match ended {
            None => Status::Done,
            Some(EarlyEnd::Interrupted) => Status::Interrupted,
            Some(EarlyEnd::Failed(_)) => Status::Failed,
        }
    }
}

const INTERRUPTED: &str = "it was interrupted";
/// Said where the manifest does not tell.
const NOT_RECORDED: &str = "it failed; why was not recorded";

impl Entry {
    /// Why it ended before its plan did, in words; none of one that is done or still being written.
    pub fn ended_early(&self) -> Option<String> {
        ended_early(&self.manifest, self.being_written)
    }
}

impl RecordingView {
    /// As [`Entry::ended_early`].
    pub fn ended_early(&self) -> Option<String> {
        ended_early(&self.manifest, self.being_written)
    }
}

fn ended_early(manifest: &Manifest, being_written: bool) -> Option<String> {
    match manifest.status {
        Status::Done => None,
        Status::Running if being_written => None,
        Status::Running => Some("Plimsoll was killed".to_owned()),
        Status::Interrupted => Some(INTERRUPTED.to_owned()),
        Status::Failed => Some(manifest.why.clone().unwrap_or_else(|| NOT_RECORDED.to_owned())),
    }
}
