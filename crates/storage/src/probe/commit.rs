//! Probes 1 to 3, commits: how many a session's log can make durable per second (`innodb_flush_log_at_trx_commit = 1`),
//! what sessions gain by sharing a sync, and what a binary log costs on top (`sync_binlog = 1`). Upper bounds: a server has
//! work of its own to do between two commits.

use crate::commit::{Binlog, Log, Redo};
use crate::job::{Access, Engine, Job};
use crate::layout::{Layout, Open};
use crate::probe::{Extent, Step};
use serde_json::json;

const SERVERS: [Redo; 2] = [Redo::MySql, Redo::MariaDb];
const COMMITTERS_QUICK: [u32; 3] = [1, 8, 64];
const COMMITTERS_FULL: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Events of one transaction: of a row of 200 bytes (a sysbench insert, by trace), and of a large one.
const EVENT_BYTES: [u32; 2] = [440, 4096];
/// Bytes of a log, where there is room: more than any cache of a controller wraps round in one window.
const LOG_BYTES: u64 = 64 << 20;

pub fn steps(extent: &Extent) -> Vec<Step> {
    let committers: &[u32] = if extent.full { &COMMITTERS_FULL } else { &COMMITTERS_QUICK };
    let alone = SERVERS.iter().map(|redo| alone(extent, *redo));
    let groups = SERVERS.iter().flat_map(|redo| committers.iter().map(|committers| group(extent, *redo, *committers)));
    let ways = [(false, "extend"), (true, "preallocated")];
    let events = ways.iter().flat_map(|way| EVENT_BYTES.iter().map(move |event_bytes| (*way, *event_bytes)));
    let binlogs = events.flat_map(|(way, event_bytes)| SERVERS.iter().map(move |redo| (*redo, way, event_bytes)));
    let binlogs = binlogs.map(|(redo, way, event_bytes)| with_binlog(extent, redo, way, event_bytes));
    alone.chain(groups).chain(binlogs).collect()
}

fn alone(extent: &Extent, redo: Redo) -> Step {
    let params = [("server", json!(redo.name())), ("committers", json!(1))];
    Step::new(1, redo.name(), "redo commit", params, job(extent, redo, 1, None))
}

fn group(extent: &Extent, redo: Redo, committers: u32) -> Step {
    let params = [("server", json!(redo.name())), ("committers", json!(committers))];
    let slug = format!("{}.{committers}", redo.name());
    Step::new(2, &slug, "group commit", params, job(extent, redo, committers, None))
}

fn with_binlog(extent: &Extent, redo: Redo, (preallocated, way): (bool, &str), event_bytes: u32) -> Step {
    let params = [
        ("server", json!(redo.name())),
        ("committers", json!(1)),
        ("binlog", json!(way)),
        ("event_bytes", json!(event_bytes)),
    ];
    let slug = format!("{}.{way}.{event_bytes}", redo.name());
    let binlog = Binlog { event_bytes, preallocated };
    Step::new(3, &slug, "commit with binary log", params, job(extent, redo, 1, Some(binlog)))
}

fn job(extent: &Extent, redo: Redo, committers: u32, binlog: Option<Binlog>) -> Job {
    let (name, files) = if binlog.is_some() { ("logs", 2) } else { ("log", 1) };
    let layout = Layout::of(name, files, u64::from(files) * LOG_BYTES.min(extent.data_bytes / 8));
    let log = Log { redo, bytes: redo.bytes_per_insert(binlog.is_some()), binlog };
    let direct = redo == Redo::MariaDb && extent.direct;
    let job = extent.job(layout, Access::Commits(log), Engine::Committers { workers: committers });
    Job { open: Open { direct, ..Open::default() }, ..job }
}
