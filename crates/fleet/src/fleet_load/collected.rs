//! A load whose coordinator is gone, collected by the next one: its agents have kept all that they told.

use super::FleetLoad;
use crate::clock::Offset;
use crate::coordinator::{ANSWERED, Fleet};
use crate::error::FleetError;
use crate::member::{LoopRange, Member};
use crate::message::{AgentAnswer, AgentOrder, Hello};
use plimsoll_load::source::{LoadEvent, LoadFacts};
use plimsoll_model::agreed::{AgreedLoad, AgreedPart};
use std::time::Instant;

impl Fleet {
    /// Has the agents of a load tell all of it again. Those that are still at it go on; one that is missing, or has not
    /// kept it, fails the load as one that is lost before the start does.
    ///
    /// # Errors
    /// It is not a load that was agreed, or the broker is gone.
    pub fn collect(&self, facts: LoadFacts, agreed: &AgreedLoad) -> Result<FleetLoad<'_>, FleetError> {
        check(agreed)?;
        let present = self.present(agreed)?;
        let mut missing = Vec::new();
        let mut member = |part: &AgreedPart| {
            let found = present.iter().find(|member| member.name == part.agent);
            missing.push(found.is_none());
            let hello = found.map_or_else(|| self.nobody(), |member| member.hello.clone());
            Member { name: part.agent.clone(), hello: Hello { incarnation: part.incarnation, ..hello } }
        };
        let share = |part: &AgreedPart| LoopRange { loops: part.loops.0..part.loops.1, of: agreed.loops };
        let members: Vec<_> = agreed.agents.iter().map(|part| (member(part), share(part))).collect();
        let facts = LoadFacts { loops: agreed.loops, tellers: agreed.agents.len(), ..facts };
        let mut load = FleetLoad::new(self, agreed.load.clone(), facts, members.into_iter());
        load.is_collected = true;
        for (voice, part) in load.voices.iter_mut().zip(&agreed.agents) {
            voice.clock = Some(Offset { ahead_ns: 0, bound_ns: (part.clock_bound_us * 1e3) as u64 });
        }
        load.ask_for_all(&missing);
        Ok(load)
    }

    /// Who is there, once all are who were agreed with, or when they have had their time.
    fn present(&self, agreed: &AgreedLoad) -> Result<Vec<Member>, FleetError> {
        let since = Instant::now();
        loop {
            let present = self.roll_call()?;
            let is_there = |part: &AgreedPart| present.iter().any(|member| member.name == part.agent);
            if agreed.agents.iter().all(is_there) || since.elapsed() > ANSWERED {
                return Ok(present);
            }
        }
    }

    /// What is said by an agent that is not there.
    fn nobody(&self) -> Hello {
        Hello {
            incarnation: 0,
            build: self.wish.build.clone(),
            machine: String::new(),
            boot: String::new(),
            cpus: 0,
            ceiling: None,
            trial: None,
        }
    }
}

impl FleetLoad<'_> {
    fn ask_for_all(&mut self, missing: &[bool]) {
        let again = AgentOrder::Again { trial: self.trial.clone(), from: 0 };
        let names: Vec<String> = self.voices.iter().map(|voice| voice.member.name.clone()).collect();
        let asked: Vec<usize> = (0..names.len()).filter(|at| !missing[*at]).collect();
        let orders = asked.iter().map(|at| (names[*at].as_str(), again.clone())).collect();
        for (at, (_, answer)) in asked.into_iter().zip(self.fleet.order(orders, ANSWERED)) {
            match answer {
                Ok(AgentAnswer::Done | AgentAnswer::Counted(_)) => {
                    self.voices[at].attendance.is_to_tell(true, self.hearing.listened());
                }
                Ok(AgentAnswer::Busy(why) | AgentAnswer::Refused(why)) | Err(why) => self.lose(at, &why),
            }
        }
        for (at, _) in missing.iter().enumerate().filter(|(_, is_missing)| **is_missing) {
            self.lose(at, "it is not there, and so what it kept is not");
        }
    }

    /// What is told next. All of it is told again from its beginning, and comes in whatever order: before the start
    /// nothing counts but who is ready.
    pub(super) fn next_event(&mut self) -> Option<LoadEvent> {
        let is_early = self.is_collected && !self.has_started;
        let may_be_told = |event: &LoadEvent| !is_early || matches!(event, LoadEvent::Ready(_) | LoadEvent::Failed(_));
        let at = self.events.iter().position(may_be_told)?;
        self.events.remove(at)
    }
}

/// A recording is read before it is believed.
fn check(agreed: &AgreedLoad) -> Result<(), FleetError> {
    let is_a_part = |part: &AgreedPart| {
        part.loops.0 < part.loops.1 && part.loops.1 <= agreed.loops && (0.0..=1e6).contains(&part.clock_bound_us)
    };
    for part in &agreed.agents {
        crate::subject::check_name(&part.agent)?;
    }
    match !agreed.agents.is_empty() && agreed.agents.iter().all(is_a_part) {
        true => Ok(()),
        false => Err(FleetError::Refused(format!("the load {} was never agreed like that", agreed.load))),
    }
}
