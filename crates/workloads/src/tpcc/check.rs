//! What must hold for order entry: the twelve consistency conditions (clause 3.3.2), sums over the counters that the
//! transactions keep, and that the database has what clients committed.
//!
//! Every query covers one table set and one warehouse, so that many can be asked at once; only history without an
//! index has to be read as a whole. Empty queues and customers without delivered lines are not special cases.

use super::choices::{Fidelity, Profile};
use super::parameters::TpccParameters;
use super::schema::{Entity, TpccSchema};
use crate::check::{Check, Expectation, Ledger, Moment, cells};
use part::{CLIENT_PAYMENTS, CONDITIONS, DELIVERIES, PAYMENTS, STOCK_ORDERS, STOCK_REMOTE, STOCK_YTD, WarehouseRange};

mod part;
pub use part::{CLIENT_DELIVERIES, OF_CLIENTS, ORDERS_PER_DELIVERY};

/// If history has no index, it is read as a whole at most this often.
const HISTORY_SCANS: u64 = 10;

/// The counters that sysbench-tpcc does not maintain.
const NOT_KEPT_BY_COMPAT: [&str; 4] = [STOCK_YTD, STOCK_ORDERS, STOCK_REMOTE, PAYMENTS];
/// What cannot hold once delivered orders and history rows were deleted. Only delivered orders are deleted, with their
/// lines, so conditions 1 to 7 still hold.
const NOT_KEPT_BY_PURGE: [&str; 11] = [
    CONDITIONS[7],
    CONDITIONS[8],
    CONDITIONS[9],
    CONDITIONS[10],
    CONDITIONS[11],
    STOCK_YTD,
    STOCK_ORDERS,
    STOCK_REMOTE,
    PAYMENTS,
    DELIVERIES,
    CLIENT_PAYMENTS,
];

/// Checks that the tables exist and have the columns that transactions need; also asked before a run. Data loaded by
/// sysbench-tpcc pass.
pub fn layout(parameters: &TpccParameters) -> Vec<Check> {
    let schema = TpccSchema::new(parameters);
    let tables = schema.sets().flat_map(|set| Entity::ALL.map(|entity| (set, entity)));
    tables.map(|(set, entity)| columns(&schema, entity, &schema.table_name(entity, set))).collect()
}

/// Everything that must hold, the layout first. What is known not to hold is named and skipped.
pub fn checks(parameters: &TpccParameters, moment: Moment, ledger: Option<&Ledger>) -> Vec<Check> {
    let schema = TpccSchema::new(parameters);
    let mut all = layout(parameters);
    all.extend(schema.sets().flat_map(|set| indexes(&schema, set)));
    all.extend(conditions(parameters, moment, ledger));
    all
}

/// What must hold for the rows.
pub fn conditions(parameters: &TpccParameters, moment: Moment, ledger: Option<&Ledger>) -> Vec<Check> {
    let schema = TpccSchema::new(parameters);
    let indexed = parameters.profile == Profile::Sysbench || parameters.has_foreign_keys();
    let mut all = Vec::new();
    for set in schema.sets() {
        let part = |first, last| WarehouseRange { schema: &schema, set, first, last, sets: parameters.tables };
        for w in 1..=parameters.warehouses {
            all.extend(part(w, w).of_orders(moment));
            all.extend(part(w, w).of_counters());
            all.push(part(w, w).fixed_rows());
        }
        all.push(part(1, parameters.warehouses).items());
        // Each of these reads all of history, unless that can be found by warehouse.
        let scans = if indexed { parameters.warehouses } else { parameters.warehouses.min(HISTORY_SCANS) };
        for (first, last) in ranges(parameters.warehouses, scans) {
            all.push(part(first, last).balances());
        }
        for (first, last) in ranges(parameters.warehouses, if indexed { parameters.warehouses } else { 1 }) {
            all.extend(part(first, last).of_history(moment));
        }
        all.extend(part(1, parameters.warehouses).of_clients(moment, ledger));
    }
    in_order(all).into_iter().map(|check| kept(check, parameters, moment, ledger)).fold(Vec::new(), once)
}

/// The numbers 1 to `all` in at most `parts` ranges of nearly one length.
fn ranges(all: u64, parts: u64) -> impl Iterator<Item = (u64, u64)> {
    let length = all.div_ceil(parts.max(1)).max(1);
    (1..=all).step_by(length as usize).map(move |first| (first, (first + length - 1).min(all)))
}

/// The conditions by number, then the rest as they came.
fn in_order(mut all: Vec<Check>) -> Vec<Check> {
    let place = |check: &Check| CONDITIONS.iter().position(|name| *name == check.name).unwrap_or(CONDITIONS.len());
    all.sort_by_key(place);
    all
}

/// The check, or the reason why it is not asked.
fn kept(check: Check, parameters: &TpccParameters, moment: Moment, ledger: Option<&Ledger>) -> Check {
    if moment == Moment::Loaded || matches!(check.expectation, Expectation::Skipped(_)) {
        return check;
    }
    // Data that other tools have changed do not show it; then the parameters say it.
    let compat = parameters.fidelity == Fidelity::Compat || ledger.is_some_and(|ledger| ledger.compat);
    let purge = parameters.purge || ledger.is_some_and(|ledger| ledger.purge);
    let name = check.name.as_str();
    if purge && NOT_KEPT_BY_PURGE.contains(&name) {
        return Check::skipped(name, "does not hold with --purge, which deletes delivered orders and history rows");
    }
    if compat && NOT_KEPT_BY_COMPAT.contains(&name) {
        return Check::skipped(
            name,
            "does not hold with --fidelity compat: like sysbench-tpcc, it does not maintain the counter",
        );
    }
    check
}

/// A check that is skipped has one part.
fn once(mut all: Vec<Check>, check: Check) -> Vec<Check> {
    let said = matches!(check.expectation, Expectation::Skipped(_)) && all.iter().any(|other| other.name == check.name);
    all.extend((!said).then_some(check));
    all
}

/// Columns by name, since types differ between loaders; but money columns must be exact.
fn columns(schema: &TpccSchema, entity: Entity, name: &str) -> Check {
    let wanted = schema.columns(entity);
    // Whether history has a key of its own does not matter to the transactions.
    let wanted = wanted.iter().filter(|column| column.name != "id");
    Check::new(
        format!("columns of {name}"),
        format!(
            "SELECT column_name, IF(data_type IN ('float', 'double'), 'not exact', 'exact') FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name = '{name}'"
        ),
        Expectation::Including(wanted.map(|column| cells([column.name, "exact"])).collect()),
    )
}

/// Indexes by their columns, whatever their names, and the foreign keys.
fn indexes(schema: &TpccSchema, set: u64) -> Vec<Check> {
    let of_table = |entity: Entity| {
        let name = schema.table_name(entity, set);
        let made = schema.indexes(entity, set);
        let secondary =
            made.iter().filter_map(|sql| sql.rsplit_once(" (")).map(|(_, columns)| columns.trim_end_matches(')'));
        let keys = [entity.key().join(", ")].into_iter().filter(|key| !key.is_empty());
        let wanted: Vec<_> = keys.chain(secondary.map(str::to_owned)).map(|key| cells([&key])).collect();
        let sql = format!(
            "SELECT GROUP_CONCAT(column_name ORDER BY seq_in_index SEPARATOR ', ') FROM information_schema.statistics \
             WHERE table_schema = DATABASE() AND table_name = '{name}' GROUP BY index_name"
        );
        let check = Check::new(format!("indexes of {name}"), sql, Expectation::Including(wanted.clone()));
        (!wanted.is_empty()).then_some(check)
    };
    let mut all: Vec<Check> = Entity::ALL.into_iter().filter_map(of_table).collect();
    let keys = schema.foreign_keys(set);
    let wanted: Vec<_> = keys.iter().filter_map(|sql| foreign_key(sql)).collect();
    if !wanted.is_empty() {
        let names: Vec<String> = Entity::ALL.map(|entity| format!("'{}'", schema.table_name(entity, set))).into();
        let sql = format!(
            "SELECT table_name, GROUP_CONCAT(column_name ORDER BY ordinal_position SEPARATOR ', '), referenced_table_name \
             FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL \
             AND table_name IN ({}) GROUP BY constraint_name, table_name, referenced_table_name",
            names.join(", ")
        );
        let name = format!("foreign keys of {}", schema.table_name(Entity::Orders, set));
        all.push(Check::new(format!("{name} and the tables around it"), sql, Expectation::Including(wanted)));
    }
    all
}

/// Child, columns and parent of the statement that adds a foreign key.
fn foreign_key(statement: &str) -> Option<Vec<Option<String>>> {
    let (table, rest) = statement.strip_prefix("ALTER TABLE ")?.split_once(' ')?;
    let (columns, rest) = rest.split_once("FOREIGN KEY (")?.1.split_once(") REFERENCES ")?;
    Some(cells([table, columns, rest.split(' ').next()?]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn parameters(pairs: &[(&str, &str)]) -> TpccParameters {
        TpccParameters::parse(pairs.iter().copied()).expect("accepted")
    }

    fn skipped(pairs: &[(&str, &str)], moment: Moment, ledger: Option<&Ledger>) -> Vec<String> {
        let all = conditions(&parameters(pairs), moment, ledger);
        all.into_iter()
            .filter(|check| matches!(check.expectation, Expectation::Skipped(_)))
            .map(|check| check.name)
            .collect()
    }

    #[test]
    fn the_conditions_come_by_number_and_each_of_every_warehouse() {
        let all = conditions(&parameters(&[("warehouses", "3")]), Moment::Driven, Some(&Ledger::default()));
        let names: Vec<&str> = all.iter().map(|check| check.name.as_str()).collect();
        for (number, condition) in CONDITIONS.iter().enumerate() {
            // Without an index, history is read once for all warehouses; and once for each of a few for condition 10.
            let parts = if [8, 9].contains(&(number + 1)) { 1 } else { 3 };
            assert_eq!(names.iter().filter(|name| *name == condition).count(), parts, "{condition}");
        }
        assert!(names.is_sorted_by_key(|name| CONDITIONS.iter().position(|c| c == name).unwrap_or(12)));
        let sysbench = parameters(&[("profile", "sysbench"), ("tables", "2"), ("warehouses", "3")]);
        let all = conditions(&sysbench, Moment::Driven, None);
        let eighth: BTreeSet<&str> =
            all.iter().filter(|check| check.name == CONDITIONS[7]).map(|check| check.sql.as_str()).collect();
        assert_eq!(eighth.len(), 6, "of each set and warehouse, by the index on history");
        assert!(eighth.iter().any(|sql| sql.contains("FROM history2 WHERE h_w_id = 3")), "{eighth:#?}");
    }

    #[test]
    fn large_history_without_an_index_is_read_a_few_times() {
        let all = conditions(&parameters(&[("warehouses", "1000")]), Moment::Driven, None);
        let history = all.iter().filter(|check| check.sql.contains("history"));
        assert!(history.count() as u64 <= HISTORY_SCANS + 4);
        assert_eq!(ranges(25, 10).last(), Some((25, 25)));
        assert_eq!(ranges(3, 1).collect::<Vec<_>>(), [(1, 3)]);
        assert_eq!(ranges(3, 3).collect::<Vec<_>>(), [(1, 1), (2, 2), (3, 3)]);
    }

    #[test]
    fn what_is_not_kept_is_named_once() {
        let ledger = Ledger { compat: true, ..Ledger::default() };
        let spec = &[("warehouses", "2")];
        assert_eq!(skipped(spec, Moment::Driven, Some(&Ledger::default())), [""; 0]);
        let compat = skipped(spec, Moment::Driven, Some(&ledger));
        assert_eq!(BTreeSet::from_iter(compat.iter().map(String::as_str)), BTreeSet::from(NOT_KEPT_BY_COMPAT));
        assert_eq!(compat.len(), NOT_KEPT_BY_COMPAT.len());
        let purge = Ledger { purge: true, ..Ledger::default() };
        assert_eq!(skipped(spec, Moment::Driven, Some(&purge)).len(), NOT_KEPT_BY_PURGE.len());
        assert_eq!(skipped(spec, Moment::Loaded, Some(&ledger)), [""; 0], "no run has touched them");
    }

    #[test]
    fn clients_are_believed_only_if_all_of_them_have_spoken() {
        assert_eq!(skipped(&[], Moment::Driven, None).len(), 3, "data of another tool");
        let open = Ledger { open_runs: 1, ..Ledger::default() };
        let all = conditions(&parameters(&[]), Moment::Driven, Some(&open));
        let why: Vec<&Expectation> =
            all.iter().filter(|c| c.name.contains("clients")).map(|c| &c.expectation).collect();
        assert_eq!(why.len(), 3);
        for why in why {
            assert!(matches!(why, Expectation::Skipped(text) if text.contains("a run did not end")), "{why:?}");
        }
        let lost = Ledger { committed: [("new_order".to_owned(), 5)].into(), unknown: 2, ..Ledger::default() };
        let all = conditions(&parameters(&[]), Moment::Driven, Some(&lost));
        let orders = all.iter().find(|check| check.name.starts_with("new orders")).expect("asked");
        assert_eq!(orders.expectation, Expectation::Between { least: 5, most: 7 });
    }

    #[test]
    fn indexes_and_foreign_keys_are_known_by_what_they_are_on() {
        let all = checks(&parameters(&[("fk", "declared")]), Moment::Loaded, None);
        let wanted = |name: &str| match &all.iter().find(|check| check.name == name).expect(name).expectation {
            Expectation::Including(rows) => rows.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(wanted("indexes of customer")[1], cells(["c_w_id, c_d_id, c_last, c_first"]));
        assert_eq!(wanted("indexes of warehouse"), [cells(["w_id"])]);
        let keys = wanted("foreign keys of orders and the tables around it");
        assert_eq!(keys.len(), 10);
        assert_eq!(keys[0], cells(["new_order", "no_w_id, no_d_id, no_o_id", "orders"]));
        assert!(wanted("columns of history").iter().all(|row| row[0].as_deref() != Some("id")));
    }
}
