//! The start in common: all clocks are known well enough, all agents have accepted it, or it is called off.

use super::FleetLoad;
use crate::clock::{Offset, WORST_NS};
use crate::error::FleetError;
use crate::member::Member;
use crate::message::{AgentAnswer, AgentOrder, Call};
use crate::voice::Voice;
use plimsoll_load::source::LoadEvent;
use std::time::{Duration, Instant};

/// Clocks that are not known well enough are asked for again so often: those that are asked at once disturb each other.
const CLOCK_ROUNDS: usize = 12;
/// From the order to start to the start.
const START_IN: Duration = Duration::from_secs(2);
/// All have to have accepted it by then.
const ACCEPTED: Duration = Duration::from_millis(1500);
/// For so long our clock may have stood still, with our machine, while agents went on.
const ASLEEP: Duration = Duration::from_secs(600);
/// Clocks of machines run differently, by far less than one part in so many.
const DRIFT: u32 = 100;

impl FleetLoad<'_> {
    /// Has all agents begin at one time: so long from now.
    pub(super) fn begin_together(&mut self, is_interrupted: &dyn Fn() -> bool) -> Duration {
        if self.is_collected {
            self.has_started = true;
            return Duration::ZERO;
        }
        match self.agree(is_interrupted) {
            Ok(at) => {
                let begins_in = at.saturating_duration_since(Instant::now());
                let from = self.hearing.listened() + begins_in;
                (self.has_started, self.begins) = (true, Some(at));
                for voice in &mut self.voices {
                    voice.attendance.is_to_tell(true, from);
                    voice.drains_at_its_end(&self.facts);
                }
                begins_in
            }
            Err(why) => {
                self.fleet.call(&Call::Finish { trial: self.trial.clone() });
                self.is_given_up = true;
                // Who interrupts it knows why it does not begin.
                if why != FleetError::Interrupted {
                    self.events.push_back(LoadEvent::Failed(why.to_string()));
                }
                Duration::ZERO
            }
        }
    }

    /// Judges all clocks, and gives the order to start; when that will be.
    fn agree(&mut self, is_interrupted: &dyn Fn() -> bool) -> Result<Instant, FleetError> {
        self.judge_clocks(is_interrupted)?;
        let at = Instant::now() + START_IN;
        let at_ns = at.saturating_duration_since(self.epoch).as_nanos() as u64;
        let order = |voice: &Voice| {
            let theirs = voice.clock.map_or(at_ns, |clock| clock.theirs(at_ns));
            AgentOrder::Start { trial: self.trial.clone(), at_ns: theirs }
        };
        let called_off = |why: String| FleetError::Environment(format!("the start was called off: {why}"));
        let orders = self.voices.iter().map(|voice| (voice.member.name.as_str(), order(voice))).collect();
        for (agent, answer) in self.fleet.order(orders, ACCEPTED, is_interrupted)? {
            AgentAnswer::done(answer).map_err(|why| called_off(format!("the agent {agent}: {why}")))?;
        }
        // Why it is was told when that was noticed.
        if let Some(lost) = self.voices.iter().find(|voice| voice.attendance.is_lost()) {
            return Err(called_off(format!("the agent {} is lost", lost.member.name)));
        }
        if Instant::now() >= at {
            return Err(called_off("the agents have accepted it too late".to_owned()));
        }
        Ok(at)
    }

    /// Judges how far the clock of each agent is ahead, and that it is known well enough.
    fn judge_clocks(&mut self, is_interrupted: &dyn Fn() -> bool) -> Result<(), FleetError> {
        for _ in 0..CLOCK_ROUNDS {
            let unsure: Vec<usize> = (0..self.voices.len()).filter(|at| !self.voices[*at].is_clock_known()).collect();
            if unsure.is_empty() {
                break;
            }
            if is_interrupted() {
                return Err(FleetError::Interrupted);
            }
            let members: Vec<Member> = unsure.iter().map(|at| self.voices[*at].member.clone()).collect();
            let (fleet, epoch) = (self.fleet, self.epoch);
            let found = fleet.clocks(&members, epoch, &mut |letter| self.take(letter));
            for (at, found) in unsure.into_iter().zip(found) {
                let clock = &mut self.voices[at].clock;
                *clock = clock.iter().copied().chain(found).min_by_key(|clock| clock.bound_ns);
            }
        }
        for voice in &self.voices {
            let name = &voice.member.name;
            let why = match voice.clock {
                Some(Offset { bound_ns, .. }) if bound_ns <= WORST_NS => continue,
                Some(Offset { bound_ns, .. }) => format!(
                    "the clock of the agent {name} is known to {:.1} ms only, and {} ms are the most for a start in \
                     common: the way to the broker and on is too long, or one of the machines too busy",
                    bound_ns as f64 / 1e6,
                    WORST_NS / 1_000_000
                ),
                None => format!("the agent {name} does not say what time it is"),
            };
            return Err(FleetError::Environment(why));
        }
        Ok(())
    }

    /// The latest time that an agent may have told of by now, nanoseconds since the load began: nobody fills our memory with
    /// seconds that are yet to come. Of a load that is collected all is told at once.
    pub(super) fn latest_ns(&self) -> u64 {
        match self.begins {
            _ if self.is_collected => u64::MAX,
            Some(begins) => latest_ns_after(begins.elapsed()),
            None => 0,
        }
    }
}

fn latest_ns_after(since: Duration) -> u64 {
    (since + since / DRIFT + ASLEEP).as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_yet_to_come_is_told_by_nobody_however_differently_clocks_run() {
        let day = Duration::from_secs(86_400);
        // A hundred parts in a million, and the second that is just over.
        let honest = day + day / 10_000 + Duration::from_secs(1);
        let latest = |since| Duration::from_nanos(latest_ns_after(since));
        assert!(honest < latest(day) && Duration::from_secs(1) < latest(Duration::ZERO));
        assert!(latest(Duration::ZERO) < day / 100, "{:?}", latest(Duration::ZERO));
        assert!(latest(day) < day * 2);
    }
}
