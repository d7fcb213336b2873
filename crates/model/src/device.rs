//! What the kernel counts of a block device.

use crate::samples::DeviceSample;

/// The unit of the sectors that are counted, whatever the device's own block is.
const SECTOR_BYTES: u64 = 512;

/// Counters since boot, as `/sys/block/NAME/stat` and, behind the name, `/proc/diskstats` have them (Linux,
/// `Documentation/block/stat.rst`, `Documentation/admin-guide/iostats.rst`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    pub reads: u64,
    pub read_bytes: u64,
    pub read_ms: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub write_ms: u64,
    pub in_flight: u64,
    pub busy_ms: u64,
    /// `None` where the kernel does not count them.
    pub flushes: Option<u64>,
}

impl DeviceCounters {
    /// Reads the numbers of a line; kernels before 5.5 count no flushes there.
    pub fn parse(text: &str) -> Option<DeviceCounters> {
        let mut fields = text.split_ascii_whitespace().map_while(|field| field.parse::<u64>().ok());
        let mut next = || fields.next();
        let (reads, _merged, read_sectors, read_ms) = (next()?, next()?, next()?, next()?);
        let (writes, _merged, written_sectors, write_ms) = (next()?, next()?, next()?, next()?);
        let (in_flight, busy_ms, _queued_ms) = (next()?, next()?, next()?);
        // Before them stand four numbers of discards.
        let flushes = fields.nth(4);
        Some(DeviceCounters {
            reads,
            read_bytes: read_sectors.saturating_mul(SECTOR_BYTES),
            read_ms,
            writes,
            written_bytes: written_sectors.saturating_mul(SECTOR_BYTES),
            write_ms,
            in_flight,
            busy_ms,
            flushes,
        })
    }

    /// What the device did since `before`, in `seconds` seconds; nothing if another device has its name since, which
    /// begins at 0 again.
    pub fn since(&self, before: &DeviceCounters, t_ns: u64, seconds: f64) -> DeviceSample {
        let is_another = self.reads < before.reads || self.writes < before.writes;
        let before = if is_another { self } else { before };
        let moved = |of: fn(&DeviceCounters) -> u64| of(self).saturating_sub(of(before));
        let passed_ms = |of: fn(&DeviceCounters) -> u64| wrapping_since(of(self), of(before));
        let (reads, writes) = (moved(|c| c.reads), moved(|c| c.writes));
        let waited_ms = passed_ms(|c| c.read_ms).saturating_add(passed_ms(|c| c.write_ms)) as f64;
        let requests = reads.saturating_add(writes);
        let busy = passed_ms(|c| c.busy_ms) as f64 / 1e3 / seconds;
        DeviceSample {
            t_ns,
            seconds,
            reads,
            writes,
            read_bytes: moved(|c| c.read_bytes),
            written_bytes: moved(|c| c.written_bytes),
            flushes: self.flushes.zip(before.flushes).map(|(now, before)| now.saturating_sub(before)),
            in_flight: self.in_flight,
            await_ms: (requests > 0).then(|| waited_ms / requests as f64),
            busy: if seconds > 0.0 { busy.min(1.0) } else { 0.0 },
            holds_data: false,
        }
    }
}

/// The difference of two counts of milliseconds. The kernel prints those as 32 bits (`%u` in `diskstats_show` and
/// `part_stat_show`, Linux `block/genhd.c`), so that they begin at 0 again after 49.7 days of time spent; a busy device
/// spends more than one second of it per second. What lies further on than half the way round went back: a count of
/// several CPUs that is read while it changes does.
fn wrapping_since(now: u64, before: u64) -> u64 {
    let passed = (now as u32).wrapping_sub(before as u32);
    if passed <= u32::MAX / 2 { u64::from(passed) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "  100  5  800  50  200  10  1600  400  0  300  450  0 0 0 0  7  9\n";
    const AFTER: &str = "  140  5  1440  90  260  10  2560  520  3  800  650  0 0 0 0  27  30\n";

    #[test]
    fn a_second_of_a_device_is_the_difference_of_two_looks() {
        let [before, after] = [BEFORE, AFTER].map(|text| DeviceCounters::parse(text).unwrap());
        let sample = after.since(&before, 9, 1.0);
        assert_eq!((sample.t_ns, sample.reads, sample.writes, sample.flushes), (9, 40, 60, Some(20)));
        assert_eq!((sample.read_bytes, sample.written_bytes, sample.in_flight), (640 * 512, 960 * 512, 3));
        assert_eq!(sample.await_ms, Some(1.6), "160 ms over 100 requests");
        assert_eq!(sample.request_bytes(), Some(8192.0), "1600 sectors over 100 requests");
        assert_eq!(sample.busy, 0.5);
    }

    #[test]
    fn times_that_went_round_are_differences_and_never_huge() {
        let at = |reads, read_ms, busy_ms| DeviceCounters { reads, read_ms, busy_ms, ..DeviceCounters::default() };
        let last = u64::from(u32::MAX);
        let round = at(110, 59, 399).since(&at(100, last - 40, last - 100), 0, 1.0);
        assert_eq!((round.await_ms, round.busy), (Some(10.0), 0.5), "100 ms over 10 requests, 500 ms of a second");
        let back = at(110, 99, 399).since(&at(100, 100, 400), 0, 1.0);
        assert_eq!((back.await_ms, back.busy), (Some(0.0), 0.0), "a step back is no time round");
        let another = at(3, 4, 5).since(&at(100, 1000, 1000), 0, 1.0);
        assert_eq!((another.reads, another.await_ms, another.busy), (0, None, 0.0), "another device of that name");
    }

    #[test]
    fn a_silent_device_waited_for_nothing() {
        let counters = DeviceCounters::parse(BEFORE).unwrap();
        let sample = counters.since(&counters, 0, 1.0);
        assert_eq!((sample.reads, sample.await_ms, sample.busy, sample.request_bytes()), (0, None, 0.0, None));
        assert_eq!(counters.since(&counters, 0, 0.0).busy, 0.0);
    }

    #[test]
    fn old_kernels_count_no_flushes_and_what_is_no_counter_is_refused() {
        let old = DeviceCounters::parse("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((old.flushes, old.since(&old, 0, 1.0).flushes), (None, None));
        assert_eq!(DeviceCounters::parse("1 2 3 4 5 6 7 8 9 10"), None);
        assert_eq!(DeviceCounters::parse("not a device"), None);
    }
}
