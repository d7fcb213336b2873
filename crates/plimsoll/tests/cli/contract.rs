//! `run --json` is a contract: one document, every field of its type, and numbers that add up.

use crate::harness::{Done, Lab, counts_agree};
use serde_json::{Value, json};

/// What holds however the server is reached.
pub const BODIES: [fn(&Lab); 5] = [
    |lab| prints_the_contract(lab, "3s"),
    |lab| counts_retries_like_the_server(lab, "prepared"),
    |lab| counts_retries_like_the_server(lab, "text"),
    has_nulls_and_no_zeros,
    prints_knee_and_intervals,
];

/// What the contract promises: a word names a type, `?` after it allows null; a map has one entry `*`; a list one shape.
fn contract(lab: &Lab) -> Value {
    // Of a server that is not ours nothing is known but its answers.
    let of_server = |shape: Value| if lab.is_remote() { json!("none") } else { shape };
    let latency = json!({
        "min": "number?", "mean": "number?", "p50": "number?", "p90": "number?", "p95": "number?", "p99": "number?",
        "p999": "number?", "max": "number?",
    });
    let statements = json!({
        "begin": "count", "commit": "count", "rollback": "count", "select": "count", "insert": "count",
        "update": "count", "delete": "count", "call": "count",
    });
    let estimate = json!({
        "value": "number", "low": "number?", "high": "number?", "confidence": "number", "effective_n": "number",
        "degrees": "number?", "method": "text", "missing": "text?",
    });
    json!({
        "schema_version": "count",
        "workload": "text",
        "params": { "*": "any" },
        "target": { "flavour": "text", "version": "text", "durability": { "*": "text" } },
        "seed": "count",
        "points": [{
            "connections": "count",
            "rate_offered": "number?",
            "seconds": "number",
            "transactions": "count",
            "rollbacks": "count",
            "queries": "count",
            "statements": { "read": "count", "write": "count", "other": "count" },
            "transactions_per_second": "number?",
            "queries_per_second": "number?",
            "latency_ms": latency,
            "response_ms": "any",
            "errors": { "*": "count" },
            "retries": "count",
            "failed_attempts_ms": { "*": "number" },
            "lost_connections": "count",
            "unknown_commits": "count",
            "reconnects": "count",
            "stalled": "any",
            "fairness": {
                "events_mean": "number?", "events_stddev": "number?",
                "seconds_mean": "number?", "seconds_stddev": "number?",
            },
            "counts": {
                "offered": "count", "started": "count", "finished": "count", "failed": "count",
                "unfinished": "count", "late": "count", "dropped": "count",
            },
            "operations": [{
                "kind": "text", "name": "text", "count": "count", "errors": "count", "latency_ms": latency,
            }],
            "client": {
                "cpu_us_per_query": "number?", "process_cpu_us_per_query": "number?", "cpu_fraction": "number?",
                "ceiling_fraction": "number?",
            },
            "server": of_server(json!({ "cpu_us_per_query": "number?" })),
            "estimates": { "*": estimate },
        }],
        "scaling": "any",
        "totals": { "statements": &statements },
        "server": { "statements": of_server(statements.clone()) },
        "caveats": [{ "code": "text", "message": "text" }],
    })
}

/// Everything in `found` that is not as `shape` has it; more fields are allowed.
fn differences(path: &str, shape: &Value, found: &Value, all: &mut Vec<String>) {
    match (shape, found) {
        (Value::String(kind), _) => {
            let optional = kind.ends_with('?') && found.is_null();
            let right = match kind.trim_end_matches('?') {
                "any" => true,
                "none" => found.is_null(),
                "text" => found.is_string(),
                "count" => found.is_u64(),
                "number" => found.is_number(),
                other => panic!("no such type: {other}"),
            };
            if !right && !optional {
                all.push(format!("{path}: {found} is not of type {kind}"));
            }
        }
        (Value::Array(shapes), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                differences(&format!("{path}[{index}]"), &shapes[0], item, all);
            }
        }
        (Value::Object(shapes), Value::Object(fields)) => match shapes.get("*") {
            Some(shape) => {
                for (name, field) in fields {
                    differences(&format!("{path}.{name}"), shape, field, all);
                }
            }
            None => {
                for (name, shape) in shapes {
                    match fields.get(name) {
                        Some(field) => differences(&format!("{path}.{name}"), shape, field, all),
                        None => all.push(format!("{path}.{name} is missing")),
                    }
                }
            }
        },
        _ => all.push(format!("{path}: {found} is not like {shape}")),
    }
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn operation<'a>(point: &'a Value, name: &str) -> &'a Value {
    let all = point["operations"].as_array().expect("a list");
    all.iter().find(|operation| operation["name"] == name).unwrap_or_else(|| panic!("no operation {name}"))
}

fn percentiles_rise(latency: &Value) {
    let names = ["min", "p50", "p90", "p95", "p99", "p999", "max"];
    let values: Vec<f64> = names.iter().filter_map(|name| latency[name].as_f64()).collect();
    assert!(values.len() == names.len() && values.is_sorted(), "{latency}");
    let mean = latency["mean"].as_f64().expect("a mean where there are samples");
    assert!(values[0] <= mean && mean <= values[6], "{latency}");
}

/// What must hold of every point with samples, in a closed loop of `oltp_read_write`.
fn point_adds_up(point: &Value) {
    let counts = &point["counts"];
    let of = |name: &str| count(&counts[name]);
    assert_eq!(of("offered"), of("started") + of("dropped"), "{counts}");
    assert_eq!(of("started"), of("finished") + of("failed") + of("unfinished"), "{counts}");
    assert!(of("late") <= of("started"), "{counts}");
    let statements = &point["statements"];
    let by_effect: u64 = ["read", "write", "other"].iter().map(|effect| count(&statements[effect])).sum();
    assert_eq!(by_effect, count(&point["queries"]), "{statements}");
    assert!(count(&point["transactions"]) > 0);
    // Begun inside the window and ended inside the window differ by those under way at its two edges.
    let connections = count(&point["connections"]);
    assert!(of("finished").abs_diff(count(&point["transactions"])) <= connections, "{point}");
    assert_eq!(operation(point, "transaction")["count"], point["transactions"]);
    percentiles_rise(&point["latency_ms"]);
    for operation in point["operations"].as_array().expect("a list") {
        if count(&operation["count"]) > 0 {
            percentiles_rise(&operation["latency_ms"]);
        }
    }
    let answered = point["operations"].as_array().expect("a list").iter().filter(|one| one["kind"] == "statement");
    let answered: u64 = answered.map(|one| count(&one["count"])).sum();
    assert_eq!(answered, count(&point["queries"]), "statements with a latency, and statements answered");
    let events = point["fairness"]["events_mean"].as_f64().expect("there were events");
    assert!((events * connections as f64 - count(&point["transactions"]) as f64).abs() <= connections as f64);
    let rate = point["transactions_per_second"].as_f64().expect("a rate") * point["seconds"].as_f64().expect("seconds");
    assert!((rate - count(&point["transactions"]) as f64).abs() < 1.0);
    assert!(point["response_ms"].is_null() && point["rate_offered"].is_null(), "a closed loop has neither");
    assert!(point["client"]["ceiling_fraction"].is_null(), "nobody has calibrated");
}

/// Fields that are totals of the window or settings of it; every other number of a point is a mean or a percentile.
const NO_MEANS: [&str; 29] = [
    "trial",
    "connections",
    "rate_offered",
    "seconds",
    "transactions",
    "rollbacks",
    "queries",
    "statements",
    "errors",
    "retries",
    "retried",
    "failed_attempts_ms",
    "lost_connections",
    "unknown_commits",
    "reconnects",
    "stalled",
    "counts",
    "operations",
    "estimates",
    "order_entry",
    "cpus",
    "resident_bytes",
    "events_min",
    "events_stddev",
    "seconds_stddev",
    // A share of what another run has found.
    "ceiling_fraction",
    "scheduling_lag_ms_max",
    // From two looks at all processes.
    "program_cpus",
    // The shortest of some pings.
    "round_trip_us",
];

/// Each mean and percentile of a point, by its path: `latency_ms.p99`.
fn means(path: &str, value: &Value, all: &mut Vec<(String, f64)>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| !NO_MEANS.contains(&name.as_str())) {
                let extreme = ["min", "max"].contains(&name.as_str());
                if !extreme {
                    means(&format!("{path}.{name}"), field, all);
                }
            }
        }
        Value::Number(number) => all.push((path.trim_start_matches('.').to_owned(), number.as_f64().expect("finite"))),
        _ => {}
    }
}

/// A mean comes with its interval, or with what would give one.
fn can_be_trusted(what: &str, value: f64, estimate: &Value) {
    let of = |end: &str| estimate[end].as_f64();
    let same = of("value").is_some_and(|found| (found - value).abs() <= 0.02 * value.abs() + 1e-9);
    assert!(same, "{what}: {value} is not the value of {estimate}");
    match (of("low"), of("high")) {
        (Some(low), Some(high)) => {
            assert!(low <= high && low <= 1.02 * value && value <= 1.02 * high, "{what}: {estimate}")
        }
        _ => assert!(estimate["missing"].as_str().is_some_and(|why| why.len() > 10), "{what}: {estimate}"),
    }
}

fn every_mean_says_how_far_it_can_be_trusted(lab: &Lab, point: &Value) {
    let mut all = Vec::new();
    means("", point, &mut all);
    let server_means = all.iter().filter(|(path, _)| path.starts_with("server.")).count();
    let found = if lab.is_remote() { all.len() > 10 && server_means == 0 } else { all.len() > 20 && server_means > 2 };
    assert!(found, "the walk finds them: {all:?}");
    for (path, value) in all {
        can_be_trusted(&path, value, &point["estimates"][&path]);
    }
    for operation in point["operations"].as_array().expect("a list") {
        if let Some(mean) = operation["latency_ms"]["mean"].as_f64() {
            can_be_trusted(operation["name"].as_str().expect("a name"), mean, &operation["latency_mean_ms"]);
        }
    }
}

/// Windows of 10 s and more have intervals, and a sweep over them a knee.
fn prints_knee_and_intervals(lab: &Lab) {
    lab.up("");
    lab.does("load oltp_read_only --table-size 2000");
    let done = lab.does("run oltp_read_only --connections 1,2,4 --time 10s --report-interval 0");
    for part in ["±", "peak: ", "knee: ", "6 can"] {
        assert!(done.out.contains(part), "no {part}: {done}");
    }
    // On a machine that others use, an interval may be so wide that it is told in words.
    let told = ["95 % interval ", "too unsteady to say"].iter().any(|part| done.out.contains(part));
    assert!(told, "no interval: {done}");
    let written = std::fs::read_to_string(lab.recordings()[0].join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&written).expect("JSON");
    for point in summary["points"].as_array().expect("a list") {
        every_mean_says_how_far_it_can_be_trusted(lab, point);
        let servers = (!lab.is_remote()).then_some("server.cpu_us_per_query");
        let own = ["transactions_per_second", "latency_ms.mean", "client.cpu_us_per_query"];
        for path in own.into_iter().chain(servers) {
            let estimate = &point["estimates"][path];
            assert!(estimate["low"].is_number() && estimate["high"].is_number(), "{path}: {estimate}");
        }
    }
    let knee = &summary["scaling"]["knee"];
    let load = knee["load"]["value"].as_f64().expect("a knee");
    assert!((1.0..=4.0).contains(&load) && knee["peak"]["high"].is_number(), "{knee}");
}

#[test]
#[ignore = "its windows are long; make test-all"]
fn a_sweep_of_long_windows_prints_its_knee_and_intervals() {
    let Some(lab) = Lab::mariadb() else { return };
    prints_knee_and_intervals(&lab);
}

fn summary_holds(lab: &Lab, done: &Done) -> Value {
    let summary = done.json();
    let mut all = Vec::new();
    differences("$", &contract(lab), &summary, &mut all);
    assert!(all.is_empty(), "{}\n{summary:#}", all.join("\n"));
    assert_eq!(summary["schema_version"], 1);
    counts_agree(lab, &summary, "we and the server count the same");
    summary
}

fn prints_the_contract(lab: &Lab, time: &str) {
    lab.up("");
    lab.does("load oltp_read_write --tables 2 --table-size 2000");
    let done = lab.does(&format!("run oltp_read_write --connections 1,8,64 --time {time} --warmup 200ms --json"));
    adds_up(lab, &done, &[1, 8, 64]);
}

/// The same in a second, with the data checked and dropped.
pub fn prints_the_contract_shortly(lab: &Lab) {
    lab.up("");
    lab.does("load oltp_read_write --tables 2 --table-size 2000");
    let done = lab.does("run oltp_read_write --connections 1,8 --time 1s --warmup 200ms --json");
    adds_up(lab, &done, &[1, 8]);
    lab.does("check oltp_read_write");
    lab.does("drop oltp_read_write");
}

fn adds_up(lab: &Lab, done: &Done, expected: &[u64]) {
    let summary = summary_holds(lab, done);
    assert_eq!(summary["workload"], "oltp_read_write");
    assert_eq!((&summary["params"]["tables"], &summary["params"]["table_size"]), (&json!(2), &json!(2000)));
    let points = summary["points"].as_array().expect("a list");
    let connections: Vec<u64> = points.iter().map(|point| count(&point["connections"])).collect();
    assert_eq!(connections, expected);
    points.iter().for_each(point_adds_up);
    points.iter().for_each(|point| every_mean_says_how_far_it_can_be_trusted(lab, point));
    let cpu = |point: &Value| point["server"]["cpu_us_per_query"].as_f64();
    assert!(lab.is_remote() || points.iter().all(|point| cpu(point).is_some_and(|cpu| cpu > 0.0)));
    let measured: u64 = points.iter().map(|point| count(&point["queries"])).sum();
    let sent = crate::harness::all_statements(&summary["totals"]["statements"]);
    assert!(sent > measured, "the warm-up and the drain count too: {sent} sent, {measured} in the windows");
    assert!(done.err.contains("connections: 8"), "progress goes to standard error: {done}");
}

#[test]
fn the_summary_is_the_contract_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    prints_the_contract(&lab, "1s");
}

#[test]
#[ignore = "over TLS the same is tested on MySQL; make test-all"]
fn the_summary_is_the_contract_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    prints_the_contract(&lab, "3s");
}

fn counts_retries_like_the_server(lab: &Lab, protocol: &str) {
    lab.up("");
    lab.does("load oltp_read_write --table-size 12");
    let run = "run oltp_read_write --connections 32 --time 1s --rand-type uniform --range-size 5 --json";
    let summary = summary_holds(lab, &lab.does(&format!("{run} --protocol {protocol}")));
    let point = &summary["points"][0];
    let deadlocks = point["errors"].get("1213").map_or(0, count);
    assert!(deadlocks > 0, "12 rows and 32 connections meet: {}", point["errors"]);
    let retries = count(&point["retries"]);
    assert!(retries > 0);
    let rollbacks = count(&summary["totals"]["statements"]["rollback"]);
    assert!(rollbacks >= retries, "each retry begins with a ROLLBACK: {rollbacks} of them, {retries} retries");
    assert_eq!(point["rollbacks"], 0, "none of them was intended");
    let counts = &point["counts"];
    assert_eq!(
        count(&counts["failed"]) == 0,
        summary["caveats"].as_array().expect("a list").iter().all(|c| c["code"] != "failed")
    );
}

#[test]
fn retries_are_counted_like_the_server_counts_them_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    counts_retries_like_the_server(&lab, "prepared");
}

#[test]
#[ignore = "prepared on MariaDB; make test-all"]
fn retries_are_counted_like_the_server_counts_them_on_mysql_in_text() {
    let Some(lab) = Lab::mysql() else { return };
    counts_retries_like_the_server(&lab, "text");
}

fn has_nulls_and_no_zeros(lab: &Lab) {
    lab.up("");
    lab.does("load oltp_point_select --table-size 100");
    // An arrival every 1000 s: within this window there is none.
    let done = lab.does("run oltp_point_select --rate 0.001 --arrivals poisson --seed 1 --time 1s --json");
    let summary = summary_holds(lab, &done);
    let point = &summary["points"][0];
    assert_eq!(point["transactions"], 0);
    for figure in ["latency_ms", "response_ms"] {
        let all = point[figure].as_object().expect("figures");
        assert!(all.len() == 8 && all.values().all(Value::is_null), "{}", point[figure]);
    }
    assert!(point["client"]["cpu_us_per_query"].is_null());
    assert_eq!(point["transactions_per_second"], 0.0, "a rate of none is a measurement");
}

#[test]
fn without_samples_there_are_nulls_and_no_zeros() {
    let Some(lab) = Lab::mariadb() else { return };
    has_nulls_and_no_zeros(&lab);
}
