//! What a recording calls for: advice for the load point of it that carried most, of those that nothing disturbed.

use crate::error::AnalysisError;
use crate::run::{self, CarriedPoint};
use crate::trial::{self, effective, observed};
use crate::unfinished::asked;
use plimsoll_advice::window::judge;
use plimsoll_advice::window::seen::{SeenContext, SeenMachine, SeenServer};
use plimsoll_diagnosis::{Observed, diagnose};
use plimsoll_host::facts::{HostFacts, StorageFacts};
use plimsoll_model::Flavour;
use plimsoll_model::advice::Advice;
use plimsoll_plan::Plan;
use plimsoll_plan::knowledge::Release;
use plimsoll_record::RecordError;
use plimsoll_record::read::{RecordingView, TrialView};

/// What to do about the server of a recording; `asked_for` is what whoever asks has said, to which its machine is added.
///
/// # Errors
/// [`AnalysisError::Refused`] if nothing was measured on a server, [`AnalysisError::Record`] if what was sampled cannot be
/// read.
pub fn advice(view: &RecordingView, asked_for: &SeenContext) -> Result<Advice, AnalysisError> {
    let name = &view.manifest.name;
    let mut missing = Vec::new();
    let worth = |of: &CarriedPoint| (!of.point.is_disturbed(), of.per_second);
    let more = |best, other| if worth(&best) < worth(&other) { other } else { best };
    let most = carried(view, &mut missing)?.into_iter().reduce(more);
    let nothing = || {
        let why = [vec![format!("{name}: nothing was measured that advice could be taken from")], missing.clone()];
        AnalysisError::Refused(why.concat().join("; "))
    };
    let CarriedPoint { trial, point, .. } = most.ok_or_else(nothing)?;
    let (settings, series) = (effective(trial), trial.series()?);
    // Samples of the server's process are taken on its own machine only.
    let machine = if series.server.is_empty() { None } else { Some(machine_of(view, trial)) };
    let context = SeenContext { machine, recovered_seconds: recovered(trial), ..asked_for.clone() };
    let mut advice = advice_of(&format!("{name}, {}", asked(trial)), &observed(&series, &point, &settings), context)?;
    if point.is_disturbed() {
        let why =
            "what it calls for on a quiet machine: other work took part of this one at all load points; run it again";
        advice.unseen.push(why.to_owned());
    }
    advice.unseen.extend(missing);
    Ok(advice)
}

/// What was measured, as the report of the recording has it; what cannot be read is told to `missing`.
fn carried<'a>(view: &'a RecordingView, missing: &mut Vec<String>) -> Result<Vec<CarriedPoint<'a>>, RecordError> {
    Ok(match &view.manifest.plan {
        Plan::Run(plan) | Plan::Quickstart(plan) | Plan::Sysbench(plan) => run::carried(view, plan, missing)?,
        Plan::Lab(_) => {
            let point = |trial| {
                let point = trial::readable(trial::point(trial), missing)?;
                let per_second = point.transactions_per_second;
                Some(CarriedPoint { trial, point, per_second })
            };
            view.trials.iter().filter_map(point).collect()
        }
        Plan::Storage(_) => Vec::new(),
    })
}

/// What was observed of a server calls for; `about` says what was observed.
///
/// # Errors
/// [`AnalysisError::Refused`] if the server's settings are not known.
pub fn advice_of(about: &str, observed: &Observed<'_>, context: SeenContext) -> Result<Advice, AnalysisError> {
    let version = observed.settings.get("version").ok_or_else(|| {
        let why = format!("{about}: the server’s settings were not recorded, and without them there is no advice");
        AnalysisError::Refused(why)
    })?;
    let release = Release::of(Flavour::from_version_text(version), version);
    let seen = SeenServer::of(observed, &diagnose(observed), release, context);
    Ok(judge(&format!("{about} on {release}"), &seen))
}

/// How long its server took to answer after a crash, seconds.
fn recovered(trial: &TrialView) -> Option<f64> {
    Some(trial.outcome.as_ref()?.recovery.as_ref()?.seconds)
}

/// The machine of a trial's server, which is that of the recording.
fn machine_of(view: &RecordingView, trial: &TrialView) -> SeenMachine {
    let host = &view.manifest.host;
    let places = trial.facts.load().map(|load| &load.surroundings.storage[..]).unwrap_or_default();
    let storage = match places.iter().find(|place| place.key == "datadir") {
        // What lies below the image of a lane is not what the server writes to.
        Some(place) if place.lane.is_some() => None,
        Some(place) => place.facts.as_ref(),
        None => host.storage.as_ref(),
    };
    machine(host, storage)
}

/// What rules may look at of a machine and of the storage below the server's data.
pub fn machine(host: &HostFacts, storage: Option<&StorageFacts>) -> SeenMachine {
    let block = storage.and_then(|storage| storage.block.as_ref());
    SeenMachine {
        numa_nodes: host.processors.numa_nodes,
        governors: host.processors.governors.clone(),
        transparent_huge_pages: host.huge_pages.transparent.clone(),
        filesystem: storage.map(|storage| storage.filesystem.clone()),
        mount_options: storage.map(|storage| storage.options.clone()).unwrap_or_default(),
        device: block.map(|block| block.name.clone()),
        rotational: block.and_then(|block| block.rotational),
        scheduler: block.and_then(|block| block.scheduler.clone()),
        read_ahead_bytes: block.and_then(|block| block.read_ahead_bytes),
    }
}
