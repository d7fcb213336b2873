//! The search against a brute-force posterior, and with any outcomes at all.

use fastrand::Rng;
use plimsoll_stats::search::{Search, SearchOutcome, SearchSpec};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Reference {
    lowest: f64,
    highest: f64,
    rates: Vec<f64>,
    outcomes: String,
    value: f64,
    low: f64,
    high: f64,
    effective_n: f64,
}

#[test]
fn posteriors_agree_with_brute_force() {
    let cases: BTreeMap<String, Reference> = serde_json::from_str(include_str!("../reference/search.json")).unwrap();
    assert_eq!(cases.len(), 5);
    for (name, case) in cases {
        let spec = SearchSpec { lowest: case.lowest, highest: case.highest, start: None, tolerance: 0.05, trials: 20 };
        let mut search = Search::new(spec).unwrap();
        for (rate, outcome) in case.rates.iter().zip(case.outcomes.chars()) {
            search.tell(*rate, if outcome == 'K' { SearchOutcome::Kept } else { SearchOutcome::Missed });
        }
        let found = search.estimate().unwrap();
        // Matching two moments is an approximation; it may move an end by a small part of the interval.
        let allowed = 0.06 * (case.high - case.low) / 2.0;
        let (low, high) = found.interval().unwrap();
        for (what, found, expected) in
            [("value", found.value, case.value), ("low", low, case.low), ("high", high, case.high)]
        {
            assert!((found - expected).abs() < allowed, "{name}: {what} {found} where {expected} belongs");
        }
        assert!((found.effective_n / case.effective_n - 1.0).abs() < 0.02, "{name}: {found:?}");
    }
}

#[test]
fn any_outcomes_end_in_a_sound_estimate() {
    let mut rng = Rng::with_seed(12);
    for round in 0..300 {
        let lowest = 10f64.powf(8.0 * rng.f64() - 4.0);
        let highest = lowest * (1.0 + 10f64.powf(7.0 * rng.f64() - 3.0));
        let trials = rng.usize(1..40);
        let tolerance = [0.0, 0.05, f64::NAN][round % 3];
        let mut search = Search::new(SearchSpec { lowest, highest, start: None, tolerance, trials }).unwrap();
        let kept = rng.f64();
        let mut told = 0;
        while let Some(rate) = search.next() {
            assert!((lowest..=highest).contains(&rate), "{rate} in {lowest} to {highest}");
            search.tell(rate, if rng.f64() < kept { SearchOutcome::Kept } else { SearchOutcome::Missed });
            told += 1;
            let Ok(found) = search.estimate() else { continue };
            let (low, high) = (found.low.unwrap_or(lowest), found.high.unwrap_or(highest));
            assert!(lowest <= low && low <= found.value, "{found:?} in {lowest} to {highest}");
            assert!(found.value <= high && high <= highest, "{found:?} in {lowest} to {highest}");
            assert_eq!(found.missing.is_some(), found.interval().is_none(), "{found:?}");
            assert!((0.0..=told as f64).contains(&found.effective_n), "{found:?}");
        }
        assert!(told <= trials);
    }
}

#[test]
fn rates_that_nobody_asked_for_are_taken_or_ignored() {
    let spec = SearchSpec { lowest: 10.0, highest: 1_000.0, start: None, tolerance: 0.05, trials: 9 };
    let mut search = Search::new(spec).unwrap();
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        search.tell(rate, SearchOutcome::Kept);
    }
    assert!(search.estimate().is_err());
    for rate in [f64::MIN_POSITIVE, f64::MAX, 1e-300, 1e300] {
        search.tell(rate, SearchOutcome::Kept);
        search.tell(rate, SearchOutcome::Missed);
    }
    let found = search.estimate().unwrap();
    assert!((10.0..=1_000.0).contains(&found.value), "{found:?}");
}

#[test]
fn the_same_outcomes_give_the_same_rates() {
    let run = || {
        let spec = SearchSpec { lowest: 10.0, highest: 1_000.0, start: Some(50.0), tolerance: 0.05, trials: 15 };
        let mut search = Search::new(spec).unwrap();
        let mut rng = Rng::with_seed(3);
        let mut rates = Vec::new();
        while let Some(rate) = search.next() {
            search.tell(
                rate,
                if rate * (0.8 + 0.4 * rng.f64()) < 300.0 { SearchOutcome::Kept } else { SearchOutcome::Missed },
            );
            rates.push(rate);
        }
        (rates, search.estimate())
    };
    assert_eq!(run(), run());
    assert_eq!(run().0.len(), 15);
}
