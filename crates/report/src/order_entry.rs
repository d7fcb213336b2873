//! What order entry reports besides throughput, as tables and sentences that the page and the terminal share.

use crate::interval::Measured;
use crate::sweep::Sweep;
use crate::table::{Column, Mark, Table};
use plimsoll_model::Metric;
use plimsoll_model::number::{NOTHING, column, counted, number};
use plimsoll_model::summary::{AuditLine, LatencyMs, Operation, OperationKind, OrderEntry, Point, ResponseLimit, Skew};

/// The operation that stands for all kinds of transactions together.
const ALL: &str = "transaction";
const NEW_ORDER: &str = "new_order";
/// Percent of the keys in each class of [`Skew`], the hottest first.
const HOTTEST: [usize; 4] = [1, 10, 20, 50];

/// What is known of the point that is shown in detail, if the workload was order entry.
pub fn of<'a>(sweep: &Sweep<'a>) -> Option<(&'a Point, &'a OrderEntry)> {
    let point = sweep.detailed()?;
    Some((point, point.order_entry.as_ref()?))
}

/// Response time if transactions had a due time, otherwise latency.
fn judged(operation: &Operation) -> &LatencyMs {
    operation.response_ms.as_ref().unwrap_or(&operation.latency_ms)
}

/// Milliseconds.
pub(crate) fn new_order_p90(point: &Point) -> Option<f64> {
    judged(kinds(point).find(|kind| kind.name == NEW_ORDER)?).p90
}

fn kinds(point: &Point) -> impl Iterator<Item = &Operation> {
    let transactions = point.operations.iter().filter(|operation| operation.kind == OperationKind::Transaction);
    transactions.filter(|operation| operation.name != ALL)
}

/// Each kind of transaction: how many, how they ended, how long they took, and whether that is within the limit.
pub fn transactions(point: &Point, entry: &OrderEntry) -> Table {
    let shown: Vec<(&Operation, Option<&ResponseLimit>)> =
        kinds(point).map(|kind| (kind, entry.limits.iter().find(|limit| limit.transaction == kind.name))).collect();
    let counts = |name: &str, of: fn(&Operation) -> u64| {
        Column::numbers(name, "", shown.iter().map(|(kind, _)| number(of(kind) as f64, 0)).collect())
    };
    let latencies = |name: &str, of: fn(&LatencyMs) -> Option<f64>| {
        Column::numbers(name, "ms", column(&shown.iter().map(|(kind, _)| of(judged(kind))).collect::<Vec<_>>(), 2))
    };
    let share = |kind: &Operation| entry.mix.get(&kind.name).map_or(NOTHING.to_owned(), |s| number(100.0 * s, 1));
    let limit = |limit: &ResponseLimit| number(limit.limit_seconds, 0);
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
    let columns = vec![
        Column::words("transaction", shown.iter().map(|(kind, _)| kind.name.clone()).collect()),
        counts("count", |kind| kind.count),
        Column::numbers("share", "%", shown.iter().map(|(kind, _)| share(kind)).collect()),
        counts("rollbacks", |kind| kind.rollbacks),
        counts("failed", |kind| kind.errors),
        counts("retries", |kind| kind.retries),
        latencies("p50", |l| l.p50),
        latencies("p90", |l| l.p90),
        latencies("p99", |l| l.p99),
        Column::numbers("limit", "s", shown.iter().map(|(_, of)| or_nothing(of.map(limit))).collect()),
        Column::words("holds", shown.iter().map(|(_, of)| or_nothing(of.map(limit_holds))).collect()),
    ];
    let broken = |(_, limit): &(&Operation, Option<&ResponseLimit>)| limit.is_some_and(|l| l.holds == Some(false));
    Table { columns, marks: shown.iter().map(|kind| broken(kind).then_some(Mark::Broken)).collect() }
}

fn limit_holds(limit: &ResponseLimit) -> String {
    verdict(limit.holds, NOTHING)
}

fn verdict(holds: Option<bool>, unknown: &str) -> String {
    match holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => unknown,
    }
    .to_owned()
}

/// Whether the line is a share from 0 to 1 rather than a mean.
fn is_share(line: &AuditLine) -> bool {
    line.high <= 1.0
}

fn audited(line: &AuditLine) -> String {
    match line.value {
        None => NOTHING.to_owned(),
        Some(value) if is_share(line) => format!("{} %", number(100.0 * value, 2)),
        Some(value) => number(value, 2),
    }
}

fn allowed(line: &AuditLine) -> String {
    match is_share(line) {
        true if line.high >= 1.0 => format!("at least {} %", number(100.0 * line.low, 0)),
        true => format!("{}–{} %", number(100.0 * line.low, 2), number(100.0 * line.high, 2)),
        false => format!("{}–{}", number(line.low, 2), number(line.high, 2)),
    }
}

fn audit_holds(line: &AuditLine) -> String {
    verdict(line.holds, if line.value.is_some() { "too few" } else { NOTHING })
}

/// What was drawn, against what it has to be.
pub fn audit(entry: &OrderEntry) -> Table {
    let lines = &entry.audit;
    let columns = vec![
        Column::words("input", lines.iter().map(|line| line.name.clone()).collect()),
        Column::numbers("measured", "", lines.iter().map(audited).collect()),
        Column::numbers("allowed", "", lines.iter().map(allowed).collect()),
        Column::numbers("samples", "", lines.iter().map(|line| number(line.samples as f64, 0)).collect()),
        Column::words("holds", lines.iter().map(audit_holds).collect()),
    ];
    let marks = lines.iter().map(|line| (line.holds == Some(false)).then_some(Mark::Broken)).collect();
    Table { columns, marks }
}

/// The audit in one line: how many hold, and which do not.
pub fn audit_summary(entry: &OrderEntry) -> Option<String> {
    let count = |holds| entry.audit.iter().filter(|line| line.holds == holds).count();
    let few = match count(None) {
        0 => String::new(),
        few => format!(", {few} with too few samples"),
    };
    let broken: Vec<String> = entry
        .audit
        .iter()
        .filter(|line| line.holds == Some(false))
        .map(|line| format!("{} {} (allowed {})", line.name, audited(line), allowed(line)))
        .collect();
    let broken = if broken.is_empty() { broken.concat() } else { format!("; out of range: {}", broken.join(", ")) };
    let all = entry.audit.len();
    (all > 0).then(|| format!("{} of {all} hold{few}{broken}", count(Some(true))))
}

fn shares(shares: &[f64; 4]) -> [String; 4] {
    shares.map(|share| number(100.0 * share, 1))
}

/// How uneven accesses were, and how uneven they have to be, a row for each table.
pub fn skew(entry: &OrderEntry) -> Table {
    let mut rows: Vec<(String, String, [String; 4])> = Vec::new();
    for skew in &entry.skew {
        let measured = skew.measured.as_ref().map_or([NOTHING; 4].map(str::to_owned), shares);
        rows.push((skew.keys.clone(), number(skew.samples as f64, 0), measured));
        rows.push(("expected".to_owned(), String::new(), shares(&skew.expected)));
    }
    let mut columns = vec![
        Column::words("keys", rows.iter().map(|row| row.0.clone()).collect()),
        Column::numbers("accesses", "", rows.iter().map(|row| row.1.clone()).collect()),
    ];
    columns.extend(HOTTEST.iter().enumerate().map(|(class, percent)| {
        let cells = rows.iter().map(|row| row.2[class].clone()).collect();
        Column::numbers(&format!("hottest {percent} %"), "% of them", cells)
    }));
    Table::new(columns)
}

/// `items 30.4/71.1/84.4/97.4, expected 30.5/71.0/84.4/97.4`.
pub fn skew_line(skew: &Skew) -> String {
    let measured = skew.measured.as_ref().map_or(NOTHING.to_owned(), |measured| shares(measured).join("/"));
    format!("{} {measured}, expected {}", skew.keys, shares(&skew.expected).join("/"))
}

/// What became of the new orders of the window.
pub fn new_orders(entry: &OrderEntry) -> String {
    let orders = &entry.new_orders;
    format!(
        "{} committed, {} rolled back for an item that does not exist, {} failed",
        counted(orders.committed as f64, "new order"),
        number(orders.rolled_back as f64, 0),
        number(orders.failed as f64, 0)
    )
}

/// Undelivered orders, and districts that had none.
pub fn backlog(entry: &OrderEntry) -> Option<String> {
    let skipped = match entry.skipped_districts {
        0 => None,
        n => Some(format!("{} skipped by deliveries, for want of an undelivered order", counted(n as f64, "district"))),
    };
    let stock = entry.backlog.map(|backlog| {
        let (start, end) = (number(backlog.start as f64, 0), number(backlog.end as f64, 0));
        format!("{start} undelivered orders at the start, {end} at the end")
    });
    let parts: Vec<String> = stock.into_iter().chain(skipped).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Retries by what made them necessary.
pub fn retries(point: &Point) -> String {
    let after = |(code, count): (&u16, &u64)| {
        let why = match code {
            1213 => "a deadlock".to_owned(),
            1205 => "a lock wait timeout".to_owned(),
            1020 => "a record that had changed since it was read".to_owned(),
            3101 => "a refusal by group certification".to_owned(),
            _ => return format!("{} after error {code}", number(*count as f64, 0)),
        };
        format!("{} after {why} ({code})", number(*count as f64, 0))
    };
    let named: Vec<String> = point.retried.iter().filter(|(_, count)| **count > 0).map(after).collect();
    match (point.retries, named.is_empty()) {
        (0, true) => "no retries".to_owned(),
        (_, false) => format!("retries: {}", named.join(", ")),
        (retries, true) => counted(retries as f64, "retry").replace("retrys", "retries"),
    }
}

/// CPU time that a transaction cost on either side, as far as it is known.
pub fn cost(point: &Point) -> Option<String> {
    let of = |side: &str, metric: Metric| {
        let measured = Measured::of(point, metric);
        measured.value.map(|_| measured.in_words(&format!("µs in the {side}")))
    };
    let (client, server) = (Metric::ClientCpuUsPerTransaction, Metric::ServerCpuUsPerTransaction);
    let known: Vec<String> = [of("client", client), of("server", server)].into_iter().flatten().collect();
    (!known.is_empty()).then(|| format!("CPU per transaction: {}", known.join(", ")))
}
