//! A gate's limits on a lab.

use super::{GatePlace, nothing_measured, slower};
use crate::lab::{compared, of_variant};
use plimsoll_model::gate::GateFinding;
use plimsoll_model::lab::{LabSummary, TrialStatus};
use plimsoll_model::{LoadPoint, Refusal};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::Variant;
use plimsoll_schedule::{EndedTrial, seeks_line};

const NOTHING_IN_COMMON: &str = "they have rounds, and none measured in both what decides; the caveats say why";

/// Whether limits can be set on what the trials of a plan measure.
///
/// # Errors
/// If they are not measured at load points that the plan sets.
pub fn is_gateable(plan: &LabPlan) -> Result<(), Refusal> {
    let refusal = |why: &str| Err(Refusal(why.to_owned()));
    if !plan.rungs.is_empty() {
        return refusal("a ladder judges its rungs itself");
    }
    if plan.tune.is_some() {
        return refusal("a search of settings judges them itself");
    }
    if plan.variants.iter().any(|variant| variant.workload.is_storage()) {
        return refusal("trials of storage have no transactions");
    }
    match plan.variants.iter().any(|variant| seeks_line(plan, variant)) {
        true => refusal("a search for a load line chooses its rates itself"),
        false => Ok(()),
    }
}

/// Each variant at each of its load points, by the rounds that were done.
pub fn gate_places<'a>(plan: &LabPlan, ended: &'a [EndedTrial]) -> Vec<GatePlace<'a>> {
    let place = |variant: &Variant, point: &LoadPoint| GatePlace {
        at: format!("{}, {point}", variant.name),
        rounds: of_variant(ended, &variant.name)
            .filter(|ended| ended.trial.point == *point && ended.outcome.status == TrialStatus::Done)
            .filter_map(|ended| ended.outcome.point.as_ref())
            .collect(),
    };
    plan.variants
        .iter()
        .flat_map(|variant| variant.load.points.iter().map(move |point| place(variant, point)))
        .collect()
}

/// Whether each variant is slower than the one that it is compared with by more than `limit`, a share.
pub fn slower_variants(plan: &LabPlan, summary: &LabSummary, limit: f64) -> Vec<GateFinding> {
    let found = |[a, b]: [&Variant; 2]| {
        let (a, b) = (a.name.as_str(), b.name.as_str());
        let of = summary.comparisons.iter().find(|of| of.a == a && of.b == b);
        match of.and_then(|of| Some((of, of.rows.first()?))) {
            Some((of, row)) => {
                let carried = of.stopping.as_ref().and_then(|stopping| stopping.switchback.as_ref());
                slower(a, b, &of.unlike_work, row, carried, limit)
            }
            None if have_rounds(summary, a, b) => {
                GateFinding { why: NOTHING_IN_COMMON.to_owned(), ..nothing_measured(a, b, limit) }
            }
            None => nothing_measured(a, b, limit),
        }
    };
    compared(plan).into_iter().map(found).collect()
}

/// Whether two variants that no row compares have rounds at one load point all the same: of a time, for instance, where
/// more arrivals found no free connection than may be later than it.
fn have_rounds(summary: &LabSummary, a: &str, b: &str) -> bool {
    let of = |variant| summary.cells.iter().filter(move |cell| cell.variant == variant && cell.rounds > 0);
    of(a).any(|a| of(b).any(|b| b.load == a.load))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::lab::file::{PlanChoices, read};

    #[test]
    fn a_search_of_settings_has_no_limits() {
        let plan = |more: &str| {
            let text = format!("name = \"a\"\nworkload.kind = \"tpcc\"\nload.connections = [8]\n{more}");
            read("p", &text, PlanChoices::of_seed(1), &|_| Err(String::new())).expect("a plan")
        };
        assert_eq!(is_gateable(&plan("")), Ok(()));
        let refused = is_gateable(&plan("[tune]\ntime = \"1h\"\n")).expect_err("it has trials of its own");
        assert_eq!(refused.to_string(), "a search of settings judges them itself");
    }
}
