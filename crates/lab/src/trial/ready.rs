//! From the start of the loops to the last of their connections.

use super::LOOK;
use crate::error::LabError;
use plimsoll_data::epitaph::with_epitaph;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{LoopEvent, Run};
use plimsoll_watch::Watcher;
use std::collections::BTreeMap;

/// What the loops say once they have all their connections.
#[derive(Default)]
pub(super) struct Readiness {
    /// Of a local server.
    pub pid: Option<u32>,
    pub answer: BTreeMap<String, String>,
}

/// Waits until every loop has all its connections.
///
/// # Errors
/// [`LabError::Environment`] if one cannot make them, [`LabError::Interrupted`].
pub(super) fn until_ready(run: &Run, target: &OpenTarget, watcher: &mut dyn Watcher) -> Result<Readiness, LabError> {
    let (mut ready, mut readiness, mut silent) = (0, Readiness::default(), false);
    while ready < run.loops {
        match run.next(LOOK) {
            Some(LoopEvent::Ready { server_pid, answer }) => {
                ready += 1;
                readiness.pid = readiness.pid.or(server_pid);
                readiness.answer.extend(answer);
            }
            Some(LoopEvent::Failed(reason)) => {
                return Err(LabError::Environment(with_epitaph(
                    target,
                    format!("cannot make the connections: {reason}"),
                )));
            }
            _ if watcher.interrupted() => return Err(LabError::Interrupted),
            // Its last word may still be on its way.
            None if run.ended() > 0 && std::mem::replace(&mut silent, true) => {
                return Err(LabError::Environment("an event loop ended by itself".to_owned()));
            }
            _ => {}
        }
    }
    Ok(readiness)
}
