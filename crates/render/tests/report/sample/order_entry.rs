//! The sample as order entry would give it: a mix of five kinds, one of them outside its limit.

use super::{Report, estimates, latency};
use plimsoll_model::Metric;
use plimsoll_model::summary::*;
use std::collections::BTreeMap;

/// Kind, percent of all transactions, latency in parts of that of all.
const KINDS: [(&str, u64, f64); 5] = [
    ("new_order", 45, 1.6),
    ("payment", 43, 0.5),
    ("order_status", 4, 0.3),
    ("delivery", 4, 130.0),
    ("stock_level", 4, 0.7),
];

pub fn report() -> Report {
    let mut summary = super::report().summary;
    summary.workload = "tpcc".to_owned();
    let params = [("profile", "spec"), ("warehouses", "4"), ("mix", "45/43/4/4/4"), ("call_style", "batched")];
    summary.params = params.map(|(name, value)| (name.to_owned(), value.into())).into();
    for point in &mut summary.points {
        make_order_entry(point);
        estimates::estimate_all(point);
    }
    summary.scaling = Some(estimates::scaling(Metric::Nopm, 26_220.0));
    Report {
        title: "order entry, four warehouses".to_owned(),
        summary,
        how_to_repeat: "plimsoll run tpcc --warehouses 4 --connections 1..64 --time 10s --seed 8140305719362277"
            .to_owned(),
        ..super::report()
    }
}

fn make_order_entry(point: &mut Point) {
    let statements = point.operations.split_off(1);
    point.operations[0].name = "transaction".to_owned();
    let p50 = point.latency_ms.p50.unwrap_or(0.0);
    point.operations.extend(KINDS.map(|(name, percent, share)| {
        let count = point.transactions * percent / 100;
        Operation {
            kind: OperationKind::Transaction,
            name: name.to_owned(),
            count,
            errors: u64::from(name == "payment"),
            latency_ms: latency(share * p50, 1.2),
            latency_mean_ms: None,
            response_ms: None,
            response_mean_ms: None,
            rollbacks: if name == "new_order" { count / 100 } else { 0 },
            retries: if name == "new_order" { point.retries } else { 0 },
        }
    }));
    let statements = statements.into_iter().take(4);
    point.operations.extend(statements);
    let entered = point.operations[1].count;
    let new_orders = NewOrders { committed: entered - entered / 100, rolled_back: entered / 100, failed: 0 };
    point.nopm = Some(new_orders.committed as f64 * 60.0 / point.seconds);
    point.retries = 15;
    point.retried = BTreeMap::from([(1020, 2), (1205, 1), (1213, 12)]);
    point.order_entry = Some(order_entry(point, new_orders));
}

fn order_entry(point: &Point, new_orders: NewOrders) -> OrderEntry {
    let limits = KINDS.map(|(name, _, _)| {
        let limit_seconds = if name == "stock_level" { 20.0 } else { 5.0 };
        let p90 = point.operations.iter().find(|operation| operation.name == name).and_then(|kind| kind.latency_ms.p90);
        let p90_seconds = p90.map(|ms| ms / 1e3);
        let holds = p90_seconds.map(|seconds| seconds <= limit_seconds);
        ResponseLimit { transaction: name.to_owned(), limit_seconds, p90_seconds, holds }
    });
    let line = |name: &str, value: f64, low: f64, high: f64, samples: u64, holds: Option<bool>| AuditLine {
        name: name.to_owned(),
        value: Some(value),
        low,
        high,
        samples,
        holds,
    };
    let orders = point.operations[1].count;
    OrderEntry {
        profile: "spec".to_owned(),
        fidelity: "strict".to_owned(),
        new_orders,
        mix: KINDS.map(|(name, percent, _)| (name.to_owned(), percent as f64 / 100.0)).into(),
        limits: limits.into(),
        audit: vec![
            line("new orders rolled back", 0.0102, 0.009, 0.011, orders, None),
            line("lines per order", 10.02, 9.5, 10.5, orders, Some(true)),
            line("lines from a remote warehouse", 0.0, 0.0095, 0.0105, 10 * orders, Some(false)),
            line("payments by last name", 0.604, 0.57, 0.63, orders, Some(true)),
            line("payment in the mix", 0.43, 0.43, 1.0, 2 * orders, Some(true)),
            AuditLine {
                value: None,
                holds: None,
                samples: 0,
                ..line("order statuses by last name", 0.0, 0.57, 0.63, 0, None)
            },
        ],
        skew: vec![
            Skew {
                keys: "items".to_owned(),
                samples: 10 * orders,
                measured: Some([0.304, 0.711, 0.845, 0.974]),
                expected: [0.305, 0.71, 0.844, 0.974],
            },
            Skew { keys: "last names".to_owned(), samples: 0, measured: None, expected: [0.147, 0.542, 0.723, 0.926] },
        ],
        backlog: Some(Backlog { start: 36_000, end: 36_412 }),
        skipped_districts: 3,
        notes: vec![
            "TPC-C-like: derived from TPC-C, and not comparable with published TPC-C results".to_owned(),
            format!(
                "NOPM counts committed new orders; DBT-2's NOTPM and NetApp's OET count rolled-back ones too: {} per \
                 minute that way",
                orders * 6
            ),
        ],
    }
}
