//! One thread, many tasks: nobody keeps the loop to itself.

use crate::conduct::watched;
use plimsoll_engine::executor::Executor;
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

const MS: u64 = 1_000_000;

#[test]
fn a_task_that_always_has_something_to_do_gives_way() {
    watched(|| {
        let mut executor = Executor::new(Instant::now()).unwrap();
        let reactor = executor.reactor();
        let done = Rc::new(Cell::new(false));
        let (busy, sleeper) = (reactor.clone(), reactor.clone());
        let (waits, sets) = (done.clone(), done.clone());
        executor.spawn(|slot| async move {
            while !waits.get() {
                busy.give_way(&slot).await;
            }
        });
        executor.spawn(|slot| async move {
            let at = sleeper.now_ns() + 20 * MS;
            assert!(sleeper.sleep_until(&slot, at).await && sleeper.now_ns() >= at);
            sets.set(true);
        });
        while executor.live() > 0 {
            executor.turn(u64::MAX).unwrap();
        }
        assert!(done.get());
    });
}

#[test]
fn what_is_waited_for_in_vain_ends_at_its_deadline() {
    watched(|| {
        let mut executor = Executor::new(Instant::now()).unwrap();
        let reactor = executor.reactor();
        let slot = reactor.slot(0);
        // Nothing is ever read there, and the busy one never waits for anything.
        let until = reactor.now_ns() + 20 * MS;
        assert!(!executor.block_on(&slot, slot.readable(), until, u64::MAX).unwrap());
        assert!(reactor.now_ns() >= until);
        let busy = async {
            while !slot.is_cancelled() {
                reactor.give_way(&slot).await;
            }
        };
        executor.block_on(&slot, busy, reactor.now_ns() + 20 * MS, u64::MAX).unwrap();
    });
}
