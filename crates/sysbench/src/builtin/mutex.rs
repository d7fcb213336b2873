//! `mutex`: threads that take one lock of many again and again, for an instant. A thread has one event.

use super::task::BuiltinTask;
use super::{Begun, Headline};
use crate::halt::Halt;
use crate::options::{OptionKind, OptionSet, OptionSpec, option};
use crate::request::TestRequest;
use plimsoll_load::seed::Rng;
use std::cell::Cell;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

pub static OPTIONS: [OptionSpec; 3] = [
    option("mutex-num", OptionKind::Int, Some("4096"), "locks of all threads"),
    option("mutex-locks", OptionKind::Int, Some("50000"), "how often a thread takes one"),
    option("mutex-loops", OptionKind::Int, Some("10000"), "turns of an empty loop before each"),
];

/// A lock that shares its lines of the cache with no other.
#[repr(align(256))]
#[derive(Default)]
struct Apart(Mutex<u64>);

struct Locks {
    all: Vec<Apart>,
    locks: u64,
    loops: u64,
}

impl BuiltinTask for Locks {
    const HAS_ITS_OWN_END: bool = true;
    type State = Cell<bool>;

    fn state(&self, _: usize) -> Cell<bool> {
        Cell::new(true)
    }

    fn has_more(&self, state: &Cell<bool>) -> bool {
        state.get()
    }

    fn event(&self, state: &mut Cell<bool>, rng: &mut Rng) {
        for _ in 0..self.locks {
            let place = rng.between(0, self.all.len() as u64 - 1) as usize;
            (0..self.loops).for_each(|turn| {
                black_box(turn);
            });
            *self.all[place].0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        state.set(false);
    }
}

pub fn begin(request: &TestRequest, options: &OptionSet) -> Result<Begun, Halt> {
    let locks = options.number("mutex_num");
    if locks < 1.0 {
        return Err(Halt::Fatal(format!("Invalid value for mutex-num: {locks}")));
    }
    let all = (0..locks as usize).map(|_| Apart::default()).collect();
    let task = Locks { all, locks: options.count("mutex_locks"), loops: options.count("mutex_loops") };
    Ok(Begun::new(request, String::new(), Headline::none(), task))
}
