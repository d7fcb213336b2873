//! The series of a trial, and `series.json`: how long each was when the trial's outcome was written. One that is shorter was
//! torn by a power cut or a copy.

use crate::lines::{read_json, read_json_lines};
use crate::memory::Allowance;
use crate::{RecordError, Result, file};
use plimsoll_model::samples::Interval;
use plimsoll_model::series::Series;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

pub(crate) const INTERVALS_SCHEMA: &str = "plimsoll.intervals";
pub(crate) const HOST_SCHEMA: &str = "plimsoll.host";
pub(crate) const SERVER_SCHEMA: &str = "plimsoll.server";
pub(crate) const DEVICE_SCHEMA: &str = "plimsoll.device";
pub(crate) const STATUS_SCHEMA: &str = "plimsoll.status";
pub(crate) const STORAGE_SCHEMA: &str = "plimsoll.storage";
pub(crate) const AGENTS_SCHEMA: &str = "plimsoll.agents";
pub(crate) const COLLECTORS_SCHEMA: &str = "plimsoll.collectors";

/// All series that a trial may have.
const SERIES: [&str; 9] = [
    "intervals.ndjson",
    "host.ndjson",
    "server.ndjson",
    "device.ndjson",
    "status.ndjson",
    "storage.ndjson",
    "agents.ndjson",
    "collectors.ndjson",
    "latency.hlog",
];

/// Reads them all but the latencies, which are too many to be in memory at once.
///
/// # Errors
/// As [`read_json_lines`].
pub(crate) fn read(trial: &Path) -> Result<Series> {
    let allowed = &Allowance::of_now();
    Ok(Series {
        intervals: intervals(trial, allowed)?,
        host: read_json_lines(&trial.join("host.ndjson"), HOST_SCHEMA, allowed)?,
        server: read_json_lines(&trial.join("server.ndjson"), SERVER_SCHEMA, allowed)?,
        device: read_json_lines(&trial.join("device.ndjson"), DEVICE_SCHEMA, allowed)?,
        status: read_json_lines(&trial.join("status.ndjson"), STATUS_SCHEMA, allowed)?,
        storage: read_json_lines(&trial.join("storage.ndjson"), STORAGE_SCHEMA, allowed)?,
        agents: read_json_lines(&trial.join("agents.ndjson"), AGENTS_SCHEMA, allowed)?,
        collectors: read_json_lines(&trial.join("collectors.ndjson"), COLLECTORS_SCHEMA, allowed)?,
    })
}

/// Reads the seconds of its load alone.
///
/// # Errors
/// As [`read_json_lines`].
pub(crate) fn intervals(trial: &Path, allowed: &Allowance) -> Result<Vec<Interval>> {
    read_json_lines(&trial.join("intervals.ndjson"), INTERVALS_SCHEMA, allowed)
}

/// Syncs the series of a trial (fsync(2)), and says how many bytes each has.
pub(crate) fn synced(trial: &Path) -> Result<BTreeMap<&'static str, u64>> {
    let mut lengths = BTreeMap::new();
    for name in SERIES {
        let path = trial.join(name);
        match file::open(&path) {
            Ok(series) => {
                series.sync_all().map_err(RecordError::write(&path))?;
                lengths.insert(name, series.metadata().map_err(RecordError::read(&path))?.len());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(RecordError::read(&path)(error)),
        }
    }
    Ok(lengths)
}

/// The first series of a trial that is shorter than was recorded, in words. Recordings of earlier versions say nothing of
/// lengths.
///
/// # Errors
/// As [`read_json`], for lengths that cannot be read.
pub(crate) fn torn(trial: &Path) -> Result<Option<String>> {
    let recorded: BTreeMap<String, u64> = match read_json(&trial.join("series.json")) {
        Err(RecordError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        recorded => recorded?,
    };
    for name in SERIES {
        let Some(&length) = recorded.get(name) else { continue };
        let path = trial.join(name);
        let found = match file::open(&path).and_then(|series| series.metadata()) {
            Ok(facts) => facts.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(RecordError::read(&path)(error)),
        };
        if found < length {
            return Ok(Some(format!("{name} has {found} of the {length} bytes that it had")));
        }
    }
    Ok(None)
}
