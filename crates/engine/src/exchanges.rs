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
    /// The time, as it was looked at last; none once something has been waited for since.
    known_ns: Option<u64>,
}

impl Exchanges {
    pub fn new(meter: Rc<Meter>) -> Exchanges {
        Exchanges { meter, answered_ns: 0, known_ns: None }
    }

    /// The time. Between an answer and the next statement of the same task next to none passes, so the clock
    /// is looked at once per exchange.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.known_ns.unwrap_or_else(|| self.meter.now_ns())
    }

    /// Something was waited for since the last answer.
    pub fn waited(&mut self) {
        self.known_ns = None;
    }

    /// Looks at the clock, whose time is the time until something is waited for.
    pub fn look(&mut self) -> u64 {
        *self.known_ns.insert(self.meter.now_ns())
    }

    /// When the last answer came.
    pub fn answered_ns(&self) -> u64 {
        self.answered_ns
    }

    /// A statement is about to be sent, of this kind if it has one; returns when.
    #[inline]
    pub fn sent(&mut self, kind: Option<StatementKind>) -> u64 {
        let now = self.now_ns();
        self.known_ns = None;
        if let Some(kind) = kind {
            self.meter.at(now).sent(kind);
        }
        now
    }

    /// Something that is none of the load was answered; returns when.
    #[inline]
    pub fn answered_uncounted(&mut self, result: &Result<ResponseTotals, Failure>) -> u64 {
        let now = self.look();
        self.answered_ns = now;
        if !matches!(result, Err(Failure::Cancelled | Failure::Lost(_))) {
            self.meter.answered(now);
        }
        now
    }

    /// What came of the statement that was sent at `sent_ns`; `operation` is the number of its name.
    #[inline]
    pub fn answered(&mut self, operation: usize, sent_ns: u64, result: &Result<ResponseTotals, Failure>) {
        let now = self.answered_uncounted(result);
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
