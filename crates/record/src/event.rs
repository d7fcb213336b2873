//! What happened while a recording was written.

use plimsoll_model::Caveat;
use plimsoll_model::agreed::AgreedLoad;
use plimsoll_model::lab::TrialStatus;
use plimsoll_model::samples::Phase;
use plimsoll_plan::lab::PlannedTrial;
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) const EVENTS_SCHEMA: &str = "plimsoll.events";

/// One line of `events.ndjson`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordedEvent {
    /// Monotonic, since the recording's start.
    pub t_ns: u64,
    #[serde(flatten)]
    pub what: Happening,
}

/// What happened. A trial is told by its place in the plan, from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Happening {
    /// A run comes to a load point, by its label.
    Point {
        point: String,
    },
    /// A storage evaluation comes to a measurement.
    Step {
        id: String,
    },
    /// What is under way failed: the measurement of this id, else everything.
    Failed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        why: String,
    },
    Caveats(Vec<Caveat>),
    /// The trials of a lab as far as they are known when it begins, and whether those are all.
    Planned {
        trials: Vec<PlannedTrial>,
        complete: bool,
    },
    /// Why a rung will not be tried: its setting was removed from the server, else it is not safe enough.
    RungLeftOut {
        variant: String,
        rung: String,
        removed: bool,
        why: String,
    },
    Resumed {
        trials: usize,
        tool_version: String,
    },
    /// A trial begins, the `place`th of about `of`; about so many seconds are left.
    TrialBegins {
        trial: u32,
        variant: String,
        place: usize,
        of: usize,
        left_seconds: f64,
    },
    TrialEnds {
        trial: u32,
        status: TrialStatus,
        why: Option<String>,
    },
    PhaseBegins {
        trial: u32,
        phase: Phase,
    },
    PhaseEnds {
        trial: u32,
        phase: Phase,
        seconds: f64,
    },
    /// A dataset is at hand, after so many seconds.
    Dataset {
        trial: u32,
        dataset: String,
        seconds: f64,
    },
    /// The agents of a fleet have begun the measured load of a trial.
    Agreed {
        trial: u32,
        load: AgreedLoad,
    },
    /// Something that only a newer Plimsoll knows.
    #[serde(skip)]
    Unknown,
}

impl<'de> Deserialize<'de> for RecordedEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RecordedEvent, D::Error> {
        #[derive(Deserialize)]
        struct Line {
            t_ns: u64,
            #[serde(flatten)]
            rest: serde_json::Value,
        }
        let Line { t_ns, rest } = Line::deserialize(deserializer)?;
        Ok(RecordedEvent { t_ns, what: Happening::deserialize(rest).unwrap_or(Happening::Unknown) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_read_as_it_was_written_and_the_unknown_is_tolerated() {
        let failed = Happening::Failed { id: None, why: "the server died".to_owned() };
        let ends = Happening::PhaseEnds { trial: 3, phase: Phase::Measure, seconds: 1.5 };
        for (what, text) in [
            (failed, r#"{"t_ns":7,"kind":"failed","detail":{"why":"the server died"}}"#),
            (ends, r#"{"t_ns":7,"kind":"phase_ends","detail":{"trial":3,"phase":"measure","seconds":1.5}}"#),
            (Happening::Caveats(Vec::new()), r#"{"t_ns":7,"kind":"caveats","detail":[]}"#),
        ] {
            let event = RecordedEvent { t_ns: 7, what };
            assert_eq!(serde_json::to_string(&event).unwrap(), text);
            assert_eq!(serde_json::from_str::<RecordedEvent>(text).unwrap(), event);
        }
        let newer = r#"{"t_ns":7,"kind":"of_tomorrow","detail":1,"colour":"blue"}"#;
        assert_eq!(
            serde_json::from_str::<RecordedEvent>(newer).unwrap(),
            RecordedEvent { t_ns: 7, what: Happening::Unknown }
        );
    }
}
