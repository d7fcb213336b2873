//! How the load of each workload begins. What runs it is generic, and compiled where the workload is known: here, for
//! speed, and not in whoever begins a load, which packages compile for size.

use crate::ledger::LedgerWorkload;
use crate::null::Null;
use crate::oltp::Oltp;
use crate::smack::Smack;
use crate::tpcc::Tpcc;
use plimsoll_engine::{Run, RunSpec};
use std::sync::Arc;

impl Oltp {
    /// As [`Run::begin`].
    pub fn begin(self, spec: RunSpec) -> Run {
        Run::begin(spec, Arc::new(self))
    }
}

impl Smack {
    /// As [`Run::begin`].
    pub fn begin(self, spec: RunSpec) -> Run {
        Run::begin(spec, Arc::new(self))
    }
}

impl Tpcc {
    /// As [`Run::begin`].
    pub fn begin(self, spec: RunSpec) -> Run {
        Run::begin(spec, Arc::new(self))
    }
}

impl LedgerWorkload {
    /// As [`Run::begin`].
    pub fn begin(self, spec: RunSpec) -> Run {
        Run::begin(spec, Arc::new(self))
    }
}

impl Null {
    /// As [`Run::begin`].
    pub fn begin(self, spec: RunSpec) -> Run {
        Run::begin(spec, Arc::new(self))
    }
}
