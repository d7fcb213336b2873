//! The tables and rows of order entry on real servers: what is created is what a check looks for, and what is loaded is
//! complete.

mod private;

use plimsoll_engine::control::Control;
use plimsoll_testkit::servers;
use plimsoll_workloads::dataset::Dataset;
use plimsoll_workloads::tpcc::TpccParameters;
use plimsoll_workloads::tpcc::load::OrderEntryData;
use plimsoll_workloads::tpcc::schema::{Entity, TpccSchema, table_name};
use private::with_server;
use std::path::PathBuf;
use std::time::Duration;

/// Calls `test` with a connection to a private server of each.
#[track_caller]
fn on(binaries: Vec<PathBuf>, test: impl Fn(&mut Control)) {
    for binary in binaries {
        with_server(&binary, "512M", |endpoint| {
            let mut control = Control::open(&endpoint).unwrap_or_else(|failure| panic!("{failure}"));
            control.set_limit(Duration::from_secs(300));
            test(&mut control);
        });
    }
}

#[track_caller]
fn run(control: &mut Control, sql: &str) {
    control.run(sql).unwrap_or_else(|failure| panic!("{}: {failure}", &sql[..sql.len().min(300)]));
}

/// The rows of an answer, their fields joined by spaces.
#[track_caller]
fn rows(control: &mut Control, sql: &str) -> Vec<String> {
    let answer = control.rows(sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    let words = |row: Vec<Option<String>>| row.into_iter().map(|field| field.unwrap_or("NULL".to_owned()));
    answer.rows.into_iter().map(|row| words(row).collect::<Vec<_>>().join(" ")).collect()
}

fn parameters(pairs: &[(&str, &str)]) -> TpccParameters {
    TpccParameters::parse(pairs.iter().copied()).unwrap_or_else(|error| panic!("{error}"))
}

/// Makes a database with the empty tables.
fn create(control: &mut Control, data: &OrderEntryData) {
    run(control, "DROP DATABASE IF EXISTS order_entry");
    run(control, "CREATE DATABASE order_entry");
    run(control, "USE order_entry");
    run(control, "SET SESSION unique_checks = 0, foreign_key_checks = 0");
    data.tables().iter().for_each(|table| run(control, &table.create));
}

/// Adds indexes and foreign keys, the latter checked where all tests run: that copies every table.
fn complete(control: &mut Control, data: &OrderEntryData) {
    data.tables().iter().flat_map(|table| table.after.clone()).for_each(|sql| run(control, &sql));
    run(control, &format!("SET SESSION foreign_key_checks = {}", u8::from(servers::all())));
    data.after_all().iter().for_each(|sql| run(control, sql));
}

#[test]
fn every_layout_is_created_as_a_check_looks_for_it() {
    on(servers::of_each_flavour(), |control| {
        for pairs in [
            &[("profile", "spec")][..],
            &[("profile", "dbt2"), ("fk", "enforced"), ("history-pk", "auto")],
            &[("partitions", "4"), ("history-pk", "auto")],
            &[("profile", "sysbench"), ("tables", "2"), ("force-pk", "1")],
            &[("profile", "sysbench"), ("use-fk", "0"), ("partitions", "3")],
        ] {
            let (parameters, data) = (parameters(pairs), OrderEntryData::new(&parameters(pairs), 1));
            create(control, &data);
            complete(control, &data);
            let schema = TpccSchema::new(&parameters);
            for (set, entity) in schema.sets().flat_map(|set| Entity::ALL.map(|entity| (set, entity))) {
                let name = schema.table_name(entity, set);
                let found = rows(
                    control,
                    &format!(
                        "SELECT COLUMN_NAME, DATA_TYPE, IF(DATA_TYPE = 'text', NULL, CHARACTER_MAXIMUM_LENGTH) \
                         FROM information_schema.columns WHERE TABLE_SCHEMA = 'order_entry' AND TABLE_NAME = '{name}' \
                         ORDER BY ORDINAL_POSITION"
                    ),
                );
                let expected = schema.columns(entity).into_iter().map(|column| {
                    let characters = column.characters.map_or("NULL".to_owned(), |characters| characters.to_string());
                    format!("{} {} {characters}", column.name, column.data_type)
                });
                assert_eq!(found, expected.collect::<Vec<_>>(), "{name} of {pairs:?}");
            }
            let keys = "SELECT COUNT(*) FROM information_schema.referential_constraints \
                        WHERE CONSTRAINT_SCHEMA = 'order_entry'";
            let sets = if parameters.has_foreign_keys() { parameters.tables } else { 0 };
            assert_eq!(rows(control, keys), [(sets * 10).to_string()], "{pairs:?}");
        }
    });
}

/// What clause 3.3.2 wants of the loaded data, for the tables of the first set: each answers with no row.
fn violations(name: &dyn Fn(Entity) -> String) -> Vec<String> {
    use Entity::{Customer, District, History, NewOrder, OrderLine, Orders, Warehouse};
    let [w, d, c, h, n, o, l] = [Warehouse, District, Customer, History, NewOrder, Orders, OrderLine].map(name);
    vec![
        format!("SELECT w_id FROM {w} WHERE w_ytd <> (SELECT SUM(d_ytd) FROM {d} WHERE d_w_id = w_id)"),
        format!("SELECT w_id FROM {w} WHERE w_ytd <> (SELECT SUM(h_amount) FROM {h} WHERE h_w_id = w_id)"),
        format!(
            "SELECT d_id FROM {d} WHERE d_next_o_id - 1 <> (SELECT MAX(o_id) FROM {o} WHERE o_w_id = d_w_id AND o_d_id = d_id) \
             OR d_next_o_id - 1 <> (SELECT MAX(no_o_id) FROM {n} WHERE no_w_id = d_w_id AND no_d_id = d_id)"
        ),
        format!(
            "SELECT o_id FROM {o} LEFT JOIN {n} ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
             WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)"
        ),
        format!(
            "SELECT o_id FROM {o} WHERE o_ol_cnt <> (SELECT COUNT(*) FROM {l} WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id \
             AND ol_o_id = o_id AND (ol_delivery_d IS NULL) = (o_carrier_id IS NULL))"
        ),
        format!(
            "SELECT c_id FROM {c} LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) a FROM {o} JOIN {l} ON \
             ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY 1, 2, 3) x \
             ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id WHERE c_balance + c_ytd_payment <> COALESCE(a, 0)"
        ),
        format!("SELECT o_c_id FROM {o} GROUP BY o_w_id, o_d_id, o_c_id HAVING COUNT(*) <> 1"),
    ]
}

/// The rows of some ids by INSERT, as the loader sends them where it may not stream.
fn insert(control: &mut Control, data: &OrderEntryData, table: usize, ids: impl Iterator<Item = u64>) {
    let prefix = data.tables()[table].insert.clone().into_bytes();
    let mut statement = prefix.clone();
    for id in ids {
        if statement.len() > prefix.len() {
            statement.push(b',');
        }
        data.append_values(table, id, &mut statement);
        if statement.len() > 1 << 20 {
            run(control, std::str::from_utf8(&statement).expect("ASCII"));
            statement.clone_from(&prefix);
        }
    }
    if statement.len() > prefix.len() {
        run(control, std::str::from_utf8(&statement).expect("ASCII"));
    }
}

/// All rows of a table by LOAD DATA; how many the server took, and how many warnings it has about them.
fn stream(control: &mut Control, data: &OrderEntryData, table: usize) -> (u64, Vec<String>) {
    let (ids, sql) = (data.tables()[table].ids, data.tables()[table].load_data.clone());
    let mut next = 1;
    let mut made = 0;
    let loading = control.load_data(&sql, |out| {
        while next <= ids && out.len() < 1 << 18 {
            made += data.append_tsv(table, next, out);
            next += 1;
        }
        next <= ids
    });
    loading.unwrap_or_else(|failure| panic!("{sql}: {failure}"));
    (made, rows(control, "SHOW WARNINGS"))
}

#[test]
fn the_first_district_can_be_inserted_in_either_layout() {
    on(servers::of_each_flavour(), |control| {
        for pairs in [&[("history-pk", "auto")][..], &[("profile", "sysbench")]] {
            let data = OrderEntryData::new(&parameters(pairs), 5);
            create(control, &data);
            for (table, entity) in Entity::ALL.into_iter().enumerate() {
                let ids = match entity {
                    Entity::Warehouse | Entity::District => 1,
                    Entity::NewOrder => 900,
                    Entity::Item | Entity::Stock => 1_000,
                    _ => 3_000,
                };
                insert(control, &data, table, 1..=ids);
                assert!(rows(control, "SHOW WARNINGS").is_empty(), "{entity:?} of {pairs:?}");
            }
            let name = |entity| table_name(parameters(pairs).profile, entity, 1);
            // The sums over all districts hold for whole warehouses only, and the last two take a server minutes that
            // has no statistics of the new rows yet.
            for query in &violations(&name)[2..5] {
                assert_eq!(rows(control, query), [""; 0], "{query}");
            }
            let lines = format!("SELECT COUNT(*), SUM(o_ol_cnt) FROM {}", name(Entity::Orders));
            assert_eq!(rows(control, &lines), ["3000 30000"]);
        }
    });
}

#[test]
fn a_streamed_warehouse_is_whole_and_its_foreign_keys_hold() {
    on(servers::of_one_flavour(), |control| {
        for pairs in [&[("fk", "enforced")][..], &[("profile", "sysbench")]] {
            let data = OrderEntryData::new(&parameters(pairs), 5);
            create(control, &data);
            for (table, description) in data.tables().into_iter().enumerate() {
                let (made, warnings) = stream(control, &data, table);
                assert_eq!((made, warnings), (description.rows, Vec::new()), "{}", description.name);
                let count = rows(control, &format!("SELECT COUNT(*) FROM {}", description.name));
                assert_eq!(count, [description.rows.to_string()], "{}", description.name);
            }
            complete(control, &data);
            let name = |entity| table_name(parameters(pairs).profile, entity, 1);
            for query in violations(&name) {
                assert_eq!(rows(control, &query), [""; 0], "{query}");
            }
            if !servers::all() {
                break;
            }
        }
    });
}
