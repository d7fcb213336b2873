//! Datasets on real servers: built, restored in every possible way, copied and verified, with files elsewhere.

use plimsoll_data::DataError;
use plimsoll_data::starting_data::{self, TrialDirectories, checksums, layout_settings};
use plimsoll_data::target::OpenTarget;
use plimsoll_host::{Home, facts};
use plimsoll_lanes::spec::Spec;
use plimsoll_lanes::{Lane, Lanes};
use plimsoll_model::Build;
use plimsoll_plan::lab::{Layout, Method, Variant, file};
use plimsoll_server::snapshot::store::{self, Stored};
use plimsoll_server::snapshot::tree;
use plimsoll_server::{Opening, TrialDirectory, baseline, registry};
use plimsoll_testkit::servers;
use plimsoll_watch::{Event, Watcher};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const DATABASE: &str = "sbtest";
const TABLES: [&str; 2] = ["sbtest1", "sbtest2"];
const LANE_BYTES: u64 = 3 << 30;
const PLAN: &str = "[workload]\nkind = \"oltp_read_write\"\ntables = 2\ntable_size = 500\n";

/// Says nothing, and is interrupted after so many questions.
struct Silent(Cell<u32>);

impl Watcher for Silent {
    fn tell(&mut self, _: Event<'_>) {}

    fn interrupted(&self) -> bool {
        self.0.set(self.0.get().saturating_sub(1));
        self.0.get() == 0
    }
}

fn patient() -> Silent {
    Silent(Cell::new(u32::MAX))
}

fn variant(text: &str) -> Variant {
    let text = format!("name = \"test\"\n{text}");
    file::read("test.toml", &text, file::PlanChoices::of_seed(1), &|_| Err("none".to_owned()))
        .unwrap()
        .variants
        .remove(0)
}

/// A home with a server build.
struct Desk {
    build: Build,
    home: Home,
    _directory: Option<TempDir>,
}

impl Desk {
    fn new(binary: &Path) -> Desk {
        let directory = servers::home();
        let desk = Desk::at(binary, &directory.path().join("home"));
        Desk { _directory: Some(directory), ..desk }
    }

    fn at(binary: &Path, root: &Path) -> Desk {
        // The cache is the user's: each test would have to initialise the servers anew.
        let home = Home::resolve(|name| match name {
            "PLIMSOLL_HOME" => Some(root.into()),
            other => std::env::var_os(other),
        });
        Desk { build: plimsoll_server::find::inspect(binary).unwrap(), home: home.unwrap(), _directory: None }
    }

    fn directories(&self, place: &Home) -> TrialDirectories {
        TrialDirectories {
            data: TrialDirectory::take(place, "lab-test", "a test").unwrap(),
            apart: Vec::new(),
            lane: None,
            lane_is_ours: false,
        }
    }

    fn obtain(&self, directories: &TrialDirectories) -> Stored {
        starting_data::obtain(&self.home, directories, &self.build, &variant(PLAN), &mut patient()).unwrap()
    }

    /// Starts the server of `directories`, asks for the checksums, changes the data and stops or kills it.
    fn trial(&self, directories: &TrialDirectories, layout: &Layout, crash: bool) -> BTreeMap<String, String> {
        let mut settings = baseline(&self.build, facts::memory_bytes());
        for (name, value) in layout_settings(directories, layout, &self.build) {
            settings.set(&name, &value, "layout").unwrap();
        }
        let server = directories.data.open(&self.build, &settings, Opening::new("a test")).unwrap();
        let mut target = OpenTarget::of_server(server, settings, DATABASE).unwrap();
        assert!(target.enter_database().unwrap());
        let tables = TABLES.map(str::to_owned);
        let before = checksums(&mut target.control, &tables).unwrap();
        target.control.run("UPDATE sbtest1 SET k = k + 1, c = REPEAT('x', id % 100)").unwrap();
        target.control.run("DELETE FROM sbtest2 WHERE id % 3 = 0").unwrap();
        let after = checksums(&mut target.control, &tables).unwrap();
        assert!(before.iter().all(|(table, sum)| after[table] != *sum), "the load changed nothing");
        let server = target.server.take().unwrap();
        drop(target);
        match crash {
            true => server.kill().unwrap(),
            false => server.stop(Duration::from_secs(60)).unwrap(),
        };
        before
    }

    /// Restores and changes the data, several times.
    fn restores(
        &self,
        directories: &TrialDirectories,
        stored: &Stored,
        layout: &Layout,
        method: Option<Method>,
        expected: Method,
    ) {
        for crash in [true, false] {
            let restored = starting_data::restore(directories, stored, layout, method, &mut patient()).unwrap();
            assert_eq!((restored.method.as_str(), restored.bytes > 1 << 20), (expected.name(), true));
            assert_eq!(restored.dataset.as_ref(), Some(&stored.description.id));
            assert_eq!(self.trial(directories, layout, crash), stored.description.checksums);
        }
    }
}

/// The settings of which a server has one.
const REDO_SETTINGS: [&str; 2] = ["innodb_log_file_size", "innodb_redo_log_capacity"];
const MIB: u64 = 1 << 20;

/// Bytes of the redo log in a data directory.
fn redo_bytes(data: &Path) -> u64 {
    let is_redo = |file: &Path| file.starts_with("#innodb_redo") || file == Path::new("ib_logfile0");
    tree::files(data).unwrap().iter().filter(|(file, _)| is_redo(file)).map(|(_, bytes)| bytes).sum()
}

/// What the dataset has of a redo log is small, and a server makes of it what it is asked for.
fn has_a_small_redo_log(desk: &Desk, directories: &TrialDirectories, stored: &Stored) {
    assert!(redo_bytes(&stored.data()) <= 16 * MIB, "{} bytes", redo_bytes(&stored.data()));
    for wanted in [128 * MIB, 1024 * MIB] {
        starting_data::restore(directories, stored, &Layout::default(), Some(Method::Copy), &mut patient()).unwrap();
        let mut settings = baseline(&desk.build, facts::memory_bytes());
        let name = REDO_SETTINGS.into_iter().find(|name| settings.get(name).is_some()).unwrap();
        settings.set(name, &wanted.to_string(), "a test").unwrap();
        let server = directories.data.open(&desk.build, &settings, Opening::new("a test")).unwrap();
        let mut target = OpenTarget::of_server(server, settings, DATABASE).unwrap();
        let rows = target.control.rows(&format!("SELECT @@GLOBAL.{name}")).unwrap();
        assert_eq!(rows.single(), Some(wanted.to_string().as_str()));
        // MySQL keeps a few of its 32 files in reserve, and makes them beside its work.
        let is_there = || redo_bytes(&directories.data.data()) >= wanted / 10 * 9;
        assert!(servers::wait_until(Duration::from_secs(60), is_there), "{}", redo_bytes(&directories.data.data()));
        target.server.take().unwrap().stop(Duration::from_secs(60)).unwrap();
    }
}

fn copied_at_home(binary: Option<PathBuf>) {
    let Some(binary) = binary else { return };
    let (desk, _slot) = (Desk::new(&binary), servers::slot());
    let directories = desk.directories(&desk.home);
    let stored = desk.obtain(&directories);
    assert_eq!(stored.description.checksums.len(), TABLES.len());
    assert_eq!((stored.description.origin.as_str(), store::list(&desk.home).unwrap().len()), ("built", 1));
    assert!(!stored.data().join("auto.cnf").exists() && !directories.data.data().exists());
    has_a_small_redo_log(&desk, &directories, &stored);
    desk.restores(&directories, &stored, &Layout::default(), Some(Method::Copy), Method::Copy);
    assert_eq!(desk.obtain(&directories), stored, "it was built again");
}

#[test]
fn mariadb_starts_from_the_same_data_each_time() {
    copied_at_home(servers::mariadb());
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn mysql_starts_from_the_same_data_each_time() {
    copied_at_home(servers::mysql());
}

fn files_apart(binary: Option<PathBuf>, doublewrite: bool) {
    let Some(binary) = binary else { return };
    let (desk, _slot) = (Desk::new(&binary), servers::slot());
    let elsewhere = servers::home();
    let place = desk.home.below(elsewhere.path()).unwrap();
    let path = elsewhere.path().to_owned();
    let apart = vec![(path.clone(), TrialDirectory::take(&place, "lab-apart", "a test").unwrap())];
    let directories = TrialDirectories { apart, ..desk.directories(&desk.home) };
    let stored = desk.obtain(&directories);
    let layout = Layout {
        redo: Some(path.clone()),
        undo: Some(path.clone()),
        doublewrite: doublewrite.then(|| path.clone()),
        tmp: Some(path.clone()),
        binlog: Some(path.clone()),
        tables: [("sbtest2".to_owned(), path.clone())].into(),
    };
    desk.restores(&directories, &stored, &layout, None, Method::Copy);
    let parts = &directories.apart[0].1;
    assert!(parts.part("tables").join(DATABASE).join("sbtest2.ibd").is_file());
    assert!(fs::read_dir(parts.part("redo")).unwrap().count() > 0);
    assert!(fs::read_dir(parts.part("binlog")).unwrap().count() > 0);
    let data = directories.data.data();
    assert!(!data.join(DATABASE).join("sbtest2.ibd").exists() && !data.join("ib_logfile0").exists());
    let unknown = Layout { tables: [("stok".to_owned(), path)].into(), ..Layout::default() };
    let error = starting_data::restore(&directories, &stored, &unknown, None, &mut patient()).unwrap_err().to_string();
    assert!(error.contains("`stok`"), "{error}");
}

#[test]
fn mariadb_finds_files_that_lie_elsewhere() {
    files_apart(servers::mariadb(), false);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn mysql_finds_files_that_lie_elsewhere() {
    files_apart(servers::mysql(), true);
}

#[test]
fn a_dataset_is_copied_to_another_path_and_a_saved_one_opened_by_name() {
    let Some(binary) = servers::mariadb() else { return };
    let (desk, _slot) = (Desk::new(&binary), servers::slot());
    let original = desk.obtain(&desk.directories(&desk.home));
    let elsewhere = servers::home();
    let place = desk.home.below(elsewhere.path()).unwrap();
    let directories = desk.directories(&place);
    let copy = desk.obtain(&directories);
    assert_eq!((&copy.description, copy.home.path()), (&original.description, place.path()));
    let named = variant(&format!("[workload]\nkind = \"oltp_read_write\"\ndataset = \"{}\"\n", copy.description.id));
    let obtain = |build: &Build, variant: &Variant| {
        starting_data::obtain(&desk.home, &directories, build, variant, &mut patient())
    };
    assert_eq!(obtain(&desk.build, &named).unwrap(), copy);
    let other = Build { version: "10.6.1-MariaDB".to_owned(), ..desk.build.clone() };
    assert!(matches!(obtain(&other, &named), Err(DataError::Refused(_))));
    let unknown = variant("[workload]\nkind = \"oltp_read_write\"\ndataset = \"nowhere\"\n");
    assert!(obtain(&desk.build, &unknown).unwrap_err().to_string().contains("`nowhere`"));
}

#[test]
fn an_interruption_leaves_nothing_half_made() {
    let Some(binary) = servers::mariadb() else { return };
    let (desk, _slot) = (Desk::new(&binary), servers::slot());
    let directories = desk.directories(&desk.home);
    let stored = desk.obtain(&directories);
    let mut impatient = Silent(Cell::new(3));
    let stopped = starting_data::restore(&directories, &stored, &Layout::default(), None, &mut impatient);
    assert!(matches!(stopped, Err(DataError::Interrupted)), "{stopped:?}");
    assert!(!directories.data.half_made_data().exists() && !directories.data.data().exists());
    let other = variant(&PLAN.replace("500", "501"));
    let stopped = starting_data::obtain(&desk.home, &directories, &desk.build, &other, &mut Silent(Cell::new(8)));
    assert!(matches!(stopped, Err(DataError::Interrupted)), "{stopped:?}");
    assert_eq!(store::list(&desk.home).unwrap().len(), 1);
    assert!(!directories.data.data().exists() && store::clean(&desk.home).0.is_empty());
}

/// A lane that goes when this does.
struct Raised<'a> {
    lanes: Lanes,
    spec: Spec,
    lane: Lane,
    _desk: &'a Desk,
}

impl<'a> Raised<'a> {
    fn new(desk: &'a Desk, name: &str) -> Option<Raised<'a>> {
        let (lanes, spec) = (Lanes::of(desk.home.path()), Spec::parse(name).unwrap());
        match lanes.up(&spec, Some(LANE_BYTES), false, &mut |_| true) {
            Ok(built) => Some(Raised { lanes, spec, lane: built.lane, _desk: desk }),
            Err(error) => {
                servers::skip(&format!("no lane {name}: {error}"));
                None
            }
        }
    }
}

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.lanes.down(&self.spec).unwrap();
    }
}

fn on_a_lane(name: &str, method: Option<Method>, expected: Method) {
    let _lanes = servers::lanes();
    for binary in servers::of_each_flavour() {
        let (desk, _slot) = (Desk::new(&binary), servers::slot());
        let Some(raised) = Raised::new(&desk, name) else { return };
        let place = desk.home.below(&raised.lane.directory).unwrap();
        let mut directories =
            TrialDirectories { lane: Some(raised.lane.clone()), lane_is_ours: true, ..desk.directories(&place) };
        let stored = desk.obtain(&directories);
        desk.restores(&directories, &stored, &Layout::default(), method, expected);
        directories.lane_is_ours = false;
        let image =
            starting_data::restore(&directories, &stored, &Layout::default(), Some(Method::ImageClone), &mut patient());
        let refused = image.unwrap_err().to_string();
        assert!(refused.contains(&format!("lane down {name}")), "what the user has on it would go back: {refused}");
        directories.data.remove().unwrap();
    }
}

#[test]
#[ignore = "mounts; make test-all"]
fn reflinks_on_xfs_give_the_same_data() {
    on_a_lane("xfs", None, Method::Reflink);
}

#[test]
#[ignore = "mounts; make test-all"]
fn snapshots_on_btrfs_give_the_same_data() {
    on_a_lane("btrfs", None, Method::BtrfsSnapshot);
}

#[test]
#[ignore = "mounts; make test-all"]
fn copies_on_ext4_give_the_same_data() {
    on_a_lane("ext4", Some(Method::Copy), Method::Copy);
}

#[test]
#[ignore = "mounts; make test-all"]
fn clones_of_an_image_give_the_same_data() {
    on_a_lane("ext4", Some(Method::ImageClone), Method::ImageClone);
}

/// Where the process that is to be killed works.
const VICTIM_HOME: &str = "PLIMSOLL_TEST_VICTIM_HOME";
const VICTIM_SERVER: &str = "PLIMSOLL_TEST_VICTIM_SERVER";

/// Builds a dataset on a lane and restores it by clones of the image until it is killed; run by another test, in a process
/// of its own.
#[test]
#[ignore = "the process that another test kills"]
fn victim() {
    let (Some(root), Some(binary)) = (std::env::var_os(VICTIM_HOME), std::env::var_os(VICTIM_SERVER)) else { return };
    let desk = Desk::at(Path::new(&binary), Path::new(&root));
    let lanes = Lanes::of(desk.home.path());
    let lane = lanes.up(&Spec::parse("ext4").unwrap(), Some(LANE_BYTES), false, &mut |_| true).unwrap().lane;
    let place = desk.home.below(&lane.directory).unwrap();
    let directories = TrialDirectories { lane: Some(lane), lane_is_ours: true, ..desk.directories(&place) };
    let stored = desk.obtain(&directories);
    loop {
        let method = Some(Method::ImageClone);
        starting_data::restore(&directories, &stored, &Layout::default(), method, &mut patient()).unwrap();
    }
}

#[test]
#[ignore = "mounts, kills; make test-all"]
fn whatever_a_kill_leaves_is_cleaned() {
    let Some(binary) = servers::mariadb() else { return };
    let _lanes = servers::lanes();
    let (desk, _slot) = (Desk::new(&binary), servers::slot());
    if Raised::new(&desk, "ext4").is_none() {
        return;
    }
    let lanes = Lanes::of(desk.home.path());
    for milliseconds in [300, 1_500, 4_000, 7_000, 9_000, 11_000, 12_500, 14_000] {
        let mut victim = Command::new(std::env::current_exe().unwrap());
        victim.args(["--exact", "victim", "--ignored", "--nocapture"]).stdout(Stdio::null()).stderr(Stdio::piped());
        victim.env(VICTIM_HOME, desk.home.path()).env(VICTIM_SERVER, &binary);
        let mut victim = victim.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        if victim.try_wait().unwrap().is_some() {
            let said = victim.wait_with_output().unwrap().stderr;
            panic!("it has ended by itself within {milliseconds} ms: {}", String::from_utf8_lossy(&said));
        }
        victim.kill().unwrap();
        victim.wait().unwrap();
        let cleaning = registry::clean(&desk.home);
        assert!(cleaning.left.is_empty(), "{:?}", cleaning.left);
        assert_eq!(lanes.clean().unwrap().1.len(), 0);
        for home in desk.home.with_places().unwrap() {
            assert!(fs::read_dir(home.servers()).into_iter().flatten().count() == 0, "{}", home.servers().display());
            let mut half = fs::read_dir(home.datasets()).into_iter().flatten().flatten();
            assert!(half.all(|entry| entry.path().extension() != Some("half".as_ref())));
        }
        for lane in lanes.list().unwrap() {
            lanes.down(&Spec::parse(&lane.name).unwrap()).unwrap();
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(desk.home.path().to_str().unwrap()), "after {milliseconds} ms: {mounts}");
    }
}
