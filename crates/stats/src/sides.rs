//! Two sides over their rounds as one row, and what counts as no difference: the one answer of labs and of `compare`.

use crate::comparison::{detectable, noise_floor, paired, pairs_needed, spread, unpaired, verdict};
use plimsoll_model::comparison::{Design, Metric, Row};
use plimsoll_model::{Estimate, Refusal};

/// A difference below this share matters to nobody.
const LEAST: f64 = 0.01;
/// On no machine is the floor so high that more than this goes for no difference.
const MOST: f64 = 0.1;

/// The values of two sides, by round: of the same rounds in the same order where they are paired. A round without a value
/// is left out, paired with its partner.
#[derive(Clone, Debug)]
pub struct Sides {
    pub design: Design,
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Sides {
    pub fn new(design: Design, a: &[Option<f64>], b: &[Option<f64>]) -> Sides {
        let (a, b) = match design {
            Design::Paired => a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).unzip(),
            Design::Unpaired => (a.iter().flatten().copied().collect(), b.iter().flatten().copied().collect()),
        };
        Sides { design, a, b }
    }

    /// One metric of them. `at` is the connections and the rate of a single load point; a change within `equivalence`, a
    /// share, is none.
    ///
    /// # Errors
    /// Without rounds, and with a value that is not above 0.
    pub fn row(
        &self,
        at: (Option<usize>, Option<f64>),
        metric: Metric,
        confidence: f64,
        equivalence: f64,
    ) -> Result<Row, Refusal> {
        let pairs: Vec<(f64, f64)> = self.a.iter().copied().zip(self.b.iter().copied()).collect();
        let (change, spread) = match self.design {
            Design::Paired => (paired(&pairs, confidence)?, spread(&pairs)),
            Design::Unpaired => (unpaired(&self.a, &self.b, confidence)?, None),
        };
        Ok(Row {
            connections: at.0,
            rate_offered: at.1,
            metric,
            a: middle(&self.a),
            b: middle(&self.b),
            verdict: verdict(&change, equivalence),
            change,
            detectable: spread.and_then(|spread| detectable(spread, pairs.len())),
            pairs_needed: spread.map(|spread| pairs_needed(spread, equivalence)).filter(|pairs| *pairs < usize::MAX),
        })
    }
}

/// What two rounds of one side differ by without any reason; none with fewer than two that have a value.
pub fn floor(rounds: &[Option<f64>]) -> Option<Estimate> {
    noise_floor(&rounds.iter().flatten().copied().collect::<Vec<_>>()).ok()
}

/// The share that counts as no difference where nobody has said so: the floor of the side that is compared with, but
/// from 1 % to 10 %.
pub fn equivalence(floor: Option<&Estimate>) -> f64 {
    floor.map_or(LEAST, |floor| floor.value.clamp(LEAST, MOST))
}

/// Geometric mean.
pub fn middle(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}
