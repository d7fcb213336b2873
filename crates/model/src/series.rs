//! What a trial leaves behind beside its outcome.

use crate::samples::{
    AgentSample, CollectorSample, DeviceSample, HostSample, Interval, ServerSample, StatusSample, StorageSample,
};

/// What was sampled of a trial. `t_ns` counts from its start everywhere.
#[derive(Clone, Debug, Default)]
pub struct Series {
    pub intervals: Vec<Interval>,
    pub host: Vec<HostSample>,
    pub server: Vec<ServerSample>,
    /// The block device below the files of a storage trial.
    pub device: Vec<DeviceSample>,
    /// What a server of ours said of itself.
    pub status: Vec<StatusSample>,
    /// What the two sides of a network lane did.
    pub storage: Vec<StorageSample>,
    /// What the machines of load agents did.
    pub agents: Vec<AgentSample>,
    /// The user's own numbers.
    pub collectors: Vec<CollectorSample>,
}
