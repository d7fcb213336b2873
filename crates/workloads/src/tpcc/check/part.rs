//! The queries for a part of the data: one table set, and one warehouse or a few. Each asks for violations.

use crate::check::{ASKED, Check, Expectation, Ledger, Moment};
use crate::tpcc::schema::Entity::{
    self, Customer, District, History, Item, NewOrder, OrderLine, Orders, Stock, Warehouse,
};
use crate::tpcc::schema::TpccSchema;

/// Orders of a district at load (clause 4.3.3.1), and those of them that are delivered.
const LOADED_ORDERS: u64 = 3000;
const LOADED_DELIVERED: u64 = 2100;
/// History rows of a warehouse at load.
const LOADED_PAYMENTS: u64 = 30_000;
/// A delivery has at most one order per district.
pub const ORDERS_PER_DELIVERY: u64 = 10;

pub const CONDITIONS: [&str; 12] = [
    "condition 1: w_ytd is the sum of d_ytd",
    "condition 2: d_next_o_id follows the last order, which is the last new order if there is one",
    "condition 3: the numbers of new orders have no gaps",
    "condition 4: the sum of o_ol_cnt is the number of order lines of a district",
    "condition 5: an order has no carrier as long as it is a new order",
    "condition 6: o_ol_cnt is the number of lines of the order",
    "condition 7: lines have a delivery date if their order has a carrier",
    "condition 8: w_ytd is the sum of h_amount",
    "condition 9: d_ytd is the sum of h_amount",
    "condition 10: c_balance is what was delivered less what was paid",
    "condition 11: orders less new orders are those that were delivered",
    "condition 12: c_balance and c_ytd_payment make what was delivered",
];
pub const STOCK_YTD: &str = "s_ytd is the quantity of all lines ordered since the load";
pub const STOCK_ORDERS: &str = "s_order_cnt is the number of lines ordered since the load";
pub const STOCK_REMOTE: &str = "s_remote_cnt is the number of lines ordered from other warehouses";
pub const PAYMENTS: &str = "c_payment_cnt is the number of history rows";
pub const DELIVERIES: &str = "c_delivery_cnt is the number of delivered orders since the load";
const FIXED_ROWS: &str = "rows that no transaction adds or removes";
const LOADED_ROWS: &str = "rows of a load";
const CLIENT_ORDERS: &str = "new orders are those that clients committed";
pub const CLIENT_PAYMENTS: &str = "payments are those that clients committed";
pub const CLIENT_DELIVERIES: &str = "delivered orders are those that clients committed";
/// What holds the data against what clients were told.
pub const OF_CLIENTS: [&str; 3] = [CLIENT_ORDERS, CLIENT_PAYMENTS, CLIENT_DELIVERIES];

/// Some warehouses of a table set.
pub struct WarehouseRange<'a> {
    pub schema: &'a TpccSchema,
    pub set: u64,
    pub sets: u64,
    /// The first warehouse and the last.
    pub first: u64,
    pub last: u64,
}

type Columns = &'static [&'static str];

impl WarehouseRange<'_> {
    fn table(&self, entity: Entity) -> String {
        self.schema.table_name(entity, self.set)
    }

    /// A condition: the warehouse in `column` is one of these.
    fn here(&self, column: &str) -> String {
        match (self.first, self.last) {
            (first, last) if first == last => format!("{column} = {first}"),
            (first, last) => format!("{column} BETWEEN {first} AND {last}"),
        }
    }

    /// Says which set a violation is in, if there are several.
    fn within(&self) -> String {
        if self.sets > 1 { format!("table set {}", self.set) } else { String::new() }
    }

    fn warehouses(&self) -> u64 {
        self.last - self.first + 1
    }

    fn none(&self, name: &str, columns: Columns, sql: &str) -> Check {
        Check::new(name, format!("{sql} LIMIT {ASKED}"), Expectation::Empty { columns, within: self.within() })
    }

    /// Rows of a warehouse and two numbers, as a balance.
    fn balance(&self, name: &str, [left, right]: [&'static str; 2], sql: &str) -> Check {
        let set = if self.sets > 1 { format!("table set {}, ", self.set) } else { String::new() };
        let sql = format!("SELECT CONCAT('{set}w_id ', w), a, b FROM ({sql}) AS sums");
        Check::new(name, sql, Expectation::Balance { left, right })
    }

    /// Conditions 1 to 7 and 11: orders, their lines, and the queue of new orders.
    pub fn of_orders(&self, moment: Moment) -> Vec<Check> {
        let [warehouse, district, customer] = [Warehouse, District, Customer].map(|entity| self.table(entity));
        let [orders, lines, new_order] = [Orders, OrderLine, NewOrder].map(|entity| self.table(entity));
        let [w, d, o, ol, no] = ["w_id", "d_w_id", "o_w_id", "ol_w_id", "no_w_id"].map(|column| self.here(column));
        let of_district = "o_w_id = d_w_id AND o_d_id = d_id";
        let new_of_district = "no_w_id = d_w_id AND no_d_id = d_id";
        let new_of_order = "no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id";
        let lines_of_order = "ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id";
        let delivered_by_now = match moment {
            Moment::Loaded => "0".to_owned(),
            Moment::Driven => format!(
                "(SELECT COALESCE(SUM(c_delivery_cnt), 0) FROM {customer} WHERE c_w_id = d_w_id AND c_d_id = d_id)"
            ),
        };
        vec![
            self.none(CONDITIONS[0], &["w_id", "w_ytd", "sum of d_ytd"], &format!(
                "SELECT w_id, w_ytd, (SELECT SUM(d_ytd) FROM {district} WHERE d_w_id = w_id) AS total FROM {warehouse} \
                 WHERE {w} HAVING NOT (w_ytd <=> total)"
            )),
            self.none(CONDITIONS[1], &["d_w_id", "d_id", "d_next_o_id", "last order", "last new order"], &format!(
                "SELECT d_w_id, d_id, d_next_o_id, (SELECT MAX(o_id) FROM {orders} WHERE {of_district}) AS last_order, \
                 (SELECT MAX(no_o_id) FROM {new_order} WHERE {new_of_district}) AS last_new FROM {district} WHERE {d} \
                 HAVING NOT (d_next_o_id - 1 <=> last_order) OR last_new <> last_order"
            )),
            self.none(CONDITIONS[2], &["no_w_id", "no_d_id", "first", "last", "rows"], &format!(
                "SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM {new_order} WHERE {no} \
                 GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)"
            )),
            self.none(CONDITIONS[3], &["d_w_id", "d_id", "sum of o_ol_cnt", "lines"], &format!(
                "SELECT d_w_id, d_id, (SELECT COALESCE(SUM(o_ol_cnt), 0) FROM {orders} WHERE {of_district}) AS counted, \
                 (SELECT COUNT(*) FROM {lines} WHERE ol_w_id = d_w_id AND ol_d_id = d_id) AS found FROM {district} \
                 WHERE {d} HAVING counted <> found"
            )),
            self.none(CONDITIONS[4], &["w_id", "d_id", "o_id", "o_carrier_id", "no_o_id"], &format!(
                "SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id FROM {orders} LEFT JOIN {new_order} ON {new_of_order} \
                 WHERE {o} AND (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL) UNION ALL \
                 SELECT no_w_id, no_d_id, o_id, o_carrier_id, no_o_id FROM {new_order} LEFT JOIN {orders} ON \
                 o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE {no} AND o_id IS NULL"
            )),
            self.none(CONDITIONS[5], &["o_w_id", "o_d_id", "o_id", "o_ol_cnt", "lines"], &format!(
                "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, (SELECT COUNT(*) FROM {lines} WHERE {lines_of_order}) AS found \
                 FROM {orders} WHERE {o} HAVING NOT (o_ol_cnt <=> found)"
            )),
            self.none(CONDITIONS[6], &["w_id", "d_id", "o_id", "ol_number", "ol_delivery_d", "o_carrier_id"], &format!(
                "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id FROM {lines} LEFT JOIN {orders} ON \
                 o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
                 WHERE {ol} AND (o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL))"
            )),
            self.none(CONDITIONS[10], &["d_w_id", "d_id", "orders", "new orders", "deliveries since the load"], &format!(
                "SELECT d_w_id, d_id, (SELECT COUNT(*) FROM {orders} WHERE {of_district}) AS all_orders, \
                 (SELECT COUNT(*) FROM {new_order} WHERE {new_of_district}) AS new_orders, {delivered_by_now} AS deliveries \
                 FROM {district} WHERE {d} HAVING all_orders - new_orders <> {LOADED_DELIVERED} + deliveries"
            )),
            self.delivered(customer.as_str()),
        ]
    }

    /// Condition 12: what was delivered to a customer, without using the history.
    fn delivered(&self, customer: &str) -> Check {
        self.none(
            CONDITIONS[11],
            &["c_w_id", "c_d_id", "c_id", "c_balance", "c_ytd_payment", "delivered"],
            &format!(
                "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, amount FROM {customer} LEFT JOIN {} \
             WHERE {} AND NOT (c_balance + c_ytd_payment <=> COALESCE(amount, 0))",
                self.amounts(),
                self.here("c_w_id")
            ),
        )
    }

    /// What was delivered to each customer: to be joined to customers.
    fn amounts(&self) -> String {
        format!(
            "(SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS amount FROM {} STRAIGHT_JOIN {} \
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE {} AND ol_delivery_d IS NOT NULL \
             GROUP BY o_w_id, o_d_id, o_c_id) AS delivered ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id",
            self.table(Orders),
            self.table(OrderLine),
            self.here("o_w_id")
        )
    }

    /// Condition 10: what was delivered to a customer less what the history says was paid.
    pub fn balances(&self) -> Check {
        self.none(CONDITIONS[9], &["c_w_id", "c_d_id", "c_id", "c_balance", "delivered", "paid"], &format!(
            "SELECT c_w_id, c_d_id, c_id, c_balance, amount, paid FROM {} LEFT JOIN {} LEFT JOIN \
             (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM {} WHERE {} GROUP BY h_c_w_id, h_c_d_id, h_c_id) \
             AS payments ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id \
             WHERE {} AND NOT (c_balance <=> COALESCE(amount, 0) - COALESCE(paid, 0))",
            self.table(Customer),
            self.amounts(),
            self.table(History),
            self.here("h_c_w_id"),
            self.here("c_w_id")
        ))
    }

    /// The counters of stock and of customers against the orders made and delivered since the load.
    pub fn of_counters(&self) -> Vec<Check> {
        let [stock, lines, orders] = [Stock, OrderLine, Orders].map(|entity| self.table(entity));
        let [district, customer] = [District, Customer].map(|entity| self.table(entity));
        // Listing the districts makes ranges of the primary key that leave out the lines of the load.
        let since = format!(
            "{} AND ol_d_id IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10) AND ol_o_id > {LOADED_ORDERS}",
            self.here("ol_w_id")
        );
        let here = self.here("s_w_id");
        let of_stock = |name: &str, column: &'static str, sum: &str, of: &str| {
            self.balance(name, [column, "lines since the load"], &format!(
                "SELECT s_w_id AS w, SUM({column}) AS a, 0 AS b FROM {stock} WHERE {here} GROUP BY s_w_id UNION ALL \
                 SELECT ol_supply_w_id, 0, {sum} FROM {lines} WHERE {since}{of} GROUP BY ol_supply_w_id"
            ))
        };
        vec![
            of_stock(STOCK_YTD, "s_ytd", "SUM(ol_quantity)", ""),
            of_stock(STOCK_ORDERS, "s_order_cnt", "COUNT(*)", ""),
            of_stock(STOCK_REMOTE, "s_remote_cnt", "COUNT(*)", " AND ol_supply_w_id <> ol_w_id"),
            self.balance(
                PAYMENTS,
                ["c_payment_cnt", "history rows"],
                &format!(
                    "SELECT c_w_id AS w, SUM(c_payment_cnt) AS a, 0 AS b FROM {customer} WHERE {} GROUP BY c_w_id",
                    self.here("c_w_id")
                ),
            ),
            self.none(
                DELIVERIES,
                &["d_w_id", "d_id", "sum of c_delivery_cnt", "delivered orders"],
                &format!(
                    "SELECT d_w_id, d_id, (SELECT COALESCE(SUM(c_delivery_cnt), 0) FROM {customer} \
                 WHERE c_w_id = d_w_id AND c_d_id = d_id) AS counted, (SELECT COUNT(*) FROM {orders} \
                 WHERE o_w_id = d_w_id AND o_d_id = d_id AND o_id > {LOADED_DELIVERED} AND o_carrier_id IS NOT NULL) \
                 AS found FROM {district} WHERE {} HAVING counted <> found",
                    self.here("d_w_id")
                ),
            ),
        ]
    }

    /// Conditions 8 and 9, and the payments of customers: what reads history.
    pub fn of_history(&self, moment: Moment) -> Vec<Check> {
        let [warehouse, district, history] = [Warehouse, District, History].map(|entity| self.table(entity));
        let paid_here = self.here("h_w_id");
        let mut all = vec![
            self.none(CONDITIONS[7], &["w_id", "w_ytd", "sum of h_amount"], &format!(
                "SELECT w_id, w_ytd, total FROM {warehouse} LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS total FROM {history} \
                 WHERE {paid_here} GROUP BY h_w_id) AS payments ON h_w_id = w_id \
                 WHERE {} AND NOT (w_ytd <=> COALESCE(total, 0))",
                self.here("w_id")
            )),
            self.none(CONDITIONS[8], &["d_w_id", "d_id", "d_ytd", "sum of h_amount"], &format!(
                "SELECT d_w_id, d_id, d_ytd, total FROM {district} LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS total \
                 FROM {history} WHERE {paid_here} GROUP BY h_w_id, h_d_id) AS payments ON h_w_id = d_w_id AND h_d_id = d_id \
                 WHERE {} AND NOT (d_ytd <=> COALESCE(total, 0))",
                self.here("d_w_id")
            )),
            self.balance(PAYMENTS, ["c_payment_cnt", "history rows"], &format!(
                "SELECT h_c_w_id AS w, 0 AS a, COUNT(*) AS b FROM {history} WHERE {paid_here} GROUP BY h_c_w_id"
            )),
        ];
        if moment == Moment::Loaded {
            all.push(self.rows(
                LOADED_ROWS,
                &[
                    (Orders, "o_w_id", LOADED_ORDERS * 10),
                    (NewOrder, "no_w_id", (LOADED_ORDERS - LOADED_DELIVERED) * 10),
                    (History, "h_w_id", LOADED_PAYMENTS),
                ],
            ));
        }
        all
    }

    /// Rows that exist from load to drop.
    pub fn fixed_rows(&self) -> Check {
        self.rows(
            FIXED_ROWS,
            &[
                (Warehouse, "w_id", 1),
                (District, "d_w_id", 10),
                (Customer, "c_w_id", 30_000),
                (Stock, "s_w_id", 100_000),
            ],
        )
    }

    /// The items, which all warehouses of a set share.
    pub fn items(&self) -> Check {
        let items = self.table(Item);
        self.none(FIXED_ROWS, &["table", "warehouses", "rows", "expected"], &format!(
            "SELECT * FROM (SELECT '{items}' AS name, 'all' AS w, COUNT(*) AS found, 100000 AS expected FROM {items}) AS counts \
             WHERE found <> expected"
        ))
    }

    /// Checks that tables have this many rows per warehouse.
    fn rows(&self, name: &str, counts: &[(Entity, &str, u64)]) -> Check {
        let warehouses = match (self.first, self.last) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        };
        let count = |(entity, column, each): &(Entity, &str, u64)| {
            let (table, expected) = (self.table(*entity), each * self.warehouses());
            format!(
                "SELECT '{table}' AS name, '{warehouses}' AS w, COUNT(*) AS found, {expected} AS expected FROM {table} WHERE {}",
                self.here(column)
            )
        };
        let counts = counts.iter().map(count).collect::<Vec<_>>().join(" UNION ALL ");
        self.none(
            name,
            &["table", "warehouses", "rows", "expected"],
            &format!("SELECT * FROM ({counts}) AS counts WHERE found <> expected"),
        )
    }

    /// What clients were told is there, and nothing else is. A transaction whose COMMIT was not answered may be there.
    /// A load makes one history row per customer.
    pub fn of_clients(&self, moment: Moment, ledger: Option<&Ledger>) -> Vec<Check> {
        let [district, customer, history] = [District, Customer, History].map(|entity| self.table(entity));
        let queries = [
            (
                CLIENT_ORDERS,
                "new_order",
                1,
                format!("SELECT SUM(d_next_o_id - {LOADED_ORDERS} - 1) FROM {district} WHERE {}", self.here("d_w_id")),
            ),
            (
                CLIENT_PAYMENTS,
                "payment",
                1,
                format!("SELECT COUNT(*) - (SELECT COUNT(*) FROM {customer}) FROM {history}"),
            ),
            (
                CLIENT_DELIVERIES,
                "delivered_orders",
                ORDERS_PER_DELIVERY,
                format!("SELECT SUM(c_delivery_cnt) FROM {customer} WHERE {}", self.here("c_w_id")),
            ),
        ];
        let nothing = Ledger::default();
        let ledger = match (ledger, moment) {
            (Some(ledger), _) => Ok(ledger),
            (None, Moment::Loaded) => Ok(&nothing),
            (None, Moment::Driven) => Err("no run has recorded what its clients committed".to_owned()),
        };
        let ledger = ledger.and_then(|ledger| match ledger.open_runs {
            0 => Ok(ledger),
            1 => Err("a run did not end: what its clients committed is not known".to_owned()),
            n => Err(format!("{n} runs did not end: what their clients committed is not known")),
        });
        let check = |(name, what, each, sql): (&'static str, &str, u64, String)| match &ledger {
            Err(why) => Check::skipped(name, why.clone()),
            Ok(ledger) => {
                let least = ledger.committed.get(what).copied().unwrap_or(0);
                Check::new(name, sql, Expectation::Between { least, most: least + each * ledger.unknown })
            }
        };
        queries.map(check).into()
    }
}
