//! The host of the load generator, which is also that of a local server.

use super::{mean, number};
use crate::Observed;

/// To and from swap, bytes per second: from here on it is more than a page now and then.
pub const SWAPPED: f64 = 64.0 * 1024.0;

/// The host over the window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    pub cpus: Option<f64>,
    /// CPUs that were busy with anything.
    pub cpus_busy: Option<f64>,
    /// See [`Point::cpus_of_others`](plimsoll_model::summary::Point::cpus_of_others).
    pub cpus_of_others: Option<f64>,
    /// CPUs that a hypervisor took.
    pub cpus_stolen: Option<f64>,
    /// Share of the time in which a task waited for memory, 0 to 1.
    pub memory_stalled: Option<f64>,
    /// The same for all tasks that were not idle.
    pub memory_stalled_all: Option<f64>,
    /// To and from swap, bytes per second.
    pub swapped_bytes: Option<f64>,
    /// TCP segments sent again, per second.
    pub retransmits: Option<f64>,
}

impl Host {
    pub(super) fn of(observed: &Observed<'_>) -> Host {
        let lines = observed.host();
        let cpus = lines.last().map(|line| line.cores.len() as f64).filter(|cpus| *cpus > 0.0);
        let cpus = cpus.or_else(|| observed.point.host.map(|host| host.cpus as f64));
        let busy = mean(lines.iter().map(|line| 1.0 - line.idle - line.iowait - line.steal));
        let busy = cpus.zip(busy).map(|(cpus, busy)| cpus * busy.clamp(0.0, 1.0));
        let stolen = mean(lines.iter().map(|line| line.steal));
        let per_second = |of: fn(&plimsoll_model::samples::HostSample) -> Option<u64>| {
            let (mut sum, mut seconds) = (0.0, 0.0);
            for (count, length) in lines.iter().filter_map(|line| Some((of(line)?, line.seconds))) {
                (sum, seconds) = (sum + count as f64, seconds + length);
            }
            number(Some(sum / seconds))
        };
        Host {
            cpus,
            cpus_busy: busy,
            cpus_of_others: observed.point.cpus_of_others(),
            cpus_stolen: cpus.zip(stolen).map(|(cpus, stolen)| cpus * stolen.clamp(0.0, 1.0)),
            memory_stalled: per_second(|line| Some(line.pressure.memory?.some.stalled_us))
                .map(|us| (us / 1e6).min(1.0)),
            memory_stalled_all: per_second(|line| Some(line.pressure.memory?.full?.stalled_us))
                .map(|us| (us / 1e6).min(1.0)),
            swapped_bytes: per_second(|line| {
                line.memory.map(|memory| memory.swapped_in_bytes.saturating_add(memory.swapped_out_bytes))
            }),
            retransmits: per_second(|line| line.tcp_retransmits),
        }
    }
}
