//! Searches and ladders wait for a quiet machine.

use crate::harness::{Lab, Neighbour};
use rustix::process::Signal;
use std::time::{Duration, Instant};

const LADDER: &str = "[workload]\nkind = \"oltp_read_only\"\ntable_size = 200\n[load]\nconnections = 2\n\
    [trials]\nwarmup = \"0s\"\nmeasure = \"500ms\"\nrounds = 1\n\
    [[rung]]\nname = \"capacity\"\nconfig = { innodb_io_capacity = 300 }\n";
const LINE: &str = "[workload]\nkind = \"oltp_read_only\"\ntable_size = 200\n[load]\nconnections = 2\n\
    find = \"p99 < 100ms\"\n[trials]\nwarmup = \"0s\"\nmeasure = \"500ms\"\nrounds = 1\n";

#[test]
#[ignore = "wants the machine for itself; make test-all"]
fn neither_begins_on_a_machine_that_others_keep_busy() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    let _neighbours = [Neighbour::moves_in(), Neighbour::moves_in()];
    for (name, plan) in [("ladder", LADDER), ("line", LINE)] {
        let plan = lab.plan(name, plan);
        let done = lab.ends(&format!("lab {} --wait-quiet 0s", plan.display()));
        done.refuses(3, &["others used", "CPUs of this machine over 10 s: ", "(process ", "--noisy-host"]);
        assert!(lab.recordings().is_empty(), "nothing had begun");
    }
    lab.ends(&format!("lab {} --wait-quiet 1s --noisy-host", lab.plan("ladder", LADDER).display()))
        .refuses(2, &["--wait-quiet", "--noisy-host"]);
    let noisy = LADDER.replace("rounds = 1", "rounds = 1\nnoisy_host = true");
    let plan = lab.plan("noisy", &noisy);
    // The harness says --noisy-host to whoever does not say how long to wait.
    let done = lab.does(&format!("lab {} --wait-quiet 0s", plan.display()));
    let answer = done.out.lines().nth(1).expect("the answer stands below the title");
    assert!(answer.starts_with("On base") && answer.contains("; other processes disturbed "), "{done}");
}

#[test]
#[ignore = "wants the machine for itself; make test-all"]
fn who_waits_says_so_and_can_be_interrupted() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    let _neighbours = [Neighbour::moves_in(), Neighbour::moves_in()];
    let mut running = lab.begins(&format!("lab {} --wait-quiet 10m", lab.plan("ladder", LADDER).display()));
    let begun = Instant::now();
    running.wait_for("ten seconds of looking", || begun.elapsed() > Duration::from_secs(14));
    running.signal(Signal::INT);
    let done = running.end().exits(130);
    assert!(done.err.contains("waiting up to 10 min for a quiet machine"), "{done}");
}
