//! How large a plan may be: each variant has its own copy of everything, and each is checked with each rung.

use super::value::{DocumentValue, Kind};
use crate::error::PlanError;
use crate::lab::{Rung, Variant, Where};
use std::collections::BTreeMap;

/// Far above what plans have, and low enough that any plan is checked within seconds.
pub(super) const MOST_PRESETS: usize = 50;
const MOST_VARIANTS: usize = 200;
const MOST_RUNGS: usize = 200;
/// Variants times rungs.
const MOST_STEPS: usize = 2_000;
/// Variants times the values that all of them have.
const MOST_SHARED: usize = 200_000;

/// Settings of all variants, with each rung.
const MOST_SETTINGS: usize = 50_000;

/// Refuses what is too large as a whole. `lines` are those of the document.
pub(super) fn check(document: &DocumentValue, lines: &BTreeMap<String, Where>) -> Result<(), PlanError> {
    let Kind::Table(sections) = &document.kind else { return Ok(()) };
    let of = |name: &str| sections.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let count = |name: &str| match of(name).map(|value| &value.kind) {
        Some(Kind::List(list)) => list.len(),
        _ => 0,
    };
    let (variants, rungs) = (count("variant").max(1), count("rung"));
    for (name, found, most) in [("variant", variants, MOST_VARIANTS), ("rung", rungs, MOST_RUNGS)] {
        if let Some(value) = of(name).filter(|_| found > most) {
            return Err(value.problem(format!("there are {found}; at most {most} are accepted: make it several plans")));
        }
    }
    let (steps, shared) = (variants * rungs, variants * lines.len());
    match of("rung").or(of("variant")).filter(|_| steps > MOST_STEPS || shared > MOST_SHARED) {
        Some(value) => Err(value.problem(format!(
            "{variants} variants with {rungs} rungs and {} values are too many; make it several plans",
            lines.len()
        ))),
        None => Ok(()),
    }
}

/// Refuses too many variants and rungs in a plan that is not a document.
pub(super) fn check_counts(at: &Where, variants: usize, rungs: usize) -> Result<(), PlanError> {
    if (1..=MOST_VARIANTS).contains(&variants) && rungs <= MOST_RUNGS && variants * rungs <= MOST_STEPS {
        return Ok(());
    }
    let problem =
        format!("{variants} variants with {rungs} rungs; accepted are 1 to {MOST_VARIANTS} with at most {MOST_RUNGS}");
    Err(PlanError::File { at: at.clone(), problem })
}

/// Refuses too many settings, including those of option files.
pub(super) fn check_settings(at: &Where, variants: &[Variant], rungs: &[Rung]) -> Result<(), PlanError> {
    let each: usize = variants.iter().map(|variant| variant.config.len()).sum();
    match each * (1 + rungs.len()) {
        ..=MOST_SETTINGS => Ok(()),
        found => Err(PlanError::File {
            at: at.clone(),
            problem: format!(
                "{} variants with {} rungs have {found} settings together; at most {MOST_SETTINGS} are accepted: make it several plans",
                variants.len(),
                rungs.len()
            ),
        }),
    }
}
