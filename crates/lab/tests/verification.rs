//! Settings on real servers: those that are in effect, those that are not, and the option files of the documents.

use plimsoll_data::target::OpenTarget;
use plimsoll_host::Home;
use plimsoll_lab::settings::variables;
use plimsoll_lab::verification::{self, ObservedBehaviour, Sight, Verifications};
use plimsoll_model::Build;
use plimsoll_model::Flavour;
use plimsoll_model::durability::Class;
use plimsoll_model::lab::{Verification, VerificationVerdict};
use plimsoll_model::statements::StatementCounts;
use plimsoll_plan::knowledge::translate;
use plimsoll_plan::lab::{Setting, file};
use plimsoll_server::{Opening, PrivateServer, baseline, options};
use plimsoll_testkit::servers::{self, SlotGuard};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const NETAPP: &str = include_str!("../../plan/tests/fixtures/netapp-tr3693-appendix-e.cnf");
const SUN: &str = include_str!("../../plan/tests/fixtures/sun-blueprint-chapter-3.cnf");
const PURE: &str = include_str!("../../plan/tests/fixtures/pure-flasharray-appendix-b.cnf");
const INSERTS: u64 = 200;

/// A server with the settings of a plan.
struct Proved {
    target: OpenTarget,
    requested: Vec<Setting>,
    // In this order, which is the order in which they are dropped.
    _home: TempDir,
    _slot: SlotGuard,
}

impl Proved {
    /// Starts a server with what it takes of `config` (lines of TOML) and of the option file `listing`.
    fn start(build: &Build, config: &str, listing: &str) -> Proved {
        let (slot, directory) = (servers::slot(), servers::home());
        let home = Home::resolve(|name| match name {
            "PLIMSOLL_HOME" => Some(directory.path().join("home").into()),
            "XDG_CACHE_HOME" => Some(std::env::temp_dir().join("plimsoll-test-cache").into()),
            _ => None,
        });
        let requested = requested(build, config, listing);
        let mut settings = baseline(build, 0);
        for Setting { name, value, at, .. } in &requested {
            settings.set(name, value, &at.to_string()).unwrap();
        }
        let server = PrivateServer::open(&home.unwrap(), "test", build, &settings, Opening::new("a test"));
        let server = server.unwrap_or_else(|error| panic!("{error}"));
        let target = OpenTarget::of_server(server, settings, "sbtest").unwrap();
        Proved { target, requested, _home: directory, _slot: slot }
    }

    fn read_back(&mut self) -> Verifications {
        let variables = variables(&mut self.target).unwrap();
        verification::read_back(&mut self.target, &self.requested, &variables).unwrap()
    }

    /// Writes a little, and waits until pages are flushed.
    fn load(&mut self, verifications: &mut Verifications) {
        let control = &mut self.target.control;
        for sql in [
            "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",
            "SET GLOBAL innodb_max_dirty_pages_pct = 0",
            "CREATE DATABASE IF NOT EXISTS sbtest",
            "CREATE TABLE sbtest.t (id INT PRIMARY KEY, filler VARCHAR(8000) CHARACTER SET latin1)",
        ] {
            control.run(sql).unwrap();
        }
        let writes_through = verification::writes_through(&variables(&mut self.target).unwrap());
        let before = Sight::of(&mut self.target).unwrap();
        for id in 0..INSERTS {
            self.target.control.run(&format!("INSERT INTO sbtest.t VALUES ({id}, REPEAT('x', 8000))")).unwrap();
        }
        let sent = StatementCounts { insert: INSERTS, ..StatementCounts::default() };
        let flushed = servers::wait_until(Duration::from_secs(120), || {
            let dirty = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'";
            let rows = self.target.control.rows(dirty).unwrap();
            rows.pairs().any(|(_, pages)| pages.parse::<u64>().unwrap() < INSERTS / 4)
        });
        assert!(flushed, "pages stay dirty");
        let after = Sight::of(&mut self.target).unwrap();
        verification::behaviour(
            verifications,
            &ObservedBehaviour { before: &before, after: &after, sent: &sent, connections: 1, writes_through },
        );
    }
}

fn requested(build: &Build, config: &str, listing: &str) -> Vec<Setting> {
    let text = format!(
        "name = \"settings\"\n[server]\nconfig_file = \"old.cnf\"\n[server.config]\n{config}\n\
         [workload]\nkind = \"tpcc\"\n"
    );
    let plan = file::read("plan.toml", &text, file::PlanChoices::of_seed(1), &|_| Ok(listing.to_owned())).unwrap();
    let translated = translate(&plan.variants[0].config, build.flavour, build.numbers());
    assert_eq!(translated.mistake(), None);
    let known = options::known(build, &[]).unwrap();
    for Setting { name, .. } in &translated.settings {
        assert!(known.accepts(name), "{build} does not know {name}");
    }
    translated.settings
}

fn of<'p>(verifications: &'p Verifications, name: &str) -> &'p Verification {
    verifications
        .verifications
        .iter()
        .find(|verification| verification.name == name)
        .unwrap_or_else(|| panic!("{name} was not requested"))
}

fn verdicts(binary: Option<PathBuf>) {
    let Some(binary) = binary else { return };
    let build = plimsoll_server::find::inspect(&binary).unwrap();
    let config = "innodb_doublewrite = \"OFF\"\ninnodb_flush_log_at_trx_commit = 2\ninnodb_flush_method = \"fsync\"\n\
                  innodb_read_io_threads = 999\nsort_buffer_size = \"512K\"\ntable_open_cache = 100000\n\
                  transaction_isolation = \"READ-COMMITTED\"\ninnodb_io_capacity = 300";
    let mut server = Proved::start(&build, config, "");
    let mut verifications = server.read_back();
    let missing: Vec<&str> = verifications.missing().map(|verification| verification.name.as_str()).collect();
    assert_eq!(missing, ["innodb_read_io_threads", "table_open_cache"]);

    let adjusted = of(&verifications, "innodb_read_io_threads");
    assert_eq!((adjusted.effective.as_deref(), adjusted.verdict), (Some("64"), VerificationVerdict::NotApplied));
    assert!(adjusted.log[0].contains("999 adjusted to 64"), "{:?}", adjusted.log);
    assert_eq!(adjusted.origin, "plan.toml, line 8");
    assert_eq!(of(&verifications, "innodb_doublewrite").class, Class::D2);
    assert_eq!(verifications.risks, [Class::D1, Class::D2, Class::D4].into());
    let buffered = of(&verifications, "innodb_flush_method").behaviour.as_deref().unwrap();
    assert!(buffered.starts_with("0 of "), "{buffered}");

    server.load(&mut verifications);
    let behaviour = |name: &str| of(&verifications, name).behaviour.as_deref().unwrap();
    assert!(behaviour("innodb_doublewrite").starts_with("0 pages"), "{}", behaviour("innodb_doublewrite"));
    assert!(behaviour("innodb_flush_log_at_trx_commit").starts_with("0."));
    assert_eq!(verifications.missing().count(), 2, "{:#?}", verifications.caveats);
}

#[test]
fn settings_get_their_verdicts_on_mariadb() {
    verdicts(servers::mariadb());
}

#[test]
fn settings_get_their_verdicts_on_mysql() {
    verdicts(servers::mysql());
}

/// What is said to be set, and is not done.
fn contradicted(binary: Option<PathBuf>) {
    let Some(binary) = binary else { return };
    let build = plimsoll_server::find::inspect(&binary).unwrap();
    let mut server = Proved::start(&build, "innodb_flush_log_at_trx_commit = 1\nlarge_pages = true", "");
    let mut verifications = server.read_back();
    // The variable is ON, but this machine has no huge pages set aside.
    let pages = of(&verifications, "large_pages");
    let huge = std::fs::read_to_string("/proc/sys/vm/nr_hugepages").unwrap();
    let expected = if huge.trim() == "0" { VerificationVerdict::NotApplied } else { VerificationVerdict::InEffect };
    assert_eq!((pages.effective.as_deref(), pages.verdict), (Some("ON"), expected), "{pages:?}");
    // Somebody changes it behind our back.
    server.target.control.run("SET GLOBAL innodb_flush_log_at_trx_commit = 2").unwrap();
    server.load(&mut verifications);
    let commits = of(&verifications, "innodb_flush_log_at_trx_commit");
    let shows = build.flavour == Flavour::MySql;
    assert_eq!(commits.verdict == VerificationVerdict::NotApplied, shows, "{:?}", commits.behaviour);
}

#[test]
fn behaviour_contradicts_on_mariadb() {
    contradicted(servers::mariadb());
}

#[test]
fn behaviour_contradicts_on_mysql() {
    contradicted(servers::mysql());
}

/// The documents' servers had tens of gigabytes.
fn scaled_down(build: &Build) -> &'static str {
    match build.flavour {
        Flavour::MariaDb => "innodb_buffer_pool_size = \"256M\"\ninnodb_log_file_size = \"64M\"",
        Flavour::MySql => "innodb_buffer_pool_size = \"256M\"\ninnodb_redo_log_capacity = \"256M\"",
    }
}

fn starts(binary: &Path, listing: &str, not_here: &[&str]) {
    let build = plimsoll_server::find::inspect(binary).unwrap();
    let mut server = Proved::start(&build, scaled_down(&build), listing);
    let verifications = server.read_back();
    for verification in verifications.missing() {
        assert!(not_here.contains(&verification.name.as_str()), "{build}: {}", verification::objection(verification));
    }
    assert!(verifications.verifications.len() > 5);
}

/// What a server of this size, on a machine without huge pages and with few descriptors, makes of the last listing.
const NOT_HERE: [&str; 6] = [
    "large_pages",
    "table_open_cache",
    "table_open_cache_instances",
    "innodb_open_files",
    "innodb_buffer_pool_instances",
    "innodb_page_cleaners",
];

/// Each document on one server at least; on both with all tests.
#[test]
fn the_documents_option_files_start_mariadb() {
    let Some(binary) = servers::mariadb() else { return };
    starts(&binary, NETAPP, &[]);
    starts(&binary, PURE, &NOT_HERE);
    if servers::all() {
        starts(&binary, SUN, &[]);
    }
}

#[test]
fn the_documents_option_files_start_mysql() {
    let Some(binary) = servers::mysql() else { return };
    starts(&binary, SUN, &[]);
    if servers::all() {
        starts(&binary, NETAPP, &[]);
        starts(&binary, PURE, &NOT_HERE);
    }
}
