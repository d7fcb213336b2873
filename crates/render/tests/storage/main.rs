//! A storage evaluation as page and in the terminal: well-formed, safe, with its intervals.

#[path = "../report/checked.rs"]
mod checked;
mod sample;

use checked::checked;
use plimsoll_model::io::{IoSummary, PrintedFigure};
use plimsoll_model::{Caveat, Estimate, ProbeMetric, Scalar};
use plimsoll_render::{Format, render};
use plimsoll_report::io::answer::answer;
use plimsoll_report::io::terminal;
use plimsoll_report::subject::{Recorded, Subject};
use plimsoll_report::terminal::TextLook;
use sample::summary;

const PLAIN: TextLook = TextLook::PLAIN;
const COLOURED: TextLook = TextLook { colour: true, ..PLAIN };

fn rendered(summary: &IoSummary) -> String {
    page(summary, "plimsoll io /var/lib/mysql-new --suite full", "Written by Plimsoll 0.1.0")
}

fn page(summary: &IoSummary, how_to_repeat: &str, generated: &str) -> String {
    let recorded = Recorded {
        how_to_repeat: how_to_repeat.to_owned(),
        generated: generated.to_owned(),
        ..Recorded::of("storage", Subject::Storage(Box::new(summary.clone())))
    };
    render(&plimsoll_report::document(&recorded), Format::Html).expect("a page")
}

fn ids(page: &str) -> Vec<String> {
    let document = checked(page);
    let sections = document.descendants().filter(|node| node.has_tag_name("section"));
    sections.filter_map(|node| node.attribute("id").map(str::to_owned)).collect()
}

#[test]
fn a_page_has_its_sections_in_order() {
    let page = rendered(&summary());
    assert_eq!(
        ids(&page),
        ["sheet", "depth", "commits", "cache", "burst", "validation", "probes", "environment", "caveats", "repeat"]
    );
    assert_eq!(page.matches("<figure id=").count(), 4);
    assert!(page.contains("<li class=\"warning\">A power cut may lose what was committed"), "a warning stands out");
    assert!(page.contains("EINVAL (22)"), "what failed is said");
}

#[test]
fn what_was_not_measured_has_no_section() {
    let mut nothing = summary();
    nothing.probes.clear();
    nothing.sheet.retain(|line| line.key == "durability");
    assert_eq!(answer(&nothing), "Nothing was measured.", "and nothing is said of commits");
    nothing.sheet.clear();
    nothing.validation.clear();
    assert_eq!(ids(&rendered(&nothing)), ["environment", "caveats", "repeat"]);
    assert_eq!(answer(&nothing), "Nothing was measured.");
    assert!(terminal(&nothing, PLAIN).starts_with("Nothing was measured.\n"));
}

#[test]
fn the_answer_says_what_it_is_good_for_and_what_is_wrong() {
    let mut evaluated = summary();
    assert_eq!(
        answer(&evaluated),
        "Good for at most 67,494 synced commits per second from 64 sessions (7,832 from one), 43,800 page reads and 10,400 \
         page writes per second; but memory acknowledges them, so a power cut may lose committed data unless that \
         memory is protected."
    );
    for (verdict, kind, but) in [
        (Some("durable"), "durable", None),
        (Some("lost"), "synced", Some("; but a flush does not reach the device, so")),
        (None, "synced", Some("; whether they survive a power cut is not known.")),
    ] {
        let line = evaluated.sheet.iter_mut().find(|line| line.key == "durability").expect("a verdict");
        line.value = verdict.map(Scalar::from);
        let text = answer(&evaluated);
        assert!(text.contains(&format!("67,494 {kind} commits per second")), "{text}");
        assert!(but.map_or_else(|| !text.contains(';'), |but| text.contains(but)), "{text}");
    }
    evaluated.sheet.retain(|line| line.key == "page_reads_max");
    evaluated.interrupted = true;
    let text = answer(&evaluated);
    assert!(text.starts_with("Good for at most 43,800 page reads"), "{text}");
    assert!(text.ends_with("ended early, after 18 measurements."), "{text}");
}

#[test]
fn the_terminal_has_the_answer_first_and_nothing_too_wide() {
    let text = terminal(&summary(), PLAIN);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("Good for at most"), "{first}");
    assert!(text.contains("\nDurability\n! A power cut may lose what was committed"), "{text}");
    assert!(text.contains("not measured: 17.512: write of 512 bytes at 0: EINVAL (22)\n"), "{text}");
    assert!(text.contains("caveat sparse_files:"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let mut plain = terminal(&summary(), COLOURED);
    for code in ["\x1b[1m", "\x1b[2m", "\x1b[0m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, text);
}

const HOSTILE: &str = "<script>alert('1')</script>\x1b[2J\u{202e}&amp;\"";

#[test]
fn names_from_outside_are_harmless() {
    let mut hostile = summary();
    hostile.directory = HOSTILE.to_owned();
    hostile.suite = HOSTILE.to_owned();
    hostile.device.filesystem = Some(HOSTILE.to_owned());
    hostile.device.mount_options = vec![HOSTILE.to_owned()];
    hostile.recording = Some(HOSTILE.to_owned());
    hostile.caveats = vec![Caveat::new(HOSTILE, HOSTILE)];
    hostile.validation[0].remark = HOSTILE.to_owned();
    for line in &mut hostile.sheet {
        (line.topic, line.statement, line.probes) = (HOSTILE.to_owned(), HOSTILE.to_owned(), vec![HOSTILE.to_owned()]);
    }
    for probe in &mut hostile.probes {
        (probe.id, probe.name, probe.error) = (HOSTILE.to_owned(), HOSTILE.to_owned(), Some(HOSTILE.to_owned()));
        probe.caveats = vec![Caveat::new(HOSTILE, HOSTILE)];
    }
    hostile.published = vec![PrintedFigure {
        what: HOSTILE.to_owned(),
        metric: HOSTILE.to_owned(),
        unit: HOSTILE.to_owned(),
        published: HOSTILE.to_owned(),
        measured: Some(HOSTILE.to_owned()),
        note: Some(HOSTILE.to_owned()),
        probe: None,
    }];
    let page = page(&hostile, HOSTILE, HOSTILE);
    checked(&page);
    assert!(!page.contains("<script>alert") && !page.contains('\u{202e}') && !page.contains('\x1b'));
    let text = terminal(&hostile, PLAIN);
    assert!(!text.contains(['\x1b', '\u{202e}']), "{text}");
}

#[test]
fn numbers_that_are_none_are_drawn_nowhere() {
    let mut broken = summary();
    for probe in &mut broken.probes {
        probe.iops = Some(f64::NAN);
        for latency in probe.latency_us.values_mut() {
            (latency.p50, latency.p99) = (Some(f64::INFINITY), Some(0.0));
        }
        probe.series.iter_mut().for_each(|second| second.iops = f64::NAN);
        probe.histogram.values_mut().flatten().for_each(|bucket| bucket.0 = f64::NAN);
    }
    checked(&rendered(&broken));
    terminal(&broken, PLAIN);
}

#[test]
fn what_is_too_short_to_be_recorded_is_marked() {
    let mut evaluated = summary();
    for latency in evaluated.probes[0].latency_us.values_mut() {
        (latency.p50, latency.p99) = (Some(1.0), Some(1.5));
    }
    for text in [rendered(&evaluated), terminal(&evaluated, PLAIN)] {
        assert_eq!(text.matches("≤ 1").count(), 1, "{text}");
    }
}

#[test]
fn rates_have_their_interval_or_the_reason_why_not() {
    let mut evaluated = summary();
    let bare = Estimate::bare(9120.0, 1.0, String::new(), "1 s is too short; 3 s can".to_owned());
    let with = rendered(&evaluated);
    let (_, table) = with.split_once("data-name=\"probes\"").expect("the table of all probes");
    assert_eq!(table.matches("title=\"3 batches of 1 s, t interval; worth 3 independent samples\"").count(), 17);
    for probe in &mut evaluated.probes {
        probe.estimates.insert(ProbeMetric::Iops, bare.clone());
    }
    for text in [rendered(&evaluated).replace('\u{a0}', " "), terminal(&evaluated, PLAIN)] {
        for what in ["rate", "rates of the sheet"] {
            assert!(
                text.to_lowercase().contains(&format!("no interval ({what}): 1 s is too short; 3 s can")),
                "{text}"
            );
        }
    }
}

#[test]
fn caveats_of_probes_are_counted_and_told_once_for_each_code() {
    let mut evaluated = summary();
    for probe in &mut evaluated.probes[..3] {
        probe.caveats = vec![Caveat::new("decaying", format!("{} fell", probe.id))];
    }
    let text = terminal(&evaluated, PLAIN);
    assert!(
        text.contains("caveat decaying: 1.mariadb.1 fell (the same holds for 2.mariadb.8, 2.mariadb.64)\n"),
        "{text}"
    );
    assert!(rendered(&evaluated).contains("<a href=\"#in-caveats\">4 caveats</a>"));
}

#[test]
fn a_virtual_disk_is_not_said_to_turn() {
    let rotational = |name: &str, flag| {
        let mut evaluated = summary();
        (evaluated.device.name, evaluated.device.rotational) = (Some(name.to_owned()), Some(flag));
        let page = rendered(&evaluated);
        let value = page.split("<th scope=\"row\">rotational</th><td>").nth(1).expect("a row");
        value.split("</td>").next().unwrap_or_default().to_owned()
    };
    assert_eq!([rotational("sda", true), rotational("vda", false)], ["yes", "no"]);
    assert!(rotational("vda", true).starts_with("not known"));
}
