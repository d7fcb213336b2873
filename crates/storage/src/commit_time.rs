//! How long a directory's device takes just now to make a little data durable, by work that is always the same.

use rustix::fs::fdatasync;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The file that is written, and removed again.
const FILE: &str = "commit-time.tmp";
/// What one commit writes, each behind the one before: a block of a log.
const BLOCK: [u8; 4096] = [0x5a; 4096];
/// Commits, unless the device is slow.
const MOST: u64 = 64;
/// Commits on any device: their median leaves out one that waited for something else.
const FEWEST: u64 = 7;
/// No further commit begins after this time.
const LIMIT: Duration = Duration::from_millis(200);

/// The median time of a commit in `directory`, a write of 4 KiB with fdatasync(2), microseconds. It takes a fifth of a second at
/// most, or seven commits.
///
/// # Errors
/// If the file cannot be created, written or removed.
pub fn commit_us(directory: &Path) -> io::Result<f64> {
    let path = directory.join(FILE);
    let file = File::create(&path)?;
    let begun = Instant::now();
    let mut times = Vec::new();
    let commits = (0..MOST).take_while(|done| *done < FEWEST || begun.elapsed() < LIMIT).try_for_each(|place| {
        let before = Instant::now();
        file.write_all_at(&BLOCK, place * BLOCK.len() as u64)?;
        fdatasync(&file)?;
        times.push(before.elapsed());
        Ok(())
    });
    fs::remove_file(&path)?;
    commits.map(|()| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_take_time_and_leave_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        // Neither a nanosecond nor a minute, whatever else the machine does.
        let us = commit_us(directory.path()).expect("a commit");
        assert!(1e-3 < us && us < 6e7, "{us}");
        assert_eq!(fs::read_dir(directory.path()).expect("the directory").count(), 0);
        assert!(commit_us(&directory.path().join("missing")).is_err());
    }
}
