//! `/proc/meminfo` and `/proc/vmstat`: memory, swapping, major faults.

use plimsoll_model::samples::MemorySample;

/// One reading: the current values, and pages and faults since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    now: MemorySample,
    swapped_in: u64,
    swapped_out: u64,
    major_faults: u64,
}

impl Memory {
    /// Reads both files (proc_meminfo(5), proc_vmstat(5)); `page_bytes` is the size of a page.
    pub(super) fn parse(meminfo: &str, vmstat: &str, page_bytes: u64) -> Option<Memory> {
        let mut memory = Memory::default();
        let (mut swap, mut swap_free, mut available) = (0, 0, None);
        for line in meminfo.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let field = match name {
                "MemAvailable" => available.insert(0),
                "Cached" => &mut memory.now.cached_bytes,
                "Dirty" => &mut memory.now.dirty_bytes,
                "Writeback" => &mut memory.now.writeback_bytes,
                "SwapTotal" => &mut swap,
                "SwapFree" => &mut swap_free,
                _ => continue,
            };
            *field = kib(value)?;
        }
        memory.now.available_bytes = available?;
        memory.now.swap_used_bytes = swap.saturating_sub(swap_free);
        for line in vmstat.lines() {
            let Some((name, value)) = line.split_once(' ') else { continue };
            let (field, unit) = match name {
                "pswpin" => (&mut memory.swapped_in, page_bytes),
                "pswpout" => (&mut memory.swapped_out, page_bytes),
                "pgmajfault" => (&mut memory.major_faults, 1),
                _ => continue,
            };
            *field = value.trim().parse::<u64>().ok()?.saturating_mul(unit);
        }
        Some(memory)
    }

    pub(super) fn since(&self, before: &Memory) -> MemorySample {
        MemorySample {
            swapped_in_bytes: self.swapped_in.saturating_sub(before.swapped_in),
            swapped_out_bytes: self.swapped_out.saturating_sub(before.swapped_out),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            ..self.now
        }
    }
}

/// `  1234 kB` in bytes.
fn kib(value: &str) -> Option<u64> {
    Some(value.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:        8000000 kB\nMemFree:          200000 kB\nMemAvailable:    5000000 kB\n\
        Cached:          3000000 kB\nSwapCached:            7 kB\nSwapTotal:        100000 kB\n\
        SwapFree:          60000 kB\n\
        Dirty:               120 kB\nWriteback:            8 kB\nHugePages_Total:       0\n";

    #[test]
    fn memory_is_now_and_faults_are_in_between() {
        let before = Memory::parse(MEMINFO, "pgmajfault 10\npswpin 1\npswpout 2\n", 4096).unwrap();
        let after = Memory::parse(MEMINFO, "pgfault 9\npgmajfault 14\npswpin 1\npswpout 5\n", 4096).unwrap();
        let sample = after.since(&before);
        assert_eq!((sample.available_bytes, sample.cached_bytes), (5_000_000 << 10, 3_000_000 << 10));
        assert_eq!((sample.dirty_bytes, sample.writeback_bytes), (120 << 10, 8 << 10));
        assert_eq!(sample.swap_used_bytes, 40_000 << 10);
        assert_eq!((sample.major_faults, sample.swapped_in_bytes, sample.swapped_out_bytes), (4, 0, 3 * 4096));
    }

    #[test]
    fn what_is_not_told_is_none() {
        assert_eq!(Memory::parse("MemTotal: 1 kB\n", "", 4096), None);
        assert_eq!(Memory::parse("MemAvailable: x kB\n", "", 4096), None);
        assert_eq!(Memory::parse("MemAvailable: 5 kB\n", "", 4096).unwrap().major_faults, 0);
    }
}
