//! What happens, for whoever shows it.
//!
//! Those who execute tell a [`Watcher`] and never print; [`Event`] is all that they tell.

use plimsoll_model::LoadPoint;
use plimsoll_model::OpeningStep;
use plimsoll_model::agreed::AgreedLoad;
use plimsoll_model::io::Probe;
use plimsoll_model::lab::{LabSummary, TrialOutcome};
use plimsoll_model::samples::{AgentSample, HostSample, Interval, Phase, ServerSample};
use plimsoll_model::summary::Point;
use plimsoll_plan::lab::{PlannedTrial, TrialPlan};
use plimsoll_plan::{LabPlan, RunPlan};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadProgress<'a> {
    /// What is being done: rows, then indexes, then foreign keys.
    pub doing: &'a str,
    pub rows: u64,
    /// Those of them that an earlier load left.
    pub rows_before: u64,
    pub rows_total: u64,
    pub elapsed: Duration,
}

/// What happens in a storage evaluation.
#[derive(Clone, Copy, Debug)]
pub enum IoEvent<'a> {
    /// Everything was looked at and nothing has begun: how many measurements there are, how long they last together, and
    /// the most space that their files take at a time.
    Planned {
        steps: usize,
        time: Duration,
        bytes: u64,
    },
    /// A measurement begins: its place (from 1) of how many, its id, and about how long everything still takes.
    StepBegins {
        place: usize,
        of: usize,
        id: &'a str,
        left: Duration,
    },
    /// Its files are written: bytes of how many.
    Layout {
        written: u64,
        of: u64,
    },
    Interval {
        interval: &'a Interval,
    },
    StepEnds {
        probe: &'a Probe,
    },
}

/// What happens in a lab.
#[derive(Clone, Copy, Debug)]
pub enum LabEvent<'a> {
    /// Everything was looked at and nothing has begun: about how many trials there are, how many seconds they take
    /// together, and the most space that their data take.
    Planned {
        plan: &'a LabPlan,
        trials: usize,
        seconds: f64,
        bytes: u64,
    },
    /// A trial begins: its place (from 1) of about how many, and about how long everything still takes.
    TrialBegins {
        place: usize,
        of: usize,
        trial: &'a TrialPlan,
        left: Duration,
        /// The trial after it, where that does not depend on what comes of it.
        next: Option<&'a PlannedTrial>,
    },
    Phase {
        phase: Phase,
    },
    /// Something that a person should read though it stops nothing: a setting that was dropped, say.
    Note {
        text: &'a str,
    },
    TrialEnds {
        trial: &'a TrialPlan,
        outcome: &'a TrialOutcome,
    },
    /// What all trials that have ended say together: after each, and before the first where a recording is resumed.
    SoFar {
        summary: &'a LabSummary,
    },
}

#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A private server is being opened.
    Server {
        step: OpeningStep,
        since: Duration,
    },
    Load(LoadProgress<'a>),
    /// A load point begins: its place (from 1) among those of all rounds.
    PointBegins {
        place: usize,
        of: usize,
        point: LoadPoint,
        plan: &'a RunPlan,
    },
    /// A load point that others on the machine disturbed begins once more: its place (from 1) among those.
    PointRepeats {
        place: usize,
        of: usize,
        point: LoadPoint,
        plan: &'a RunPlan,
    },
    Interval {
        point: LoadPoint,
        interval: &'a Interval,
        /// What the machine did meanwhile, and what the process of a local server has used so far, where they tell.
        host: Option<&'a HostSample>,
        server: Option<&'a ServerSample>,
    },
    PointEnds {
        point: &'a Point,
    },
    /// What an agent of a fleet and its machine did in a second of a load, or that it is lost.
    Agent {
        sample: &'a AgentSample,
    },
    /// The agents of a fleet have begun a measured load.
    Agreed {
        load: &'a AgreedLoad,
    },
    Io(IoEvent<'a>),
    Lab(LabEvent<'a>),
    /// Something that may take a while has begun.
    Doing(&'a str),
}

/// Is told what happens, and says whether to stop.
pub trait Watcher {
    fn tell(&mut self, event: Event<'_>);

    /// True once somebody wants the work to end early.
    fn interrupted(&self) -> bool;

    /// Asks a person to do something by hand, and waits until they say that it is done; false if nobody is there to ask.
    fn done_by_hand(&mut self, what: &str) -> bool {
        let _ = what;
        false
    }
}

/// Nobody: shows nothing, and ends nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn tell(&mut self, _: Event<'_>) {}

    fn interrupted(&self) -> bool {
        false
    }
}
