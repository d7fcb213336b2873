//! Plans that repeat a matrix of I/O and a sweep over threads: `percona-io` and `pure-sweep`.

use crate::every_plan::Shortened;
use crate::harness::{Done, Lab, begin, plan_called, published, report};
use plimsoll_testkit::servers;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longer than a preset `small` takes anywhere.
const PATIENCE: Duration = Duration::from_secs(2700);

/// Runs a plan in this home, to its end.
fn lab(home: &Path, plan: &Path, options: &str) -> Done {
    let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home);
    command.arg("lab").arg(plan).args(options.split_whitespace());
    begin(command).end_within(PATIENCE).exits(0)
}

fn says_what_threads_and_files_bring(report: &Value) {
    let answer = report["answer"].as_str().expect("a sentence");
    for text in ["write-back: 64 threads read", "write-through: 64 threads read", "at a time"] {
        assert!(answer.contains(text), "{answer}");
    }
    for (id, metric) in [
        ("PE1", "requests_per_second"),
        ("PE3", "seconds_in_operations"),
        ("PE7", "p95_s"),
        ("PE9", "requests_per_second"),
        ("PE17", "requests_per_second"),
        ("PE18", "times_one_thread"),
    ] {
        let of = published(report, id, metric);
        assert!(of["measured"]["value"].as_f64().is_some_and(|value| value > 0.0), "{of:#}");
    }
    let drives = published(report, "PE29", "drives");
    assert!(drives["measured"].is_null() && drives["value"] == 6.0, "{drives:#}");
}

#[test]
fn the_matrix_of_the_article_runs_beside_its_numbers() {
    let home = servers::home();
    let text = fs::read_to_string(plan_called("percona-io")).expect("the plan");
    // Without lanes, which need root.
    let lanes = ["lane = \"ext4\"\n", "lane = \"ext4,delay=7ms\"\n"];
    assert!(lanes.iter().all(|lane| text.contains(lane)), "{text}");
    let text = lanes.iter().fold(text, |text, lane| text.replace(lane, ""));
    let text = text.replace("size = \"1G\", time = \"10s\"", "size = \"64M\", time = \"500ms\"");
    let path = home.path().join("percona-io.toml");
    fs::write(&path, text).expect("the home can be written");
    lab(home.path(), &path, "--preset small");
    says_what_threads_and_files_bring(&report(home.path(), "percona-io"));
}

/// Two lanes and twelve runs.
pub fn the_matrix_of_the_article(plan: &Shortened) {
    if !rustix::process::geteuid().is_root() {
        return servers::skip("lanes need root");
    }
    let home = servers::home();
    let (_lanes, _alone) = (servers::lanes(), servers::timed_run());
    lab(home.path(), &plan.path(), "--preset small");
    let report = report(home.path(), plan.name);
    says_what_threads_and_files_bring(&report);
    let rate = |id| published(&report, id, "requests_per_second")["measured"]["value"].as_f64().expect("a rate");
    // One thread waits 7 ms for each write, and never less.
    assert!(rate("PE8") < 1000.0 / 7.0 && rate("PE9") > rate("PE8"), "{} and {}", rate("PE8"), rate("PE9"));
}

#[test]
fn settings_of_the_article_are_translated_for_each_server() {
    for (server, texts) in [
        (servers::mariadb(), ["innodb_idle_flush_pct: left out", "innodb_log_file_size = 512M"]),
        (servers::mysql(), ["innodb_log_files_in_group: left out", "innodb_redo_log_capacity = 512M"]),
    ] {
        let (Some(server), home) = (server, servers::home()) else { continue };
        let done = lab(
            home.path(),
            &plan_called("pure-sweep"),
            &format!("--preset small --dry-run --server {}", server.display()),
        );
        for text in texts.into_iter().chain(["c1024", "row-log-size"]) {
            assert!(done.out.contains(text), "`{text}` is not in: {done}");
        }
    }
}

#[test]
fn data_are_copied_once_for_each_variant() {
    let Some(desk) = Lab::mariadb() else { return };
    let plan = desk.plan(
        "once",
        "[workload]\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 1000\n[load]\nconnections = [1, 2]\nrate = 200\n\
         [trials]\nrestore = \"once\"\norder = \"sequential\"\nwarmup = \"0s\"\nmeasure = \"1s\"\nrounds = 1\n\
         [[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n",
    );
    desk.does(&format!("lab {}", plan.display()));
    let recordings = desk.recordings();
    let [recording] = recordings.as_slice() else { panic!("{recordings:?}") };
    let mut trials: Vec<PathBuf> =
        fs::read_dir(recording.join("trials")).expect("trials").map(|entry| entry.expect("an entry").path()).collect();
    trials.sort();
    let outcome = |trial: &PathBuf| -> Value {
        let text = fs::read_to_string(trial.join("outcome.json")).expect("an outcome");
        serde_json::from_str(&text).expect("JSON")
    };
    let outcomes: Vec<Value> = trials.iter().map(outcome).collect();
    let copied: Vec<bool> = outcomes.iter().map(|of| of["restored"]["dataset"].is_string()).collect();
    assert_eq!(copied, [true, false, true, false], "{outcomes:#?}");
    assert!(outcomes[1]["caveats"].to_string().contains("not_restored"), "{:#}", outcomes[1]);
}

/// A sweep up to 1,024 connections.
pub fn sweeps_to_the_end(plan: &Shortened, server: Option<PathBuf>) {
    let (Some(server), home) = (server, servers::home()) else { return };
    let _slots = servers::slots(2);
    let done = lab(home.path(), &plan.path(), &format!("--preset small --json --server {}", server.display()));
    let summary = done.json();
    assert_eq!((&summary["trials"]["failed"], &summary["interrupted"]), (&0.into(), &false.into()), "{summary:#}");
    let most = |cell: &&Value| cell["variant"] == "suggested" && cell["connections"] == 1024 && cell["rounds"] == 1;
    assert!(summary["cells"].as_array().expect("cells").iter().any(|cell| most(&cell)), "{summary:#}");
    let report = report(home.path(), plan.name);
    assert!(report["answer"].as_str().is_some_and(|answer| answer.contains("default carries most at")), "{report:#}");
    let rate = published(&report, "PU1", "transactions_per_second");
    assert!(rate["measured"]["value"].as_f64().is_some_and(|value| value > 0.0), "{rate:#}");
}
