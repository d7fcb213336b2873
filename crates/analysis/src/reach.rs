//! What a plan would show, judging by a lab that was recorded.

use crate::AnalysisError;
use crate::replay;
use plimsoll_measures::lab::{self, Reach};
use plimsoll_plan::LabPlan;
use plimsoll_record::read::RecordingView;
use plimsoll_schedule::Prospects;

/// What `plan` would show, whose rungs have these prospects, judging by the lab in `view`.
///
/// # Errors
/// [`AnalysisError::Refused`] if the recording is not of a lab or has too few trials, or if the plan compares nothing.
pub fn reach(view: &RecordingView, plan: &LabPlan, prospects: &Prospects) -> Result<Reach, AnalysisError> {
    let refused = |why: &str| AnalysisError::Refused(format!("{}: {why}", view.directory.display()));
    let Some(recorded) = view.manifest.plan.lab() else {
        return Err(refused("this is no lab; `plimsoll lab PLAN --pilot` makes a recording that tells"));
    };
    lab::reach(plan, prospects, recorded, &replay::ended(view, recorded)).map_err(|refusal| refused(&refusal.0))
}
