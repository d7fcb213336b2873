//! Purge, sysbench-tpcc's sixth transaction, which the specification does not have. It deletes delivered orders of
//! customers who have others, and rows of history, so that tables do not grow; the conditions that sum these up then no
//! longer hold.

use super::statement_sender::{StatementSender, values};
use super::{Tpcc, TpccState};
use crate::tpcc::counters::Counter;
use crate::tpcc::input::HomeDistrict;
use crate::tpcc::roles::Role;
use plimsoll_engine::Failure;
use plimsoll_load::recorder::End;

const ROUNDS: usize = 10;

impl Tpcc {
    pub(super) async fn purge(
        &self,
        state: &mut TpccState,
        sender: &mut StatementSender<'_>,
        home: HomeDistrict,
    ) -> Result<End, Failure> {
        let HomeDistrict { w, d, .. } = home;
        sender.begin().await?;
        for _ in 0..ROUNDS {
            sender.ask(Role::OldestUndelivered, values![w, d]).await?;
            let row = sender.row(0)?;
            if row.is_null(0)? {
                break;
            }
            let undelivered = row.int(0)?;
            if sender.ask(Role::DeliveredOrder, values![w, d, undelivered]).await? == 0 {
                break;
            }
            let order = sender.row(0)?.int(0)?;
            sender.run(Role::PurgeLines, values![w, d, order]).await?;
            sender.run(Role::PurgeOrder, values![w, d, order]).await?;
            sender.run(Role::PurgeHistory, values![w, d]).await?;
            state.counts.add(Counter::OrdersPurged, 1);
        }
        sender.commit().await
    }
}
