//! Comparisons that get rounds until they are decided.

use crate::estimate::Estimate;
use crate::number::{counted, number, signed_percent};
use serde::{Deserialize, Serialize};

/// What the label of a trial in the block after a flip ends in, and that of one after flips were given up.
pub const FIRST: &str = "first";
pub const RESTARTED: &str = "restarted";

/// Why a change has no verdict though chance does not explain it.
pub const MAY_BE_CARRIED_OVER: &str = "as much as half of it may be what the other side left behind on the server; longer blocks, \
                                       or trials that start a server, would tell";

/// What trials that start a server of their own are called after flips of those called `label` were given up.
pub fn restarted_label(label: &str) -> String {
    format!("{label}/{RESTARTED}")
}

/// The other way round; `None` if `label` is not that of such a trial.
pub fn flipped_label(label: &str) -> Option<&str> {
    label.strip_suffix(RESTARTED)?.strip_suffix('/')
}

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
    /// Where variants took turns on one running server, at first at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switchback: Option<CarriedOver>,
}

/// What one variant left behind on the server for the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CarriedOver {
    /// By how much the blocks after a flip showed another change than those after them, a share.
    pub carried: Estimate,
    /// It was too much, so that the rounds are those of trials that start a server of their own.
    pub restarted: bool,
}

impl CarriedOver {
    /// `blocks after a flip show +12.0 % (+8.0 % to +16.0 %) more of the change than those after them`.
    pub fn in_words(&self) -> String {
        let ends = |(low, high)| format!(" ({} to {})", signed_percent(low), signed_percent(high));
        let carried = self.carried.interval().map(ends).unwrap_or_default();
        let carried = format!("{}{carried}", signed_percent(self.carried.value));
        format!("blocks after a flip show {carried} more of the change than those after them")
    }

    fn how(&self) -> &'static str {
        match self.restarted {
            true => "with restarts, because flips of a running server carried something over",
            false => "by flips of a running server",
        }
    }
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
        let how = self.switchback.as_ref().map(|of| format!(" {}", of.how())).unwrap_or_default();
        let when = match (self.decided, self.rounds_needed) {
            _ if rounds == 0 => "given up, because no round had both".to_owned(),
            (true, _) => format!("decided after {rounds} of up to {}", counted(f64::from(self.most), "round")),
            (false, Some(needed)) => {
                let rounds = counted(rounds as f64, "round");
                format!("open after {rounds}; about {} would decide it", number(needed as f64, 0))
            }
            (false, None) => format!("open after {}", counted(rounds as f64, "round")),
        };
        format!("{when}{how}")
    }
}
