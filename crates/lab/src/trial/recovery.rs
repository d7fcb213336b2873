//! A crash under load, and the time until the server answers again.

use super::innodb_status::redo_bytes;
use super::watchdog::Victim;
use super::{ServerSetup, UnderWay, limits};
use crate::adapter::WorkloadAdapter;
use crate::error::LabError;
use crate::run::one_point;
use plimsoll_data::check::{self, CONNECTIONS};
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{Endpoint, Workload};
use plimsoll_model::Caveat;
use plimsoll_model::lab::Recovery;
use plimsoll_model::samples::Phase;
use plimsoll_plan::plan::Measure;
use plimsoll_plan::{LabPlan, RunPlan};
use plimsoll_watch::{Event, Watcher};
use plimsoll_workloads::chosen::ChosenWorkload;
use std::time::Duration;

/// The load runs for this many seconds before the server is killed under it.
const KILLED_AFTER: usize = 3;
/// A load whose server is not killed ends after this time.
const AT_MOST_SECONDS: f64 = 60.0;
const OF_THE_CRASH: u64 = 0x0dd_ba11;
/// A server that took longer than it may by less than this has its time told.
const LONGER: Duration = Duration::from_secs(2);

/// What is needed to crash a server under load.
pub struct Crash<'c, W> {
    pub target: &'c mut OpenTarget,
    pub adapter: &'c WorkloadAdapter<'c, W>,
    pub plan: &'c RunPlan,
    pub chosen: &'c ChosenWorkload,
    pub setup: &'c ServerSetup<'c>,
}

/// Kills the server with SIGKILL under load, starts it again on the same data, times it until it answers a query, and
/// checks whether the data are intact.
pub fn crash<W: Workload>(now: &mut UnderWay, crash: Crash<W>) -> Result<(), LabError> {
    let Crash { target, adapter, plan, chosen, setup } = crash;
    now.watch.enter(Phase::Recover);
    let plan = RunPlan {
        warmup_seconds: 0.0,
        measure: Measure::Seconds(AT_MOST_SECONDS),
        rounds: 1,
        seed: plan.seed ^ OF_THE_CRASH,
        ..plan.clone()
    };
    let Some(victim) = target.server.as_ref().and_then(Victim::of) else {
        return Err(LabError::Environment("the server ended before it could be killed".to_owned()));
    };
    let circumstances = now.circumstances(Some(Phase::Recover));
    let mut killer =
        Killer { victim, endpoint: target.endpoint.clone(), seconds: 0, redo_bytes: None, inner: &mut now.watch };
    let point = now.trial.point;
    let loaded = one_point(target, &plan, point, adapter, circumstances, &mut now.writer, &mut killer);
    let Killer { seconds, redo_bytes, .. } = killer;
    if seconds < KILLED_AFTER {
        let interrupted = now.watch.interrupted();
        return Err(match loaded {
            Err(error) => error,
            Ok(_) if interrupted => LabError::Interrupted,
            Ok(_) => LabError::Environment("the load ended before the server was killed under it".to_owned()),
        });
    }
    let mut outcome = loaded?;
    let recovered = restart(now, target, setup)?;
    // What clients were told is committed goes into the ledger now, so that the checks notice if it is missing.
    (adapter.after)(target, &mut outcome)?;
    let findings = check::findings(target, chosen, CONNECTIONS, &mut now.watch)?;
    let broken = findings.into_iter().filter(|finding| !finding.holds);
    let broken = broken.map(|finding| format!("{}: {}", finding.name, finding.found.unwrap_or_default()));
    let broken: Vec<String> = broken.collect();
    if !broken.is_empty() {
        let message = format!("the data did not survive the crash; broken: {}", broken.join("; "));
        now.caveat(Caveat::new("data_broken", message));
    }
    now.outcome.recovery = Some(Recovery { seconds: recovered, redo_bytes, broken });
    Ok(())
}

/// Starts the killed server again; seconds from its start to its first answer to a query.
fn restart(now: &mut UnderWay, target: &mut OpenTarget, setup: &ServerSetup) -> Result<f64, LabError> {
    if let Some(server) = target.server.take() {
        now.watch.watchdog.guard(None);
        server.kill()?;
    }
    start_again(now, target, setup)
}

/// The same for a server that is gone.
pub(super) fn start_again(now: &mut UnderWay, target: &mut OpenTarget, setup: &ServerSetup) -> Result<f64, LabError> {
    let limit = comes_back_within(now.plan);
    let started = setup.start(&mut now.watch, &target.database, limit)?;
    *target = started.target;
    target.control.rows("SELECT 1").map_err(|failure| LabError::sql("asking the recovered server", &failure))?;
    let seconds = started.since.elapsed().as_secs_f64();
    target.enter_database()?;
    Ok(seconds)
}

/// How long a server may take to answer again. A search need not wait for one that takes longer than it may.
fn comes_back_within(plan: &LabPlan) -> Duration {
    let limit = limits::of(&plan.trials, Phase::Recover);
    let most = plan.tune.as_ref().and_then(|rules| Duration::try_from_secs_f64(rules.recovery_seconds?).ok());
    most.map_or(limit, |most| limit.min(most + LONGER))
}

/// Kills a server when its load has run for a while.
struct Killer<'k> {
    victim: Victim,
    endpoint: Endpoint,
    seconds: usize,
    redo_bytes: Option<u64>,
    inner: &'k mut dyn Watcher,
}

impl Watcher for Killer<'_> {
    fn tell(&mut self, event: Event<'_>) {
        let of_the_load = matches!(event, Event::Interval { .. });
        self.inner.tell(event);
        if of_the_load {
            self.seconds += 1;
            if self.seconds == KILLED_AFTER {
                self.redo_bytes = redo_bytes(&self.endpoint);
                self.victim.kill();
            }
        }
    }

    fn interrupted(&self) -> bool {
        self.inner.interrupted()
    }
}
