//! Comparisons that get rounds until they are decided.

use crate::estimate::Estimate;
use crate::number::{counted, duration, number, signed_percent, tick};
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
    /// Seconds that they could have taken together; `null` without such a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_seconds: Option<f64>,
    pub decided: bool,
    /// After each round that has both sides, from the first on.
    pub looks: Vec<RoundLook>,
    /// Of one that stayed open, about how many rounds in all would decide it, in 4 of 5 cases; `null` if no number does, and
    /// with too few rounds to know.
    pub rounds_needed: Option<usize>,
    /// Where a gate asks for less than a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<StoppingGate>,
    /// Where variants took turns on one running server, at first at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switchback: Option<CarriedOver>,
}

/// Whether one is slower than the other by more than a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoppingGate {
    /// A share.
    pub limit: f64,
    pub decided: bool,
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
    /// Whether a change of more than `limit`, a share, may hide behind it, where the rounds are those of flips.
    pub fn hides_more_than(&self, limit: f64) -> bool {
        !self.restarted && self.carried.value.ln_1p().abs() > limit.ln_1p()
    }

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

    /// `decided after 6 of up to 40 rounds`, `open after 12 of up to 40 rounds and 10 min; about 120 would decide it`, `open
    /// after all 40 rounds`.
    pub fn in_words(&self) -> String {
        let rounds = self.rounds();
        if rounds == 0 {
            return "given up, because no round had both".to_owned();
        }
        let how = self.switchback.as_ref().map(|of| format!(" {}", of.how())).unwrap_or_default();
        let needed = self.rounds_needed.filter(|_| !self.decided);
        let needed = needed.map(|needed| format!("; about {} would decide it", number(needed as f64, 0)));
        if let Some(gate) = self.gate.filter(|gate| gate.decided) {
            return format!(
                "ended after {rounds} of {}, when it was known whether it is slower by more than {} %",
                self.limit(),
                tick(100.0 * gate.limit)
            );
        }
        let when = match self.decided {
            true => format!("decided after {rounds} of {}", self.limit()),
            false if rounds >= self.most as usize => format!("open after all {}", counted(rounds as f64, "round")),
            false => format!("open after {rounds} of {}", self.limit()),
        };
        format!("{when}{}{how}", needed.unwrap_or_default())
    }

    fn limit(&self) -> String {
        let time = self.most_seconds.map(|seconds| format!(" and {}", duration(seconds))).unwrap_or_default();
        format!("up to {}{time}", counted(f64::from(self.most), "round"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_it_is_said() {
        let look = |rounds| RoundLook { rounds, change: 0.1, low: None, high: None };
        let decided = Stopping {
            decide: 0.02,
            most: 40,
            most_seconds: None,
            decided: true,
            looks: vec![look(2), look(6)],
            rounds_needed: None,
            gate: None,
            switchback: None,
        };
        assert_eq!(decided.in_words(), "decided after 6 of up to 40 rounds");
        let open = Stopping { decided: false, rounds_needed: Some(120), ..decided };
        assert_eq!(open.in_words(), "open after 6 of up to 40 rounds; about 120 would decide it");
        let gate = Some(StoppingGate { limit: 0.05, decided: true });
        let gated = Stopping { gate, ..open.clone() };
        assert_eq!(
            gated.in_words(),
            "ended after 6 of up to 40 rounds, when it was known whether it is slower by more than 5 %"
        );
        let out_of_time = Stopping { most_seconds: Some(600.0), rounds_needed: None, ..open.clone() };
        assert_eq!(out_of_time.in_words(), "open after 6 of up to 40 rounds and 10 min");
        let out_of_rounds = Stopping { most: 6, ..open.clone() };
        assert_eq!(out_of_rounds.in_words(), "open after all 6 rounds; about 120 would decide it");
        assert_eq!(Stopping { looks: Vec::new(), ..open }.in_words(), "given up, because no round had both");
    }
}
