//! The OLTP family made ready to run: its data found, their layout looked at, the workload made.

use crate::check::verdict;
use crate::dataset::{Marker, State};
use crate::error::LabError;
use crate::target::OpenTarget;
use plimsoll_workloads::oltp::check::layout;
use plimsoll_workloads::oltp::{Kind, Oltp, Parameters};

/// Looks whether the tables are there and have the right columns, before a run starts.
pub fn look_at_tables(
    target: &mut OpenTarget,
    kind: Kind,
    parameters: &Parameters,
    marker: Option<&Marker>,
) -> Result<(), LabError> {
    let load = format!("`plimsoll load {}` makes them", kind.name());
    if marker.is_some_and(|marker| marker.state == State::Loading) {
        return Err(LabError::Refused(format!(
            "the load of the data has not ended; `plimsoll load {}` goes on with it",
            kind.name()
        )));
    }
    for check in layout(kind, parameters) {
        if let Some(found) = verdict(target, &check).found {
            return Err(LabError::Refused(format!(
                "the tables in the database `{}` are not those of {}: {}: {found}; {load}",
                target.database,
                kind.name(),
                check.name
            )));
        }
    }
    Ok(())
}

/// The workload, which goes on behind the ids that earlier runs have used.
pub fn make(target: &mut OpenTarget, kind: Kind, parameters: &Parameters) -> Result<Oltp, LabError> {
    let mut workload = Oltp::new(kind, parameters);
    if let Some(query) = workload.continuation_query() {
        let failed = |failure| LabError::sql("asking which ids are in use", &failure);
        let rows = target.control.rows(&query).map_err(failed)?;
        workload.continue_after(rows.single().and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0) as u64);
    }
    Ok(workload)
}
