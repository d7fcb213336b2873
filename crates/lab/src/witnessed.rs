//! A run whose load somebody else begins, follows and ends: it is recorded here like any other.

use crate::error::LabError;
use crate::load_point::{Driven, ObservedLoad};
use crate::load_spec;
use crate::run_record::{FinishedRun, Naming, RunFacts, RunRecord};
use crate::settings;
use plimsoll_follow::SeriesWriter;
use plimsoll_host::Home;
use plimsoll_load::assembly::WholeSecond;
use plimsoll_load::recorder::LoopTotals;
use plimsoll_load::source::{LoadFacts, Readiness, Spent};
use plimsoll_measures::caveats;
use plimsoll_model::summary::TargetFacts;
use plimsoll_model::{Flavour, Scalar};
use plimsoll_plan::RunPlan;
use plimsoll_plan::knowledge::durability::durability;
use plimsoll_record::{EarlyEnd, TrialWriter};
use plimsoll_watch::Unwatched;
use std::collections::BTreeMap;
use std::time::Instant;

/// A run of one load point, under way.
pub struct WitnessedRun {
    record: RunRecord,
    writer: TrialWriter,
    observed: ObservedLoad,
    facts: LoadFacts,
}

impl WitnessedRun {
    /// Makes the recording of a load all of whose loops are ready, before it begins; its own processes have `spent` so much
    /// by then. What its server has set is what it answered to `SHOW GLOBAL VARIABLES`, if it was asked.
    ///
    /// # Errors
    /// [`LabError::Record`] if it cannot be written.
    ///
    /// # Panics
    /// On a plan without a load point.
    pub fn begin(
        home: &Home,
        plan: &RunPlan,
        naming: &Naming,
        facts: &LoadFacts,
        ready: &Readiness,
        spent: Option<Spent>,
    ) -> Result<WitnessedRun, LabError> {
        let point = plan.points[0];
        let mut record = RunRecord::create(home, plan, naming, run_facts(plan, ready))?;
        let writer = record.trial(plan, point, 1)?;
        let facts = LoadFacts { limit: load_spec::limit(plan.measure), ..facts.clone() };
        let mut observed = ObservedLoad::begin(None, ready, &facts, point, 0, Instant::now());
        observed.look_before(spent);
        Ok(WitnessedRun { record, writer, observed, facts })
    }

    /// Counts and records a second.
    ///
    /// # Errors
    /// [`LabError::Record`] if it cannot be written; it is counted.
    pub fn second(&mut self, second: &WholeSecond, spent: Option<Spent>) -> Result<(), LabError> {
        let mut series = SeriesWriter { writer: &mut self.writer, before_ns: 0, phase: None };
        Ok(series.second(second, &self.facts, spent, &mut self.observed, &mut Unwatched)?)
    }

    /// Sums up what all loops together have counted, and closes the recording.
    pub fn end(mut self, totals: LoopTotals, ended: Option<EarlyEnd>) -> FinishedRun {
        let driven = Driven { totals, observed: self.observed, answer: BTreeMap::new(), counted: None, ended };
        let measured = self.record.add(driven.outcome(&self.facts, None, None));
        self.record.measured[0].push(measured);
        self.record.finish()
    }
}

/// What is known of a run from its plan, and from the greeting of its server.
fn run_facts(plan: &RunPlan, ready: &Readiness) -> RunFacts {
    let mut variables = settings::by_name(ready.answer.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    if let Some(greeted) = &ready.server.version {
        variables.entry("version".to_owned()).or_insert_with(|| greeted.clone());
    }
    let version = variables.get("version").cloned();
    let target = TargetFacts {
        flavour: version.as_deref().map(Flavour::from_version_text),
        version: version.unwrap_or_default(),
        durability: durability(&variables),
        data_bytes: None,
    };
    RunFacts {
        params: plan.params.iter().map(|(name, value)| (name.clone(), Scalar::Text(value.clone()))).collect(),
        caveats: caveats::standing(ready.server.pid.is_some(), &target),
        target,
        settings: settings::effective(&variables),
    }
}
