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

use crate::block::{Block, Failure};
use crate::quantity::Quantity;
use plimsoll_model::comparison::Metric;
use plimsoll_model::durability::Risks;
use plimsoll_model::lab::{Proof, ProofVerdict, RungVerdict};
use plimsoll_model::{Class, Estimate, Refusal};
use plimsoll_plan::lab::Rung;
use plimsoll_stats::comparison::{noise_floor, paired, pairs_needed, spread};
use plimsoll_stats::sides::middle;

/// Fewest complete pairs that can say anything.
pub const FEWEST_PAIRS: usize = 3;
/// Two one-sided tests at 5 %.
const EQUIVALENCE: f64 = 0.9;
/// On no machine is the floor so high that more than this goes for no effect.
const MOST_OVERLOOKED: f64 = 0.1;
/// Nobody runs more pairs.
const MOST_PAIRS: usize = 10_000;

/// What became of a rung.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub rung: String,
    pub verdict: RungVerdict,
    pub reason: Reason,
    /// With the rung ÷ without − 1, as a share, at its place.
    pub change: Option<Estimate>,
    /// The ladder's metric with the rung: geometric mean over its rounds and load points.
    pub with: Option<f64>,
    pub without: Option<f64>,
    /// Classes that the rung's values add.
    pub risks: Risks,
    /// What leaving it out at the end costs, as a share; of kept rungs.
    pub worth: Option<Estimate>,
}

impl Step {
    /// A rung that was not tried.
    pub fn untried(rung: &str, verdict: RungVerdict, reason: Reason) -> Step {
        Step {
            rung: rung.to_owned(),
            verdict,
            reason,
            change: None,
            with: None,
            without: None,
            risks: Risks::new(),
            worth: None,
        }
    }
}

/// What a verdict on a rung rests on.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// In words, what was known of it before it was tried.
    Known(String),
    /// Too few pairs of the base against itself were complete.
    NoFloor(Pairs),
    /// Too few pairs of the rung were complete.
    TooFew(Pairs),
    /// A trial found that the server knows no such setting.
    NoSetting {
        name: String,
        remark: Option<String>,
    },
    /// A trial found another value than was set; none where the server does not tell.
    NotInEffect {
        name: String,
        requested: String,
        effective: Option<String>,
        remark: Option<String>,
    },
    /// It costs durability that the plan does not allow, by these settings: `innodb_doublewrite = OFF`.
    Costs {
        class: Class,
        settings: Vec<String>,
    },
    /// A guard got worse by more than its bound.
    GuardWorse {
        guard: Change,
        bound: Bound,
        change: Change,
    },
    /// The change exceeds its bound.
    Beyond {
        change: Change,
        bound: Bound,
    },
    /// No change is larger than `most`, a share: that is what the 90 % interval says.
    Within {
        quantity: Quantity,
        most: f64,
        interval: (f64, f64),
    },
    /// The change may be chance.
    Chance {
        change: Change,
        bound: Bound,
        remedy: Remedy,
    },
    Refused(Refusal),
}

/// How many pairs were planned and came to their end, and the first trial that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    pub complete: usize,
    pub planned: usize,
    pub failure: Option<Failure>,
}

impl Pairs {
    /// Of a block; none if there are enough.
    pub fn too_few(block: &Block, deciding: Metric) -> Option<Pairs> {
        let complete = block.pairs(Quantity::Of(deciding)).len();
        let planned = block.planned() as usize;
        (complete < FEWEST_PAIRS).then(|| Pairs { complete, planned, failure: block.failure() })
    }
}

/// By what share something changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub of: Quantity,
    pub by: Estimate,
}

/// What would tell a change from chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    LongerTrials,
    Pairs(usize),
    /// More pairs than can be run.
    None,
}

/// What a change has to exceed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    pub share: f64,
    /// The noise floor, rather than what would matter to nobody.
    pub is_noise: bool,
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
}

/// Everything that a verdict is found from: the pairs without (a) and with (b) the rung, and those of the base against
/// itself.
pub(crate) struct Evidence<'a> {
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
    pub fn step(&self) -> Step {
        let (verdict, reason) = self.verdict();
        let pairs = self.block.pairs(Quantity::Of(self.deciding));
        let side =
            |of: fn(&(f64, f64)) -> f64| (!pairs.is_empty()).then(|| middle(&pairs.iter().map(of).collect::<Vec<_>>()));
        Step {
            rung: self.rung.name.clone(),
            verdict,
            reason,
            change: paired(&pairs, self.confidence).ok(),
            with: side(|pair| pair.1),
            without: side(|pair| pair.0),
            risks: self.added_risks(),
            worth: None,
        }
    }

    fn verdict(&self) -> (RungVerdict, Reason) {
        let too_few =
            || Some((RungVerdict::NotMeasurableHere, Reason::TooFew(Pairs::too_few(self.block, self.deciding)?)));
        if let Some(obstacle) = self.misapplied().or_else(too_few).or_else(|| self.costs()) {
            return obstacle;
        }
        let pairs = self.block.pairs(Quantity::Of(self.deciding));
        match (paired(&pairs, self.confidence), paired(&pairs, EQUIVALENCE)) {
            (Ok(found), Ok(narrow)) => self.by_effect(&pairs, found, &narrow),
            (Err(refusal), _) | (_, Err(refusal)) => (RungVerdict::NotMeasurableHere, Reason::Refused(refusal)),
        }
    }

    fn by_effect(&self, pairs: &[(f64, f64)], found: Estimate, narrow: &Estimate) -> (RungVerdict, Reason) {
        let deciding = Quantity::Of(self.deciding);
        let bound = self.bound(deciding);
        let most = bound.share.min(MOST_OVERLOOKED);
        let least = 1.0 / (1.0 + most) - 1.0;
        let within = narrow.interval().filter(|(low, high)| least <= *low && *high <= most);
        let (is_better, is_worse) =
            (bound.is_cleared(Side::Better, &found, deciding), bound.is_cleared(Side::Worse, &found, deciding));
        let size = found.value.abs();
        let change = Change { of: deciding, by: found };
        if let Some((guard, bound)) = self.guards().into_iter().find_map(|guard| self.worsens(guard)) {
            (RungVerdict::Worse, Reason::GuardWorse { guard, bound, change })
        } else if is_better {
            (RungVerdict::Kept, Reason::Beyond { change, bound })
        } else if is_worse {
            (RungVerdict::Worse, Reason::Beyond { change, bound })
        } else if let Some(interval) = within {
            (RungVerdict::NoEffect, Reason::Within { quantity: deciding, most, interval })
        } else {
            let remedy = match most < size && size < bound.share {
                true => Remedy::LongerTrials,
                false => more_pairs(pairs, (size - most).abs()),
            };
            (RungVerdict::NotMeasurableHere, Reason::Chance { change, bound, remedy })
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
    fn worsens(&self, guard: Quantity) -> Option<(Change, Bound)> {
        let bound = self.bound(guard);
        let by = paired(&self.block.pairs(guard), self.confidence).ok()?;
        bound.is_cleared(Side::Worse, &by, guard).then_some((Change { of: guard, by }, bound))
    }

    fn bound(&self, quantity: Quantity) -> Bound {
        let noise = noise_floor(&self.floor.rounds(quantity)).map_or(0.0, |floor| floor.value);
        Bound { share: noise.max(quantity.least()), is_noise: noise > quantity.least() }
    }

    /// A setting of the rung that a trial with it found not to be in effect.
    fn misapplied(&self) -> Option<(RungVerdict, Reason)> {
        let proof = self.block.of_b().find_map(|outcome| misapplied(self.rung, &outcome.proofs))?;
        let Proof { name, requested, effective, remark, .. } = proof.clone();
        Some(match proof.verdict {
            ProofVerdict::Removed => (RungVerdict::RemovedOnThisServer, Reason::NoSetting { name, remark }),
            _ => (RungVerdict::NotApplied, Reason::NotInEffect { name, requested, effective, remark }),
        })
    }

    fn costs(&self) -> Option<(RungVerdict, Reason)> {
        let costly = |class: &Class| class.costs_durability() && !self.allow.contains(class);
        let class = self.added_risks().into_iter().find(costly)?;
        Some((RungVerdict::RefusedForSafety, Reason::Costs { class, settings: self.settings_of(class) }))
    }

    /// `innodb_doublewrite = OFF`: the settings of the rung that cost this.
    fn settings_of(&self, class: Class) -> Vec<String> {
        let proofs = self.block.of_b().next().map_or(&[][..], |outcome| &outcome.proofs);
        let costly = proofs.iter().filter(|proof| proof.class == class && is_of(self.rung, proof));
        costly.map(|proof| format!("{} = {}", proof.name, proof.requested)).collect()
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
pub(crate) fn misapplied<'a>(rung: &Rung, proofs: &'a [Proof]) -> Option<&'a Proof> {
    proofs.iter().filter(|proof| is_of(rung, proof)).find(|proof| proof.verdict != ProofVerdict::InEffect)
}

fn is_of(rung: &Rung, proof: &Proof) -> bool {
    let settings = &rung.change.config;
    settings.iter().any(|setting| setting.name == proof.name || setting.at.to_string() == proof.origin)
}

/// How many pairs of this spread tell such an effect from nothing.
fn more_pairs(pairs: &[(f64, f64)], effect: f64) -> Remedy {
    let needed = spread(pairs).map_or(usize::MAX, |spread| pairs_needed(spread, effect));
    match needed.max(pairs.len() + 1) {
        needed if needed <= MOST_PAIRS => Remedy::Pairs(needed),
        _ => Remedy::None,
    }
}
