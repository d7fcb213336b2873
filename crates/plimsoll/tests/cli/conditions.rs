//! Seeded faults in order-entry data: each breaks the conditions and sums that it must break, and no other.

use crate::harness::Lab;
use plimsoll_engine::control::Control;
use plimsoll_workloads::check::{Judgement, Ledger, Moment};
use plimsoll_workloads::tpcc::TpccParameters;
use plimsoll_workloads::tpcc::check::conditions;
use plimsoll_workloads::tpcc::schema::{Entity, TpccSchema};
use std::collections::{BTreeMap, BTreeSet};

/// What was done to the data, and the beginnings of the names of everything that it breaks.
type Fault = (&'static [&'static str], &'static [&'static str]);

/// The checks that count what a load makes; these data are smaller.
const OF_FULL_SIZE: &str = "rows ";

/// Two warehouses with all orders of four districts each, but few customers, items and lines.
const ROWS: [(Entity, &str); 9] = [
    (Entity::Warehouse, "SELECT w.n, 'n', 's', 's', 'c', 'st', 'z', 0.1, 4000 FROM s w WHERE w.n BETWEEN 1 AND 2"),
    (
        Entity::District,
        "SELECT d.n, w.n, 'n', 's', 's', 'c', 'st', 'z', 0.1, 1000, 3001 FROM s w, s d \
         WHERE w.n BETWEEN 1 AND 2 AND d.n BETWEEN 1 AND 4",
    ),
    (
        Entity::Customer,
        "SELECT c.n, d.n, w.n, 'f', 'OE', 'l', 's', 's', 'c', 'st', 'z', 'p', NOW(), 'GC', 50000, 0.1, -10, 10, 1, 0, 'd' \
         FROM s w, s d, s c WHERE w.n BETWEEN 1 AND 2 AND d.n BETWEEN 1 AND 4 AND c.n BETWEEN 1 AND 100",
    ),
    (Entity::History, "SELECT c_id, c_d_id, c_w_id, c_d_id, c_w_id, NOW(), 10, 'h' FROM customer"),
    (
        Entity::Orders,
        "SELECT o.n, d.n, w.n, o.n % 100 + 1, NOW(), IF(o.n < 2101, 5, NULL), 1 + o.n % 2, 1 FROM s w, s d, s o \
         WHERE w.n BETWEEN 1 AND 2 AND d.n BETWEEN 1 AND 4 AND o.n BETWEEN 1 AND 3000",
    ),
    (Entity::NewOrder, "SELECT o_id, o_d_id, o_w_id FROM orders WHERE o_carrier_id IS NULL"),
    (
        Entity::OrderLine,
        "SELECT o_id, o_d_id, o_w_id, 1, 7, o_w_id, IF(o_id < 2101, NOW(), NULL), 5, IF(o_id < 2101, 0, 1.25), 'd' FROM orders \
         UNION ALL SELECT o_id, o_d_id, o_w_id, 2, 8, o_w_id, IF(o_id < 2101, NOW(), NULL), 5, IF(o_id < 2101, 0, 2.5), 'd' \
         FROM orders WHERE o_ol_cnt = 2",
    ),
    (Entity::Item, "SELECT i.n, 1, 'i', 1, 'd' FROM s i WHERE i.n BETWEEN 1 AND 50"),
    (
        Entity::Stock,
        "SELECT i.n, w.n, 50, 's', 's', 's', 's', 's', 's', 's', 's', 's', 's', 0, 0, 0, 'd' FROM s w, s i \
         WHERE w.n BETWEEN 1 AND 2 AND i.n BETWEEN 1 AND 50",
    ),
];

/// A new order of two lines, one of them from the other warehouse.
const NEW_ORDER: [&str; 7] = [
    "UPDATE district SET d_next_o_id = 3002 WHERE d_w_id = 1 AND d_id = 1",
    "INSERT INTO orders VALUES (3001, 1, 1, 42, NOW(), NULL, 2, 0)",
    "INSERT INTO new_order VALUES (3001, 1, 1)",
    "INSERT INTO order_line VALUES (3001, 1, 1, 1, 7, 1, NULL, 3, 9.99, 'd')",
    "INSERT INTO order_line VALUES (3001, 1, 1, 2, 8, 2, NULL, 4, 0.01, 'd')",
    "UPDATE stock SET s_ytd = 3, s_order_cnt = 1 WHERE s_w_id = 1 AND s_i_id = 7",
    "UPDATE stock SET s_ytd = 4, s_order_cnt = 1, s_remote_cnt = 1 WHERE s_w_id = 2 AND s_i_id = 8",
];

/// A customer of warehouse 2 pays at warehouse 1.
const PAYMENT: [&str; 4] = [
    "UPDATE warehouse SET w_ytd = w_ytd + 12.34 WHERE w_id = 1",
    "UPDATE district SET d_ytd = d_ytd + 12.34 WHERE d_w_id = 1 AND d_id = 3",
    "UPDATE customer SET c_balance = c_balance - 12.34, c_ytd_payment = c_ytd_payment + 12.34, \
     c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 5",
    "INSERT INTO history VALUES (5, 4, 2, 3, 1, NOW(), 12.34, 'paid')",
];

/// The oldest new order of a district: order 2101, of customer 2, with two lines.
const DELIVERY: [&str; 4] = [
    "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 2 AND no_o_id = 2101",
    "UPDATE orders SET o_carrier_id = 7 WHERE o_w_id = 1 AND o_d_id = 2 AND o_id = 2101",
    "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 2101",
    "UPDATE customer SET c_balance = c_balance + 3.75, c_delivery_cnt = 1 WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 2",
];

const FAULTS: &[Fault] = &[
    // Amounts.
    (&["UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 1"], &["condition 1:", "condition 8:"]),
    (
        &[
            "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 1",
            "UPDATE district SET d_ytd = d_ytd - 1 WHERE d_w_id = 1 AND d_id = 2",
        ],
        &["condition 9:"],
    ),
    (
        &["UPDATE history SET h_amount = h_amount - 0.01 WHERE h_w_id = 2 AND h_d_id = 3 AND h_c_id = 4"],
        &["condition 8:", "condition 9:", "condition 10:"],
    ),
    (
        &["UPDATE customer SET c_balance = c_balance + 0.01 WHERE c_w_id = 2 AND c_d_id = 4 AND c_id = 100"],
        &["condition 10:", "condition 12:"],
    ),
    (
        &["UPDATE customer SET c_balance = c_balance + 0.01, c_ytd_payment = c_ytd_payment - 0.01 \
             WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1"],
        &["condition 10:"],
    ),
    (
        &["UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1"],
        &["condition 12:"],
    ),
    (
        &[
            "UPDATE order_line SET ol_amount = 0.01 WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = 77 AND ol_number = 1",
        ],
        &["condition 10:", "condition 12:"],
    ),
    // What is lost, and what is there too much.
    (
        &["DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 3 AND ol_o_id = 2999 AND ol_number = 2"],
        &["condition 4:", "condition 6:"],
    ),
    (
        &["INSERT INTO order_line VALUES (4000, 1, 1, 1, 7, 1, NULL, 5, 1, 'd')"],
        &["condition 4:", "condition 7:", "s_ytd", "s_order_cnt"],
    ),
    (
        &["DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 4 AND no_o_id = 2500"],
        &["condition 3:", "condition 5:", "condition 11:"],
    ),
    (
        &["DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 4 AND no_o_id = 2101"],
        &["condition 5:", "condition 11:"],
    ),
    (&["INSERT INTO new_order VALUES (3001, 3, 1)"], &["condition 2:", "condition 5:", "condition 11:"]),
    (
        &["DELETE FROM history WHERE h_w_id = 2 AND h_d_id = 3 AND h_c_id = 4"],
        &["condition 8:", "condition 9:", "condition 10:", "c_payment_cnt", "payments"],
    ),
    (
        &[
            "DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 3001",
            "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 3001",
            "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 3001",
        ],
        &["condition 2:", "s_ytd", "s_order_cnt", "s_remote_cnt"],
    ),
    // Orders and their delivery.
    (
        &["UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 2 AND d_id = 2"],
        &["condition 2:", "new orders"],
    ),
    (
        &[
            "UPDATE orders SET o_ol_cnt = 2 WHERE o_w_id = 1 AND o_d_id = 4 AND o_id = 10",
            "UPDATE orders SET o_ol_cnt = 1 WHERE o_w_id = 1 AND o_d_id = 4 AND o_id = 11",
        ],
        &["condition 6:"],
    ),
    (
        &["UPDATE orders SET o_carrier_id = 3 WHERE o_w_id = 1 AND o_d_id = 4 AND o_id = 2500"],
        &["condition 5:", "condition 7:", "c_delivery_cnt"],
    ),
    (
        &["UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 4 AND ol_o_id = 10"],
        &["condition 7:"],
    ),
    (
        &["UPDATE customer SET c_balance = c_balance + 3.75, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = 1 AND c_d_id = 2 AND c_id = 2"],
        &["condition 10:", "condition 11:", "condition 12:", "c_delivery_cnt", "delivered orders"],
    ),
    // Counters.
    (&["UPDATE stock SET s_ytd = s_ytd + 1 WHERE s_w_id = 1 AND s_i_id = 9"], &["s_ytd"]),
    (
        &[
            "UPDATE stock SET s_ytd = 0 WHERE s_w_id = 2 AND s_i_id = 8",
            "UPDATE stock SET s_ytd = 4 WHERE s_w_id = 1 AND s_i_id = 8",
        ],
        &["s_ytd"],
    ),
    (&["UPDATE stock SET s_order_cnt = s_order_cnt + 1 WHERE s_w_id = 1 AND s_i_id = 9"], &["s_order_cnt"]),
    (&["UPDATE stock SET s_remote_cnt = 0 WHERE s_w_id = 2"], &["s_remote_cnt"]),
    (
        &["UPDATE customer SET c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1"],
        &["c_payment_cnt"],
    ),
    // Whole transactions that clients were told are committed: nothing inside the database can tell.
    (
        &[
            "UPDATE district SET d_next_o_id = 3001 WHERE d_w_id = 1 AND d_id = 1",
            "DELETE FROM orders WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 3001",
            "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 3001",
            "DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 3001",
            "UPDATE stock SET s_ytd = 0, s_order_cnt = 0, s_remote_cnt = 0",
        ],
        &["new orders"],
    ),
    (
        &[
            "UPDATE warehouse SET w_ytd = 4000 WHERE w_id = 1",
            "UPDATE district SET d_ytd = 1000 WHERE d_w_id = 1 AND d_id = 3",
            "UPDATE customer SET c_balance = -10, c_ytd_payment = 10, c_payment_cnt = 1 WHERE c_w_id = 2",
            "DELETE FROM history WHERE h_data = 'paid'",
        ],
        &["payments"],
    ),
    // A queue runs empty, which is nothing bad; but nobody has said that it delivered all that.
    (
        &[
            "DELETE FROM new_order WHERE no_w_id = 2 AND no_d_id = 4",
            "UPDATE orders SET o_carrier_id = 1 WHERE o_w_id = 2 AND o_d_id = 4 AND o_id > 2100",
            "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = 2 AND ol_d_id = 4 AND ol_o_id > 2100",
            "UPDATE customer SET c_delivery_cnt = 9, c_balance = c_balance + 9 * IF(c_id % 2 = 0, 3.75, 1.25) \
             WHERE c_w_id = 2 AND c_d_id = 4",
        ],
        &["delivered orders"],
    ),
];

/// Makes the data; what clients know of them.
fn make(control: &mut Control, parameters: &TpccParameters) -> Ledger {
    let schema = TpccSchema::new(parameters);
    let mut run = |sql: &str| {
        control.run(sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    };
    run("CREATE DATABASE small");
    run("USE small");
    run("CREATE TABLE s (n INT PRIMARY KEY)");
    run("START TRANSACTION");
    run("INSERT INTO s VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)");
    run("INSERT INTO s SELECT 10 * a.n + b.n FROM s a, s b WHERE a.n > 0");
    run("INSERT INTO s SELECT 100 * a.n + b.n FROM s a, s b WHERE a.n BETWEEN 1 AND 30 AND b.n < 100");
    run("COMMIT");
    for (entity, rows) in ROWS {
        run(&schema.create_table(entity, 1));
        run(&format!("INSERT INTO {} ({}) {rows}", schema.table_name(entity, 1), schema.column_list(entity)));
        schema.indexes(entity, 1).iter().for_each(|index| run(index));
    }
    NEW_ORDER.iter().chain(&PAYMENT).chain(&DELIVERY).for_each(|statement| run(statement));
    let committed = ["new_order", "payment", "delivered_orders"].map(|what| (what.to_owned(), 1));
    Ledger { runs: 1, committed: committed.into(), ..Ledger::default() }
}

/// The names of everything that is asked, and what was found where it does not hold.
fn found(control: &mut Control, parameters: &TpccParameters, ledger: &Ledger) -> BTreeMap<String, Result<(), String>> {
    let mut judgements = BTreeMap::new();
    for check in conditions(parameters, Moment::Driven, Some(ledger)) {
        let rows = control.rows(&check.sql).unwrap_or_else(|failure| panic!("{}: {failure}", check.sql)).rows;
        let (_, judgement) =
            judgements.entry(check.name.clone()).or_insert_with(|| (check.clone(), Judgement::default()));
        Judgement::add(judgement, &check, &rows);
    }
    judgements.retain(|name, _| !name.starts_with(OF_FULL_SIZE));
    judgements.into_iter().map(|(name, (check, judgement))| (name, judgement.end(&check))).collect()
}

fn faults_are_found(lab: &Lab) {
    lab.up("");
    let mut control = lab.control();
    let parameters = TpccParameters::parse([("warehouses", "2")]).expect("accepted");
    let ledger = make(&mut control, &parameters);
    let sound = found(&mut control, &parameters, &ledger);
    assert!(sound.values().all(Result::is_ok), "{sound:#?}");
    let mut never: BTreeSet<&String> = sound.keys().collect();
    for (statements, expected) in FAULTS {
        control.run("START TRANSACTION").expect("a transaction");
        for statement in *statements {
            let done = control.run(statement).unwrap_or_else(|failure| panic!("{statement}: {failure}"));
            assert!(done.affected_rows > 0, "{statement} changes nothing");
        }
        let now = found(&mut control, &parameters, &ledger);
        let broken: BTreeMap<_, _> = now.iter().filter(|(_, verdict)| verdict.is_err()).collect();
        let named = |name: &str| expected.iter().any(|start| name.starts_with(start));
        assert!(broken.len() == expected.len() && broken.keys().all(|name| named(name)), "{statements:?}: {broken:#?}");
        never.retain(|name| !broken.contains_key(name));
        control.run("ROLLBACK").expect("the fault is undone");
    }
    assert!(never.is_empty(), "no fault breaks {never:?}");
}

#[test]
fn every_condition_finds_its_fault_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    faults_are_found(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn every_condition_finds_its_fault_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    faults_are_found(&lab);
}
