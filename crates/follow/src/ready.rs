//! From the start of the loops to the last of their connections.

use crate::follow::LOOK;
use plimsoll_load::source::{LoadEvent, LoadSource, Readiness};
use plimsoll_watch::Watcher;

/// Why a load cannot begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReady {
    Interrupted,
    /// A loop cannot make its connections, and says why.
    Failed(String),
    /// A loop is gone and has not said why.
    Ended,
}

/// Waits until all loops have their connections; what they say together.
///
/// # Errors
/// The first reason why that will not be.
pub fn until_ready(source: &mut dyn LoadSource, watcher: &dyn Watcher) -> Result<Readiness, NotReady> {
    let (mut ready, mut all, mut silent) = (0, Readiness::default(), false);
    while ready < source.facts().tellers {
        match source.next(LOOK) {
            Some(LoadEvent::Ready(readiness)) => {
                ready += 1;
                all.add(readiness);
            }
            Some(LoadEvent::Failed(why)) => return Err(NotReady::Failed(why)),
            Some(LoadEvent::Lost { .. }) => return Err(NotReady::Ended),
            _ if watcher.interrupted() => return Err(NotReady::Interrupted),
            // Its last word may still be on its way.
            None if source.ended() > 0 && std::mem::replace(&mut silent, true) => return Err(NotReady::Ended),
            _ => {}
        }
    }
    Ok(all)
}
