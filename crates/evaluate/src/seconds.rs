//! The seconds of one measurement, and the probe that they add up to. No mean or percentile is alone: its estimator
//! also gives the confidence interval, or says why there is none.

use crate::counting::Counting;
use crate::telemetry::Look;
use hdrhistogram::Histogram;
use plimsoll_load::tally::Tally;
use plimsoll_measures::caveats::of_range;
use plimsoll_model::io::{LatencyUs, Probe, Second};
use plimsoll_model::metric::Statistic;
use plimsoll_model::probe_metric::MachineMetric;
use plimsoll_model::samples::{DeviceSample, HostSample, StorageSample};
use plimsoll_model::{Estimate, OpKind, ProbeMetric};
use plimsoll_stats::batch_means::{Piece, ratio};
use plimsoll_stats::latency::latency_ms;
use plimsoll_stats::percentile::Clusters;
use plimsoll_storage::measure::{READ_BYTES, WRITTEN_BYTES};
use plimsoll_storage::probe::ProbeStep;
use std::collections::BTreeMap;

const US_PER_NS: f64 = 1e-3;
/// Buckets of the histograms by octave of the latency.
const BUCKETS_PER_OCTAVE: f64 = 8.0;

/// The counts of the measured window so far.
pub struct ProbeSeconds {
    counting: Counting,
    /// CPUs of the host.
    cpus: f64,
    /// Operations have a due time, so their response time counts from it.
    open_loop: bool,
    /// Sum of the seconds.
    window: Option<Tally>,
    series: Vec<Second>,
    /// By the metric that is their ratio.
    pieces: BTreeMap<ProbeMetric, Vec<Piece>>,
    /// By kind of operation, in the order of [`OpKind::ALL`].
    service: Vec<Clusters>,
    response: Vec<Clusters>,
}

impl ProbeSeconds {
    pub fn new(counting: Counting, open_loop: bool, cpus: usize) -> ProbeSeconds {
        ProbeSeconds {
            counting,
            cpus: cpus as f64,
            open_loop,
            window: None,
            series: Vec::new(),
            pieces: BTreeMap::new(),
            service: Vec::new(),
            response: Vec::new(),
        }
    }

    /// Adds a second of the window, and what the machine did meanwhile.
    pub fn add(&mut self, tally: &Tally, look: &Look) {
        let seconds = tally.end_ns.saturating_sub(tally.start_ns) as f64 / 1e9;
        let operations = self.counting.count(tally) as f64;
        let counted = |counter: usize| tally.counted.get(counter).copied().unwrap_or(0) as f64;
        let megabytes = (counted(READ_BYTES) + counted(WRITTEN_BYTES)) / 1e6;
        self.piece(ProbeMetric::Iops, operations, seconds);
        self.piece(ProbeMetric::MbPerSecond, megabytes, seconds);
        self.piece(ProbeMetric::ProcessCpuUsPerOp, look.process_cpu.as_secs_f64() * 1e6, operations);
        if let Some(host) = &look.host {
            self.host(host, look, operations);
        }
        if let Some(device) = &look.device {
            self.device(device, operations);
        }
        if let Some(storage) = &look.storage {
            self.storage(storage, look.device.as_ref(), operations);
        }
        self.latencies(tally);
        self.second(tally, seconds, operations);
        match &mut self.window {
            Some(window) => window.add(tally),
            None => self.window = Some(tally.clone()),
        }
    }

    /// Operations per second, second by second.
    pub fn rates(&self) -> Vec<f64> {
        self.series.iter().map(|second| second.iops).collect()
    }

    fn piece(&mut self, metric: ProbeMetric, numerator: f64, denominator: f64) {
        self.pieces.entry(metric).or_default().push(Piece { numerator, denominator });
    }

    fn machine(&mut self, metric: MachineMetric, numerator: f64, denominator: f64) {
        self.piece(ProbeMetric::Machine(metric), numerator, denominator);
    }

    /// What a network lane used: requests to its storage server, which are those of the protocol if they are counted,
    /// else reads and writes of the client's device, where the kernel includes flushes that come alone; and CPU time of
    /// either side.
    fn storage(&mut self, storage: &StorageSample, device: Option<&DeviceSample>, operations: f64) {
        let counted = storage.operations.as_ref().map(|kinds| kinds.values().sum::<u64>());
        let of_device = || device.map(|device| device.reads + device.writes);
        if let Some(requests) = counted.or_else(of_device) {
            self.machine(MachineMetric::StorageRequestsPerOp, requests as f64, operations);
        }
        // With files and no device, a sync has to reach the storage server's disk.
        let flushes = storage.server_device.and_then(|disk| disk.flushes).filter(|_| device.is_none());
        if let Some(flushes) = flushes {
            self.piece(ProbeMetric::FlushesPerOp, flushes as f64, operations);
        }
        for (metric, cpus) in [
            (MachineMetric::StorageServerCpuUsPerOp, storage.server_cpu),
            (MachineMetric::StorageClientCpuUsPerOp, storage.client_cpu),
            (MachineMetric::StorageLinkCpuUsPerOp, storage.link_cpu),
        ] {
            if let Some(cpus) = cpus {
                self.machine(metric, 1e6 * cpus * storage.seconds, operations);
            }
        }
    }

    fn host(&mut self, host: &HostSample, look: &Look, operations: f64) {
        let seconds = look.seconds;
        let busy = (host.user + host.system) * self.cpus * seconds;
        let lane = look.storage.as_ref().map_or(0.0, cpu_seconds);
        self.piece(ProbeMetric::CpuUsPerOp, busy * 1e6, operations);
        for (metric, counted, of) in [
            (MachineMetric::InterruptsPerSecond, host.interrupts as f64, seconds),
            (MachineMetric::ContextSwitchesPerSecond, host.context_switches as f64, seconds),
            (MachineMetric::Blocked, f64::from(host.processes_blocked), 1.0),
            (MachineMetric::Runnable, f64::from(host.processes_running), 1.0),
            (MachineMetric::UserPercent, 100.0 * host.user, 1.0),
            (MachineMetric::SystemPercent, 100.0 * host.system, 1.0),
            (MachineMetric::IdlePercent, 100.0 * host.idle, 1.0),
            (MachineMetric::IowaitPercent, 100.0 * host.iowait, 1.0),
            (MachineMetric::StealPercent, 100.0 * host.steal, 1.0),
            // Ticks of the host and our own clock need not agree over a short time.
            (MachineMetric::CpusOfOthers, (busy - look.process_cpu.as_secs_f64() - lane).max(0.0), seconds),
        ] {
            self.machine(metric, counted, of);
        }
    }

    fn device(&mut self, device: &DeviceSample, operations: f64) {
        if let Some(flushes) = device.flushes {
            self.piece(ProbeMetric::FlushesPerOp, flushes as f64, operations);
        }
        self.piece(ProbeMetric::DeviceBytesPerOp, (device.read_bytes + device.written_bytes) as f64, operations);
        let requests = (device.reads + device.writes) as f64;
        for (metric, counted, of) in [
            (MachineMetric::ReadKbPerSecond, device.read_bytes as f64 / 1e3, device.seconds),
            (MachineMetric::WrittenKbPerSecond, device.written_bytes as f64 / 1e3, device.seconds),
            (MachineMetric::DeviceAwaitMs, device.await_ms.unwrap_or(0.0) * requests, requests),
            (MachineMetric::DeviceInFlight, device.in_flight as f64, 1.0),
            (MachineMetric::DeviceBusyPercent, 100.0 * device.busy, 1.0),
        ] {
            self.machine(metric, counted, of);
        }
    }

    fn latencies(&mut self, tally: &Tally) {
        self.service.resize_with(tally.transactions.len(), Clusters::default);
        self.response.resize_with(tally.transactions.len(), Clusters::default);
        for (place, (kind, times)) in OpKind::ALL.into_iter().zip(&tally.transactions).enumerate() {
            self.latency(ProbeMetric::Latency(kind, Statistic::Mean), &times.service);
            self.service[place].add(&times.service);
            if self.open_loop {
                self.latency(ProbeMetric::Response(kind, Statistic::Mean), &times.response);
                self.response[place].add(&times.response);
            }
        }
    }

    fn latency(&mut self, metric: ProbeMetric, values: &Histogram<u64>) {
        let count = values.len() as f64;
        let sum_us = if values.is_empty() { 0.0 } else { values.mean() * count * US_PER_NS };
        self.piece(metric, sum_us, count);
    }

    fn second(&mut self, tally: &Tally, seconds: f64, operations: f64) {
        let w0_ns = self.window.as_ref().map_or(tally.start_ns, |window| window.start_ns);
        let latency = latency_ms(&self.counting.latency(tally));
        let us = |ms: Option<f64>| ms.map(|ms| ms * 1e3);
        self.series.push(Second {
            t: tally.start_ns.saturating_sub(w0_ns) as f64 / 1e9,
            iops: if seconds > 0.0 { operations / seconds } else { 0.0 },
            p50_us: us(latency.p50),
            p99_us: us(latency.p99),
            max_us: us(latency.max),
        });
    }

    /// The window as a probe; one without numbers if nothing was measured.
    pub fn probe(&self, step: &ProbeStep) -> Probe {
        let mut probe = unmeasured(step);
        let Some(window) = &self.window else { return probe };
        probe.seconds = window.end_ns.saturating_sub(window.start_ns) as f64 / 1e9;
        probe.series.clone_from(&self.series);
        for (place, (kind, times)) in OpKind::ALL.into_iter().zip(&window.transactions).enumerate() {
            if times.service.is_empty() {
                continue;
            }
            probe.operations.insert(kind, times.service.len());
            probe.latency_us.insert(kind, latency_us(&times.service));
            probe.histogram.insert(kind, buckets(&times.service));
            probe.caveats.extend(of_range(&times.service, &format!("latencies of {kind} in {}", step.id)));
            let of = |statistic| ProbeMetric::Latency(kind, statistic);
            probe.estimates.extend(percentiles(of, &self.service[place]));
            if !times.response.is_empty() {
                probe.response_us.insert(kind, latency_us(&times.response));
                let of = |statistic| ProbeMetric::Response(kind, statistic);
                probe.estimates.extend(percentiles(of, &self.response[place]));
            }
        }
        self.means(&mut probe);
        probe
    }

    /// Each mean is the value of its estimate.
    fn means(&self, probe: &mut Probe) {
        let known = self.pieces.iter().filter_map(|(metric, pieces)| Some((*metric, ratio(pieces).ok()?)));
        probe.estimates.extend(known);
        let estimates = &probe.estimates;
        let mean = |metric: ProbeMetric| estimates.get(&metric).map(|estimate| estimate.value);
        let of_machine = |metric: MachineMetric| Some((metric.name().to_owned(), mean(ProbeMetric::Machine(metric))?));
        let of_machine: Vec<(String, f64)> = MachineMetric::ALL.into_iter().filter_map(of_machine).collect();
        probe.iops = mean(ProbeMetric::Iops);
        probe.mb_per_second = mean(ProbeMetric::MbPerSecond);
        probe.flushes_per_op = mean(ProbeMetric::FlushesPerOp);
        probe.device_bytes_per_op = mean(ProbeMetric::DeviceBytesPerOp);
        probe.cpu_us_per_op = mean(ProbeMetric::CpuUsPerOp);
        probe.process_cpu_us_per_op = mean(ProbeMetric::ProcessCpuUsPerOp);
        probe.found.extend(of_machine);
    }
}

/// A probe without results.
pub fn unmeasured(step: &ProbeStep) -> Probe {
    Probe {
        probe: step.probe,
        id: step.id.clone(),
        name: step.name.to_owned(),
        params: step.params.clone(),
        ..Probe::default()
    }
}

fn latency_us(values: &Histogram<u64>) -> LatencyUs {
    let ms = latency_ms(values);
    let us = |ms: Option<f64>| ms.map(|ms| ms * 1e3);
    LatencyUs {
        count: values.len(),
        min: us(ms.min),
        mean: us(ms.mean),
        p50: us(ms.p50),
        p90: us(ms.p90),
        p95: us(ms.p95),
        p99: us(ms.p99),
        p999: us(ms.p999),
        max: us(ms.max),
    }
}

fn percentiles(metric: impl Fn(Statistic) -> ProbeMetric, clusters: &Clusters) -> Vec<(ProbeMetric, Estimate)> {
    let known = |statistic: Statistic| {
        let found = clusters.percentile(statistic.quantile()?).ok()?;
        Some((metric(statistic), found.scaled(US_PER_NS)))
    };
    Statistic::ALL.into_iter().filter_map(known).collect()
}

/// Counts by the upper bounds of their buckets, microseconds; empty buckets are left out.
fn buckets(values: &Histogram<u64>) -> Vec<(f64, u64)> {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    for at in values.iter_recorded() {
        let us = at.value_iterated_to().min(values.max()) as f64 * US_PER_NS;
        *counts.entry((us.log2() * BUCKETS_PER_OCTAVE).ceil() as i32).or_default() += at.count_at_value();
    }
    counts.into_iter().map(|(bucket, count)| ((f64::from(bucket) / BUCKETS_PER_OCTAVE).exp2(), count)).collect()
}

/// CPU time of a network lane's programs.
fn cpu_seconds(storage: &StorageSample) -> f64 {
    let sides = [storage.server_cpu, storage.client_cpu, storage.link_cpu];
    storage.seconds * sides.into_iter().flatten().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_load::tally::{Names, record};
    use plimsoll_load::window::SECOND_NS;
    use plimsoll_storage::probe::{Extent, page_read};
    use std::time::Duration;

    const NAMES: &[&str] = &["read", "write", "sync"];

    fn step() -> ProbeStep {
        let extent = Extent {
            data_bytes: 64 << 20,
            most_bytes: 64 << 20,
            window_ns: SECOND_NS,
            advising_ns: SECOND_NS,
            full: false,
            io_uring: true,
            direct: true,
            log_block: Some(4096),
            atomic: false,
        };
        page_read::steps(&extent).into_iter().next().expect("page reads have steps")
    }

    /// A second in which 100 reads took 200 µs each and 50 writes 400 µs each.
    fn second(number: u64, names: &Names) -> Tally {
        let mut tally = Tally::new(names.shape());
        (tally.start_ns, tally.end_ns) = ((7 + number) * SECOND_NS, (8 + number) * SECOND_NS);
        for (kind, count, ns) in [(OpKind::Read, 100, 200_000), (OpKind::Write, 50, 400_000)] {
            for _ in 0..count {
                record(&mut tally.transactions[kind as usize].service, ns);
                record(&mut tally.transactions[kind as usize].response, ns + 1_000_000);
            }
        }
        tally.counted = vec![100 * 16384, 50 * 16384];
        tally
    }

    fn look() -> Look {
        let host = HostSample { user: 0.25, system: 0.25, idle: 0.5, interrupts: 900, ..HostSample::default() };
        let device =
            DeviceSample { seconds: 1.0, reads: 100, flushes: Some(30), await_ms: Some(2.0), ..Default::default() };
        let device = DeviceSample { read_bytes: 100 * 16384, written_bytes: 50 * 16384, ..device };
        Look {
            seconds: 1.0,
            host: Some(host),
            device: Some(device),
            storage: None,
            process_cpu: Duration::from_millis(15),
        }
    }

    #[test]
    fn a_network_lane_is_nobody_else_and_its_requests_are_counted() {
        let disk = DeviceSample { seconds: 1.0, flushes: Some(40), ..Default::default() };
        let storage = StorageSample {
            seconds: 1.0,
            server_cpu: Some(0.25),
            client_cpu: Some(0.5),
            server_device: Some(disk),
            ..Default::default()
        };
        let with = |device: bool, operations: Option<u64>| {
            let operations = operations.map(|count| [("WRITE".to_owned(), count)].into());
            let storage = Some(StorageSample { operations, ..storage.clone() });
            let look = look();
            probe(4, Look { device: look.device.filter(|_| device), storage, ..look })
        };
        let (alone, block, files) = (probe(4, look()), with(true, None), with(false, Some(600)));
        let others = |probe: &Probe| probe.found["cpus_of_others"];
        assert!((others(&alone) - others(&block) - 0.75).abs() < 1e-9, "{:?}", block.found);
        let (block_requests, file_requests) =
            (block.found["storage_requests_per_op"], files.found["storage_requests_per_op"]);
        assert!((file_requests / block_requests - 600.0 / 100.0).abs() < 1e-9, "reads and writes, or operations");
        assert_eq!(files.flushes_per_op.map(|flushes| flushes > 0.0), Some(true), "those of the storage server's disk");
        assert!(
            !alone.found.contains_key("storage_requests_per_op")
                && !block.found.contains_key("storage_link_cpu_us_per_op")
        );
    }

    fn probe(seconds: u64, look: Look) -> Probe {
        let names = Names { transactions: NAMES, statements: Vec::new(), counters: &["read_bytes", "written_bytes"] };
        let step = step();
        let mut measured = ProbeSeconds::new(Counting::of(&step.job.access), true, 2);
        (0..seconds).for_each(|number| measured.add(&second(number, &names), &look));
        measured.probe(&step)
    }

    #[test]
    fn a_probe_is_the_sum_of_its_seconds() {
        let probe = probe(12, look());
        assert_eq!((probe.seconds, probe.iops), (12.0, Some(150.0)));
        assert_eq!(probe.operations, [(OpKind::Read, 1200), (OpKind::Write, 600)].into(), "no sync, no entry");
        assert!((probe.mb_per_second.unwrap() - 150.0 * 0.016384).abs() < 1e-9);
        assert_eq!((probe.flushes_per_op, probe.device_bytes_per_op), (Some(0.2), Some(16384.0)));
        // One CPU of two was busy, for 150 operations a second.
        assert!((probe.cpu_us_per_op.unwrap() - 1e6 / 150.0).abs() < 1e-6);
        assert_eq!(probe.process_cpu_us_per_op, Some(100.0));
        assert!((probe.found["cpus_of_others"] - 0.985).abs() < 1e-9, "{:?}", probe.found);
        assert_eq!((probe.found["interrupts_per_second"], probe.found["device_await_ms"]), (900.0, 2.0));
        let read = probe.latency_us[&OpKind::Read];
        assert!(read.count == 1200 && (read.p99.unwrap() / 200.0 - 1.0).abs() < 1e-2, "{read:?}");
        assert!((probe.response_us[&OpKind::Write].mean.unwrap() / 1400.0 - 1.0).abs() < 1e-2);
        assert_eq!(probe.series.len(), 12);
        assert_eq!((probe.series[3].t, probe.series[3].iops), (3.0, 150.0));
    }

    #[test]
    fn no_mean_and_no_percentile_stands_alone() {
        for seconds in [1, 12] {
            let probe = probe(seconds, look());
            let measured: Vec<_> = ProbeMetric::all().filter(|metric| metric.value(&probe).is_some()).collect();
            assert!(measured.len() > 20, "{measured:?}");
            for metric in measured {
                let estimate = metric.estimate(&probe).unwrap_or_else(|| panic!("{metric:?} stands alone"));
                assert!(estimate.interval().is_some() || estimate.missing.is_some(), "{metric:?}: {estimate:?}");
            }
        }
    }

    #[test]
    fn what_was_not_measured_is_absent() {
        let nothing = probe(0, look());
        assert_eq!((nothing.iops, nothing.seconds, nothing.latency_us.len()), (None, 0.0, 0));
        let blind = probe(3, Look::default());
        assert_eq!((blind.flushes_per_op, blind.cpu_us_per_op, blind.found.len()), (None, None, 0));
        assert_eq!(blind.iops, Some(150.0));
        let uncounted = DeviceSample { flushes: None, ..look().device.unwrap() };
        let probe = probe(3, Look { device: Some(uncounted), ..look() });
        assert_eq!((probe.flushes_per_op, probe.device_bytes_per_op), (None, Some(16384.0)), "not 0 flushes");
    }

    #[test]
    fn buckets_grow_by_an_eighth_of_an_octave_and_lose_nothing() {
        let mut values = plimsoll_stats::latency::new_histogram();
        [1_000, 2_000, 2_001_000, 64_000_000].iter().for_each(|ns| record(&mut values, *ns));
        let found = buckets(&values);
        assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), 4);
        assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0), "{found:?}");
        let grows = |(upper, _): &(f64, u64)| ((upper.log2() * 8.0).round() - upper.log2() * 8.0).abs() < 1e-9;
        assert!(found.iter().all(grows), "{found:?}");
    }
}
