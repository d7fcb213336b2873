//! The tables over load points.

use crate::format::{NOTHING, column, number};
use crate::order_entry;
use crate::sweep::{Load, Sweep, Unit, error_count, shown_latency};
use crate::table::{Column, Mark, Table};
use plimsoll_model::summary::{LatencyMs, Point, ServerCost};

/// Which number of a group of them a column shows.
type Pick<T> = fn(&T) -> Option<f64>;

/// The main table, also shown in the terminal: throughput, latency, errors and CPU shares by load point.
pub fn load_points(sweep: &Sweep<'_>) -> Table {
    let latency = |name: &str, pick: Pick<LatencyMs>| {
        Column::numbers(name, "ms", numbers(sweep, 3, |point| pick(shown_latency(point))))
    };
    let mut columns = load_columns(sweep);
    if sweep.unit == Unit::NewOrders {
        columns.push(Column::numbers("NOPM", "per min", numbers(sweep, 1, |point| point.nopm)));
    }
    columns.extend([
        Column::numbers("transactions", "per s", numbers(sweep, 2, |point| point.transactions_per_second)),
        Column::numbers("queries", "per s", numbers(sweep, 2, |point| point.queries_per_second)),
    ]);
    columns.extend(match sweep.unit {
        Unit::Transactions => vec![latency("p50", |l| l.p50), latency("p95", |l| l.p95)],
        // Of all kinds together, percentiles below the highest say what the mix is rather than how long one took.
        Unit::NewOrders => {
            vec![Column::numbers("new_order", "p90, ms", numbers(sweep, 3, order_entry::new_order_p90))]
        }
    });
    columns.extend([
        latency("p99", |l| l.p99),
        Column::numbers("errors", "", counts(sweep, error_count)),
        Column::numbers("client CPU", "%", numbers(sweep, 1, |point| point.client.cpu_fraction.map(|f| 100.0 * f))),
        Column::numbers("host CPU", "%", numbers(sweep, 1, |point| point.host.map(|host| 100.0 * host.busy))),
    ]);
    with_marks(sweep, columns)
}

/// Every percentile by load point.
pub fn latencies(sweep: &Sweep<'_>) -> Table {
    let picks: [(&str, Pick<LatencyMs>); 8] = [
        ("min", |l| l.min),
        ("mean", |l| l.mean),
        ("p50", |l| l.p50),
        ("p90", |l| l.p90),
        ("p95", |l| l.p95),
        ("p99", |l| l.p99),
        ("p99.9", |l| l.p999),
        ("max", |l| l.max),
    ];
    let mut columns = load_columns(sweep);
    columns.extend(
        picks.map(|(name, pick)| Column::numbers(name, "ms", numbers(sweep, 3, |point| pick(shown_latency(point))))),
    );
    with_marks(sweep, columns)
}

/// What costs are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    Query,
    Transaction,
}

/// What a query or a transaction cost the client and the server; `None` if nothing is known of it.
pub fn costs(sweep: &Sweep<'_>, per: Per) -> Option<Table> {
    let server: [(&str, &str, Pick<ServerCost>); 4] = [
        ("server CPU", "µs", |server| server.cpu_us_per_query),
        ("context switches", "", |server| server.context_switches_per_query),
        ("read", "bytes", |server| server.read_bytes_per_query),
        ("written", "bytes", |server| server.written_bytes_per_query),
    ];
    let of_client = numbers(sweep, 2, |point| divided(point, per, point.client.cpu_us_per_query));
    let mut known = vec![Column::numbers("client CPU", "µs", of_client)];
    known.extend(server.map(|(name, unit, pick)| {
        let most_decimals = if unit == "bytes" { 0 } else { 2 };
        let of_server = |point: &Point| divided(point, per, point.server.as_ref().and_then(pick));
        Column::numbers(name, unit, numbers(sweep, most_decimals, of_server))
    }));
    known.retain(|column| column.cells.iter().any(|cell| cell != NOTHING));
    (!known.is_empty()).then(|| {
        let mut columns = load_columns(sweep);
        columns.extend(known);
        with_marks(sweep, columns)
    })
}

fn divided(point: &Point, per: Per, per_query: Option<f64>) -> Option<f64> {
    match per {
        Per::Query => per_query,
        // As the summary has it: intended rollbacks are work that was asked for.
        Per::Transaction => match point.transactions + point.rollbacks {
            0 => None,
            ended => Some(per_query? * point.queries as f64 / ended as f64),
        },
    }
}

/// Latency by operation of one load point.
pub fn operations(point: &Point) -> Table {
    let picks: [(&str, Pick<LatencyMs>); 6] = [
        ("mean", |l| l.mean),
        ("p50", |l| l.p50),
        ("p95", |l| l.p95),
        ("p99", |l| l.p99),
        ("p99.9", |l| l.p999),
        ("max", |l| l.max),
    ];
    let all = &point.operations;
    let mut columns = vec![
        Column::words("operation", all.iter().map(|operation| operation.name.clone()).collect()),
        Column::numbers("count", "", all.iter().map(|operation| number(operation.count as f64, 0)).collect()),
        Column::numbers("errors", "", all.iter().map(|operation| number(operation.errors as f64, 0)).collect()),
    ];
    columns.extend(picks.map(|(name, pick)| {
        let values: Vec<_> = all.iter().map(|operation| pick(&operation.latency_ms)).collect();
        Column::numbers(name, "ms", column(&values, 3))
    }));
    Table::new(columns)
}

/// The columns that say which load point a row is.
fn load_columns(sweep: &Sweep<'_>) -> Vec<Column> {
    let mut columns = vec![Column::numbers("connections", "", counts(sweep, |point| point.connections as u64))];
    if sweep.load == Load::Rate || sweep.points.iter().any(|point| point.rate_offered.is_some()) {
        columns.push(Column::numbers("offered", "per s", numbers(sweep, 1, |point| point.rate_offered)));
    }
    columns
}

fn with_marks(sweep: &Sweep<'_>, columns: Vec<Column>) -> Table {
    let mut marks = vec![None; sweep.points.len()];
    if let Some(row) = sweep.knee_row() {
        marks[row] = Some(Mark::Knee);
    }
    // Of a single point it says nothing that it is the highest.
    if let Some(row) = sweep.peak().filter(|_| sweep.points.len() > 1) {
        marks[row] = Some(Mark::Peak);
    }
    Table { columns, marks }
}

fn numbers(sweep: &Sweep<'_>, most_decimals: usize, value: impl Fn(&Point) -> Option<f64>) -> Vec<String> {
    column(&sweep.points.iter().map(value).collect::<Vec<_>>(), most_decimals)
}

fn counts(sweep: &Sweep<'_>, value: impl Fn(&Point) -> u64) -> Vec<String> {
    sweep.points.iter().map(|point| number(value(point) as f64, 0)).collect()
}
