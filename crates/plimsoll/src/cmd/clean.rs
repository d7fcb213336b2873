//! `plimsoll clean`: removes what an interrupted run left behind.

use super::fleet::at_work;
use super::{DONE, ENVIRONMENT};
use crate::args::CleanArgs;
use crate::terminal;
use plimsoll_fleet::own::OwnPlace;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lab::own_lanes;
use plimsoll_lanes::Lanes;
use plimsoll_model::number::counted;
use plimsoll_server::registry;
use plimsoll_storage::place;

pub fn run(_args: CleanArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    Lanes::of(home.path()).reunite();
    let fleet = OwnPlace::of(home.path());
    let (of_fleet, fleet_left) = end_unused(&fleet, &home);
    let mut servers = registry::clean(&home);
    let (files, unremoved) = place::clean(home.path()).map_err(LabError::from)?;
    let (of_labs, in_use) = own_lanes::clean(home.path())?;
    let (lanes, standing) = Lanes::of(home.path()).clean().map_err(LabError::from)?;
    if !(of_labs.is_empty() && lanes.is_empty()) {
        // Servers and places on these lanes went with them, and so did what kept them from being cleaned.
        let rest = registry::clean(&home);
        servers.cleaned.extend(rest.cleaned);
        servers.left = rest.left;
    }
    let mut cleaned: Vec<String> = of_fleet;
    cleaned.extend(servers.cleaned.iter().map(ToString::to_string));
    cleaned.extend(files.iter().map(|path| format!("removed {}", path.display())));
    cleaned.extend(of_labs.iter().map(|name| format!("took down the lane {name}, which a lab had built")));
    cleaned.extend(lanes.iter().map(|name| format!("took down what was left of the lane {name}")));
    let mut left: Vec<String> = fleet_left.into_iter().collect();
    left.extend(servers.left.iter().map(ToString::to_string));
    left.extend(unremoved.iter().map(ToString::to_string));
    left.extend(standing.iter().map(ToString::to_string));
    left.extend(in_use.iter().map(ToString::to_string));
    cleaned.iter().try_for_each(|done| terminal::result(done))?;
    left.iter().for_each(|why| terminal::note(&format!("left alone: {why}")));
    if cleaned.is_empty() && left.is_empty() {
        terminal::note("nothing to clean");
    }
    let kept = fleet.kept();
    if kept > 0 {
        terminal::note(&format!(
            "what agents told of {} is kept in {}; what no lab that is resumed needs can be removed",
            counted(kept as f64, "load"),
            fleet.spools().display()
        ));
    }
    Ok(if left.is_empty() { DONE } else { ENVIRONMENT })
}

/// Ends our own fleet unless it is needed: what was ended, and why it was left alone.
fn end_unused(fleet: &OwnPlace, home: &Home) -> (Vec<String>, Option<String>) {
    match at_work(fleet, home) {
        Ok(Some(needed)) => (Vec::new(), Some(needed)),
        Ok(None) => match fleet.end() {
            Ok(ended) => (ended, None),
            Err(error) => (Vec::new(), Some(format!("a fleet: {error}"))),
        },
        Err(error) => (Vec::new(), Some(format!("a fleet: {error}"))),
    }
}
