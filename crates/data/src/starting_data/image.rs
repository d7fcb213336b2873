//! Restoring by a clone of the whole image of a lane.
//!
//! The first time the data are copied on the lane, and its image is kept; from then on it is put back. What is on the
//! lane beside the data of the rig goes back with it. So this is only done on a lane that a lab has built for itself,
//! and an image is only used while the same datasets and servers are there as when it was kept; otherwise it is made
//! anew.

use super::Rigs;
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

/// Copying less is faster than unmounting and mounting, bytes.
const WORTH_IT: u64 = 256 << 20;
/// How deep datasets and servers lie below the mount of a lane: `plimsoll-…/datasets/ID`.
const DEPTH: usize = 3;
/// Digits of an image's name.
const DIGITS: usize = 16;

/// Whether cloning the image may be done and costs less than copying the files: when its blocks are shared. It cannot
/// be unmounted while another rig lies on it.
pub(super) fn pays(rigs: &Rigs, stored: &Stored, layout: &Layout) -> bool {
    let Some((lanes, lane)) = rigs.lane.as_ref().and_then(|lane| Some((Lanes::with(lane)?, lane))) else {
        return false;
    };
    let alone = fs::read_dir(rigs.data.home().servers()).is_ok_and(|servers| servers.count() == 1);
    alone
        && rigs.lane_is_ours
        && layout.is_empty()
        && stored.description.bytes >= WORTH_IT
        && lanes.clones_at_once(lane)
}

/// Puts the dataset into the rig with the lane's image, in which both lie. Bytes.
///
/// # Errors
/// [`DataError::Refused`] where there is no such image; [`DataError::Environment`] if the lane is in use.
pub(super) fn restore(
    rigs: &Rigs,
    stored: &Stored,
    layout: &Layout,
    watcher: &mut dyn Watcher,
) -> Result<u64, DataError> {
    let refuse = |why: &str| Err(DataError::Refused(format!("restore = \"image-clone\": {why}")));
    let Some((lanes, lane)) = rigs.lane.as_ref().and_then(|lane| Some((Lanes::with(lane)?, lane))) else {
        return refuse("the data lie on no lane; use \"copy\", or name a lane");
    };
    if !rigs.lane_is_ours {
        return refuse(&format!(
            "the lane {0} was up before, and whatever else is on it would go back to an earlier state; use \"copy\", \
             or take it down first (`plimsoll lane down {0}`), so that the lab builds one for itself",
            lane.name
        ));
    }
    if !layout.is_empty() {
        return refuse("the layout has files that are not on the image; leave it out, or use \"copy\"");
    }
    if !lanes.has_image(lane) {
        return refuse(
            "the lane has no image of its own; use ext4, xfs or btrfs without delay=, error=, cache= and nbd=",
        );
    }
    let (name, note) = (name_of(rigs, stored), contents(lane));
    let is_kept = lanes.keeps(lane, &name, &note);
    let bytes = match is_kept {
        true => stored.description.bytes,
        false => copy(rigs, stored, layout, Way::Copy, watcher)?,
    };
    watcher.tell(Event::Doing("cloning the image of the lane"));
    let clone = || match is_kept {
        true => lanes.put_back(lane, &name),
        false => lanes.keep(lane, &name, &note),
    };
    rigs.data.let_go_while("plimsoll lab", || clone().map_err(DataError::from))?;
    Ok(bytes)
}

/// An image is that of a dataset in a rig. Another dataset may have got the name of one that was removed.
fn name_of(rigs: &Rigs, stored: &Stored) -> String {
    let (dataset, rig) = (stored.directory.display(), rigs.data.directory().path().display());
    let all = format!("{dataset}\n{rig}\n{}", json!(stored.description));
    digest::of_text(&all)[..DIGITS].to_owned()
}

/// Which datasets and servers there are on the lane, one a line.
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
