//! The series of a trial, which a load adds its seconds to.

use crate::{Account, FollowedSecond, Seen};
use plimsoll_load::assembly::WholeSecond;
use plimsoll_load::source::{LoadFacts, Spent};
use plimsoll_load::tally::Tally;
use plimsoll_measures::summarise;
use plimsoll_model::samples::{AgentSample, Interval, Phase};
use plimsoll_record::{RecordError, TrialWriter};
use plimsoll_watch::{Event, Watcher};

/// Where the seconds of a load are recorded.
pub struct SeriesWriter<'a> {
    pub writer: &'a mut TrialWriter,
    /// From the start of the series to the start of the load.
    pub before_ns: u64,
    /// What the seconds are recorded as, where that is not what they are.
    pub phase: Option<Phase>,
}

impl SeriesWriter<'_> {
    /// Has a second of a load counted by `account` and shown, and records it with what else was seen. The load's own
    /// processes have used `spent` by now.
    ///
    /// # Errors
    /// The recording cannot be written; the second is counted and shown all the same.
    pub fn second(
        &mut self,
        second: &WholeSecond,
        facts: &LoadFacts,
        spent: Option<Spent>,
        account: &mut dyn Account,
        watcher: &mut dyn Watcher,
    ) -> Result<(), RecordError> {
        let WholeSecond { tally, missing } = second;
        let interval = Interval { missing: *missing as u64, ..self.interval(tally, facts) };
        let end_ns = self.on_series(tally.end_ns);
        let second = FollowedSecond { tally, names: &facts.names, interval: &interval, end_ns, spent };
        let seen = account.second(&second, watcher);
        self.record(tally, &interval, &seen, facts)
    }

    /// Records and shows what an agent and its machine did.
    ///
    /// # Errors
    /// The recording cannot be written.
    pub fn machine(&mut self, sample: AgentSample, watcher: &mut dyn Watcher) -> Result<(), RecordError> {
        let sample = AgentSample { t_ns: self.on_series(sample.t_ns), ..sample };
        watcher.tell(Event::Agent { sample: &sample });
        self.writer.agent(&sample)
    }

    /// The same, that an agent is lost.
    ///
    /// # Errors
    /// As [`Self::machine`].
    pub fn lost(
        &mut self,
        agent: String,
        why: String,
        from_ns: u64,
        watcher: &mut dyn Watcher,
    ) -> Result<(), RecordError> {
        let sample = AgentSample { t_ns: from_ns, agent, lost: Some(why), ..AgentSample::default() };
        self.machine(sample, watcher)
    }

    fn interval(&self, tally: &Tally, facts: &LoadFacts) -> Interval {
        let interval = summarise::interval(tally, &facts.names, facts.open_loop);
        Interval { t_ns: self.on_series(interval.t_ns), phase: self.phase.unwrap_or(interval.phase), ..interval }
    }

    /// A time that counts from the start of the load, counted from that of the series.
    fn on_series(&self, ns: u64) -> u64 {
        self.before_ns.saturating_add(ns)
    }

    fn record(
        &mut self,
        tally: &Tally,
        interval: &Interval,
        seen: &Seen,
        facts: &LoadFacts,
    ) -> Result<(), RecordError> {
        let writer = &mut *self.writer;
        writer.interval(interval)?;
        seen.host.iter().try_for_each(|sample| writer.host(sample))?;
        seen.server.iter().try_for_each(|sample| writer.server(sample))?;
        seen.device.iter().try_for_each(|sample| writer.device(sample))?;
        seen.status.iter().try_for_each(|sample| writer.status(sample))?;
        seen.storage.iter().try_for_each(|sample| writer.storage(sample))?;
        writer.latencies(tally, &facts.names, self.before_ns, facts.open_loop)
    }
}
