//! Delivery (clause 2.7): the oldest undelivered order of each of the ten districts of a warehouse is delivered, in one
//! transaction. A district that has none is skipped, and counted (clause 2.7.4.2).
//!
//! Two deliveries of one warehouse must not deliver the same order, and under REPEATABLE READ a snapshot may be older
//! than the order that was locked, so every read on the way is a locking one.

use super::statement_sender::{Cents, List, StatementSender, values};
use super::{Tpcc, TpccState};
use crate::tpcc::choices::CallStyle;
use crate::tpcc::counters::Counter;
use crate::tpcc::input::{Delivery, HomeDistrict};
use crate::tpcc::roles::{DISTRICTS, Role};
use plimsoll_engine::Failure;
use plimsoll_load::recorder::End;

impl Tpcc {
    pub(super) async fn delivery(
        &self,
        state: &mut TpccState,
        sender: &mut StatementSender<'_>,
        delivery: &Delivery,
    ) -> Result<End, Failure> {
        sender.begin().await?;
        let delivered = match self.style() {
            CallStyle::PerRow => self.deliver_by_row(sender, delivery).await?,
            CallStyle::Batched => Some(deliver_in_batches(sender, delivery).await?),
            CallStyle::Procedure => Some(deliver_by_call(sender, delivery).await?),
        };
        let Some(delivered) = delivered else {
            state.counts.add(Counter::SnapshotsBehind, 1);
            return sender.roll_back().await;
        };
        state.counts.add(Counter::OrdersDelivered, delivered as u64);
        state.counts.add(Counter::DistrictsSkipped, (DISTRICTS - delivered) as u64);
        sender.commit().await
    }

    /// One district after the other, in the order of clause 2.7.4.2. The number of orders delivered; `None` if the
    /// snapshot was behind, which only compat knows.
    async fn deliver_by_row(
        &self,
        sender: &mut StatementSender<'_>,
        delivery: &Delivery,
    ) -> Result<Option<usize>, Failure> {
        let w = delivery.home.w;
        let mut delivered = 0;
        for d in 1..=DISTRICTS as i64 {
            if sender.ask(Role::OldestOrder, values![w, d]).await? == 0 {
                continue;
            }
            let order = sender.row(0)?.int(0)?;
            sender.run(Role::DeleteNewOrder, values![w, d, order]).await?;
            if sender.ask(Role::CustomerOfOrder, values![w, d, order]).await? == 0 && self.is_compat() {
                return Ok(None);
            }
            let customer = sender.row(0)?.int(0)?;
            sender.run(Role::CarryOrder, values![delivery.carrier, w, d, order]).await?;
            sender.run(Role::DeliverLines, values![w, d, order]).await?;
            sender.ask(Role::AmountOfOrder, values![w, d, order]).await?;
            let amount = Cents(sender.row(0)?.scaled(0, 2)?);
            sender.run(Role::CreditCustomer, values![amount, w, d, customer]).await?;
            delivered += 1;
        }
        Ok(Some(delivered))
    }
}

/// All districts with each statement. Fewer than ten orders are filled up by repetition.
async fn deliver_in_batches(sender: &mut StatementSender<'_>, delivery: &Delivery) -> Result<usize, Failure> {
    let HomeDistrict { w, .. } = delivery.home;
    let mut values = List::<{ 2 * DISTRICTS }>::new();
    values.extend((1..=DISTRICTS as i64).flat_map(|d| [w, d]));
    let count = sender.ask(Role::OldestOrders, values.as_slice()).await?;
    if count == 0 {
        return Ok(0);
    }
    // By district: the order, its customer, its amount.
    let orders = pairs(sender)?;
    let orders = rows_of(w, &orders);
    sender.run(Role::DeleteNewOrders, orders.as_slice()).await?;
    sender.ask(Role::CustomersOfOrders, orders.as_slice()).await?;
    sender.row(count - 1)?;
    let customers = pairs(sender)?;
    let mut values = List::<{ 2 + 2 * DISTRICTS }>::new();
    values.push(delivery.carrier);
    values.extend(orders.as_slice().iter().copied());
    sender.run(Role::CarryOrders, values.as_slice()).await?;
    sender.run(Role::DeliverLinesOfOrders, orders.as_slice()).await?;
    sender.ask(Role::AmountsOfOrders, orders.as_slice()).await?;
    sender.row(count - 1)?;
    let mut values = List::<{ 4 * DISTRICTS + 1 }>::new();
    for number in 0..DISTRICTS {
        let row = sender.row(number % count)?;
        values.push(row.int(0)?);
        values.push(Cents(row.scaled(1, 2)?));
    }
    values.extend(rows_of(w, &customers).as_slice().iter().copied());
    sender.run(Role::CreditCustomers, values.as_slice()).await?;
    Ok(count)
}

/// District and number of each row that was asked for, from the first again where there are fewer than ten.
fn pairs(sender: &StatementSender<'_>) -> Result<[[i64; 2]; DISTRICTS], Failure> {
    let count = sender.rows().count();
    let mut pairs = [[0; 2]; DISTRICTS];
    for (number, pair) in pairs.iter_mut().enumerate() {
        let row = sender.row(number % count.max(1))?;
        *pair = [row.int(0)?, row.int(1)?];
    }
    Ok(pairs)
}

/// The values that stand for these rows of a warehouse.
fn rows_of(w: i64, pairs: &[[i64; 2]; DISTRICTS]) -> List<'static, { 1 + 2 * DISTRICTS }> {
    let mut values = List::new();
    values.push(w);
    values.extend(pairs.as_flattened().iter().copied());
    values
}

async fn deliver_by_call(sender: &mut StatementSender<'_>, delivery: &Delivery) -> Result<usize, Failure> {
    sender.ask(Role::CallDelivery, values![delivery.home.w, delivery.carrier]).await?;
    Ok(sender.row(0)?.int(0)? as usize)
}
