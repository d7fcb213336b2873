//! Storage lanes: real mounts that come up, are checked, and leave nothing behind, even if killed at any point.

use crate::harness::{Done, Running, begin, run};
use plimsoll_testkit::servers::{self, LanesGuard, skip};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The kinds with a network.
pub const NETWORK: [&str; 5] = ["nbd", "iscsi", "nfs-image", "nfs-files", "sshfs"];

/// A home to build lanes in.
pub struct Shore {
    home: TempDir,
    _alone: LanesGuard,
}

impl Shore {
    /// For lanes without a network. `None` was said with [`skip`].
    #[track_caller]
    pub fn new() -> Option<Shore> {
        Shore::with_all_but(&NETWORK)
    }

    /// For all lanes. `None` was said with [`skip`].
    #[track_caller]
    pub fn networked() -> Option<Shore> {
        let shore = Shore::with_all_but(&[])?;
        let pair = ["--net", "ip", "link", "add", "one", "type", "veth", "peer", "name", "other"];
        let made = Command::new("unshare").args(pair).output().expect("util-linux");
        if !made.status.success() || !Path::new("/dev/fuse").exists() {
            skip("this machine has no network namespaces with veth pairs, or no FUSE");
            return None;
        }
        Some(shore)
    }

    #[track_caller]
    fn with_all_but(left_out: &[&str]) -> Option<Shore> {
        let shore = Shore { home: servers::home(), _alone: servers::lanes() };
        if !rustix::process::geteuid().is_root() {
            skip("lanes are mounted; run as root");
            return None;
        }
        let listed = shore.ends("lane list --json").json();
        let kinds = listed["kinds"].as_array().expect("kinds");
        let lacks = |kind: &&serde_json::Value| {
            let name = kind["name"].as_str().expect("a name");
            !left_out.contains(&name) && kind["missing"] != serde_json::json!([])
        };
        if kinds.iter().any(|kind| lacks(&kind)) {
            skip(listed["install"].as_str().expect("how to install it"));
            return None;
        }
        if !Path::new("/dev/loop-control").exists() {
            skip("this kernel has no loop devices");
            return None;
        }
        Some(shore)
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), self.home.path());
        command.args(line.split_whitespace());
        command
    }

    pub fn ends(&self, line: &str) -> Done {
        run(self.command(line))
    }

    /// Builds a lane; its directory.
    #[track_caller]
    pub fn up(&self, name: &str, options: &str) -> PathBuf {
        PathBuf::from(self.ends(&format!("lane up {name} {options}")).exits(0).out.trim())
    }

    pub fn lane(&self, name: &str) -> PathBuf {
        self.home.path().join("lanes").join(name)
    }

    #[track_caller]
    pub fn is_empty(&self, when: &str) {
        nothing_is_left_of(self.home.path(), when);
    }
}

/// No mount (a network namespace is kept as one), loop device, process or lane of this home is left.
#[track_caller]
pub fn nothing_is_left_of(home: &Path, when: &str) {
    let place = home.to_str().expect("a plain path");
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
    assert!(!mounts.contains(place), "{when}: {mounts}");
    assert_eq!(naming(place, "/sys/block", "loop/backing_file"), Vec::<PathBuf>::new(), "{when}");
    assert_eq!(naming(place, "/proc", "cmdline"), Vec::<PathBuf>::new(), "{when}");
    let lanes = fs::read_dir(home.join("lanes")).into_iter().flatten().flatten();
    assert_eq!(lanes.map(|entry| entry.path()).collect::<Vec<_>>(), Vec::<PathBuf>::new(), "{when}");
}

impl Drop for Shore {
    fn drop(&mut self) {
        let _ = self.command("lane down").output();
        let _ = self.command("clean").output();
    }
}

/// The files of this name, one level below a directory, whose text names a place.
fn naming(place: &str, directory: &str, file: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the kernel lists them").flatten();
    let files = entries.map(|entry| entry.path().join(file));
    files.filter(|file| fs::read(file).is_ok_and(|text| String::from_utf8_lossy(&text).contains(place))).collect()
}

#[test]
fn wrong_names_are_refused_before_anything_is_made() {
    let home = servers::home();
    let plimsoll = |line: &str| {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.args(line.split_whitespace());
        run(command)
    };
    for (line, texts) in [
        ("lane up nfs", vec!["'nfs'", "nfs-image, nfs-files, sshfs"]),
        ("lane up nbd,fs=zfs", vec!["fs=zfs", "btrfs"]),
        ("lane up nbd,export=fuse", vec!["export=", "accepted are fs=", "delay="]),
        ("lane up nfs-files,options=wsize=1G", vec!["wsize=1G", "1048576"]),
        ("lane up ext4,scheduler=fifo", vec!["scheduler=fifo", "mq-deadline"]),
        ("lane up zfs", vec!["'zfs'", "btrfs-nocow"]),
        ("lane up ../ext4", vec!["'../ext4'", "ext4"]),
        ("lane up ext4,iops=none", vec!["iops=none", "1 or more"]),
        ("lane up ext4,speed=7", vec!["'speed'", "bandwidth=SIZE"]),
        ("lane up tmpfs,delay=1ms", vec!["delay=", "no device of its own"]),
        ("lane up root --size 1G", vec!["--size"]),
        ("lane check ext4", vec!["not up", "plimsoll lane up ext4"]),
        ("lane down ext4", vec!["not up"]),
    ] {
        plimsoll(line).refuses(2, &texts).in_one_message();
    }
    let left: Vec<_> = fs::read_dir(home.path()).expect("it exists").flatten().collect();
    assert!(left.is_empty(), "nothing was started: {left:?}");
}

#[test]
fn missing_packages_are_named_in_one_line_before_anything_is_made() {
    let home = servers::home();
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
    command.args(["lane", "up", "xfs,delay=1ms"]).env("PATH", "");
    let line = "apt-get install -y --no-install-recommends mount xfsprogs nbdkit libnbd-bin";
    run(command).refuses(3, &[line]).in_one_message();
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
    command.args(["lane", "list", "--json"]).env("PATH", "");
    let listed = run(command).exits(0).json();
    let install = listed["install"].as_str().expect("something is missing");
    let host = ["mount", "e2fsprogs", "xfsprogs", "btrfs-progs", "nbdkit", "libnbd-bin"];
    let network = ["iproute2", "tgt", "qemu-system-common", "nfs-ganesha", "rpcbind", "socat", "sshfs"];
    for package in host.into_iter().chain(network) {
        assert_eq!(install.split(' ').filter(|word| *word == package).count(), 1, "{install}");
    }
    assert!(listed["kinds"][0]["name"] == "root" && listed["kinds"][0]["missing"] == serde_json::json!([]));
    assert_eq!(fs::read_dir(home.path()).expect("it exists").count(), 0);
}

/// Up, in use, up again, checked, listed, left alone by `clean`, down.
fn whole_life(shore: &Shore, name: &str) {
    let directory = shore.up(name, "");
    fs::write(directory.join("file"), "x").expect("a lane can be written");
    shore.ends(&format!("lane up {name}")).refuses(2, &["up already", "plimsoll lane down"]).in_one_message();
    let checked = shore.ends(&format!("lane check {name}")).exits(0);
    let verdicts: Vec<_> =
        checked.out.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>()).collect();
    let listed = shore.ends("lane list --json").exits(0).json();
    assert!(listed["lanes"][0]["name"] == name && listed["lanes"][0]["state"] == "up", "{listed}");
    // What others flush on a device that is not the lane's own cannot be told from its flushes.
    let flush = if listed["lanes"][0]["device"].is_null() { verdicts[1][1] } else { "ok" };
    assert!(["ok", "note"].contains(&flush), "{checked}");
    assert_eq!(verdicts, [["data", "ok"], ["flush", flush], ["direct", "ok"], ["timer", "note"]], "{checked}");
    shore.ends("clean").refuses(0, &["nothing to clean"]);
    assert!(directory.join("file").exists(), "clean leaves a lane that is up");
    assert_eq!(fs::read_dir(&directory).expect("a list").flatten().filter(is_of_a_check).count(), 0);
    shore.ends("lane down").exits(0);
    shore.is_empty(name);
}

fn is_of_a_check(entry: &fs::DirEntry) -> bool {
    entry.file_name().to_string_lossy().starts_with("plimsoll-check")
}

#[test]
#[ignore = "mounts; make test-all"]
fn every_kind_comes_up_is_sound_and_goes() {
    let Some(shore) = Shore::new() else { return };
    for name in ["root", "tmpfs", "overlay", "ext4", "xfs", "xfs-16k", "btrfs", "btrfs-nocow"] {
        whole_life(&shore, name);
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn modifiers_come_up_are_sound_and_go() {
    let Some(shore) = Shore::new() else { return };
    for name in [
        "ext4,delay=1ms,cache=64M",
        "xfs,sector=4096,options=noatime",
        "ext4,iops=200",
        "root,bandwidth=8M",
        "xfs,device=volatile",
    ] {
        whole_life(&shore, name);
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_lane_that_is_in_use_stays_until_it_is_free() {
    let Some(shore) = Shore::new() else { return };
    let file = File::create(shore.up("ext4", "--no-check").join("file")).expect("a file");
    shore.ends("lane down ext4").refuses(3, &["umount", "end what is using"]).in_one_message();
    drop(file);
    shore.ends("lane down ext4").exits(0);
    shore.is_empty("after the second try");
}

/// The name and the state of all lanes.
fn states(shore: &Shore) -> Vec<(String, String)> {
    let listed = shore.ends("lane list --json").exits(0).json();
    let lanes = listed["lanes"].as_array().expect("lanes").iter();
    let text = |lane: &serde_json::Value, key: &str| lane[key].as_str().expect("a text").to_owned();
    lanes.map(|lane| (text(lane, "name"), text(lane, "state"))).collect()
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_limited_lane_or_one_without_a_mount_that_is_in_use_stays_up() {
    let Some(shore) = Shore::new() else { return };
    for (name, refusal) in [("ext4,iops=200", "umount"), ("root", "pid")] {
        let file = File::create(shore.up(name, "--no-check").join("file")).expect("a file");
        let journal = shore.lane(name).join("journal.ndjson");
        let before = fs::read_to_string(&journal).expect("a journal");
        shore.ends(&format!("lane down {name}")).refuses(3, &[refusal, "end what is using"]).in_one_message();
        assert_eq!(fs::read_to_string(&journal).expect("a journal"), before, "{name}");
        assert!(groups(&before).iter().all(|group| group.exists()), "{name} keeps its limits");
        assert_eq!(states(&shore), [(name.to_owned(), "up".to_owned())]);
        drop(file);
        shore.ends(&format!("lane down {name}")).exits(0);
        shore.is_empty(name);
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_copy_that_a_user_makes_to_a_lane_goes_on() {
    let Some(shore) = Shore::new() else { return };
    let directory = shore.up("ext4", "--no-check");
    let mut command = Command::new("cp");
    // It waits for what it copies.
    command.arg("--target-directory").arg(&directory).arg("/dev/stdin").stdin(Stdio::piped());
    let mut copy = command.spawn().expect("coreutils");
    assert!(servers::wait_until(Duration::from_secs(60), || directory.join("stdin").exists()), "it copies");
    shore.ends("lane down ext4").refuses(3, &["end what is using"]).in_one_message();
    assert!(copy.try_wait().expect("a child").is_none(), "it is not the lane's");
    drop(copy.stdin.take());
    assert!(copy.wait().expect("a child").success());
    shore.ends("lane down ext4").exits(0);
    shore.is_empty("after the copy");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_lane_that_is_in_use_keeps_no_other_up() {
    let Some(shore) = Shore::new() else { return };
    let file = File::create(shore.up("ext4", "--no-check").join("file")).expect("a file");
    shore.up("tmpfs", "--no-check --size 128M");
    shore.ends("lane down").refuses(3, &["end what is using", "tmpfs is down"]).in_one_message();
    drop(file);
    shore.ends("lane down").exits(0).tells(&["ext4 is down"]);
    shore.is_empty("after the second try");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_server_on_a_lane_or_in_the_lane_of_another_home_is_left_alone() {
    let Some(shore) = Shore::new() else { return };
    let directory = shore.up("ext4,delay=1ms", "--size 200M --no-check");
    // Its path ends in the words of ours.
    let other = shore.home.path().join(shore.lane("ext4,delay=1ms").strip_prefix("/").expect("absolute"));
    fs::create_dir_all(&other).expect("a directory");
    let servers = [("on.sock", directory.join("users.img")), ("other.sock", other.join("disk.img"))];
    let mut servers = servers.map(|(socket, file)| {
        File::create(&file).and_then(|file| file.set_len(1 << 20)).expect("a file");
        OwnServer::start(shore.home.path().join(socket), &[Path::new("file"), &file])
    });
    shore.ends("lane down").exits(0);
    for server in &mut servers {
        assert!(server.child.try_wait().expect("a child").is_none(), "it is not the lane's");
    }
    drop(servers);
    shore.is_empty("after down");
}

#[test]
#[ignore = "mounts; make test-all"]
fn ctrl_c_while_it_comes_up_undoes_what_was_done() {
    let Some(shore) = Shore::new() else { return };
    let journal = shore.lane("ext4,delay=1ms").join("journal.ndjson");
    for lines in [1, 4, 6] {
        let running = begin(shore.command("lane up ext4,delay=1ms --size 200M --no-check"));
        wait_for_lines(&journal, lines);
        running.signal(rustix::process::Signal::INT);
        running.end().refuses(130, &["interrupted"]).in_one_message();
        shore.is_empty(&format!("Ctrl-C after line {lines}"));
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_trigger_makes_a_device_fail() {
    let Some(shore) = Shore::new() else { return };
    let mut file = File::create(shore.up("ext4,error=eio", "--no-check").join("file")).expect("a file");
    file.write_all(b"before").and_then(|()| file.sync_all()).expect("it works before");
    let trigger = shore.lane("ext4,error=eio").join("fail");
    fs::write(&trigger, "").expect("a trigger");
    let failed = file.write_all(b"after").and_then(|()| file.sync_all()).expect_err("the device fails");
    assert_eq!(failed.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
    fs::remove_file(&trigger).expect("removed");
    drop(file);
    shore.ends("lane down").exits(0);
    shore.is_empty("after errors");
}

/// Waits without a pause between two looks, so that a kill comes as soon after a step's line as it can.
#[track_caller]
fn wait_for_lines(journal: &Path, wanted: usize) -> String {
    let begun = Instant::now();
    loop {
        let text = fs::read_to_string(journal).unwrap_or_default();
        if text.lines().count() >= wanted {
            return text;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no line {wanted}: {text}");
        std::thread::yield_now();
    }
}

/// The control groups that a journal names.
fn groups(journal: &str) -> Vec<PathBuf> {
    let lines = journal.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    lines.filter_map(|line| Some(PathBuf::from(line["undo"]["cgroup"]["path"].as_str()?))).collect()
}

/// What tells the network namespaces of a lane from all others.
fn namespaces(lane: &Path) -> Vec<(u64, u64)> {
    let of_lane = fs::metadata(lane).map(|facts| facts.dev()).unwrap_or_default();
    let files = ["client.net", "server.net"].map(|name| fs::metadata(lane.join(name)));
    let kept = files.into_iter().flatten().filter(|facts| facts.dev() != of_lane);
    kept.map(|facts| (facts.dev(), facts.ino())).collect()
}

/// Processes that run in one of these network namespaces.
fn inhabitants(namespaces: &[(u64, u64)]) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").expect("the kernel lists them").flatten().map(|entry| entry.path());
    let runs_there = |process: &PathBuf| {
        fs::metadata(process.join("ns/net")).is_ok_and(|facts| namespaces.contains(&(facts.dev(), facts.ino())))
    };
    processes.filter(runs_there).collect()
}

/// Kills `lane up` after each of so many lines of its journal; `clean` has to leave nothing.
#[track_caller]
pub fn killed_at_each_step(shore: &Shore, name: &str, size: &str, steps: usize, pauses: &[u64]) {
    let journal = shore.lane(name).join("journal.ndjson");
    for lines in 1..=steps {
        for pause in pauses.iter().copied().map(Duration::from_millis) {
            let running: Running = begin(shore.command(&format!("lane up {name} --size {size}")));
            wait_for_lines(&journal, lines);
            std::thread::sleep(pause);
            running.kill();
            let found = fs::read_to_string(&journal).unwrap_or_default();
            let when = format!("killed {pause:?} after line {lines}: {found}");
            assert!(!found.contains("\"up\""), "the check takes longer than the pauses: {found}");
            let namespaces = namespaces(&shore.lane(name));
            shore.ends(&format!("lane up {name} --size {size}")).refuses(2, &["plimsoll clean"]);
            let cleaned = shore.ends("clean").exits(0);
            assert!(cleaned.out.contains(name), "{when}: {cleaned}");
            shore.is_empty(&when);
            assert!(groups(&found).iter().all(|group| !group.exists()), "{when}");
            assert_eq!(inhabitants(&namespaces), Vec::<PathBuf>::new(), "{when}");
        }
    }
}

#[test]
#[ignore = "kills, mounts; make test-all"]
fn a_kill_at_any_step_leaves_nothing_that_clean_does_not_remove() {
    let Some(shore) = Shore::new() else { return };
    // A step of every kind: the directory, two servers, two mounts, a loop device, a control group.
    killed_at_each_step(&shore, "ext4,delay=1ms,iops=200", "200M", 7, &[0, 3, 20, 100]);
}

#[test]
#[ignore = "kills, mounts; make test-all"]
fn a_kill_while_it_goes_down_is_cleaned_up_too() {
    let Some(shore) = Shore::new() else { return };
    for pause in [0, 10, 50, 200].map(Duration::from_millis) {
        shore.up("ext4,delay=1ms", "--size 200M --no-check");
        let running = begin(shore.command("lane down ext4,delay=1ms"));
        let journal = shore.lane("ext4,delay=1ms").join("journal.ndjson");
        // It takes back that it is up once it is unmounted; the directory may be gone already when we look.
        let begun = Instant::now();
        while fs::read_to_string(&journal).is_ok_and(|text| text.contains("\"up\"")) {
            assert!(begun.elapsed() < Duration::from_secs(60));
        }
        std::thread::sleep(pause);
        running.signal(rustix::process::Signal::KILL);
        running.end();
        shore.ends("clean").exits(0);
        shore.is_empty(&format!("killed {pause:?} after it began to go down"));
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_device_that_swallows_flushes_is_refused() {
    let Some(shore) = Shore::new() else { return };
    let done = shore.ends("lane up ext4,cache=unsafe").refuses(1, &["flush   refused", "0 behind its server"]);
    // What was synced never came to the image.
    done.tells(&["data    refused", "not in the backing store", "down again"]);
    shore.is_empty("after the refusal");
    shore.up("ext4,cache=unsafe", "--no-check");
    assert!(shore.ends("lane check ext4,cache=unsafe").exits(1).out.contains("flush   refused"));
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_file_system_that_sends_no_flushes_is_refused() {
    let Some(shore) = Shore::new() else { return };
    let done = shore.ends("lane up ext4,options=barrier=0").refuses(1, &["flush   refused", ": 0 flushes of loop"]);
    done.tells(&["data    ok"]);
    shore.is_empty("after the refusal");
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_device_that_the_kernel_flushes_no_more_is_refused() {
    let Some(shore) = Shore::new() else { return };
    shore.up("ext4", "--no-check");
    let listed = shore.ends("lane list --json").exits(0).json();
    let device = listed["lanes"][0]["device"].as_str().expect("a loop device");
    let path = format!("/sys/block/{device}/queue/write_cache");
    fs::write(&path, "write through").expect("the kernel believes it");
    let checked = shore.ends("lane check ext4");
    // The device keeps it for whoever gets it next.
    fs::write(&path, "write back").expect("the kernel believes it");
    let checked = checked.exits(1);
    assert!(checked.out.contains("flush   refused") && checked.out.contains("queue/write_cache"), "{checked}");
}

/// An NBD server in memory whose large writes all pass through one buffer, which it fills a moment before it uses it.
const MIXES_UP: &str = r#"
#define NBDKIT_API_VERSION 2
#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <nbdkit-plugin.h>

#define SIZE (256 << 20)
static char *disk;
static STORAGE char between[32 << 20];

static int get_ready(void) { disk = calloc(1, SIZE); return disk ? 0 : -1; }
static void *begin(int readonly) { return NBDKIT_HANDLE_NOT_NEEDED; }
static int64_t get_size(void *handle) { return SIZE; }
static int can_multi_conn(void *handle) { return 1; }
static int flush(void *handle, uint32_t flags) { return 0; }
static int pread_(void *handle, void *buffer, uint32_t count, uint64_t offset, uint32_t flags) {
  memcpy(buffer, disk + offset, count);
  return 0;
}
static int pwrite_(void *handle, const void *buffer, uint32_t count, uint64_t offset, uint32_t flags) {
  if (count < 65536) { memcpy(disk + offset, buffer, count); return 0; }
  memcpy(between, buffer, count);
  usleep(3000);
  memcpy(disk + offset, between, count);
  return 0;
}
static struct nbdkit_plugin plugin = {
  .name = "mixes-up", .get_ready = get_ready, .open = begin, .get_size = get_size, .can_multi_conn = can_multi_conn,
  .flush = flush, .pread = pread_, .pwrite = pwrite_,
};
NBDKIT_REGISTER_PLUGIN(plugin)
"#;

/// A server of the test's own; ended when dropped.
struct OwnServer {
    child: Child,
    socket: PathBuf,
}

impl OwnServer {
    #[track_caller]
    fn start(socket: PathBuf, plugin: &[&Path]) -> OwnServer {
        let mut command = Command::new("nbdkit");
        command.args(["--foreground", "--unix"]).arg(&socket).args(plugin).stdin(Stdio::null());
        let child = command.spawn().expect("nbdkit is installed");
        let server = OwnServer { child, socket };
        assert!(servers::wait_until(Duration::from_secs(60), || server.socket.exists()), "it listens");
        server
    }

    /// Of a plugin in C; `None` was said with [`skip`].
    #[track_caller]
    fn compile(directory: &Path, source: &str) -> Option<OwnServer> {
        if !Path::new("/usr/include/nbdkit-plugin.h").exists() {
            skip("no nbdkit-plugin.h; install nbdkit-plugin-dev");
            return None;
        }
        let script = directory.join("plugin.c");
        fs::write(&script, source).expect("a source file");
        Some(OwnServer::start(directory.join("own.sock"), &[Path::new("cc"), &script]))
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the check says of a lane on such a server, whose buffer is one for all threads, or one for each.
fn on_own_server(buffer: &str) -> Option<Done> {
    let shore = Shore::new()?;
    let directory = servers::home();
    let server = OwnServer::compile(directory.path(), &MIXES_UP.replace("STORAGE", buffer))?;
    let done = shore.ends(&format!("lane up ext4,nbd=unix:{}", server.socket.display()));
    let _ = shore.ends("lane down");
    shore.is_empty("after a lane on a server of one's own");
    Some(done)
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_server_that_mixes_up_concurrent_writes_is_refused() {
    let Some(done) = on_own_server("") else { return };
    done.refuses(1, &["data    refused", "not what was written", "flush   ok"]);
}

#[test]
#[ignore = "mounts; make test-all"]
fn the_same_server_with_a_buffer_for_each_write_is_sound() {
    let Some(done) = on_own_server("__thread") else { return };
    done.exits(0).tells(&["data    ok", "found in the backing store"]);
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_server_that_holds_data_is_left_as_it_is() {
    let Some(shore) = Shore::new() else { return };
    let directory = servers::home();
    let (file, data) = (directory.path().join("users.img"), vec![7_u8; 4 << 20]);
    fs::write(&file, &data).expect("a file");
    let server = OwnServer::start(directory.path().join("own.sock"), &[Path::new("file"), &file]);
    let up = format!("lane up ext4,nbd=unix:{} --no-check", server.socket.display());
    shore.ends(&up).refuses(2, &["holds data", "first MiB"]).in_one_message();
    shore.is_empty("after the refusal");
    drop(server);
    assert!(fs::read(&file).expect("a file") == data, "it was not written");
}
