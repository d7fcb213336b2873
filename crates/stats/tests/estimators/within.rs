//! Means, percentiles and stalls of a window against NumPy and SciPy.

use plimsoll_model::Estimate;
use plimsoll_stats::batch_means::{Piece, ratio};
use plimsoll_stats::latency::new_histogram;
use plimsoll_stats::percentile::Clusters;
use plimsoll_stats::stalls::{IntervalProgress, StallStretch, stalls};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    means: Vec<Mean>,
    percentiles: Vec<Percentile>,
    stalls: Vec<Silence>,
}

#[derive(Deserialize)]
struct Mean {
    pieces: Vec<(f64, f64)>,
    #[serde(flatten)]
    expected: Expected,
}

#[derive(Deserialize)]
struct Percentile {
    quantile: f64,
    microseconds: Vec<Vec<u64>>,
    #[serde(flatten)]
    expected: Expected,
}

#[derive(Deserialize)]
struct Expected {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    effective_n: f64,
}

#[derive(Deserialize)]
struct Silence {
    progress: Vec<(u64, f64)>,
    longest: f64,
    stalls: Vec<(f64, f64)>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../reference/within.json")).unwrap()
}

/// `tolerance` is relative.
fn agree(found: &Estimate, expected: &Expected, tolerance: f64) {
    let close = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < tolerance, "{found} where {expected} belongs");
    };
    close(found.value, expected.value);
    for (found, expected) in [(found.low, expected.low), (found.high, expected.high)] {
        assert_eq!(found.is_some(), expected.is_some());
        found.into_iter().zip(expected).for_each(|(found, expected)| close(found, expected));
    }
    close(found.effective_n, expected.effective_n);
    assert_eq!(found.missing.is_some(), found.interval().is_none());
}

#[test]
fn means_agree_with_batch_means_from_the_covariances() {
    let means = reference().means;
    assert_eq!(means.len(), 6);
    for mean in means {
        let piece = |&(numerator, denominator): &(f64, f64)| Piece { numerator, denominator };
        let pieces: Vec<Piece> = mean.pieces.iter().map(piece).collect();
        agree(&ratio(&pieces).unwrap(), &mean.expected, 1e-6);
    }
}

#[test]
fn percentiles_agree_with_the_ranks_of_the_values_themselves() {
    let percentiles = reference().percentiles;
    assert_eq!(percentiles.len(), 4);
    for percentile in percentiles {
        let mut clusters = Clusters::default();
        for values in &percentile.microseconds {
            let mut second = new_histogram();
            values.iter().for_each(|microseconds| second.record(microseconds * 1_000).unwrap());
            clusters.add(&second);
        }
        let found = clusters.percentile(percentile.quantile).unwrap().scaled(1e-3);
        // A histogram keeps three digits, so that values change places with their nearest neighbours.
        agree(&found, &percentile.expected, 2e-3);
    }
}

#[test]
fn stalls_agree_with_the_poisson_probability_of_their_runs() {
    let windows = reference().stalls;
    assert!(windows.iter().any(|window| window.stalls.is_empty()) && windows.iter().any(|w| w.stalls.len() > 1));
    for Silence { progress, longest, stalls: expected } in windows {
        let expected: Vec<StallStretch> =
            expected.iter().map(|&(start, seconds)| StallStretch { start, seconds }).collect();
        let of = |(completions, seconds)| IntervalProgress {
            completions,
            seconds,
            usual: longest,
            ..IntervalProgress::default()
        };
        assert_eq!(stalls(&progress.into_iter().map(of).collect::<Vec<_>>()), expected);
    }
}
