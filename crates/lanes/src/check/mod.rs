//! Whether a lane may be measured. This is checked before any timing: a lane that loses or mixes up data is fast, and
//! tools that only write and read their own cache do not notice.

mod direct;
mod flush;
mod integrity;

use super::Lane;
use super::site::Site;
use super::spec::Spec;
use crate::LaneError;
use crate::error::DuringLane;
use rustix::fs::OFlags;
use rustix::time::{ClockId, clock_getres};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const SLEEPS: usize = 200;
const SLEEP: Duration = Duration::from_micros(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    Passed,
    Refused,
    /// A note: nothing was checked.
    Note,
}

impl CheckVerdict {
    pub fn name(self) -> &'static str {
        match self {
            CheckVerdict::Passed => "ok",
            CheckVerdict::Refused => "refused",
            CheckVerdict::Note => "note",
        }
    }
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneFinding {
    /// `data`, `flush`, `direct`, `timer`.
    pub check: &'static str,
    pub verdict: CheckVerdict,
    pub found: String,
}

impl LaneFinding {
    fn passed(check: &'static str, found: impl Into<String>) -> LaneFinding {
        LaneFinding { check, verdict: CheckVerdict::Passed, found: found.into() }
    }

    fn note(check: &'static str, found: impl Into<String>) -> LaneFinding {
        LaneFinding { check, verdict: CheckVerdict::Note, found: found.into() }
    }

    fn refused(check: &'static str, found: impl Into<String>) -> LaneFinding {
        LaneFinding { check, verdict: CheckVerdict::Refused, found: found.into() }
    }
}

/// Whether nothing was found that forbids measuring the lane.
pub fn is_sound(findings: &[LaneFinding]) -> bool {
    findings.iter().all(|finding| finding.verdict != CheckVerdict::Refused)
}

/// Does all checks in a file of its own on the lane, which it removes afterwards. A lane that cannot be written or read
/// is refused too.
pub fn check(site: &Site, spec: &Spec, lane: &Lane) -> Vec<LaneFinding> {
    let file = CheckFile::new(&lane.directory);
    let stored = Stored::of(site, spec, &file.path);
    let or_refused = |check, found: Result<LaneFinding, LaneError>| {
        found.unwrap_or_else(|error| LaneFinding::refused(check, error.to_string()))
    };
    vec![
        or_refused("data", integrity::check(&file.path, &stored)),
        or_refused("flush", flush::check(&file.path, site, spec, lane)),
        or_refused("direct", direct::check(&file.path, spec, lane)),
        timer(),
    ]
}

/// Where else the bytes of a file of the lane are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stored {
    /// The store that has its blocks somewhere, read past loop devices, file systems and servers: the image, which on a
    /// network lane is the storage server's disk, or what the user's server exports.
    backing: Option<PathBuf>,
    /// The same file as the storage server has it.
    served: Option<PathBuf>,
}

impl Stored {
    fn of(site: &Site, spec: &Spec, file: &Path) -> Stored {
        let has_image = spec.has_device() || spec.is_network();
        let backing = if spec.nbd.is_some() { site.disk(spec) } else { site.image() };
        let served = site.served_files().join(file.file_name().unwrap_or_default());
        let serves_files = spec.is_network() && !spec.has_device();
        Stored { backing: has_image.then_some(backing), served: serves_files.then_some(served) }
    }
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
        // If it cannot be removed, the lane cannot be used either, and that was already reported.
        let _ = fs::remove_file(&self.path);
    }
}

fn open(path: &Path, direct: bool) -> Result<File, LaneError> {
    let flags = if direct { OFlags::DIRECT | OFlags::NOFOLLOW } else { OFlags::NOFOLLOW };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(flags.bits() as i32);
    options.open(path).during("open for the check", path)
}

/// The resolution of timers: by how much a sleep exceeds what was asked for. A latency below that is not caused by the
/// lane.
fn timer() -> LaneFinding {
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
    LaneFinding::note("timer", found)
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
