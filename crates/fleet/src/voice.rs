//! One agent of a load, as its coordinator hears it.

use crate::clock::{Offset, WORST_NS};
use crate::member::{LoopRange, Member};
use crate::message::{MachineSecond, ToldLetter, Word};
use crate::roster::Attendance;
use plimsoll_host::process::boot_id;
use plimsoll_load::lines;
use plimsoll_load::source::{LoadEvent, LoadFacts, Spent};
use plimsoll_load::tally::Tally;
use plimsoll_load::window::{Limit, SECOND_NS};
use plimsoll_model::agreed::AgreedPart;
use plimsoll_model::samples::{AgentSample, Phase};
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
    is_ready: bool,
    /// It has told of less than a second, other than the first: of its window nothing more comes.
    is_cut_short: bool,
    /// It has told what ended after its window.
    has_drain: bool,
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
            is_ready: false,
            is_cut_short: false,
            has_drain: false,
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

    /// Gives it time to drain, if its window may be over by what it has told: then it says nothing before.
    pub fn drains_at_its_end(&mut self, facts: &LoadFacts) {
        let may_be_over = match facts.limit {
            Limit::Time(window_ns) => self.told_to_ns >= facts.warmup_ns.saturating_add(window_ns),
            // It ends where the others have taken what was left.
            events => !events.is_endless(),
        };
        if may_be_over {
            self.attendance.drains();
        }
    }

    fn event(&mut self, event: &LoadEvent) -> Result<(), String> {
        match event {
            _ if self.is_drained => return Err("it tells of a load that it has drained".to_owned()),
            LoadEvent::Ready(_) if std::mem::replace(&mut self.is_ready, true) => {
                return Err("it is ready a second time".to_owned());
            }
            LoadEvent::Interval(tally) => {
                self.is_next(tally)?;
                if tally.phase == Phase::Drain {
                    self.has_drain = true;
                } else {
                    self.is_cut_short = tally.start_ns > 0 && tally.end_ns - tally.start_ns < SECOND_NS;
                    self.told_to_ns = tally.end_ns;
                }
                self.window.add(tally, std::mem::take(&mut self.machine));
            }
            LoadEvent::Drained(_) => self.is_drained = true,
            _ => {}
        }
        Ok(())
    }

    /// Whether an interval follows what it has told of, as those do that a window is cut into: the others of a load are added to
    /// each of them, and each takes our memory until all have told of it.
    fn is_next(&self, tally: &Tally) -> Result<(), String> {
        let &Tally { phase, start_ns, end_ns, .. } = tally;
        let why = match () {
            () if self.has_drain => "it tells of a second after its drain",
            () if start_ns < self.told_to_ns => "it tells of a second that overlaps the one before",
            () if phase == Phase::Drain => return Ok(()),
            () if end_ns <= self.told_to_ns => "it tells of a second that it has told of",
            () if self.is_cut_short => "it tells of a second after its last",
            () if end_ns - start_ns > SECOND_NS => "it tells of more than a second at once",
            () => return Ok(()),
        };
        Err(why.to_owned())
    }

    fn machine(&mut self, second: MachineSecond) -> LoadEvent {
        let MachineSecond { end_ns, transactions, stored_us, cpu_us, waited_us, host } = second;
        let cpu = Duration::from_micros(cpu_us);
        if let Some(host) = &host {
            let own = cpu.saturating_sub(self.spent.cpu).as_secs_f64();
            let busy = f64::from(self.member.hello.cpus) * (1.0 - host.idle - host.iowait) * host.seconds;
            self.machine = MachineUse { own, foreign: (busy - own).max(0.0), seconds: host.seconds };
        }
        self.spent = Spent { cpu, waited: waited_us.map(Duration::from_micros) };
        LoadEvent::Machine(Box::new(AgentSample {
            t_ns: end_ns,
            agent: self.member.name.clone(),
            transactions,
            cpu_us,
            stored_us,
            clock_bound_us: self.clock_bound_us(),
            lost: None,
            host,
        }))
    }

    /// Whether its clock is known well enough for a start in common.
    pub fn is_clock_known(&self) -> bool {
        self.clock.is_some_and(|clock| clock.bound_ns <= WORST_NS)
    }

    /// What was agreed with it.
    pub fn agreed(&self) -> AgreedPart {
        AgreedPart {
            agent: self.member.name.clone(),
            incarnation: self.member.hello.incarnation,
            loops: (self.share.loops.start, self.share.loops.end),
            clock_bound_us: self.clock_bound_us(),
        }
    }

    fn clock_bound_us(&self) -> f64 {
        self.clock.map_or(0.0, |clock| clock.bound_ns as f64 / 1e3)
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
            clock_bound_us: self.clock_bound_us(),
            clock_drift_us: self
                .clock
                .zip(self.clock_now)
                .map(|(then, now)| us(now.ahead_ns.saturating_sub(then.ahead_ns) as f64)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{FleetBuild, Hello, parts};
    use plimsoll_load::recorder::LoopTotals;
    use plimsoll_load::tally::{Names, record};
    use plimsoll_model::samples::HostSample;
    use proptest::prelude::*;

    fn names() -> Names {
        Names { transactions: &["pay"], statements: vec!["select"], counters: &[] }
    }

    fn facts() -> LoadFacts {
        let limit = Limit::Time(SECOND_NS);
        LoadFacts { names: names(), loops: 2, tellers: 1, open_loop: false, warmup_ns: 0, limit }
    }

    fn voice() -> Voice {
        let hello = Hello {
            incarnation: 7,
            build: FleetBuild::of("1"),
            machine: "m".to_owned(),
            boot: "b".to_owned(),
            cpus: 2,
            ceiling: Some(1e5),
            trial: None,
        };
        let share = LoopRange { loops: 0..2, of: 2 };
        Voice::new(Member { name: "a1".to_owned(), hello }, share, Duration::ZERO)
    }

    /// Everything that a load says, as letters.
    fn letters() -> Vec<ToldLetter> {
        let mut tally = Tally::new(names().shape());
        (tally.phase, tally.end_ns) = (Phase::Measure, SECOND_NS);
        tally.counters.queries = 50;
        record(&mut tally.statements[0].latency, 5_000);
        let host = Some(HostSample { seconds: 1.0, idle: 0.25, ..HostSample::default() });
        let second =
            MachineSecond { end_ns: SECOND_NS, transactions: 9, stored_us: 0, cpu_us: 500_000, waited_us: None, host };
        let words = [
            Word::Head(lines::head(&facts())),
            Word::Machine(Box::new(second)),
            Word::Event(lines::write(&LoadEvent::Interval(Box::new(tally)))),
            Word::Event(lines::write(&LoadEvent::Drained(LoopTotals::new(names().shape())))),
        ];
        let texts = words.iter().map(Word::text);
        let all: Vec<String> =
            texts.flat_map(|text| parts(&text).map(|(part, _)| part.to_owned()).collect::<Vec<_>>()).collect();
        let letter = |(number, text)| ToldLetter { trial: "t".to_owned(), incarnation: 7, number, text, more: false };
        (0..).zip(all).map(letter).collect()
    }

    #[test]
    fn each_letter_counts_once_and_in_its_turn() {
        let (mut voice, letters) = (voice(), letters());
        assert_eq!(voice.hear(letters[1].clone(), &facts()), Ok(HeardWord::Gap));
        for letter in &letters {
            assert!(voice.hear(letter.clone(), &facts()).is_ok());
            assert_eq!(voice.hear(letter.clone(), &facts()), Ok(HeardWord::Nothing), "a second time");
        }
        let point = voice.point(None);
        assert_eq!((point.queries, point.of_ceiling, point.cpus), (50, Some(50.0 / 2e5), Some(0.5)));
        assert_eq!(point.foreign_cpus, Some(1.0), "of 2 CPUs 1.5 were busy");
        let late = ToldLetter { number: voice.next, ..letters[2].clone() };
        assert!(voice.hear(late, &facts()).unwrap_err().contains("drained"));
    }

    #[test]
    fn seconds_follow_each_other_and_nothing_follows_the_drain() {
        const HALF: u64 = SECOND_NS / 2;
        let mut voice = voice();
        let mut tell = |phase: Phase, start_ns: u64, end_ns: u64| {
            let tally = Tally { phase, start_ns, end_ns, ..Tally::new(names().shape()) };
            voice.event(&LoadEvent::Interval(Box::new(tally)))
        };
        let refused = |told: Result<(), String>, why: &str| {
            let found = told.unwrap_err();
            assert!(found.contains(why), "{found}");
        };
        assert_eq!(tell(Phase::WarmUp, 0, HALF), Ok(()), "the first may be shorter");
        refused(tell(Phase::WarmUp, 0, HALF + 1), "overlaps");
        refused(tell(Phase::Drain, 0, HALF), "overlaps");
        refused(tell(Phase::Measure, HALF, HALF), "has told of");
        refused(tell(Phase::Measure, HALF, 3 * HALF + 1), "more than a second");
        assert_eq!(tell(Phase::Measure, HALF, 3 * HALF), Ok(()));
        assert_eq!(tell(Phase::Measure, 3 * HALF, 3 * HALF + 7), Ok(()), "and so may the last");
        refused(tell(Phase::Measure, 3 * HALF + 7, 3 * HALF + 9), "after its last");
        assert_eq!(tell(Phase::Drain, 3 * HALF + 7, 9 * HALF), Ok(()));
        refused(tell(Phase::Drain, 9 * HALF, 9 * HALF), "after its drain");
        refused(tell(Phase::Measure, 9 * HALF, 10 * HALF), "after its drain");
    }

    #[test]
    fn what_is_not_of_this_load_is_an_error() {
        let letters = letters();
        let first = |text: &str| voice().hear(ToldLetter { text: text.to_owned(), ..letters[0].clone() }, &facts());
        assert!(first(&letters[2].text).unwrap_err().contains("before it says which"));
        assert!(first(&letters[0].text.replace("\"loops\":2", "\"loops\":3")).unwrap_err().contains("it has 3 loops"));
        assert!(first("shout").is_err());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_heard_or_refused(
            which in 0usize..4, at in any::<prop::sample::Index>(), length in 0usize..30, text in "[ -~]{0,30}"
        ) {
            let mut voice = voice();
            for (number, letter) in letters().into_iter().enumerate() {
                let mut letter = letter;
                if number == which {
                    let from = at.index(letter.text.len());
                    let to = (from + length).min(letter.text.len());
                    letter.text.replace_range(from..to, &text);
                }
                if voice.hear(letter, &facts()).is_err() {
                    break;
                }
            }
            let point = voice.point(None);
            prop_assert!(serde_json::to_string(&point).is_ok());
        }
    }
}
