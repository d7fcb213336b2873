//! Labs on real servers that end when they have shown enough.

use crate::harness::{Lab, PATIENCE};
use crate::lab_truths::{SLEEPING, saves_sleeping_data};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const TRIALS: &str = r#"
[load]
connections = 4

[trials]
warmup = "0s"
measure = "1s"
rounds = "auto"
decide = "5%"
max_rounds = 12
"#;

/// What turns [`TRIALS`] into a switchback.
const FLIPS: &str = r#"
switchback = true
washout = "200ms"
block = "1s"
"#;

/// An update of one variant takes four times as long as one of the other: it shows on any machine.
const VARIANTS: &str = r#"
[[variant]]
name = "slow"
config = { max_connect_errors = 800 }

[[variant]]
name = "fast"
config = { max_connect_errors = 200 }
"#;

fn a_large_difference_ends_the_lab(lab: &Lab) {
    saves_sleeping_data(lab, "@@GLOBAL.max_connect_errors / 10000");
    // A machine that stalls for a second leaves each trial something to show.
    let trials = TRIALS.replace("measure = \"1s\"", "measure = \"3s\"");
    let plan = lab.plan("auto", &format!("{SLEEPING}{trials}{VARIANTS}"));
    lab.does(&format!("lab {}", plan.display()));
    let [recording] = <[_; 1]>::try_from(lab.recordings()).expect("one recording");
    let id = recording.file_name().expect("a name").to_string_lossy().into_owned();
    let found = lab.does(&format!("report {id} --format json -o -")).json();
    let summary = &found["data"]["lab"];
    let compared = &summary["comparisons"][0];
    let (row, stopping) = (&compared["rows"][0], &compared["stopping"]);
    assert_eq!((&row["verdict"], &stopping["decided"]), (&"higher".into(), &true.into()), "{compared:#}");
    let looks = stopping["looks"].as_array().expect("looks");
    let rounds = fs::read_dir(recording.join("trials")).expect("trials").count() / 2;
    assert!(looks.len() == rounds && rounds < 12, "{rounds} rounds: {compared:#}");
    let headline = summary["headline"].as_str().expect("a sentence");
    assert!(headline.contains(&format!("decided after {rounds} of up to 12 rounds")), "{headline}");
    let again = lab.does(&format!("compare {id}:slow {id}:fast --json")).json();
    assert_eq!(
        (&again["headline"], &again["equivalence"]),
        (row, &compared["equivalence"]),
        "compare and lab disagree"
    );
    let told = lab.does(&format!("lab {} --dry-run --from {id} --json", plan.display())).json();
    let reach = &told["reach"];
    assert_eq!(
        (&reach["wanted"], &reach["rounds"], &reach["trials"]),
        (&0.05.into(), &12.into(), &(2 * rounds).into())
    );
    assert!(reach["detectable"]["low"].as_f64() <= reach["detectable"]["high"].as_f64(), "{reach:#}");
}

/// What came of each trial, by the name of its directory.
fn outcomes(recording: &Path) -> BTreeMap<String, Value> {
    let trials = fs::read_dir(recording.join("trials")).expect("trials").flatten();
    let outcome = |trial: fs::DirEntry| {
        let text = fs::read_to_string(trial.path().join("outcome.json")).expect("an outcome");
        (trial.file_name().to_string_lossy().into_owned(), serde_json::from_str(&text).expect("JSON"))
    };
    trials.map(outcome).collect()
}

/// Whether a trial had its server by a start or by a flip.
fn began(outcome: &Value) -> &'static str {
    let phases = outcome["phases"].as_array().expect("phases");
    let has = |name: &str| phases.iter().any(|of| of["phase"] == name);
    match (has("start"), has("flip")) {
        (true, false) => "start",
        (false, true) => "flip",
        _ => panic!("{phases:?}"),
    }
}

/// The same two on one running server, whose setting is flipped.
fn a_large_difference_is_flipped(lab: &Lab) {
    saves_sleeping_data(lab, "@@GLOBAL.max_connect_errors / 10000");
    let one_more = VARIANTS.replace("= 800 }", "= 800, innodb_old_blocks_time = 250 }");
    let plan = lab.plan("flips", &format!("{SLEEPING}{TRIALS}{FLIPS}{one_more}"));
    let dry = lab.does(&format!("lab {} --dry-run", plan.display()));
    assert!(dry.out.contains("slow/first") && dry.out.contains("flip"), "{dry}");
    let found = lab.does(&format!("lab {} --json", plan.display())).json();
    let compared = &found["comparisons"][0];
    assert_eq!(
        (&compared["rows"][0]["verdict"], &found["trials"]["failed"]),
        (&"higher".into(), &0.into()),
        "{found:#}"
    );
    let headline = found["headline"].as_str().expect("a sentence");
    assert!(headline.contains("by flips of a running server"), "{headline}");
    let [recording] = <[_; 1]>::try_from(lab.recordings()).expect("one recording");
    let trials = outcomes(&recording);
    for (place, (name, outcome)) in trials.iter().enumerate() {
        assert_eq!(began(outcome), if place == 0 { "start" } else { "flip" }, "{name}");
        let (errors, time) = if name.contains("slow") { ("800", "250") } else { ("200", "1000") };
        let of_flip =
            outcome["verifications"].as_array().expect("settings").iter().find(|of| of["name"] == "max_connect_errors");
        let read_back = of_flip.map(|of| (&of["effective"], &of["load"]));
        assert_eq!(read_back, Some((&errors.into(), &errors.into())), "{name}");
        let variables =
            fs::read_to_string(recording.join("trials").join(name).join("variables.json")).expect("variables");
        let variables: Value = serde_json::from_str(&variables).expect("JSON");
        assert_eq!(variables["innodb_old_blocks_time"]["effective"], time, "{name}");
    }
    let id = recording.file_name().expect("a name").to_string_lossy().into_owned();
    let again = lab.does(&format!("compare {id}:slow {id}:fast --json")).json();
    assert_eq!(again["headline"], compared["rows"][0], "compare and lab disagree");
    lab.leaves_nothing();
}

#[test]
#[ignore = "blocks of seconds; make test-all"]
fn a_large_difference_is_flipped_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_large_difference_is_flipped(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_large_difference_is_flipped_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_large_difference_is_flipped(&lab);
}

/// Three rounds, whatever the plan has, and what its own rounds would show.
#[test]
fn a_pilot_says_what_its_plan_would_show_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    let plan = lab.plan(
        "pilot",
        "[workload]\nkind = \"oltp_point_select\"\ntables = 1\ntable_size = 1000\n\
        [load]\nconnections = 2\n[trials]\nrestore = \"once\"\nwarmup = \"0s\"\nmeasure = \"200ms\"\nrounds = 50\n\
        [[variant]]\nname = \"one\"\n[[variant]]\nname = \"other\"\n",
    );
    let done = lab.does(&format!("lab {} --pilot --json", plan.display()));
    assert_eq!(done.json()["trials"]["done"], 6, "{done}");
    assert!(done.err.contains("  50 rounds, about ") && done.err.contains(" show a difference of at least "), "{done}");
    assert!(done.err.contains("  a difference of 2.0 % takes "), "{done}");
}

#[test]
fn a_pilot_of_flips_has_three_rounds_of_blocks() {
    let Some(lab) = Lab::mariadb() else { return };
    saves_sleeping_data(&lab, "@@GLOBAL.max_connect_errors / 10000");
    let short = FLIPS.replace("block = \"1s\"", "block = \"500ms\"");
    let plan = lab.plan("flipped-pilot", &format!("{SLEEPING}{TRIALS}{short}{VARIANTS}"));
    let done = lab.does(&format!("lab {} --pilot --json", plan.display()));
    // On a busy machine a flip may seem to carry over, and as many rounds with restarts follow.
    let trials = if done.err.contains("/restarted") { 18 } else { 12 };
    assert_eq!(done.json()["trials"]["done"], trials, "{done}");
    assert!(done.err.contains("  12 rounds, about "), "{done}");
}

#[test]
fn a_pilot_needs_something_to_compare() {
    let Some(lab) = Lab::mariadb() else { return };
    let plan = lab.plan("alone", "[workload]\nkind = \"oltp_point_select\"\n[load]\nconnections = 2\n");
    let refused = lab.begins(&format!("lab {} --pilot", plan.display())).end();
    refused.refuses(2, &["--pilot has nothing to tell: the plan compares no variants round by round"]);
    assert!(lab.recordings().is_empty());
}

#[test]
fn a_large_difference_ends_a_lab_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_large_difference_ends_the_lab(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_large_difference_ends_a_lab_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_large_difference_ends_the_lab(&lab);
}

/// The first rung can be flipped, the second needs restarts.
const RUNGS: &str = r#"
noisy_host = true

[[rung]]
name = "fast"
config = { max_connect_errors = 200 }

[[rung]]
name = "slower"
config = { max_connect_errors = 1600, back_log = 60 }
"#;

fn a_rung_is_flipped_and_another_restarted(lab: &Lab) {
    saves_sleeping_data(lab, "@@GLOBAL.max_connect_errors / 10000");
    let base = SLEEPING.replace("sync_binlog = 0", "sync_binlog = 0, max_connect_errors = 800");
    let plan = lab.plan("rungs", &format!("{base}{TRIALS}{FLIPS}{RUNGS}"));
    let dry = lab.does(&format!("lab {} --dry-run", plan.display()));
    assert!(dry.out.contains("base/fast/with/first"), "{dry}");
    let running = lab.begins(&format!("lab {} --json", plan.display()));
    let found = running.end_within(4 * PATIENCE).exits(0).json();
    let steps = found["ladders"][0]["steps"].as_array().expect("steps");
    let verdicts: Vec<&str> = steps.iter().filter_map(|step| step["verdict"].as_str()).collect();
    assert_eq!((&verdicts[..], &found["trials"]["failed"]), (&["kept", "worse"][..], &0.into()), "{found:#}");
    assert_eq!(steps[0]["stopping"]["switchback"]["restarted"], false, "{found:#}");
    assert!(steps[1]["stopping"].get("switchback").is_none(), "{found:#}");
    let [recording] = <[_; 1]>::try_from(lab.recordings()).expect("one recording");
    for (place, (name, outcome)) in outcomes(&recording).iter().enumerate() {
        let is_flipped = name.contains("fast") && place > 0;
        assert_eq!(began(outcome), if is_flipped { "flip" } else { "start" }, "{name}");
    }
    lab.leaves_nothing();
}

#[test]
#[ignore = "30 trials; make test-all"]
fn a_rung_is_flipped_and_another_restarted_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    a_rung_is_flipped_and_another_restarted(&lab);
}

#[test]
#[ignore = "30 trials; make test-all"]
fn a_rung_is_flipped_and_another_restarted_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    a_rung_is_flipped_and_another_restarted(&lab);
}
