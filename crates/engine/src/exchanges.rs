//! What is sent and answered for one connection of the run: counted and timed.

use crate::error::Failure;
use crate::meter::Meter;
use plimsoll_load::recorder::Effect;
use plimsoll_model::StatementKind;
use plimsoll_wire::response::ResponseTotals;
use std::rc::Rc;

/// The exchanges of one connection of the run, on as many connections to the server as it has.
pub struct Exchanges {
    pub meter: Rc<Meter>,
    answered_ns: u64,
    /// Nothing has been waited for since the last answer, so its time is the time.
    fresh: bool,
}

impl Exchanges {
    pub fn new(meter: Rc<Meter>) -> Exchanges {
        Exchanges { meter, answered_ns: 0, fresh: false }
    }

    /// The time. Between an answer and the next statement of the same task next to none passes, so the clock
    /// is looked at once per exchange.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        if self.fresh { self.answered_ns } else { self.meter.now_ns() }
    }

    /// Something was waited for since the last answer.
    pub fn waited(&mut self) {
        self.fresh = false;
    }

    /// When the last answer came.
    pub fn answered_ns(&self) -> u64 {
        self.answered_ns
    }

    /// A statement is about to be sent, of this kind if it has one; returns when.
    #[inline]
    pub fn sent(&mut self, kind: Option<StatementKind>) -> u64 {
        let now = self.now_ns();
        self.fresh = false;
        if let Some(kind) = kind {
            self.meter.at(now).sent(kind);
        }
        now
    }

    /// What came of the statement that was sent at `sent_ns`; `operation` is the number of its name.
    #[inline]
    pub fn answered(&mut self, operation: usize, sent_ns: u64, result: &Result<ResponseTotals, Failure>) {
        let now = self.meter.now_ns();
        self.answered_ns = now;
        self.fresh = true;
        if !matches!(result, Err(Failure::Cancelled | Failure::Lost(_))) {
            self.meter.answered(now);
        }
        match result {
            Ok(outcome) => {
                let effect = if outcome.result_sets > 0 {
                    Effect::Read
                } else if outcome.affected_rows > 0 {
                    Effect::Write
                } else {
                    Effect::Other
                };
                self.meter.at(now).answered(operation, effect, now - sent_ns);
            }
            Err(Failure::Server(message)) => self.meter.at(now).error(operation, message.code),
            Err(_) => {}
        }
    }
}
