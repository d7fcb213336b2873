//! Order entry around a load point: the backlog of undelivered orders, the ledger of what clients committed, and
//! what the numbers mean.

use crate::error::LabError;
use crate::limits;
use crate::load_point::Outcome;
use plimsoll_data::ledger::{self, Conduct, ToldCounts};
use plimsoll_data::target::OpenTarget;
use plimsoll_model::Metric;
use plimsoll_model::summary::Backlog;
use plimsoll_workloads::tpcc::choices::Fidelity;
use plimsoll_workloads::tpcc::counters::Counter;
use plimsoll_workloads::tpcc::load::FAMILY;
use plimsoll_workloads::tpcc::parameters::TpccParameters;
use plimsoll_workloads::tpcc::schema::{Entity, TpccSchema};
use plimsoll_workloads::tpcc::statements::TransactionKind;
use plimsoll_workloads::tpcc::{Tpcc, result};
use std::cell::Cell;

/// A run of order entry.
pub struct OrderEntryAdapter<'a> {
    parameters: &'a TpccParameters,
    load_seed: Option<u64>,
    run_seed: u64,
    /// Whether Plimsoll loaded the data and keeps a ledger with them.
    has_ledger: bool,
    backlog: Cell<Option<u64>>,
}

impl OrderEntryAdapter<'_> {
    pub fn new(
        parameters: &TpccParameters,
        load_seed: Option<u64>,
        run_seed: u64,
        has_ledger: bool,
    ) -> OrderEntryAdapter<'_> {
        OrderEntryAdapter { parameters, load_seed, run_seed, has_ledger, backlog: Cell::new(None) }
    }

    pub fn workload(&self) -> Tpcc {
        Tpcc::new(self.parameters, self.load_seed, self.run_seed)
    }

    /// Before a load point: notes in the ledger that a run is under way, and counts the backlog.
    pub fn before(&self, target: &mut OpenTarget) -> Result<(), LabError> {
        self.backlog.set(Some(self.undelivered(target)?));
        if self.has_ledger {
            let conduct =
                Conduct { compat: self.parameters.fidelity == Fidelity::Compat, purge: self.parameters.purge };
            ledger::begin_run(&mut target.control, FAMILY, conduct)?;
        }
        Ok(())
    }

    /// Takes back what was noted before a load of which nothing was sent, as far as the server still answers.
    pub fn never_began(&self, target: &mut OpenTarget) {
        if self.has_ledger && target.epitaph().is_none() {
            target.keep_control();
            // Why there was no load is said already; a run that stays open is noticed by the next check.
            let _ = ledger::withdraw_run(&mut target.control, FAMILY);
        }
    }

    /// After a load point: enters what was committed, and judges it, even if the server can no longer be asked.
    ///
    /// # Errors
    /// Those of the server, after everything that does not need it was done.
    pub fn after(&self, target: &mut OpenTarget, outcome: &mut Outcome) -> Result<(), LabError> {
        let per_second = outcome.point.estimates.committed(TransactionKind::NewOrder.name());
        if let Some(per_minute) = per_second.map(|estimate| estimate.scaled(60.0)) {
            outcome.point.estimates.insert(Metric::Nopm, per_minute);
        }
        let (backlog, entered) = match self.enter(target, outcome) {
            Ok(backlog) => (backlog, Ok(())),
            Err(error) => (None, Err(error)),
        };
        result::judge(self.parameters, &mut outcome.point, &outcome.counted.window, backlog);
        // In compat they are drawn anew for each number.
        if self.parameters.fidelity == Fidelity::Strict
            && let (Some(load_seed), Some(result)) = (self.load_seed, &mut outcome.point.order_entry)
        {
            result.notes.push(result::note_of_constants(load_seed, self.run_seed));
        }
        entered
    }

    /// Enters in the ledger what was committed, and counts the backlog; a server that is known to be dead is not asked.
    fn enter(&self, target: &mut OpenTarget, outcome: &Outcome) -> Result<Option<Backlog>, LabError> {
        let start = self.backlog.take();
        if target.epitaph().is_some() {
            return Ok(None);
        }
        if self.has_ledger {
            let counted = &outcome.counted;
            let committed = [
                ("new_order", counted.committed(TransactionKind::NewOrder.name())),
                ("payment", counted.committed(TransactionKind::Payment.name())),
                ("delivered_orders", counted.whole(Counter::NAMES[Counter::OrdersDelivered as usize])),
            ];
            let committed = committed.map(|(what, count)| (what.to_owned(), count)).into();
            ledger::end_run(&mut target.control, FAMILY, &ToldCounts { committed, unknown: counted.unknown })?;
        }
        let Some(start) = start else { return Ok(None) };
        Ok(Some(Backlog { start, end: self.undelivered(target)? }))
    }

    fn undelivered(&self, target: &mut OpenTarget) -> Result<u64, LabError> {
        let schema = TpccSchema::new(self.parameters);
        let count = |set| format!("SELECT COUNT(*) AS n FROM {}", schema.table_name(Entity::NewOrder, set));
        let parts: Vec<String> = schema.sets().map(count).collect();
        let query = format!("SELECT SUM(n) FROM ({}) AS sets", parts.join(" UNION ALL "));
        let failed = |failure| LabError::sql("counting undelivered orders", &failure);
        let rows = target.control.within(limits::WHOLE_TABLE, |control| control.rows(&query)).map_err(failed)?;
        Ok(rows.single().and_then(|n| n.parse().ok()).unwrap_or(0))
    }
}
