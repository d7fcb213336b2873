//! `threads`: threads that take locks in turn and give way while they have them.

use super::task::BuiltinTask;
use super::{Begun, Headline};
use crate::halt::Halt;
use crate::options::{OptionKind, OptionSet, OptionSpec, option};
use crate::request::TestRequest;
use plimsoll_load::seed::Rng;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

pub static OPTIONS: [OptionSpec; 2] = [
    option("thread-yields", OptionKind::Int, Some("1000"), "how often an event gives way"),
    option("thread-locks", OptionKind::Int, Some("8"), "locks of all threads"),
];

struct Yields {
    yields: u64,
    locks: Vec<Mutex<()>>,
    events: AtomicUsize,
}

impl BuiltinTask for Yields {
    type State = ();

    fn state(&self, _: usize) {}

    fn event(&self, (): &mut (), _: &mut Rng) {
        let lock = &self.locks[self.events.fetch_add(1, Ordering::Relaxed) % self.locks.len()];
        for _ in 0..self.yields {
            let held = lock.lock().unwrap_or_else(PoisonError::into_inner);
            std::thread::yield_now();
            drop(held);
        }
    }
}

pub fn begin(request: &TestRequest, options: &OptionSet) -> Result<Begun, Halt> {
    let locks = options.number("thread_locks");
    if locks < 1.0 {
        return Err(Halt::Fatal(format!("Invalid value for thread-locks: {locks}")));
    }
    let locks = (0..locks as usize).map(|_| Mutex::default()).collect();
    let task = Yields { yields: options.count("thread_yields"), locks, events: AtomicUsize::new(0) };
    Ok(Begun::new(request, String::new(), Headline::none(), task))
}
