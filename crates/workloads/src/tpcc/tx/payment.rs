//! Payment (clause 2.5): a customer pays, warehouse and district add the amount to their sums, and history records it.
//! A light transaction on the hottest row of all: all payments of a warehouse wait for its sum.

use super::statement_sender::{Cents, StatementSender, Text, values};
use super::{Tpcc, TpccState};
use crate::tpcc::choices::CallStyle;
use crate::tpcc::counters::Counter;
use crate::tpcc::input::{Customer, HomeDistrict, Payment};
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
        state: &mut TpccState,
        sender: &mut StatementSender<'_>,
        payment: &Payment,
    ) -> Result<End, Failure> {
        self.identify(payment.customer, state);
        sender.begin().await?;
        let customer = match self.style() {
            CallStyle::PerRow => self.pay_by_row(state, sender, payment).await?,
            CallStyle::Batched => self.pay_in_batches(state, sender, payment).await?,
            CallStyle::Procedure => pay_by_call(state, sender, payment).await?,
        };
        if customer.is_none() {
            state.counts.add(Counter::NamesNotFound, 1);
            return sender.roll_back().await;
        }
        let counts = &mut state.counts;
        counts.add(Counter::Payments, 1);
        counts.add(Counter::PaymentCents, payment.amount as u64);
        counts.add(Counter::RemotePayments, u64::from(payment.c_w != payment.home.w));
        counts.add(Counter::PaymentsByName, u64::from(matches!(payment.customer, Customer::Name(_))));
        sender.commit().await
    }

    /// A statement for each row, in the order of clause 2.5.2.2. The customer, or `None` if nobody has that name.
    async fn pay_by_row(
        &self,
        state: &mut TpccState,
        sender: &mut StatementSender<'_>,
        payment: &Payment,
    ) -> Result<Option<i64>, Failure> {
        let &Payment { home: HomeDistrict { w, d, .. }, c_w, c_d, .. } = payment;
        let amount = Cents(payment.amount);
        sender.run(Role::PayWarehouse, values![amount, w]).await?;
        sender.ask(Role::Warehouse, values![w]).await?;
        let w_name = Text::<10>::new(sender.row(0)?.bytes(5)?);
        sender.run(Role::PayDistrict, values![amount, w, d]).await?;
        sender.ask(Role::District, values![w, d]).await?;
        let d_name = Text::<10>::new(sender.row(0)?.bytes(5)?);
        let c = match payment.customer {
            Customer::Number(number) => number,
            Customer::Name(_) => {
                let name = state.name.as_slice();
                sender.run(Role::CountNamesakes, values![c_w, c_d, name]).await?;
                let namesakes = sender.ask(Role::Namesakes, values![c_w, c_d, name]).await?;
                let Some(middle) = self.middle(namesakes) else { return Ok(None) };
                sender.row(middle)?.int(0)?
            }
        };
        sender.ask(Role::Customer, values![c_w, c_d, c]).await?;
        let row = sender.row(0)?;
        let is_bad = row.bytes(C_CREDIT)? == BAD_CREDIT;
        // The original writes the sums that it computed; strict lets the server add.
        let (balance, paid) = if self.is_compat() {
            let (balance, paid) = (row.scaled(C_BALANCE, 2)?, row.scaled(C_YTD_PAYMENT, 2)?);
            (Cents(balance - payment.amount), Cents(paid + payment.amount))
        } else {
            (amount, amount)
        };
        if is_bad {
            sender.ask(Role::CustomerData, values![c_w, c_d, c]).await?;
            note(state, payment, c);
            state.data.extend_from_slice(sender.row(0)?.bytes(0)?);
            state.data.truncate(DATA_BYTES);
            let data = state.data.as_slice();
            sender.run(Role::PayBadCustomer, values![balance, paid, data, c_w, c_d, c]).await?;
        } else {
            sender.run(Role::PayCustomer, values![balance, paid, c_w, c_d, c]).await?;
        }
        insert_history(sender, payment, c, w_name.as_bytes(), d_name.as_bytes()).await?;
        Ok(Some(c))
    }

    /// Few round trips, and the fewest of them while the warehouse is locked: it comes last.
    async fn pay_in_batches(
        &self,
        state: &mut TpccState,
        sender: &mut StatementSender<'_>,
        payment: &Payment,
    ) -> Result<Option<i64>, Failure> {
        let &Payment { home: HomeDistrict { w, d, .. }, c_w, c_d, .. } = payment;
        let amount = Cents(payment.amount);
        let (c, is_bad) = match payment.customer {
            Customer::Number(number) => {
                sender.ask(Role::Customer, values![c_w, c_d, number]).await?;
                (number, sender.row(0)?.bytes(C_CREDIT)? == BAD_CREDIT)
            }
            Customer::Name(_) => {
                let namesakes = sender.ask(Role::CustomersOfName, values![c_w, c_d, state.name.as_slice()]).await?;
                let Some(middle) = self.middle(namesakes) else { return Ok(None) };
                let row = sender.row(middle)?;
                (row.int(C_ID)?, row.bytes(C_CREDIT)? == BAD_CREDIT)
            }
        };
        if is_bad {
            note(state, payment, c);
            let data = state.data.as_slice();
            sender.run(Role::PayBadCustomer, values![amount, amount, data, c_w, c_d, c]).await?;
        } else {
            sender.run(Role::PayCustomer, values![amount, amount, c_w, c_d, c]).await?;
        }
        sender.run(Role::PayDistrict, values![amount, w, d]).await?;
        sender.run(Role::PayWarehouse, values![amount, w]).await?;
        sender.ask(Role::Addresses, values![w, d]).await?;
        let row = sender.row(0)?;
        let (w_name, d_name) = (Text::<10>::new(row.bytes(5)?), Text::<10>::new(row.bytes(11)?));
        insert_history(sender, payment, c, w_name.as_bytes(), d_name.as_bytes()).await?;
        Ok(Some(c))
    }
}

/// What a customer with bad credit gets written before the rest of `c_data`.
fn note(state: &mut TpccState, payment: &Payment, c: i64) {
    let &Payment { home: HomeDistrict { w, d, .. }, c_w, c_d, amount, .. } = payment;
    state.data.clear();
    // Writing into a Vec cannot fail.
    write!(state.data, "{c} {c_d} {c_w} {d} {w} {}.{:02}|", amount / 100, amount % 100).unwrap_or_default();
}

async fn insert_history(
    sender: &mut StatementSender<'_>,
    payment: &Payment,
    c: i64,
    w_name: &[u8],
    d_name: &[u8],
) -> Result<(), Failure> {
    let &Payment { home: HomeDistrict { w, d, .. }, c_w, c_d, amount, .. } = payment;
    let data = Text::<24>::joined(&[w_name, b"    ", d_name]);
    sender.run(Role::InsertHistory, values![c_d, c_w, c, d, w, Cents(amount), data.as_bytes()]).await
}

async fn pay_by_call(
    state: &TpccState,
    sender: &mut StatementSender<'_>,
    payment: &Payment,
) -> Result<Option<i64>, Failure> {
    let &Payment { home: HomeDistrict { w, d, .. }, c_w, c_d, amount, .. } = payment;
    let number = payment.customer.number();
    sender.ask(Role::CallPayment, values![w, d, c_w, c_d, number, state.name.as_slice(), Cents(amount)]).await?;
    let c = sender.row(0)?.int(0)?;
    Ok((c > 0).then_some(c))
}
