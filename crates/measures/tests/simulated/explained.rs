//! Labs beside a neighbour that comes and goes, on servers on which the truth is known.

use super::*;
use plimsoll_measures::lab::summary;
use plimsoll_model::comparison::Verdict;
use plimsoll_model::lab::{LabSummary, VariantComparison};
use plimsoll_model::summary::HostShares;
use plimsoll_plan::lab::StoppingRule;

const ROUNDS: u32 = 16;
/// What `slow` reaches of what `base` does.
const SHARE: f64 = 0.93;

fn two(seed: u64) -> LabPlan {
    plan(seed, ROUNDS, ["base", "slow"].map(|name| variant(name, &[CLOSED])).to_vec())
}

/// Trials vary by 2 %, and a neighbour that takes up to one CPU and a half costs as much of the throughput.
fn beside_a_neighbour(seed: u64) -> impl Fn(&TrialPlan) -> TrialOutcome {
    move |trial| {
        let share = if trial.label == "slow" { SHARE } else { 1.0 };
        let takes = 0.75 + noise(seed + 1, trial, 1.0).ln().clamp(-1.0, 1.0) * 0.75;
        let rate = 1000.0 * share * noise(seed, trial, 0.02) * (-0.5 * takes).exp();
        let mut outcome = reached(rate, 5.0);
        let point = outcome.point.as_mut().expect("it was measured");
        point.program_cpus = Some(takes);
        point.host = Some(HostShares { cpus: 2, ..HostShares::default() });
        outcome
    }
}

fn found(plan: &LabPlan) -> LabSummary {
    let all = run(plan, &Prospects::new(), beside_a_neighbour(plan.seed));
    assert_resumable(plan, &Prospects::new(), &all);
    summary(plan, &Prospects::new(), &all)
}

fn width(of: &VariantComparison) -> f64 {
    let (low, high) = of.rows[0].change.interval().expect("an interval");
    high - low
}

#[test]
fn what_a_neighbour_takes_is_taken_out_and_said() {
    let (mut held, mut narrower) = (0, 0);
    for seed in 0..100 {
        let explaining = found(&two(seed)).comparisons.remove(0);
        let mut raw = two(seed);
        raw.trials.explain = false;
        let measured = found(&raw).comparisons.remove(0);
        assert_eq!(measured.explained, None, "it is off");
        let (low, high) = explaining.rows[0].change.interval().expect("an interval");
        held += usize::from((low..=high).contains(&(SHARE - 1.0)));
        let Some(told) = &explaining.explained else { continue };
        assert_eq!(told.by, ["the CPU time of other programs"]);
        assert_eq!(told.measured, measured.rows[0].change, "the change as measured is beside it");
        assert_eq!(explaining.rows[0].a, measured.rows[0].a, "what was reached stays");
        narrower += usize::from(width(&explaining) < 0.6 * width(&measured));
    }
    assert!(held >= 88 && narrower >= 80, "{held} intervals hold, {narrower} are narrower");
}

#[test]
fn a_lab_ends_sooner_where_noise_is_explained() {
    let rounds = |explain: bool| {
        let mut plan = two(5);
        plan.trials.rounds = 80;
        plan.trials.stopping = Some(StoppingRule { decide: 0.02, max_seconds: None, fail_if_slower: None });
        plan.trials.explain = explain;
        let of = found(&plan).comparisons.remove(0);
        let stopping = of.stopping.expect("it may end");
        (stopping.rounds(), of.rows[0].verdict)
    };
    let ((soon, verdict), (late, _)) = (rounds(true), rounds(false));
    assert!(2 * soon < late && verdict == Verdict::Lower, "{soon} and {late} rounds, {verdict:?}");
}

/// A neighbour that is only there when one side runs may be that side's doing.
#[test]
fn what_differs_between_the_sides_is_not_taken_out() {
    let plan = two(9);
    let seed = plan.seed;
    let all = run(&plan, &Prospects::new(), |trial| {
        let mut outcome = beside_a_neighbour(seed)(trial);
        let point = outcome.point.as_mut().expect("it was measured");
        point.program_cpus = point.program_cpus.map(|cpus| cpus + if trial.label == "slow" { 5.0 } else { 0.0 });
        outcome
    });
    assert_eq!(summary(&plan, &Prospects::new(), &all).comparisons[0].explained, None);
}

/// What was measured so far above or below the usual, in a trial whose throughput goes with it.
type Measured = fn(TrialOutcome, f64) -> TrialOutcome;

fn is_taken_out(seed: u64, what: &str, measured: Measured) {
    let plan = two(seed);
    let all = run(&plan, &Prospects::new(), |trial| {
        let speed = noise(seed + 1, trial, 0.2);
        let share = if trial.label == "slow" { SHARE } else { 1.0 };
        measured(reached(1000.0 * share * noise(seed, trial, 0.01) * speed, 5.0), speed)
    });
    assert_resumable(&plan, &Prospects::new(), &all);
    let compared = summary(&plan, &Prospects::new(), &all).comparisons.remove(0);
    let told = compared.explained.as_ref().expect("it explains nearly all");
    assert_eq!(told.by, [what]);
    let (low, high) = compared.rows[0].change.interval().expect("an interval");
    assert!((low..=high).contains(&(SHARE - 1.0)) && high < 0.0, "{low} to {high}");
    let measured = told.measured.interval().expect("an interval");
    assert!(high - low < 0.6 * (measured.1 - measured.0), "{measured:?}");
}

/// CPUs that run at other frequencies from trial to trial.
#[test]
fn the_speed_of_the_cpus_is_taken_out_too() {
    is_taken_out(13, "the speed of the CPUs", |outcome, speed| TrialOutcome {
        cpu_speed: Some(1e8 * speed),
        ..outcome
    });
}

/// Storage that others use from trial to trial.
#[test]
fn the_time_of_a_commit_is_taken_out_too() {
    is_taken_out(13, "the time of a commit on the storage", |outcome, speed| TrialOutcome {
        commit_us: Some(100.0 / speed),
        ..outcome
    });
}
