//! Comparisons that get rounds until they are decided.

use crate::number::{counted, number};
use serde::{Deserialize, Serialize};

/// How one came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    /// The share that counts as no difference.
    pub decide: f64,
    /// Rounds that there could have been.
    pub most: u32,
    pub decided: bool,
    /// After each round that has both sides, from the first on.
    pub looks: Vec<RoundLook>,
    /// Of one that stayed open, about how many rounds in all would decide it, in 4 of 5 cases; `null` if no number does, and
    /// with too few rounds to know.
    pub rounds_needed: Option<usize>,
}

/// What was known after so many rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundLook {
    pub rounds: usize,
    /// b ÷ a − 1, as a share.
    pub change: f64,
    /// The interval, which holds however often it is looked at; `null` where it says nothing yet.
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Stopping {
    /// Rounds that have both sides.
    pub fn rounds(&self) -> usize {
        self.looks.last().map_or(0, |look| look.rounds)
    }

    /// `decided after 6 of up to 40 rounds`, `open after 40 rounds; about 120 would decide it`.
    pub fn in_words(&self) -> String {
        let rounds = self.rounds();
        match (self.decided, self.rounds_needed) {
            (true, _) => format!("decided after {rounds} of up to {}", counted(f64::from(self.most), "round")),
            (false, Some(needed)) => {
                let rounds = counted(rounds as f64, "round");
                format!("open after {rounds}; about {} would decide it", number(needed as f64, 0))
            }
            (false, None) => format!("open after {}", counted(rounds as f64, "round")),
        }
    }
}
