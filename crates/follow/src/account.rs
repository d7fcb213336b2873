//! What is made of a load's seconds.

use plimsoll_load::source::Spent;
use plimsoll_load::tally::{Names, Tally};
use plimsoll_model::samples::{DeviceSample, HostSample, Interval, ServerSample, StatusSample, StorageSample};
use plimsoll_watch::Watcher;

/// A second that all loops have told of.
pub struct FollowedSecond<'a> {
    pub tally: &'a Tally,
    pub names: &'a Names,
    /// As it is recorded.
    pub interval: &'a Interval,
    /// Its end, nanoseconds since the series began.
    pub end_ns: u64,
    /// What the load's own processes have used by now.
    pub spent: Option<Spent>,
}

/// What else was seen in a second, to be recorded beside it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub host: Option<HostSample>,
    pub server: Option<ServerSample>,
    pub device: Option<DeviceSample>,
    pub status: Vec<StatusSample>,
    pub storage: Vec<StorageSample>,
}

/// Whoever makes something of a load's seconds.
pub trait Account {
    /// Counts a second, looks at what the machine did meanwhile, and tells `watcher` of both.
    fn second(&mut self, second: &FollowedSecond<'_>, watcher: &mut dyn Watcher) -> Seen;

    /// Looks after what goes on beside the load, several times a second; why the load cannot go on.
    fn look(&mut self) -> Option<String> {
        None
    }

    /// A failure with what else is known of it.
    fn explain(&self, why: String) -> String {
        why
    }
}
