//! The table in the terminal and the sentence below it.

use crate::sample::estimates::{estimate_all, knee, scaling};
use crate::sample::{self, Report, terminal_table};
use crate::{answer, findings};
use plimsoll_model::Metric;
use plimsoll_model::diagnosis::{Bottleneck, BottleneckVerdict};
use plimsoll_model::scaling::{Knee, Scaling};
use plimsoll_model::{Caveat, Estimate};

#[test]
fn columns_are_aligned_and_peak_and_knee_are_marked() {
    let mut report = sample::report();
    report.summary.caveats.clear();
    let expected = "\
981 transactions per second at most (95 % interval 960 – 1,002) at 32 connections; limited by the server’s CPU.

connections  transactions    ±  queries     ±    p50     p95     p99             ±  errors  client CPU  host CPU
                    per s 95 %    per s  95 %     ms      ms      ms          95 %                   %         %
          1           318  ± 7    6,360 ± 134   3.02    4.13    5.80     5.27–6.55       0         2.1      46.0
          2           571 ± 12   11,420 ± 240   3.31    4.55    6.41     5.84–7.25       0         3.8      74.0
          4           803 ± 17   16,060 ± 337   4.71    6.53    9.31    8.47–10.52       0         5.5      91.0
          8           924 ± 19   18,480 ± 388   8.22   11.62   16.87   15.35–19.06       0         6.6      96.8
knee     16           968 ± 20   19,360 ± 407  15.60   22.85   34.38   31.29–38.85       0         7.1      98.3
peak     32           981 ± 21   19,620 ± 412  30.90   48.28   77.50   70.52–87.57       0         7.4      98.9
         64           947 ± 20   18,940 ± 398  63.80  111.12  198.80 180.91–224.64       3         7.6      99.1
intervals of p50, p95, client CPU, host CPU: in the summary (--json) and in the report

peak: 981 transactions per second (960 – 1,002) at 32 connections
knee: 9 connections (7 – 13)
model (Universal Scalability): α 0.27 (0.19 – 0.35), β 0.0014 (0.0000 – 0.0030); its own peak 1,026
  transactions per second (954 – 1,098) at 23 connections (18 – 30); poor: residuals of 6.8 % exceed
  the noise of 1.1 %

limit: The server’s CPU, which was busy.
durability: innodb_doublewrite=ON, innodb_flush_log_at_trx_commit=1, innodb_flush_method=O_DIRECT, log_bin=OFF
errors by code: 1213 × 3

981 transactions per second at most (95 % interval 960 – 1,002) at 32 connections; limited by the server’s CPU.
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

fn limited(report: &mut Report, verdict: BottleneckVerdict) {
    report.trials.iter_mut().flat_map(|trial| &mut trial.diagnosis).for_each(|diagnosis| diagnosis.verdict = verdict);
}

#[test]
fn the_answer_fits_what_was_found() {
    assert_eq!(
        answer(&sample::first(0)),
        "Nothing was measured: the run ended before its first load point was complete."
    );
    assert_eq!(
        answer(&sample::first(1)),
        "318 transactions per second (95 % interval 311 – 325) at 1 connection; half of them took at most 3.02 ms, 99 % at \
         most 5.80 ms."
    );
    let mut growing = sample::first(3);
    growing.summary.interrupted = true;
    limited(&mut growing, BottleneckVerdict::NotClear);
    assert_eq!(
        answer(&growing),
        "803 transactions per second (95 % interval 786 – 820) at 4 connections, the highest load tried: more may be \
         possible; what limited it is not clear; the run ended early, after 3 load points."
    );
    let mut flat = sample::first(4);
    limited(&mut flat, BottleneckVerdict::Limited(Bottleneck::Client));
    for (point, rate) in flat.summary.points.iter_mut().zip([990.0, 1000.0, 980.0, 970.0]) {
        point.transactions_per_second = Some(rate);
        estimate_all(point);
    }
    let knee = Knee { open_ended: true, ..knee(Estimate::bare(1.0, 4.0, String::new(), String::new()), 2.0, 1000.0) };
    flat.summary.scaling =
        Some(Scaling { knee: Some(knee), saturation: None, ..scaling(Metric::TransactionsPerSecond, 1000.0) });
    assert_eq!(
        answer(&flat),
        "1,000 transactions per second at most (95 % interval 979 – 1,021) at 2 connections; limited by the load generator, so \
         the server may carry more."
    );
    let found = findings(&flat);
    assert!(
        found.iter().any(|text| text == "Knee: The lowest load tried, 1 connection, already reached 95 % of the peak."),
        "{found:?}"
    );
}

#[test]
fn order_entry_fits_into_a_hundred_and_ten_columns() {
    let table = terminal_table(&sample::order_entry::report(), false);
    let (_, rest) = table.split_once("\n\n").unwrap();
    let (points, rest) = rest.split_once("\n\n").unwrap();
    let (_, rest) = rest.split_once("\n\n").unwrap();
    let (told, _) = rest.split_once("\n\n").unwrap();
    assert!(points.lines().all(|line| line.chars().count() <= 110), "{table}");
    assert!(told.lines().all(|line| line.chars().count() <= 100), "{table}");
    let peak =
        "peak     32   26,220 ± 551           981 ± 21   19,620 ± 412      67.70   77.50       0         7.4      98.9";
    assert!(points.lines().any(|line| line == peak), "{points}");
    let expected = "\
order entry at 32 connections, profile spec, fidelity strict: TPC-C-like
transaction   count  share  rollbacks  failed  retries       p50      p90      p99  limit  holds
                         %                                    ms       ms       ms      s
new_order     4,414   45.0         44       0        0     49.44     67.7    112.7      5  yes
payment       4,218   43.0          0       1        0     15.45     21.2     35.2      5  yes
order_status    392    4.0          0       0        0      9.27     12.7     21.1      5  yes
delivery        392    4.0          0       0        0  4,017.00  5,500.5  9,158.8      5  no
stock_level     392    4.0          0       0        0     21.63     29.6     49.3     20  yes
4,370 new orders committed, 44 rolled back for an item that does not exist, 0 failed
36,000 undelivered orders at the start, 36,412 at the end; 3 districts skipped by deliveries, for
  want of an undelivered order
retries: 2 after a record that had changed since it was read (1020), 1 after a lock wait timeout
  (1205), 12 after a deadlock (1213)
CPU per transaction: 75.4 µs in the client (95 % interval 74.5 – 76.3), 1,955 µs in the server (95 %
  interval 1,926 – 1,984)
input audit: 3 of 6 hold, 2 with too few samples; out of range: lines from a remote warehouse 0.00 %
  (allowed 0.95–1.05 %)
key skew, percent of accesses that went to the hottest 1/10/20/50 % of keys:
  items 30.4/71.1/84.5/97.4, expected 30.5/71.0/84.4/97.4
  last names –, expected 14.7/54.2/72.3/92.6
note: TPC-C-like: derived from TPC-C, and not comparable with published TPC-C results
note: NOPM counts committed new orders; DBT-2's NOTPM and NetApp's OET count rolled-back ones too:
  26484 per minute that way";
    assert_eq!(told, expected);
}

#[test]
fn one_point_of_order_entry_tells_how_long_new_orders_took() {
    let mut report = sample::order_entry::report();
    report.summary.points.truncate(1);
    assert_eq!(
        answer(&report),
        "8,502 new orders per minute (95 % interval 8,323 – 8,681) at 1 connection; 90 % of all new orders took at most \
         6.62 ms."
    );
    report.summary.points[0].load.rate = Some(300.0);
    let expected = "(95 % interval 8,323 – 8,681) at 1 connection with 300 transactions per second offered;";
    assert!(answer(&report).contains(expected));
}
