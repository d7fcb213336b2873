//! May a lane be measured? Asked before any timing: a lane that loses or mixes up data is fast, and tools that only
//! write and read their own cache do not notice.

mod integrity;

use super::served::FlushCounter;
use super::site::Site;
use super::spec::{Kind, Spec};
use super::{Lane, loops};
use crate::buffer::Aligned;
use crate::device::Device;
use crate::error::{During, StorageError};
use rustix::fs::OFlags;
use rustix::time::{ClockId, clock_getres};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Writes with an fdatasync each; a device that is told of each of them counts at least as many flushes.
const SYNCS: u64 = 32;
/// With more flushes of others than this share of ours, what is counted says nothing of ours.
const FOREIGN: f64 = 0.25;
/// How long a device with other users is watched before.
const IDLE: Duration = Duration::from_millis(250);
/// What is read twice to see whether reads are direct.
const READ_BYTES: usize = 8 << 20;
/// One write, one read.
const PIECE: usize = 1 << 20;
const SLEEPS: usize = 200;
const SLEEP: Duration = Duration::from_micros(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Refused,
    /// Nothing was checked: it is good to know.
    Note,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Passed => "ok",
            Verdict::Refused => "refused",
            Verdict::Note => "note",
        }
    }
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `data`, `flush`, `direct`; `timer` is a note.
    pub check: &'static str,
    pub verdict: Verdict,
    pub found: String,
}

impl Finding {
    fn passed(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { check, verdict: Verdict::Passed, found: found.into() }
    }

    fn refused(check: &'static str, found: impl Into<String>) -> Finding {
        Finding { check, verdict: Verdict::Refused, found: found.into() }
    }
}

/// Nothing was found that forbids measuring the lane.
pub fn is_sound(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.verdict != Verdict::Refused)
}

/// Does all checks in a file of its own on the lane, which is removed again. A lane that cannot be written or read is
/// refused, too.
pub fn check(site: &Site, spec: &Spec, lane: &Lane) -> Vec<Finding> {
    let file = CheckFile::new(&lane.directory);
    let backing = backing(site, spec);
    let or_refused = |check, found: Result<Finding, StorageError>| {
        found.unwrap_or_else(|error| Finding::refused(check, error.to_string()))
    };
    vec![
        or_refused("data", integrity::check(&file.path, backing.as_deref())),
        or_refused("flush", flush(&file.path, site, spec, lane)),
        or_refused("direct", direct(&file.path, spec, lane)),
        timer(),
    ]
}

/// Where the bytes of the lane's file system lie, to be read past the loop device and the server's filters: the image,
/// or what the user's server exports.
fn backing(site: &Site, spec: &Spec) -> Option<PathBuf> {
    let path = if spec.nbd.is_some() { site.disk(spec) } else { site.image() };
    spec.kind.has_device().then_some(path)
}

/// Removed when dropped.
struct CheckFile {
    path: PathBuf,
}

impl CheckFile {
    fn new(directory: &Path) -> CheckFile {
        CheckFile { path: directory.join(format!("plimsoll-check.{}", std::process::id())) }
    }
}

impl Drop for CheckFile {
    fn drop(&mut self) {
        // If it cannot be removed, neither can the lane be used; that was said already.
        let _ = fs::remove_file(&self.path);
    }
}

fn open(path: &Path, direct: bool) -> Result<File, StorageError> {
    let flags = if direct { OFlags::DIRECT | OFlags::NOFOLLOW } else { OFlags::NOFOLLOW };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(flags.bits() as i32);
    options.open(path).during("open for the check", path)
}

/// Do flushes reach the device, and the image behind a server?
fn flush(path: &Path, site: &Site, spec: &Spec, lane: &Lane) -> Result<Finding, StorageError> {
    let name = lane.device.clone().or_else(|| Device::find(site.root(), None).map(|device| device.name));
    let (Some(name), false) = (name, spec.kind == Kind::Tmpfs) else {
        return Ok(Finding::passed("flush", "there is no device: what is written here is gone with the power"));
    };
    let device = Device { name };
    // A device that was made for the lane has no other users.
    let others_per_second = if lane.device.is_some() { Some(0.0) } else { flushes_of_others(&device) };
    let counter = if spec.is_served() { Some(FlushCounter::listen(site)?) } else { None };
    let (before, begun) = (flushes_of(&device), Instant::now());
    let file = open(path, false)?;
    for number in 0..SYNCS {
        file.write_all_at(&number.to_le_bytes(), 0).during("write", path)?;
        file.sync_data().during("sync", path)?;
    }
    let took = begun.elapsed().as_secs_f64();
    let flushes = before.zip(flushes_of(&device)).map(|(before, after)| after.saturating_sub(before));
    let behind = counter.map(FlushCounter::end);
    let mut found = match flushes {
        Some(flushes) => format!("{SYNCS} fdatasync: {flushes} flushes of {}", device.name),
        None => format!("{SYNCS} fdatasync: the kernel counts no flushes of {}, or sends it none", device.name),
    };
    found += &behind.map(|behind| format!(", {behind} behind its server")).unwrap_or_default();
    let is_lost = [flushes, behind].into_iter().flatten().any(|flushes| flushes < SYNCS);
    let others = others_per_second.unwrap_or(0.0);
    Ok(if is_lost {
        Finding::refused("flush", format!("{found}; what a server is told is durable is not"))
    } else if flushes.is_none() {
        Finding::passed("flush", format!("cannot be told: {found}"))
    } else if others * took > FOREIGN * SYNCS as f64 {
        Finding::passed("flush", format!("cannot be told: {found}, but others flush it {others:.0} times per second"))
    } else {
        Finding::passed("flush", found)
    })
}

/// Flushes that the device completed since it was made; `None` where they cannot be counted or none are due.
fn flushes_of(device: &Device) -> Option<u64> {
    device.counters()?.flushes.filter(|_| device.has_volatile_cache())
}

/// Per second, while we do nothing.
fn flushes_of_others(device: &Device) -> Option<f64> {
    let (before, begun) = (flushes_of(device)?, Instant::now());
    thread::sleep(IDLE);
    Some(flushes_of(device)?.saturating_sub(before) as f64 / begun.elapsed().as_secs_f64())
}

/// Does a direct read reach the device each time, rather than the page cache?
fn direct(path: &Path, spec: &Spec, lane: &Lane) -> Result<Finding, StorageError> {
    if spec.kind == Kind::Tmpfs {
        return Ok(Finding::passed("direct", "memory: O_DIRECT makes no difference"));
    }
    if let Some(name) = lane.device.as_ref().filter(|name| !loops::is_direct(name)) {
        let found = format!("/dev/{name} has no direct I/O to its file, so that reads come from memory");
        return Ok(Finding::refused("direct", found));
    }
    let mut piece = Aligned::zeroed(PIECE);
    let file = open(path, true)?;
    for at in (0..READ_BYTES).step_by(PIECE) {
        file.write_all_at(piece.bytes(), at as u64).during("write", path)?;
    }
    let before = read_from_devices()?;
    for at in (0..2 * READ_BYTES).step_by(PIECE) {
        file.read_exact_at(piece.bytes_mut(), (at % READ_BYTES) as u64).during("read", path)?;
    }
    let (asked, read) = (2 * READ_BYTES as u64, read_from_devices()? - before);
    let found = format!("of {} MiB read with O_DIRECT, {} MiB came from the device", asked >> 20, read >> 20);
    Ok(match read >= asked {
        true => Finding::passed("direct", found),
        false => Finding::refused("direct", format!("{found}; the rest came from memory")),
    })
}

/// Bytes that this process made devices read (`read_bytes` of proc_pid_io(5)).
fn read_from_devices() -> Result<u64, StorageError> {
    let path = Path::new("/proc/self/io");
    let text = fs::read_to_string(path).during("read", path)?;
    let value = text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok());
    value.ok_or_else(|| StorageError::Environment("/proc/self/io has no read_bytes".to_owned()))
}

/// How fine is time here? A latency below what a sleep takes longer than asked for is no artefact of the lane.
fn timer() -> Finding {
    let step = clock_getres(ClockId::Monotonic).tv_nsec;
    let mut took: Vec<Duration> = (0..SLEEPS)
        .map(|_| {
            let before = Instant::now();
            thread::sleep(SLEEP);
            before.elapsed()
        })
        .collect();
    took.sort_unstable();
    let micros = |at: usize| took[at].as_secs_f64() * 1e6;
    let (median, p99) = (micros(SLEEPS / 2), micros(SLEEPS * 99 / 100));
    let asked = SLEEP.as_micros();
    let found = format!("the clock steps by {step} ns; a sleep of {asked} us takes {median:.0} us, p99 {p99:.0} us");
    Finding { check: "timer", verdict: Verdict::Note, found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_is_told() {
        assert!(timer().found.contains("a sleep of 50 us takes"));
    }

    #[test]
    fn the_file_of_the_check_goes_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = CheckFile::new(directory.path());
        open(&file.path, false).unwrap();
        drop(file);
        assert!(fs::read_dir(directory.path()).unwrap().next().is_none());
    }
}
