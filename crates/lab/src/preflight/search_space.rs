//! What a search may try, once its server and this machine are known.

use super::{Machine, Prepared, settings_anywhere};
use crate::error::{LabError, refused};
use plimsoll_host::facts;
use plimsoll_model::Build;
use plimsoll_plan::LabPlan;
use plimsoll_plan::knowledge::Release;
use plimsoll_plan::lab::space::SearchSpace;
use plimsoll_plan::lab::space::build::{SpaceHost, TodaysServer, space};
use plimsoll_plan::lab::{Setting, TuneRules, Variant, Where};
use plimsoll_server::confine;

impl Machine<'_> {
    /// The same plan with the space of its search, if it has one that is not known yet. A dry run that may not look at the
    /// server leaves it as it is.
    ///
    /// # Errors
    /// As [`Machine::prepare`]; [`LabError::Plan`] if nothing may be tried.
    pub fn with_search_space(&mut self, plan: &LabPlan) -> Result<LabPlan, LabError> {
        let (Some(rules), Some(variant)) = (&plan.tune, plan.variants.first()) else { return Ok(plan.clone()) };
        let prepared = self.prepare(variant)?;
        let (None, Some(build)) = (&rules.space, &prepared.build) else { return Ok(plan.clone()) };
        let space = made(plan, rules, variant, &prepared, build)?;
        if space.dimensions.is_empty() {
            let why: Vec<String> = space.left_out.iter().map(|left| format!("{}: {}", left.name, left.why)).collect();
            return Err(refused(variant.at("tune"), format!("tune: no setting can be tried: {}", why.join("; "))));
        }
        Ok(LabPlan { tune: Some(TuneRules { space: Some(space), ..rules.clone() }), ..plan.clone() })
    }
}

fn made(
    plan: &LabPlan,
    rules: &TuneRules,
    variant: &Variant,
    prepared: &Prepared,
    build: &Build,
) -> Result<SearchSpace, LabError> {
    let settings = settings_anywhere(prepared, variant)?;
    let setting = |name: &str, value: &str| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
        at: Where::default(),
        from_file: false,
    };
    let config: Vec<Setting> = settings.iter().map(|of| setting(&of.name, &of.value)).collect();
    let server = TodaysServer {
        release: Release::of(build.flavour, &build.version),
        machine: SpaceHost {
            memory: variant.memory.unwrap_or(u64::MAX).min(facts::memory_bytes()),
            cpus: variant.cpus.as_ref().map_or_else(|| confine::cpus().len(), Vec::len),
        },
        config: &config,
        connections: variant.load.points.first().map_or(1, |point| point.connections),
    };
    Ok(space(&server, &rules.settings, &plan.trials.allow))
}
