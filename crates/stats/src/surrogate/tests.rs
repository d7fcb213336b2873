use super::*;

/// Trials of three settings: a number whose effect rises and levels off, a word that brings a tenth, and one that does nothing.
fn trials(count: usize, noise: f64, seed: u64) -> Vec<Observation> {
    let mut rng = Rng::with_seed(seed);
    let trial = |number: usize| {
        let (x, word, idle) = (rng.f64(), rng.usize(0..2), rng.f64());
        let at = vec![Position::At(x), Position::Named(word), Position::At(idle)];
        Observation { value: truth(&at) + noise * (rng.f64() - 0.5) * 12f64.sqrt(), at, when: number as f64 }
    };
    (0..count).map(trial).collect()
}

fn truth(at: &[Position]) -> f64 {
    let [Position::At(x), Position::Named(word), _] = at else { panic!("{at:?}") };
    0.4 * (1.0 - (-4.0 * x).exp()) + 0.1 * *word as f64
}

fn place(x: f64, word: usize) -> Vec<Position> {
    vec![Position::At(x), Position::Named(word), Position::At(0.5)]
}

#[test]
fn what_was_not_measured_is_learned_from_what_was() {
    let learned = Surrogate::learn(trials(30, 0.03, 1), 0.03, 7).unwrap();
    for (x, word) in [(0.1, 0), (0.5, 1), (0.9, 0), (0.9, 1)] {
        let (belief, truth) = (learned.belief(&place(x, word)), truth(&place(x, word)));
        assert!((belief.mean - truth).abs() < 0.05, "{x} {word}: {belief:?} where {truth} is true");
        assert!(belief.deviation < 0.06, "{belief:?}");
    }
}

#[test]
fn beliefs_hold_as_often_as_they_say() {
    let places = [(0.05, 1), (0.3, 0), (0.6, 1), (0.95, 0)].map(|(x, word)| place(x, word));
    let mut held = 0;
    for seed in 0..25 {
        let learned = Surrogate::learn(trials(15, 0.1, seed), 0.1, seed).unwrap();
        let holds = |at: &&Vec<Position>| {
            let belief = learned.belief(at);
            (belief.mean - truth(at)).abs() < 1.96 * belief.deviation
        };
        held += places.iter().filter(holds).count();
    }
    assert!(held >= 90, "{held} of 100");
}

#[test]
fn where_nothing_was_measured_more_is_open() {
    let near: Vec<Observation> =
        trials(40, 0.02, 3).into_iter().filter(|seen| matches!(seen.at[0], Position::At(x) if x < 0.5)).collect();
    let learned = Surrogate::learn(near, 0.02, 1).unwrap();
    assert!(learned.belief(&place(1.0, 0)).deviation > 2.0 * learned.belief(&place(0.25, 0)).deviation);
}

#[test]
fn a_gain_is_expected_where_it_may_be() {
    let learned = Surrogate::learn(trials(30, 0.03, 5), 0.03, 2).unwrap();
    let best = learned.belief(&place(0.9, 1)).mean;
    assert!(learned.expected_gain(&place(0.9, 1), best) > learned.expected_gain(&place(0.05, 0), best));
    assert!(learned.expected_gain(&place(0.05, 0), best) < 0.001);
    let far = learned.expected_gain(&place(0.9, 1), best - 1.0);
    assert!((far - 1.0).abs() < 0.01, "{far}");
}

#[test]
fn what_a_setting_does_is_known_better_than_what_it_is_added_to() {
    let learned = Surrogate::learn(trials(30, 0.05, 4), 0.05, 1).unwrap();
    let (with, without) = (place(0.5, 1), place(0.5, 0));
    let word = learned.difference(&with, &without);
    assert!((word.mean - (learned.belief(&with).mean - learned.belief(&without).mean)).abs() < 1e-9);
    assert!((word.mean - 0.1).abs() < 2.0 * word.deviation, "{word:?}");
    assert!(word.deviation < learned.belief(&with).deviation + learned.belief(&without).deviation, "{word:?}");
    let none = learned.difference(&with, &with);
    assert!(none.mean == 0.0 && none.deviation < 1e-6, "{none:?}");
}

#[test]
fn a_drift_is_not_taken_for_an_effect() {
    // The machine becomes slower by a third over forty trials, in which a setting that does nothing rises.
    let trial = |number: usize| {
        let share = number as f64 / 40.0;
        // Every fourth trial is of the same settings.
        let at = if number.is_multiple_of(4) { 0.0 } else { share };
        Observation {
            at: vec![Position::At(at)],
            when: number as f64,
            value: -0.3 * share + 0.01 * (number % 3) as f64,
        }
    };
    let learned = Surrogate::learn((0..40).map(trial).collect(), 0.01, 1).unwrap();
    let effect = learned.belief(&[Position::At(0.9)]).mean - learned.belief(&[Position::At(0.0)]).mean;
    assert!(effect.abs() < 0.1, "{effect}");
}

#[test]
fn equal_trials_teach_the_same_and_none_teach_nothing() {
    let belief = |seed| Surrogate::learn(trials(12, 0.1, 1), 0.1, seed).unwrap().belief(&place(0.4, 1));
    assert_eq!(belief(1), belief(1));
    assert!(Surrogate::learn(Vec::new(), 0.1, 1).is_none());
    let broken = Observation { at: vec![Position::At(0.0)], when: 0.0, value: f64::NAN };
    assert!(Surrogate::learn(vec![broken], 0.1, 1).is_none());
}
