//! Two storage paths compared: what `plimsoll compare` finds of storage evaluations.

use crate::caveat::Caveat;
use crate::comparison::{Design, Difference, Side, Verdict};
use crate::estimate::Estimate;
use crate::operation::OpKind;
use crate::scalar::Scalar;
use serde::{Deserialize, Serialize};

pub const SCHEMA_VERSION: u32 = 1;

/// The document that `compare --json` prints of storage evaluations. Added fields do not raise [`SCHEMA_VERSION`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IoComparison {
    pub schema_version: u32,
    pub a: Side,
    pub b: Side,
    pub design: Design,
    /// Why it is not paired; `null` if it is.
    pub unpaired_because: Option<String>,
    /// A change of up to this share counts as no difference.
    pub equivalence: f64,
    /// The sheets of the last round of each side, line by line.
    pub sheet: Vec<SheetPair>,
    /// The measurements that all rounds of both sides have, in the same job: those of unlike parameters are in
    /// [`IoComparison::not_compared`]. The intervals of all rates hold together with 95 %, and so do
    /// those of all percentiles.
    pub probes: Vec<ProbePair>,
    /// The measurements that only one side has, or that were not the same on both.
    #[serde(default)]
    pub not_compared: Vec<NotCompared>,
    /// What else differs between the sides: device, file system, mount options, versions.
    pub differences: Vec<Difference>,
    pub caveats: Vec<Caveat>,
}

/// A line of the sheet on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SheetPair {
    pub key: String,
    pub topic: String,
    pub unit: String,
    pub a: SheetValue,
    pub b: SheetValue,
}

/// What one sheet says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SheetValue {
    /// `null` where the sheet could not tell, or has no such line.
    pub value: Option<Scalar>,
    /// `null` where the sheet has no such line.
    pub statement: Option<String>,
    pub warning: bool,
}

/// A measurement on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbePair {
    pub id: String,
    pub name: String,
    /// Operations per second; `null` where a round has none.
    pub iops: Option<ProbeChange>,
    /// The kind of operation that `p99_us` is about.
    pub kind: Option<OpKind>,
    /// 99th percentile, microseconds; `null` where a round has none.
    pub p99_us: Option<ProbeChange>,
}

/// A measurement without a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotCompared {
    pub id: String,
    /// `only in ext4`, `set_bytes is 1073741824 and 348127232`.
    pub why: String,
}

/// One number of both sides: geometric means over the rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeChange {
    pub a: f64,
    pub b: f64,
    /// b ÷ a − 1, as a share.
    pub change: Estimate,
    pub verdict: Verdict,
}
