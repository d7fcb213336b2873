//! Probes 1 to 3, commits: how many a session's log can make durable per second (`innodb_flush_log_at_trx_commit = 1`),
//! what sessions gain by sharing a sync, and what a binary log costs on top (`sync_binlog = 1`). Between two commits,
//! committers compute what a session of the server does.

use crate::commit::{BUFFERED_BLOCK, Binlog, Log, Redo};
use crate::job::{Access, Job, JobEngine};
use crate::layout::{FileLayout, Open};
use crate::probe::{Extent, ProbeStep};

const COMMITTERS_QUICK: [u32; 3] = [1, 8, 64];
const COMMITTERS_FULL: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Event bytes of one transaction: with a row of 200 bytes (a sysbench insert, according to the trace), and with a
/// large one.
const EVENT_BYTES: [u32; 2] = [440, 4096];
/// Bytes of a log, if there is room: more than wraps around in any controller's cache in one window.
const LOG_BYTES: u64 = 64 << 20;

pub fn steps(extent: &Extent) -> Vec<ProbeStep> {
    let committers: &[u32] = if extent.full { &COMMITTERS_FULL } else { &COMMITTERS_QUICK };
    let servers = [Redo::MySql, Redo::MariaDb { block: extent.log_block.unwrap_or(BUFFERED_BLOCK) }];
    let alone = servers.iter().map(|redo| alone(extent, *redo));
    let groups = servers.iter().flat_map(|redo| committers.iter().map(|committers| group(extent, *redo, *committers)));
    let ways = [false, true]
        .into_iter()
        .flat_map(|preallocated| EVENT_BYTES.map(|bytes| Binlog { event_bytes: bytes, preallocated }));
    let binlogs = ways.flat_map(|binlog| servers.iter().map(move |redo| with_binlog(extent, *redo, binlog)));
    alone.chain(groups).chain(binlogs).collect()
}

fn alone(extent: &Extent, redo: Redo) -> ProbeStep {
    let params = [("server", redo.name().into()), ("committers", 1_u64.into())];
    ProbeStep::new(1, redo.name(), "redo commit", params, job(extent, redo, 1, None))
}

fn group(extent: &Extent, redo: Redo, committers: u32) -> ProbeStep {
    let params = [("server", redo.name().into()), ("committers", committers.into())];
    let slug = format!("{}.{committers}", redo.name());
    ProbeStep::new(2, &slug, "group commit", params, job(extent, redo, committers, None))
}

fn with_binlog(extent: &Extent, redo: Redo, binlog: Binlog) -> ProbeStep {
    let Binlog { event_bytes, preallocated } = binlog;
    let way = if preallocated { "preallocated" } else { "extend" };
    let params = [
        ("server", redo.name().into()),
        ("committers", 1_u64.into()),
        ("binlog", way.into()),
        ("event_bytes", event_bytes.into()),
    ];
    let slug = format!("{}.{way}.{event_bytes}", redo.name());
    ProbeStep::new(3, &slug, "commit with binary log", params, job(extent, redo, 1, Some(binlog)))
}

fn job(extent: &Extent, redo: Redo, committers: u32, binlog: Option<Binlog>) -> Job {
    let (name, files) = if binlog.is_some() { ("logs", 2) } else { ("log", 1) };
    let layout = FileLayout::of(name, files, u64::from(files) * LOG_BYTES.min(extent.data_bytes / 8));
    let log = Log { redo, bytes: redo.bytes_per_insert(binlog.is_some()), binlog };
    let direct = matches!(redo, Redo::MariaDb { .. }) && extent.log_block.is_some();
    let job = extent.job(layout, Access::Commits(log), JobEngine::Committers { workers: committers });
    Job { open: Open { direct, ..Open::default() }, ..job }
}
