//! A `run`: its load points one after the other, in one recording.

use crate::calibrate;
use crate::dataset::{self, Marker, State};
use crate::error::LabError;
use crate::subject::{Errand, Subject, with_chosen};
use crate::target::OpenTarget;
use crate::trial::{self, Circumstances, Ended};
use crate::watch::{Event, Watcher};
use crate::{caveats, preflight, scaling, settings};
use jiff::Timestamp;
use plimsoll_engine::session::Catalogue;
use plimsoll_engine::{Protocol, RunSpec, Workload};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::Limit;
use plimsoll_model::Caveat;
use plimsoll_model::summary::{SCHEMA_VERSION, ServerTotals, Summary, TargetFacts, Totals};
use plimsoll_plan::RunPlan;
use plimsoll_plan::plan::{Measure, Spread};
use plimsoll_plan::points::LoadPoint;
use plimsoll_record::{Manifest, Recording, Setting, Status, TrialFacts, TrialWriter};
use plimsoll_server::Home;
use plimsoll_server::host::{HostFacts, host_facts};
use plimsoll_workloads::chosen::Chosen;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// What a run is called in its recording, and its one variant.
#[derive(Clone, Debug)]
pub struct Naming<'a> {
    pub recording: &'a str,
    pub tool_version: &'a str,
}

/// A run that came to an end, whichever.
pub struct Finished {
    pub summary: Summary,
    pub recording: PathBuf,
    pub settings: BTreeMap<String, Setting>,
    pub host: HostFacts,
    /// Why it ended early, if it did.
    pub ended: Option<Ended>,
}

/// Runs every load point of `plan` with the workload that was chosen; `marker` is that of its data.
///
/// # Errors
/// If nothing was measured. What was measured before a failure is in [`Finished`], with the reason.
pub fn run_chosen(
    target: &mut OpenTarget,
    home: &Home,
    plan: &RunPlan,
    ready: (&Chosen, Option<&Marker>),
    naming: &Naming,
    watcher: &mut dyn Watcher,
) -> Result<Finished, LabError> {
    with_chosen(target, ready, plan.seed, AllPoints { home, plan, naming, watcher })
}

struct AllPoints<'a> {
    home: &'a Home,
    plan: &'a RunPlan,
    naming: &'a Naming<'a>,
    watcher: &'a mut dyn Watcher,
}

impl Errand for AllPoints<'_> {
    type Output = Finished;

    fn with<W: Workload>(self, target: &mut OpenTarget, subject: &Subject<W>) -> Result<Finished, LabError> {
        run(target, self.home, self.plan, subject, self.naming, self.watcher)
    }
}

fn run<W: Workload>(
    target: &mut OpenTarget,
    home: &Home,
    plan: &RunPlan,
    subject: &Subject<W>,
    naming: &Naming,
    watcher: &mut dyn Watcher,
) -> Result<Finished, LabError> {
    let variables = settings::variables(target)?;
    let (effective, unmet) = settings::verified(target, &variables);
    let mut caveats: Vec<Caveat> = unmet.into_values().collect();
    make_ready(target, plan, subject, &variables)?;
    let host = host_facts(home.path());
    let manifest = Manifest::new(
        naming.recording,
        naming.tool_version,
        Timestamp::now(),
        plan.seed,
        serde_json::to_value(plan).unwrap_or_default(),
        serde_json::to_value(&host).unwrap_or_default(),
    );
    let recording = Recording::create(&home.recordings(), manifest)?;
    let facts = TargetFacts {
        flavour: target.flavour,
        version: target.version.clone(),
        durability: settings::durability(&variables),
    };
    caveats.extend(caveats::standing(target, &facts));
    let mut points = Points {
        recording,
        begun: Instant::now(),
        summary: Summary {
            schema_version: SCHEMA_VERSION,
            workload: plan.workload.clone(),
            params: subject.params.clone(),
            target: facts,
            seed: plan.seed,
            points: Vec::new(),
            scaling: None,
            totals: Totals::default(),
            server: ServerTotals::default(),
            caveats,
            checks: None,
            recording: None,
            interrupted: false,
        },
        ended: None,
        settings: &effective,
    };
    points.all(target, home, plan, subject, watcher)?;
    Ok(points.finish(effective.clone(), host))
}

/// Looks whether the server and this process bear what is planned, and marks data that will be written to.
///
/// # Errors
/// [`LabError::Refused`] or [`LabError::Plan`], saying which limit is in the way.
pub(crate) fn make_ready<W: Workload>(
    target: &mut OpenTarget,
    plan: &RunPlan,
    subject: &Subject<W>,
    variables: &BTreeMap<String, String>,
) -> Result<(), LabError> {
    plan.check()?;
    preflight::open_files(plan)?;
    let workload = (subject.make)(target)?;
    let changes_data = workload.statements().iter().any(|statement| writes(statement.kind));
    limits(target, plan, &workload, variables)?;
    if changes_data {
        mark_driven(target, subject.family)?;
    }
    Ok(())
}

/// Drives one load point of `plan`, and looks at the data before and after.
///
/// # Errors
/// As [`trial::trial`].
pub(crate) fn one_point<W: Workload>(
    target: &mut OpenTarget,
    (plan, point): (&RunPlan, LoadPoint),
    subject: &Subject<W>,
    circumstances: Circumstances,
    writer: &mut TrialWriter,
    watcher: &mut dyn Watcher,
) -> Result<trial::Outcome, LabError> {
    let spec = spec(target, plan, &point);
    let workload = Arc::new((subject.make)(target)?);
    (subject.before)(target)?;
    let mut outcome = trial::trial(target, spec, workload, point, circumstances, writer, watcher)?;
    if let Err(error) = (subject.after)(target, &mut outcome) {
        outcome.ended.get_or_insert(Ended::Failed(error.to_string()));
    }
    Ok(outcome)
}

fn writes(kind: plimsoll_model::StatementKind) -> bool {
    use plimsoll_model::StatementKind as Kind;
    matches!(kind, Kind::Insert | Kind::Update | Kind::Delete | Kind::Call)
}

fn mark_driven(target: &mut OpenTarget, family: &str) -> Result<(), LabError> {
    let marker = dataset::marker(&mut target.control, family)?;
    if marker.is_some_and(|marker| marker.state == State::Loaded) {
        dataset::set_state(&mut target.control, family, State::Driven)?;
    }
    Ok(())
}

fn limits<W: Workload>(
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
        _ => Catalogue::new(workload).prepared() as u64,
    };
    preflight::limits(plan, prepared, variables, &status)
}

/// The load points of a run under way.
struct Points<'a> {
    recording: Recording,
    begun: Instant,
    summary: Summary,
    ended: Option<Ended>,
    settings: &'a BTreeMap<String, Setting>,
}

impl Points<'_> {
    fn all<W: Workload>(
        &mut self,
        target: &mut OpenTarget,
        home: &Home,
        plan: &RunPlan,
        subject: &Subject<W>,
        watcher: &mut dyn Watcher,
    ) -> Result<(), LabError> {
        let ceiling = calibrate::read(home).map(|found| found.queries_per_second);
        for (index, point) in plan.points.iter().enumerate() {
            watcher.tell(Event::PointBegins { place: index + 1, of: plan.points.len(), point: *point, plan });
            let outcome = self.point(target, plan, index, subject, ceiling, watcher);
            match outcome {
                Ok(outcome) => self.add(outcome, watcher),
                // What earlier points measured is kept.
                Err(error) if index > 0 => self.ended = Some(Ended::of(&error)),
                Err(error) => {
                    self.recording.finish(Status::Failed, Timestamp::now())?;
                    return Err(error);
                }
            }
            if self.ended.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn point<W: Workload>(
        &mut self,
        target: &mut OpenTarget,
        plan: &RunPlan,
        index: usize,
        subject: &Subject<W>,
        ceiling: Option<f64>,
        watcher: &mut dyn Watcher,
    ) -> Result<trial::Outcome, LabError> {
        let point = plan.points[index];
        let circumstances = Circumstances { ceiling, ..Circumstances::default() };
        self.event("point", serde_json::json!({ "point": point.label() }))?;
        let mut writer = self.writer(plan, index, &point, target)?;
        let mut outcome = one_point(target, (plan, point), subject, circumstances, &mut writer, watcher)?;
        if let Some(server) = &target.server
            && let Err(error) = writer.error_log(&server.error_log_tail(200))
        {
            outcome.ended.get_or_insert(Ended::Failed(error.to_string()));
        }
        Ok(outcome)
    }

    fn event(&mut self, kind: &str, detail: serde_json::Value) -> Result<(), LabError> {
        let t_ns = self.begun.elapsed().as_nanos() as u64;
        Ok(self.recording.event(t_ns, kind, detail)?)
    }

    fn writer(
        &mut self,
        plan: &RunPlan,
        index: usize,
        point: &LoadPoint,
        target: &OpenTarget,
    ) -> Result<TrialWriter, LabError> {
        let facts = TrialFacts {
            index: index as u32 + 1,
            variant: "run".to_owned(),
            point: point.label(),
            round: 1,
            started: Timestamp::now(),
            parameters: serde_json::json!({
                "workload": plan.workload, "params": self.summary.params, "point": point, "seed": plan.seed,
            }),
        };
        let writer = self.recording.trial(&facts)?;
        writer.settings(self.settings)?;
        if target.is_private() {
            writer.my_cnf(&target.settings.rendered(&[]))?;
        }
        Ok(writer)
    }

    fn add(&mut self, outcome: trial::Outcome, watcher: &mut dyn Watcher) {
        let trial::Outcome { point, sent, counted: _, caveats, answer: _, ended } = outcome;
        self.summary.totals.statements += sent;
        if let Some(counted) = point.server.as_ref().and_then(|server| server.statements) {
            *self.summary.server.statements.get_or_insert_default() += counted;
        }
        for caveat in caveats::of_point(&point).into_iter().chain(caveats) {
            if !self.summary.caveats.iter().any(|known| known.code == caveat.code) {
                self.summary.caveats.push(caveat);
            }
        }
        watcher.tell(Event::PointEnds { point: &point });
        self.summary.points.push(point);
        self.ended = ended;
    }

    /// Closes the recording. What cannot be written any more does not take the summary with it.
    fn finish(mut self, settings: BTreeMap<String, Setting>, host: HostFacts) -> Finished {
        let directory = self.recording.directory().to_owned();
        self.summary.recording = Some(directory.display().to_string());
        self.summary.interrupted = self.ended.is_some();
        self.summary.scaling = scaling::of(&self.summary.points);
        if let Err(error) = self.close() {
            self.summary.interrupted = true;
            self.ended.get_or_insert(Ended::Failed(error.to_string()));
        }
        Finished { summary: self.summary, recording: directory, settings, host, ended: self.ended }
    }

    fn close(&mut self) -> Result<(), LabError> {
        if let Some(Ended::Failed(why)) = self.ended.clone() {
            self.event("failed", serde_json::json!({ "why": why }))?;
        }
        let caveats = serde_json::to_value(&self.summary.caveats).unwrap_or_default();
        self.event("caveats", caveats)?;
        self.recording.summary(&self.summary)?;
        Ok(self.recording.finish(Ended::status(self.ended.as_ref()), Timestamp::now())?)
    }
}

fn spec(target: &OpenTarget, plan: &RunPlan, point: &LoadPoint) -> RunSpec {
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    RunSpec {
        endpoint: target.load_endpoint(),
        connections: point.connections,
        loops: plan.loops,
        arrivals: match (point.rate, plan.arrivals) {
            (None, _) => Arrivals::Closed,
            (Some(rate), Spread::Poisson) => Arrivals::Poisson { rate },
            (Some(rate), Spread::Constant) => Arrivals::Constant { rate },
        },
        limit: match plan.measure {
            Measure::Seconds(seconds) => Limit::Time(ns(seconds)),
            Measure::Events(events) => Limit::Events(events),
            Measure::EventsPerConnection(events) => Limit::EventsPerConnection(events),
        },
        warmup_ns: ns(plan.warmup_seconds),
        seed: plan.seed,
        protocol: if plan.protocol == "text" { Protocol::Text } else { Protocol::Prepared },
        outage_limit_ns: ns(plan.outage_limit_seconds),
        ignore_errors: plan.ignore_errors.clone(),
        private: target.is_private(),
        ask: None,
    }
}
