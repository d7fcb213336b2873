//! The load of a trial: warm-up, measured window, drain.

use super::crash;
use super::innodb_status::innodb_status;
use super::limits;
use super::recovery::{self, Crash};
use super::{ServerSetup, UnderWay};
use crate::adapter::{WithWorkload, WorkloadAdapter};
use crate::error::LabError;
use crate::load_point::{Circumstances, Outcome};
use crate::run::{make_ready, one_point};
use crate::verification::{self, ObservedBehaviour, Sight};
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{Endpoint, Workload};
use plimsoll_measures::caveats;
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_plan::RunPlan;
use plimsoll_plan::lab::WarmUp;
use plimsoll_plan::plan::Measure;
use plimsoll_record::EarlyEnd;
use plimsoll_server::Pinned;
use plimsoll_stats::steady::{self, warm_up_end};
use plimsoll_watch::{Event, Watcher};
use plimsoll_workloads::chosen::ChosenWorkload;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

/// Gives it another seed than the measured load has, so that it does not ask for the same rows in the same order.
const OF_THE_WARM_UP: u64 = 0x5ca1_ab1e;
/// The last second of a phase may be reported shorter by this much.
const SHORT_SECONDS: f64 = 0.5;

/// Drives the load of a trial on a server that is ready for it.
pub struct Drive<'d, 'a> {
    pub now: &'d mut UnderWay<'a>,
    pub chosen: &'d ChosenWorkload,
    /// How statements are sent, unless the plan says it.
    pub protocol: &'d str,
    pub variables: &'d BTreeMap<String, String>,
    /// What a private server is restarted on after a crash.
    pub setup: Option<&'d ServerSetup<'d>>,
}

impl WithWorkload for Drive<'_, '_> {
    type Output = ();

    fn with<W: Workload>(self, target: &mut OpenTarget, adapter: &WorkloadAdapter<W>) -> Result<(), LabError> {
        let now = self.now;
        let rules = &now.plan.trials;
        let warmup = rules.warm_up(now.is_flipped);
        let warmup_seconds = match warmup {
            WarmUp::Seconds(seconds) => seconds,
            WarmUp::Auto => 0.0,
        };
        let plan = now.trial.run_plan(rules, warmup_seconds, self.protocol);
        if now.collected.is_some() {
            return collect(now, target, &plan, adapter);
        }
        make_ready(target, &plan, adapter, self.variables)?;
        let _pinned = now.trial.variant.client_cpus.as_deref().map(Pinned::to).transpose()?;
        if let (Some(fault), Some(setup)) = (now.trial.fault, self.setup) {
            let under = Crash { target, adapter, plan: &plan, chosen: self.chosen, setup };
            return crash::crash(now, under, fault);
        }
        if warmup == WarmUp::Auto {
            warm_up(now, target, &plan, adapter)?;
        }
        measure(now, target, &plan, adapter, verification::writes_through(self.variables))?;
        match self.setup.filter(|_| rules.recovery) {
            Some(setup) => recovery::crash(now, Crash { target, adapter, plan: &plan, chosen: self.chosen, setup }),
            None => Ok(()),
        }
    }
}

impl<'a> UnderWay<'a> {
    /// The place of a load in this trial.
    pub(super) fn circumstances(&self, phase: Option<Phase>) -> Circumstances<'a> {
        let (ceiling, since, fleet) = (self.ceiling, Some(self.watch.begun), self.fleet);
        Circumstances { ceiling, since, phase, fleet, collected: self.collected, ..Circumstances::default() }
    }
}

/// A separate run that lasts until the load has settled.
fn warm_up<W: Workload>(
    now: &mut UnderWay,
    target: &mut OpenTarget,
    plan: &RunPlan,
    adapter: &WorkloadAdapter<W>,
) -> Result<(), LabError> {
    let plan = RunPlan {
        measure: Measure::Seconds(limits::WARM_UP.as_secs_f64()),
        seed: plan.seed ^ OF_THE_WARM_UP,
        ..plan.clone()
    };
    let circumstances = now.circumstances(Some(Phase::WarmUp));
    let mut settling =
        Settling { inner: &mut now.watch, levels: Vec::new(), seconds: 0, said: String::new(), settled: false };
    let point = now.trial.point;
    let outcome = one_point(target, &plan, point, adapter, circumstances, &mut now.writer, &mut settling)?;
    let Settling { seconds, said, settled, .. } = settling;
    now.outcome.warm_up = Some(match settled {
        true => format!("after {seconds} s: {said}"),
        false => format!("given up after {seconds} s: {said}"),
    });
    match outcome.ended {
        // What it was waiting for told it to end.
        Some(EarlyEnd::Interrupted) if settled => Ok(()),
        ended => stopped(ended),
    }
}

/// Ends a load as soon as it has settled.
struct Settling<'s> {
    inner: &'s mut dyn Watcher,
    /// The [`level`] of each second that has one.
    levels: Vec<f64>,
    seconds: usize,
    said: String,
    settled: bool,
}

impl Watcher for Settling<'_> {
    fn tell(&mut self, event: Event<'_>) {
        if let Event::Interval { interval, .. } = &event
            && interval.phase == Phase::WarmUp
            && !self.settled
        {
            self.seconds += 1;
            self.levels.extend(level(interval));
            (self.settled, self.said) = match warm_up_end(&self.levels) {
                steady::WarmUpProgress::GoOn(why) => (false, why),
                steady::WarmUpProgress::Ended { why, .. } => (true, why),
            };
        }
        self.inner.tell(event);
    }

    fn interrupted(&self) -> bool {
        self.settled || self.inner.interrupted()
    }
}

/// What shows whether a load has settled: transactions per second; in an open loop, where these are the arrivals from
/// the first second on, the mean response time, milliseconds. `None` of a second in which nothing was answered.
fn level(interval: &Interval) -> Option<f64> {
    match &interval.response_ms {
        Some(response) => response.mean,
        None => Some(interval.transactions as f64 / interval.seconds.max(1e-3)),
    }
}

/// The measured run, with the text of InnoDB's status at both ends of its window.
fn measure<W: Workload>(
    now: &mut UnderWay,
    target: &mut OpenTarget,
    plan: &RunPlan,
    adapter: &WorkloadAdapter<W>,
    writes_through: bool,
) -> Result<(), LabError> {
    let before = Sight::of(target)?;
    let circumstances = Circumstances { ask: Some(verification::QUESTION), ..now.circumstances(None) };
    let mut edges = Edges::of(plan, &target.endpoint, &mut now.watch);
    let point = now.trial.point;
    let outcome = one_point(target, plan, point, adapter, circumstances, &mut now.writer, &mut edges)?;
    let texts = edges.texts();
    // A load that ended early failed in the phase in which it ended.
    if outcome.ended.is_none() {
        now.watch.load_ended();
    }
    for (name, text) in ["innodb-status-start.txt", "innodb-status-end.txt"].into_iter().zip(texts) {
        if let Some(text) = text {
            now.writer.attach(name, &text)?;
        }
    }
    let (sent, connections) = (outcome.sent, outcome.point.load.connections);
    keep(now, outcome)?;
    let after = Sight::of(target)?;
    verification::behaviour(
        &mut now.verifications,
        &ObservedBehaviour { before: &before, after: &after, sent: &sent, connections, writes_through },
    );
    Ok(())
}

/// The measured load of a coordinator that was killed, as its agents have kept it.
fn collect<W: Workload>(
    now: &mut UnderWay,
    target: &mut OpenTarget,
    plan: &RunPlan,
    adapter: &WorkloadAdapter<W>,
) -> Result<(), LabError> {
    now.caveat(caveats::of_collected());
    let circumstances = now.circumstances(None);
    let point = now.trial.point;
    let outcome = one_point(target, plan, point, adapter, circumstances, &mut now.writer, &mut now.watch)?;
    now.watch.load_ended();
    keep(now, outcome)
}

/// Makes what came of the measured load the outcome of the trial.
fn keep(now: &mut UnderWay, outcome: Outcome) -> Result<(), LabError> {
    let Outcome { point, caveats, ended, answer, .. } = outcome;
    verification::in_the_load(&mut now.verifications, &answer);
    for caveat in caveats::of_point(&point).into_iter().chain(caveats) {
        now.caveat(caveat.into());
    }
    now.outcome.point = Some(point);
    stopped(ended)
}

/// What ended a load early, as an error.
fn stopped(ended: Option<EarlyEnd>) -> Result<(), LabError> {
    match ended {
        None => Ok(()),
        Some(EarlyEnd::Interrupted) => Err(LabError::Interrupted),
        Some(EarlyEnd::Failed(why)) => Err(LabError::Environment(why)),
    }
}

/// Fetches the text of InnoDB's status when the measured window begins and ends, in a thread of its own, so that a slow
/// server does not delay anything.
struct Edges<'s> {
    /// Seconds of the load after which it is to be fetched.
    due: VecDeque<f64>,
    passed: f64,
    /// Asks for one text; dropped when there are no more to ask for.
    ask: Sender<()>,
    /// `None` if no thread can be started.
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
        // Without a thread there is no text.
        let _ = self.ask.send(());
    }

    /// The texts of the beginning and the end; a moment that was missed counts as now.
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

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::LoadPoint;
    use plimsoll_model::summary::LatencyMs;

    struct Nobody;

    impl Watcher for Nobody {
        fn tell(&mut self, _: Event<'_>) {}

        fn interrupted(&self) -> bool {
            false
        }
    }

    /// After how many seconds of these mean response times an open loop of 100 arrivals per second has settled.
    fn settled_after(responses_ms: impl Iterator<Item = f64>) -> Option<usize> {
        let mut nobody = Nobody;
        let mut settling =
            Settling { inner: &mut nobody, levels: Vec::new(), seconds: 0, said: String::new(), settled: false };
        for mean in responses_ms {
            let response_ms = Some(LatencyMs { mean: Some(mean), ..LatencyMs::default() });
            let interval = Interval { transactions: 100, response_ms, ..Interval::empty(0, Phase::WarmUp, 1.0) };
            let point = LoadPoint { connections: 8, rate: Some(100.0) };
            settling.tell(Event::Interval { point, interval: &interval, host: None, server: None });
        }
        settling.settled.then_some(settling.seconds)
    }

    #[test]
    fn an_open_loop_is_warm_when_its_response_times_have_settled() {
        // The caches fill for a minute, while as many transactions arrive as ever.
        let filling = |second: usize| 20.0 - second.min(60) as f64 * 0.3 + [-0.02, 0.02, 0.02, -0.02][second % 4];
        assert_eq!(settled_after((0..59).map(filling)), None);
        assert!(settled_after((0..300).map(filling)).is_some());
    }

    #[test]
    fn a_closed_loop_is_judged_by_its_throughput_and_a_second_without_answers_by_nothing() {
        let second = Interval { transactions: 50, ..Interval::empty(0, Phase::WarmUp, 0.5) };
        assert_eq!(level(&second), Some(100.0));
        assert_eq!(level(&Interval { response_ms: Some(LatencyMs::default()), ..second }), None);
    }
}
