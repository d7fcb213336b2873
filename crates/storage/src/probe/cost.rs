//! Probe 21, CPU per I/O at a fixed rate: what storage takes from the cores that the server needs. Protocols differ
//! more in this than in latency.

use crate::job::{Access, Job, JobEngine, Places, Syncs};
use crate::probe::{Extent, ProbeStep};
use plimsoll_load::arrivals::Arrivals;

/// I/Os per second: the same everywhere, so that storage paths can be compared.
const RATE: f64 = 500.0;
/// The most I/Os under way.
const DEPTH: u32 = 16;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let uring = extent.io_uring.then_some(JobEngine::Uring { loops: 1, depth: DEPTH });
    let engines: Vec<JobEngine> = [JobEngine::Threads { workers: DEPTH }].into_iter().chain(uring).collect();
    let reads = Access::page_reads(Places::Anywhere);
    let writes = Access::page_writes(Places::Anywhere, Syncs::NEVER);
    let each = |(what, access): (&'static str, Access)| {
        let engines = engines.clone();
        engines.into_iter().map(move |engine| step(extent, what, access.clone(), engine))
    };
    [("read", reads), ("write", writes)].into_iter().flat_map(each).collect()
}

fn step(extent: &Extent, what: &'static str, access: Access, engine: JobEngine) -> ProbeStep {
    let params = [("engine", engine.name().into()), ("rate", RATE.into()), ("what", what.into())];
    let job = extent.job(extent.pages(), access, engine);
    let job = Job { arrivals: Arrivals::Constant { rate: RATE }, ..job };
    ProbeStep::new(21, &format!("{what}.{}", engine.name()), "CPU per I/O", params, job)
}
