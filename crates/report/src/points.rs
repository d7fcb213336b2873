//! The tables over load points.

use crate::interval::Measured;
use crate::order_entry;
use crate::sweep::{Sweep, SweepAxis, Unit, shown_latency};
use crate::table::{Column, Mark, Table};
use plimsoll_model::metric::{Metric, Statistic};
use plimsoll_model::number::{NOTHING, column, in_percent, number};
use plimsoll_model::summary::{LatencyMs, Point};
use plimsoll_model::total;

/// Which number of a group a column shows.
type Pick<T> = fn(&T) -> Option<f64>;

/// How much has room side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableRoom {
    /// Intervals of the most important numbers.
    Terminal,
    /// Every interval.
    Page,
}

/// What gives way in a table of load points where there is little room, the last first.
const QUERIES: u8 = 1;
const MEDIAN: u8 = 2;
const CPU: u8 = 3;

/// The remark below listings of a workload's original.
pub const ORIGINAL_REMARK: &str = "The listing has the original's form, which has no intervals; those of its means are in \
                                   the table of load points.";

/// The main table, also shown in the terminal: throughput, latency, errors and CPU shares by load point.
pub fn load_points(sweep: &Sweep<'_>, room: TableRoom) -> Table {
    let if_roomy = |column: Column| if room == TableRoom::Page { column } else { column.narrow() };
    let of =
        |name: &str, unit: &str, most, metric| measured(sweep, name, unit, most, |point| Measured::of(point, metric));
    let latency = |statistic: Statistic| of(statistic.field(), "ms", 3, Metric::Time(statistic));
    let in_share = |name: &str, metric: Metric| {
        if_roomy(measured(sweep, name, "%", 1, |point| Measured::of(point, metric).scaled(100.0))).ranked(CPU)
    };
    let mut columns = load_columns(sweep);
    if sweep.unit == Unit::NewOrders {
        columns.push(of("NOPM", "per min", 1, Metric::Nopm));
    }
    columns.extend([
        of("transactions", "per s", 2, Metric::TransactionsPerSecond),
        of("queries", "per s", 2, Metric::QueriesPerSecond).ranked(QUERIES),
    ]);
    let p99 = latency(Statistic::P99);
    columns.extend(match sweep.unit {
        Unit::Transactions => {
            vec![if_roomy(latency(Statistic::P50)).ranked(MEDIAN), if_roomy(latency(Statistic::P95)), p99]
        }
        // Over all kinds together, percentiles below the highest reflect the mix rather than how long a transaction
        // took.
        Unit::NewOrders => {
            vec![Column::numbers("new_order", "p90, ms", numbers(sweep, 3, order_entry::new_order_p90)), if_roomy(p99)]
        }
    });
    columns.extend([
        Column::numbers("errors", "", counts(sweep, Point::error_count)),
        in_share("client CPU", Metric::ClientCpuFraction),
        in_share("host CPU", Metric::HostBusy),
    ]);
    with_marks(sweep, columns)
}

/// Every percentile by load point.
pub fn latencies(sweep: &Sweep<'_>) -> Table {
    let extreme = |name: &str, pick: Pick<LatencyMs>| {
        Column::numbers(name, "ms", numbers(sweep, 3, |point| pick(shown_latency(point))))
    };
    let mut columns = load_columns(sweep);
    columns.push(extreme("min", |l| l.min));
    columns.extend(Statistic::ALL.map(|statistic| {
        let name = if statistic == Statistic::P999 { "p99.9" } else { statistic.field() };
        measured(sweep, name, "ms", 3, |point| Measured::of(point, Metric::Time(statistic)))
    }));
    columns.push(extreme("max", |l| l.max));
    with_marks(sweep, columns)
}

/// What costs are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    Query,
    Transaction,
}

/// What a query or a transaction cost the client and the server; `None` if nothing is known.
pub fn costs(sweep: &Sweep<'_>, per: Per) -> Option<Table> {
    let cost = |name: &str, unit: &str, per_query: Metric, own: Option<Metric>| {
        let most_decimals = if unit == "bytes" { 0 } else { 2 };
        measured(sweep, name, unit, most_decimals, |point| one_cost(point, per, per_query, own))
    };
    let mut known = vec![
        cost("client CPU", "µs", Metric::ClientCpuUsPerQuery, Some(Metric::ClientCpuUsPerTransaction)),
        cost("server CPU", "µs", Metric::ServerCpuUsPerQuery, Some(Metric::ServerCpuUsPerTransaction)),
        cost("context switches", "", Metric::ServerContextSwitchesPerQuery, None),
        cost("read", "bytes", Metric::ServerReadBytesPerQuery, None),
        cost("written", "bytes", Metric::ServerWrittenBytesPerQuery, None),
    ];
    known.retain(|column| column.cells.iter().any(|cell| cell != NOTHING));
    (!known.is_empty()).then(|| {
        let mut columns = load_columns(sweep);
        columns.extend(known);
        with_marks(sweep, columns)
    })
}

/// A cost per query or per transaction; without an estimate of its `own`, a transaction has that of its queries it consists
/// of.
fn one_cost(point: &Point, per: Per, per_query: Metric, own: Option<Metric>) -> Measured {
    let of_query = Measured::of(point, per_query);
    // As in the summary: intended rollbacks are work that was asked for.
    match (per, total([point.transactions, point.rollbacks])) {
        (Per::Query, _) => of_query,
        (Per::Transaction, 0) => Measured::default(),
        (Per::Transaction, ended) => {
            let scaled = of_query.scaled(point.queries as f64 / ended as f64);
            let estimate = own.and_then(|own| own.estimate(point)).cloned();
            Measured { estimate: estimate.or(scaled.estimate), ..scaled }
        }
    }
}

/// Latency by operation of one load point.
pub fn operations(point: &Point) -> Table {
    let picks: [(&str, Pick<LatencyMs>); 5] =
        [("p50", |l| l.p50), ("p95", |l| l.p95), ("p99", |l| l.p99), ("p99.9", |l| l.p999), ("max", |l| l.max)];
    let all = &point.operations;
    let means: Vec<Measured> = all
        .iter()
        .map(|operation| Measured {
            value: operation.latency_ms.mean,
            estimate: operation.latency_mean_ms.clone(),
            ..Measured::default()
        })
        .collect();
    let mut columns = vec![
        Column::words("operation", all.iter().map(|operation| operation.name.clone()).collect()),
        Column::numbers("count", "", all.iter().map(|operation| number(operation.count as f64, 0)).collect()),
        Column::numbers("errors", "", all.iter().map(|operation| number(operation.errors as f64, 0)).collect()),
        Column::measured("mean", "ms", 3, &means),
    ];
    columns.extend(picks.map(|(name, pick)| {
        let values: Vec<_> = all.iter().map(|operation| pick(&operation.latency_ms)).collect();
        Column::numbers(name, "ms", column(&values, 3))
    }));
    Table::new(columns)
}

/// The columns that say which load point a row is.
fn load_columns(sweep: &Sweep<'_>) -> Vec<Column> {
    let mut columns = vec![Column::numbers("connections", "", counts(sweep, |point| point.load.connections as u64))];
    if sweep.load == SweepAxis::Rate || sweep.points.iter().any(|point| point.load.rate.is_some()) {
        columns.push(Column::numbers("offered", "per s", numbers(sweep, 1, |point| point.load.rate)));
    }
    columns
}

fn with_marks(sweep: &Sweep<'_>, mut columns: Vec<Column>) -> Table {
    columns.extend(disturbances(sweep));
    let mut marks = vec![None; sweep.points.len()];
    if let Some(row) = sweep.knee_row() {
        marks[row] = Some(Mark::Knee);
    }
    // That a single point is the highest says nothing.
    if let Some(row) = sweep.peak().filter(|_| sweep.points.len() > 1) {
        marks[row] = Some(Mark::Peak);
    }
    Table { columns, marks }
}

/// What other processes and the hypervisor took at each load point that they disturbed; `None` if none was disturbed.
fn disturbances(sweep: &Sweep<'_>) -> Option<Column> {
    let cells: Vec<String> = sweep.points.iter().map(|point| disturbance(point).unwrap_or_default()).collect();
    sweep.points.iter().any(Point::is_disturbed).then(|| Column::words("others", cells))
}

/// `1.3 CPUs`, `hypervisor 5 %`; `None` for a load point that had the machine to itself.
fn disturbance(point: &Point) -> Option<String> {
    let others = point.disturbing_cpus();
    let others = others.map(|cpus| format!("{} CPUs", number(cpus, 1)));
    let steal = point.disturbing_steal();
    let told = [others, steal.map(|steal| format!("hypervisor {} %", in_percent(steal)))];
    let told = told.into_iter().flatten().collect::<Vec<_>>().join("; ");
    point.is_disturbed().then_some(told)
}

fn measured(
    sweep: &Sweep<'_>,
    name: &str,
    unit: &str,
    most_decimals: usize,
    of: impl Fn(&Point) -> Measured,
) -> Column {
    Column::measured(name, unit, most_decimals, &sweep.points.iter().map(of).collect::<Vec<_>>())
}

fn numbers(sweep: &Sweep<'_>, most_decimals: usize, value: impl Fn(&Point) -> Option<f64>) -> Vec<String> {
    column(&sweep.points.iter().map(value).collect::<Vec<_>>(), most_decimals)
}

fn counts(sweep: &Sweep<'_>, value: impl Fn(&Point) -> u64) -> Vec<String> {
    sweep.points.iter().map(|point| number(value(point) as f64, 0)).collect()
}
