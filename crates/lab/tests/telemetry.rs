//! What is sampled besides a load, on real servers and with real commands.

use jiff::Timestamp;
use plimsoll_data::target::{OpenTarget, TargetSpec};
use plimsoll_engine::endpoint::Password;
use plimsoll_host::Home;
use plimsoll_host::facts::HostFacts;
use plimsoll_lab::telemetry::Collectors;
use plimsoll_lab::telemetry::status::StatusReader;
use plimsoll_model::Flavour;
use plimsoll_plan::Plan;
use plimsoll_plan::Target;
use plimsoll_plan::lab::{Collector, Where};
use plimsoll_record::Parameters;
use plimsoll_record::{Manifest, Recording, TrialFacts, TrialWriter, read};
use plimsoll_testkit::servers;
use plimsoll_testkit::simulated::run_plan;
use plimsoll_watch::Unwatched;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A little work, then what the server says it was, and whether it was counted as ours.
fn a_server_tells(server: Option<PathBuf>) {
    let Some(server) = server else { return };
    let _slot = servers::slot();
    let directory = servers::home();
    let variable = |name: &str| (name == "PLIMSOLL_HOME").then(|| OsString::from(directory.path()));
    let spec = TargetSpec {
        target: Target::Private(server.display().to_string()),
        password: Password::default(),
        default_user: "root".to_owned(),
        database: None,
        holder: "a test".to_owned(),
    };
    let mut target = OpenTarget::open(&spec, &Home::resolve(variable).unwrap(), &mut Unwatched).unwrap();
    let mut reader = StatusReader::open(&target.endpoint).unwrap();
    let selects = |target: &mut OpenTarget| {
        let rows = target.control.rows("SHOW GLOBAL STATUS LIKE 'Com_select'").unwrap();
        rows.pairs().next().unwrap().1.to_owned()
    };
    target.control.run("CREATE DATABASE work").unwrap();
    target.control.run("CREATE TABLE work.t (id INT PRIMARY KEY, v INT) ENGINE = InnoDB").unwrap();
    reader.sample(0).unwrap();
    for id in 0..100 {
        target.control.run(&format!("INSERT INTO work.t VALUES ({id}, 0)")).unwrap();
    }
    for statement in ["BEGIN", "UPDATE work.t SET v = 1", "COMMIT", "SELECT SUM(v) FROM work.t"] {
        target.control.rows(statement).unwrap();
    }
    let before = selects(&mut target);
    let sample = reader.sample(9).unwrap();
    reader.sample(10).unwrap();
    assert_eq!(selects(&mut target), before, "asking is not counted among the statements of the load");

    let told: Value = serde_json::to_value(sample).unwrap();
    let nulls: Vec<&String> = told.as_object().unwrap().iter().filter(|(_, v)| v.is_null()).map(|(k, _)| k).collect();
    let uncounted: &[&str] = match target.flavour {
        Flavour::MariaDb => &["log_fsyncs", "page_read_ms", "redo_sync_ms", "binlog_sync_ms"],
        Flavour::MySql => &[],
    };
    assert_eq!(nulls, uncounted, "{told}");
    // The server's own threads add to these, so they are lower bounds.
    assert!(sample.commits.unwrap() >= 1 && sample.questions.unwrap() >= 104, "{told}");
    assert!(sample.handler_reads.unwrap() >= 200, "an update and a scan of 100 rows: {told}");
    assert!(sample.redo_written_bytes.unwrap() > 1000 && sample.checkpoint_age_bytes.unwrap() > 1000, "{told}");
    assert!(sample.pages_dirty.unwrap() > 0 && sample.pages_total > sample.pages_free, "{told}");
    assert!(sample.checkpoint_age_max_bytes > sample.checkpoint_age_bytes, "{told}");
    assert!((2..50).contains(&sample.threads_connected.unwrap()), "{told}");
    assert_eq!((sample.deadlocks, sample.row_lock_waiting), (Some(0), Some(0)));
    assert!(sample.history_length.unwrap() < 1_000_000, "{told}");
}

#[test]
fn mariadb_tells_of_itself() {
    a_server_tells(servers::mariadb());
}

#[test]
fn mysql_tells_of_itself() {
    a_server_tells(servers::mysql());
}

fn trial(home: &Path) -> (Recording, TrialWriter) {
    let manifest = Manifest::new("watched", "0", Timestamp::now(), Plan::Run(run_plan(&[])), HostFacts::default());
    let recording = Recording::create(home, manifest).unwrap();
    let facts = TrialFacts {
        index: 1,
        variant: "a".to_owned(),
        point: "c1".to_owned(),
        round: 1,
        started: Timestamp::now(),
        parameters: Parameters::Load(Box::default()),
    };
    let writer = recording.trial(&facts).unwrap();
    (recording, writer)
}

fn collector(name: &str, command: &str) -> Collector {
    Collector { name: name.to_owned(), command: command.to_owned(), every_seconds: 0.2, at: Where::default() }
}

#[test]
fn collectors_record_numbers_and_what_went_wrong() {
    let home = tempfile::tempdir().unwrap();
    let (recording, writer) = trial(home.path());
    let mark = home.path().join("started");
    let collectors = [
        collector("busy", "echo 'busy: 12.5 %'"),
        collector("broken", "echo no array >&2; exit 3"),
        collector("silent", "echo nothing"),
        // More than a pipe holds, and something that lives on with its output open.
        collector("loud", "head -c 200000 /dev/zero | tr '\\0' x >&2; sleep 1000 & echo 5"),
        // What it starts has to end with it. It may take as long as its period.
        Collector {
            every_seconds: 1000.0,
            ..collector("endless", &format!("(sleep 1000 & echo $! > {}; wait)", mark.display()))
        },
    ];
    let begun = Instant::now() - Duration::from_secs(100);
    let watch = Collectors::start(&collectors, &writer, begun).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let of = |name: &str| {
        let view = read::open(recording.directory()).unwrap();
        let samples = view.trials[0].series().unwrap().collectors;
        samples.into_iter().filter(|sample| sample.name == name).collect::<Vec<_>>()
    };
    let all_ran =
        || of("busy").len() >= 3 && !of("loud").is_empty() && !of("broken").is_empty() && !of("silent").is_empty();
    while !(all_ran() && fs::read_to_string(&mark).is_ok_and(|text| text.ends_with('\n'))) {
        assert!(Instant::now() < deadline, "{:?}", of("busy"));
        sleep(Duration::from_millis(20));
    }
    let stopping = Instant::now();
    watch.stop().unwrap();
    assert!(stopping.elapsed() < Duration::from_secs(30), "a command that runs does not hold it up");

    let busy = of("busy");
    assert!(busy.iter().all(|sample| sample.value == Some(12.5) && sample.error.is_none()), "{busy:?}");
    assert!(busy.windows(2).all(|pair| pair[0].t_ns < pair[1].t_ns) && busy[0].t_ns > 100_000_000_000, "{busy:?}");
    let broken = of("broken").remove(0);
    assert_eq!((broken.value, broken.error.as_deref()), (None, Some("failed (exit status: 3): no array")));
    assert_eq!(of("silent")[0].error.as_deref(), Some("printed no number"));
    assert_eq!(of("loud")[0].value, Some(5.0), "{:?}", of("loud"));
    assert!(of("endless").is_empty());
    let sleeper = fs::read_to_string(&mark).unwrap();
    let left = PathBuf::from(format!("/proc/{}/cmdline", sleeper.trim()));
    // It was killed with its session; whoever inherits it may take a moment to bury it.
    while fs::read_to_string(&left).is_ok_and(|line| line.contains("sleep")) {
        assert!(Instant::now() < deadline, "{} is left", left.display());
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn without_collectors_there_is_no_file() {
    let home = tempfile::tempdir().unwrap();
    let (_recording, writer) = trial(home.path());
    Collectors::start(&[], &writer, Instant::now()).unwrap().stop().unwrap();
    assert!(!writer.directory().join("collectors.ndjson").exists());
}
