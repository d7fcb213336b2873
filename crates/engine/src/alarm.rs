//! A timer that ends a wait to the microsecond, where waiting itself counts milliseconds.

use mio::{Interest, Registry, Token};
use std::io;

const ALARM: Token = Token(usize::MAX - 1);

#[cfg(target_os = "linux")]
pub(crate) struct Alarm {
    descriptor: std::os::fd::OwnedFd,
    set_for_ns: u64,
}

#[cfg(target_os = "linux")]
impl Alarm {
    pub(crate) fn new(registry: &Registry) -> io::Result<Alarm> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        use std::os::fd::AsRawFd;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        registry.register(&mut mio::unix::SourceFd(&descriptor.as_raw_fd()), ALARM, Interest::READABLE)?;
        Ok(Alarm { descriptor, set_for_ns: 0 })
    }

    pub(crate) fn set(&mut self, at_ns: u64, left_ns: u64) -> io::Result<()> {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        if self.set_for_ns == at_ns {
            return Ok(());
        }
        self.set_for_ns = at_ns;
        let once = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: (left_ns / 1_000_000_000) as i64, tv_nsec: (left_ns % 1_000_000_000) as i64 },
        };
        timerfd_settime(&self.descriptor, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) struct Alarm;

#[cfg(not(target_os = "linux"))]
impl Alarm {
    pub(crate) fn new(_registry: &Registry) -> io::Result<Alarm> {
        let _ = ALARM;
        Ok(Alarm)
    }

    pub(crate) fn set(&mut self, _at_ns: u64, _left_ns: u64) -> io::Result<()> {
        Ok(())
    }
}
