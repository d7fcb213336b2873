//! Open loops, and runs of a fixed amount of work.

use crate::harness::{Lab, all_statements};
use plimsoll_testkit::servers::timed_run;
use serde_json::Value;

fn count(point: &Value, name: &str) -> u64 {
    point["counts"][name].as_u64().unwrap_or_else(|| panic!("no count {name}: {point}"))
}

fn adds_up(point: &Value) {
    let of = |name: &str| count(point, name);
    assert_eq!(of("offered"), of("started") + of("dropped"), "{}", point["counts"]);
    assert_eq!(of("started"), of("finished") + of("failed") + of("unfinished"), "{}", point["counts"]);
    assert!(of("late") <= of("started"), "{}", point["counts"]);
}

pub fn codes(summary: &Value) -> Vec<&str> {
    summary["caveats"].as_array().expect("a list").iter().filter_map(|caveat| caveat["code"].as_str()).collect()
}

#[test]
fn arrivals_are_offered_at_the_rate_and_all_accounted_for() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_point_select --table-size 1000");
    let _alone = timed_run();
    for arrivals in ["constant", "poisson"] {
        let line = "run oltp_point_select --connections 8 --rate 200 --time 2s --warmup 200ms --seed 7 --json";
        let summary = lab.does(&format!("{line} --arrivals {arrivals}")).json();
        let point = &summary["points"][0];
        adds_up(point);
        assert_eq!(point["rate_offered"], 200.0);
        let offered = count(point, "offered");
        match arrivals {
            "constant" => assert!(offered.abs_diff(400) <= 1, "{offered}"),
            // Six standard deviations of a Poisson count of 400.
            _ => assert!(offered.abs_diff(400) <= 120, "{offered}"),
        }
        assert_eq!(summary["totals"]["statements"], summary["server"]["statements"]);
        let [service, response] = ["latency_ms", "response_ms"].map(|figure| point[figure]["mean"].as_f64());
        assert!(service.is_some_and(|service| response.is_some_and(|response| response >= service)), "{point}");
    }
}

#[test]
fn a_rate_above_what_is_carried_is_said_and_does_not_hang() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --table-size 1000");
    let summary = lab.does("run oltp_read_write --connections 2 --rate 50000 --time 1s --json").json();
    let point = &summary["points"][0];
    adds_up(point);
    assert!(count(point, "dropped") > 0 && count(point, "late") > 0, "{}", point["counts"]);
    let codes = codes(&summary);
    assert!(codes.contains(&"dropped") && codes.contains(&"late"), "{codes:?}");
    assert!(point["response_ms"]["p99"].as_f64() > point["latency_ms"]["p99"].as_f64(), "{point}");
    assert_eq!(summary["totals"]["statements"], summary["server"]["statements"]);
}

#[test]
fn rates_times_connections_are_all_run() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_point_select --table-size 100");
    let line = "run oltp_point_select --connections 1,2 --rate 50,100 --time 300ms --json";
    let summary = lab.does(line).json();
    let points = summary["points"].as_array().expect("a list");
    let mut found: Vec<(u64, f64)> = points
        .iter()
        .map(|point| (point["connections"].as_u64().expect("a count"), point["rate_offered"].as_f64().expect("a rate")))
        .collect();
    found.sort_by(|a, b| a.partial_cmp(b).expect("no NaN"));
    assert_eq!(found, [(1, 50.0), (1, 100.0), (2, 50.0), (2, 100.0)]);
}

#[test]
fn fixed_work_is_done_exactly() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_only --table-size 1000");
    for (options, events) in [
        ("--connections 1 --events 1", 1),
        ("--connections 7 --events 100", 100),
        ("--connections 64 --events 10", 10),
        ("--connections 5 --events-per-connection 9", 45),
        ("--connections 4 --loops 2 --events 51", 51),
    ] {
        let summary = lab.does(&format!("run oltp_read_only {options} --json")).json();
        let point = &summary["points"][0];
        adds_up(point);
        assert_eq!((count(point, "finished"), &point["transactions"]), (events, &events.into()), "{options}");
        assert_eq!(point["queries"], 16 * events, "{options}");
        assert_eq!(all_statements(&summary["totals"]["statements"]), 16 * events, "{options}");
        assert_eq!(summary["totals"]["statements"], summary["server"]["statements"]);
    }
}

/// What the general log has of the load, connection by connection.
pub fn logged(lab: &Lab) -> Vec<String> {
    let rows = lab.sql(&[
        "SELECT thread_id, GROUP_CONCAT(CONVERT(argument USING utf8mb4) ORDER BY event_time, server_id SEPARATOR ';') \
         FROM mysql.general_log WHERE command_type IN ('Query', 'Execute') AND argument LIKE '%sbtest1%' \
         AND argument NOT LIKE '%plimsoll_dataset%' AND argument NOT LIKE '%information_schema%' \
         AND argument NOT LIKE '%general_log%' GROUP BY thread_id",
    ]);
    let mut all: Vec<String> = rows.into_iter().filter_map(|row| row[1].clone()).collect();
    all.sort();
    all
}

#[test]
fn what_is_sent_depends_on_the_seed_and_not_on_the_loops() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_only --table-size 1000");
    let sent = |options: &str| {
        lab.sql(&[
            "SET SESSION group_concat_max_len = 4000000, GLOBAL group_concat_max_len = 4000000",
            "SET GLOBAL log_output = 'TABLE'",
            "TRUNCATE mysql.general_log",
            "SET GLOBAL general_log = ON",
        ]);
        let line = "run oltp_read_only --connections 4 --events 24 --rand-type uniform --json";
        let summary = lab.does(&format!("{line} {options}")).json();
        lab.sql(&["SET GLOBAL general_log = OFF"]);
        assert_eq!(summary["points"][0]["counts"]["finished"], 24);
        logged(&lab)
    };
    let one = sent("--seed 11 --loops 1");
    assert!(one.len() == 4 && one.iter().all(|text| text.matches(';').count() + 1 == 6 * 14), "{one:?}");
    assert_eq!(one, sent("--seed 11 --loops 2"));
    assert_eq!(one, sent("--seed 11 --loops 4"));
    assert_ne!(one, sent("--seed 12 --loops 1"));
}

#[test]
fn a_random_seed_is_printed_and_repeats_the_run() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --tables 3 --table-size 100");
    let first = lab.does("run oltp_point_select --connections 3 --events 30 --json");
    let seed = first.json()["seed"].as_u64().expect("a seed");
    first.tells(&[&format!("seed {seed}")]);
    let again = lab.does(&format!("run oltp_point_select --connections 3 --events 30 --seed {seed} --json"));
    assert_eq!(again.json()["seed"], seed);
}
