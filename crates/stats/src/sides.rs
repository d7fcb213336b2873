//! Two sides over their rounds as one row, and what counts as no difference: the same for labs and for `compare`.

use crate::comparison::{detectable, noise_floor, paired, pairs_needed, spread, unpaired, verdict};
use crate::sequential::Looks;
use plimsoll_model::Metric;
use plimsoll_model::comparison::{Design, Row};
use plimsoll_model::{Estimate, LoadPoint, Refusal};

/// A difference below this share does not matter.
const LEAST: f64 = 0.01;
/// However high the floor of a machine, a larger difference than this never counts as none.
const MOST: f64 = 0.1;

/// How the interval of a change is made.
#[derive(Clone, Debug, PartialEq)]
pub enum Criterion {
    /// Of as many rounds as were planned.
    Planned { confidence: f64 },
    /// Of rounds that end as soon as they show something.
    Sequential(Looks),
}

impl Criterion {
    /// b ÷ a − 1, as a share, from interleaved rounds.
    ///
    /// # Errors
    /// Without pairs, or with a value that is not above 0.
    pub fn paired(&self, pairs: &[(f64, f64)]) -> Result<Estimate, Refusal> {
        match self {
            Criterion::Planned { confidence } => paired(pairs, *confidence),
            Criterion::Sequential(looks) => looks.paired(pairs),
        }
    }

    /// Of an interval that is made by it, and of all looks at one together.
    pub fn confidence(&self) -> f64 {
        match self {
            Criterion::Planned { confidence } => *confidence,
            Criterion::Sequential(looks) => looks.confidence(),
        }
    }
}

/// The values of two sides, by round: of the same rounds in the same order if they are paired. A round without a value
/// is left out, together with its partner if paired.
#[derive(Clone, Debug)]
pub struct Sides {
    pub design: Design,
    a: Vec<f64>,
    b: Vec<f64>,
    /// What changes are found from, if not from these values.
    corrected: Option<Vec<(f64, f64)>>,
}

impl Sides {
    pub fn new(design: Design, a: &[Option<f64>], b: &[Option<f64>]) -> Sides {
        let (a, b) = match design {
            Design::Paired => a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).unzip(),
            Design::Unpaired => (a.iter().flatten().copied().collect(), b.iter().flatten().copied().collect()),
        };
        Sides { design, a, b, corrected: None }
    }

    /// Of each round that has both, its two values.
    pub fn pairs(&self) -> Vec<(f64, f64)> {
        self.a.iter().copied().zip(self.b.iter().copied()).collect()
    }

    /// The same values, with changes found from these pairs.
    pub fn with_pairs(self, corrected: Vec<(f64, f64)>) -> Sides {
        Sides { corrected: Some(corrected), ..self }
    }

    /// One metric of them, at `load` or, without it, over several load points; a change within
    /// `equivalence`, a share, counts as none.
    ///
    /// # Errors
    /// Without rounds, or with a value that is not above 0.
    pub fn row(
        &self,
        load: Option<LoadPoint>,
        metric: Metric,
        criterion: &Criterion,
        equivalence: f64,
    ) -> Result<Row, Refusal> {
        let pairs = self.corrected.clone().unwrap_or_else(|| self.pairs());
        let (change, spread) = match self.design {
            Design::Paired => (criterion.paired(&pairs)?, spread(&pairs)),
            Design::Unpaired => (unpaired(&self.a, &self.b, criterion.confidence())?, None),
        };
        Ok(Row {
            load,
            metric,
            a: middle(&self.a),
            b: middle(&self.b),
            verdict: verdict(&change, equivalence),
            change,
            detectable: spread.and_then(|spread| detectable(spread, pairs.len(), criterion.confidence())),
            pairs_needed: spread
                .map(|spread| pairs_needed(spread, equivalence, criterion.confidence()))
                .filter(|pairs| *pairs < usize::MAX),
        })
    }
}

/// How far two rounds of one side differ by chance; `None` with fewer than two that have a value.
pub fn floor(rounds: &[Option<f64>]) -> Option<Estimate> {
    noise_floor(&rounds.iter().flatten().copied().collect::<Vec<_>>()).ok()
}

/// The share that counts as no difference if none is given: the floor of the side that is compared with, limited to
/// 1 % to 10 %.
pub fn equivalence(floor: Option<&Estimate>) -> f64 {
    floor.map_or(LEAST, |floor| floor.value.clamp(LEAST, MOST))
}

/// Geometric mean.
pub fn middle(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}
