//! Restores by cloning the whole image of a lane.
//!
//! The first time, the data are copied on the lane and its image is kept; from then on the image is put back. Whatever
//! else is on the lane goes back with it. So this is only done on a lane that a lab has built for itself, and an image
//! is only used while the same datasets and servers are there as when it was kept; otherwise it is made again.

use super::TrialDirectories;
use super::copy::copy;
use crate::DataError;
use plimsoll_lanes::{Lane, Lanes};
use plimsoll_plan::lab::Layout;
use plimsoll_server::snapshot::digest;
use plimsoll_server::snapshot::store::Stored;
use plimsoll_server::snapshot::tree::Way;
use plimsoll_watch::{Event, Watcher};
use serde_json::json;
use std::fs;
use std::path::Path;

/// Below this many bytes, copying is faster than unmounting and mounting.
const WORTH_IT: u64 = 256 << 20;
/// How deep datasets and servers are below the mount point of a lane: `plimsoll-…/datasets/ID`.
const DEPTH: usize = 3;
/// Digits of an image's name.
const DIGITS: usize = 16;

/// Whether the image may be cloned and that costs less than copying the files: if its blocks are shared. It cannot be
/// unmounted while another trial directory is on it.
pub(super) fn pays(directories: &TrialDirectories, stored: &Stored, layout: &Layout) -> bool {
    let Some((lanes, lane)) = directories.lane.as_ref().and_then(|lane| Some((Lanes::with(lane)?, lane))) else {
        return false;
    };
    let alone = fs::read_dir(directories.data.home().servers()).is_ok_and(|servers| servers.count() == 1);
    alone
        && directories.lane_is_ours
        && layout.is_empty()
        && stored.description.bytes >= WORTH_IT
        && lanes.clones_at_once(lane)
}

/// Puts the dataset into the trial directory by cloning the lane's image, which holds both. Returns bytes.
///
/// # Errors
/// [`DataError::Refused`] if there is no such image; [`DataError::Environment`] if the lane is in use.
pub(super) fn restore(
    directories: &TrialDirectories,
    stored: &Stored,
    layout: &Layout,
    watcher: &mut dyn Watcher,
) -> Result<u64, DataError> {
    let refuse = |why: &str| Err(DataError::Refused(format!("restore = \"image-clone\": {why}")));
    let Some((lanes, lane)) = directories.lane.as_ref().and_then(|lane| Some((Lanes::with(lane)?, lane))) else {
        return refuse("the data are not on a lane; use \"copy\", or name a lane");
    };
    if !directories.lane_is_ours {
        return refuse(&format!(
            "the lane {0} was up before, and whatever else is on it would be set back to an earlier state; use \
             \"copy\", or take it down first (`plimsoll lane down {0}`), so that the lab builds one for itself",
            lane.name
        ));
    }
    if !layout.is_empty() {
        return refuse("the layout puts files outside the image; leave out the layout, or use \"copy\"");
    }
    if !lanes.has_image(lane) {
        return refuse(
            "the lane has no image of its own; use ext4, xfs or btrfs without delay=, error=, cache= and nbd=",
        );
    }
    let (name, note) = (name_of(directories, stored), contents(lane));
    let is_kept = lanes.keeps(lane, &name, &note);
    let bytes = match is_kept {
        true => stored.description.bytes,
        false => copy(directories, stored, layout, Way::Copy, watcher)?,
    };
    watcher.tell(Event::Doing("cloning the image of the lane"));
    let clone = || match is_kept {
        true => lanes.put_back(lane, &name),
        false => lanes.keep(lane, &name, &note),
    };
    directories.data.let_go_while("plimsoll lab", || clone().map_err(DataError::from))?;
    Ok(bytes)
}

/// An image belongs to a dataset in a trial directory. A new dataset may have the name of a removed one.
fn name_of(directories: &TrialDirectories, stored: &Stored) -> String {
    let (dataset, directory) = (stored.directory.display(), directories.data.directory().path().display());
    let all = format!("{dataset}\n{directory}\n{}", json!(stored.description));
    digest::of_text(&all)[..DIGITS].to_owned()
}

/// The datasets and servers on the lane, one per line.
fn contents(lane: &Lane) -> String {
    let mut names = Vec::new();
    names_below(&lane.directory, DEPTH, &mut names);
    names.sort();
    names.join("\n")
}

fn names_below(directory: &Path, depth: usize, names: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten().filter(|_| depth > 0) {
        names.push(entry.path().display().to_string());
        names_below(&entry.path(), depth - 1, names);
    }
}
