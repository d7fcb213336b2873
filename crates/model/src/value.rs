//! Where a load point and a probe have the number of each metric.

use crate::estimate::Estimate;
use crate::io::{LatencyUs, Probe};
use crate::metric::{Metric, Statistic};
use crate::operation::OpKind;
use crate::probe_metric::ProbeMetric;
use crate::summary::{HostShares, LatencyMs, Point, ServerCost};
use std::collections::BTreeMap;

impl Statistic {
    pub fn of(self, times: &LatencyMs) -> Option<f64> {
        match self {
            Statistic::Mean => times.mean,
            Statistic::P50 => times.p50,
            Statistic::P90 => times.p90,
            Statistic::P95 => times.p95,
            Statistic::P99 => times.p99,
            Statistic::P999 => times.p999,
        }
    }

    pub fn of_mut(self, times: &mut LatencyMs) -> &mut Option<f64> {
        match self {
            Statistic::Mean => &mut times.mean,
            Statistic::P50 => &mut times.p50,
            Statistic::P90 => &mut times.p90,
            Statistic::P95 => &mut times.p95,
            Statistic::P99 => &mut times.p99,
            Statistic::P999 => &mut times.p999,
        }
    }

    /// Microseconds.
    pub fn of_us(self, times: &LatencyUs) -> Option<f64> {
        match self {
            Statistic::Mean => times.mean,
            Statistic::P50 => times.p50,
            Statistic::P90 => times.p90,
            Statistic::P95 => times.p95,
            Statistic::P99 => times.p99,
            Statistic::P999 => times.p999,
        }
    }
}

impl Metric {
    /// The number of a point; none where it was not measured.
    pub fn value(self, point: &Point) -> Option<f64> {
        let server = |of: fn(&ServerCost) -> Option<f64>| of(point.server.as_ref()?);
        let host = |of: fn(&HostShares) -> f64| point.host.as_ref().map(of);
        match self {
            Metric::TransactionsPerSecond => point.transactions_per_second,
            Metric::QueriesPerSecond => point.queries_per_second,
            Metric::Nopm => point.nopm,
            Metric::Latency(statistic) => statistic.of(&point.latency_ms),
            Metric::Response(statistic) => statistic.of(point.response_ms.as_ref()?),
            Metric::Time(_) => self.at(point).value(point),
            Metric::ClientCpuUsPerQuery => point.client.cpu_us_per_query,
            Metric::ClientCpuUsPerTransaction => point.client.cpu_us_per_transaction,
            Metric::ClientCpuFraction => point.client.cpu_fraction,
            Metric::ClientProcessCpuUsPerQuery => point.client.process_cpu_us_per_query,
            Metric::ClientThreadsWaiting => point.client.threads_waiting_for_cpu,
            Metric::ServerCpuUsPerQuery => server(|cost| cost.cpu_us_per_query),
            Metric::ServerCpuUsPerTransaction => server(|cost| cost.cpu_us_per_transaction),
            Metric::ServerCpusBusy => server(|cost| cost.cpus_busy),
            Metric::ServerThreadsWaiting => server(|cost| cost.threads_waiting_for_cpu),
            Metric::ServerContextSwitchesPerQuery => server(|cost| cost.context_switches_per_query),
            Metric::ServerReadBytesPerQuery => server(|cost| cost.read_bytes_per_query),
            Metric::ServerWrittenBytesPerQuery => server(|cost| cost.written_bytes_per_query),
            Metric::HostBusy => host(|shares| shares.busy),
            Metric::HostUser => host(|shares| shares.user),
            Metric::HostSystem => host(|shares| shares.system),
            Metric::HostIowait => host(|shares| shares.iowait),
            Metric::HostSteal => host(|shares| shares.steal),
            Metric::TransactionsPerConnection => point.fairness.events_mean,
            Metric::SecondsPerConnection => point.fairness.seconds_mean,
        }
    }

    /// Sets the number of a point; nothing where a point has no server or host that could have it.
    pub fn set(self, point: &mut Point, value: f64) {
        let some = Some(value);
        let at = self.at(point);
        let Point { client, server, host, fairness, .. } = point;
        let mut server = |of: fn(&mut ServerCost) -> &mut Option<f64>| {
            if let Some(cost) = server.as_mut() {
                *of(cost) = some;
            }
        };
        let mut host = |of: fn(&mut HostShares) -> &mut f64| {
            if let Some(shares) = host.as_mut() {
                *of(shares) = value;
            }
        };
        match at {
            Metric::TransactionsPerSecond => point.transactions_per_second = some,
            Metric::QueriesPerSecond => point.queries_per_second = some,
            Metric::Nopm => point.nopm = some,
            Metric::Latency(statistic) | Metric::Time(statistic) => *statistic.of_mut(&mut point.latency_ms) = some,
            Metric::Response(statistic) => *statistic.of_mut(point.response_ms.get_or_insert_default()) = some,
            Metric::ClientCpuUsPerQuery => client.cpu_us_per_query = some,
            Metric::ClientCpuUsPerTransaction => client.cpu_us_per_transaction = some,
            Metric::ClientCpuFraction => client.cpu_fraction = some,
            Metric::ClientProcessCpuUsPerQuery => client.process_cpu_us_per_query = some,
            Metric::ClientThreadsWaiting => client.threads_waiting_for_cpu = some,
            Metric::ServerCpuUsPerQuery => server(|cost| &mut cost.cpu_us_per_query),
            Metric::ServerCpuUsPerTransaction => server(|cost| &mut cost.cpu_us_per_transaction),
            Metric::ServerCpusBusy => server(|cost| &mut cost.cpus_busy),
            Metric::ServerThreadsWaiting => server(|cost| &mut cost.threads_waiting_for_cpu),
            Metric::ServerContextSwitchesPerQuery => server(|cost| &mut cost.context_switches_per_query),
            Metric::ServerReadBytesPerQuery => server(|cost| &mut cost.read_bytes_per_query),
            Metric::ServerWrittenBytesPerQuery => server(|cost| &mut cost.written_bytes_per_query),
            Metric::HostBusy => host(|shares| &mut shares.busy),
            Metric::HostUser => host(|shares| &mut shares.user),
            Metric::HostSystem => host(|shares| &mut shares.system),
            Metric::HostIowait => host(|shares| &mut shares.iowait),
            Metric::HostSteal => host(|shares| &mut shares.steal),
            Metric::TransactionsPerConnection => fairness.events_mean = some,
            Metric::SecondsPerConnection => fairness.seconds_mean = some,
        }
    }

    /// How far that number can be trusted, if it is known.
    pub fn estimate(self, point: &Point) -> Option<&Estimate> {
        point.estimates.get(self.at(point))
    }

    /// Which of the two a [`Metric::Time`] is there.
    fn at(self, point: &Point) -> Metric {
        match self {
            Metric::Time(statistic) if point.response_ms.is_some() => Metric::Response(statistic),
            Metric::Time(statistic) => Metric::Latency(statistic),
            other => other,
        }
    }
}

impl ProbeMetric {
    /// The number of a probe; none where it was not measured.
    pub fn value(self, probe: &Probe) -> Option<f64> {
        let time = |times: &BTreeMap<OpKind, LatencyUs>, kind: OpKind, statistic: Statistic| {
            times.get(&kind).and_then(|times| statistic.of_us(times))
        };
        match self {
            ProbeMetric::Iops => probe.iops,
            ProbeMetric::MbPerSecond => probe.mb_per_second,
            ProbeMetric::FlushesPerOp => probe.flushes_per_op,
            ProbeMetric::DeviceBytesPerOp => probe.device_bytes_per_op,
            ProbeMetric::CpuUsPerOp => probe.cpu_us_per_op,
            ProbeMetric::ProcessCpuUsPerOp => probe.process_cpu_us_per_op,
            ProbeMetric::Latency(kind, statistic) => time(&probe.latency_us, kind, statistic),
            ProbeMetric::Response(kind, statistic) => time(&probe.response_us, kind, statistic),
            ProbeMetric::Machine(metric) => probe.found.get(metric.name()).copied(),
        }
    }

    /// How far that number can be trusted, if it is known.
    pub fn estimate(self, probe: &Probe) -> Option<&Estimate> {
        probe.estimates.get(&self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn estimate(value: f64) -> Estimate {
        Estimate::new(value, (value - 1.0, value + 1.0), 0.95, 8.0, "8 batches".to_owned())
    }

    #[test]
    fn every_metric_is_the_number_at_its_path() {
        let mut point = Point { server: Some(ServerCost::default()), ..Point::default() };
        (point.host, point.response_ms) = (Some(HostShares::default()), Some(LatencyMs::default()));
        point.estimates = Metric::all().map(|metric| (metric, estimate(1.0))).collect();
        let json = serde_json::to_value(&point).unwrap();
        let paths: BTreeSet<&String> = json["estimates"].as_object().unwrap().keys().collect();
        assert_eq!(paths.len(), Metric::all().count(), "no two have one path");
        for path in paths {
            let field = path.split('.').try_fold(&json, |at, part| at.get(part));
            assert!(field.is_some(), "{path}");
        }
    }

    #[test]
    fn what_is_set_is_the_value() {
        let mut point = Point { server: Some(ServerCost::default()), ..Point::default() };
        (point.host, point.response_ms) = (Some(HostShares::default()), Some(LatencyMs::default()));
        let numbered = || Metric::all().zip(1..).map(|(metric, number)| (metric, f64::from(number)));
        numbered().for_each(|(metric, number)| metric.set(&mut point, number));
        for (metric, number) in numbered() {
            assert_eq!(metric.value(&point), Some(number), "{metric:?}");
        }
        let mut bare = Point::default();
        Metric::ServerCpusBusy.set(&mut bare, 1.0);
        assert_eq!(bare, Point::default());
    }

    #[test]
    fn every_metric_of_a_probe_is_the_number_at_its_path() {
        let number = |metric: ProbeMetric| ProbeMetric::all().position(|one| one == metric).unwrap() as f64;
        let mut json = serde_json::to_value(Probe::default()).unwrap();
        for metric in ProbeMetric::all() {
            let path = metric.path();
            let (parents, field) = path.rsplit_once('.').unwrap_or(("", &path));
            let mut at = &mut json;
            for part in parents.split('.').filter(|part| !part.is_empty()) {
                at = &mut at[part];
            }
            at[field] = number(metric).into();
        }
        for times in ["latency_us", "response_us"] {
            json[times].as_object_mut().unwrap().values_mut().for_each(|kind| kind["count"] = 1.into());
        }
        let probe: Probe = serde_json::from_value(json).unwrap();
        for metric in ProbeMetric::all() {
            assert_eq!(metric.value(&probe), Some(number(metric)), "{}", metric.path());
        }
    }

    #[test]
    fn a_time_counts_from_when_it_was_due_where_that_is_known() {
        let times = |p99| LatencyMs { p99: Some(p99), ..LatencyMs::default() };
        let closed = Point { latency_ms: times(1.0), ..Point::default() };
        assert_eq!(Metric::P99.value(&closed), Some(1.0));
        assert_eq!(Metric::P99.value(&Point { response_ms: Some(times(5.0)), ..closed }), Some(5.0));
    }
}
