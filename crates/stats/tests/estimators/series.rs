//! Drift, warm-up and changes of level against SciPy and NumPy: `../reference/series.py` makes the values.

use plimsoll_stats::change_points::{ChangePoint, change_points};
use plimsoll_stats::steady::{trend, truncation};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    trends: Vec<Trend>,
    truncations: Vec<Truncation>,
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Trend {
    values: Vec<f64>,
    value: f64,
    low: f64,
    high: f64,
    /// From SciPy's normal approximation, which rounds to whole ranks.
    scipy_low: f64,
    scipy_high: f64,
    effective_n: f64,
}

#[derive(Deserialize)]
struct Truncation {
    values: Vec<f64>,
    cut: Option<usize>,
}

#[derive(Deserialize)]
struct Change {
    values: Vec<f64>,
    at: usize,
    before: f64,
    after: f64,
    p_value: f64,
}

/// The Nile's yearly flow at Aswan from 1871 to 1970 in 10⁸ m³ (Cobb 1978), which fell after 1898.
const NILE: [u16; 100] = [
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
    1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969, 831,
    726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759, 781, 865, 845,
    944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890, 744, 749, 838, 1050, 918,
    986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
];

fn reference() -> Reference {
    serde_json::from_str(include_str!("../reference/series.json")).unwrap()
}

fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs()
}

#[test]
fn drifts_agree_with_theil_and_sen() {
    for expected in reference().trends {
        let found = trend(&expected.values).unwrap();
        let (low, high) = found.interval().unwrap();
        assert!(close(found.value, expected.value, 1e-9), "{found:?}: {}", expected.value);
        assert!(close(low, expected.low, 1e-6) && close(high, expected.high, 1e-6), "{found:?}: {}", expected.low);
        assert!(close(found.effective_n, expected.effective_n, 1e-6), "{found:?}: {}", expected.effective_n);
        if expected.values.len() >= 80 {
            let near = 0.1 * (high - low);
            let (scipy_low, scipy_high) = (expected.scipy_low, expected.scipy_high);
            assert!((low - scipy_low).abs() < near && (high - scipy_high).abs() < near, "{found:?}: {scipy_low}");
        }
    }
}

#[test]
fn warm_ups_are_cut_where_the_formula_says() {
    let truncations = reference().truncations;
    assert!(truncations.iter().any(|case| case.cut.is_none()) && truncations.iter().any(|case| case.cut.is_some()));
    for expected in truncations {
        assert_eq!(truncation(&expected.values), expected.cut, "of {} s", expected.values.len());
    }
}

#[test]
fn changes_are_those_of_a_search_by_brute_force() {
    for expected in reference().changes {
        let [found] = change_points(&expected.values, 0.05)[..] else {
            panic!("not one change: {:?}", change_points(&expected.values, 0.05))
        };
        let ChangePoint { at, before, after, p_value } = found;
        assert_eq!(at, expected.at);
        assert!(close(before, expected.before, 1e-9) && close(after, expected.after, 1e-9), "{found:?}");
        // SciPy's t distribution and the one used here differ slightly in the far tail.
        assert!(close(p_value, expected.p_value, 1e-6), "{found:?}: {}", expected.p_value);
    }
}

#[test]
fn the_niles_flow_changes_after_1898() {
    let flow: Vec<f64> = NILE.iter().map(|&flow| f64::from(flow)).collect();
    let [change] = change_points(&flow, 0.05)[..] else { panic!("one change: {:?}", change_points(&flow, 0.05)) };
    assert_eq!(1871 + change.at, 1899);
    assert!(close(change.before, 1097.75, 1e-6) && close(change.after, 849.972, 1e-6), "{change:?}");
}
