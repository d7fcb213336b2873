//! The verdict on a rung.
//!
//! With x the larger of 1 % and the floor (how far two trials of the base differ by chance in 19 of 20 cases), a rung
//! is
//! - *kept* if the interval of its change lies beyond x on the better side, no guard is worse and it costs no
//!   durability that the plan does not allow;
//! - *worse* if the interval of its change lies beyond x on the worse side, or that of a guard beyond that guard's own x;
//! - of *no effect* if the 90 % interval of its change lies within x (two one-sided tests at 5 %: Schuirmann 1987),
//!   or within 10 % if x is more than that;
//! - *not measurable here* in all other cases.
//!
//! With `rounds = "auto"` there is no floor: a rung is kept or worse as soon as its interval excludes 0, of no effect as soon
//! as that of no effect lies within `decide`, and a guard is worse by more than `decide`; these intervals hold however often
//! they are looked at ([`plimsoll_stats::sequential`]).
//!
//! Beyond x means by a factor of more than 1 + x, in either direction: twice as much and half as much are as far away.
//!
//! The intervals of all rungs of a ladder that can be tried hold together with 95 % (Šidák 1967): each is decided
//! before the next one is measured, so that methods which look at all of them at once, such as Holm's, cannot be used.
//! The 90 % interval is that of one rung: overlooking a small effect costs less than believing in one that does not
//! exist.

use crate::block::{FailedTrial, PairedBlock};
use crate::quantity::Quantity;
use crate::stopping::{prefixes, stopping};
use crate::switchback;
use plimsoll_model::Metric;
use plimsoll_model::durability::Risks;
use plimsoll_model::lab::{RungVerdict, Verification, VerificationVerdict};
use plimsoll_model::stopping::{CarriedOver, Stopping};
use plimsoll_model::{Class, Estimate, Refusal};
use plimsoll_plan::lab::{Rung, TrialRules};
use plimsoll_stats::comparison::{noise_floor, pairs_needed, spread};
use plimsoll_stats::sides::{Criterion, middle};
use plimsoll_stats::switchback::{hides_little, hides_none};

/// Fewest complete pairs that can show anything.
pub const FEWEST_PAIRS: usize = 3;
/// However high the floor of a machine, a larger change than this never counts as no effect.
const MOST_OVERLOOKED: f64 = 0.1;
/// Nobody runs more pairs than this.
const MOST_PAIRS: usize = 10_000;

/// The verdict on a rung, with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub rung: String,
    pub verdict: RungVerdict,
    pub reason: RungReason,
    /// With the rung ÷ without − 1, as a share, at its place.
    pub change: Option<Estimate>,
    /// The ladder's metric with the rung: geometric mean over its rounds and load points.
    pub with: Option<f64>,
    pub without: Option<f64>,
    /// Classes that the rung's values add.
    pub risks: Risks,
    /// What leaving it out at the end costs, as a share; for kept rungs.
    pub worth: Option<Estimate>,
    /// Where its pairs ended when it was decided.
    pub stopping: Option<Stopping>,
}

impl Step {
    /// A rung that was not tried.
    pub fn untried(rung: &str, verdict: RungVerdict, reason: RungReason) -> Step {
        Step {
            rung: rung.to_owned(),
            verdict,
            reason,
            change: None,
            with: None,
            without: None,
            risks: Risks::new(),
            worth: None,
            stopping: None,
        }
    }
}

/// What a verdict on a rung rests on.
#[derive(Clone, Debug, PartialEq)]
pub enum RungReason {
    /// What was known about it before it was tried, in words.
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
    /// A trial found another value than was set; `None` if the server does not report it.
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
        guard: MeasuredChange,
        bound: Bound,
        change: MeasuredChange,
    },
    /// The change exceeds its bound.
    Beyond {
        change: MeasuredChange,
        bound: Bound,
    },
    /// No change is larger than `most`, a share, according to the 90 % interval.
    Within {
        quantity: Quantity,
        most: f64,
        interval: (f64, f64),
    },
    /// The change may be chance.
    Chance {
        change: MeasuredChange,
        bound: Bound,
        remedy: Remedy,
    },
    Refused(Refusal),
    /// Flips carried over so much that it may be all there is.
    CarriedOver(CarriedOver),
}

/// How many pairs were planned and completed, and the first trial that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    pub complete: usize,
    pub planned: usize,
    pub failure: Option<FailedTrial>,
}

impl Pairs {
    /// For a block; `None` if it has enough.
    pub fn too_few(block: &PairedBlock, deciding: Metric) -> Option<Pairs> {
        let complete = block.pairs(Quantity::Of(deciding)).len();
        let planned = block.planned() as usize;
        (complete < FEWEST_PAIRS).then(|| Pairs { complete, planned, failure: block.failure() })
    }
}

/// By what share something changed.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredChange {
    pub of: Quantity,
    pub by: Estimate,
}

/// What would distinguish a change from chance.
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
    /// It is the noise floor, rather than a change too small to matter.
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

/// Everything that a verdict is based on: the pairs without (a) and with (b) the rung, and those of the base against
/// itself.
pub(crate) struct RungEvidence<'a> {
    pub rung: &'a Rung,
    pub block: &'a PairedBlock,
    /// Its pairs on a running server, where there were any.
    pub flipped: Option<&'a PairedBlock>,
    /// None where pairs go on until the rung is decided.
    pub floor: Option<&'a PairedBlock>,
    pub deciding: Metric,
    pub rules: &'a TrialRules,
    /// Of the interval that shows a change.
    pub criterion: &'a Criterion,
    /// Of the one that shows that there is none.
    pub narrow: &'a Criterion,
}

impl RungEvidence<'_> {
    pub fn step(&self) -> Step {
        let (verdict, reason) = self.verdict();
        let decided = verdict != RungVerdict::NotMeasurableHere;
        let pairs = self.block.pairs(Quantity::Of(self.deciding));
        let side =
            |of: fn(&(f64, f64)) -> f64| (!pairs.is_empty()).then(|| middle(&pairs.iter().map(of).collect::<Vec<_>>()));
        // Its looks are those that decided.
        let decisive = if verdict == RungVerdict::NoEffect { self.narrow } else { self.criterion };
        Step {
            rung: self.rung.name.clone(),
            verdict,
            reason,
            change: self.criterion.paired(&pairs).ok(),
            with: side(|pair| pair.1),
            without: side(|pair| pair.0),
            risks: self.added_risks(),
            worth: None,
            stopping: stopping(self.rules, decisive, &prefixes(&pairs), decided)
                .map(|of| Stopping { switchback: self.carried_over(Quantity::Of(self.deciding)), ..of }),
        }
    }

    /// What flips carried over.
    fn carried_over(&self, of: Quantity) -> Option<CarriedOver> {
        switchback::carried(&self.flipped?.switched(of), self.criterion, !self.block.is_flipped())
    }

    /// What is not to be believed of a verdict for this reason, because of what flips carried over.
    fn hidden(&self, reason: &RungReason) -> Option<(RungVerdict, RungReason)> {
        let (of, is_believed): (Quantity, &dyn Fn(&Estimate) -> bool) = match reason {
            RungReason::GuardWorse { guard: change, .. } | RungReason::Beyond { change, .. } => {
                (change.of, &|carried| hides_little(carried, &change.by))
            }
            RungReason::Within { quantity, most, .. } => (*quantity, &|carried| hides_none(carried, *most)),
            _ => return None,
        };
        let carried = self.carried_over(of).filter(|over| !over.restarted && !is_believed(&over.carried))?;
        Some((RungVerdict::NotMeasurableHere, RungReason::CarriedOver(carried)))
    }

    /// The share that counts as no difference, where that is given.
    fn decide(&self) -> Option<f64> {
        self.rules.stopping.map(|rule| rule.decide)
    }

    fn verdict(&self) -> (RungVerdict, RungReason) {
        let too_few =
            || Some((RungVerdict::NotMeasurableHere, RungReason::TooFew(Pairs::too_few(self.block, self.deciding)?)));
        if let Some(obstacle) = self.misapplied().or_else(too_few).or_else(|| self.costs()) {
            return obstacle;
        }
        let pairs = self.block.pairs(Quantity::Of(self.deciding));
        match (self.criterion.paired(&pairs), self.narrow.paired(&pairs)) {
            (Ok(found), Ok(narrow)) => {
                let (verdict, reason) = self.by_effect(&pairs, found, &narrow);
                self.hidden(&reason).unwrap_or((verdict, reason))
            }
            (Err(refusal), _) | (_, Err(refusal)) => (RungVerdict::NotMeasurableHere, RungReason::Refused(refusal)),
        }
    }

    fn by_effect(&self, pairs: &[(f64, f64)], found: Estimate, narrow: &Estimate) -> (RungVerdict, RungReason) {
        let deciding = Quantity::Of(self.deciding);
        let bound = self.bound(deciding);
        let most = self.decide().unwrap_or(bound.share.min(MOST_OVERLOOKED));
        let least = 1.0 / (1.0 + most) - 1.0;
        let within = narrow.interval().filter(|(low, high)| least <= *low && *high <= most);
        let (is_better, is_worse) =
            (bound.is_cleared(Side::Better, &found, deciding), bound.is_cleared(Side::Worse, &found, deciding));
        let size = found.value.abs();
        let change = MeasuredChange { of: deciding, by: found };
        if let Some((guard, bound)) = self.guards().into_iter().find_map(|guard| self.worsens(guard)) {
            (RungVerdict::Worse, RungReason::GuardWorse { guard, bound, change })
        } else if is_better {
            (RungVerdict::Kept, RungReason::Beyond { change, bound })
        } else if is_worse {
            (RungVerdict::Worse, RungReason::Beyond { change, bound })
        } else if let Some(interval) = within {
            (RungVerdict::NoEffect, RungReason::Within { quantity: deciding, most, interval })
        } else {
            let remedy = match most < size && size < bound.share {
                true => Remedy::LongerTrials,
                // It would show as a change, or as none.
                false if self.decide().is_some() => more_pairs(pairs, size.max(most - size), self.criterion),
                false => more_pairs(pairs, (size - most).abs(), self.criterion),
            };
            (RungVerdict::NotMeasurableHere, RungReason::Chance { change, bound, remedy })
        }
    }

    /// What must not get worse.
    fn guards(&self) -> Vec<Quantity> {
        let other = match self.deciding {
            Metric::P99 => Metric::TransactionsPerSecond,
            _ => Metric::P99,
        };
        let recovery = self.rules.recovery.then_some(Quantity::RecoverySeconds);
        [Quantity::Of(other), Quantity::Answered].into_iter().chain(recovery).collect()
    }

    /// How much worse a guard is, if its whole interval is worse by more than its floor.
    fn worsens(&self, guard: Quantity) -> Option<(MeasuredChange, Bound)> {
        let bound = self.bound(guard);
        let by = self.criterion.paired(&self.block.pairs(guard)).ok()?;
        bound.is_cleared(Side::Worse, &by, guard).then_some((MeasuredChange { of: guard, by }, bound))
    }

    fn bound(&self, quantity: Quantity) -> Bound {
        if let Some(decide) = self.decide() {
            // Any change that is certain is one; a guard has to be worse by what matters.
            let share = if quantity == Quantity::Of(self.deciding) { 0.0 } else { decide };
            return Bound { share, is_noise: false };
        }
        let floor = self.floor.and_then(|floor| noise_floor(&floor.rounds(quantity)).ok());
        let noise = floor.map_or(0.0, |floor| floor.value);
        Bound { share: noise.max(quantity.least()), is_noise: noise > quantity.least() }
    }

    /// A setting of the rung that a trial with it found not to be in effect.
    fn misapplied(&self) -> Option<(RungVerdict, RungReason)> {
        let verification = self.block.of_b().find_map(|outcome| misapplied(self.rung, &outcome.verifications))?;
        let Verification { name, requested, effective, remark, .. } = verification.clone();
        Some(match verification.verdict {
            VerificationVerdict::Removed => (RungVerdict::RemovedOnThisServer, RungReason::NoSetting { name, remark }),
            _ => (RungVerdict::NotApplied, RungReason::NotInEffect { name, requested, effective, remark }),
        })
    }

    fn costs(&self) -> Option<(RungVerdict, RungReason)> {
        let costly = |class: &Class| class.costs_durability() && !self.rules.allow.contains(class);
        let class = self.added_risks().into_iter().find(costly)?;
        Some((RungVerdict::RefusedForSafety, RungReason::Costs { class, settings: self.settings_of(class) }))
    }

    /// `innodb_doublewrite = OFF`: the settings of the rung that cost this.
    fn settings_of(&self, class: Class) -> Vec<String> {
        let verifications = self.block.of_b().next().map_or(&[][..], |outcome| &outcome.verifications);
        let costly =
            verifications.iter().filter(|verification| verification.class == class && is_of(self.rung, verification));
        costly.map(|verification| format!("{} = {}", verification.name, verification.requested)).collect()
    }

    /// `None` if the side without the rung was not run.
    fn added_risks(&self) -> Risks {
        if self.block.of_a().next().is_none() {
            return Risks::new();
        }
        let with: Risks = self.block.of_b().flat_map(|outcome| &outcome.risks).copied().collect();
        let without: Risks = self.block.of_a().flat_map(|outcome| &outcome.risks).copied().collect();
        with.difference(&without).copied().collect()
    }
}

/// The first verification that found a setting of the rung not in effect.
pub(crate) fn misapplied<'a>(rung: &Rung, verifications: &'a [Verification]) -> Option<&'a Verification> {
    verifications
        .iter()
        .filter(|verification| is_of(rung, verification))
        .find(|verification| verification.verdict != VerificationVerdict::InEffect)
}

fn is_of(rung: &Rung, verification: &Verification) -> bool {
    let settings = &rung.change.config;
    settings.iter().any(|setting| setting.name == verification.name || setting.at.to_string() == verification.origin)
}

/// How many pairs with this spread can detect such an effect.
fn more_pairs(pairs: &[(f64, f64)], effect: f64, criterion: &Criterion) -> Remedy {
    let needed = spread(pairs).map_or(usize::MAX, |spread| pairs_needed(spread, effect, criterion.confidence()));
    match needed.max(pairs.len() + 1) {
        needed if needed <= MOST_PAIRS => Remedy::Pairs(needed),
        _ => Remedy::None,
    }
}
