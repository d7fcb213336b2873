//! What sets the variants of a plan apart.

use plimsoll_model::load_point::list_in_words;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Action, Storage, Variant};
use std::collections::{BTreeMap, BTreeSet};

const MIB: u64 = 1 << 20;

/// By variant: its name, and those of its values that are not the same for all. Nothing of a plan with one.
pub fn variants(plan: &LabPlan) -> Vec<(String, Vec<(String, String)>)> {
    let all: Vec<BTreeMap<String, String>> = plan.variants.iter().map(values).collect();
    if all.len() < 2 {
        return Vec::new();
    }
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let differs = |name: &&&String| all.iter().any(|of| of.get(**name) != all[0].get(**name));
    let differing: Vec<&String> = names.iter().filter(differs).copied().collect();
    let apart = |of: &BTreeMap<String, String>| {
        let value = |name: &&String| of.get(*name).cloned().unwrap_or_else(|| "not set".to_owned());
        differing.iter().map(|name| ((*name).clone(), value(name))).collect()
    };
    plan.variants.iter().zip(&all).map(|(variant, of)| (variant.name.clone(), apart(of))).collect()
}

/// Everything that a variant may set, in words.
fn values(variant: &Variant) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut add = |name: &str, value: String| drop(all.insert(name.to_owned(), value));
    match &variant.target {
        Some(target) => add("target", target.clone()),
        None => add("server", variant.build.clone()),
    }
    variant.config.iter().for_each(|setting| add(&setting.name, setting.value.clone()));
    add("data", stored(&variant.storage));
    variant.layout.parts().for_each(|(key, path)| add(&key, path.display().to_string()));
    variant.env.iter().for_each(|(name, value)| add(&format!("environment {name}"), value.clone()));
    if let Some(cpus) = &variant.cpus {
        add("CPUs of the server", listed(cpus));
    }
    if let Some(cpus) = &variant.client_cpus {
        add("CPUs of the load generator", listed(cpus));
    }
    if let Some(memory) = variant.memory {
        add("memory", format!("{} MiB", memory / MIB));
    }
    add("workload", variant.workload.name());
    variant.workload.params.iter().for_each(|(name, value)| add(&format!("parameter {name}"), value.clone()));
    add("load points", list_in_words(&variant.load.points));
    for (name, actions) in [("before", &variant.before), ("after", &variant.after)] {
        if !actions.is_empty() {
            add(name, actions.iter().map(action).collect::<Vec<_>>().join("; "));
        }
    }
    all
}

fn stored(storage: &Storage) -> String {
    match storage {
        Storage::Home => "below Plimsoll’s home".to_owned(),
        Storage::Directory(path) => path.display().to_string(),
        Storage::Lane(lane) => format!("lane {lane}"),
    }
}

fn action(action: &Action) -> String {
    match action {
        Action::Command(command) => command.clone(),
        Action::Prompt(text) => format!("by hand: {text}"),
    }
}

/// `2 (0, 1)`.
pub fn listed(cpus: &[usize]) -> String {
    let numbers: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    format!("{} ({})", cpus.len(), numbers.join(", "))
}
