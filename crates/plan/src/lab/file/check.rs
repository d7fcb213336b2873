//! Combinations that have no meaning, found before anything starts.

use super::workload::IO;
use crate::error::PlanError;
use crate::lab::flip;
use crate::lab::pairs::pairs;
use crate::lab::tune::TuneObjective;
use crate::lab::{LabPlan, MOST_TRIALS, Method, Order, Restore, Rung, Storage, Variant, WarmUp, Where};
use crate::plan::Measure;
use crate::quantity;
use plimsoll_model::FaultKind;
use plimsoll_model::stopping::{FIRST, RESTARTED};
use std::collections::{BTreeMap, BTreeSet};

/// What an external server cannot be given.
const OF_PRIVATE_SERVERS: [&str; 9] =
    ["build", "config_file", "config", "datadir", "lane", "layout", "cpus", "memory", "env"];
/// What a storage trial, which has no server and no connections, cannot use.
const OF_SERVERS: [&str; 9] = ["build", "config_file", "config", "target", "layout", "cpus", "memory", "env", "load"];
/// What a ladder calls its trials that try no rung.
const LADDER_WORDS: [&str; 3] = ["floor", "worth", "gain"];
/// The workload whose commits can be told one from the other.
const TOLD_APART: &str = "ledger";
/// Workloads whose commits can be told after a crash.
const COUNTED: [&str; 2] = ["ledger", "tpcc"];
/// Bytes that a recording has for the label of a trial.
const LONGEST_LABEL: usize = 80;

/// Checks a plan whose single values are valid. `lines` says where the values of the document stand, by name.
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
    check.tune()?;
    check.trials()?;
    check.stopping()?;
    check.switchback()?;
    check.crash()?;
    check.fleet()?;
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
    /// Where a value of the document stands; for one that is not there, the beginning of the file.
    fn at(&self, key: &str) -> Where {
        let first = || Where { file: self.plan.file.clone(), line: 1 };
        self.lines.get(key).cloned().unwrap_or_else(first)
    }

    /// What agents cannot make.
    fn fleet(&self) -> Result<(), PlanError> {
        let Some(fleet) = &self.plan.fleet else { return Ok(()) };
        if self.plan.crash.is_some() {
            let problem =
                "what clients were told is written down where the load is made: [crash] cannot go with [fleet]";
            return refuse(self.at("fleet"), problem);
        }
        for variant in &self.plan.variants {
            if fleet.listen.is_some() && variant.target.is_some() {
                let problem =
                    "fleet.listen is where private servers listen, and this one has a target: leave one of them out";
                return refuse(variant.at("target"), problem);
            }
            if variant.workload.is_storage() {
                return refuse(
                    variant.at("workload.kind"),
                    "storage is measured on this machine: kind = \"io\" cannot go with [fleet]",
                );
            }
            if variant.workload.script.is_some() {
                let problem =
                    "a script is not sent to agents: leave [fleet] out, or use a workload of `plimsoll workloads`";
                return refuse(variant.at("workload.script"), problem);
            }
        }
        Ok(())
    }

    fn kind(&self, variant: &Variant) -> Result<(), PlanError> {
        let first = self.plan.variants.first().map_or("", |variant| &variant.workload.kind);
        if (variant.workload.is_storage()) != (first == IO) {
            let problem =
                "one plan cannot have both storage trials (kind = \"io\") and trials of a server; make it two";
            return refuse(variant.at("workload.kind"), problem);
        }
        if variant.workload.is_storage() { self.storage_trial(variant) } else { Ok(()) }
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
        let rules = &self.plan.trials;
        for (given, key) in [
            (rules.restore != Restore::None, "restore"),
            (rules.recovery, "recovery"),
            (rules.lenient, "lenient"),
            (rules.noisy_host, "noisy_host"),
            (rules.checksums, "checksums"),
            (!rules.allow.is_empty(), "allow"),
            (!matches!(rules.measure, Measure::Seconds(_)), "measure"),
        ] {
            if given {
                let what = "has no meaning for storage trials (kind = \"io\"), which have no server and no data";
                let instead = if key == "measure" { "measure a duration" } else { "leave it out" };
                return refuse(self.at(&format!("trials.{key}")), format!("trials.{key}: {what}; {instead}"));
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
                "`{key}` is for private servers, but `{}` has the target of line {line}: Plimsoll neither starts nor \
                 configures an external server; leave one of the two out",
                variant.name
            );
            return refuse(variant.at(key), problem);
        }
        let rules = &self.plan.trials;
        if rules.recovery {
            let problem = format!("recovery: it kills only private servers, but line {line} has a target");
            return refuse(self.at("trials.recovery"), problem);
        }
        if !matches!(rules.restore, Restore::None | Restore::Reload) {
            let at = self.lines.get("trials.restore").cloned().unwrap_or_else(|| variant.at("target"));
            let problem = format!(
                "the data of an external server (target, line {line}) are never copied or restored; accepted \
                 is restore = \"reload\" or \"none\" in [trials]"
            );
            return refuse(at, problem);
        }
        Ok(())
    }

    fn trials(&self) -> Result<(), PlanError> {
        match self.plan.trials_at_least() {
            ..=MOST_TRIALS => Ok(()),
            many => refuse(
                self.at("trials.rounds"),
                format!(
                    "variants, load points, rungs and rounds make {many} trials, but at most {MOST_TRIALS} are accepted; \
                     leave some out"
                ),
            ),
        }
    }

    /// Rounds that end when they have shown enough need something to compare, in pairs.
    fn stopping(&self) -> Result<(), PlanError> {
        let Some(stopping) = &self.plan.trials.stopping else { return Ok(()) };
        let LabPlan { variants, rungs, trials, .. } = self.plan;
        let seeks = |variant: &Variant| rungs.is_empty() && variant.load.find.is_some();
        let rounds = "rounds = \"auto\" goes on until comparisons are decided, but";
        let problem = if variants.iter().any(|variant| variant.workload.is_storage()) {
            format!("{rounds} storage trials (kind = \"io\") are not compared by rounds; accepted is a number")
        } else if variants.iter().any(seeks) {
            format!("{rounds} a search for a load line (find) decides itself how long it takes; accepted is a number")
        } else if variants.len() < 2 && rungs.is_empty() {
            format!("{rounds} one variant has none to be compared with; accepted is a number")
        } else if trials.order == Order::Sequential && rungs.is_empty() {
            format!(
                "{rounds} with order = \"sequential\" there is nothing to compare before the end; accepted is a number"
            )
        } else if stopping.max_seconds.is_some() && !rungs.is_empty() {
            let problem =
                "max_time cannot be kept by a ladder, whose rungs build on each other; accepted is max_rounds";
            return refuse(self.at("trials.max_time"), problem);
        } else if let Some(alone) = self.without_partner() {
            format!(
                "{rounds} no other variant does the same kind of work as `{}` at one of its load points; accepted is a number",
                alone.name
            )
        } else {
            return Ok(());
        };
        refuse(self.at("trials.rounds"), problem)
    }

    /// Faults happen to servers of ours that have one load, which can be told afterwards.
    fn crash(&self) -> Result<(), PlanError> {
        let LabPlan { variants, rungs, trials, crash: Some(rules), .. } = self.plan else { return Ok(()) };
        let problem = |key: &str, problem: String| refuse(self.at(key), format!("crash: {problem}"));
        if !rungs.is_empty() {
            return problem(
                "rung",
                "faults are compared between variants; accepted is [[variant]] in place of [[rung]]".into(),
            );
        }
        if trials.switchback.is_some() {
            return problem("trials.switchback", "each fault needs a server of its own; leave switchback out".into());
        }
        if !trials.restore.copies_for_each() {
            let problem_text = "each fault needs the same data; accepted is restore = \"snapshot\"".to_owned();
            return problem("trials.restore", problem_text);
        }
        for variant in variants {
            let Variant { name, workload, load, target, .. } = variant;
            let wrong = if target.is_some() {
                ("target", "only private servers are made to crash; leave target out".to_owned())
            } else if workload.script.is_some() || !COUNTED.contains(&workload.kind.as_str()) {
                let (found, accepted) = (workload.name(), COUNTED.join(" and "));
                ("workload.kind", format!("what {found} commits cannot be found again; accepted are {accepted}"))
            } else if rules.faults.contains(&FaultKind::Backup) && workload.kind != TOLD_APART {
                let found = workload.name();
                let problem =
                    format!("what {found} had committed when a backup began cannot be told; accepted is {TOLD_APART}");
                ("workload.kind", problem)
            } else if load.points.len() != 1 || load.find.is_some() {
                let found = load.points.len();
                ("load.connections", format!("`{name}` has {found} load points; accepted is one number of connections"))
            } else {
                continue;
            };
            return refuse(variant.at(wrong.0), format!("crash: {}", wrong.1));
        }
        Ok(())
    }

    /// A search is of one server of ours at one load point, and takes the place of rounds.
    fn tune(&self) -> Result<(), PlanError> {
        let LabPlan { variants, rungs, trials, tune: Some(rules), crash, .. } = self.plan else { return Ok(()) };
        let [variant] = &variants[..] else {
            return refuse(
                self.at("variant"),
                "tune: the settings of one server are searched; accepted is one variant",
            );
        };
        let Variant { workload, load, target, .. } = variant;
        let (key, problem) = if target.is_some() {
            ("target", "settings are tried on private servers alone; leave target out")
        } else if workload.is_storage() {
            ("workload.kind", "there is no server; accepted is a workload of one")
        } else if load.points.len() != 1 || load.find.is_some() {
            ("load.connections", "accepted is one load point")
        } else if !rungs.is_empty() {
            ("rung", "a search finds its changes itself; leave rungs out")
        } else if crash.is_some() {
            ("crash", "a search has no faults; give what it finds a plan of its own")
        } else if trials.stopping.is_some() || trials.switchback.is_some() {
            (
                "trials.rounds",
                "a search decides itself how often something is measured; leave rounds and switchback out",
            )
        } else if !trials.restore.copies_for_each() {
            ("trials.restore", "each trial needs the same data; accepted is restore = \"snapshot\"")
        } else if rules.objective == TuneObjective::LoadLine && rules.keep.is_none() {
            ("tune.objective", "the load line is the rate at which a limit holds; give keep, such as p99 < 20ms")
        } else if rules.line_within().is_some() && load.points[0].rate.is_some() {
            ("load.rate", "the search finds the rates itself; leave rate out")
        } else if rules.recovery_seconds.is_some() && !trials.recovery {
            ("tune.recovery", "it is measured with trials.recovery = true")
        } else {
            return Ok(());
        };
        let at = match (rungs.first(), variant.lines.get(key)) {
            (Some(rung), _) if key == "rung" => rung.at.clone(),
            (_, Some(at)) => at.clone(),
            (_, None) => self.at(key),
        };
        refuse(at, format!("tune: {problem}"))
    }

    /// A variant of a grid that nothing is compared with.
    fn without_partner(&self) -> Option<&Variant> {
        let variants: Vec<&Variant> = self.plan.variants.iter().collect();
        let compared: BTreeSet<usize> = pairs(&variants).into_iter().flatten().collect();
        let alone = (0..variants.len()).find(|place| self.plan.rungs.is_empty() && !compared.contains(place))?;
        self.plan.variants.get(alone)
    }

    /// A switchback flips what can be flipped, and needs rounds that end by themselves.
    fn switchback(&self) -> Result<(), PlanError> {
        let LabPlan { variants, trials, .. } = self.plan;
        let refused = |key: &str, problem: String| refuse(self.at(key), format!("trials.switchback: {problem}"));
        if trials.switchback.is_none() {
            return Ok(());
        }
        if trials.stopping.is_none() {
            return refused(
                "trials.switchback",
                "its blocks go on until they decide; accepted is rounds = \"auto\"".to_owned(),
            );
        }
        if !matches!(trials.restore, Restore::Once | Restore::Snapshot(_)) {
            let problem = "the data of a running server cannot be replaced; accepted are the copies, and \"once\"";
            return refused("trials.restore", problem.to_owned());
        }
        for (given, key) in
            [(trials.recovery, "recovery"), (trials.checksums, "checksums"), (trials.explain, "explain")]
        {
            if given {
                return refused(
                    &format!("trials.{key}"),
                    format!("`{key}` is for trials that start a server; leave it out"),
                );
            }
        }
        let is_taken =
            |variant: &&Variant| [FIRST, RESTARTED].iter().any(|word| variant.name.ends_with(&format!("/{word}")));
        if let Some(variant) = variants.iter().find(is_taken) {
            let problem = format!(
                "`{}`: {FIRST} and {RESTARTED} mean something else at the end of a name; rename it",
                variant.name
            );
            return refuse(variant.at("name"), format!("trials.switchback: {problem}"));
        }
        match self.obstacle_to_flips() {
            Some((at, problem)) => refuse(at, format!("trials.switchback: {problem}")),
            None => Ok(()),
        }
    }

    /// Variants all have to be made of each other on a running server; of rungs, those that cannot start a server for each
    /// trial, and one has to be left.
    fn obstacle_to_flips(&self) -> Option<(Where, String)> {
        let LabPlan { variants, rungs, .. } = self.plan;
        let (first, others) = variants.split_first()?;
        if rungs.is_empty() {
            return others.iter().find_map(|other| flip::obstacle(first, other));
        }
        let of_rung = |rung: &Rung| flip::obstacle(first, &first.with(&rung.name, &rung.change));
        let obstacles: Option<Vec<_>> = rungs.iter().map(of_rung).collect();
        obstacles?.into_iter().next()
    }

    fn data(&self, variant: &Variant) -> Result<(), PlanError> {
        let restore = &self.plan.trials.restore;
        if *restore == Restore::Snapshot(Some(Method::ImageClone)) {
            let why = match &variant.storage {
                Storage::Lane(_) if variant.layout.is_empty() => None,
                Storage::Lane(_) => Some("has a layout with files outside of it"),
                Storage::Home | Storage::Directory(_) => Some("uses none"),
            };
            if let Some(why) = why {
                let problem = format!("image-clone copies the image of a lane, but `{}` {why}", variant.name);
                return refuse(self.at("trials.restore"), problem);
            }
        }
        if variant.workload.dataset.is_some() {
            let problem = match restore {
                _ if variant.target.is_some() => "a saved dataset is for private servers, but the plan has a target",
                Restore::Reload => "a saved dataset is copied, but `restore` is \"reload\"; accepted is snapshot",
                _ => return Ok(()),
            };
            return refuse(variant.at("workload.dataset"), problem);
        }
        Ok(())
    }

    fn load(&self, variant: &Variant) -> Result<(), PlanError> {
        let open = self.plan.is_open_loop(variant);
        let rules = &self.plan.trials;
        let problem = match rules.measure {
            Measure::EventsPerConnection(_) if open => {
                "events_per_connection cannot go with rate or find: arrivals belong to no connection; accepted is a \
                 duration or { events = N }"
            }
            Measure::Events(_) if open && rules.warmup != WarmUp::Seconds(0.0) => {
                "with rate or find, events are counted from the start; accepted is a duration, or warmup = \"0s\""
            }
            _ => return Ok(()),
        };
        refuse(self.at("trials.measure"), format!("trials.measure: {problem}"))
    }

    fn ladder(&self) -> Result<(), PlanError> {
        let LabPlan { variants, rungs, trials: rules, .. } = self.plan;
        if rules.order == Order::Sequential {
            let problem = "order: a ladder compares in interleaved pairs; leave it out";
            return refuse(self.at("trials.order"), problem);
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
                    "{key}: a ladder compares with and without rung `{}` at the load points of [load] only; set it \
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

    /// A rung's `workload` and `load` are merged over the sections of these names, not over what a variant or an
    /// earlier rung makes of them; `set` is what that one, called `other`, sets.
    fn keeps_what_is_set(&self, rung: &Rung, other: &str, set: &BTreeMap<String, Where>) -> Result<(), PlanError> {
        // Without the document nobody knows which lines are those of the sections; it was asked when the file was read.
        if self.lines.is_empty() {
            return Ok(());
        }
        for section in ["workload", "load"] {
            let Some(here) = rung.change.lines.get(section) else { continue };
            let undone = |(key, at): &(&String, &Where)| {
                key.split_once('.').is_some_and(|(of, _)| of == section)
                    && self.lines.get(*key) != Some(*at)
                    && !rung.change.lines.contains_key(*key)
            };
            if let Some((key, at)) = set.iter().find(undone) {
                let problem = format!(
                    "rung `{}` would undo `{key}` of `{other}` (line {}); set it here, too",
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
                return problem(format!("a rung cannot be called `{}`: {words} mean something else", rung.name));
            }
            for variant in &self.plan.variants {
                let label = format!("{}/{}", variant.name, rung.name);
                if label.len() + "worth//without".len() > LONGEST_LABEL {
                    return problem(format!("the names in `{label}` are too long together"));
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
