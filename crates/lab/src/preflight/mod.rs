//! What is checked before anything starts: builds, their options, paths, room, permission to run
//! commands.
//!
//! Begin with [`Machine::check`]. [`builds`] knows what a server accepts, [`places`] where it may work, [`work`] what
//! is asked of it, [`permission`] what only a person may permit; [`prospects`] says which rungs can be tried,
//! [`surroundings`] what a trial has around it, [`semi_sync`] what a primary needs that waits for its replica.

mod builds;
mod directories;
pub mod permission;
mod places;
mod prospects;
mod search_space;
pub mod semi_sync;
pub mod surroundings;
mod work;

use crate::error::{LabError, refused};
use crate::own_lanes::OwnLanes;
use crate::planned_script;
use builds::Builds;
use plimsoll_data::starting_data::{self, TrialDirectories, layout_settings};
use plimsoll_host::{Home, facts};
use plimsoll_model::Build;
use plimsoll_model::secrets::is_secret;
use plimsoll_plan::lab::permission::Given;
use plimsoll_plan::lab::{Setting, Variant};
use plimsoll_plan::{LabPlan, quantity};
use plimsoll_schedule::Prospects;
use plimsoll_server::snapshot::store;
use plimsoll_server::{Confinement, Settings, baseline, confine};
use semi_sync::SemiSyncNames;
use std::cell::RefCell;
use std::collections::BTreeSet;
pub use work::data_bytes;

/// A variant on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// `None` for an external target, for storage trials, and for what a dry run must not run.
    pub build: Option<Build>,
    /// Under current names, without what this server no longer has.
    pub requested: Vec<Setting>,
    /// A line for every setting that no longer applies.
    pub notes: Vec<String>,
}

/// What this machine has, determined once.
pub struct Machine<'a> {
    home: &'a Home,
    builds: Builds,
    lanes: RefCell<OwnLanes>,
    /// Nothing is run that the plan names.
    is_dry: bool,
}

impl<'a> Machine<'a> {
    pub fn new(home: &'a Home) -> Machine<'a> {
        Machine { home, builds: Builds::default(), lanes: RefCell::new(OwnLanes::of(home.path())), is_dry: false }
    }

    /// The same for a plan that is only inspected: nothing is run that the plan names and `given` does not.
    pub fn dry(home: &'a Home, given: &Given) -> Machine<'a> {
        Machine { builds: Builds::dry(given), is_dry: true, ..Machine::new(home) }
    }

    /// Refuses, with file and line, what is impossible: unknown variables, a pool larger than the memory, paths that
    /// are not directories; and finds out which rungs can be tried. Nothing is created or started.
    ///
    /// # Errors
    /// [`LabError::Plan`], [`LabError::Refused`]; [`LabError::Environment`] and [`LabError::Server`] for what this
    /// machine lacks: a server, packages, rights.
    pub fn check(&mut self, plan: &LabPlan) -> Result<Prospects, LabError> {
        let checked = plan.variants.iter().map(|variant| self.check_variant(plan, variant));
        let prepared = checked.collect::<Result<Vec<_>, _>>()?;
        places::fit_together(self.home, plan, &prepared)?;
        let mut prospects = Prospects::new();
        for variant in &plan.variants {
            for rung in &plan.rungs {
                let with = variant.with(&variant.name, &rung.change);
                let prospect = prospects::of(self, plan, variant, &with)?;
                if !matches!(prospect, plimsoll_schedule::Prospect::Removed(_)) {
                    self.check_variant(plan, &with)?;
                }
                prospects.insert((variant.name.clone(), rung.name.clone()), prospect);
            }
        }
        Ok(prospects)
    }

    /// The variant, or a variant with rungs, on this machine.
    ///
    /// # Errors
    /// As [`Machine::check`], for what concerns its server.
    pub fn prepare(&mut self, variant: &Variant) -> Result<Prepared, LabError> {
        match self.builds.of(variant)? {
            Some(build) => self.builds.prepare(build, variant),
            None if self.builds.is_unseen(variant) => Ok(Prepared {
                build: None,
                requested: variant.config.clone(),
                notes: vec![format!(
                    "{}: `build` was not inspected, since a dry run does not run what the plan names: its settings are listed as \
                     they are written",
                    variant.at("build")
                )],
            }),
            None => Ok(Prepared { build: None, requested: variant.config.clone(), notes: Vec::new() }),
        }
    }

    /// A line for every setting of an option file that no longer applies, once even if many variants have it.
    ///
    /// # Errors
    /// As [`Machine::prepare`].
    pub fn notes(&mut self, plan: &LabPlan) -> Result<BTreeSet<String>, LabError> {
        let prepared = plan.variants.iter().map(|variant| self.prepare(variant));
        Ok(prepared.collect::<Result<Vec<_>, _>>()?.into_iter().flat_map(|prepared| prepared.notes).collect())
    }

    fn check_variant(&mut self, plan: &LabPlan, variant: &Variant) -> Result<Prepared, LabError> {
        work::check(self.home, plan, variant)?;
        match self.is_dry {
            true => planned_script::of(variant).map(drop)?,
            false => planned_script::check(variant)?,
        }
        let prepared = self.prepare(variant)?;
        places::check(self.home, plan, &prepared, variant)?;
        self.builds.has_places_for(&prepared, variant)?;
        check_environment(variant)?;
        check_cpus(variant)?;
        check_memory(&prepared, variant)?;
        Ok(prepared)
    }
}

/// The settings of the server of a trial without the places of its layout: the baseline, and what the plan asks for.
///
/// # Errors
/// [`LabError::Server`] for what Plimsoll decides itself.
pub fn settings_anywhere(prepared: &Prepared, variant: &Variant) -> Result<Settings, LabError> {
    let Some(build) = &prepared.build else { return Ok(Settings::default()) };
    let memory = variant.memory.unwrap_or(u64::MAX).min(facts::memory_bytes());
    let mut settings = baseline(build, memory);
    for Setting { name, value, at, .. } in &prepared.requested {
        settings.set(name, value, &at.to_string())?;
    }
    SemiSyncNames::of(build.flavour).load(&mut settings)?;
    Ok(settings)
}

/// The settings that the server of a trial is started with: the baseline, what is fixed with the data of a saved
/// dataset, what the plan asks for, and the places of the layout.
///
/// # Errors
/// As [`settings_anywhere`], [`starting_data::fixed`].
pub fn settings(prepared: &Prepared, variant: &Variant, directories: &TrialDirectories) -> Result<Settings, LabError> {
    let mut settings = settings_anywhere(prepared, variant)?;
    if let Some(id) = &variant.workload.dataset
        && let Some(stored) = store::find(directories.data.home(), id)?
    {
        for (name, value) in starting_data::fixed(&stored, &prepared.requested)? {
            settings.set(&name, &value, &format!("the dataset {id}"))?;
        }
    }
    if let Some(build) = &prepared.build {
        for (name, value) in layout_settings(directories, &variant.layout, build) {
            settings.set(&name, &value, "layout")?;
        }
    }
    Ok(settings)
}

/// The CPUs, memory and environment of the server of a trial, with the control group of its lane.
pub fn confinement(variant: &Variant, directories: &TrialDirectories) -> Confinement {
    Confinement {
        cpus: variant.cpus.clone(),
        memory: variant.memory,
        groups: directories.lane.iter().filter_map(|lane| lane.group.clone()).collect(),
        env: variant.env.clone(),
    }
}

/// The values of `env` are recorded with the plan, so they must not contain a secret.
fn check_environment(variant: &Variant) -> Result<(), LabError> {
    let Some(name) = variant.env.keys().find(|name| is_secret(name)) else { return Ok(()) };
    let problem = format!(
        "env.{name}: its name says that this is a secret, and the values of `env` are recorded with the plan; have the server \
         read it from its own file instead"
    );
    Err(refused(variant.at(&format!("env.{name}")), problem))
}

fn check_cpus(variant: &Variant) -> Result<(), LabError> {
    let here = confine::cpus();
    for (key, cpus) in [("cpus", &variant.cpus), ("client_cpus", &variant.client_cpus)] {
        if let Some(cpu) = cpus.iter().flatten().find(|cpu| !here.contains(cpu)) {
            let accepted: Vec<String> = here.iter().map(usize::to_string).collect();
            let problem =
                format!("{key}: found CPU {cpu}; accepted are those of this machine: {}", accepted.join(", "));
            return Err(refused(variant.at(key), problem));
        }
    }
    Ok(())
}

/// Checks that the pool fits into the memory, and that memory can be limited if the plan wants that.
fn check_memory(prepared: &Prepared, variant: &Variant) -> Result<(), LabError> {
    if let Some(memory) = variant.memory {
        confine::memory_can_be_limited()
            .map_err(|error| LabError::Environment(format!("{}: {error}", variant.at("memory"))))?;
        let here = facts::memory_bytes();
        if memory > here {
            let problem = format!("memory: found {memory} bytes; accepted is at most the {here} bytes of this machine");
            return Err(refused(variant.at("memory"), problem));
        }
    }
    let memory = variant.memory.unwrap_or(u64::MAX).min(facts::memory_bytes());
    let pool = prepared.requested.iter().find(|setting| setting.name == "innodb_buffer_pool_size");
    match pool.and_then(|pool| Some((pool, quantity::size(&pool.value).ok()?))) {
        Some((pool, bytes)) if bytes >= memory => {
            let whose = if variant.memory.is_some() { "its `memory`" } else { "the memory of this machine" };
            let problem = format!(
                "innodb_buffer_pool_size: found {} in `{}`; accepted is less than {whose}, {memory} bytes",
                pool.value, variant.name
            );
            Err(refused(pool.at.clone(), problem))
        }
        _ => Ok(()),
    }
}
