//! Runs of several rounds: one recording, one number for each load point.

use crate::harness::Lab;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

const DATA: &str = "load oltp_point_select --tables 1 --table-size 1000";
const ROUNDS: &str = "run oltp_point_select --connections 1,2 --rounds 3";

/// The trials of the only recording, in order.
fn trials(lab: &Lab) -> Vec<String> {
    let [recording] = <[_; 1]>::try_from(lab.recordings()).expect("one recording");
    let Ok(all) = fs::read_dir(recording.join("trials")) else { return Vec::new() };
    let mut names: Vec<String> = all.flatten().map(|of| of.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn whole(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("{name}: {of:#}"))
}

/// What is counted is counted over all rounds; rates have the interval that the rounds give.
fn is_of_three_rounds(point: &Value) {
    let rounds = point["rounds"].as_array().expect("rounds");
    assert_eq!(rounds.len(), 3, "{point:#}");
    assert_eq!(whole(point, "transactions"), 300);
    assert_eq!(whole(point, "transactions"), rounds.iter().map(|of| whole(of, "transactions")).sum::<u64>());
    let rate = &point["estimates"]["transactions_per_second"];
    assert_eq!(rate["method"], "geometric mean of 3 rounds");
    let [low, value, high] = ["low", "value", "high"].map(|end| rate[end].as_f64().expect("an end"));
    let of_rounds: Vec<f64> = rounds.iter().filter_map(|of| of["transactions_per_second"].as_f64()).collect();
    let mean = of_rounds.iter().product::<f64>().cbrt();
    assert!(low <= value && value <= high && (value / mean - 1.0).abs() < 1e-9, "{rate:#}");
    assert!(rounds.iter().any(|of| of["trial"] == point["trial"]), "it stands for one of them: {point:#}");
}

fn rounds_are_put_together(lab: &Lab) {
    lab.up("");
    lab.does(DATA);
    let summary = lab.does(&format!("{ROUNDS} --events 100 --name one --json --fail-if tps<0.001")).json();
    let points = summary["points"].as_array().expect("points");
    assert_eq!(points.len(), 2, "{summary:#}");
    points.iter().for_each(is_of_three_rounds);
    let of_rounds = |name: &String| (name.contains("-c1-"), name[name.len() - 2..].to_owned());
    let order: Vec<(bool, String)> = trials(lab).iter().map(of_rounds).collect();
    let expected = ["r1", "r2", "r3"].map(|round| [true, false].map(|one| (one, round.to_owned()))).concat();
    assert_eq!(order, expected, "one pass after the other");
    let page = lab.does("report one --format md -o -").out;
    for part in ["mean of 3 rounds of ", "of the round in the middle", "--rounds 3"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    lab.does(&format!("{ROUNDS} --events 100 --name other"));
    let compared = lab.does("compare one other --json").json();
    assert_eq!((&compared["a"]["rounds"], &compared["b"]["rounds"]), (&3.into(), &3.into()), "{compared:#}");
}

#[test]
fn rounds_are_put_together_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    rounds_are_put_together(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn rounds_are_put_together_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    rounds_are_put_together(&lab);
}

/// A part of a round is left out where there are whole ones; killed or interrupted, the rest is the same.
#[test]
fn a_round_that_is_cut_short_is_left_out() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does(DATA);
    let line = "run oltp_point_select --rate 200 --rounds 3 --time 6s --name cut";
    let in_the_second = |lab: &Lab| trials(lab).len() == 2;
    let mut running = lab.begins(line);
    running.wait_for("the second round", || !lab.recordings().is_empty() && in_the_second(&lab));
    running.signal(Signal::INT);
    running.end().exits(130);
    let shown = lab.does("report cut --format json -o -").json();
    let point = &shown["data"]["summary"]["points"][0];
    assert!(point.get("rounds").is_none() && point["trial"] == 1, "{point:#}");
    let page = lab.does("report cut --format md -o -").out;
    assert!(page.contains("It ended in round 2 of 3"), "{page}");
    lab.does("recordings rm cut");

    let mut running = lab.begins(line);
    running.wait_for("the third round", || !lab.recordings().is_empty() && trials(&lab).len() == 3);
    running.kill();
    let shown = lab.does("report cut --format json -o -").json();
    let point = &shown["data"]["summary"]["points"][0];
    assert_eq!(point["rounds"].as_array().map(Vec::len), Some(2), "{point:#}");
}

#[test]
fn how_long_to_measure_is_said_once_where_it_was_left_open() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does(DATA);
    let hint = "--time 30s --rounds 3 would give";
    let mut running = lab.begins("run oltp_point_select");
    lab.wait_until_measured(&mut running);
    running.signal(Signal::INT);
    let done = running.end().exits(130);
    assert_eq!(done.err.matches(hint).count(), 1, "{done}");
    let done = lab.does("run oltp_point_select --time 200ms");
    assert!(!done.err.contains(hint), "{done}");
}
