//! Stock-level (clause 2.8): how many of the items in the last 20 orders of a district are low in stock. A heavy read.

use super::statement_sender::{StatementSender, values};
use super::{Tpcc, TpccState};
use crate::tpcc::choices::CallStyle;
use crate::tpcc::counters::Counter;
use crate::tpcc::input::{HomeDistrict, StockLevel};
use crate::tpcc::roles::Role;
use plimsoll_engine::Failure;
use plimsoll_load::recorder::End;

/// Orders that are looked at.
const ORDERS: i64 = 20;

impl Tpcc {
    pub(super) async fn stock_level(
        &self,
        state: &mut TpccState,
        sender: &mut StatementSender<'_>,
        level: &StockLevel,
    ) -> Result<End, Failure> {
        let &StockLevel { home: HomeDistrict { w, d, .. }, threshold } = level;
        sender.begin().await?;
        if self.style() == CallStyle::Procedure {
            sender.ask(Role::CallStockLevel, values![w, d, threshold]).await?;
        } else {
            sender.ask(Role::OrdersSoFar, values![w, d]).await?;
            let next = sender.row(0)?.int(0)?;
            sender.ask(Role::LowStock, values![w, d, next, next - ORDERS, w, threshold]).await?;
        }
        let low = sender.row(0)?.int(0)?;
        state.counts.add(Counter::LowStockItems, low as u64);
        sender.commit().await
    }
}
