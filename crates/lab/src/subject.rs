//! What differs between workloads when they are run: how one is made ready, and what follows from what it counted.

use crate::error::LabError;
use crate::order_entry;
use crate::trial::Outcome;
use plimsoll_data::check::verdict;
use plimsoll_data::dataset::{Marker, State};
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::Workload;
use plimsoll_model::summary::Point;
use plimsoll_workloads::chosen::Chosen;
use plimsoll_workloads::oltp::Oltp;
use plimsoll_workloads::smack::Smack;
use plimsoll_workloads::smack::report::{Queries, original_figures};
use plimsoll_workloads::{oltp, smack};
use std::collections::BTreeMap;
use std::time::Duration;

/// What to run.
pub struct Subject<'a, W> {
    /// Makes the workload for each load point, since some go on where the one before has left the data.
    pub make: &'a dyn Fn(&mut OpenTarget) -> Result<W, LabError>,
    /// Looks at the data before a load point.
    pub before: &'a dyn Fn(&mut OpenTarget) -> Result<(), LabError>,
    /// Looks at them afterwards, and says what the point means for this workload.
    pub after: &'a dyn Fn(&mut OpenTarget, &mut Outcome) -> Result<(), LabError>,
    /// The workload's parameters, for the summary.
    pub params: BTreeMap<String, serde_json::Value>,
    /// The dataset that a writing workload leaves changed.
    pub family: &'a str,
}

/// Looks whether the tables are there and have the right columns, before a run starts.
pub fn look_at_tables(target: &mut OpenTarget, chosen: &Chosen, marker: Option<&Marker>) -> Result<(), LabError> {
    let name = chosen.name();
    if marker.is_some_and(|marker| marker.state == State::Loading) {
        return Err(LabError::Refused(format!(
            "the load of the data has not ended; `plimsoll load {name}` goes on with it"
        )));
    }
    for check in chosen.layout() {
        if let Some(found) = verdict(target, &check)?.found {
            return Err(LabError::Refused(format!(
                "the tables in the database `{}` are not those of {name}: {}: {found}; `plimsoll load {name}` makes them",
                target.database, check.name
            )));
        }
    }
    Ok(())
}

/// What is to be done with a workload, whichever it is.
pub trait Errand {
    type Output;

    fn with<W: Workload>(self, target: &mut OpenTarget, subject: &Subject<W>) -> Result<Self::Output, LabError>;
}

/// Does an errand with the workload that was chosen; `marker` is that of its data, `seed` that of the run.
///
/// # Errors
/// Those of the errand.
pub fn with_chosen<E: Errand>(
    target: &mut OpenTarget,
    (chosen, marker): (&Chosen, Option<&Marker>),
    seed: u64,
    errand: E,
) -> Result<E::Output, LabError> {
    let (params, family) = (chosen.printable(), chosen.family());
    let of_data = marker.map(|marker| marker.description.seed);
    let nothing_before = |_: &mut OpenTarget| Ok(());
    let nothing_after = |_: &mut OpenTarget, _: &mut Outcome| Ok(());
    match chosen {
        Chosen::Oltp(kind, parameters) => {
            let make = |target: &mut OpenTarget| make_oltp(target, *kind, parameters);
            let subject = Subject { make: &make, before: &nothing_before, after: &nothing_after, params, family };
            errand.with(target, &subject)
        }
        Chosen::Smack(kind, parameters) => {
            let make = |target: &mut OpenTarget| make_smack(target, *kind, parameters, of_data);
            let after = |_: &mut OpenTarget, outcome: &mut Outcome| {
                outcome.point.original_listing = Some(smack_listing(*kind, &outcome.point));
                Ok(())
            };
            let subject = Subject { make: &make, before: &nothing_before, after: &after, params, family };
            errand.with(target, &subject)
        }
        Chosen::OrderEntry(parameters) => {
            let desk = order_entry::Desk::new(parameters, of_data, seed, marker.is_some());
            let subject = Subject {
                make: &|_| Ok(desk.workload()),
                before: &|target| desk.before(target),
                after: &|target, outcome| desk.after(target, outcome),
                params,
                family,
            };
            errand.with(target, &subject)
        }
    }
}

/// The workload, which goes on behind the ids that earlier runs have used.
fn make_oltp(target: &mut OpenTarget, kind: oltp::Kind, parameters: &oltp::Parameters) -> Result<Oltp, LabError> {
    let mut workload = Oltp::new(kind, parameters);
    if let Some(query) = workload.continuation_query() {
        let failed = |failure| LabError::sql("asking which ids are in use", &failure);
        let rows = target.control.rows(&query).map_err(failed)?;
        workload.continue_after(rows.single().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) as u64);
    }
    Ok(workload)
}

/// The workload with the keys of the load; those of a table that somebody else loaded are asked for.
fn make_smack(
    target: &mut OpenTarget,
    kind: smack::Kind,
    parameters: &smack::Parameters,
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

/// The point as super-smack prints it. Its wall time contains connecting, which ours does not.
fn smack_listing(kind: smack::Kind, point: &Point) -> String {
    let ms = |ms: Option<f64>| Duration::from_secs_f64(ms.unwrap_or(0.0) / 1e3);
    let of = |name: &str| {
        let found = point.operations.iter().find(|operation| operation.name == name)?;
        let (fastest, slowest) = (ms(found.latency_ms.min), ms(found.latency_ms.max));
        Some(Queries { count: found.count, fastest, slowest })
    };
    let wall = Duration::from_secs_f64(point.seconds.max(0.0));
    original_figures(kind, point.connections as u64, wall, None, of).to_string()
}
