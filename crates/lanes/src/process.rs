//! Finds and ends processes that were started for a lane: by a word in their command lines that no other program has,
//! or by the lane's network namespace that they run in.

use super::site::Site;
use super::{LaneSide, namespace};
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_host::process::pids;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, geteuid, pidfd_open, pidfd_send_signal};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long a process may take to end by itself before it is killed, and then to vanish.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);
/// How long a process that is just being started may have our files open, which it does not use.
const STARTED_WITHIN: Duration = Duration::from_secs(2);

/// Ends every process of this program that was started for the lane in this directory, and waits until they are gone.
///
/// # Errors
/// [`LaneError::Environment`] if one survives SIGKILL.
pub fn end(program: &str, site: &Site) -> Result<(), LaneError> {
    let sought = Sought::of(program, site);
    for signal in [Signal::TERM, Signal::KILL] {
        let deadline = Instant::now() + PATIENCE;
        signal_all(&sought, site, signal)?;
        while !sought.find().is_empty() {
            if Instant::now() >= deadline {
                break;
            }
            thread::sleep(POLL);
        }
    }
    match sought.find().first() {
        None => Ok(()),
        Some(pid) => {
            let lane = site.root().display();
            Err(LaneError::Environment(format!("{program}, pid {pid}, of {lane} does not end")))
        }
    }
}

/// What distinguishes a lane's own process from all others.
struct Sought<'a> {
    program: &'a str,
    /// One of these is a whole word of its command line. A file *on* the lane is not.
    words: Vec<String>,
    /// The same path is another directory in another container.
    namespace: Option<PathBuf>,
}

impl Sought<'_> {
    /// A server listens on the lane's socket, as only one process can; every other program has one of the lane's paths
    /// as an argument.
    fn of<'a>(program: &'a str, site: &Site) -> Sought<'a> {
        let words = match program {
            "nbdkit" => site.socket().ok().map(|socket| socket_word(&socket)).into_iter().collect(),
            "unshare" | "nsenter" => {
                [LaneSide::Client, LaneSide::Server].map(|side| namespace::net_word(&site.namespace(side))).to_vec()
            }
            // Users copy to the lane and look at its file system by its mount point, which ours never name.
            "cp" | "e2fsck" | "xfs_repair" | "btrfs" => {
                [site.image(), site.export()].iter().map(|path| path.display().to_string()).collect()
            }
            _ => site.worked_on().iter().map(|path| path.display().to_string()).collect(),
        };
        Sought { program, words, namespace: mount_namespace("self") }
    }

    /// The pids of all that there are.
    fn find(&self) -> Vec<i32> {
        pids().filter(|pid| self.fits(*pid)).collect()
    }

    /// Whether this process is ours. A zombie's command line is empty.
    fn fits(&self, pid: i32) -> bool {
        let directory = format!("/proc/{pid}");
        let same_user = fs::metadata(&directory).is_ok_and(|facts| facts.uid() == geteuid().as_raw());
        let line = fs::read(format!("{directory}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split('\0');
        let runs = words.next().and_then(|word| Path::new(word).file_name()).is_some_and(|name| name == self.program);
        let named = words.any(|word| self.words.iter().any(|own| own == word));
        same_user && runs && named && mount_namespace(&pid.to_string()) == self.namespace
    }
}

/// Kills everything that runs in this file's network namespace, except ourselves, and waits until it is gone. The
/// processes need no time to end by themselves: the kernel has what they were told to write. No namespace is success.
///
/// # Errors
/// [`LaneError::Environment`] if a process survives.
pub fn end_all_in(kept_by: &Path) -> Result<(), LaneError> {
    let Some(ours) = identity(kept_by).filter(|_| namespace::is_kept(kept_by)) else { return Ok(()) };
    let runs_in_it = |pid: i32| network_of(pid) == Some(ours);
    let deadline = Instant::now() + PATIENCE;
    while let Some(pid) = other_in(ours) {
        if Instant::now() >= deadline {
            let place = kept_by.display();
            return Err(LaneError::Environment(format!("pid {pid}, in the network namespace {place}, does not end")));
        }
        pids().filter(|pid| pid.unsigned_abs() != std::process::id()).for_each(|pid| kill_if(pid, || runs_in_it(pid)));
        thread::sleep(POLL);
    }
    Ok(())
}

/// Whether anything but ourselves runs in this file's network namespace.
pub fn runs_any_in(kept_by: &Path) -> bool {
    identity(kept_by).is_some_and(|namespace| other_in(namespace).is_some())
}

/// Device and inode: what a namespace is known by (namespaces(7)).
type NamespaceIdentity = (u64, u64);

fn identity(path: &Path) -> Option<NamespaceIdentity> {
    fs::metadata(path).ok().map(|facts| (facts.dev(), facts.ino()))
}

fn network_of(pid: i32) -> Option<NamespaceIdentity> {
    identity(Path::new(&format!("/proc/{pid}/ns/net")))
}

/// A process in this network namespace that is not this one.
fn other_in(namespace: NamespaceIdentity) -> Option<i32> {
    pids().filter(|pid| pid.unsigned_abs() != std::process::id()).find(|pid| network_of(*pid) == Some(namespace))
}

/// Kills a process if this is true of it. One that cannot be killed is found again.
fn kill_if(pid: i32, holds: impl Fn() -> bool) {
    if !holds() {
        return;
    }
    let handle = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    // Checked again now that the pid cannot be reused.
    if let Some(handle) = handle.filter(|_| holds()) {
        let _ = pidfd_send_signal(&handle, Signal::KILL);
    }
}

/// Makes sure that no process runs in this directory, or has a file below it open, as far as this user can see.
///
/// # Errors
/// [`LaneError::Environment`] with one that does.
pub(super) fn none_uses(directory: &Path) -> Result<(), LaneError> {
    let deadline = Instant::now() + STARTED_WITHIN;
    while let Some(pid) = pids().find(|pid| uses(*pid, directory)) {
        if Instant::now() >= deadline {
            let place = directory.display();
            return Err(LaneError::Environment(format!("pid {pid} is using {place}; first end what is using it")));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

fn uses(pid: i32, directory: &Path) -> bool {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
    let places = ["cwd", "root", "exe"].map(|link| process.join(link));
    places.into_iter().chain(files).any(|link| fs::read_link(link).is_ok_and(|to| to.starts_with(directory)))
}

/// How nbdkit is told where to listen.
pub fn socket_word(socket: &Path) -> String {
    format!("--unix={}", socket.display())
}

/// The mounts that a process sees, as a name to compare (namespaces(7)).
fn mount_namespace(process: &str) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/mnt")).ok()
}

fn signal_all(sought: &Sought<'_>, site: &Site, signal: Signal) -> Result<(), LaneError> {
    for pid in sought.find() {
        let Some(handle) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
            continue;
        };
        // Checked again now that the pid cannot be reused.
        if !sought.fits(pid) {
            continue;
        }
        match pidfd_send_signal(&handle, signal) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => return Err(error).during("end a process of the lane", site.root()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;
    use plimsoll_testkit::servers::wait_until;
    use std::ffi::OsStr;
    use std::process::{Child, Command, Stdio};

    /// A harmless process with this word in its command line: a shell ignores further words.
    struct Marked(Child);

    impl Marked {
        fn with(word: impl AsRef<OsStr>) -> Marked {
            let mut command = Command::new("sh");
            command.args(["-c", "read x", "x"]).arg(word).stdin(Stdio::piped());
            Marked(command.spawn().unwrap())
        }

        fn pid(&self) -> i32 {
            self.0.id() as i32
        }

        fn lives(&mut self) -> bool {
            self.0.try_wait().unwrap().is_none()
        }
    }

    impl Drop for Marked {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn site(lanes: &Path, name: &str) -> Site {
        Site::of(lanes, &Spec::parse(name).unwrap())
    }

    #[test]
    fn only_a_process_that_works_on_the_lane_itself_is_ended() {
        let directory = tempfile::tempdir().unwrap();
        let lanes = directory.path();
        let ours = site(lanes, "ext4");
        // A home below another whose path ends in the same words.
        let behind = lanes.join(lanes.strip_prefix("/").unwrap());
        let others = [
            site(lanes, "ext4,delay=2ms").image(),
            site(&behind, "ext4").image(),
            ours.mount().join("users.img"),
            ours.root().join("disk.img.old"),
            PathBuf::from(format!("file={}", ours.image().display())),
        ];
        let mut own = Marked::with(ours.image());
        let mut others = others.map(Marked::with);
        // The kernel shows a command line a moment after the program was started.
        let sought = Sought::of("sh", &ours);
        let shown =
            |child: &Marked| fs::read(format!("/proc/{}/cmdline", child.pid())).is_ok_and(|line| line.len() > 20);
        assert!(wait_until(PATIENCE, || sought.find() == [own.pid()] && others.iter().all(shown)));
        assert!(Sought::of("mount", &ours).find().is_empty(), "another program");
        end("sh", &ours).unwrap();
        assert!(!own.lives(), "it was ended");
        assert!(others.iter_mut().all(Marked::lives), "they are not the lane's");
    }

    #[test]
    fn a_server_is_known_by_its_socket_alone() {
        let ours = site(Path::new("/h/lanes"), "ext4,delay=2ms");
        assert_eq!(Sought::of("nbdkit", &ours).words, ["--unix=/h/lanes/ext4,delay=2ms/nbd.sock"]);
        assert!(Sought::of("nbdfuse", &ours).words.contains(&"/h/lanes/ext4,delay=2ms/fuse/disk".to_owned()));
    }

    #[test]
    fn what_users_do_at_the_mount_point_is_theirs() {
        let ours = site(Path::new("/h/lanes"), "ext4");
        for program in ["cp", "e2fsck", "xfs_repair", "btrfs"] {
            let words = Sought::of(program, &ours).words;
            assert_eq!(words, ["/h/lanes/ext4/disk.img", "/h/lanes/ext4/fuse/disk"], "{program}");
        }
        assert!(Sought::of("umount", &ours).words.contains(&"/h/lanes/ext4/mount".to_owned()));
    }
}
