//! What a printed number of a storage measurement may speak of, by the name that a plan gives it.

use plimsoll_model::ProbeMetric;
use plimsoll_model::io::{LatencyUs, Probe};
use plimsoll_model::probe_metric::MachineMetric;
use plimsoll_model::total;

/// Bytes of the units in which the article counts what was transferred: GiB and MiB, though it says Gb and Mb.
const GIB: f64 = 1_073_741_824.0;
const MIB: f64 = 1_048_576.0;

/// A number of the probe called `name` (its id or its name), where it has one; none if there is no such metric. Times
/// end in `_ms` or `_s`.
pub fn value(metric: &str, name: &str, probes: &[Probe]) -> Option<Option<f64>> {
    let probe = probes.iter().find(|probe| probe.id == name || probe.name == name);
    let of = |pick: &dyn Fn(&Probe) -> Option<f64>| Some(probe.and_then(pick));
    if let Some(found) = latency(metric) {
        return of(&|probe| Some(found.0(probe.main_latency()?.1)? / found.1));
    }
    match metric {
        "requests_per_second" => of(&|probe| probe.iops),
        "mb_per_second" => of(&|probe| probe.mb_per_second),
        "mib_per_second" => of(&|probe| Some(probe.iops? * block(probe)? / MIB)),
        "gib" => of(&|probe| Some(operations(probe) * block(probe)? / GIB)),
        "operations" => of(&|probe| Some(operations(probe))),
        "seconds" => of(&|probe| Some(probe.seconds)),
        "seconds_in_operations" => of(&seconds_in_operations),
        "operations_per_thread" => of(&|probe| Some(operations(probe) / probe.number("threads")?)),
        "seconds_per_thread" => of(&|probe| Some(seconds_in_operations(probe)? / probe.number("threads")?)),
        "times_one_thread" => {
            of(&|probe| Some(probe.iops? / one_thread(probe, probes)?.iops.filter(|iops| *iops > 0.0)?))
        }
        "flushes_per_operation" => of(&|probe| probe.flushes_per_op),
        "cpu_us_per_operation" => of(&|probe| probe.cpu_us_per_op),
        _ => {
            let sampled = SAMPLED.into_iter().find(|sampled| sampled.name() == metric)?;
            of(&|probe| ProbeMetric::Machine(sampled).value(probe))
        }
    }
}

/// What is sampled of the machine and the device, as vmstat tells it.
const SAMPLED: [MachineMetric; 10] = [
    MachineMetric::Blocked,
    MachineMetric::Runnable,
    MachineMetric::ReadKbPerSecond,
    MachineMetric::WrittenKbPerSecond,
    MachineMetric::InterruptsPerSecond,
    MachineMetric::ContextSwitchesPerSecond,
    MachineMetric::UserPercent,
    MachineMetric::SystemPercent,
    MachineMetric::IdlePercent,
    MachineMetric::IowaitPercent,
];

/// One of the latencies of a measurement, microseconds.
type Latency = fn(&LatencyUs) -> Option<f64>;

/// Which of the latencies a metric is, and microseconds of its unit.
fn latency(metric: &str) -> Option<(Latency, f64)> {
    let (name, unit) =
        metric.strip_suffix("_ms").map(|name| (name, 1e3)).or(metric.strip_suffix("_s").map(|name| (name, 1e6)))?;
    let pick: Latency = match name {
        "min" => |us| us.min,
        "mean" => |us| us.mean,
        "p50" => |us| us.p50,
        "p95" => |us| us.p95,
        "p99" => |us| us.p99,
        "max" => |us| us.max,
        _ => return None,
    };
    Some((pick, unit))
}

fn operations(probe: &Probe) -> f64 {
    total(probe.operations.values().copied()) as f64
}

/// Bytes of one of them.
fn block(probe: &Probe) -> Option<f64> {
    probe.number("block")
}

/// Time that all threads together spent in them.
fn seconds_in_operations(probe: &Probe) -> Option<f64> {
    let (_, latency) = probe.main_latency()?;
    Some(latency.count as f64 * latency.mean? / 1e6)
}

/// The measurement that differs in the number of threads alone.
fn one_thread<'a>(probe: &'a Probe, among: &'a [Probe]) -> Option<&'a Probe> {
    let others = |of: &'a Probe| of.params.iter().filter(|(name, _)| *name != "threads");
    among.iter().find(|one| one.number("threads") == Some(1.0) && others(one).eq(others(probe)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::OpKind;

    fn probe(id: &str, threads: u64, iops: f64) -> Probe {
        let latency = LatencyUs { count: 1000, mean: Some(5000.0), p95: Some(2500.0), ..LatencyUs::default() };
        Probe {
            id: id.to_owned(),
            params: [("threads", threads.into()), ("block", 16384_u64.into()), ("what", "read".into())]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            seconds: 10.0,
            iops: Some(iops),
            operations: [(OpKind::Read, 1000)].into(),
            latency_us: [(OpKind::Read, latency)].into(),
            found: [("blocked".to_owned(), 63.5)].into(),
            ..Probe::default()
        }
    }

    #[test]
    fn metrics_are_numbers_of_the_probe_that_is_named() {
        let probes = [probe("percona.9", 1, 100.0), probe("percona.10", 64, 900.0)];
        for (metric, expected) in [
            ("requests_per_second", 900.0),
            ("times_one_thread", 9.0),
            ("p95_s", 0.0025),
            ("p95_ms", 2.5),
            ("seconds_in_operations", 5.0),
            ("operations_per_thread", 15.625),
            ("mib_per_second", 14.0625),
            ("blocked", 63.5),
        ] {
            assert_eq!(value(metric, "percona.10", &probes), Some(Some(expected)), "{metric}");
        }
        assert_eq!(value("idle_percent", "percona.10", &probes), Some(None), "it was not sampled");
        assert_eq!(value("requests_per_second", "percona.1", &probes), Some(None), "that run was not made");
        assert_eq!(value("drives", "percona.10", &probes), None);
    }
}
