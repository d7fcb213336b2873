//! What a plan would do, without doing any of it: its trials in order, how long they take, how much disk they need, and
//! every setting with its origin.

use crate::error::LabError;
use crate::preflight::{Machine, Prepared, data_bytes, settings_anywhere};
use crate::storage_plan;
use plimsoll_measures::lab::Reach;
use plimsoll_model::durability::Class;
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_model::samples::Phase;
use plimsoll_plan::LabPlan;
use plimsoll_plan::knowledge::class;
use plimsoll_plan::lab::permission::{Ask, Asked, Given};
use plimsoll_plan::lab::space::SearchSpace;
use plimsoll_plan::lab::tune::TuneArm;
use plimsoll_plan::lab::{CrashRules, PlannedTrial, Restore, Rung, Storage, SwitchbackRule, TrialRules, Variant};
use plimsoll_schedule::rung::FEWEST_PAIRS;
use plimsoll_schedule::tune::AT_FIRST;
use plimsoll_schedule::{EndedTrial, Prospect, Prospects};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What ordinary storage handles in a second, bytes: by copying, and by loading with indexes. Both are guesses.
const COPIED_PER_SECOND: f64 = 300e6;
const LOADED_PER_SECOND: f64 = 10e6;
/// What a crash trial takes beyond its load: the fault, recovery, the look at what is left. A guess too.
const BEYOND_THE_LOAD: f64 = 8.0;

/// The result of `lab --dry-run`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DryRun {
    pub name: String,
    pub preset: Option<String>,
    pub seed: u64,
    pub estimate: PlanEstimate,
    /// In order: all, or only the first if later ones depend on their outcomes.
    pub trials: Vec<PlannedTrial>,
    /// Whether `trials` has all of them.
    pub complete: bool,
    pub variants: Vec<VariantPlan>,
    /// What a search may try; `null` without one, or if its server was not looked at.
    pub search: Option<SearchSpace>,
    /// What a search tries in any case.
    pub arms: Vec<TuneArm>,
    /// What its rounds would show, judging by a recording; `null` without one.
    pub reach: Option<Reach>,
    /// Everything that needs `--allow-commands` or a person, each with its line.
    pub actions: Vec<ActionPlan>,
}

/// Something to do outside of the database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActionPlan {
    /// `plan.toml, line 7`.
    pub origin: String,
    /// What it belongs to: the `before` of a variant, a collector.
    pub of: String,
    #[serde(flatten)]
    pub what: Ask,
}

/// About how much a plan takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanEstimate {
    /// An upper bound, if it depends on what trials find.
    pub trials: usize,
    /// All trials, and the datasets that are built before them.
    pub seconds: f64,
    /// One trial by phase; where variants differ, the mean over them. One of whichever there are most of: those that start a
    /// server and measure, blocks of a switchback, or faults.
    pub phases: Vec<(Phase, f64)>,
    /// Data directories and datasets on all storage paths together.
    pub bytes: u64,
}

/// One variant with everything that it sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantPlan {
    pub name: String,
    /// `mariadb 10.11.6 (/usr/sbin/mariadbd)`, or the URL of an external server.
    pub server: String,
    /// The directory or lane.
    pub storage: String,
    pub settings: Vec<SettingPlan>,
    /// Parts of the layout and limits, with their places in the plan.
    pub places: Vec<SettingPlan>,
    /// A line for every setting that no longer applies.
    pub notes: Vec<String>,
    pub rungs: Vec<RungPlan>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RungPlan {
    pub name: String,
    /// Why it will not be tried.
    pub refused: Option<String>,
    pub settings: Vec<SettingPlan>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingPlan {
    pub name: String,
    pub value: String,
    /// `plimsoll`, or `plan.toml, line 7`.
    pub origin: String,
    /// What the value costs, if it costs durability.
    pub class: Option<Class>,
}

/// What the plan would do, if the command line says what is `given`. `prospects` are those that [`Machine::check`]
/// of [`Machine::dry`] found.
///
/// # Errors
/// As [`Machine::prepare`].
pub fn dry_run(
    machine: &mut Machine<'_>,
    plan: &LabPlan,
    prospects: &Prospects,
    given: &Given,
) -> Result<DryRun, LabError> {
    let variants = plan.variants.iter().map(|variant| described(machine, plan, variant, prospects));
    let variants = variants.collect::<Result<Vec<_>, _>>()?;
    let (trials, complete) = trials(plan, prospects);
    Ok(DryRun {
        name: plan.name.clone(),
        preset: plan.preset.clone(),
        seed: plan.seed,
        estimate: estimate(plan, prospects)?,
        trials,
        complete,
        search: plan.tune.as_ref().and_then(|rules| rules.space.clone()),
        arms: plan.tune.iter().flat_map(|rules| rules.arms.clone()).collect(),
        reach: None,
        variants,
        actions: plan.asks(given).into_iter().map(action).collect(),
    })
}

fn action(Asked { at, of, what }: Asked) -> ActionPlan {
    ActionPlan { origin: at.to_string(), of, what }
}

/// About how many trials there are, and how long they take and how much disk.
///
/// # Errors
/// Those of the workloads' parameters.
pub fn estimate(plan: &LabPlan, prospects: &Prospects) -> Result<PlanEstimate, LabError> {
    let amount = plimsoll_schedule::of(plan, prospects).about();
    // Data by storage path, and each dataset once.
    let (mut places, mut datasets) = (BTreeMap::new(), BTreeMap::new());
    let mut measured = 0.0;
    for variant in &plan.variants {
        let (bytes, seconds) = work(&plan.trials, variant)?;
        measured += seconds / plan.variants.len() as f64;
        let place = places.entry(format!("{:?}", variant.storage)).or_insert(0);
        *place = bytes.max(*place);
        if kept(plan, variant) {
            datasets.insert(format!("{}{:?}{:?}", variant.build, variant.workload, variant.storage), bytes);
        }
    }
    let largest = places.values().copied().max().unwrap_or(0);
    let blocks = plan.trials.switchback.map(|rule| phases_of_a_block(&plan.trials, rule)).unwrap_or_default();
    let phases = phases(&plan.trials, largest, measured);
    let of_a_crash = plan.crash.as_ref().map(|rules| phases_of_a_crash(&phases, rules)).unwrap_or_default();
    let crashes: usize = plan.crash.iter().map(|rules| rules.faults.len() * rules.trials as usize).sum();
    let crashes = crashes * plan.variants.len();
    let measuring = amount.starts.saturating_sub(crashes);
    let kinds = [(phases, measuring), (blocks, amount.blocks), (of_a_crash, crashes)];
    let each = |phases: &[(Phase, f64)]| phases.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let seconds: f64 = kinds.iter().map(|(phases, count)| each(phases) * *count as f64).sum();
    let stored: u64 = datasets.values().sum();
    let most = kinds.into_iter().rev().max_by_key(|(_, count)| *count);
    Ok(PlanEstimate {
        trials: amount.trials(),
        seconds: seconds + stored as f64 / LOADED_PER_SECOND,
        phases: most.map(|(phases, _)| phases).unwrap_or_default(),
        bytes: places.values().sum::<u64>() + stored,
    })
}

/// Whether the variant starts from a dataset that is kept.
fn kept(plan: &LabPlan, variant: &Variant) -> bool {
    plan.trials.restore.copies() && variant.target.is_none() && variant.workload.kind != "io"
}

/// About how many bytes the data or files of a variant take, and how many seconds its measurement.
///
/// # Errors
/// Those of the workload's parameters.
fn work(rules: &TrialRules, variant: &Variant) -> Result<(u64, f64), LabError> {
    if variant.workload.kind == "io" {
        // Each probe of the evaluation, and the files that it prepares first.
        return Ok(plimsoll_evaluate::about(&storage_plan::plan(variant, 0, Path::new(""))?)?);
    }
    Ok((data_bytes(variant)?, rules.about_measured()))
}

/// How long each phase of a trial takes, seconds; the measurement takes `measured`.
fn phases(rules: &TrialRules, bytes: u64, measured: f64) -> Vec<(Phase, f64)> {
    let restore = match rules.restore {
        Restore::None => 0.0,
        Restore::Reload => bytes as f64 / LOADED_PER_SECOND,
        Restore::Once | Restore::Snapshot(_) | Restore::Commands(_) => bytes as f64 / COPIED_PER_SECOND,
    };
    vec![
        (Phase::Restore, restore),
        (Phase::Pause, (rules.pause_seconds - restore).max(0.0)),
        (Phase::Start, 2.0),
        (Phase::Verify, 1.0),
        (Phase::WarmUp, rules.about_warm_up()),
        (Phase::Measure, measured),
        (Phase::Drain, 1.0),
        (Phase::Collect, 1.0),
        (Phase::Stop, 2.0),
    ]
}

/// How long each phase of a crash trial takes, seconds, if these are those of a trial that measures.
fn phases_of_a_crash(measuring: &[(Phase, f64)], rules: &CrashRules) -> Vec<(Phase, f64)> {
    let as_there = |phase: &Phase| matches!(phase, Phase::Restore | Phase::Pause | Phase::Start | Phase::Verify);
    let before = measuring.iter().filter(|(phase, _)| as_there(phase)).copied();
    before.chain([(Phase::Recover, rules.load_seconds + BEYOND_THE_LOAD)]).collect()
}

/// How long each phase of a block of a switchback takes, seconds. The first alone restores the data and starts the server.
fn phases_of_a_block(rules: &TrialRules, switchback: SwitchbackRule) -> Vec<(Phase, f64)> {
    vec![
        (Phase::Pause, rules.pause_seconds),
        (Phase::Flip, 0.0),
        (Phase::Verify, 0.1),
        (Phase::WarmUp, switchback.washout_seconds),
        (Phase::Measure, switchback.block_seconds),
        (Phase::Drain, 0.1),
    ]
}

/// The trials that are known before any has ended, and whether these are all.
pub(super) fn trials(plan: &LabPlan, prospects: &Prospects) -> (Vec<PlannedTrial>, bool) {
    let mut schedule = plimsoll_schedule::of(plan, prospects);
    let mut trials = Vec::new();
    let rounds = match plan.trials.stopping {
        Some(_) => FEWEST_PAIRS,
        None => plan.trials.rounds as usize,
    };
    let points = |variants: &[Variant]| variants.iter().map(|variant| variant.load.points.len()).sum::<usize>();
    let turns = match (plan.rungs.is_empty(), plan.trials.stopping) {
        _ if plan.tune.is_some() => AT_FIRST,
        (true, None) => usize::MAX,
        (true, Some(_)) => rounds * points(&plan.variants),
        // A ladder begins with pairs of its base against itself, or with its first rung.
        (false, _) => 2 * rounds * points(&plan.variants[..1]),
    };
    let are_blocks = schedule.next().is_some_and(|first| first.block.is_some());
    let most = turns.saturating_mul(if are_blocks { 2 } else { 1 });
    while let Some(trial) = schedule.next() {
        let depends = trial.variant.load.find.is_some() || trials.len() + 1 >= most;
        trials.push(PlannedTrial::from(&trial));
        if depends {
            return (trials, false);
        }
        schedule.tell(EndedTrial { trial, outcome: TrialOutcome::new(TrialStatus::Done) });
    }
    (trials, true)
}

fn described(
    machine: &mut Machine<'_>,
    plan: &LabPlan,
    variant: &Variant,
    prospects: &Prospects,
) -> Result<VariantPlan, LabError> {
    let prepared = machine.prepare(variant)?;
    let server = match (&prepared.build, &variant.target) {
        (Some(build), _) => build.to_string(),
        (None, Some(target)) => target.clone(),
        (None, None) if variant.workload.kind == "io" => "none: this measures storage".to_owned(),
        (None, None) => format!("`{}`, not inspected", variant.build),
    };
    let rungs = plan.rungs.iter().map(|rung| {
        let prospect = prospects.get(&(variant.name.clone(), rung.name.clone()));
        rung_plan(&prepared, rung, prospect)
    });
    Ok(VariantPlan {
        name: variant.name.clone(),
        server,
        storage: match &variant.storage {
            Storage::Home => "Plimsoll's home".to_owned(),
            Storage::Directory(path) => path.display().to_string(),
            Storage::Lane(name) => format!("lane {name}"),
        },
        settings: settings(&prepared, variant)?,
        places: places(variant),
        rungs: rungs.collect(),
        notes: prepared.notes,
    })
}

fn settings(prepared: &Prepared, variant: &Variant) -> Result<Vec<SettingPlan>, LabError> {
    let plan = |name: &str, value: &str, origin: &str| setting(prepared, name, value, origin.to_owned());
    if prepared.build.is_none() {
        let asked = prepared.requested.iter();
        return Ok(asked.map(|asked| plan(&asked.name, &asked.value, &asked.at.to_string())).collect());
    }
    let settings = settings_anywhere(prepared, variant)?;
    Ok(settings.iter().map(|setting| plan(&setting.name, &setting.value, &setting.origin)).collect())
}

fn setting(prepared: &Prepared, name: &str, value: &str, origin: String) -> SettingPlan {
    let class = prepared.build.as_ref().map(|build| class(name, value, build.flavour));
    let class = class.filter(|class| class.costs_durability());
    SettingPlan { name: name.to_owned(), value: value.to_owned(), origin, class }
}

/// What a variant says besides settings: where files are stored, what the server is confined to.
fn places(variant: &Variant) -> Vec<SettingPlan> {
    let parts = variant.layout.parts().map(|(key, path)| (key, path.display().to_string()));
    let listed = |cpus: &Vec<usize>| cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let limits = [
        ("cpus", variant.cpus.as_ref().map(listed)),
        ("client_cpus", variant.client_cpus.as_ref().map(listed)),
        ("memory", variant.memory.map(|bytes| bytes.to_string())),
    ];
    let limits = limits.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    let env = variant.env.iter().map(|(name, value)| (format!("env.{name}"), value.clone()));
    let all = parts.chain(limits).chain(env);
    all.map(|(name, value)| SettingPlan { origin: variant.at(&name).to_string(), name, value, class: None }).collect()
}

fn rung_plan(prepared: &Prepared, rung: &Rung, prospect: Option<&Prospect>) -> RungPlan {
    let settings = rung.change.config.iter();
    let settings = settings.map(|asked| setting(prepared, &asked.name, &asked.value, asked.at.to_string()));
    let refused = match prospect {
        Some(Prospect::Removed(why)) => Some(format!("removed on this server: {why}")),
        Some(Prospect::Unsafe(why)) => Some(format!("refused for safety: {why}")),
        Some(Prospect::Possible) | None => None,
    };
    RungPlan { name: rung.name.clone(), refused, settings: settings.collect() }
}
