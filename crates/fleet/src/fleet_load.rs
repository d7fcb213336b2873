//! A load that agents make, heard as one: from the start in common to the last of them that is drained.

mod beginning;
mod collected;

use crate::clock::{ClockExchange, WORST_NS};
use crate::coordinator::Fleet;
use crate::error::FleetError;
use crate::link::Letter;
use crate::member::{LoopRange, Member};
use crate::message::{self, AgentOrder, Call, Heartbeat, Hello, ToldLetter};
use crate::roster::{AgentStanding, Hearing};
use crate::subject;
use crate::voice::{HeardWord, Voice};
use plimsoll_load::source::{LoadEvent, LoadFacts, LoadSource, Spent};
use plimsoll_load::tally::Tally;
use plimsoll_model::agreed::AgreedLoad;
use plimsoll_model::summary::AgentPoint;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How often agents are told that somebody follows their load, and the broker something that comes back to us.
const FOLLOWED: Duration = Duration::from_millis(500);
/// How often agents are asked what time it is.
const PING: Duration = Duration::from_secs(1);
/// A broker that gives nothing back for so long does not come back in time.
const DEAF_FOR: Duration = Duration::from_secs(60);
/// Without a broker the end of a load is not waited for longer.
const UNHEARD_END: Duration = Duration::from_secs(2);
/// Whoever has not drained so long after the end of a load does not.
const DRAINED_WITHIN: Duration = Duration::from_secs(15);
/// What is missing is asked for again after this time, and not more often.
const AGAIN: Duration = Duration::from_secs(2);
/// What is recorded is let go of within this time, or at some later one.
const LETS_GO: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(10);
/// Whoever waits for what comes next waits no longer than this beyond what was asked for, however many letters come.
const OVERTIME: Duration = Duration::from_millis(100);

/// A load of several agents.
pub struct FleetLoad<'f> {
    fleet: &'f Fleet,
    trial: String,
    facts: LoadFacts,
    voices: Vec<Voice>,
    /// Heard and not yet told.
    events: VecDeque<LoadEvent>,
    /// Where our own clock begins.
    epoch: Instant,
    hearing: Hearing,
    /// Of the broker, that were noticed.
    comings: u64,
    /// The letter that was read last had been waiting, and perhaps others wait behind it.
    is_behind: bool,
    has_started: bool,
    /// When all begin, by our clock; `None` before that is agreed, and of a load that another coordinator began.
    begins: Option<Instant>,
    /// Its agents tell us nothing more: its start was called off, or they go on without us.
    is_given_up: bool,
    /// Another coordinator began it, and is gone.
    is_collected: bool,
    is_finished: bool,
    lost: usize,
    called: Option<Instant>,
    pinged: Instant,
    /// When its end was told.
    stopped: Option<Instant>,
    /// What it told could not be recorded: agents keep it.
    is_unrecorded: bool,
}

impl Fleet {
    /// Gives each agent its part of a load of so many loops each; `assign` says what it has to make. They are preparing
    /// when this returns.
    ///
    /// # Errors
    /// An agent is missing, or refuses.
    pub fn begin(
        &self,
        facts: LoadFacts,
        loops: usize,
        connections: usize,
        assign: &dyn Fn(&LoopRange) -> String,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<FleetLoad<'_>, FleetError> {
        let mut members = self.muster(is_interrupted)?;
        // One without a connection has nothing to do.
        members.truncate(connections.max(1));
        let of = members.len().saturating_mul(loops.max(1)).min(connections.max(1));
        let share = |at: usize| LoopRange { loops: at * of / members.len()..(at + 1) * of / members.len(), of };
        let shares: Vec<LoopRange> = (0..members.len()).map(share).collect();
        let trial = self.next_trial();
        let assignments: Vec<String> = shares.iter().map(assign).collect();
        let facts = LoadFacts { loops: of, tellers: members.len(), ..facts };
        // From now on its agents are told to finish, whatever happens.
        let load = FleetLoad::new(self, trial.clone(), facts, members.iter().cloned().zip(shares));
        let prepared = members.iter().zip(&assignments).map(|(member, text)| (member.name.as_str(), text.as_str()));
        let order = |text: &str, more| AgentOrder::Prepare { trial: trial.clone(), text: text.to_owned(), more };
        self.prepare(&trial, prepared.collect(), &order, is_interrupted)?;
        Ok(load)
    }
}

impl<'f> FleetLoad<'f> {
    /// Of agents that are about to be asked to prepare it.
    fn new(
        fleet: &'f Fleet,
        trial: String,
        facts: LoadFacts,
        members: impl Iterator<Item = (Member, LoopRange)>,
    ) -> FleetLoad<'f> {
        let epoch = Instant::now();
        let voices = members.map(|(member, share)| Voice::new(member, share, Duration::ZERO)).collect();
        FleetLoad {
            fleet,
            trial,
            facts,
            voices,
            events: VecDeque::new(),
            epoch,
            hearing: Hearing::new(Duration::ZERO),
            comings: fleet.link.comings(),
            is_behind: false,
            has_started: false,
            begins: None,
            is_given_up: false,
            is_collected: false,
            is_finished: false,
            lost: 0,
            called: None,
            pinged: epoch,
            stopped: None,
            is_unrecorded: false,
        }
    }

    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// What has to be done now and then.
    fn tend(&mut self) {
        if self.called.is_none_or(|called| called.elapsed() >= FOLLOWED) {
            self.called = Some(Instant::now());
            self.fleet.call(&Call::Followed { trial: self.trial.clone() });
            if self.stopped.is_some() {
                // One that was away may not have heard it.
                self.fleet.call(&Call::Stop { trial: self.trial.clone() });
            }
            // Stored as what agents tell: it comes back as theirs does.
            self.fleet.link.tell(&subject::told(&self.fleet.id), Vec::new());
        }
        if self.has_started && !self.is_collected && self.pinged.elapsed() >= PING {
            self.pinged = Instant::now();
            for voice in self.voices.iter().filter(|voice| !voice.attendance.is_lost()) {
                self.fleet.link.ask_later(&subject::clock(&voice.member.name), Vec::new(), 1, &self.fleet.sender);
            }
        }
        let now = self.now();
        let listened = self.hearing.look(now, self.is_behind);
        let deaf = self.hearing.deaf();
        let comings = self.fleet.link.comings();
        // It may have gone and come back between two looks; agents have to find it again, too.
        let was_away = std::mem::replace(&mut self.comings, comings) != comings;
        let can_be_heard = self.fleet.link.is_up() && deaf.is_none();
        if was_away || !can_be_heard {
            // Nobody is lost because nobody can be heard.
            self.voices.iter_mut().for_each(|voice| voice.attendance.is_excused(listened));
        }
        if !can_be_heard {
            return self.is_deaf(deaf.unwrap_or_default());
        }
        if self.stopped.is_some_and(|stopped| stopped.elapsed() > DRAINED_WITHIN) {
            let why = format!("it has not drained within {} s", DRAINED_WITHIN.as_secs());
            (0..self.voices.len()).for_each(|at| self.lose(at, &why));
        }
        for at in 0..self.voices.len() {
            let voice = &mut self.voices[at];
            if !voice.is_drained && voice.attendance.judge(listened) && voice.attendance.is_lost() {
                self.is_lost(at);
            }
            self.ask_again(at, listened);
        }
    }

    /// A broker that is gone for good, or when the load is to end, ends it; what was heard counts.
    fn is_deaf(&mut self, silence: Duration) {
        let is_over = self.stopped.is_some_and(|stopped| stopped.elapsed() > UNHEARD_END)
            && (silence > UNHEARD_END || !self.fleet.link.is_up());
        if silence > DEAF_FOR || is_over {
            let why = format!("the broker has given nothing back for {} s", silence.as_secs());
            (0..self.voices.len()).for_each(|at| self.lose(at, &why));
        }
    }

    /// An agent has written more than has come: the broker may have lost it.
    fn ask_again(&mut self, at: usize, now: Duration) {
        let voice = &mut self.voices[at];
        let is_missing = voice.written > voice.next && !voice.attendance.is_lost();
        if !is_missing {
            voice.asked_again = None;
            return;
        }
        match voice.asked_again {
            // It may just be on its way.
            None => voice.asked_again = Some(now),
            Some(asked) if now.saturating_sub(asked) >= AGAIN => {
                voice.asked_again = Some(now);
                let order = AgentOrder::Again { trial: self.trial.clone(), from: voice.next };
                self.fleet.link.tell(&subject::to(&voice.member.name), message::write(&order));
            }
            Some(_) => {}
        }
    }

    fn lose(&mut self, at: usize, why: &str) {
        if self.voices[at].is_drained || self.voices[at].attendance.is_lost() {
            return;
        }
        self.voices[at].attendance.lose(why.to_owned());
        self.is_lost(at);
    }

    fn is_lost(&mut self, at: usize) {
        let voice = &self.voices[at];
        let AgentStanding::Lost(why) = voice.attendance.standing() else { return };
        self.lost += 1;
        let (agent, why) = (voice.member.name.clone(), why.clone());
        let told = format!("the agent {agent} is lost: {why}");
        if self.has_started {
            self.events.push_back(LoadEvent::Lost { agent, why, from_ns: voice.told_to_ns });
        }
        if !self.has_started || self.lost > self.fleet.wish.tolerate_lost {
            self.events.push_back(LoadEvent::Failed(told));
        }
    }

    fn take(&mut self, letter: Letter) {
        let agent = subject::agent(&letter.subject).to_owned();
        if letter.subject == subject::told(&self.fleet.id) {
            return self.hearing.echoes();
        }
        let Some(at) = self.voices.iter().position(|voice| voice.member.name == agent) else { return };
        let taken = match () {
            () if letter.subject == subject::told(&agent) => self.told(at, &letter),
            () if letter.subject == subject::heartbeat(&agent) => return self.beats(at, &letter),
            () if letter.subject == subject::hello(&agent) => return self.met(at, &letter),
            () if letter.subject == subject::clock(&agent) => self.clock(at, &letter),
            () => Ok(()),
        };
        if let Err(why) = taken {
            self.lose(at, &format!("it says what no agent says: {why}"));
        }
    }

    fn told(&mut self, at: usize, letter: &Letter) -> Result<(), String> {
        // A broker stores what anybody has it acknowledge there; what an agent did not write is no word of it.
        let Ok(told) = message::read::<ToldLetter>(&letter.body) else { return Ok(()) };
        let latest_ns = self.latest_ns();
        let (now, voice) = (self.hearing.listened(), &mut self.voices[at]);
        let is_ours = told.trial == self.trial && told.incarnation == voice.member.hello.incarnation;
        if !is_ours || voice.attendance.is_lost() {
            return Ok(());
        }
        match voice.hear(told, &self.facts)? {
            HeardWord::Nothing => {}
            HeardWord::Gap => voice.asked_again = voice.asked_again.or(Some(now.saturating_sub(AGAIN))),
            HeardWord::Event(_) if voice.told_to_ns > latest_ns => {
                return Err("it tells of a second that is yet to come".to_owned());
            }
            HeardWord::Event(event) => {
                // What its machine does is no sign that its load does anything.
                match event {
                    LoadEvent::Machine(_) => voice.attendance.beats(now),
                    _ => voice.attendance.tells(now),
                }
                voice.drains_at_its_end(&self.facts);
                let event = match event {
                    LoadEvent::Failed(why) => LoadEvent::Failed(format!("the agent {}: {why}", voice.member.name)),
                    // Its processes are those of another machine.
                    LoadEvent::Ready(mut ready) => {
                        ready.server.pid = None;
                        LoadEvent::Ready(ready)
                    }
                    event => event,
                };
                if voice.is_drained {
                    voice.attendance.is_to_tell(false, now);
                }
                self.events.push_back(event);
            }
        }
        Ok(())
    }

    fn beats(&mut self, at: usize, letter: &Letter) {
        // As with what is told: it may be no word of the agent.
        let Ok(beat) = message::read::<Heartbeat>(&letter.body) else { return };
        let (now, voice) = (self.hearing.listened(), &mut self.voices[at]);
        if beat.incarnation != voice.member.hello.incarnation {
            return;
        }
        voice.attendance.beats(now);
        if beat.trial.as_deref() == Some(&self.trial) {
            voice.written = voice.written.max(beat.written);
        }
        if let Some(trouble) = beat.trouble.filter(|trouble| trouble.trial == self.trial) {
            self.lose(at, &trouble.why);
        }
    }

    fn met(&mut self, at: usize, letter: &Letter) {
        let Ok(hello) = message::read::<Hello>(&letter.body) else { return };
        // One that was started again still has what it kept.
        if hello.incarnation != self.voices[at].member.hello.incarnation && !self.is_collected {
            self.lose(at, "it was started again");
        }
    }

    fn clock(&mut self, at: usize, letter: &Letter) -> Result<(), String> {
        let Some(exchange) = ClockExchange::of(letter, self.epoch)? else { return Ok(()) };
        let found = exchange.offset();
        // One that was answered late says less than is known already.
        if found.bound_ns <= WORST_NS {
            self.voices[at].clock_now = Some(found);
        }
        Ok(())
    }
}

impl LoadSource for FleetLoad<'_> {
    fn facts(&self) -> &LoadFacts {
        &self.facts
    }

    fn start(&mut self, is_interrupted: &dyn Fn() -> bool) -> Duration {
        self.begin_together(is_interrupted)
    }

    fn next(&mut self, wait: Duration) -> Option<LoadEvent> {
        let until = Instant::now() + wait;
        loop {
            self.tend();
            if let Some(event) = self.next_event() {
                return Some(event);
            }
            let left = until.saturating_duration_since(Instant::now());
            let unread = self.fleet.letter(Duration::ZERO);
            self.is_behind = unread.is_some();
            match unread.or_else(|| self.fleet.letter(left.min(LOOK))) {
                Some(letter) => self.take(letter),
                None if left.is_zero() => return None,
                None => {}
            }
            if until.elapsed() > OVERTIME {
                return self.next_event();
            }
        }
    }

    /// Those that are lost are told of as such.
    fn ended(&self) -> usize {
        if self.is_given_up { self.facts.tellers } else { 0 }
    }

    fn spent(&self) -> Option<Spent> {
        let waited = self.voices.iter().map(|voice| voice.spent.waited).sum::<Option<Duration>>();
        Some(Spent { cpu: self.voices.iter().map(|voice| voice.spent.cpu).sum(), waited })
    }

    fn agreed(&self) -> Option<AgreedLoad> {
        let agents = self.voices.iter().map(Voice::agreed).collect();
        let agreed = || AgreedLoad { load: self.trial.clone(), loops: self.facts.loops, agents };
        self.has_started.then(agreed)
    }

    fn agents(&self) -> Vec<AgentPoint> {
        let lost = |voice: &Voice| match voice.attendance.standing() {
            AgentStanding::Lost(why) => Some(why.clone()),
            AgentStanding::Present | AgentStanding::Suspect => None,
        };
        self.voices.iter().map(|voice| voice.point(lost(voice))).collect()
    }

    fn recycle(&mut self, _: Tally) {}

    fn stop(&mut self) {
        if self.is_collected {
            // Cut short, it would seem to be whole to whoever collects it next.
            self.is_given_up = true;
            return;
        }
        self.stopped.get_or_insert_with(Instant::now);
        self.voices.iter_mut().for_each(|voice| voice.attendance.drains());
        self.fleet.call(&Call::Stop { trial: self.trial.clone() });
    }

    fn was_not_recorded(&mut self) {
        self.is_unrecorded = true;
    }

    /// What is finished has been recorded, or somebody has said that it could not be: the agents need not keep it.
    fn finish(mut self) {
        self.is_finished = true;
        self.fleet.call(&Call::Finish { trial: self.trial.clone() });
        if self.is_unrecorded || !self.fleet.link.is_up() {
            return;
        }
        let present = self.voices.iter().filter(|voice| !voice.attendance.is_lost());
        let order = AgentOrder::Recorded { trial: self.trial.clone() };
        let orders = present.map(|voice| (voice.member.name.as_str(), order.clone())).collect();
        // One that does not hear it keeps it for a while.
        let _ = self.fleet.order(orders, LETS_GO, &|| false);
    }

    /// Its agents make it to its end, and keep it for whoever collects it.
    fn leave(mut self) {
        self.is_finished = true;
    }
}

impl Drop for FleetLoad<'_> {
    fn drop(&mut self) {
        if !self.is_finished {
            self.fleet.call(&Call::Finish { trial: self.trial.clone() });
        }
    }
}
