//! The highest rate that meets an objective.
//!
//! One trial in a closed loop shows about what the server can do at all, X transactions per second. The search for the
//! line then starts at 0.7 X, between X ÷ 100 and 1.5 X. As many trials as the plan has rounds confirm its lower end;
//! [`SearchEvidence`] says whether all of them together show a line.

use crate::evidence::{NoLine, SearchEvidence, is_known};
use crate::judge::{judge, reached_ms};
use crate::stage::{Amount, Stage, UnplacedTrial};
use crate::trial::EndedTrial;
use plimsoll_model::Estimate;
use plimsoll_model::LoadPoint;
use plimsoll_model::lab::{TrialOutcome, TrialStatus, Tried};
use plimsoll_model::summary::Point;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Objective, Variant};
use plimsoll_stats::search::{Search, SearchOutcome, SearchSpec};

/// Where a search begins: at a busy server that does not yet have queues.
pub(crate) const START: f64 = 0.7;
/// A closed loop waits for its answers; an open loop may get somewhat more out of a server that works in batches.
const HIGHEST: f64 = 1.5;
const LOWEST: f64 = 0.01;
/// A line is known well enough if its interval is as wide as this share of it.
const TOLERANCE: f64 = 0.05;
/// Trials of one search, without confirmations …
const TRIALS: usize = 12;
/// … and the most trials, as long as its interval is too wide to name a rate.
const MOST_TRIALS: usize = 24;

/// What a search for a load line found.
#[derive(Clone, Debug, PartialEq)]
pub struct Sought {
    pub variant: String,
    pub connections: usize,
    pub objective: Objective,
    /// Arrivals per second, or why there is no confirmed rate that meets the objective.
    pub rate: Result<Estimate, NoLine>,
    /// Why the last failed trial failed, if others were completed.
    pub failure: Option<String>,
    /// Trials on a busy machine count as well.
    pub noisy_host: bool,
    /// Every rate that was tried, in order.
    pub tried: Vec<Tried>,
}

/// The lines of all variants at all their numbers of connections.
pub(crate) struct LoadLines {
    lines: Vec<Line>,
    /// Whose turn it is, unless that line is already found.
    turn: usize,
}

impl LoadLines {
    pub fn new(plan: &LabPlan, variants: &[&Variant]) -> LoadLines {
        let lines = variants.iter().flat_map(|variant| Line::all(variant, plan.trials.rounds, plan.trials.noisy_host));
        LoadLines { lines: lines.collect(), turn: 0 }
    }

    /// What the trials so far show.
    pub fn found(&self) -> Vec<Sought> {
        self.lines.iter().map(Line::found).collect()
    }

    /// The line that the next trial is for: all take turns, so that a drift affects all alike.
    fn current(&self) -> Option<usize> {
        let mut places = (0..self.lines.len()).map(|step| (self.turn + step) % self.lines.len());
        places.find(|place| self.lines[*place].next().is_some())
    }
}

impl Stage for LoadLines {
    fn next(&self) -> Option<UnplacedTrial> {
        self.lines[self.current()?].next()
    }

    fn tell(&mut self, EndedTrial { outcome, .. }: &EndedTrial) {
        if let Some(place) = self.current() {
            self.lines[place].tell(outcome);
            self.turn = place + 1;
        }
    }

    fn about(&self) -> Amount {
        Amount::of(self.lines.iter().map(Line::about).sum(), false)
    }
}

/// One line.
struct Line {
    variant: Variant,
    objective: Objective,
    connections: usize,
    confirmations: u32,
    state: State,
    /// Trials on a busy machine count as well.
    noisy_host: bool,
    tried: Vec<Tried>,
    /// Trials so far, including failed ones.
    trials: u32,
    /// Why the last failed trial failed.
    failure: Option<String>,
}

/// The searches are told everything: even a trial that does not count is a hint where to search.
enum State {
    Calibrating,
    /// The next trial is at a rate.
    Searching {
        search: Search,
        rate: f64,
    },
    /// This many trials at a rate are left.
    Confirming {
        search: Search,
        rate: f64,
        left: u32,
    },
    Done(Search),
    Impossible(NoLine),
}

impl Line {
    fn all(variant: &Variant, confirmations: u32, noisy_host: bool) -> Vec<Line> {
        let Some(objective) = &variant.load.find else { return Vec::new() };
        let mut connections: Vec<usize> = variant.load.points.iter().map(|point| point.connections).collect();
        connections.dedup();
        let line = |connections| Line {
            variant: variant.clone(),
            objective: objective.clone(),
            connections,
            confirmations,
            state: State::Calibrating,
            noisy_host,
            tried: Vec::new(),
            trials: 0,
            failure: None,
        };
        connections.into_iter().map(line).collect()
    }

    fn next(&self) -> Option<UnplacedTrial> {
        let rate = match &self.state {
            State::Calibrating => None,
            State::Searching { rate, .. } | State::Confirming { rate, .. } => Some(*rate),
            State::Done(_) | State::Impossible(_) => return None,
        };
        let point = LoadPoint { connections: self.connections, rate };
        Some(UnplacedTrial {
            label: self.variant.name.clone(),
            variant: self.variant.clone(),
            point,
            round: self.trials + 1,
            block: None,
            fault: None,
            load_seed: None,
        })
    }

    fn tell(&mut self, outcome: &TrialOutcome) {
        let Some(rate) = self.next().map(|turn| turn.point.rate) else { return };
        self.trials += 1;
        let measured = outcome.point.as_ref().filter(|_| outcome.status == TrialStatus::Done);
        if measured.is_none() {
            self.failure = Some(outcome.why.clone().unwrap_or_else(|| "nothing was measured".to_owned()));
        }
        let state = std::mem::replace(&mut self.state, State::Calibrating);
        self.state = match (state, rate) {
            (State::Calibrating, _) => calibrated(measured, self.failure.as_deref()),
            (State::Searching { search, .. }, Some(rate)) => self.searched(search, rate, measured),
            (State::Confirming { search, left, .. }, Some(rate)) => self.confirmed(search, rate, left, measured),
            (state, _) => state,
        };
    }

    fn searched(&mut self, mut search: Search, rate: f64, measured: Option<&Point>) -> State {
        self.note(&mut search, rate, measured, false);
        // The calibration was one more trial.
        let done = self.trials as usize - 1;
        let is_open = || self.evidence(&search).line().is_ok_and(|line| !is_known(&line));
        let more = done < TRIALS || done < MOST_TRIALS && is_open();
        if let Some(rate) = search.next().filter(|_| more) {
            return State::Searching { search, rate: three_digits(rate) };
        }
        match self.evidence(&search).line() {
            Ok(line) => {
                let rate = three_digits(line.low.unwrap_or(line.value));
                State::Confirming { search, rate, left: self.confirmations }
            }
            Err(_) => State::Done(search),
        }
    }

    fn confirmed(&mut self, mut search: Search, rate: f64, left: u32, measured: Option<&Point>) -> State {
        self.note(&mut search, rate, measured, true);
        match left {
            0 | 1 => State::Done(search),
            _ => State::Confirming { search, rate, left: left - 1 },
        }
    }

    /// A failed trial says nothing about the line.
    fn note(&mut self, search: &mut Search, rate: f64, measured: Option<&Point>, confirmation: bool) {
        let Some(point) = measured else { return };
        let outcome = judge(point, &self.objective);
        search.tell(rate, outcome);
        self.tried.push(Tried {
            rate,
            kept: outcome == SearchOutcome::Kept,
            confirmation,
            measured_ms: reached_ms(point, self.objective.quantile),
            disturbed: point.is_disturbed(),
        });
    }

    fn evidence<'a>(&'a self, search: &'a Search) -> SearchEvidence<'a> {
        SearchEvidence::new(search, &self.tried, self.noisy_host)
    }

    fn found(&self) -> Sought {
        let rate = match &self.state {
            State::Calibrating => Err(NoLine::NothingMeasured),
            State::Searching { .. } | State::Confirming { .. } => Err(NoLine::CutShort),
            State::Done(search) => self.evidence(search).confirmed_line(),
            State::Impossible(why) => Err(why.clone()),
        };
        Sought {
            variant: self.variant.name.clone(),
            connections: self.connections,
            objective: self.objective.clone(),
            rate,
            failure: self.failure.clone().filter(|_| self.trials > 1),
            noisy_host: self.noisy_host,
            tried: self.tried.clone(),
        }
    }

    fn about(&self) -> usize {
        let done = self.trials as usize;
        match &self.state {
            State::Calibrating | State::Searching { .. } => (1 + TRIALS).max(done + 1) + self.confirmations as usize,
            State::Confirming { left, .. } => done + *left as usize,
            State::Done(_) | State::Impossible(_) => done,
        }
    }
}

/// The search that follows what a closed loop reached.
fn calibrated(measured: Option<&Point>, failure: Option<&str>) -> State {
    let Some(point) = measured else {
        return State::Impossible(NoLine::ClosedLoopFailed(failure.unwrap_or("nothing was measured").to_owned()));
    };
    let reached = point.transactions.saturating_add(point.rollbacks) as f64 / point.seconds;
    let (start, lowest, highest) = (Some(START * reached), LOWEST * reached, HIGHEST * reached);
    let search = Search::new(SearchSpec { lowest, highest, start, tolerance: TOLERANCE, trials: MOST_TRIALS });
    match search.ok().and_then(|search| Some((search.next()?, search))) {
        Some((rate, search)) => State::Searching { search, rate: three_digits(rate) },
        None => State::Impossible(NoLine::NothingCompleted),
    }
}

/// The rate as it is shown: a label with twelve digits helps nobody.
pub(crate) fn three_digits(rate: f64) -> f64 {
    format!("{rate:.2e}").parse().unwrap_or(rate)
}
