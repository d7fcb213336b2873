//! One agent of a load, as its coordinator hears it.

use crate::clock::Offset;
use crate::member::{LoopRange, Member};
use crate::message::{MachineSecond, ToldLetter, Word};
use crate::roster::Attendance;
use plimsoll_host::process::boot_id;
use plimsoll_load::lines;
use plimsoll_load::source::{LoadEvent, LoadFacts, MachineSample, Spent};
use plimsoll_load::tally::Tally;
use plimsoll_load::window::SECOND_NS;
use plimsoll_model::samples::Phase;
use plimsoll_model::summary::AgentPoint;
use std::time::Duration;

/// What came with a letter.
#[derive(Debug, PartialEq)]
pub enum HeardWord {
    /// Nothing that counts: it was heard before, or goes on in the next.
    Nothing,
    /// Letters before it are missing.
    Gap,
    Event(LoadEvent),
}

/// What one agent has told, and how it stands with it.
pub struct Voice {
    pub member: Member,
    pub share: LoopRange,
    pub attendance: Attendance,
    /// The number of the letter that comes next.
    pub next: u64,
    /// How many it says that it has written.
    pub written: u64,
    /// What has come of a word that goes on in the next letter.
    text: String,
    has_head: bool,
    pub is_drained: bool,
    pub spent: Spent,
    /// As judged before the start, and since.
    pub clock: Option<Offset>,
    pub clock_now: Option<Offset>,
    /// The end of the last second that it has told of, nanoseconds since the load began.
    pub told_to_ns: u64,
    /// When it was last asked for what is missing.
    pub asked_again: Option<Duration>,
    window: Window,
    /// Of the second that it tells of next.
    machine: MachineUse,
}

/// What it counted in the measured window.
#[derive(Default)]
struct Window {
    transactions: u64,
    queries: u64,
    loop_cpu_ns: u64,
    ns: u64,
    lag_ns: u64,
    machine: MachineUse,
}

/// CPU-seconds of a machine, and over how many seconds.
#[derive(Clone, Copy, Default)]
struct MachineUse {
    own: f64,
    foreign: f64,
    seconds: f64,
}

impl Voice {
    pub fn new(member: Member, share: LoopRange, now: Duration) -> Voice {
        Voice {
            member,
            share,
            attendance: Attendance::new(now),
            next: 0,
            written: 0,
            text: String::new(),
            has_head: false,
            is_drained: false,
            spent: Spent::default(),
            clock: None,
            clock_now: None,
            told_to_ns: 0,
            asked_again: None,
            window: Window::default(),
            machine: MachineUse::default(),
        }
    }

    /// Takes a letter of this agent and this trial.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn hear(&mut self, told: ToldLetter, facts: &LoadFacts) -> Result<HeardWord, String> {
        if told.number < self.next {
            return Ok(HeardWord::Nothing);
        }
        if told.number > self.next {
            return Ok(HeardWord::Gap);
        }
        self.next += 1;
        if self.text.len() + told.text.len() > lines::MOST_BYTES {
            return Err(lines::LineError::TooLong(self.text.len() + told.text.len()).to_string());
        }
        self.text.push_str(&told.text);
        if told.more {
            return Ok(HeardWord::Nothing);
        }
        let word = Word::read(&std::mem::take(&mut self.text))?;
        self.word(word, facts)
    }

    fn word(&mut self, word: Word, facts: &LoadFacts) -> Result<HeardWord, String> {
        match word {
            Word::Head(line) => {
                let loops = lines::read_head(&line, &facts.names).map_err(|error| error.to_string())?;
                let expected = self.share.loops.len();
                if loops != expected {
                    return Err(format!("it has {loops} loops, and was given {expected}"));
                }
                self.has_head = true;
                Ok(HeardWord::Nothing)
            }
            _ if !self.has_head => Err("it tells of a load before it says which".to_owned()),
            Word::Event(line) => {
                let event = lines::read(&line, facts.names.shape()).map_err(|error| error.to_string())?;
                self.event(&event)?;
                Ok(HeardWord::Event(event))
            }
            Word::Machine(second) => Ok(HeardWord::Event(self.machine(*second))),
        }
    }

    fn event(&mut self, event: &LoadEvent) -> Result<(), String> {
        match event {
            _ if self.is_drained => return Err("it tells of a load that it has drained".to_owned()),
            LoadEvent::Interval(tally) => {
                if tally.phase != Phase::Drain {
                    self.told_to_ns = self.told_to_ns.max(tally.end_ns);
                }
                self.window.add(tally, std::mem::take(&mut self.machine));
            }
            LoadEvent::Drained(_) => self.is_drained = true,
            _ => {}
        }
        Ok(())
    }

    fn machine(&mut self, second: MachineSecond) -> LoadEvent {
        let MachineSecond { end_ns, cpu_us, waited_us, host } = second;
        let cpu = Duration::from_micros(cpu_us);
        if let Some(host) = &host {
            let own = cpu.saturating_sub(self.spent.cpu).as_secs_f64();
            let busy = f64::from(self.member.hello.cpus) * (1.0 - host.idle - host.iowait) * host.seconds;
            self.machine = MachineUse { own, foreign: (busy - own).max(0.0), seconds: host.seconds };
        }
        self.spent = Spent { cpu, waited: waited_us.map(Duration::from_micros) };
        LoadEvent::Machine(Box::new(MachineSample { agent: self.member.name.clone(), end_ns, cpu, host }))
    }

    /// What it has had of the load so far.
    pub fn point(&self, lost: Option<String>) -> AgentPoint {
        let Window { transactions, queries, loop_cpu_ns, ns, lag_ns, machine } = &self.window;
        let loops = self.share.loops.len();
        let seconds = *ns as f64 / SECOND_NS as f64;
        let measured = |value: f64| (seconds > 0.0).then_some(value);
        let ceiling = self.member.hello.ceiling.filter(|ceiling| *ceiling > 0.0);
        let us = |ns: f64| ns / 1e3;
        let seen = |cpu: f64| (machine.seconds > 0.0).then(|| cpu / machine.seconds);
        AgentPoint {
            agent: self.member.name.clone(),
            machine: self.member.hello.machine.clone(),
            is_here: !self.member.hello.boot.is_empty() && self.member.hello.boot == boot_id(),
            loops,
            transactions: *transactions,
            queries: *queries,
            loops_busy: measured(*loop_cpu_ns as f64 / (*ns as f64 * loops as f64)),
            of_ceiling: ceiling.and_then(|ceiling| measured(*queries as f64 / seconds / (ceiling * loops as f64))),
            lag_ms: *lag_ns as f64 / 1e6,
            cpus: seen(machine.own),
            foreign_cpus: seen(machine.foreign),
            clock_bound_us: self.clock.map_or(0.0, |clock| us(clock.bound_ns as f64)),
            clock_drift_us: self.clock.zip(self.clock_now).map(|(then, now)| us((now.ahead_ns - then.ahead_ns) as f64)),
            lost,
        }
    }
}

impl Window {
    fn add(&mut self, tally: &Tally, machine: MachineUse) {
        if tally.phase != Phase::Measure {
            return;
        }
        self.machine.own += machine.own;
        self.machine.foreign += machine.foreign;
        self.machine.seconds += machine.seconds;
        let counters = &tally.counters;
        self.transactions = self.transactions.saturating_add(counters.transactions);
        self.queries = self.queries.saturating_add(counters.queries);
        self.loop_cpu_ns = self.loop_cpu_ns.saturating_add(counters.loop_cpu_ns);
        self.ns = self.ns.saturating_add(tally.end_ns - tally.start_ns);
        self.lag_ns = self.lag_ns.max(counters.lag_ns_max);
    }
}
