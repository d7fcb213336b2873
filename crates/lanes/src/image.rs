//! The image of a lane as it was at some moment: kept beside the lane, and put back.
//!
//! For that the lane is taken apart, unmounted and detached, and put together again on the same loop device. Meanwhile
//! its journal does not say that it is up: killed then, it is a lane that was left behind, which `plimsoll clean`
//! removes with all of its images. A clone of the image shares its blocks where the file system below can, else it is a
//! sparse copy.

use super::journal::{self, Journal, State};
use super::site::Site;
use super::spec::Spec;
use super::{Lane, Lanes, build, loops, mounts, not_up, tool};
use crate::LaneError;
use crate::error::During;
use plimsoll_host::replace::rename;
use rustix::fs::ioctl_ficlone;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How often it is tried to have a loop device back, and how long between.
const ATTEMPTS: u32 = 20;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

impl Lanes {
    /// The lanes among which this one is.
    pub fn with(lane: &Lane) -> Option<Lanes> {
        // `<home>/lanes/<name>/mount`.
        lane.directory.ancestors().nth(3).map(Lanes::of)
    }

    /// Whether this lane has an image that can be kept and put back: one that a loop device reads without a server
    /// between.
    pub fn has_image(&self, lane: &Lane) -> bool {
        Spec::parse(&lane.name).is_ok_and(|spec| spec.has_image())
    }

    /// Whether a clone of its image shares blocks with it, which is tried out, so that it takes no time.
    pub fn clones_at_once(&self, lane: &Lane) -> bool {
        let Ok((site, _)) = self.imaged(lane) else { return false };
        let trial = site.root().join("clone-trial");
        let cloned = File::open(site.image()).and_then(|image| Ok(ioctl_ficlone(File::create(&trial)?, image)?));
        // What is left after a kill goes with the lane.
        let _ = fs::remove_file(&trial);
        cloned.is_ok()
    }

    /// Whether an image of this name is kept with this note.
    pub fn keeps(&self, lane: &Lane, name: &str, note: &str) -> bool {
        let Ok((site, _)) = self.imaged(lane) else { return false };
        kept(&site, name).is_file() && fs::read_to_string(noted(&site, name)).is_ok_and(|found| found == note)
    }

    /// Keeps the lane's image as it is now under a name of letters and digits, with a note of what is on it, in place
    /// of an earlier one. Nothing may be open on the lane.
    ///
    /// # Errors
    /// [`LaneError::Refused`] for a lane without an image, or that is not up; [`LaneError::Environment`] while it
    /// is in use; then it is as it was.
    pub fn keep(&self, lane: &Lane, name: &str, note: &str) -> Result<(), LaneError> {
        self.apart(lane, |site| {
            // Without a note an image is not found.
            let written = noted(site, name);
            fs::write(&written, "").during("write", &written)?;
            clone(site, &site.image(), &kept(site, name))?;
            fs::write(&written, note).during("write", &written)
        })
    }

    /// Makes the lane what it was when the image of this name was kept; what was written since is gone. Nothing may be
    /// open on the lane.
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
                "the lane {} has no image of its own that could be cloned; that have ext4, xfs and btrfs without a \
                 network, delay=, error=, cache= and nbd=",
                lane.name
            ))),
        }
    }

    /// Does `work` while the lane is apart, and puts it together again, whatever comes of it.
    fn apart(&self, lane: &Lane, work: impl FnOnce(&Site) -> Result<(), LaneError>) -> Result<(), LaneError> {
        let (site, spec) = self.imaged(lane)?;
        let _lock = site.lock()?;
        let State::Up(lane) = journal::state(&site)? else { return Err(not_up(&spec)) };
        let Some(device) = lane.device.clone() else { return Err(not_up(&spec)) };
        let source = format!("/dev/{device}");
        let mut journal = Journal::reopen(&site)?;
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

/// Attaches the image to the device that it was attached to before: limits and the journal name that one. Whoever looks
/// for a free one may have it for a moment.
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
        false => Err(LaneError::Environment(format!("/dev/{device} has lost its direct I/O to {}", image.display()))),
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
        // The disk may be full; else it goes with the lane.
        let _ = fs::remove_file(&new);
    }
    cloned
}
