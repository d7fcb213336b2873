//! The adapters of workloads: how each is made ready for a load point, and what follows from what it counted.

use crate::error::LabError;
use crate::limits;
use crate::load_point::Outcome;
use crate::order_entry;
use plimsoll_data::check::verdict;
use plimsoll_data::dataset::{DatasetState, Marker};
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{Run, RunSpec, Workload};
use plimsoll_model::NamedScalars;
use plimsoll_model::summary::Point;
use plimsoll_script::Scripted;
use plimsoll_workloads::chosen::ChosenWorkload;
use plimsoll_workloads::ledger::LedgerWorkload;
use plimsoll_workloads::oltp::Oltp;
use plimsoll_workloads::smack::Smack;
use plimsoll_workloads::smack::report::{Queries, original_figures};
use plimsoll_workloads::tpcc::Tpcc;
use plimsoll_workloads::{oltp, smack};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What to run.
pub struct WorkloadAdapter<'a, W> {
    /// Asks what the workload has to know of its data, before each load point: some continue where the previous one
    /// left them.
    pub ask: &'a dyn Fn(&mut OpenTarget) -> Result<AskedOfData, LabError>,
    /// Makes the workload that knows it.
    pub build: &'a dyn Fn(&AskedOfData) -> Result<W, LabError>,
    /// Begins its load.
    pub begin: fn(W, RunSpec) -> Run,
    /// Inspects the data before a load point.
    pub before: &'a dyn Fn(&mut OpenTarget) -> Result<(), LabError>,
    /// Takes back what `before` noted, for a load that ended before anything was sent.
    pub never_began: &'a dyn Fn(&mut OpenTarget),
    /// Inspects them afterwards, and says what the point means for this workload.
    pub after: &'a dyn Fn(&mut OpenTarget, &mut Outcome) -> Result<(), LabError>,
    /// The workload's parameters, for the summary.
    pub params: NamedScalars,
    /// The dataset that a writing workload leaves changed.
    pub family: &'a str,
    /// What its data were loaded with, and by which seed, as far as that is known.
    pub loaded: Option<(NamedScalars, u64)>,
    /// The seed of the run, whatever that of a round is.
    pub run_seed: u64,
    /// The script whose load is made in a process of its own.
    pub apart: Option<&'a Scripted>,
}

impl<'a, W> WorkloadAdapter<'a, W> {
    /// Of a workload that inspects nothing.
    fn plain(
        ask: &'a dyn Fn(&mut OpenTarget) -> Result<AskedOfData, LabError>,
        build: &'a dyn Fn(&AskedOfData) -> Result<W, LabError>,
        begin: fn(W, RunSpec) -> Run,
        of: OfData<'a>,
    ) -> WorkloadAdapter<'a, W> {
        let OfData { params, family, loaded, run_seed } = of;
        let (before, after) = (&|_: &mut OpenTarget| Ok(()), &|_: &mut OpenTarget, _: &mut Outcome| Ok(()));
        let never_began = &|_: &mut OpenTarget| ();
        WorkloadAdapter { ask, build, begin, before, never_began, after, params, family, loaded, run_seed, apart: None }
    }

    /// Asks and makes the workload.
    ///
    /// # Errors
    /// Those of the server.
    pub fn make(&self, target: &mut OpenTarget) -> Result<W, LabError> {
        (self.build)(&(self.ask)(target)?)
    }
}

/// What an adapter is told of the workload and its data.
struct OfData<'a> {
    params: NamedScalars,
    family: &'a str,
    loaded: Option<(NamedScalars, u64)>,
    run_seed: u64,
}

/// What a workload has to know of its data: asked by SQL once, however many processes make the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskedOfData {
    #[default]
    Nothing,
    /// The highest id that is in use.
    LastId(u64),
    /// All keys of a table that another tool loaded.
    Keys(Vec<String>),
}

/// Checks that the tables exist and have the right columns, before a run starts.
pub fn look_at_tables(
    target: &mut OpenTarget,
    chosen: &ChosenWorkload,
    marker: Option<&Marker>,
) -> Result<(), LabError> {
    let name = chosen.name();
    if marker.is_some_and(|marker| marker.state == DatasetState::Loading) {
        return Err(LabError::Refused(format!("the data are not completely loaded; `plimsoll load {name}` continues")));
    }
    chosen.must_find_rows()?;
    for check in chosen.layout() {
        if let Some(found) = verdict(target, &check)?.found {
            return Err(LabError::Refused(format!(
                "the tables in the database `{}` are not those of {name}: {}: {found}; `plimsoll load {name}` creates them",
                target.database, check.name
            )));
        }
    }
    Ok(())
}

/// A task for a workload of any kind.
pub trait WithWorkload {
    type Output;

    fn with<W: Workload>(self, target: &mut OpenTarget, adapter: &WorkloadAdapter<W>)
    -> Result<Self::Output, LabError>;
}

/// Does a task with the chosen workload; `marker` is that of its data, `seed` that of the run.
///
/// # Errors
/// Those of the task.
pub fn with_chosen<E: WithWorkload>(
    target: &mut OpenTarget,
    chosen: &ChosenWorkload,
    marker: Option<&Marker>,
    seed: u64,
    purpose: E,
) -> Result<E::Output, LabError> {
    let loaded = marker.map(|marker| marker.description.loaded());
    let of_data = loaded.map(|loaded| loaded.seed);
    let of = OfData {
        params: chosen.printable(),
        family: chosen.family(),
        loaded: loaded.map(|loaded| (loaded.parameters.clone(), loaded.seed)),
        run_seed: seed,
    };
    match chosen {
        ChosenWorkload::Oltp(kind, parameters) => {
            let ask = |target: &mut OpenTarget| ask_oltp(target, *kind, parameters);
            let build = |asked: &AskedOfData| Ok(oltp(*kind, parameters, asked));
            purpose.with(target, &WorkloadAdapter::plain(&ask, &build, Oltp::begin, of))
        }
        ChosenWorkload::Smack(kind, parameters) => {
            let ask = |target: &mut OpenTarget| ask_smack(target, parameters, of_data);
            let build = |asked: &AskedOfData| smack(*kind, parameters, asked, of_data);
            let after = |_: &mut OpenTarget, outcome: &mut Outcome| {
                outcome.point.original_listing = Some(smack_listing(*kind, &outcome.point));
                Ok(())
            };
            purpose.with(
                target,
                &WorkloadAdapter { after: &after, ..WorkloadAdapter::plain(&ask, &build, Smack::begin, of) },
            )
        }
        ChosenWorkload::Ledger(parameters) => {
            let build = |_: &AskedOfData| Ok(LedgerWorkload::new(parameters));
            purpose.with(target, &WorkloadAdapter::plain(&ask_nothing, &build, LedgerWorkload::begin, of))
        }
        ChosenWorkload::OrderEntry(parameters) => {
            let orders = order_entry::OrderEntryAdapter::new(parameters, of_data, seed, marker.is_some());
            let (before, never_began, after) = (
                |target: &mut OpenTarget| orders.before(target),
                |target: &mut OpenTarget| orders.never_began(target),
                |target: &mut OpenTarget, outcome: &mut Outcome| orders.after(target, outcome),
            );
            let build = |_: &AskedOfData| Ok(orders.workload());
            let plain = WorkloadAdapter::plain(&ask_nothing, &build, Tpcc::begin, of);
            purpose
                .with(target, &WorkloadAdapter { before: &before, never_began: &never_began, after: &after, ..plain })
        }
    }
}

/// A workload for which nothing has to be asked.
fn ask_nothing(_: &mut OpenTarget) -> Result<AskedOfData, LabError> {
    Ok(AskedOfData::Nothing)
}

/// The ids that earlier runs used.
fn ask_oltp(
    target: &mut OpenTarget,
    kind: oltp::OltpKind,
    parameters: &oltp::OltpParameters,
) -> Result<AskedOfData, LabError> {
    let Some(query) = Oltp::new(kind, parameters).continuation_query() else { return Ok(AskedOfData::Nothing) };
    let failed = |failure| LabError::sql("asking which ids are in use", &failure);
    let rows = target.control.within(limits::WHOLE_TABLE, |control| control.rows(&query)).map_err(failed)?;
    Ok(AskedOfData::LastId(rows.single().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) as u64))
}

/// The workload, which continues after the ids that earlier runs used.
fn oltp(kind: oltp::OltpKind, parameters: &oltp::OltpParameters, asked: &AskedOfData) -> Oltp {
    let mut workload = Oltp::new(kind, parameters);
    if let AskedOfData::LastId(last) = asked {
        workload.continue_after(*last);
    }
    workload
}

/// The keys of a table that another tool loaded; of one of ours the seed says them.
fn ask_smack(
    target: &mut OpenTarget,
    parameters: &smack::SmackParameters,
    seed: Option<u64>,
) -> Result<AskedOfData, LabError> {
    if seed.is_some() {
        return Ok(AskedOfData::Nothing);
    }
    let failed = |failure| LabError::sql("asking for the keys", &failure);
    let query = Smack::key_query(parameters);
    let rows = target.control.within(limits::WHOLE_TABLE, |control| control.rows(&query)).map_err(failed)?;
    Ok(AskedOfData::Keys(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect()))
}

/// The workload with its keys.
fn smack(
    kind: smack::SmackKind,
    parameters: &smack::SmackParameters,
    asked: &AskedOfData,
    seed: Option<u64>,
) -> Result<Smack, LabError> {
    match (seed, asked) {
        (Some(seed), _) => Ok(Smack::new(kind, parameters, seed)),
        (None, AskedOfData::Keys(keys)) => {
            Ok(Smack::with_keys(kind, keys.iter().map(|key| key.clone().into_bytes()).collect())?)
        }
        (None, _) => Ok(Smack::with_keys(kind, Vec::new())?),
    }
}

/// Begins the chosen workload's load as `spec` has it, on data of this seed: what was asked of them is known.
///
/// # Errors
/// The workload cannot be made of what is known.
pub fn begin_chosen(
    spec: RunSpec,
    chosen: &ChosenWorkload,
    asked: &AskedOfData,
    of_data: Option<u64>,
    run_seed: u64,
) -> Result<Run, LabError> {
    Ok(match chosen {
        ChosenWorkload::Oltp(kind, parameters) => oltp(*kind, parameters, asked).begin(spec),
        ChosenWorkload::Smack(kind, parameters) => smack(*kind, parameters, asked, of_data)?.begin(spec),
        ChosenWorkload::Ledger(parameters) => LedgerWorkload::new(parameters).begin(spec),
        ChosenWorkload::OrderEntry(parameters) => Tpcc::new(parameters, of_data, run_seed).begin(spec),
    })
}

/// The point as super-smack prints it. Its wall time includes connecting; Plimsoll's does not.
fn smack_listing(kind: smack::SmackKind, point: &Point) -> String {
    let ms = |ms: Option<f64>| Duration::from_secs_f64(ms.unwrap_or(0.0) / 1e3);
    let of = |name: &str| {
        let found = point.operations.iter().find(|operation| operation.name == name)?;
        let (fastest, slowest) = (ms(found.latency_ms.min), ms(found.latency_ms.max));
        Some(Queries { count: found.count, fastest, slowest })
    };
    let wall = Duration::from_secs_f64(point.seconds.max(0.0));
    original_figures(kind, point.load.connections as u64, wall, None, of).to_string()
}
