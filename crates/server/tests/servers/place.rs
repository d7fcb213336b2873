//! A home of its own for a test, and other processes that own a server in it.

use plimsoll_host::Home;
use plimsoll_model::Build;
use plimsoll_server::{Confinement, Opening, PrivateServer, ServerError, Settings, TrialDirectory, baseline, confine};
use plimsoll_testkit::servers;
use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

const ROLE: &str = "PLIMSOLL_TEST_ROLE";
const BASE: &str = "PLIMSOLL_TEST_BASE";
const BINARY: &str = "PLIMSOLL_TEST_BINARY";

/// The server's name in every test.
pub const NAME: &str = "test";

/// The limit of a server's memory, bytes.
pub const MEMORY: u64 = 1 << 30;

pub struct Place {
    pub home: Home,
    pub build: Build,
    base: PathBuf,
    _keep: Option<(TempDir, servers::SlotGuard)>,
}

impl Place {
    fn new(build: Build) -> Place {
        let slot = servers::slot();
        let base = servers::home();
        Place { home: home_at(base.path()), build, base: base.path().to_owned(), _keep: Some((base, slot)) }
    }

    /// The home in which another process of ours was told to work.
    fn given() -> Place {
        let base = PathBuf::from(env::var_os(BASE).unwrap());
        let build = plimsoll_server::find::inspect(Path::new(&env::var_os(BINARY).unwrap())).unwrap();
        Place { home: home_at(&base), build, base, _keep: None }
    }

    pub fn settings(&self) -> Settings {
        let mut settings = baseline(&self.build, 0);
        for (name, value) in
            [("performance_schema", "OFF"), ("innodb_buffer_pool_size", "32M"), ("max_connections", "50")]
        {
            settings.set(name, value, "test").unwrap();
        }
        for name in ["innodb_log_file_size", "innodb_redo_log_capacity"] {
            if settings.get(name).is_some() {
                settings.set(name, "16M", "test").unwrap();
            }
        }
        settings
    }

    pub fn open(&self, opening: Opening) -> Result<PrivateServer, ServerError> {
        PrivateServer::open(&self.home, NAME, &self.build, &self.settings(), opening)
    }

    /// A directory on what is taken for another disk.
    pub fn disk(&self) -> PathBuf {
        let disk = self.base.join("disk");
        std::fs::create_dir_all(&disk).unwrap();
        disk
    }

    /// The directory of a lab on that disk.
    pub fn directory(&self, holder: &str) -> Result<TrialDirectory, ServerError> {
        TrialDirectory::take(&self.home.below(&self.disk())?, "lab", holder)
    }

    pub fn path(&self) -> PathBuf {
        self.home.servers().join(NAME)
    }

    /// Runs this test program again, in the role of another Plimsoll with the same home.
    pub fn another_plimsoll(&self, role: &str) -> Other {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "place::other_plimsoll", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, role).env(BASE, &self.base).env(BINARY, &self.build.binary);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let lines = output.by_ref().lines().map(Result::unwrap);
        // libtest may have begun the line with `test place::other_plimsoll ... `.
        let said = lines.filter_map(|line| line.split_once("SAYS ").map(|s| s.1.to_owned())).next();
        Other { child, said: said.expect("the other plimsoll ended without a word"), _output: output }
    }
}

/// A limit of memory, where this machine has them.
pub fn limits() -> Confinement {
    let memory = confine::memory_can_be_limited().is_ok().then_some(MEMORY);
    Confinement { memory, ..Confinement::default() }
}

/// Runs a test on each flavour that this machine has.
#[track_caller]
pub fn on_each_server(test: impl Fn(&Place)) {
    for binary in servers::of_each_flavour() {
        test(&Place::new(plimsoll_server::find::inspect(&binary).unwrap()));
    }
}

/// Runs a test on MariaDB, where the flavour does not matter.
#[track_caller]
pub fn on_one_server(test: impl Fn(&Place)) {
    if let Some(binary) = servers::mariadb() {
        test(&Place::new(plimsoll_server::find::inspect(&binary).unwrap()));
    }
}

/// A home below `base`, with its sockets there.
pub fn home_at(base: &Path) -> Home {
    // The cache is shared by all tests and runs: initialising takes longer than most of them.
    home_with_cache(base, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"))
}

pub fn home_with_cache(base: &Path, cache: &Path) -> Home {
    let values = [
        ("PLIMSOLL_HOME", base.join("home")),
        ("XDG_CACHE_HOME", cache.to_owned()),
        ("XDG_RUNTIME_DIR", base.to_owned()),
    ];
    Home::resolve(|name| values.iter().find(|(n, _)| *n == name).map(|(_, path)| OsString::from(path))).unwrap()
}

/// Another process with a server of the same home.
pub struct Other {
    child: Child,
    pub said: String,
    // Open until the end, or the other process fails when it prints its last words.
    _output: BufReader<ChildStdout>,
}

impl Other {
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test: what the other process does. Nothing, unless it was given a role.
#[test]
fn other_plimsoll() {
    let Ok(role) = env::var(ROLE) else { return };
    let place = Place::given();
    let open = || place.open(Opening::new("the other plimsoll"));
    let opened = match role.as_str() {
        "owner" => open(),
        // From a thread that ends at once: the server must live as long as the process all the same.
        "thread" => std::thread::scope(|scope| scope.spawn(open).join().unwrap()),
        "lab" => place.directory("the other plimsoll").and_then(|directory| {
            let opening = Opening::new("the other plimsoll").confined(limits());
            directory.open(&place.build, &place.settings(), opening)
        }),
        "keeper" => place.open(Opening::new("the other plimsoll").keep_running()),
        other => panic!("unknown role {other}"),
    };
    match &opened {
        Ok(server) => println!("SAYS {}", server.pid()),
        Err(e) => println!("SAYS {e}"),
    }
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
