//! The load of a trial: warm-up, measured window, drain.

use super::innodb_status::innodb_status;
use super::limits;
use super::recovery::{self, Crash};
use super::{Stand, UnderWay};
use crate::error::LabError;
use crate::proof::{self, Evidence, Sight};
use crate::run::{make_ready, one_point};
use crate::subject::{Errand, Subject};
use crate::trial::{Circumstances, Outcome};
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{Endpoint, Workload};
use plimsoll_measures::caveats;
use plimsoll_model::samples::Phase;
use plimsoll_plan::RunPlan;
use plimsoll_plan::lab::WarmUp;
use plimsoll_plan::plan::Measure;
use plimsoll_record::EarlyEnd;
use plimsoll_server::Pinned;
use plimsoll_stats::steady::{self, warm_up_end};
use plimsoll_watch::{Event, Watcher};
use plimsoll_workloads::chosen::Chosen;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

/// Told apart from the measured load by another seed, so that it does not ask for the same rows in the same order.
const OF_THE_WARM_UP: u64 = 0x5ca1_ab1e;
/// The last second of a phase may be told as so much shorter than it was.
const SHORT_SECONDS: f64 = 0.5;

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
        Some(EarlyEnd::Interrupted) if settled => Ok(()),
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
    let mut edges = Edges::of(plan, &target.endpoint, &mut now.watch);
    let point = now.trial.point;
    let outcome = one_point(target, (plan, point), subject, circumstances, &mut now.writer, &mut edges)?;
    let texts = edges.texts();
    // What ended early has failed in the phase in which it did.
    if outcome.ended.is_none() {
        now.watch.load_ended();
    }
    for (name, text) in ["innodb-status-start.txt", "innodb-status-end.txt"].into_iter().zip(texts) {
        if let Some(text) = text {
            now.writer.attach(name, &text)?;
        }
    }
    let Outcome { point, caveats, ended, answer, sent, .. } = outcome;
    proof::in_the_load(&mut now.proofs, &answer);
    for caveat in caveats::of_point(&point).into_iter().chain(caveats) {
        now.caveat(caveat.into());
    }
    let connections = point.connections;
    now.outcome.point = Some(point);
    stopped(ended)?;
    let after = Sight::of(target)?;
    proof::behaviour(&mut now.proofs, &Evidence { before: &before, after: &after, sent: &sent, connections });
    Ok(())
}

/// What ended a load early, as an error.
fn stopped(ended: Option<EarlyEnd>) -> Result<(), LabError> {
    match ended {
        None => Ok(()),
        Some(EarlyEnd::Interrupted) => Err(LabError::Interrupted),
        Some(EarlyEnd::Failed(why)) => Err(LabError::Environment(why)),
    }
}

/// Has the text of InnoDB's status taken where the measured window begins and ends, in a thread of its own: a server
/// that takes its time holds up nothing.
struct Edges<'s> {
    /// Seconds of the load after which it is to be taken.
    due: VecDeque<f64>,
    passed: f64,
    /// Asks for one text; dropped when there is nothing more to ask for.
    ask: Sender<()>,
    /// None where no thread can be had.
    thread: Option<JoinHandle<Vec<Option<String>>>>,
    inner: &'s mut dyn Watcher,
}

impl<'s> Edges<'s> {
    fn of(plan: &RunPlan, endpoint: &Endpoint, inner: &'s mut dyn Watcher) -> Edges<'s> {
        let (ask, asked) = mpsc::channel();
        let endpoint = endpoint.clone();
        let thread = thread::Builder::new().name("innodb-status".into());
        let thread = thread.spawn(move || asked.into_iter().map(|()| innodb_status(&endpoint)).collect()).ok();
        let ends = match plan.measure {
            Measure::Seconds(seconds) => plan.warmup_seconds + seconds.max(2.0 * SHORT_SECONDS),
            Measure::Events(_) | Measure::EventsPerConnection(_) => f64::INFINITY,
        };
        let due = VecDeque::from([plan.warmup_seconds, ends]);
        let mut edges = Edges { due, passed: 0.0, ask, thread, inner };
        edges.look();
        edges
    }

    fn look(&mut self) {
        while self.due.front().is_some_and(|due| self.passed + SHORT_SECONDS > *due) {
            self.due.pop_front();
            self.ask();
        }
    }

    fn ask(&self) {
        // Where there is no thread, or none any more, there is no text.
        let _ = self.ask.send(());
    }

    /// The texts of the beginning and the end; what nobody saw come is now.
    fn texts(self) -> Vec<Option<String>> {
        self.due.iter().for_each(|_| self.ask());
        drop(self.ask);
        self.thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Watcher for Edges<'_> {
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
