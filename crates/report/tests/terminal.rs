//! The table in the terminal and the sentence below it.

mod sample;

use plimsoll_model::Caveat;
use plimsoll_report::{Limit, Report, answer, terminal_table};

fn with_points(count: usize) -> Report {
    let mut report = sample::report();
    report.summary.points.truncate(count);
    let loads: Vec<(f64, f64)> = report
        .summary
        .points
        .iter()
        .map(|point| (point.connections as f64, point.transactions_per_second.unwrap()))
        .collect();
    report.knee = plimsoll_stats::knee(&loads);
    report
}

#[test]
fn columns_are_aligned_and_peak_and_knee_are_marked() {
    let mut report = sample::report();
    report.summary.caveats.clear();
    let expected = "\
connections  transactions  queries    p50     p95     p99  errors  client CPU  host CPU
                    per s    per s     ms      ms      ms                   %         %
          1           318    6,360   3.02    4.13    5.80       0         2.1      46.0
          2           571   11,420   3.31    4.55    6.41       0         3.8      74.0
          4           803   16,060   4.71    6.53    9.31       0         5.5      91.0
          8           924   18,480   8.22   11.62   16.87       0         6.6      96.8
knee     16           968   19,360  15.60   22.85   34.38       0         7.1      98.3
peak     32           981   19,620  30.90   48.28   77.50       0         7.4      98.9
         64           947   18,940  63.80  111.12  198.80       3         7.6      99.1

durability: innodb_doublewrite=ON, innodb_flush_log_at_trx_commit=1, innodb_flush_method=O_DIRECT, log_bin=OFF
errors by code: 1213 × 3

981 transactions per second at most, at 32 connections; 95 % of that is reached with about 9 connections; the host’s \
CPUs were the limit.
";
    assert_eq!(terminal_table(&report, false), expected);
}

#[test]
fn colour_adds_escape_sequences_only() {
    let report = sample::report();
    let coloured = terminal_table(&report, true);
    assert!(coloured.contains("\x1b[1m"));
    let mut plain = coloured;
    for code in ["\x1b[1m", "\x1b[2m", "\x1b[0m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, terminal_table(&report, false));
}

#[test]
fn text_of_others_cannot_steer_the_terminal() {
    let mut report = sample::report();
    report.summary.caveats = vec![Caveat::new("bad\x1b[2J", "one\rtwo\x07\u{9b}31m")];
    let table = terminal_table(&report, false);
    assert!(table.contains("caveat bad[2J: onetwo31m\n"));
    assert!(!table.contains(['\x1b', '\r', '\x07', '\u{9b}']));
}

#[test]
fn the_answer_fits_what_was_found() {
    assert_eq!(
        answer(&with_points(0)),
        "Nothing was measured: the run ended before its first load point was complete."
    );
    assert_eq!(
        answer(&with_points(1)),
        "318 transactions per second at 1 connection; half of them took at most 3.02 ms, 99 % at most 5.80 ms."
    );
    let mut growing = with_points(3);
    growing.summary.interrupted = true;
    growing.limit = Limit::NotDetermined(String::new());
    assert_eq!(
        answer(&growing),
        "803 transactions per second at 4 connections, the highest load tried: more may be possible; what limited it \
         could not be determined; the run was interrupted after 3 load points."
    );
    let mut flat = with_points(4);
    flat.limit = Limit::ClientCpu(String::new());
    for (point, rate) in flat.summary.points.iter_mut().zip([990.0, 1000.0, 980.0, 970.0]) {
        point.transactions_per_second = Some(rate);
    }
    flat.knee = plimsoll_stats::knee(&[(1.0, 990.0), (2.0, 1000.0), (4.0, 980.0), (8.0, 970.0)]);
    assert_eq!(
        answer(&flat),
        "1,000 transactions per second at most, at 2 connections; already 1 connection, the lowest load tried, reached \
         95 % of that; the load generator’s own CPU was the limit, so the server may carry more."
    );
}
