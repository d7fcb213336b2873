//! A lab: the trial under way, what all trials say so far, what comes next.

use super::super::line::{Style, TerminalLine};
use super::super::tty::Room;
use super::doing::{Doing, elapsed_seconds};
use super::pulse::Pulse;
use super::run::phase_line;
use super::so_far::SoFar;
use plimsoll_model::lab::LabSummary;
use plimsoll_model::number::duration;
use plimsoll_model::samples::{AgentSample, HostSample, Interval, Phase, ServerSample};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{PlannedTrial, TrialPlan, TrialRules, WarmUp};
use plimsoll_plan::plan::Measure;
use std::time::{Duration, Instant};

/// Rows of the terminal that the table of results leaves for the rest of the view and for what scrolls by.
const OTHER_ROWS: usize = 12;

#[derive(Clone, Debug)]
pub struct LabView {
    title: String,
    trials: TrialRules,
    rounds: u32,
    trial: Option<Trial>,
    pulse: Pulse,
    so_far: SoFar,
}

#[derive(Clone, Debug)]
struct Trial {
    /// From 1.
    place: usize,
    of: usize,
    label: String,
    load: String,
    round: u32,
    begun: Instant,
    /// How much time was left in all then.
    left: Duration,
    measure: Measure,
    /// Its settings were set on a server that was running.
    is_flipped: bool,
    /// And since when.
    phase: Option<(Phase, Instant)>,
    /// In words.
    next: String,
}

impl Trial {
    /// Whether what is being done is the phase itself, in the same words.
    fn is_in(&self, doing: &Doing) -> bool {
        matches!((doing, self.phase), (Doing::Something { what, .. }, Some((phase, _))) if *what == phase.words())
    }
}

impl LabView {
    pub fn new(plan: &LabPlan) -> LabView {
        LabView {
            title: plan.title.clone().unwrap_or_else(|| plan.name.clone()),
            trials: plan.trials.clone(),
            rounds: plan.trials.rounds,
            trial: None,
            pulse: Pulse::default(),
            so_far: SoFar::default(),
        }
    }

    pub fn begin(&mut self, place: usize, of: usize, trial: &TrialPlan, left: Duration, next: Option<&PlannedTrial>) {
        let next = match next {
            Some(next) => format!("{}  {}  round {}", next.variant, next.load, next.round),
            None if place >= of => "the summary".to_owned(),
            None => "depends on the result of this one".to_owned(),
        };
        self.pulse = Pulse::default();
        self.trial = Some(Trial {
            place,
            of,
            label: trial.label.clone(),
            load: trial.point.to_string(),
            round: trial.round,
            begun: Instant::now(),
            left,
            measure: trial.measure(&self.trials),
            is_flipped: false,
            phase: None,
            next,
        });
    }

    pub fn enter(&mut self, phase: Phase) {
        self.enter_at(phase, Instant::now());
    }

    fn enter_at(&mut self, phase: Phase, at: Instant) {
        let Some(trial) = &mut self.trial else { return };
        if trial.phase.is_none_or(|(before, _)| before != phase) {
            trial.phase = Some((phase, at));
            trial.is_flipped |= phase == Phase::Flip;
        }
    }

    pub fn add(&mut self, interval: &Interval, host: Option<&HostSample>, server: Option<&ServerSample>) {
        self.pulse.add(interval, host, server);
        let told_late = Duration::try_from_secs_f64(interval.seconds).unwrap_or_default();
        let now = Instant::now();
        self.enter_at(interval.phase, now.checked_sub(told_late).unwrap_or(now));
    }

    pub fn agent(&mut self, sample: &AgentSample) {
        self.pulse.agent(sample);
    }

    /// The number of the trial under way, and of about how many.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.trial.as_ref().map(|trial| (trial.place, trial.of))
    }

    pub fn end(&mut self) {
        self.trial = None;
    }

    pub fn know(&mut self, summary: &LabSummary) {
        self.so_far = SoFar::of(summary, self.rounds);
    }

    pub fn lines(&self, doing: Option<&Doing>, now: Instant, room: Room) -> Vec<TerminalLine> {
        let mut lines = vec![self.head(now, room)];
        lines.extend(self.trial.iter().flat_map(|trial| self.of_trial(trial, doing, now, room)));
        if self.trial.is_none() {
            lines.extend(doing.map(|doing| doing.line(now, room)));
        }
        let current = self.trial.as_ref().map(|trial| trial.load.as_str());
        let room = Room { rows: room.rows.saturating_sub(OTHER_ROWS), ..room };
        lines.extend(self.so_far.lines(current, room));
        lines
    }

    fn head(&self, now: Instant, room: Room) -> TerminalLine {
        let title = TerminalLine::new().with(Style::Bold, &self.title);
        let Some(Trial { begun, left, .. }) = &self.trial else { return title };
        let left = left.saturating_sub(now.saturating_duration_since(*begun)).as_secs_f64();
        title.and_right(TerminalLine::new().with(Style::Dim, &format!("about {} left", duration(left))), room)
    }

    fn of_trial(&self, trial: &Trial, doing: Option<&Doing>, now: Instant, room: Room) -> Vec<TerminalLine> {
        let Trial { place, of, label, load, round, next, .. } = trial;
        let what = TerminalLine::new()
            .with(Style::Plain, &format!("trial {place} of {of}  "))
            .with(Style::Bold, label)
            .with(Style::Plain, &format!("  {load}"))
            .with(Style::Dim, &format!("  round {round}"));
        // A load shows its curves, anything else says what it is doing; what is below stays in place.
        let mut beside = match doing {
            Some(doing) if !trial.is_in(doing) => vec![doing.line(now, room)],
            _ => self.pulse.lines(room),
        };
        beside.resize(Pulse::LINES.max(beside.len()), TerminalLine::new());
        let mut lines = vec![what, self.phase(trial, now, room)];
        lines.extend(beside);
        lines.push(TerminalLine::new().with(Style::Dim, &format!("next  {next}")));
        lines
    }

    fn phase(&self, trial: &Trial, now: Instant, room: Room) -> TerminalLine {
        let Some((phase, since)) = trial.phase else { return TerminalLine::new().with(Style::Plain, "beginning") };
        let elapsed = now.saturating_duration_since(since);
        match self.seconds_of(trial, phase) {
            Some(of) => phase_line(phase.words(), elapsed.as_secs_f64(), Some(of), room),
            None => TerminalLine::new().with(Style::Plain, phase.words()).with(Style::Dim, &elapsed_seconds(elapsed)),
        }
    }

    /// How long a phase lasts, where the plan says so.
    fn seconds_of(&self, trial: &Trial, phase: Phase) -> Option<f64> {
        match (phase, self.trials.warm_up(trial.is_flipped), trial.measure) {
            (Phase::WarmUp, WarmUp::Seconds(seconds), _) | (Phase::Measure, _, Measure::Seconds(seconds)) => {
                Some(seconds)
            }
            (Phase::Pause, _, _) => Some(self.trials.pause_seconds),
            _ => None,
        }
    }
}
