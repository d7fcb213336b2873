//! Programs that read sysbench's output, by the expressions that they read it with, read ours.

use crate::drop_in::Bench;
use regex::Regex;

fn regex(expression: &str) -> Regex {
    Regex::new(expression).expect("an expression")
}

/// All that a group of an expression finds, as numbers.
fn numbers(text: &str, expression: &str) -> Vec<f64> {
    let found = regex(expression);
    found
        .captures_iter(text)
        .map(|found| found[1].parse().unwrap_or_else(|_| panic!("{expression}: {found:?}")))
        .collect()
}

#[track_caller]
fn one(text: &str, expression: &str) -> f64 {
    let found = numbers(text, expression);
    assert_eq!(found.len(), 1, "{expression}: {text}");
    found[0]
}

const LINE: &str = "oltp_read_write --mysql-dry-run --threads=2 --time=5 --report-interval=1 --percentile=99 run";

/// PerfKitBenchmarker, `linux_packages/sysbench.py`: each line in brackets has three numbers, the report has the rest.
#[test]
fn perfkit_reads_what_is_printed() {
    let Some(bench) = Bench::new() else { return };
    let text = bench.ours(&LINE.replace("--percentile=99", "--percentile=95")).out;
    let intervals: Vec<&str> = text.lines().filter(|line| line.starts_with('[')).collect();
    assert!(!intervals.is_empty(), "{text}");
    for line in intervals {
        for expression in ["tps: (.*?) ", r"lat \(.*?\): (.*?) ", r"qps: (.*?) \(.*?\) "] {
            one(line, expression);
        }
    }
    let transactions = one(&text, r"transactions: *[0-9]* *\(([0-9]*[.]?[0-9]+) per sec.\)");
    let queries = one(&text, r"queries: *[0-9]* *\(([0-9]*[.]?[0-9]+) per sec.\)");
    assert!((queries / transactions - 20.0).abs() < 0.1, "{text}");
    for name in ["min", "avg", "max", "95th percentile"] {
        one(&text, &format!("{name}: *([0-9]*[.]?[0-9]+)"));
    }
}

/// The exporter of kubebench: an interval in one expression, and a report whose lines are split at the colon.
#[test]
fn kubebench_reads_what_is_printed() {
    let Some(bench) = Bench::new() else { return };
    let text = bench.ours(LINE).out;
    let interval = regex(
        r"\[ \d+s \]\s+thds:\s+(\d+)\s+tps:\s+(\d+\.\d+)\s+qps:\s+(\d+\.\d+)\s+\(r/w/o:\s+(\d+\.\d+)/(\d+\.\d+)/(\d+\.\d+)\)\s+lat\s+\(ms,99%\):\s+(\d+\.\d+)\s+err/s:\s+(\d+\.\d+)\s+reconn/s:\s+(\d+\.\d+)",
    );
    assert!(interval.captures_iter(&text).count() > 0, "{text}");
    assert_eq!(one(&text, r"ignored\s+errors:\s+(\d+)\s+\("), 0.0);
    assert!(one(&text, r"events\s+\(avg/stddev\):\s+(\d+\.\d+)/\d+\.\d+") > 0.0);
}

/// arcaflow-plugin-sysbench: spaces are removed, and each line of the report is a key and a value.
#[test]
fn arcaflow_reads_what_is_printed() {
    let Some(bench) = Bench::new() else { return };
    let lines = [
        "cpu --cpu-max-prime=1000 --events=20 run",
        "memory --memory-total-size=10M run",
        "fileio --file-num=2 --file-total-size=2M prepare",
        "fileio --file-num=2 --file-total-size=2M --file-test-mode=rndrw --events=100 run",
    ];
    for line in lines {
        let text = bench.ours(line).out;
        let read: Vec<(String, String)> = text
            .lines()
            .map(|line| line.replace(' ', ""))
            .filter(|line| line.contains(':'))
            .map(|line| {
                let parts: Vec<&str> = line.split(':').collect();
                let [key, value] = parts[..] else { panic!("more than a key and a value: {line}") };
                (key.to_owned(), value.to_owned())
            })
            .collect();
        if line.ends_with("run") {
            assert!(read.iter().any(|(key, value)| key == "totaltime" && value.ends_with('s')), "{text}");
        }
    }
}
