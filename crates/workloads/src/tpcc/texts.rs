//! The text of every statement, with `?` for its parameters. Compat sends what sysbench-tpcc sends; strict locks what
//! it reads before it writes, and keeps all counters.

use super::choices::{CallStyle, Fidelity, Isolation};
use super::fragments::{listed, now};
use super::parameters::TpccParameters;
use super::procedures;
use super::roles::{DISTRICTS, Pick, Role};
use super::schema::{Entity, table_name};

/// What the terminal shows about a customer who pays (clause 2.5.3.3).
const CUSTOMER: &str = "c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, \
                        c_credit_lim, c_discount, c_balance, c_ytd_payment, c_since";
/// Where `c_credit`, `c_balance` and `c_ytd_payment` stand among them, and `c_id` where it is read too.
pub const C_CREDIT: usize = 9;
pub const C_BALANCE: usize = 12;
pub const C_YTD_PAYMENT: usize = 13;
pub const C_ID: usize = 15;

/// The column of stock that a district prints on its order lines.
const DISTRICT_INFO: &str = "ELT(?, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, \
                             s_dist_08, s_dist_09, s_dist_10)";

/// What the texts of a run depend on.
pub struct Texts<'a> {
    parameters: &'a TpccParameters,
    /// What makes a read a locking one, if strict needs that and the original does not do it.
    lock: &'static str,
    now: &'static str,
}

impl Texts<'_> {
    pub fn new(parameters: &TpccParameters) -> Texts<'_> {
        let is_compat = parameters.fidelity == Fidelity::Compat;
        Texts { parameters, lock: if is_compat { "" } else { " FOR UPDATE" }, now: now(parameters.profile) }
    }

    fn is_compat(&self) -> bool {
        self.parameters.fidelity == Fidelity::Compat
    }

    /// The text of a statement on a table set.
    pub fn of(&self, pick: Pick, set: u64) -> String {
        let Pick { role, variant } = pick;
        match role {
            Role::Begin => "BEGIN".to_owned(),
            Role::Commit => "COMMIT".to_owned(),
            _ => self
                .new_order(role, variant, set)
                .or_else(|| self.payment(role, set))
                .or_else(|| self.order_status(role, set))
                .or_else(|| self.delivery(role, set))
                .or_else(|| self.deliveries(role, set))
                .or_else(|| self.stock_level(role, set))
                .or_else(|| self.purge(role, set))
                .unwrap_or_else(|| procedures::call(self.parameters, role, set)),
        }
    }

    fn table(&self, entity: Entity, set: u64) -> String {
        table_name(self.parameters.profile, entity, set)
    }

    fn new_order(&self, role: Role, variant: usize, set: u64) -> Option<String> {
        let [warehouse, district, customer, _, new_order, orders, _, item, _] =
            Entity::ALL.map(|entity| self.table(entity, set));
        let now = self.now;
        Some(match role {
            Role::Rates => format!(
                "SELECT c_discount, c_last, c_credit, w_tax FROM {customer}, {warehouse} \
                 WHERE w_id=? AND c_w_id=w_id AND c_d_id=? AND c_id=?"
            ),
            Role::NextOrder => {
                format!("SELECT d_next_o_id, d_tax FROM {district} WHERE d_w_id=? AND d_id=? FOR UPDATE")
            }
            Role::AdvanceOrder => format!("UPDATE {district} SET d_next_o_id=? WHERE d_w_id=? AND d_id=?"),
            Role::InsertOrder => format!(
                "INSERT INTO {orders} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
                 VALUES (?, ?, ?, ?, {now}, ?, ?)"
            ),
            Role::InsertNewOrder => format!("INSERT INTO {new_order} (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)"),
            Role::Item => format!("SELECT i_price, i_name, i_data FROM {item} WHERE i_id=?"),
            Role::Items => {
                let ids = listed("?", ", ", variant);
                format!("SELECT i_id, i_price, i_name, i_data FROM {item} WHERE i_id IN ({ids})")
            }
            _ => return self.stock(role, variant, set),
        })
    }

    fn stock(&self, role: Role, variant: usize, set: u64) -> Option<String> {
        let (stock, order_line) = (self.table(Entity::Stock, set), self.table(Entity::OrderLine, set));
        let ids = || listed("?", ", ", variant);
        Some(match role {
            Role::Stock => format!(
                "SELECT s_quantity, s_data, s_dist_{variant:02} FROM {stock} WHERE s_i_id=? AND s_w_id=? FOR UPDATE"
            ),
            Role::Stocks => format!(
                "SELECT s_i_id, s_quantity, s_data, {DISTRICT_INFO} FROM {stock} \
                 WHERE s_w_id=? AND s_i_id IN ({}) FOR UPDATE",
                ids()
            ),
            Role::UpdateStock if self.is_compat() => {
                format!("UPDATE {stock} SET s_quantity=? WHERE s_i_id=? AND s_w_id=?")
            }
            Role::UpdateStock => format!(
                "UPDATE {stock} SET s_quantity=?, s_ytd=s_ytd+?, s_order_cnt=s_order_cnt+1, \
                 s_remote_cnt=s_remote_cnt+? WHERE s_i_id=? AND s_w_id=?"
            ),
            Role::UpdateStocks => {
                let cases = listed("WHEN ? THEN ?", " ", variant);
                // What ELSE gives tells the server the type of the parameters; no row comes to it.
                format!(
                    "UPDATE {stock} SET s_quantity=CASE s_i_id {cases} ELSE s_quantity END, \
                     s_ytd=s_ytd+CASE s_i_id {cases} ELSE 0 END, s_order_cnt=s_order_cnt+CASE s_i_id {cases} ELSE 0 END \
                     WHERE s_w_id=? AND s_i_id IN ({})",
                    ids()
                )
            }
            Role::InsertLine | Role::InsertLines => format!(
                "INSERT INTO {order_line} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
                 ol_amount, ol_dist_info) VALUES {}",
                listed("(?, ?, ?, ?, ?, ?, ?, ?, ?)", ", ", variant)
            ),
            _ => return None,
        })
    }

    fn payment(&self, role: Role, set: u64) -> Option<String> {
        let [warehouse, district, customer, history, ..] = Entity::ALL.map(|entity| self.table(entity, set));
        let (lock, now) = (self.lock, self.now);
        let by_name = "c_w_id=? AND c_d_id=? AND c_last=?";
        let by_number = "c_w_id=? AND c_d_id=? AND c_id=?";
        Some(match role {
            Role::PayWarehouse => format!("UPDATE {warehouse} SET w_ytd=w_ytd+? WHERE w_id=?"),
            Role::Warehouse => format!(
                "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM {warehouse} WHERE w_id=?{lock}"
            ),
            Role::PayDistrict => format!("UPDATE {district} SET d_ytd=d_ytd+? WHERE d_w_id=? AND d_id=?"),
            Role::District => format!(
                "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM {district} \
                 WHERE d_w_id=? AND d_id=?{lock}"
            ),
            Role::Addresses => format!(
                "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name, \
                 d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM {warehouse}, {district} \
                 WHERE w_id=? AND d_w_id=w_id AND d_id=?{lock}"
            ),
            Role::CountNamesakes => format!("SELECT COUNT(c_id) FROM {customer} WHERE {by_name}"),
            Role::Namesakes => format!("SELECT c_id FROM {customer} WHERE {by_name} ORDER BY c_first"),
            Role::CustomersOfName => {
                format!("SELECT {CUSTOMER}, c_id FROM {customer} WHERE {by_name} ORDER BY c_first{lock}")
            }
            Role::Customer => format!("SELECT {CUSTOMER} FROM {customer} WHERE {by_number} FOR UPDATE"),
            Role::CustomerData => format!("SELECT c_data FROM {customer} WHERE {by_number}{lock}"),
            Role::PayCustomer => format!("UPDATE {customer} SET {} WHERE {by_number}", self.paid()),
            Role::PayBadCustomer if self.parameters.call_style == CallStyle::Batched => {
                format!("UPDATE {customer} SET {}, c_data=LEFT(CONCAT(?, c_data), 500) WHERE {by_number}", self.paid())
            }
            Role::PayBadCustomer => format!("UPDATE {customer} SET {}, c_data=? WHERE {by_number}", self.paid()),
            Role::InsertHistory => format!(
                "INSERT INTO {history} (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
                 VALUES (?, ?, ?, ?, ?, {now}, ?, ?)"
            ),
            _ => return None,
        })
    }

    /// What a payment does to a customer's row.
    fn paid(&self) -> &'static str {
        if self.is_compat() {
            "c_balance=?, c_ytd_payment=?"
        } else {
            "c_balance=c_balance-?, c_ytd_payment=c_ytd_payment+?, c_payment_cnt=c_payment_cnt+1"
        }
    }

    fn order_status(&self, role: Role, set: u64) -> Option<String> {
        let [_, _, customer, _, _, orders, order_line, ..] = Entity::ALL.map(|entity| self.table(entity, set));
        // The original reads all orders of the customer, and uses the first.
        let last = if self.is_compat() { "" } else { " LIMIT 1" };
        Some(match role {
            Role::BalancesOfName => format!(
                "SELECT c_balance, c_first, c_middle, c_id FROM {customer} \
                 WHERE c_w_id=? AND c_d_id=? AND c_last=? ORDER BY c_first"
            ),
            Role::Balance => format!(
                "SELECT c_balance, c_first, c_middle, c_last FROM {customer} WHERE c_w_id=? AND c_d_id=? AND c_id=?"
            ),
            Role::LastOrder => format!(
                "SELECT o_id, o_carrier_id, o_entry_d FROM {orders} \
                 WHERE o_w_id=? AND o_d_id=? AND o_c_id=? ORDER BY o_id DESC{last}"
            ),
            Role::LinesOfOrder => format!(
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM {order_line} \
                 WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?"
            ),
            _ => return None,
        })
    }

    /// One district after the other.
    fn delivery(&self, role: Role, set: u64) -> Option<String> {
        let [_, _, customer, _, new_order, orders, order_line, ..] = Entity::ALL.map(|entity| self.table(entity, set));
        let (lock, now) = (self.lock, self.now);
        let order = "o_w_id=? AND o_d_id=? AND o_id=?";
        let lines = "ol_w_id=? AND ol_d_id=? AND ol_o_id=?";
        Some(match role {
            Role::OldestOrder => format!(
                "SELECT no_o_id FROM {new_order} WHERE no_w_id=? AND no_d_id=? ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE"
            ),
            Role::DeleteNewOrder => format!("DELETE FROM {new_order} WHERE no_w_id=? AND no_d_id=? AND no_o_id=?"),
            Role::CustomerOfOrder => format!("SELECT o_c_id FROM {orders} WHERE {order}{lock}"),
            Role::CarryOrder => format!("UPDATE {orders} SET o_carrier_id=? WHERE {order}"),
            Role::DeliverLines => format!("UPDATE {order_line} SET ol_delivery_d={now} WHERE {lines}"),
            Role::AmountOfOrder => format!("SELECT SUM(ol_amount) FROM {order_line} WHERE {lines}{lock}"),
            Role::CreditCustomer => format!(
                "UPDATE {customer} SET c_balance=c_balance+?, c_delivery_cnt=c_delivery_cnt+1 \
                 WHERE c_w_id=? AND c_d_id=? AND c_id=?"
            ),
            _ => return None,
        })
    }

    /// All districts at once.
    fn deliveries(&self, role: Role, set: u64) -> Option<String> {
        let [_, _, customer, _, new_order, orders, order_line, ..] = Entity::ALL.map(|entity| self.table(entity, set));
        let (lock, now) = (self.lock, self.now);
        let of_orders = |w: &str, d: &str, o: &str| {
            format!("{w}=? AND ({})", listed(&format!("({d}=? AND {o}=?)"), " OR ", DISTRICTS))
        };
        let orders_are = of_orders("o_w_id", "o_d_id", "o_id");
        let lines_are = of_orders("ol_w_id", "ol_d_id", "ol_o_id");
        Some(match role {
            Role::OldestOrders => {
                let oldest = format!(
                    "(SELECT no_d_id, no_o_id FROM {new_order} WHERE no_w_id=? AND no_d_id=? \
                     ORDER BY no_o_id ASC LIMIT 1 FOR UPDATE)"
                );
                listed(&oldest, " UNION ALL ", DISTRICTS)
            }
            Role::DeleteNewOrders => {
                format!("DELETE FROM {new_order} WHERE {}", of_orders("no_w_id", "no_d_id", "no_o_id"))
            }
            Role::CustomersOfOrders => format!("SELECT o_d_id, o_c_id FROM {orders} WHERE {orders_are}{lock}"),
            Role::CarryOrders => format!("UPDATE {orders} SET o_carrier_id=? WHERE {orders_are}"),
            Role::DeliverLinesOfOrders => format!("UPDATE {order_line} SET ol_delivery_d={now} WHERE {lines_are}"),
            Role::AmountsOfOrders => {
                format!("SELECT ol_d_id, SUM(ol_amount) FROM {order_line} WHERE {lines_are} GROUP BY ol_d_id{lock}")
            }
            Role::CreditCustomers => format!(
                "UPDATE {customer} SET c_balance=c_balance+CASE c_d_id {} ELSE 0 END, c_delivery_cnt=c_delivery_cnt+1 \
                 WHERE {}",
                listed("WHEN ? THEN CAST(? AS DECIMAL(12,2))", " ", DISTRICTS),
                of_orders("c_w_id", "c_d_id", "c_id")
            ),
            _ => return None,
        })
    }

    fn stock_level(&self, role: Role, set: u64) -> Option<String> {
        let [_, district, _, _, _, _, order_line, _, stock] = Entity::ALL.map(|entity| self.table(entity, set));
        Some(match role {
            Role::OrdersSoFar => format!("SELECT d_next_o_id FROM {district} WHERE d_w_id=? AND d_id=?"),
            Role::LowStock => format!(
                "SELECT COUNT(DISTINCT s_i_id) FROM {order_line}, {stock} WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id<? \
                 AND ol_o_id>=? AND s_w_id=? AND s_i_id=ol_i_id AND s_quantity<?"
            ),
            _ => return None,
        })
    }

    fn purge(&self, role: Role, set: u64) -> Option<String> {
        let [_, _, _, history, new_order, orders, order_line, ..] = Entity::ALL.map(|entity| self.table(entity, set));
        Some(match role {
            Role::OldestUndelivered => format!("SELECT MIN(no_o_id) FROM {new_order} WHERE no_w_id=? AND no_d_id=?"),
            Role::DeliveredOrder => format!(
                "SELECT MIN(o_id) FROM {orders} WHERE o_w_id=? AND o_d_id=? AND o_id<? \
                 GROUP BY o_c_id HAVING COUNT(*)>1 LIMIT 1"
            ),
            Role::PurgeLines => format!("DELETE FROM {order_line} WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id=?"),
            Role::PurgeOrder => format!("DELETE FROM {orders} WHERE o_w_id=? AND o_d_id=? AND o_id=?"),
            Role::PurgeHistory => format!("DELETE FROM {history} WHERE h_w_id=? AND h_d_id=? LIMIT 10"),
            _ => return None,
        })
    }
}

/// SET statements of every session.
pub fn session_setup(parameters: &TpccParameters) -> Vec<String> {
    let level = match parameters.isolation {
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    };
    let mut setup = vec![format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")];
    if parameters.fk == super::choices::ForeignKeys::Declared {
        // As sysbench-tpcc does: its foreign keys cost nothing.
        setup.push("SET SESSION foreign_key_checks = 0".to_owned());
    }
    setup
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pairs: &[(&str, &str)], pick: impl Into<Pick>, set: u64) -> String {
        Texts::new(&TpccParameters::parse(pairs.iter().copied()).expect("accepted")).of(pick.into(), set)
    }

    const COMPAT: &[(&str, &str)] = &[("profile", "sysbench"), ("fidelity", "compat"), ("tables", "3")];
    const STRICT: &[(&str, &str)] = &[("profile", "sysbench")];

    #[test]
    fn tables_are_those_of_the_set() {
        let sql = text(COMPAT, Role::InsertNewOrder, 3);
        assert_eq!(sql, "INSERT INTO new_orders3 (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)");
        assert_eq!(
            text(&[], Role::InsertNewOrder, 1),
            "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)"
        );
        assert_eq!(text(STRICT, Role::CallDelivery, 2), "CALL plimsoll_delivery2(?, ?)");
    }

    #[test]
    fn variants_are_districts_or_numbers_of_rows() {
        let stock = text(STRICT, Role::Stock.variant(10), 1);
        assert_eq!(stock, "SELECT s_quantity, s_data, s_dist_10 FROM stock1 WHERE s_i_id=? AND s_w_id=? FOR UPDATE");
        let items = text(&[], Role::Items.variant(3), 1);
        assert_eq!(items, "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN (?, ?, ?)");
        assert_eq!(text(&[], Role::InsertLines.variant(15), 1).matches('?').count(), 15 * 9);
        assert_eq!(text(&[], Role::CallNewOrder, 1).matches('?').count(), 50);
    }

    #[test]
    fn strict_locks_what_it_reads_before_it_writes_and_compat_does_as_the_original() {
        for role in [Role::CustomerOfOrder, Role::AmountOfOrder, Role::CustomerData, Role::Warehouse, Role::District] {
            assert!(text(STRICT, role, 1).ends_with(" FOR UPDATE"), "{role:?}");
            assert!(!text(COMPAT, role, 1).contains(" FOR UPDATE"), "{role:?}");
        }
        assert_eq!(text(COMPAT, Role::UpdateStock, 1), "UPDATE stock1 SET s_quantity=? WHERE s_i_id=? AND s_w_id=?");
        assert!(text(STRICT, Role::UpdateStock, 1).contains("s_remote_cnt=s_remote_cnt+?"));
        assert!(!text(COMPAT, Role::PayCustomer, 1).contains("c_payment_cnt"));
    }

    #[test]
    fn sessions_have_their_level_and_check_foreign_keys_only_where_that_is_asked_for() {
        let setup =
            |pairs: &[(&str, &str)]| session_setup(&TpccParameters::parse(pairs.iter().copied()).expect("accepted"));
        assert_eq!(setup(&[]), ["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"]);
        assert_eq!(setup(&[("isolation", "serializable"), ("fk", "enforced")]).len(), 1);
        assert_eq!(setup(STRICT)[1], "SET SESSION foreign_key_checks = 0");
    }
}
