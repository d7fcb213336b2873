//! The two sides of a network lane over the window of a load point.

use crate::Observed;
use plimsoll_model::diagnosis::StorageUse;
use plimsoll_model::samples::{DeviceSample, HostSample, StorageSample};
use std::collections::BTreeMap;

/// What the lane did while the load point was measured; `None` if the data were not on a network lane.
pub fn storage_use(observed: &Observed<'_>) -> Option<StorageUse> {
    let lines = observed.storage();
    if lines.is_empty() {
        return None;
    }
    let disk = |of: fn(&DeviceSample) -> Option<f64>| over_time(&lines, |line| of(line.server_device.as_ref()?));
    let operations = operations(&lines);
    let counted = operations.as_ref().map(|kinds| kinds.values().sum());
    let mut ended: Vec<String> = lines.iter().flat_map(|line| &line.ended).cloned().collect();
    ended.sort();
    ended.dedup();
    Some(StorageUse {
        server_cpus: weighed(&lines, |line| line.server_cpu),
        client_cpus: weighed(&lines, |line| line.client_cpu),
        link_cpus: weighed(&lines, |line| line.link_cpu),
        host_cpus: observed.host().last().map(|line| line.cores.len()).filter(|cpus| *cpus > 0),
        disk_busy: weighed(&lines, |line| Some(line.server_device?.busy)),
        disk_reads: disk(|device| Some(device.reads as f64)),
        disk_writes: disk(|device| Some(device.writes as f64)),
        disk_flushes: disk(|device| device.flushes.map(|flushes| flushes as f64)),
        requests: counted.or_else(|| requests(&observed.host())),
        operations,
        ended,
    })
}

/// A count over the time of the lines that have it, per second.
fn over_time(lines: &[&StorageSample], count: impl Fn(&StorageSample) -> Option<f64>) -> Option<f64> {
    let known = lines.iter().filter_map(|line| Some((count(line)?, line.seconds)));
    let (sum, seconds) = known.fold((0.0, 0.0), |(sum, time), (count, seconds)| (sum + count, time + seconds));
    Some(sum / seconds).filter(|rate| rate.is_finite())
}

/// The mean of a level over the time of the lines that have it.
fn weighed(lines: &[&StorageSample], level: fn(&StorageSample) -> Option<f64>) -> Option<f64> {
    over_time(lines, |line| Some(level(line)? * line.seconds))
}

/// By kind, per second; `None` if no line has them.
fn operations(lines: &[&StorageSample]) -> Option<BTreeMap<String, f64>> {
    let counted: Vec<(&BTreeMap<String, u64>, f64)> =
        lines.iter().filter_map(|line| Some((line.operations.as_ref()?, line.seconds))).collect();
    let seconds: f64 = counted.iter().map(|(_, seconds)| seconds).sum();
    (seconds > 0.0).then(|| {
        let mut kinds = BTreeMap::new();
        for (kind, count) in counted.iter().flat_map(|(kinds, _)| kinds.iter()) {
            *kinds.entry(kind.clone()).or_insert(0.0) += *count as f64 / seconds;
        }
        kinds
    })
}

/// Reads and writes of the client's devices that hold the data, per second: the storage server has to answer each. The
/// kernel counts a separate flush among the writes; one that comes with a write, like those of a file system's log, is
/// a further request that this number does not include.
fn requests(lines: &[&HostSample]) -> Option<f64> {
    let held = |line: &HostSample| -> Option<f64> {
        let devices = line.devices.values().filter(|device| device.holds_data);
        devices.map(|device| (device.reads + device.writes) as f64).reduce(|sum, one| sum + one)
    };
    let seconds: f64 = lines.iter().map(|line| line.seconds).sum();
    let counts: Option<f64> = lines.iter().map(|line| held(line)).sum();
    Some(counts? / seconds).filter(|rate| rate.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observed;
    use plimsoll_model::samples::{Interval, Phase};
    use plimsoll_model::summary::Point;

    const SECOND: u64 = 1_000_000_000;

    fn sample(second: u64, cpu: Option<f64>, flushes: u64) -> StorageSample {
        let device =
            DeviceSample { seconds: 1.0, writes: 40, flushes: Some(flushes), busy: 0.25, ..DeviceSample::default() };
        StorageSample {
            t_ns: second * SECOND,
            seconds: 1.0,
            server_cpu: cpu,
            server_device: Some(device),
            ..StorageSample::default()
        }
    }

    fn host(second: u64, holds_data: bool) -> HostSample {
        let device = DeviceSample { reads: 10, writes: 30, flushes: Some(20), holds_data, ..DeviceSample::default() };
        let devices = [("loop1".to_owned(), device)].into();
        HostSample { t_ns: second * SECOND, seconds: 1.0, devices, ..HostSample::default() }
    }

    fn interval(second: u64) -> Interval {
        let phase = if second == 0 { Phase::WarmUp } else { Phase::Measure };
        Interval { transactions: 100, queries: 100, ..observed::tests::interval(second, phase, 1.0) }
    }

    /// Two seconds of window after one of warm-up.
    fn used(storage: &[StorageSample], host: &[HostSample]) -> Option<StorageUse> {
        let intervals: Vec<Interval> = (0..3).map(interval).collect();
        let (point, settings) = (Point::default(), BTreeMap::new());
        let (intervals, settings) = (&intervals, &settings);
        let observed = Observed { point: &point, intervals, host, server: &[], status: &[], storage, settings };
        storage_use(&observed)
    }

    #[test]
    fn the_window_alone_counts_and_a_missing_number_is_not_zero() {
        let samples = [sample(1, Some(2.0), 999), sample(2, Some(0.5), 20), sample(3, None, 40)];
        let host = [host(2, true), host(3, true)];
        let found = used(&samples, &host).unwrap();
        assert_eq!((found.server_cpus, found.client_cpus), (Some(0.5), None), "a second without a number is left out");
        assert_eq!((found.disk_busy, found.disk_writes, found.disk_flushes), (Some(0.25), Some(40.0), Some(30.0)));
        assert_eq!((found.requests, found.operations), (Some(40.0), None), "those of the client's device");
    }

    #[test]
    fn operations_that_are_counted_are_the_requests() {
        let with = |second, kinds: &[(&str, u64)]| {
            let operations = kinds.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
            StorageSample { operations: Some(operations), ..sample(second, Some(0.1), 0) }
        };
        let samples = [with(2, &[("READ", 30), ("COMMIT", 10)]), with(3, &[("READ", 50)])];
        let found = used(&samples, &[host(2, false)]).unwrap();
        assert_eq!(
            (found.requests, found.share("READ"), found.share("GETATTR")),
            (Some(45.0), Some(8.0 / 9.0), Some(0.0))
        );
        assert_eq!(found.operations.unwrap()["COMMIT"], 5.0);
    }

    #[test]
    fn without_a_lane_or_its_counters_nothing_is_made_up() {
        assert_eq!(used(&[], &[host(2, true)]), None);
        let silent =
            StorageSample { t_ns: 2 * SECOND, seconds: 1.0, ended: vec!["tgtd".to_owned()], ..Default::default() };
        let found = used(&[silent], &[host(2, false)]).unwrap();
        let nothing = StorageUse { ended: vec!["tgtd".to_owned()], ..StorageUse::default() };
        assert_eq!(found, nothing);
        assert_eq!(found.share("READ"), None);
    }
}
