//! A crash trial: a load, a fault under it, the way back, and what is missing afterwards.
//!
//! Begin with [`crash`]; the fault itself is in [`strike`], what is missing in [`reckoning`], and whether pages are whole in
//! [`pages`]; [`replica`] has a second server that takes over, [`backup`] a copy that is made meanwhile.

mod backup;
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
use pages::PageFindings;
use plimsoll_data::check::{self, CONNECTIONS};
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{CommitLog, LoggedCommit, Workload};
use plimsoll_lanes::faults::Fault;
use plimsoll_lanes::{Lane, LaneError, Lanes};
use plimsoll_model::FaultKind;
use plimsoll_model::crash::{CrashEnd, CrashOutcome};
use plimsoll_model::lab::Recovery;
use plimsoll_model::samples::Phase;
use plimsoll_plan::RunPlan;
use plimsoll_plan::lab::PlannedFault;
use plimsoll_plan::plan::Measure;
use plimsoll_server::snapshot::tree;
use plimsoll_wire::text::identifier;
use plimsoll_workloads::chosen::ChosenWorkload;
use reckoning::{Reckoning, acknowledged, reckon};
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
const TOO_LONG_A_COPY: f64 = 3600.0;

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
    let lane = setup.directories.lane.as_ref();
    prepare(now, setup, fault.kind)?;
    let log = Arc::new(CommitLog::new(commit_file(now.writer.directory())?));
    let (is_over, is_done) = (AtomicBool::new(false), AtomicBool::new(false));
    let circumstances = Circumstances { commits: Some(&log), ..now.circumstances(Some(Phase::Recover)) };
    let point = now.trial.point;
    let (replica, backup) = (now.replica.as_ref(), now.backup.as_ref());
    let (loaded, struck) = thread::scope(|scope| {
        let saboteur =
            Saboteur { fault, victim, lane, replica, backup, log: &log, is_over: &is_over, is_done: &is_done };
        let striking = scope.spawn(|| saboteur.strike());
        let mut watch = UntilDone { inner: &mut now.watch, is_done: &is_done };
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
    found.end = match repair(setup, fault.kind)? {
        Some(damage) => CrashEnd::FileSystem(damage),
        None if matches!(fault.kind, FaultKind::Replica | FaultKind::Backup) => survive(now, target, setup, &strike)?,
        None => answer(now, target, setup)?,
    };
    if found.end == CrashEnd::Answered {
        let after = AfterCrash { chosen, told: &told, struck_ns: log.time_ns(strike.at) };
        let mut enter = |target: &mut OpenTarget, outcome: &mut Outcome| (adapter.after)(target, outcome);
        if let Err(error) = after.look(now, target, &mut outcome, &mut enter, &mut found) {
            if is_interrupt(&error) {
                return Err(error);
            }
            // It answered, and did not survive being asked for everything.
            found.broken.push(error.to_string());
        } else if let Some(copy) = &strike.copy {
            // Clients were told of what else is there, but later.
            found.unacknowledged = None;
            backup::must_not_be_newer(target, &all, log.time_ns(copy.ended))?;
        }
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
        unflushed: strike.unflushed,
        replica: strike.replica,
        copy: strike.copy.as_ref().map(backup::facts),
        end: CrashEnd::Answered,
        is_torn: false,
        corrupt: Vec::new(),
        broken: Vec::new(),
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

/// Gives the storage back what it needs: power, working flushes, room. Returns what is wrong with its file system, if it
/// cannot be mounted any more.
fn repair(setup: &ServerSetup, fault: FaultKind) -> Result<Option<String>, LabError> {
    let lane = setup.directories.lane.as_ref();
    match fault {
        // Nothing happened to the storage.
        FaultKind::Kill | FaultKind::Replica | FaultKind::Backup => return Ok(None),
        // What its client still has in memory would hide what it lost, or never got.
        FaultKind::ServerPower | FaultKind::Cut => {
            return Ok(tree::settle(&setup.directories.data.data()).err().map(|error| error.to_string()));
        }
        FaultKind::Full => return make_room(of_lane(lane)?).map(|()| None),
        // What it was given before it failed it still has.
        FaultKind::IoError => {
            of_lane(lane)?.fail(Fault::default())?;
            of_lane(lane)?.settle()?;
        }
        FaultKind::Power | FaultKind::Torn | FaultKind::Reorder | FaultKind::Lying => {}
    }
    let lane = of_lane(lane)?;
    let lanes = lanes_with(lane)?;
    let (mut damage, mut is_mounted) = (None, false);
    let powered = setup.directories.data.let_go_while(setup.holder, || match lanes.power_up(lane) {
        Ok(_) => {
            is_mounted = true;
            Ok(())
        }
        Err(LaneError::Damaged(why)) => {
            damage = Some(why.clone());
            Err(environment(why))
        }
        Err(error) => Err(LabError::from(error)),
    });
    let whole = powered.and_then(|()| has_its_data(setup));
    match whole {
        // It was mounted, and what was on it is not there, or cannot be read.
        Err(error) if is_mounted => damage = Some(error.to_string()),
        Err(error) if damage.is_none() => return Err(error),
        _ => {}
    }
    Ok(damage)
}

/// Whether the data directory of the server is still there, and can be read.
fn has_its_data(setup: &ServerSetup) -> Result<(), LabError> {
    let data = setup.directories.data.data();
    let read = fs::read_dir(&data).and_then(|mut entries| entries.try_for_each(|entry| entry?.metadata().map(drop)));
    read.map_err(|error| environment(format!("{}: {error}", data.display())))
}

/// Starts the server again on what is left.
fn answer(now: &mut UnderWay, target: &mut OpenTarget, setup: &ServerSetup) -> Result<CrashEnd, LabError> {
    match start_again(now, target, setup) {
        Ok(seconds) => {
            now.outcome.recovery = Some(Recovery { seconds, redo_bytes: None, broken: Vec::new() });
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

/// What is needed to look at the data after a crash.
struct AfterCrash<'c> {
    chosen: &'c ChosenWorkload,
    told: &'c [LoggedCommit],
    struck_ns: u64,
}

/// Enters in the data's own ledger what a load has committed.
type EnterLoad<'e> = &'e mut dyn FnMut(&mut OpenTarget, &mut Outcome) -> Result<(), LabError>;

impl AfterCrash<'_> {
    fn look(
        &self,
        now: &mut UnderWay,
        target: &mut OpenTarget,
        outcome: &mut Outcome,
        enter: EnterLoad<'_>,
        found: &mut CrashOutcome,
    ) -> Result<(), LabError> {
        enter(target, outcome)?;
        found.corrupt = self.damaged_tables(target)?;
        let findings = check::findings(target, self.chosen, CONNECTIONS, &mut now.watch)?;
        let reckoned = reckon(target, self.chosen, &outcome.counted, self.told, &findings)?;
        let Reckoning { acknowledged, lost, first_lost_ns, unacknowledged } = reckoned;
        (found.acknowledged, found.lost, found.unacknowledged) = (acknowledged, Some(lost), unacknowledged);
        found.lost_seconds = first_lost_ns.map(|first| self.struck_ns.saturating_sub(first) as f64 / 1e9);
        // That something is missing is counted; only what else does not hold is damage.
        let broken = findings.into_iter().filter(|finding| !finding.holds && finding.missing.is_none());
        found.broken = broken.map(|of| format!("{}: {}", of.name, of.found.unwrap_or_default())).collect();
        Ok(())
    }

    /// What CHECK TABLE says of the tables that are not well.
    fn damaged_tables(&self, target: &mut OpenTarget) -> Result<Vec<String>, LabError> {
        let names: Vec<String> = self.chosen.names().tables.iter().map(|name| identifier(name)).collect();
        let failed = |failure| LabError::sql("checking the tables", &failure);
        let rows = target.control.rows(&format!("CHECK TABLE {}", names.join(", "))).map_err(failed)?;
        let damaged = |row: Vec<Option<String>>| {
            let mut cells = row.into_iter().map(Option::unwrap_or_default);
            let (table, kind, text) = (cells.next()?, cells.nth(1)?, cells.next()?);
            let is_well = kind == "status" && text == "OK" || matches!(kind.as_str(), "note" | "info");
            (!is_well).then(|| format!("{table}: {text}"))
        };
        Ok(rows.rows.into_iter().filter_map(damaged).collect())
    }
}

impl UnderWay<'_> {
    /// Looks for pages that are written by half, once the server of a crash trial is down.
    pub(super) fn look_at_pages(&mut self, setup: &ServerSetup) -> Result<(), LabError> {
        let Some(mut found) = self.outcome.crash.take() else { return Ok(()) };
        if !matches!(found.end, CrashEnd::FileSystem(_)) {
            // Where a replica took over, or a copy was made, their data are what there is.
            let other = self.replica.as_ref().map(Replica::data).or(self.backup.as_ref().map(Backup::data));
            match pages::wrong(setup.build, &other.unwrap_or_else(|| setup.directories.data.data()))? {
                PageFindings::Checked(files) => {
                    found.is_torn = !files.is_empty();
                    found.corrupt.extend(files);
                }
                PageFindings::NotChecked(why) => self.caveat(pages::not_checked(&why)),
            }
        }
        if let CrashEnd::NotStarted(why) = &found.end {
            found.is_torn |= pages::speaks_of_pages(why);
        }
        self.outcome.crash = Some(found);
        Ok(())
    }
}
