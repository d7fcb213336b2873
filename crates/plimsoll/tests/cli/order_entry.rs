//! Order entry as a user runs it: every profile, call style and isolation level leaves the data consistent, one seed
//! gives one set of data, and what goes wrong in a run is counted and does not end it.

use crate::harness::{Lab, counts_agree, run, signal_process};
use plimsoll_testkit::servers;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

const STYLES: [&str; 3] = ["per-row", "batched", "procedure"];
const ISOLATIONS: [&str; 3] = ["read-committed", "repeatable-read", "serializable"];
const TABLES: [&str; 9] =
    ["warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock"];
const ORDERS_TO_DELIVER: u64 = 9_000;
const DISTRICTS: u64 = 10;
/// What the server says where a transaction has to be sent again: a lock waited for too long, a deadlock, a record that
/// changed since it was read.
const TRANSIENT: [&str; 3] = ["1205", "1213", "1020"];
/// The counters that sysbench-tpcc does not keep, and what purge takes away.
const BROKEN_BY_COMPAT: [&str; 4] = ["c_payment_cnt", "s_order_cnt", "s_remote_cnt", "s_ytd"];

/// What holds however the server is reached; each style and level is among it once.
pub const BODIES: [fn(&Lab); 7] = [
    refuses_with_the_reason,
    is_killed_and_goes_on,
    meets_deadlocks_and_a_kill,
    covered,
    empty_queues_are_counted,
    every_option,
    a_function_of_the_seed,
];

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// A run at 16 connections with a check afterwards, which must succeed, and of which holds what holds of every run.
#[track_caller]
fn runs(lab: &Lab, options: &str) -> Value {
    let summary = lab.does(&format!("run tpcc --connections 16 --check --json {options}")).json();
    checks_hold(&summary, options);
    let point = &summary["points"][0];
    let errors = point["errors"].as_object().expect("errors by code");
    assert!(errors.keys().all(|code| TRANSIENT.contains(&code.as_str())), "{options}: {errors:?}");
    let retried = point["retried"].as_object().expect("retries by code");
    assert_eq!(retried.values().map(count).sum::<u64>(), count(&point["retries"]), "{options}: {retried:?}");
    // Where every read locks, or what changed since it was read is refused, all of its ten tries can meet another.
    let failed = count(&point["counts"]["failed"]);
    let crowded = summary["params"]["isolation"] == "serializable" || errors.contains_key("1020");
    assert!(failed == 0 || crowded, "{options}: {failed} failed: {errors:?}");
    statements_reconcile(lab, &summary, options);
    let entry = &point["order_entry"];
    assert_eq!(entry["profile"], summary["params"]["profile"], "{options}");
    assert_eq!(entry["fidelity"], summary["params"]["fidelity"], "{options}");
    let notes = entry["notes"].as_array().expect("notes");
    assert!(notes.iter().any(|note| note.as_str().is_some_and(|note| note.contains("TPC-C-like"))), "{notes:?}");
    summary
}

/// The same over two seconds, in which every kind of transaction of the mix occurs.
#[track_caller]
fn runs_shortly(lab: &Lab, options: &str) -> Value {
    let summary = runs(lab, &format!("--time 2s {options}"));
    let point = &summary["points"][0];
    let committed = count(&point["order_entry"]["new_orders"]["committed"]);
    assert!(count(&point["transactions"]) > committed && committed > 0, "{options}: {point}");
    let nopm = point["nopm"].as_f64().expect("new orders per minute");
    let seconds = point["seconds"].as_f64().expect("a window");
    assert!((nopm * seconds / 60.0 - committed as f64).abs() < 0.5, "{options}: {nopm}, {committed} in {seconds} s");
    summary
}

/// Every check holds, each of the twelve conditions is among them, and nothing is skipped but what compat does not keep.
#[track_caller]
fn checks_hold(summary: &Value, options: &str) {
    let checks = summary["checks"].as_array().expect("--check was asked for");
    let name = |check: &Value| check["name"].as_str().expect("a name").to_owned();
    let broken: Vec<_> = checks.iter().filter(|check| check["holds"] != true).collect();
    assert!(broken.is_empty(), "{options}: {broken:#?}");
    let (skipped, asked): (Vec<&Value>, Vec<&Value>) = checks.iter().partition(|check| !check["skipped"].is_null());
    let expected: BTreeSet<String> = match summary["params"]["fidelity"] == "compat" {
        true => BROKEN_BY_COMPAT.map(str::to_owned).into(),
        false => BTreeSet::new(),
    };
    let first_word = |name: String| name.split(' ').next().expect("a word").to_owned();
    if summary["params"]["purge"] == false {
        assert_eq!(skipped.into_iter().map(name).map(first_word).collect::<BTreeSet<_>>(), expected, "{options}");
        for condition in 1..=12 {
            let named = |check: &&Value| name(check).starts_with(&format!("condition {condition}:"));
            assert!(asked.iter().any(named), "{options}: condition {condition} was not asked");
        }
    }
}

/// We and the server count the same; of what a procedure does inside, only the server knows.
#[track_caller]
fn statements_reconcile(lab: &Lab, summary: &Value, options: &str) {
    let (ours, theirs) = (&summary["totals"]["statements"], &summary["server"]["statements"]);
    if summary["params"]["call_style"] != "procedure" || lab.is_remote() {
        return counts_agree(lab, summary, options);
    }
    for kind in ["begin", "commit", "rollback", "call"] {
        assert_eq!(ours[kind], theirs[kind], "{options}: {kind}");
    }
    assert!(count(&ours["call"]) > 0 && count(&theirs["select"]) > count(&ours["select"]), "{options}: {ours}");
}

#[track_caller]
fn ended(point: &Value, transaction: &str) -> u64 {
    let all = point["operations"].as_array().expect("a list");
    let found = all.iter().find(|one| one["kind"] == "transaction" && one["name"] == transaction);
    found.map_or(0, |operation| count(&operation["count"]))
}

/// The least that shows that it works.
pub fn in_one_way(lab: &Lab) {
    lab.up("");
    lab.does("load tpcc");
    runs_shortly(lab, "");
    lab.does("check tpcc");
    lab.does("drop tpcc");
}

/// At least once each: three profiles, three call styles, three isolation levels, both fidelities.
fn covered(lab: &Lab) {
    lab.up("");
    lab.does("load tpcc");
    runs_shortly(lab, "--profile spec --call-style batched --isolation repeatable-read");
    runs_shortly(lab, "--profile dbt2 --call-style procedure --isolation read-committed");
    lab.does("check tpcc");
    lab.does("drop tpcc");
    lab.does("load tpcc --profile sysbench --tables 2");
    let strict = runs_shortly(lab, "--call-style per-row --isolation serializable");
    assert_eq!((&strict["params"]["profile"], &strict["params"]["tables"]), (&"sysbench".into(), &2.into()));
    runs_shortly(lab, "--fidelity compat");
    let checked = lab.does("check tpcc");
    assert!(BROKEN_BY_COMPAT.iter().all(|name| checked.out.contains(&format!("skipped {name} "))), "{checked}");
    lab.does("drop tpcc");
}

#[test]
#[ignore = "all combinations; make test-all"]
fn profiles_call_styles_and_isolation_levels_are_consistent_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    covered(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn profiles_call_styles_and_isolation_levels_are_consistent_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    covered(&lab);
}

/// All of them with each other, over two warehouses.
fn every_way(lab: &Lab) {
    lab.up("");
    let styles_and_levels = || STYLES.into_iter().flat_map(|style| ISOLATIONS.map(|level| (style, level)));
    lab.does("load tpcc --warehouses 2");
    for profile in ["spec", "dbt2"] {
        for (style, level) in styles_and_levels() {
            runs_shortly(lab, &format!("--profile {profile} --call-style {style} --isolation {level}"));
        }
    }
    lab.does("drop tpcc");
    lab.does("load tpcc --profile sysbench --tables 2 --warehouses 2");
    for (style, level) in styles_and_levels() {
        runs_shortly(lab, &format!("--call-style {style} --isolation {level}"));
    }
    for level in ISOLATIONS {
        runs_shortly(lab, &format!("--fidelity compat --isolation {level}"));
    }
}

#[test]
#[ignore = "30 runs; make test-all"]
fn every_profile_call_style_and_isolation_level_is_consistent_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    every_way(&lab);
}

#[test]
#[ignore = "30 runs; make test-all"]
fn every_profile_call_style_and_isolation_level_is_consistent_on_the_next_mariadb() {
    let Some(lab) = Lab::mariadb_new() else { return };
    every_way(&lab);
}

#[test]
#[ignore = "30 runs; make test-all"]
fn every_profile_call_style_and_isolation_level_is_consistent_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    every_way(&lab);
}

/// What else can be asked of one set of data.
fn every_option_of_a_run(lab: &Lab) {
    lab.does("load tpcc --warehouses 2");
    let deferred = runs_shortly(lab, "--delivery deferred");
    assert!(ended(&deferred["points"][0], "deferred_delivery") > 0, "{deferred}");
    runs_shortly(lab, "--affinity slice");
    runs_shortly(lab, "--affinity random");
    let prepared = || lab.value("SHOW GLOBAL STATUS LIKE 'Com_stmt_prepare'").parse::<u64>().expect("a count");
    let before = prepared();
    runs_shortly(lab, "--protocol text");
    assert_eq!(prepared(), before, "text is not prepared");
    runs_shortly(lab, "--protocol prepared");
    assert!(prepared() >= before + 16, "every connection prepares");
    let point = &runs(lab, "--rate 50 --time 4s")["points"][0];
    assert_eq!(point["rate_offered"], 50.0);
    // 200 are expected, with a standard deviation of 14.
    assert!((100..=300).contains(&count(&point["counts"]["offered"])), "{}", point["counts"]);
    assert!(point["response_ms"]["p90"].is_number(), "an open loop has response times");
    // A terminal takes 21 s for each, so 20 of them begin 8 in this time.
    let paced = count(&runs(lab, "--pacing spec --time 8s")["points"][0]["transactions"]);
    assert!((1..=40).contains(&paced), "{paced} transactions, where an unpaced run has thousands");
    let narrowed = runs_shortly(lab, "--warehouses 1");
    assert_eq!(narrowed["params"]["warehouses"], 1, "and yet the data are consistent as a whole");
    lab.does("drop tpcc");
}

fn every_option_of_a_load(lab: &Lab) {
    let keys = "SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema = 'sbtest'";
    let id = "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = 'sbtest' AND \
              table_name LIKE 'history%' AND column_name = 'id' AND extra = 'auto_increment'";
    let parts = "SELECT COUNT(*) FROM information_schema.partitions WHERE table_schema = 'sbtest' AND \
                 partition_name IS NOT NULL AND table_name = ";
    lab.does("load tpcc --fk enforced --history-pk auto");
    assert_eq!((lab.value(keys), lab.value(id)), ("10".to_owned(), "1".to_owned()));
    assert_eq!(runs_shortly(lab, "")["params"]["fk"], "enforced");
    assert_eq!(runs_shortly(lab, "--fk declared --call-style per-row")["params"]["fk"], "declared");
    lab.does("drop tpcc");
    lab.does("load tpcc --warehouses 2 --partitions 4");
    assert_eq!(lab.value(&format!("{parts} 'stock'")), "4");
    assert_eq!(lab.value(&format!("{parts} 'item'")), "0", "it has no warehouse");
    runs_shortly(lab, "");
    lab.does("drop tpcc");
    lab.does("load tpcc --profile sysbench --scale 1 --use-fk 0 --force-pk 1");
    assert_eq!((lab.value(keys), lab.value(id)), ("0".to_owned(), "1".to_owned()));
    let summary = runs_shortly(lab, "--scale 1 --trx-level RC --enable-purge yes");
    let params = &summary["params"];
    assert_eq!((&params["warehouses"], &params["isolation"]), (&1.into(), &"read-committed".into()));
    assert_eq!(
        (&params["fk"], &params["history_pk"], &params["purge"]),
        (&"none".into(), &"auto".into(), &true.into())
    );
    assert!(ended(&summary["points"][0], "purge") > 0, "{summary}");
    lab.does("drop tpcc");
}

/// Where a queue is all but empty, compat locks orders that are younger than its snapshot. The original ends there.
fn snapshots_behind_are_counted(lab: &Lab) {
    lab.does("load tpcc --profile sysbench --tables 2");
    let compat = "--tables 1 --fidelity compat --isolation repeatable-read";
    runs(lab, &format!("{compat} --mix 0/0/0/1/0 --events 1000"));
    let point = &runs(lab, &format!("{compat} --mix 1/0/0/4/0 --time 3s"))["points"][0];
    let notes = point["order_entry"]["notes"].as_array().expect("notes");
    let given_up = notes.iter().filter_map(Value::as_str).find_map(|note| note.split("had locked: ").nth(1));
    let given_up: u64 = given_up.map_or(0, |text| text.parse().expect("a count"));
    // With innodb_snapshot_isolation the server refuses to lock such an order.
    let refused = point["errors"].get("1020").map_or(0, count);
    assert!(given_up + refused > 0, "{notes:?}, {}", point["errors"]);
    assert!(count(&point["rollbacks"]) >= given_up, "{given_up} of {}", point["rollbacks"]);
    lab.does("drop tpcc");
}

fn every_option(lab: &Lab) {
    lab.up("");
    every_option_of_a_run(lab);
    every_option_of_a_load(lab);
    snapshots_behind_are_counted(lab);
}

#[test]
#[ignore = "5 loads and 15 runs; make test-all"]
fn every_option_is_consistent_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    every_option(&lab);
}

#[test]
#[ignore = "5 loads and 15 runs; make test-all"]
fn every_option_is_consistent_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    every_option(&lab);
}

/// Kills a load with 2 threads in its middle and lets another number of threads go on.
fn killed_and_gone_on(lab: &Lab, options: &str) {
    let mut load = lab.begins(&format!("load tpcc --threads 2 {options}"));
    lab.wait_until_loaded(&mut load, "sbtest", 3);
    load.kill();
    lab.ends("run tpcc").refuses(2, &["not completely loaded", "plimsoll load"]);
    lab.does(&format!("load tpcc --threads 4 {options}")).tells(&[", continued)"]);
    lab.does("check tpcc");
}

fn is_killed_and_goes_on(lab: &Lab) {
    lab.up("");
    killed_and_gone_on(lab, "");
    lab.does("load tpcc --threads 1 --database one");
    assert_eq!(lab.checksums_of("sbtest", &TABLES), lab.checksums_of("one", &TABLES), "as if nobody had killed it");
}

#[test]
#[ignore = "3 loads; make test-all"]
fn a_killed_load_ends_with_the_same_data() {
    let Some(lab) = Lab::mariadb() else { return };
    is_killed_and_goes_on(&lab);
}

fn a_function_of_the_seed(lab: &Lab) {
    lab.up("");
    let numbered: Vec<String> =
        (1..=2).flat_map(|set| TABLES.map(|table| format!("{}{set}", plural_of(table)))).collect();
    let numbered: Vec<&str> = numbered.iter().map(String::as_str).collect();
    for (options, tables) in [("--warehouses 2", &TABLES[..]), ("--profile sysbench --tables 2", &numbered)] {
        let load = |options: &str, database: &str| {
            lab.does(&format!("load tpcc {options} --database {database}"));
            let found = lab.checksums_of(database, tables);
            lab.does(&format!("drop tpcc --database {database}"));
            found
        };
        let alone = load(&format!("--threads 1 {options}"), "one");
        assert_eq!(load(&format!("--threads 2 {options}"), "two"), alone, "{options}");
        assert_eq!(load(&format!("--threads 4 {options}"), "four"), alone, "{options}");
        let other = load(&format!("--threads 4 --seed 2 {options}"), "other");
        for (table, (ours, others)) in tables.iter().zip(alone.iter().zip(&other)) {
            // Nothing but numbers, the same ones in every load.
            let fixed = table.starts_with("new_order");
            assert_eq!(ours == others, fixed, "{table}: the seed changes every other table: {options}");
        }
        killed_and_gone_on(lab, options);
        assert_eq!(lab.checksums_of("sbtest", tables), alone, "as if nobody had killed it: {options}");
        lab.does("drop tpcc");
    }
}

/// sysbench-tpcc has its own name for one of the tables.
fn plural_of(table: &str) -> &str {
    if table == "new_order" { "new_orders" } else { table }
}

#[test]
#[ignore = "10 loads; make test-all"]
fn data_of_order_entry_are_a_function_of_the_seed_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_function_of_the_seed(&lab);
}

#[test]
#[ignore = "10 loads; make test-all"]
fn data_of_order_entry_are_a_function_of_the_seed_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_function_of_the_seed(&lab);
}

/// Delivers all there is and 20 times more, then delivers while new orders come in one by one.
fn empty_queues_are_counted(lab: &Lab) {
    lab.up("");
    lab.does("load tpcc");
    let deliveries = ORDERS_TO_DELIVER / DISTRICTS + 20;
    let point = &runs(lab, &format!("--mix 0/0/0/1/0 --events {deliveries}"))["points"][0];
    assert_eq!(count(&point["counts"]["finished"]), deliveries);
    assert_eq!(
        point["order_entry"]["skipped_districts"],
        20 * DISTRICTS,
        "each counts once, however often it was tried"
    );
    assert_eq!(point["order_entry"]["backlog"], serde_json::json!({ "start": ORDERS_TO_DELIVER, "end": 0 }));
    assert_eq!(lab.value("SELECT COUNT(*) FROM sbtest.new_order"), "0");
    for (level, style) in ISOLATIONS.into_iter().zip(STYLES) {
        let options = format!("--time 2s --mix 1/0/0/4/0 --isolation {level} --call-style {style}");
        let point = &runs(lab, &options)["points"][0];
        assert!(count(&point["order_entry"]["skipped_districts"]) > 0, "{options}: {}", point["order_entry"]);
        assert!(ended(point, "new_order") > 0 && ended(point, "delivery") > 0, "{options}: {}", point["errors"]);
    }
}

#[test]
#[ignore = "runs until queues are empty; make test-all"]
fn empty_district_queues_do_not_end_a_run() {
    let Some(lab) = Lab::mariadb() else { return };
    empty_queues_are_counted(&lab);
}

#[test]
#[ignore = "once more on MySQL; make test-all"]
fn empty_district_queues_do_not_end_a_run_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    empty_queues_are_counted(&lab);
}

/// Under SERIALIZABLE every read locks, so that new orders and payments of one warehouse meet.
fn deadlocks_are_retried(lab: &Lab) {
    lab.up("");
    lab.does("load tpcc");
    let summary = runs_shortly(lab, "--isolation serializable");
    let point = &summary["points"][0];
    let (met, retried) = (&point["errors"]["1213"], &point["retried"]["1213"]);
    assert!(met.is_u64() && retried.is_u64(), "{} and {}", point["errors"], point["retried"]);
    // Deadlocks, and on some servers records that changed since they were read.
    let sum = |of: &str| point[of].as_object().expect("counts by code").values().map(count).sum::<u64>();
    let (met, retried, failed) = (sum("errors"), sum("retried"), count(&point["counts"]["failed"]));
    // What is met at an edge of the window may be retried beyond it.
    assert!(met.abs_diff(retried + failed) <= 16, "{met} errors, {retried} retries, {failed} failed");
    assert_eq!(ended(point, "transaction"), count(&point["transactions"]) + count(&point["rollbacks"]));
    let rollbacks = count(&summary["totals"]["statements"]["rollback"]);
    assert!(rollbacks >= count(&point["rollbacks"]) + retried, "each retry begins with a ROLLBACK: {rollbacks}");
    let told = summary["caveats"].as_array().expect("a list").iter().any(|caveat| caveat["code"] == "failed");
    assert_eq!(told, failed > 0);
}

/// The server vanishes in mid run: what was measured is kept, and what clients were told by then is not known.
fn killed_server_ends_the_run(lab: &Lab) {
    lab.restarts();
    for earlier in lab.recordings() {
        fs::remove_dir_all(earlier).expect("a recording can be removed");
    }
    let mut run = lab.begins("run tpcc --connections 16 --time 30s --json");
    lab.wait_until_measured(&mut run);
    signal_process(lab.control().peer_pid().expect("a local server"), Signal::KILL);
    let known: &[&str] = if lab.is_remote() { &[] } else { &["the private server is gone", "error log"] };
    let done = run.end().exits(3).tells(&["ended early"]).tells(known);
    if lab.is_remote() {
        // Nobody else starts it again.
        lab.up("");
    }
    let summary = done.json();
    let point = &summary["points"][0];
    assert_eq!(summary["interrupted"], true);
    assert!(count(&point["transactions"]) > 0 && point["nopm"].as_f64().is_some_and(|nopm| nopm > 0.0), "{point}");
    assert_eq!(point["order_entry"]["profile"], "spec");
    let checked = lab.does("check tpcc");
    assert!(checked.out.contains("a run did not end") && !checked.out.contains("BROKEN"), "{checked}");
}

fn meets_deadlocks_and_a_kill(lab: &Lab) {
    deadlocks_are_retried(lab);
    killed_server_ends_the_run(lab);
}

#[test]
fn deadlocks_are_retried_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    deadlocks_are_retried(&lab);
}

#[test]
#[ignore = "a kill as well; make test-all"]
fn deadlocks_are_retried_and_a_killed_server_leaves_consistent_data_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    meets_deadlocks_and_a_kill(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn deadlocks_are_retried_and_a_killed_server_leaves_consistent_data_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    meets_deadlocks_and_a_kill(&lab);
}

fn refuses_with_the_reason(lab: &Lab) {
    for (options, texts) in [
        ("--mix 45/43/4/4", vec!["mix", "45/43/4/4", "five weights"]),
        ("--isolation chaos", vec!["isolation", "chaos", "read-committed"]),
        ("--warehouses 0", vec!["warehouses", "'0'", "1 to 1000000"]),
        ("--profile spec --tables 2", vec!["2 table sets", "profile spec", "profile sysbench"]),
        ("--profile spec --fidelity compat", vec!["compat", "profile spec", "profile sysbench"]),
        ("--profile sysbench --fidelity compat --protocol prepared", vec!["prepared", "compat", "text"]),
        ("--profile sysbench --fidelity compat --call-style batched", vec!["compat", "call-style batched", "per-row"]),
        ("--pacing spec --rate 50", vec!["--rate", "pacing spec"]),
        ("--table-size 5", vec!["table-size", "tpcc"]),
    ] {
        lab.ends(&format!("run tpcc {options}")).refuses(2, &texts).in_one_message();
    }
    assert!(lab.does("server list").out.is_empty(), "nothing was started");
    lab.up("");
    lab.ends("run tpcc").refuses(2, &["no database `sbtest`", "plimsoll load tpcc"]).in_one_message();
    lab.does("load oltp_read_write --table-size 10");
    lab.ends("run tpcc").refuses(2, &["plimsoll load tpcc"]).in_one_message();
    lab.does("drop oltp_read_write");
    lab.does("load tpcc");
    lab.ends("load tpcc --warehouses 2").refuses(2, &["already", "warehouses=1", "plimsoll drop"]).in_one_message();
    for (options, texts) in [
        ("--warehouses 2", vec!["2 warehouses", "1 are loaded"]),
        ("--tables 2", vec!["2 table sets", "profile spec"]),
        ("--scale 1", vec!["'scale'", "profile spec", "'warehouses'"]),
        ("--fidelity compat", vec!["compat", "profile spec", "profile sysbench"]),
        ("--profile sysbench", vec!["profile sysbench", "loaded with profile spec"]),
        ("--fk enforced", vec!["fk enforced", "without foreign keys"]),
        ("--history-pk auto", vec!["history-pk auto", "loaded with none"]),
        ("--partitions 4", vec!["partitions 4", "loaded with 0"]),
    ] {
        lab.ends(&format!("run tpcc {options}")).refuses(2, &texts).in_one_message();
    }
    assert!(lab.recordings().is_empty(), "what was refused left no recording");
}

#[test]
fn what_cannot_be_run_is_refused_with_the_reason() {
    let Some(lab) = Lab::mariadb() else { return };
    refuses_with_the_reason(&lab);
}

#[test]
fn the_description_names_every_parameter_and_never_claims_to_be_the_standard() {
    let home = servers::home();
    let said = |words: &[&str]| {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.args(words);
        run(command).exits(0).out
    };
    let described = said(&["workloads", "tpcc"]);
    let own = "profile fidelity warehouses tables mix pacing affinity call-style isolation fk history-pk partitions \
               sort-lines delivery purge load-date";
    let aliases = "scale trx-level use-fk force-pk enable-purge";
    for name in own.split(' ').chain(aliases.split(' ')) {
        assert!(described.contains(&format!("\n  --{name} ")), "--{name} is not described: {described}");
    }
    assert!(described.contains("TPC-C-like") && !described.to_lowercase().contains("tpmc"), "{described}");
    assert!(said(&["workloads"]).contains("tpcc"));
}
