//! From nothing to a report.

use crate::harness::{Done, Lab, Neighbour, begin};
use plimsoll_testkit::servers::skip;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SMALL: &str = "quickstart --time 500ms --rounds 1 --connections 1,2,4 --table-size 2000";

/// The report, whose path is the last line of the output.
fn report(done: &Done) -> PathBuf {
    let path = PathBuf::from(done.out.trim_end().lines().last().expect("a last line"));
    assert!(path.is_absolute() && path.is_file(), "{done}");
    path
}

/// The page needs nothing but itself; a script, where one was built in, stands in it.
fn stands_alone(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>") || page.starts_with("<!doctype html>"));
    assert!(page.contains("<svg") && page.trim_end().ends_with("</html>"));
    // The script comes last, and names the licence of what it is made of.
    let page = page.rsplit_once("<script>").map_or(page, |(before, _)| before);
    for foreign in ["<script src", "http://", "https://", "<link", "<img", "@import", "url("] {
        let found = page.match_indices(foreign).filter(|(at, _)| !page[at - 7..].starts_with("xmlns=\"")).count();
        assert_eq!(found, 0, "the page refers to something outside: {foreign}");
    }
}

/// Renders the page as a browser shows it; the picture must not be blank.
fn renders(page: &Path) {
    let directory = page.parent().expect("a directory");
    let picture = directory.join("page.png");
    let mut browser = Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,1600", "--hide-scrollbars"]);
    browser.arg(format!("--user-data-dir={}", directory.join("browser").display()));
    browser.arg(format!("--screenshot={}", picture.display())).arg(format!("file://{}", page.display()));
    if Command::new("chromium").arg("--version").output().is_err() {
        return skip("no chromium; install it");
    }
    begin(browser).end().exits(0);
    let bytes = fs::metadata(&picture).expect("a picture").len();
    // A blank page of this size is compressed to a few kilobytes.
    assert!(bytes > 30_000, "{} has {bytes} bytes", picture.display());
}

fn makes_a_report(lab: &Lab) {
    let out = lab.home().join("out");
    let done = lab.does(&format!("{SMALL} --out {}", out.display()));
    let path = report(&done);
    assert_eq!(path, out.join("report.html"));
    let page = fs::read_to_string(&path).expect("text");
    stands_alone(&page);
    for word in ["transactions", "oltp_read_write", "plimsoll"] {
        assert!(page.contains(word), "{word}");
    }
    for step in ["1 of 3", "2 of 3", "3 of 3", "rows/s"] {
        assert!(done.err.contains(step), "{step}: {done}");
    }
    for part in ["connections  transactions", "transactions per second", "peak", "limit: "] {
        assert!(done.out.contains(part), "the answer has no {part}: {done}");
    }
    assert!(lab.does("server list").out.contains("down"), "its server is stopped");
    assert_eq!(lab.recordings().len(), 1);
    renders(&path);
}

#[test]
#[ignore = "wants the machine for itself; make test-all"]
fn what_others_disturbed_is_measured_again_until_they_turn_out_to_stay() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    let neighbours = [Neighbour::moves_in(), Neighbour::moves_in()];
    let done = lab.does("quickstart --time 3s --rounds 1 --connections 1,2 --table-size 500");
    assert!(done.err.contains("2 measurements were disturbed"), "{done}");
    let recording = lab.recordings().pop().expect("a recording");
    let trials = fs::read_dir(recording.join("trials")).expect("trials").count();
    assert_eq!(trials, 3, "the third was disturbed as well, and no fourth was tried");
    let summary = fs::read_to_string(recording.join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let of = |point: usize| summary["points"][point]["trial"].as_u64();
    assert_eq!((of(0), of(1)), (Some(1), Some(2)), "{summary}");
    drop(neighbours);
}

#[test]
#[ignore = "wants the machine for itself; make test-all"]
fn a_second_measurement_counts_where_others_have_left() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    let neighbours = [Neighbour::moves_in(), Neighbour::moves_in()];
    let mut running = lab.begins("quickstart --time 3s --rounds 1 --connections 1,2 --table-size 500");
    let home = lab.home().to_owned();
    let trials = move || {
        fs::read_dir(home.join("recordings"))
            .into_iter()
            .flatten()
            .flatten()
            .flat_map(|recording| fs::read_dir(recording.path().join("trials")).into_iter().flatten().flatten())
    };
    running.wait_for("the second time", || trials().count() == 3);
    drop(neighbours);
    let done = running.end().exits(0);
    let summary = fs::read_to_string(lab.recordings()[0].join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let caveats: Vec<&str> =
        summary["caveats"].as_array().expect("a list").iter().filter_map(|it| it["code"].as_str()).collect();
    // Whether the machine was quiet then is not ours to say.
    let counts = caveats.contains(&"measured_again");
    assert!(counts || caveats.contains(&"noisy_host"), "{summary}");
    let first = summary["points"][0]["trial"].as_u64();
    assert_eq!(first, Some(if counts { 3 } else { 1 }), "{summary}");
    let report = lab.does("report quickstart --format md -o -").out;
    assert_eq!(report.contains("a second measurement at the end"), counts, "{done}\n{report}");
}

#[test]
fn a_report_is_made_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    makes_a_report(&lab);
    let again = lab.does(&format!(
        "quickstart --time 500ms --connections 1 --table-size 100 --out {}",
        lab.home().join("out").display()
    ));
    assert_eq!(report(&again), lab.home().join("out/report-2.html"), "a report that exists is kept");
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_report_is_made_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    makes_a_report(&lab);
}

#[test]
fn the_report_goes_to_the_recording_where_no_directory_is_given() {
    let Some(lab) = Lab::mariadb() else { return };
    let done = lab.does("quickstart --time 500ms --connections 1 --table-size 100");
    assert_eq!(report(&done).parent(), Some(lab.recordings()[0].as_path()));
}

#[test]
fn ctrl_c_in_the_sweep_reports_what_was_measured() {
    let Some(lab) = Lab::mariadb() else { return };
    let mut quickstart = lab.begins("quickstart --time 20s --connections 1,2,4 --table-size 2000");
    lab.wait_until_measured(&mut quickstart);
    quickstart.signal(Signal::INT);
    let done = quickstart.end().exits(130).tells(&["interrupted", "kept"]);
    stands_alone(&fs::read_to_string(report(&done)).expect("text"));
    assert!(lab.does("server list").out.contains("down"), "its server is stopped");
}

#[test]
fn ctrl_c_in_the_load_stops_the_server_and_leaves_no_report() {
    let Some(lab) = Lab::mariadb() else { return };
    let mut quickstart = lab.begins("quickstart --table-size 400000");
    lab.wait_until_loaded(&mut quickstart, "quickstart", 1);
    quickstart.signal(Signal::INT);
    quickstart.end().refuses(130, &["interrupted"]);
    assert!(lab.does("server list").out.contains("down"), "its server is stopped");
    assert!(lab.recordings().is_empty());
    lab.does("quickstart --time 500ms --connections 1 --table-size 100");
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_first() {
    let Some(lab) = Lab::mariadb() else { return };
    let file = lab.home().join("file");
    fs::write(&file, "").expect("written");
    let done = lab.ends(&format!("{SMALL} --out {}", file.join("below").display()));
    done.refuses(2, &["--out"]).in_one_message();
    assert!(!lab.home().join("servers").exists(), "nothing was started");
}
