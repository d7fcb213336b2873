//! Recordings that somebody changed: whatever is in them, they are either refused by name or shown, in bounded memory.

use crate::dashboard::Dashboard;
use crate::harness::{Done, Lab, run};
use crate::mutations::{Mutation, copy};
use jiff::Timestamp;
use plimsoll_host::facts::HostFacts;
use plimsoll_model::LoadPoint;
use plimsoll_model::StatementCounts;
use plimsoll_model::samples::{Interval, Phase};
use plimsoll_model::summary::{Counts, LatencyMs, ReadWriteOther};
use plimsoll_plan::plan::Measure;
use plimsoll_plan::{Plan, RunPlan};
use plimsoll_record::{LoadParameters, Parameters};
use plimsoll_record::{Manifest, Recording, Status, TrialFacts};
use plimsoll_testkit::servers;
use plimsoll_testkit::simulated::run_plan;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a process may take, bytes: several times what it needs for any recording here.
const MEMORY: u64 = 1 << 30;
/// Beside that, what the threads of a dashboard reserve and never use.
const RESERVED: u64 = 1 << 30;

const SECOND: u64 = 1_000_000_000;

/// A histogram of 49 values as it stands in a log, and some that claim what they are not: a length of 4 GiB; a range
/// up to 2⁶³ ns with five digits; a gap of 2⁶³ counts.
const HISTOGRAM: &str = "HISTFAAAACh42pNpmSzMwMDAzgABzFDqBRC7GexYwGD/ASLyXi+Ar52PBQCOawdQ";
const LENGTH: &str = "HISTFAAAAB942pNpmSz8HwgYIIAZSr0AYjeDHQsY7D9ARADnPAkx";
const RANGE: &str = "HISTFAAAAB942pNpmSzMwMDAyAABrFCasf4/BNh/gAgwAQCf/wn3";
const GAP: &str = "HISTFAAAACN42pNpmSzMwMDAyQABzFDqBRC7GexYwGD/ASLyHwYAuvAONQ==";

/// The binary, which may take only so much memory.
fn bounded(home: &Path, arguments: &[&str]) -> Done {
    let mut command = servers::plimsoll("sh", home);
    let limit = format!("ulimit -v {} && exec \"$@\"", MEMORY >> 10);
    command.args(["-c", &limit, "sh", env!("CARGO_BIN_EXE_plimsoll")]).args(arguments);
    run(command)
}

/// Some seconds of a run, as a line; everything that is counted is `count`.
fn second(t_ns: u64, seconds: f64, count: u64) -> String {
    let sent = StatementCounts { begin: count, commit: count, ..StatementCounts::default() };
    let counts = Counts { offered: count, started: count, finished: count, ..Counts::default() };
    let second = Interval {
        t_ns,
        phase: Phase::Measure,
        seconds,
        transactions: count,
        rollbacks: count,
        committed: [("new_order".to_owned(), count)].into(),
        queries: count,
        statements: ReadWriteOther { read: count, write: count, other: count },
        sent,
        errors: [(1213, count), (1205, count)].into(),
        retries: count,
        lost_connections: count,
        reconnects: count,
        counts,
        latency_ms: LatencyMs::default(),
        response_ms: None,
        loop_cpu_us: 1e3,
        scheduling_lag_ms_max: 0.1,
        completed: None,
        script_us: None,
        missing: 0,
    };
    serde_json::to_string(&second).expect("JSON")
}

/// A run of two seconds that was killed, so that everything is read again from its series; its trial's directory.
fn killed_run(home: &Path) -> PathBuf {
    let load = LoadPoint::closed(2);
    let plan = Plan::Run(RunPlan { measure: Measure::Seconds(2.0), ..run_plan(&[load]) });
    let manifest = Manifest::new("oltp-read-write", "0.1.0", Timestamp::now(), plan, HostFacts::default());
    let recording = Recording::create(&home.join("recordings"), manifest).expect("the home can be written");
    let workload = "oltp_read_write".to_owned();
    let parameters = Parameters::Load(Box::new(LoadParameters { workload, point: load, ..LoadParameters::default() }));
    let started = Timestamp::now();
    let (variant, point) = ("run".to_owned(), "c2".to_owned());
    let trial = recording.trial(&TrialFacts { index: 1, variant, point, round: 1, started, parameters });
    let directory = trial.expect("its files").directory().to_owned();
    write_seconds(&directory, &[second(0, 1.0, 10), second(SECOND, 1.0, 20)]);
    write_log(&directory, &[("0.000", HISTOGRAM), ("1.000", HISTOGRAM)]);
    directory
}

fn write_seconds(trial: &Path, seconds: &[String]) {
    let head = r#"{"schema":"plimsoll.intervals","version":1}"#;
    fs::write(trial.join("intervals.ndjson"), format!("{head}\n{}\n", seconds.join("\n"))).expect("written");
}

fn write_log(trial: &Path, lines: &[(&str, &str)]) {
    let line = |(start, text): &(&str, &str)| format!("Tag=txn.transaction.service,{start},1.000,5.0,{text}\n");
    let text: String = lines.iter().map(line).collect();
    fs::write(trial.join("latency.hlog"), text).expect("written");
}

/// What is done to a recording, where it is said to be damaged, and by which words.
type Planted = (fn(&Path), &'static str, &'static str);

/// Each of these took all memory, or ended in a panic.
#[test]
fn absurd_times_heads_and_sizes_are_refused_by_file_and_line_in_bounded_memory() {
    const LATE: u64 = u64::MAX - 10 * SECOND;
    let planted: [Planted; 6] = [
        (
            |trial| write_seconds(trial, &[second(0, 1.0, 1), second(LATE, 1.0, 1)]),
            "intervals.ndjson, line 3",
            "90 days",
        ),
        (|trial| write_seconds(trial, &[second(0, 1e300, 1)]), "intervals.ndjson, line 2", "seconds 1e300"),
        (|trial| sparse(&trial.join("host.ndjson")), "host.ndjson, line 2", "without a line break"),
        (|trial| sparse(&trial.join("trial.json")), "trial.json", "bytes; a file of its kind has at most"),
        (|trial| many(&trial.join("status.ndjson")), "status.ndjson, line ", "more memory than"),
        (|trial| heavy(&trial.join("trial.json")), "trial.json, line 1", "more values than any"),
    ];
    for (plant, place, why) in planted {
        let home = servers::home();
        plant(&killed_run(home.path()));
        let done = bounded(home.path(), &["report", "oltp-read-write", "--format", "json"]);
        done.refuses(3, &[place, why, "-oltp-read-write-"]).in_one_message();
    }
}

/// What the log of latencies cannot tell is missing from the report, which says so by file and line.
#[test]
fn histograms_that_claim_what_they_are_not_are_left_out_in_bounded_memory() {
    for (text, why) in [(LENGTH, "shorter than it says"), (RANGE, "5 digits"), (GAP, "more counts")] {
        let home = servers::home();
        let trial = killed_run(home.path());
        write_log(&trial, &[("0.000", HISTOGRAM), ("1.000", text)]);
        let done = bounded(home.path(), &["report", "oltp-read-write", "--format", "md"]).exits(0);
        assert!(done.out.contains("latency.hlog, line 2") && done.out.contains(why), "{done}");
    }
    let home = servers::home();
    sparse(&killed_run(home.path()).join("latency.hlog"));
    let done = bounded(home.path(), &["report", "oltp-read-write", "--format", "md"]).exits(0);
    assert!(done.out.contains("latency.hlog, line 3: more than"), "{done}");
}

/// The longest window that can be, of which only its ends are there; and counts that no sum holds.
#[test]
fn what_can_just_be_is_shown_in_bounded_memory() {
    let long = [second(0, 1.0, 9), second(89 * 86_400 * SECOND, 1.0, 9)];
    let large = [second(0, 1.0, u64::MAX), second(SECOND, 1.0, u64::MAX)];
    for seconds in [long, large] {
        let home = servers::home();
        write_seconds(&killed_run(home.path()), &seconds);
        for format in ["html", "json"] {
            bounded(home.path(), &["report", "oltp-read-write", "--format", format, "-o", "-"]).exits(0);
        }
    }
}

/// Makes a file 3 GiB long without writing them.
fn sparse(path: &Path) {
    File::options().append(true).open(path).and_then(|file| file.set_len(3 << 30)).expect("a sparse file");
}

/// Lines of few bytes each that take many in memory.
fn many(path: &Path) {
    let line = "{\"t_ns\":1,\"seconds\":1}\n";
    fs::write(path, "{\"schema\":\"plimsoll.status\",\"version\":1}\n".to_owned() + &line.repeat(2_000_000))
        .expect("written");
}

/// A document of few bytes for each of its values.
fn heavy(path: &Path) {
    let text = fs::read_to_string(path).expect("it is there");
    let zeros = "0,".repeat(16_000_000);
    fs::write(path, text.replacen("\"params\": {", &format!("\"params\": {{\"x\": [{zeros}0], "), 1)).expect("written");
}

/// Changes that were drawn at random, but always the same: each is shown or refused, and nothing else happens.
fn mutated(originals: &[PathBuf], numbers: std::ops::Range<u64>) {
    let home = servers::home();
    let recordings = home.path().join("recordings");
    let dashboard = Dashboard::over(home.path(), "127.0.0.1:0");
    let limit = Rlimit { current: Some(MEMORY + RESERVED), maximum: Some(MEMORY + RESERVED) };
    prlimit(Pid::from_raw(dashboard.pid() as i32), Resource::As, limit).expect("a child of ours");
    for number in numbers {
        let original = &originals[number as usize % originals.len()];
        let id = original.file_name().expect("a name").to_string_lossy().into_owned();
        let other = format!("20200101T000000Z-other-{number:04x}");
        let directory = recordings.join(&id);
        copy(original, &recordings.join(&other));
        copy(original, &directory);
        let has_variants = id.contains("-mutated-");
        let mutation = Mutation::draw(number as usize / originals.len(), number, &directory);
        mutation.apply(&directory);
        let told = |done: Done| is_clear(done, (&id, &other), &mutation);
        // All formats are of one document: where that cannot be made, one more is enough.
        let made = told(bounded(home.path(), &["report", &id, "--format", "json"]));
        let formats = if made { &["html", "md", "csv", "svg"][..] } else { &["html"] };
        for format in formats {
            told(bounded(home.path(), &["report", &id, "--format", format, "-o", "-"]));
        }
        told(bounded(home.path(), &["recordings", "show", &id]));
        let variant = if has_variants { ":small" } else { "" };
        told(bounded(home.path(), &["compare", &format!("{other}{variant}"), &format!("{id}{variant}")]));
        assert!(told(bounded(home.path(), &["recordings", "list"])), "{mutation:?}");
        let pages = ["/", "/recording/ID", "/recording/ID/report.json", "/live/ID", "/compare?a=OTHER&b=ID"];
        for page in pages {
            let answer = dashboard.get(&page.replace("ID", &id).replace("OTHER", &other));
            let is_panic =
                answer.body.contains("could not be created") || answer.body.contains("could not be followed");
            assert!(!is_panic && answer.status < 501, "{mutation:?}, {page}: {}", answer.body);
        }
        fs::remove_dir_all(&recordings).expect("removed");
    }
}

/// It was done, or refused in one message that names the recording; a damaged line by file and line. Whether it was done.
#[track_caller]
fn is_clear(done: Done, (id, other): (&str, &str), mutation: &Mutation) -> bool {
    let code = done.status.code();
    assert!(matches!(code, Some(0 | 2 | 3)) && !done.err.contains("panicked at"), "{mutation:?}: {done}");
    if code == Some(0) {
        return true;
    }
    let message: Vec<&str> = done.err.lines().filter_map(|line| line.strip_prefix("plimsoll: ")).collect();
    // A format that has nothing to show is refused whatever the recording is.
    let has_no_figure = |message: &str| message.contains("the report has no figure");
    // The side that it is compared with may be to blame for what it has and the other has not any more.
    let is_named = |message: &str| [id, other].iter().any(|name| message.contains(name)) || has_no_figure(message);
    assert!(message.len() == 1 && is_named(message[0]), "{mutation:?}: {done}");
    let is_damage = message[0].contains("was changed or is damaged");
    assert!(!is_damage || message[0].contains(", line "), "{mutation:?}: {done}");
    false
}

#[test]
fn mutated_recordings_are_shown_or_refused() {
    let home = servers::home();
    mutated(&[io(home.path())], 0..6);
    let run = killed_run(home.path()).ancestors().nth(2).expect("its recording").to_owned();
    let mut recording = Recording::reopen(&run).expect("nobody writes it");
    recording.finish(Status::Done, Timestamp::now()).expect("its end");
    drop(recording);
    mutated(&[run], 12..18);
}

#[test]
#[ignore = "200 recordings, each through every command; make test-all"]
fn two_hundred_mutated_recordings_are_shown_or_refused() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_read_write --table-size 1000");
    lab.does("load tpcc --database tpcc");
    lab.does("run oltp_read_write --connections 2 --warmup 1s --time 2s");
    lab.does("run oltp_read_write --connections 1,2 --time 2s --name sweep");
    lab.does("run oltp_read_write --connections 2 --rate 50 --time 2s --name open-loop");
    lab.does("run tpcc --database tpcc --connections 2 --time 2s");
    lab.does("server stop");
    let plan = "[workload]\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 1000\n[load]\nconnections = [2]\n\
                [trials]\nrounds = 2\nwarmup = \"1s\"\nmeasure = \"2s\"\npause = \"0s\"\n[[variant]]\n\
                name = \"small\"\nconfig = { innodb_buffer_pool_size = \"16M\" }\n[[variant]]\nname = \"large\"\n\
                config = { innodb_buffer_pool_size = \"64M\" }\n";
    lab.does(&format!("lab {}", lab.plan("mutated", plan).display()));
    io(lab.home());
    killed_run(lab.home());
    mutated(&lab.recordings(), 0..200);
}

/// A recording of one measurement of storage.
fn io(home: &Path) -> PathBuf {
    let files = home.join("files");
    fs::create_dir_all(&files).expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.env("PLIMSOLL_HOME", home).args(["io", "--test", "rndrd", "--size", "1M", "--files", "1", "--time", "1s"]);
    run({
        command.arg(&files);
        command
    })
    .exits(0);
    let recordings = fs::read_dir(home.join("recordings")).expect("recordings").flatten();
    recordings.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("-io-")).expect("its recording")
}

/// The line of the README: recordings are found however their names are spelt.
#[test]
fn names_are_found_however_they_are_spelt() {
    let home = servers::home();
    let directory = killed_run(home.path());
    let id = directory.ancestors().nth(2).and_then(Path::file_name).expect("a name").to_string_lossy().into_owned();
    let spellings =
        ["oltp_read_write", "oltp-read-write", "OLTP_Read_Write", &id.to_uppercase(), &id[17..].replace('-', "_")];
    for name in spellings {
        bounded(home.path(), &["report", name, "--format", "md"]).exits(0);
        bounded(home.path(), &["recordings", "show", name]).exits(0).tells(&[&id]);
        bounded(home.path(), &["compare", name, name]).refuses(2, &["was killed before it was finished"]);
    }
    let dashboard = Dashboard::over(home.path(), "127.0.0.1:0");
    let list = dashboard.get("/?q=OLTP-read_write").body;
    assert!(list.contains(&id), "{list}");
    bounded(home.path(), &["recordings", "rm", "oltp_read_write"]).exits(0).tells(&["removed", &id]);
}

/// There are none yet only where there are none.
#[test]
fn a_missing_manifest_is_said() {
    let home = servers::home();
    let list = "`plimsoll recordings list` says what is there";
    bounded(home.path(), &["report", "oltp_read_write"]).refuses(2, &["there are none yet"]);
    let directory = killed_run(home.path()).ancestors().nth(2).expect("its recording").to_owned();
    fs::remove_file(directory.join("manifest.json")).expect("removed");
    let path = directory.to_str().expect("UTF-8");
    for named in [path, "oltp_read_write", &format!("{path}/")] {
        for command in [&["report", named][..], &["recordings", "show", named], &["compare", named, named]] {
            bounded(home.path(), command).refuses(3, &[path, "manifest.json is missing", list]).in_one_message();
        }
    }
    bounded(home.path(), &["report", "tpcc"]).refuses(2, &["the only one there cannot be read", list]);
    bounded(home.path(), &["recordings", "list"]).exits(0).tells(&[path, "manifest.json is missing"]);
    let elsewhere = home.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a directory");
    let elsewhere = elsewhere.to_str().expect("UTF-8");
    bounded(home.path(), &["report", elsewhere]).refuses(2, &[elsewhere, "it has no manifest.json", list]);
}
