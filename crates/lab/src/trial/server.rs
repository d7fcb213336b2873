//! What happens on a running server: its data are prepared, its settings verified, the load is sent, and it is stopped.

use super::UnderWay;
use super::drive::Drive;
use super::limits;
use super::watch::Watch;
use super::watchdog::Victim;
use crate::adapter::{WithWorkload, look_at_tables, with_chosen};
use crate::error::LabError;
use crate::listening::Listening;
use crate::options::Options;
use crate::planned_script;
use crate::telemetry::Collectors;
use crate::{settings, verification};
use plimsoll_data::dataset;
use plimsoll_data::instance::put_back;
use plimsoll_data::starting_data::{self, TrialDirectories};
use plimsoll_data::target::{OpenTarget, TargetSpec};
use plimsoll_host::Home;
use plimsoll_measures::caveats;
use plimsoll_model::Build;
use plimsoll_model::Caveat;
use plimsoll_model::OpeningStep;
use plimsoll_model::lab::{Verification, VerificationVerdict};
use plimsoll_model::samples::Phase;
use plimsoll_plan::lab::{Restore, Setting};
use plimsoll_plan::{Target, knowledge};
use plimsoll_server::directory::ServerDirectory;
use plimsoll_server::snapshot::store::Stored;
use plimsoll_server::{Confinement, Ending, Opening, Settings};
use plimsoll_watch::{Event, Watcher};
use plimsoll_workloads::chosen::ChosenWorkload;
use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The number of last lines of an error log that are kept.
const LOG_LINES: usize = 2000;

/// What the private server of a trial is started on.
pub struct ServerSetup<'s> {
    pub directories: &'s TrialDirectories,
    pub build: &'s Build,
    pub settings: Settings,
    /// What the plan asks for, as this server takes it.
    pub requested: &'s [Setting],
    pub confinement: Confinement,
    pub holder: &'s str,
    /// What the data were restored from, if from a dataset.
    pub stored: Option<&'s Stored>,
    /// Where it listens for agents on other machines, if it does.
    pub listening: Option<&'s Listening>,
}

/// A server that answers, and when its process was started.
pub struct Started {
    pub target: OpenTarget,
    pub since: Instant,
}

impl ServerSetup<'_> {
    /// Starts the server on the data that are in place; one that does not answer within `limit` has failed.
    pub fn start(&self, watch: &mut Watch, database: &str, limit: Duration) -> Result<Started, LabError> {
        let mut since = None;
        let opening = Opening::new(self.holder).ready_within(limit).confined(self.confinement.clone()).watched_by(
            |step, elapsed| {
                if step == OpeningStep::Starting {
                    since.get_or_insert_with(|| Instant::now() - elapsed);
                }
                watch.tell(Event::Server { step, since: elapsed });
                if watch.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        let server = self.directories.data.open(self.build, &self.settings, opening)?;
        watch.watchdog.guard(Victim::of(&server));
        let mut target = OpenTarget::of_server(server, self.settings.clone(), database)?;
        target.lane = self.directories.lane.clone();
        if let Some(listening) = self.listening {
            listening.let_in(&mut target)?;
            target.listens = Some(listening.address.clone());
        }
        Ok(Started { target, since: since.unwrap_or_else(Instant::now) })
    }
}

/// Whether a server that was to be stopped did not shut down by itself.
pub fn was_killed(ending: Ending) -> Result<bool, LabError> {
    match ending {
        Ending::Stopped => Ok(false),
        Ending::Killed => Ok(true),
        Ending::WasDown => Err(LabError::Environment("the server ended before it was stopped".to_owned())),
    }
}

impl UnderWay<'_> {
    /// A trial on an external server, which is only sent SQL.
    pub fn on_external(&mut self, home: &Home, options: &Options) -> Result<(), LabError> {
        let (url, password) = options.login.of(self.trial.variant.target.as_deref().unwrap_or_default())?;
        let spec = TargetSpec {
            target: Target::External(url),
            password,
            default_user: std::env::var("USER").unwrap_or_else(|_| "root".to_owned()),
            database: None,
            holder: options.holder.clone(),
        };
        self.pause()?;
        let mut target = OpenTarget::open(&spec, home, &mut self.watch)?;
        self.on_server(&mut target, None)
    }

    /// Everything between the start of a server and its stop.
    pub fn on_server(&mut self, target: &mut OpenTarget, setup: Option<&ServerSetup>) -> Result<(), LabError> {
        put_back(target)?;
        if let Some(caveat) =
            target.lane.as_ref().filter(|lane| lane.is_on_a_network()).map(|lane| caveats::of_network_lane(&lane.name))
        {
            self.caveat(caveat);
        }
        let is_made_here = self.collected.is_none();
        if is_made_here && matches!(self.plan.trials.restore, Restore::Reload | Restore::None) {
            self.watch.enter(Phase::Restore);
            self.outcome.restored = Some(self.in_the_server(target)?);
        }
        self.watch.enter(Phase::Verify);
        if !target.enter_database()? {
            return Err(LabError::Environment(format!("there is no database `{}` in the data", target.database)));
        }
        let variables = settings::variables(target)?;
        let asked = setup.map_or(&self.trial.variant.config[..], |setup| setup.requested);
        self.verify_settings(target, asked, &variables)?;
        let workload = &self.trial.variant.workload;
        let typed = workload.typed();
        let family = plimsoll_workloads::chosen::family(&workload.kind)?;
        let marker = dataset::marker(&mut target.control, family)?;
        let loaded = marker.as_ref().map(|marker| marker.description.loaded());
        let chosen = ChosenWorkload::new(&workload.kind, &typed, loaded)?;
        look_at_tables(target, &chosen, marker.as_ref())?;
        if self.plan.trials.checksums {
            let is_copy = self.outcome.restored.as_ref().is_some_and(|restored| restored.dataset.is_some());
            self.compare_checksums(target, &chosen, setup.and_then(|setup| setup.stored).filter(|_| is_copy))?;
        }
        let seed = self.trial.seed;
        let collectors = Collectors::start(&self.plan.collectors, &self.writer, self.watch.begun)?;
        let script = planned_script::of(&self.trial.variant)?;
        let protocol = if script.is_some() { planned_script::PROTOCOL } else { chosen.default_protocol() };
        let drive = Drive { now: self, chosen: &chosen, protocol, variables: &variables, setup };
        let driven = match script {
            Some(script) => planned_script::with_adapter(script, |adapter| drive.with(target, adapter)),
            None => with_chosen(target, &chosen, marker.as_ref(), seed, drive),
        };
        let collected = collectors.stop();
        driven?;
        self.watch.enter(Phase::Collect);
        collected?;
        self.must_be_in_effect(asked)
    }

    /// Records the checksums of the tables, and refuses data that differ from those of the dataset.
    fn compare_checksums(
        &mut self,
        target: &mut OpenTarget,
        chosen: &ChosenWorkload,
        stored: Option<&Stored>,
    ) -> Result<(), LabError> {
        let checksums = self.checksums(target, chosen)?;
        let unlike = stored.and_then(|stored| starting_data::unlike(stored, &checksums));
        if let Some(restored) = &mut self.outcome.restored {
            restored.checksums = checksums;
        }
        unlike.map_or(Ok(()), |unlike| Err(LabError::Environment(unlike)))
    }

    /// Records what is set, and refuses to measure anything but what was requested.
    fn verify_settings(
        &mut self,
        target: &mut OpenTarget,
        asked: &[Setting],
        variables: &BTreeMap<String, String>,
    ) -> Result<(), LabError> {
        let effective = settings::recorded(target, variables);
        self.writer.settings(&effective)?;
        if let Some(server) = &target.server {
            let my_cnf = server.directory().my_cnf();
            let mut text = fs::read_to_string(&my_cnf)
                .map_err(|error| LabError::Environment(format!("cannot read {}: {error}", my_cnf.display())))?;
            if self.is_flipped {
                text += "# The server was running already. What was set on it since stands in variables.json.\n";
            }
            self.writer.my_cnf(&text)?;
        }
        self.verifications = verification::read_back(target, asked, variables)?;
        // What the plan asks for is verified; what remains is what Plimsoll itself asked for.
        let is_verified =
            |name: &str| asked.iter().any(|setting| knowledge::unswitched(&setting.name, &setting.value).0 == name);
        for (name, setting) in effective.iter().filter(|(name, _)| !is_verified(name)) {
            settings::unmet(name, setting).into_iter().for_each(|caveat| self.caveat(caveat));
        }
        self.must_be_in_effect(asked)
    }

    /// Refuses what is not as `asked`. Settings of an option file that the server no longer has may be
    /// missing.
    fn must_be_in_effect(&self, asked: &[Setting]) -> Result<(), LabError> {
        if self.plan.trials.lenient {
            return Ok(());
        }
        let from_file = |name: &str| asked.iter().any(|setting| setting.name == name && setting.from_file);
        let excused = |verification: &&Verification| {
            verification.verdict == VerificationVerdict::Removed && from_file(&verification.name)
        };
        let missing: Vec<String> = self
            .verifications
            .missing()
            .filter(|verification| !excused(verification))
            .map(verification::objection)
            .collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(LabError::Environment(format!(
                "{}; `lenient = true` in [trials] measures it nevertheless",
                missing.join("; ")
            ))),
        }
    }

    /// Stops the server of a trial.
    pub fn stop(&mut self, target: OpenTarget) -> Result<(), LabError> {
        let Some(server) = target.server else { return Ok(()) };
        self.watch.enter(Phase::Stop);
        let ending = server.stop(limits::STOP)?;
        self.watch.watchdog.guard(None);
        if was_killed(ending)? {
            let limit = limits::STOP.as_secs();
            self.caveat(Caveat::new(
                "killed_at_the_end",
                format!("the server did not shut down within {limit} s and was killed after the measurement"),
            ));
        }
        Ok(())
    }

    /// Keeps the error log of the server that worked in `directory`.
    pub fn keep_log(&self, directory: &ServerDirectory) -> Result<(), LabError> {
        Ok(self.writer.error_log(&directory.error_log_tail(LOG_LINES))?)
    }
}
