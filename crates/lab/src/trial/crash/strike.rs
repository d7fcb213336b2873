//! Makes something go wrong under load, at its moment.

use super::super::innodb_status::redo_bytes;
use super::super::watchdog::Victim;
use super::{Backup, Replica};
use crate::error::LabError;
use plimsoll_data::datasets::OnlineCopy;
use plimsoll_engine::{CommitLog, Endpoint};
use plimsoll_lanes::Lane;
use plimsoll_lanes::disturb::Disturbance;
use plimsoll_lanes::faults::{Cut, CutReport, Fault, FaultyOperation, Survival};
use plimsoll_load::seed::Rng;
use plimsoll_model::FaultKind;
use plimsoll_model::crash::{CutOff, UnflushedWrites};
use plimsoll_plan::lab::PlannedFault;
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use std::fs::{self, File};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often the moment is looked for.
const LOOK: Duration = Duration::from_micros(200);
/// At this share of the way to the moment the server is asked how much redo there is.
const SOON: f64 = 0.7;
/// How long a server goes on after something went wrong with its storage, before it is killed.
const AFTERMATH: Duration = Duration::from_secs(3);
/// How long it is waited for a commit after a fault: longer than the pauses of clients of storage that was away.
const STALLED: Duration = Duration::from_secs(10);
/// How long a link is gone, milliseconds.
const GONE: RangeInclusive<u64> = 1000..=5000;
/// What fills a device.
const BALLAST: &str = "plimsoll-ballast";

/// What is needed to make something go wrong.
pub(super) struct Saboteur<'s> {
    pub fault: PlannedFault,
    pub victim: Victim,
    pub endpoint: &'s Endpoint,
    /// Where the data are, if they are on a lane.
    pub lane: Option<&'s Lane>,
    /// What takes over, if something does.
    pub replica: Option<&'s Replica>,
    /// Where a copy is made, if one is.
    pub backup: Option<&'s Backup>,
    pub log: &'s CommitLog,
    /// The load has ended, whatever the reason.
    pub is_over: &'s AtomicBool,
    /// The load need not go on.
    pub is_done: &'s AtomicBool,
}

/// What was done, and when.
#[derive(Debug)]
pub(super) struct Strike {
    pub at: Instant,
    pub after_seconds: f64,
    /// Commits that were written down by then.
    pub after_commits: u64,
    pub how: Option<String>,
    /// Redo since the last checkpoint shortly before, where that is what is read when the server starts again.
    pub redo_bytes: Option<u64>,
    pub unflushed: Option<UnflushedWrites>,
    pub replica: Option<CutOff>,
    pub copy: Option<OnlineCopy>,
}

/// When something goes wrong.
struct Moment {
    /// When the first commit was seen.
    begun: Instant,
    redo_bytes: Option<u64>,
}

impl Strike {
    /// How long before it the server was cut off from its replica already.
    pub fn cut_seconds(&self) -> f64 {
        self.replica.map_or(0.0, |replica| replica.cut_seconds)
    }
}

impl Saboteur<'_> {
    /// Waits for the moment and strikes; `None` if the load ends before.
    ///
    /// # Errors
    /// If it cannot be done.
    pub fn strike(self) -> Result<Option<Strike>, LabError> {
        let Some(Moment { begun, redo_bytes }) = self.moment() else { return Ok(None) };
        let mut strike = Strike {
            at: Instant::now(),
            after_seconds: begun.elapsed().as_secs_f64(),
            after_commits: self.log.count(),
            how: None,
            redo_bytes,
            unflushed: None,
            replica: None,
            copy: None,
        };
        let done = self.happens(begun, &mut strike);
        if self.fault.kind != FaultKind::Backup {
            // Whatever came of it: nobody is to wait for a server whose storage is gone.
            self.victim.kill();
        }
        Ok(done?.then_some(strike))
    }

    /// What happens to a load that has `begun`, until the server may be killed; false if its end came first.
    fn happens(&self, begun: Instant, strike: &mut Strike) -> Result<bool, LabError> {
        match self.fault.kind {
            FaultKind::Kill => self.victim.strike()?,
            FaultKind::Backup => return self.copies(begun, strike),
            FaultKind::Power | FaultKind::Torn | FaultKind::Reorder | FaultKind::Lying => {
                // At once, as far as two processes can: the server first, so that it acknowledges nothing without a device.
                self.victim.strike()?;
                let (survival, how) = survival(self.fault);
                let report = self.lane()?.cut_power(Cut { survival, seed: self.fault.seed })?;
                strike.how = how;
                strike.unflushed = Some(unflushed(report));
            }
            FaultKind::ServerPower => {
                strike.unflushed = Some(unflushed(self.disturb(Disturbance::ServerPower)?));
                self.recovers();
            }
            FaultKind::Cut => {
                let gone = drawn(self.fault.seed, GONE);
                strike.how = Some(format!("no link for {:.1} s", gone.as_secs_f64()));
                self.disturb(Disturbance::Link(gone))?;
                self.recovers();
            }
            FaultKind::IoError => {
                let (fault, how) = failing(self.fault.seed);
                self.lane()?.fail(fault)?;
                strike.how = Some(how.to_owned());
                self.wait(AFTERMATH);
            }
            FaultKind::Replica => {
                let replica = self.replica.ok_or_else(|| super::environment("the trial has no replica"))?;
                strike.replica = Some(replica.cut_off(self.fault.seed)?);
                self.victim.strike()?;
                strike.at = Instant::now();
            }
            FaultKind::Full => {
                fill(&ballast(self.lane()?))?;
                self.wait(AFTERMATH);
            }
        }
        Ok(true)
    }

    /// Has the copy made. Its load, if that ends before, has its own reason.
    fn copies(&self, begun: Instant, strike: &mut Strike) -> Result<bool, LabError> {
        let backup = self.backup.ok_or_else(|| super::environment("the trial has no place for a copy"))?;
        let copied = backup.copy(self.is_over);
        self.is_done.store(true, Ordering::Release);
        let copy = match copied {
            Err(LabError::Interrupted) => return Ok(false),
            copied => copied?,
        };
        strike.after_seconds = copy.begun.duration_since(begun).as_secs_f64();
        (strike.at, strike.copy) = (copy.begun, Some(copy));
        Ok(true)
    }

    /// Waits for the moment; `None` if the load ends before.
    fn moment(&self) -> Option<Moment> {
        let (mut first, mut asked) = (None, None);
        while !self.is_over.load(Ordering::Acquire) {
            let count = self.log.count();
            if count > 0 {
                let begun = *first.get_or_insert_with(Instant::now);
                let share = match self.fault.after_commits {
                    Some(commits) => count as f64 / commits as f64,
                    None => begun.elapsed().as_secs_f64() / self.fault.after_seconds,
                };
                if share >= 1.0 {
                    // What is not answered by now is not waited for: the moment is the moment.
                    let answered = asked.filter(JoinHandle::is_finished).and_then(|asked| asked.join().ok());
                    return Some(Moment { begun, redo_bytes: answered.flatten() });
                }
                if share >= SOON && asked.is_none() && self.ends_at_once() {
                    let endpoint = self.endpoint.clone();
                    asked = Some(thread::spawn(move || redo_bytes(&endpoint)));
                }
            }
            thread::sleep(LOOK);
        }
        None
    }

    /// Whether nothing is written any more once it has happened.
    fn ends_at_once(&self) -> bool {
        use FaultKind::{Kill, Lying, Power, Reorder, Torn};
        matches!(self.fault.kind, Kill | Power | Torn | Reorder | Lying)
    }

    fn disturb(&self, disturbance: Disturbance) -> Result<CutReport, LabError> {
        let lane = self.lane()?;
        Ok(super::lanes_with(lane)?.disturb(lane, disturbance)?)
    }

    /// Lets the server go on for a while, once it does: what waits for storage that was away asks again only now and then.
    fn recovers(&self) {
        let (told, until) = (self.log.count(), Instant::now() + STALLED);
        while self.log.count() == told && Instant::now() < until && !self.is_over.load(Ordering::Acquire) {
            thread::sleep(LOOK);
        }
        self.wait(AFTERMATH);
    }

    /// Waits, but no longer than the load goes on.
    fn wait(&self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.is_over.load(Ordering::Acquire) {
            thread::sleep(LOOK);
        }
    }

    fn lane(&self) -> Result<&Lane, LabError> {
        super::of_lane(self.lane)
    }
}

/// What survives a cut, and how that is called where it is drawn.
fn survival(fault: PlannedFault) -> (Survival, Option<String>) {
    const SIZES: [u64; 2] = [512, 4096];
    match fault.kind {
        FaultKind::Torn => {
            let bytes = SIZES[(Rng::new(fault.seed, 1, 0).next_u64() & 1) as usize];
            (Survival::Pieces { bytes }, Some(format!("pieces of {bytes} bytes survive")))
        }
        FaultKind::Reorder => (Survival::Writes, None),
        _ => (Survival::Nothing, None),
    }
}

fn unflushed(report: CutReport) -> UnflushedWrites {
    UnflushedWrites {
        writes: report.unflushed_writes,
        bytes: report.unflushed_bytes,
        survived_bytes: report.survived_bytes,
        torn: report.torn_writes,
    }
}

/// A time from this range of milliseconds.
pub(super) fn drawn(seed: u64, range: RangeInclusive<u64>) -> Duration {
    Duration::from_millis(Rng::new(seed, 1, 0).between(*range.start(), *range.end()))
}

/// How a device fails.
fn failing(seed: u64) -> (Fault, &'static str) {
    use FaultyOperation::{Flush, Write};
    let none = Fault::default();
    match Rng::new(seed, 1, 0).next_u64() & 3 {
        0 => (Fault { once: Some(Write), ..none }, "one write fails"),
        1 => (Fault { once: Some(Flush), ..none }, "one flush fails"),
        2 => (Fault { always: Some(Write), ..none }, "every write fails"),
        _ => (Fault { always: Some(Flush), ..none }, "every flush fails"),
    }
}

pub(super) fn ballast(lane: &Lane) -> PathBuf {
    lane.directory.join(BALLAST)
}

/// Takes all the room that there is for users other than root, and then what is left.
fn fill(path: &Path) -> Result<(), LabError> {
    let failed =
        |error: std::io::Error| LabError::Environment(format!("filling the device with {}: {error}", path.display()));
    let file = File::create(path).map_err(failed)?;
    let mut size = 0;
    // The last blocks go to what describes the file itself, so that the step is halved until nothing fits.
    let room = statvfs(path).map_err(|error| failed(error.into()))?;
    let mut step = room.f_bfree.saturating_mul(room.f_frsize).max(room.f_frsize);
    while step >= room.f_frsize {
        match fallocate(&file, FallocateFlags::empty(), size, step) {
            Ok(()) => size += step,
            Err(rustix::io::Errno::NOSPC) => step /= 2,
            Err(error) => return Err(failed(error.into())),
        }
    }
    Ok(())
}

/// Removes what filled a device.
pub(super) fn make_room(lane: &Lane) -> Result<(), LabError> {
    let path = ballast(lane);
    fs::remove_file(&path).map_err(|error| LabError::Environment(format!("removing {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_is_drawn_from_the_seed() {
        let fault = |kind, seed| PlannedFault { kind, seed, after_seconds: 1.0, after_commits: None, load_seed: None };
        let pieces = |seed| survival(fault(FaultKind::Torn, seed)).0;
        assert!((0..20).map(pieces).any(|piece| piece == Survival::Pieces { bytes: 512 }));
        assert!((0..20).map(pieces).any(|piece| piece == Survival::Pieces { bytes: 4096 }));
        assert_eq!(survival(fault(FaultKind::Power, 3)), (Survival::Nothing, None));
        let ways: std::collections::BTreeSet<&str> = (0..50).map(|seed| failing(seed).1).collect();
        assert_eq!(ways.len(), 4);
        assert_eq!(failing(7), failing(7));
        assert!(drawn(1, GONE) != drawn(2, GONE) && drawn(3, GONE) == drawn(3, GONE));
    }
}
