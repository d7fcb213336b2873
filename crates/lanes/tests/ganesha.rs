//! The file system against a real server, NFS-Ganesha, in namespaces of their own: all ports are free, and mounts and
//! processes end with the namespaces, whatever happens.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use plimsoll_lanes::nfs::{MountOptions, NfsError, serve};
use plimsoll_lanes::nfs_options::Patience;
use plimsoll_testkit::servers::skip;

const NFS: u16 = 2049;
const MOUNTD: u16 = 20048;
const PAGE: usize = 16 * 1024;
const PATIENCE: Duration = Duration::from_secs(60);

/// What tells a test that it runs where nothing else is.
const ALONE: &str = "PLIMSOLL_TEST_ALONE";

/// Does what the test of this name is about where nothing else is: in this test binary, run again for that one test.
#[track_caller]
fn alone(test: &str, body: fn()) {
    if std::env::var_os(ALONE).is_some() {
        return body();
    }
    let missing = ["ganesha.nfsd", "rpcbind", "unshare", "ip"].into_iter().find(|program| {
        let found = |folder: &str| Path::new(folder).join(program).exists();
        !["/usr/bin", "/usr/sbin", "/bin", "/sbin"].into_iter().any(found)
    });
    if let Some(program) = missing {
        return skip(&format!("no {program} on this machine; install nfs-ganesha, nfs-ganesha-vfs and rpcbind"));
    }
    if !rustix::process::geteuid().is_root() || !Path::new("/dev/fuse").exists() {
        return skip("mounting needs root and /dev/fuse");
    }
    let ended = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}{}", show(&ended.stdout), show(&ended.stderr));
    assert!(show(&ended.stdout).contains("1 passed"), "{}", show(&ended.stdout));
}

fn show(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn files_are_a_kernel_clients() {
    alone("files_are_a_kernel_clients", files);
}

#[test]
fn requests_overlap() {
    alone("requests_overlap", overlap);
}

#[test]
fn a_restarted_server_fails_the_fsync_of_what_it_lost() {
    alone("a_restarted_server_fails_the_fsync_of_what_it_lost", restart);
}

fn files() {
    let server = Server::start();
    let client = Client::mount(&server, NFS, false);
    direct_writes_are_one_request_each(&client);
    buffered_writes_are_committed_once(&server, &client);
    unlinked_files_live_until_they_are_closed(&server, &client);
    files_that_are_gone_do_not_fail_a_sync(&server, &client);
    a_rename_that_fails_leaves_the_open_file_where_it_was(&client);
    pages_gather_as_elsewhere(&client);
    directories_go_with_files_that_were_just_closed(&client);
    changes_elsewhere_are_seen_at_the_next_open(&server, &client);
    names_are_bytes_and_directories_are_large(&server, &client);
    what_is_made_belongs_to_who_made_it(&client);
    client.end();
    let careless = Client::mount(&server, NFS, true);
    an_asynchronous_export_sends_no_commit(&careless);
    careless.end();
}

fn overlap() {
    let server = Server::start();
    let far = relay(Duration::from_millis(20));
    let client = Client::mount(&server, far, false);
    let path = client.at("read.me");
    fs::write(&path, vec![7; 16 * PAGE]).unwrap();
    let file = direct(&path);
    // Whatever else the machine does may make one of them slower, none faster.
    let best = |threads, each| (0..5).map(|_| reads(&file, threads, each)).min().unwrap();
    let (alone, together) = (best(1, 16), best(16, 1));
    assert!(together * 2 < alone, "16 threads took {together:?} for the 16 reads that took one {alone:?}");
    drop(file);
    client.end();
}

fn restart() {
    let mut server = Server::start();
    let client = Client::mount(&server, NFS, false);
    let path = client.at("log");
    let file = File::create(&path).unwrap();
    file.write_all_at(&vec![1; PAGE], 0).unwrap();
    // A direct read waits until the server has answered the write of what is cached, and nobody asks for a COMMIT.
    // The handle stays open: closing one commits.
    let reader = direct(&path);
    reader.read_exact_at(&mut vec![0; PAGE], 0).unwrap();
    assert!(client.count("WRITE") > 0 && client.count("COMMIT") == 0);
    // What is open stays served.
    client.detach();
    server.restart();
    assert_eq!(file.sync_all().unwrap_err().raw_os_error(), Some(libc::EIO));
    assert!(client.count("COMMIT") > 0);
    file.write_all_at(&vec![2; PAGE], 0).unwrap();
    assert!(file.sync_all().is_err(), "what was lost stays lost while the file is open");
    drop((file, reader));
    client.join();
}

fn direct_writes_are_one_request_each(client: &Client) {
    let path = client.at("ibdata1");
    let file = direct(&path);
    let page = vec![1; PAGE];
    let before = client.counts();
    for number in 0..8 {
        file.write_all_at(&page, number * PAGE as u64).unwrap();
        file.sync_data().unwrap();
    }
    assert_eq!((client.since(&before, "WRITE"), client.since(&before, "COMMIT")), (8, 0));
    let before = client.counts();
    let mut back = vec![0; PAGE];
    file.read_exact_at(&mut back, 3 * PAGE as u64).unwrap();
    assert_eq!((client.since(&before, "READ"), back), (1, page));
}

fn buffered_writes_are_committed_once(server: &Server, client: &Client) {
    let file = File::create(client.at("binlog")).unwrap();
    let before = client.counts();
    for number in 0..16 {
        file.write_all_at(&[number; 512], u64::from(number) * 512).unwrap();
    }
    file.sync_data().unwrap();
    file.sync_data().unwrap();
    let sent = ["WRITE", "COMMIT", "SETATTR"].map(|kind| client.since(&before, kind));
    assert!(sent[0] >= 1 && sent[0] < 16, "{sent:?}: the page cache gathers writes");
    assert_eq!((sent[1], sent[2]), (1, 0), "a second fsync has nothing to commit, and times are the server's");
    let stored = fs::read(server.files.join("binlog")).unwrap();
    assert!(stored.len() == 16 * 512 && stored.iter().zip(0..).all(|(byte, at)| usize::from(*byte) == at / 512));
}

fn unlinked_files_live_until_they_are_closed(server: &Server, client: &Client) {
    for replaced in [false, true] {
        let path = client.at("temporary");
        fs::write(&path, "still here").unwrap();
        let mut file = File::open(&path).unwrap();
        if replaced {
            fs::write(client.at("new"), "new").unwrap();
            fs::rename(client.at("new"), &path).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        }
        fs::remove_file(&path).unwrap();
        assert!(!path.exists());
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "still here");
        drop(file);
        wait_until("the hidden file is gone", || !server.has_hidden());
    }
}

fn files_that_are_gone_do_not_fail_a_sync(server: &Server, client: &Client) {
    let root = File::open(&client.options.mount).unwrap();
    let sync = |what: &str| rustix::fs::syncfs(&root).unwrap_or_else(|error| panic!("{what}: {error}"));
    let dirty = |name: &str| {
        let mut file = File::create(client.at(name)).unwrap();
        file.write_all(b"dirty").unwrap();
        file
    };
    let seen = dirty("seen while it is hidden");
    fs::remove_file(client.at("seen while it is hidden")).unwrap();
    let hidden = fs::read_dir(&client.options.mount).unwrap().map(|entry| entry.unwrap().path());
    let hidden: Vec<_> = hidden.filter(|path| path.file_name().unwrap().as_bytes().starts_with(b".nfs")).collect();
    assert_eq!(hidden.len(), 1);
    // By its hidden name the kernel keeps it after its last close, and its times.
    let by_name = rustix::fs::open(&hidden[0], rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
    drop(seen);
    wait_until("the hidden file is gone", || !server.has_hidden());
    sync("a hidden file that was listed");
    let (_old, _new) = (dirty("old"), dirty("new"));
    fs::rename(client.at("new"), client.at("old")).unwrap();
    sync("a file that was renamed over");
    let _elsewhere = dirty("removed elsewhere");
    sync("a file that is there");
    fs::set_permissions(client.at("removed elsewhere"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(server.files.join("removed elsewhere")).unwrap();
    let _ = fs::remove_file(client.at("removed elsewhere"));
    sync("a file that somebody else removed");
    fs::create_dir(client.at("directory")).unwrap();
    let _directory = File::open(client.at("directory")).unwrap();
    fs::rename(client.at("directory"), client.at("renamed")).unwrap();
    fs::remove_dir(client.at("renamed")).unwrap();
    sync("a directory that was renamed and removed");
    drop((by_name, _old, _new, _elsewhere));
    wait_until("nothing is hidden", || !server.has_hidden());
    fs::remove_file(client.at("old")).unwrap();
}

fn a_rename_that_fails_leaves_the_open_file_where_it_was(client: &Client) {
    let (source, target) = (client.at("source"), client.at("target"));
    fs::write(&source, "source").unwrap();
    fs::write(&target, "target").unwrap();
    let open = File::open(&target).unwrap();
    // The kernel still has the name of the source, and the server has it no more.
    let server_side = client.options.export.clone();
    fs::remove_file(Path::new(&server_side).join("source")).unwrap();
    assert_eq!(fs::rename(&source, &target).unwrap_err().raw_os_error(), Some(libc::ENOENT));
    drop(open);
    assert_eq!(fs::read_to_string(&target).unwrap(), "target");
    fs::remove_file(&target).unwrap();
}

fn pages_gather_as_elsewhere(client: &Client) {
    let device = fs::metadata(&client.options.mount).unwrap().dev();
    let limits = format!("/sys/class/bdi/{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let limit = |name: &str| fs::read_to_string(Path::new(&limits).join(name)).map(|text| text.trim().to_owned());
    assert_eq!(limit("max_ratio").unwrap(), "100");
    // Since Linux 6.2.
    assert!(limit("strict_limit").is_ok_and(|value| value == "0") || !Path::new(&limits).join("strict_limit").exists());
}

/// The kernel tells of a close later than the program that closed.
fn directories_go_with_files_that_were_just_closed(client: &Client) {
    for _ in 0..50 {
        let directory = client.at("data");
        fs::create_dir(&directory).unwrap();
        let files: Vec<File> = (0..8).map(|n| File::create(directory.join(n.to_string())).unwrap()).collect();
        drop(files);
        fs::remove_dir_all(&directory).unwrap();
    }
    let directory = client.at("data");
    fs::create_dir(&directory).unwrap();
    let file = File::create(directory.join("open")).unwrap();
    fs::remove_file(directory.join("open")).unwrap();
    assert!(fs::remove_dir(&directory).is_err(), "a file in it is still open");
    drop(file);
    fs::remove_dir(&directory).unwrap();
}

fn changes_elsewhere_are_seen_at_the_next_open(server: &Server, client: &Client) {
    let path = client.at("shared");
    fs::write(&path, "short").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"short");
    wait_until("the file is closed here", || {
        fs::write(server.files.join("shared"), "a longer text").unwrap();
        fs::read(&path).unwrap() == b"a longer text"
    });
}

fn names_are_bytes_and_directories_are_large(server: &Server, client: &Client) {
    let folder = client.at("many");
    fs::create_dir(&folder).unwrap();
    let mut made: Vec<Vec<u8>> =
        (0..600).map(|number| format!("a table of some length, {number}").into_bytes()).collect();
    made.push(b"\xff\xfe\n \"".to_vec());
    for name in &made {
        File::create(folder.join(std::ffi::OsStr::from_bytes(name))).unwrap();
    }
    let names = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&folder).len(), made.len());
    assert_eq!(names(&folder), names(&server.files.join("many")));
}

fn what_is_made_belongs_to_who_made_it(client: &Client) {
    let folder = client.at("of mysql");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, Some(65_534), Some(65_534)).unwrap();
    let made = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "touch"])
        .arg(folder.join("own"))
        .arg(client.at("not allowed"))
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let own = fs::metadata(folder.join("own")).unwrap();
    assert_eq!((own.uid(), own.gid()), (65_534, 65_534));
    assert!(!made.success() && !client.at("not allowed").exists());
}

fn an_asynchronous_export_sends_no_commit(client: &Client) {
    let file = File::create(client.at("careless")).unwrap();
    let before = client.counts();
    file.write_all_at(&[1; PAGE], 0).unwrap();
    file.sync_all().unwrap();
    assert_eq!((client.since(&before, "WRITE"), client.since(&before, "COMMIT")), (1, 0));
}

fn direct(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).custom_flags(libc::O_DIRECT).open(path).unwrap()
}

/// How long `threads` take for `each` reads of a page.
fn reads(file: &File, threads: u64, each: u64) -> Duration {
    let started = Instant::now();
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                let mut page = vec![0; PAGE];
                for number in 0..each {
                    file.read_exact_at(&mut page, (thread * each + number) * PAGE as u64).unwrap();
                }
            });
        }
    });
    started.elapsed()
}

/// A port that passes on to the server, each chunk of a client's `delay` later. A connection has one request at a time.
fn relay(delay: Duration) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", NFS)).unwrap());
            server.set_nodelay(true).unwrap();
            let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut answers, &mut back));
            thread::spawn(move || pass_on(&mut client, server, delay));
        }
    });
    port
}

fn pass_on(client: &mut TcpStream, mut server: TcpStream, delay: Duration) {
    let mut chunk = vec![0; 1 << 20];
    while let Ok(bytes @ 1..) = client.read(&mut chunk) {
        thread::sleep(delay);
        if server.write_all(&chunk[..bytes]).is_err() {
            return;
        }
    }
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "still not so: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The server looks at every mount that it finds, and would wait for one that nobody serves.
fn detach_what_is_not_needed() {
    let needed = [std::env::temp_dir(), "/proc".into(), "/dev".into()];
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let points = mounts.lines().rev().filter_map(|line| line.split(' ').nth(1));
    for point in points.filter(|point| !needed.iter().any(|path| path.starts_with(point))) {
        // What is below another that went already is gone as well.
        let _ = rustix::mount::unmount(point, rustix::mount::UnmountFlags::DETACH);
    }
}

/// rpcbind and NFS-Ganesha, which serves a directory.
struct Server {
    home: tempfile::TempDir,
    files: PathBuf,
    running: Child,
    next: Child,
}

impl Server {
    fn start() -> Self {
        detach_what_is_not_needed();
        // Here are sockets and locks that other servers of this machine must not see.
        run("mount", &["-t", "tmpfs", "tmpfs", "/run"]);
        run("mount", &["-t", "sysfs", "sysfs", "/sys"]);
        run("ip", &["link", "set", "lo", "up"]);
        let home = tempfile::tempdir().unwrap();
        let files = home.path().join("files");
        fs::create_dir(&files).unwrap();
        let settings = format!(
            "NFS_CORE_PARAM {{ Protocols = 3; NFS_Port = {NFS}; MNT_Port = {MOUNTD}; Enable_NLM = false;\n\
             Enable_RQUOTA = false; Enable_UDP = false; }}\n\
             NFSV4 {{ Graceless = true; RecoveryRoot = \"{}\"; }}\n\
             EXPORT {{ Export_Id = 1; Path = \"{}\"; Pseudo = \"/files\"; Protocols = 3; Transports = TCP;\n\
             Access_Type = RW; Squash = No_Root_Squash; SecType = sys; Attr_Expiration_Time = 0;\n\
             FSAL {{ Name = VFS; }} }}\n",
            home.path().display(),
            files.display()
        );
        fs::write(home.path().join("ganesha.conf"), settings).unwrap();
        run("rpcbind", &[]);
        wait_until("rpcbind listens", || listens(111));
        let [mut running, next] = [(); 2].map(|()| waiting(home.path()));
        begin(&mut running);
        Self { home, files, running, next }
    }

    /// Whether a file that was removed while it was open still has a name.
    fn has_hidden(&self) -> bool {
        fs::read_dir(&self.files).unwrap().any(|entry| entry.unwrap().file_name().as_bytes().starts_with(b".nfs"))
    }

    /// Nothing may be mounted of it: it looks at every mount when it starts, and that one would wait for it.
    fn restart(&mut self) {
        self.running.kill().unwrap();
        self.running.wait().unwrap();
        // Its verifier is the second in which it started.
        thread::sleep(Duration::from_secs(1));
        begin(&mut self.next);
    }
}

/// A server that has yet to [`begin`]. It is a process already, since a new one would inherit the files that a test has
/// open, and closing them, as every exec does, asks the server that is not there to commit.
fn waiting(home: &Path) -> Child {
    let script = "read end; exec ganesha.nfsd -F -f $0/ganesha.conf -L $0/ganesha.log -p $0/ganesha.pid";
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(home).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    shell.spawn().unwrap()
}

fn begin(server: &mut Child) {
    drop(server.stdin.take());
    wait_until("the NFS server listens", || listens(NFS) && listens(MOUNTD));
}

fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

fn run(program: &str, arguments: &[&str]) {
    assert!(Command::new(program).args(arguments).status().unwrap().success(), "{program} {arguments:?}");
}

/// The file system under test, mounted.
struct Client {
    options: MountOptions,
    serving: JoinHandle<Result<(), NfsError>>,
}

impl Client {
    fn mount(server: &Server, port: u16, is_async: bool) -> Self {
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let mount = server.home.path().join("mount");
        fs::create_dir_all(&mount).unwrap();
        let options = MountOptions {
            nfs: at(port),
            mountd: at(MOUNTD),
            export: server.files.to_str().unwrap().to_owned(),
            mount,
            source: "plimsoll".to_owned(),
            attribute_seconds: 3,
            rsize: 1 << 20,
            wsize: 1 << 20,
            operations: Some(server.home.path().join("operations")),
            is_async,
            patience: Patience::default(),
        };
        let served = options.clone();
        let serving = thread::spawn(move || serve(&served));
        let line = format!("plimsoll {} fuse ", options.mount.display());
        wait_until("it is mounted", || fs::read_to_string("/proc/self/mounts").unwrap().contains(&line));
        Self { options, serving }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.options.mount.join(name)
    }

    fn counts(&self) -> serde_json::Value {
        let mut line = String::new();
        let socket = self.options.operations.as_ref().unwrap();
        UnixStream::connect(socket).unwrap().read_to_string(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn count(&self, kind: &str) -> u64 {
        self.counts()[kind].as_u64().unwrap()
    }

    fn since(&self, before: &serde_json::Value, kind: &str) -> u64 {
        self.count(kind) - before[kind].as_u64().unwrap()
    }

    fn end(self) {
        self.detach();
        self.join();
    }

    /// Unmounts as SIGTERM does it.
    fn detach(&self) {
        rustix::mount::unmount(&self.options.mount, rustix::mount::UnmountFlags::DETACH).unwrap();
    }

    /// Waits for the end of serving.
    fn join(self) {
        self.serving.join().unwrap().unwrap();
        assert!(!self.options.operations.unwrap().exists());
    }
}
