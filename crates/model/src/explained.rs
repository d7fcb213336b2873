//! What a correction for the noise of other programs took from a comparison.

use crate::estimate::Estimate;
use crate::number::{signed_percent, whole_percent};
use serde::{Deserialize, Serialize};

/// The change of a comparison is one without what other things explain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// What explains it: `the CPU time of other programs`.
    pub by: Vec<String>,
    /// What is left of the spread of the pairs, as a share.
    pub left: f64,
    /// The change as it was measured, with its interval.
    pub measured: Estimate,
}

impl Explained {
    /// `the CPU time of other programs explains 58 % of the spread; as measured the change is +2.0 % (−9.0 % to +14.4 %)`.
    pub fn in_words(&self) -> String {
        let measured = match self.measured.interval() {
            Some((low, high)) => format!(" ({} to {})", signed_percent(low), signed_percent(high)),
            None => String::new(),
        };
        format!(
            "{} explain{} {} of the spread; as measured the change is {}{measured}",
            self.by.join(" and "),
            if self.by.len() == 1 { "s" } else { "" },
            whole_percent(1.0 - self.left),
            signed_percent(self.measured.value)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_by_what_and_what_was_measured() {
        let measured = Estimate::new(0.02, (-0.09, 0.144), 0.95, 13.0, String::new());
        let one = Explained { by: vec!["the CPU time of other programs".to_owned()], left: 0.42, measured };
        let text = "the CPU time of other programs explains 58 % of the spread; as measured the change is +2.0 % \
                    (−9.0 % to +14.4 %)";
        assert_eq!(one.in_words(), text);
        let both = Explained { by: vec!["this".to_owned(), "that".to_owned()], ..one };
        assert!(both.in_words().starts_with("this and that explain 58 %"));
    }
}
