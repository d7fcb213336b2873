//! The sweeps of a Sun BluePrint (2008, MySQL 5.0.45 under sysbench OLTP, tables 3-2 and 3-3): transactions per second
//! over connections.

use plimsoll_model::Metric;
use plimsoll_model::estimate::Estimate;
use plimsoll_model::scaling::{Scaling, ScalingSample};
use plimsoll_stats::scaling::scaling;

const CONNECTIONS: [f64; 8] = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
const READ_ONLY: [f64; 8] = [104.73, 251.33, 451.56, 555.64, 577.96, 563.84, 558.66, 519.96];
const READ_WRITE: [f64; 8] = [146.04, 232.05, 291.1, 289.12, 288.51, 297.32, 295.32, 273.91];

fn told(rates: [f64; 8]) -> Scaling {
    let sample = |(load, rate): (f64, f64)| ScalingSample {
        load,
        throughput: Estimate::bare(rate, 1.0, "printed".to_owned(), "one run".to_owned()),
    };
    let samples: Vec<ScalingSample> = CONNECTIONS.into_iter().zip(rates).map(sample).collect();
    scaling(Metric::TransactionsPerSecond, &samples)
}

/// To the last of so many decimals.
fn rounded(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}")
}

#[test]
fn read_only_bends_before_16_connections_and_peaks_at_32() {
    let Scaling { knee, saturation, refusals, metric } = told(READ_ONLY);
    assert_eq!((metric, refusals.len()), (Metric::TransactionsPerSecond, 0));
    let knee = knee.unwrap();
    assert!((12.0..=16.0).contains(&knee.load.value), "{knee:?}");
    assert_eq!(rounded(knee.load.value, 1), "15.3");
    assert_eq!((knee.peak_load, knee.peak.value, knee.open_ended), (32.0, 577.96, false));
    assert_eq!(
        knee.load.missing.unwrap(),
        "the load points have no intervals: measure 10 s or longer, or several rounds"
    );

    // The law has its peak at twice the load, and promises 12 % more than was ever seen.
    let fit = saturation.unwrap();
    assert_eq!(fit.poor.as_deref(), Some("residuals of 17.4 % exceed the 5 % by which runs of one server differ"));
    assert_eq!((rounded(fit.alpha.value, 3), rounded(fit.beta.value, 6)), ("0.081".to_owned(), "0.000255".to_owned()));
    let peak = fit.peak.unwrap();
    assert_eq!((rounded(peak.load.value, 0), rounded(peak.throughput.value, 0)), ("60".to_owned(), "644".to_owned()));
    assert_eq!(peak.load.high, None, "what falls beyond the peak may be noise");
}

#[test]
fn read_write_bends_before_8_connections_and_peaks_at_64() {
    let Scaling { knee, saturation, refusals, .. } = told(READ_WRITE);
    assert!(refusals.is_empty(), "{refusals:?}");
    let knee = knee.unwrap();
    assert!((6.0..=8.0).contains(&knee.load.value), "{knee:?}");
    assert_eq!(rounded(knee.load.value, 1), "7.2");
    assert_eq!((knee.peak_load, knee.peak.value, knee.open_ended), (64.0, 297.32, false));

    let fit = saturation.unwrap();
    assert_eq!(fit.poor.as_deref(), Some("residuals of 7.6 % exceed the 5 % by which runs of one server differ"));
    assert_eq!((rounded(fit.alpha.value, 3), rounded(fit.beta.value, 6)), ("0.305".to_owned(), "0.000300".to_owned()));
    let peak = fit.peak.unwrap();
    assert_eq!((rounded(peak.load.value, 0), rounded(peak.throughput.value, 0)), ("48".to_owned(), "310".to_owned()));
}
