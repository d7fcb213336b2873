//! Loading into real servers, with a small dataset that has everything that a dataset may have.

use plimsoll_data::DataError;
use plimsoll_data::dataset;
use plimsoll_data::drop::{Dropped, drop_named};
use plimsoll_data::load::{LoadSummary, load};
use plimsoll_data::target::{OpenTarget, TargetSpec};
use plimsoll_engine::Failure;
use plimsoll_engine::control::Control;
use plimsoll_engine::endpoint::Password;
use plimsoll_host::Home;
use plimsoll_model::NamedScalars;
use plimsoll_plan::Target;
use plimsoll_testkit::servers::{self, SlotGuard};
use plimsoll_watch::{Event, Watcher};
use plimsoll_workloads::dataset::{Dataset, DatasetNames, DatasetTable, Routine};
use std::cell::Cell;
use std::ffi::OsString;
use std::path::PathBuf;

const PARENTS: u64 = 40;
const CHILDREN: u64 = 3_000;

/// Two tables, one of several rows per id, with an index, a procedure and a foreign key.
struct Family;

impl Family {
    fn rows(table: usize, id: u64) -> Vec<String> {
        match table {
            0 => vec![format!("{id}\tparent {id}")],
            _ => (0..=id % 3).map(|line| format!("{id}\t{line}\t{}", id % PARENTS + 1)).collect(),
        }
    }

    fn count(table: usize, ids: u64) -> u64 {
        (1..=ids).map(|id| Family::rows(table, id).len() as u64).sum()
    }

    fn table(number: usize, name: &str, columns: &str, ids: u64, chunk: u64) -> DatasetTable {
        DatasetTable {
            name: name.to_owned(),
            create: format!("CREATE TABLE {name} ({columns}) ENGINE = InnoDB"),
            before: Vec::new(),
            after: Vec::new(),
            ids,
            rows: Family::count(number, ids),
            chunk,
            rolls_back: true,
            doubles: None,
            bytes: 100 * ids,
            load_data: format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {name}"),
            insert: format!("INSERT INTO {name} VALUES "),
        }
    }
}

impl Dataset for Family {
    fn family(&self) -> &'static str {
        "family"
    }

    fn parameters(&self) -> NamedScalars {
        [("children".to_owned(), CHILDREN.into())].into()
    }

    fn seed(&self) -> u64 {
        1
    }

    fn tables(&self) -> Vec<DatasetTable> {
        let parent = Family::table(0, "parent", "id INT PRIMARY KEY, name VARCHAR(20)", PARENTS, 10);
        let columns = "id INT, line INT, parent INT, PRIMARY KEY (id, line)";
        let child = Family::table(1, "child", columns, CHILDREN, 100);
        vec![parent, DatasetTable { after: vec!["CREATE INDEX of_parent ON child (parent)".to_owned()], ..child }]
    }

    fn routines(&self) -> Vec<Routine> {
        let count = "CREATE PROCEDURE count_children() SELECT COUNT(*) FROM child".to_owned();
        let two = "CREATE PROCEDURE two() BEGIN SELECT 1; SELECT 2; END".to_owned();
        vec![
            Routine { name: "count_children".to_owned(), create: count },
            Routine { name: "two".to_owned(), create: two },
        ]
    }

    fn after_all(&self) -> Vec<String> {
        vec!["ALTER TABLE child ADD CONSTRAINT child_of FOREIGN KEY (parent) REFERENCES parent (id)".to_owned()]
    }

    fn append_tsv(&self, table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        let rows = Family::rows(table, id);
        rows.iter().for_each(|row| out.extend_from_slice(format!("{row}\n").as_bytes()));
        rows.len() as u64
    }

    fn append_values(&self, table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        let rows = Family::rows(table, id);
        let list = |row: &String| format!("('{}')", row.replace('\t', "','"));
        out.extend_from_slice(rows.iter().map(list).collect::<Vec<_>>().join(",").as_bytes());
        rows.len() as u64
    }
}

fn drop_family(target: &mut OpenTarget) -> Result<Dropped, DataError> {
    drop_named(target, "family", &|_| Ok(Some(DatasetNames::of(&Family))))
}

/// The same with a statement at the end that no server accepts.
struct Broken;

impl Dataset for Broken {
    fn family(&self) -> &'static str {
        Family.family()
    }

    fn parameters(&self) -> NamedScalars {
        Family.parameters()
    }

    fn seed(&self) -> u64 {
        Family.seed()
    }

    fn tables(&self) -> Vec<DatasetTable> {
        Family.tables()
    }

    fn after_all(&self) -> Vec<String> {
        vec!["CREATE INDEX of_nothing ON child (nothing)".to_owned()]
    }

    fn append_tsv(&self, table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        Family.append_tsv(table, id, out)
    }

    fn append_values(&self, table: usize, id: u64, out: &mut Vec<u8>) -> u64 {
        Family.append_values(table, id, out)
    }
}

/// Lets everything happen, or wants the load to end once it has begun.
struct Quiet {
    interrupts: bool,
    seen: Cell<bool>,
}

impl Watcher for Quiet {
    fn tell(&mut self, event: Event<'_>) {
        if let Event::Load(progress) = event {
            assert!(progress.rows_before <= progress.rows && progress.rows <= progress.rows_total);
            self.seen.set(true);
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupts
    }
}

struct Lab {
    target: OpenTarget,
    _slot: SlotGuard,
    _home: Box<dyn std::any::Any>,
}

impl Lab {
    fn on(server: PathBuf) -> Lab {
        let slot = servers::slot();
        let directory = servers::home();
        let variable = |name: &str| (name == "PLIMSOLL_HOME").then(|| OsString::from(directory.path()));
        let home = Home::resolve(variable).expect("a home");
        let spec = TargetSpec {
            target: Target::Private(server.display().to_string()),
            password: Password::default(),
            default_user: "root".to_owned(),
            database: None,
            holder: "a test".to_owned(),
        };
        let target = OpenTarget::open(&spec, &home, &mut quiet()).expect("a server");
        Lab { target, _slot: slot, _home: Box::new(directory) }
    }

    #[track_caller]
    fn sql(&mut self, statement: &str) -> Vec<Vec<Option<String>>> {
        let rows = self.target.control.rows(statement);
        rows.unwrap_or_else(|failure| panic!("{statement}: {failure}")).rows
    }

    #[track_caller]
    fn value(&mut self, query: &str) -> String {
        self.sql(query)[0].last().cloned().flatten().unwrap_or_default()
    }

    fn checksums(&mut self) -> Vec<Vec<Option<String>>> {
        self.sql("CHECKSUM TABLE sbtest.parent, sbtest.child EXTENDED")
    }

    fn load(&mut self, threads: usize) -> Result<LoadSummary, DataError> {
        load(&mut self.target, &Family, threads, &mut quiet())
    }

    fn marker(&mut self) -> dataset::Marker {
        self.target.enter_database().expect("there");
        dataset::marker(&mut self.target.control, "family").expect("readable").expect("there")
    }
}

fn quiet() -> Quiet {
    Quiet { interrupts: false, seen: Cell::new(false) }
}

/// Calls `test` with a lab on each.
fn on(binaries: Vec<PathBuf>, test: impl Fn(Lab)) {
    binaries.into_iter().map(Lab::on).for_each(test);
}

#[test]
fn everything_a_dataset_has_is_made_and_dropped_again() {
    on(servers::of_each_flavour(), |mut lab| {
        let loaded = lab.load(3).expect("loaded");
        assert_eq!(loaded.rows, Family::count(0, PARENTS) + Family::count(1, CHILDREN));
        assert_eq!((loaded.rows_before, loaded.resumed, loaded.without_routines), (0, false, None));
        assert_eq!(lab.value("SELECT COUNT(*) FROM child"), Family::count(1, CHILDREN).to_string());
        assert_eq!(lab.value("CALL count_children()"), Family::count(1, CHILDREN).to_string());
        let keys = "SELECT GROUP_CONCAT(constraint_name) FROM information_schema.referential_constraints \
                    WHERE constraint_schema = 'sbtest'";
        assert_eq!(lab.value(keys), "child_of");
        let marker = lab.marker();
        assert_eq!(marker.description.routines, ["count_children", "two"]);
        for part in ["parent 31-40", "child 2901-3000", "child after 0", "after all 0"] {
            assert!(marker.done.contains(part), "{part} in {:?}", marker.done);
        }
        let error = lab.load(1).expect_err("it is there").to_string();
        assert!(
            error.contains("already has the dataset")
                && error.contains("(it is loaded)")
                && error.contains("children=3000"),
            "{error}"
        );
        assert!(drop_family(&mut lab.target).expect("dropped").database);
    });
}

#[test]
fn inserts_and_other_numbers_of_threads_give_the_same() {
    on(servers::of_one_flavour(), |mut lab| {
        let mut sums = Vec::new();
        for (threads, method) in [(1, "LOAD DATA LOCAL"), (4, "LOAD DATA LOCAL"), (2, "INSERT")] {
            lab.sql(&format!("SET GLOBAL local_infile = {}", u8::from(method != "INSERT")));
            assert_eq!(lab.load(threads).expect("loaded").method, method);
            sums.push(lab.checksums());
            drop_family(&mut lab.target).expect("dropped");
        }
        assert_eq!(sums[0], sums[1]);
        assert_eq!(sums[0], sums[2]);
    });
}

#[test]
fn what_was_made_and_not_marked_is_gone_on_with() {
    on(servers::of_one_flavour(), |mut lab| {
        lab.load(2).expect("loaded");
        let sums = lab.checksums();
        let rows =
            lab.value("SELECT COUNT(*) FROM child WHERE id BETWEEN 101 AND 300").parse::<u64>().expect("a count");
        // As a kill leaves it, at the worst moment for each: a chunk is there with its mark or not at all.
        for statement in [
            "UPDATE plimsoll_dataset SET state = 'loading' WHERE part = ''",
            "DELETE FROM plimsoll_dataset WHERE part IN ('child after 0', 'after all 0', 'child 101-200', 'child 201-300')",
            "DELETE FROM child WHERE id BETWEEN 101 AND 300",
            "DROP PROCEDURE two",
        ] {
            lab.sql(statement);
        }
        let loaded = lab.load(3).expect("continued");
        assert!(loaded.resumed && loaded.rows - loaded.rows_before == rows, "{loaded:?}");
        assert_eq!(lab.checksums(), sums);
        assert_eq!(lab.value("SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = 'sbtest'"), "2");
        // Rows that are there and not marked are never taken for ours.
        lab.sql("UPDATE plimsoll_dataset SET state = 'loading' WHERE part = ''");
        lab.sql("DELETE FROM plimsoll_dataset WHERE part = 'child 101-200'");
        let error = lab.load(1).expect_err("rows are there twice").to_string();
        assert!(error.contains("101 to 200 of child"), "{error}");
    });
}

#[test]
fn procedures_of_others_are_left_alone() {
    on(servers::of_one_flavour(), |mut lab| {
        lab.sql("CREATE DATABASE sbtest");
        lab.sql("CREATE PROCEDURE sbtest.two() SELECT 'precious'");
        let error = lab.load(1).expect_err("somebody else's").to_string();
        assert!(error.contains("procedure `two`") && error.contains("does not touch"), "{error}");
        assert!(lab.sql("SHOW TABLES FROM sbtest").is_empty(), "nothing was created");
        lab.sql("DROP PROCEDURE sbtest.two");
        lab.load(2).expect("loaded");
        drop_family(&mut lab.target).expect("dropped");
        let left = "SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = 'sbtest'";
        assert_eq!(lab.value(left), "0");
    });
}

#[test]
fn without_the_right_to_make_procedures_the_rest_is_loaded() {
    on(servers::of_one_flavour(), |mut lab| {
        lab.sql("CREATE DATABASE sbtest");
        lab.sql("CREATE USER guest@localhost");
        lab.sql("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP, REFERENCES ON sbtest.* TO guest@localhost");
        lab.target.endpoint.user = "guest".to_owned();
        let root = std::mem::replace(
            &mut lab.target.control,
            Control::open(&lab.target.endpoint).expect("the guest may log in"),
        );
        // The guest may not change the server either: it is somebody else's.
        let ours = lab.target.server.take();
        let loaded = lab.load(2).expect("loaded");
        assert!(loaded.without_routines.is_some_and(|why| why.contains("denied")));
        assert_eq!(lab.marker().description.routines, Vec::<String>::new());
        assert_eq!(lab.marker().state, dataset::DatasetState::Loaded);
        assert!(!drop_family(&mut lab.target).expect("dropped").database);
        std::mem::drop(root);
        lab.target.server = ours;
    });
}

const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE variable_name LIKE 'innodb%'";

#[test]
fn settings_of_the_server_are_put_back_after_every_end() {
    on(servers::of_each_flavour(), |mut lab| {
        lab.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
        let before = lab.sql(SETTINGS);
        lab.load(2).expect("loaded");
        assert_eq!(lab.sql(SETTINGS), before, "after success");
        drop_family(&mut lab.target).expect("dropped");
        let mut watcher = Quiet { interrupts: true, seen: Cell::new(false) };
        let end = load(&mut lab.target, &Family, 1, &mut watcher);
        assert!(matches!(end, Err(DataError::Interrupted)) && watcher.seen.get(), "{end:?}");
        assert_eq!(lab.sql(SETTINGS), before, "after an interrupt");
        drop_family(&mut lab.target).expect("dropped");
        let error = load(&mut lab.target, &Broken, 2, &mut quiet()).expect_err("no such column").to_string();
        assert!(error.contains("Key column 'nothing'"), "{error}");
        assert_eq!(lab.sql(SETTINGS), before, "after an error");
        let parts = lab.value("SELECT COUNT(*) FROM sbtest.plimsoll_dataset WHERE part = 'instance'");
        assert_eq!(parts, "0");
    });
}

#[test]
fn another_datasets_killed_load_is_tidied_up_too() {
    let Some(mut lab) = servers::mariadb().map(Lab::on) else { return };
    lab.load(1).expect("loaded");
    let server = plimsoll_host::process::Identity::of(lab.target.server.as_ref().expect("private").pid());
    let values =
        serde_json::json!({ "innodb_max_dirty_pages_pct_lwm": "7.000000", "innodb_flush_log_at_trx_commit": "0" });
    let leave = |lab: &mut Lab, server: serde_json::Value| {
        let detail = serde_json::json!({ "server": server, "values": values }).to_string();
        lab.sql("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 9");
        dataset::set_detail(&mut lab.target.control, "family", dataset::INSTANCE, &detail).expect("written");
    };
    leave(&mut lab, serde_json::to_value(&server).expect("JSON"));
    lab.target.database = "another".to_owned();
    lab.load(1).expect("loaded");
    assert_eq!(lab.value("SELECT @@global.innodb_max_dirty_pages_pct_lwm"), "7.000000");
    assert_eq!(
        lab.value("SELECT @@global.innodb_flush_log_at_trx_commit"),
        "1",
        "no load changes it: somebody wrote it"
    );
    assert_eq!(lab.value("SELECT COUNT(*) FROM sbtest.plimsoll_dataset WHERE part = 'instance'"), "0");
    // A server that was started since has its own settings.
    lab.target.database = "sbtest".to_owned();
    lab.marker();
    leave(&mut lab, serde_json::json!({ "pid": 1, "start_ticks": 1, "boot_id": "another" }));
    drop_family(&mut lab.target).expect("dropped");
    assert_eq!(lab.value("SELECT @@global.innodb_max_dirty_pages_pct_lwm"), "9.000000");
}

#[test]
fn a_setting_that_cannot_be_put_back_is_named() {
    let Some(mut lab) = servers::mariadb().map(Lab::on) else { return };
    lab.load(1).expect("loaded");
    let server = plimsoll_host::process::Identity::of(lab.target.server.as_ref().expect("private").pid());
    let detail = serde_json::json!({ "server": server, "values": { "innodb_adaptive_flushing": "maybe" } }).to_string();
    dataset::set_detail(&mut lab.target.control, "family", dataset::INSTANCE, &detail).expect("written");
    let error = drop_family(&mut lab.target).expect_err("it is no value").to_string();
    assert!(error.contains("innodb_adaptive_flushing could not be restored to maybe"), "{error}");
    assert!(lab.marker().description.routines.len() == 2, "nothing was dropped");
    assert!(matches!(lab.target.control.run("SELECT 1 FROM nowhere"), Err(Failure::Server(_))));
}
