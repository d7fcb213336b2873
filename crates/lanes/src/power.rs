//! Takes the power from the device of a lane that has `device=volatile`, and from its storage server, gives it back, and
//! lets it fail.

use super::build::Builder;
use super::journal::{LaneJournal, LaneState};
use super::site::{IMAGE, LaneLock, POWER, SERVED, Site};
use super::spec::Spec;
use super::{Lane, LaneSide, Lanes, journal, loops, mounts, not_up, process};
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_faults::serve::{self, DeviceOrder, OrderAnswer};
use plimsoll_faults::{Cut, CutReport, Fault, Survival};
use rustix::fs::syncfs;
use std::fs::File;
use std::path::PathBuf;

impl Lane {
    /// The file that its device is made of, if it can lose its power: what the device has made durable.
    pub fn image(&self) -> Option<PathBuf> {
        self.is_volatile.then(|| self.directory.with_file_name(IMAGE))
    }

    /// Takes the power from its device: of what was not flushed survives what the cut says. From then on every read and
    /// write fails; [`Lanes::power_up`] makes it usable again.
    ///
    /// # Errors
    /// [`LaneError::Refused`] for a device that cannot lose its power; [`LaneError::Io`] if it does not answer.
    pub fn cut_power(&self, cut: Cut) -> Result<CutReport, LaneError> {
        self.cut(DeviceOrder::Cut(cut))
    }

    /// Lets its device fail, or lie, or stop doing so.
    ///
    /// # Errors
    /// As [`Lane::cut_power`].
    pub fn fail(&self, fault: Fault) -> Result<(), LaneError> {
        self.done(DeviceOrder::Fault(fault))
    }

    /// Makes durable what its device was given, as one does that is switched off in order.
    ///
    /// # Errors
    /// As [`Lane::cut_power`].
    pub fn settle(&self) -> Result<(), LaneError> {
        self.done(DeviceOrder::Settle)
    }

    /// Makes durable what is on it, on the disk of its storage server too, whatever that acknowledges by itself.
    ///
    /// # Errors
    /// [`LaneError::Io`] if a file system cannot be synced.
    pub fn sync(&self) -> Result<(), LaneError> {
        let served = self.directory.with_file_name(SERVED);
        let mounted = [self.directory.clone()].into_iter().chain(served.is_dir().then_some(served));
        for directory in mounted {
            let synced = File::open(&directory).and_then(|opened| Ok(syncfs(opened)?));
            synced.during("sync", &directory)?;
        }
        Ok(())
    }

    /// Flushes that its device has done since it was started; none if nobody counts them.
    pub(super) fn flushes(&self) -> Option<u64> {
        match self.order(DeviceOrder::Counts) {
            Ok(OrderAnswer::Counts(counts)) => Some(counts.flushes),
            _ => None,
        }
    }

    fn cut(&self, order: DeviceOrder) -> Result<CutReport, LaneError> {
        match self.order(order)? {
            OrderAnswer::Cut(report) => Ok(report),
            other => Err(self.odd(&other)),
        }
    }

    fn done(&self, order: DeviceOrder) -> Result<(), LaneError> {
        match self.order(order)? {
            OrderAnswer::Done => Ok(()),
            other => Err(self.odd(&other)),
        }
    }

    fn order(&self, order: DeviceOrder) -> Result<OrderAnswer, LaneError> {
        let name = &self.name;
        if !self.is_volatile {
            let why = format!("the device of the lane {name} cannot lose its power; one with device=volatile can");
            return Err(LaneError::Refused(why));
        }
        let socket = self.directory.with_file_name(POWER);
        serve::order(&socket, order).during("ask the device at", &socket)
    }

    fn odd(&self, answer: &OrderAnswer) -> LaneError {
        LaneError::Environment(format!("the device of the lane {} answered {answer:?}", self.name))
    }
}

impl Lanes {
    /// Starts the device of a lane again on what is in its image, mounts its file system, and has its checker look at it. Nothing
    /// may be open on the lane. What its device had not made durable is lost. Returns what is wrong with the file system; none
    /// if it is whole.
    ///
    /// # Errors
    /// [`LaneError::Refused`] for a lane whose device cannot lose its power; [`LaneError::Environment`] while something is
    /// open on it, or if its file system cannot be mounted any more. Then it is a lane that was left behind.
    pub fn power_up(&self, lane: &Lane) -> Result<Option<String>, LaneError> {
        let (site, spec, _lock) = self.locked(&lane.name, |spec| spec.is_volatile && !spec.is_network())?;
        let group = journal::group(&site)?;
        let mut journal = journal::undo_to_image(&site)?;
        let told = &mut |_: &str| true;
        let mut builder = Builder { site: &site, spec: &spec, bytes: 0, journal: &mut journal, told };
        let lane = builder.rebuild(group)?;
        let damage = builder.look_at_file_system(lane.device.as_deref().unwrap_or_default())?;
        journal.up(&lane)?;
        Ok(damage)
    }

    /// Takes the power from the storage server of a lane, and gives it back: it loses its memory, and its device what was
    /// not flushed. Its client asks again until it answers.
    pub(super) fn restart_server(&self, name: &str) -> Result<CutReport, LaneError> {
        let (site, spec, _lock) = self.locked(name, Spec::has_restartable_server)?;
        let LaneState::Up(lane) = journal::state(&site)? else { return Err(not_up(&spec)) };
        let mut journal = LaneJournal::reopen(&site)?;
        let report = lane.cut(DeviceOrder::Outage(Cut { survival: Survival::Nothing, seed: 0 }))?;
        process::end_all_in(&site.namespace(LaneSide::Server))?;
        let source = loops::path(lane.server_device.as_deref().unwrap_or_default());
        mounts::unmount(&site.served(), &source)?;
        // Or what was in memory would come back with it.
        mounts::forgotten(&source)?;
        lane.done(DeviceOrder::Return)?;
        let group = journal::group(&site)?;
        let told = &mut |_: &str| true;
        let mut builder = Builder { site: &site, spec: &spec, bytes: 0, journal: &mut journal, told };
        let again = builder.restart_server(&lane, group.as_deref())?;
        journal.up(&again)?;
        Ok(report)
    }

    /// The place of a lane that is up, and of which this is true.
    pub(super) fn locked(
        &self,
        name: &str,
        suits: impl Fn(&Spec) -> bool,
    ) -> Result<(Site, Spec, LaneLock), LaneError> {
        let spec = Spec::parse(name)?;
        let site = Site::of(&self.root, &spec);
        match site.lock()?.filter(|_| suits(&spec)) {
            Some(lock) => Ok((site, spec, lock)),
            None => Err(not_up(&spec)),
        }
    }
}
