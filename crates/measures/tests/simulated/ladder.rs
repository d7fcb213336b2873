//! Ladders on a server on which it is known what each rung does.

use super::*;
use plimsoll_measures::lab::summary;
use plimsoll_model::Class;
use plimsoll_model::Metric;
use plimsoll_model::lab::{Ladder, Recovery, RungVerdict, Verification, VerificationVerdict};
use plimsoll_schedule::Prospect;

/// What a rung does: throughput and p99 by a factor.
const EFFECTS: [(&str, f64, f64); 6] = [
    ("helpful", 1.2, 0.9),
    ("useless", 1.0, 1.0),
    ("harmful", 0.85, 1.1),
    ("slow-tail", 1.2, 3.0),
    ("lossy", 1.5, 0.8),
    ("second", 1.15, 1.0),
];

pub(super) fn ladder_plan(seed: u64, rungs: &[&str]) -> LabPlan {
    LabPlan { rungs: rungs.iter().map(|name| rung(name)).collect(), ..plan(seed, 5, vec![variant("base", &[CLOSED])]) }
}

fn has(trial: &TrialPlan, name: &str) -> bool {
    trial.variant.config.iter().any(|setting| setting.name == name)
}

/// A server with noise of `deviation`.
pub(super) fn simulated(seed: u64, deviation: f64) -> impl Fn(&TrialPlan) -> TrialOutcome {
    move |trial| {
        if has(trial, "misapplied") {
            return TrialOutcome {
                verifications: vec![not_applied("misapplied")],
                ..failed("a setting is not in effect")
            };
        }
        let effects = EFFECTS.iter().filter(|(name, ..)| has(trial, name));
        let (rate, p99) = effects.fold((1000.0, 5.0), |(rate, p99), effect| (rate * effect.1, p99 * effect.2));
        let mut outcome =
            reached(rate * noise(seed, trial, deviation), p99 * noise(seed + 1000, trial, 2.0 * deviation));
        if has(trial, "lossy") {
            outcome.risks.insert(Class::D1);
        }
        outcome
    }
}

fn not_applied(name: &str) -> Verification {
    Verification {
        name: name.to_owned(),
        requested: "1".to_owned(),
        origin: "plan.toml, line 7".to_owned(),
        effective: Some("0".to_owned()),
        load: None,
        verdict: VerificationVerdict::NotApplied,
        class: Class::D0,
        log: Vec::new(),
        behaviour: None,
        remark: None,
    }
}

fn climb(
    plan: &LabPlan,
    prospects: &Prospects,
    server: impl Fn(&TrialPlan) -> TrialOutcome,
) -> (Ladder, Vec<EndedTrial>) {
    let all = run(plan, prospects, server);
    let mut found = summary(plan, prospects, &all);
    assert!(!found.interrupted && found.ladders.len() == 1);
    (found.ladders.remove(0), all)
}

fn verdicts(ladder: &Ladder) -> Vec<(&str, RungVerdict)> {
    ladder.steps.iter().map(|step| (step.rung.as_str(), step.verdict)).collect()
}

#[test]
fn each_rung_gets_its_verdict() {
    let rungs = ["helpful", "useless", "unsafe", "removed", "misapplied", "harmful", "slow-tail", "lossy", "second"];
    let plan = ladder_plan(3, &rungs);
    let of_base = |rung: &str| ("base".to_owned(), rung.to_owned());
    let prospects = Prospects::from([
        (of_base("unsafe"), Prospect::Unsafe("torn pages stay unrepaired".to_owned())),
        (of_base("removed"), Prospect::Removed("removed in 8.0.3".to_owned())),
        (of_base("second"), Prospect::Possible),
    ]);
    let (ladder, all) = climb(&plan, &prospects, simulated(3, 0.01));
    assert_eq!(
        verdicts(&ladder),
        [
            ("helpful", RungVerdict::Kept),
            ("useless", RungVerdict::NoEffect),
            ("unsafe", RungVerdict::RefusedForSafety),
            ("removed", RungVerdict::RemovedOnThisServer),
            ("misapplied", RungVerdict::NotApplied),
            ("harmful", RungVerdict::Worse),
            ("slow-tail", RungVerdict::Worse),
            ("lossy", RungVerdict::RefusedForSafety),
            ("second", RungVerdict::Kept),
        ],
        "{ladder:#?}"
    );
    let why = |place: usize| ladder.steps[place].why.as_str();
    assert!(why(4).contains("misapplied was set to 1 and is 0"), "{}", why(4));
    assert!(why(6).starts_with("time at the 99th percentile +"), "{}", why(6));
    assert!(why(7).contains("(d1), which the plan does not allow"), "{}", why(7));
    assert_eq!(ladder.metric, Metric::TransactionsPerSecond);
    let gain = ladder.gain.as_ref().unwrap();
    assert!((gain.value - 0.38).abs() < 0.04 && gain.interval().is_some(), "1.2 · 1.15 − 1: {gain:?}");
    let worth = |place: usize| ladder.steps[place].worth.as_ref().map(|worth| worth.value);
    assert!((worth(0).unwrap() - 0.2).abs() < 0.05 && (worth(8).unwrap() - 0.15).abs() < 0.05);
    assert!(worth(1).is_none());
    assert_resumable(&plan, &prospects, &all);
}

#[test]
fn what_is_not_run_and_what_is_cut_short() {
    let plan = ladder_plan(3, &["removed", "misapplied", "useless"]);
    let prospects =
        Prospects::from([(("base".to_owned(), "removed".to_owned()), Prospect::Removed("since 8.0.3".to_owned()))]);
    let (ladder, all) = climb(&plan, &prospects, simulated(3, 0.01));
    let times = |label: &str| all.iter().filter(|ended| ended.trial.label == label).count();
    assert_eq!((times("base/removed/with"), times("base/misapplied/with")), (0, 1));
    assert!(times("base/misapplied/without") <= 1);
    assert_eq!((times("base/floor/a"), times("base/floor/b")), (5, 5));
    assert_eq!((times("base/useless/with"), times("base/useless/without")), (5, 5));
    assert_eq!((times("base/gain/with"), ladder.gain), (0, None), "nothing was kept");
}

#[test]
fn a_class_that_the_plan_allows_may_be_kept() {
    let mut plan = ladder_plan(3, &["lossy"]);
    plan.trials.allow = vec![Class::D1];
    let (ladder, _) = climb(&plan, &Prospects::new(), simulated(3, 0.01));
    let step = &ladder.steps[0];
    assert_eq!((step.verdict, step.risks.contains(&Class::D1)), (RungVerdict::Kept, true));
    assert_eq!((&ladder.gain, &step.worth), (&step.change, &step.change), "of a single one its place says it");
}

#[test]
fn each_rung_stands_on_those_that_were_kept() {
    let plan = ladder_plan(3, &["helpful", "useless", "second"]);
    let (_, all) = climb(&plan, &Prospects::new(), simulated(3, 0.01));
    let settings = |label: &str| -> Vec<String> {
        let ended = all.iter().find(|ended| ended.trial.label == label).unwrap();
        ended.trial.variant.config.iter().map(|setting| setting.name.clone()).collect()
    };
    assert_eq!(settings("base/second/without"), ["helpful"]);
    assert_eq!(settings("base/second/with"), ["helpful", "second"]);
    assert_eq!(settings("base/worth/helpful/without"), ["second"]);
    assert_eq!(settings("base/worth/helpful/with"), ["helpful", "second"]);
    assert_eq!((settings("base/gain/without"), settings("base/gain/with").len()), (vec![], 2));
}

#[test]
fn noise_that_hides_an_effect_is_said_to() {
    let mut plan = ladder_plan(3, &["second"]);
    plan.trials.rounds = 3;
    for (deviation, advice) in [(0.03, " pairs would tell"), (0.2, "longer trials would lower the floor")] {
        let (ladder, _) = climb(&plan, &Prospects::new(), simulated(5, deviation));
        let step = &ladder.steps[0];
        assert_eq!(step.verdict, RungVerdict::NotMeasurableHere, "{step:?}");
        assert!(step.why.ends_with(advice), "{}", step.why);
    }
}

#[test]
fn a_pair_of_which_a_trial_failed_is_dropped() {
    let plan = ladder_plan(3, &["helpful"]);
    let crashing = |times: u32| {
        move |trial: &TrialPlan| match trial.label.ends_with("/without") && trial.round <= times {
            true => failed("the server died"),
            false => simulated(3, 0.01)(trial),
        }
    };
    let (kept, _) = climb(&plan, &Prospects::new(), crashing(2));
    assert_eq!(kept.steps[0].verdict, RungVerdict::Kept, "three pairs are left");
    let (lost, _) = climb(&plan, &Prospects::new(), crashing(3));
    assert_eq!(lost.steps[0].verdict, RungVerdict::NotMeasurableHere);
    assert_eq!(lost.steps[0].why, "2 of 5 pairs were completed, and 3 are needed: the server died");
}

#[test]
fn without_its_base_a_ladder_is_not_climbed() {
    let plan = ladder_plan(3, &["helpful", "useless"]);
    let (ladder, all) = climb(&plan, &Prospects::new(), |_| failed("no such file"));
    assert_eq!(all.len(), 10, "the base against itself");
    assert!(ladder.steps.iter().all(|step| step.verdict == RungVerdict::NotMeasurableHere));
    assert!(ladder.steps[0].why.ends_with("no such file"), "{}", ladder.steps[0].why);
}

#[test]
fn every_pair_is_complete_at_every_point() {
    let points = [CLOSED, LoadPoint::closed(32)];
    for rounds in 1..6 {
        for points in [&points[..1], &points] {
            let mut plan = ladder_plan(rounds.into(), &["helpful", "useless", "second"]);
            plan.variants = vec![variant("fc", points), variant("nfs", points)];
            plan.trials.rounds = rounds;
            let all = run(&plan, &Prospects::new(), simulated(rounds.into(), 0.001));
            assert_eq!(all.len(), all.last().unwrap().trial.index as usize);
            for two in all.chunks(2) {
                let part = |ended: &EndedTrial| ended.trial.label.rsplit_once('/').map(|(part, _)| part.to_owned());
                let [a, b] = two else { panic!("half a pair") };
                assert_eq!((part(a), a.trial.point, a.trial.round), (part(b), b.trial.point, b.trial.round));
                assert_ne!(a.trial.label, b.trial.label);
                assert_eq!(a.trial.seed, b.trial.seed);
            }
            let pairs = all.iter().filter(|ended| ended.trial.label == "nfs/floor/a").count();
            assert_eq!(pairs, rounds.max(3) as usize * points.len());
            assert!(all.len() <= of(&plan, &Prospects::new()).about().trials());
        }
    }
}

#[test]
fn a_guard_keeps_a_rung_from_being_kept() {
    let mut plan = ladder_plan(3, &["dropping", "slow-to-recover"]);
    plan.trials.recovery = true;
    let server = |trial: &TrialPlan| {
        let changed = has(trial, "dropping") || has(trial, "slow-to-recover");
        let rate = if changed { 1500.0 } else { 1000.0 };
        let mut outcome = reached(rate * noise(3, trial, 0.01), 5.0 * noise(4, trial, 0.01));
        if has(trial, "dropping") {
            let counts = &mut outcome.point.as_mut().unwrap().counts;
            counts.failed = counts.offered / 50;
        }
        let seconds = if has(trial, "slow-to-recover") { 20.0 } else { 4.0 };
        let seconds = seconds * noise(5, trial, 0.01);
        outcome.recovery = Some(Recovery { seconds, redo_bytes: None, broken: Vec::new() });
        outcome
    };
    let (ladder, _) = climb(&plan, &Prospects::new(), server);
    assert!(ladder.steps.iter().all(|step| step.verdict == RungVerdict::Worse), "{ladder:#?}");
    assert!(ladder.steps[0].why.starts_with("transactions answered −2.0 %"), "{}", ladder.steps[0].why);
    assert!(ladder.steps[1].why.starts_with("recovery time +"), "{}", ladder.steps[1].why);
}

#[test]
fn at_set_rates_the_tail_decides() {
    let mut plan = ladder_plan(3, &["slow-tail", "quick-tail"]);
    plan.variants[0].load.points[0].rate = Some(500.0);
    let server = |trial: &TrialPlan| {
        let quick = if has(trial, "quick-tail") { 0.6 } else { 1.0 };
        let slow = if has(trial, "slow-tail") { 2.0 } else { 1.0 };
        reached(500.0, 5.0 * quick * slow * noise(3, trial, 0.02))
    };
    let (ladder, _) = climb(&plan, &Prospects::new(), server);
    assert_eq!(ladder.metric, Metric::P99);
    assert_eq!(verdicts(&ladder), [("slow-tail", RungVerdict::Worse), ("quick-tail", RungVerdict::Kept)]);
    assert!((ladder.gain.unwrap().value + 0.4).abs() < 0.05);
}

#[test]
fn over_many_ladders_chance_is_seldom_believed() {
    let (mut helpful, mut useless, mut believed) = (0, 0, 0);
    for seed in 0..200 {
        let plan = ladder_plan(seed, &["useless", "helpful"]);
        let (ladder, _) = climb(&plan, &Prospects::new(), simulated(seed, 0.02));
        believed += u32::from(ladder.steps[0].verdict == RungVerdict::Kept);
        useless += u32::from(ladder.steps[0].verdict == RungVerdict::NoEffect);
        helpful += u32::from(ladder.steps[1].verdict == RungVerdict::Kept);
    }
    println!("kept {helpful}, no effect {useless}, believed {believed}");
    assert!(
        helpful >= 180 && useless >= 130 && believed <= 4,
        "kept {helpful}, no effect {useless}, believed {believed}"
    );
}

#[test]
fn what_a_kept_rung_costs_is_always_said() {
    let server = |trial: &TrialPlan| {
        let risky = trial.variant.config.iter().any(|setting| setting.name == "helpful");
        let mut outcome = reached(if risky { 1500.0 } else { 1000.0 } * noise(3, trial, 0.01), 5.0);
        outcome.risks.extend(risky.then_some(Class::D1));
        outcome
    };
    let mut plan = ladder_plan(3, &["helpful"]);
    plan.trials.allow = vec![Class::D1];
    let found = summary(&plan, &Prospects::new(), &run(&plan, &Prospects::new(), server));
    assert!(found.headline.starts_with("On base helpful is kept: +"), "{}", found.headline);
    assert!(found.headline.ends_with(" (d1)."), "{}", found.headline);
}

#[test]
fn a_rung_is_worse_only_beyond_the_floor() {
    let plan = ladder_plan(3, &["harmful"]);
    // Two trials of the base differ by half, while the rung loses a fifth in every pair.
    let server = |trial: &TrialPlan| {
        let unsteady = if trial.round.is_multiple_of(2) { 1.5 } else { 1.0 };
        let lost = if has(trial, "harmful") { 0.8 - 0.001 * f64::from(trial.round) } else { 1.0 };
        reached(1000.0 * unsteady * lost, 5.0)
    };
    let (ladder, _) = climb(&plan, &Prospects::new(), server);
    assert!(ladder.floor.as_ref().unwrap().value > 0.5, "{ladder:#?}");
    assert!(ladder.steps[0].change.as_ref().unwrap().high.unwrap() < -0.1, "{ladder:#?}");
    assert_eq!(ladder.steps[0].verdict, RungVerdict::NotMeasurableHere, "{ladder:#?}");
}

#[test]
fn verdicts_are_the_same_in_both_directions() {
    let mirrored = |verdict| match verdict {
        RungVerdict::Kept => RungVerdict::Worse,
        RungVerdict::Worse => RungVerdict::Kept,
        other => other,
    };
    let mut seen = [0; 3];
    for seed in 0..300u32 {
        let mut plan = ladder_plan(seed.into(), &["second"]);
        let by_time = seed % 2 == 1;
        plan.variants[0].load.points[0].rate = by_time.then_some(500.0);
        let deviation = [0.005, 0.05, 0.3][seed as usize % 3];
        let verdict = |direction: i32| {
            let server = |trial: &TrialPlan| {
                let effect = if has(trial, "second") { 1.0 + 0.002 * f64::from(seed) } else { 1.0 };
                let factor = (effect * noise(seed.into(), trial, deviation)).powi(direction);
                if by_time { reached(500.0, 5.0 * factor) } else { reached(1e6 * factor, 5.0) }
            };
            climb(&plan, &Prospects::new(), server).0.steps[0].verdict
        };
        let (up, down) = (verdict(1), verdict(-1));
        assert_eq!(up, mirrored(down), "seed {seed}");
        seen[0] += u32::from(up == RungVerdict::Kept || up == RungVerdict::Worse);
        seen[1] += u32::from(up == RungVerdict::NoEffect);
        seen[2] += u32::from(up == RungVerdict::NotMeasurableHere);
    }
    assert!(seen.iter().all(|times| *times >= 5), "{seen:?}");
}
