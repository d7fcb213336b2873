//! A load whose coordinator is gone, collected by the next one: its agents have kept all that they told.

use super::FleetLoad;
use crate::clock::Offset;
use crate::coordinator::{ANSWERED, Fleet};
use crate::error::FleetError;
use crate::member::{LoopRange, Member};
use crate::message::{AgentAnswer, AgentOrder, Hello};
use plimsoll_load::source::{LoadEvent, LoadFacts, LoadSource};
use plimsoll_model::agreed::{AgreedLoad, AgreedPart};
use std::time::Instant;

impl Fleet {
    /// Has the agents of a load tell all of it again. Those that are still at it go on.
    ///
    /// # Errors
    /// It is not a load that was agreed, or an agent is missing or has not kept it. Where it is interrupted, agents keep it.
    pub fn collect(
        &self,
        facts: LoadFacts,
        agreed: &AgreedLoad,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<FleetLoad<'_>, FleetError> {
        check(agreed)?;
        let facts = LoadFacts { loops: agreed.loops, tellers: agreed.agents.len(), ..facts };
        let share = |part: &AgreedPart| LoopRange { loops: part.loops.0..part.loops.1, of: agreed.loops };
        let members = self.members_of(agreed, is_interrupted)?.into_iter().zip(agreed.agents.iter().map(share));
        let mut load = FleetLoad::new(self, agreed.load.clone(), facts, members);
        load.is_collected = true;
        for (voice, part) in load.voices.iter_mut().zip(&agreed.agents) {
            voice.clock = Some(Offset { ahead_ns: 0, bound_ns: (part.clock_bound_us * 1e3) as u64 });
        }
        let asked = load.ask_for_all(is_interrupted);
        if asked == Err(FleetError::Interrupted) {
            load.leave();
            return Err(FleetError::Interrupted);
        }
        asked.map(|()| load)
    }

    /// The agents of a load as they were then, once all are there or have had their time.
    fn members_of(&self, agreed: &AgreedLoad, is_interrupted: &dyn Fn() -> bool) -> Result<Vec<Member>, FleetError> {
        let since = Instant::now();
        loop {
            let present = self.gather(None, is_interrupted)?;
            let member = |part: &AgreedPart| {
                let Member { name, hello } = present.iter().find(|member| member.name == part.agent)?.clone();
                Some(Member { name, hello: Hello { incarnation: part.incarnation, ..hello } })
            };
            let missing = agreed.agents.iter().find(|part| member(part).is_none());
            match missing {
                None => return Ok(agreed.agents.iter().filter_map(member).collect()),
                Some(part) if since.elapsed() > ANSWERED => {
                    return Err(is_lost(&part.agent, "it is not there, and so what it kept is not"));
                }
                Some(_) => {}
            }
        }
    }
}

fn is_lost(agent: &str, why: &str) -> FleetError {
    FleetError::Environment(format!("the agent {agent} is lost: {why}"))
}

impl FleetLoad<'_> {
    fn ask_for_all(&mut self, is_interrupted: &dyn Fn() -> bool) -> Result<(), FleetError> {
        let again = AgentOrder::Again { trial: self.trial.clone(), from: 0 };
        let orders = self.voices.iter().map(|voice| (voice.member.name.as_str(), again.clone())).collect();
        for (agent, answer) in self.fleet.order(orders, ANSWERED, is_interrupted)? {
            AgentAnswer::done(answer).map_err(|why| is_lost(&agent, &why))?;
        }
        let now = self.hearing.listened();
        self.voices.iter_mut().for_each(|voice| voice.attendance.is_to_tell(true, now));
        Ok(())
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
