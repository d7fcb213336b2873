//! Follows a growing recording. Each [`Follower::look`] reads only what was added since the previous one: the new lines
//! of `events.ndjson` and of the newest trial's series, and once the outcome of each trial that has ended.

mod agenda;
mod series;
mod tail;
mod trial;

use crate::catalogue::RecordingTopic;
use agenda::Agenda;
pub use agenda::AgendaTrial;
use jiff::Timestamp;
use plimsoll_analysis::summary_of;
use plimsoll_model::lab::LabSummary;
use plimsoll_model::samples::{AgentSample, Phase};
use plimsoll_plan::Plan;
use plimsoll_record::RecordError;
use plimsoll_record::event::{Happening, RecordedEvent};
use plimsoll_record::read::{self, Entry, State};
pub use series::{LiveSeries, Points};
use std::collections::BTreeSet;
use std::path::PathBuf;
use tail::FileTail;
use trial::FollowedTrial;
pub use trial::MeasuredTrial;

/// The state of a recording.
#[derive(Debug)]
pub struct Follower {
    entry: Entry,
    /// It is gone.
    pub removed: bool,
    pub what: RecordingTopic,
    agenda: Agenda,
    events: FileTail,
    /// Directories of trials that were opened.
    seen: BTreeSet<PathBuf>,
    trial: Option<FollowedTrial>,
    /// Results of the trials before the one under way, in order.
    ended: Vec<MeasuredTrial>,
    pub series: LiveSeries,
    /// The phase that a lab has announced, and since when, seconds after the recording's start.
    phase: Option<(Phase, f64)>,
    /// How long a lab expected to take, seconds, and when it said so.
    left: Option<(f64, f64)>,
    /// What went wrong, the latest last.
    pub troubles: Vec<String>,
    /// What the trials of a search say together; none before the first has ended, and of anything else.
    pub search: Option<LabSummary>,
    /// A trial has ended since, or all of it.
    is_search_old: bool,
}

/// The phase under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseNow {
    pub phase: Phase,
    /// How long it has been.
    pub seconds: f64,
    /// Its planned length, if the plan says so.
    pub of: Option<f64>,
}

impl Follower {
    /// Nothing is read before the first look.
    pub fn new(entry: Entry) -> Follower {
        Follower {
            what: RecordingTopic::of(&entry.manifest),
            agenda: Agenda::of(&entry.manifest.plan),
            events: FileTail::new(entry.directory.join("events.ndjson")),
            entry,
            removed: false,
            seen: BTreeSet::new(),
            trial: None,
            ended: Vec::new(),
            series: LiveSeries::default(),
            phase: None,
            left: None,
            troubles: Vec::new(),
            search: None,
            is_search_old: false,
        }
    }

    /// Reads what was written since the previous look.
    pub fn look(&mut self) {
        // First whether it still runs: what was written before that is read below.
        match read::manifest(&self.entry.directory) {
            Ok(manifest) => self.entry.manifest = manifest,
            Err(RecordError::NotARecording { .. }) => self.removed = true,
            // What cannot be read now may be readable at the next look.
            Err(_) => {}
        }
        let being_written = read::is_being_written(&self.entry.directory);
        // Its summary is the last thing that is written.
        self.is_search_old |= being_written != self.entry.being_written;
        self.entry.being_written = being_written;
        for event in self.events.look::<RecordedEvent>() {
            self.told(&event);
        }
        let directories = read::trial_directories(&self.entry.directory).unwrap_or_default();
        let newest = directories.len().saturating_sub(1);
        for (place, directory) in directories.into_iter().enumerate() {
            if !self.seen.contains(&directory) {
                self.next_trial(directory, place == newest);
            }
        }
        if let Some(trial) = &mut self.trial {
            trial.look(&mut self.series);
        }
        if std::mem::take(&mut self.is_search_old) {
            self.read_search();
        }
    }

    /// All of its trials are read again, which is not much: each takes many seconds, and their summary needs all of them.
    fn read_search(&mut self) {
        let Some(plan) = self.entry.manifest.plan.lab().filter(|plan| plan.tune.is_some()) else { return };
        // What cannot be read now may be readable when the next trial has ended.
        if let Ok(view) = read::open(&self.entry.directory) {
            self.search = Some(summary_of(&view, plan));
        }
    }

    /// Another trial has begun; unless it is the newest, it has also ended.
    fn next_trial(&mut self, directory: PathBuf, newest: bool) {
        let Some(mut next) = FollowedTrial::open(&directory, self.entry.manifest.started, newest) else { return };
        self.seen.insert(directory);
        if let Some(mut before) = self.trial.take() {
            before.look(&mut self.series);
            self.ended.push(before.measured());
        }
        self.series.next_trial();
        next.look(&mut self.series);
        self.trial = Some(next);
    }

    fn told(&mut self, event: &RecordedEvent) {
        let at = event.t_ns as f64 / 1e9;
        match &event.what {
            Happening::Planned { trials, complete } => self.agenda.planned(trials, *complete),
            Happening::TrialBegins { of, left_seconds, .. } => {
                self.agenda.is_one_of(*of);
                self.phase = None;
                self.left = Some((*left_seconds, at));
            }
            Happening::PhaseBegins { phase, .. } => self.phase = Some((*phase, at)),
            Happening::Failed { why, .. } => self.trouble(Some(why)),
            Happening::TrialEnds { why, .. } => {
                (self.phase, self.is_search_old) = (None, true);
                self.trouble(why.as_deref());
            }
            _ => {}
        }
    }

    fn trouble(&mut self, why: Option<&str>) {
        const MOST: usize = 20;
        self.troubles.extend(why.and_then(|why| why.lines().next()).map(str::to_owned));
        let surplus = self.troubles.len().saturating_sub(MOST);
        self.troubles.drain(..surplus);
    }

    pub fn state(&self) -> State {
        self.entry.state()
    }

    /// Why it ended before its plan did.
    pub fn ended_early(&self) -> Option<String> {
        self.entry.ended_early()
    }

    /// Nothing will change any more.
    pub fn is_over(&self) -> bool {
        self.removed || self.state() != State::Running
    }

    pub fn id(&self) -> String {
        self.entry.id()
    }

    /// The unit of throughput.
    pub fn unit(&self) -> &'static str {
        let storage = match &self.entry.manifest.plan {
            Plan::Storage(_) => true,
            Plan::Lab(plan) => plan.variants.first().is_some_and(|variant| variant.workload.kind == "io"),
            Plan::Run(_) | Plan::Quickstart(_) | Plan::Sysbench(_) => false,
        };
        if storage { "operations per second" } else { "transactions per second" }
    }

    /// CPUs of the machine.
    pub fn cpus(&self) -> usize {
        self.entry.manifest.host.cpus
    }

    /// The trial under way according to the plan, and its number, from 1.
    pub fn under_way(&self) -> Option<(AgendaTrial, usize)> {
        let facts = &self.trial.as_ref()?.facts;
        let turn = AgendaTrial { variant: facts.variant.clone(), point: facts.point.clone(), round: facts.round };
        Some((turn, facts.index as usize))
    }

    /// About how many trials there are in all; never fewer than have begun, since some are done again.
    pub fn trials(&self) -> Option<usize> {
        let begun = self.trial.as_ref().map_or(0, |trial| trial.facts.index as usize);
        self.agenda.trials().map(|trials| trials.max(begun))
    }

    /// What each trial has measured so far, the one under way included.
    pub fn measured(&self) -> Vec<MeasuredTrial> {
        self.ended.iter().cloned().chain(self.trial.as_ref().map(FollowedTrial::measured)).collect()
    }

    /// What each agent of a fleet told last of the load under way.
    pub fn agents(&self) -> impl Iterator<Item = &AgentSample> {
        self.trial.iter().flat_map(|trial| trial.agents.values())
    }

    /// What comes next, as far as it is known, and whether that is everything.
    pub fn next(&self) -> (&[AgendaTrial], bool) {
        (self.agenda.after(self.under_way().map_or(0, |(_, place)| place)), self.agenda.complete)
    }

    /// The phase at `now`.
    pub fn phase(&self, now: Timestamp) -> Option<PhaseNow> {
        let is_lab = self.entry.manifest.plan.lab().is_some();
        let told = if is_lab { self.phase } else { self.trial.as_ref().and_then(|trial| trial.phase) };
        let (phase, since) = told?;
        Some(PhaseNow { phase, seconds: (self.seconds(now) - since).max(0.0), of: self.agenda.seconds_of(phase) })
    }

    /// About how much time is left, seconds: as a lab expected when the trial began, else from the time that finished
    /// trials took, or from the plan.
    pub fn left(&self, now: Timestamp) -> Option<f64> {
        let now = self.seconds(now);
        if let Some((left, at)) = self.left {
            return Some((left - (now - at)).max(0.0));
        }
        let (of, began) = (self.agenda.trials()?, self.trial.as_ref()?.began());
        let each = match self.ended.len() {
            0 => self.agenda.seconds_of(Phase::WarmUp).unwrap_or(0.0) + self.agenda.seconds_of(Phase::Measure)?,
            done => began / done as f64,
        };
        Some((each * of.saturating_sub(self.ended.len()) as f64 - (now - began)).max(0.0))
    }

    /// Seconds since the recording's start.
    pub fn seconds(&self, now: Timestamp) -> f64 {
        now.duration_since(self.entry.manifest.started).as_secs_f64().max(self.series.until)
    }
}
