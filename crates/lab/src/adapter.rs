//! The adapters of workloads: how each is made ready for a load point, and what follows from what it counted.

use crate::error::LabError;
use crate::load_point::Outcome;
use crate::order_entry;
use plimsoll_data::check::verdict;
use plimsoll_data::dataset::{DatasetState, Marker};
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::Workload;
use plimsoll_model::NamedScalars;
use plimsoll_model::summary::Point;
use plimsoll_script::Scripted;
use plimsoll_workloads::chosen::ChosenWorkload;
use plimsoll_workloads::ledger::LedgerWorkload;
use plimsoll_workloads::oltp::Oltp;
use plimsoll_workloads::smack::Smack;
use plimsoll_workloads::smack::report::{Queries, original_figures};
use plimsoll_workloads::{oltp, smack};
use std::time::Duration;

/// What to run.
pub struct WorkloadAdapter<'a, W> {
    /// Makes the workload for each load point, since some continue where the previous one left the data.
    pub make: &'a dyn Fn(&mut OpenTarget) -> Result<W, LabError>,
    /// Inspects the data before a load point.
    pub before: &'a dyn Fn(&mut OpenTarget) -> Result<(), LabError>,
    /// Inspects them afterwards, and says what the point means for this workload.
    pub after: &'a dyn Fn(&mut OpenTarget, &mut Outcome) -> Result<(), LabError>,
    /// The workload's parameters, for the summary.
    pub params: NamedScalars,
    /// The dataset that a writing workload leaves changed.
    pub family: &'a str,
    /// The script whose load is made in a process of its own.
    pub apart: Option<&'a Scripted>,
}

impl<'a, W> WorkloadAdapter<'a, W> {
    /// Of a workload that inspects nothing.
    fn plain(
        make: &'a dyn Fn(&mut OpenTarget) -> Result<W, LabError>,
        params: NamedScalars,
        family: &'a str,
    ) -> WorkloadAdapter<'a, W> {
        WorkloadAdapter { make, before: &|_| Ok(()), after: &|_, _| Ok(()), params, family, apart: None }
    }
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
    let (params, family) = (chosen.printable(), chosen.family());
    let of_data = marker.map(|marker| marker.description.seed);
    match chosen {
        ChosenWorkload::Oltp(kind, parameters) => {
            let make = |target: &mut OpenTarget| make_oltp(target, *kind, parameters);
            purpose.with(target, &WorkloadAdapter::plain(&make, params, family))
        }
        ChosenWorkload::Smack(kind, parameters) => {
            let make = |target: &mut OpenTarget| make_smack(target, *kind, parameters, of_data);
            let after = |_: &mut OpenTarget, outcome: &mut Outcome| {
                outcome.point.original_listing = Some(smack_listing(*kind, &outcome.point));
                Ok(())
            };
            purpose.with(target, &WorkloadAdapter { after: &after, ..WorkloadAdapter::plain(&make, params, family) })
        }
        ChosenWorkload::Ledger(parameters) => {
            let make = |_: &mut OpenTarget| Ok(LedgerWorkload::new(parameters));
            purpose.with(target, &WorkloadAdapter::plain(&make, params, family))
        }
        ChosenWorkload::OrderEntry(parameters) => {
            let orders = order_entry::OrderEntryAdapter::new(parameters, of_data, seed, marker.is_some());
            let adapter = WorkloadAdapter {
                make: &|_| Ok(orders.workload()),
                before: &|target| orders.before(target),
                after: &|target, outcome| orders.after(target, outcome),
                params,
                family,
                apart: None,
            };
            purpose.with(target, &adapter)
        }
    }
}

/// The workload, which continues after the ids that earlier runs used.
fn make_oltp(
    target: &mut OpenTarget,
    kind: oltp::OltpKind,
    parameters: &oltp::OltpParameters,
) -> Result<Oltp, LabError> {
    let mut workload = Oltp::new(kind, parameters);
    if let Some(query) = workload.continuation_query() {
        let failed = |failure| LabError::sql("asking which ids are in use", &failure);
        let rows = target.control.rows(&query).map_err(failed)?;
        workload.continue_after(rows.single().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) as u64);
    }
    Ok(workload)
}

/// The workload with the keys of the load; for a table that another tool loaded, they are queried.
fn make_smack(
    target: &mut OpenTarget,
    kind: smack::SmackKind,
    parameters: &smack::SmackParameters,
    seed: Option<u64>,
) -> Result<Smack, LabError> {
    if let Some(seed) = seed {
        return Ok(Smack::new(kind, parameters, seed));
    }
    let failed = |failure| LabError::sql("asking for the keys", &failure);
    let rows = target.control.rows(&Smack::key_query(parameters)).map_err(failed)?;
    let keys = rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).map(String::into_bytes);
    Ok(Smack::with_keys(kind, keys.collect())?)
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
