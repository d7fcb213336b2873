//! Reports of recordings in every format, and recordings listed, shown and removed.

use crate::harness::{Done, Lab};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// A lab with one recording, of two load points.
fn measured(lab: &Lab) -> PathBuf {
    lab.up("");
    lab.does("load oltp_read_write --table-size 1000");
    lab.does("run oltp_read_write --connections 1,2 --time 2s --name first --seed 5");
    lab.recordings().remove(0)
}

fn shown(lab: &Lab, line: &str) -> String {
    lab.does(line).out
}

fn every_format(lab: &Lab) {
    let recording = measured(lab);
    let page = lab.home().join("page.html");
    lab.does(&format!("report {} -o {}", recording.display(), page.display()));
    let html = fs::read_to_string(&page).expect("a page");
    assert!(shown(lab, "report first -o -").starts_with("<!DOCTYPE html>"));
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("id=\"limit\"") && html.contains("<svg"));
    let short = shown(lab, "report first --short --format md");
    assert!(short.contains("## Load points") && short.contains("## Caveats"), "{short}");
    assert!(!short.contains("## Test environment"), "{short}");
    let markdown = shown(lab, "report first --format md");
    assert!(markdown.starts_with("# first\n\n**"), "{markdown}");
    let json: Value = serde_json::from_str(&shown(lab, "report first --format json")).expect("one document");
    let summary = fs::read_to_string(recording.join("summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let counts = |summary: &Value| [0, 1].map(|point| summary["points"][point]["transactions"].clone());
    assert_eq!(counts(&json["data"]["summary"]), counts(&summary), "the data are those of the recording");
    assert!(!json["data"]["trials"][1]["diagnosis"]["sentence"].is_null(), "what limited it is in the data");
    let csv = shown(lab, "report first --format csv");
    assert!(csv.starts_with("section,table,row,column,unit,value,low,high,confidence\r\n"), "{csv}");
    let rate = summary["points"][0]["transactions_per_second"].as_f64().expect("a rate");
    let cell = csv.lines().find_map(|line| line.strip_prefix("points,points,1,transactions,per s,")).expect("a cell");
    let value: f64 = cell.split(',').next().and_then(|value| value.parse().ok()).expect("a raw number");
    assert!((value - rate).abs() < 1e-6 * rate, "{cell}");
    let svg = shown(lab, "report first --format svg");
    assert!(svg.starts_with("<svg ") && svg.contains("xmlns") && !svg.contains("var("), "{svg}");
    is_a_picture_of(lab, &svg);
    // The answer is the same in all of them.
    let answer = json["answer"].as_str().expect("a sentence");
    assert!(csv.contains(answer.split(" (").next().expect("its beginning")), "{answer}");
    assert!(markdown.contains(answer.split(" (").next().expect("its beginning")), "{answer}");
}

/// The PNG has two pixels for each unit of the SVG, and not all of one colour.
fn is_a_picture_of(lab: &Lab, svg: &str) {
    let file = lab.home().join("figure.png");
    lab.does(&format!("report first -o {}", file.display()));
    let png = fs::read(&file).expect("a picture");
    assert!(png.starts_with(b"\x89PNG\r\n"), "{:?}", &png[..8]);
    let size = [16, 20].map(|at| u32::from_be_bytes(png[at..at + 4].try_into().expect("a number")));
    let of_svg = svg.split("viewBox=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a size");
    let of_svg: Vec<f64> = of_svg.split(' ').map(|number| number.parse().expect("a number")).collect();
    for (pixels, units) in size.into_iter().zip(&of_svg[2..]) {
        assert!((f64::from(pixels) - 2.0 * units).abs() < 3.0, "{size:?} for {of_svg:?}");
    }
    assert!(png.len() > 10_000, "{} bytes are an empty picture", png.len());
}

#[test]
fn a_report_comes_in_every_format_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    every_format(&lab);
    refusals(&lab);
    listed_shown_and_removed(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_report_comes_in_every_format_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    every_format(&lab);
}

fn refusals(lab: &Lab) {
    let refused = |line: &str, texts: &[&str]| lab.ends(line).refuses(2, texts).in_one_message();
    refused("report nothing", &["no recording is called `nothing`", "first"]);
    refused("report first --format svg --figure nothing", &["no figure `nothing`", "throughput"]);
    refused("report first --figure throughput", &["--figure", "svg"]);
    refused("report first -o report.docx", &["report.docx", ".html", ".svg", ".png"]);
    refused("report first --format png", &["png", "-o FILE.png"]);
    let hostile: Done = lab.ends("report \u{1b}[2J\u{202e}evil").refuses(2, &["no recording is called"]);
    assert!(!hostile.err.contains(['\u{1b}', '\u{202e}']), "{hostile}");
    let directory = lab.home().join("no-such-directory/report.md");
    lab.ends(&format!("report first -o {}", directory.display()))
        .refuses(2, &["there is no directory", "no-such-directory"]);
}

fn listed_shown_and_removed(lab: &Lab) {
    lab.does("run oltp_read_write --connections 1 --time 500ms --name first");
    let list = lab.does("recordings list --json").json();
    let rows = list.as_array().expect("a list");
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["name"] == "first" && row["status"] == "done"), "{list}");
    assert_eq!(shown(lab, "recordings list").lines().count(), 3, "a head and two lines");
    let text = shown(lab, "recordings show first");
    assert!(text.contains("connections  transactions") && text.contains("limit: "), "{text}");
    lab.ends("recordings rm first").refuses(2, &["may be any of"]);
    let id = rows[0]["recording"].as_str().expect("an id");
    lab.ends(&format!("recordings rm {id} nothing")).refuses(2, &["no recording is called `nothing`"]);
    assert_eq!(lab.recordings().len(), 2, "all are found before one is removed");
    lab.does(&format!("recordings rm {id}"));
    assert_eq!(lab.recordings().len(), 1);
    let mut running = lab.begins("run oltp_read_write --connections 1 --time 20s --name running");
    running.wait_for("a recording of its own", || lab.recordings().len() == 2);
    lab.wait_until_measured(&mut running);
    lab.ends("recordings rm running").refuses(2, &["still being written"]);
    let growing = shown(lab, "report running --format md");
    assert!(growing.contains("till running"), "{growing}");
    running.kill();
    let killed = shown(lab, "report running --format json");
    let killed: Value = serde_json::from_str(&killed).expect("one document");
    let findings = killed["findings"].to_string();
    assert!(findings.contains("summary.json"), "it says what is missing: {findings}");
    assert_eq!(lab.does("recordings list --json").json()[1]["status"], "killed");
}

#[test]
fn a_trend_of_few_recordings_says_what_it_takes() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_point_select --tables 1 --table-size 1000");
    for _ in 0..2 {
        lab.does("run oltp_point_select --time 300ms --name nightly");
    }
    let done = lab.does("report nightly --trend");
    assert!(done.err.contains("2 recordings of nightly: too few to see a change of level"), "{done}");
    let page = PathBuf::from(done.out.trim());
    // Both may have begun in one second, which is all that the names of their directories tell.
    let listed = lab.does("recordings list --json").json();
    let latest = PathBuf::from(listed[1]["directory"].as_str().expect("the latest is the last"));
    assert_eq!(page.canonicalize().expect("a page"), latest.join("trend.html").canonicalize().expect("a page"));
    let data = lab.does("report nightly --trend --format json").json();
    assert_eq!(data["data"]["lines"][0]["values"].as_array().map(Vec::len), Some(2), "{data:#}");
    let svg = lab.does("report nightly --trend --format svg --figure trend-1").out;
    assert!(svg.starts_with("<svg"), "{svg}");
    lab.ends("report nightly other --trend").refuses(2, &["--trend shows the recordings of one name"]);
    lab.ends("report nothing --trend").refuses(2, &["no recording is called `nothing`"]);
}
