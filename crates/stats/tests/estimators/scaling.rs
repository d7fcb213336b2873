//! Fits, knees and deltas against SciPy.

use plimsoll_model::estimate::{CONFIDENCE, Estimate};
use plimsoll_model::scaling::ScalingSample;
use plimsoll_stats::knee;
use plimsoll_stats::saturation::saturation;
use plimsoll_stats::scaling::deltas;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Reference {
    fits: BTreeMap<String, Fit>,
    sweeps: Vec<Sweep>,
}

/// Value, low, high.
type Triple = (f64, Option<f64>, Option<f64>);

#[derive(Deserialize)]
struct Fit {
    loads: Vec<f64>,
    rates: Vec<f64>,
    gamma: Triple,
    alpha: Triple,
    beta: Triple,
    residual: f64,
    peak_load: Option<Triple>,
    peak_throughput: Option<Triple>,
}

#[derive(Deserialize)]
struct Sweep {
    loads: Vec<f64>,
    /// Mean, low, high, n.
    means: Vec<(f64, f64, f64, f64)>,
    knee: Triple,
    deltas: Vec<Triple>,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../reference/scaling.json")).unwrap()
}

fn bare(load: f64, rate: f64) -> ScalingSample {
    let throughput = Estimate::bare(rate, 1.0, String::new(), "one run".to_owned());
    ScalingSample { load, throughput }
}

/// Compares within `tolerance`, a share; what should be 0 may be as small as 1e-9.
fn same(what: &str, found: &Estimate, (value, low, high): Triple, tolerance: f64) {
    let near = |found: f64, expected: f64| (found - expected).abs() <= tolerance * expected.abs() + 1e-9;
    let end = |found: Option<f64>, expected: Option<f64>| match (found, expected) {
        (Some(found), Some(expected)) => near(found, expected),
        (found, expected) => found == expected,
    };
    let agree = near(found.value, value) && end(found.low, low) && end(found.high, high);
    assert!(agree, "{what}: {found:?} where {value} from {low:?} to {high:?} belongs");
    assert_eq!(found.missing.is_some(), found.interval().is_none(), "{what}: {found:?}");
}

#[test]
fn fits_agree_with_curve_fit() {
    let fits = reference().fits;
    assert_eq!(fits.len(), 5);
    for (name, expected) in fits {
        let samples: Vec<ScalingSample> =
            expected.loads.iter().zip(&expected.rates).map(|(&load, &rate)| bare(load, rate)).collect();
        let found = saturation(&samples).unwrap();
        same(&format!("{name}: gamma"), &found.gamma, expected.gamma, 1e-6);
        same(&format!("{name}: alpha"), &found.alpha, expected.alpha, 1e-6);
        same(&format!("{name}: beta"), &found.beta, expected.beta, 1e-6);
        assert!((found.residual / expected.residual - 1.0).abs() < 1e-6, "{name}: {}", found.residual);
        assert_eq!(found.peak.is_some(), expected.peak_load.is_some(), "{name}");
        if let Some((peak, (load, throughput))) = found.peak.zip(expected.peak_load.zip(expected.peak_throughput)) {
            same(&format!("{name}: peak load"), &peak.load, load, 1e-6);
            same(&format!("{name}: peak"), &peak.throughput, throughput, 1e-6);
        }
    }
}

#[test]
fn knees_and_deltas_agree_with_numpy() {
    let sweeps = reference().sweeps;
    assert_eq!(sweeps.len(), 5);
    for (number, expected) in sweeps.iter().enumerate() {
        let sample = |(&load, &(mean, low, high, n)): (&f64, &(f64, f64, f64, f64))| {
            let throughput = Estimate::new(mean, (low, high), CONFIDENCE, n, String::new());
            ScalingSample { load, throughput }
        };
        let samples: Vec<ScalingSample> = expected.loads.iter().zip(&expected.means).map(sample).collect();
        // The reference looks for crossings on a grid.
        same(&format!("knee {number}"), &knee(&samples).unwrap().load, expected.knee, 1e-5);
        let found = deltas(&samples);
        assert_eq!(found.len(), expected.deltas.len());
        for ((delta, &expected), load) in found.iter().zip(&expected.deltas).zip(&samples[1..]) {
            assert_eq!(delta.load, load.load);
            same(&format!("delta {number} at {}", delta.load), &delta.change, expected, 1e-7);
        }
    }
}
