//! One trial: restore, pause, start, verify, warm up, measure, drain, collect, stop.
//!
//! Begin with [`TrialRunner::trial`]. What happens on a running server is in [`server`], the load in [`drive`], the crash and
//! the recovery in [`recovery`], what else goes wrong in [`crash`], how trials share a server in [`flip`]; [`watch`] notes the phases and [`watchdog`] ends one that takes too long.

mod action;
mod crash;
mod data;
mod drive;
mod facts;
mod flip;
mod guard;
mod innodb_status;
pub mod limits;
mod recovery;
mod server;
pub(crate) mod storage;
mod watch;
mod watchdog;

use crate::error::LabError;
use crate::journal::Journal;
use crate::listening::Listening;
use crate::options::Options;
use crate::preflight::{Machine, Prepared, confinement, settings};
use crate::storage_plan;
use crate::verification::Verifications;
use facts::facts;
use flip::SharedServer;
use guard::TrialGuard;
use plimsoll_data::starting_data::{self, TrialDirectories};
use plimsoll_data::target::{DATABASE, OpenTarget};
use plimsoll_fleet::Fleet;
use plimsoll_host::Home;
use plimsoll_host::facts::memory_bytes;
use plimsoll_host::speed::cpu_speed;
use plimsoll_measures::lab::compares;
use plimsoll_model::Build;
use plimsoll_model::Caveat;
use plimsoll_model::agreed::AgreedLoad;
use plimsoll_model::crash::CrashEnd;
use plimsoll_model::lab::{TrialOutcome, TrialStatus};
use plimsoll_model::samples::Phase;
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::flip::obstacle;
use plimsoll_plan::lab::{Action, Restore, TrialPlan, Variant};
use plimsoll_record::TrialWriter;
use plimsoll_record::surroundings::Surroundings;
use plimsoll_server::ServerError;
use plimsoll_server::snapshot::store::Stored;
use plimsoll_storage::commit_time::commit_us;
use plimsoll_watch::Watcher;
use server::ServerSetup;
use std::time::{Duration, Instant};
use watch::Watch;

/// What the trials of a plan need, one after the other.
pub struct TrialRunner<'a> {
    pub home: &'a Home,
    pub plan: &'a LabPlan,
    pub options: &'a Options,
    pub machine: Machine<'a>,
    /// What the load generator can do at most, queries per second, if that is known.
    pub ceiling: Option<f64>,
    /// The agents that make its loads; `None` if this process does.
    fleet: Option<&'a Fleet>,
    /// Where its private servers listen for them, if they are on other machines.
    listening: Option<&'a Listening>,
    held: Vec<Held>,
    /// When the trial before had ended.
    idle_since: Option<Instant>,
}

/// TrialDirectories that are kept from one trial to the next.
struct Held {
    variant: Variant,
    build: Build,
    directories: TrialDirectories,
    /// Data were restored there from a dataset, and trials have changed them since.
    used: bool,
    /// The server of a switchback, between its trials.
    running: Option<SharedServer>,
}

impl<'a> TrialRunner<'a> {
    pub fn new(
        home: &'a Home,
        plan: &'a LabPlan,
        options: &'a Options,
        machine: Machine<'a>,
        fleet: Option<&'a Fleet>,
        listening: Option<&'a Listening>,
    ) -> TrialRunner<'a> {
        let ceiling = crate::calibrate::read(home).map(|found| found.queries_per_second);
        TrialRunner { home, plan, options, machine, ceiling, fleet, listening, held: Vec::new(), idle_since: None }
    }

    /// Does a trial and records it. Any failure in it is its outcome. Where its agents were at a load when the coordinator
    /// before was killed, that is `collected`.
    ///
    /// # Errors
    /// If it cannot be recorded.
    pub fn trial(
        &mut self,
        trial: &TrialPlan,
        collected: Option<&AgreedLoad>,
        journal: &mut Journal,
        watcher: &mut dyn Watcher,
    ) -> Result<TrialOutcome, LabError> {
        let writer = journal.recording.trial(&facts(trial, self.surroundings(&trial.variant)))?;
        let mut now = UnderWay {
            plan: self.plan,
            trial,
            writer,
            watch: Watch::begin(watcher, journal, &self.plan.trials, trial.index)
                .guarded(self.plan.tune.as_ref().map(|rules| TrialGuard::new(rules, memory_bytes()))),
            threads: self.options.threads,
            ceiling: self.ceiling,
            fleet: self.fleet,
            listening: self.listening,
            collected,
            outcome: TrialOutcome::new(TrialStatus::Failed),
            verifications: Verifications::default(),
            failed_in: None,
            is_flipped: false,
            idle_since: self.idle_since,
            replica: None,
            backup: None,
            kept: None,
        };
        let ended = self.all_phases(&mut now);
        self.idle_since = Some(Instant::now());
        now.end(ended)
    }

    /// If something is not known, the trial itself will fail for it.
    fn surroundings(&mut self, variant: &Variant) -> Surroundings {
        self.machine.surroundings(self.plan, variant).unwrap_or_default()
    }

    fn all_phases(&mut self, now: &mut UnderWay) -> Result<(), LabError> {
        let trial = now.trial;
        let before = now.cpu_speed();
        let before_it: &[Action] = if now.collected.is_some() { &[] } else { &trial.variant.before };
        let done = now.actions(before_it, "before", None).and_then(|()| match &trial.variant {
            variant if variant.workload.kind == storage_plan::STORAGE => storage::evaluate(self, now),
            variant if variant.target.is_some() => now.on_external(self.home, self.options),
            _ => self.on_private(now),
        });
        let done = now.explained(done);
        now.watch.leave();
        now.outcome.cpu_speed = mean(before, now.cpu_speed());
        now.watch.tidy(true);
        let tidied = now.actions(&trial.variant.after, "after", None);
        now.watch.tidy(false);
        done.and(tidied)
    }

    /// A trial on a private server.
    fn on_private(&mut self, now: &mut UnderWay) -> Result<(), LabError> {
        let variant = &now.trial.variant;
        let prepared = self.machine.prepare(variant)?;
        let Some(build) = prepared.build.clone() else {
            return Err(LabError::Refused(format!("the variant `{}` has no server build", variant.name)));
        };
        let place = self.hold(now.trial, &build, &mut now.watch)?;
        let Held { directories, used, running, .. } = &mut self.held[place];
        let stored = match now.plan.trials.restore.copies() && running.is_none() {
            true => Some(now.dataset(self.home, directories, &prepared, &build)?),
            false => None,
        };
        if running.is_some() {
            now.outcome.restored = Some(now.left_as_they_are("the server kept running"));
        } else if *used && now.plan.trials.restore == Restore::Once {
            now.outcome.restored = Some(now.left_as_they_are("restore = \"once\""));
        }
        let before = now.commit_us(directories);
        let done = now.with_data(directories, &prepared, &build, stored.as_ref(), running, &self.options.holder);
        let done = done.and(now.end_replica()).and(now.end_backup());
        now.outcome.commit_us = mean(before, now.commit_us(directories));
        *used = now.outcome.restored.is_some();
        now.keep_log(directories.data.directory())?;
        self.renew(now, place, done.is_err())?;
        done
    }

    /// After a fault a lane has another device, or none that can be used any more. What a trial that failed has left on it is not
    /// trusted either.
    fn renew(&mut self, now: &UnderWay, place: usize, has_failed: bool) -> Result<(), LabError> {
        let (Some(_), Some(lane)) = (now.trial.fault, &self.held[place].directories.lane) else { return Ok(()) };
        let name = lane.name.clone();
        let end = now.outcome.crash.as_ref().map(|crash| &crash.end);
        if has_failed || matches!(end, Some(CrashEnd::FileSystem(_))) {
            drop(self.held.swap_remove(place));
            return self.machine.give_up_lane(&name);
        }
        self.held[place].directories.lane = Some(self.machine.lane(&name)?);
        Ok(())
    }

    /// Holds the directories of a variant, and says at which place. The directories of the variant before are released with the data
    /// that the next trial does not need, so that only one variant's data take room at a time.
    fn hold(&mut self, trial: &TrialPlan, build: &Build, watcher: &mut dyn Watcher) -> Result<usize, LabError> {
        let variant = &trial.variant;
        let turns = |held: &Held| {
            trial.block.is_some()
                && held.running.is_some()
                && held.build == *build
                && obstacle(&held.variant, variant).is_none()
        };
        if let Some(place) = self.held.iter().position(turns) {
            return Ok(place);
        }
        for running in self.held.iter_mut().filter_map(|held| held.running.take()) {
            running.stop()?;
        }
        let serves = |held: &Held| {
            let places = |of: &Variant| (of.name.clone(), of.storage.clone(), of.layout.clone());
            places(&held.variant) == places(variant) && held.build == *build
        };
        if let Some(place) = self.held.iter().position(serves) {
            return Ok(place);
        }
        let restored_as_a_whole = self.plan.trials.restore.copies();
        while let Some(place) =
            self.held.iter().position(|held| restored_as_a_whole || held.variant.name == variant.name)
        {
            self.let_go(place)?;
        }
        let directories = self.machine.directories(self.plan, variant, &self.options.holder, watcher)?;
        let (variant, build) = (variant.clone(), build.clone());
        self.held.push(Held { variant, build, directories, used: false, running: None });
        Ok(self.held.len() - 1)
    }

    /// Removes the directories of a variant, or with them the lane that faults have damaged.
    fn let_go(&mut self, place: usize) -> Result<(), LabError> {
        let directories = self.held.swap_remove(place).directories;
        let lane = directories.lane.as_ref().filter(|_| self.plan.crash.is_some()).map(|lane| lane.name.clone());
        match (remove(directories), lane) {
            (Err(_), Some(lane)) => self.machine.give_up_lane(&lane),
            (removed, _) => Ok(removed?),
        }
    }

    /// Removes all directories, whose servers are down, the lanes built for them, and storage paths without datasets.
    ///
    /// # Errors
    /// The first that could not be removed; `clean` finds it.
    pub fn finish(self) -> Result<(), LabError> {
        let TrialRunner { home, machine, held, .. } = self;
        let removed: Vec<Result<(), LabError>> = held.into_iter().map(Held::remove).collect();
        drop(machine);
        removed.into_iter().collect::<Result<(), LabError>>()?;
        home.forget_places()?;
        Ok(())
    }
}

impl Held {
    /// Stops the server that still runs there, and removes the directories.
    fn remove(self) -> Result<(), LabError> {
        self.running.map_or(Ok(()), SharedServer::stop)?;
        Ok(remove(self.directories)?)
    }
}

fn remove(directories: TrialDirectories) -> Result<(), ServerError> {
    for (_, directory) in directories.apart {
        directory.remove()?;
    }
    directories.data.remove()
}

/// A trial under way.
pub(crate) struct UnderWay<'a> {
    plan: &'a LabPlan,
    trial: &'a TrialPlan,
    writer: TrialWriter,
    watch: Watch<'a>,
    /// Connections that load data.
    threads: usize,
    ceiling: Option<f64>,
    fleet: Option<&'a Fleet>,
    listening: Option<&'a Listening>,
    collected: Option<&'a AgreedLoad>,
    outcome: TrialOutcome,
    verifications: Verifications,
    /// The phase in which something failed, before the server was stopped.
    failed_in: Option<Phase>,
    /// Its settings were set on a server that was running.
    is_flipped: bool,
    /// When the trial before had ended.
    idle_since: Option<Instant>,
    replica: Option<crash::Replica>,
    backup: Option<crash::Backup>,
    kept: Option<crash::KeptData>,
}

impl UnderWay<'_> {
    /// The dataset that the trial starts from, built if needed, before the first phase and announced as an event.
    fn dataset(
        &mut self,
        home: &Home,
        directories: &TrialDirectories,
        prepared: &Prepared,
        build: &Build,
    ) -> Result<Stored, LabError> {
        let since_ns = self.watch.now_ns();
        // With its settings as this server takes them: an option file may name removed settings, and paths that are not
        // ours.
        let variant = Variant { config: prepared.requested.clone(), ..self.trial.variant.clone() };
        let stored = starting_data::obtain(home, directories, build, &variant, &mut self.watch)?;
        self.watch.found_dataset(&stored.description.id, since_ns);
        Ok(stored)
    }

    /// Puts the data in place, starts the server on them and does the rest of the trial there; or does it on the server
    /// that is `running`. What runs afterwards is for the next trial.
    fn with_data(
        &mut self,
        directories: &TrialDirectories,
        prepared: &Prepared,
        build: &Build,
        stored: Option<&Stored>,
        running: &mut Option<SharedServer>,
        holder: &str,
    ) -> Result<(), LabError> {
        let variant = &self.trial.variant;
        self.watch.watch_disk(directories.data.directory().path());
        for note in &prepared.notes {
            self.caveat(Caveat::new("settings_left_out", note));
        }
        let mut settings = settings(prepared, variant, directories)?;
        if self.has_replica() {
            crash::make_primary(&mut settings, build.flavour)?;
        }
        if let Some(listening) = self.listening {
            listening.open(&mut settings)?;
        }
        let setup = ServerSetup {
            directories,
            build,
            settings,
            requested: &prepared.requested,
            confinement: confinement(variant, directories),
            stored,
            holder,
            listening: self.listening,
        };
        let mut shared = match running.take() {
            Some(mut shared) => match self.pause().and_then(|()| self.flip(&mut shared, &setup.settings)) {
                Ok(()) => shared,
                Err(error) => return self.stop(shared.target).and(Err(error)),
            },
            None => SharedServer::new(self.start(&setup)?),
        };
        let done = self.on_server(&mut shared.target, Some(&setup));
        if done.is_err() {
            self.failed_in = self.watch.phase();
        }
        if self.trial.block.is_some() && done.is_ok() {
            self.watch.watchdog.guard(None);
            *running = Some(shared);
            return Ok(());
        }
        let stopped = self.stop(shared.target).and_then(|()| self.look_at_pages(&setup));
        done.and(stopped)
    }

    /// Puts the data in place and starts the server on them.
    fn start(&mut self, setup: &ServerSetup) -> Result<OpenTarget, LabError> {
        let ServerSetup { directories, build, stored, .. } = *setup;
        match (&self.plan.trials.restore, stored) {
            (Restore::Once, _) if self.outcome.restored.is_some() => {}
            (restore @ (Restore::Once | Restore::Snapshot(_)), Some(stored)) => {
                self.watch.enter(Phase::Restore);
                let method = if let Restore::Snapshot(method) = restore { *method } else { None };
                let layout = &self.trial.variant.layout;
                let restored = starting_data::restore(directories, stored, layout, method, &mut self.watch)?;
                self.outcome.restored = Some(restored);
            }
            (Restore::Commands(commands), _) => {
                self.watch.enter(Phase::Restore);
                self.outcome.restored = Some(self.by_commands(commands, directories, build)?);
            }
            _ => {}
        }
        if self.has_replica() {
            self.prepare_replica(setup)?;
        }
        self.pause()?;
        self.watch.enter(Phase::Start);
        let database = stored.and_then(|stored| stored.description.contents.first());
        let database = database.map_or(DATABASE, |content| content.database.as_str());
        let target = setup.start(&mut self.watch, database, limits::START)?.target;
        if let Some(replica) = &mut self.replica {
            replica.follow(setup, &target, &mut self.watch)?;
        }
        Ok(target)
    }

    /// Leaves the machine alone until the plan's pause is over, which began when the trial before had ended.
    pub(super) fn pause(&mut self) -> Result<(), LabError> {
        let pause = Duration::try_from_secs_f64(self.plan.trials.pause_seconds).unwrap_or_default();
        match self.idle_since.map(|since| pause.saturating_sub(since.elapsed())) {
            None | Some(Duration::ZERO) => Ok(()),
            Some(left) => {
                self.watch.enter(Phase::Pause);
                self.watch.pause(left)
            }
        }
    }

    /// How fast the CPUs are while no server of the trial works, if that is to explain anything.
    fn cpu_speed(&self) -> Option<f64> {
        if self.explains() { cpu_speed() } else { None }
    }

    /// The time of a commit where the data are, likewise.
    fn commit_us(&self, directories: &TrialDirectories) -> Option<f64> {
        if self.explains() { commit_us(directories.data.directory().path()).ok() } else { None }
    }

    /// Whether what is measured beside the trials may explain how they differ.
    fn explains(&self) -> bool {
        self.plan.trials.explain && self.plan.rungs.is_empty() && compares(self.plan).is_ok()
    }

    fn caveat(&mut self, caveat: Caveat) {
        if !self.outcome.caveats.contains(&caveat) {
            self.outcome.caveats.push(caveat);
        }
    }

    /// Names the phase that took too long as the reason for whatever failed since.
    fn explained(&mut self, done: Result<(), LabError>) -> Result<(), LabError> {
        match (done, self.watch.watchdog.forgive().or_else(|| self.watch.stopped.take())) {
            (Err(_), Some(struck)) => Err(LabError::Environment(struck)),
            (Err(error), None) if !is_interrupt(&error) => {
                let phase =
                    self.failed_in.or(self.watch.phase()).map_or("before its first phase".to_owned(), |phase| {
                        format!("in the phase {}", watchdog::name(phase))
                    });
                match error {
                    // A recording that cannot be written is not the trial's fault.
                    LabError::Record(error) => Err(LabError::Record(error)),
                    error => Err(LabError::Environment(format!("{phase}: {error}"))),
                }
            }
            (done, _) => done,
        }
    }

    /// Writes the outcome.
    fn end(self, ended: Result<(), LabError>) -> Result<TrialOutcome, LabError> {
        let UnderWay { writer, watch, mut outcome, verifications, .. } = self;
        let by_user = watch.interrupted_by_user();
        let (phases, unrecorded) = watch.end();
        outcome.phases = phases;
        outcome.caveats.extend(verifications.caveats);
        (outcome.verifications, outcome.risks) = (verifications.verifications, verifications.risks);
        (outcome.status, outcome.why) = match ended {
            Ok(()) => (TrialStatus::Done, None),
            Err(LabError::Record(error)) => return Err(error.into()),
            Err(error) if is_interrupt(&error) && by_user => (TrialStatus::Interrupted, Some("interrupted".to_owned())),
            // It might not have failed by itself, so it is run again.
            Err(error) if by_user => (TrialStatus::Interrupted, Some(format!("interrupted; {error}"))),
            Err(error) => (TrialStatus::Failed, Some(error.to_string())),
        };
        if let Some(error) = unrecorded {
            return Err(error.into());
        }
        writer.outcome(&outcome)?;
        Ok(outcome)
    }
}

/// Of what was measured before and after.
fn mean(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    before.zip(after).map(|(before, after)| f64::midpoint(before, after))
}

fn is_interrupt(error: &LabError) -> bool {
    matches!(error, LabError::Interrupted | LabError::Server(ServerError::Interrupted { .. }))
}
