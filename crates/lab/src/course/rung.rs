//! What became of a rung.
//!
//! With x the larger of the floor (what two trials of the base differ by, by chance, in 19 of 20 cases) and 1 %, a rung
//! is
//! - *kept* if the interval of its change lies beyond x on the better side, no guard is worse and it costs no
//!   durability that the plan does not allow;
//! - *worse* if the interval of its change lies beyond x on the worse side, or that of a guard beyond that guard's own x;
//! - of *no effect* if the 90 % interval of its change lies within x (two one-sided tests at 5 %: Schuirmann 1987),
//!   or within 10 % where x is more than that;
//! - *not measurable here* in all other cases.
//!
//! Beyond x means by a factor of more than 1 + x, in either direction: twice as much and half as much are as far away.
//!
//! The intervals of all rungs of a ladder that can be tried hold together with 95 % (Šidák 1967): each is decided
//! before the next one is measured, so that methods which look at all of them at once, such as Holm's, cannot be used.
//! The 90 % interval is that of one rung: who overlooks a small effect loses less than who believes in one that is not
//! there.

use super::block::Block;
use super::quantity::Quantity;
use super::words::{change, counted, percent, signed_range};
use plimsoll_model::comparison::Metric;
use plimsoll_model::durability::Risks;
use plimsoll_model::lab::{LadderStep, Proof, ProofVerdict, RungVerdict};
use plimsoll_model::{Class, Estimate};
use plimsoll_plan::lab::Rung;
use plimsoll_stats::comparison::{noise_floor, paired, pairs_needed, spread};
use plimsoll_stats::sides::middle;

/// Fewest complete pairs that can say anything.
pub(super) const FEWEST_PAIRS: usize = 3;
/// Two one-sided tests at 5 %.
const EQUIVALENCE: f64 = 0.9;
/// On no machine is the floor so high that more than this goes for no effect.
const MOST_OVERLOOKED: f64 = 0.1;
/// Nobody runs more pairs.
const MOST_PAIRS: usize = 10_000;

/// Everything that a verdict is found from: the pairs without (a) and with (b) the rung, and those of the base against
/// itself.
pub(super) struct Evidence<'a> {
    pub rung: &'a Rung,
    pub block: &'a Block,
    pub floor: &'a Block,
    pub deciding: Metric,
    /// Whether trials end in a crash and a recovery.
    pub recovery: bool,
    /// Of the interval.
    pub confidence: f64,
    pub allow: &'a [Class],
}

impl Evidence<'_> {
    pub fn step(&self) -> LadderStep {
        let deciding = Quantity::Of(self.deciding);
        let (verdict, why) = self.verdict();
        let pairs = self.block.pairs(deciding);
        let side =
            |of: fn(&(f64, f64)) -> f64| (!pairs.is_empty()).then(|| middle(&pairs.iter().map(of).collect::<Vec<_>>()));
        LadderStep {
            rung: self.rung.name.clone(),
            verdict,
            why,
            change: paired(&pairs, self.confidence).ok(),
            with: side(|pair| pair.1),
            without: side(|pair| pair.0),
            risks: self.added_risks(),
            worth: None,
        }
    }

    fn verdict(&self) -> (RungVerdict, String) {
        let obstacle = self.misapplied().or_else(|| self.too_few()).or_else(|| self.costs());
        if let Some(obstacle) = obstacle {
            return obstacle;
        }
        let deciding = Quantity::Of(self.deciding);
        let pairs = self.block.pairs(deciding);
        match (paired(&pairs, self.confidence), paired(&pairs, EQUIVALENCE)) {
            (Ok(found), Ok(narrow)) => self.by_effect(deciding, &pairs, &found, &narrow),
            (Err(refusal), _) | (_, Err(refusal)) => (RungVerdict::NotMeasurableHere, refusal.to_string()),
        }
    }

    fn by_effect(
        &self,
        deciding: Quantity,
        pairs: &[(f64, f64)],
        found: &Estimate,
        narrow: &Estimate,
    ) -> (RungVerdict, String) {
        let bound = self.bound(deciding);
        let overlooked = bound.share.min(MOST_OVERLOOKED);
        let least = 1.0 / (1.0 + overlooked) - 1.0;
        let within = narrow.interval().is_some_and(|(low, high)| least <= low && high <= overlooked);
        let what = format!("{} {}", deciding.words(), change(found));
        if let Some(worse) = self.guards().into_iter().find_map(|guard| self.worsens(guard)) {
            (RungVerdict::Worse, format!("{worse}; {what}"))
        } else if bound.is_cleared(Side::Better, found, deciding) {
            (RungVerdict::Kept, format!("{what}, beyond {}", bound.words()))
        } else if bound.is_cleared(Side::Worse, found, deciding) {
            (RungVerdict::Worse, format!("{what}, beyond {}", bound.words()))
        } else if within {
            let interval = signed_range(narrow.interval().unwrap_or_default());
            let why = format!("no change of {} larger than {}", deciding.words(), percent(overlooked));
            (RungVerdict::NoEffect, format!("{why} (90 % interval {interval})"))
        } else {
            let more = match found.value.abs() {
                size if overlooked < size && size < bound.share => "longer trials would lower the floor".to_owned(),
                size => more_pairs(pairs, (size - overlooked).abs()),
            };
            (RungVerdict::NotMeasurableHere, format!("{what} may be chance beside {}; {more}", bound.words()))
        }
    }

    /// What must not get worse.
    fn guards(&self) -> Vec<Quantity> {
        let other = match self.deciding {
            Metric::P99Ms => Metric::TransactionsPerSecond,
            _ => Metric::P99Ms,
        };
        let recovery = self.recovery.then_some(Quantity::RecoverySeconds);
        [Quantity::Of(other), Quantity::Answered].into_iter().chain(recovery).collect()
    }

    /// How much worse a guard is, if its whole interval says that it is by more than its floor.
    fn worsens(&self, guard: Quantity) -> Option<String> {
        let bound = self.bound(guard);
        let found = paired(&self.block.pairs(guard), self.confidence).ok()?;
        let is_worse = bound.is_cleared(Side::Worse, &found, guard);
        is_worse.then(|| format!("{} {}, beyond {}", guard.words(), change(&found), bound.words()))
    }

    fn bound(&self, quantity: Quantity) -> Bound {
        let noise = noise_floor(&self.floor.rounds(quantity)).map_or(0.0, |floor| floor.value);
        Bound { share: noise.max(quantity.least()), is_noise: noise > quantity.least() }
    }

    /// A setting of the rung that a trial with it found not to be in effect.
    fn misapplied(&self) -> Option<(RungVerdict, String)> {
        let proof = self.block.of_b().find_map(|outcome| misapplied(self.rung, &outcome.proofs))?;
        let Proof { name, requested, effective, .. } = proof;
        let remark = proof.remark.as_ref().map(|remark| format!("; {remark}")).unwrap_or_default();
        Some(match proof.verdict {
            ProofVerdict::Removed => (RungVerdict::RemovedOnThisServer, format!("{name} is no setting here{remark}")),
            _ => {
                let found = effective.as_deref().unwrap_or("not known");
                (RungVerdict::NotApplied, format!("{name} was set to {requested} and is {found}{remark}"))
            }
        })
    }

    fn too_few(&self) -> Option<(RungVerdict, String)> {
        let complete = self.block.pairs(Quantity::Of(self.deciding)).len();
        let planned = self.block.planned() as usize;
        (complete < FEWEST_PAIRS).then(|| {
            let why = self.block.failure().unwrap_or_else(|| "nothing was measured in the others".to_owned());
            let text = format!(
                "{complete} of {} came to their end, and {FEWEST_PAIRS} are needed: {why}",
                counted(planned, "pair")
            );
            (RungVerdict::NotMeasurableHere, text)
        })
    }

    fn costs(&self) -> Option<(RungVerdict, String)> {
        let costly = |class: &Class| class.costs_durability() && !self.allow.contains(class);
        let class = self.added_risks().into_iter().find(costly)?;
        let by = self.settings_of(class);
        let by = if by.is_empty() { by } else { format!(" by {by}") };
        let why = format!("it {} ({class}){by}, which the plan does not allow", class.words());
        Some((RungVerdict::RefusedForSafety, why))
    }

    /// `innodb_doublewrite = OFF`: the settings of the rung that cost this.
    fn settings_of(&self, class: Class) -> String {
        let proofs = self.block.of_b().next().map_or(&[][..], |outcome| &outcome.proofs);
        let costly = proofs.iter().filter(|proof| proof.class == class && is_of(self.rung, proof));
        costly.map(|proof| format!("{} = {}", proof.name, proof.requested)).collect::<Vec<_>>().join(", ")
    }

    /// None where the side without the rung was not run.
    fn added_risks(&self) -> Risks {
        if self.block.of_a().next().is_none() {
            return Risks::new();
        }
        let with: Risks = self.block.of_b().flat_map(|outcome| &outcome.risks).copied().collect();
        let without: Risks = self.block.of_a().flat_map(|outcome| &outcome.risks).copied().collect();
        with.difference(&without).copied().collect()
    }
}

/// The first proof that a setting of the rung is not in effect.
pub(super) fn misapplied<'a>(rung: &Rung, proofs: &'a [Proof]) -> Option<&'a Proof> {
    proofs.iter().filter(|proof| is_of(rung, proof)).find(|proof| proof.verdict != ProofVerdict::InEffect)
}

fn is_of(rung: &Rung, proof: &Proof) -> bool {
    let settings = &rung.change.config;
    settings.iter().any(|setting| setting.name == proof.name || setting.at.to_string() == proof.origin)
}

/// What a change has to exceed.
struct Bound {
    share: f64,
    /// The noise, and not what would matter to nobody.
    is_noise: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Better,
    Worse,
}

impl Bound {
    /// Whether the whole interval of a change lies beyond it on this side.
    fn is_cleared(&self, side: Side, change: &Estimate, of: Quantity) -> bool {
        let upwards = (side == Side::Better) == of.more_is_better();
        change.interval().is_some_and(|(low, high)| match upwards {
            true => low > self.share,
            false => 1.0 + high < 1.0 / (1.0 + self.share),
        })
    }

    fn words(&self) -> String {
        if self.is_noise { format!("the floor of {}", percent(self.share)) } else { percent(self.share) }
    }
}

/// How many pairs of this spread tell such an effect from nothing.
fn more_pairs(pairs: &[(f64, f64)], effect: f64) -> String {
    let needed = spread(pairs).map_or(usize::MAX, |spread| pairs_needed(spread, effect));
    match needed.max(pairs.len() + 1) {
        needed if needed <= MOST_PAIRS => format!("about {needed} pairs would tell"),
        _ => "no number of pairs that can be run would tell".to_owned(),
    }
}
