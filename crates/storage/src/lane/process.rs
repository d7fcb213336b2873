//! Processes that were started for a lane: found by their command lines, which name the lane's directory, and ended.

use crate::error::{During, StorageError};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// How long a process may take to end in order before it is killed, and then to vanish.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// Ends every process of this program that was started for the lane in this directory, and waits until they are gone.
///
/// # Errors
/// [`StorageError::Environment`] if one survives SIGKILL.
pub fn end(program: &str, lane: &Path) -> Result<(), StorageError> {
    for signal in [Signal::TERM, Signal::KILL] {
        let deadline = Instant::now() + PATIENCE;
        signal_all(program, lane, signal)?;
        while !find(program, lane).is_empty() {
            if Instant::now() >= deadline {
                break;
            }
            thread::sleep(POLL);
        }
    }
    match find(program, lane).first() {
        None => Ok(()),
        Some(pid) => {
            Err(StorageError::Environment(format!("{program}, pid {pid}, of {} will not end", lane.display())))
        }
    }
}

/// The pids of this program's processes whose command lines name something below this directory.
pub fn find(program: &str, lane: &Path) -> Vec<i32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| belongs(*pid, program, lane)).collect()
}

/// Whether this process is ours. The command line of one that only waits to be reaped is empty.
fn belongs(pid: i32, program: &str, lane: &Path) -> bool {
    let directory = format!("/proc/{pid}");
    let same_user = fs::metadata(&directory).is_ok_and(|facts| facts.uid() == geteuid().as_raw());
    let line = fs::read(format!("{directory}/cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line);
    let mut words = line.split('\0');
    let below = format!("{}/", lane.display());
    let runs = words.next().is_some_and(|word| Path::new(word).file_name().is_some_and(|name| name == program));
    same_user && runs && words.any(|word| word.contains(&below))
}

fn signal_all(program: &str, lane: &Path, signal: Signal) -> Result<(), StorageError> {
    for pid in find(program, lane) {
        let Some(handle) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
            continue;
        };
        // Asked again now that the pid cannot be given to another.
        if !belongs(pid, program, lane) {
            continue;
        }
        match pidfd_send_signal(&handle, signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => return Err(error).during("end a process of the lane", lane),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_testkit::servers::wait_until;
    use std::process::{Child, Command};

    #[test]
    fn only_a_process_that_names_the_lane_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let (ours, theirs) = (directory.path().join("ext4"), directory.path().join("ext4,delay=2ms"));
        // A shell ignores further words, which makes them the marker of a harmless process.
        let begin = |lane: &Path| {
            Command::new("sh")
                .args(["-c", "read x", "x"])
                .arg(lane.join("a"))
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        };
        let (mut first, mut second) = (begin(&ours), begin(&theirs));
        assert!(find("nbdkit", &ours).is_empty(), "another program");
        // The kernel shows a command line a moment after the program was started.
        let shown = |lane: &Path, child: &Child| find("sh", lane) == [child.id() as i32];
        assert!(wait_until(PATIENCE, || shown(&ours, &first) && shown(&theirs, &second)));
        end("sh", &ours).unwrap();
        assert!(!first.wait().unwrap().success(), "it was ended");
        assert!(second.try_wait().unwrap().is_none(), "it is another lane's");
        second.kill().unwrap();
        second.wait().unwrap();
    }
}
