//! An agent: makes its part of the loads that a coordinator asks for, tells what comes of them, and waits for the next.

use crate::agent_facts::AgentFacts;
use crate::error::FleetError;
use crate::held_job::{AgentJob, HeldJob};
use crate::link::{BrokerLink, Letter};
use crate::message::{self, AgentAnswer, AgentOrder, AgentTrouble, Call, Heartbeat, Hello};
use crate::part::{Part, PartWord};
use crate::spool::{self, SpoolOwner};
use crate::subject;
use plimsoll_host::process::boot_id;
use plimsoll_load::source::LocalLoad;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

const BEAT: Duration = Duration::from_millis(250);
/// How often an idle agent looks for orders, and one with a load.
const IDLE: Duration = Duration::from_millis(50);
const BUSY: Duration = Duration::from_millis(5);
/// Without a coordinator for so long a load that is not under way is let go, or one that never ends is ended.
const ABANDONED: Duration = Duration::from_secs(10);
/// No start is agreed on longer before.
const FARTHEST_START: Duration = Duration::from_secs(60);
/// What is told again is offered to the broker for so long.
const RETOLD_WITHIN: Duration = Duration::from_secs(60);
/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(200);
/// What is told last is given so long to reach the broker.
const FAREWELL: Duration = Duration::from_secs(1);
/// Bytes of an assignment at most.
const LONGEST_ASSIGNMENT: usize = 64 << 20;

/// Makes the loads that an agent is given.
pub trait LoadMaker {
    type Load: LocalLoad;

    /// Begins to connect and to prepare.
    ///
    /// # Errors
    /// Why it will not: what is asked for is not understood, or not allowed.
    fn make(&mut self, assignment: &str) -> Result<Self::Load, String>;

    /// Makes itself ready for a job that agents share piece by piece.
    ///
    /// # Errors
    /// Why it will not.
    fn job(&mut self, text: &str) -> Result<Arc<dyn AgentJob>, String>;
}

/// What an agent does, for whoever watches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentNews {
    /// It is there, and waits.
    Waits,
    Refuses {
        trial: String,
        why: String,
    },
    Prepares {
        trial: String,
    },
    Starts {
        trial: String,
    },
    /// It is at the end of a load, well or not.
    Ends {
        trial: String,
        why: Option<String>,
    },
    /// Nobody follows its load any more.
    Abandoned {
        trial: String,
    },
    BrokerIsGone(String),
    BrokerIsBack,
}

/// Serves until it is told to leave, or interrupted: a load under way is drained first.
///
/// # Errors
/// The broker cannot be reached at the start, or does not let it hear its orders.
pub fn serve<M: LoadMaker>(
    facts: &AgentFacts,
    maker: M,
    say: &mut dyn FnMut(AgentNews),
    is_interrupted: &dyn Fn() -> bool,
) -> Result<(), FleetError> {
    subject::check_name(&facts.name)?;
    let link = Arc::new(BrokerLink::connect(&facts.address, &facts.name)?);
    let epoch = Instant::now();
    let (sender, inbox) = mpsc::channel();
    link.hear(&subject::to(&facts.name), sender.clone())?;
    link.hear(subject::ALL, sender)?;
    link.answer(&subject::clock(&facts.name), move || epoch.elapsed().as_nanos().to_string().into_bytes())?;
    let mut agent = Agent {
        facts,
        maker,
        link,
        inbox,
        epoch,
        asked: None,
        part: None,
        job: None,
        beat: Instant::now(),
        trouble: None,
        leaves: false,
        say,
    };
    agent.hello();
    (agent.say)(AgentNews::Waits);
    while !agent.leaves {
        agent.turn();
        if let Some(why) = agent.link.refused() {
            agent.end(Some(why.clone()));
            return Err(FleetError::Refused(format!(
                "the broker does not let this agent hear the orders of {}: its key is that of another ({why})",
                facts.name
            )));
        }
        if is_interrupted() {
            agent.leave("it was interrupted");
        }
    }
    Ok(())
}

struct Agent<'a, M: LoadMaker> {
    facts: &'a AgentFacts,
    maker: M,
    link: Arc<BrokerLink>,
    inbox: Receiver<Letter>,
    /// Where its clock begins.
    epoch: Instant,
    /// The trial or job that it is being given, and as much of its text as has come.
    asked: Option<(String, String)>,
    part: Option<Part<M::Load>>,
    job: Option<HeldJob>,
    beat: Instant,
    trouble: Option<AgentTrouble>,
    leaves: bool,
    say: &'a mut dyn FnMut(AgentNews),
}

impl<M: LoadMaker> Agent<'_, M> {
    fn turn(&mut self) {
        let patience = if self.part.is_some() { BUSY } else { IDLE };
        let first = self.inbox.recv_timeout(patience).ok();
        let letters: Vec<Letter> = first.into_iter().chain(self.inbox.try_iter()).collect();
        letters.into_iter().for_each(|letter| self.take(letter));
        if let Some(part) = &mut self.part {
            match part.pump() {
                Ok(()) => self.look_after(),
                Err(error) => {
                    let why = format!("what the load tells cannot be kept: {error}");
                    self.trouble = Some(AgentTrouble { trial: part.trial.clone(), why: why.clone() });
                    self.end(Some(why));
                }
            }
        }
        if self.beat.elapsed() >= BEAT {
            self.beat = Instant::now();
            self.beats();
        }
        self.look_at_broker();
    }

    fn take(&mut self, letter: Letter) {
        if letter.subject == subject::ALL {
            return match message::read(&letter.body) {
                Ok(call) => self.called(call),
                Err(why) => (self.say)(AgentNews::Refuses { trial: String::new(), why }),
            };
        }
        let answer = match message::read(&letter.body) {
            // Its answer comes when it is done.
            Ok(AgentOrder::Piece { job, number, text }) => {
                match self.piece(&job, number, text, letter.reply.as_ref()) {
                    None => return,
                    Some(answer) => answer,
                }
            }
            Ok(order) => self.ordered(order),
            Err(why) => AgentAnswer::Refused(format!("an order that it does not know: {why}")),
        };
        if let Some(reply) = letter.reply {
            self.link.tell(&reply, message::write(&answer));
        }
    }

    fn called(&mut self, call: Call) {
        let mine = |trial: &str| self.part.as_ref().is_some_and(|part| part.trial == trial);
        match call {
            Call::Who => self.hello(),
            Call::Leave => self.leave("it was told to leave"),
            Call::Followed { trial } if mine(&trial) => self.part.iter_mut().for_each(Part::is_followed),
            Call::Stop { trial } if mine(&trial) => self.part.iter_mut().for_each(Part::stop),
            Call::Finish { trial } if mine(&trial) => self.end(None),
            Call::Followed { .. } | Call::Stop { .. } | Call::Finish { .. } => {}
        }
    }

    fn ordered(&mut self, order: AgentOrder) -> AgentAnswer {
        match order {
            AgentOrder::Prepare { trial, text, more } => match self.held_job(None) {
                Some(job) => AgentAnswer::Busy(job),
                None => self.given(trial, &text, more, Self::begin_part),
            },
            AgentOrder::Start { trial, at_ns } => match &mut self.part {
                Some(part) if part.trial == trial => {
                    let begins_in = Duration::from_nanos(at_ns).saturating_sub(self.epoch.elapsed());
                    if begins_in > FARTHEST_START {
                        let seconds = begins_in.as_secs();
                        return AgentAnswer::Refused(format!(
                            "a start in {seconds} s is no start that anybody agrees on"
                        ));
                    }
                    part.start_at(self.epoch + Duration::from_nanos(at_ns));
                    (self.say)(AgentNews::Starts { trial });
                    AgentAnswer::Done
                }
                _ => AgentAnswer::Refused(format!("it has no load of the trial {trial}")),
            },
            AgentOrder::Again { trial, from } => self.again(&trial, from),
            AgentOrder::Recorded { trial } => self.recorded(&trial),
            AgentOrder::Job { job, text, more } => match self.held_job(Some(&job)) {
                Some(other) => AgentAnswer::Busy(other),
                None => self.given(job, &text, more, Self::begin_job),
            },
            AgentOrder::JobIsOver { job } => {
                if let Some(held) = self.job.as_mut().filter(|held| held.name == job) {
                    held.is_over = true;
                }
                // What is still being written is waited for.
                self.job.take_if(|held| !held.is_held());
                AgentAnswer::Done
            }
            AgentOrder::IsAt { job, number } => match self.job.as_mut().filter(|held| held.name == job) {
                Some(held) => match held.is_at(number) {
                    true => AgentAnswer::Done,
                    false => AgentAnswer::Refused("it is not at that piece".to_owned()),
                },
                None => AgentAnswer::Refused(format!("it is not ready for {job}")),
            },
            AgentOrder::Piece { job, .. } => AgentAnswer::Refused(format!("nobody waits for a piece of {job}")),
        }
    }

    /// The job that somebody has it at, other than this one: a load beside its pieces would not be what was agreed.
    fn held_job(&self, other_than: Option<&str>) -> Option<String> {
        let held = self.job.as_ref().filter(|held| other_than != Some(&held.name) && held.is_held())?;
        Some(held.name.clone())
    }

    fn owner<'o>(&'o self, trial: &'o str) -> SpoolOwner<'o> {
        SpoolOwner { agent: &self.facts.name, trial }
    }

    /// Begins what it is given, once all of its text is there.
    fn given(
        &mut self,
        name: String,
        text: &str,
        more: bool,
        begin: fn(&mut Self, &str, &str) -> Result<(), String>,
    ) -> AgentAnswer {
        if let Some(part) = &self.part {
            return AgentAnswer::Busy(part.trial.clone());
        }
        let whole = match self.whole(&name, text, more) {
            Ok(Some(whole)) => whole,
            Ok(None) => return AgentAnswer::Done,
            Err(why) => return AgentAnswer::Refused(why),
        };
        match begin(self, &name, &whole) {
            Ok(()) => {
                (self.say)(AgentNews::Prepares { trial: name });
                AgentAnswer::Done
            }
            Err(why) => {
                (self.say)(AgentNews::Refuses { trial: name, why: why.clone() });
                AgentAnswer::Refused(why)
            }
        }
    }

    fn begin_job(&mut self, job: &str, text: &str) -> Result<(), String> {
        self.job = Some(HeldJob::new(job, self.maker.job(text)?));
        Ok(())
    }

    /// Does a piece beside everything else; `None` if it is answered later.
    fn piece(&mut self, job: &str, number: u64, text: String, reply: Option<&String>) -> Option<AgentAnswer> {
        let refuse = |why: String| Some(AgentAnswer::Refused(why));
        if let Some(part) = &self.part {
            return refuse(format!("it has the load of the trial {}", part.trial));
        }
        let held = self.job.as_mut().filter(|held| held.name == job && !held.is_over);
        let (Some(held), Some(reply)) = (held, reply.cloned()) else {
            return refuse(format!("it is not ready for {job}"));
        };
        let link = self.link.clone();
        let begun = held.begin_piece(number, text, move |answer| link.tell(&reply, message::write(&answer)));
        begun.err().and_then(refuse)
    }

    /// What comes in parts, once all of it is there.
    fn whole(&mut self, name: &str, text: &str, more: bool) -> Result<Option<String>, String> {
        subject::check_name(name).map_err(|error| error.to_string())?;
        let before = self.asked.take().filter(|(asked, _)| asked == name).map(|(_, text)| text).unwrap_or_default();
        if before.len() + text.len() > LONGEST_ASSIGNMENT {
            return Err(format!("an assignment of more than {LONGEST_ASSIGNMENT} bytes"));
        }
        let whole = before + text;
        if more {
            self.asked = Some((name.to_owned(), whole));
            return Ok(None);
        }
        Ok(Some(whole))
    }

    fn begin_part(&mut self, trial: &str, assignment: &str) -> Result<(), String> {
        let load = self.maker.make(assignment)?;
        let part = Part::begin(load, trial, self.facts, self.link.clone()).map_err(|error| {
            format!("what the load tells cannot be kept in {}: {error}", self.facts.spools.display())
        })?;
        (self.part, self.trouble) = (Some(part), None);
        Ok(())
    }

    /// Lets go of what it has told of a trial. That its load is to end may still be on its way.
    fn recorded(&mut self, trial: &str) -> AgentAnswer {
        if self.part.as_ref().is_some_and(|part| part.trial == trial) {
            self.end(None);
        }
        if !self.facts.keeps_spools {
            spool::remove_of(&self.facts.spools, self.owner(trial));
        }
        AgentAnswer::Done
    }

    /// Tells again what was told of a trial, be it one of an earlier incarnation.
    fn again(&self, trial: &str, from: u64) -> AgentAnswer {
        if let Some(part) = self.part.as_ref().filter(|part| part.trial == trial) {
            part.tell_again(from);
            return AgentAnswer::Done;
        }
        let letters = match spool::left_of(&self.facts.spools, self.owner(trial)) {
            Ok(letters) if !letters.is_empty() => letters,
            Ok(_) => return AgentAnswer::Refused(format!("it has nothing of the trial {trial}")),
            Err(error) => return AgentAnswer::Refused(format!("{}: {error}", self.facts.spools.display())),
        };
        let (link, subject) = (self.link.clone(), subject::told(&self.facts.name));
        let id = format!("{trial}.{}.{}", self.facts.name, self.epoch.elapsed().as_nanos());
        let begun = thread::Builder::new().name("again".to_owned()).spawn(move || {
            for (number, letter) in letters.into_iter().enumerate() {
                let (id, since) = (format!("{id}.{number}"), Instant::now());
                while link.store(&subject, &id, letter.clone()).is_err() {
                    if since.elapsed() > RETOLD_WITHIN {
                        return;
                    }
                    thread::sleep(AGAIN);
                }
            }
        });
        match begun {
            Ok(_) => AgentAnswer::Done,
            Err(error) => AgentAnswer::Refused(format!("it cannot start a thread: {error}")),
        }
    }

    /// Lets go of a load that nobody follows any more, once what was agreed is done.
    fn look_after(&mut self) {
        let Some(part) = &mut self.part else { return };
        if part.unfollowed() < ABANDONED {
            return;
        }
        match part.word() {
            PartWord::UnderWay if part.is_endless() => part.stop(),
            PartWord::UnderWay => {}
            PartWord::Waiting | PartWord::Over => {
                let trial = part.trial.clone();
                self.end(None);
                (self.say)(AgentNews::Abandoned { trial });
            }
        }
    }

    /// Ends a load, whatever it is at.
    fn end(&mut self, why: Option<String>) {
        if let Some(part) = self.part.take() {
            let trial = part.trial.clone();
            part.finish();
            (self.say)(AgentNews::Ends { trial, why });
        }
    }

    /// Drains what is under way, says why, and goes.
    fn leave(&mut self, why: &str) {
        self.leaves = true;
        if let Some(part) = &mut self.part {
            part.leave(why);
            thread::sleep(FAREWELL);
        }
        self.end(Some(why.to_owned()));
    }

    fn hello(&self) {
        let AgentFacts { name, build, machine, cpus, ceiling, incarnation, .. } = self.facts;
        let hello = Hello {
            incarnation: *incarnation,
            build: build.clone(),
            machine: machine.clone(),
            boot: boot_id(),
            cpus: *cpus,
            ceiling: *ceiling,
            trial: self.part.as_ref().map(|part| part.trial.clone()),
        };
        self.link.tell(&subject::hello(name), message::write(&hello));
    }

    fn beats(&self) {
        let beat = Heartbeat {
            incarnation: self.facts.incarnation,
            trial: self.part.as_ref().map(|part| part.trial.clone()),
            written: self.part.as_ref().map_or(0, Part::written),
            trouble: self.trouble.clone(),
        };
        self.link.tell(&subject::heartbeat(&self.facts.name), message::write(&beat));
    }

    fn look_at_broker(&mut self) {
        match self.link.news() {
            Some(Some(why)) => (self.say)(AgentNews::BrokerIsGone(why)),
            Some(None) => {
                // A coordinator that waits for agents has to hear of this one.
                self.hello();
                (self.say)(AgentNews::BrokerIsBack);
            }
            None => {}
        }
    }
}
