//! The planned trials of a recording, in order, and how long they take: from its plan, and for a lab from what it
//! announced when it began.

use plimsoll_model::samples::Phase;
use plimsoll_plan::lab::{MOST_TRIALS, PlannedTrial, WarmUp};
use plimsoll_plan::plan::{MOST_ROUNDS, Measure};
use plimsoll_plan::{LabPlan, Plan, RunPlan};

/// A planned trial, by its name in the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgendaTrial {
    pub variant: String,
    pub point: String,
    /// From 1.
    pub round: u32,
}

/// The trials of a recording.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    /// The known ones, in order.
    pub turns: Vec<AgendaTrial>,
    /// Whether these are all: what a ladder does depends on what it finds.
    pub complete: bool,
    /// About how many there are in all, if a lab has said so.
    about: Option<usize>,
    warm_up_seconds: Option<f64>,
    measure_seconds: Option<f64>,
    pause_seconds: Option<f64>,
}

impl Agenda {
    /// What the plan in a manifest tells; it does not include a lab's trials.
    pub fn of(plan: &Plan) -> Agenda {
        match plan {
            Plan::Run(plan) | Plan::Quickstart(plan) | Plan::Sysbench(plan) => Agenda {
                // The plan may be a stranger's, and claim any number.
                turns: (1..=plan.rounds.min(MOST_ROUNDS))
                    .flat_map(|round| of_round(plan, round))
                    .take(MOST_TRIALS)
                    .collect(),
                complete: true,
                warm_up_seconds: Some(plan.warmup_seconds),
                measure_seconds: seconds(plan.measure),
                ..Agenda::default()
            },
            Plan::Lab(plan) => {
                let (warm_up_seconds, measure_seconds) = of_trials(plan);
                let pause_seconds = Some(plan.trials.pause_seconds);
                Agenda { warm_up_seconds, measure_seconds, pause_seconds, ..Agenda::default() }
            }
            Plan::Storage(plan) => Agenda {
                turns: plan.steps.iter().map(|step| turn("io", step.clone())).collect(),
                complete: true,
                measure_seconds: plan.window_seconds,
                ..Agenda::default()
            },
        }
    }

    /// Takes a lab's list of its trials, and whether those are all.
    pub fn planned(&mut self, trials: &[PlannedTrial], complete: bool) {
        let turn = |trial: &PlannedTrial| AgendaTrial {
            variant: trial.variant.clone(),
            point: trial.point.clone(),
            round: trial.round,
        };
        self.turns = trials.iter().map(turn).collect();
        self.complete = complete;
    }

    /// Takes a lab's estimate of the number of trials one is.
    pub fn is_one_of(&mut self, of: usize) {
        self.about = Some(of);
    }

    /// About how many trials there are in all, if that is known.
    pub fn trials(&self) -> Option<usize> {
        self.about.or((self.complete && !self.turns.is_empty()).then_some(self.turns.len()))
    }

    /// The planned length of a phase, seconds, if the plan says so.
    pub fn seconds_of(&self, phase: Phase) -> Option<f64> {
        match phase {
            Phase::WarmUp => self.warm_up_seconds,
            Phase::Measure => self.measure_seconds,
            Phase::Pause => self.pause_seconds,
            _ => None,
        }
    }

    /// What comes after the trial at a place, from 1; 0 is before the first.
    pub fn after(&self, place: usize) -> &[AgendaTrial] {
        self.turns.get(place..).unwrap_or_default()
    }
}

fn of_round(plan: &RunPlan, round: u32) -> impl Iterator<Item = AgendaTrial> {
    plan.points.iter().map(move |point| AgendaTrial { round, ..turn("run", point.label()) })
}

fn turn(variant: &str, point: String) -> AgendaTrial {
    AgendaTrial { variant: variant.to_owned(), point, round: 1 }
}

/// How long trials warm up and measure, seconds, where all of a plan's do so for the same time.
fn of_trials(plan: &LabPlan) -> (Option<f64>, Option<f64>) {
    let warm_up = |is_flipped: bool| match plan.trials.warm_up(is_flipped) {
        WarmUp::Seconds(seconds) => Some(seconds),
        WarmUp::Auto => None,
    };
    match plan.trials.switchback {
        Some(rule) if plan.rungs.is_empty() => (warm_up(true), Some(rule.block_seconds)),
        // Some of its trials are blocks.
        Some(_) => (None, None),
        None => (warm_up(false), seconds(plan.trials.measure)),
    }
}

fn seconds(measure: Measure) -> Option<f64> {
    match measure {
        Measure::Seconds(seconds) => Some(seconds),
        Measure::Events(_) | Measure::EventsPerConnection(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::LoadPoint;
    use plimsoll_testkit::simulated;

    #[test]
    fn a_run_tells_everything_in_its_plan() {
        let points = [LoadPoint::closed(1), LoadPoint { connections: 8, rate: Some(50.0) }];
        let agenda = Agenda::of(&Plan::Run(RunPlan { warmup_seconds: 2.0, ..simulated::run_plan(&points) }));
        assert_eq!(agenda.trials(), Some(2));
        assert_eq!(agenda.after(1)[0].point, "c8-rate50");
        assert_eq!((agenda.seconds_of(Phase::WarmUp), agenda.seconds_of(Phase::Measure)), (Some(2.0), Some(10.0)));
        assert!(agenda.after(2).is_empty() && agenda.after(9).is_empty());
    }

    #[test]
    fn a_lab_tells_its_trials_when_it_begins() {
        let mut plan = simulated::plan(1, 1, Vec::new());
        (plan.trials.warmup, plan.trials.measure) = (WarmUp::Auto, Measure::Events(7));
        let mut agenda = Agenda::of(&Plan::Lab(Box::new(plan)));
        assert_eq!((agenda.trials(), agenda.seconds_of(Phase::WarmUp)), (None, None));
        let load = LoadPoint::closed(64);
        let trial = PlannedTrial { index: 1, variant: "nfs".to_owned(), point: load.label(), load, round: 1 };
        agenda.planned(&[trial], false);
        assert_eq!((agenda.trials(), agenda.after(0).len()), (None, 1));
        agenda.is_one_of(12);
        assert_eq!(agenda.trials(), Some(12));
    }

    #[test]
    fn a_plan_that_claims_any_number_of_rounds_takes_no_memory_for_them() {
        let points: Vec<LoadPoint> = (1..=200).map(LoadPoint::closed).collect();
        let claims = RunPlan { rounds: u32::MAX, ..simulated::run_plan(&points) };
        assert_eq!(Agenda::of(&Plan::Run(claims)).turns.len(), MOST_TRIALS);
        let empty = RunPlan { rounds: u32::MAX, ..simulated::run_plan(&[]) };
        assert!(Agenda::of(&Plan::Run(empty)).turns.is_empty());
    }
}
