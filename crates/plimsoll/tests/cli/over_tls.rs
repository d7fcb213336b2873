//! Interchange, contract and order entry over TCP with TLS: the same bodies as over the socket, on every server.

use crate::harness::Lab;
use crate::parity::sysbench_is_here;
use crate::{contract, interchange, order_entry};
use plimsoll_testkit::servers;

type Body = fn(&Lab);

/// A load, a run whose summary is the contract, a check and a drop with the TLS that is there by default; where all tests
/// run, then order entry with TLS that is required.
fn briefly(lab: Lab) {
    let mut lab = lab.over_tls("");
    contract::prints_the_contract_shortly(&lab);
    if servers::all() {
        lab.with_options("ssl-mode=required");
        order_entry::in_one_way(&lab);
    }
}

#[test]
fn a_mariadb_that_is_reached_over_tls_is_like_one_on_a_socket() {
    let Some(lab) = Lab::mariadb() else { return };
    briefly(lab);
}

#[test]
fn a_mysql_that_is_reached_over_tls_is_like_one_on_a_socket() {
    let Some(lab) = Lab::mysql() else { return };
    briefly(lab);
}

/// Each body on a server of its own.
fn each(lab: fn() -> Option<Lab>, bodies: &[Body]) {
    for body in bodies {
        let Some(lab) = lab() else { return };
        body(&lab.over_tls(""));
    }
}

#[test]
#[ignore = "10 servers; make test-all"]
fn data_are_interchanged_over_tls() {
    if sysbench_is_here() {
        for lab in [Lab::mariadb, Lab::mariadb_new, Lab::mysql] {
            each(lab, &interchange::BODIES);
        }
    }
}

#[test]
#[ignore = "5 servers; make test-all"]
fn the_summary_is_the_contract_over_tls() {
    for lab in [Lab::mariadb, Lab::mariadb_new, Lab::mysql] {
        each(lab, &contract::BODIES);
    }
}

#[test]
#[ignore = "20 loads and 40 runs; make test-all"]
fn order_entry_is_consistent_over_tls_on_mariadb() {
    each(Lab::mariadb, &order_entry::BODIES);
}

#[test]
#[ignore = "20 loads and 40 runs; make test-all"]
fn order_entry_is_consistent_over_tls_on_the_next_mariadb() {
    each(Lab::mariadb_new, &order_entry::BODIES);
}

#[test]
#[ignore = "20 loads and 40 runs; make test-all"]
fn order_entry_is_consistent_over_tls_on_mysql() {
    each(Lab::mysql, &order_entry::BODIES);
}
