//! Checks that flushes reach what keeps the data: the lane's device, and the storage server's disk behind it.

use super::super::Lane;
use super::super::kind::FileSystem;
use super::super::served::FlushCounter;
use super::super::site::Site;
use super::super::spec::Spec;
use super::{LaneFinding, open};
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_storage::device::Device;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Writes with an fdatasync each; a device that they all reach counts at least as many flushes.
const SYNCS: u64 = 32;
/// If others flush more than this share of our flushes, the count says nothing about ours.
const FOREIGN: f64 = 0.25;
/// How long a device with other users is watched in advance.
const IDLE: Duration = Duration::from_millis(250);

/// Writes into this file, syncs it repeatedly, and counts the flushes.
///
/// # Errors
/// [`LaneError::Io`] if it cannot be written.
pub(super) fn check(path: &Path, site: &Site, spec: &Spec, lane: &Lane) -> Result<LaneFinding, LaneError> {
    let devices = Flushed::of(site, lane);
    if devices.is_empty() || (spec.kind == FileSystem::Tmpfs) {
        return Ok(LaneFinding::note("flush", "there is no device to flush"));
    }
    // A device that was created for the lane has no other users.
    let is_own = lane.device.is_some() || lane.server_device.is_some();
    let others_per_second = if is_own { 0.0 } else { devices[0].idle() };
    let counter = if spec.is_served() { Some(FlushCounter::listen(site)?) } else { None };
    let flushed = lane.flushes();
    let (before, begun): (Vec<_>, _) = (devices.iter().map(Flushed::look).collect(), Instant::now());
    let file = open(path, false)?;
    for number in 0..SYNCS {
        file.write_all_at(&number.to_le_bytes(), 0).during("write", path)?;
        file.sync_data().during("sync", path)?;
    }
    let others = others_per_second * begun.elapsed().as_secs_f64();
    let behind = counter.map(FlushCounter::end).or_else(|| Some(lane.flushes()?.saturating_sub(flushed?)));
    let mut counted: Vec<Flushes> =
        devices.iter().zip(before).map(|(device, before)| device.look().since(before)).collect();
    let mut told: Vec<String> =
        devices.iter().zip(&counted).map(|(device, flushes)| device.in_words(*flushes)).collect();
    counted.extend(behind.map(Flushes::Counted));
    told.extend(behind.map(|behind| format!("{behind} behind its server")));
    Ok(judge(&counted, is_own, others, format!("{SYNCS} fdatasync: {}", told.join(", "))))
}

/// The count at each device that a flush has to pass, and how many `others` sent to a device that is not the lane's
/// own.
fn judge(counted: &[Flushes], is_own: bool, others: f64, found: String) -> LaneFinding {
    let is_lost = |flushes: &Flushes| match flushes {
        Flushes::Counted(flushes) => *flushes < SYNCS,
        // A device that a lane created has a cache behind it, whatever the kernel was told.
        Flushes::NotSent => is_own,
        Flushes::Uncounted => false,
    };
    if counted.iter().any(is_lost) {
        LaneFinding::refused("flush", format!("{found}; what a server believes to be durable is not"))
    } else if !counted.iter().all(|flushes| matches!(flushes, Flushes::Counted(_))) {
        LaneFinding::note("flush", format!("cannot be told: {found}"))
    } else if others > FOREIGN * SYNCS as f64 {
        LaneFinding::note(
            "flush",
            format!("cannot be told: {found}, but others flushed it {others:.0} times meanwhile"),
        )
    } else {
        LaneFinding::passed("flush", found)
    }
}

/// Flushes that a device completed since it was created, or between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flushes {
    Counted(u64),
    /// The kernel assumes that the device keeps what it was given, and sends it none.
    NotSent,
    /// The kernel does not count them.
    Uncounted,
}

impl Flushes {
    fn since(self, before: Flushes) -> Flushes {
        match (self, before) {
            (Flushes::Counted(now), Flushes::Counted(before)) => Flushes::Counted(now.saturating_sub(before)),
            (Flushes::Counted(_), other) | (other, _) => other,
        }
    }
}

/// A device that each flush has to reach, and whose it is.
struct Flushed {
    device: Device,
    whose: &'static str,
}

impl Flushed {
    /// The lane's own devices, the client's first; else the one that its directory is on.
    fn of(site: &Site, lane: &Lane) -> Vec<Flushed> {
        let own = |name: &Option<String>, whose| name.clone().map(|name| Flushed { device: Device { name }, whose });
        let own: Vec<Flushed> =
            [own(&lane.device, ""), own(&lane.server_device, "the storage server's ")].into_iter().flatten().collect();
        let below = || Device::find(site.root(), None).map(|device| Flushed { device, whose: "" });
        if own.is_empty() { below().into_iter().collect() } else { own }
    }

    fn look(&self) -> Flushes {
        let counted = self.device.counters().and_then(|counters| counters.flushes);
        match counted {
            _ if !self.device.has_volatile_cache() => Flushes::NotSent,
            Some(flushes) => Flushes::Counted(flushes),
            None => Flushes::Uncounted,
        }
    }

    /// Flushes per second while we do nothing; 0 if they cannot be counted.
    fn idle(&self) -> f64 {
        let (before, begun) = (self.look(), Instant::now());
        thread::sleep(IDLE);
        match self.look().since(before) {
            Flushes::Counted(flushes) => flushes as f64 / begun.elapsed().as_secs_f64(),
            Flushes::NotSent | Flushes::Uncounted => 0.0,
        }
    }

    fn in_words(&self, flushes: Flushes) -> String {
        let (whose, name) = (self.whose, &self.device.name);
        match flushes {
            Flushes::Counted(flushes) => format!("{flushes} flushes of {whose}{name}"),
            Flushes::NotSent => {
                format!("the kernel sends {whose}{name} no flushes, according to /sys/block/{name}/queue/write_cache")
            }
            Flushes::Uncounted => format!("the kernel counts no flushes of {whose}{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CheckVerdict;
    use super::*;

    #[test]
    fn what_cannot_be_told_is_a_note_and_what_is_not_sent_is_lost() {
        let all = Flushes::Counted(SYNCS);
        let verdict = |counted: &[Flushes], is_own, others| judge(counted, is_own, others, String::new()).verdict;
        assert_eq!(verdict(&[all, all], true, 0.0), CheckVerdict::Passed);
        assert_eq!(verdict(&[all, Flushes::Counted(SYNCS - 1)], true, 0.0), CheckVerdict::Refused);
        assert_eq!(verdict(&[all, Flushes::NotSent], true, 0.0), CheckVerdict::Refused);
        assert_eq!(verdict(&[Flushes::NotSent], false, 0.0), CheckVerdict::Note, "the machine's own disk may keep it");
        assert_eq!(verdict(&[all, Flushes::Uncounted], true, 0.0), CheckVerdict::Note);
        assert_eq!(verdict(&[all], false, SYNCS as f64), CheckVerdict::Note, "they may be those of others");
    }

    #[test]
    fn only_what_was_counted_twice_is_counted() {
        assert_eq!(Flushes::Counted(9).since(Flushes::Counted(4)), Flushes::Counted(5));
        assert_eq!(Flushes::Counted(9).since(Flushes::Uncounted), Flushes::Uncounted);
        assert_eq!(Flushes::NotSent.since(Flushes::Counted(4)), Flushes::NotSent);
    }
}
