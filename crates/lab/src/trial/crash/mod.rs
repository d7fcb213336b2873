//! A crash trial: a load, a fault under it, the way back, and what is missing afterwards.
//!
//! Begin with [`crash`]; the fault itself is in [`strike`], what is there afterwards in [`look`], what is missing of it in
//! [`reckoning`], how long it takes until all is as before in [`full`], and whether pages are whole in [`pages`]; [`replica`] has a
//! second server that takes over, [`backup`] a copy that is made meanwhile, [`kept`] a copy of what a fault left.

mod backup;
mod full;
mod kept;
mod look;
mod pages;
mod reckoning;
mod replica;
mod strike;

use super::recovery::{Crash, start_again};
use super::watchdog::Victim;
use super::{ServerSetup, UnderWay, is_interrupt, limits};
use crate::error::LabError;
use crate::load_point::{Circumstances, Outcome};
use crate::run::one_point;
pub use backup::Backup;
use backup::UntilDone;
use full::back_to_full;
pub use kept::KeptData;
use look::AfterFault;
use pages::PageFindings;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{CommitLog, Workload};
use plimsoll_lanes::faults::Fault;
use plimsoll_lanes::{Lane, LaneError, Lanes};
use plimsoll_model::crash::{CrashEnd, CrashOutcome};
use plimsoll_model::lab::Recovery;
use plimsoll_model::samples::Phase;
use plimsoll_model::{Caveat, FaultKind};
use plimsoll_plan::RunPlan;
use plimsoll_plan::lab::PlannedFault;
use plimsoll_plan::plan::Measure;
use plimsoll_server::snapshot::tree;
use plimsoll_watch::Watcher;
use reckoning::{acknowledged, can_tell};
pub use replica::{Replica, make_primary};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;
use strike::{Saboteur, Strike, make_room};

/// A load whose fault does not come ends after this time more, seconds.
const TOO_LONG: f64 = 60.0;
/// The same of one under which data are copied.
const TOO_LONG_A_COPY: f64 = 1800.0;

/// Does the load, the fault and the recovery, and notes what they came to.
///
/// # Errors
/// If the fault could not be done, or its outcome not be looked at. A server that does not start again is an outcome.
pub fn crash<W: Workload>(now: &mut UnderWay, under: Crash<W>, fault: PlannedFault) -> Result<(), LabError> {
    let Crash { target, adapter, plan, chosen, setup } = under;
    now.watch.enter(Phase::Recover);
    let too_long = if fault.kind == FaultKind::Backup { TOO_LONG_A_COPY } else { TOO_LONG };
    let seconds = fault.after_seconds + too_long;
    let plan = RunPlan { warmup_seconds: 0.0, measure: Measure::Seconds(seconds), rounds: 1, ..plan.clone() };
    let victim = target.server.as_ref().and_then(Victim::of);
    let victim = victim.ok_or_else(|| environment("the server ended before its load began"))?;
    let before = can_tell(target, chosen)?;
    prepare(now, setup, fault.kind)?;
    let log = Arc::new(CommitLog::new(commit_file(now.writer.directory())?));
    let (is_over, is_done) = (AtomicBool::new(false), AtomicBool::new(false));
    let circumstances = Circumstances { commits: Some(&log), ..now.circumstances(Some(Phase::Recover)) };
    let (point, lane) = (now.trial.point, setup.directories.lane.as_ref());
    let (replica, backup, endpoint) = (now.replica.as_ref(), now.backup.as_ref(), target.endpoint.clone());
    let (loaded, struck) = thread::scope(|scope| {
        let (log, is_over, is_done) = (&log, &is_over, &is_done);
        let saboteur = Saboteur { fault, victim, endpoint: &endpoint, lane, replica, backup, log, is_over, is_done };
        let striking = scope.spawn(|| saboteur.strike());
        let mut watch = UntilDone { inner: &mut now.watch, is_done };
        let loaded = one_point(target, &plan, point, adapter, circumstances, &mut now.writer, &mut watch);
        is_over.store(true, Ordering::Release);
        (loaded, striking.join())
    });
    let struck = struck.map_err(|_| environment("the thread that makes something go wrong died; this is a bug"))??;
    let Some(strike) = struck else { return Err(too_early(loaded)) };
    let mut outcome = loaded?;
    let all = log.commits().map_err(|error| environment(format!("the log of commits: {error}")))?;
    let told = backup::promised(&all, &strike, &log);
    let mut found = begun(fault, &strike, acknowledged(chosen, &outcome.counted, &told));
    bury(now, target, fault.kind)?;
    let Repaired { unusable, damage } = repair(setup, fault.kind)?;
    found.corrupt.extend(damage);
    let survives = matches!(fault.kind, FaultKind::Replica | FaultKind::Backup);
    if !survives {
        now.keep(setup, unusable.is_some());
    }
    found.end = match unusable {
        Some(why) => CrashEnd::FileSystem(why),
        None if survives => survive(now, target, setup, &strike)?,
        None => answer(now, target, setup, strike.redo_bytes)?,
    };
    if found.end == CrashEnd::Answered {
        let struck_ns = log.time_ns(strike.at);
        let carried_until_ns = struck_ns.saturating_sub((strike.cut_seconds() * 1e9) as u64);
        let after = AfterFault { adapter, plan: &plan, chosen, told: &told, before, struck_ns, carried_until_ns };
        match (after.look(now, target, &mut outcome, &mut found)?, &strike.copy) {
            (true, Some(copy)) => {
                // Clients were told of what else is there, but later.
                found.unacknowledged = None;
                backup::must_not_be_newer(target, &all, log.time_ns(copy.ended))?;
            }
            (true, None) => found.full_seconds = back_to_full(now, target, &after)?,
            (false, _) => {}
        }
        ended_by_itself(now, target, &mut found)?;
    }
    now.outcome.crash = Some(found);
    Ok(())
}

/// What a fault needs before the load.
fn prepare(now: &mut UnderWay, setup: &ServerSetup, fault: FaultKind) -> Result<(), LabError> {
    // What was there before the load is there after it; only what the load does is at stake.
    if let Some(lane) = &setup.directories.lane {
        lane.sync()?;
    }
    match fault {
        FaultKind::Lying => {
            of_lane(setup.directories.lane.as_ref())?.fail(Fault { lying: true, ..Fault::default() })?
        }
        FaultKind::Backup => now.backup = Some(Backup::beside(setup)?),
        _ => {}
    }
    Ok(())
}

fn environment(what: impl Into<String>) -> LabError {
    LabError::Environment(what.into())
}

fn of_lane(lane: Option<&Lane>) -> Result<&Lane, LabError> {
    lane.ok_or_else(|| environment("the data are on no lane"))
}

fn lanes_with(lane: &Lane) -> Result<Lanes, LabError> {
    Lanes::with(lane).ok_or_else(|| environment("the lane is in no home"))
}

/// Why the load ended before anything went wrong.
fn too_early(loaded: Result<Outcome, LabError>) -> LabError {
    match loaded.map(|outcome| outcome.ended) {
        Err(error) => error,
        Ok(Some(plimsoll_record::EarlyEnd::Interrupted)) => LabError::Interrupted,
        Ok(Some(plimsoll_record::EarlyEnd::Failed(why))) => environment(why),
        Ok(None) => environment("the load ended before anything went wrong under it"),
    }
}

/// A file that has no name: what is in it is of use only as long as this trial runs.
fn commit_file(recording: &Path) -> Result<File, LabError> {
    tempfile::tempfile_in(recording).map_err(|error| environment(format!("{}: {error}", recording.display())))
}

fn begun(fault: PlannedFault, strike: &Strike, acknowledged: u64) -> CrashOutcome {
    CrashOutcome {
        fault: fault.kind,
        seed: fault.seed,
        how: strike.how.clone(),
        after_seconds: strike.after_seconds,
        after_commits: strike.after_commits,
        acknowledged,
        lost: None,
        lost_seconds: None,
        unacknowledged: None,
        hidden: 0,
        full_seconds: None,
        unflushed: strike.unflushed,
        replica: strike.replica,
        copy: strike.copy.as_ref().map(backup::facts),
        end: CrashEnd::Answered,
        is_torn: false,
        corrupt: Vec::new(),
        broken: Vec::new(),
        kept: None,
    }
}

/// Waits for the end of the killed server, or ends it. Its storage may be gone, so nothing is noted there.
fn bury(now: &mut UnderWay, target: &mut OpenTarget, fault: FaultKind) -> Result<(), LabError> {
    now.watch.watchdog.guard(None);
    match target.server.take() {
        // It is not started again, which would tidy up what it left.
        Some(server) if fault == FaultKind::Replica => Ok(server.kill().map(drop)?),
        Some(server) if fault == FaultKind::Backup => Ok(server.stop(limits::STOP).map(drop)?),
        Some(server) => Ok(server.bury()?),
        None => Ok(()),
    }
}

/// A server that did not survive what came after its recovery is an outcome as well, and not stopped in order.
fn ended_by_itself(now: &mut UnderWay, target: &mut OpenTarget, found: &mut CrashOutcome) -> Result<(), LabError> {
    let Some(words) = target.epitaph() else { return Ok(()) };
    if now.watch.interrupted() {
        // It was ended, since it took too long.
        return Err(LabError::Interrupted);
    }
    now.watch.watchdog.guard(None);
    if let Some(server) = target.server.take() {
        server.bury()?;
    }
    found.broken.push(format!("the server ended by itself after its recovery; {words}"));
    Ok(())
}

/// What a fault left of the file system of the data.
#[derive(Debug, Default)]
struct Repaired {
    /// Why it cannot be used any more.
    unusable: Option<String>,
    /// What its own checker finds wrong with it.
    damage: Option<String>,
}

/// Gives the storage back what it needs: power, working flushes, room.
fn repair(setup: &ServerSetup, fault: FaultKind) -> Result<Repaired, LabError> {
    let lane = setup.directories.lane.as_ref();
    match fault {
        // Nothing happened to the storage.
        FaultKind::Kill | FaultKind::Replica | FaultKind::Backup => return Ok(Repaired::default()),
        // What its client still has in memory would hide what it lost, or never got.
        FaultKind::ServerPower | FaultKind::Cut => {
            let unusable = tree::settle(&setup.directories.data.data()).err().map(|error| error.to_string());
            return Ok(Repaired { unusable, damage: None });
        }
        FaultKind::Full => return make_room(of_lane(lane)?).map(|()| Repaired::default()),
        // What it was given before it failed it still has.
        FaultKind::IoError => {
            of_lane(lane)?.fail(Fault::default())?;
            of_lane(lane)?.settle()?;
        }
        FaultKind::Power | FaultKind::Torn | FaultKind::Reorder | FaultKind::Lying => {}
    }
    power_up(setup, of_lane(lane)?)
}

/// Gives the device of a lane its power back.
fn power_up(setup: &ServerSetup, lane: &Lane) -> Result<Repaired, LabError> {
    let lanes = lanes_with(lane)?;
    let (mut repaired, mut is_mounted) = (Repaired::default(), false);
    let powered = setup.directories.data.let_go_while(setup.holder, || match lanes.power_up(lane) {
        Ok(damage) => {
            (is_mounted, repaired.damage) = (true, damage);
            Ok(())
        }
        Err(LaneError::Damaged(why)) => {
            repaired.unusable = Some(why.clone());
            Err(environment(why))
        }
        Err(error) => Err(LabError::from(error)),
    });
    let whole = powered.and_then(|()| has_its_data(setup));
    match whole {
        // It was mounted, and what was on it is not there, or cannot be read.
        Err(error) if is_mounted => repaired.unusable = Some(error.to_string()),
        Err(error) if repaired.unusable.is_none() => return Err(error),
        _ => {}
    }
    Ok(repaired)
}

/// Whether the data directory of the server is still there, and can be read.
fn has_its_data(setup: &ServerSetup) -> Result<(), LabError> {
    let data = setup.directories.data.data();
    let read = fs::read_dir(&data).and_then(|mut entries| entries.try_for_each(|entry| entry?.metadata().map(drop)));
    read.map_err(|error| environment(format!("{}: {error}", data.display())))
}

/// Starts the server again on what is left.
fn answer(
    now: &mut UnderWay,
    target: &mut OpenTarget,
    setup: &ServerSetup,
    redo_bytes: Option<u64>,
) -> Result<CrashEnd, LabError> {
    match start_again(now, target, setup) {
        Ok(seconds) => {
            now.outcome.recovery = Some(Recovery { seconds, redo_bytes, broken: Vec::new() });
            Ok(CrashEnd::Answered)
        }
        Err(error) if is_interrupt(&error) || now.watch.interrupted_by_user() => Err(error),
        Err(error) => Ok(CrashEnd::NotStarted(error.to_string())),
    }
}

/// Has the replica take over from the server that was killed, or starts one on the copy of its data.
fn survive(
    now: &mut UnderWay,
    target: &mut OpenTarget,
    setup: &ServerSetup,
    strike: &Strike,
) -> Result<CrashEnd, LabError> {
    let mut since = strike.at;
    let survivor = match (&mut now.replica, &now.backup, &strike.copy) {
        (Some(replica), ..) => replica.take_over(&mut now.watch, &target.database),
        (_, Some(backup), Some(copy)) => {
            since = Instant::now();
            backup.open(copy, setup, &mut now.watch)
        }
        _ => Err(environment("nothing can take over")),
    };
    match survivor {
        Ok(mut survivor) => {
            survivor.database.clone_from(&target.database);
            *target = survivor;
            now.watch.watchdog.guard(target.server.as_ref().and_then(Victim::of));
            target.enter_database()?;
            let seconds = since.elapsed().as_secs_f64();
            now.outcome.recovery = Some(Recovery { seconds, redo_bytes: None, broken: Vec::new() });
            Ok(CrashEnd::Answered)
        }
        Err(error) if is_interrupt(&error) || now.watch.interrupted_by_user() => Err(error),
        Err(error) => Ok(CrashEnd::NotStarted(error.to_string())),
    }
}

impl UnderWay<'_> {
    /// Keeps the data as the fault left them, if the plan says so, until it is known what became of them.
    fn keep(&mut self, setup: &ServerSetup, is_unusable: bool) {
        if !self.plan.crash.as_ref().is_some_and(|rules| rules.keep) {
            return;
        }
        let trial = self.writer.directory().to_owned();
        let kept = match is_unusable {
            true => KeptData::of_image(setup, &trial),
            false => KeptData::of_directories(setup, &trial),
        };
        match kept {
            Ok(kept) => self.kept = Some(kept),
            Err(error) => self.caveat(Caveat::new("data_not_kept", format!("the data were not kept: {error}"))),
        }
    }

    /// Looks for pages that are written by half, once the server of a crash trial is down.
    pub(super) fn look_at_pages(&mut self, setup: &ServerSetup) -> Result<(), LabError> {
        let Some(mut found) = self.outcome.crash.take() else { return Ok(()) };
        if !matches!(found.end, CrashEnd::FileSystem(_)) {
            // Where a replica took over, or a copy was made, their data are what there is.
            let other = self.replica.as_ref().map(Replica::data).or(self.backup.as_ref().map(Backup::data));
            let own = || kept::directories(setup);
            let mut looked = PageFindings::default();
            for directory in other.map_or_else(own, |other| vec![other]) {
                pages::look_at(setup.build, &directory, &mut looked);
            }
            found.is_torn = !looked.wrong.is_empty();
            found.corrupt.extend(looked.wrong);
            if !looked.not_checked.is_empty() {
                self.caveat(pages::not_checked(&looked.not_checked));
            }
        }
        if let CrashEnd::NotStarted(why) = &found.end {
            found.is_torn |= pages::speaks_of_pages(why);
        }
        match self.kept.take() {
            Some(kept) if found.loses() || found.damages() => found.kept = Some(kept.keep()),
            Some(kept) => kept.remove()?,
            None => {}
        }
        self.outcome.crash = Some(found);
        Ok(())
    }
}
