//! Purge, which is no transaction of the specification: sysbench-tpcc's sixth. It deletes delivered orders of customers who
//! have others, and rows of history, so that tables do not grow; the conditions that sum them up no longer hold then.

use super::desk::{Desk, values};
use super::{State, Tpcc};
use crate::tpcc::counters::Counter;
use crate::tpcc::input::Home;
use crate::tpcc::roles::Role;
use plimsoll_engine::Failure;
use plimsoll_load::recorder::End;

const ROUNDS: usize = 10;

impl Tpcc {
    pub(super) async fn purge(&self, state: &mut State, desk: &mut Desk<'_>, home: Home) -> Result<End, Failure> {
        let Home { w, d, .. } = home;
        desk.begin().await?;
        for _ in 0..ROUNDS {
            desk.ask(Role::OldestUndelivered, values![w, d]).await?;
            let row = desk.row(0)?;
            if row.is_null(0)? {
                break;
            }
            let undelivered = row.int(0)?;
            if desk.ask(Role::DeliveredOrder, values![w, d, undelivered]).await? == 0 {
                break;
            }
            let order = desk.row(0)?.int(0)?;
            desk.run(Role::PurgeLines, values![w, d, order]).await?;
            desk.run(Role::PurgeOrder, values![w, d, order]).await?;
            desk.run(Role::PurgeHistory, values![w, d]).await?;
            state.counts.add(Counter::OrdersPurged, 1);
        }
        desk.commit().await
    }
}
