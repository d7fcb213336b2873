//! What a recording's trials are to be, in their order, and how long they take: from its plan, and of a lab from what
//! it said when it began.

use plimsoll_model::samples::Phase;
use plimsoll_plan::points::LoadPoint;
use serde::Deserialize;
use serde_json::Value;

/// A trial that is planned, as the recording calls it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Turn {
    pub variant: String,
    pub point: String,
    /// From 1.
    pub round: u32,
}

/// The trials of a recording.
#[derive(Clone, Debug, Default)]
pub struct Agenda {
    /// As far as they are known, in their order.
    pub turns: Vec<Turn>,
    /// Whether those are all: what a ladder does depends on what it finds.
    pub complete: bool,
    /// About how many there are in all, where a lab has said so.
    about: Option<usize>,
    warm_up_seconds: Option<f64>,
    measure_seconds: Option<f64>,
    pause_seconds: Option<f64>,
}

impl Agenda {
    /// What the plan of a manifest tells; of a lab its trials are not among it.
    pub fn of(plan: &Value) -> Agenda {
        let procedure = &plan["procedure"];
        let seconds = |phase: &str| procedure[phase]["seconds"].as_f64().or_else(|| plan[phase]["seconds"].as_f64());
        Agenda {
            turns: of_run(plan).or_else(|| of_storage(plan)).unwrap_or_default(),
            complete: procedure.is_null(),
            about: None,
            warm_up_seconds: seconds("warmup").or_else(|| plan["warmup_seconds"].as_f64()),
            measure_seconds: seconds("measure").or_else(|| plan["window_seconds"].as_f64()),
            pause_seconds: procedure["pause_seconds"].as_f64(),
        }
    }

    /// A lab says what its trials are: the detail of an event `planned`.
    pub fn planned(&mut self, detail: &Value) {
        if let Ok(turns) = Vec::deserialize(&detail["trials"]) {
            self.turns = turns;
        }
        self.complete = detail["complete"].as_bool().unwrap_or(false);
    }

    /// A lab says of about how many trials one is: the detail of an event `trial_begins`.
    pub fn is_one_of(&mut self, detail: &Value) {
        self.about = detail["of"].as_u64().and_then(|of| usize::try_from(of).ok()).or(self.about);
    }

    /// About how many trials there are in all, where that is known.
    pub fn trials(&self) -> Option<usize> {
        self.about.or((self.complete && !self.turns.is_empty()).then_some(self.turns.len()))
    }

    /// How long a phase is to take, seconds, where the plan says so.
    pub fn seconds_of(&self, phase: Phase) -> Option<f64> {
        match phase {
            Phase::WarmUp => self.warm_up_seconds,
            Phase::Measure => self.measure_seconds,
            Phase::Pause => self.pause_seconds,
            _ => None,
        }
    }

    /// What comes after the trial at a place, from 1; 0 is before the first.
    pub fn after(&self, place: usize) -> &[Turn] {
        self.turns.get(place..).unwrap_or_default()
    }
}

fn of_run(plan: &Value) -> Option<Vec<Turn>> {
    let points: Vec<LoadPoint> = Deserialize::deserialize(plan.get("points")?).ok()?;
    let turn = |point: &LoadPoint| Turn { variant: "run".to_owned(), point: point.label(), round: 1 };
    Some(points.iter().map(turn).collect())
}

fn of_storage(plan: &Value) -> Option<Vec<Turn>> {
    let steps: Vec<String> = Deserialize::deserialize(plan.get("steps")?).ok()?;
    Some(steps.into_iter().map(|point| Turn { variant: "io".to_owned(), point, round: 1 }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_run_tells_everything_in_its_plan() {
        let points = json!([{ "connections": 1, "rate": null }, { "connections": 8, "rate": 50.0 }]);
        let agenda = Agenda::of(&json!({ "points": points, "warmup_seconds": 2.0, "measure": { "seconds": 10.0 } }));
        assert_eq!(agenda.trials(), Some(2));
        assert_eq!(agenda.after(1)[0].point, "c8-rate50");
        assert_eq!((agenda.seconds_of(Phase::WarmUp), agenda.seconds_of(Phase::Measure)), (Some(2.0), Some(10.0)));
        assert!(agenda.after(2).is_empty() && agenda.after(9).is_empty());
    }

    #[test]
    fn a_lab_tells_its_trials_when_it_begins() {
        let procedure = json!({ "warmup": "auto", "measure": { "events": 7 }, "pause_seconds": 3.0 });
        let mut agenda = Agenda::of(&json!({ "procedure": procedure }));
        assert_eq!((agenda.trials(), agenda.seconds_of(Phase::WarmUp)), (None, None));
        let trial = json!({ "index": 1, "variant": "nfs", "point": "c64", "round": 1 });
        agenda.planned(&json!({ "trials": [trial], "complete": false }));
        assert_eq!((agenda.trials(), agenda.after(0).len()), (None, 1));
        agenda.is_one_of(&json!({ "place": 1, "of": 12 }));
        assert_eq!(agenda.trials(), Some(12));
    }
}
