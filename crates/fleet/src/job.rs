//! Work that agents share piece by piece, each answered when it is done: who is lost is noticed while it is waited for.

use crate::coordinator::Fleet;
use crate::error::FleetError;
use crate::link::BrokerLink;
use crate::message::{self, AgentAnswer, AgentOrder};
use crate::roster::LOST_AFTER;
use crate::subject;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often an agent with a piece is asked whether it lives.
const LOOK: Duration = Duration::from_secs(1);
/// An answer is on its way for no more of them.
const ANSWERS_WITHIN: u32 = 3;

/// A job that all agents of a fleet are ready for.
pub struct FleetJob<'f> {
    link: &'f BrokerLink,
    job: String,
    agents: Vec<String>,
    /// How many pieces were given so far, over all hands.
    pieces: Arc<AtomicU64>,
}

/// One agent at a job.
pub struct JobHand<'f> {
    link: &'f BrokerLink,
    job: String,
    agent: String,
    pieces: Arc<AtomicU64>,
}

impl Fleet {
    /// Makes all agents ready for a job, which `text` says.
    ///
    /// # Errors
    /// An agent is missing, busy, or refuses.
    pub fn job(&self, text: &str, is_interrupted: &dyn Fn() -> bool) -> Result<FleetJob<'_>, FleetError> {
        let agents: Vec<String> = self.muster(is_interrupted)?.into_iter().map(|member| member.name).collect();
        let job = FleetJob { link: &self.link, job: self.next_trial(), agents, pieces: Arc::default() };
        let name = job.job.as_str();
        let order = |text: &str, more| AgentOrder::Job { job: name.to_owned(), text: text.to_owned(), more };
        let all = job.agents.iter().map(|agent| (agent.as_str(), text)).collect();
        self.prepare(name, all, &order, is_interrupted)?;
        Ok(job)
    }
}

impl<'f> FleetJob<'f> {
    /// So many hands of each agent.
    pub fn hands(&self, each: usize) -> Vec<JobHand<'f>> {
        let all = (0..each.max(1)).flat_map(|_| &self.agents);
        let hand = |agent: &String| JobHand {
            link: self.link,
            job: self.job.clone(),
            agent: agent.clone(),
            pieces: self.pieces.clone(),
        };
        all.map(hand).collect()
    }
}

impl Drop for FleetJob<'_> {
    fn drop(&mut self) {
        let order = message::write(&AgentOrder::JobIsOver { job: self.job.clone() });
        self.agents.iter().for_each(|agent| self.link.tell(&subject::to(agent), order.clone()));
        self.link.flush();
    }
}

impl JobHand<'_> {
    /// Has a piece done, and waits for it; what came of it.
    ///
    /// # Errors
    /// What went wrong there, or that the agent is lost; [`FleetError::Interrupted`].
    pub fn piece(&mut self, text: &str, is_interrupted: &dyn Fn() -> bool) -> Result<u64, FleetError> {
        let failed = |why: String| FleetError::Environment(format!("the agent {}: {why}", self.agent));
        let number = self.pieces.fetch_add(1, Ordering::Relaxed);
        let order = AgentOrder::Piece { job: self.job.clone(), number, text: text.to_owned() };
        let (sender, inbox) = mpsc::channel();
        self.link.ask_long(&subject::to(&self.agent), message::write(&order), sender);
        let (mut alive, mut unknown) = (Instant::now(), 0);
        loop {
            match inbox.recv_timeout(LOOK) {
                Ok(answer) => {
                    return match message::read(&answer.map_err(failed)?).map_err(failed)? {
                        AgentAnswer::Counted(count) => Ok(count),
                        AgentAnswer::Done => Ok(0),
                        AgentAnswer::Busy(why) | AgentAnswer::Refused(why) => Err(failed(why)),
                    };
                }
                Err(RecvTimeoutError::Disconnected) => return Err(failed("it gives no answer".to_owned())),
                Err(RecvTimeoutError::Timeout) if is_interrupted() => return Err(FleetError::Interrupted),
                Err(RecvTimeoutError::Timeout) => {}
            }
            match self.is_at(number) {
                Some(true) => (alive, unknown) = (Instant::now(), 0),
                // Its answer may be on its way.
                Some(false) if unknown < ANSWERS_WITHIN => (alive, unknown) = (Instant::now(), unknown + 1),
                Some(false) => {
                    let why = "it does not know what it was given: it was started again, or its answer was lost";
                    return Err(failed(format!("{why}; the same load goes on where it stopped")));
                }
                None if alive.elapsed() > LOST_AFTER => {
                    return Err(failed("it is lost: it does not say that it lives".to_owned()));
                }
                None => {}
            }
        }
    }

    /// Whether it is at that piece; `None` if it does not say.
    fn is_at(&self, number: u64) -> Option<bool> {
        let order = AgentOrder::IsAt { job: self.job.clone(), number };
        let question = vec![(subject::to(&self.agent), message::write(&order))];
        let answer = self.link.ask_all(question, LOOK).into_iter().next()?.ok()?;
        Some(message::read::<AgentAnswer>(&answer).ok()? == AgentAnswer::Done)
    }
}
