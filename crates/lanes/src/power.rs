//! Takes the power from the device of a lane that has `device=volatile`, gives it back, and lets it fail.

use super::build::Builder;
use super::site::{POWER, Site};
use super::spec::Spec;
use super::{Lane, Lanes, journal, not_up};
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_faults::serve::{self, DeviceOrder, OrderAnswer};
use plimsoll_faults::{Cut, CutReport, Fault};

impl Lane {
    /// Takes the power from its device: of what was not flushed survives what the cut says. From then on every read and
    /// write fails; [`Lanes::power_up`] makes it usable again.
    ///
    /// # Errors
    /// [`LaneError::Refused`] for a device that cannot lose its power; [`LaneError::Io`] if it does not answer.
    pub fn cut_power(&self, cut: Cut) -> Result<CutReport, LaneError> {
        match self.order(DeviceOrder::Cut(cut))? {
            OrderAnswer::Cut(report) => Ok(report),
            other => Err(self.odd(&other)),
        }
    }

    /// Lets its device fail, or lie, or stop doing so.
    ///
    /// # Errors
    /// As [`Lane::cut_power`].
    pub fn fail(&self, fault: Fault) -> Result<(), LaneError> {
        match self.order(DeviceOrder::Fault(fault))? {
            OrderAnswer::Done => Ok(()),
            other => Err(self.odd(&other)),
        }
    }

    /// Makes durable what its device was given, as one does that is switched off in order.
    ///
    /// # Errors
    /// As [`Lane::cut_power`].
    pub fn settle(&self) -> Result<(), LaneError> {
        match self.order(DeviceOrder::Settle)? {
            OrderAnswer::Done => Ok(()),
            other => Err(self.odd(&other)),
        }
    }

    /// Flushes that its device has done since it was started; none if nobody counts them.
    pub(super) fn flushes(&self) -> Option<u64> {
        match self.order(DeviceOrder::Counts) {
            Ok(OrderAnswer::Counts(counts)) => Some(counts.flushes),
            _ => None,
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
    /// Starts the device of a lane again on what is in its image, and mounts its file system. Nothing may be open on the
    /// lane. What its device had not made durable is lost.
    ///
    /// # Errors
    /// [`LaneError::Refused`] for a lane whose device cannot lose its power; [`LaneError::Environment`] while something is
    /// open on it, or if its file system cannot be mounted any more. Then it is a lane that was left behind.
    pub fn power_up(&self, lane: &Lane) -> Result<Lane, LaneError> {
        let spec = Spec::parse(&lane.name)?;
        let site = Site::of(&self.root, &spec);
        let Some(_lock) = site.lock()?.filter(|_| spec.is_volatile) else { return Err(not_up(&spec)) };
        let mut journal = journal::undo_to_image(&site)?;
        let told = &mut |_: &str| true;
        let lane = Builder { site: &site, spec: &spec, bytes: 0, journal: &mut journal, told }.rebuild()?;
        journal.up(&lane)?;
        Ok(lane)
    }
}
