//! Follows a trial: which phase it is in, since when, and whether it may go on.

use super::guard::TrialGuard;
use super::limits;
use super::watchdog::Watchdog;
use crate::error::LabError;
use crate::journal::Journal;
use plimsoll_model::lab::PhaseSpan;
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_plan::lab::TrialRules;
use plimsoll_record::Happening;
use plimsoll_record::RecordError;
use plimsoll_watch::{Event, LabEvent, Watcher};
use std::path::Path;
use std::time::{Duration, Instant};

/// Passes on what happens, and notes the phases as they come and go.
pub struct Watch<'a> {
    inner: &'a mut dyn Watcher,
    pub journal: &'a mut Journal,
    rules: &'a TrialRules,
    pub watchdog: Watchdog,
    trial: u32,
    pub begun: Instant,
    /// The trial's start on the recording's clock.
    begun_ns: u64,
    spans: Vec<PhaseSpan>,
    /// When it began, nanoseconds since the trial's start.
    open: Option<(Phase, u64)>,
    /// The end of the last second that a load reported.
    told_until_ns: u64,
    unrecorded: Option<RecordError>,
    /// Things are being restored, which nothing interrupts.
    tidying: bool,
    guard: Option<TrialGuard>,
    /// Why the guard ends the trial.
    pub stopped: Option<String>,
}

impl<'a> Watch<'a> {
    pub fn begin(inner: &'a mut dyn Watcher, journal: &'a mut Journal, rules: &'a TrialRules, trial: u32) -> Watch<'a> {
        Watch {
            inner,
            begun: Instant::now(),
            begun_ns: journal.now_ns(),
            journal,
            rules,
            watchdog: Watchdog::start(),
            trial,
            spans: Vec::new(),
            open: None,
            told_until_ns: 0,
            unrecorded: None,
            tidying: false,
            guard: None,
            stopped: None,
        }
    }

    /// The same with somebody who ends the trial when it does harm.
    pub fn guarded(self, guard: Option<TrialGuard>) -> Watch<'a> {
        Watch { guard, ..self }
    }

    /// Where the data of the trial are.
    pub fn watch_disk(&mut self, data: &Path) {
        self.guard.iter_mut().for_each(|guard| guard.watch_disk(data));
    }

    /// Nanoseconds since the trial's start.
    pub fn now_ns(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// The phase under way, or the last one.
    pub fn phase(&self) -> Option<Phase> {
        self.open.map(|(phase, _)| phase).or_else(|| self.spans.last().map(|span| span.phase))
    }

    /// A phase begins now, and the one before it ends.
    pub fn enter(&mut self, phase: Phase) {
        self.enter_at(phase, self.now_ns());
    }

    fn enter_at(&mut self, phase: Phase, t_ns: u64) {
        if self.open.is_some_and(|(open, _)| open == phase) {
            return;
        }
        self.leave_at(t_ns);
        self.watchdog.allow(phase, limits::of(self.rules, phase));
        self.open = Some((phase, t_ns));
        self.event(t_ns, Happening::PhaseBegins { trial: self.trial, phase });
        self.inner.tell(Event::Lab(LabEvent::Phase { phase }));
    }

    /// The phase under way ends now.
    pub fn leave(&mut self) {
        self.leave_at(self.now_ns());
    }

    fn leave_at(&mut self, t_ns: u64) {
        let Some((phase, began)) = self.open.take() else { return };
        let seconds = t_ns.saturating_sub(began) as f64 / 1e9;
        self.spans.push(PhaseSpan { phase, t_ns: began, seconds });
        self.event(t_ns, Happening::PhaseEnds { trial: self.trial, phase, seconds });
    }

    /// Follows the seconds of a load, which say in which phase they are. A load that fails is also drained, but it
    /// failed before.
    fn follow(&mut self, interval: &Interval) {
        if interval.phase == Phase::Drain {
            return;
        }
        self.enter_at(interval.phase, interval.t_ns);
        self.told_until_ns = interval.t_ns.saturating_add((interval.seconds * 1e9) as u64);
    }

    /// The load has ended: what came after the last second that it reported was the drain.
    pub fn load_ended(&mut self) {
        if self.open.is_some_and(|(phase, _)| phase == Phase::Measure) {
            self.enter_at(Phase::Drain, self.told_until_ns);
        }
    }

    /// A dataset is ready that was searched for, and perhaps built, from `since_ns` after the trial's start on.
    pub fn found_dataset(&mut self, id: &str, since_ns: u64) {
        let t_ns = self.now_ns();
        let seconds = t_ns.saturating_sub(since_ns) as f64 / 1e9;
        self.event(t_ns, Happening::Dataset { trial: self.trial, dataset: id.to_owned(), seconds });
    }

    fn event(&mut self, t_ns: u64, what: Happening) {
        if let Err(error) = self.journal.event_at(self.begun_ns.saturating_add(t_ns), what) {
            self.unrecorded.get_or_insert(error);
        }
    }

    /// Whether what is done from now on restores things, which an interrupt does not end.
    pub fn tidy(&mut self, tidying: bool) {
        self.tidying = tidying;
    }

    /// Waits, unless somebody wants the trial to end.
    pub fn pause(&mut self, pause: Duration) -> Result<(), LabError> {
        const LOOK: Duration = Duration::from_millis(50);
        let until = Instant::now() + pause;
        while !self.interrupted() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(LOOK));
        }
        Err(LabError::Interrupted)
    }

    /// Whether the user wants the whole lab to end.
    pub fn interrupted_by_user(&self) -> bool {
        self.inner.interrupted()
    }

    /// Ends the last phase; returns all phases, and what could not be recorded.
    pub fn end(mut self) -> (Vec<PhaseSpan>, Option<RecordError>) {
        self.leave();
        (self.spans, self.unrecorded)
    }
}

impl Watcher for Watch<'_> {
    fn tell(&mut self, event: Event<'_>) {
        if let Event::Interval { interval, host, server, .. } = &event {
            self.follow(interval);
            let found = self.guard.as_mut().and_then(|guard| guard.look(interval, *host, *server));
            self.stopped = self.stopped.take().or(found);
        }
        if let Event::Agreed { load } = &event {
            self.event(self.now_ns(), Happening::Agreed { trial: self.trial, load: (*load).clone() });
        }
        self.inner.tell(event);
    }

    fn interrupted(&self) -> bool {
        let is_wanted = self.inner.interrupted()
            || self.unrecorded.is_some()
            || self.stopped.is_some()
            || self.watchdog.struck().is_some();
        is_wanted && !self.tidying
    }

    fn done_by_hand(&mut self, what: &str) -> bool {
        self.inner.done_by_hand(what)
    }
}
