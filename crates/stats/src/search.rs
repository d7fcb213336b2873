//! The load line: the highest rate that meets an objective, found by trials whose outcomes are partly chance.
//!
//! A controller asks [`Search::next`] for a rate, runs a trial of some seconds at it, judges it with
//! [`SearchObjective::judge`] and passes the outcome to [`Search::tell`], until no rate is left to try.
//!
//! The load line is the rate at which half of such trials meet the objective. Near it, outcomes are random, and those
//! of consecutive trials are alike, because disturbances last; plain bisection believes every one of them and ends up
//! too certain. So the search keeps a posterior over the logarithm of the line and puts the
//! next trial where it tells most (probabilistic bisection: Horstein 1963; Waeber, Frazier and Henderson 2013; with a
//! likelihood as in QUEST, Watson and Pelli 1983, whose unknown width is a further dimension as in the psi method,
//! Kontsevich and Tyler 1999).
//!
//! The model: trial i at rate r meets the objective if ln r + w·z < ln line, where the disturbance z is a first-order
//! autoregression from trial to trial with variance 1 and correlation c. Line, w and c are unknown and lie on a grid.
//! For each of its cells z is filtered by matching its first two moments after every outcome (assumed density
//! filtering: Minka 2001, "A family of algorithms for approximate Bayesian inference", chapter 3). If the line
//! is blurred more than w can be, or disturbances last longer than c allows, the interval is too narrow: longer trials
//! help in both cases.

use hdrhistogram::Histogram;
use plimsoll_model::estimate::CONFIDENCE;
use plimsoll_model::{Estimate, Refusal};
use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Distance of neighbouring rates on the grid, as a logarithm: 2 %.
const STEP: f64 = 0.02;
/// How far the grid reaches beyond the lowest and the highest rate, as a logarithm. What lies there stands for all
/// lines that are out of reach.
const MARGIN: f64 = std::f64::consts::LN_2;
/// Standard deviations of the disturbance in units of ln(rate): from a line that is sharp to 2 % to one that is blurred
/// by a third, as when the response time hardly grows with the rate.
const WIDTHS: [f64; 3] = [0.02, 0.08, 0.32];
/// Rates further apart than this, as a logarithm, are not both on the wrong side of one line by chance: even in the
/// middle between them each is 1.5 of the widest standard deviations away, which both are in 1 of 200 cases.
const FAR: f64 = 3.0 * WIDTHS[WIDTHS.len() - 1];
/// Correlations of the disturbances of two trials in succession.
const CORRELATIONS: [f64; 2] = [0.2, 0.7];
/// Share of trials whose outcome has nothing to do with the rate.
const LAPSES: f64 = 0.02;
/// Quantiles of the posterior that are tried in turn. Trials on both sides of the median teach the width too, and so
/// end up narrower than trials at the median itself.
const TRIED: [f64; 2] = [0.3, 0.7];
/// A cell of the grid with less probability than this is dropped.
const NEGLIGIBLE: f64 = 1e-8;

/// What a server has to achieve; every limit that is given counts. Response times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SearchObjective {
    pub response: Option<QuantileLimit>,
    /// The largest share of all transactions that may fail, 0 to 1.
    pub error_share: Option<f64>,
}

/// A share `quantile` of all response times, 0 to 1, is at most `limit_ns`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileLimit {
    pub quantile: f64,
    pub limit_ns: u64,
}

/// What a trial showed within its window.
#[derive(Clone, Copy, Debug)]
pub struct SearchTrial<'a> {
    /// Nanoseconds from the moment that a transaction was due to its end.
    pub responses: &'a Histogram<u64>,
    /// Transactions that succeeded.
    pub transactions: u64,
    /// Transactions that failed for good.
    pub errors: u64,
    /// Arrivals that never became a transaction, because too many were waiting.
    pub dropped: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchOutcome {
    Kept,
    Missed,
}

impl SearchObjective {
    /// A trial in which no transaction succeeded also misses, and so does one that dropped an arrival: what was never
    /// started has no response time, so the other times would look too good. Response times count to the resolution of
    /// their histogram.
    pub fn judge(&self, trial: &SearchTrial) -> SearchOutcome {
        let quick = self.response.is_none_or(|QuantileLimit { quantile, limit_ns }| {
            let responses = trial.responses;
            let reached = responses.lowest_equivalent(responses.value_at_quantile(quantile));
            !responses.is_empty() && reached <= limit_ns
        });
        let ended = trial.transactions as f64 + trial.errors as f64;
        let sound = self.error_share.is_none_or(|most| trial.errors as f64 <= most * ended);
        if quick && sound && trial.transactions > 0 && trial.dropped == 0 {
            SearchOutcome::Kept
        } else {
            SearchOutcome::Missed
        }
    }
}

/// Where to search and when to stop. Rates are arrivals per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchSpec {
    pub lowest: f64,
    pub highest: f64,
    /// The first rate to be tried; if not given, the geometric mean of the lowest and the highest.
    pub start: Option<f64>,
    /// The search ends when the width of the interval is at most this share of the rate: 0.05.
    pub tolerance: f64,
    /// The search ends after this many trials.
    pub trials: usize,
}

impl SearchSpec {
    fn start(&self) -> f64 {
        self.start.unwrap_or(self.lowest.sqrt() * self.highest.sqrt()).clamp(self.lowest, self.highest)
    }

    fn within(&self, rate: f64) -> f64 {
        rate.clamp(self.lowest, self.highest)
    }
}

/// A search for the load line, in memory; it runs nothing itself. The same outcomes always give the same rates.
#[derive(Clone, Debug)]
pub struct Search {
    spec: SearchSpec,
    posterior: Posterior,
    told: Vec<(f64, SearchOutcome)>,
}

impl Search {
    /// A search that has tried nothing yet.
    ///
    /// # Errors
    /// With rates that are not finite, not above 0 or not in order.
    pub fn new(spec: SearchSpec) -> Result<Search, Refusal> {
        let SearchSpec { lowest, highest, start, .. } = spec;
        if !(lowest >= f64::MIN_POSITIVE && highest.is_finite() && lowest < highest) {
            return Err(Refusal(format!(
                "{lowest}/s to {highest}/s is not a range to search in; 10/s to 1000/s is one"
            )));
        }
        if start.is_some_and(|start| !start.is_finite()) {
            return Err(Refusal("a search cannot start at a rate that is not finite".to_owned()));
        }
        Ok(Search { spec, posterior: Posterior::new(lowest.ln(), highest.ln()), told: Vec::new() })
    }

    /// A search in the same range that was not told any outcome yet.
    pub fn anew(&self) -> Search {
        let SearchSpec { lowest, highest, .. } = self.spec;
        Search { spec: self.spec, posterior: Posterior::new(lowest.ln(), highest.ln()), told: Vec::new() }
    }

    /// The rate to try next; `None` when the line is known well enough or all trials are used up. The rate is doubled
    /// until a trial misses and halved until one meets the objective; from then on the posterior decides. No rate is
    /// more than twice one that was met, so that no trial overwhelms the server.
    pub fn next(&self) -> Option<f64> {
        let SearchSpec { lowest, highest, trials, .. } = self.spec;
        if self.told.len() >= trials {
            return None;
        }
        let wanted = match (self.highest_kept(), self.lowest_missed()) {
            (None, None) => self.spec.start(),
            (Some(kept), None) if kept < highest => 2.0 * kept,
            (None, Some(missed)) if missed > lowest => missed / 2.0,
            _ if self.settled() => return None,
            (kept, _) => {
                let informative = self.posterior.quantile(TRIED[self.told.len() % TRIED.len()]);
                kept.map_or(informative, |kept| informative.min(2.0 * kept))
            }
        };
        Some(self.spec.within(wanted))
    }

    /// The outcome of a trial at a rate, which need not be one that the search chose. A rate that is not above 0 or not
    /// finite is ignored.
    pub fn tell(&mut self, rate: f64, outcome: SearchOutcome) {
        if rate > 0.0 && rate.is_finite() {
            self.posterior.update(rate.ln(), outcome);
            self.told.push((rate, outcome));
        }
    }

    /// The load line in arrivals per second: the median of the posterior and its central 95 %. An end that is not
    /// between the lowest and the highest rate is open.
    ///
    /// `effective_n` counts each trial by how open its outcome was, 4p(1 − p) with its probability p of meeting the
    /// objective: one near the line by 1, one far from it by almost nothing.
    ///
    /// # Errors
    /// If no trial met the objective.
    pub fn estimate(&self) -> Result<Estimate, Refusal> {
        let trials = self.told.len();
        let Some(kept) = self.highest_kept() else {
            return Err(self.refusal());
        };
        let method = format!("{trials} trials, noise-aware bisection");
        let [low, middle, high] = self.quantiles();
        let effective_n = self.told.iter().map(|&(rate, _)| self.posterior.openness(rate.ln())).sum();
        // Without a miss, how far the line lies above what was met is only the grid's guess.
        let (low, middle, high) = match self.lowest_missed() {
            Some(_) => (low, middle, high),
            None => (low.min(kept), middle.min(kept), f64::INFINITY),
        };
        let value = self.spec.within(middle);
        Ok(self.open_ends(Estimate::new(value, (low, high), CONFIDENCE, effective_n, method)))
    }

    /// The lowest rate that was missed and the highest that was met, if the latter is so far above the former that no
    /// blur of this model explains both: then something other than the rate decided.
    pub fn contradiction(&self) -> Option<(f64, f64)> {
        let (missed, kept) = (self.lowest_missed()?, self.highest_kept()?);
        ((kept / missed).ln() > FAR).then_some((missed, kept))
    }

    /// Whether any trial missed the objective: without one, nothing is known about where the line ends.
    pub fn has_missed(&self) -> bool {
        self.lowest_missed().is_some()
    }

    fn rates(&self, outcome: SearchOutcome) -> impl Iterator<Item = f64> {
        self.told.iter().filter(move |told| told.1 == outcome).map(|told| told.0)
    }

    fn highest_kept(&self) -> Option<f64> {
        self.rates(SearchOutcome::Kept).reduce(f64::max)
    }

    fn lowest_missed(&self) -> Option<f64> {
        self.rates(SearchOutcome::Missed).reduce(f64::min)
    }

    /// Low end, median and high end of the line, per second; they may lie in the margins.
    fn quantiles(&self) -> [f64; 3] {
        let tail = (1.0 - CONFIDENCE) / 2.0;
        [tail, 0.5, 1.0 - tail].map(|share| self.posterior.quantile(share))
    }

    /// True if the interval is narrow enough; beyond the lowest and the highest rate nothing can be learnt.
    fn settled(&self) -> bool {
        let [low, middle, high] = self.quantiles().map(|rate| self.spec.within(rate));
        high - low <= self.spec.tolerance * middle
    }

    /// Why no trial met the objective.
    fn refusal(&self) -> Refusal {
        let lowest = self.spec.lowest;
        Refusal(match self.lowest_missed() {
            None => "no trial has been run; a search takes 10 or more".to_owned(),
            Some(missed) if missed > lowest => {
                format!("no trial met the objective, down to {missed:.1}/s; more trials can find a rate that does")
            }
            Some(_) => format!("the objective was missed even at the lowest rate, {lowest}/s; a lower one may meet it"),
        })
    }

    /// The same estimate without the ends that are out of the search's reach, and why they are missing.
    fn open_ends(&self, found: Estimate) -> Estimate {
        let SearchSpec { lowest, highest, .. } = self.spec;
        let low = found.low.filter(|low| *low > lowest);
        let high = found.high.filter(|high| *high < highest);
        let below = || format!("the line may lie below the lowest rate, {lowest}/s; lower the lowest rate");
        let above = || match self.highest_kept() {
            Some(kept) if kept < highest && self.lowest_missed().is_none() => {
                format!("every trial met the objective, up to {kept:.1}/s; more trials can find a rate that misses it")
            }
            _ => format!("the line may lie above the highest rate, {highest}/s; raise the highest rate"),
        };
        let reasons: Vec<String> = low.is_none().then(below).into_iter().chain(high.is_none().then(above)).collect();
        let missing = (!reasons.is_empty()).then(|| reasons.join(", and "));
        Estimate { low: low.map(|low| low.min(highest)), high: high.map(|high| high.max(lowest)), missing, ..found }
    }
}

/// Probabilities of (line, width, correlation), which add up to 1, ordered by line.
#[derive(Clone, Debug)]
struct Posterior {
    cells: Vec<Cell>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    /// ln(rate) of the load line.
    line: f64,
    width: f64,
    correlation: f64,
    probability: f64,
    /// Mean and variance of the next trial's disturbance, as the outcomes so far tell, if this cell is true.
    mean: f64,
    variance: f64,
}

impl Posterior {
    /// All cells alike, before the first outcome.
    fn new(lowest: f64, highest: f64) -> Posterior {
        let lines = ((highest - lowest + 2.0 * MARGIN) / STEP).ceil() as usize + 1;
        let probability = 1.0 / (lines * WIDTHS.len() * CORRELATIONS.len()) as f64;
        let cell = |line, width, correlation| Cell { line, width, correlation, probability, mean: 0.0, variance: 1.0 };
        let cells = (0..lines).map(|i| lowest - MARGIN + STEP * i as f64).flat_map(|line| {
            WIDTHS.into_iter().flat_map(move |width| CORRELATIONS.map(|correlation| cell(line, width, correlation)))
        });
        Posterior { cells: cells.collect() }
    }

    fn update(&mut self, ln_rate: f64, outcome: SearchOutcome) {
        for cell in &mut self.cells {
            cell.update(ln_rate, outcome);
        }
        let total: f64 = self.cells.iter().map(|cell| cell.probability).sum();
        self.cells.retain_mut(|cell| {
            cell.probability /= total;
            cell.probability > NEGLIGIBLE
        });
    }

    /// The rate that the line does not exceed with probability `share`; within a step of the grid, probability is
    /// spread evenly.
    fn quantile(&self, share: f64) -> f64 {
        let total: f64 = self.cells.iter().map(|cell| cell.probability).sum();
        let mut wanted = share * total;
        let mut line = f64::NAN;
        for cells in self.cells.chunk_by(|a, b| a.line == b.line) {
            let here: f64 = cells.iter().map(|cell| cell.probability).sum();
            line = cells[0].line + STEP * ((wanted / here).min(1.0) - 0.5);
            if wanted <= here {
                break;
            }
            wanted -= here;
        }
        line.exp()
    }

    /// 4p(1 − p), where p is the probability that a trial at this rate meets the objective.
    fn openness(&self, ln_rate: f64) -> f64 {
        let normal = Normal::standard();
        let kept = |cell: &Cell| cell.probability * normal.cdf((cell.line - ln_rate) / cell.width);
        let p: f64 = self.cells.iter().map(kept).sum();
        (4.0 * p * (1.0 - p)).max(0.0)
    }
}

impl Cell {
    /// Weighs the cell by how likely it made the outcome, conditions the disturbance on it and carries that over to the
    /// next trial. With likelihood Z(h) and a = d ln Z/dh, the disturbance's mean moves by `a` standard deviations
    /// towards what explains the outcome, and its variance changes by the factor 1 − a(a + h).
    fn update(&mut self, ln_rate: f64, outcome: SearchOutcome) {
        let normal = Normal::standard();
        let side = if outcome == SearchOutcome::Kept { 1.0 } else { -1.0 };
        let deviation = self.variance.sqrt();
        let h = side * ((self.line - ln_rate) / self.width - self.mean) / deviation;
        let likelihood = LAPSES / 2.0 + (1.0 - LAPSES) * normal.cdf(h);
        let a = (1.0 - LAPSES) * normal.pdf(h) / likelihood;
        let c = self.correlation;
        self.probability *= likelihood;
        self.mean = c * (self.mean - side * deviation * a);
        self.variance = c * c * self.variance * (1.0 - a * (a + h)) + 1.0 - c * c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::new_histogram;

    fn search(lowest: f64, highest: f64) -> Search {
        Search::new(SearchSpec { lowest, highest, start: None, tolerance: 0.05, trials: 40 }).unwrap()
    }

    /// Runs the search with outcomes that are free of noise; the rates that were tried.
    fn run(search: &mut Search, line: f64) -> Vec<f64> {
        let mut tried = Vec::new();
        while let Some(rate) = search.next() {
            search.tell(rate, if rate < line { SearchOutcome::Kept } else { SearchOutcome::Missed });
            tried.push(rate);
        }
        tried
    }

    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} where {expected} belongs");
    }

    #[test]
    fn an_objective_is_kept_up_to_its_limits() {
        let mut responses = new_histogram();
        responses.record_n(5_000_000, 99).unwrap();
        responses.record(80_000_000).unwrap();
        let limit = |quantile, limit_ns| Some(QuantileLimit { quantile, limit_ns });
        let judge = |response, error_share, errors, dropped| {
            let trial = SearchTrial { responses: &responses, transactions: 100, errors, dropped };
            SearchObjective { response, error_share }.judge(&trial)
        };
        assert_eq!(judge(limit(0.99, 5_000_000), None, 0, 0), SearchOutcome::Kept);
        assert_eq!(judge(limit(0.99, 4_900_000), None, 0, 0), SearchOutcome::Missed);
        assert_eq!(judge(limit(0.995, 20_000_000), None, 0, 0), SearchOutcome::Missed);
        assert_eq!(judge(None, Some(0.2), 25, 0), SearchOutcome::Kept);
        assert_eq!(judge(None, Some(0.2), 26, 0), SearchOutcome::Missed);
        assert_eq!(judge(limit(0.99, 5_000_000), Some(0.2), 26, 0), SearchOutcome::Missed);
        assert_eq!(judge(limit(0.99, 5_000_000), Some(0.2), 0, 1), SearchOutcome::Missed);
    }

    #[test]
    fn a_trial_without_samples_misses() {
        let responses = new_histogram();
        let limit = QuantileLimit { quantile: 0.99, limit_ns: u64::MAX };
        let trial = |transactions| SearchTrial { responses: &responses, transactions, errors: 0, dropped: 0 };
        let quick = SearchObjective { response: Some(limit), error_share: None };
        assert_eq!(quick.judge(&trial(1)), SearchOutcome::Missed);
        assert_eq!(SearchObjective::default().judge(&trial(0)), SearchOutcome::Missed);
        assert_eq!(SearchObjective::default().judge(&trial(1)), SearchOutcome::Kept);
    }

    #[test]
    fn rates_double_until_one_is_missed_and_halve_until_one_is_kept() {
        assert_eq!(run(&mut search(1.0, 10_000.0), 700.0)[..4], [100.0, 200.0, 400.0, 800.0]);
        assert_eq!(run(&mut search(1.0, 10_000.0), 30.0)[..3], [100.0, 50.0, 25.0]);
    }

    #[test]
    fn without_noise_the_line_is_enclosed_to_the_tolerance() {
        for line in [30.0, 99.0, 101.0, 700.0, 5_000.0] {
            let mut search = search(1.0, 10_000.0);
            let tried = run(&mut search, line);
            let found = search.estimate().unwrap();
            let (low, high) = found.interval().unwrap();
            assert!(low < line && line < high && high - low <= 0.05 * found.value, "{line}: {found:?}");
            let kept = tried.iter().copied().filter(|rate| *rate < line).fold(0.0, f64::max);
            let missed = tried.iter().copied().filter(|rate| *rate >= line).fold(f64::INFINITY, f64::min);
            assert!(kept <= found.value * 1.01 && found.value <= missed * 1.01, "{line}: {kept} {missed} {found:?}");
            assert!(found.effective_n < tried.len() as f64, "{line}: {found:?}");
        }
    }

    #[test]
    fn an_end_out_of_reach_is_open_and_says_so() {
        let mut above = search(100.0, 1_600.0);
        run(&mut above, 5_000.0);
        let found = above.estimate().unwrap();
        assert_eq!((found.value, found.high), (1_600.0, None));
        assert!(found.low.unwrap() > 1_500.0, "{found:?}");
        assert!(found.missing.unwrap().contains("raise the highest rate"));

        let mut below = search(100.0, 1_600.0);
        let tried = run(&mut below, 20.0);
        assert!(tried.len() < 10 && tried.ends_with(&[100.0, 100.0]), "{tried:?}");
        assert!(below.estimate().unwrap_err().0.contains("missed even at the lowest rate, 100/s"));

        let mut edge = search(100.0, 1_600.0);
        run(&mut edge, 101.0);
        let found = edge.estimate().unwrap();
        assert_eq!(found.low, None);
        assert!(found.high.unwrap() < 110.0 && found.missing.unwrap().contains("lower the lowest rate"), "{edge:?}");
    }

    #[test]
    fn what_was_not_tried_is_not_claimed() {
        let mut search = search(1.0, 1e6);
        assert!(search.estimate().unwrap_err().0.contains("no trial"));
        search.tell(10.0, SearchOutcome::Kept);
        let found = search.estimate().unwrap();
        assert!(found.value <= 10.0 && found.low.unwrap() <= 10.0 && found.high.is_none(), "{found:?}");
        assert!(found.missing.unwrap().contains("up to 10.0/s"));
    }

    #[test]
    fn a_rate_that_is_kept_far_above_one_that_is_missed_contradicts_it() {
        let told = |missed, kept| {
            let mut search = search(1.0, 1_000.0);
            search.tell(missed, SearchOutcome::Missed);
            search.tell(kept, SearchOutcome::Kept);
            search.contradiction()
        };
        assert_eq!(told(12.4, 41.8), Some((12.4, 41.8)));
        assert_eq!(told(20.0, 41.8), None, "a blurred line");
        assert_eq!(told(41.8, 12.4), None, "in order");
        assert_eq!(search(1.0, 1_000.0).contradiction(), None);
    }

    #[test]
    fn ranges_that_are_none_are_refused() {
        for (lowest, highest) in
            [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (1.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)]
        {
            let spec = SearchSpec { lowest, highest, start: None, tolerance: 0.05, trials: 9 };
            assert!(Search::new(spec).is_err(), "{lowest} to {highest}");
        }
        let spec = SearchSpec { lowest: 1.0, highest: 2.0, start: Some(f64::NAN), tolerance: 0.05, trials: 9 };
        assert!(Search::new(spec).is_err());
    }

    #[test]
    fn before_the_first_outcome_every_rate_is_alike() {
        let posterior = Posterior::new(100f64.ln(), 10_000f64.ln());
        let reach = (posterior.quantile(1.0) / posterior.quantile(0.0)).ln();
        close(posterior.quantile(0.25) / posterior.quantile(0.0), (reach / 4.0).exp());
        assert!((posterior.quantile(0.5) / 1_000.0 - 1.0).abs() < STEP, "{}", posterior.quantile(0.5));
    }

    #[test]
    fn an_outcome_at_the_line_leaves_a_half_normal_disturbance() {
        // Its mean is -√(2/π) and its second moment 1; a lapse leaves a standard normal one, of second moment 1 too.
        let mut cell = Cell { line: 6.0, width: 0.08, correlation: 0.7, probability: 1.0, mean: 0.0, variance: 1.0 };
        cell.update(6.0, SearchOutcome::Kept);
        let mean = -(1.0 - LAPSES) * (2.0 / std::f64::consts::PI).sqrt();
        close(cell.probability, 0.5);
        close(cell.mean, 0.7 * mean);
        close(cell.variance, 0.49 * (1.0 - mean * mean) + 0.51);
    }
}
