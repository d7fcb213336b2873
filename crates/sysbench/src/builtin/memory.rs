//! `memory`: reads or writes a block of memory, word by word.

use super::task::BuiltinTask;
use super::{Begun, Headline};
use crate::halt::Halt;
use crate::options::{OptionKind, OptionSet, OptionSpec, option};
use crate::request::TestRequest;
use crate::totals::RunTotals;
use plimsoll_load::seed::Rng;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub static OPTIONS: [OptionSpec; 6] = [
    option("memory-block-size", OptionKind::Size, Some("1K"), "bytes of a block, of which an event is one pass"),
    option("memory-total-size", OptionKind::Size, Some("100G"), "bytes that all threads read or write together"),
    option(
        "memory-scope",
        OptionKind::Text,
        Some("global"),
        "one block for all threads, or one for each {global,local}",
    ),
    option("memory-hugetlb", OptionKind::Bool, Some("off"), "accepted: the system chooses its pages"),
    option("memory-oper", OptionKind::Text, Some("write"), "what is done {read, write, none}"),
    option("memory-access-mode", OptionKind::Text, Some("seq"), "in which order {seq,rnd}"),
];

const WORD: u64 = 8;
const MIB: f64 = (1 << 20) as f64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    None,
}

struct Passes {
    access: Access,
    is_random: bool,
    block: u64,
    /// Events of each thread.
    quota: u64,
    shared: Option<Block>,
}

/// Words that several threads may touch at a time: plain loads and stores, as far as a processor is concerned.
type Block = Arc<Vec<AtomicU64>>;

struct Thread {
    block: Block,
    left: std::cell::Cell<u64>,
}

fn block(bytes: u64) -> Block {
    Arc::new((0..bytes / WORD).map(|_| AtomicU64::new(0)).collect())
}

impl BuiltinTask for Passes {
    const HAS_ITS_OWN_END: bool = true;
    type State = Thread;

    fn state(&self, _: usize) -> Thread {
        let block = self.shared.clone().unwrap_or_else(|| block(self.block));
        Thread { block, left: std::cell::Cell::new(self.quota) }
    }

    fn has_more(&self, state: &Thread) -> bool {
        state.left.get() > 0
    }

    fn event(&self, state: &mut Thread, rng: &mut Rng) {
        state.left.set(state.left.get() - 1);
        let words = &state.block[..];
        let touch = |word: &AtomicU64, place: usize| match self.access {
            Access::Read => {
                black_box(word.load(Ordering::Relaxed));
            }
            Access::Write => word.store(place as u64, Ordering::Relaxed),
            Access::None => {
                black_box(word);
            }
        };
        match self.is_random {
            false => words.iter().enumerate().for_each(|(place, word)| touch(word, place)),
            true => {
                for place in 0..words.len() {
                    touch(&words[rng.between(0, words.len() as u64 - 1) as usize], place);
                }
            }
        }
        black_box(words);
    }
}

pub fn begin(request: &TestRequest, options: &OptionSet) -> Result<Begun, Halt> {
    let (size, total) = (options.count("memory_block_size"), options.count("memory_total_size"));
    if size < WORD || !size.is_power_of_two() {
        return Err(Halt::Fatal(format!("Invalid value for memory-block-size: {size}")));
    }
    let chosen = |name: &str, known: &[&str]| {
        let text = options.text(name);
        let place = known.iter().position(|known| *known == text);
        place.ok_or_else(|| Halt::Fatal(format!("Invalid value for {}: {text}", name.replace('_', "-"))))
    };
    let access = [Access::Read, Access::Write, Access::None][chosen("memory_oper", &["read", "write", "none"])?];
    let is_local = chosen("memory_scope", &["global", "local"])? == 1;
    let is_random = chosen("memory_access_mode", &["seq", "rnd"])? == 1;
    let task = Passes {
        access,
        is_random,
        block: size,
        quota: total / size / request.general.threads as u64,
        shared: (!is_local).then(|| block(size)),
    };
    let preamble = format!(
        "Running memory speed test with the following options:\n  block size: {}KiB\n  total size: {}MiB\n  \
         operation: {}\n  scope: {}\n\n",
        size >> 10,
        total >> 20,
        options.text("memory_oper"),
        options.text("memory_scope")
    );
    let headline = Headline {
        interval: Some(Box::new(move |totals| format!("{:4.2} MiB/sec", mib(totals, size).1))),
        report: Box::new(move |totals| report(totals, size)),
        ..Headline::none()
    };
    Ok(Begun::new(request, preamble, headline, task))
}

/// What was read or written, and how much per second.
fn mib(totals: &RunTotals, block: u64) -> (f64, f64) {
    let mib = totals.events as f64 * block as f64 / MIB;
    (mib, if totals.seconds() > 0.0 { mib / totals.seconds() } else { 0.0 })
}

fn report(totals: &RunTotals, block: u64) -> String {
    let (mib, per_second) = mib(totals, block);
    format!(
        "Total operations: {} ({:8.2} per second)\n\n{mib:4.2} MiB transferred ({per_second:4.2} MiB/sec)\n\n",
        totals.events,
        totals.rate(totals.events)
    )
}
