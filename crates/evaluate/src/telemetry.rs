//! What the machine and the device do while a measurement runs, sampled once per second.

use plimsoll_host::sample::{Sampler, process_cpu};
use plimsoll_lanes::Lane;
use plimsoll_lanes::sample::StorageSampler;
use plimsoll_model::device::DeviceCounters;
use plimsoll_model::samples::{DeviceSample, HostSample, StorageSample};
use plimsoll_storage::device::Device;
use std::fs;
use std::time::{Duration, Instant};

/// Samples the counters, and returns what happened in between.
pub struct Telemetry {
    device: Option<Device>,
    device_before: Option<DeviceCounters>,
    /// Of a network lane.
    storage: Option<StorageSampler>,
    sampler: Sampler,
    process_cpu: Duration,
    looked: Instant,
}

/// What happened between two samples.
#[derive(Clone, Debug, Default)]
pub struct Look {
    pub seconds: f64,
    pub host: Option<HostSample>,
    pub device: Option<DeviceSample>,
    /// Of a network lane.
    pub storage: Option<StorageSample>,
    /// CPU time of Plimsoll's own process.
    pub process_cpu: Duration,
}

impl Telemetry {
    /// Begins now.
    pub fn new(device: Option<&Device>, lane: Option<&Lane>) -> Telemetry {
        Telemetry {
            device: device.cloned(),
            device_before: device.and_then(Device::counters),
            storage: lane.and_then(StorageSampler::of),
            sampler: Sampler::new(None),
            process_cpu: process_cpu(),
            looked: Instant::now(),
        }
    }

    /// What happened since the previous sample; `t_ns` is written into the samples.
    pub fn look(&mut self, t_ns: u64) -> Look {
        let seconds = self.looked.elapsed().as_secs_f64();
        self.looked = Instant::now();
        let counters = self.device.as_ref().and_then(Device::counters);
        let device = counters.zip(self.device_before).map(|(now, before)| now.since(&before, t_ns, seconds));
        self.device_before = counters;
        let storage = self.storage.as_mut().map(|sampler| sampler.sample(t_ns));
        let sample = self.sampler.sample(t_ns);
        let process_cpu = sample.own_cpu.saturating_sub(self.process_cpu);
        self.process_cpu = sample.own_cpu;
        Look { seconds, host: sample.host, device, storage, process_cpu }
    }
}

/// CPUs whose time `/proc/stat` adds up: all of the host's, including those that this process may not use.
pub fn host_cpus() -> usize {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let is_one =
        |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    stat.lines().filter(is_one).count().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_covers_the_time_since_the_one_before() {
        let mut telemetry = Telemetry::new(None, None);
        std::thread::sleep(Duration::from_millis(30));
        let look = telemetry.look(5);
        assert!(look.seconds >= 0.03 && look.device.is_none(), "{look:?}");
        assert_eq!(look.host.map(|host| host.t_ns), Some(5));
        assert!(telemetry.look(6).seconds < look.seconds + 60.0);
        assert!(host_cpus() >= 1);
    }
}
