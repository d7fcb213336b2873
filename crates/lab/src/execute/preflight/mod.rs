//! What is found out about the machine before anything starts: builds, their options, paths, room, leave to run commands.
//!
//! Begin with [`Machine::check`]. [`builds`] knows what a server accepts, [`places`] where it may work, [`work`] what is
//! asked of it, [`leave`] what only a person may allow; [`prospects`] says which rungs can be tried.

mod builds;
mod leave;
mod places;
mod prospects;
mod rigs;
mod work;

use crate::course::Prospects;
use crate::error::LabError;
use crate::execute::Options;
use crate::execute::own_lanes::OwnLanes;
use crate::starting_data::{Rigs, layout_settings};
use builds::Builds;
use plimsoll_plan::lab::{Setting, Variant, Where};
use plimsoll_plan::{LabPlan, PlanError, quantity};
use plimsoll_server::{Build, Confinement, Home, Settings, baseline, confine, host};
use std::cell::RefCell;
pub use work::data_bytes;

/// A variant on this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// None for an external target, and where storage is measured.
    pub build: Option<Build>,
    /// Under today's names, without what this server does not have any more.
    pub requested: Vec<Setting>,
    /// A line for every setting that does not apply any more.
    pub notes: Vec<String>,
}

/// What this machine has, asked once.
pub struct Machine<'a> {
    home: &'a Home,
    builds: Builds,
    lanes: RefCell<OwnLanes>,
}

impl<'a> Machine<'a> {
    pub fn new(home: &'a Home) -> Machine<'a> {
        Machine { home, builds: Builds::default(), lanes: RefCell::new(OwnLanes::of(home.path())) }
    }

    /// Refuses, with file and line, what cannot be: unknown variables, a pool larger than the memory, paths that are no
    /// directories, commands without leave; and finds out which rungs can be tried. Nothing is made or started.
    ///
    /// # Errors
    /// [`LabError::Plan`], [`LabError::Refused`]; [`LabError::Environment`] and [`LabError::Server`] for what this machine
    /// lacks: a server, packages, rights.
    pub fn check(&mut self, plan: &LabPlan, options: &Options) -> Result<Prospects, LabError> {
        leave::check(plan, options)?;
        for variant in &plan.variants {
            self.check_variant(variant)?;
        }
        let mut prospects = Prospects::new();
        for variant in &plan.variants {
            for rung in &plan.rungs {
                let with = variant.with(&variant.name, &rung.change);
                let prospect = prospects::of(self, plan, variant, &with)?;
                if !matches!(prospect, crate::course::Prospect::Removed(_)) {
                    self.check_variant(&with)?;
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
            None => Ok(Prepared { build: None, requested: variant.config.clone(), notes: Vec::new() }),
        }
    }

    fn check_variant(&mut self, variant: &Variant) -> Result<(), LabError> {
        work::check(self.home, variant)?;
        let prepared = self.prepare(variant)?;
        places::check(self.home, variant)?;
        self.builds.has_places_for(&prepared, variant)?;
        check_cpus(variant)?;
        check_memory(&prepared, variant)
    }
}

/// The settings of the server of a trial without the places of its layout: the baseline, and what the plan asks for.
///
/// # Errors
/// [`LabError::Server`] for what Plimsoll decides itself.
pub fn settings_anywhere(prepared: &Prepared, variant: &Variant) -> Result<Settings, LabError> {
    let Some(build) = &prepared.build else { return Ok(Settings::default()) };
    let memory = variant.memory.unwrap_or(u64::MAX).min(host::memory_bytes());
    let mut settings = baseline(build, memory);
    for Setting { name, value, at, .. } in &prepared.requested {
        settings.set(name, value, &at.to_string())?;
    }
    Ok(settings)
}

/// The settings that the server of a trial is started with: the baseline, what the plan asks for, and the places of the
/// layout.
///
/// # Errors
/// As [`settings_anywhere`].
pub fn settings(prepared: &Prepared, variant: &Variant, rigs: &Rigs) -> Result<Settings, LabError> {
    let mut settings = settings_anywhere(prepared, variant)?;
    if let Some(build) = &prepared.build {
        for (name, value) in layout_settings(rigs, &variant.layout, build) {
            settings.set(&name, &value, "layout")?;
        }
    }
    Ok(settings)
}

/// The CPUs, memory and environment of the server of a trial, with the control group of its lane.
pub fn confinement(variant: &Variant, rigs: &Rigs) -> Confinement {
    Confinement {
        cpus: variant.cpus.clone(),
        memory: variant.memory,
        groups: rigs.lane.iter().filter_map(|lane| lane.group.clone()).collect(),
        env: variant.env.clone(),
    }
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

/// That the pool fits into the memory, and that memory can be limited where that is asked for.
fn check_memory(prepared: &Prepared, variant: &Variant) -> Result<(), LabError> {
    if let Some(memory) = variant.memory {
        confine::memory_can_be_limited()?;
        let here = host::memory_bytes();
        if memory > here {
            let problem = format!("memory: found {memory} bytes; accepted is at most the {here} bytes of this machine");
            return Err(refused(variant.at("memory"), problem));
        }
    }
    let memory = variant.memory.unwrap_or(u64::MAX).min(host::memory_bytes());
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

/// Something in the plan that cannot be; a default stands in no line.
fn refused(at: Where, problem: impl Into<String>) -> LabError {
    match at.line {
        0 => LabError::Refused(problem.into()),
        _ => PlanError::File { at, problem: problem.into() }.into(),
    }
}
