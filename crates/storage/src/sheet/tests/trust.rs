//! What the sheet does not conclude from: noise, disturbed measurements, rates that were not reached.

use super::*;
use plimsoll_model::summary::Counts;
use plimsoll_model::{Caveat, ProbeMetric};

/// One session’s commits, measured twice: the repeat is so many times as fast.
fn repeats(times: f64) -> [Probe; 2] {
    let one = |number, iops| probe(number, json!({"server": "mysql", "committers": 1}), iops);
    [one(1, 1000.0), one(2, 1000.0 * times)]
}

#[test]
fn what_repeats_of_one_job_do_too_is_not_told_apart() {
    let hole = |noise, many| {
        let pair = [files(4, 1, "hole", 1000.0), files(4, 8, "hole", many)];
        told("serialised_hole", &[pair, repeats(noise)].concat())
    };
    assert_eq!(hole(1.5, 1700.0).value, Some(true.into()));
    assert_eq!(hole(1.5, 1000.0).value, Some(false.into()));
    for (noise, many) in [(2.0, 1700.0), (2.0, 1000.0), (0.5, 1700.0)] {
        let unclear = hole(noise, many);
        assert!(unclear.value.is_none() && !unclear.warning, "{unclear:?}");
        assert!(unclear.statement.contains("identical measurements differ by 2.0 times"), "{unclear:?}");
    }
}

#[test]
fn intervals_decide_where_both_have_them() {
    let known = |mut probe: Probe, low, high| {
        let estimate = Estimate::new(probe.iops.unwrap(), (low, high), 0.95, 9.0, String::new());
        probe.estimates.insert(ProbeMetric::Iops, estimate);
        probe
    };
    let hole = |top| {
        let one = known(files(4, 1, "hole", 1000.0), 900.0, top);
        let many = known(files(4, 8, "hole", 1700.0), 1500.0, 1900.0);
        told("serialised_hole", &[vec![one, many], repeats(3.0).to_vec()].concat())
    };
    assert_eq!(hole(1499.0).value, Some(true.into()), "whatever repeats differ by");
    assert!(hole(1501.0).value.is_none());
}

#[test]
fn capacity_is_what_the_doublewrite_buffer_leaves_of_it() {
    let on = probe(8, json!({"doublewrite": "on"}), 3000.0);
    let lines = sheet(&disk(), &[write(16, 8_390.0), on]);
    let most = line(&lines, "innodb_io_capacity_max");
    assert!(
        most.value == Some(3000_u64.into()) && most.statement.contains("in 10 s with the doublewrite buffer"),
        "{most:?}"
    );
    let slow = told("innodb_io_capacity_max", &[write(1, 60.0)]);
    assert!(slow.warning && slow.statement.contains("is more than this storage sustains: 60 page writes"), "{slow:?}");
}

#[test]
fn what_was_not_as_it_should_be_is_left_out_and_told() {
    let commits = |data_writes, iops| probe(11, json!({"server": "mysql", "data_writes": data_writes}), iops);
    let alone = Probe { caveats: vec![Caveat::new("not_beside", "it ended")], ..commits(true, 900.0) };
    let lines = sheet(&disk(), &[commits(false, 1000.0), alone]);
    assert!(lines.iter().all(|line| line.key != "log_beside_data_mysql"), "{lines:#?}");
    assert!(line(&lines, "left_out").statement.contains("the load beside it did not run all the time"));
    let behind = |dropped| {
        let counts = Counts { offered: 1000, dropped, ..Counts::default() };
        let params = json!({"engine": "threads", "rate": 2000, "what": "read"});
        Probe { cpu_us_per_op: Some(9.0), counts, ..probe(21, params, 1500.0) }
    };
    assert!(told("left_out", &[behind(11)]).statement.contains("11 of 1000 operations could not be started"));
    says_nothing_of("cpu_per_read", &[behind(11)]);
    assert!(told("cpu_per_read", &[behind(10)]).statement.contains("at 1,500 per second"), "the rate that was reached");
}
