//! Stock-level (clause 2.8): how many of the items in the last 20 orders of a district are low in stock. A heavy read.

use super::desk::{Desk, values};
use super::{State, Tpcc};
use crate::tpcc::choices::CallStyle;
use crate::tpcc::counters::Counter;
use crate::tpcc::input::{Home, StockLevel};
use crate::tpcc::roles::Role;
use plimsoll_engine::Failure;
use plimsoll_load::recorder::End;

/// Orders that are looked at.
const ORDERS: i64 = 20;

impl Tpcc {
    pub(super) async fn stock_level(
        &self,
        state: &mut State,
        desk: &mut Desk<'_>,
        level: &StockLevel,
    ) -> Result<End, Failure> {
        let &StockLevel { home: Home { w, d, .. }, threshold } = level;
        desk.begin().await?;
        if self.style() == CallStyle::Procedure {
            desk.ask(Role::CallStockLevel, values![w, d, threshold]).await?;
        } else {
            desk.ask(Role::OrdersSoFar, values![w, d]).await?;
            let next = desk.row(0)?.int(0)?;
            desk.ask(Role::LowStock, values![w, d, next, next - ORDERS, w, threshold]).await?;
        }
        let low = desk.row(0)?.int(0)?;
        state.counts.add(Counter::LowStockItems, low as u64);
        desk.commit().await
    }
}
