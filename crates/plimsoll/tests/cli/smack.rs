//! super-smack's two workloads as the articles ran them: 10 clients, each with the same number of rounds, on both of
//! the storage engines of that time.

use crate::harness::Lab;
use serde_json::Value;
use std::time::Duration;

const CONNECTIONS: u64 = 10;
const ROWS: u64 = 90_000;

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

/// Longer than 100,000 updates take beside other tests.
const PATIENCE: Duration = Duration::from_secs(900);

/// A round of select-key asks twice, one of update-select asks and updates once. Gives the point.
#[track_caller]
fn rounds(lab: &Lab, workload: &str, rounds: u64, options: &str) -> Value {
    let clients = format!("--connections {CONNECTIONS} --events-per-connection {rounds}");
    let run = lab.begins(&format!("run {workload} {clients} --check --json {options}"));
    let summary = run.end_within(PATIENCE).exits(0).json();
    let way = format!("{workload} {options}");
    let all = CONNECTIONS * rounds;
    let (selects, updates) = if workload == "smack_select_key" { (2 * all, 0) } else { (all, all) };
    let point = &summary["points"][0];
    assert_eq!(point["counts"]["finished"], all, "{way}");
    assert_eq!(point["errors"], serde_json::json!({}), "{way}");
    for side in ["totals", "server"] {
        let statements = summary[side]["statements"].as_object().expect("counts by kind");
        let sent = |kind: &str| count(&statements[kind]);
        assert_eq!((sent("select"), sent("update")), (selects, updates), "{way}, {side}");
        assert_eq!(statements.values().map(count).sum::<u64>(), selects + updates, "nothing else: {way}, {side}");
    }
    let checks = summary["checks"].as_array().expect("--check was asked for");
    assert!(checks.len() >= 6, "rows and keys are known where the seed is: {checks:?}");
    assert!(checks.iter().all(|check| check["holds"] == true && check["skipped"].is_null()), "{way}: {checks:#?}");
    listing_holds(point, workload, selects, updates);
    point.clone()
}

/// The listing is super-smack's, with our numbers: queries of each type over the wall time.
#[track_caller]
fn listing_holds(point: &Value, workload: &str, selects: u64, updates: u64) {
    let listing = point["original_listing"].as_str().expect("a listing");
    let client = if workload == "smack_select_key" { "smacker1" } else { "smacker" };
    assert!(listing.starts_with(&format!("Query Barrel Report for client {client}\n")), "{listing}");
    assert!(listing.contains("Query_type\tnum_queries\tmax_time\tmin_time\tq_per_s\n"), "{listing}");
    let expected = [("select_index", selects), ("update_index", updates)];
    for (query_type, queries) in expected.into_iter().filter(|(_, queries)| *queries > 0) {
        let line = listing.lines().find(|line| line.starts_with(query_type)).unwrap_or_else(|| panic!("{listing}"));
        let columns: Vec<&str> = line.split('\t').collect();
        assert_eq!((columns.len(), columns[1]), (5, queries.to_string().as_str()), "{listing}");
        let (slowest, fastest): (u64, u64) = (columns[2].parse().expect("ms"), columns[3].parse().expect("ms"));
        assert!(fastest <= slowest, "{line}");
        // Connecting counts in the original's time, so its rate cannot be above that of the window.
        let rate: f64 = columns[4].parse().expect("a rate");
        let seconds = point["seconds"].as_f64().expect("a window");
        assert!(rate > 0.0 && rate * seconds <= queries as f64 * 1.001, "{line} in {seconds} s");
    }
    assert_eq!(listing.contains("update_index"), updates > 0, "{listing}");
}

/// Both workloads on one set of data per engine.
fn as_the_articles_ran_them(lab: &Lab, engines: &[&str], each: u64) {
    lab.up("");
    for engine in engines {
        lab.does(&format!("load smack_select_key --engine {engine}"));
        let there = lab.value("SELECT engine FROM information_schema.tables WHERE table_name = 'http_auth'");
        assert_eq!(there.to_lowercase(), *engine);
        assert_eq!(lab.value("SELECT COUNT(*) FROM sbtest.http_auth"), ROWS.to_string());
        rounds(lab, "smack_select_key", each, "");
        assert_eq!(updated(lab), 0, "selects change nothing");
        rounds(lab, "smack_update_select", each, "");
        let of_the_dictionary = updated(lab);
        assert!((1..=750).contains(&of_the_dictionary), "{of_the_dictionary} of the 750 keys were updated");
        rounds(lab, "smack_update_select", each, "--keys full");
        let of_all = updated(lab);
        assert!(of_all > of_the_dictionary + each, "{of_the_dictionary}, then {of_all} rows were updated");
        lab.does("check smack_update_select");
        lab.does("drop smack_update_select");
    }
}

/// Rows whose password was replaced by their own name, which is what the update writes.
#[track_caller]
fn updated(lab: &Lab) -> u64 {
    lab.value("SELECT COUNT(*) FROM sbtest.http_auth WHERE pass REGEXP '[0-9]'").parse().expect("a count")
}

#[test]
fn smack_counts_every_query_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    as_the_articles_ran_them(&lab, &["innodb", "myisam", "aria"], 40);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn smack_counts_every_query_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    as_the_articles_ran_them(&lab, &["innodb", "myisam"], 100);
}

#[test]
#[ignore = "1.2 million selects and 600,000 updates; make test-all"]
fn smack_as_the_articles_ran_it_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    as_the_articles_ran_them(&lab, &["innodb", "myisam", "aria"], 10_000);
}

#[test]
#[ignore = "800,000 selects and 400,000 updates; make test-all"]
fn smack_as_the_articles_ran_it_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    as_the_articles_ran_them(&lab, &["innodb", "myisam"], 10_000);
}

#[test]
fn a_person_is_shown_the_listing_of_the_original() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load smack_update_select --rows 1000");
    let done = lab.does("run smack_update_select --connections 10 --events-per-connection 20");
    for text in ["Query Barrel Report for client smacker", "select_index", "update_index"] {
        assert!(done.out.contains(text), "{text}: {done}");
    }
    lab.ends("run smack_update_select --rows 2000").refuses(2, &["rows 2000", "loaded with 1000"]).in_one_message();
    lab.ends("run smack_update_select --engine myisam").refuses(2, &["engine myisam", "innodb"]).in_one_message();
    lab.ends("run smack_select_key --keys all").refuses(2, &["keys", "'all'", "exact, full"]).in_one_message();
    lab.sql(&["DELETE FROM sbtest.http_auth WHERE uid = 7"]);
    let done = lab.ends("check smack_select_key").exits(1);
    assert!(done.out.contains("BROKEN  rows of http_auth"), "{done}");
}
