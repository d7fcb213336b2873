//! The figures: well-formed and safe whatever they are handed, readable, small, and empty where nothing was measured.

mod sample;

use plimsoll_report::document::Figure;
use plimsoll_report::figure::bars::{self, Bars};
use plimsoll_report::figure::curves::{self, CurvePoint, Curves, Line};
use plimsoll_report::figure::delta::{self, Deltas};
use plimsoll_report::figure::staircase::{self, Staircase, StaircaseStep};
use plimsoll_report::figure::{beside, costs, cpu_split, diagram, latency, seconds};
use plimsoll_report::subject::{Diagram, Latency, Trial};
use plimsoll_report::svg;
use proptest::prelude::*;
use roxmltree::{Document, Node};
use sample::{HOSTILE, all, measured, printed, trial};

/// Both drawings of a figure.
fn drawings(figure: &Figure) -> Vec<String> {
    [Some(&figure.svg), figure.narrow.as_ref()]
        .into_iter()
        .flatten()
        .map(|drawing| svg::standalone(drawing, svg::STYLE))
        .collect()
}

/// Parses a drawing strictly and checks what each has to keep to.
fn checked(drawing: &str) -> Document<'_> {
    let document = Document::parse(drawing).expect("well-formed");
    for node in document.descendants().filter(Node::is_element) {
        assert!(!matches!(node.tag_name().name(), "script" | "image" | "foreignObject" | "a" | "use"), "{node:?}");
        for attribute in node.attributes() {
            let (name, value) = (attribute.name(), attribute.value());
            assert!(!name.starts_with("on") && name != "href", "{name}");
            assert!(name == "aria-label" || !(value.contains("NaN") || value.contains("inf")), "{name}={value}");
        }
    }
    let label = document.root_element().attribute("aria-label").unwrap_or_default();
    assert!(!label.is_empty(), "those who cannot see it are told what is drawn");
    document
}

#[test]
fn every_figure_is_well_formed_and_has_its_numbers_behind_it() {
    let figures = all("nfs");
    assert_eq!(figures.len(), 12);
    for figure in &figures {
        for drawing in drawings(figure) {
            checked(&drawing);
        }
        assert!(figure.table.rows() > 0 && figure.table.columns.len() > 1, "{}", figure.id);
        let rows = figure.table.rows();
        assert!(figure.table.columns.iter().all(|column| column.cells.len() == rows), "{}", figure.id);
        assert!(!figure.caption.is_empty(), "{}", figure.id);
        for line in figure.chart.iter().flat_map(|chart| chart.panels.iter().flat_map(|panel| &panel.lines)) {
            let places = figure.chart.as_ref().map_or(0, |chart| chart.at.len());
            assert_eq!(line.values.len(), places, "{} {}", figure.id, line.name);
            assert!(line.low.is_empty() || line.low.len() == places, "{} {}", figure.id, line.name);
        }
    }
}

#[test]
fn hostile_names_are_shown_not_obeyed() {
    for figure in all(HOSTILE) {
        for drawing in drawings(&figure) {
            let document = checked(&drawing);
            let texts: String = document.descendants().filter_map(|node| node.text()).collect();
            assert!(!texts.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{}", figure.id);
            assert!(document.descendants().all(|node| node.tag_name().name() != "b"), "{}", figure.id);
        }
    }
}

#[test]
fn nothing_gives_no_figure() {
    assert!(bars::draw("f", &Bars::default(), "").is_none());
    assert!(curves::draw("f", &Curves::default(), "").is_none());
    assert!(delta::draw("f", &Deltas::default(), "").is_none());
    assert!(staircase::draw("f", &Staircase::default()).is_none());
    assert!(beside::draw("f", &[], "").is_none());
    assert!(costs::draw("f", &[Default::default(), Default::default()], "").is_none());
    assert!(cpu_split::draw("f", &[("a".to_owned(), None)], "").is_none());
    assert!(diagram::draw("f", &Diagram::default()).is_none());
    assert!(latency::percentiles("f", &[("a".to_owned(), &Latency::default())], "").is_none());
    assert!(latency::heat_map("f", &Latency::default(), "").is_none());
    assert!(seconds::draw("f", &[], "").is_none());
    let without = Trial { series: Default::default(), ..trial(1, "a", 1, 1) };
    assert!(seconds::draw("f", &[&without], "").is_none());
    let one = Line {
        places: vec![CurvePoint { x: 1.0, throughput: measured(5.0), ..CurvePoint::default() }],
        ..Line::default()
    };
    assert!(curves::draw("f", &Curves { lines: vec![one], ..Curves::default() }, "").is_none(), "a point is no line");
}

#[test]
fn what_was_not_measured_is_drawn_as_empty() {
    let empty: Vec<String> = all("nfs").into_iter().filter(|f| f.svg.contains("not measured")).map(|f| f.id).collect();
    assert_eq!(empty, ["bars", "cpu", "delta", "staircase", "costs"]);
}

/// 200 trials of ten minutes.
#[test]
fn a_long_recording_makes_a_small_figure() {
    let trials: Vec<Trial> = (1..=200).map(|index| trial(index, ["a", "b"][index as usize % 2], 16, 600)).collect();
    let figure = seconds::draw("f", &trials.iter().collect::<Vec<_>>(), "").expect("a figure");
    let chart = serde_json::to_string(&figure.chart).expect("JSON").len();
    let drawn = figure.svg.len() + figure.narrow.as_ref().map_or(0, String::len);
    assert!(drawn + chart < 150_000, "{drawn} + {chart}");
    assert_eq!(figure.table.rows(), 200);
}

/// Counts without any pattern, the worst that a heat map can be handed.
#[test]
fn a_heat_map_of_noise_is_small() {
    let mut random = 1u64;
    let mut count = || {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % 100
    };
    let columns = (0..3600).map(|_| (0..200).map(|_| count()).collect()).collect();
    let bins_ms = (0..200).map(|bin| 0.1 * 1.05f64.powi(bin)).collect();
    let latency = Latency { bins_ms, columns, width: 1, seconds: 3600, ..Latency::default() };
    let figure = latency::heat_map("f", &latency, "").expect("a figure");
    assert!(figure.svg.len() + figure.narrow.map_or(0, |narrow| narrow.len()) < 65_000);
}

/// What a figure of the paper shows is what the paper prints.
#[test]
fn the_papers_numbers_are_drawn() {
    let papers: serde_json::Value = serde_json::from_str(include_str!("papers.json")).expect("JSON");
    let printed_value = |row: &serde_json::Value| row["value"].as_f64().expect("a number");
    let ladder = papers["netapp"]["figure_3"].as_array().expect("rows");
    let steps = ladder.windows(2).map(|pair| StaircaseStep {
        rung: pair[1]["name"].as_str().unwrap_or_default().to_owned(),
        value: printed(printed_value(&pair[1])),
        change: printed(printed_value(&pair[1]) / printed_value(&pair[0]) - 1.0),
        kept: true,
        ..StaircaseStep::default()
    });
    let base = printed(printed_value(&ladder[0]));
    let staircase = Staircase { base, steps: steps.collect(), ..Staircase::default() };
    let figure = staircase::draw("f", &staircase).expect("a figure");
    for label in ["4,501", "+22.9 %", "+46.4 %", "+3.3 %", "+11.8 %", "+20.4 %", "11,262", "in all +150 %"] {
        assert!(figure.svg.contains(&format!(">{label}<")), "{label}");
    }
    for (table, peak) in [("figure_3_2", "peak: 578 at 32"), ("figure_3_4", "peak: 297 at 64")] {
        let points = papers["sun"][table]["points"].as_array().expect("rows");
        let place = |row: &serde_json::Value| CurvePoint {
            x: row[0].as_f64().expect("connections"),
            throughput: printed(row[1].as_f64().expect("a rate")),
            ..CurvePoint::default()
        };
        let line = Line { places: points.iter().map(place).collect(), is_published: true, ..Line::default() };
        let figure = curves::draw("f", &Curves { lines: vec![line], ..Curves::default() }, "").expect("a figure");
        assert!(figure.svg.contains(peak), "{peak}");
        assert_eq!((figure.table.rows(), figure.svg.matches("<circle").count()), (8, 8));
    }
}

/// Where a text stands: from, to, baseline.
fn extent(node: Node<'_, '_>) -> (f64, f64, f64) {
    let number = |name: &str| node.attribute(name).and_then(|value| value.parse::<f64>().ok()).expect("a number");
    let width = 6.0 * node.text().unwrap_or_default().chars().count() as f64;
    let shift = match node.attribute("text-anchor") {
        Some("middle") => 0.5,
        Some("end") => 1.0,
        _ => 0.0,
    };
    (number("x") - shift * width, number("x") + (1.0 - shift) * width, number("y"))
}

/// Labels of ticks do not overlap, and lie within the drawing.
fn assert_apart(figure: &Figure) {
    for drawing in drawings(figure) {
        let document = checked(&drawing);
        let is_tick = |node: &Node<'_, '_>| node.tag_name().name() == "text" && node.attribute("class") == Some("tick");
        let places: Vec<(f64, f64, f64)> = document.descendants().filter(is_tick).map(extent).collect();
        let view = document.root_element().attribute("viewBox").unwrap_or_default();
        let width = view.split(' ').nth(2).and_then(|width| width.parse().ok()).unwrap_or(0.0);
        for (at, a) in places.iter().enumerate() {
            assert!(a.0 >= 0.0 && a.1 <= width, "{a:?}\n{drawing}");
            for b in &places[at + 1..] {
                assert!(a.1 <= b.0 || b.1 <= a.0 || (a.2 - b.2).abs() >= 9.0, "{a:?} {b:?}\n{drawing}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn ticks_of_curves_do_not_overlap(
        points in prop::collection::vec((1u32..100_000, 1e-3..1e8f64, 1e-3..1e6f64), 2..30),
        lines in 1usize..4,
    ) {
        let place = |&(x, throughput, p99): &(u32, f64, f64)| CurvePoint {
            x: f64::from(x),
            throughput: measured(throughput),
            p99_ms: measured(p99),
            ..CurvePoint::default()
        };
        let mut places: Vec<CurvePoint> = points.iter().map(place).collect();
        places.sort_by(|a, b| a.x.total_cmp(&b.x));
        let line = |number: usize| Line { name: format!("line {number}"), places: places.clone(), ..Line::default() };
        let (axis, lines) = ("connections".to_owned(), (0..lines).map(line).collect());
        let curves = Curves { axis, lines, ..Curves::default() };
        if let Some(figure) = curves::draw("f", &curves, "") {
            assert_apart(&figure);
        }
    }

    #[test]
    fn ticks_of_bars_do_not_overlap(values in prop::collection::vec(1e-6..1e12f64, 1..12)) {
        let bars = Bars {
            what: "Transactions".to_owned(),
            groups: values.iter().map(|value| format!("{value:e}")).collect(),
            members: vec![String::new()],
            values: values.iter().map(|value| vec![printed(*value)]).collect(),
            ..Bars::default()
        };
        assert_apart(&bars::draw("f", &bars, "").expect("a figure"));
        let changes = values.iter().map(|value| printed(value.log10() - 3.0)).collect();
        let deltas = Deltas {
            what: "2 CPUs against 1".to_owned(),
            of: "throughput".to_owned(),
            systems: bars.groups,
            workloads: vec!["w".to_owned()],
            changes: vec![changes],
        };
        delta::draw("f", &deltas, "").expect("a figure");
    }

    #[test]
    fn ticks_of_seconds_do_not_overlap(lengths in prop::collection::vec(1u64..200, 1..9)) {
        let numbered = (1..).zip(&lengths);
        let trials: Vec<Trial> = numbered.map(|(index, length)| trial(index, "a", 1 << index, *length)).collect();
        assert_apart(&seconds::draw("f", &trials.iter().collect::<Vec<_>>(), "").expect("a figure"));
    }
}
