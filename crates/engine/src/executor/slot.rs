//! What a task of a loop waits with.

use std::cell::Cell;
use std::rc::Rc;
use std::task;

/// What a task waits for, and what has come.
#[derive(Debug, Default)]
pub struct Slot {
    pub(super) id: usize,
    /// The slot whose task is polled when something comes here: its own, unless it is one more of that task.
    pub(super) owner: usize,
    pub(super) readable: Cell<bool>,
    pub(super) writable: Cell<bool>,
    /// The other side has hung up: what it sent before can be read, then the end.
    pub(super) ended: Cell<bool>,
    /// Set to let the task run although nothing came: it looks for itself.
    pub(super) nudged: Cell<bool>,
    /// One for all slots of a task: what it waits for fails on whichever it waits.
    pub(super) cancelled: Rc<Cell<bool>>,
    pub(super) queued: Cell<bool>,
    /// Since when the rest of an answer is waited for.
    pub(super) answering_since_ns: Cell<Option<u64>>,
}

impl Slot {
    pub fn id(&self) -> usize {
        self.id
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.get()
    }

    /// Nothing is left to read for now. A socket that has ended never blocks: an end that was noted is that of the socket
    /// which had this slot before.
    pub fn set_blocked(&self) {
        self.readable.set(false);
        self.ended.set(false);
    }

    /// All that came was read. No edge comes for an end that came together with it.
    #[inline]
    pub fn set_drained(&self) {
        self.readable.set(self.ended.get());
    }

    /// From here to [`Slot::answered`] the rest of an answer is waited for.
    pub fn begin_answer(&self, now_ns: u64) {
        self.answering_since_ns.set(Some(now_ns));
    }

    pub fn answered(&self) {
        self.answering_since_ns.set(None);
    }

    /// Whether an answer has begun and not ended.
    pub fn is_answering(&self) -> bool {
        self.answering_since_ns.get().is_some()
    }

    /// Waits for bytes to read; false if the loop is being cancelled.
    #[inline]
    pub async fn readable(&self) -> bool {
        wait(|| self.readable.get() || self.cancelled.get()).await;
        !self.cancelled.get()
    }

    /// Waits for room to write; false if the loop is being cancelled.
    pub async fn writable(&self) -> bool {
        wait(|| self.writable.replace(false) || self.cancelled.get()).await;
        !self.cancelled.get()
    }

    /// Waits to be nudged, or cancelled.
    pub async fn nudged(&self) {
        wait(|| self.nudged.replace(false) || self.cancelled.get()).await;
    }
}

/// Waits until `done`, which is asked each time the task is polled.
#[inline]
pub(super) async fn wait(mut done: impl FnMut() -> bool) {
    std::future::poll_fn(|_| if done() { task::Poll::Ready(()) } else { task::Poll::Pending }).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_read_to_its_end_and_forgotten_where_there_is_none() {
        let slot = Slot::default();
        slot.readable.set(true);
        slot.ended.set(true);
        slot.set_drained();
        assert!(slot.readable.get(), "the end is still to be read");
        slot.set_blocked();
        slot.readable.set(true);
        slot.set_drained();
        assert!(!slot.readable.get(), "it was another socket's end");
    }
}
