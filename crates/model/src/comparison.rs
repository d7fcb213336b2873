//! Two sides compared: what `plimsoll compare` finds, prints as JSON and a report words.

use crate::caveat::Caveat;
use crate::estimate::Estimate;
use crate::load_point::{self, LoadPoint};
use crate::metric::Metric;
use crate::stopping::CarriedOver;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const SCHEMA_VERSION: u32 = 1;

/// What an interval says of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is above 0.
    Higher,
    /// The whole interval is below 0.
    Lower,
    /// The whole interval lies within the equivalence bound on both sides of 0.
    Equivalent,
    /// Neither: more rounds are needed.
    Unclear,
}

/// How the rounds of the two sides were set against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Round by round: they were interleaved in time on one machine.
    Paired,
    /// As two groups: other machines, or not interleaved.
    Unpaired,
}

/// The document that `compare --json` prints. Added fields do not raise [`SCHEMA_VERSION`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub schema_version: u32,
    pub workload: String,
    pub a: Side,
    pub b: Side,
    pub design: Design,
    /// Why it is not paired; `null` if it is.
    pub unpaired_because: Option<String>,
    /// A change of up to this share counts as no difference.
    pub equivalence: f64,
    /// The one that decides: over all load points together.
    pub headline: Row,
    /// By load point and metric. The intervals of one metric hold together with 95 %, however many load points there are.
    pub rows: Vec<Row>,
    /// Parameters of the workload that are not the same: the two sides did not do the same work, and none is better at it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlike_work: Vec<Difference>,
    /// What else differs between the sides: versions, settings, parameters.
    pub differences: Vec<Difference>,
    /// Where both took turns on one running server, at first at least: what one left behind for the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switchback: Option<CarriedOver>,
    pub caveats: Vec<Caveat>,
}

/// One side: the recordings that are its rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// What it was called on the command line; of a path, its last part.
    pub name: String,
    pub variant: String,
    /// Directories of the recordings, oldest first.
    pub recordings: Vec<String>,
    pub rounds: usize,
    /// Relative difference, as a share, that two runs of this side alone show by chance in 19 of 20 cases; `null` with
    /// too few rounds.
    pub noise_floor: Option<Estimate>,
}

/// What one metric says, at one load point or over all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `null` for all load points together.
    #[serde(flatten, with = "load_point::optional")]
    pub load: Option<LoadPoint>,
    pub metric: Metric,
    /// Geometric means over the rounds.
    pub a: f64,
    pub b: f64,
    /// b ÷ a − 1, as a share.
    pub change: Estimate,
    pub verdict: Verdict,
    /// Smallest change, as a share, that so many pairs of this spread show in 4 of 5 cases; `null` with too few, and
    /// where rounds are not paired.
    pub detectable: Option<f64>,
    /// How many pairs of this spread show a change as small as the equivalence bound in 4 of 5 cases; `null` likewise.
    pub pairs_needed: Option<usize>,
}

impl Row {
    /// The same without a verdict, for this reason; one that has none stays as it is.
    pub fn withheld(self, missing: &str) -> Row {
        if self.verdict == Verdict::Unclear {
            return self;
        }
        let Estimate { value, effective_n, method, .. } = self.change;
        let change = Estimate::bare(value, effective_n, method, missing.to_owned());
        Row { verdict: Verdict::Unclear, change, ..self }
    }

    /// Whether b is worse than a by more than `limit`, a share: `true` or `false` where the whole interval says so, `None`
    /// where it lies on both sides of the limit or where there is none.
    pub fn worse_by_more_than(&self, limit: f64) -> Option<bool> {
        worse_by_more_than(&self.change, self.metric.more_is_better(), limit)
    }
}

/// The same of a change by itself.
pub fn worse_by_more_than(change: &Estimate, more_is_better: bool, limit: f64) -> Option<bool> {
    let (low, high) = change.interval()?;
    let (surely, perhaps) = match more_is_better {
        true => (high < -limit, low < -limit),
        false => (low > limit, high > limit),
    };
    (surely == perhaps).then_some(surely)
}

/// Something that differs between the sides beside what was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    pub what: String,
    pub a: Option<String>,
    pub b: Option<String>,
}

/// The parameters of a workload that two sides are known to have had otherwise. One that only one side knows is of another
/// version of Plimsoll, and tells nothing.
pub fn unlike_work(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<Difference> {
    let both = a.iter().filter_map(|(name, of_a)| Some((name, of_a, b.get(name)?)));
    let unlike = both.filter(|(_, of_a, of_b)| of_a != of_b);
    let told = |(name, of_a, of_b): (&String, &String, &String)| Difference {
        what: name.clone(),
        a: Some(of_a.clone()),
        b: Some(of_b.clone()),
    };
    unlike.map(told).collect()
}

/// `table_size 100000 and 250000, tables 1 and 4`: the first side's value first.
pub fn unlike_in_words(unlike: &[Difference]) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_default();
    let told = unlike.iter().map(|of| format!("{} {} and {}", of.what, value(&of.a), value(&of.b)));
    told.collect::<Vec<_>>().join(", ")
}
