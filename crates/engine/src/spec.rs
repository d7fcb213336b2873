//! What to run against what.

use crate::commit_log::CommitLog;
use crate::endpoint::Endpoint;
use crate::statement::Protocol;
use crate::workload::Workload;
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::Limit;
use std::ops::Range;
use std::sync::Arc;

/// A run as a value.
#[derive(Clone, Debug)]
pub struct RunSpec {
    pub endpoint: Endpoint,
    pub connections: usize,
    /// In all processes together.
    pub loops: usize,
    /// The numbers of those that this process has; `None` for all of them.
    pub part: Option<Range<usize>>,
    pub arrivals: Arrivals,
    pub limit: Limit,
    pub warmup_ns: u64,
    pub seed: u64,
    pub protocol: Protocol,
    pub outage_limit_ns: u64,
    pub ignore_errors: Vec<u16>,
    /// A server of our own: when it is gone the run is over.
    pub private: bool,
    /// Asked on the first connection of each loop, once it is set up; its rows come with [`LoopEvent::Ready`].
    pub ask: Option<&'static str>,
    /// Where every commit that a client is told of is written down.
    pub commits: Option<Arc<CommitLog>>,
}

impl RunSpec {
    /// Transactions have a due time: they arrive at a rate, or from terminals that think.
    pub fn is_open_loop(&self, workload: &impl Workload) -> bool {
        self.arrivals.rate().is_some() || workload.terminals().is_some()
    }
}
