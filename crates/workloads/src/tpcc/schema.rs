//! The nine tables (clause 1.3): their names, columns, keys and partitions, in two layouts. Profiles `spec` and `dbt2`
//! share one; profile `sysbench` has the columns of sysbench-tpcc, so that data loaded by either tool are driven by the
//! other. Its counters are wider: sysbench-tpcc does not count in them.

use super::choices::{HistoryPk, Profile};
use super::parameters::TpccParameters;
use crate::oltp::schema::SchemaColumn;

/// A table of every set, in the order in which they are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entity {
    Warehouse,
    District,
    Customer,
    History,
    NewOrder,
    Orders,
    OrderLine,
    Item,
    Stock,
}

use Entity::{Customer, District, History, Item, NewOrder, OrderLine, Orders, Stock, Warehouse};

/// A column with its type in either layout, and whether it can be NULL in that of the specification.
struct Definition {
    name: &'static str,
    spec: &'static str,
    sysbench: &'static str,
    null: bool,
}

const fn typed(name: &'static str, spec: &'static str, sysbench: &'static str) -> Definition {
    Definition { name, spec, sysbench, null: false }
}

/// A column of the same type in both layouts.
const fn same(name: &'static str, both: &'static str) -> Definition {
    typed(name, both, both)
}

const fn warehouse_id(name: &'static str) -> Definition {
    typed(name, "INT", "SMALLINT")
}

const fn district_id(name: &'static str) -> Definition {
    typed(name, "INT", "TINYINT")
}

const fn date(name: &'static str) -> Definition {
    typed(name, "DATETIME(6)", "DATETIME")
}

const fn optional(definition: Definition) -> Definition {
    Definition { null: true, ..definition }
}

const MONEY: &str = "DECIMAL(12,2)";
/// What payments add up to. The digits of clause 1.3.1, which are the fewest, are used up after four million payments.
const PAID: &str = "DECIMAL(16,2)";

#[rustfmt::skip]
const WAREHOUSE: &[Definition] = &[
    warehouse_id("w_id"), same("w_name", "VARCHAR(10)"), same("w_street_1", "VARCHAR(20)"), same("w_street_2", "VARCHAR(20)"),
    same("w_city", "VARCHAR(20)"), same("w_state", "CHAR(2)"), same("w_zip", "CHAR(9)"),
    typed("w_tax", "DECIMAL(4,4)", "DECIMAL(4,2)"), same("w_ytd", PAID),
];

#[rustfmt::skip]
const DISTRICT: &[Definition] = &[
    district_id("d_id"), warehouse_id("d_w_id"), same("d_name", "VARCHAR(10)"), same("d_street_1", "VARCHAR(20)"),
    same("d_street_2", "VARCHAR(20)"), same("d_city", "VARCHAR(20)"), same("d_state", "CHAR(2)"), same("d_zip", "CHAR(9)"),
    typed("d_tax", "DECIMAL(4,4)", "DECIMAL(4,2)"), same("d_ytd", PAID), same("d_next_o_id", "INT"),
];

#[rustfmt::skip]
const CUSTOMER: &[Definition] = &[
    same("c_id", "INT"), district_id("c_d_id"), warehouse_id("c_w_id"), same("c_first", "VARCHAR(16)"), same("c_middle", "CHAR(2)"),
    same("c_last", "VARCHAR(16)"), same("c_street_1", "VARCHAR(20)"), same("c_street_2", "VARCHAR(20)"), same("c_city", "VARCHAR(20)"),
    same("c_state", "CHAR(2)"), same("c_zip", "CHAR(9)"), same("c_phone", "CHAR(16)"), date("c_since"), same("c_credit", "CHAR(2)"),
    typed("c_credit_lim", MONEY, "BIGINT"), typed("c_discount", "DECIMAL(4,4)", "DECIMAL(4,2)"), same("c_balance", MONEY),
    same("c_ytd_payment", MONEY), same("c_payment_cnt", "INT"), same("c_delivery_cnt", "INT"),
    typed("c_data", "VARCHAR(500)", "TEXT"),
];

#[rustfmt::skip]
const HISTORY: &[Definition] = &[
    same("h_c_id", "INT"), district_id("h_c_d_id"), warehouse_id("h_c_w_id"), district_id("h_d_id"), warehouse_id("h_w_id"),
    date("h_date"), same("h_amount", "DECIMAL(6,2)"), same("h_data", "VARCHAR(24)"),
];

const HISTORY_ID: Definition = typed("id", "BIGINT", "INT");

const NEW_ORDER: &[Definition] = &[same("no_o_id", "INT"), district_id("no_d_id"), warehouse_id("no_w_id")];

#[rustfmt::skip]
const ORDERS: &[Definition] = &[
    same("o_id", "INT"), district_id("o_d_id"), warehouse_id("o_w_id"), same("o_c_id", "INT"), date("o_entry_d"),
    optional(typed("o_carrier_id", "INT", "TINYINT")), typed("o_ol_cnt", "INT", "TINYINT"), typed("o_all_local", "INT", "TINYINT"),
];

#[rustfmt::skip]
const ORDER_LINE: &[Definition] = &[
    same("ol_o_id", "INT"), district_id("ol_d_id"), warehouse_id("ol_w_id"), typed("ol_number", "INT", "TINYINT"), same("ol_i_id", "INT"),
    warehouse_id("ol_supply_w_id"), optional(date("ol_delivery_d")), typed("ol_quantity", "INT", "TINYINT"),
    same("ol_amount", "DECIMAL(6,2)"), same("ol_dist_info", "CHAR(24)"),
];

#[rustfmt::skip]
const ITEM: &[Definition] = &[
    same("i_id", "INT"), same("i_im_id", "INT"), same("i_name", "VARCHAR(24)"), same("i_price", "DECIMAL(5,2)"), same("i_data", "VARCHAR(50)"),
];

#[rustfmt::skip]
const STOCK: &[Definition] = &[
    same("s_i_id", "INT"), warehouse_id("s_w_id"), typed("s_quantity", "INT", "SMALLINT"),
    same("s_dist_01", "CHAR(24)"), same("s_dist_02", "CHAR(24)"), same("s_dist_03", "CHAR(24)"), same("s_dist_04", "CHAR(24)"),
    same("s_dist_05", "CHAR(24)"), same("s_dist_06", "CHAR(24)"), same("s_dist_07", "CHAR(24)"), same("s_dist_08", "CHAR(24)"),
    same("s_dist_09", "CHAR(24)"), same("s_dist_10", "CHAR(24)"), typed("s_ytd", "INT", "DECIMAL(8,0)"),
    same("s_order_cnt", "INT"), same("s_remote_cnt", "INT"), same("s_data", "VARCHAR(50)"),
];

impl Entity {
    pub const ALL: [Entity; 9] = [Warehouse, District, Customer, History, NewOrder, Orders, OrderLine, Item, Stock];

    /// Its name without the number of a set.
    pub const fn name(self, profile: Profile) -> &'static str {
        match (self, profile) {
            (Warehouse, _) => "warehouse",
            (District, _) => "district",
            (Customer, _) => "customer",
            (History, _) => "history",
            (NewOrder, Profile::Sysbench) => "new_orders",
            (NewOrder, _) => "new_order",
            (Orders, _) => "orders",
            (OrderLine, _) => "order_line",
            (Item, _) => "item",
            (Stock, _) => "stock",
        }
    }

    const fn definitions(self) -> &'static [Definition] {
        match self {
            Warehouse => WAREHOUSE,
            District => DISTRICT,
            Customer => CUSTOMER,
            History => HISTORY,
            NewOrder => NEW_ORDER,
            Orders => ORDERS,
            OrderLine => ORDER_LINE,
            Item => ITEM,
            Stock => STOCK,
        }
    }

    /// The columns of the primary key, the warehouse first; none for history.
    pub const fn key(self) -> &'static [&'static str] {
        match self {
            Warehouse => &["w_id"],
            District => &["d_w_id", "d_id"],
            Customer => &["c_w_id", "c_d_id", "c_id"],
            History => &[],
            NewOrder => &["no_w_id", "no_d_id", "no_o_id"],
            Orders => &["o_w_id", "o_d_id", "o_id"],
            OrderLine => &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
            Item => &["i_id"],
            Stock => &["s_w_id", "s_i_id"],
        }
    }

    /// The column by which a table is partitioned; all warehouses share the items.
    const fn warehouse_column(self) -> Option<&'static str> {
        match self {
            History => Some("h_w_id"),
            Item => None,
            other => Some(other.key()[0]),
        }
    }
}

/// A secondary index: its name without the set's number, and its columns.
type Index = (&'static str, &'static str);

/// What the transactions need: customers by last name, the last order of a customer.
const fn indexes_of_transactions(entity: Entity) -> &'static [Index] {
    match entity {
        Customer => &[("idx_customer", "c_w_id, c_d_id, c_last, c_first")],
        Orders => &[("idx_orders", "o_w_id, o_d_id, o_c_id, o_id")],
        _ => &[],
    }
}

/// What foreign keys need besides, and sysbench-tpcc always has.
const fn indexes_of_keys(entity: Entity) -> &'static [Index] {
    match entity {
        Stock => &[("fkey_stock_2", "s_i_id")],
        OrderLine => &[("fkey_order_line_2", "ol_supply_w_id, ol_i_id")],
        History => &[("fkey_history_1", "h_c_w_id, h_c_d_id, h_c_id"), ("fkey_history_2", "h_w_id, h_d_id")],
        _ => &[],
    }
}

/// The foreign keys of clause 1.4: child, its columns, parent, whose primary key they refer to.
const FOREIGN_KEYS: [(Entity, &str, Entity); 10] = [
    (NewOrder, "no_w_id, no_d_id, no_o_id", Orders),
    (Orders, "o_w_id, o_d_id, o_c_id", Customer),
    (Customer, "c_w_id, c_d_id", District),
    (History, "h_c_w_id, h_c_d_id, h_c_id", Customer),
    (History, "h_w_id, h_d_id", District),
    (District, "d_w_id", Warehouse),
    (OrderLine, "ol_w_id, ol_d_id, ol_o_id", Orders),
    (OrderLine, "ol_supply_w_id, ol_i_id", Stock),
    (Stock, "s_w_id", Warehouse),
    (Stock, "s_i_id", Item),
];

/// The tables of one dataset. Sets are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TpccSchema {
    profile: Profile,
    sets: u64,
    foreign_keys: bool,
    history_pk: bool,
    partitions: u64,
}

impl TpccSchema {
    pub fn new(parameters: &TpccParameters) -> TpccSchema {
        TpccSchema {
            profile: parameters.profile,
            sets: parameters.tables,
            foreign_keys: parameters.has_foreign_keys(),
            history_pk: parameters.history_pk == HistoryPk::Auto,
            partitions: parameters.partitions,
        }
    }

    pub fn sets(&self) -> impl Iterator<Item = u64> + use<> {
        1..=self.sets
    }

    /// As [`table_name`].
    pub fn table_name(&self, entity: Entity, set: u64) -> String {
        table_name(self.profile, entity, set)
    }

    /// Whether rows of history carry an `id` of their own.
    pub fn has_history_id(&self) -> bool {
        self.history_pk
    }

    fn definitions(&self, entity: Entity) -> impl Iterator<Item = &'static Definition> {
        let id = (entity == History && self.history_pk).then_some(&HISTORY_ID);
        id.into_iter().chain(entity.definitions())
    }

    fn sql_type(&self, definition: &Definition) -> &'static str {
        if self.profile == Profile::Sysbench { definition.sysbench } else { definition.spec }
    }

    /// Names of the columns that rows are loaded with, comma-separated, in their order.
    pub fn column_list(&self, entity: Entity) -> String {
        self.definitions(entity).map(|definition| definition.name).collect::<Vec<_>>().join(", ")
    }

    /// The columns by which a check recognises the table.
    pub fn columns(&self, entity: Entity) -> Vec<SchemaColumn> {
        self.definitions(entity).map(|definition| column(definition.name, self.sql_type(definition))).collect()
    }

    pub fn create_table(&self, entity: Entity, set: u64) -> String {
        let mut parts: Vec<String> =
            self.definitions(entity).map(|definition| self.column_clause(entity, definition)).collect();
        let key = match (entity, self.history_pk, self.partitions) {
            (History, false, _) => None,
            (History, true, 0) => Some("id".to_owned()),
            // A unique key of a partitioned table has the column that it is partitioned by.
            (History, true, _) => Some("id, h_w_id".to_owned()),
            _ => Some(entity.key().join(", ")),
        };
        parts.extend(key.map(|key| format!("PRIMARY KEY ({key})")));
        let partitions = match entity.warehouse_column() {
            Some(column) if self.partitions > 0 => {
                format!(" PARTITION BY HASH ({column}) PARTITIONS {}", self.partitions)
            }
            _ => String::new(),
        };
        format!("CREATE TABLE {} ({}) ENGINE = InnoDB{partitions}", self.table_name(entity, set), parts.join(", "))
    }

    fn column_clause(&self, entity: Entity, definition: &Definition) -> String {
        let (name, sql_type) = (definition.name, self.sql_type(definition));
        if name == HISTORY_ID.name {
            return format!("{name} {sql_type} NOT NULL AUTO_INCREMENT");
        }
        // sysbench-tpcc lets every column be NULL unless a primary key forbids it.
        let null = if self.profile == Profile::Sysbench { !entity.key().contains(&name) } else { definition.null };
        format!("{name} {sql_type}{}", if null { "" } else { " NOT NULL" })
    }

    /// Statements that make the secondary indexes of the loaded table.
    pub fn indexes(&self, entity: Entity, set: u64) -> Vec<String> {
        let with_keys = self.foreign_keys || self.profile == Profile::Sysbench;
        let of_keys = if with_keys { indexes_of_keys(entity) } else { &[] };
        let number = self.number(set);
        let create = |(name, columns): &Index| {
            format!("CREATE INDEX {name}{number} ON {} ({columns})", self.table_name(entity, set))
        };
        indexes_of_transactions(entity).iter().chain(of_keys).map(create).collect()
    }

    /// Statements that add the foreign keys of a set, if there are any.
    pub fn foreign_keys(&self, set: u64) -> Vec<String> {
        if !self.foreign_keys {
            return Vec::new();
        }
        let add = |(index, (child, columns, parent)): (usize, &(Entity, &str, Entity))| {
            let of_child = FOREIGN_KEYS[..=index].iter().filter(|(other, ..)| other == child).count();
            format!(
                "ALTER TABLE {} ADD CONSTRAINT fkey_{}_{of_child}_{set} FOREIGN KEY ({columns}) REFERENCES {} ({})",
                self.table_name(*child, set),
                child.name(self.profile),
                self.table_name(*parent, set),
                // The columns of a child are in the order of its parent's key.
                parent.key().join(", ")
            )
        };
        FOREIGN_KEYS.iter().enumerate().map(add).collect()
    }

    fn number(&self, set: u64) -> String {
        if self.profile == Profile::Sysbench { set.to_string() } else { String::new() }
    }
}

/// The name of a table of a set: numbered in profile `sysbench` only, where there can be several sets.
pub fn table_name(profile: Profile, entity: Entity, set: u64) -> String {
    let name = entity.name(profile);
    if profile == Profile::Sysbench { format!("{name}{set}") } else { name.to_owned() }
}

/// The column as `information_schema.columns` shows it.
fn column(name: &'static str, sql_type: &'static str) -> SchemaColumn {
    let (data_type, length) = match sql_type {
        "TINYINT" => ("tinyint", None),
        "SMALLINT" => ("smallint", None),
        "BIGINT" => ("bigint", None),
        "TEXT" => ("text", None),
        "INT" => ("int", None),
        _ => match sql_type.split_once('(') {
            Some(("CHAR", length)) => ("char", Some(length)),
            Some(("VARCHAR", length)) => ("varchar", Some(length)),
            Some(("DECIMAL", _)) => ("decimal", None),
            _ => ("datetime", None),
        },
    };
    let characters = length.and_then(|length| length.trim_end_matches(')').parse().ok());
    SchemaColumn { name, data_type, characters }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(pairs: &[(&str, &str)]) -> TpccSchema {
        TpccSchema::new(&TpccParameters::parse(pairs.iter().copied()).expect("accepted"))
    }

    #[test]
    fn tables_of_the_specification_have_no_number() {
        let schema = schema(&[]);
        assert_eq!(
            schema.create_table(Orders, 1),
            "CREATE TABLE orders (o_id INT NOT NULL, o_d_id INT NOT NULL, o_w_id INT NOT NULL, o_c_id INT NOT NULL, \
             o_entry_d DATETIME(6) NOT NULL, o_carrier_id INT, o_ol_cnt INT NOT NULL, o_all_local INT NOT NULL, \
             PRIMARY KEY (o_w_id, o_d_id, o_id)) ENGINE = InnoDB"
        );
        assert_eq!(schema.table_name(NewOrder, 1), "new_order");
        assert_eq!(
            schema.indexes(Customer, 1),
            ["CREATE INDEX idx_customer ON customer (c_w_id, c_d_id, c_last, c_first)"]
        );
        assert!(schema.indexes(Stock, 1).is_empty() && schema.foreign_keys(1).is_empty());
    }

    #[test]
    fn tables_of_sysbench_tpcc_carry_the_number_of_their_set() {
        let schema = schema(&[("profile", "sysbench"), ("tables", "3")]);
        assert_eq!(
            schema.create_table(OrderLine, 3),
            "CREATE TABLE order_line3 (ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id SMALLINT NOT NULL, \
             ol_number TINYINT NOT NULL, ol_i_id INT, ol_supply_w_id SMALLINT, ol_delivery_d DATETIME, \
             ol_quantity TINYINT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24), \
             PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)) ENGINE = InnoDB"
        );
        assert_eq!(schema.table_name(NewOrder, 2), "new_orders2");
        assert_eq!(schema.indexes(Stock, 2), ["CREATE INDEX fkey_stock_22 ON stock2 (s_i_id)"]);
        assert_eq!(schema.sets().collect::<Vec<_>>(), [1, 2, 3]);
        let keys = schema.foreign_keys(2);
        assert_eq!(
            keys[7],
            "ALTER TABLE order_line2 ADD CONSTRAINT fkey_order_line_2_2 FOREIGN KEY (ol_supply_w_id, ol_i_id) \
             REFERENCES stock2 (s_w_id, s_i_id)"
        );
        let names: std::collections::HashSet<_> = keys.iter().map(|sql| sql.split(' ').nth(5)).collect();
        assert_eq!(names.len(), 10);
    }

    #[test]
    fn sums_and_counters_have_room_for_long_use() {
        for pairs in [&[][..], &[("profile", "sysbench")]] {
            let schema = schema(pairs);
            let has = |entity, column: &str| schema.create_table(entity, 1).contains(column);
            assert!(has(Warehouse, "w_ytd DECIMAL(16,2)") && has(District, "d_ytd DECIMAL(16,2)"), "{pairs:?}");
            assert!(has(Stock, "s_order_cnt INT") && has(Stock, "s_remote_cnt INT"), "{pairs:?}");
            assert!(has(Customer, "c_payment_cnt INT") && has(Customer, "c_delivery_cnt INT"), "{pairs:?}");
        }
    }

    #[test]
    fn foreign_keys_bring_the_indexes_that_they_need() {
        let schema = schema(&[("fk", "enforced")]);
        assert_eq!(schema.indexes(History, 1).len(), 2);
        assert_eq!(
            schema.foreign_keys(1)[0],
            "ALTER TABLE new_order ADD CONSTRAINT fkey_new_order_1_1 FOREIGN KEY (no_w_id, no_d_id, no_o_id) \
             REFERENCES orders (o_w_id, o_d_id, o_id)"
        );
        for (child, columns, parent) in FOREIGN_KEYS {
            assert_eq!(columns.split(", ").count(), parent.key().len(), "{child:?}");
        }
    }

    #[test]
    fn partitions_go_by_warehouse_and_history_may_have_a_key() {
        let partitioned = schema(&[("partitions", "4"), ("history-pk", "auto")]);
        let history = partitioned.create_table(History, 1);
        assert!(
            history.starts_with("CREATE TABLE history (id BIGINT NOT NULL AUTO_INCREMENT, h_c_id INT "),
            "{history}"
        );
        assert!(history.ends_with("PRIMARY KEY (id, h_w_id)) ENGINE = InnoDB PARTITION BY HASH (h_w_id) PARTITIONS 4"));
        assert!(partitioned.create_table(Stock, 1).ends_with("PARTITION BY HASH (s_w_id) PARTITIONS 4"));
        assert!(partitioned.create_table(Item, 1).ends_with("ENGINE = InnoDB"));
        let keyed = schema(&[("profile", "sysbench"), ("force-pk", "1")]);
        assert!(keyed.create_table(History, 1).ends_with("PRIMARY KEY (id)) ENGINE = InnoDB"));
        assert!(!schema(&[]).create_table(History, 1).contains("PRIMARY KEY"));
    }

    #[test]
    fn columns_are_told_as_the_server_shows_them() {
        let of_sysbench = schema(&[("profile", "sysbench")]).columns(Customer);
        let shown = |name: &str| {
            let column = of_sysbench.iter().find(|column| column.name == name).expect("a column");
            (column.data_type, column.characters)
        };
        assert_eq!(shown("c_d_id"), ("tinyint", None));
        assert_eq!(shown("c_last"), ("varchar", Some(16)));
        assert_eq!(
            (shown("c_since"), shown("c_data"), shown("c_credit")),
            (("datetime", None), ("text", None), ("char", Some(2)))
        );
        assert_eq!((shown("c_credit_lim"), shown("c_balance")), (("bigint", None), ("decimal", None)));
        assert_eq!(schema(&[]).columns(History).len(), 8);
        assert_eq!(schema(&[("history-pk", "auto")]).column_list(History).split(", ").next(), Some("id"));
        for entity in Entity::ALL {
            let columns = schema(&[]).columns(entity);
            assert!(entity.key().iter().all(|key| columns.iter().any(|column| column.name == *key)));
        }
    }
}
