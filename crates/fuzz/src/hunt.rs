//! The loop: one input after the other, until there were enough, the time is over, or one is not read as it should be.

use crate::target::FuzzTarget;
use plimsoll_load::seed::Rng;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::any::Any;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Keeps what inputs draw apart from what others draw with the same seed: "fuzz" in ASCII.
const STREAM: u64 = 0x6675_7a7a;
/// Address space of the process, bytes: far more than any reader needs, so that one that takes all is found.
const MEMORY: u64 = 4 << 30;
/// Bytes of stack: what a program's main thread has.
const STACK: usize = 8 << 20;
/// Who takes longer than this for one input hangs, and twice as long is looked for at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// When a hunt ends that finds nothing.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    Inputs(u64),
    Time(Duration),
}

/// Which inputs are tried.
#[derive(Clone, Copy, Debug)]
pub struct Hunt {
    pub seed: u64,
    /// The number of the first.
    pub from: u64,
    pub until: Until,
}

/// How far a hunt came that found nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HuntTally {
    pub inputs: u64,
    /// Those that were read to their end. The others were refused.
    pub read: u64,
}

/// An input that was not read as it should be.
#[derive(Clone, Debug)]
pub struct HuntFinding {
    pub target: &'static str,
    pub seed: u64,
    pub number: u64,
    /// What it was made of.
    pub entry: String,
    pub what: String,
    pub input: Vec<u8>,
}

impl fmt::Display for HuntFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HuntFinding { target, seed, number, entry, what, .. } = self;
        writeln!(f, "{target}, input {number} of seed {seed}, made of {entry}: {what}")?;
        write!(f, "again: cargo run --package plimsoll-fuzz -- {target} --seed {seed} --from {number} --inputs 1")
    }
}

impl Hunt {
    /// Tries inputs within the memory and the stack of a process. One that hangs ends the process.
    ///
    /// # Errors
    /// The first input that was not read as it should be.
    ///
    /// # Panics
    /// If no thread can be started.
    pub fn run(&self, target: &mut dyn FuzzTarget) -> Result<HuntTally, HuntFinding> {
        bound_memory();
        thread::scope(|scope| {
            let hunter = thread::Builder::new().name("hunter".to_owned()).stack_size(STACK);
            let hunter = hunter.spawn_scoped(scope, || self.hunt(target)).expect("a thread can be started");
            hunter.join().expect("panics of readers are caught")
        })
    }

    fn hunt(&self, target: &mut dyn FuzzTarget) -> Result<HuntTally, HuntFinding> {
        let under_way = Arc::new(AtomicU64::new(self.from));
        let _watch = watch(target.name(), self.seed, Arc::clone(&under_way));
        let begun = Instant::now();
        let mut tally = HuntTally::default();
        while !self.is_over(tally.inputs, begun) {
            let number = self.from + tally.inputs;
            under_way.store(number, Ordering::Relaxed);
            let (entry, input) = drawn(target, self.seed, number);
            match read(target, entry, &input) {
                Ok(whole) => tally.read += u64::from(whole),
                Err(what) => {
                    let (target, entry) = (target.name(), target.entries()[entry].name.clone());
                    return Err(HuntFinding { target, seed: self.seed, number, entry, what, input });
                }
            }
            tally.inputs += 1;
        }
        Ok(tally)
    }

    fn is_over(&self, inputs: u64, begun: Instant) -> bool {
        match self.until {
            Until::Inputs(most) => inputs >= most,
            Until::Time(most) => begun.elapsed() >= most,
        }
    }
}

/// The input of this number: what it is made of, by its place among the entries, and what has become of it.
fn drawn(target: &dyn FuzzTarget, seed: u64, number: u64) -> (usize, Vec<u8>) {
    let mut random = Rng::new(seed, STREAM, number);
    let entry = crate::change::below(&mut random, target.entries().len());
    (entry, target.changed(entry, &mut random))
}

/// What a target makes of an input; that it panics is told like whatever else should not be.
///
/// # Errors
/// As [`FuzzTarget::read`].
pub fn read(target: &mut dyn FuzzTarget, entry: usize, input: &[u8]) -> Result<bool, String> {
    let read = panic::catch_unwind(AssertUnwindSafe(|| target.read(entry, input)));
    read.unwrap_or_else(|panicked| Err(format!("it panicked: {}", words(&*panicked))))
}

fn words(panicked: &(dyn Any + Send)) -> &str {
    let formatted = panicked.downcast_ref::<String>().map(String::as_str);
    formatted.or_else(|| panicked.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}

fn bound_memory() {
    let Rlimit { current, maximum } = getrlimit(Resource::As);
    let current = Some(current.map_or(MEMORY, |current| current.min(MEMORY)));
    setrlimit(Resource::As, Rlimit { current, maximum }).expect("a limit can be lowered");
}

/// Looks from time to time which input is under way, and ends the process where it is the same twice; until what this
/// returns is dropped.
fn watch(target: &'static str, seed: u64, under_way: Arc<AtomicU64>) -> mpsc::Sender<()> {
    let (held, dropped) = mpsc::channel();
    thread::spawn(move || {
        let mut before = None;
        while dropped.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let number = under_way.load(Ordering::Relaxed);
            if before == Some(number) {
                eprintln!("{target}, input {number} of seed {seed}: it takes more than {} s", PATIENCE.as_secs());
                std::process::abort();
            }
            before = Some(number);
        }
    });
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::CorpusEntry;

    /// Refuses empty inputs and cannot stand the byte 7.
    struct Picky(Vec<CorpusEntry>);

    impl FuzzTarget for Picky {
        fn name(&self) -> &'static str {
            "picky"
        }

        fn entries(&self) -> &[CorpusEntry] {
            &self.0
        }

        fn changed(&self, _entry: usize, random: &mut Rng) -> Vec<u8> {
            (0..crate::change::below(random, 4)).map(|_| random.next_u64() as u8).collect()
        }

        fn read(&mut self, _entry: usize, input: &[u8]) -> Result<bool, String> {
            assert!(!input.contains(&7), "there is a 7");
            match input {
                [.., 8] => Err("an 8 at its end".to_owned()),
                _ => Ok(!input.is_empty()),
            }
        }
    }

    #[test]
    fn the_first_fault_is_found_and_found_again() {
        let entry = CorpusEntry { name: "nothing".to_owned(), bytes: Vec::new() };
        let mut picky = Picky(vec![entry]);
        let hunt = Hunt { seed: 1, from: 0, until: Until::Inputs(100_000) };
        let found = hunt.run(&mut picky).unwrap_err();
        assert!(found.what == "it panicked: there is a 7" || found.what == "an 8 at its end", "{found}");
        let again = Hunt { from: found.number, until: Until::Inputs(1), ..hunt }.run(&mut picky).unwrap_err();
        assert_eq!((again.number, again.input), (found.number, found.input));
        let before = Hunt { until: Until::Inputs(found.number), ..hunt }.run(&mut picky).unwrap();
        assert!(before.inputs == found.number && before.read <= before.inputs);
        let none = Hunt { until: Until::Time(Duration::ZERO), ..hunt }.run(&mut picky).unwrap();
        assert_eq!(none, HuntTally::default());
    }
}
