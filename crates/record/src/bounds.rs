//! What a recording can be. One that comes from elsewhere can hold anything: whatever lies beyond these bounds was
//! written by no Plimsoll, and is refused before it takes memory.

use crate::event::RecordedEvent;
use plimsoll_model::samples::{
    AgentSample, CollectorSample, DeviceSample, HostSample, Interval, ServerSample, StatusSample, StorageSample,
};

const DAY_NS: u64 = 86_400 * 1_000_000_000;

/// A trial lasts at most so long, nanoseconds: warm-up and measured window have 720 h each at most, and what lies around
/// them (restoring, draining, recovering, pausing) is given as much.
pub const LONGEST_TRIAL_NS: u64 = 3 * 30 * DAY_NS;
/// All trials of a recording together, nanoseconds.
const LONGEST_RECORDING_NS: u64 = 100 * 366 * DAY_NS;
/// A line of a file that grows by lines has at most so many bytes.
pub const LONGEST_LINE: usize = 4 << 20;
/// A file that is replaced as a whole has at most so many bytes.
pub(crate) const LARGEST_DOCUMENT: u64 = 64 << 20;
/// About what a document takes in memory, bytes, once it is read.
const HEAVIEST_DOCUMENT: u64 = 256 << 20;
/// A file of lines has at most so many bytes: ninety days of seconds have less.
pub(crate) const LARGEST_SERIES: u64 = 64 << 30;
/// Tags of one latency log: kinds of transactions and statements.
pub(crate) const MOST_TAGS: usize = 512;

/// What has a time on the clock of its trial, or of its recording.
pub(crate) trait Timed {
    /// The latest time that it can have, nanoseconds.
    const LATEST_NS: u64 = LONGEST_TRIAL_NS;

    fn t_ns(&self) -> u64;

    /// The time that it covers, seconds.
    fn seconds(&self) -> f64 {
        0.0
    }
}

/// Why a line cannot be of ours.
pub(crate) fn implausible<T: Timed>(line: &T) -> Option<String> {
    let (t_ns, seconds) = (line.t_ns(), line.seconds());
    if t_ns > T::LATEST_NS {
        return Some(format!("t_ns {t_ns}, which is more than the {} days allowed", T::LATEST_NS / DAY_NS));
    }
    let longest = T::LATEST_NS as f64 / 1e9;
    (!(0.0..=longest).contains(&seconds)).then(|| format!("seconds {seconds:?} where 0 to {longest:?} belong"))
}

/// Whether a document would take more memory than one of ours does: what it is made of is counted as its text tells,
/// without being made.
pub(crate) fn is_too_heavy(document: &[u8]) -> bool {
    // What an empty object, an empty list and one more value of either take.
    let weight = |byte: &u8| match byte {
        b'{' => 500,
        b'[' => 300,
        b',' => 80,
        _ => 1,
    };
    document.len() > LONGEST_LINE / 64 && document.iter().map(weight).sum::<u64>() > HEAVIEST_DOCUMENT
}

impl Timed for Interval {
    fn t_ns(&self) -> u64 {
        self.t_ns
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl Timed for HostSample {
    fn t_ns(&self) -> u64 {
        self.t_ns
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl Timed for DeviceSample {
    fn t_ns(&self) -> u64 {
        self.t_ns
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl Timed for StorageSample {
    fn t_ns(&self) -> u64 {
        self.t_ns
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl Timed for AgentSample {
    fn t_ns(&self) -> u64 {
        self.t_ns
    }

    fn seconds(&self) -> f64 {
        self.host.as_ref().map_or(0.0, |host| host.seconds)
    }
}

impl Timed for StatusSample {
    fn t_ns(&self) -> u64 {
        self.t_ns
    }

    fn seconds(&self) -> f64 {
        self.seconds
    }
}

impl Timed for ServerSample {
    fn t_ns(&self) -> u64 {
        self.t_ns
    }
}

impl Timed for CollectorSample {
    fn t_ns(&self) -> u64 {
        self.t_ns
    }
}

impl Timed for RecordedEvent {
    const LATEST_NS: u64 = LONGEST_RECORDING_NS;

    fn t_ns(&self) -> u64 {
        self.t_ns
    }
}
