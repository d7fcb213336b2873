//! `/proc/self/mountstats`: what NFS mounts request from their servers, by kind of operation (Linux, `fs/nfs/super.c`,
//! `net/sunrpc/stats.c`; nfsiostat(8) reads the same).

use plimsoll_model::samples::{NfsOperations, NfsSample};
use std::collections::BTreeMap;

/// What was counted of one kind of operation since the mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OperationCounts {
    operations: u64,
    transmissions: u64,
    sent_bytes: u64,
    received_bytes: u64,
    answer_ms: u64,
    total_ms: u64,
}

/// By mount point, then by kind.
pub(super) type Mounts = BTreeMap<String, BTreeMap<String, OperationCounts>>;

/// Reads the file; mounts of other file systems have one line each and are skipped.
pub(super) fn parse(text: &str) -> Mounts {
    let mut mounts = Mounts::new();
    let mut mount: Option<String> = None;
    for line in text.lines() {
        if let Some(device) = line.strip_prefix("device ") {
            mount = mount_point(device);
        } else if let (Some(mount), Some((kind, counted))) = (&mount, operation(line)) {
            mounts.entry(mount.clone()).or_default().insert(kind.to_owned(), counted);
        }
    }
    mounts
}

/// `server:/export mounted on /mnt/nfs with fstype nfs4 statvers=1.1`.
fn mount_point(device: &str) -> Option<String> {
    let (_, rest) = device.split_once(" mounted on ")?;
    let (place, kind) = rest.split_once(" with fstype ")?;
    let is_nfs = matches!(kind.split_ascii_whitespace().next(), Some("nfs" | "nfs4"));
    // The kernel writes blanks in octal (seq_path).
    is_nfs.then(|| place.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
}

/// `READ: 10 10 0 2000 41000 3 50 60 0`: operations, transmissions, timeouts, bytes sent and received, then
/// milliseconds in the queue, until the answer, and in total; newer kernels append errors.
fn operation(line: &str) -> Option<(&str, OperationCounts)> {
    let (kind, numbers) = line.trim_start().split_once(": ")?;
    if kind.is_empty() || !kind.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit()) {
        return None;
    }
    let mut fields = numbers.split_ascii_whitespace().map_while(|field| field.parse::<u64>().ok());
    let (operations, transmissions, _timeouts) = (fields.next()?, fields.next()?, fields.next()?);
    let (sent_bytes, received_bytes) = (fields.next()?, fields.next()?);
    let (_queued_ms, answer_ms, total_ms) = (fields.next()?, fields.next()?, fields.next()?);
    Some((kind, OperationCounts { operations, transmissions, sent_bytes, received_bytes, answer_ms, total_ms }))
}

/// What each mount did since `before`; for a new mount, what it did so far.
pub(super) fn since(now: &Mounts, before: &Mounts) -> BTreeMap<String, NfsSample> {
    let nothing = BTreeMap::new();
    let of_mount = |(place, kinds): (&String, &BTreeMap<String, OperationCounts>)| {
        let earlier = before.get(place).unwrap_or(&nothing);
        let moved = |(kind, now): (&String, &OperationCounts)| {
            let moved = operations(now, &earlier.get(kind).copied().unwrap_or_default());
            (moved.count > 0).then(|| (kind.clone(), moved))
        };
        (place.clone(), NfsSample { operations: kinds.iter().filter_map(moved).collect() })
    };
    now.iter().map(of_mount).collect()
}

fn operations(now: &OperationCounts, before: &OperationCounts) -> NfsOperations {
    let moved = |of: fn(&OperationCounts) -> u64| of(now).saturating_sub(of(before));
    let count = moved(|c| c.operations);
    let mean_ms = |ms: u64| ms as f64 / count.max(1) as f64;
    NfsOperations {
        count,
        retransmits: moved(|c| c.transmissions).saturating_sub(count),
        sent_bytes: moved(|c| c.sent_bytes),
        received_bytes: moved(|c| c.received_bytes),
        answer_ms: mean_ms(moved(|c| c.answer_ms)),
        total_ms: mean_ms(moved(|c| c.total_ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
device proc mounted on /proc with fstype proc
device filer:/vol/db mounted on /mnt/my\\040data with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576
\tage:\t4711
\tbytes:\t1 2 3 4 5 6 7 8
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 0 0 1 0 1 100 100 0 100 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 10 10 0 2000 41000 3 50 60 0
\t       WRITE: 5 5 0 90000 700 1 20 25 0
device tmpfs mounted on /tmp with fstype tmpfs
";

    #[test]
    fn operations_are_told_by_kind() {
        let after = BEFORE.replace("READ: 10 10 0 2000 41000 3 50 60", "READ: 30 31 1 6000 123000 9 90 120");
        let found = since(&parse(&after), &parse(BEFORE));
        assert_eq!(found.keys().collect::<Vec<_>>(), ["/mnt/my data"]);
        let kinds = &found["/mnt/my data"].operations;
        assert_eq!(kinds.keys().collect::<Vec<_>>(), ["READ"], "what was not asked for is left out");
        let read = NfsOperations {
            count: 20,
            retransmits: 1,
            sent_bytes: 4000,
            received_bytes: 82_000,
            answer_ms: 2.0,
            total_ms: 3.0,
        };
        assert_eq!(kinds["READ"], read);
    }

    #[test]
    fn without_nfs_there_is_nothing_to_tell() {
        assert!(parse("device proc mounted on /proc with fstype proc\n  READ: 1 1 0 1 1 1 1 1\n").is_empty());
        assert!(parse("").is_empty());
    }
}
