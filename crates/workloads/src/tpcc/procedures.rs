//! The transactions as stored procedures: one CALL each, between BEGIN and COMMIT or ROLLBACK, which the client sends. The
//! last result of each is one row that says what came of it. Payment locks the warehouse last, which is the hottest row:
//! the order of statements within a transaction is free.

use super::choices::Profile;
use super::fragments::{listed, now};
use super::parameters::TpccParameters;
use super::roles::{DISTRICTS, LINES_MAX, Role};
use super::schema::{Entity, table_name};
use crate::dataset::Routine;

/// The roles that call a procedure.
const CALLS: [Role; 5] =
    [Role::CallNewOrder, Role::CallPayment, Role::CallOrderStatus, Role::CallDelivery, Role::CallStockLevel];

/// The procedures of all table sets.
pub fn routines(parameters: &TpccParameters) -> Vec<Routine> {
    let of_set = |set| {
        CALLS.map(|role| Routine { name: name(parameters.profile, role, set), create: create(parameters, role, set) })
    };
    (1..=parameters.tables).flat_map(of_set).collect()
}

/// What the procedures of a set are called.
pub fn names(profile: Profile, set: u64) -> [String; 5] {
    CALLS.map(|role| name(profile, role, set))
}

fn name(profile: Profile, role: Role, set: u64) -> String {
    let transaction = role.name().trim_start_matches("call_");
    let number = if profile == Profile::Sysbench { set.to_string() } else { String::new() };
    format!("plimsoll_{transaction}{number}")
}

/// The CALL of a role.
pub fn call(parameters: &TpccParameters, role: Role, set: u64) -> String {
    let values = listed("?", ", ", names_of_parameters(role).split(", ").count());
    format!("CALL {}({values})", name(parameters.profile, role, set))
}

/// The parameters of a procedure, as its declaration has them.
fn names_of_parameters(role: Role) -> String {
    match role {
        Role::CallNewOrder => {
            let lines = (1..=LINES_MAX).map(|n| format!("p_item_{n} INT, p_supply_{n} INT, p_quantity_{n} INT"));
            format!("p_w INT, p_d INT, p_c INT, p_lines INT, p_all_local INT, {}", lines.collect::<Vec<_>>().join(", "))
        }
        // Customer 0 stands for the one of that last name.
        Role::CallPayment => {
            "p_w INT, p_d INT, p_c_w INT, p_c_d INT, p_c INT, p_last VARCHAR(16), p_amount DECIMAL(6,2)".to_owned()
        }
        Role::CallOrderStatus => "p_w INT, p_d INT, p_c INT, p_last VARCHAR(16)".to_owned(),
        Role::CallDelivery => "p_w INT, p_carrier INT".to_owned(),
        _ => "p_w INT, p_d INT, p_threshold INT".to_owned(),
    }
}

fn create(parameters: &TpccParameters, role: Role, set: u64) -> String {
    let profile = parameters.profile;
    let tables = Entity::ALL.map(|entity| table_name(profile, entity, set));
    let body = match role {
        Role::CallNewOrder => new_order(&tables, now(profile)),
        Role::CallPayment => payment(&tables, now(profile)),
        Role::CallOrderStatus => order_status(&tables),
        Role::CallDelivery => delivery(&tables, now(profile)),
        _ => stock_level(&tables),
    };
    format!("CREATE PROCEDURE {}({})\nBEGIN\n{body}END", name(profile, role, set), names_of_parameters(role))
}

/// Answers: whether an item does not exist, the order's number, its brand lines, its total.
fn new_order(
    [warehouse, district, customer, _, new_order, orders, order_line, item, stock]: &[String; 9],
    now: &str,
) -> String {
    let of_line = |what: &str| {
        let all: Vec<String> = (1..=LINES_MAX).map(|n| format!("p_{what}_{n}")).collect();
        format!("ELT(v_line, {})", all.join(", "))
    };
    let (item_of_line, supply, quantity) = (of_line("item"), of_line("supply"), of_line("quantity"));
    format!(
        "  DECLARE v_order, v_item, v_supply, v_quantity, v_stock INT;
  DECLARE v_line, v_missing, v_brand INT DEFAULT 0;
  DECLARE v_discount, v_w_tax, v_d_tax DECIMAL(4,4);
  DECLARE v_price, v_amount DECIMAL(6,2);
  DECLARE v_total DECIMAL(12,2) DEFAULT 0;
  DECLARE v_i_data, v_s_data VARCHAR(50);
  DECLARE v_info CHAR(24);
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  SELECT c_discount, w_tax INTO v_discount, v_w_tax FROM {customer}, {warehouse}
    WHERE w_id = p_w AND c_w_id = w_id AND c_d_id = p_d AND c_id = p_c;
  SELECT d_next_o_id, d_tax INTO v_order, v_d_tax FROM {district} WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE;
  UPDATE {district} SET d_next_o_id = v_order + 1 WHERE d_w_id = p_w AND d_id = p_d;
  INSERT INTO {orders} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (v_order, p_d, p_w, p_c, {now}, p_lines, p_all_local);
  INSERT INTO {new_order} (no_o_id, no_d_id, no_w_id) VALUES (v_order, p_d, p_w);
  WHILE v_line < p_lines DO
    SET v_line = v_line + 1, v_price = NULL;
    SET v_item = {item_of_line};
    SET v_supply = {supply};
    SET v_quantity = {quantity};
    SELECT i_price, i_data INTO v_price, v_i_data FROM {item} WHERE i_id = v_item;
    IF v_price IS NULL THEN
      SET v_missing = 1;
    ELSE
      SELECT s_quantity, s_data, ELT(p_d, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
          s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10) INTO v_stock, v_s_data, v_info
        FROM {stock} WHERE s_w_id = v_supply AND s_i_id = v_item FOR UPDATE;
      UPDATE {stock} SET s_quantity = v_stock - v_quantity + IF(v_stock - v_quantity < 10, 91, 0),
          s_ytd = s_ytd + v_quantity, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + (v_supply <> p_w)
        WHERE s_w_id = v_supply AND s_i_id = v_item;
      SET v_amount = v_quantity * v_price, v_total = v_total + v_amount;
      SET v_brand = v_brand + (v_i_data LIKE '%ORIGINAL%' AND v_s_data LIKE '%ORIGINAL%');
      INSERT INTO {order_line} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
          ol_amount, ol_dist_info)
        VALUES (v_order, p_d, p_w, v_line, v_item, v_supply, v_quantity, v_amount, v_info);
    END IF;
  END WHILE;
  SELECT v_missing, v_order, v_brand, v_total * (1 - v_discount) * (1 + v_w_tax + v_d_tax);
"
    )
}

/// The customer of a last name: of those, ordered by first name, the one in the middle (clause 2.5.2.2).
fn customer_of_name(customer: &str, w: &str, d: &str) -> String {
    let of_name = format!("FROM {customer} WHERE c_w_id = {w} AND c_d_id = {d} AND c_last = p_last");
    format!(
        "  SET v_c = p_c;
  IF v_c = 0 THEN
    SELECT (COUNT(*) + 1) DIV 2 - 1 INTO v_before {of_name};
    SELECT c_id INTO v_c {of_name} ORDER BY c_first LIMIT v_before, 1;
  END IF;
"
    )
}

/// Answers: the customer, 0 if there is none of that name; the credit.
fn payment([warehouse, district, customer, history, ..]: &[String; 9], now: &str) -> String {
    let choose = customer_of_name(customer, "p_c_w", "p_c_d");
    format!(
        "  DECLARE v_c, v_before INT DEFAULT 0;
  DECLARE v_w_name, v_d_name VARCHAR(10);
  DECLARE v_credit CHAR(2);
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
{choose}  UPDATE {customer} SET c_balance = c_balance - p_amount, c_ytd_payment = c_ytd_payment + p_amount,
      c_payment_cnt = c_payment_cnt + 1, c_data = IF(c_credit = 'BC',
        LEFT(CONCAT(CONCAT_WS(' ', c_id, c_d_id, c_w_id, p_d, p_w, p_amount), '|', c_data), 500), c_data)
    WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c;
  SELECT c_credit INTO v_credit FROM {customer} WHERE c_w_id = p_c_w AND c_d_id = p_c_d AND c_id = v_c FOR UPDATE;
  UPDATE {district} SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;
  UPDATE {warehouse} SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;
  SELECT w_name, d_name INTO v_w_name, v_d_name FROM {warehouse}, {district}
    WHERE w_id = p_w AND d_w_id = w_id AND d_id = p_d FOR UPDATE;
  INSERT INTO {history} (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (p_c_d, p_c_w, v_c, p_d, p_w, {now}, p_amount, CONCAT(v_w_name, '    ', v_d_name));
  SELECT v_c, v_credit;
"
    )
}

/// Answers the lines, and then: the customer, 0 if there is none of that name; the order, NULL if there is none.
fn order_status([_, _, customer, _, _, orders, order_line, ..]: &[String; 9]) -> String {
    let choose = customer_of_name(customer, "p_w", "p_d");
    format!(
        "  DECLARE v_c, v_before INT DEFAULT 0;
  DECLARE v_order, v_carrier INT;
  DECLARE v_balance DECIMAL(12,2);
  DECLARE v_entry DATETIME(6);
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
{choose}  SELECT c_balance INTO v_balance FROM {customer} WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_c;
  SELECT o_id, o_carrier_id, o_entry_d INTO v_order, v_carrier, v_entry FROM {orders}
    WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_c ORDER BY o_id DESC LIMIT 1;
  SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM {order_line}
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_order;
  SELECT v_c, v_order, v_carrier, v_entry, v_balance;
"
    )
}

/// Answers: delivered orders, districts that had none.
fn delivery([_, _, customer, _, new_order, orders, order_line, ..]: &[String; 9], now: &str) -> String {
    format!(
        "  DECLARE v_order, v_c INT;
  DECLARE v_amount DECIMAL(12,2);
  DECLARE v_d, v_skipped INT DEFAULT 0;
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  WHILE v_d < {DISTRICTS} DO
    SET v_d = v_d + 1, v_order = NULL;
    SELECT no_o_id INTO v_order FROM {new_order} WHERE no_w_id = p_w AND no_d_id = v_d
      ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    IF v_order IS NULL THEN
      SET v_skipped = v_skipped + 1;
    ELSE
      DELETE FROM {new_order} WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_order;
      SELECT o_c_id INTO v_c FROM {orders} WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order FOR UPDATE;
      UPDATE {orders} SET o_carrier_id = p_carrier WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_order;
      UPDATE {order_line} SET ol_delivery_d = {now} WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order;
      SELECT SUM(ol_amount) INTO v_amount FROM {order_line}
        WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_order FOR UPDATE;
      UPDATE {customer} SET c_balance = c_balance + v_amount, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
    END IF;
  END WHILE;
  SELECT v_d - v_skipped, v_skipped;
"
    )
}

/// Answers: how many items are low.
fn stock_level([_, district, _, _, _, _, order_line, _, stock]: &[String; 9]) -> String {
    format!(
        "  DECLARE v_next INT;
  SELECT d_next_o_id INTO v_next FROM {district} WHERE d_w_id = p_w AND d_id = p_d;
  SELECT COUNT(DISTINCT s_i_id) FROM {order_line}, {stock}
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id < v_next AND ol_o_id >= v_next - 20
      AND s_w_id = p_w AND s_i_id = ol_i_id AND s_quantity < p_threshold;
"
    )
}
