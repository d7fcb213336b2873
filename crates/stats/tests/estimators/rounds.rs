//! Comparisons over rounds against SciPy, and the studentised bootstrap against one by NumPy.

use plimsoll_model::Estimate;
use plimsoll_stats::comparison::{detectable, noise_floor, paired, pairs_needed, unpaired};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    student: Vec<Student>,
    bootstrap: Vec<Bootstrap>,
    welch: Vec<Welch>,
    noise_floor: Vec<NoiseFloor>,
    pairs_needed: Vec<Needed>,
    detectable: Vec<Needed>,
}

#[derive(Deserialize)]
struct Student {
    a: Vec<f64>,
    b: Vec<f64>,
    confidence: f64,
    #[serde(flatten)]
    expected: Expected,
}

#[derive(Deserialize)]
struct Welch {
    a: Vec<f64>,
    b: Vec<f64>,
    #[serde(flatten)]
    expected: Expected,
}

#[derive(Deserialize)]
struct Bootstrap {
    a: Vec<f64>,
    b: Vec<f64>,
    log_ends: [f64; 2],
    deviations: [f64; 2],
}

#[derive(Deserialize)]
struct NoiseFloor {
    rounds: Vec<f64>,
    effective_n: f64,
    #[serde(flatten)]
    expected: Expected,
}

#[derive(Deserialize)]
struct Expected {
    value: f64,
    low: f64,
    high: f64,
}

#[derive(Debug, Deserialize)]
struct Needed {
    spread: f64,
    pairs: usize,
    effect: f64,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("../reference/rounds.json")).unwrap()
}

fn pairs(a: &[f64], b: &[f64]) -> Vec<(f64, f64)> {
    a.iter().copied().zip(b.iter().copied()).collect()
}

fn agrees(found: &Estimate, expected: &Expected) {
    let Expected { value, low, high } = *expected;
    let (found_low, found_high) = found.interval().unwrap();
    for (found, expected) in [(found.value, value), (found_low, low), (found_high, high)] {
        assert!((found - expected).abs() < 1e-8, "{found} where {expected} belongs");
    }
}

#[test]
fn paired_intervals_are_scipys() {
    for case in reference().student {
        agrees(&paired(&pairs(&case.a, &case.b), case.confidence).unwrap(), &case.expected);
    }
}

#[test]
fn unpaired_intervals_are_welchs() {
    for case in reference().welch {
        agrees(&unpaired(&case.a, &case.b, 0.95).unwrap(), &case.expected);
    }
}

/// Both sides draw 9,999 resamples, with other generators. The reference is the mean of 200 repetitions, which leaves
/// our own draw to chance: it lies within four of the standard deviations that the repetitions had.
#[test]
fn the_bootstrap_differs_from_numpys_by_chance_only() {
    for case in reference().bootstrap {
        let (low, high) = paired(&pairs(&case.a, &case.b), 0.95).unwrap().interval().unwrap();
        for (end, found) in [low, high].into_iter().enumerate() {
            let away = (found.ln_1p() - case.log_ends[end]) / case.deviations[end];
            assert!(away.abs() < 4.0, "end {end} of {} pairs is {away} deviations away", case.a.len());
        }
    }
}

#[test]
fn noise_floors_are_scipys() {
    for case in reference().noise_floor {
        let found = noise_floor(&case.rounds).unwrap();
        agrees(&found, &case.expected);
        assert!((found.effective_n / case.effective_n - 1.0).abs() < 1e-9);
    }
}

#[test]
fn pairs_needed_are_those_of_the_noncentral_t_within_one() {
    for case in reference().pairs_needed {
        let found = pairs_needed(case.spread, case.effect, 0.95);
        assert!(found.abs_diff(case.pairs) <= 1, "{found} pairs for {case:?}");
    }
}

/// The sum of two quantiles of Student's t asks for 5 % less than the noncentral one at 3 pairs, for 1 % less at 5.
#[test]
fn detectable_effects_are_nearly_those_of_the_noncentral_t() {
    for case in reference().detectable {
        let found = detectable(case.spread, case.pairs, 0.95).unwrap();
        let short = 1.0 - found.ln_1p() / case.effect.ln_1p();
        let allowed = if case.pairs < 5 { 0.052 } else { 0.013 };
        assert!((-0.001..allowed).contains(&short), "{found} for {case:?}");
    }
}
