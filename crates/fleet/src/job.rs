//! Work that agents share piece by piece, each answered when it is done: who is lost is noticed while it is waited for.

use crate::coordinator::{ANSWERED, Fleet};
use crate::error::FleetError;
use crate::link::BrokerLink;
use crate::message::{self, AgentAnswer, AgentOrder, parts};
use crate::roster::LOST_AFTER;
use crate::subject;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often an agent with a piece is asked whether it lives.
const LOOK: Duration = Duration::from_secs(1);

/// A job that all agents of a fleet are ready for.
pub struct FleetJob<'f> {
    link: &'f BrokerLink,
    job: String,
    agents: Vec<String>,
}

/// One agent at a job.
pub struct JobHand<'f> {
    link: &'f BrokerLink,
    job: String,
    agent: String,
}

impl Fleet {
    /// Makes all agents ready for a job, which `text` says.
    ///
    /// # Errors
    /// An agent is missing, busy, or refuses.
    pub fn job(&self, text: &str, is_interrupted: &dyn Fn() -> bool) -> Result<FleetJob<'_>, FleetError> {
        let agents: Vec<String> = self.muster(is_interrupted)?.into_iter().map(|member| member.name).collect();
        let job = FleetJob { link: &self.link, job: self.next_trial(), agents };
        for (text, more) in parts(text) {
            let order = AgentOrder::Job { job: job.job.clone(), text: text.to_owned(), more };
            let orders = job.agents.iter().map(|agent| (agent.as_str(), order.clone())).collect();
            for (agent, answer) in self.order(orders, ANSWERED) {
                job.answered(&agent, answer)?;
            }
        }
        Ok(job)
    }
}

impl<'f> FleetJob<'f> {
    fn answered(&self, agent: &str, answer: Result<AgentAnswer, String>) -> Result<(), FleetError> {
        match answer {
            Ok(AgentAnswer::Done | AgentAnswer::Counted(_)) => Ok(()),
            Ok(AgentAnswer::Busy(with)) => Err(FleetError::Environment(format!(
                "the agent {agent} is at something else ({with}); try again later"
            ))),
            Ok(AgentAnswer::Refused(why)) => Err(FleetError::Refused(format!("the agent {agent} refuses: {why}"))),
            Err(why) => Err(FleetError::Environment(format!("the agent {agent}: {why}"))),
        }
    }

    /// So many hands of each agent.
    pub fn hands(&self, each: usize) -> Vec<JobHand<'f>> {
        let all = (0..each.max(1)).flat_map(|_| &self.agents);
        all.map(|agent| JobHand { link: self.link, job: self.job.clone(), agent: agent.clone() }).collect()
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
    /// What went wrong there, or that the agent is lost.
    pub fn piece(&mut self, text: &str) -> Result<u64, FleetError> {
        let failed = |why: String| FleetError::Environment(format!("the agent {}: {why}", self.agent));
        let order = AgentOrder::Piece { job: self.job.clone(), text: text.to_owned() };
        let (sender, inbox) = mpsc::channel();
        self.link.ask_long(&subject::to(&self.agent), message::write(&order), sender);
        let mut alive = Instant::now();
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
                Err(RecvTimeoutError::Timeout) => {}
            }
            let question = vec![(subject::clock(&self.agent), Vec::new())];
            let lives = self.link.ask_all(question, LOOK).iter().all(Result::is_ok);
            if lives {
                alive = Instant::now();
            } else if alive.elapsed() > LOST_AFTER {
                return Err(failed("it is lost: it does not say that it lives".to_owned()));
            }
        }
    }
}
