//! `plimsoll advise --workload`: advice that is tried on a private server.

use crate::harness::{Lab, run};
use plimsoll_testkit::servers;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

/// Longer than any measuring here takes.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Each of these connections wants all of these tables, and the server may keep ten open.
const TABLES: &str =
    "--workload oltp_point_select --tables 8 --table-size 100 --connections 8 --time 1s --warmup 500ms";

fn few_tables(lab: &Lab) -> PathBuf {
    let file = lab.home().join("few-tables.cnf");
    fs::write(&file, "[mysqld]\ntable_open_cache = 10\n").expect("it can be written");
    file
}

/// The finding of this rule.
#[track_caller]
fn finding<'a>(advice: &'a Value, rule: &str) -> &'a Value {
    let steps = advice["steps"].as_array().expect("six steps");
    let mut findings = steps.iter().flat_map(|step| step["findings"].as_array().expect("findings"));
    findings.find(|finding| finding["rule"] == rule).unwrap_or_else(|| panic!("no {rule}: {advice:#}"))
}

/// What would be tried is a plan that the lab takes; what was told of the application is held against what is.
fn advice_becomes_a_plan_and_needs_are_held_against_a_look(lab: &Lab) {
    let (file, plan, needs) = (few_tables(lab), lab.home().join("advice.toml"), lab.home().join("needs.toml"));
    fs::write(&needs, "[needs]\nlatency = \"p99 < 1us\"\nreplication = true\nrecovery = \"1s\"\n")
        .expect("it can be written");
    let files = format!("--config-file {} --needs {} --plan {}", file.display(), needs.display(), plan.display());
    let advice = lab.does(&format!("advise {TABLES} {files} --json")).json();
    let found = finding(&advice, "tc.overflow");
    assert!(found["measured"].is_null() && found["line"].is_string(), "{found:#}");
    let text = fs::read_to_string(&plan).expect("it is written");
    assert!(text.contains("[[rung]]\n# tc.overflow: ") && text.contains("name = \"table-open-cache\""), "{text}");
    let planned = lab.does(&format!("lab {} --dry-run", plan.display())).out;
    assert!(planned.contains("table-open-cache"), "{planned}");
    assert!(
        finding(&advice, "needs.latency")["found"]
            .as_str()
            .is_some_and(|found| found.starts_with("p99 < 1us is needed"))
    );
    let unseen = advice["unseen"].to_string();
    assert!(unseen.contains("how long recovery takes") && unseen.contains("needs.recovery"), "{unseen}");
}

#[test]
fn advice_becomes_a_plan_and_needs_are_held_against_a_look_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    advice_becomes_a_plan_and_needs_are_held_against_a_look(&lab);
}

#[test]
#[ignore = "as on MariaDB; make test-all"]
fn advice_becomes_a_plan_and_needs_are_held_against_a_look_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    advice_becomes_a_plan_and_needs_are_held_against_a_look(&lab);
}

/// Whatever it brings on this machine, it is measured, and the option file has it only if it was kept.
fn advice_is_measured(lab: &Lab) {
    let (file, written) = (few_tables(lab), lab.home().join("kept.cnf"));
    let options = format!("--measure 10m --noisy-host --write-config {} --json", written.display());
    let words = format!("advise {TABLES} --config-file {} {options}", file.display());
    let advice = lab.begins(&words).end_within(PATIENCE).exits(0).json();
    let found = finding(&advice, "tc.overflow");
    let verdict = found["measured"]["verdict"].as_str().unwrap_or_else(|| panic!("{advice:#}"));
    let is_kept = verdict == "kept";
    assert!(is_kept || ["no_effect", "worse", "not_measurable_here"].contains(&verdict), "{found:#}");
    let text = fs::read_to_string(&written).unwrap_or_default();
    assert_eq!(text.contains(found["line"].as_str().expect("a line")), is_kept, "{text}\n{found:#}");
    let looked_at = advice["looked_at"].as_array().expect("a list").len();
    assert!(looked_at >= 3, "the rules, a look and a ladder: {advice:#}");
}

#[test]
#[ignore = "takes minutes; make test-all"]
fn advice_is_measured_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    advice_is_measured(&lab);
}

#[test]
#[ignore = "MariaDB of the next Debian; make test-all"]
fn advice_is_measured_on_mariadb_11() {
    let Some(lab) = Lab::mariadb_new() else { return };
    advice_is_measured(&lab);
}

#[test]
#[ignore = "takes minutes; make test-all"]
fn advice_is_measured_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    advice_is_measured(&lab);
}

#[test]
fn what_may_be_lost_holds_for_an_option_file_too_and_what_means_nothing_to_it_is_refused() {
    let home = servers::home();
    let advise = |words: &str| {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.arg("advise").args(words.split(' ')).current_dir(home.path());
        run(command)
    };
    let write = |name: &str, text: &str| fs::write(home.path().join(name), text).expect("it can be written");
    write("my.cnf", "[mysqld]\ninnodb_flush_log_at_trx_commit=2\n");
    write("needs.toml", "[needs]\nloss = \"machine\"\n");
    let file = "--config-file my.cnf --for mysql-9.7";
    advise(&format!("{file} --fail-on warn")).exits(1);
    advise(&format!("{file} --fail-on warn --allow d1")).exits(0);
    advise(&format!("{file} --fail-on warn --needs needs.toml")).exits(0);
    advise(&format!("{file} --needs no-such.toml")).refuses(2, &["no-such.toml"]);
    advise(&format!("{file} --time 10s")).refuses(2, &["--time"]);
    advise(&format!("{file} --interval 2s")).refuses(2, &["--interval"]);
    advise("quickstart --time 10s").refuses(2, &["--time"]);
    advise(&format!("{file} --database x")).refuses(2, &["judged without a server"]);
    advise(&format!("{file} --warmup soon")).refuses(2, &["soon"]);
    advise(&format!("{file} --warmup 1s")).refuses(2, &["--warmup", "--for"]);
    advise("--config-file my.cnf --warmup 1s").refuses(2, &["--workload"]);
    advise("quickstart --connections 64").refuses(2, &["--connections"]);
    advise("quickstart --measure 5m").refuses(2, &["--measure"]);
    advise("--target mysql://u@localhost/ --lane ext4").refuses(2, &["--lane"]);
    advise("quickstart --tables 8").refuses(2, &["--tables", "--workload"]);
    advise("quickstart --ask-password").refuses(2, &["--ask-password"]);
    advise("--walk --workload tpcc").refuses(2, &["--workload"]);
    advise("--walk --allow d1").refuses(2, &["--allow"]);
    advise("--walk --fail-on warn").refuses(2, &["--fail-on"]);
}

#[test]
fn what_advice_is_measured_on_is_checked_before_anything_is_started() {
    let Some(lab) = Lab::mariadb() else { return };
    let refused = |words: &str, texts: &[&str]| lab.ends(&format!("advise {words}")).refuses(2, texts);
    refused("--workload tpcx --measure 5m", &["tpcx"]);
    refused("--workload tpcc --table-size 5", &["table-size", "tpcc"]);
    refused("--workload tpcc --target private", &["--workload", "--target"]);
    refused("--measure 5m --config-file x", &["--workload"]);
    refused("--workload tpcc --config-file no-such.cnf", &["no-such.cnf"]);
    refused("--workload tpcc --allow d9", &["d9", "d0, a, i, d1, d1p, d2, d4, d3"]);
    refused("--workload lua:none.lua", &["--data"]);
    refused("--workload lua:none.lua --data oltp_read_write", &["none.lua"]);
    refused("--workload tpcc --data oltp_read_write", &["lua:FILE"]);
    refused("--workload tpcc --needs no-such.toml", &["no-such.toml"]);
    refused("--workload tpcc --warmup soon", &["soon"]);
    refused("--workload tpcc --lane no-such-lane", &["no-such-lane"]);
    assert!(lab.recordings().is_empty(), "nothing was started");
}

/// A pool that keeps a tenth of what is read, behind few reads a second, is enlarged and kept; a fresh lab with the option
/// file finds the same.
fn a_small_pool_is_enlarged_and_its_gain_holds(lab: &Lab) {
    if !rustix::process::geteuid().is_root() {
        return servers::skip("only root can build lanes");
    }
    let (file, written) = (lab.home().join("small-pool.cnf"), lab.home().join("kept.cnf"));
    fs::write(&file, "[mysqld]\ninnodb_buffer_pool_size = 8M\n").expect("it can be written");
    let workload = "--workload oltp_read_only --tables 1 --table-size 100000 --connections 16 --lane ext4,iops=300";
    let options = format!("--config-file {} --write-config {} --json", file.display(), written.display());
    let words = format!("advise {workload} {options} --time 5s --warmup 3s --measure 5m --noisy-host");
    let advice = lab.begins(&words).end_within(PATIENCE).exits(0).json();
    let found = finding(&advice, "mem.pool-small");
    assert_eq!(found["measured"]["verdict"], "kept", "{found:#}");
    let text = fs::read_to_string(&written).expect("something was kept");
    let line = found["line"].as_str().expect("a line");
    assert!(text.contains(line) && text.contains("# class a: "), "{text}");
    let plan = format!(
        "config_file = \"small-pool.cnf\"\nlane = \"ext4,iops=300\"\n[workload]\nkind = \"oltp_read_only\"\ntables = 1\n\
         table_size = 100000\n[load]\nconnections = 16\n[trials]\nwarmup = \"3s\"\nmeasure = \"5s\"\nrounds = \"auto\"\n\
         noisy_host = true\n[[variant]]\nname = \"before\"\n[[variant]]\nname = \"after\"\nconfig_file = \"{}\"\n",
        written.display()
    );
    let again = lab.begins(&format!("lab {} --json", lab.plan("again", &plan).display()));
    let summary = again.end_within(PATIENCE).exits(0).json();
    assert_eq!(summary["comparisons"][0]["rows"][0]["verdict"], "higher", "{:#}", summary["comparisons"]);
}

#[test]
#[ignore = "mounts; make test-all"]
fn a_small_pool_is_enlarged_and_its_gain_holds_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    a_small_pool_is_enlarged_and_its_gain_holds(&lab);
}

/// The walk with these lines typed, until nobody types any more; then its exit code and what it said.
fn walked(lab: &Lab, typed: &str, words: &str) -> (Option<i32>, String) {
    let mut command = lab.command(&format!("advise --walk{words}"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary can be run");
    child.stdin.take().expect("a pipe").write_all(typed.as_bytes()).expect("it is read");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    (output.status.code(), said)
}

/// Answers are kept: a walk that was stopped asks nothing twice.
#[test]
fn a_walk_goes_on_where_it_was_stopped() {
    let Some(lab) = Lab::mariadb() else { return };
    let server = lab.server().display().to_string();
    let first = format!("no-such-server\n{server}\noltp_point_select\n0\n2\np99 < 20\np99 < 20ms\n");
    let (code, said) = walked(&lab, &first, "");
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("accepted is a number from 1 to 65535") && said.contains("goes on here"), "{said}");
    // loss, recovery, backup, replication, isolation; no option file, no directory, no look, nothing to be tried.
    let (code, said) = walked(&lab, "none\n\n\ntrue\n\n\n\nmaybe\nno\n\n", "");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("p99 < 20ms (answered before)") && said.contains("6. Measure and adjust"), "{said}");
    assert!(said.contains("accepted is yes or no") && said.contains("not looked at"), "{said}");
    let needs = fs::read_to_string(lab.home().join("walk-needs.toml")).expect("it is kept");
    assert_eq!(needs, "[needs]\nlatency = \"p99 < 20ms\"\nloss = \"none\"\nreplication = true\n");
    let (code, said) = walked(&lab, "", " --anew");
    assert!(code == Some(130) && !said.contains("answered before"), "{said}");
}

/// What was done is not done again.
#[test]
#[ignore = "takes a minute; make test-all"]
fn a_walk_looks_once() {
    let Some(lab) = Lab::mariadb() else { return };
    let server = lab.server().display().to_string();
    let (code, said) = walked(&lab, &format!("{server}\noltp_point_select\n2\n\n\n\n\n\n\n\n\nyes\n\n"), "");
    assert_eq!((code, lab.recordings().len()), (Some(0), 1), "{said}");
    assert!(said.contains("plimsoll advise --workload oltp_point_select"), "{said}");
    let (code, said) = walked(&lab, "", "");
    assert_eq!((code, lab.recordings().len()), (Some(0), 1), "{said}");
    assert!(said.contains("the walk is over"), "{said}");
}
