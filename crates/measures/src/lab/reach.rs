//! What the rounds of a plan would show, judging by trials that were recorded.

use super::comparison::compared;
use plimsoll_model::comparison::Design;
use plimsoll_model::number::{counted, duration, number, percent};
use plimsoll_model::{Estimate, LoadPoint, Refusal};
use plimsoll_plan::LabPlan;
use plimsoll_plan::lab::{Order, SwitchbackBlock, TrialRules, WarmUp};
use plimsoll_plan::plan::Measure;
use plimsoll_schedule::pairing::{Outcomes, PairedVariants};
use plimsoll_schedule::quantity::deciding;
use plimsoll_schedule::stopping::criterion;
use plimsoll_schedule::{EndedTrial, Prospects, Quantity};
use plimsoll_stats::reach::PairSpread;
use plimsoll_stats::sides::middle;
use serde::Serialize;
use std::collections::BTreeMap;

/// What is asked for where a plan does not say what difference counts.
const WANTED: f64 = 0.02;

/// Nobody counts more.
const MANY_ROUNDS: f64 = 100_000.0;

/// What the rounds of a plan would show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reach {
    /// Trials of the recording that it is judged by.
    pub trials: usize,
    /// The standard deviation by which the sides of a pair differ by chance, a share.
    pub spread: Estimate,
    /// As many as the plan has, or as fit into its time.
    pub rounds: u32,
    /// All its rounds, seconds.
    pub seconds: f64,
    /// The smallest change, a share, that so many rounds detect in 4 of 5 cases; `null` if they are too few.
    pub detectable: Option<Estimate>,
    /// The share that counts as a difference.
    pub wanted: f64,
    /// Rounds that detect it in 4 of 5 cases.
    pub rounds_needed: Estimate,
    /// All of them, seconds.
    pub seconds_needed: f64,
    /// What the recording did otherwise than the plan would.
    pub unlike: Vec<String>,
}

/// Whether a plan has comparisons by rounds, which chance limits.
///
/// # Errors
/// If there is nothing to compare.
pub fn compares(plan: &LabPlan) -> Result<(), Refusal> {
    let why = match plan.trials.order {
        _ if plan.rungs.is_empty() && compared(plan).is_empty() => "the plan compares no variants round by round",
        Order::Sequential if plan.rungs.is_empty() => "with order = \"sequential\" no rounds are compared",
        _ => return Ok(()),
    };
    Err(Refusal(why.to_owned()))
}

/// What `plan` would show, whose rungs have these prospects, judging by the trials of `recorded`.
///
/// # Errors
/// If the plan has no comparisons, or the recording too few trials.
pub fn reach(
    plan: &LabPlan,
    prospects: &Prospects,
    recorded: &LabPlan,
    ended: &[EndedTrial],
) -> Result<Reach, Refusal> {
    compares(plan)?;
    let pairs = if recorded.rungs.is_empty() { of_variants(recorded, ended) } else { of_rungs(ended) };
    let spread = PairSpread::pooled(&pairs)?;
    let recorded_seconds = ended.iter().map(|ended| ended.outcome.seconds()).sum::<f64>() / ended.len().max(1) as f64;
    // Trials that failed early may have taken less than their plan's windows.
    let rest = (recorded_seconds - set_seconds(&recorded.trials)).max(0.0);
    let of_trial = rest + set_seconds(&plan.trials);
    let most = plan.trials.rounds;
    let of_round = of_trial * plimsoll_schedule::of(plan, prospects).about().trials() as f64 / f64::from(most);
    let rounds = match plan.trials.stopping.and_then(|rule| rule.max_seconds) {
        Some(seconds) => most.min((seconds / of_round).ceil() as u32),
        None => most,
    };
    let wanted = plan.trials.stopping.map_or(WANTED, |rule| rule.decide);
    let confidence = criterion(&plan.trials, together(plan)).confidence();
    let rounds_needed = spread.rounds_needed(wanted, confidence);
    Ok(Reach {
        trials: ended.len(),
        spread: spread.estimate(),
        rounds,
        seconds: of_round * f64::from(rounds),
        detectable: spread.detectable(rounds as usize, confidence),
        wanted,
        seconds_needed: of_round * rounds_needed.value,
        rounds_needed,
        unlike: unlike(plan, recorded),
    })
}

/// Comparisons whose intervals hold together.
fn together(plan: &LabPlan) -> usize {
    if plan.rungs.is_empty() { compared(plan).len() } else { plan.rungs.len() }
}

impl Reach {
    /// A line for each thing that is known.
    pub fn in_words(&self) -> Vec<String> {
        let Reach { rounds, wanted, rounds_needed, .. } = self;
        let rounds = counted(f64::from(*rounds), "round");
        let shows = match &self.detectable {
            Some(least) => format!("show a difference of at least {}", with_ends(least, "", &percent)),
            None => "are too few to show any difference".to_owned(),
        };
        let mut lines = vec![
            format!("by chance the two sides of a pair differ by {}", with_ends(&self.spread, "", &percent)),
            format!("{rounds}, about {}, {shows}", duration(self.seconds)),
            format!(
                "a difference of {} takes {}, about {}",
                percent(*wanted),
                with_ends(rounds_needed, " rounds", &some_rounds),
                duration(self.seconds_needed)
            ),
        ];
        lines.extend(self.unlike.iter().cloned());
        lines
    }
}

fn some_rounds(rounds: f64) -> String {
    match rounds <= MANY_ROUNDS {
        true => number(rounds, 0),
        false => format!("over {}", number(MANY_ROUNDS, 0)),
    }
}

fn with_ends(estimate: &Estimate, unit: &str, told: &dyn Fn(f64) -> String) -> String {
    let value = told(estimate.value);
    match estimate.interval() {
        Some((low, high)) => format!("{value}{unit} ({} to {})", told(low), told(high)),
        None => format!("{value}{unit}"),
    }
}

/// What a plan sets of the length of each trial.
fn set_seconds(rules: &TrialRules) -> f64 {
    if let Some(rule) = rules.switchback {
        return rule.washout_seconds + rule.block_seconds + rules.pause_seconds;
    }
    let warm_up = if let WarmUp::Seconds(seconds) = rules.warmup { seconds } else { 0.0 };
    let measure = if let Measure::Seconds(seconds) = rules.measure { seconds } else { 0.0 };
    warm_up + measure + rules.pause_seconds
}

/// The pairs of each comparison of a grid.
fn of_variants(plan: &LabPlan, ended: &[EndedTrial]) -> Vec<Vec<(f64, f64)>> {
    let outcomes: Outcomes<'_> = ended.iter().collect();
    let pairs = compared(plan).into_iter();
    let paired = pairs.map(|[a, b]| PairedVariants::new(a, b, &outcomes, plan.trials.rounds));
    paired.map(|pair| pair.sides(Design::Paired, &pair.points, pair.deciding()).pairs()).collect()
}

/// The pairs of each block of a ladder: two labels that take turns, round by round.
fn of_rungs(ended: &[EndedTrial]) -> Vec<Vec<(f64, f64)>> {
    let points: Vec<LoadPoint> = ended.first().map(|first| first.trial.variant.load.points.clone()).unwrap_or_default();
    let quantity = Quantity::Of(deciding(&points, ended.iter().map(|ended| &ended.outcome)));
    let mut blocks: BTreeMap<[&str; 2], Vec<(f64, f64)>> = BTreeMap::new();
    let counted: Vec<&EndedTrial> =
        ended.iter().filter(|ended| ended.trial.block != Some(SwitchbackBlock::First)).collect();
    for round in counted.chunk_by(|one, next| one.trial.round == next.trial.round) {
        let mut sides: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for EndedTrial { trial, outcome } in round.iter().copied() {
            sides.entry(&trial.label).or_default().extend(quantity.value(outcome));
        }
        let sides: Vec<(&str, Vec<f64>)> = sides.into_iter().collect();
        let [(a, of_a), (b, of_b)] = &sides[..] else { continue };
        if [of_a.len(), of_b.len()] == [points.len(); 2] {
            blocks.entry([*a, *b]).or_default().push((middle(of_a), middle(of_b)));
        }
    }
    blocks.into_values().collect()
}

/// What the recording did otherwise, which chance depends on.
fn unlike(plan: &LabPlan, recorded: &LabPlan) -> Vec<String> {
    let kinds = |plan: &LabPlan| -> Vec<String> {
        let mut kinds: Vec<String> = plan.variants.iter().map(|variant| variant.workload.kind.clone()).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    };
    let seconds = |TrialRules { measure, .. }: &TrialRules| match measure {
        Measure::Seconds(seconds) => duration(*seconds),
        Measure::Events(events) => counted(*events as f64, "transaction"),
        Measure::EventsPerConnection(events) => format!("{} per connection", counted(*events as f64, "transaction")),
    };
    let (of_plan, of_recorded) = (kinds(plan), kinds(recorded));
    let work = (of_plan != of_recorded)
        .then(|| format!("but the recording did other work: {}, not {}", of_recorded.join(", "), of_plan.join(", ")));
    let (planned, measured) = (seconds(&plan.trials), seconds(&recorded.trials));
    let length = (planned != measured).then(|| {
        format!("but each of its trials measured {measured}, not {planned}: longer ones vary less, shorter ones more")
    });
    work.into_iter().chain(length).collect()
}
