//! Whether a commit survives a power cut: one verdict, which every sentence about commits uses. It rests on whether
//! flushes reach the device, as counted by probe 5, and on whether they can have reached a medium, by the latency of
//! syncs.

use super::evidence::{SheetEvidence, has};
use super::figures::{rate, time};
use super::{line_if_known, warning_if};
use crate::device::WRITE_THROUGH;
use plimsoll_model::filesystem::{UNFLUSHED, is_in_memory};
use plimsoll_model::io::{DeviceFacts, LatencyUs, Probe, SheetLine};
use plimsoll_model::number::three_digits;
use plimsoll_model::{OpKind, Scalar};

const TOPIC: &str = "Durability";
/// Each sync that reaches the device is at least one flush of it; fewer than this come from others.
const REACHED: f64 = 0.5;
/// With up to this many flushes of others per sync, twice as many would not make a sync seem to reach the device.
const FOREIGN: f64 = 0.25;
/// Probes in which a sync follows every write.
const SYNCING: [u8; 5] = [1, 2, 4, 5, 17];
/// Without a protected cache, no flash or disk makes a write durable faster: programming a page of flash takes some
/// hundred microseconds.
const FASTEST_FLASH_US: f64 = 100.0;
/// Nor does a spinning disk: half a revolution at 15,000 per minute is 2 ms.
const FASTEST_DISK_US: f64 = 1000.0;
const REMOTE: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "fuse.sshfs"];

/// Whether files of such a file system are on another machine.
pub fn is_remote(filesystem: &str) -> bool {
    REMOTE.contains(&filesystem)
}

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    let Some(DurabilityVerdict { survives, grounds, .. }) = verdict(evidence) else { return Vec::new() };
    let reasons: Vec<&Probe> = grounds.iter().flat_map(|ground| ground.probes.iter().copied()).collect();
    let told = line_if_known(TOPIC, "durability", survives.statement().to_owned(), survives.value(), "", &reasons);
    let told = warning_if(matches!(survives, Survives::InMemory | Survives::No), told);
    let grounds = grounds
        .into_iter()
        .map(|ground| line_if_known(TOPIC, ground.key, ground.statement, ground.value, ground.unit, &ground.probes));
    std::iter::once(told).chain(grounds).collect()
}

/// Whether commits survive a power cut, as far as can be told from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Survives {
    Yes,
    /// Acknowledged by memory, which may or may not be protected.
    InMemory,
    No,
    NotKnown,
}

impl Survives {
    /// The value of the sheet's line `durability`, for programs and the headline.
    fn value(self) -> Option<Scalar> {
        match self {
            Survives::Yes => Some("durable".into()),
            Survives::InMemory => Some("memory".into()),
            Survives::No => Some("lost".into()),
            Survives::NotKnown => None,
        }
    }

    fn statement(self) -> &'static str {
        match self {
            Survives::Yes => {
                "A commit is durable, as far as can be seen from here: its flush reaches the device, and no sync is faster than \
                 a medium."
            }
            Survives::InMemory => {
                "A power cut may lose commits: memory acknowledges fsync. That is safe only if a battery or capacitors \
                 protect that memory."
            }
            Survives::No => {
                "A power cut may lose commits, whatever innodb_flush_log_at_trx_commit says: fsync does not reach a \
                 device."
            }
            Survives::NotKnown => {
                "Whether a commit survives a power cut is not known, for the reasons below; cutting the power would tell."
            }
        }
    }
}

/// The verdict, and what it rests on.
pub struct DurabilityVerdict<'a> {
    survives: Survives,
    grounds: Vec<Ground<'a>>,
}

/// One of the two things that decide: `flush_reaches_device` or `sync_latency`.
struct Ground<'a> {
    key: &'static str,
    statement: String,
    value: Option<Scalar>,
    unit: &'static str,
    /// What it says about a commit.
    survives: Survives,
    probes: Vec<&'a Probe>,
}

impl<'a> DurabilityVerdict<'a> {
    /// `durable` if commits are, with the measurements that show it; else what was done for them.
    pub fn of_commits(verdict: Option<DurabilityVerdict<'a>>) -> (&'static str, Vec<&'a Probe>) {
        match verdict {
            Some(DurabilityVerdict { survives: Survives::Yes, grounds }) => {
                ("durable", grounds.into_iter().flat_map(|ground| ground.probes).collect())
            }
            _ => ("synced", Vec::new()),
        }
    }
}

/// `None` if there is no evidence. A good verdict needs both to be good; one that is bad is enough for a bad verdict.
pub fn verdict<'a>(evidence: &SheetEvidence<'a>) -> Option<DurabilityVerdict<'a>> {
    let reaches = without_a_device(evidence.device).or_else(|| counted(evidence));
    let grounds: Vec<Ground<'a>> = reaches.into_iter().chain(plausible(evidence)).collect();
    let has = |survives| grounds.iter().any(|ground| ground.survives == survives);
    let survives = match grounds.len() {
        0 => return None,
        _ if has(Survives::No) => Survives::No,
        _ if has(Survives::InMemory) => Survives::InMemory,
        2 if !has(Survives::NotKnown) => Survives::Yes,
        _ => Survives::NotKnown,
    };
    Some(DurabilityVerdict { survives, grounds })
}

fn reaching<'a>(statement: String, survives: Survives, probes: Vec<&'a Probe>) -> Ground<'a> {
    let value = match survives {
        Survives::Yes => Some(true.into()),
        Survives::No => Some(false.into()),
        Survives::InMemory | Survives::NotKnown => None,
    };
    Ground { key: "flush_reaches_device", statement, value, unit: "", survives, probes }
}

/// File systems without a block device of their own, where no flush can be counted.
fn without_a_device<'a>(device: &DeviceFacts) -> Option<Ground<'a>> {
    let filesystem = device.filesystem.as_deref()?;
    let (statement, survives) = match filesystem {
        memory if is_in_memory(memory) => {
            let why = "keeps files in memory: nothing here survives a restart, whatever fsync returns.";
            (format!("{memory} {why}"), Survives::No)
        }
        _ if device.name.is_some() => return None,
        remote if is_remote(remote) => {
            let why = "is a network file system: only its server can tell whether a flush reaches a medium; it cannot \
                       be counted from here.";
            (format!("{remote} {why}"), Survives::NotKnown)
        }
        "overlay" if has_option(device, "volatile") => {
            ("overlay is mounted with `volatile`: fsync does nothing.".to_owned(), Survives::No)
        }
        "overlay" => {
            let why = "overlay passes a sync on to the file system below it, unless it is mounted with `volatile`; \
                       evaluate that file system to see whether flushes reach its device.";
            (why.to_owned(), Survives::NotKnown)
        }
        other => {
            let why = "has no block device that could be found, so it cannot be counted here whether a flush reaches \
                       one.";
            (format!("{other} {why}"), Survives::NotKnown)
        }
    };
    Some(reaching(statement, survives, Vec::new()))
}

fn has_option(device: &DeviceFacts, option: &str) -> bool {
    device.mount_options.iter().any(|known| known == option)
}

/// Flushes that the device completed per sync of a file, if they can be counted.
fn counted<'a>(evidence: &SheetEvidence<'a>) -> Option<Ground<'a>> {
    let device = evidence.device;
    let of =
        |allocation: &str| evidence.of(5).into_iter().find(|probe| has(probe, &[("allocation", allocation.into())]));
    let overwriting = of("overwrite").or_else(|| evidence.of(5).into_iter().next())?;
    if device.write_cache.as_deref() == Some(WRITE_THROUGH) {
        return Some(not_told(
            "the device says that it has no volatile cache (`write through`), so the kernel sends it no flush. That is \
             true of protected memory and of disks whose cache is off; make sure that it is true here",
            overwriting,
        ));
    }
    if let Some(option) = UNFLUSHED.into_iter().find(|option| has_option(device, option)) {
        return Some(not_reached(
            &format!("the file system is mounted with {option}; remove that option"),
            overwriting,
        ));
    }
    if overwriting.flushes_per_op.is_none() {
        return Some(not_told(
            "the kernel does not count flushes of this device: before Linux 5.5 it counts none, and it never does for \
             a device made of others, such as LVM, LUKS and RAID",
            overwriting,
        ));
    }
    let (flushes, foreign) = (flushes_per_sync(overwriting)?, foreign_per_sync(device, overwriting)?);
    if flushes < REACHED {
        let found = three_digits(flushes);
        let why = format!(
            "{found} flushes per sync arrive. Something on the way swallows them: a preloaded library such as eatmydata, \
             a mount option, or a virtual disk without flushes"
        );
        return Some(not_reached(&why, overwriting));
    }
    if foreign > FOREIGN || flushes - foreign < REACHED {
        let (others, found) = (three_digits(foreign), three_digits(flushes));
        let why = format!(
            "others flush the device too, about {others} of the {found} times per sync; repeat when they have stopped"
        );
        return Some(not_told(&why, overwriting));
    }
    Some(reached(device, overwriting, of("extend")))
}

fn flushes_per_sync(probe: &Probe) -> Option<f64> {
    let done = |kind: OpKind| probe.operations.get(&kind).copied().unwrap_or(0) as f64;
    let operations = done(OpKind::Read) + done(OpKind::Write);
    let per_sync = probe.flushes_per_op? * if operations > 0.0 { operations / done(OpKind::Sync) } else { 1.0 };
    per_sync.is_finite().then_some(per_sync)
}

/// Flushes of others per sync of the probe, if they continued as before it.
fn foreign_per_sync(device: &DeviceFacts, probe: &Probe) -> Option<f64> {
    let syncs = *probe.operations.get(&OpKind::Sync).filter(|syncs| **syncs > 0)?;
    Some(device.flushes_per_second_idle.unwrap_or(0.0) * probe.seconds / syncs as f64)
}

fn reached<'a>(device: &DeviceFacts, overwriting: &'a Probe, extending: Option<&'a Probe>) -> Ground<'a> {
    let own = |probe: &Probe| Some((flushes_per_sync(probe)? - foreign_per_sync(device, probe)?).max(0.0));
    let flushes = own(overwriting).unwrap_or(0.0);
    let mut statement = format!(
        "Each sync becomes a flush of the device: the flushes per fdatasync are {} for a file that is overwritten",
        three_digits(flushes)
    );
    let mut probes = vec![overwriting];
    if let Some((growing, more)) = extending.and_then(|probe| Some((probe, own(probe)?))) {
        statement += &format!(", {} for one that grows", three_digits(more));
        if more > 1.5 * flushes {
            let (fewer, many) = (rate(overwriting), rate(growing));
            statement += &format!(
                ": logs that are laid out in advance and rewritten in place need fewer ({fewer} against {many} synced \
                 writes per second here)"
            );
        }
        probes.push(growing);
    }
    if let Some(others) = device.flushes_per_second_idle.filter(|others| *others > 0.0) {
        statement += &format!("; those of others, about {} per second, are subtracted", three_digits(others));
    }
    reaching(statement + ".", Survives::Yes, probes)
}

fn not_reached<'a>(why: &str, probe: &'a Probe) -> Ground<'a> {
    reaching(format!("fsync does not reach the device: {why}."), Survives::No, vec![probe])
}

fn not_told<'a>(why: &str, probe: &'a Probe) -> Ground<'a> {
    let statement = format!("Counting flushes cannot tell whether a sync reaches the device: {why}.");
    reaching(statement, Survives::NotKnown, vec![probe])
}

/// Whether a medium can have answered as fast as syncs were answered. The fastest of all probes decides: other activity
/// can make memory look slow, but nothing makes a medium look fast.
fn plausible<'a>(evidence: &SheetEvidence<'a>) -> Option<Ground<'a>> {
    let device = evidence.device;
    device.name.as_ref()?;
    let (probe, median_us) = fastest(evidence, |sync| sync.p50)?;
    let (quickest, least_us) = fastest(evidence, |sync| sync.min.or(sync.p50))?;
    let (floor, medium) = match device.turns() {
        Some(true) => (FASTEST_DISK_US, "a spinning disk"),
        _ => (FASTEST_FLASH_US, "flash"),
    };
    let (median, least) = (time(median_us), time(least_us));
    let (statement, survives) = match median_us {
        us if us < floor && is_persistent_memory(device) => {
            (format!("Half of all syncs take at most {median}: persistent memory can do that."), Survives::Yes)
        }
        us if us < floor => (
            format!("Half of all syncs take at most {median}, less than {medium} needs: memory acknowledges them."),
            Survives::InMemory,
        ),
        _ if least_us < floor => {
            let statement = format!(
                "It cannot be told whether memory acknowledges fsync: half of all syncs take {median} or more, but one \
                 took {least}, less than {medium} needs; repeat while the machine is otherwise idle."
            );
            (statement, Survives::NotKnown)
        }
        _ => {
            let statement = format!(
                "Half of all syncs take {median} or more, and none less than {least}, which {medium} may need: nothing \
                 suggests that they are acknowledged early."
            );
            (statement, Survives::Yes)
        }
    };
    let (key, value, unit) = ("sync_latency", Some(median_us.into()), "us");
    Some(Ground { key, statement, value, unit, survives, probes: vec![probe, quickest] })
}

/// The probe with the smallest value of this statistic of its syncs, microseconds.
fn fastest<'a>(evidence: &SheetEvidence<'a>, pick: fn(&LatencyUs) -> Option<f64>) -> Option<(&'a Probe, f64)> {
    let probes = SYNCING.into_iter().flat_map(|number| evidence.of(number));
    let found = probes
        .filter_map(|probe| Some((probe, pick(probe.latency_us.get(&OpKind::Sync)?).filter(|us| us.is_finite())?)));
    found.min_by(|(_, one), (_, other)| one.total_cmp(other))
}

fn is_persistent_memory(device: &DeviceFacts) -> bool {
    device.name.as_deref().is_some_and(|name| name.starts_with("pmem")) || has_option(device, "dax")
}
