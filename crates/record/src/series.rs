//! `series.json`: how long each series of a trial was when its outcome was written. One that is shorter was torn by a power
//! cut or a copy.

use crate::lines::read_json;
use crate::{RecordError, Result, file};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

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
