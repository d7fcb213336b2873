//! Plan files: TOML in, a [`LabPlan`] out, or the first mistake with its line.
//!
//! The sections, their keys, and in brackets the default of a key that is not given:
//!
//! - at the top: `name`; `title`, `source`.
//! - `[server]`: `build` (`auto`), `config_file`, `config`, `datadir` or `lane` (Plimsoll's home), `layout`, `cpus`,
//!   `client_cpus`, `memory`, `env`, `before`, `after`; or `target` with the last two and `client_cpus`.
//! - `[workload]`: `kind`; `seed` of the data (1), `dataset`; everything else is a parameter.
//! - `[load]`: `connections` (16), `rate` or `find`, `arrivals` (`poisson`), `loops` (1), `protocol` (the workload's),
//!   `ignore_errors`, `outage_limit` (`30s`).
//! - `[trials]`: `restore` (`snapshot`), `warmup` (`10s`), `measure` (`30s`), `pause` (`0s`), `rounds` (3) or `rounds = "auto"` with
//!   `decide` (`2%`), `max_rounds` (40) and `max_time` (none), `order` (`interleaved`), `switchback`, `recovery`,
//!   `lenient`, `noisy_host` and `checksums` (false), `washout` (`1s`, with a switchback), `explain` (true without one), `allow` (no class), `seed` (the caller's).
//! - `[crash]`: `faults` (`["kill", "power"]`), `trials` of each (20), `load` (`4s`), in whose second half a fault comes, `keep` (false) the data of trials that lose something.
//! - `[tune]`: `time`; `objective` (`nopm`), `keep`, `recovery` (no limit), `decide` (`3%`), `settings` or `top` (12), `sampler` (`learning`).
//! - `[fleet]`: `broker`; `agents` (all that are there), `tolerate_lost` (0), `listen` (no address), where private servers are reached.
//! - `[[variant]]` and `[[rung]]`: `name`; what `[server]` has; `workload` and `load`, merged over the sections of these
//!   names. A plan without variants has one, called `base`.
//! - `[[collector]]`: `name`, `command`; `every` (`1s`).
//! - `[described]`: any keys.
//! - `[[published]]`: `metric`; one of `value`, `values`, `range`, `ordering` and `text`; `limit`, `id`, `place`, `unit`,
//!   `variant`, `rung`, `workload`, `probe`, `connections`, `cpus`, `kind` (`printed`), `note`.
//! - `[chosen]`: what the source does not print, and what was chosen instead and why.
//! - `[preset.NAME]`: the same sections, merged over the plan's: tables key by key, variants and rungs by name, other
//!   lists as a whole.

mod change;
mod check;
mod config;
mod crash;
pub mod draft;
mod fleet;
mod load;
pub mod needs;
mod preset;
mod published;
mod reading;
mod recorded;
mod sizes;
mod trials;
mod tune;
mod value;
mod workload;

use super::{Collector, LabPlan, Layout, Restore, Rung, Storage, Variant, Where};
use crate::error::PlanError;
use crate::plan::FleetPlan;
use change::Base;
use config::Files;
pub use load::objective;
use plimsoll_model::LoadPoint;
use published::PublishedNames;
use reading::TableFields;
pub use recorded::recorded;
use serde_json::Value as Json;
use std::collections::BTreeMap;
pub use tune::searched_setting;
use value::{DocumentValue, Kind};
pub(super) use workload::IO;

const SECTIONS: [&str; 17] = [
    "name",
    "title",
    "source",
    "server",
    "workload",
    "load",
    "trials",
    "crash",
    "tune",
    "fleet",
    "variant",
    "rung",
    "collector",
    "described",
    "published",
    "chosen",
    "preset",
];
/// The variant of a plan that names none.
const BASE: &str = "base";
const EVERY_SECONDS: f64 = 1.0;

/// What the command line says of a plan in place of its file.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanChoices<'a> {
    pub preset: Option<&'a str>,
    /// `auto`, or a number.
    pub rounds: Option<&'a str>,
    /// Used if the plan has none.
    pub seed: u64,
}

impl PlanChoices<'_> {
    /// Everything else as the plan has it.
    pub fn of_seed(seed: u64) -> PlanChoices<'static> {
        PlanChoices { preset: None, rounds: None, seed }
    }
}

/// Reads a plan file. `files` returns the text of a `config_file` that it names, as written there, or why it cannot be
/// read. Presets that are not chosen are read, too, so that their mistakes show
/// now rather than when somebody wants them.
///
/// # Errors
/// [`PlanError::File`] for the first mistake: its file and line, what was found and what is accepted.
pub fn read(
    name: &str,
    text: &str,
    choices: PlanChoices<'_>,
    files: &dyn Fn(&str) -> Result<String, String>,
) -> Result<LabPlan, PlanError> {
    let PlanChoices { preset, rounds, seed } = choices;
    let mut document = value::parse(name, text)?;
    let files = &Files::of(files);
    let presets = preset::take(&mut document)?;
    let mut wanted = match preset {
        Some(wanted) => preset::merged(&document, preset::find(&presets, wanted, &document)?)?,
        None => document.clone(),
    };
    if let Some(rounds) = rounds {
        trials::set_rounds(&mut wanted, rounds);
    }
    let read = plan(&wanted, seed, files)?;
    for (_, other) in presets.iter().filter(|(name, _)| Some(name.as_str()) != preset) {
        plan(&preset::merged(&document, other)?, seed, files)?;
    }
    Ok(LabPlan { preset: preset.map(str::to_owned), ..read })
}

/// The same plan with its load made by these agents, in place of those of `[fleet]`; its servers listen where they did.
///
/// # Errors
/// [`PlanError::File`] if it has what agents cannot make.
pub fn by_agents(plan: LabPlan, fleet: FleetPlan) -> Result<LabPlan, PlanError> {
    let listen = fleet.listen.clone().or_else(|| plan.fleet.as_ref()?.listen.clone());
    let plan = LabPlan { fleet: Some(FleetPlan { listen, ..fleet }), ..plan };
    check::check(&plan, &BTreeMap::new())?;
    Ok(plan)
}

fn plan(document: &DocumentValue, seed: u64, files: &Files<'_>) -> Result<LabPlan, PlanError> {
    let sections = document.fields(&SECTIONS)?;
    let section =
        |name| sections.get(name).cloned().unwrap_or_else(|| DocumentValue::nothing(name, document.at.clone()));
    let base = Base { workload: &section("workload"), load: &section("load"), files };
    let lines = change::lines(document);
    sizes::check(document, &lines)?;
    let variants = variants(&sections, &base, &lines)?;
    let rungs = rungs(&sections, &base)?;
    sizes::check_settings(&document.at, &variants, &rungs)?;
    let restore = match variants.iter().any(|variant| variant.workload.is_storage()) {
        true => Restore::None,
        false => Restore::Snapshot(None),
    };
    let (rules, own_seed) = trials::rules(&section("trials"), restore)?;
    let names = PublishedNames {
        variants: variants.iter().map(|variant| variant.name.as_str()).collect(),
        rungs: rungs.iter().map(|rung| rung.name.as_str()).collect(),
    };
    let published = sections.read("published", |value| value.some_of(|one| names.published(one)))?;
    let plan = LabPlan {
        name: sections.need("name", "what its recordings are called", DocumentValue::name)?,
        title: sections.text("title")?,
        source: sections.text("source")?,
        preset: None,
        server: None,
        file: document.at.file.clone(),
        seed: own_seed.unwrap_or(seed),
        trials: rules,
        crash: sections.read("crash", crash::rules)?,
        tune: sections.read("tune", tune::rules)?,
        fleet: sections.read("fleet", fleet::fleet)?,
        published: published.unwrap_or_default(),
        variants,
        rungs,
        collectors: collectors(&sections)?,
        described: sections.read("described", described)?.unwrap_or_default(),
        chosen: sections.read("chosen", published::chosen)?.unwrap_or_default(),
    };
    check::check(&plan, &lines)?;
    Ok(plan)
}

/// `[server]`, `[workload]` and `[load]` with each of the variants on top.
fn variants(
    sections: &TableFields<'_>,
    base: &Base<'_>,
    lines: &BTreeMap<String, Where>,
) -> Result<Vec<Variant>, PlanError> {
    let of_base =
        |key: &str| ["server", "workload", "load", "trials"].contains(&key.split('.').next().unwrap_or_default());
    let server = sections.read("server", |value| base.server(value))?.unwrap_or_default();
    let common = Variant {
        name: BASE.to_owned(),
        build: "auto".to_owned(),
        target: None,
        config: Vec::new(),
        storage: Storage::Home,
        layout: Layout::default(),
        cpus: None,
        client_cpus: None,
        memory: None,
        env: BTreeMap::new(),
        workload: workload::workload(base.workload)?,
        load: load::load(base.load)?,
        before: Vec::new(),
        after: Vec::new(),
        lines: lines.iter().filter(|(key, _)| of_base(key)).map(|(key, at)| (key.clone(), at.clone())).collect(),
    }
    .with(BASE, &server);
    let named = |value: &DocumentValue| base.named(value).map(|(name, change)| common.with(&name, &change));
    let mut variants = sections.read("variant", |value| value.some_of(named))?.unwrap_or_else(|| vec![common.clone()]);
    unique("variant", variants.iter().map(|variant| (variant.name.as_str(), variant.at("name"))))?;
    for variant in variants.iter_mut().filter(|variant| variant.workload.is_storage()) {
        // There are no connections: it is measured once.
        variant.load.points = vec![LoadPoint::closed(1)];
    }
    Ok(variants)
}

fn rungs(sections: &TableFields<'_>, base: &Base<'_>) -> Result<Vec<Rung>, PlanError> {
    let rung = |value: &DocumentValue| {
        let (name, change) = base.named(value)?;
        match change.lines.len() {
            // Only its name.
            1 => Err(value.problem("the rung changes nothing; accepted is whatever a variant may set")),
            _ => Ok(Rung { name, at: value.at.clone(), change }),
        }
    };
    let rungs = sections.read("rung", |value| value.some_of(rung))?.unwrap_or_default();
    unique("rung", rungs.iter().map(|rung| (rung.name.as_str(), rung.at.clone())))?;
    Ok(rungs)
}

fn collectors(sections: &TableFields<'_>) -> Result<Vec<Collector>, PlanError> {
    let collector = |value: &DocumentValue| {
        let fields = value.fields(&["name", "command", "every"])?;
        let every_seconds = fields.read("every", |value| match value.seconds()? {
            seconds if seconds >= 1.0 => Ok(seconds),
            _ => Err(value.refuse("a duration of at least 1s")),
        })?;
        Ok(Collector {
            name: fields.need("name", "what its series is called", DocumentValue::name)?,
            command: fields
                .need("command", "a command that prints a number", |value| value.text().map(str::to_owned))?,
            every_seconds: every_seconds.unwrap_or(EVERY_SECONDS),
            at: value.at.clone(),
        })
    };
    let collectors = sections.read("collector", |value| value.some_of(collector))?.unwrap_or_default();
    unique("collector", collectors.iter().map(|collector| (collector.name.as_str(), collector.at.clone())))?;
    Ok(collectors)
}

fn unique<'n>(what: &str, names: impl Iterator<Item = (&'n str, Where)>) -> Result<(), PlanError> {
    let mut known = BTreeMap::new();
    for (name, at) in names {
        if let Some(first) = known.insert(name, at.line) {
            let problem = format!("line {first} already has a {what} `{name}`; each needs a name of its own");
            return Err(PlanError::File { at, problem });
        }
    }
    Ok(())
}

fn described(value: &DocumentValue) -> Result<BTreeMap<String, String>, PlanError> {
    value.entries()?.iter().map(|(key, value)| Ok((key.clone(), text(json(value)?)))).collect()
}

/// Text as it is, everything else as JSON.
fn text(value: Json) -> String {
    match value {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

fn json(value: &DocumentValue) -> Result<Json, PlanError> {
    match &value.kind {
        Kind::Text(text) | Kind::Date(text) => Ok(Json::from(text.as_str())),
        Kind::Integer(integer) => match i64::try_from(*integer) {
            Ok(integer) => Ok(Json::from(integer)),
            Err(_) => Err(value.refuse("a number of up to 64 bits")),
        },
        Kind::Float(_) => value.number().map(Json::from),
        Kind::Truth(truth) => Ok(Json::from(*truth)),
        Kind::List(list) => list.iter().map(json).collect::<Result<Vec<_>, _>>().map(Json::from),
        Kind::Table(entries) => entries.iter().map(|(key, value)| Ok((key.clone(), json(value)?))).collect(),
    }
}
