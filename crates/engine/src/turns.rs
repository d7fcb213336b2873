//! When a connection has something to do: at once after an answer, when an arrival or a terminal is due, or when a
//! transaction has queued work.

use crate::client::LoadClient;
use crate::context::Context;
use crate::due::{Begun, Due, Turn, pause_ns};
use crate::executor::Slot;
use crate::workload::{Who, Workload};
use plimsoll_load::arrivals::Arrival;
use std::rc::Rc;

const LOOK_AGAIN_NS: u64 = 100_000_000;
const LAST_LOOK_NS: u64 = 1_000_000;
impl<W: Workload> Context<W> {
    fn over(&self, now_ns: u64) -> bool {
        self.stopping.get() || self.meter.at(now_ns).window().is_over(now_ns)
    }

    /// The next transaction of a connection; `None` when there is none left to begin.
    pub async fn turn(&self, slot: &Slot, client: &mut W::Client, who: Who, begun: &mut Begun) -> Option<Turn> {
        if self.due.borrow().is_some() {
            client.waited();
            return self.due(slot).await;
        }
        let now = client.now_ns();
        if slot.is_cancelled() || self.over(now) {
            return None;
        }
        if let Some(turn) = self.take_queued(now) {
            return Some(turn);
        }
        let warmup = now < self.meter.at(now).window().w0_ns;
        let count = if warmup { &mut begun.warmup } else { &mut begun.measured };
        let quota = self.spec.limit.quota(who.connection, who.connections);
        if !warmup && quota.is_some_and(|quota| *count >= quota) {
            return None;
        }
        *count += 1;
        let (stream, number) = (who.connection as u64, *count - 1);
        Some(Turn { due_ns: now, sent_ns: now, stream, number, warmup, queued: false })
    }

    /// Waits for queued work, an arrival or a terminal that is due.
    async fn due(&self, slot: &Slot) -> Option<Turn> {
        loop {
            let now = self.meter.now_ns();
            if slot.is_cancelled() || self.over(now) {
                return None;
            }
            if let Some(turn) = self.take_queued(now) {
                return Some(turn);
            }
            self.advance(now);
            if let Some(Arrival { stream, number, due_ns }) = self.take(now) {
                return Some(Turn { due_ns, sent_ns: now, stream, number, warmup: false, queued: false });
            }
            if self.due_is_over() {
                return None;
            }
            self.idle.borrow_mut().push_back(slot.id());
            slot.nudged().await;
        }
    }

    /// What is due next, which no longer waits.
    fn take(&self, now_ns: u64) -> Option<Arrival> {
        let mut due = self.due.borrow_mut();
        let due = due.as_mut()?;
        let taken = due.take();
        self.meter.at(now_ns).waits(due.waiting() as u64);
        taken
    }

    fn due_is_over(&self) -> bool {
        self.due.borrow().as_ref().is_none_or(Due::is_over)
    }

    fn advance(&self, now_ns: u64) {
        if let Some(due) = self.due.borrow_mut().as_mut() {
            let mut recorder = self.meter.at(now_ns);
            due.advance(now_ns, |arrival| recorder.dropped(arrival.due_ns));
            recorder.waits(due.waiting() as u64);
        }
    }

    fn take_queued(&self, now_ns: u64) -> Option<Turn> {
        let turn = self.queued.borrow_mut().pop_front()?;
        Some(Turn { sent_ns: now_ns, ..turn })
    }

    /// Takes on the work that the transaction of `turn` has queued.
    pub fn queue(&self, turn: &Turn, now_ns: u64) {
        self.queued.borrow_mut().push_back(Turn { due_ns: now_ns, queued: true, ..*turn });
        if let Some(id) = self.idle.borrow_mut().pop_front() {
            self.reactor.nudge(id);
        }
    }

    /// Counts as dropped what is still queued when the run ends.
    pub fn drop_queued(&self) {
        let now = self.meter.now_ns();
        self.queued.borrow_mut().drain(..).for_each(|turn| self.meter.at(now).dropped(turn.due_ns));
    }

    /// A transaction has ended, whichever way: its terminal pauses.
    pub fn answered(&self, turn: &Turn) {
        if turn.queued {
            return;
        }
        if let Some(Due::Terminals(terminals)) = self.due.borrow_mut().as_mut() {
            let pause_ns = pause_ns(&*self.workload, self.spec.seed, turn.stream, Some(turn.number));
            let due_ns = self.meter.now_ns() + pause_ns;
            if due_ns < terminals.next_due_ns()
                && let Some(pacer) = self.pacer.get()
            {
                self.reactor.nudge(pacer);
            }
            terminals.answered(turn.stream, due_ns);
        }
    }
}

/// Wakes idle connections as transactions become due, and drops those that still wait at the window's end or when no
/// connection is left for them.
pub async fn pace<W: Workload>(context: Rc<Context<W>>, slot: Rc<Slot>) {
    context.pacer.set(Some(slot.id()));
    loop {
        let now = context.meter.now_ns();
        let is_alone = context.driving.get() == 1;
        if context.over(now) || slot.is_cancelled() || is_alone {
            break;
        }
        context.advance(now);
        if context.due_is_over() {
            break;
        }
        let (waiting, next, look_again_ns) = match context.due.borrow().as_ref() {
            // All have come: the window ends when the last of them is done.
            Some(Due::Arrivals(schedule)) if schedule.next_due_ns() == u64::MAX => {
                (schedule.waiting(), u64::MAX, LAST_LOOK_NS)
            }
            Some(due) => (due.waiting(), due.next_due_ns(), LOOK_AGAIN_NS),
            None => return,
        };
        for _ in 0..waiting {
            let Some(id) = context.idle.borrow_mut().pop_front() else { break };
            context.reactor.nudge(id);
        }
        let end = context.meter.at(now).window().w1_ns.unwrap_or(u64::MAX);
        // The window can also be ended from outside.
        context.reactor.doze_until(&slot, next.min(end).min(now + look_again_ns)).await;
    }
    let now = context.meter.now_ns();
    let end = context.meter.at(now).window().w1_ns.unwrap_or(now);
    context.advance(end.min(now).saturating_sub(1));
    while let Some(arrival) = context.take(now) {
        context.meter.at(now).dropped(arrival.due_ns);
    }
    context.done_driving(&slot);
    context.release_idle();
}
