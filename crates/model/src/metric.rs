//! What is measured at a load point: each metric once, with its name, its unit, the two sums that it is the ratio of, and
//! which way is better.

use crate::estimate::Estimate;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// A metric of a load point. In JSON it is its [name](Metric::name).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    #[default]
    TransactionsPerSecond,
    QueriesPerSecond,
    /// New orders per minute.
    Nopm,
    /// From the first send.
    Latency(Statistic),
    /// From the moment a transaction was due.
    Response(Statistic),
    /// The response time where transactions have a due time, else the latency.
    Time(Statistic),
    ClientCpuUsPerQuery,
    ClientCpuUsPerTransaction,
    ClientCpuFraction,
    ClientProcessCpuUsPerQuery,
    ClientThreadsWaiting,
    ServerCpuUsPerQuery,
    ServerCpuUsPerTransaction,
    ServerCpusBusy,
    ServerThreadsWaiting,
    ServerContextSwitchesPerQuery,
    ServerReadBytesPerQuery,
    ServerWrittenBytesPerQuery,
    HostBusy,
    HostUser,
    HostSystem,
    HostIowait,
    HostSteal,
    TransactionsPerConnection,
    SecondsPerConnection,
}

/// What is said of many times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Statistic {
    Mean,
    P50,
    P90,
    P95,
    P99,
    P999,
}

impl Statistic {
    pub const ALL: [Statistic; 6] =
        [Statistic::Mean, Statistic::P50, Statistic::P90, Statistic::P95, Statistic::P99, Statistic::P999];

    /// The field of [`LatencyMs`].
    pub fn field(self) -> &'static str {
        match self {
            Statistic::Mean => "mean",
            Statistic::P50 => "p50",
            Statistic::P90 => "p90",
            Statistic::P95 => "p95",
            Statistic::P99 => "p99",
            Statistic::P999 => "p999",
        }
    }

    /// Of a percentile, the share of all times that do not exceed it.
    pub fn quantile(self) -> Option<f64> {
        Some(match self {
            Statistic::Mean => return None,
            Statistic::P50 => 0.5,
            Statistic::P90 => 0.9,
            Statistic::P95 => 0.95,
            Statistic::P99 => 0.99,
            Statistic::P999 => 0.999,
        })
    }
}

/// What is added up over the seconds of a window. A mean is the ratio of two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sum {
    Transactions,
    /// Transactions, and those that were rolled back as it was wanted.
    Ended,
    Queries,
    Seconds,
    /// Seconds of all loop threads.
    LoopSeconds,
    LoopCpuUs,
    LoopCpuSeconds,
    /// CPU time of the load generator's whole process.
    ProcessCpuUs,
    /// Time that the load generator's threads waited for a CPU.
    WaitedSeconds,
    ServerCpuUs,
    ServerCpuSeconds,
    ServerReadBytes,
    ServerWrittenBytes,
    HostSamples,
    HostBusy,
    HostUser,
    HostSystem,
    HostIowait,
    HostSteal,
    /// Milliseconds, and how many times they are of.
    Latency,
    Latencies,
    Response,
    Responses,
}

/// All that is to be known of a metric but its value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Definition {
    metric: Metric,
    /// The path of its field within a point; of a [`Metric::Time`] the name that plan files have for it.
    path: &'static str,
    /// What stands behind a number of it.
    unit: &'static str,
    /// Numerator and denominator; none of percentiles, and of what is only known of the whole window.
    ratio: Option<(Sum, Sum)>,
    better: Better,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Better {
    More,
    Less,
}

const fn row(
    metric: Metric,
    path: &'static str,
    unit: &'static str,
    ratio: Option<(Sum, Sum)>,
    better: Better,
) -> Definition {
    Definition { metric, path, unit, ratio, better }
}

/// Each metric, once.
#[rustfmt::skip]
const TABLE: [Definition; 40] = {
    use Better::{Less, More};
    use Metric::*;
    [
        row(TransactionsPerSecond, "transactions_per_second", "transactions per second", Some((Sum::Transactions, Sum::Seconds)), More),
        row(QueriesPerSecond, "queries_per_second", "queries per second", Some((Sum::Queries, Sum::Seconds)), More),
        row(Nopm, "nopm", "new orders per minute", None, More),
        row(Latency(Statistic::Mean), "latency_ms.mean", "ms on average", Some((Sum::Latency, Sum::Latencies)), Less),
        row(Latency(Statistic::P50), "latency_ms.p50", "ms at the median", None, Less),
        row(Latency(Statistic::P90), "latency_ms.p90", "ms at the 90th percentile", None, Less),
        row(Latency(Statistic::P95), "latency_ms.p95", "ms at the 95th percentile", None, Less),
        row(Latency(Statistic::P99), "latency_ms.p99", "ms at the 99th percentile", None, Less),
        row(Latency(Statistic::P999), "latency_ms.p999", "ms at the 99.9th percentile", None, Less),
        row(Response(Statistic::Mean), "response_ms.mean", "ms on average", Some((Sum::Response, Sum::Responses)), Less),
        row(Response(Statistic::P50), "response_ms.p50", "ms at the median", None, Less),
        row(Response(Statistic::P90), "response_ms.p90", "ms at the 90th percentile", None, Less),
        row(Response(Statistic::P95), "response_ms.p95", "ms at the 95th percentile", None, Less),
        row(Response(Statistic::P99), "response_ms.p99", "ms at the 99th percentile", None, Less),
        row(Response(Statistic::P999), "response_ms.p999", "ms at the 99.9th percentile", None, Less),
        row(Time(Statistic::Mean), "mean_ms", "ms on average", None, Less),
        row(Time(Statistic::P50), "p50_ms", "ms at the median", None, Less),
        row(Time(Statistic::P90), "p90_ms", "ms at the 90th percentile", None, Less),
        row(Time(Statistic::P95), "p95_ms", "ms at the 95th percentile", None, Less),
        row(Time(Statistic::P99), "p99_ms", "ms at the 99th percentile", None, Less),
        row(Time(Statistic::P999), "p999_ms", "ms at the 99.9th percentile", None, Less),
        row(ClientCpuUsPerQuery, "client.cpu_us_per_query", "µs of client CPU per query", Some((Sum::LoopCpuUs, Sum::Queries)), Less),
        row(ClientCpuUsPerTransaction, "client.cpu_us_per_transaction", "µs of client CPU per transaction", Some((Sum::LoopCpuUs, Sum::Ended)), Less),
        row(ClientCpuFraction, "client.cpu_fraction", "of the loop threads’ time", Some((Sum::LoopCpuSeconds, Sum::LoopSeconds)), Less),
        row(ClientProcessCpuUsPerQuery, "client.process_cpu_us_per_query", "µs of client CPU per query", Some((Sum::ProcessCpuUs, Sum::Queries)), Less),
        row(ClientThreadsWaiting, "client.threads_waiting_for_cpu", "client threads waiting", Some((Sum::WaitedSeconds, Sum::Seconds)), Less),
        row(ServerCpuUsPerQuery, "server.cpu_us_per_query", "µs of server CPU per query", Some((Sum::ServerCpuUs, Sum::Queries)), Less),
        row(ServerCpuUsPerTransaction, "server.cpu_us_per_transaction", "µs of server CPU per transaction", Some((Sum::ServerCpuUs, Sum::Ended)), Less),
        row(ServerCpusBusy, "server.cpus_busy", "CPUs", Some((Sum::ServerCpuSeconds, Sum::Seconds)), Less),
        row(ServerThreadsWaiting, "server.threads_waiting_for_cpu", "server threads waiting", None, Less),
        row(ServerContextSwitchesPerQuery, "server.context_switches_per_query", "context switches per query", None, Less),
        row(ServerReadBytesPerQuery, "server.read_bytes_per_query", "bytes read per query", Some((Sum::ServerReadBytes, Sum::Queries)), Less),
        row(ServerWrittenBytesPerQuery, "server.written_bytes_per_query", "bytes written per query", Some((Sum::ServerWrittenBytes, Sum::Queries)), Less),
        row(HostBusy, "host.busy", "of the host’s CPU time", Some((Sum::HostBusy, Sum::HostSamples)), Less),
        row(HostUser, "host.user", "of the host’s CPU time", Some((Sum::HostUser, Sum::HostSamples)), Less),
        row(HostSystem, "host.system", "of the host’s CPU time", Some((Sum::HostSystem, Sum::HostSamples)), Less),
        row(HostIowait, "host.iowait", "of the host’s CPU time", Some((Sum::HostIowait, Sum::HostSamples)), Less),
        row(HostSteal, "host.steal", "of the host’s CPU time", Some((Sum::HostSteal, Sum::HostSamples)), Less),
        row(TransactionsPerConnection, "fairness.events_mean", "transactions per connection", None, More),
        row(SecondsPerConnection, "fairness.seconds_mean", "busy seconds per connection", None, More),
    ]
};

impl Metric {
    /// The one percentile by which load points are compared.
    pub const P99: Metric = Metric::Time(Statistic::P99);

    /// What one side of a comparison can have more of than the other.
    pub const COMPARED: [Metric; 4] =
        [Metric::TransactionsPerSecond, Metric::Nopm, Metric::P99, Metric::ServerCpuUsPerTransaction];

    /// Those that have an estimate in a point.
    pub fn all() -> impl Iterator<Item = Metric> {
        TABLE.iter().map(|definition| definition.metric).filter(|metric| !matches!(metric, Metric::Time(_)))
    }

    fn definition(self) -> &'static Definition {
        // Every metric has its row; a test looks at them all.
        TABLE.iter().find(|definition| definition.metric == self).unwrap_or(&TABLE[0])
    }

    /// What plan files and comparisons call it: `server_cpu_us_per_transaction`, `p99_ms`.
    pub fn name(self) -> String {
        self.definition().path.replace('.', "_")
    }

    /// The metric that plan files call so: one of [`Metric::COMPARED`], a time such as `p95_ms`, or another rate.
    pub fn of_name(name: &str) -> Option<Metric> {
        let times = Statistic::ALL.map(Metric::Time);
        let others = Metric::COMPARED.into_iter().chain([Metric::QueriesPerSecond]);
        times.into_iter().chain(others).find(|metric| metric.name() == name)
    }

    /// What stands behind a number of it: `transactions per second`, `ms at the 99th percentile`.
    pub fn unit(self) -> &'static str {
        self.definition().unit
    }

    /// The two sums over the seconds of a window that its mean is the ratio of; none of what is no such mean.
    pub fn ratio(self) -> Option<(Sum, Sum)> {
        self.definition().ratio
    }

    /// True if more of it is better.
    pub fn more_is_better(self) -> bool {
        self.definition().better == Better::More
    }

    /// Whether it is a part of a whole, which is 1 at most.
    pub fn is_share(self) -> bool {
        use Metric::*;
        matches!(self, HostBusy | HostUser | HostSystem | HostIowait | HostSteal | ClientCpuFraction)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Metric, D::Error> {
        let name = String::deserialize(deserializer)?;
        Metric::of_name(&name).ok_or_else(|| D::Error::custom(format!("there is no metric `{name}`")))
    }
}

/// How far the numbers of a load point can be trusted. In JSON an object by the path of each number within the point:
/// `transactions_per_second`, `latency_ms.p99`, `client.cpu_us_per_query`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimates {
    of: BTreeMap<Metric, Estimate>,
    /// By the name of a kind of transactions.
    committed_per_second: BTreeMap<String, Estimate>,
}

const COMMITTED: &str = "committed_per_second.";

impl Estimates {
    pub fn get(&self, metric: Metric) -> Option<&Estimate> {
        self.of.get(&metric)
    }

    pub fn get_mut(&mut self, metric: Metric) -> Option<&mut Estimate> {
        self.of.get_mut(&metric)
    }

    pub fn insert(&mut self, metric: Metric, estimate: Estimate) {
        self.of.insert(metric, estimate);
    }

    /// Transactions of a kind that were committed per second.
    pub fn committed(&self, kind: &str) -> Option<&Estimate> {
        self.committed_per_second.get(kind)
    }

    /// The kinds of transactions of which it is known how many were committed.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.committed_per_second.keys().map(String::as_str)
    }

    pub fn insert_committed(&mut self, kind: &str, estimate: Estimate) {
        self.committed_per_second.insert(kind.to_owned(), estimate);
    }

    pub fn is_empty(&self) -> bool {
        self.of.is_empty() && self.committed_per_second.is_empty()
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Estimate> {
        self.of.values_mut().chain(self.committed_per_second.values_mut())
    }
}

impl Extend<(Metric, Estimate)> for Estimates {
    fn extend<I: IntoIterator<Item = (Metric, Estimate)>>(&mut self, all: I) {
        self.of.extend(all);
    }
}

impl FromIterator<(Metric, Estimate)> for Estimates {
    fn from_iter<I: IntoIterator<Item = (Metric, Estimate)>>(all: I) -> Estimates {
        Estimates { of: all.into_iter().collect(), ..Estimates::default() }
    }
}

impl<const N: usize> From<[(Metric, Estimate); N]> for Estimates {
    fn from(all: [(Metric, Estimate); N]) -> Estimates {
        all.into_iter().collect()
    }
}

impl Serialize for Estimates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let of = self.of.iter().map(|(metric, estimate)| (metric.definition().path.to_owned(), estimate));
        let committed =
            self.committed_per_second.iter().map(|(kind, estimate)| (format!("{COMMITTED}{kind}"), estimate));
        of.chain(committed).collect::<BTreeMap<_, _>>().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Estimates {
    /// What a newer Plimsoll knows beside these is left out.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Estimates, D::Error> {
        let by_path: BTreeMap<&'static str, Metric> =
            Metric::all().map(|metric| (metric.definition().path, metric)).collect();
        let mut all = Estimates::default();
        for (path, estimate) in BTreeMap::<String, Estimate>::deserialize(deserializer)? {
            match (path.strip_prefix(COMMITTED), by_path.get(path.as_str())) {
                (Some(kind), _) => all.insert_committed(kind, estimate),
                (None, Some(metric)) => all.insert(*metric, estimate),
                (None, None) => {}
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64) -> Estimate {
        Estimate::new(value, (value - 1.0, value + 1.0), 0.95, 8.0, "8 batches".to_owned())
    }

    #[test]
    fn every_metric_has_a_row() {
        for definition in &TABLE {
            assert_eq!(definition.metric.definition(), definition);
        }
    }

    #[test]
    fn a_metric_is_read_by_the_name_that_it_is_written_with() {
        for metric in Metric::COMPARED {
            let json = serde_json::to_string(&metric).unwrap();
            assert_eq!(serde_json::from_str::<Metric>(&json).unwrap(), metric);
        }
        assert_eq!(Metric::P99.name(), "p99_ms");
        assert_eq!(Metric::ServerCpuUsPerTransaction.name(), "server_cpu_us_per_transaction");
        assert_eq!(Metric::of_name("warehouses"), None);
    }

    #[test]
    fn estimates_are_kept_and_unknown_ones_left_out() {
        let mut all: Estimates = [(Metric::Latency(Statistic::P99), estimate(9.0))].into();
        all.insert_committed("payment", estimate(3.0));
        let mut json = serde_json::to_value(&all).unwrap();
        json["of_tomorrow"] = json["latency_ms.p99"].clone();
        assert_eq!(serde_json::from_value::<Estimates>(json).unwrap(), all);
    }
}
