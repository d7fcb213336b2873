//! Keys follow the chosen distribution: chi-square against probabilities that share no code with the samplers; the same
//! test rejects planted errors. Seeds are fixed, so the outcome is, too.

use plimsoll_load::seed::Rng;
use plimsoll_workloads::distribution::Distribution;
use statrs::distribution::{ChiSquared, ContinuousCDF};

const DRAWS: u64 = 400_000;
const LOW: u64 = 1;

/// Whether `draws` keys of `low..` are compatible with `expected` at the level 0.001. Neighbouring keys are joined
/// until 10 draws are expected in each class.
fn fits(expected: &[f64], mut draw: impl FnMut(&mut Rng) -> u64) -> bool {
    let total: f64 = expected.iter().sum();
    assert!((total - 1.0).abs() < 1e-6, "the expected probabilities add up to {total}");
    let mut rng = Rng::new(20, 26, 11);
    let mut observed = vec![0u64; expected.len()];
    for _ in 0..DRAWS {
        match observed.get_mut((draw(&mut rng) - LOW) as usize) {
            Some(count) => *count += 1,
            None => return false,
        }
    }
    let mut classes: Vec<(f64, f64)> = vec![(0.0, 0.0)];
    for (&count, &probability) in observed.iter().zip(expected) {
        if classes.last().is_some_and(|class| class.1 >= 10.0) {
            classes.push((0.0, 0.0));
        }
        let last = classes.last_mut().expect("never empty");
        last.0 += count as f64;
        last.1 += probability * DRAWS as f64;
    }
    if classes.len() > 1 && classes.last().is_some_and(|class| class.1 < 10.0) {
        let (rest, before) = (classes.pop().expect("more than one"), classes.last_mut().expect("more than one"));
        before.0 += rest.0;
        before.1 += rest.1;
    }
    let statistic: f64 = classes.iter().map(|(found, wanted)| (found - wanted).powi(2) / wanted).sum();
    let critical = ChiSquared::new((classes.len() - 1) as f64).expect("at least two classes").inverse_cdf(0.999);
    statistic <= critical
}

fn accepts(distribution: Distribution, expected: &[f64]) -> bool {
    let sampler = distribution.over(LOW, expected.len() as u64);
    fits(expected, |rng| sampler.draw(rng))
}

/// Distribution function of the mean of `iterations` uniforms, by repeated numerical integration: the density of a sum
/// of k uniforms is F(x) - F(x - 1) of the sum of k - 1.
fn bell_cdf(iterations: usize) -> impl Fn(f64) -> f64 {
    const STEPS: usize = 4_000;
    let points = iterations * STEPS + 1;
    let mut cdf: Vec<f64> = (0..points).map(|i| (i as f64 / STEPS as f64).min(1.0)).collect();
    for _ in 1..iterations {
        let density: Vec<f64> = (0..points).map(|i| cdf[i] - if i < STEPS { 0.0 } else { cdf[i - STEPS] }).collect();
        let mut sum = 0.0;
        cdf = (0..points)
            .map(|i| {
                sum += if i == 0 { 0.0 } else { (density[i - 1] + density[i]) / 2.0 / STEPS as f64 };
                sum
            })
            .collect();
    }
    move |mean: f64| {
        let position = (mean * iterations as f64 * STEPS as f64).clamp(0.0, (points - 1) as f64);
        let (index, part) = (position.floor() as usize, position.fract());
        cdf[index] + if part > 0.0 { part * (cdf[index + 1] - cdf[index]) } else { 0.0 }
    }
}

fn gaussian(n: usize, iterations: usize) -> Vec<f64> {
    let cdf = bell_cdf(iterations);
    (0..n).map(|j| cdf((j + 1) as f64 / n as f64) - cdf(j as f64 / n as f64)).collect()
}

/// The mixture by its definition: a bell over n - 1 keys, and a window hit by U in [1 - reserved, 1).
fn special(n: usize, iterations: usize, window_percent: f64, reserved_percent: f64) -> Vec<f64> {
    let (span, reserved) = ((n - 1) as f64, reserved_percent / 100.0);
    let window = span * window_percent / 100.0;
    let u_at = |key: f64| ((key - (span - window) / 2.0) / (window + 1.0)).clamp(1.0 - reserved, 1.0);
    let bell = gaussian(n - 1, iterations).into_iter().chain([0.0]);
    bell.enumerate().map(|(j, p)| (1.0 - reserved) * p + u_at((j + 1) as f64) - u_at(j as f64)).collect()
}

fn pareto(n: usize, h: f64) -> Vec<f64> {
    let power = (1.0 - h).ln() / h.ln();
    let cdf = |j: usize| (j as f64 / n as f64).powf(power);
    (0..n).map(|j| cdf(j + 1) - cdf(j)).collect()
}

fn zipfian(n: usize, exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-exponent)).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

#[test]
fn uniform_keys_are_uniform() {
    for n in [2, 100, 1_000] {
        assert!(accepts(Distribution::Uniform, &vec![1.0 / n as f64; n]), "{n}");
    }
}

#[test]
fn gaussian_keys_are_means_of_uniforms() {
    for (n, iterations) in [(5, 12), (100, 12), (1_000, 12), (100, 2)] {
        let distribution = Distribution::Gaussian { iterations };
        assert!(accepts(distribution, &gaussian(n, iterations as usize)), "{n} {iterations}");
    }
}

#[test]
fn special_keys_are_a_window_and_a_bell() {
    for (n, window_percent, reserved_percent) in
        [(5, 1.0, 75.0), (400, 1.0, 75.0), (1_000, 1.0, 75.0), (1_000, 20.0, 40.0), (100, 100.0, 100.0)]
    {
        let distribution = Distribution::Special { iterations: 12, window_percent, reserved_percent };
        assert!(accepts(distribution, &special(n, 12, window_percent, reserved_percent)), "{n} {window_percent}");
    }
}

#[test]
fn pareto_keys_follow_the_eighty_twenty_rule() {
    for (n, h) in [(20, 0.2), (1_000, 0.2), (1_000, 0.4)] {
        assert!(accepts(Distribution::Pareto { h }, &pareto(n, h)), "{n} {h}");
    }
    let hottest_fifth: f64 = pareto(1_000, 0.2)[..200].iter().sum();
    assert!((hottest_fifth - 0.8).abs() < 1e-9);
}

#[test]
fn zipfian_keys_follow_the_power_law() {
    for (n, exponent) in [(2, 0.8), (1_000, 0.8), (1_000, 0.0), (1_000, 0.999_999_999_9), (1_000, 1.0), (100, 2.5)] {
        assert!(accepts(Distribution::Zipfian { exponent }, &zipfian(n, exponent)), "{n} {exponent}");
    }
}

#[test]
fn planted_errors_are_rejected() {
    let special_of =
        |window_percent, reserved_percent| Distribution::Special { iterations: 12, window_percent, reserved_percent };
    assert!(!accepts(Distribution::Uniform, &special(1_000, 12, 1.0, 75.0)));
    assert!(!accepts(Distribution::Gaussian { iterations: 11 }, &gaussian(1_000, 12)));
    assert!(!accepts(special_of(1.0, 74.5), &special(1_000, 12, 1.0, 75.0)));
    assert!(!accepts(special_of(2.0, 75.0), &special(1_000, 12, 1.0, 75.0)));
    assert!(!accepts(Distribution::Pareto { h: 0.21 }, &pareto(1_000, 0.2)));
    assert!(!accepts(Distribution::Zipfian { exponent: 0.81 }, &zipfian(1_000, 0.8)));
    // The classic off-by-one: the last key is never drawn.
    assert!(!fits(&[0.01; 100], |rng| rng.between(LOW, 99)));
    // A window drawn with a number of its own would hit its lower quarter too.
    let expected = special(1_000, 12, 20.0, 75.0);
    let bell = Distribution::Gaussian { iterations: 12 }.over(1, 999);
    assert!(!fits(&expected, |rng| {
        if rng.unit() < 0.25 { bell.draw(rng) } else { 1 + (rng.unit() * 200.8 + 399.6) as u64 }
    }));
}
