use super::terminal;
use plimsoll_model::comparison::{Design, Metric, Row, Verdict};
use plimsoll_model::durability::Risks;
use plimsoll_model::lab::{
    Cell, LabSummary, Ladder, LadderStep, LoadLine, Restores, RungVerdict, SCHEMA_VERSION, TrialCounts, Tried,
    VariantComparison,
};
use plimsoll_model::{Caveat, Estimate};

fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    Estimate::new(value, (low, high), 0.95, 3.0, "3 pairs, t interval".to_owned())
}

fn cell(variant: &str, transactions: f64) -> Cell {
    Cell {
        variant: variant.to_owned(),
        connections: 64,
        rate_offered: None,
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
        connections: Some(64),
        rate_offered: None,
        metric: Metric::TransactionsPerSecond,
        a: 1000.0,
        b: 900.0,
        change: estimate(-0.1, -0.12, -0.08),
        verdict: Verdict::Lower,
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
    let tried = |rate, kept, confirmation| Tried { rate, kept, confirmation };
    LoadLine {
        variant: "fc".to_owned(),
        connections: 64,
        objective: "p99 < 20ms".to_owned(),
        why_not: rate.is_none().then(|| "the server died".to_owned()),
        rate,
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
        trials: TrialCounts { done: 5, failed: 1 },
        restores: vec![Restores { method: "reflink".to_owned(), trials: 6, seconds: 0.21, bytes: 32_000_000 }],
        cells: vec![cell("fc", 1000.0), cell("nfs", 900.0)],
        comparisons: vec![comparison()],
        ladders: vec![ladder()],
        load_lines: vec![load_line(Some(estimate(1240.0, 1190.0, 1300.0))), load_line(None)],
        caveats: vec![Caveat::new("failed_trials", "1 of 6 trials failed\u{1b}[31m")],
        interrupted: false,
    }
}

#[test]
fn every_section_is_there_and_fits() {
    let text = terminal(&summary(), false);
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
load            metric             fc  nfs   change         interval  verdict
                                                                95 %
64 connections  transactions/s  1,000  900  −10.0 %  −12.0 to −8.0 %  slower
two rounds of fc differ by up to 2.1 % in 19 of 20 cases; a change of up to 2.1 % counts as no
  difference
not equally safe: nfs loses the last second of commits if the machine fails (d1)

ladder of fc: the base differs from itself by up to 2.1 % in 19 of 20 cases
rung           verdict                        without   with   change          interval       worth
                                       transactions/s                              95 %  at the end
pool-6g        kept                             1,000  1,200  +20.0 %  +17.0 to +23.0 %     +20.0 %
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
recording: /home/r/20261121T193000Z-protocols-1a2b
";

#[test]
fn colour_changes_nothing_else() {
    let plain = terminal(&summary(), false);
    let mut coloured = terminal(&summary(), true);
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
        trials: TrialCounts { done: 0, failed: 1 },
        restores: Vec::new(),
        cells: Vec::new(),
        comparisons: Vec::new(),
        ladders: Vec::new(),
        load_lines: Vec::new(),
        caveats: Vec::new(),
        recording: None,
        ..summary()
    };
    let text = terminal(&empty, false);
    assert_eq!(text, "Order entry over two paths, preset small: 0 trials, 1 failed\nNothing was measured.\n");
}
