//! What is there once a server answers again after a fault.

use super::reckoning::{acknowledged, entries, of_entries, of_findings};
use crate::adapter::WorkloadAdapter;
use crate::error::LabError;
use crate::load_point::Outcome;
use crate::trial::{UnderWay, is_interrupt, limits};
use plimsoll_data::check::{self, CONNECTIONS};
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::{LoggedCommit, Workload};
use plimsoll_model::crash::CrashOutcome;
use plimsoll_model::samples::Phase;
use plimsoll_plan::RunPlan;
use plimsoll_watch::Watcher;
use plimsoll_wire::text::identifier;
use plimsoll_workloads::chosen::ChosenWorkload;

/// What is needed to look at the data after a fault.
pub(super) struct AfterFault<'c, W> {
    pub adapter: &'c WorkloadAdapter<'c, W>,
    /// Of the load during which it came.
    pub plan: &'c RunPlan,
    pub chosen: &'c ChosenWorkload,
    pub told: &'c [LoggedCommit],
    /// Entries of the ledger that were there before the load.
    pub before: u64,
    pub struck_ns: u64,
    /// Until when the server carried what it carries without a fault.
    pub carried_until_ns: u64,
}

impl<W: Workload> AfterFault<'_, W> {
    /// Notes what is missing and what is damaged; false if the server did not survive being asked for everything, which is
    /// noted as well.
    ///
    /// # Errors
    /// If it is interrupted.
    pub fn look(
        &self,
        now: &mut UnderWay,
        target: &mut OpenTarget,
        outcome: &mut Outcome,
        found: &mut CrashOutcome,
    ) -> Result<bool, LabError> {
        match self.look_at_all(now, target, outcome, found) {
            Ok(()) => Ok(true),
            // A server that we ended ourselves, since it took too long, says nothing.
            Err(error) if is_interrupt(&error) || now.watch.interrupted() => Err(error),
            Err(error) => {
                found.broken.push(error.to_string());
                Ok(false)
            }
        }
    }

    fn look_at_all(
        &self,
        now: &mut UnderWay,
        target: &mut OpenTarget,
        outcome: &mut Outcome,
        found: &mut CrashOutcome,
    ) -> Result<(), LabError> {
        let limit = limits::of(&now.plan.trials, Phase::Recover);
        target.control.set_limit(limit);
        target.control.set_answer_limit(limit);
        (self.adapter.after)(target, outcome)?;
        found.corrupt.extend(self.damaged_tables(target)?);
        let findings = check::findings(target, self.chosen, CONNECTIONS, &mut now.watch)?;
        let reckoning = match self.chosen {
            ChosenWorkload::Ledger(_) => of_entries(self.told, &entries(target)?, self.before),
            _ => {
                found.hidden = outcome.counted.unknown;
                of_findings(acknowledged(self.chosen, &outcome.counted, self.told), self.told, &findings)
            }
        };
        (found.acknowledged, found.lost) = (reckoning.acknowledged, reckoning.lost);
        found.unacknowledged = reckoning.unacknowledged;
        found.lost_seconds = reckoning.lost_ns.map(|times| times.seconds_until(self.struck_ns));
        // That something is missing is counted; only what else does not hold is damage.
        let broken = findings.into_iter().filter(|finding| !finding.holds && finding.missing.is_none());
        found.broken = broken.map(|of| format!("{}: {}", of.name, of.found.unwrap_or_default())).collect();
        Ok(())
    }

    /// What CHECK TABLE says of the tables that are not well.
    fn damaged_tables(&self, target: &mut OpenTarget) -> Result<Vec<String>, LabError> {
        let names: Vec<String> = self.chosen.names().tables.iter().map(|name| identifier(name)).collect();
        let failed = |failure| LabError::sql("checking the tables", &failure);
        let rows = target.control.rows(&format!("CHECK TABLE {}", names.join(", "))).map_err(failed)?;
        let damaged = |row: Vec<Option<String>>| {
            let mut cells = row.into_iter().map(Option::unwrap_or_default);
            let (table, kind, text) = (cells.next()?, cells.nth(1)?, cells.next()?);
            let is_well = kind == "status" && text == "OK" || matches!(kind.as_str(), "note" | "info");
            (!is_well).then(|| format!("{table}: {text}"))
        };
        Ok(rows.rows.into_iter().filter_map(damaged).collect())
    }
}
