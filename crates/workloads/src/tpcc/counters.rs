//! What order entry counts besides what the engine counts: the input audit of clause 9.2.2.5, how skewed the keys were,
//! and what the checks of the database are compared with.
//!
//! A transaction counts into [`TpccCounts`] as it goes. They are passed on only when it has ended, so that a repeated
//! attempt counts once. Rolled-back new-orders count only in the audit of the inputs.

use super::random::{HOTTEST, Hotness};
use plimsoll_engine::Session;

macro_rules! counters {
    ($($(#[doc = $doc:literal])* $counter:ident $name:literal,)+) => {
        /// Something that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Counter { $($(#[doc = $doc])* $counter),+ }

        impl Counter {
            pub const ALL: &'static [Counter] = &[$(Counter::$counter),+];
            /// Their names in results, by number.
            pub const NAMES: &'static [&'static str] = &[$($name),+];
        }
    };
}

counters! {
    /// New-orders that were entered, whether committed or rolled back as wanted.
    OrdersEntered "orders_entered",
    /// Their lines, that of the unused item included.
    LinesEntered "lines_entered",
    /// Those of them that another warehouse supplies.
    RemoteLines "remote_lines",
    /// New-orders that were rolled back for their unused item.
    OrdersRolledBack "orders_rolled_back",
    /// Payments that were committed.
    Payments "payments",
    /// Those of them by customers of another warehouse.
    RemotePayments "remote_payments",
    /// Those of them by customers who were given by last name.
    PaymentsByName "payments_by_name",
    /// Order-statuses that were committed.
    OrderStatuses "order_statuses",
    /// Those of them for customers who were given by last name.
    OrderStatusesByName "order_statuses_by_name",
    /// Lines of committed new-orders.
    LinesCommitted "lines_committed",
    /// Sum of the quantities of committed new-orders.
    QuantityCommitted "quantity_committed",
    /// Lines of committed new-orders whose item and stock are both ORIGINAL; the procedures count them on the server.
    BrandLines "brand_lines",
    /// Sum of the amounts of committed payments, in cents.
    PaymentCents "payment_cents",
    /// Orders that were delivered.
    OrdersDelivered "delivered_orders",
    /// Districts that had no order to deliver (clause 2.7.4.2).
    DistrictsSkipped "skipped_districts",
    /// Deliveries given up because their snapshot was behind what they had locked: compat under REPEATABLE READ, where
    /// the original ends the run.
    SnapshotsBehind "snapshots_behind",
    /// Transactions for a last name that no customer of the district has; they are rolled back.
    NamesNotFound "names_not_found",
    /// Order-statuses of customers who have no order, which only purge can bring about.
    OrdersNotFound "orders_not_found",
    /// Items that a stock-level found below its threshold.
    LowStockItems "low_stock_items",
    /// Orders that a purge has deleted.
    OrdersPurged "orders_purged",
    /// Accesses to items by how hot they are: the hottest 1 % of all items, the rest of the hottest 10 %, of 20 %, of
    /// 50 %, and the cold half.
    ItemsHottest1 "items_hottest_1",
    ItemsHottest10 "items_hottest_10",
    ItemsHottest20 "items_hottest_20",
    ItemsHottest50 "items_hottest_50",
    ItemsCold "items_cold",
    /// Customers given by number, in the same classes.
    CustomersHottest1 "customers_hottest_1",
    CustomersHottest10 "customers_hottest_10",
    CustomersHottest20 "customers_hottest_20",
    CustomersHottest50 "customers_hottest_50",
    CustomersCold "customers_cold",
    /// Last names, in the same classes.
    NamesHottest1 "names_hottest_1",
    NamesHottest10 "names_hottest_10",
    NamesHottest20 "names_hottest_20",
    NamesHottest50 "names_hottest_50",
    NamesCold "names_cold",
}

/// Classes of keys by how hot they are.
pub const CLASSES: usize = HOTTEST.len() + 1;

/// What one attempt at a transaction counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TpccCounts([u64; Counter::ALL.len()]);

impl Default for TpccCounts {
    fn default() -> TpccCounts {
        TpccCounts([0; Counter::ALL.len()])
    }
}

impl TpccCounts {
    #[inline]
    pub fn add(&mut self, counter: Counter, by: u64) {
        self.0[counter as usize] += by;
    }

    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    /// Counts an access to `key`, in classes whose hottest is `first`.
    #[inline]
    pub fn access(&mut self, first: Counter, hotness: &Hotness, key: u64) {
        self.0[first as usize + hotness.class(key)] += 1;
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Passes on what was counted.
    pub fn flush(&self, session: &mut Session) {
        for (counter, by) in self.0.iter().enumerate().filter(|(_, by)| **by > 0) {
            session.count(counter, *by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::NuRand;
    use super::*;

    #[test]
    fn names_are_unique_and_stand_at_their_numbers() {
        let names: std::collections::HashSet<_> = Counter::NAMES.iter().collect();
        assert_eq!((names.len(), Counter::ALL.len()), (Counter::NAMES.len(), Counter::NAMES.len()));
        assert_eq!(Counter::NAMES[Counter::NamesCold as usize], "names_cold");
    }

    #[test]
    fn classes_begin_with_the_hottest_and_follow_each_other() {
        for (first, cold) in [
            (Counter::ItemsHottest1, Counter::ItemsCold),
            (Counter::CustomersHottest1, Counter::CustomersCold),
            (Counter::NamesHottest1, Counter::NamesCold),
        ] {
            assert_eq!(first as usize + CLASSES - 1, cold as usize);
        }
        let names = NuRand::last_names(123);
        let (hotness, mut counts) = (names.hotness(), TpccCounts::default());
        (0..1_000).for_each(|key| counts.access(Counter::NamesHottest1, &hotness, key));
        let classes: Vec<u64> = (0..CLASSES).map(|class| counts.0[Counter::NamesHottest1 as usize + class]).collect();
        assert_eq!(classes, [10, 90, 100, 300, 500]);
    }
}
