//! Comparisons that end as soon as they show something.

use crate::noise::{autoregression, generator, normal};
use crate::table::{Row, Wanted};
use fastrand::Rng;
use plimsoll_model::comparison::Verdict;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_stats::comparison::{pairs_needed, verdict};
use plimsoll_stats::sequential::Looks;

/// Standard deviation of a run, half of its variance a drift of the machine, and the share that counts as no difference.
const MACHINES: [(f64, f64); 3] = [(0.03, 0.02), (0.1, 0.05), (0.2, 0.1)];
/// Of neighbouring runs' drift.
const CORRELATION: f64 = 0.6;
/// What a plan of a fixed number of rounds finds in 4 of 5 cases is to be found nearly as often.
const POWER: Wanted = Wanted { least: 0.76, most: 1.0 };
/// Median rounds where the difference is twice, and five times, as large as what counts as none.
const AT_TWICE: Wanted = Wanted { least: 0.0, most: 0.6 };
const AT_FIVE_TIMES: Wanted = Wanted { least: 0.0, most: 0.35 };

pub fn rows(simulations: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (deviation, decide) in MACHINES {
        let spread = deviation * (2.0 - CORRELATION).sqrt();
        let most = pairs_needed(spread, decide, CONFIDENCE);
        let plan = Plan { deviation, decide, most, looks: Looks::new(most, CONFIDENCE) };
        let simulated = |effect: f64| {
            let row = 700 + rows.len() as u64;
            (0..simulations).map(|simulation| plan.ends(&mut generator(row, simulation), effect)).collect::<Vec<_>>()
        };
        let (equal, same) = (simulated(0.0), simulated(decide));
        let (twice, five_times) = (simulated(2.0 * decide), simulated(5.0 * decide));
        let edge = simulated((1.0 + decide).recip() - 1.0);
        let differs = |end: &End| matches!(end.verdict, Verdict::Higher | Verdict::Lower);
        let is_equal = |end: &End| end.verdict == Verdict::Equivalent;
        rows.push(plan.row("rounds = auto, a difference", 0.0, share(&equal, differs), Wanted::FALSE_ALARMS));
        rows.push(plan.row("rounds = auto, no difference", -decide, share(&edge, is_equal), Wanted::FALSE_ALARMS));
        rows.push(plan.row("rounds = auto, change is found", decide, share(&same, differs), POWER));
        rows.push(plan.row("rounds = auto, median of those planned", 2.0 * decide, plan.median(&twice), AT_TWICE));
        rows.push(plan.row(
            "rounds = auto, median of those planned",
            5.0 * decide,
            plan.median(&five_times),
            AT_FIVE_TIMES,
        ));
    }
    rows
}

/// A plan that looks after every round, and has as many at most as a fixed one would need.
struct Plan {
    deviation: f64,
    decide: f64,
    most: usize,
    looks: Looks,
}

/// When and how a simulated plan ended.
struct End {
    rounds: usize,
    verdict: Verdict,
}

impl Plan {
    fn ends(&self, rng: &mut Rng, effect: f64) -> End {
        let drift = autoregression(rng, 2 * self.most, CORRELATION);
        let each = self.deviation / 2f64.sqrt();
        let mut pairs = Vec::new();
        for round in drift.chunks(2) {
            let swapped = usize::from(rng.bool());
            let mut run = |drift: f64| (each * (drift + normal(rng))).exp();
            let (a, b) = (run(round[swapped]), run(round[1 - swapped]));
            pairs.push((a, (1.0 + effect) * b));
            let verdict = self.looks.paired(&pairs).map_or(Verdict::Unclear, |change| verdict(&change, self.decide));
            if verdict != Verdict::Unclear {
                return End { rounds: pairs.len(), verdict };
            }
        }
        End { rounds: self.most, verdict: Verdict::Unclear }
    }

    /// The median of the rounds, as a share of those that a fixed plan has.
    fn median(&self, ends: &[End]) -> f64 {
        let mut rounds: Vec<usize> = ends.iter().map(|end| end.rounds).collect();
        rounds.sort_unstable();
        rounds[rounds.len() / 2] as f64 / self.most as f64
    }

    fn row(&self, estimator: &'static str, effect: f64, share: f64, wanted: Wanted) -> Row {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share).replace('-', "−");
        let (deviation, decide) = (percent(self.deviation), percent(self.decide));
        let situation =
            format!("a true change of {}, runs {deviation}, half of it drift; decide = {decide}", percent(effect));
        Row { estimator, situation, n: self.most, share, wanted, half_width: None }
    }
}

fn share(ends: &[End], is: impl Fn(&End) -> bool) -> f64 {
    ends.iter().filter(|end| is(end)).count() as f64 / ends.len() as f64
}
