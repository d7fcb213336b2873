//! What `plimsoll sysbench` keeps of a run, what it makes of it, and whose errors it has.

use crate::drop_in::{Bench, Printed, counts};
use crate::harness::Lab;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const PASSWORD: &str = "not-to-be-seen";

/// The recordings so far, oldest first.
fn recordings(bench: &Bench) -> Vec<PathBuf> {
    let listed = fs::read_dir(bench.home().join("recordings")).into_iter().flatten();
    let mut all: Vec<PathBuf> = listed.map(|entry| entry.expect("an entry").path()).collect();
    all.sort();
    all
}

fn read(recording: &Path, file: &str) -> Value {
    let text = fs::read_to_string(recording.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    serde_json::from_str(&text).expect("JSON")
}

fn report(bench: &Bench, recording: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.env("PLIMSOLL_HOME", bench.home()).arg("report").arg(recording).args(["--format", "md", "-o", "-"]);
    let done = command.output().expect("it can be run");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn count(printed: &Printed, name: &str) -> u64 {
    counts(printed).into_iter().find(|(found, _)| found == name).map_or(0, |(_, count)| count)
}

/// Every file below.
pub fn texts(below: &Path) -> String {
    let each = fs::read_dir(below).expect("a directory").map(|entry| entry.expect("an entry").path());
    each.map(|path| match path.is_dir() {
        true => texts(&path),
        false => String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned(),
    })
    .collect()
}

/// The whole run is in a recording, with the server's version and without the password; nothing of it is printed.
fn a_run_is_recorded(lab: &Lab) {
    let Some(bench) = Bench::new() else { return };
    lab.up("");
    lab.sql(&[
        "CREATE DATABASE sbtest",
        &format!("CREATE USER bench IDENTIFIED BY '{PASSWORD}'"),
        "GRANT ALL ON *.* TO bench",
    ]);
    let socket = lab.socket();
    let line = format!(
        "oltp_read_only --mysql-socket={} --mysql-user=bench --mysql-password={PASSWORD} --tables=2 --table-size=200",
        socket.display()
    );
    assert_eq!(bench.ours(&format!("{line} prepare")).code, Some(0));
    assert_eq!(recordings(&bench).len(), 0, "what is loaded is no run");
    let printed = bench.ours(&format!("{line} --threads=4 --time=2 run"));
    assert_eq!((printed.code, printed.err.as_str()), (Some(0), ""), "{printed:#?}");
    let [recording] = &recordings(&bench)[..] else { panic!("one recording: {:?}", recordings(&bench)) };
    let (manifest, summary) = (read(recording, "manifest.json"), read(recording, "summary.json"));
    assert_eq!((&manifest["kind"], &manifest["status"]), (&"sysbench".into(), &"done".into()));
    assert!(!texts(recording).contains(PASSWORD));
    let sent = &summary["totals"]["statements"];
    let sum: u64 = sent.as_object().expect("counts").values().filter_map(Value::as_u64).sum();
    assert_eq!(sum, count(&printed, "total"), "{sent}");
    let point = &summary["points"][0];
    assert_eq!((&point["connections"], &summary["workload"]), (&4.into(), &"oltp_read_only".into()));
    let version = summary["target"]["version"].as_str().expect("a version");
    assert!(lab.sql(&["SELECT VERSION()"])[0][0].as_deref().is_some_and(|told| told.contains(version)), "{version}");
    let report = report(&bench, recording);
    assert!(report.contains("plimsoll sysbench oltp_read_only") && report.contains("--threads=4"), "{report}");

    let printed = bench.ours(&format!("{line} --threads=4 --time=2 --verdict run"));
    assert_eq!(printed.code, Some(0), "{printed:#?}");
    let [_, recording] = &recordings(&bench)[..] else { panic!("a second recording") };
    assert!(printed.err.contains(&recording.display().to_string()), "{printed:#?}");
    let durability = &read(recording, "summary.json")["target"]["durability"];
    assert_eq!(durability["innodb_flush_log_at_trx_commit"], Value::from("1"), "asked where a verdict is wanted");
    let (theirs, verdict) = printed.out.split_once("execution time (avg/stddev)").expect("the report");
    assert!(theirs.contains("transactions:") && verdict.contains("transactions per second"), "{verdict}");
}

#[test]
fn a_run_is_recorded_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_run_is_recorded(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_run_is_recorded_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_run_is_recorded(&lab);
}

#[test]
fn a_test_without_a_server_is_recorded_and_what_is_not_to_be_is_not() {
    let Some(bench) = Bench::new() else { return };
    assert_eq!(bench.ours("cpu --threads=2 --events=40 --cpu-max-prime=500 run").code, Some(0));
    let [recording] = &recordings(&bench)[..] else { panic!("one recording") };
    let summary = read(recording, "summary.json");
    assert_eq!((&summary["target"]["flavour"], &summary["points"][0]["transactions"]), (&Value::Null, &40.into()));
    let text = report(&bench, recording);
    assert!(text.contains("no server") && !text.contains("Limited by"), "{text}");
    assert_eq!(bench.ours("cpu --events=1 --recording=off run").code, Some(0));
    assert_eq!(recordings(&bench).len(), 1);
    let printed = bench.ours("cpu --events=1 --recording=off --verdict run");
    assert!(printed.code == Some(1) && printed.err.contains("--recording=off"), "{printed:#?}");
    for line in ["plain.lua --events=2 run", "queries.lua --mysql-dry-run --events=3 run"] {
        assert_eq!(bench.ours(line).code, Some(0));
    }
    assert_eq!(recordings(&bench).len(), 3);
}

/// A home that cannot be written takes nothing away from the run.
#[test]
fn a_run_that_cannot_be_recorded_goes_on_and_that_is_told() {
    let Some(bench) = Bench::new() else { return };
    fs::write(bench.home(), "a file").expect("a file where a directory should be");
    let printed = bench.ours("plain.lua --events=2 run");
    assert_eq!(printed.code, Some(0), "{printed:#?}");
    assert!(printed.err.contains("cannot record the run") && printed.err.lines().count() == 1, "{printed:#?}");
    assert_eq!(count(&printed, "total number of events"), 2);
}

/// What was measured stays, however a run ends.
#[test]
fn a_run_that_is_killed_leaves_its_seconds() {
    let Some(bench) = Bench::new() else { return };
    let mut child = bench.our_command("sleeps.lua --threads=2 --time=60 run").spawn().expect("it is begun");
    let until = Instant::now() + Duration::from_secs(40);
    let has_seconds = || {
        let trials = recordings(&bench).first().map(|recording| recording.join("trials"));
        let series = trials.and_then(|trials| fs::read_dir(trials).ok()?.next()?.ok()).map(|trial| trial.path());
        series.is_some_and(|trial| fs::metadata(trial.join("intervals.ndjson")).is_ok_and(|file| file.len() > 600))
    };
    while !has_seconds() && Instant::now() < until {
        sleep(Duration::from_millis(100));
    }
    let is_recorded = has_seconds();
    child.kill().expect("it is killed");
    child.wait().expect("it has ended");
    assert!(is_recorded, "no second was recorded");
    let text = report(&bench, &recordings(&bench)[0]);
    assert!(text.contains("summed up again from their seconds"), "{text}");
}

/// With `--compat=off` an event that meets a deadlock is tried again and any other error ends the run, in Plimsoll's words.
#[test]
fn errors_are_plimsolls_where_that_is_asked() {
    let Some(bench) = Bench::new() else { return };
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    let server = format!("--mysql-socket={} --mysql-user=root --mysql-db=mysql", lab.socket().display());
    let script = |name: &str, body: &str| {
        bench.write(name, &format!(
            "function thread_init() con = sysbench.sql.driver():connect() n = 0 end\nfunction event() n = n + 1 {body} end"
        ));
    };
    script(
        "deadlocks.lua",
        "if n % 3 == 1 then con:query(\"SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213\") end con:query('SELECT 1')",
    );
    let printed = bench.ours(&format!("deadlocks.lua {server} --events=20 --compat=off run"));
    assert_eq!(printed.code, Some(0), "{printed:#?}");
    assert_eq!(count(&printed, "total number of events"), 20, "{printed:#?}");
    assert_eq!(count(&printed, "ignored errors"), 10, "{printed:#?}");
    script("wrong.lua", "con:query('SELECT nothing FROM nowhere')");
    let printed = bench.ours(&format!("wrong.lua {server} --events=4 --compat=off run"));
    assert_eq!(printed.code, Some(1), "{printed:#?}");
    let is_named = printed.out.contains("nowhere") && !printed.out.contains("mysql_drv_query()");
    assert!(is_named, "{printed:#?}");
    let recording = recordings(&bench).pop().expect("a recording");
    assert!(read(&recording, "manifest.json")["why"].as_str().is_some_and(|why| why.contains("nowhere")));
    bench.write("absent.lua", "function thread_init() con = sysbench.sql.driver():connect() con:query('SELECT nothing FROM nowhere') end\nfunction event() end");
    let printed = bench.ours(&format!("absent.lua {server} --events=4 --compat=off run"));
    assert!(printed.code == Some(1) && printed.out.contains("nowhere"), "{printed:#?}");
    let own = fs::metadata(bench.home()).expect("a home").permissions().mode();
    assert_eq!(own & 0o077, 0, "nobody else reads the home");
}
