//! The load of a trial: warm-up, measured window, drain.

use super::limits;
use super::recovery::{self, Crash};
use super::{Stand, UnderWay};
use crate::caveats;
use crate::error::LabError;
use crate::proof::{self, Evidence, Sight};
use crate::run::{make_ready, one_point};
use crate::subject::{Errand, Subject};
use crate::target::OpenTarget;
use crate::trial::{self, Circumstances, Ended, Outcome};
use crate::watch::{Event, Watcher};
use plimsoll_engine::control::Control;
use plimsoll_engine::{Endpoint, Workload};
use plimsoll_model::samples::Phase;
use plimsoll_plan::RunPlan;
use plimsoll_plan::lab::WarmUp;
use plimsoll_plan::plan::Measure;
use plimsoll_server::Pinned;
use plimsoll_stats::steady::{self, warm_up_end};
use plimsoll_workloads::chosen::Chosen;
use std::collections::BTreeMap;

/// Told apart from the measured load by another seed, so that it does not ask for the same rows in the same order.
const OF_THE_WARM_UP: u64 = 0x5ca1_ab1e;

/// Drives the load of a trial on a server that is ready for it.
pub struct Drive<'d, 'a> {
    pub now: &'d mut UnderWay<'a>,
    pub chosen: &'d Chosen,
    pub variables: &'d BTreeMap<String, String>,
    /// What a private server is started again on after a crash.
    pub stand: Option<&'d Stand<'d>>,
}

impl Errand for Drive<'_, '_> {
    type Output = ();

    fn with<W: Workload>(self, target: &mut OpenTarget, subject: &Subject<W>) -> Result<(), LabError> {
        let now = self.now;
        let procedure = &now.plan.procedure;
        let warmup_seconds = match procedure.warmup {
            WarmUp::Seconds(seconds) => seconds,
            WarmUp::Auto => 0.0,
        };
        let plan = now.trial.run_plan(procedure, warmup_seconds, self.chosen.default_protocol());
        make_ready(target, &plan, subject, self.variables)?;
        let _pinned = now.trial.variant.client_cpus.as_deref().map(Pinned::to).transpose()?;
        if procedure.warmup == WarmUp::Auto {
            warm_up(now, target, &plan, subject)?;
        }
        measure(now, target, &plan, subject)?;
        match self.stand.filter(|_| procedure.recovery) {
            Some(stand) => recovery::crash(now, Crash { target, subject, plan: &plan, chosen: self.chosen, stand }),
            None => Ok(()),
        }
    }
}

impl UnderWay<'_> {
    /// Where a load stands in this trial.
    pub(super) fn circumstances(&self, phase: Option<Phase>) -> Circumstances {
        Circumstances { ceiling: self.ceiling, since: Some(self.watch.begun), phase, ..Circumstances::default() }
    }
}

/// A run of its own that lasts until throughput has settled.
fn warm_up<W: Workload>(
    now: &mut UnderWay,
    target: &mut OpenTarget,
    plan: &RunPlan,
    subject: &Subject<W>,
) -> Result<(), LabError> {
    let plan = RunPlan {
        measure: Measure::Seconds(limits::WARM_UP.as_secs_f64()),
        seed: plan.seed ^ OF_THE_WARM_UP,
        ..plan.clone()
    };
    let circumstances = now.circumstances(Some(Phase::WarmUp));
    let mut settling = Settling { inner: &mut now.watch, rates: Vec::new(), said: String::new(), settled: false };
    let point = now.trial.point;
    let outcome = one_point(target, (&plan, point), subject, circumstances, &mut now.writer, &mut settling)?;
    let Settling { rates, said, settled, .. } = settling;
    now.outcome.warm_up = Some(match settled {
        true => format!("after {} s: {said}", rates.len()),
        false => format!("given up after {} s: {said}", rates.len()),
    });
    match outcome.ended {
        // It was told to end by what it was waiting for.
        Some(Ended::Interrupted) if settled => Ok(()),
        ended => stopped(ended),
    }
}

/// Ends a load as soon as its throughput has settled.
struct Settling<'s> {
    inner: &'s mut dyn Watcher,
    /// Transactions per second, second by second.
    rates: Vec<f64>,
    said: String,
    settled: bool,
}

impl Watcher for Settling<'_> {
    fn tell(&mut self, event: Event<'_>) {
        if let Event::Interval { interval, .. } = &event
            && interval.phase == Phase::WarmUp
            && !self.settled
        {
            self.rates.push(interval.transactions as f64 / interval.seconds.max(1e-3));
            (self.settled, self.said) = match warm_up_end(&self.rates) {
                steady::WarmUp::GoOn(why) => (false, why),
                steady::WarmUp::Ended { why, .. } => (true, why),
            };
        }
        self.inner.tell(event);
    }

    fn interrupted(&self) -> bool {
        self.settled || self.inner.interrupted()
    }
}

/// The measured run, with the text of InnoDB's status at both ends of its window.
fn measure<W: Workload>(
    now: &mut UnderWay,
    target: &mut OpenTarget,
    plan: &RunPlan,
    subject: &Subject<W>,
) -> Result<(), LabError> {
    let before = Sight::of(target)?;
    let circumstances = Circumstances { ask: Some(proof::QUESTION), ..now.circumstances(None) };
    let mut start = WindowStart {
        after_seconds: plan.warmup_seconds,
        endpoint: target.endpoint.clone(),
        passed: 0.0,
        status: None,
        inner: &mut now.watch,
    };
    start.look();
    let point = now.trial.point;
    let outcome = one_point(target, (plan, point), subject, circumstances, &mut now.writer, &mut start)?;
    let at_start = start.status.take();
    now.watch.load_ended();
    let at_end = innodb_status(&target.endpoint);
    for (name, text) in [("innodb-status-start.txt", at_start), ("innodb-status-end.txt", at_end)] {
        if let Some(text) = text {
            now.writer.attach(name, &text)?;
        }
    }
    let Outcome { point, caveats, ended, answer, sent, .. } = outcome;
    proof::in_the_load(&mut now.proofs, &answer);
    for caveat in caveats::of_point(&point).into_iter().chain(caveats) {
        now.caveat(caveat);
    }
    let connections = point.connections;
    now.outcome.point = Some(point);
    stopped(ended)?;
    let after = Sight::of(target)?;
    proof::behaviour(&mut now.proofs, &Evidence { before: &before, after: &after, sent: &sent, connections });
    Ok(())
}

/// What ended a load early, as an error.
fn stopped(ended: Option<Ended>) -> Result<(), LabError> {
    match ended {
        None => Ok(()),
        Some(trial::Ended::Interrupted) => Err(LabError::Interrupted),
        Some(trial::Ended::Failed(why)) => Err(LabError::Environment(why)),
    }
}

/// Takes the text of InnoDB's status when the measured window begins.
struct WindowStart<'s> {
    after_seconds: f64,
    endpoint: Endpoint,
    passed: f64,
    status: Option<String>,
    inner: &'s mut dyn Watcher,
}

impl WindowStart<'_> {
    fn look(&mut self) {
        // The last second of a warm-up may be told as a little short.
        if self.status.is_none() && self.passed + 0.5 > self.after_seconds {
            self.status = innodb_status(&self.endpoint);
        }
    }
}

impl Watcher for WindowStart<'_> {
    fn tell(&mut self, event: Event<'_>) {
        if let Event::Interval { interval, .. } = &event {
            self.passed += interval.seconds;
            self.look();
        }
        self.inner.tell(event);
    }

    fn interrupted(&self) -> bool {
        self.inner.interrupted()
    }
}

/// What SHOW ENGINE INNODB STATUS prints, over a connection of its own; none if it is refused or the server is gone.
pub(super) fn innodb_status(endpoint: &Endpoint) -> Option<String> {
    let rows = Control::open(endpoint).ok()?.rows("SHOW ENGINE INNODB STATUS").ok()?;
    rows.rows.into_iter().next()?.into_iter().next_back().flatten()
}
