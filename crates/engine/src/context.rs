//! What the tasks of one loop share, and how they end it.

use crate::client::{Connector, LoadClient};
use crate::due::{Due, Turn};
use crate::error::{Failure, Reason};
use crate::executor::{Reactor, Slot};
use crate::meter::Meter;
use crate::spec::RunSpec;
use crate::workload::Workload;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// What the tasks of one loop share.
pub struct Context<W: Workload> {
    pub workload: Arc<W>,
    pub shared: W::Shared,
    pub spec: Arc<RunSpec>,
    pub connector: Rc<Connector>,
    pub meter: Rc<Meter>,
    pub reactor: Rc<Reactor>,
    /// Where transactions come from, unless connections send as fast as they are answered.
    pub due: RefCell<Option<Due>>,
    /// Slot of the task that wakes connections when something is due.
    pub pacer: Cell<Option<usize>>,
    /// Work that transactions have queued.
    pub queued: RefCell<VecDeque<Turn>>,
    /// Slots of connections that wait for an arrival.
    pub idle: RefCell<VecDeque<usize>>,
    /// Connections, and the pacer, that have not finished.
    pub driving: Cell<usize>,
    /// Set when no connection may begin another transaction.
    pub stopping: Cell<bool>,
    pub reason: RefCell<Option<Reason>>,
}

impl<W: Workload> Context<W> {
    /// Ends the run for a reason; the first one is kept.
    pub fn give_up(&self, reason: Reason) {
        self.stopping.set(true);
        self.reason.borrow_mut().get_or_insert(reason);
        self.release_idle();
    }

    /// Ends the run because an exchange failed.
    pub fn give_up_for(&self, client: &W::Client, failure: &Failure) {
        match failure {
            // Not an end in itself: the run is over, or another connection has told why.
            Failure::Cancelled => {}
            Failure::Server(message) => {
                self.give_up(Reason::Statement { statement: client.last_statement(), message: message.to_string() })
            }
            Failure::Script(text) => self.give_up(Reason::Script(text.clone())),
            other => self.give_up(Reason::Lost(other.to_string())),
        }
    }

    /// Counts a connection, or the pacer, as done; after the last the loop ends its window at once.
    pub fn done_driving(&self, slot: &Slot) {
        self.driving.set(self.driving.get() - 1);
        if self.driving.get() == 0 {
            self.reactor.look_soon(slot);
        }
    }

    /// Lets idle connections look again.
    pub fn release_idle(&self) {
        for id in self.idle.borrow_mut().drain(..) {
            self.reactor.nudge(id);
        }
    }
}
