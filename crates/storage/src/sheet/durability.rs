//! Whether a flush reaches the device, and whether it can have reached a medium: probe 5, and the latency of syncs.

use super::evidence::{Evidence, P50, has, latency};
use super::figures::{short, time};
use super::{line, warning_if};
use plimsoll_model::io::{DeviceFacts, Probe, SheetLine};
use serde_json::{Value, json};

const TOPIC: &str = "Durability";
/// Fewer flushes per sync than this are those of others.
const REACHED: f64 = 0.5;
/// No flash or disk without a protected cache makes a write durable faster: programming a page of flash takes some
/// hundred microseconds.
const FASTEST_FLASH_US: f64 = 100.0;
/// Nor does a disk that turns: half a revolution at 15,000 per minute is 2 ms.
const FASTEST_DISK_US: f64 = 1000.0;
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
const REMOTE: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "fuse.sshfs"];

pub fn lines(evidence: &Evidence<'_>) -> Vec<SheetLine> {
    let reaches = without_a_device(evidence.device).or_else(|| counted(evidence));
    reaches.into_iter().chain(plausible(evidence)).collect()
}

/// File systems without a block device of their own, where no flush can be counted.
fn without_a_device(device: &DeviceFacts) -> Option<SheetLine> {
    let filesystem = device.filesystem.as_deref()?;
    let (statement, value, warning) = match filesystem {
        memory if IN_MEMORY.contains(&memory) => {
            let why = "keeps files in memory: nothing here survives a restart, whatever fsync answers.";
            (format!("{memory} {why}"), json!(false), true)
        }
        _ if device.name.is_some() => return None,
        remote if REMOTE.contains(&remote) => {
            let why = "is a network file system: whether a flush reaches a medium is for its server to say, and cannot be \
                       counted from here.";
            (format!("{remote} {why}"), Value::Null, false)
        }
        "overlay" => {
            let why = "overlay passes a sync on to the file system below it, unless it is mounted with `volatile`; \
                       evaluate that file system to see whether flushes reach its device.";
            let volatile = has_option(device, "volatile");
            let value = if volatile { json!(false) } else { Value::Null };
            let why = if volatile { "overlay is mounted with `volatile`: fsync does nothing at all." } else { why };
            (why.to_owned(), value, volatile)
        }
        other => {
            let why = "has no block device that could be found, so whether a flush reaches one cannot be counted here.";
            (format!("{other} {why}"), Value::Null, false)
        }
    };
    Some(warning_if(warning, line(TOPIC, "flush_reaches_device", statement, (value, ""), &[])))
}

fn has_option(device: &DeviceFacts, option: &str) -> bool {
    device.mount_options.iter().any(|known| known == option)
}

/// Flushes that the device completed per sync of a file.
fn counted(evidence: &Evidence<'_>) -> Option<SheetLine> {
    let of =
        |allocation: &str| evidence.of(5).into_iter().find(|probe| has(probe, &[("allocation", json!(allocation))]));
    let overwriting = of("overwrite").or_else(|| evidence.of(5).into_iter().next())?;
    let flushes = flushes_per_sync(overwriting)?;
    let mut probes = vec![overwriting];
    if flushes < REACHED {
        return Some(not_reached(evidence.device, flushes, &probes));
    }
    let mut statement = format!(
        "A sync reaches the device: flushes per fdatasync are {} of a file that is overwritten",
        short(flushes)
    );
    if let Some((growing, more)) = of("extend").and_then(|probe| Some((probe, flushes_per_sync(probe)?))) {
        statement += &format!(", {} of one that grows", short(more));
        if more > 1.5 * flushes {
            statement += ": logs that are laid out before and rewritten in place commit faster";
        }
        probes.push(growing);
    }
    Some(line(TOPIC, "flush_reaches_device", statement + ".", (true, ""), &probes))
}

fn flushes_per_sync(probe: &Probe) -> Option<f64> {
    let done = |kind: &str| probe.operations.get(kind).copied().unwrap_or(0) as f64;
    let (syncs, operations) = (done("sync"), done("read") + done("write"));
    let per_sync = probe.flushes_per_op? * if operations > 0.0 { operations } else { syncs } / syncs;
    per_sync.is_finite().then_some(per_sync)
}

fn not_reached(device: &DeviceFacts, flushes: f64, probes: &[&Probe]) -> SheetLine {
    let without_barriers = ["barrier=0", "nobarrier"].into_iter().find(|option| has_option(device, option));
    let why = match (without_barriers, device.write_cache.as_deref()) {
        (Some(option), _) => format!("the file system is mounted with {option}; remove that"),
        (None, Some("write through")) => {
            "the device says that it has no volatile cache (`write through`), which is true of protected memory only; make \
             sure of it"
                .to_owned()
        }
        _ => "something on the way swallows it: a preloaded library such as eatmydata, a mount option, or a virtual disk \
              without flushes"
            .to_owned(),
    };
    let statement = format!(
        "fsync does not reach the device ({} flushes per sync): {why}. What was committed last may be lost in a power cut, \
         whatever innodb_flush_log_at_trx_commit says.",
        short(flushes)
    );
    warning_if(true, line(TOPIC, "flush_reaches_device", statement, (false, ""), probes))
}

/// Whether a medium can have answered as fast as syncs were answered.
fn plausible(evidence: &Evidence<'_>) -> Option<SheetLine> {
    let device = evidence.device;
    device.name.as_ref()?;
    let (probe, sync_us) = sync(evidence)?;
    let (floor, medium) = match device.rotational {
        Some(true) => (FASTEST_DISK_US, "a disk that turns"),
        _ => (FASTEST_FLASH_US, "flash"),
    };
    let (statement, warning) = match sync_us {
        us if us >= floor => (
            format!(
                "Half of all syncs take {} or more, as {medium} may need: nothing suggests that they are acknowledged \
                      early.",
                time(us)
            ),
            false,
        ),
        us if is_persistent_memory(device) => {
            (format!("Half of all syncs take at most {}: persistent memory can do that.", time(us)), false)
        }
        us => (
            format!(
                "Your fsync is acknowledged by memory: half of all syncs take at most {}, less than {medium} needs. A power cut \
             may lose what was committed, unless that memory is protected by a battery or capacitors.",
                time(us)
            ),
            true,
        ),
    };
    Some(warning_if(warning, line(TOPIC, "sync_latency", statement, (sync_us, "us"), &[probe])))
}

/// The median of a plain fdatasync after overwriting.
fn sync<'a>(evidence: &Evidence<'a>) -> Option<(&'a Probe, f64)> {
    let overwriting = [("allocation", json!("overwrite"))];
    let fdatasync = [("primitive", json!("fdatasync")), overwriting[0].clone()];
    let candidates = [evidence.find(4, &fdatasync), evidence.find(5, &overwriting), evidence.find(1, &[])];
    candidates.into_iter().flatten().find_map(|probe| Some((probe, latency(probe, "sync", P50)?)))
}

fn is_persistent_memory(device: &DeviceFacts) -> bool {
    device.name.as_deref().is_some_and(|name| name.starts_with("pmem")) || has_option(device, "dax")
}
