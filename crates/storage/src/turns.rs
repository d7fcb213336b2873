//! When a worker may begin its next operation: at once in a closed loop, when the next arrival is due in an open one.

use plimsoll_load::arrivals::ArrivalSchedule;
use plimsoll_load::window::Window;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopTurn {
    /// Begin an operation that was due then.
    Now { due_ns: u64 },
    /// Nothing before this moment.
    Later(u64),
    /// Nothing more.
    Over,
}

/// One loop's turns.
#[derive(Debug)]
pub struct Turns {
    /// Operations of a closed loop in the window; `None` for as many as fit.
    quota: Option<u64>,
    begun: u64,
    /// Arrivals that all loops serve: a free loop claims the next one.
    schedule: Option<Arc<Mutex<ArrivalSchedule>>>,
    /// The arrival that is claimed and not due yet.
    claimed: Option<u64>,
}

impl Turns {
    /// `quota` counts in a closed loop only; a schedule has its own number of events.
    pub fn new(quota: Option<u64>, schedule: Option<Arc<Mutex<ArrivalSchedule>>>) -> Turns {
        Turns { quota, begun: 0, schedule, claimed: None }
    }

    /// The next turn; `dropped` hears the due times of arrivals that found the backlog full.
    pub fn next(&mut self, now_ns: u64, window: Window, dropped: impl FnMut(u64)) -> LoopTurn {
        if window.is_over(now_ns) {
            return LoopTurn::Over;
        }
        let Some(schedule) = &self.schedule else { return self.closed(now_ns, window) };
        let claimed = self.claimed.take().or_else(|| claim(&mut lock(schedule), now_ns, dropped));
        match claimed {
            None => LoopTurn::Over,
            Some(due_ns) if due_ns <= now_ns => LoopTurn::Now { due_ns },
            Some(due_ns) => {
                self.claimed = Some(due_ns);
                LoopTurn::Later(due_ns)
            }
        }
    }

    /// Warm-up is not part of a fixed number of operations.
    fn closed(&mut self, now_ns: u64, window: Window) -> LoopTurn {
        if now_ns >= window.w0_ns {
            if self.quota.is_some_and(|quota| self.begun >= quota) {
                return LoopTurn::Over;
            }
            self.begun += 1;
        }
        LoopTurn::Now { due_ns: now_ns }
    }

    /// Gives up what was due before `end_ns` and has not begun, including a turn that was `held`.
    pub fn abandon(&mut self, end_ns: u64, held: Option<u64>, mut dropped: impl FnMut(u64)) {
        let Some(schedule) = &self.schedule else { return };
        for due_ns in held.into_iter().chain(self.claimed.take()).filter(|due_ns| *due_ns < end_ns) {
            dropped(due_ns);
        }
        let mut schedule = lock(schedule);
        schedule.advance(end_ns.saturating_sub(1), |arrival| dropped(arrival.due_ns));
        while let Some(arrival) = schedule.take() {
            dropped(arrival.due_ns);
        }
    }
}

/// The arrival that has waited longest, or else the next one; `None` if there are no more.
fn claim(schedule: &mut ArrivalSchedule, now_ns: u64, mut dropped: impl FnMut(u64)) -> Option<u64> {
    schedule.advance(now_ns, |arrival| dropped(arrival.due_ns));
    if schedule.waiting() == 0 && !schedule.is_over() {
        schedule.advance(schedule.next_due_ns(), |arrival| dropped(arrival.due_ns));
    }
    schedule.take().map(|arrival| arrival.due_ns)
}

/// A schedule is consistent between any two of its calls, whoever panicked meanwhile.
fn lock(schedule: &Mutex<ArrivalSchedule>) -> MutexGuard<'_, ArrivalSchedule> {
    schedule.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_load::arrivals::Arrivals;
    use plimsoll_load::window::Limit;

    const MS: u64 = 1_000_000;

    fn open(rate: f64, events: u64, workers: usize) -> Vec<Turns> {
        let schedule = ArrivalSchedule::new(Arrivals::Constant { rate }, events, 1, 0, (0, 1)).unwrap();
        let schedule = Arc::new(Mutex::new(schedule));
        (0..workers).map(|_| Turns::new(None, Some(schedule.clone()))).collect()
    }

    fn never_dropped(due_ns: u64) {
        panic!("the arrival of {due_ns} was dropped");
    }

    #[test]
    fn a_closed_loop_has_its_quota_in_the_window_and_warms_up_besides() {
        let window = Window::new(0, 10, Limit::Events(3));
        let mut turns = Turns::new(Some(3), None);
        for now in [0, 5, 9, 10, 11, 500] {
            assert_eq!(turns.next(now, window, never_dropped), LoopTurn::Now { due_ns: now });
        }
        assert_eq!(turns.next(501, window, never_dropped), LoopTurn::Over);
        let mut endless = Turns::new(None, None);
        let window = Window::new(0, 0, Limit::Time(100));
        assert_eq!(endless.next(99, window, never_dropped), LoopTurn::Now { due_ns: 99 });
        assert_eq!(endless.next(100, window, never_dropped), LoopTurn::Over);
    }

    #[test]
    fn workers_claim_one_arrival_each_and_wait_for_it() {
        let window = Window::new(0, 0, Limit::Time(100 * MS));
        let mut turns = open(1000.0, u64::MAX, 2);
        assert_eq!(turns[0].next(0, window, never_dropped), LoopTurn::Now { due_ns: 0 });
        assert_eq!(turns[0].next(0, window, never_dropped), LoopTurn::Later(MS));
        assert_eq!(turns[1].next(0, window, never_dropped), LoopTurn::Later(2 * MS));
        assert_eq!(turns[0].next(MS / 2, window, never_dropped), LoopTurn::Later(MS));
        // The first worker was busy until long after: what it claimed is late, and nobody else did it.
        assert_eq!(turns[1].next(2 * MS, window, never_dropped), LoopTurn::Now { due_ns: 2 * MS });
        assert_eq!(turns[1].next(5 * MS, window, never_dropped), LoopTurn::Now { due_ns: 3 * MS });
        assert_eq!(turns[0].next(5 * MS, window, never_dropped), LoopTurn::Now { due_ns: MS });
    }

    #[test]
    fn a_schedule_ends_with_its_events() {
        let window = Window::new(0, 0, Limit::Events(2));
        let mut turns = open(1000.0, 2, 1).remove(0);
        assert_eq!(turns.next(5 * MS, window, never_dropped), LoopTurn::Now { due_ns: 0 });
        assert_eq!(turns.next(5 * MS, window, never_dropped), LoopTurn::Now { due_ns: MS });
        assert_eq!(turns.next(5 * MS, window, never_dropped), LoopTurn::Over);
    }

    #[test]
    fn what_cannot_wait_is_dropped_and_what_waits_at_the_end_too() {
        // A backlog of ten seconds holds 10 arrivals at one per second.
        let window = Window::new(0, 0, Limit::Time(30_000 * MS));
        let mut turns = open(1.0, u64::MAX, 1).remove(0);
        let mut dropped = Vec::new();
        assert_eq!(turns.next(14_500 * MS, window, |due| dropped.push(due / MS)), LoopTurn::Now { due_ns: 0 });
        assert_eq!(dropped, [10_000, 11_000, 12_000, 13_000, 14_000]);
        dropped.clear();
        turns.abandon(16_000 * MS, None, |due| dropped.push(due / MS));
        assert_eq!(dropped, [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 15_000]);
    }

    #[test]
    fn an_arrival_that_was_claimed_but_not_due_by_the_end_was_never_offered() {
        let window = Window::new(0, 0, Limit::Time(2 * MS));
        let mut turns = open(1000.0, u64::MAX, 1).remove(0);
        assert_eq!(turns.next(0, window, never_dropped), LoopTurn::Now { due_ns: 0 });
        assert_eq!(turns.next(MS + 1, window, never_dropped), LoopTurn::Now { due_ns: MS });
        assert_eq!(turns.next(MS + 1, window, never_dropped), LoopTurn::Later(2 * MS));
        turns.abandon(2 * MS, None, never_dropped);
    }
}
