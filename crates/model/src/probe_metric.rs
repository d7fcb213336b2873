//! What is measured by a probe of storage: each metric once, with the path of its number within the probe.

use crate::estimate::Estimate;
use crate::metric::Statistic;
use crate::operation::OpKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// A metric of a [`Probe`](crate::io::Probe). Latencies are in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeMetric {
    Iops,
    MbPerSecond,
    FlushesPerOp,
    DeviceBytesPerOp,
    CpuUsPerOp,
    ProcessCpuUsPerOp,
    /// From the start of an operation.
    Latency(OpKind, Statistic),
    /// From the moment an operation was due.
    Response(OpKind, Statistic),
    /// Of the machine meanwhile.
    Machine(MachineMetric),
}

/// What the machine, its device and its network lane did while a probe was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MachineMetric {
    InterruptsPerSecond,
    ContextSwitchesPerSecond,
    Blocked,
    Runnable,
    UserPercent,
    SystemPercent,
    IdlePercent,
    IowaitPercent,
    StealPercent,
    CpusOfOthers,
    ReadKbPerSecond,
    WrittenKbPerSecond,
    DeviceAwaitMs,
    DeviceInFlight,
    DeviceBusyPercent,
    StorageRequestsPerOp,
    StorageServerCpuUsPerOp,
    StorageClientCpuUsPerOp,
    StorageLinkCpuUsPerOp,
}

impl MachineMetric {
    pub const ALL: [MachineMetric; 19] = {
        use MachineMetric::*;
        [
            InterruptsPerSecond,
            ContextSwitchesPerSecond,
            Blocked,
            Runnable,
            UserPercent,
            SystemPercent,
            IdlePercent,
            IowaitPercent,
            StealPercent,
            CpusOfOthers,
            ReadKbPerSecond,
            WrittenKbPerSecond,
            DeviceAwaitMs,
            DeviceInFlight,
            DeviceBusyPercent,
            StorageRequestsPerOp,
            StorageServerCpuUsPerOp,
            StorageClientCpuUsPerOp,
            StorageLinkCpuUsPerOp,
        ]
    };

    /// Its name in [`Probe::found`](crate::io::Probe::found), and in plan files.
    pub fn name(self) -> &'static str {
        match self {
            MachineMetric::InterruptsPerSecond => "interrupts_per_second",
            MachineMetric::ContextSwitchesPerSecond => "context_switches_per_second",
            MachineMetric::Blocked => "blocked",
            MachineMetric::Runnable => "runnable",
            MachineMetric::UserPercent => "user_percent",
            MachineMetric::SystemPercent => "system_percent",
            MachineMetric::IdlePercent => "idle_percent",
            MachineMetric::IowaitPercent => "iowait_percent",
            MachineMetric::StealPercent => "steal_percent",
            MachineMetric::CpusOfOthers => "cpus_of_others",
            MachineMetric::ReadKbPerSecond => "read_kb_per_second",
            MachineMetric::WrittenKbPerSecond => "written_kb_per_second",
            MachineMetric::DeviceAwaitMs => "device_await_ms",
            MachineMetric::DeviceInFlight => "device_in_flight",
            MachineMetric::DeviceBusyPercent => "device_busy_percent",
            MachineMetric::StorageRequestsPerOp => "storage_requests_per_op",
            MachineMetric::StorageServerCpuUsPerOp => "storage_server_cpu_us_per_op",
            MachineMetric::StorageClientCpuUsPerOp => "storage_client_cpu_us_per_op",
            MachineMetric::StorageLinkCpuUsPerOp => "storage_link_cpu_us_per_op",
        }
    }
}

impl ProbeMetric {
    const LATENCIES: &'static str = "latency_us";
    const RESPONSES: &'static str = "response_us";

    /// Every metric that a probe may have.
    pub fn all() -> impl Iterator<Item = ProbeMetric> {
        use ProbeMetric::*;
        let times = OpKind::ALL.into_iter().flat_map(|kind| Statistic::ALL.map(|statistic| (kind, statistic)));
        let times = times.flat_map(|(kind, statistic)| [Latency(kind, statistic), Response(kind, statistic)]);
        [Iops, MbPerSecond, FlushesPerOp, DeviceBytesPerOp, CpuUsPerOp, ProcessCpuUsPerOp]
            .into_iter()
            .chain(times)
            .chain(MachineMetric::ALL.map(Machine))
    }

    /// Where its number stands within a probe, and the name of its estimate: `iops`, `latency_us.read.p99`,
    /// `found.blocked`.
    pub fn path(self) -> String {
        let time =
            |times: &str, kind: OpKind, statistic: Statistic| format!("{times}.{}.{}", kind.name(), statistic.field());
        match self {
            ProbeMetric::Iops => "iops".to_owned(),
            ProbeMetric::MbPerSecond => "mb_per_second".to_owned(),
            ProbeMetric::FlushesPerOp => "flushes_per_op".to_owned(),
            ProbeMetric::DeviceBytesPerOp => "device_bytes_per_op".to_owned(),
            ProbeMetric::CpuUsPerOp => "cpu_us_per_op".to_owned(),
            ProbeMetric::ProcessCpuUsPerOp => "process_cpu_us_per_op".to_owned(),
            ProbeMetric::Latency(kind, statistic) => time(ProbeMetric::LATENCIES, kind, statistic),
            ProbeMetric::Response(kind, statistic) => time(ProbeMetric::RESPONSES, kind, statistic),
            ProbeMetric::Machine(metric) => format!("found.{}", metric.name()),
        }
    }
}

impl Serialize for ProbeMetric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.path())
    }
}

/// Estimates by the path of their number. What a newer Plimsoll knows beside these is left out.
pub(crate) fn known<'de, D: Deserializer<'de>>(of: D) -> Result<BTreeMap<ProbeMetric, Estimate>, D::Error> {
    let mut by_path = BTreeMap::<String, Estimate>::deserialize(of)?;
    Ok(ProbeMetric::all().filter_map(|metric| Some((metric, by_path.remove(&metric.path())?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Probe;

    fn estimate(value: f64) -> Estimate {
        Estimate::new(value, (value - 1.0, value + 1.0), 0.95, 8.0, "8 batches".to_owned())
    }

    #[test]
    fn estimates_are_read_back_and_newer_ones_left_out() {
        let estimates: BTreeMap<_, _> = ProbeMetric::all().map(|metric| (metric, estimate(1.0))).collect();
        let probe = Probe { estimates, ..Probe::default() };
        let mut json = serde_json::to_value(&probe).unwrap();
        assert_eq!(json["estimates"].as_object().unwrap().len(), ProbeMetric::all().count(), "no two have one path");
        json["estimates"]["newer"] = json["estimates"]["iops"].clone();
        assert_eq!(serde_json::from_value::<Probe>(json).unwrap(), probe);
    }
}
