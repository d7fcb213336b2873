//! What is known of a side beside its numbers, and in what two sides differ.

use super::sides::Chosen;
use plimsoll_host::facts::HostFacts;
use plimsoll_model::comparison::{Difference, unlike_work};
use plimsoll_plan::Plan;
use plimsoll_plan::knowledge::durability::durability;
use plimsoll_record::RecordedSetting;
use plimsoll_record::read::{RecordingView, TrialView};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

const OF_THE_SERVER: [&str; 2] = ["version", "version_comment"];
/// Variables that differ from server to server, or from moment to moment, and set nothing.
const NOT_SETTINGS: [&str; 12] = [
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_executed",
    "gtid_slave_pos",
    "hostname",
    "last_gtid",
    "pseudo_thread_id",
    "server_id",
    "server_uid",
    "server_uuid",
    "timestamp",
];

/// What makes a machine another one, by name.
type Machine = [(&'static str, Option<String>); 5];

/// The values of each fact over all recordings of a side: one, if they are alike.
#[derive(Debug, Default)]
pub struct Facts {
    values: BTreeMap<String, BTreeSet<String>>,
    machines: BTreeSet<Machine>,
    /// Names in `values` of settings that decide what a commit survives.
    durability: BTreeSet<String>,
    /// Names in `values` of variables that nobody asked for: their differences tell something only between servers of one
    /// version.
    unasked: BTreeSet<String>,
}

impl Facts {
    pub fn of(chosen: &Chosen) -> Facts {
        let mut facts = Facts::default();
        for recording in &chosen.recordings {
            facts.add_manifest(recording);
            for trial in recording.trials.iter().filter(|trial| trial.facts.variant == chosen.variant) {
                facts.add_trial(trial);
            }
        }
        facts
    }

    fn add(&mut self, what: String, value: String) {
        self.values.entry(what).or_default().insert(value);
    }

    fn add_manifest(&mut self, recording: &RecordingView) {
        let manifest = &recording.manifest;
        self.add("plimsoll".to_owned(), manifest.tool_version.clone());
        for (name, value) in of_plan(&manifest.plan) {
            self.add(format!("run.{name}"), value);
        }
        for (name, value) in of_host(&manifest.host) {
            self.add(format!("host.{name}"), value);
        }
        self.machines.insert(manifest.host.of_the_machine());
    }

    fn add_trial(&mut self, trial: &TrialView) {
        for (name, value) in trial.facts.load().into_iter().flat_map(|load| &load.params) {
            self.add(format!("params.{name}"), shown(value));
        }
        let effective = |(name, setting): (&String, &RecordedSetting)| Some((name.clone(), setting.effective.clone()?));
        let variables: BTreeMap<String, String> = trial.settings.iter().filter_map(effective).collect();
        let durable = durability(&variables);
        for (name, value) in variables {
            let what = format!("settings.{name}");
            let asked = trial.settings.get(&name).is_some_and(|setting| setting.requested.is_some());
            if durable.contains_key(&name) {
                self.durability.insert(what.clone());
            } else if !asked && !OF_THE_SERVER.contains(&name.as_str()) {
                // Paths tell where a server is, which is its own affair.
                if value.starts_with(['/', '.']) || NOT_SETTINGS.contains(&name.as_str()) {
                    continue;
                }
                self.unasked.insert(what.clone());
            }
            self.add(what, value);
        }
    }

    /// True if all rounds of this side were measured on one machine.
    pub fn is_of_one_machine(&self) -> bool {
        self.machines.len() <= 1
    }

    /// What tells one machine from another.
    pub fn machines(&self) -> &BTreeSet<Machine> {
        &self.machines
    }

    /// In what the other side differs, by name.
    pub fn differences(&self, other: &Facts) -> Vec<Difference> {
        let one_version = OF_THE_SERVER.iter().all(|name| !self.differ(other, &format!("settings.{name}")));
        let names: BTreeSet<&String> = self.values.keys().chain(other.values.keys()).collect();
        let told = |what: &&String| one_version || !(self.unasked.contains(*what) || other.unasked.contains(*what));
        let differing = names.into_iter().filter(told).filter(|what| self.differ(other, what));
        let of = |facts: &Facts, what: &str| facts.values.get(what).map(joined);
        differing.map(|what| Difference { what: what.clone(), a: of(self, what), b: of(other, what) }).collect()
    }

    /// Parameters of the workload that are known of both sides and not the same: the two did not do the same work.
    pub fn unlike_work(&self, other: &Facts) -> Vec<Difference> {
        let of = |facts: &Facts| -> BTreeMap<String, String> {
            let own = facts.values.iter().filter_map(|(what, values)| Some((what.strip_prefix("params.")?, values)));
            own.map(|(name, values)| (name.to_owned(), joined(values))).collect()
        };
        unlike_work(&of(self), &of(other))
    }

    fn differ(&self, other: &Facts, what: &str) -> bool {
        self.values.get(what) != other.values.get(what)
    }

    /// The settings that decide what a commit survives and are not the same on the other side.
    pub fn unlike_durability(&self, other: &Facts) -> Vec<String> {
        let names = self.durability.union(&other.durability).filter(|what| self.differ(other, what));
        names.filter_map(|what| what.strip_prefix("settings.")).map(str::to_owned).collect()
    }

    /// Facts that changed between the rounds of this side: `params.tables was 1, 4`.
    pub fn mixed(&self) -> Vec<String> {
        let several = self.values.iter().filter(|(what, values)| values.len() > 1 && !self.unasked.contains(*what));
        several.map(|(what, values)| format!("{what} was {}", joined(values))).collect()
    }
}

fn joined(values: &BTreeSet<String>) -> String {
    values.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// What decides how a load reaches the server, by name; nothing of a storage evaluation, which has none.
fn of_plan(plan: &Plan) -> Vec<(&'static str, String)> {
    match plan {
        Plan::Run(plan) | Plan::Quickstart(plan) | Plan::Sysbench(plan) => vec![
            ("target", plan.target.clone()),
            ("arrivals", shown(&plan.arrivals)),
            ("warmup_seconds", shown(&plan.warmup_seconds)),
            ("measure", shown(&plan.measure)),
            ("loops", shown(&plan.loops)),
            ("protocol", plan.protocol.clone()),
        ],
        Plan::Lab(plan) => vec![
            ("restore", shown(&plan.trials.restore)),
            ("warmup", shown(&plan.trials.warmup)),
            ("measure", shown(&plan.trials.measure)),
            ("pause_seconds", shown(&plan.trials.pause_seconds)),
        ],
        Plan::Storage(_) => Vec::new(),
    }
}

/// The machine, its system and where its data lie, by name, as far as they are known.
fn of_host(host: &HostFacts) -> Vec<(&'static str, String)> {
    let storage = host.storage.as_ref();
    let of_the_system = [
        ("os", host.os.clone()),
        ("kernel", Some(host.kernel.clone())),
        ("storage.filesystem", storage.map(|storage| storage.filesystem.clone())),
        ("storage.device", storage.and_then(|storage| storage.device.clone())),
        ("storage.options", storage.map(|storage| shown(&storage.options))),
    ];
    let all = host.of_the_machine().into_iter().chain(of_the_system);
    all.filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Text without quotation marks, everything else as JSON.
fn shown(value: &impl Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}
