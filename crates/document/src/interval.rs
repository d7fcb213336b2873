//! How far a number can be trusted, in words and in cells.

use plimsoll_model::estimate::MOST_UNSTEADY;
use plimsoll_model::io::Probe;
use plimsoll_model::layout::clean;
use plimsoll_model::number::{NOTHING, decimals_for, in_percent, interval, interval_decimals, number, range};
use plimsoll_model::summary::Point;
use plimsoll_model::{Estimate, Metric, ProbeMetric};

/// Shown with numbers that came without an estimate, such as those of old recordings.
const NOT_RECORDED: &str = "not recorded";
/// Shown instead of such a number.
pub const UNSTEADY: &str = "too unsteady to say";
/// The same beside a number in a table, which explains it in full below.
const UNSTEADY_CELL: &str = "unsteady";

/// A mean or percentile, and its interval as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    pub value: Option<f64>,
    pub estimate: Option<Estimate>,
    /// The load point was disturbed.
    pub disturbed: bool,
}

impl Measured {
    /// A number of a load point.
    pub fn of(point: &Point, metric: Metric) -> Measured {
        Measured {
            value: metric.value(point),
            estimate: metric.estimate(point).cloned(),
            disturbed: point.is_disturbed(),
        }
    }

    /// A number of a storage measurement.
    pub fn of_probe(probe: &Probe, metric: ProbeMetric) -> Measured {
        Measured { value: metric.value(probe), estimate: metric.estimate(probe).cloned(), ..Measured::default() }
    }

    /// The same in another unit: everything times `factor`, which is above 0.
    pub fn scaled(&self, factor: f64) -> Measured {
        Measured {
            value: self.value.map(|value| factor * value),
            estimate: self.estimate.as_ref().map(|estimate| estimate.scaled(factor)),
            disturbed: self.disturbed,
        }
    }

    /// The same for the answer: the reason says only what is missing, not what would give it.
    pub fn brief(mut self) -> Measured {
        if let Some(missing) = self.estimate.as_mut().and_then(|estimate| estimate.missing.as_mut()) {
            missing.truncate(missing.find(';').unwrap_or(missing.len()));
        }
        self
    }

    /// The ends of the interval that are numbers.
    pub fn ends(&self) -> (Option<f64>, Option<f64>) {
        let estimate = self.estimate.as_ref();
        let end = |of: fn(&Estimate) -> Option<f64>| estimate.and_then(of).filter(|end| end.is_finite());
        (end(|estimate| estimate.low), end(|estimate| estimate.high))
    }

    /// Whether its interval, known on both sides, is so wide that the number says nothing.
    pub fn is_unsteady(&self) -> bool {
        let (Some(value), (Some(low), Some(high))) = (self.value, self.ends()) else { return false };
        (value - low).max(high - value) > MOST_UNSTEADY * value.abs()
    }

    /// What would make it steady, judged by what disturbed it or by what its interval was computed from.
    fn remedy(&self) -> &'static str {
        let method = self.estimate.as_ref().map_or("", |estimate| &estimate.method);
        let is_of = |words: &[&str]| words.iter().any(|word| method.contains(word));
        match self.disturbed {
            true => "a quiet machine would tell",
            false if is_of(&["round", "pair", "measurement", "trial"]) => "more rounds would tell",
            false if is_of(&["load point", "knee"]) => "more load points, or longer ones, would tell",
            false => "a longer window would tell",
        }
    }

    /// `too unsteady to say; a longer window would tell`, for a number whose interval says nothing.
    pub fn unsteady(&self) -> Option<String> {
        self.is_unsteady().then(|| format!("{UNSTEADY}; {}", self.remedy()))
    }

    /// What is missing of the interval, such as `no upper end`, and why.
    fn missing(&self) -> Option<(&'static str, String)> {
        let what = match self.ends() {
            (Some(_), Some(_)) => return None,
            (Some(_), None) => "no upper end",
            (None, Some(_)) => "no lower end",
            (None, None) => "no interval",
        };
        let why = self.estimate.as_ref().map_or(Some(NOT_RECORDED), |estimate| estimate.missing.as_deref());
        Some((what, clean(why.unwrap_or("no reason was recorded"))))
    }

    /// For brackets after the number: `1,740 – 1,832`, `at least 18; no upper end: why`, `no interval: why`, `too
    /// unsteady to say; a longer window would tell`.
    pub fn told(&self, decimals: usize) -> String {
        self.unsteady().unwrap_or_else(|| self.told_with_ends(decimals))
    }

    /// The ends of a change, a place on an axis or a coefficient: its interval is the answer, however wide it is.
    pub fn told_with_ends(&self, decimals: usize) -> String {
        let ends = match self.ends() {
            (Some(low), Some(high)) => return range(low, high, decimals),
            (Some(low), None) => format!("at least {}; ", number(low, decimals)),
            (None, Some(high)) => format!("at most {}; ", number(high, decimals)),
            (None, None) => String::new(),
        };
        let (what, why) = self.missing().unwrap_or_default();
        format!("{ends}{what}: {why}")
    }

    /// [`Measured::told`] where a reader meets an interval for the first time: `95 % interval 1,740 – 1,832`.
    pub fn told_in_full(&self, decimals: usize) -> String {
        match (self.ends(), &self.estimate) {
            ((Some(_), Some(_)), Some(estimate)) if !self.is_unsteady() => {
                format!("{} % interval {}", in_percent(estimate.confidence), self.told(decimals))
            }
            _ => self.told(decimals),
        }
    }

    /// `1,786 transactions/s (95 % interval 1,740 – 1,832)`, `an unknown number of transactions/s (too unsteady to say;
    /// …)`.
    pub fn in_words(&self, unit: &str) -> String {
        let Some(value) = self.value else { return format!("{NOTHING} {unit}") };
        if let Some(unsteady) = self.unsteady() {
            return format!("an unknown number of {unit} ({unsteady})");
        }
        let decimals = interval_decimals(value, self.ends(), decimals_for(value));
        format!("{} {unit} ({})", number(value, decimals), self.told_in_full(decimals))
    }

    /// The number with as much of its interval as fits in a label: `981 ± 20`, `981 (960–1,010)`, `981`, `too unsteady
    /// to say`.
    pub fn label(&self, decimals: usize) -> String {
        if self.is_unsteady() { UNSTEADY.to_owned() } else { self.label_with_ends(decimals) }
    }

    /// [`Measured::label`] with its unit, if there is a number: `981 ± 20 ms`, `too unsteady to say`.
    pub fn label_in(&self, unit: &str, decimals: usize) -> String {
        let label = self.label(decimals);
        if self.is_unsteady() { label } else { format!("{label} {unit}") }
    }

    /// [`Measured::label`] for what [`Measured::told_with_ends`] is for.
    pub fn label_with_ends(&self, decimals: usize) -> String {
        let Some(value) = self.value else { return NOTHING.to_owned() };
        let decimals = interval_decimals(value, self.ends(), decimals);
        let shown = number(value, decimals);
        match interval(value, self.ends(), decimals) {
            Some(ends) if ends.starts_with('±') => format!("{shown} {ends}"),
            Some(ends) => format!("{shown} ({ends})"),
            None => shown,
        }
    }

    /// What stands beside the number in a table.
    pub fn spread(&self, decimals: usize) -> IntervalCell {
        let Some(value) = self.value else { return IntervalCell::default() };
        if self.is_unsteady() {
            let why = format!("the interval is wider than ± {} %; {}", in_percent(MOST_UNSTEADY), self.remedy());
            let method = self.estimate.as_ref().map(how);
            return IntervalCell { text: UNSTEADY_CELL.to_owned(), missing: Some((UNSTEADY, why)), method };
        }
        IntervalCell {
            text: interval(value, self.ends(), decimals).unwrap_or_else(|| NOTHING.to_owned()),
            missing: self.missing(),
            method: self.estimate.as_ref().map(how),
        }
    }
}

impl From<&Estimate> for Measured {
    fn from(estimate: &Estimate) -> Measured {
        Measured { value: Some(estimate.value), estimate: Some(estimate.clone()), disturbed: false }
    }
}

/// What stands beside a number in a table: its interval, or a mark that there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalCell {
    /// `± 34`, `31.2–41.0`, `≥ 31.2`, `unsteady` or `–`; empty where there is no number either.
    pub text: String,
    /// What is missing of the interval and why.
    pub missing: Option<(&'static str, String)>,
    /// How the interval was found.
    pub method: Option<String>,
}

/// `8 batches of 7 s, t interval; worth 31 independent samples`.
fn how(estimate: &Estimate) -> String {
    format!("{}; worth {} independent samples", clean(&estimate.method), number(estimate.effective_n, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(low: Option<f64>, high: Option<f64>) -> Measured {
        let missing = Some("3 s are\x1b too few".to_owned());
        Measured::from(&Estimate { low, high, missing, ..Estimate::new(26.0, (0.0, 0.0), 0.95, 8.0, String::new()) })
    }

    #[test]
    fn both_ends_one_or_none_are_told_apart() {
        assert_eq!(estimate(Some(19.0), Some(31.0)).told(0), "19 – 31");
        assert_eq!(estimate(Some(19.0), Some(31.0)).told_in_full(0), "95 % interval 19 – 31");
        assert_eq!(estimate(Some(19.0), None).told_in_full(0), "at least 19; no upper end: 3 s are too few");
        assert_eq!(estimate(None, Some(31.0)).told(0), "at most 31; no lower end: 3 s are too few");
        assert_eq!(estimate(None, Some(f64::NAN)).told(0), "no interval: 3 s are too few");
        let brief =
            Measured::from(&Estimate::bare(1.0, 3.0, String::new(), "3 s are too few; 10 s can".to_owned())).brief();
        assert_eq!(brief.told(0), "no interval: 3 s are too few");
        assert_eq!(Measured { value: Some(1.0), ..Measured::default() }.told_in_full(0), "no interval: not recorded");
    }

    #[test]
    fn a_cell_has_the_interval_or_its_absence() {
        assert_eq!(estimate(Some(19.0), Some(31.0)).label(0), "26 (19–31)");
        assert_eq!(estimate(Some(20.0), Some(32.0)).label(0), "26 ± 6");
        assert_eq!(estimate(None, None).label(0), "26");
        assert_eq!(estimate(Some(20.0), Some(32.0)).label_in("ms", 0), "26 ± 6 ms");
        assert_eq!(estimate(Some(19.0), Some(31.0)).in_words("ms"), "26.0 ms (95 % interval 19.0 – 31.0)");
        assert_eq!(estimate(None, None).in_words("ms"), "26.0 ms (no interval: 3 s are too few)");
        assert_eq!(estimate(None, None).spread(0).text, "–");
        assert_eq!(Measured::default().spread(0), IntervalCell::default(), "beside no number there is nothing to say");
        assert_eq!(estimate(None, None).scaled(2.0).value, Some(52.0));
    }

    #[test]
    fn an_interval_that_says_nothing_is_told_in_words_and_never_as_numbers() {
        let of =
            |low, high, method: &str| Measured::from(&Estimate::new(2158.0, (low, high), 0.95, 3.0, method.to_owned()));
        let wide = of(0.0, 13_264.0, "3 batches of 3 s, t interval");
        assert_eq!(wide.told(0), "too unsteady to say; a longer window would tell");
        assert_eq!(wide.told_in_full(0), wide.told(0));
        assert_eq!(wide.label(0), "too unsteady to say");
        assert_eq!(wide.label_in("ms", 0), "too unsteady to say", "a unit says nothing without its number");
        assert_eq!(
            wide.in_words("per second"),
            "an unknown number of per second (too unsteady to say; a longer window would tell)"
        );
        let why = "the interval is wider than ± 30 %; a longer window would tell".to_owned();
        assert_eq!((wide.spread(0).text.as_str(), wide.spread(0).missing), ("unsteady", Some((UNSTEADY, why))));
        assert_eq!(wide.ends(), (Some(0.0), Some(13_264.0)), "data keep the numbers");
        let rounds = of(1000.0, 3000.0, "geometric mean of 3 rounds");
        assert!(rounds.told(0).ends_with("more rounds would tell"));
        assert!(Measured { disturbed: true, ..rounds }.told(0).ends_with("a quiet machine would tell"));
        let just = |share: f64| of(2158.0 * (1.0 - share), 2158.0 * (1.0 + share), "").is_unsteady();
        assert_eq!((just(0.299), just(0.301)), (false, true));
        let change = Measured::from(&Estimate::new(0.01, (-0.02, 0.04), 0.95, 5.0, "5 pairs".to_owned())).scaled(100.0);
        assert_eq!(change.label_with_ends(1), "1.0 ± 3.0", "of a change its sign may be all that is asked");
    }
}
