//! Real servers for integration tests: where their programs are, and how many may run at once.
//!
//! A test that needs a server takes a [`slot`] for each, before it starts the server, and holds it until the server is
//! gone. A test whose numbers matter also takes [`timed_run`], after its slots, so that no two measure at once. Both
//! hold between processes and vanish with the process that held them.

use std::cell::Cell;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

/// Servers that may run at once over the whole test suite. On two cores six leave little idle, since most of them are
/// waiting for a test.
const SLOTS: usize = 6;
/// Tests that may build lanes at once.
const LANES: usize = 2;

/// Whether the long tests run too: whole matrices, kills, mounts (`make test-all`).
pub fn all() -> bool {
    env::var_os("PLIMSOLL_TEST_ALL").is_some_and(|value| value == "1")
}

/// Says that the calling test did not run: on the real standard error, and in the file that `PLIMSOLL_TEST_SKIPPED`
/// names, since a runner may keep to itself what a test that passes has said.
#[track_caller]
pub fn skip(reason: &str) {
    let place = std::panic::Location::caller();
    let test = thread::current().name().unwrap_or("?").to_owned();
    let line = format!("SKIPPED: {test} ({}:{}): {reason}\n", place.file(), place.line());
    // Nothing useful can be done where even this cannot be written.
    let _ = io::stderr().write_all(line.as_bytes());
    if let Some(path) = env::var_os("PLIMSOLL_TEST_SKIPPED") {
        let _ =
            File::options().create(true).append(true).open(path).and_then(|mut file| file.write_all(line.as_bytes()));
    }
}

/// MariaDB of this machine: `PLIMSOLL_TEST_MARIADB`, else the installed `mariadbd`. `None` was said with [`skip`].
#[track_caller]
pub fn mariadb() -> Option<PathBuf> {
    let found = from_environment("PLIMSOLL_TEST_MARIADB").or_else(|| installed("mariadbd"));
    found_or_skip(found, "no mariadbd on this machine; install mariadb-server-core and mariadb-client-core")
}

/// MySQL, from `PLIMSOLL_TEST_MYSQL`, which `make test` sets. `None` was said with [`skip`].
#[track_caller]
pub fn mysql() -> Option<PathBuf> {
    let found = from_environment("PLIMSOLL_TEST_MYSQL");
    found_or_skip(found, "no MySQL; set PLIMSOLL_TEST_MYSQL=$(scripts/unpack-server mysql)")
}

/// The server of each flavour that this machine has.
#[track_caller]
pub fn of_each_flavour() -> Vec<PathBuf> {
    [mariadb(), mysql()].into_iter().flatten().collect()
}

/// The same for what no server decides: MariaDB, and MySQL as well where all tests run.
#[track_caller]
pub fn of_one_flavour() -> Vec<PathBuf> {
    if all() { of_each_flavour() } else { mariadb().into_iter().collect() }
}

/// MariaDB of the next Debian, from `PLIMSOLL_TEST_MARIADB_NEW`, which `make test-all` sets. `None` was said with
/// [`skip`]. Its `mariadb-install-db` lies beside it, its plugins in `../plugin`.
#[track_caller]
pub fn mariadb_new() -> Option<PathBuf> {
    let found = from_environment("PLIMSOLL_TEST_MARIADB_NEW");
    found_or_skip(found, "no newer MariaDB; set PLIMSOLL_TEST_MARIADB_NEW=$(scripts/unpack-server mariadb trixie)")
}

/// NATS, from `PLIMSOLL_TEST_NATS_SERVER` or the system. `None` was said with [`skip`].
#[track_caller]
pub fn nats_server() -> Option<PathBuf> {
    let found = from_environment("PLIMSOLL_TEST_NATS_SERVER").or_else(|| installed("nats-server"));
    found_or_skip(found, "no broker; set PLIMSOLL_TEST_NATS_SERVER=$(scripts/unpack-server nats)")
}

/// A newer NATS, from `PLIMSOLL_TEST_NATS_SERVER_NEW`, which `make test-all` sets. `None` was said with [`skip`].
#[track_caller]
pub fn nats_server_new() -> Option<PathBuf> {
    let found = from_environment("PLIMSOLL_TEST_NATS_SERVER_NEW");
    let reason = "no newer broker; set PLIMSOLL_TEST_NATS_SERVER_NEW=$(scripts/build-nats-server)";
    found_or_skip(found, reason)
}

/// A `--plugin-dir` with `auth_ed25519.so` for [`mariadb`], whose own package has none: `PLIMSOLL_TEST_PLUGINS`, which
/// `make test-all` sets. `None` was said with [`skip`].
#[track_caller]
pub fn mariadb_plugins() -> Option<PathBuf> {
    let found = from_environment("PLIMSOLL_TEST_PLUGINS");
    found_or_skip(
        found,
        "no plugins; unpack them with `scripts/unpack-server mariadb bookworm`, then set PLIMSOLL_TEST_PLUGINS",
    )
}

/// The path in this variable. A path that does not exist is a mistake and no reason to skip: it panics.
fn from_environment(variable: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os(variable).filter(|value| !value.is_empty())?);
    assert!(path.exists(), "{variable}={} does not exist", path.display());
    Some(path)
}

/// Debian keeps servers in a directory that is not on everybody's path.
fn installed(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
    directories.map(|directory| directory.join(program)).find(|candidate| candidate.is_file())
}

#[track_caller]
fn found_or_skip(found: Option<PathBuf>, reason: &str) -> Option<PathBuf> {
    if found.is_none() {
        skip(reason);
    }
    found
}

/// The right to run some servers; given back when dropped.
#[must_use = "the slot is free again as soon as this is dropped"]
pub struct SlotGuard {
    _locks: Vec<File>,
    _held: Held,
}

thread_local! {
    /// How many guards of slots this thread has.
    static HELD: Cell<usize> = const { Cell::new(0) };
}

/// Counts for as long as it lives.
struct Held;

impl Held {
    fn begin() -> Held {
        HELD.set(HELD.get() + 1);
        Held
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.set(HELD.get() - 1);
    }
}

/// Waits until one more server may run. A test that needs two at once asks for both with [`slots`].
pub fn slot() -> SlotGuard {
    slots(1)
}

/// Waits until `count` more servers may run, and takes all of them together, so that two tests that each need two
/// never wait for each other. Whoever asks first is served first.
///
/// # Panics
/// If `count` is above the six servers that may run at once.
pub fn slots(count: usize) -> SlotGuard {
    let slots = Slots { directory: lock_directory(), name: "slot", total: SLOTS };
    SlotGuard { _locks: slots.take(count), _held: Held::begin() }
}

/// Waits until no other server of the tests runs, and keeps it so.
pub fn alone() -> SlotGuard {
    slots(SLOTS)
}

/// The right to be the one run that measures; given back when dropped.
#[must_use = "others may measure as soon as this is dropped"]
pub struct TimedGuard {
    _lock: File,
}

/// Waits until nobody else measures. Take slots first: the other way round two tests can wait for each other.
pub fn timed_run() -> TimedGuard {
    TimedGuard { _lock: lock(&lock_directory().join("timed")) }
}

/// The right to be one of the tests that build storage lanes; given back when dropped.
#[must_use = "others may build lanes as soon as this is dropped"]
pub struct LanesGuard {
    _locks: Vec<File>,
}

/// Waits until one more test may build lanes: there are few loop devices.
///
/// # Panics
/// If this thread has a slot already: two tests that take them in different orders wait for each other.
#[track_caller]
pub fn lanes() -> LanesGuard {
    assert!(HELD.get() == 0, "take the lanes before the right to run a server");
    LanesGuard { _locks: Slots { directory: lock_directory(), name: "lanes", total: LANES }.take(1) }
}

/// So many of a thing, for all tests together.
struct Slots {
    directory: PathBuf,
    name: &'static str,
    total: usize,
}

impl Slots {
    fn take(&self, count: usize) -> Vec<File> {
        let Slots { name, total, .. } = self;
        assert!(count <= *total, "{count} at once are more than the {total} allowed: {name}");
        // One at a time passes here, and keeps what it has while it waits for the rest.
        let _turnstile = lock(&self.directory.join(format!("{name}-turnstile")));
        let mut taken: Vec<(usize, File)> = Vec::new();
        loop {
            for number in 0..self.total {
                if taken.len() < count && taken.iter().all(|(other, _)| *other != number) {
                    let found = try_lock(&self.directory.join(format!("{name}-{number}")));
                    taken.extend(found.map(|file| (number, file)));
                }
            }
            if taken.len() == count {
                return taken.into_iter().map(|(_, file)| file).collect();
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Shared by every test process of this user.
fn lock_directory() -> PathBuf {
    let directory = env::temp_dir().join(format!("plimsoll-test-{}", rustix::process::getuid().as_raw()));
    fs::create_dir_all(&directory).expect("the directory for temporary files can be written");
    directory
}

fn lock_file(path: &Path) -> File {
    File::options().create(true).append(true).open(path).expect("a lock file can be created")
}

fn lock(path: &Path) -> File {
    let file = lock_file(path);
    while let Err(error) = flock(&file, FlockOperation::LockExclusive) {
        assert_eq!(error, Errno::INTR, "cannot lock {}", path.display());
    }
    file
}

fn try_lock(path: &Path) -> Option<File> {
    let file = lock_file(path);
    flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(file)
}

/// A fresh directory for `PLIMSOLL_HOME`, removed when dropped. Its path is short: sockets below it have 107 bytes.
///
/// # Panics
/// If `/tmp` cannot be written.
pub fn home() -> TempDir {
    tempfile::Builder::new().prefix("pl-").tempdir_in("/tmp").expect("/tmp can be written")
}

/// A command that runs this build of the binary (`env!("CARGO_BIN_EXE_plimsoll")` in its own tests) in this home,
/// without input, colours or anything of the user's.
pub fn plimsoll(binary: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new(binary);
    command.env("PLIMSOLL_HOME", home).env("NO_COLOR", "1").env("LC_ALL", "C").env("TZ", "UTC").stdin(Stdio::null());
    // A broker that was unpacked for the tests, where `plimsoll fleet up` finds it.
    let broker = from_environment("PLIMSOLL_TEST_NATS_SERVER");
    if let Some(directory) = broker.as_deref().and_then(Path::parent) {
        let path = env::var_os("PATH").unwrap_or_default();
        let all = [directory.to_owned()].into_iter().chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(all).expect("a path without a colon"));
    }
    command
}

/// A loopback address that no other test uses, whichever process it runs in.
pub fn loopback() -> Ipv4Addr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    // Process numbers have 22 bits; the 15 lowest and a counter tell those apart that live at the same time.
    let [.., high, low] = process::id().to_be_bytes();
    Ipv4Addr::new(127, 0x80 | high, low, NEXT.fetch_add(1, Ordering::Relaxed).max(1))
}

/// A small file system in memory, unmounted when dropped.
pub struct MemoryMount {
    directory: TempDir,
}

impl MemoryMount {
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for MemoryMount {
    fn drop(&mut self) {
        // Detached: a process that still has a file open there must not keep the next test from running.
        let _ = unmount(self.path(), UnmountFlags::DETACH);
    }
}

/// Mounts a file system of so many bytes, for tests of a full disk. Needs root; `None` was said with [`skip`].
#[track_caller]
pub fn tmpfs(bytes: u64) -> Option<MemoryMount> {
    let directory = home();
    let options = format!("size={bytes},mode=0700");
    let flags = MountFlags::NODEV | MountFlags::NOSUID;
    let options = std::ffi::CString::new(options).expect("digits hold no zero byte");
    match mount("tmpfs", directory.path(), "tmpfs", flags, options.as_c_str()) {
        Ok(()) => Some(MemoryMount { directory }),
        Err(error) => {
            skip(&format!("cannot mount a tmpfs: {error}; run as root"));
            None
        }
    }
}

/// A file system that was mounted over a directory, with a file in it; unmounted when dropped.
pub struct Overmount {
    point: PathBuf,
    _other: Option<TempDir>,
}

impl Overmount {
    /// One after the other over the directory `point`, which is made: a tmpfs, and a directory of the same file system
    /// that shows itself here as well. Needs root; `None` was said with [`skip`].
    #[track_caller]
    pub fn kinds(point: &Path) -> Option<impl Iterator<Item = Overmount>> {
        std::fs::create_dir_all(point).expect("it can be made");
        if let Err(error) = Overmount::over(point, false) {
            skip(&format!("cannot mount anything: {error}; run as root"));
            return None;
        }
        let point = point.to_owned();
        Some([false, true].into_iter().map(move |bound| Overmount::over(&point, bound).expect("as before")))
    }

    fn over(point: &Path, bound: bool) -> std::io::Result<Overmount> {
        let beside = home();
        match bound {
            true => rustix::mount::mount_bind(beside.path(), point)?,
            false => mount("tmpfs", point, "tmpfs", MountFlags::NODEV | MountFlags::NOSUID, None)?,
        }
        let mounted = Overmount { point: point.to_owned(), _other: bound.then_some(beside) };
        std::fs::create_dir(point.join("below")).and_then(|()| std::fs::write(mounted.kept(), "precious"))?;
        Ok(mounted)
    }

    /// The file that has to stay.
    pub fn kept(&self) -> PathBuf {
        self.point.join("below/kept")
    }
}

impl Drop for Overmount {
    fn drop(&mut self) {
        let _ = unmount(&self.point, UnmountFlags::DETACH);
    }
}

/// Asks every 10 ms until the condition holds; false if it did not within the timeout.
pub fn wait_until(timeout: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + timeout;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc;

    fn slots_of_its_own(directory: &TempDir) -> Slots {
        Slots { directory: directory.path().to_path_buf(), name: "slot", total: SLOTS }
    }

    #[test]
    fn never_more_servers_than_slots_and_nobody_starves() {
        let directory = home();
        let running = AtomicUsize::new(0);
        let most = AtomicUsize::new(0);
        thread::scope(|scope| {
            for count in [1, 2, 1, 2, 2, 1] {
                let (slots, running, most) = (slots_of_its_own(&directory), &running, &most);
                scope.spawn(move || {
                    let guard = slots.take(count);
                    most.fetch_max(running.fetch_add(count, Ordering::SeqCst) + count, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(20));
                    running.fetch_sub(count, Ordering::SeqCst);
                    drop(guard);
                });
            }
        });
        assert!((1..=SLOTS).contains(&most.into_inner()));
    }

    #[test]
    fn another_server_waits_for_a_free_slot() {
        let directory = home();
        let first = slots_of_its_own(&directory).take(SLOTS);
        let (sender, receiver) = mpsc::channel();
        let waiting = slots_of_its_own(&directory);
        let thread = thread::spawn(move || {
            let _slot = waiting.take(1);
            sender.send(()).unwrap();
        });
        assert!(receiver.recv_timeout(Duration::from_millis(200)).is_err(), "more servers than slots were let in");
        drop(first);
        receiver.recv_timeout(Duration::from_secs(30)).expect("a freed slot is taken");
        thread.join().unwrap();
    }

    #[test]
    fn slots_are_not_inherited_by_servers() {
        let directory = home();
        let guard = slots_of_its_own(&directory).take(2);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        drop(guard);
        // A new process lets go of what it may not inherit only after its parent goes on.
        let free = wait_until(Duration::from_secs(30), || try_lock(&directory.path().join("slot-0")).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(free, "a child that outlives its test keeps the slot");
    }

    #[test]
    fn only_one_measures_at_once() {
        let _guard = timed_run();
        assert!(try_lock(&lock_directory().join("timed")).is_none());
    }

    #[test]
    fn homes_leave_room_for_sockets() {
        let path = home().path().join("servers/some-long-server-name/mysqld.sock");
        assert!(path.as_os_str().len() < 107, "{}", path.display());
    }

    #[test]
    fn addresses_are_loopback_and_differ() {
        let addresses: HashSet<_> = (0..50).map(|_| loopback()).collect();
        assert!(addresses.len() == 50 && addresses.iter().all(Ipv4Addr::is_loopback));
    }

    #[test]
    fn a_small_disk_fills_up_and_goes_away() {
        let Some(mount) = tmpfs(256 * 1024) else { return };
        let path = mount.path().to_path_buf();
        let error = fs::write(path.join("large"), vec![0; 1024 * 1024]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        drop(mount);
        assert!(!path.exists());
    }

    #[test]
    fn waiting_ends_either_way() {
        let mut asked = 0;
        let third_time = || {
            asked += 1;
            asked == 3
        };
        assert!(wait_until(Duration::from_secs(30), third_time));
        assert!(!wait_until(Duration::from_millis(20), || false));
    }

    #[test]
    fn the_command_runs_in_its_home() {
        let home = home();
        let output = plimsoll("printenv", home.path()).arg("PLIMSOLL_HOME").output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), home.path().to_str().unwrap());
    }
}
