//! The clock of the loops: CLOCK_MONOTONIC in nanoseconds, clock_gettime(2).

use rustix::thread::{ClockId as SleepClock, clock_nanosleep_absolute};
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::num::NonZeroU64;

const SECOND_NS: u64 = 1_000_000_000;

/// Now.
#[inline]
pub fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time that the calling thread has used.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Sleeps until this moment; a signal may end it earlier.
pub fn sleep_until(ns: u64) {
    let until = Timespec { tv_sec: (ns / SECOND_NS) as i64, tv_nsec: (ns % SECOND_NS) as i64 };
    // Callers read the clock again after sleeping.
    let _ = clock_nanosleep_absolute(SleepClock::Monotonic, &until);
}

/// Makes the calling thread's sleeps end on time rather than up to 50 us later (PR_SET_TIMERSLACK, prctl(2)).
pub fn sleep_exactly() {
    // If that fails, sleeps are longer, which the response times show.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

fn nanoseconds(t: Timespec) -> u64 {
    t.tv_sec as u64 * SECOND_NS + t.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_does_not_end_before_its_moment() {
        sleep_exactly();
        let until = now_ns() + 2_000_000;
        while now_ns() < until {
            sleep_until(until);
        }
        assert!(now_ns() >= until && thread_cpu_ns() > 0);
    }
}
