//! The report of a lab: its sections, its answer, its figures.

use plimsoll_model::LoadPoint;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{self, Design, Row};
use plimsoll_model::diagnosis::{Bottleneck, BottleneckVerdict, Cost, Diagnosis};
use plimsoll_model::durability::Risks;
use plimsoll_model::lab::{
    Cell, LabSummary, Ladder, LadderStep, LoadLine, Restores, RungVerdict, SCHEMA_VERSION, TrialCounts, TrialStatus,
    Tried, VariantComparison,
};
use plimsoll_model::published::{Printed, PublishedKind};
use plimsoll_model::series::Series;
use plimsoll_model::summary::{LatencyMs, Point};
use plimsoll_model::{Caveat, Estimate};
use plimsoll_render::{Format, render};
use plimsoll_report::document::Figure;
use plimsoll_report::lab::{answer, terminal};
use plimsoll_report::subject::{Environment, MeasuredAt, Published, Recorded, SettingRow, Subject, Trial};
use plimsoll_report::terminal::TextLook;
use std::collections::BTreeSet;

const PLAIN: TextLook = TextLook::PLAIN;
const COLOURED: TextLook = TextLook { colour: true, ..PLAIN };

fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    Estimate::new(value, (low, high), 0.95, 3.0, "3 pairs, t interval".to_owned())
}

fn cell(variant: &str, transactions: f64) -> Cell {
    Cell {
        variant: variant.to_owned(),
        load: LoadPoint::closed(64),
        rounds: 3,
        failed: usize::from(variant == "nfs"),
        transactions_per_second: Some(estimate(transactions, 0.98 * transactions, 1.02 * transactions)),
        nopm: None,
        p99_ms: Some(estimate(12.5, 11.9, 13.1)),
        server_cpu_us_per_transaction: None,
        recovery_seconds: None,
        risks: Risks::new(),
    }
}

fn comparison() -> VariantComparison {
    let row = Row {
        load: Some(LoadPoint::closed(64)),
        metric: Metric::TransactionsPerSecond,
        a: 1000.0,
        b: 900.0,
        change: estimate(-0.1, -0.12, -0.08),
        verdict: comparison::Verdict::Lower,
        detectable: Some(0.03),
        pairs_needed: Some(9),
    };
    VariantComparison {
        a: "fc".to_owned(),
        b: "nfs".to_owned(),
        design: Design::Paired,
        equivalence: 0.021,
        rows: vec![row],
        floor: Some(estimate(0.021, 0.01, 0.05)),
        unlike: Some("nfs loses the last second of commits if the machine fails (d1)".to_owned()),
        unlike_work: Vec::new(),
        stopping: None,
        explained: None,
    }
}

fn step(rung: &str, verdict: RungVerdict, why: &str, change: Option<Estimate>) -> LadderStep {
    let measured = change.is_some();
    LadderStep {
        rung: rung.to_owned(),
        verdict,
        why: why.to_owned(),
        with: measured.then_some(1200.0),
        without: measured.then_some(1000.0),
        worth: change.clone().filter(|_| verdict == RungVerdict::Kept),
        change,
        risks: Risks::new(),
        stopping: None,
    }
}

fn ladder() -> Ladder {
    Ladder {
        variant: "fc".to_owned(),
        metric: Metric::TransactionsPerSecond,
        floor: Some(estimate(0.021, 0.01, 0.05)),
        steps: vec![
            step("pool-6g", RungVerdict::Kept, "throughput +20.0 %", Some(estimate(0.2, 0.17, 0.23))),
            step("adaptive-hash", RungVerdict::RemovedOnThisServer, "gone since 9.0", None),
        ],
        gain: Some(estimate(0.2, 0.17, 0.23)),
    }
}

fn load_line(rate: Option<Estimate>) -> LoadLine {
    let tried = |rate, kept, confirmation| Tried { rate, kept, confirmation, measured_ms: None, disturbed: false };
    LoadLine {
        variant: "fc".to_owned(),
        connections: 64,
        objective: "p99 < 20ms".to_owned(),
        limit_ms: Some(20.0),
        why_not: rate.is_none().then(|| "the server died".to_owned()),
        rate,
        noisy_host: false,
        tried: vec![tried(700.0, true, false), tried(1190.0, true, true), tried(1190.0, false, true)],
    }
}

fn summary() -> LabSummary {
    LabSummary {
        schema_version: SCHEMA_VERSION,
        name: "protocols".to_owned(),
        title: Some("Order entry over two paths".to_owned()),
        source: None,
        preset: Some("small".to_owned()),
        recording: Some("/home/r/20261121T193000Z-protocols-1a2b".to_owned()),
        headline: "nfs is 10.0 % slower than fc.".to_owned(),
        trials: TrialCounts { done: 5, failed: 1, disturbed: 0 },
        restores: vec![Restores { method: "reflink".to_owned(), trials: 6, seconds: 0.21, bytes: 32_000_000 }],
        cells: vec![cell("fc", 1000.0), cell("nfs", 900.0)],
        comparisons: vec![comparison()],
        ladders: vec![ladder()],
        load_lines: vec![load_line(Some(estimate(1240.0, 1190.0, 1300.0))), load_line(None)],
        crashes: Vec::new(),
        tune: None,
        caveats: vec![Caveat::new("failed_trials", "1 of 6 trials failed\u{1b}[31m")],
        interrupted: false,
    }
}

#[test]
fn every_section_is_there_and_fits() {
    let text = terminal(&summary(), PLAIN);
    assert_eq!(text, EXPECTED);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

const EXPECTED: &str = "\
Order entry over two paths, preset small: 5 trials, 1 failed
nfs is 10.0 % slower than fc.
data restored by reflink in 0.21 s (median of 6), 32.0 MB

variants
variant  connections  rounds  failed  transactions    ±   p99     ±
                                               1/s 95 %    ms  95 %
fc                64       3       0         1,000 ± 20  12.5 ± 0.6
nfs               64       3       1           900 ± 18  12.5 ± 0.6

nfs against fc, paired round by round
load            metric             fc  nfs  change         interval  verdict
                                                 %             95 %
64 connections  transactions/s  1,000  900   −10.0  −12.0 to −8.0 %  slower
two rounds of fc differ by up to 2.1 % in 19 of 20 cases; a change of up to 2.1 % counts as no
  difference
not equally safe: nfs loses the last second of commits if the machine fails (d1)

ladder of fc: the base differs from itself by up to 2.1 % in 19 of 20 cases
rung           verdict                        without   with  change          interval  at the end
                                       transactions/s              %              95 %           %
pool-6g        kept                             1,000  1,200   +20.0  +17.0 to +23.0 %       +20.0
adaptive-hash  removed on this server
pool-6g: throughput +20.0 %
adaptive-hash: gone since 9.0
all kept together: +20.0 % (95 % interval +17.0 to +23.0 %)

load lines
variant  connections  objective   load line           ±  tried  confirmed
                                        1/s        95 %  rates
fc                64  p99 < 20ms      1,240 1,190–1,300      3     1 of 2
fc                64  p99 < 20ms          –                  3     1 of 2
fc at 64 connections: the server died

caveat failed_trials: 1 of 6 trials failed[31m
";

#[test]
fn colour_changes_nothing_else() {
    let plain = terminal(&summary(), PLAIN);
    let mut coloured = terminal(&summary(), COLOURED);
    assert_ne!(plain, coloured);
    for code in ["\x1b[1m", "\x1b[2m", "\x1b[0m"] {
        coloured = coloured.replace(code, "");
    }
    assert_eq!(plain, coloured);
    assert!(!plain.contains('\x1b'), "text of a server is made safe");
}

#[test]
fn a_lab_that_measured_nothing_has_a_headline() {
    let empty = LabSummary {
        headline: "Nothing was measured.".to_owned(),
        trials: TrialCounts { done: 0, failed: 1, disturbed: 0 },
        restores: Vec::new(),
        cells: Vec::new(),
        comparisons: Vec::new(),
        ladders: Vec::new(),
        load_lines: Vec::new(),
        caveats: Vec::new(),
        recording: None,
        ..summary()
    };
    let text = terminal(&empty, PLAIN);
    assert_eq!(text, "Order entry over two paths, preset small: 0 trials, 1 failed\nNothing was measured.\n");
}

/// A trial with a judgement; the more connections, the more it carries.
fn trial(variant: &str, round: u32, status: TrialStatus, verdict: BottleneckVerdict) -> Trial {
    let point = Point {
        load: LoadPoint::closed(64),
        transactions_per_second: Some(1000.0 + f64::from(round)),
        latency_ms: LatencyMs { p99: Some(12.5), ..LatencyMs::default() },
        ..Point::default()
    };
    let diagnosis = Diagnosis {
        verdict,
        sentence: format!("Sentence of round {round}."),
        candidates: Vec::new(),
        next: Some("Add rounds.".to_owned()),
        missing: Vec::new(),
    };
    Trial {
        index: round,
        variant: variant.to_owned(),
        base: variant.split('/').next().unwrap_or_default().to_owned(),
        workload: "tpcc".to_owned(),
        parameters: Default::default(),
        cpus: None,
        load: LoadPoint::closed(64),
        round,
        status,
        why: (status == TrialStatus::Failed).then(|| "the server died".to_owned()),
        caveats: Vec::new(),
        point: Some(point),
        io: None,
        diagnosis: Some(diagnosis),
        cost: Cost { server_cpu_us: Some(700.0), ..Cost::default() },
        storage: None,
        phases: Vec::new(),
        restored: None,
        recovery_seconds: None,
        crash: None,
        verifications: Vec::new(),
        settings: vec![SettingRow { name: "innodb_doublewrite".to_owned(), ..SettingRow::default() }],
        durability: Default::default(),
        memory: Default::default(),
        has_seconds: false,
        series: Series::default(),
        latency: None,
    }
}

fn recorded(summary: LabSummary, trials: Vec<Trial>) -> Recorded {
    Recorded {
        title: summary.name.clone(),
        subject: Subject::Lab(Box::new(summary)),
        state: None,
        ended_early: None,
        asked: vec![("Workload".to_owned(), "tpcc".to_owned())],
        trials,
        corroboration: Vec::new(),
        scaling: Vec::new(),
        circumstances: Vec::new(),
        environment: Environment::default(),
        published: Vec::new(),
        chosen: Vec::new(),
        missing: vec!["lab.json is not there".to_owned()],
        how_to_repeat: "plimsoll lab protocols.toml".to_owned(),
        generated: String::new(),
    }
}

fn rounds(variant: &str, verdicts: [BottleneckVerdict; 3]) -> Vec<Trial> {
    (1..).zip(verdicts).map(|(round, verdict)| trial(variant, round, TrialStatus::Done, verdict)).collect()
}

const CPU: BottleneckVerdict = BottleneckVerdict::Limited(Bottleneck::Cpu);

#[test]
fn the_report_has_its_sections_in_the_order_in_which_a_reader_asks() {
    let printed = Printed {
        place: Some("section 2.3".to_owned()),
        metric: "nopm".to_owned(),
        ordering: Some(vec!["fc".to_owned(), "nfs".to_owned()]),
        kind: PublishedKind::Claim,
        ..Printed::default()
    };
    let published = Published { printed, holds: Some(false), ..Published::default() };
    let trials = rounds("fc", [CPU; 3]);
    let recorded = Recorded { published: vec![published], ..recorded(summary(), trials) };
    let document = plimsoll_report::document(&recorded);
    let ids: Vec<&str> = document.sections.iter().map(|section| section.id.as_str()).collect();
    let expected =
        ["published", "figure", "numbers", "comparisons", "limit", "cost", "timeline", "settings", "caveats", "repeat"];
    assert_eq!(ids, expected);
    let figures: Vec<&str> = document.figures().map(|figure| figure.id.as_str()).collect();
    assert!(figures.starts_with(&["staircase-1", "load-lines"]), "{figures:?}");
    let drawn = |name| render(&document, Format::Svg(Some(name)));
    assert_eq!(drawn("staircase"), drawn("staircase-1"), "the first of its kind needs no number");
    assert!(drawn("stair").is_err());
    assert!(format!("{:?}", document.sections[0]).contains("does not hold"));
    assert_eq!(document.answer, "Of 1 claim of the source 1 does not hold here.");
    assert_eq!(document.findings[0].label.as_deref(), Some("Measured here"));
}

#[test]
fn no_two_parts_of_the_page_share_a_name() {
    let printed = Printed {
        place: Some("Table 1".to_owned()),
        metric: "nopm".to_owned(),
        variant: Some("fc".to_owned()),
        value: Some(100.0),
        ..Printed::default()
    };
    let number = Published { printed, measured: Some(estimate(90.0, 80.0, 95.0)), ..Published::default() };
    let published = vec![number, said("no change", PublishedKind::Claim), said("2 disks", PublishedKind::Setup)];
    let trials = rounds("fc", [CPU; 3]);
    let document = plimsoll_report::document(&Recorded { published, ..recorded(summary(), trials) });
    let mut names: Vec<String> = document.sections.iter().map(|section| section.id.clone()).collect();
    assert!(names.contains(&"published".to_owned()) && document.figures().any(|figure| figure.id == "published"));
    names.extend(document.figures().map(Figure::anchor));
    let page = render(&document, Format::Html).unwrap();
    for name in &names {
        assert_eq!(page.matches(&format!(" id=\"{name}\"")).count(), 1, "{name}");
    }
    let csv = render(&document, Format::Csv).unwrap();
    let keys = csv.lines().filter_map(|line| line.rsplitn(6, ',').last()).filter(|key| key.contains("published,"));
    let keys: Vec<&str> = keys.collect();
    let once: BTreeSet<&str> = keys.iter().copied().collect();
    assert!(keys.len() > 6 && once.len() == keys.len(), "{keys:?}");
}

/// What a source says in words.
fn said(text: &str, kind: PublishedKind) -> Published {
    let printed = Printed { metric: "m".to_owned(), text: Some(text.to_owned()), kind, ..Printed::default() };
    Published { printed, ..Published::default() }
}

#[test]
fn what_a_source_says_and_what_it_leaves_open_is_told_in_every_format() {
    let evil = "<b>\u{1b}disks";
    let published = vec![
        said("about a seventh", PublishedKind::Claim),
        said(evil, PublishedKind::Setup),
        said("a rule of thumb", PublishedKind::Advice),
    ];
    let chosen = vec![("terminals".to_owned(), "64, since it does not say".to_owned())];
    let recorded = Recorded { published, chosen, ..recorded(summary(), rounds("fc", [CPU; 3])) };
    let document = plimsoll_report::document(&recorded);
    for format in [Format::Html, Format::Markdown, Format::Csv, Format::Json] {
        let text = render(&document, format).unwrap();
        for told in ["about a seventh", "not asked here", "disks", "a rule of thumb", "since it does not say"] {
            assert!(text.contains(told), "{told}");
        }
        assert!(!text.contains('\u{1b}') && (format != Format::Html || !text.contains("<b>disks")));
    }
    let page = render(&document, Format::Html).unwrap();
    assert_eq!(page.matches("<details class=\"behind\">\n<summary>Printed or claimed").count(), 1);
    assert_eq!(page.matches("<details class=\"behind\">\n<summary>What the source measured on").count(), 1);
    let csv = render(&document, Format::Csv).unwrap();
    assert!(
        csv.contains("published,source,1,note,,setup")
            && csv.contains("published,not-asked,1,published,,about a seventh")
    );
}

#[test]
fn rounds_that_do_not_agree_are_told_by_most_of_them() {
    let plan = LabSummary { ladders: Vec::new(), ..summary() };
    let of = |verdicts| {
        let document = plimsoll_report::document(&recorded(plan.clone(), rounds("fc", verdicts)));
        document.findings.iter().map(ToString::to_string).collect::<Vec<String>>()
    };
    assert_eq!(of([CPU; 3])[0], "What limited it: Sentence of round 2.");
    assert_eq!(
        of([BottleneckVerdict::NotClear, CPU, CPU])[0],
        "What limited it: Sentence of round 3. (in 2 of 3 rounds)"
    );
    let missing = of([CPU; 3]).pop().unwrap();
    assert_eq!(missing, "Missing: lab.json is not there.");
}

#[test]
fn what_limited_many_variants_is_one_sentence() {
    let plan = LabSummary { ladders: Vec::new(), ..summary() };
    let verdict = |number| if number % 2 == 0 { BottleneckVerdict::NotClear } else { CPU };
    let told = |many: u64| {
        let trials = (1..=many).flat_map(|number| {
            let mut trials = rounds(&format!("v{number}"), [verdict(number); 3]);
            for diagnosis in trials.iter_mut().filter_map(|trial| trial.diagnosis.as_mut()) {
                diagnosis.sentence = format!("Sentence of {number}.");
            }
            trials
        });
        let document = plimsoll_report::document(&recorded(plan.clone(), trials.collect()));
        document.findings.iter().map(ToString::to_string).collect::<Vec<String>>()
    };
    assert_eq!(told(2)[..2], ["What limited v1: Sentence of 1.", "What limited v2: Sentence of 2."]);
    assert_eq!(told(6)[0], "What limited it: The server’s CPU: v1, v3, v5; not clear: v2, v4, v6.");
}

#[test]
fn of_many_variants_the_best_is_the_answer() {
    let few = LabSummary { ladders: Vec::new(), load_lines: Vec::new(), ..summary() };
    assert_eq!(answer(&few), few.headline);
    let against = |b: &str, change: f64, verdict| {
        let mut compared = VariantComparison { b: b.to_owned(), unlike: None, ..comparison() };
        compared.rows[0].verdict = verdict;
        compared.rows[0].change = estimate(change, change - 0.02, change + 0.02);
        compared
    };
    let many = |best| LabSummary {
        comparisons: vec![
            against("slow", -0.1, comparison::Verdict::Lower),
            against("same", 0.01, comparison::Verdict::Equivalent),
            against("near", 0.01, comparison::Verdict::Unclear),
            against("nearer", 0.01, comparison::Verdict::Unclear),
            against("fast", 0.3, best),
        ],
        ..few.clone()
    };
    assert_eq!(
        answer(&many(comparison::Verdict::Higher)),
        "fast is best: 900 against 1,000 transactions/s at 64 connections, +30.0 % (95 % interval +28.0 to \
         +32.0 %) against fc; of 5 others, better than fc: 1, worse: 1, equal within 2.1 %: 1, too close to tell: 2."
    );
    let trials = TrialCounts { done: 9, failed: 0, disturbed: 2 };
    let disturbed = answer(&LabSummary { trials, ..many(comparison::Verdict::Higher) });
    assert!(disturbed.ends_with("too close to tell: 2; other processes disturbed 2 of 9 trials."), "{disturbed}");
    let none = answer(&many(comparison::Verdict::Unclear));
    assert!(none.starts_with("No variant is shown to be better than fc: of 5 others, better than fc: 0"), "{none}");
}

#[test]
fn of_several_variants_each_is_told() {
    let few = LabSummary { ladders: Vec::new(), load_lines: Vec::new(), ..summary() };
    let against = |a: &str, b: &str| {
        let (a, b) = (a.to_owned(), b.to_owned());
        let mut compared = VariantComparison { a, b, unlike: None, ..comparison() };
        compared.rows[0].verdict = comparison::Verdict::Lower;
        compared.rows[0].change = estimate(-0.1, -0.12, -0.08);
        compared
    };
    let told = |pairs: [(&str, &str); 3]| {
        answer(&LabSummary { comparisons: pairs.map(|(a, b)| against(a, b)).to_vec(), ..few.clone() })
    };
    let change = "−10.0 % (95 % interval −12.0 to −8.0 %)";
    assert_eq!(
        told([("fc", "iscsi"), ("fc", "nbd"), ("fc", "nfs")]),
        format!("Against fc, with 1,000 transactions/s at 64 connections: iscsi {change}; nbd {change}; nfs {change}.")
    );
    assert_eq!(
        told([("2g/direct", "2g/fsync"), ("4g/direct", "4g/fsync"), ("6g/direct", "6g/fsync")]),
        format!("fsync against direct: 2g {change}; 4g {change}; 6g {change}.")
    );
    assert_eq!(
        told([("2g/direct", "2g/fsync"), ("fc", "iscsi"), ("fc", "nfs")]),
        format!("2g/fsync against 2g/direct: {change}; iscsi against fc: {change}; nfs against fc: {change}.")
    );
}

#[test]
fn a_trial_that_failed_is_a_caveat_with_its_reason() {
    let mut trials = rounds("fc", [CPU; 3]);
    trials.push(trial("nfs", 4, TrialStatus::Failed, BottleneckVerdict::NotClear));
    let document = plimsoll_report::document(&recorded(summary(), trials));
    let caveats = document.sections.iter().find(|section| section.id == "caveats").unwrap();
    assert!(format!("{caveats:?}").contains("Trial 4 (nfs, 64 connections, round 4) failed: the server died"));
}

#[test]
fn names_of_a_plan_are_harmless_in_every_format() {
    let hostile = "</script><script>alert(1)</script>\u{1b}[31m\u{202e}";
    let mut summary = LabSummary { headline: hostile.to_owned(), ladders: Vec::new(), ..summary() };
    summary.cells.iter_mut().for_each(|cell| cell.variant = hostile.to_owned());
    let mut trials = rounds(hostile, [CPU; 3]);
    trials.iter_mut().for_each(|trial| trial.why = Some(hostile.to_owned()));
    let document = plimsoll_report::document(&recorded(summary, trials));
    for format in [Format::Html, Format::Markdown, Format::Json, Format::Csv, Format::Svg(None)] {
        let text = render(&document, format).unwrap();
        // Cells of a table are no markup.
        assert!(format == Format::Csv || !text.contains("<script>alert"), "{format:?}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{format:?}");
    }
}

/// A lab of `fc` at four load points, and what a source printed of them and of one more.
fn swept(printed: [f64; 5]) -> Recorded {
    let loads = [2, 8, 32, 64, 128];
    let at = |connections, transactions| Cell { load: LoadPoint::closed(connections), ..cell("fc", transactions) };
    let measured = [100.0, 400.0, 1000.0, 900.0];
    let cells: Vec<Cell> = loads.into_iter().zip(measured).map(|(load, rate)| at(load, rate)).collect();
    let published = loads.into_iter().zip(printed).enumerate().map(|(place, (connections, value))| {
        let (metric, variant) = ("transactions_per_second".to_owned(), Some("fc".to_owned()));
        let printed =
            Printed { metric, variant, connections: Some(connections), value: Some(value), ..Printed::default() };
        let here =
            MeasuredAt { variant: "fc".to_owned(), load: LoadPoint::closed(connections), ..MeasuredAt::default() };
        let estimate = measured.get(place).map(|rate| estimate(*rate, 0.98 * rate, 1.02 * rate));
        Published { printed, at: estimate.as_ref().map(|_| here), measured: estimate, ..Published::default() }
    });
    let published = published.collect();
    let summary =
        LabSummary { cells, ladders: Vec::new(), comparisons: Vec::new(), load_lines: Vec::new(), ..summary() };
    Recorded { published, ..recorded(summary, rounds("fc", [CPU; 3])) }
}

/// The cells of the column of what was published in a figure's table.
fn printed_in(document: &plimsoll_report::document::Document, id: &str) -> Option<Vec<String>> {
    let figure = document.figures().find(|figure| figure.id == id).expect("it is drawn");
    let column = figure.table.columns.iter().find(|column| column.name == "fc, published");
    column.map(|column| column.cells.clone())
}

#[test]
fn a_published_line_is_drawn_whole_or_said_to_be_left_out_whole() {
    let near = plimsoll_report::document(&swept([90.0, 410.0, 1200.0, 1100.0, 1000.0]));
    let drawn = printed_in(&near, "throughput").expect("a line");
    assert_eq!(drawn, ["90.0", "410.0", "1,200.0", "1,100.0", "1,000.0"], "also where nothing was measured");
    let far = plimsoll_report::document(&swept([90.0, 410.0, 5000.0, 1100.0, 1000.0]));
    assert_eq!(printed_in(&far, "throughput"), None, "not in parts");
    let figure = far.figures().find(|figure| figure.id == "throughput").expect("it is drawn");
    assert!(
        figure.caption.contains("left out altogether, since they differ by a factor of up to 5.00;"),
        "{}",
        figure.caption
    );
    for document in [near, far] {
        let shares = printed_in(&document, "throughput-indexed").expect("a line");
        assert!(shares.len() == 5 && shares.iter().any(|share| share.starts_with("100")), "{shares:?}");
        let figure = document.figures().find(|figure| figure.id == "throughput-indexed").expect("it is drawn");
        assert!(figure.svg.contains("100 % = each line’s own peak") && figure.svg.contains("line published"));
    }
}
