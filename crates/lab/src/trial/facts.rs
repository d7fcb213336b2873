//! What is recorded of a trial before it begins.

use jiff::Timestamp;
use plimsoll_plan::lab::TrialPlan;
use plimsoll_record::surroundings::Surroundings;
use plimsoll_record::{LoadParameters, Parameters, TrialFacts};
use plimsoll_workloads::chosen::ChosenWorkload;

/// Which trial it is, and what it starts from.
pub(super) fn facts(trial: &TrialPlan, surroundings: Surroundings) -> TrialFacts {
    let workload = &trial.variant.workload;
    let params = match ChosenWorkload::new(&workload.kind, &workload.typed(), None) {
        Ok(chosen) if workload.script.is_none() => chosen.printable(),
        // A script has options of its own, and storage no parameters of that kind.
        _ => workload.all_params().into_iter().map(|(name, value)| (name, value.into())).collect(),
    };
    TrialFacts {
        index: trial.index,
        variant: trial.label.clone(),
        point: trial.point.label(),
        round: trial.round,
        started: Timestamp::now(),
        parameters: Parameters::Load(Box::new(LoadParameters {
            workload: workload.name(),
            params,
            point: trial.point,
            seed: trial.seed,
            trial: Some(trial.clone()),
            surroundings,
        })),
    }
}
