//! The page is well-formed, self-contained and safe, whatever it is made of.

use crate::checked::{checked, node};
use crate::formats::records;
use crate::sample::{self, html};
use plimsoll_model::Caveat;
use plimsoll_model::samples::Phase;
use plimsoll_render::script;
use plimsoll_render::{Format, render};
use roxmltree::{Document, Node};

fn all_text(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|inner| if inner.is_text() { inner.text() } else { None }).collect()
}

/// Without what only keeps words on one line.
fn untied(text: &str) -> String {
    text.replace('\u{a0}', " ").replace('\u{2060}', "")
}

fn ids(document: &Document<'_>) -> Vec<String> {
    let sections = document.descendants().filter(|node| node.has_tag_name("section"));
    sections.filter_map(|node| node.attribute("id").map(str::to_owned)).collect()
}

/// Every id of a page, and every cell of the tables, is there once.
fn named_once(of: &plimsoll_report::document::Document) {
    let page = render(of, Format::Html).expect("a page");
    let document = checked(&page);
    let all: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    assert!(all.len() > 5 && !has_twice(&all), "{all:?}");
    let csv = render(of, Format::Csv).expect("lines");
    let cells: Vec<String> = records(&csv).iter().map(|record| record[..4].join(",")).collect();
    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
    assert!(cells.len() > 50 && !has_twice(&cells), "{cells:?}");
}

fn has_twice(names: &[&str]) -> bool {
    names.iter().enumerate().any(|(at, name)| names[..at].contains(name))
}

#[test]
fn a_full_page_has_all_sections_in_order_and_points_nowhere() {
    let page = html(&sample::report());
    let document = checked(&page);
    assert_eq!(
        ids(&document),
        [
            "figure",
            "points",
            "scaling",
            "limit",
            "environment",
            "cost",
            "timeline",
            "latency",
            "settings",
            "caveats",
            "repeat"
        ]
    );
    // The bundle names the licence of what it is made of.
    let page = page.replace(script::BUNDLE.unwrap_or("<no bundle>"), "");
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("src="));
    let figures = document.descendants().filter(|node| node.has_tag_name("figure"));
    let names: Vec<&str> = figures.filter_map(|node| node.attribute("id")).collect();
    assert_eq!(
        names,
        ["figure-throughput", "figure-cpu", "figure-diagram", "figure-costs", "figure-timeline", "figure-operations"]
    );
}

#[test]
fn no_two_parts_of_a_page_or_tables_share_a_name() {
    for report in [sample::report(), sample::order_entry::report()] {
        named_once(&plimsoll_report::document(&report.recorded()));
    }
}

#[test]
fn the_answer_stands_first() {
    let page = html(&sample::report());
    let document = checked(&page);
    let answer = document.descendants().find(|node| node.attribute("class") == Some("answer")).unwrap();
    assert_eq!(
        untied(&all_text(answer)),
        "981 transactions per second at most (95 % interval 960 – 1,002) at 32 connections; limited by the server’s CPU."
    );
}

#[test]
fn peak_and_knee_are_marked_in_the_table_and_named_in_the_figure() {
    let page = html(&sample::report());
    let document = checked(&page);
    let row = |class: &str| document.descendants().find(|node| node.attribute("class") == Some(class)).unwrap();
    assert!(all_text(row("peak")).contains("981"));
    assert!(all_text(row("knee")).starts_with("knee16"));
    assert!(page.contains("peak: 981 ± 21 at 32") && page.contains("knee: 95 % of the peak at about 9 (7–13)"));
    assert!(page.contains("class=\"differs\""), "a setting that is not in effect stands out");
}

#[test]
fn text_of_a_server_is_shown_and_never_obeyed() {
    let evil = "</style></svg><script>alert(1)</script>\u{1b}[31m\u{0}\"'><img src=x onerror=y>&lt;\u{202e}]]>";
    let mut report = sample::report();
    report.title = evil.to_owned();
    report.summary.workload = evil.to_owned();
    report.summary.target.version = evil.to_owned();
    report.summary.target.durability.insert(evil.to_owned(), evil.to_owned());
    report.summary.params.insert(evil.to_owned(), evil.into());
    report.summary.caveats.push(Caveat::new(evil, evil));
    report.summary.recording = Some(evil.to_owned());
    report.facts.push((evil.to_owned(), evil.to_owned()));
    report.how_to_repeat = evil.to_owned();
    report.generated = evil.to_owned();
    for setting in report.trials.iter_mut().flat_map(|trial| &mut trial.settings) {
        setting.name = evil.to_owned();
        setting.requested = Some(evil.to_owned());
        setting.effective = Some(format!("{evil}2"));
        setting.origin = evil.to_owned();
    }
    for operation in report.summary.points.iter_mut().flat_map(|point| &mut point.operations) {
        operation.name = evil.to_owned();
    }
    let page = html(&report);
    let document = checked(&page);
    assert!(!page.contains(['\u{1b}', '\u{0}', '\u{202e}']));
    assert!(all_text(node(&document, "h1")).starts_with("</style></svg><script>alert(1)"));
}

#[test]
fn a_single_point_shows_its_seconds_and_no_peak() {
    let report = sample::first(1);
    let page = html(&report);
    let document = checked(&page);
    assert!(untied(&page).contains(
        "318 transactions per second (95 % interval 311 – 325) at 1 connection; half of them took at most 3.02 ms"
    ));
    assert!(!page.contains("class=\"tag\">peak"));
    assert!(!ids(&document).contains(&"timeline".to_owned()), "the timeline is the main figure already");
    assert!(ids(&document).contains(&"figure".to_owned()));
}

#[test]
fn an_early_interrupt_gives_a_page_of_what_is_known() {
    let mut report = sample::first(0);
    report.summary.interrupted = true;
    let page = html(&report);
    assert_eq!(ids(&checked(&page)), ["environment", "settings", "caveats", "repeat"]);
    assert!(page.contains("Nothing was measured"));
    // A trial that was cut short left some seconds.
    let mut trial = sample::report().trials.remove(0);
    trial.point = None;
    trial.series.intervals = vec![sample::interval(0, Phase::WarmUp, 100), sample::interval(1, Phase::Measure, 120)];
    report.trials.push(trial);
    let page = html(&report);
    assert_eq!(ids(&checked(&page))[0], "figure");
}

#[test]
fn missing_and_impossible_numbers_do_not_break_the_page() {
    let mut report = sample::report();
    for point in &mut report.summary.points {
        point.transactions = 0;
        point.queries = 0;
        point.transactions_per_second = None;
        point.latency_ms = Default::default();
        point.operations.clear();
        point.server = None;
        point.host = None;
        point.client = Default::default();
    }
    report.summary.scaling = None;
    report.trials.clear();
    report.summary.target.durability.clear();
    let page = html(&report);
    assert!(!ids(&checked(&page)).contains(&"cost".to_owned()));
    assert!(page.contains("No transaction succeeded; the server answered with 3\u{a0}errors"));

    let mut report = sample::report();
    for (at, point) in report.summary.points.iter_mut().enumerate() {
        point.transactions_per_second = Some([f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300, 1e-300, 5.0][at]);
        point.latency_ms.p99 = Some([f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300, 1e-300, 5.0][at]);
        point.load.connections *= at % 2;
    }
    checked(&html(&report));
}

#[test]
fn the_same_load_twice_is_not_joined_by_a_line() {
    let mut report = sample::report();
    let again = report.summary.points.clone();
    report.summary.points.extend(again);
    report.trials.extend(report.trials.clone());
    let page = html(&report);
    checked(&page);
    let main_figure = page.split("</figure>").next().unwrap();
    assert!(main_figure.contains("measured, again"), "each time has a line of its own");
}

#[test]
fn an_open_loop_is_drawn_over_its_rates() {
    let mut report = sample::report();
    for (at, point) in report.summary.points.iter_mut().enumerate() {
        point.load.connections = 16;
        point.load.rate = Some(100.0 * 2f64.powi(at as i32));
        point.response_ms = Some(point.latency_ms);
    }
    for trial in &mut report.trials {
        trial.load.connections = 16;
    }
    let page = html(&report);
    checked(&page);
    assert!(page.contains("arrivals offered per second") && page.contains("Response time"));
    assert!(untied(&page).contains("at 3,200 arrivals per second"));
    assert!(!page.contains("95\u{a0}% of that"), "the knee is one of connections");
}

#[test]
fn long_series_are_thinned_before_they_are_drawn() {
    let mut report = sample::report();
    let hour = |n| sample::interval(n, Phase::Measure, 900 + n as u64 % 7);
    for trial in &mut report.trials {
        trial.series.intervals = (0..3600).map(hour).collect();
        trial.series.host.clear();
    }
    let page = html(&report);
    checked(&page);
    assert!(page.len() < 600_000, "{} bytes", page.len());
}

#[test]
fn order_entry_is_told_in_new_orders_and_has_a_section() {
    let page = html(&sample::order_entry::report());
    let document = checked(&page);
    assert_eq!(ids(&document)[..4], ["figure", "points", "scaling", "order-entry"]);
    let answer = document.descendants().find(|node| node.attribute("class") == Some("answer")).unwrap();
    let answer = untied(&all_text(answer));
    let expected = "26,220 new orders per minute at most (95 % interval 25,669 – 26,771) at 32 connections; limited by";
    assert!(answer.starts_with(expected), "{answer}");
    assert!(page.contains("peak: 26,220 ± 551 at 32") && page.contains("new orders per minute</tspan>"));
    let section = document.descendants().find(|node| node.attribute("id") == Some("order-entry")).unwrap();
    let text = untied(&all_text(section));
    for told in [
        "TPC-C-like, profile spec, fidelity strict; at 32 connections.",
        "4,370 new orders committed, 44 rolled back for an item that does not exist, 0 failed.",
        "36,000 undelivered orders at the start, 36,412 at the end; 3 districts skipped by deliveries",
        "Retries: 2 after a record that had changed since it was read (1020), 1 after a lock wait timeout (1205), 12 after a \
         deadlock (1213).",
        "CPU per transaction: 75.4 µs in the client (95 % interval 74.5 – 76.3), 1,955 µs in the server (95 % interval \
         1,926 – 1,984).",
        "at least 43 %",
        "count rolled-back ones too: 26484 per minute",
    ] {
        assert!(text.contains(told), "{told} in {text}");
    }
    let broken: Vec<String> = section
        .descendants()
        .filter(|node| node.attribute("class") == Some("broken"))
        .map(|row| untied(&all_text(row)))
        .collect();
    assert_eq!(broken.len(), 2, "{broken:?}");
    assert!(broken[0].starts_with("delivery") && broken[0].ends_with("5no"), "{broken:?}");
    assert!(broken[1].contains("0.00 %0.95–1.05 %"), "{broken:?}");
}

#[test]
fn hostile_and_missing_numbers_of_order_entry_do_no_harm() {
    let evil = "</table><script>\u{1b}[2J\"'>";
    let mut report = sample::order_entry::report();
    for point in &mut report.summary.points {
        let entry = point.order_entry.as_mut().unwrap();
        entry.profile = evil.to_owned();
        entry.fidelity = evil.to_owned();
        entry.notes = vec![evil.to_owned()];
        entry.backlog = None;
        entry.mix.clear();
        entry.limits.iter_mut().for_each(|limit| (limit.transaction, limit.holds) = (evil.to_owned(), None));
        entry.audit.iter_mut().for_each(|line| (line.name, line.value) = (evil.to_owned(), Some(f64::NAN)));
        entry.skew.iter_mut().for_each(|skew| (skew.keys, skew.measured) = (evil.to_owned(), Some([f64::NAN; 4])));
        point.operations.iter_mut().for_each(|operation| operation.latency_ms = Default::default());
        point.nopm = None;
    }
    let page = html(&report);
    checked(&page);
    assert!(!page.contains('\u{1b}') && page.contains("&lt;/table&gt;"));
    // Without new orders, the answer is about transactions.
    assert!(page.contains("981\u{a0}transactions per second"));
    let table = sample::terminal_table(&report, false);
    assert!(!table.contains('\u{1b}'));
}
