//! Plans in recordings: what no file could have said is refused there too.
//!
//! Anybody may have written a recording. Each value that ends up in a path, a statement, an option file or an
//! allocation passes the reader that reads it from a plan file.

use super::value::{DocumentValue, Kind};
use super::{change, check, config, crash, sizes, trials};
use crate::error::PlanError;
use crate::lab::{CrashRules, LabPlan, Load, Setting, StoppingRule, Storage, TrialRules, Variant, WarmUp, Where};
use crate::plan::Measure;
use std::collections::BTreeMap;
use std::path::Path;

/// A month, as for plan files.
const LONGEST_SECONDS: f64 = 30.0 * 86_400.0;

/// Holds the plan of a recording against what a file can say.
///
/// # Errors
/// As [`super::read`] for one that no file could have made.
pub fn recorded(plan: LabPlan) -> Result<LabPlan, PlanError> {
    let at = Where { file: plan.file.clone(), line: 1 };
    let name = |what: &str, at: &Where, name: &str| text(what, at, name).name();
    name("name", &at, &plan.name)?;
    for variant in &plan.variants {
        name("variant.name", &variant.at("name"), &variant.name)?;
    }
    for rung in &plan.rungs {
        name("rung.name", &rung.at, &rung.name)?;
    }
    for collector in &plan.collectors {
        name("collector.name", &collector.at, &collector.name)?;
        in_range("collector.every", &collector.at, collector.every_seconds, 1.0)?;
    }
    let is_again = plan.crash.as_ref().is_some_and(|rules| rules.again.is_some());
    of_trials(&plan.trials, is_again, &at)?;
    plan.crash.as_ref().map(|rules| of_crash(rules, &at)).transpose()?;
    sizes::check_counts(&at, plan.variants.len(), plan.rungs.len())?;
    sizes::check_settings(&at, &plan.variants, &plan.rungs)?;
    for variant in &plan.variants {
        of_variant(variant)?;
        for rung in &plan.rungs {
            of_variant(&variant.with(&variant.name, &rung.change))?;
        }
    }
    check::check(&plan, &BTreeMap::new())?;
    Ok(plan)
}

fn text(name: &str, at: &Where, text: &str) -> DocumentValue {
    DocumentValue { name: name.to_owned(), at: at.clone(), kind: Kind::Text(text.to_owned()) }
}

fn table<'t>(name: &str, at: &Where, entries: impl Iterator<Item = (&'t str, &'t str)>) -> DocumentValue {
    let entries = entries.map(|(key, value)| (key.to_owned(), text(&format!("{name}.{key}"), at, value)));
    DocumentValue { name: name.to_owned(), at: at.clone(), kind: Kind::Table(entries.collect()) }
}

fn path(path: &Path) -> &str {
    // No file could have said what is not UTF-8, and no reader accepts it.
    path.to_str().unwrap_or_default()
}

fn in_range(name: &str, at: &Where, seconds: f64, least: f64) -> Result<(), PlanError> {
    match (least..=LONGEST_SECONDS).contains(&seconds) {
        true => Ok(()),
        false => Err(text(name, at, &seconds.to_string()).refuse("a duration of at most 720h")),
    }
}

/// `is_again`: a fault is done again, and beside it there is nothing to measure.
fn of_trials(rules: &TrialRules, is_again: bool, at: &Where) -> Result<(), PlanError> {
    in_range("trials.pause", at, rules.pause_seconds, 0.0)?;
    if let WarmUp::Seconds(seconds) = rules.warmup {
        in_range("trials.warmup", at, seconds, 0.0)?;
    }
    if let Measure::Seconds(seconds) = rules.measure {
        in_range("trials.measure", at, seconds, f64::MIN_POSITIVE)?;
    }
    if let Some(StoppingRule { decide, max_seconds, .. }) = rules.stopping {
        in_range("trials.max_time", at, max_seconds.unwrap_or(1.0), f64::MIN_POSITIVE)?;
        if !(decide > 0.0 && decide < 1.0) {
            return Err(text("trials.decide", at, &decide.to_string()).refuse("a share above 0 and below 1"));
        }
    }
    match trials::ROUNDS_ACCEPTED.contains(&u64::from(rules.rounds)) || is_again && rules.rounds == 0 {
        true => Ok(()),
        false => Err(text("trials.rounds", at, &rules.rounds.to_string()).refuse("1 to 1000")),
    }
}

fn of_crash(rules: &CrashRules, at: &Where) -> Result<(), PlanError> {
    let CrashRules { faults, trials, load_seconds, keep: _, again } = rules;
    let value = |name: &str, kind| DocumentValue { name: format!("crash.{name}"), at: at.clone(), kind };
    let faults = faults.iter().map(|fault| text("crash.faults", at, fault.name())).collect();
    let fields = [("faults", Kind::List(faults)), ("trials", Kind::Integer((*trials).into()))];
    let fields = fields.map(|(name, kind)| (name.to_owned(), value(name, kind)));
    crash::rules(&DocumentValue { name: "crash".to_owned(), at: at.clone(), kind: Kind::Table(fields.into()) })?;
    if !(f64::MIN_POSITIVE..=crash::LONGEST_LOAD_SECONDS).contains(load_seconds) {
        return Err(text("crash.load", at, &load_seconds.to_string()).refuse("a duration of at most 20m"));
    }
    again.map_or(Ok(()), |fault| in_range("crash.again.after_seconds", at, fault.after_seconds, 0.0))
}

fn of_variant(variant: &Variant) -> Result<(), PlanError> {
    let at = |key: &str| variant.at(key);
    change::build(&text("build", &at("build"), &variant.build))?;
    if let Some(target) = &variant.target {
        change::target(&text("target", &at("target"), target))?;
    }
    if let Storage::Directory(directory) = &variant.storage {
        change::path(&text("datadir", &at("datadir"), path(directory)))?;
    }
    let directories = variant.layout.directories().map(|(key, directory)| (key, path(directory)));
    change::layout(&table("layout", &at("layout"), directories))?;
    let tables = variant.layout.tables.iter().map(|(key, directory)| (key.as_str(), path(directory)));
    change::tables(&table("layout.tables", &at("layout"), tables))?;
    let env = variant.env.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    change::environment(&table("env", &at("env"), env))?;
    for Setting { name, value, at, from_file } in &variant.config {
        let value_of = text(&format!("config.{name}"), at, value);
        match from_file {
            true => config::check_form(name, value, &value_of)?,
            false => config::check(name, name, value, &value_of)?,
        }
    }
    for (key, cpus) in [("cpus", &variant.cpus), ("client_cpus", &variant.client_cpus)] {
        let listed = cpus.as_ref().map(|cpus| cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(","));
        listed.map(|listed| change::cpus(&text(key, &at(key), &listed))).transpose()?;
    }
    of_load(&variant.load, &at("load"))
}

fn of_load(load: &Load, at: &Where) -> Result<(), PlanError> {
    in_range("load.outage_limit", at, load.outage_limit_seconds, 0.0)?;
    let is_fair = |rate: Option<f64>| rate.is_none_or(|rate| rate > 0.0 && rate <= 1e7);
    let points = load.points.iter().all(|point| (1..=100_000).contains(&point.connections) && is_fair(point.rate));
    match points && (1..=256).contains(&load.loops) {
        true => Ok(()),
        false => Err(text("load", at, "…").refuse("1 to 100000 connections, rates up to 10000000, 1 to 256 loops")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{PlannedFault, file};
    use plimsoll_model::FaultKind;
    use serde_json::Value as Json;

    const MEASURED: &str = "name = \"a\"\nworkload.kind = \"tpcc\"\n[server]\nconfig.key_buffer_size = 8\nenv.TZ = \"UTC\"\n\
                            layout = { redo = \"./r\", tables = { stock = \"/s\" } }\ncpus = [1]\n[[variant]]\nname = \"v\"\n\
                            [[rung]]\nname = \"r\"\nmemory = \"1G\"\n[[collector]]\nname = \"c\"\ncommand = \"x\"\n";
    const CRASHING: &str = "name = \"a\"\nworkload.kind = \"ledger\"\nload.connections = [8]\n[crash]\n";

    fn planned(text: &str) -> LabPlan {
        file::read("p", text, file::PlanChoices::of_seed(1), &|_| Err(String::new())).expect("a plan")
    }

    /// What is said about this plan with this value in this place.
    fn tampered(plan: LabPlan, pointer: &str, value: Json) -> String {
        let mut json = serde_json::to_value(&plan).expect("a plan");
        assert_eq!(recorded(plan.clone()), Ok(plan), "what a file has said is accepted");
        *json.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
        let plan = serde_json::from_value(json).expect("a plan");
        recorded(plan).map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
    }

    #[test]
    fn what_no_file_could_say_is_refused() {
        for (pointer, value, words) in [
            ("/name", "../../x\n".into(), "a name of up to 80"),
            ("/variants/0/name", "".into(), "a name of up to 80"),
            ("/rungs/0/name", "A B".into(), "a name of up to 80"),
            ("/collectors/0/name", "/etc/x".into(), "a name of up to 80"),
            ("/collectors/0/every_seconds", 0.into(), "a duration"),
            ("/variants/0/build", "mysqld".into(), "the path of a server binary"),
            ("/variants/0/target", "private:/x".into(), "target"),
            ("/variants/0/layout/redo", "./../../x".into(), "./NAME"),
            ("/variants/0/layout/tables", serde_json::json!({ "a`b": "/x" }), "a table name has"),
            ("/variants/0/storage", serde_json::json!({ "directory": "x" }), "an absolute path"),
            ("/variants/0/env", serde_json::json!({ "A=B": "x" }), "the name of an environment variable"),
            ("/variants/0/config/0/name", "x]\n[client".into(), "the name of a setting"),
            ("/variants/0/config/0/value", "1\nplugin_load=x".into(), "one line of text"),
            ("/variants/0/config/0/name", "socket".into(), "leave it out"),
            ("/variants/0/cpus", serde_json::json!([99_999]), "a list of CPUs"),
            ("/variants/0/load/loops", 100_000.into(), "256 loops"),
            ("/variants/0/load/points/0/connections", 0.into(), "connections"),
            ("/trials/rounds", 4_000_000_000_u32.into(), "1 to 1000"),
            ("/trials/pause_seconds", 1e300.into(), "a duration"),
        ] {
            let said = tampered(planned(MEASURED), pointer, value);
            assert!(said.contains(words), "{pointer}: {said}");
        }
    }

    #[test]
    fn rungs_that_set_load_or_workload_are_accepted() {
        let text = "name = \"a\"\n[workload]\nkind = \"tpcc\"\nscale = 2\n[load]\nconnections = [8]\nloops = 2\n[[rung]]\n\
                    name = \"r\"\nload.protocol = \"text\"\n[[rung]]\nname = \"s\"\nworkload.profile = \"dbt2\"\n";
        let plan = planned(text);
        assert_eq!(recorded(plan.clone()), Ok(plan.clone()));
        let fleet = planned(&format!("{text}[fleet]\nbroker = \"nats://127.0.0.1:4222\"\n")).fleet.expect("a fleet");
        assert!(file::by_agents(plan, fleet).is_ok());
    }

    #[test]
    fn a_fault_that_is_done_again_has_no_rounds() {
        let plan = planned(CRASHING);
        let fault = PlannedFault {
            kind: FaultKind::Power,
            seed: 1,
            after_seconds: 2.5,
            after_commits: Some(100),
            load_seed: Some(2),
        };
        let rules = CrashRules { faults: vec![fault.kind], again: Some(fault), ..plan.crash.clone().expect("faults") };
        let trials = TrialRules { rounds: 0, ..plan.trials.clone() };
        let again = LabPlan { trials: trials.clone(), crash: Some(rules), ..plan.clone() };
        assert_eq!(recorded(again.clone()), Ok(again.clone()));
        let refused = recorded(LabPlan { trials, ..plan.clone() }).expect_err("nothing is done").to_string();
        assert!(refused.contains("1 to 1000"), "{refused}");
        for (plan, pointer, value, words) in [
            (&plan, "/crash/trials", 4_000_000_000_u32.into(), "1 to 10000"),
            (&plan, "/crash/faults", serde_json::json!([]), "crash.faults"),
            (&plan, "/crash/faults", serde_json::json!(["kill", "kill"]), "named twice"),
            (&plan, "/crash/load_seconds", 1e300.into(), "a duration"),
            (&again, "/crash/again/after_seconds", (-1).into(), "a duration"),
        ] {
            let said = tampered(plan.clone(), pointer, value);
            assert!(said.contains(words), "{pointer}: {said}");
        }
    }
}
