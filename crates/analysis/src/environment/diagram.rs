//! The boxes of the environment's diagram.

use super::{Stored, last_part, network, on, variants};
use plimsoll_model::number::counted;
use plimsoll_plan::plan::FleetPlan;
use plimsoll_plan::{LabPlan, Target};
use plimsoll_record::read::RecordingView;
use plimsoll_report::subject::Diagram;
use plimsoll_storage::sheet::is_remote;

/// More boxes than these tell nothing that the table does not.
const MOST_BOXES: usize = 6;

/// Load generator, connection, server, and where its data lie. A server whose process was sampled is on this machine.
pub fn diagram(
    view: &RecordingView,
    lab: Option<&LabPlan>,
    servers: &[String],
    places: &[Stored],
    is_sampled: bool,
) -> Diagram {
    let target = target(view, lab);
    let storage = if target.is_some() { Vec::new() } else { places.iter().take(MOST_BOXES).map(stored).collect() };
    Diagram {
        client: client(view, lab),
        connection: connection(target.as_deref()),
        server: server(view, lab, servers, target.as_deref()),
        storage,
        storage_is_local: places.iter().all(is_local),
        same_machine: match fleet(view, lab) {
            // Agents reach a private server that does not listen from its own machine; where others are is not known.
            Some(fleet) => target.is_none() && fleet.listen.is_none(),
            None => target.is_none() || is_sampled,
        },
    }
}

fn fleet<'a>(view: &'a RecordingView, lab: Option<&'a LabPlan>) -> Option<&'a FleetPlan> {
    match lab {
        Some(plan) => plan.fleet.as_ref(),
        None => view.manifest.plan.run()?.fleet.as_ref(),
    }
}

/// The server that is not ours, if it is none.
fn target(view: &RecordingView, lab: Option<&LabPlan>) -> Option<String> {
    let of_run = || view.manifest.plan.run().map(|plan| plan.target.clone());
    let target = match lab {
        Some(plan) => plan.variants.first().and_then(|variant| variant.target.clone()),
        None => of_run(),
    };
    target.filter(|text| !text.starts_with("private"))
}

fn client(view: &RecordingView, lab: Option<&LabPlan>) -> Vec<String> {
    let loops = match lab.and_then(|plan| plan.variants.first()) {
        Some(variant) => variant.load.loops,
        None => view.manifest.plan.run().map_or(1, |plan| plan.loops),
    };
    let loops = counted(loops as f64, "loop thread");
    let loops = match fleet(view, lab) {
        Some(FleetPlan { agents: Some(agents), .. }) => format!("{} of {loops}", counted(*agents as f64, "load agent")),
        Some(_) => format!("load agents of {loops}"),
        None => loops,
    };
    let cpus = lab.and_then(|plan| plan.variants.first()?.client_cpus.as_ref());
    let mut lines = vec![format!("Plimsoll {}", view.manifest.tool_version), loops];
    lines.extend(cpus.map(|cpus| format!("CPUs {}", variants::listed(cpus))));
    lines
}

fn connection(target: Option<&str>) -> String {
    let by_socket = |text: &str| matches!(Target::parse(text), Ok(Target::External(url)) if url.socket.is_some());
    match target {
        Some(text) if !by_socket(text) => "TCP".to_owned(),
        _ => "Unix socket".to_owned(),
    }
}

fn server(view: &RecordingView, lab: Option<&LabPlan>, servers: &[String], target: Option<&str>) -> Vec<String> {
    let mut lines: Vec<String> = match servers {
        [] => vec!["server".to_owned()],
        [only] => vec![only.clone()],
        several => several.to_vec(),
    };
    lines.extend(target.map(str::to_owned));
    let pools =
        view.trials.iter().filter_map(|trial| trial.settings.get("innodb_buffer_pool_size")?.effective.as_ref());
    let mut pools: Vec<String> = pools.filter_map(|bytes| Some(mib(bytes.parse().ok()?))).collect();
    pools.sort();
    pools.dedup();
    lines.extend((!pools.is_empty()).then(|| format!("buffer pool {}", pools.join(", "))));
    let cpus = lab.and_then(|plan| match plan.variants.as_slice() {
        [only] => only.cpus.as_ref(),
        _ => None,
    });
    lines.extend(cpus.map(|cpus| format!("CPUs {}", variants::listed(cpus))));
    lines
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// Whether it is known to lie on this machine.
fn is_local(of: &Stored) -> bool {
    of.place.facts.as_ref().is_some_and(|facts| !is_remote(&facts.filesystem))
}

fn stored(of: &Stored) -> Vec<String> {
    let what = match (of.place.key.as_str(), of.variants.is_empty()) {
        ("datadir", true) => "data".to_owned(),
        ("datadir", false) => format!("data of {}", of.variants.join(", ")),
        (key, _) => key.trim_start_matches("layout.").to_owned(),
    };
    let mut lines = vec![what];
    lines.extend(of.place.lane.as_ref().map(|lane| format!("lane {lane}")));
    lines.extend(of.place.lane.as_deref().and_then(network).map(|spec| spec.transport.describe().to_owned()));
    if let Some(facts) = &of.place.facts {
        lines.push(on(facts));
        let block = facts.block.as_ref();
        lines.extend(
            block.and_then(|block| block.model.clone().or_else(|| Some(last_part(block.made_of.as_ref()?.as_ref())))),
        );
    }
    lines
}
