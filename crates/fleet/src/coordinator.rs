//! The coordinator: who of a fleet is there, and who is given which part of a load.

use crate::clock::{ClockExchange, EXCHANGES, Offset, best};
use crate::error::FleetError;
use crate::link::{BrokerLink, Letter};
use crate::member::Member;
use crate::message::{self, AgentAnswer, AgentOrder, Call, FleetBuild, Hello, parts};
use crate::subject;
use plimsoll_plan::broker::BrokerAddress;
use serde::Deserialize;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Agents that were not counted beforehand say who they are within this time.
const ROLL_CALL: Duration = Duration::from_secs(1);
/// Agents that are being started, or started again, are waited for.
const GATHERING: Duration = Duration::from_secs(60);
/// An order is answered within this time; making a load may need a name server.
pub(crate) const ANSWERED: Duration = Duration::from_secs(10);
/// An agent that has a load of somebody who is gone lets go of it within this time.
const LETS_GO: Duration = Duration::from_secs(30);
/// All clocks are known within this time, or are not.
const CLOCKS: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(50);
/// The longest name of a machine (hostname(7)), bytes.
const LONGEST_MACHINE: usize = 255;

/// What is wanted of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetWish {
    pub address: BrokerAddress,
    /// How many agents; `None` for all that are there.
    pub agents: Option<usize>,
    /// How many of them may be lost before a trial fails.
    pub tolerate_lost: usize,
    pub build: FleetBuild,
}

/// A fleet of which we are the coordinator.
pub struct Fleet {
    pub(crate) link: BrokerLink,
    pub(crate) sender: Sender<Letter>,
    inbox: Receiver<Letter>,
    pub(crate) wish: FleetWish,
    /// What the names of its trials begin with: nobody else's do.
    pub(crate) id: String,
    trials: Cell<u32>,
    members: RefCell<BTreeMap<String, Hello>>,
    /// How many agents the first load was to have: one with fewer could not be compared with it.
    first: Cell<Option<usize>>,
}

/// What the hello of any build says, whatever else is in it.
#[derive(Deserialize)]
struct AnyHello {
    #[serde(rename = "incarnation")]
    _incarnation: u64,
}

/// What the agent of this name answered, or why nothing.
type AnswerOf = (String, Result<AgentAnswer, String>);

impl Fleet {
    /// Connects to the broker. `id` is ours alone.
    ///
    /// # Errors
    /// It cannot be reached, or has no JetStream.
    pub fn join(wish: FleetWish, id: &str) -> Result<Fleet, FleetError> {
        subject::check_name(id)?;
        let link = BrokerLink::connect(&wish.address, &format!("coordinator-{id}"))?;
        let last = link.prepare_stream()?;
        let (sender, inbox) = mpsc::channel();
        link.hear(&subject::hello("*"), sender.clone())?;
        link.hear(&subject::heartbeat("*"), sender.clone())?;
        link.read_stored(last, sender.clone());
        let id = id.to_owned();
        let (trials, members, first) = Default::default();
        Ok(Fleet { link, sender, inbox, wish, id, trials, members, first })
    }

    /// All agents that answer now, by name, whatever was wished for.
    ///
    /// # Errors
    /// Two of them have one name.
    pub fn roll_call(&self) -> Result<Vec<Member>, FleetError> {
        self.gather(None, &|| false)
    }

    /// The agents that a load is to have: as many as were wished for, or those that are there; after the first load as many
    /// as that was to have.
    ///
    /// # Errors
    /// They do not come, or are of another build, or two of them have one name.
    pub fn muster(&self, is_interrupted: &dyn Fn() -> bool) -> Result<Vec<Member>, FleetError> {
        let wanted = self.wish.agents.or(self.first.get());
        let mut members = self.gather(wanted, is_interrupted)?;
        let address = &self.wish.address;
        match wanted {
            None if members.is_empty() => {
                return Err(FleetError::Environment(format!(
                    "no agent answers at {address}; `plimsoll agent --fleet {address} --name a1` starts one"
                )));
            }
            Some(wanted) if members.len() < wanted => {
                let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
                return Err(FleetError::Environment(format!(
                    "{} of {wanted} agents are at {address} after {} s: {}",
                    members.len(),
                    GATHERING.as_secs(),
                    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
                )));
            }
            Some(wanted) => members.truncate(wanted),
            None => {}
        }
        for Member { name, hello } in &members {
            if hello.build != self.wish.build {
                return Err(FleetError::Refused(format!(
                    "the agent {name} is Plimsoll {}, and this is {}: use the same build on both sides",
                    hello.build, self.wish.build
                )));
            }
        }
        self.first.set(self.first.get().or(Some(members.len())));
        Ok(members)
    }

    /// Waits until as many agents as are wanted say who they are, or for a roll call.
    pub(crate) fn gather(
        &self,
        wanted: Option<usize>,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<Member>, FleetError> {
        let patience = if wanted.is_some() { GATHERING } else { ROLL_CALL };
        let (begun, mut called) = (Instant::now(), None::<Instant>);
        self.members.borrow_mut().clear();
        // What was said before says nothing of now.
        while self.inbox.try_recv().is_ok() {}
        while begun.elapsed() < patience && wanted.is_none_or(|wanted| self.members.borrow().len() < wanted) {
            if is_interrupted() {
                return Err(FleetError::Interrupted);
            }
            // Those that come later have not heard it.
            if called.is_none_or(|called| called.elapsed() >= ROLL_CALL) {
                self.call(&Call::Who);
                called = Some(Instant::now());
            }
            let Ok(letter) = self.inbox.recv_timeout(LOOK) else { continue };
            if letter.subject.starts_with(&subject::hello("")) {
                self.meet(&letter)?;
            }
        }
        let members = self.members.borrow();
        Ok(members.iter().map(|(name, hello)| Member { name: name.clone(), hello: hello.clone() }).collect())
    }

    fn meet(&self, letter: &Letter) -> Result<(), FleetError> {
        if !is_hello(&letter.body) {
            return Ok(());
        }
        let name = subject::agent(&letter.subject);
        let refuse = |why: String| FleetError::Refused(format!("the agent {name}: {why}"));
        subject::check_name(name)?;
        // One of another version may say it in other words.
        let hello: Hello = message::read(&letter.body)
            .map_err(|why| refuse(format!("it is of another build than this Plimsoll, {}: {why}", self.wish.build)))?;
        if hello.machine.len() > LONGEST_MACHINE {
            return Err(refuse(format!("the name of its machine has {} bytes", hello.machine.len())));
        }
        let before = self.members.borrow_mut().insert(name.to_owned(), hello.clone());
        match before {
            Some(other) if other.incarnation != hello.incarnation => Err(refuse(format!(
                "two have this name, on {} and on {}; give each a --name of its own",
                other.machine, hello.machine
            ))),
            _ => Ok(()),
        }
    }

    /// Gives the agents their assignments, part by part, all at once; `order` is how a part is given, and whether more
    /// follow. Who is at something else is waited for.
    pub(crate) fn prepare(
        &self,
        trial: &str,
        mut left: Vec<(&str, &str)>,
        order: &dyn Fn(&str, bool) -> AgentOrder,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<(), FleetError> {
        let since = Instant::now();
        while !left.is_empty() {
            let busy = self.prepare_once(&left, order, is_interrupted)?;
            // Those that have theirs wait for the others.
            self.call(&Call::Followed { trial: trial.to_owned() });
            if let Some((agent, with)) = busy.first() {
                if since.elapsed() > LETS_GO {
                    return Err(FleetError::Environment(format!(
                        "the agent {agent} is at something else ({with}), for another Plimsoll"
                    )));
                }
                if is_interrupted() {
                    return Err(FleetError::Interrupted);
                }
                thread::sleep(ROLL_CALL);
            }
            left.retain(|(agent, _)| busy.iter().any(|(other, _)| other == agent));
        }
        Ok(())
    }

    /// The agents that are busy, and with what.
    fn prepare_once(
        &self,
        all: &[(&str, &str)],
        order: &dyn Fn(&str, bool) -> AgentOrder,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<(String, String)>, FleetError> {
        let mut busy = Vec::new();
        let mut texts: Vec<_> = all.iter().map(|(agent, text)| (*agent, parts(text))).collect();
        while !texts.is_empty() {
            let mut asked = Vec::new();
            texts.retain_mut(|(agent, parts)| {
                let Some((text, more)) = parts.next() else { return false };
                asked.push((*agent, order(text, more)));
                true
            });
            for (agent, answer) in self.order(asked, ANSWERED, is_interrupted)? {
                if let Some(with) = AgentAnswer::busy_with(&agent, answer)? {
                    texts.retain(|(other, _)| *other != agent);
                    busy.push((agent, with));
                }
            }
        }
        Ok(busy)
    }

    /// Gives orders, all at once, and waits for the answers.
    ///
    /// # Errors
    /// [`FleetError::Interrupted`].
    pub(crate) fn order(
        &self,
        orders: Vec<(&str, AgentOrder)>,
        patience: Duration,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<Vec<AnswerOf>, FleetError> {
        let questions = orders.iter().map(|(agent, order)| (subject::to(agent), message::write(order))).collect();
        let answers = self.link.ask_all_unless(questions, patience, is_interrupted).ok_or(FleetError::Interrupted)?;
        let read = |answer: Result<Vec<u8>, String>| message::read(&answer?);
        Ok(orders.iter().map(|(agent, _)| (*agent).to_owned()).zip(answers.into_iter().map(read)).collect())
    }

    /// A name for the next trial.
    pub(crate) fn next_trial(&self) -> String {
        self.trials.set(self.trials.get() + 1);
        format!("{}-{}", self.id, self.trials.get())
    }

    pub(crate) fn call(&self, call: &Call) {
        self.link.tell(subject::ALL, message::write(call));
    }

    /// What comes next, from whomever.
    pub(crate) fn letter(&self, wait: Duration) -> Option<Letter> {
        self.inbox.recv_timeout(wait).ok()
    }

    /// How far the clock of each is ahead of ours, which begins at `epoch`; `None` of one that does not say what time it is.
    /// What else comes meanwhile is given to `other`.
    pub fn clocks(&self, members: &[Member], epoch: Instant, other: &mut dyn FnMut(Letter)) -> Vec<Option<Offset>> {
        let asked = Instant::now();
        let clocks: Vec<String> = members.iter().map(|member| subject::clock(&member.name)).collect();
        clocks.iter().for_each(|clock| self.link.ask_later(clock, Vec::new(), EXCHANGES, &self.sender));
        let mut found: Vec<Vec<ClockExchange>> = vec![Vec::new(); members.len()];
        while found.iter().any(|found| found.len() < EXCHANGES) && asked.elapsed() < CLOCKS {
            let Some(letter) = self.letter(LOOK) else { continue };
            match clocks.iter().position(|clock| *clock == letter.subject) {
                Some(at) => found[at].extend(ClockExchange::of(&letter, epoch).ok().flatten()),
                None => other(letter),
            }
        }
        found.into_iter().map(best).collect()
    }
}

/// Whether an agent of whatever build says who it is. A broker says there what anybody has it acknowledge there; that is no
/// word of the agent.
fn is_hello(body: &[u8]) -> bool {
    message::read::<AnyHello>(body).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_broker_acknowledges_is_no_hello_and_that_of_another_build_is_one() {
        let acknowledged = r#"{"stream":"PLIMSOLL","seq":7}"#;
        for none in [acknowledged, r#"{"stream":"PLIMSOLL","seq":7,"duplicate":true}"#, "", "hello"] {
            assert!(!is_hello(none.as_bytes()), "{none}");
        }
        let other = r#"{"incarnation":1,"build":"tomorrow's","shoes":2}"#;
        assert!(is_hello(other.as_bytes()) && message::read::<Hello>(other.as_bytes()).is_err());
    }
}
