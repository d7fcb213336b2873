//! Payment (clause 2.5): a customer pays, which warehouse and district add to their sums, and history keeps. A light
//! transaction on the hottest row there is: all payments of a warehouse wait for its sum.

use super::desk::{Cents, Desk, Text, values};
use super::{State, Tpcc};
use crate::tpcc::choices::CallStyle;
use crate::tpcc::counters::Counter;
use crate::tpcc::input::{Customer, Home, Payment};
use crate::tpcc::roles::Role;
use crate::tpcc::texts::{C_BALANCE, C_CREDIT, C_ID, C_YTD_PAYMENT};
use plimsoll_engine::Failure;
use plimsoll_load::recorder::End;
use std::io::Write;

/// Bytes of `c_data`.
const DATA_BYTES: usize = 500;
const BAD_CREDIT: &[u8] = b"BC";

impl Tpcc {
    pub(super) async fn payment(
        &self,
        state: &mut State,
        desk: &mut Desk<'_>,
        payment: &Payment,
    ) -> Result<End, Failure> {
        self.identify(payment.customer, state);
        desk.begin().await?;
        let customer = match self.style() {
            CallStyle::PerRow => self.pay_by_row(state, desk, payment).await?,
            CallStyle::Batched => self.pay_in_batches(state, desk, payment).await?,
            CallStyle::Procedure => pay_by_call(state, desk, payment).await?,
        };
        if customer.is_none() {
            state.counts.add(Counter::NamesNotFound, 1);
            return desk.roll_back().await;
        }
        let counts = &mut state.counts;
        counts.add(Counter::Payments, 1);
        counts.add(Counter::PaymentCents, payment.amount as u64);
        counts.add(Counter::RemotePayments, u64::from(payment.c_w != payment.home.w));
        counts.add(Counter::PaymentsByName, u64::from(matches!(payment.customer, Customer::Name(_))));
        desk.commit().await
    }

    /// A statement for each row, in the order of clause 2.5.2.2. The customer, or `None` if nobody has that name.
    async fn pay_by_row(
        &self,
        state: &mut State,
        desk: &mut Desk<'_>,
        payment: &Payment,
    ) -> Result<Option<i64>, Failure> {
        let &Payment { home: Home { w, d, .. }, c_w, c_d, .. } = payment;
        let amount = Cents(payment.amount);
        desk.run(Role::PayWarehouse, values![amount, w]).await?;
        desk.ask(Role::Warehouse, values![w]).await?;
        let w_name = Text::<10>::new(desk.row(0)?.bytes(5)?);
        desk.run(Role::PayDistrict, values![amount, w, d]).await?;
        desk.ask(Role::District, values![w, d]).await?;
        let d_name = Text::<10>::new(desk.row(0)?.bytes(5)?);
        let c = match payment.customer {
            Customer::Number(number) => number,
            Customer::Name(_) => {
                let name = state.name.as_slice();
                desk.run(Role::CountNamesakes, values![c_w, c_d, name]).await?;
                let namesakes = desk.ask(Role::Namesakes, values![c_w, c_d, name]).await?;
                let Some(middle) = self.middle(namesakes) else { return Ok(None) };
                desk.row(middle)?.int(0)?
            }
        };
        desk.ask(Role::Customer, values![c_w, c_d, c]).await?;
        let row = desk.row(0)?;
        let is_bad = row.bytes(C_CREDIT)? == BAD_CREDIT;
        // The original writes the sums that it has computed; strict lets the server add.
        let (balance, paid) = if self.is_compat() {
            let (balance, paid) = (row.scaled(C_BALANCE, 2)?, row.scaled(C_YTD_PAYMENT, 2)?);
            (Cents(balance - payment.amount), Cents(paid + payment.amount))
        } else {
            (amount, amount)
        };
        if is_bad {
            desk.ask(Role::CustomerData, values![c_w, c_d, c]).await?;
            note(state, payment, c);
            state.data.extend_from_slice(desk.row(0)?.bytes(0)?);
            state.data.truncate(DATA_BYTES);
            let data = state.data.as_slice();
            desk.run(Role::PayBadCustomer, values![balance, paid, data, c_w, c_d, c]).await?;
        } else {
            desk.run(Role::PayCustomer, values![balance, paid, c_w, c_d, c]).await?;
        }
        insert_history(desk, payment, c, w_name.as_bytes(), d_name.as_bytes()).await?;
        Ok(Some(c))
    }

    /// Few round trips, and the fewest of them while the warehouse is locked: it comes last.
    async fn pay_in_batches(
        &self,
        state: &mut State,
        desk: &mut Desk<'_>,
        payment: &Payment,
    ) -> Result<Option<i64>, Failure> {
        let &Payment { home: Home { w, d, .. }, c_w, c_d, .. } = payment;
        let amount = Cents(payment.amount);
        let (c, is_bad) = match payment.customer {
            Customer::Number(number) => {
                desk.ask(Role::Customer, values![c_w, c_d, number]).await?;
                (number, desk.row(0)?.bytes(C_CREDIT)? == BAD_CREDIT)
            }
            Customer::Name(_) => {
                let namesakes = desk.ask(Role::CustomersOfName, values![c_w, c_d, state.name.as_slice()]).await?;
                let Some(middle) = self.middle(namesakes) else { return Ok(None) };
                let row = desk.row(middle)?;
                (row.int(C_ID)?, row.bytes(C_CREDIT)? == BAD_CREDIT)
            }
        };
        if is_bad {
            note(state, payment, c);
            let data = state.data.as_slice();
            desk.run(Role::PayBadCustomer, values![amount, amount, data, c_w, c_d, c]).await?;
        } else {
            desk.run(Role::PayCustomer, values![amount, amount, c_w, c_d, c]).await?;
        }
        desk.run(Role::PayDistrict, values![amount, w, d]).await?;
        desk.run(Role::PayWarehouse, values![amount, w]).await?;
        desk.ask(Role::Addresses, values![w, d]).await?;
        let row = desk.row(0)?;
        let (w_name, d_name) = (Text::<10>::new(row.bytes(5)?), Text::<10>::new(row.bytes(11)?));
        insert_history(desk, payment, c, w_name.as_bytes(), d_name.as_bytes()).await?;
        Ok(Some(c))
    }
}

/// What a customer with bad credit gets written before the rest of `c_data`.
fn note(state: &mut State, payment: &Payment, c: i64) {
    let &Payment { home: Home { w, d, .. }, c_w, c_d, amount, .. } = payment;
    state.data.clear();
    // Writing into a Vec cannot fail.
    write!(state.data, "{c} {c_d} {c_w} {d} {w} {}.{:02}|", amount / 100, amount % 100).unwrap_or_default();
}

async fn insert_history(
    desk: &mut Desk<'_>,
    payment: &Payment,
    c: i64,
    w_name: &[u8],
    d_name: &[u8],
) -> Result<(), Failure> {
    let &Payment { home: Home { w, d, .. }, c_w, c_d, amount, .. } = payment;
    let data = Text::<24>::joined(&[w_name, b"    ", d_name]);
    desk.run(Role::InsertHistory, values![c_d, c_w, c, d, w, Cents(amount), data.as_bytes()]).await
}

async fn pay_by_call(state: &State, desk: &mut Desk<'_>, payment: &Payment) -> Result<Option<i64>, Failure> {
    let &Payment { home: Home { w, d, .. }, c_w, c_d, amount, .. } = payment;
    let number = payment.customer.number();
    desk.ask(Role::CallPayment, values![w, d, c_w, c_d, number, state.name.as_slice(), Cents(amount)]).await?;
    let c = desk.row(0)?.int(0)?;
    Ok((c > 0).then_some(c))
}
