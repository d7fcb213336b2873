//! New-order (clause 2.4): a customer orders 5 to 15 items, most of them from the stock of the home warehouse. The mid-weight
//! transaction that everything else is measured by: it reads, locks and writes in all tables but history.
//!
//! One order in a hundred has an item that does not exist, and is rolled back after all its other lines were processed
//! (clause 2.4.2.3).

use super::statement_sender::{Cents, List, StatementSender, Text, values};
use super::{Tpcc, TpccState};
use crate::tpcc::choices::CallStyle;
use crate::tpcc::counters::Counter;
use crate::tpcc::input::{HomeDistrict, NewOrder, OrderLine, UNUSED_ITEM};
use crate::tpcc::roles::{LINES_MAX, Role};
use crate::tpcc::strings::ORIGINAL;
use plimsoll_engine::Failure;
use plimsoll_load::recorder::End;
use plimsoll_wire::WireError;
use plimsoll_wire::cells::ReceivedRow;

/// What came of an order before it was committed or rolled back.
#[derive(Clone, Copy, Debug)]
struct Sale {
    /// All its items exist.
    is_whole: bool,
    brand_lines: u64,
}

impl Tpcc {
    pub(super) async fn new_order(
        &self,
        state: &mut TpccState,
        sender: &mut StatementSender<'_>,
        order: &NewOrder,
    ) -> Result<End, Failure> {
        self.enter(state, order);
        sender.begin().await?;
        let sale = match self.style() {
            CallStyle::PerRow => self.order_by_row(sender, order).await?,
            CallStyle::Batched => order_in_batches(sender, order, self.parameters.sort_lines).await?,
            CallStyle::Procedure => order_by_call(sender, order).await?,
        };
        if !sale.is_whole {
            state.counts.add(Counter::OrdersRolledBack, 1);
            return sender.roll_back().await;
        }
        state.counts.add(Counter::LinesCommitted, order.lines().len() as u64);
        state.counts.add(Counter::QuantityCommitted, order.lines().iter().map(|line| line.quantity as u64).sum());
        state.counts.add(Counter::BrandLines, sale.brand_lines);
        sender.commit().await
    }

    /// Counts what was entered at the terminal.
    fn enter(&self, state: &mut TpccState, order: &NewOrder) {
        let remote = order.lines().iter().filter(|line| line.supply != order.home.w).count();
        let counts = &mut state.counts;
        counts.add(Counter::OrdersEntered, 1);
        counts.add(Counter::LinesEntered, order.lines().len() as u64);
        counts.add(Counter::RemoteLines, remote as u64);
        counts.access(Counter::CustomersHottest1, &self.hot_customers, order.customer as u64);
        for line in order.lines().iter().filter(|line| line.item != UNUSED_ITEM) {
            counts.access(Counter::ItemsHottest1, &self.hot_items, line.item as u64);
        }
    }

    /// A statement for each row, in the order of clause 2.4.2.2.
    async fn order_by_row(&self, sender: &mut StatementSender<'_>, order: &NewOrder) -> Result<Sale, Failure> {
        let HomeDistrict { w, d, .. } = order.home;
        // The customer's discount, last name and credit; the warehouse's tax.
        sender.ask(Role::Rates, values![w, d, order.customer]).await?;
        let row = sender.row(0)?;
        let (discount, w_tax) = (row.scaled(0, 4)?, row.scaled(3, 4)?);
        // The district's tax, and the number of its next order.
        sender.ask(Role::NextOrder, values![w, d]).await?;
        let row = sender.row(0)?;
        let (number, d_tax) = (row.int(0)?, row.scaled(1, 4)?);
        sender.run(Role::AdvanceOrder, values![number + 1, w, d]).await?;
        insert_order(sender, order, number).await?;
        let mut brand_lines = 0;
        for (index, line) in (1..).zip(order.lines()) {
            if sender.ask(Role::Item, values![line.item]).await? == 0 {
                return Ok(Sale { is_whole: false, brand_lines });
            }
            let item = sender.row(0)?;
            let (price, is_original) = (item.scaled(0, 2)?, is_original(item.bytes(2)?));
            let stock = self.take(sender, order.home, line).await?;
            brand_lines += u64::from(is_original && stock.is_original);
            let amount = if self.is_compat() {
                whole_amount(price * line.quantity, w_tax + d_tax, discount)
            } else {
                Cents(price * line.quantity)
            };
            let &OrderLine { item, supply, quantity } = line;
            let info = stock.info.as_bytes();
            sender.run(Role::InsertLine, values![number, d, w, index, item, supply, quantity, amount, info]).await?;
        }
        Ok(Sale { is_whole: true, brand_lines })
    }

    /// Takes one line from stock. The original neither counts what was sold, nor how often.
    async fn take(
        &self,
        sender: &mut StatementSender<'_>,
        home: HomeDistrict,
        line: &OrderLine,
    ) -> Result<Stock, Failure> {
        let stock = look_at_stock(sender, home, line).await?;
        if self.is_compat() {
            let left = stock.quantity - line.quantity + if stock.quantity > line.quantity { 0 } else { 91 };
            sender.run(Role::UpdateStock, values![left, line.item, line.supply]).await?;
        } else {
            update_stock(sender, home, line, stock.quantity).await?;
        }
        Ok(stock)
    }
}

/// The stock of one item in one warehouse.
#[derive(Clone, Copy, Debug)]
struct Stock {
    quantity: i64,
    is_original: bool,
    /// What the district prints on the line.
    info: Text<24>,
}

impl Stock {
    /// From `s_quantity`, `s_data` and `s_dist_xx`, of which the first is this column.
    fn read(row: &ReceivedRow<'_>, column: usize) -> Result<Stock, WireError> {
        Ok(Stock {
            quantity: row.int(column)?,
            is_original: is_original(row.bytes(column + 1)?),
            info: Text::new(row.bytes(column + 2)?),
        })
    }
}

fn is_original(data: &[u8]) -> bool {
    data.windows(ORIGINAL.len()).any(|window| window == ORIGINAL)
}

/// What is left in stock after `ordered` are taken: where that would be less than 10, 91 were delivered before.
fn left_in_stock(quantity: i64, ordered: i64) -> i64 {
    if quantity - ordered >= 10 { quantity - ordered } else { quantity - ordered + 91 }
}

/// The amount as the original computes it: with taxes (in 1/10,000) and discount, cut to a whole number.
fn whole_amount(cents: i64, taxes: i64, discount: i64) -> Cents {
    let cents = cents * (10_000 + taxes) * (10_000 - discount) / 100_000_000;
    Cents(cents / 100 * 100)
}

/// The order, and its mark as not yet delivered.
async fn insert_order(sender: &mut StatementSender<'_>, order: &NewOrder, number: i64) -> Result<(), Failure> {
    let HomeDistrict { w, d, .. } = order.home;
    let (count, all_local) = (order.lines().len() as i64, i64::from(order.all_local));
    sender.run(Role::InsertOrder, values![number, d, w, order.customer, count, all_local]).await?;
    sender.run(Role::InsertNewOrder, values![number, d, w]).await
}

async fn look_at_stock(
    sender: &mut StatementSender<'_>,
    home: HomeDistrict,
    line: &OrderLine,
) -> Result<Stock, Failure> {
    sender.ask(Role::Stock.variant(home.d as usize), values![line.item, line.supply]).await?;
    Ok(Stock::read(&sender.row(0)?, 0)?)
}

async fn update_stock(
    sender: &mut StatementSender<'_>,
    home: HomeDistrict,
    line: &OrderLine,
    quantity: i64,
) -> Result<(), Failure> {
    let (left, remote) = (left_in_stock(quantity, line.quantity), i64::from(line.supply != home.w));
    sender.run(Role::UpdateStock, values![left, line.quantity, remote, line.item, line.supply]).await
}

/// A line as it is sold.
#[derive(Clone, Copy, Debug, Default)]
struct Sold {
    /// In cents; `None` if there is no such item.
    price: Option<i64>,
    item_is_original: bool,
    is_brand: bool,
    info: Text<24>,
}

impl Sold {
    fn take(&mut self, stock: &Stock) {
        self.is_brand = self.item_is_original && stock.is_original;
        self.info = stock.info;
    }
}

/// A statement for the rows of each table. The district, which other orders wait for, is locked last.
async fn order_in_batches(sender: &mut StatementSender<'_>, order: &NewOrder, in_order: bool) -> Result<Sale, Failure> {
    let HomeDistrict { w, d, .. } = order.home;
    sender.run(Role::Rates, values![w, d, order.customer]).await?;
    let mut sold = [Sold::default(); LINES_MAX];
    read_items(sender, order, &mut sold).await?;
    // Stock: by warehouse and item if that is wanted, else at home first.
    let is_before = |line: &OrderLine| in_order && line.supply < w;
    take_remote(sender, order, &mut sold, is_before).await?;
    take_at_home(sender, order, &mut sold).await?;
    take_remote(sender, order, &mut sold, |line| line.supply != w && !is_before(line)).await?;
    sender.ask(Role::NextOrder, values![w, d]).await?;
    let number = sender.row(0)?.int(0)?;
    sender.run(Role::AdvanceOrder, values![number + 1, w, d]).await?;
    insert_order(sender, order, number).await?;
    insert_lines(sender, order, &sold, number).await?;
    let sold = &sold[..order.lines().len()];
    Ok(Sale {
        is_whole: sold.iter().all(|line| line.price.is_some()),
        brand_lines: sold.iter().filter(|line| line.is_brand).count() as u64,
    })
}

/// Prices, and which of the lines have an item at all.
async fn read_items(sender: &mut StatementSender<'_>, order: &NewOrder, sold: &mut [Sold]) -> Result<(), Failure> {
    let mut ids = List::<LINES_MAX>::new();
    ids.extend(order.lines().iter().map(|line| line.item));
    sender.ask(Role::Items.variant(order.lines().len()), ids.as_slice()).await?;
    for row in sender.rows() {
        let (item, price, is_original) = (row.int(0)?, row.scaled(1, 2)?, is_original(row.bytes(3)?));
        for (line, sold) in order.lines().iter().zip(&mut *sold).filter(|(line, _)| line.item == item) {
            debug_assert_ne!(line.item, UNUSED_ITEM);
            (sold.price, sold.item_is_original) = (Some(price), is_original);
        }
    }
    Ok(())
}

/// Takes the lines that `choose` chooses, which other warehouses supply, one by one.
async fn take_remote(
    sender: &mut StatementSender<'_>,
    order: &NewOrder,
    sold: &mut [Sold],
    choose: impl Fn(&OrderLine) -> bool,
) -> Result<(), Failure> {
    let lines = order.lines().iter().zip(sold);
    for (line, sold) in lines.filter(|(line, sold)| sold.price.is_some() && choose(line)) {
        let stock = look_at_stock(sender, order.home, line).await?;
        sold.take(&stock);
        update_stock(sender, order.home, line, stock.quantity).await?;
    }
    Ok(())
}

/// What all lines of one item together do to its stock at home.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    item: i64,
    left: i64,
    ordered: i64,
    times: i64,
}

/// Takes the lines that the home warehouse supplies. An item can stand in several of them.
async fn take_at_home(sender: &mut StatementSender<'_>, order: &NewOrder, sold: &mut [Sold]) -> Result<(), Failure> {
    let HomeDistrict { w, d, .. } = order.home;
    let (mut changes, mut count) = ([Change::default(); LINES_MAX], 0);
    let is_ours = |line: &OrderLine, sold: &Sold| line.supply == w && sold.price.is_some();
    for (line, _) in order.lines().iter().zip(&*sold).filter(|(line, sold)| is_ours(line, sold)) {
        if changes[..count].iter().all(|change| change.item != line.item) {
            changes[count].item = line.item;
            count += 1;
        }
    }
    if count == 0 {
        return Ok(());
    }
    let changes = &mut changes[..count];
    let mut values = List::<{ 2 + LINES_MAX }>::new();
    values.extend([d, w]);
    values.extend(changes.iter().map(|change| change.item));
    sender.ask(Role::Stocks.variant(count), values.as_slice()).await?;
    sender.row(count - 1)?;
    for row in sender.rows() {
        let (item, stock) = (row.int(0)?, Stock::read(&row, 1)?);
        let Some(change) = changes.iter_mut().find(|change| change.item == item) else { continue };
        change.left = stock.quantity;
        for (line, sold) in
            order.lines().iter().zip(&mut *sold).filter(|(line, sold)| line.item == item && is_ours(line, sold))
        {
            sold.take(&stock);
            change.left = left_in_stock(change.left, line.quantity);
            change.ordered += line.quantity;
            change.times += 1;
        }
    }
    let mut values = List::<{ 7 * LINES_MAX + 1 }>::new();
    values.extend(changes.iter().flat_map(|change| [change.item, change.left]));
    values.extend(changes.iter().flat_map(|change| [change.item, change.ordered]));
    values.extend(changes.iter().flat_map(|change| [change.item, change.times]));
    values.push(w);
    values.extend(changes.iter().map(|change| change.item));
    sender.run(Role::UpdateStocks.variant(count), values.as_slice()).await
}

async fn insert_lines(
    sender: &mut StatementSender<'_>,
    order: &NewOrder,
    sold: &[Sold],
    number: i64,
) -> Result<(), Failure> {
    let HomeDistrict { w, d, .. } = order.home;
    let mut values = List::<{ 9 * LINES_MAX }>::new();
    let mut count = 0;
    for (line, sold) in order.lines().iter().zip(sold) {
        let Some(price) = sold.price else { continue };
        count += 1;
        values.extend([number, d, w, count as i64, line.item, line.supply, line.quantity]);
        values.push(Cents(price * line.quantity));
        values.push(sold.info.as_bytes());
    }
    sender.run(Role::InsertLines.variant(count), values.as_slice()).await
}

async fn order_by_call(sender: &mut StatementSender<'_>, order: &NewOrder) -> Result<Sale, Failure> {
    let HomeDistrict { w, d, .. } = order.home;
    let mut values = List::<{ 5 + 3 * LINES_MAX }>::new();
    values.extend([w, d, order.customer, order.lines().len() as i64, i64::from(order.all_local)]);
    values.extend(order.lines().iter().flat_map(|line| [line.item, line.supply, line.quantity]));
    for _ in order.lines().len()..LINES_MAX {
        values.extend([0; 3]);
    }
    sender.ask(Role::CallNewOrder, values.as_slice()).await?;
    let answer = sender.row(0)?;
    Ok(Sale { is_whole: answer.int(0)? == 0, brand_lines: answer.int(2)? as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stock_is_filled_up_before_it_falls_below_ten() {
        assert_eq!([(20, 10), (19, 10), (11, 1), (10, 1)].map(|(s, q)| left_in_stock(s, q)), [10, 100, 10, 100]);
    }

    #[test]
    fn original_is_found_anywhere() {
        assert!([&b"ORIGINAL"[..], b"xORIGINAL", b"ORIGINALx"].into_iter().all(is_original));
        assert!(![&b""[..], b"ORIGINA", b"original", b"ORIGINxAL"].into_iter().any(is_original));
    }

    #[test]
    fn amounts_of_the_original_are_cut() {
        // 99.99 × 1.1 × 0.5 = 54.99
        assert_eq!(whole_amount(9_999, 1_000, 5_000), Cents(5_400));
    }
}
