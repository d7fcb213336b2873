//! What a search may try, once its server and this machine are known.

use super::work::table_bytes;
use super::{Machine, Prepared, settings_anywhere};
use crate::error::{LabError, refused};
use plimsoll_host::facts;
use plimsoll_host::sample::disk_free;
use plimsoll_lanes::Lanes;
use plimsoll_lanes::spec::Spec;
use plimsoll_model::number::{duration, short};
use plimsoll_plan::LabPlan;
use plimsoll_plan::knowledge::Release;
use plimsoll_plan::knowledge::settings::facts as known;
use plimsoll_plan::knowledge::value::number;
use plimsoll_plan::lab::space::build::{SpaceHost, TodaysServer, space};
use plimsoll_plan::lab::tune::arms::arms;
use plimsoll_plan::lab::{Setting, Storage, TuneRules, Variant, Where};
use plimsoll_server::{baseline, confine};
use std::path::Path;

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
        let config = config(&prepared, variant)?;
        let server = TodaysServer {
            release: Release::of(build.flavour, &build.version),
            machine: SpaceHost {
                memory: variant.memory.unwrap_or(u64::MAX).min(facts::memory_bytes()),
                cpus: variant.cpus.as_ref().map_or_else(|| confine::cpus().len(), Vec::len),
                disk: self.free_disk(variant),
            },
            config: &config,
            connections: variant.load.points.first().map_or(1, |point| point.connections),
        };
        check_size(rules, variant, &server)?;
        check_time(plan, rules, variant)?;
        let space = space(&server, &rules.settings, &plan.trials.allow);
        if space.dimensions.is_empty() {
            let why: Vec<String> = space.left_out.iter().map(|left| format!("{}: {}", left.name, left.why)).collect();
            return Err(refused(variant.at("tune"), format!("tune: no setting can be tried: {}", why.join("; "))));
        }
        let set: Vec<(String, String)> =
            baseline(build, server.machine.memory).iter().map(|of| (of.name.clone(), of.value.clone())).collect();
        let arms = arms(&server, &space, &set, &rules.arms);
        Ok(LabPlan { tune: Some(TuneRules { arms, space: Some(space), ..rules.clone() }), ..plan.clone() })
    }

    /// Bytes that are free where its data will be; as many as there may be if that is not known.
    fn free_disk(&self, variant: &Variant) -> u64 {
        let free = |place: &Path| place.ancestors().find_map(|place| disk_free(place).ok());
        let there = match &variant.storage {
            Storage::Home => free(self.home.path()),
            Storage::Directory(path) => free(path),
            Storage::Lane(name) => Spec::parse(name).and_then(|spec| Lanes::of(self.home.path()).room(&spec)).ok(),
        };
        there.unwrap_or(u64::MAX)
    }
}

/// Data that the buffer pool holds as a whole are read once, and then hardly any setting matters: whoever wants that says so.
fn check_size(rules: &TuneRules, variant: &Variant, server: &TodaysServer<'_>) -> Result<(), LabError> {
    const POOL: &str = "innodb_buffer_pool_size";
    // What a saved dataset or a script's data take is not known before they are there.
    if rules.in_memory || variant.workload.dataset.is_some() {
        return Ok(());
    }
    let set = server.config.iter().find(|setting| setting.name == POOL).map(|setting| setting.value.as_str());
    let pool = set.or_else(|| known(POOL)?.default(server.release)).and_then(number).unwrap_or(0.0);
    let Some(data) = table_bytes(variant)?.map(|bytes| bytes as f64).filter(|data| *data < pool) else { return Ok(()) };
    let mib = |bytes: f64| short(bytes / f64::from(1 << 20));
    Err(refused(
        variant.at("tune"),
        format!(
            "tune: the data, about {} MiB, fit into the buffer pool of {} MiB, so that storage would hardly be searched; take more \
             data, or say that it is meant: in_memory = true, --in-memory",
            mib(data),
            mib(pool)
        ),
    ))
}

/// A search that has no time for trials would find nothing, and say so.
fn check_time(plan: &LabPlan, rules: &TuneRules, variant: &Variant) -> Result<(), LabError> {
    let least = plan.least_tune_seconds();
    if rules.seconds >= least {
        return Ok(());
    }
    let (found, accepted) = (duration(rules.seconds), duration(least));
    Err(refused(
        variant.at("tune"),
        format!(
            "tune: {found} are no time for a search of such trials; accepted is {accepted} or more, or a shorter warmup and measure"
        ),
    ))
}

/// What the server is started with.
fn config(prepared: &Prepared, variant: &Variant) -> Result<Vec<Setting>, LabError> {
    let settings = settings_anywhere(prepared, variant)?;
    let setting = |name: &str, value: &str| Setting {
        name: name.to_owned(),
        value: value.to_owned(),
        at: Where::default(),
        from_file: false,
    };
    Ok(settings.iter().map(|of| setting(&of.name, &of.value)).collect())
}
