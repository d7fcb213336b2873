//! Order-status (clause 2.6): the last order of a customer, with its lines. Read-only, so it may look at a snapshot.

use super::desk::{Desk, values};
use super::{State, Tpcc};
use crate::tpcc::choices::CallStyle;
use crate::tpcc::counters::Counter;
use crate::tpcc::input::{Customer, Home, OrderStatus};
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
        state: &mut State,
        desk: &mut Desk<'_>,
        status: &OrderStatus,
    ) -> Result<End, Failure> {
        self.identify(status.customer, state);
        desk.begin().await?;
        let found = match self.style() {
            CallStyle::PerRow | CallStyle::Batched => self.look_up(state, desk, status).await?,
            CallStyle::Procedure => look_up_by_call(state, desk, status).await?,
        };
        match found {
            Found::NoCustomer => {
                state.counts.add(Counter::NamesNotFound, 1);
                return desk.roll_back().await;
            }
            Found::NoOrder => state.counts.add(Counter::OrdersNotFound, 1),
            Found::Order => {}
        }
        state.counts.add(Counter::OrderStatuses, 1);
        state.counts.add(Counter::OrderStatusesByName, u64::from(matches!(status.customer, Customer::Name(_))));
        desk.commit().await
    }

    /// In the order of clause 2.6.2.2.
    async fn look_up(&self, state: &State, desk: &mut Desk<'_>, status: &OrderStatus) -> Result<Found, Failure> {
        let Home { w, d, .. } = status.home;
        let c = match status.customer {
            Customer::Number(number) => {
                desk.run(Role::Balance, values![w, d, number]).await?;
                number
            }
            Customer::Name(_) => {
                let name = state.name.as_slice();
                if self.style() == CallStyle::PerRow {
                    desk.run(Role::CountNamesakes, values![w, d, name]).await?;
                }
                let namesakes = desk.ask(Role::BalancesOfName, values![w, d, name]).await?;
                let Some(middle) = self.middle(namesakes) else { return Ok(Found::NoCustomer) };
                desk.row(middle)?.int(3)?
            }
        };
        if desk.ask(Role::LastOrder, values![w, d, c]).await? == 0 {
            return Ok(Found::NoOrder);
        }
        let last = desk.row(0)?.int(0)?;
        // The original asks for the order with the district's number.
        let order = if self.is_compat() { d } else { last };
        desk.run(Role::LinesOfOrder, values![w, d, order]).await?;
        Ok(Found::Order)
    }
}

async fn look_up_by_call(state: &State, desk: &mut Desk<'_>, status: &OrderStatus) -> Result<Found, Failure> {
    let Home { w, d, .. } = status.home;
    desk.ask(Role::CallOrderStatus, values![w, d, status.customer.number(), state.name.as_slice()]).await?;
    let answer = desk.row(0)?;
    Ok(match (answer.int(0)?, answer.is_null(1)?) {
        (0, _) => Found::NoCustomer,
        (_, true) => Found::NoOrder,
        (_, false) => Found::Order,
    })
}
