//! What a loop tells its controller.

use crate::error::Reason;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::source::{LoadEvent, Readiness};
use plimsoll_load::tally::Tally;

/// One of these at a time.
#[derive(Debug)]
pub enum LoopEvent {
    /// All its connections are made and prepared.
    Ready(Readiness),
    Interval(Box<Tally>),
    /// No transaction is under way any more.
    Drained(LoopTotals),
    Failed(Reason),
}

impl From<LoopEvent> for LoadEvent {
    fn from(event: LoopEvent) -> LoadEvent {
        match event {
            LoopEvent::Ready(readiness) => LoadEvent::Ready(readiness),
            LoopEvent::Interval(tally) => LoadEvent::Interval(tally),
            LoopEvent::Drained(totals) => LoadEvent::Drained(totals),
            LoopEvent::Failed(reason) => LoadEvent::Failed(reason.to_string()),
        }
    }
}
