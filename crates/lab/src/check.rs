//! Verifies the invariants of loaded data.

use crate::dataset::{self, State};
use crate::error::LabError;
use crate::target::OpenTarget;
use crate::watch::{Event, Watcher};
use plimsoll_workloads::oltp::check::{Check, Moment, checks};
use plimsoll_workloads::oltp::{Kind, Parameters};
use std::time::Duration;

/// A count over a large table takes a while.
const CHECK_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// One invariant and what was found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    pub name: String,
    pub holds: bool,
    /// What was found instead.
    pub found: Option<String>,
}

/// Checks everything that must hold of the data; the number of rows too, right after a load.
pub fn check(
    target: &mut OpenTarget,
    kind: Kind,
    parameters: &Parameters,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Finding>, LabError> {
    if !target.enter_database()? {
        return Err(LabError::Refused(format!("there is no database `{}` to check", target.database)));
    }
    let marker = dataset::marker(&mut target.control, kind.dataset_family())?;
    let moment = match marker.map(|marker| marker.state) {
        Some(State::Loading) => {
            return Err(LabError::Refused(format!(
                "the load of `{}` has not ended; run `plimsoll load {}` again to go on with it",
                kind.dataset_family(),
                kind.name()
            )));
        }
        Some(State::Loaded) => Moment::Loaded,
        Some(State::Driven) | None => Moment::Driven,
    };
    target.control.set_limit(CHECK_LIMIT);
    let mut findings = Vec::new();
    for check in checks(kind, parameters, moment) {
        watcher.tell(Event::Doing(&check.name));
        if watcher.interrupted() {
            return Err(LabError::Interrupted);
        }
        findings.push(verdict(target, &check));
    }
    Ok(findings)
}

/// Asks and judges; a query that fails is a broken invariant, with the server's words.
pub fn verdict(target: &mut OpenTarget, check: &Check) -> Finding {
    let found = match target.control.rows(&check.sql) {
        Ok(rows) => check.verdict(&rows.rows).err(),
        Err(failure) => Some(failure.to_string()),
    };
    Finding { name: check.name.clone(), holds: found.is_none(), found }
}
