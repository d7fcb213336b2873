//! The image of a lane as it was at some moment: kept beside the lane, and restored.
//!
//! To do that, the lane is unmounted, and mounted again afterwards. Its loop device stays attached: a free one may be
//! taken by another lane, and limits and the journal name it. Meanwhile the journal does not say that the lane is up:
//! after a kill it is a lane that was left behind, which `plimsoll clean` removes with all of its images. A clone of the
//! image shares its blocks if the file system below supports that; otherwise it is a sparse copy.

use super::journal::{self, LaneJournal, LaneState};
use super::site::Site;
use super::spec::Spec;
use super::{Lane, Lanes, build, loops, mounts, not_up, tool};
use crate::LaneError;
use crate::error::DuringLane;
use rustix::fs::ioctl_ficlone;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

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
        self.apart(lane, |site, _| {
            // An image without a note does not count.
            let written = noted(site, name);
            let kept = fs::write(&written, "")
                .during("write", &written)
                .and_then(|()| clone(&site.image(), &kept(site, name)))
                .and_then(|()| fs::write(&written, note).during("write", &written));
            // The lane is as it was, whatever became of the copy.
            Ok(kept)
        })?
    }

    /// Sets the lane back to the image of this name; what was written since is gone. Nothing may be open on the lane.
    ///
    /// # Errors
    /// As [`Lanes::keep`]. A lane that could not be set back, because the disk is full, is one that was left behind.
    pub fn put_back(&self, lane: &Lane, name: &str) -> Result<(), LaneError> {
        self.apart(lane, |site, source| {
            clone(&kept(site, name), &site.image())?;
            // What the kernel still knows of the device is of the image before.
            tool::run("blockdev", &["--flushbufs", source]).map(drop)
        })
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

    /// Does `work` with the lane's device while it is unmounted, and mounts it again if that succeeds.
    fn apart<T>(&self, lane: &Lane, work: impl FnOnce(&Site, &str) -> Result<T, LaneError>) -> Result<T, LaneError> {
        let (site, spec) = self.imaged(lane)?;
        let _lock = site.lock()?;
        let LaneState::Up(lane) = journal::state(&site)? else { return Err(not_up(&spec)) };
        let Some(device) = &lane.device else { return Err(not_up(&spec)) };
        let source = loops::path(device);
        let mut journal = LaneJournal::reopen(&site)?;
        if let Err(busy) = mounts::unmount(&site.mount(), &source) {
            journal.up(&lane)?;
            return Err(busy);
        }
        let done = work(&site, &source)?;
        build::mount(&site, &spec, &source)?;
        journal.up(&lane)?;
        Ok(done)
    }
}

fn kept(site: &Site, name: &str) -> PathBuf {
    site.root().join(format!("kept-{name}.img"))
}

fn noted(site: &Site, name: &str) -> PathBuf {
    site.root().join(format!("kept-{name}.note"))
}

/// Makes the content of `to` that of `from`, on disk. It stays the same file, which a loop device may have.
fn clone(from: &Path, to: &Path) -> Result<(), LaneError> {
    let words = ["--reflink=auto".as_ref(), "--sparse=always".as_ref(), from.as_os_str(), to.as_os_str()];
    tool::run("cp", &words)?;
    File::open(to).and_then(|file| file.sync_all()).during("write to disk", to)
}
