//! Checks that every direct read goes to the device, not to the page cache.

use super::super::kind::FileSystem;
use super::super::spec::Spec;
use super::super::{Lane, loops, sample};
use super::{LaneFinding, open};
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_storage::buffer::Aligned;
use plimsoll_storage::device::Device;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What is read twice.
const READ_BYTES: usize = 8 << 20;
/// One write, one read.
const PIECE: usize = 1 << 20;

/// Writes this file with O_DIRECT and reads it twice in the same way.
///
/// # Errors
/// [`LaneError::Io`] if it cannot be written or read.
pub(super) fn check(path: &Path, spec: &Spec, lane: &Lane) -> Result<LaneFinding, LaneError> {
    if let Some(name) = [&lane.device, &lane.server_device].into_iter().flatten().find(|name| !loops::is_direct(name)) {
        let found = format!("/dev/{name} has no direct I/O to its file, so reads come from memory");
        return Ok(LaneFinding::refused("direct", found));
    }
    match (&lane.device, &lane.server_device) {
        (None, Some(_)) => on_network(path, lane),
        _ if spec.kind == FileSystem::Tmpfs => {
            Ok(LaneFinding::passed("direct", "memory: O_DIRECT makes no difference"))
        }
        (_, server_device) => on_device(path, server_device.as_deref()),
    }
}

/// Each read has to come from the client's device. Whether the storage server had it in memory is its own business, and
/// only reported.
fn on_device(path: &Path, server_device: Option<&str>) -> Result<LaneFinding, LaneError> {
    let file = written(path)?;
    let server = server_device.map(|name| Device { name: name.to_owned() });
    let read_by_server = || server.as_ref().and_then(Device::counters).map(|counters| counters.read_bytes);
    let (before, server_before) = (read_from_devices()?, read_by_server());
    read(&file, path)?;
    read(&file, path)?;
    let (asked, found) = (2 * READ_BYTES as u64, read_from_devices()? - before);
    let mut told = format!("of {} MiB read with O_DIRECT, {} MiB came from the device", asked >> 20, found >> 20);
    if let Some((before, after)) = server_before.zip(read_by_server()) {
        let from_disk = after.saturating_sub(before) >> 20;
        told += &format!("; the storage server read {from_disk} MiB from its disk");
    }
    Ok(match found >= asked {
        true => LaneFinding::passed("direct", told),
        false => LaneFinding::refused("direct", format!("{told}; the rest came from the client's memory")),
    })
}

/// With files and no device, the client's own count of READs tells whether the second reading went to the storage
/// server like the first.
fn on_network(path: &Path, lane: &Lane) -> Result<LaneFinding, LaneError> {
    let file = written(path)?;
    let reads = || {
        let counts = sample::operations(lane.operations.as_ref()?, sample::ANSWERS_WITHIN)?;
        Some(counts.get("READ").copied().unwrap_or(0))
    };
    let Some(begin) = reads() else {
        read(&file, path)?;
        let found = "O_DIRECT is accepted; whether the client's memory answers is unknown, because it counts no \
                     requests";
        return Ok(LaneFinding::note("direct", found));
    };
    read(&file, path)?;
    let middle = reads();
    read(&file, path)?;
    let Some((middle, end)) = middle.zip(reads()) else {
        return Ok(LaneFinding::note("direct", "cannot be told: the client has stopped reporting its requests"));
    };
    let (first, second) = (middle.saturating_sub(begin), end.saturating_sub(middle));
    let found = format!("{} MiB read with O_DIRECT took {first} READs, and {second} the second time", READ_BYTES >> 20);
    Ok(match second >= first && second > 0 {
        true => LaneFinding::passed("direct", found),
        false => LaneFinding::refused("direct", format!("{found}; the rest came from the client's memory")),
    })
}

/// The file, written with O_DIRECT.
fn written(path: &Path) -> Result<File, LaneError> {
    let piece = Aligned::zeroed(PIECE);
    let file = open(path, true)?;
    for at in (0..READ_BYTES).step_by(PIECE) {
        file.write_all_at(piece.bytes(), at as u64).during("write", path)?;
    }
    Ok(file)
}

fn read(file: &File, path: &Path) -> Result<(), LaneError> {
    let mut piece = Aligned::zeroed(PIECE);
    for at in (0..READ_BYTES).step_by(PIECE) {
        file.read_exact_at(piece.bytes_mut(), at as u64).during("read", path)?;
    }
    Ok(())
}

/// Bytes that this process made devices read (`read_bytes` of proc_pid_io(5)).
fn read_from_devices() -> Result<u64, LaneError> {
    let path = Path::new("/proc/self/io");
    let text = fs::read_to_string(path).during("read", path)?;
    let value = text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok());
    value.ok_or_else(|| LaneError::Environment("/proc/self/io has no read_bytes".to_owned()))
}
