//! A `run`: its load points one after the other, round by round, in one recording.

use crate::adapter::{WithWorkload, WorkloadAdapter, with_chosen};
use crate::apart::{Apart, Assignment};
use crate::calibrate;
use crate::error::LabError;
use crate::fleet::{self, PlannedLoad};
use crate::limits;
use crate::load_point::{self, Circumstances};
use crate::load_spec::spec;
use crate::run_record::{FinishedRun, MeasuredRound, Naming, RunFacts, RunRecord};
use crate::settings;
use plimsoll_data::DataError;
use plimsoll_data::check::{self, CONNECTIONS};
use plimsoll_data::dataset::{self, DatasetState, Marker};
use plimsoll_data::size::data_bytes;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{RunSpec, Workload};
use plimsoll_fleet::{Fleet, LoopRange};
use plimsoll_host::Home;
use plimsoll_measures::caveats;
use plimsoll_model::summary::TargetFacts;
use plimsoll_model::{Caveat, LoadPoint};
use plimsoll_plan::RunPlan;
use plimsoll_plan::knowledge::durability::durability;
use plimsoll_record::{EarlyEnd, TrialWriter};
use plimsoll_schedule::seed_of_round;
use plimsoll_watch::{Event, Watcher};
use plimsoll_workloads::chosen::ChosenWorkload;
use std::collections::BTreeMap;

/// Runs every load point of `plan` with the chosen workload; `marker` is that of its data.
///
/// # Errors
/// If nothing was measured. What was measured before a failure is in [`FinishedRun`], with the reason.
pub fn run_chosen(
    target: &mut OpenTarget,
    home: &Home,
    plan: &RunPlan,
    chosen: &ChosenWorkload,
    marker: Option<&Marker>,
    naming: &Naming,
    watcher: &mut dyn Watcher,
) -> Result<FinishedRun, LabError> {
    let all = AllPoints { home, plan, naming, watcher: &mut *watcher };
    let mut points = with_chosen(target, chosen, marker, plan.seed, all)?;
    if plan.check && points.record.ended.is_none() {
        points.check(target, chosen, watcher);
    }
    Ok(points.record.finish())
}

/// Runs every load point of `plan` with a workload that has no data of ours.
///
/// # Errors
/// As [`run_chosen`].
pub fn run_adapted<W: Workload>(
    target: &mut OpenTarget,
    home: &Home,
    plan: &RunPlan,
    adapter: &WorkloadAdapter<W>,
    naming: &Naming,
    watcher: &mut dyn Watcher,
) -> Result<FinishedRun, LabError> {
    Ok(run(target, home, plan, adapter, naming, watcher)?.record.finish())
}

struct AllPoints<'a> {
    home: &'a Home,
    plan: &'a RunPlan,
    naming: &'a Naming<'a>,
    watcher: &'a mut dyn Watcher,
}

impl WithWorkload for AllPoints<'_> {
    type Output = Points;

    fn with<W: Workload>(self, target: &mut OpenTarget, adapter: &WorkloadAdapter<W>) -> Result<Points, LabError> {
        run(target, self.home, self.plan, adapter, self.naming, self.watcher)
    }
}

fn run<W: Workload>(
    target: &mut OpenTarget,
    home: &Home,
    plan: &RunPlan,
    adapter: &WorkloadAdapter<W>,
    naming: &Naming,
    watcher: &mut dyn Watcher,
) -> Result<Points, LabError> {
    let fleet = fleet::join(plan.fleet.as_ref())?;
    let variables = settings::variables(target)?;
    let effective = settings::recorded(target, &variables);
    let mut caveats: Vec<Caveat> =
        effective.iter().filter_map(|(name, setting)| settings::unmet(name, setting)).collect();
    make_ready(target, plan, adapter, &variables)?;
    let facts = TargetFacts {
        flavour: Some(target.flavour),
        version: target.version.clone(),
        durability: durability(&variables),
        data_bytes: data_bytes(target),
    };
    // Where the machines of agents are, they say themselves.
    let is_local = target.control.peer_pid().is_some() && fleet.is_none();
    caveats.extend(caveats::standing(is_local, &facts));
    let params = adapter.params.clone();
    let facts = RunFacts { params, target: facts, settings: effective, caveats };
    let mut points = Points {
        record: RunRecord::create(home, plan, naming, facts)?,
        ceiling: calibrate::read(home).map(|found| found.queries_per_second),
        fleet,
    };
    points.all(target, plan, adapter, watcher)?;
    Ok(points)
}

/// Checks that the limits of the server and of this process allow the plan, and marks data that will be written to.
///
/// # Errors
/// [`LabError::Refused`] or [`LabError::Plan`], saying which limit is too low.
pub(crate) fn make_ready<W: Workload>(
    target: &mut OpenTarget,
    plan: &RunPlan,
    adapter: &WorkloadAdapter<W>,
    variables: &BTreeMap<String, String>,
) -> Result<(), LabError> {
    plan.check()?;
    limits::open_files(plan)?;
    let workload = adapter.make(target)?;
    let changes_data = workload.catalogue().changes_data();
    server_limits(target, plan, &workload, variables)?;
    if changes_data {
        mark_driven(target, adapter.family)?;
    }
    Ok(())
}

/// Runs one load point of `plan`, and inspects the data before and after.
///
/// # Errors
/// As [`trial::trial`].
pub(crate) fn one_point<W: Workload>(
    target: &mut OpenTarget,
    plan: &RunPlan,
    point: LoadPoint,
    adapter: &WorkloadAdapter<W>,
    circumstances: Circumstances,
    writer: &mut TrialWriter,
    watcher: &mut dyn Watcher,
) -> Result<load_point::Outcome, LabError> {
    let spec = spec(target, plan, &point);
    let asked = (adapter.ask)(target)?;
    let workload = (adapter.build)(&asked)?;
    if circumstances.collected.is_none() {
        (adapter.before)(target)?;
    }
    let is_logged = circumstances.commits.is_some();
    let measured = match (circumstances.fleet, adapter.apart) {
        (Some(fleet), _) => {
            let load = PlannedLoad { plan, point, adapter, asked: &asked, spec: &spec };
            let (assigned, facts) = (load.assigned(target), load.facts(&workload));
            let begin = |ask, is_interrupted: &dyn Fn() -> bool| {
                let assigned = assigned?;
                if let Some(agreed) = circumstances.collected {
                    return Ok(fleet.collect(facts, agreed, is_interrupted)?);
                }
                let assign = |range: &LoopRange| assigned.text(range, ask);
                Ok(fleet.begin(facts, plan.loops, point.connections, &assign, is_interrupted)?)
            };
            load_point::trial(target, begin, point, circumstances, writer, watcher)
        }
        (None, Some(scripted)) => {
            let assignment = Assignment::new(scripted, plan, point, target);
            let facts = Apart::facts_of(&spec);
            let begin = |ask, _: &dyn Fn() -> bool| Apart::begin(assignment, ask, facts, scripted.drawn.clone());
            load_point::trial(target, begin, point, circumstances, writer, watcher)
        }
        (None, None) => {
            let commits = circumstances.commits.cloned();
            let begin = |ask, _: &dyn Fn() -> bool| Ok((adapter.begin)(workload, RunSpec { ask, commits, ..spec }));
            load_point::trial(target, begin, point, circumstances, writer, watcher)
        }
    };
    if measured.is_err() && circumstances.collected.is_none() {
        // A trial fails only as long as nothing was sent.
        (adapter.never_began)(target);
    }
    let mut outcome = measured?;
    // Of a load whose commits are logged, whoever reads the log looks at what is there: its server may be about to be killed.
    if !is_logged && let Err(error) = (adapter.after)(target, &mut outcome) {
        outcome.ended.get_or_insert(EarlyEnd::Failed(error.to_string()));
    }
    Ok(outcome)
}

fn mark_driven(target: &mut OpenTarget, family: &str) -> Result<(), LabError> {
    let marker = dataset::marker(&mut target.control, family)?;
    if marker.is_some_and(|marker| marker.state == DatasetState::Loaded) {
        dataset::set_state(&mut target.control, family, DatasetState::Driven)?;
    }
    Ok(())
}

fn server_limits<W: Workload>(
    target: &mut OpenTarget,
    plan: &RunPlan,
    workload: &W,
    variables: &BTreeMap<String, String>,
) -> Result<(), LabError> {
    let rows = target
        .control
        .rows("SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Prepared_stmt_count')")
        .map_err(|failure| LabError::sql("asking the server for its load", &failure))?;
    let number = |(name, value): (&str, &str)| Some((name.to_ascii_lowercase(), value.parse().ok()?));
    let status = rows.pairs().filter_map(number).collect();
    let prepared = match plan.protocol.as_str() {
        "text" => 0,
        _ => workload.catalogue().prepared() as u64,
    };
    limits::of_server(plan, prepared, variables, &status)
}

/// The load points of a run under way.
struct Points {
    record: RunRecord,
    /// Queries per second that the load generator itself reaches on this machine, where that was measured.
    ceiling: Option<f64>,
    fleet: Option<Fleet>,
}

impl Points {
    fn all<W: Workload>(
        &mut self,
        target: &mut OpenTarget,
        plan: &RunPlan,
        adapter: &WorkloadAdapter<W>,
        watcher: &mut dyn Watcher,
    ) -> Result<(), LabError> {
        for round in 1..=plan.rounds {
            self.round(target, plan, round, adapter, watcher)?;
            if self.record.ended.is_some() {
                return Ok(());
            }
        }
        if plan.repeat_disturbed {
            self.repeat(target, plan, adapter, watcher);
        }
        Ok(())
    }

    /// All load points once.
    fn round<W: Workload>(
        &mut self,
        target: &mut OpenTarget,
        plan: &RunPlan,
        round: u32,
        adapter: &WorkloadAdapter<W>,
        watcher: &mut dyn Watcher,
    ) -> Result<(), LabError> {
        for (index, point) in plan.points.iter().enumerate() {
            let is_first = self.record.trials == 0;
            let place = self.record.trials as usize + 1;
            watcher.tell(Event::PointBegins { place, of: plan.trials(), point: *point, plan });
            match self.point(target, plan, index, round, adapter, watcher) {
                // A part of a round is no match for whole ones.
                Ok(_) if self.record.ended.is_some() && round > 1 => {}
                Ok(measured) => self.record.measured[index].push(measured),
                // What earlier points measured is kept.
                Err(error) if !is_first => self.record.ended = Some(EarlyEnd::from(&error)),
                Err(error) => {
                    self.record.fails(&error)?;
                    return Err(error);
                }
            }
            if self.record.ended.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Measures what was disturbed once more, until it turns out that the disturbance has not gone. The better of the
    /// two counts.
    fn repeat<W: Workload>(
        &mut self,
        target: &mut OpenTarget,
        plan: &RunPlan,
        adapter: &WorkloadAdapter<W>,
        watcher: &mut dyn Watcher,
    ) {
        let all = (0..plan.rounds as usize).flat_map(|round| (0..plan.points.len()).map(move |index| (index, round)));
        let disturbed: Vec<(usize, usize)> =
            all.filter(|(index, round)| self.record.measured[*index][*round].point.is_disturbed()).collect();
        let mut repeated = Vec::new();
        for (done, (index, round)) in disturbed.iter().copied().enumerate() {
            let point = plan.points[index];
            watcher.tell(Event::PointRepeats { place: done + 1, of: disturbed.len(), point, plan });
            match self.point(target, plan, index, round as u32 + 1, adapter, watcher) {
                Ok(_) if self.record.ended.is_some() => break,
                Ok(again) if again.point.is_disturbed() => break,
                Ok(again) => {
                    self.record.measured[index][round] = again;
                    repeated.push(point);
                }
                Err(error) => {
                    self.record.ended = Some(EarlyEnd::from(&error));
                    break;
                }
            }
        }
        self.record.summary.caveats.extend(caveats::measured_again(&repeated));
    }

    /// Measures a load point of the plan in a round.
    fn point<W: Workload>(
        &mut self,
        target: &mut OpenTarget,
        plan: &RunPlan,
        index: usize,
        round: u32,
        adapter: &WorkloadAdapter<W>,
        watcher: &mut dyn Watcher,
    ) -> Result<MeasuredRound, LabError> {
        let point = plan.points[index];
        let plan = &RunPlan { seed: seed(plan, round), ..plan.clone() };
        let circumstances =
            Circumstances { ceiling: self.ceiling, fleet: self.fleet.as_ref(), ..Circumstances::default() };
        let mut writer = self.record.trial(plan, point, round)?;
        if target.is_private() {
            writer.my_cnf(&target.settings.rendered(&[]))?;
        }
        let mut outcome = one_point(target, plan, point, adapter, circumstances, &mut writer, watcher)?;
        if let Some(server) = &target.server
            && let Err(error) = writer.error_log(&server.error_log_tail(200))
        {
            outcome.ended.get_or_insert(EarlyEnd::Failed(error.to_string()));
        }
        let measured = self.record.add(outcome);
        watcher.tell(Event::PointEnds { point: &measured.point });
        Ok(measured)
    }

    /// Checks the data's invariants. What was measured stays, whatever the result.
    fn check(&mut self, target: &mut OpenTarget, chosen: &ChosenWorkload, watcher: &mut dyn Watcher) {
        match check::findings(target, chosen, CONNECTIONS, watcher) {
            Ok(findings) => {
                self.record.summary.caveats.extend(caveats::of_checks(&findings));
                self.record.summary.checks = Some(findings);
            }
            Err(DataError::Interrupted) => self.record.ended = Some(EarlyEnd::Interrupted),
            Err(error) => self.record.ended = Some(EarlyEnd::Failed(format!("the data could not be checked: {error}"))),
        }
    }
}

/// The load of the first round is that of the seed itself, so that a run of one round is repeated with it.
fn seed(plan: &RunPlan, round: u32) -> u64 {
    if round == 1 { plan.seed } else { seed_of_round(plan.seed, round) }
}
