//! The image of a lane as it was at some moment: kept beside the lane, and restored.
//!
//! To do that, the lane is unmounted and detached, and assembled again on the same loop device. Meanwhile its journal
//! does not say that it is up: after a kill it is a lane that was left behind, which `plimsoll clean` removes with all
//! of its images. A clone of the image shares its blocks if the file system below supports that; otherwise it is a
//! sparse copy.

use super::journal::{self, LaneJournal, LaneState};
use super::site::Site;
use super::spec::Spec;
use super::{Lane, Lanes, build, loops, mounts, not_up, tool};
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_host::replace::rename;
use rustix::fs::ioctl_ficlone;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How often Plimsoll tries to get a loop device back, and how long it waits in between.
const ATTEMPTS: u32 = 20;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

impl Lanes {
    /// The lanes among which this one is.
    pub fn with(lane: &Lane) -> Option<Lanes> {
        // `<home>/lanes/<name>/mount`.
        lane.directory.ancestors().nth(3).map(Lanes::of)
    }

    /// Whether this lane has an image that can be kept and restored: one that a loop device reads without a server
    /// between.
    pub fn has_image(&self, lane: &Lane) -> bool {
        Spec::parse(&lane.name).is_ok_and(|spec| spec.has_image())
    }

    /// Whether a clone of its image shares blocks with it and so takes no time. This is tried out.
    pub fn clones_at_once(&self, lane: &Lane) -> bool {
        let Ok((site, _)) = self.imaged(lane) else { return false };
        let trial = site.root().join("clone-trial");
        let cloned = File::open(site.image()).and_then(|image| Ok(ioctl_ficlone(File::create(&trial)?, image)?));
        // What a kill leaves behind is removed with the lane.
        let _ = fs::remove_file(&trial);
        cloned.is_ok()
    }

    /// Whether there is an image of this name with this note.
    pub fn keeps(&self, lane: &Lane, name: &str, note: &str) -> bool {
        let Ok((site, _)) = self.imaged(lane) else { return false };
        kept(&site, name).is_file() && fs::read_to_string(noted(&site, name)).is_ok_and(|found| found == note)
    }

    /// Keeps the lane's current image under a name of letters and digits, with a note of what is on it, and replaces an
    /// earlier one. Nothing may be open on the lane.
    ///
    /// # Errors
    /// [`LaneError::Refused`] for a lane without an image, or one that is not up; [`LaneError::Environment`] while it
    /// is in use; then it is unchanged.
    pub fn keep(&self, lane: &Lane, name: &str, note: &str) -> Result<(), LaneError> {
        self.apart(lane, |site| {
            // An image without a note does not count.
            let written = noted(site, name);
            fs::write(&written, "").during("write", &written)?;
            clone(site, &site.image(), &kept(site, name))?;
            fs::write(&written, note).during("write", &written)
        })
    }

    /// Sets the lane back to the image of this name; what was written since is gone. Nothing may be open on the lane.
    ///
    /// # Errors
    /// As [`Lanes::keep`].
    pub fn put_back(&self, lane: &Lane, name: &str) -> Result<(), LaneError> {
        self.apart(lane, |site| clone(site, &kept(site, name), &site.image()))
    }

    fn imaged(&self, lane: &Lane) -> Result<(Site, Spec), LaneError> {
        let spec = Spec::parse(&lane.name)?;
        match spec.has_image() {
            true => Ok((Site::of(&self.root, &spec), spec)),
            false => Err(LaneError::Refused(format!(
                "the lane {} has no image of its own to clone; only ext4, xfs and btrfs without a network, delay=, \
                 error=, cache= and nbd= have one",
                lane.name
            ))),
        }
    }

    /// Does `work` while the lane is unmounted and detached, and assembles it again whatever the result.
    fn apart(&self, lane: &Lane, work: impl FnOnce(&Site) -> Result<(), LaneError>) -> Result<(), LaneError> {
        let (site, spec) = self.imaged(lane)?;
        let _lock = site.lock()?;
        let LaneState::Up(lane) = journal::state(&site)? else { return Err(not_up(&spec)) };
        let Some(device) = lane.device.clone() else { return Err(not_up(&spec)) };
        let source = format!("/dev/{device}");
        let mut journal = LaneJournal::reopen(&site)?;
        if let Err(busy) = mounts::unmount(&site.mount(), &source) {
            journal.up(&lane)?;
            return Err(busy);
        }
        loops::detach(&site.image())?;
        let worked = work(&site);
        let together = attach(&device, &site.image(), spec.sector)
            .and_then(|()| build::mount(&site, &spec, &source))
            .and_then(|()| journal.up(&lane));
        worked.and(together)
    }
}

fn kept(site: &Site, name: &str) -> PathBuf {
    site.root().join(format!("kept-{name}.img"))
}

fn noted(site: &Site, name: &str) -> PathBuf {
    site.root().join(format!("kept-{name}.note"))
}

/// Attaches the image to the same device as before, which limits and the journal name. A program that looks for a free
/// device may have it for a moment.
fn attach(device: &str, image: &Path, sector: Option<u64>) -> Result<(), LaneError> {
    let mut arguments = vec!["--direct-io=on".to_owned()];
    arguments.extend(sector.map(|bytes| format!("--sector-size={bytes}")));
    arguments.extend([format!("/dev/{device}"), image.display().to_string()]);
    let mut attached = tool::run("losetup", &arguments);
    for _ in 1..ATTEMPTS {
        if attached.is_err() {
            thread::sleep(BETWEEN_ATTEMPTS);
            // The first error says why.
            attached = tool::run("losetup", &arguments).or(attached);
        }
    }
    attached?;
    match loops::is_direct(device) {
        true => Ok(()),
        false => Err(LaneError::Environment(format!("/dev/{device} has lost direct I/O to {}", image.display()))),
    }
}

/// Makes `to` a clone of `from`, on disk, in one step.
fn clone(site: &Site, from: &Path, to: &Path) -> Result<(), LaneError> {
    let new = site.half_clone();
    let words = ["--reflink=auto".as_ref(), "--sparse=always".as_ref(), from.as_os_str(), new.as_os_str()];
    let cloned = tool::run("cp", &words)
        .and_then(|_| File::open(&new).and_then(|file| file.sync_all()).during("write to disk", &new))
        .and_then(|()| rename(&new, to).during("replace", to));
    if cloned.is_err() {
        // The disk may be full; otherwise it is removed with the lane.
        let _ = fs::remove_file(&new);
    }
    cloned
}
