//! Order-status (clause 2.6): the last order of a customer, with its lines. Read-only, so it may use a snapshot.

use super::statement_sender::{StatementSender, values};
use super::{Tpcc, TpccState};
use crate::tpcc::choices::CallStyle;
use crate::tpcc::counters::Counter;
use crate::tpcc::input::{Customer, HomeDistrict, OrderStatus};
use crate::tpcc::roles::Role;
use plimsoll_engine::Failure;
use plimsoll_load::recorder::End;

/// What was found.
enum Found {
    Order,
    /// The customer has none.
    NoOrder,
    /// Nobody has that last name.
    NoCustomer,
}

impl Tpcc {
    pub(super) async fn order_status(
        &self,
        state: &mut TpccState,
        sender: &mut StatementSender<'_>,
        status: &OrderStatus,
    ) -> Result<End, Failure> {
        self.identify(status.customer, state);
        sender.begin().await?;
        let found = match self.style() {
            CallStyle::PerRow | CallStyle::Batched => self.look_up(state, sender, status).await?,
            CallStyle::Procedure => look_up_by_call(state, sender, status).await?,
        };
        match found {
            Found::NoCustomer => {
                state.counts.add(Counter::NamesNotFound, 1);
                return sender.roll_back().await;
            }
            Found::NoOrder => state.counts.add(Counter::OrdersNotFound, 1),
            Found::Order => {}
        }
        state.counts.add(Counter::OrderStatuses, 1);
        state.counts.add(Counter::OrderStatusesByName, u64::from(matches!(status.customer, Customer::Name(_))));
        sender.commit().await
    }

    /// In the order of clause 2.6.2.2.
    async fn look_up(
        &self,
        state: &TpccState,
        sender: &mut StatementSender<'_>,
        status: &OrderStatus,
    ) -> Result<Found, Failure> {
        let HomeDistrict { w, d, .. } = status.home;
        let c = match status.customer {
            Customer::Number(number) => {
                sender.run(Role::Balance, values![w, d, number]).await?;
                number
            }
            Customer::Name(_) => {
                let name = state.name.as_slice();
                if self.style() == CallStyle::PerRow {
                    sender.run(Role::CountNamesakes, values![w, d, name]).await?;
                }
                let namesakes = sender.ask(Role::BalancesOfName, values![w, d, name]).await?;
                let Some(middle) = self.middle(namesakes) else { return Ok(Found::NoCustomer) };
                sender.row(middle)?.int(3)?
            }
        };
        if sender.ask(Role::LastOrder, values![w, d, c]).await? == 0 {
            return Ok(Found::NoOrder);
        }
        let last = sender.row(0)?.int(0)?;
        // The original asks for the order with the district's number.
        let order = if self.is_compat() { d } else { last };
        sender.run(Role::LinesOfOrder, values![w, d, order]).await?;
        Ok(Found::Order)
    }
}

async fn look_up_by_call(
    state: &TpccState,
    sender: &mut StatementSender<'_>,
    status: &OrderStatus,
) -> Result<Found, Failure> {
    let HomeDistrict { w, d, .. } = status.home;
    sender.ask(Role::CallOrderStatus, values![w, d, status.customer.number(), state.name.as_slice()]).await?;
    let answer = sender.row(0)?;
    Ok(match (answer.int(0)?, answer.is_null(1)?) {
        (0, _) => Found::NoCustomer,
        (_, true) => Found::NoOrder,
        (_, false) => Found::Order,
    })
}
