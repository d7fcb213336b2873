//! What a source of load in another process tells: refused, or of the load that was asked for.

use super::FuzzTarget;
use crate::change;
use crate::corpus::{self, CorpusEntry};
use plimsoll_load::lines;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::seed::Rng;
use plimsoll_load::source::LoadEvent;
use plimsoll_load::tally::{Names, Tally};

/// What takes the place of values.
const WORDS: &[&str] = &[
    "",
    "0",
    "-1",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "null",
    "[]",
    "{}",
    "\"measure\"",
    "\"restore\"",
    "\"HISTEwAAAAA=\"",
    "\"\\u0000\"",
];

pub struct Loads {
    entries: Vec<CorpusEntry>,
}

impl Loads {
    pub fn open() -> anyhow::Result<Loads> {
        Ok(Loads { entries: corpus::files("crates/fuzz/corpus/loads", &[".lines"])? })
    }
}

/// Of the load that the corpus tells of.
fn names() -> Names {
    Names { transactions: &["pay", "order"], statements: vec!["select"], counters: &["rows"] }
}

impl FuzzTarget for Loads {
    fn name(&self) -> &'static str {
        "loads"
    }

    fn entries(&self) -> &[CorpusEntry] {
        &self.entries
    }

    fn changed(&self, entry: usize, random: &mut Rng) -> Vec<u8> {
        change::of_text(&self.entries[entry].bytes, &self.entries, WORDS, random)
    }

    fn read(&mut self, _entry: usize, input: &[u8]) -> Result<bool, String> {
        let text = String::from_utf8_lossy(input);
        let names = names();
        let mut told = text.lines();
        if lines::read_head(told.next().unwrap_or_default(), &names).is_err() {
            return Ok(false);
        }
        let (mut sum, mut totals) = (Tally::new(names.shape()), LoopTotals::new(names.shape()));
        for line in told {
            let Ok(event) = lines::read(line, names.shape()) else { return Ok(false) };
            if lines::read(&lines::write(&event), names.shape()).as_ref() != Ok(&event) {
                return Err(format!("what was read of {line} is something else when it is told again"));
            }
            match event {
                LoadEvent::Interval(tally) => sum.add(&tally),
                LoadEvent::Drained(drained) => totals.add(drained),
                LoadEvent::Ready(_) | LoadEvent::Failed(_) => {}
                LoadEvent::Lost { .. } | LoadEvent::Machine(_) => return Err(format!("no line says this: {line}")),
            }
        }
        Ok(true)
    }
}
