//! Combinations that have no meaning, found before anything starts.

use super::workload::IO;
use crate::error::PlanError;
use crate::lab::{LabPlan, MOST_TRIALS, Method, Order, Restore, Rung, Storage, Variant, WarmUp, Where};
use crate::plan::Measure;
use crate::quantity;
use std::collections::{BTreeMap, BTreeSet};

/// What a server that is not ours cannot be given.
const OF_PRIVATE_SERVERS: [&str; 9] =
    ["build", "config_file", "config", "datadir", "lane", "layout", "cpus", "memory", "env"];
/// What a storage trial, which has no server and no connections, has no use for.
const OF_SERVERS: [&str; 9] = ["build", "config_file", "config", "target", "layout", "cpus", "memory", "env", "load"];
/// What a ladder calls those of its trials that try no rung.
const LADDER_WORDS: [&str; 3] = ["floor", "worth", "gain"];
/// Bytes that a recording has for the label of a trial.
const LONGEST_LABEL: usize = 80;

/// Checks a plan whose values are right one by one. `lines` says where those of the document stand, by their names.
pub(super) fn check(plan: &LabPlan, lines: &BTreeMap<String, Where>) -> Result<(), PlanError> {
    let check = Check { plan, lines };
    let with_rung = |variant: &Variant| {
        let variant = variant.clone();
        plan.rungs.iter().map(move |rung| variant.with(&variant.name, &rung.change))
    };
    for variant in plan.variants.iter().cloned().chain(plan.variants.iter().flat_map(with_rung)) {
        check.kind(&variant)?;
        check.target(&variant)?;
        check.data(&variant)?;
        check.load(&variant)?;
    }
    for variant in &plan.variants {
        pool_fits(variant)?;
    }
    check.trials()?;
    if plan.rungs.is_empty() { Ok(()) } else { check.ladder() }
}

struct Check<'p> {
    plan: &'p LabPlan,
    lines: &'p BTreeMap<String, Where>,
}

fn refuse<T>(at: Where, problem: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::File { at, problem: problem.into() })
}

impl Check<'_> {
    /// Where a value of the document stands; one that is not there begins with the file.
    fn at(&self, key: &str) -> Where {
        let first = || Where { file: self.plan.file.clone(), line: 1 };
        self.lines.get(key).cloned().unwrap_or_else(first)
    }

    fn kind(&self, variant: &Variant) -> Result<(), PlanError> {
        let first = self.plan.variants.first().map_or("", |variant| &variant.workload.kind);
        if (variant.workload.kind == IO) != (first == IO) {
            let problem = "storage trials (kind = \"io\") and trials of a server do not go into one plan; make it two";
            return refuse(variant.at("workload.kind"), problem);
        }
        if variant.workload.kind == IO { self.storage_trial(variant) } else { Ok(()) }
    }

    fn storage_trial(&self, variant: &Variant) -> Result<(), PlanError> {
        if let Some(key) = OF_SERVERS.into_iter().find(|key| variant.lines.contains_key(*key)) {
            return refuse(
                variant.at(key),
                format!(
                    "`{key}` has no meaning for storage trials (kind = \"io\"), which have neither server nor \
                     connections; accepted is datadir, lane, client_cpus, workload, before, after"
                ),
            );
        }
        let procedure = &self.plan.procedure;
        for (given, key) in [
            (procedure.restore != Restore::None, "restore"),
            (procedure.recovery, "recovery"),
            (procedure.lenient, "lenient"),
            (procedure.noisy_host, "noisy_host"),
            (procedure.checksums, "checksums"),
            (!procedure.allow.is_empty(), "allow"),
            (!matches!(procedure.measure, Measure::Seconds(_)), "measure"),
        ] {
            if given {
                let what = "has no meaning for storage trials (kind = \"io\"), which have no server and no data";
                let instead = if key == "measure" { "measure a duration" } else { "leave it out" };
                return refuse(self.at(&format!("procedure.{key}")), format!("procedure.{key}: {what}; {instead}"));
            }
        }
        Ok(())
    }

    fn target(&self, variant: &Variant) -> Result<(), PlanError> {
        if variant.target.is_none() {
            return Ok(());
        }
        let line = variant.at("target").line;
        if let Some(key) = OF_PRIVATE_SERVERS.iter().find(|key| variant.lines.contains_key(**key)) {
            let problem = format!(
                "`{key}` is for private servers, and `{}` has the target of line {line}: Plimsoll neither starts nor \
                 configures a server that is not ours; leave one of the two out",
                variant.name
            );
            return refuse(variant.at(key), problem);
        }
        let procedure = &self.plan.procedure;
        if procedure.recovery {
            let problem = format!("recovery: kills only private servers, and line {line} has a target");
            return refuse(self.at("procedure.recovery"), problem);
        }
        if !matches!(procedure.restore, Restore::None | Restore::Reload) {
            let at = self.lines.get("procedure.restore").cloned().unwrap_or_else(|| variant.at("target"));
            let problem = format!(
                "the data of a server that is not ours (target, line {line}) are never copied or put back; accepted \
                 is restore = \"reload\" or \"none\" in [procedure]"
            );
            return refuse(at, problem);
        }
        Ok(())
    }

    fn trials(&self) -> Result<(), PlanError> {
        match self.plan.trials_at_least() {
            ..=MOST_TRIALS => Ok(()),
            many => refuse(
                self.at("procedure.rounds"),
                format!(
                    "variants, load points, rungs and rounds make {many} trials; accepted are up to {MOST_TRIALS}, so \
                     leave some out"
                ),
            ),
        }
    }

    fn data(&self, variant: &Variant) -> Result<(), PlanError> {
        let restore = &self.plan.procedure.restore;
        if *restore == Restore::Snapshot(Some(Method::ImageClone)) {
            let why = match &variant.storage {
                Storage::Lane(_) if variant.layout.is_empty() => None,
                Storage::Lane(_) => Some("has a layout with files that are not on it"),
                Storage::Home | Storage::Directory(_) => Some("lies on none"),
            };
            if let Some(why) = why {
                let problem = format!("image-clone copies the image of a lane, and `{}` {why}", variant.name);
                return refuse(self.at("procedure.restore"), problem);
            }
        }
        if variant.workload.dataset.is_some() {
            let problem = match restore {
                _ if variant.target.is_some() => "a saved dataset is for private servers, and there is a target",
                Restore::Reload => "a saved dataset is copied, but `restore` is \"reload\"; accepted is snapshot",
                _ => return Ok(()),
            };
            return refuse(variant.at("workload.dataset"), problem);
        }
        Ok(())
    }

    fn load(&self, variant: &Variant) -> Result<(), PlanError> {
        let open = variant.load.find.is_some() || variant.load.points.iter().any(|point| point.rate.is_some());
        let procedure = &self.plan.procedure;
        let problem = match procedure.measure {
            Measure::EventsPerConnection(_) if open => {
                "events_per_connection cannot go with rate or find: arrivals belong to no connection; accepted is a \
                 duration or { events = N }"
            }
            Measure::Events(_) if open && procedure.warmup != WarmUp::Seconds(0.0) => {
                "events with rate or find are counted from the start; accepted is a duration, or warmup = \"0s\""
            }
            _ => return Ok(()),
        };
        refuse(self.at("procedure.measure"), format!("procedure.measure: {problem}"))
    }

    fn ladder(&self) -> Result<(), PlanError> {
        let LabPlan { variants, rungs, procedure, .. } = self.plan;
        if procedure.order == Order::Sequential {
            let problem = "order: a ladder compares in interleaved pairs; leave it out";
            return refuse(self.at("procedure.order"), problem);
        }
        let searched = variants.iter().find(|variant| variant.load.find.is_some()).map(|found| found.at("load.find"));
        let in_rung = rungs.iter().find(|rung| rung.change.load.as_ref().is_some_and(|load| load.find.is_some()));
        if let Some(at) = searched.or(in_rung.map(|rung| rung.at.clone())) {
            let problem = "`find` cannot go with [[rung]]: a ladder compares at one load; give connections or a rate";
            return refuse(at, problem);
        }
        for (rung, key) in rungs.iter().flat_map(|rung| ["load.connections", "load.rate"].map(|key| (rung, key))) {
            if let Some(at) = rung.change.lines.get(key) {
                let problem = format!(
                    "{key}: a ladder compares at the load points of [load] alone, with rung `{}` and without; say it \
                     there",
                    rung.name
                );
                return refuse(at.clone(), problem);
            }
        }
        for (place, rung) in rungs.iter().enumerate() {
            for variant in variants {
                self.keeps_what_is_set(rung, &variant.name, &variant.lines)?;
            }
            for earlier in &rungs[..place] {
                self.keeps_what_is_set(rung, &earlier.name, &earlier.change.lines)?;
            }
        }
        self.labels()
    }

    /// A rung's `workload` and `load` are laid over the sections of these names, not over what a variant or an earlier
    /// rung makes of them; `set` is what that one, called `other`, sets.
    fn keeps_what_is_set(&self, rung: &Rung, other: &str, set: &BTreeMap<String, Where>) -> Result<(), PlanError> {
        for section in ["workload", "load"] {
            let Some(here) = rung.change.lines.get(section) else { continue };
            let undone = |(key, at): &(&String, &Where)| {
                key.split_once('.').is_some_and(|(of, _)| of == section)
                    && self.lines.get(*key) != Some(*at)
                    && !rung.change.lines.contains_key(*key)
            };
            if let Some((key, at)) = set.iter().find(undone) {
                let problem = format!(
                    "rung `{}` would undo `{key}` of `{other}` (line {}); say here, too, what it shall be",
                    rung.name, at.line
                );
                return refuse(here.clone(), problem);
            }
        }
        Ok(())
    }

    /// Each trial of a ladder needs a name of its own in the recording.
    fn labels(&self) -> Result<(), PlanError> {
        let mut labels = BTreeSet::new();
        for rung in &self.plan.rungs {
            let problem = |problem: String| refuse(rung.at.clone(), problem);
            if LADDER_WORDS.contains(&rung.name.split('/').next().unwrap_or_default()) {
                let words = LADDER_WORDS.join(", ");
                return problem(format!("a rung is not called `{}`: {words} mean something else", rung.name));
            }
            for variant in &self.plan.variants {
                let label = format!("{}/{}", variant.name, rung.name);
                if label.len() + "worth//without".len() > LONGEST_LABEL {
                    return problem(format!("the names of `{label}` are too long together"));
                }
                if !labels.insert(label.clone()) {
                    return problem(format!("two rungs would be called `{label}`; rename one"));
                }
            }
        }
        Ok(())
    }
}

fn pool_fits(variant: &Variant) -> Result<(), PlanError> {
    let pool = variant.config.iter().find(|setting| setting.name == "innodb_buffer_pool_size");
    let bytes = pool.and_then(|setting| quantity::size(&setting.value).ok());
    match (pool, bytes, variant.memory) {
        (Some(pool), Some(bytes), Some(memory)) if bytes >= memory => refuse(
            pool.at.clone(),
            format!(
                "innodb_buffer_pool_size: found {} in `{}`, whose memory (line {}) is {memory} bytes; accepted is less",
                pool.value,
                variant.name,
                variant.at("memory").line
            ),
        ),
        _ => Ok(()),
    }
}
