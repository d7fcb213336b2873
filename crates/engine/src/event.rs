//! What a loop tells its controller.

use crate::error::Reason;
use plimsoll_load::recorder::Totals;
use plimsoll_load::tally::Tally;

/// One of these at a time.
#[derive(Debug)]
pub enum LoopEvent {
    /// All its connections are made and prepared.
    Ready {
        /// The local process that serves them, if it is one.
        server_pid: Option<u32>,
        /// The first two columns of what was asked.
        answer: Vec<(String, String)>,
    },
    Interval(Box<Tally>),
    /// No transaction is under way any more.
    Drained(Totals),
    Failed(Reason),
}
