//! No mean is shown without its interval or the reason why it has none: a walk over everything that is shown.

use crate::sample::estimates::{estimate, estimate_all, knee};
use crate::sample::{self, Report, html, terminal_table};
use crate::{answer, findings};
use plimsoll_model::Estimate;
use plimsoll_model::Metric;
use plimsoll_model::metric::Statistic;
use plimsoll_model::scaling::{Knee, Scaling};
use plimsoll_model::summary::Point;
use plimsoll_render::Format;
use roxmltree::{Document, Node, ParsingOptions};

/// Columns of numbers that are no means: loads, counts, extremes and percentiles.
const NO_MEANS: [&str; 19] = [
    "arrivals offered per second",
    "connections",
    "offered",
    "new_order",
    "errors",
    "min",
    "max",
    "p50",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "count",
    "share",
    "rollbacks",
    "failed",
    "retries",
    "limit",
    "effective n",
];

/// What follows a mean in a sentence.
const UNITS: [&str; 6] = [
    " transactions per second",
    " new orders per minute",
    " % of the time",
    " % of theirs",
    " µs in the client",
    " µs in the server",
];

/// How an interval, or that there is none, begins or looks in brackets.
const TOLD: [&str; 4] = [" – ", "no interval: ", "no upper end: ", "no lower end: "];

/// How a caption refers to the reasons.
const REFERRED: [&str; 2] =
    ["If a dot has no interval, the reason stands below", "if one is missing, the reason stands below"];

/// Without what only keeps words on one line.
fn untied(text: &str) -> String {
    text.replace('\u{a0}', " ").replace('\u{2060}', "")
}

/// The means of a text that are not followed by brackets that tell of an interval.
fn unexplained_in_text(text: &str) -> Vec<String> {
    let text = untied(text);
    let told = |after: &str| {
        let brackets = after.split_once('(').filter(|(between, _)| between.len() < 10);
        let inside = brackets.and_then(|(_, inside)| inside.split_once(')'));
        inside.is_some_and(|(inside, _)| TOLD.iter().any(|told| inside.contains(told)))
    };
    let means = UNITS.iter().flat_map(|unit| text.match_indices(unit).map(|(at, unit)| text.split_at(at + unit.len())));
    means
        .filter(|(mean, _)| {
            UNITS.iter().any(|unit| mean.trim_end_matches(unit).ends_with(|c: char| c.is_ascii_digit()))
        })
        .filter(|(_, after)| !after.starts_with(" offered") && !told(after))
        .map(|(mean, _)| mean.to_owned())
        .collect()
}

/// True if one of the remarks `no interval (a, b): …` is about the column.
fn is_explained(column: &str, remarks: &str) -> bool {
    let about = |remark: &str| remark.split_once("): ").map(|(columns, _)| columns.to_owned());
    let lists = ["no interval (", "no upper end (", "no lower end (", "too unsteady to say ("]
        .iter()
        .flat_map(|kind| remarks.split(kind).skip(1));
    lists.filter_map(about).any(|columns| columns.split(", ").any(|name| name == column))
}

fn all_text(node: Node<'_, '_>) -> String {
    node.descendants().filter_map(|inner| if inner.is_text() { inner.text() } else { None }).collect()
}

fn all<'a>(node: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    node.descendants().filter(move |inner| inner.has_tag_name(name))
}

fn unexplained_on_page(page: &str) -> Vec<String> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(page, options).expect("well-formed");
    let root = document.root();
    let tables = root.descendants().filter(|node| node.attribute("class") == Some("wide"));
    let texts = ["p", "li", "figcaption"].into_iter().flat_map(|name| all(root, name));
    let texts = texts.filter(|node| !is_evidence(*node)).map(all_text);
    let labels = all(root, "svg").filter_map(|svg| svg.attribute("aria-label").map(str::to_owned));
    let mut found: Vec<String> = tables.flat_map(unexplained_in_table).collect();
    found.extend(texts.chain(labels).flat_map(|text| unexplained_in_text(&text)));
    found.extend(all(root, "svg").flat_map(unexplained_in_figure));
    found
}

/// True in a section that says of its evidence why it has no intervals.
fn is_evidence(node: Node<'_, '_>) -> bool {
    let section = node.ancestors().find(|node| node.has_tag_name("section"));
    node.has_tag_name("li") && section.is_some_and(|section| all_text(section).contains("No intervals: what decides"))
}

fn unexplained_in_table(wide: Node<'_, '_>) -> Vec<String> {
    let remark = wide.next_sibling_element().filter(|next| next.attribute("class") == Some("remark"));
    // Of a table behind a figure the caption says it.
    let figure = wide.ancestors().find(|node| node.has_tag_name("figure"));
    let caption = figure.and_then(|figure| all(figure, "figcaption").next());
    let remarks: String = [remark, caption].into_iter().flatten().map(all_text).collect();
    let remark = untied(&remarks).replace("No ", "no ");
    let heads: Vec<Node> = all(wide, "thead").flat_map(|head| all(head, "th")).collect();
    let name = |at: usize| heads[at].text().unwrap_or_default();
    if REFERRED.iter().any(|refers| remark.contains(refers)) {
        return Vec::new();
    }
    if remark.contains("no intervals: ") || (0..heads.len()).any(|at| name(at) == "95 % interval") {
        return Vec::new();
    }
    let is_shown = |cell: Node| cell.text().is_some_and(|text| text != "–");
    let has_interval = |cell: Node| {
        let spread = all(cell, "span").find(|span| span.attribute("class") == Some("spread"));
        spread.is_some_and(|spread| all_text(spread) != "–")
    };
    let mut found = Vec::new();
    for row in all(wide, "tbody").flat_map(|body| all(body, "tr")) {
        let cells = row
            .children()
            .filter(Node::is_element)
            .enumerate()
            .filter(|(at, _)| matches!(heads[*at].attribute("class"), Some("n" | "n spare")));
        let means = cells.filter(|(at, cell)| !NO_MEANS.contains(&name(*at)) && is_shown(*cell));
        let unexplained = means.filter(|(at, cell)| !has_interval(*cell) && !is_explained(name(*at), &remark));
        found.extend(unexplained.map(|(at, _)| format!("{}: {}", name(at), all_text(row))));
    }
    found
}

/// The peak's label and the hints of dots, unless the caption says where to look for reasons.
fn unexplained_in_figure(svg: Node<'_, '_>) -> Vec<String> {
    let figure = svg.ancestors().find(|node| node.has_tag_name("figure"));
    let caption = figure.and_then(|figure| all(figure, "figcaption").next()).map(all_text).unwrap_or_default();
    if REFERRED.iter().any(|referred| caption.contains(referred)) {
        return Vec::new();
    }
    let is_mean = |text: &String| text.starts_with("peak: ") || UNITS[..2].iter().any(|unit| text.ends_with(unit));
    let texts = all(svg, "text").chain(all(svg, "title")).map(all_text);
    texts.filter(|text| is_mean(text) && !text.contains(['±', '('])).collect()
}

fn unexplained_in_terminal(text: &str) -> Vec<String> {
    let joined = text.replace("\n  ", " ");
    let mut found: Vec<String> = joined.lines().flat_map(unexplained_in_text).collect();
    // Below the answer.
    let table = text.split("\n\n").nth(1).unwrap_or_default();
    let rows = table.lines().filter(|line| line.contains(|c: char| c.is_ascii_digit()));
    let has_gaps = rows.into_iter().any(|row| row.contains(" –"));
    let elsewhere = joined.lines().find_map(|line| line.strip_prefix("intervals of ")?.split_once(": "));
    let is_elsewhere = |name: &str| elsewhere.is_some_and(|(names, _)| names.split(", ").any(|column| column == name));
    let head = table.lines().next().unwrap_or_default();
    let columns: Vec<&str> = head.split("  ").map(str::trim).filter(|column| !column.is_empty()).collect();
    for (at, name) in columns.iter().enumerate().filter(|(_, name)| **name != "±" && !NO_MEANS.contains(name)) {
        let is_whole = columns.get(at + 1) == Some(&"±") && !has_gaps;
        if !is_whole && !is_elsewhere(name) && !is_explained(name, &joined) {
            found.push((*name).to_owned());
        }
    }
    found
}

fn with_points(mut report: Report, change: impl Fn(usize, &mut Point)) -> Report {
    report.summary.points.iter_mut().enumerate().for_each(|(at, point)| change(at, point));
    report
}

/// Recorded before there were intervals.
fn old(report: Report) -> Report {
    let mut report = with_points(report, |_, point| {
        point.estimates = Default::default();
        point.operations.iter_mut().for_each(|operation| operation.latency_mean_ms = None);
    });
    report.summary.scaling = None;
    report
}

/// Too short for any interval.
fn brief(report: Report) -> Report {
    with_points(report, |_, point| {
        point
            .estimates
            .values_mut()
            .chain(point.operations.iter_mut().flat_map(|operation| &mut operation.latency_mean_ms))
            .for_each(|known| {
                *known = Estimate::bare(
                    known.value,
                    3.0,
                    "mean".to_owned(),
                    "3 s are too few for an interval; 10 s are enough".to_owned(),
                );
            });
    })
}

fn with_rates(report: Report) -> Report {
    with_points(report, |at, point| {
        point.load.connections = 16;
        point.load.rate = Some(100.0 * 2f64.powi(at as i32));
        point.response_ms = Some(point.latency_ms);
        estimate_all(point);
    })
}

#[test]
fn every_mean_has_its_interval_or_a_reason() {
    let cases = [
        ("sweep", sample::report()),
        ("one point", sample::first(1)),
        ("order entry", sample::order_entry::report()),
        ("old", old(sample::report())),
        ("old order entry", old(sample::order_entry::report())),
        ("brief", brief(sample::report())),
        ("brief order entry", brief(sample::order_entry::report())),
        ("rates", with_rates(sample::report())),
        (
            "one dead point",
            with_points(sample::report(), |at, point| {
                if at == 2 {
                    point.estimates = Default::default()
                }
            }),
        ),
    ];
    for (name, report) in cases {
        assert_eq!(unexplained_on_page(&html(&report)), [""; 0], "{name}");
        assert_eq!(unexplained_in_terminal(&terminal_table(&report, false)), [""; 0], "{name}");
    }
}

#[test]
fn the_walk_finds_what_is_left_out() {
    let page = html(&sample::report());
    let without = |page: &str, from: &str, to: &str| {
        let mut parts = page.split(from);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |kept, part| kept + part.split_once(to).map_or(part, |(_, rest)| rest))
    };
    let bare = unexplained_on_page(&without(&page, "<span class=\"spread\"", "</span>"));
    for column in ["transactions", "queries", "client CPU", "host CPU", "server CPU", "read", "written", "mean"] {
        assert!(bare.iter().any(|found| found.starts_with(&format!("{column}: "))), "{column} of {bare:?}");
    }
    let untold = unexplained_on_page(&page.replace("No interval (context switches)", ""));
    assert!(untold.iter().all(|found| found.starts_with("context switches: ")) && untold.len() == 14, "{untold:?}");
    let silent = page.replace('\u{a0}', " ").replace(" (95 % interval", " [95 % interval");
    let answers = unexplained_on_page(&silent);
    assert!(answers.iter().any(|found| found.starts_with("981 transactions per second")), "{answers:?}");
    let bare_peak = unexplained_on_page(&page.replace("peak: 981 ± 21", "peak: 981"));
    assert_eq!(bare_peak, ["peak: 981 at 32"; 2], "on the page and on a phone");

    let table = terminal_table(&sample::report(), false);
    assert_eq!(unexplained_in_terminal(&table.replace("intervals of ", "")), ["client CPU", "host CPU"]);
    assert_eq!(unexplained_in_terminal(&table.replacen(" ±", "  ", 1)), ["transactions"]);
    let brief = terminal_table(&brief(sample::report()), false);
    assert!(unexplained_in_terminal(&brief.replace("no interval (", "(")).contains(&"queries".to_owned()));
}

#[test]
fn reasons_stand_once_below_the_table() {
    let table = terminal_table(&brief(sample::report()), false);
    let reason = "\nno interval (transactions, queries, p50, p95, p99, client CPU, host CPU): 3 s are too few for an\n  interval; 10 s are enough\n";
    assert_eq!(table.matches(reason).count(), 1, "{table}");
    assert!(
        table.contains("\n981 transactions per second at most (no interval: 3 s are too few for an interval) at 32")
    );
    assert!(!table.contains("intervals of "), "there are none elsewhere");
}

#[test]
fn uneven_and_one_sided_intervals_are_shown_as_they_are() {
    let mut report = sample::report();
    let missing = Some("p99 of 900 values has no upper end; 1,200 can".to_owned());
    let of =
        |point: &mut Point, metric, change: &dyn Fn(&mut Estimate)| change(point.estimates.get_mut(metric).unwrap());
    let peak = &mut report.summary.points[5];
    of(peak, Metric::TransactionsPerSecond, &|estimate| estimate.high = Some(1_100.0));
    of(peak, Metric::Latency(Statistic::P99), &|estimate| (estimate.high, estimate.missing) = (None, missing.clone()));
    let table = terminal_table(&report, false);
    assert!(table.contains("  981 960–1,100  "), "{table}");
    assert!(table.contains(" ≥ 70.52  "), "{table}");
    assert!(table.contains("\nno upper end (p99): p99 of 900 values has no upper end; 1,200 can\n"), "{table}");
    assert!(answer(&report).contains("(95 % interval 960 – 1,100)"));

    let scaling = report.summary.scaling.as_mut().unwrap();
    let open = Estimate {
        high: None,
        missing: Some("more than 64 connections are needed".to_owned()),
        ..estimate(9.07, 0.81, 1.0)
    };
    scaling.knee = Some(Knee { open_ended: true, ..knee(open, 32.0, 981.0) });
    let knee_finding = "about 9 connections (at least 7; no upper end: more than 64 connections are needed)";
    assert!(findings(&report).concat().contains(knee_finding));
    let page = html(&report);
    assert!(!page.contains("the sweep does not enclose it"), "the missing end says so");
    assert!(page.contains("class=\"knee-band\"") && page.contains("knee: 95 % of the peak at about 9 (≥ 7)"));
    let whole = Knee { open_ended: true, ..knee(estimate(9.07, 0.81, 1.4), 32.0, 981.0) };
    report.summary.scaling.as_mut().unwrap().knee = Some(whole);
    let line = "\nknee: 9 connections (7 – 13); the sweep does not enclose it";
    assert!(terminal_table(&report, false).contains(line) && html(&report).contains("the sweep does not enclose it"));
}

#[test]
fn a_sweep_tells_its_peak_its_knee_and_its_model() {
    let table = terminal_table(&sample::report(), false);
    let expected = "
peak: 981 transactions per second (960 – 1,002) at 32 connections
knee: 9 connections (7 – 13)
model (Universal Scalability): α 0.27 (0.19 – 0.35), β 0.0014 (0.0000 – 0.0030); its own peak 1,026
  transactions per second (954 – 1,098) at 23 connections (18 – 30); poor: residuals of 6.8 % exceed
  the noise of 1.1 %
";
    assert!(table.contains(expected), "{table}");
    let page = html(&sample::report());
    assert!(page.contains("class=\"model\"") && page.contains(">(poor)</text>"));
    let mut report = sample::report();
    report.summary.scaling.as_mut().unwrap().saturation.as_mut().unwrap().poor = None;
    let page = html(&report);
    assert!(page.contains(">model</text>") && !page.contains("poor"));
}

#[test]
fn without_scaling_there_is_neither_knee_nor_model() {
    let mut report = sample::report();
    report.summary.scaling = None;
    let (page, table) = (html(&report), terminal_table(&report, false));
    for absent in ["id=\"scaling\"", "class=\"mark\"", "class=\"model\"", "class=\"knee-band\"", "class=\"tag\">knee"] {
        assert!(!page.contains(absent), "{absent}");
    }
    assert!(!table.contains("knee") && !table.contains("model"));
    assert!(answer(&report).ends_with("at 32 connections; limited by the server’s CPU."));
    assert!(!findings(&report).concat().contains("Knee"));

    let refusal = "2 load points have no knee; 3 can";
    let refused =
        Scaling { metric: Metric::TransactionsPerSecond, refusals: vec![refusal.to_owned()], ..Default::default() };
    report.summary.scaling = Some(refused.clone());
    assert!(terminal_table(&report, false).contains(&format!("\n{refusal}\n")));
    assert!(untied(&html(&report)).contains(refusal));
    // Of something that is not shown it would be misread.
    report.summary.scaling = Some(Scaling { metric: Metric::Nopm, ..refused });
    assert!(!untied(&html(&report)).contains(refusal));
}

#[test]
fn reasons_and_methods_are_shown_and_never_obeyed() {
    let evil = "</td><script>alert(1)</script>\u{1b}[2J\u{202e}\"'><img src=x onerror=y>";
    let spoil = |estimate: &mut Estimate| {
        *estimate = Estimate::bare(estimate.value, f64::NAN, evil.to_owned(), evil.to_owned());
    };
    let mut report = with_points(sample::report(), |_, point| {
        point.estimates.values_mut().for_each(spoil);
        point.operations.iter_mut().flat_map(|operation| &mut operation.latency_mean_ms).for_each(spoil);
    });
    // One that is shown in a table and with its method.
    report.summary.points[0]
        .estimates
        .insert(Metric::QueriesPerSecond, Estimate { method: evil.to_owned(), ..estimate(6360.0, 0.9, 1.1) });
    let scaling = report.summary.scaling.as_mut().unwrap();
    let (knee, model) = (scaling.knee.as_mut().unwrap(), scaling.saturation.as_mut().unwrap());
    let of_model = [&mut model.gamma, &mut model.alpha, &mut model.beta];
    [&mut knee.load, &mut knee.peak].into_iter().chain(of_model).for_each(spoil);
    model.poor = Some(evil.to_owned());
    scaling.refusals = vec![evil.to_owned()];
    let (page, table) = (html(&report), terminal_table(&report, true));
    assert_eq!(unexplained_on_page(&page).len(), 0, "well-formed, and the reasons are there");
    assert!(!page.contains("<script>alert") && !page.contains("<img") && !page.contains(['\u{1b}', '\u{202e}']));
    assert!(page.contains("&lt;/td&gt;&lt;script&gt;"));
    assert!(!table.contains("\u{1b}[2J") && !table.contains('\u{202e}'));
    assert!(table.contains("[2J"), "shown without the escape");
}

#[test]
fn a_load_point_that_says_nothing_is_not_told_in_numbers() {
    let report = with_points(sample::report(), |_, point| {
        let known = point.estimates.get_mut(Metric::TransactionsPerSecond).expect("an estimate");
        (known.low, known.high) = (Some(0.0), Some(6.0 * known.value));
    });
    let unsteady = "too unsteady to say; a longer window would tell";
    let told = answer(&report);
    let expected = format!(
        "How many transactions per second the server carries at most is {unsteady}. Most were measured at 32 connections"
    );
    assert!(told.starts_with(&expected), "{told}");
    let (terminal, page) = (terminal_table(&report, false), untied(&html(&report)));
    let markdown =
        plimsoll_render::render(&plimsoll_report::document(&report.recorded()), Format::Markdown).expect("text");
    for text in [&terminal, &page, &markdown] {
        assert!(
            text.to_lowercase().contains("too unsteady to say (transactions): the interval is wider than ± 30 %"),
            "{text}"
        );
        assert!(!text.contains("5,886"), "the end of an interval that says nothing");
    }
    let data = plimsoll_render::render(&plimsoll_report::document(&report.recorded()), Format::Csv).expect("data");
    assert!(data.contains("5886"), "data keep the numbers");
    let mut one = sample::first(1);
    let known = one.summary.points[0].estimates.get_mut(Metric::TransactionsPerSecond).expect("an estimate");
    known.low = Some(1.0);
    assert_eq!(
        answer(&one),
        format!("How many transactions per second the server carries at 1 connection is {unsteady}.")
    );
}
