//! The recording of a lab and its clock.

use jiff::Timestamp;
use plimsoll_record::{Happening, RecordError, Recording, Status};
use std::time::{Duration, Instant};

/// A recording under way, with a clock that continues where the lab stopped before it was resumed.
#[derive(Debug)]
pub struct Journal {
    pub recording: Recording,
    opened: Instant,
    before: Duration,
}

impl Journal {
    /// The journal of a new recording.
    pub fn begin(recording: Recording) -> Journal {
        Journal { recording, opened: Instant::now(), before: Duration::ZERO }
    }

    /// The journal of a resumed recording, whose last event was `latest_ns` after it began.
    pub fn go_on(recording: Recording, latest_ns: u64) -> Journal {
        let since = Timestamp::now().duration_since(recording.manifest().started);
        let before = Duration::try_from(since).unwrap_or_default().max(Duration::from_nanos(latest_ns));
        Journal { recording, opened: Instant::now(), before }
    }

    /// Nanoseconds since the recording's start.
    pub fn now_ns(&self) -> u64 {
        (self.before + self.opened.elapsed()).as_nanos() as u64
    }

    pub fn event(&mut self, what: Happening) -> Result<(), RecordError> {
        self.event_at(self.now_ns(), what)
    }

    /// Records something that happened at `t_ns` since the recording's start.
    pub fn event_at(&mut self, t_ns: u64, what: Happening) -> Result<(), RecordError> {
        self.recording.event(t_ns, what)
    }

    pub fn finish(&mut self, status: Status) -> Result<(), RecordError> {
        self.recording.finish(status, Timestamp::now())
    }
}
