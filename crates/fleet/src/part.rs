//! An agent's part of a load: what its loops tell becomes one voice.

use crate::agent_facts::AgentFacts;
use crate::link::BrokerLink;
use crate::message::{MachineSecond, Word};
use crate::teller::Teller;
use plimsoll_host::sample::Sampler;
use plimsoll_load::assembly::Assembly;
use plimsoll_load::lines;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::source::{LoadEvent, LoadFacts, LocalLoad, Readiness};
use plimsoll_load::tally::Tally;
use plimsoll_model::samples::Phase;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an event is waited for.
const LOOK: Duration = Duration::from_millis(1);
/// A load that tells faster than we can is left for a moment after this time, so that orders are heard and the heart beats.
const LONGEST_PUMP: Duration = Duration::from_millis(100);
/// Loops that were told to stop are drained after this.
const DRAINED_WITHIN: Duration = Duration::from_secs(6);

/// How far a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartWord {
    /// It connects, or waits for the start.
    Waiting,
    UnderWay,
    /// All its loops are drained, or one of them failed before the start.
    Over,
}

/// The load of some of the loops of a trial.
pub struct Part<L: LocalLoad> {
    pub trial: String,
    load: L,
    facts: LoadFacts,
    teller: Teller,
    assembly: Assembly,
    totals: LoopTotals,
    ready: usize,
    readiness: Readiness,
    drained: usize,
    has_started: bool,
    has_failed: bool,
    followed: Instant,
    sampler: Sampler,
}

impl<L: LocalLoad> Part<L> {
    /// Of a load that has begun to connect.
    ///
    /// # Errors
    /// What it tells cannot be kept.
    pub fn begin(load: L, trial: &str, agent: &AgentFacts, link: Arc<BrokerLink>) -> io::Result<Part<L>> {
        let facts = load.facts().clone();
        let begun = Teller::begin(link, &agent.name, &agent.spools, trial, agent.incarnation);
        let begun = begun.and_then(|teller| teller.tell(&Word::Head(lines::head(&facts))).map(|()| teller));
        let (load, teller) = with_or_finished(load, begun)?;
        Ok(Part {
            trial: trial.to_owned(),
            load,
            teller,
            assembly: Assembly::new(facts.tellers),
            totals: LoopTotals::new(facts.names.shape()),
            facts,
            ready: 0,
            readiness: Readiness::default(),
            drained: 0,
            has_started: false,
            has_failed: false,
            followed: Instant::now(),
            sampler: Sampler::new(None),
        })
    }

    pub fn written(&self) -> u64 {
        self.teller.written()
    }

    pub fn tell_again(&self, from: u64) {
        self.teller.tell_again(from);
    }

    pub fn word(&self) -> PartWord {
        match () {
            () if self.drained == self.facts.tellers => PartWord::Over,
            () if self.has_started => PartWord::UnderWay,
            () if self.has_failed => PartWord::Over,
            () => PartWord::Waiting,
        }
    }

    /// Whether it goes on until somebody ends it.
    pub fn is_endless(&self) -> bool {
        self.facts.limit.is_endless()
    }

    /// Somebody follows it.
    pub fn is_followed(&mut self) {
        self.followed = Instant::now();
    }

    /// For how long nobody has.
    pub fn unfollowed(&self) -> Duration {
        self.followed.elapsed()
    }

    pub fn start_at(&mut self, at: Instant) {
        self.has_started = true;
        self.load.start_at(at);
    }

    pub fn stop(&mut self) {
        self.load.stop();
    }

    /// Tells what has come of it meanwhile.
    ///
    /// # Errors
    /// It cannot be kept.
    pub fn pump(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        while let Some(event) = self.load.next(LOOK) {
            self.take(event)?;
            if begun.elapsed() >= LONGEST_PUMP {
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, event: LoadEvent) -> io::Result<()> {
        match event {
            LoadEvent::Ready(readiness) => {
                self.ready += 1;
                self.readiness.add(readiness);
                if self.ready == self.facts.tellers {
                    self.tell(&LoadEvent::Ready(self.readiness.clone()))?;
                }
            }
            LoadEvent::Interval(tally) => {
                if let Some(spent) = self.assembly.add(*tally) {
                    self.load.recycle(spent);
                }
                while let Some(whole) = self.assembly.next_whole() {
                    self.second(whole.tally)?;
                }
            }
            LoadEvent::Drained(totals) => {
                self.drained += 1;
                self.totals.add(totals);
                if self.drained == self.facts.tellers {
                    let rest = self.assembly.rest().into_iter().map(|rest| rest.tally);
                    let (drains, cut_short): (Vec<_>, Vec<_>) = rest.partition(|tally| tally.phase == Phase::Drain);
                    cut_short.into_iter().try_for_each(|tally| self.second(tally))?;
                    if let Some(drain) = as_one(drains) {
                        self.second(drain)?;
                    }
                    self.tell(&LoadEvent::Drained(self.totals.clone()))?;
                }
            }
            LoadEvent::Failed(_) => {
                self.has_failed = true;
                self.tell(&event)?;
            }
            LoadEvent::Lost { .. } | LoadEvent::Machine(_) => {}
        }
        Ok(())
    }

    /// What the machine did is told first, so that whoever has the second has that as well.
    fn second(&mut self, tally: Tally) -> io::Result<()> {
        if tally.phase != Phase::Drain {
            let spent = self.load.spent();
            self.teller.tell(&Word::Machine(Box::new(MachineSecond {
                end_ns: tally.end_ns,
                transactions: tally.counters.transactions,
                stored_us: self.teller.longest_stored().as_micros() as u64,
                cpu_us: spent.map_or(0, |spent| spent.cpu.as_micros() as u64),
                waited_us: spent.and_then(|spent| spent.waited).map(|waited| waited.as_micros() as u64),
                host: self.sampler.sample(tally.end_ns).host,
            })))?;
        }
        let event = LoadEvent::Interval(Box::new(tally));
        self.tell(&event)?;
        if let LoadEvent::Interval(tally) = event {
            self.load.recycle(*tally);
        }
        Ok(())
    }

    fn tell(&self, event: &LoadEvent) -> io::Result<()> {
        self.teller.tell(&Word::Event(lines::write(event)))
    }

    /// Ends the window, says why, and tells what is still under way.
    pub fn leave(&mut self, why: &str) {
        let _ = self.tell(&LoadEvent::Failed(why.to_owned()));
        self.load.stop();
        let until = Instant::now() + DRAINED_WITHIN;
        while self.has_started && self.drained < self.facts.tellers && self.load.ended() == 0 && Instant::now() < until
        {
            if self.pump().is_err() {
                return;
            }
        }
    }

    /// Closes its connections; what it has told stays on our disk.
    pub fn finish(self) {
        self.load.finish();
    }
}

/// A load with what it needs. One that has begun to connect and does not get it is ended: it would wait for its start for ever.
fn with_or_finished<L: LocalLoad, T>(load: L, needed: io::Result<T>) -> io::Result<(L, T)> {
    match needed {
        Ok(needed) => Ok((load, needed)),
        Err(error) => {
            load.finish();
            Err(error)
        }
    }
}

/// The drains of several loops as that of one: to whoever hears the agent its window is over when the last of theirs is.
fn as_one(drains: Vec<Tally>) -> Option<Tally> {
    let latest = drains.iter().map(|drain| drain.start_ns).max()?;
    let mut sum = drains.into_iter().reduce(|mut sum, drain| {
        sum.add(&drain);
        sum
    })?;
    sum.start_ns = latest;
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_load::source::{LoadSource, Spent};
    use plimsoll_load::tally::{Names, Shape};
    use plimsoll_load::window::Limit;
    use std::cell::Cell;

    /// Says when it is ended.
    struct Endable<'e> {
        facts: LoadFacts,
        is_ended: &'e Cell<bool>,
    }

    impl LoadSource for Endable<'_> {
        fn facts(&self) -> &LoadFacts {
            &self.facts
        }

        fn start(&mut self, _: &dyn Fn() -> bool) -> Duration {
            Duration::ZERO
        }

        fn next(&mut self, _: Duration) -> Option<LoadEvent> {
            None
        }

        fn ended(&self) -> usize {
            0
        }

        fn spent(&self) -> Option<Spent> {
            None
        }

        fn recycle(&mut self, _: Tally) {}

        fn stop(&mut self) {}

        fn finish(self) {
            self.is_ended.set(true);
        }
    }

    impl LocalLoad for Endable<'_> {
        fn start_at(&mut self, _: Instant) {}
    }

    #[test]
    fn a_load_that_cannot_be_told_of_is_ended() {
        let is_ended = Cell::new(false);
        let load = || {
            let limit = Limit::Events(1);
            let facts =
                LoadFacts { names: Names::default(), loops: 1, tellers: 1, open_loop: false, warmup_ns: 0, limit };
            Endable { facts, is_ended: &is_ended }
        };
        assert!(with_or_finished(load(), Ok(7)).is_ok_and(|(_, needed)| needed == 7) && !is_ended.get());
        let why = with_or_finished(load(), Err::<(), _>(io::Error::other("no room"))).map(drop).unwrap_err();
        assert_eq!((why.to_string().as_str(), is_ended.get()), ("no room", true));
    }

    #[test]
    fn drains_are_one_that_begins_with_the_last() {
        let drain = |start_ns: u64, transactions: u64| {
            let mut tally = Tally::new(Shape::default());
            (tally.phase, tally.start_ns, tally.end_ns) = (Phase::Drain, start_ns, start_ns + 7);
            tally.counters.transactions = transactions;
            tally
        };
        let one = as_one(vec![drain(3, 1), drain(9, 2), drain(5, 4)]).unwrap();
        assert_eq!((one.start_ns, one.end_ns, one.counters.transactions), (9, 16, 7));
        assert!(as_one(Vec::new()).is_none());
    }
}
