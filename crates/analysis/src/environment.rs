//! Where it was measured: machine, server, storage, and what sets variants apart.

mod diagram;
mod variants;

use crate::trial;
use plimsoll_host::facts::{BlockFacts, HostFacts, StorageFacts};
use plimsoll_lanes::spec::Spec;
use plimsoll_model::Flavour;
use plimsoll_plan::LabPlan;
use plimsoll_record::read::{RecordingView, TrialView};
use plimsoll_record::surroundings::Place;
use plimsoll_report::subject::{Environment, Subject, Trial};
use std::path::Path;

const GIB: f64 = (1u64 << 30) as f64;

/// What is recorded of where it was measured. A fact that nobody wrote down is left out.
pub fn environment(view: &RecordingView, lab: Option<&LabPlan>, subject: &Subject, trials: &[Trial]) -> Environment {
    let host = &view.manifest.host;
    let places = places(view, host);
    let servers = servers(view, subject);
    // Samples of the server's process are taken on its own machine only.
    let is_sampled = trials.iter().any(|trial| trial.point.as_ref().is_some_and(|point| point.server.is_some()));
    let mut facts: Vec<(String, String)> = servers.iter().map(|server| fact("Server", server)).collect();
    facts.extend(machine(host));
    facts.extend(places.iter().flat_map(storage));
    facts.push(fact("Load generator", format!("Plimsoll {}", view.manifest.tool_version)));
    Environment {
        facts,
        described: lab.map(described).unwrap_or_default(),
        variants: lab.map(variants::variants).unwrap_or_default(),
        diagram: diagram::diagram(view, lab, &servers, &places, is_sampled),
    }
}

fn fact(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

/// Flavour and version of each server, once: what the running one told, else what its binary did.
fn servers(view: &RecordingView, subject: &Subject) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for trial in &view.trials {
        let told = trial.settings.get("version").and_then(|setting| setting.effective.clone());
        let build = || trial.facts.load()?.surroundings.build.as_ref();
        let version = told.or_else(|| build().map(|build| build.version.clone()));
        found.extend(version.map(|version| format!("{} {version}", Flavour::from_version_text(&version).title())));
    }
    if let Subject::Run(summary) = subject {
        found.push(summary.target.title());
    }
    let mut once: Vec<String> = Vec::new();
    found.into_iter().for_each(|server| {
        if !once.contains(&server) {
            once.push(server)
        }
    });
    once
}

fn machine(host: &HostFacts) -> Vec<(String, String)> {
    let model = host.cpu_model.as_deref().unwrap_or("of an unknown model");
    let mut facts = vec![
        fact("CPUs", format!("{} × {model}{}", host.cpus, topology(host))),
        fact("Memory", format!("{:.1} GiB", host.memory_bytes as f64 / GIB)),
        fact("Operating system", host.os.as_deref().unwrap_or("unknown")),
        fact("Kernel", format!("{}, {}", host.kernel, host.machine)),
    ];
    facts.extend(host.processors.virtualisation.as_ref().map(|what| fact("Virtual machine", what)));
    let governors = &host.processors.governors;
    facts.extend((!governors.is_empty()).then(|| fact("CPU frequency", governors.join(", "))));
    facts
}

/// ` (1 socket, 4 cores, 8 threads)`, as far as it is known.
fn topology(host: &HostFacts) -> String {
    let counted = |count: Option<usize>, what: &str| {
        count.map(|count| format!("{count} {what}{}", if count == 1 { "" } else { "s" }))
    };
    let of = &host.processors;
    let known = [counted(of.sockets, "socket"), counted(of.cores, "core"), counted(of.threads, "thread")];
    let known: Vec<String> = known.into_iter().flatten().collect();
    if known.is_empty() { String::new() } else { format!(" ({})", known.join(", ")) }
}

/// A path that data go to, and the variants whose data go there.
#[derive(Clone, Debug, PartialEq)]
struct Stored {
    place: Place,
    /// None where those of all go there.
    variants: Vec<String>,
}

/// The paths of all trials, those that are alike once; else what the manifest says of the home.
fn places(view: &RecordingView, host: &HostFacts) -> Vec<Stored> {
    let mut all: Vec<Stored> = Vec::new();
    for trial in &view.trials {
        let variant = trial::base(trial).to_owned();
        for place in of_trial(trial) {
            match all.iter_mut().find(|known| known.place == place) {
                Some(known) if known.variants.contains(&variant) => {}
                Some(known) => known.variants.push(variant.clone()),
                None => all.push(Stored { place, variants: vec![variant.clone()] }),
            }
        }
    }
    let keys: Vec<String> = all.iter().map(|of| of.place.key.clone()).collect();
    for of in &mut all {
        // One path for all variants is nobody's own.
        if keys.iter().filter(|key| **key == of.place.key).count() == 1 {
            of.variants.clear();
        }
    }
    if all.is_empty() {
        let facts = host.storage.clone();
        let place = Place { key: "datadir".to_owned(), lane: None, facts };
        all.extend(place.facts.is_some().then_some(Stored { place, variants: Vec::new() }));
    }
    all
}

fn of_trial(trial: &TrialView) -> Vec<Place> {
    trial.facts.load().map(|load| load.surroundings.storage.clone()).unwrap_or_default()
}

/// File system, mount and device of a path.
fn storage(of: &Stored) -> Vec<(String, String)> {
    let Some(facts) = &of.place.facts else { return Vec::new() };
    let name = |what: &str| match (of.place.key.as_str(), of.variants.is_empty()) {
        ("datadir", true) => what.to_owned(),
        ("datadir", false) => format!("{what} of {}", of.variants.join(", ")),
        (key, _) => format!("{what} of {key}"),
    };
    let lane = of.place.lane.as_ref().map(|lane| format!("lane {lane}, its image on ")).unwrap_or_default();
    let mut told = vec![
        fact(&name("Storage"), format!("{lane}{}", on(facts))),
        fact(&name("Mount"), format!("{} ({})", facts.mount_point.display(), facts.options.join(","))),
    ];
    told.extend(facts.block.as_ref().map(|block| fact(&name("Device"), device(block))));
    told.extend(of.place.lane.as_deref().and_then(network).map(|spec| fact(&name("Network storage"), sides(&spec))));
    told
}

/// What a lane of this name is, if it lies on a network.
fn network(lane: &str) -> Option<Spec> {
    Spec::parse(lane).ok().filter(Spec::is_network)
}

/// `a device over iSCSI: tgt and QEMU's initiator; XFS on the client's side; …`.
fn sides(spec: &Spec) -> String {
    let side = if spec.has_device() { "client" } else { "storage server" };
    format!(
        "{}; {} on the {side}’s side; storage server and client on this machine, over a virtual network within it \
         (loopback)",
        spec.transport.describe(),
        spec.kind.name()
    )
}

/// `ext4 on /dev/vda1`.
fn on(facts: &StorageFacts) -> String {
    format!("{} on {}", facts.filesystem, facts.device.as_deref().unwrap_or("an unknown device"))
}

/// `vda: 40.0 GiB, does not turn, scheduler none, write cache write back`.
fn device(block: &BlockFacts) -> String {
    let parts = [
        block.model.clone(),
        block.made_of.clone(),
        block.bytes.map(|bytes| format!("{:.1} GiB", bytes as f64 / GIB)),
        block.rotational.map(|turns| if turns { "rotational" } else { "not rotational" }.to_owned()),
        block.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
        block.write_cache.as_ref().map(|cache| format!("write cache {cache}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}: {}", block.name, parts.join(", "))
}

/// What the plan describes, by name.
fn described(plan: &LabPlan) -> Vec<(String, String)> {
    plan.described.clone().into_iter().collect()
}

/// The last part of a path, where there is one.
fn last_part(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
