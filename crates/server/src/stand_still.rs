//! Whether a server that is starting still does something. One that hangs in its recovery, as MySQL may on torn pages,
//! neither computes nor reads nor writes; only its timers go on.

use plimsoll_host::sample::process;
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Of one CPU: threads that wait wake up now and then.
const IDLE: f64 = 0.01;
/// CPU time is told in ticks of 10 ms.
const TICKS_US: u64 = 20_000;

/// What a process had used when it was last seen doing something.
#[derive(Debug)]
pub struct StandStill {
    pid: u32,
    looked: Instant,
    since: Instant,
    /// CPU, microseconds, and bytes read and written.
    used: Option<(u64, u64)>,
}

impl StandStill {
    pub fn of(pid: u32) -> StandStill {
        let now = Instant::now();
        StandStill { pid, looked: now, since: now, used: used(pid) }
    }

    /// For how long it has done nothing, as far as that is known.
    pub fn look(&mut self) -> Duration {
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            let now = used(self.pid);
            if !is_idle(self.used, now, self.since.elapsed()) {
                (self.since, self.used) = (self.looked, now);
            }
        }
        self.looked.saturating_duration_since(self.since)
    }
}

/// Whether a process that had used one thing and has used another meanwhile did nothing.
fn is_idle(before: Option<(u64, u64)>, now: Option<(u64, u64)>, meanwhile: Duration) -> bool {
    let (Some((cpu_before, bytes_before)), Some((cpu, bytes))) = (before, now) else { return false };
    let allowed_us = (meanwhile.as_micros() as f64 * IDLE) as u64 + TICKS_US;
    bytes == bytes_before && cpu.saturating_sub(cpu_before) <= allowed_us
}

/// `None` where the operating system does not tell what it reads and writes.
fn used(pid: u32) -> Option<(u64, u64)> {
    let sample = process(pid, 0)?;
    Some((sample.cpu_us(), sample.read_bytes? + sample.written_bytes?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_computes_or_reads_does_not_stand_still() {
        let second = Duration::from_secs(1);
        let idle =
            |cpu: u64, bytes: u64, meanwhile| is_idle(Some((1000, 4096)), Some((1000 + cpu, 4096 + bytes)), meanwhile);
        assert!(idle(0, 0, second) && idle(25_000, 0, second), "timers");
        assert!(!idle(40_000, 0, second) && !idle(0, 512, second));
        assert!(idle(1_000_000, 0, 120 * second) && !idle(1_300_000, 0, 120 * second));
        assert!(!is_idle(None, Some((0, 0)), second) && !is_idle(Some((0, 0)), None, second), "nobody knows");
    }
}
