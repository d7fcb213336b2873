//! What other processes did to a measurement, by the machine's counters.

use plimsoll_model::Scalar;
use plimsoll_model::io::Probe;

/// CPUs that others may use before it is reported. The kernel's own threads count as others, and write for us.
pub const OTHERS_CPUS: f64 = 0.5;
pub const STOLEN_PERCENT: f64 = 2.0;
/// Probes that only write.
const WRITING: [u8; 5] = [1, 2, 5, 7, 17];
/// What may be read from the device meanwhile: allocation maps and directories of the file system.
const FOREIGN_READS_KB: f64 = 200.0;
const MEMORY_PAGE: u64 = 4096;

/// What disturbed the measurement, in words; `None` if nothing is known to have done so.
pub fn of(probe: &Probe) -> Option<String> {
    let cpus = cpus_of_others(probe).map(|cpus| format!("other processes and kernel threads used {cpus:.1} CPUs"));
    let stolen = || stolen_percent(probe).map(|share| format!("the hypervisor took {share:.0} % of the CPU time"));
    let reads = || foreign_reads_kb(probe).map(|kb| format!("others read {:.1} MB per second", kb / 1e3));
    cpus.or_else(stolen).or_else(reads)
}

/// CPUs that others used, if more than [`OTHERS_CPUS`].
pub fn cpus_of_others(probe: &Probe) -> Option<f64> {
    above(probe, "cpus_of_others", OTHERS_CPUS)
}

/// Percent of CPU time that the hypervisor gave to others, if more than [`STOLEN_PERCENT`].
pub fn stolen_percent(probe: &Probe) -> Option<f64> {
    above(probe, "steal_percent", STOLEN_PERCENT)
}

/// What was read from the device, kB per second, while we had nothing to read: a block smaller than a page of memory
/// may have to be read before it can be written.
pub fn foreign_reads_kb(probe: &Probe) -> Option<f64> {
    let whole_pages = |name: &str| {
        let bytes = probe.params.get(name).and_then(Scalar::count);
        bytes.unwrap_or(0).is_multiple_of(MEMORY_PAGE)
    };
    let only_writes = WRITING.contains(&probe.probe) && whole_pages("block") && whole_pages("misaligned");
    above(probe, "read_kb_per_second", FOREIGN_READS_KB).filter(|_| only_writes)
}

fn above(probe: &Probe, name: &str, most: f64) -> Option<f64> {
    probe.found.get(name).copied().filter(|value| *value > most)
}
