//! What a sweep over loads shows: its knee, its Universal Scalability fit, and what each load brought against the
//! smallest.

use crate::knee::knee;
use crate::saturation::saturation;
use crate::spread::{REMEDY, Spread, TAIL, by_load, merged};
use plimsoll_model::Metric;
use plimsoll_model::estimate::{CONFIDENCE, Estimate, Refusal};
use plimsoll_model::scaling::{Delta, Scaling, ScalingSample};

/// Everything that a sweep shows; `metric` names what throughput is counted in. What could not be estimated is in
/// `refusals`.
pub fn scaling(metric: Metric, samples: &[ScalingSample]) -> Scaling {
    let mut refusals = Vec::new();
    let mut refused = |Refusal(why)| refusals.push(why);
    let knee = knee(samples).map_err(&mut refused).ok();
    let saturation = saturation(samples).map_err(&mut refused).ok();
    Scaling { metric, knee, saturation, refusals }
}

/// What each load brought against the smallest one, as a share, in order of load: one entry less than there are
/// different loads with a throughput above 0. Several samples of one load count as their mean.
///
/// The interval is Welch's of the difference of the log throughputs (Welch, "The generalization of Student's problem",
/// Biometrika 34, 1947). It is missing if one of the two has none.
pub fn deltas(samples: &[ScalingSample]) -> Vec<Delta> {
    let mut samples = by_load(samples);
    samples.retain(|sample| sample.throughput.value > 0.0);
    let samples = merged(&samples);
    let Some((base, others)) = samples.split_first() else { return Vec::new() };
    let delta = |sample: &ScalingSample| Delta { load: sample.load, change: change(base, sample) };
    others.iter().map(delta).collect()
}

fn change(base: &ScalingSample, sample: &ScalingSample) -> Estimate {
    let (below, above) = (&base.throughput, &sample.throughput);
    let ratio = above.value / below.value;
    let effective_n = above.effective_n.min(below.effective_n);
    let Some((base_spread, spread)) = Spread::of(below).zip(Spread::of(above)) else {
        let missing = format!("loads {} and {} both need intervals: {REMEDY}", base.load, sample.load);
        return Estimate::bare(ratio - 1.0, effective_n, "ratio of means".to_owned(), missing);
    };
    let both = spread.and(base_spread);
    let reach = both.reach(TAIL).exp();
    let ends = (ratio / reach - 1.0, ratio * reach - 1.0);
    let method = "ratio of means, Welch t interval".to_owned();
    Estimate::new(ratio - 1.0, ends, CONFIDENCE, effective_n, method).with_degrees(both.degrees)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(load: f64, rate: f64, half: f64) -> ScalingSample {
        let throughput = Estimate::new(rate, (rate - half, rate + half), CONFIDENCE, 5.0, String::new());
        ScalingSample { load, throughput }
    }

    #[test]
    fn what_cannot_be_told_is_refused_with_its_reason() {
        let told = scaling(Metric::Nopm, &[measured(1.0, 100.0, 1.0), measured(2.0, 150.0, 1.0)]);
        assert_eq!((told.metric, told.knee, told.saturation), (Metric::Nopm, None, None));
        let expected =
            ["2 load points have no knee; 3 can", "2 load points cannot show the Universal Scalability Law; 6 can"];
        assert_eq!(told.refusals, expected);
    }

    #[test]
    fn equal_spreads_add_up_and_double_their_degrees() {
        let one = Spread { error: 3.0, degrees: 4.0 };
        let both = one.and(one);
        assert!((both.error - 18_f64.sqrt()).abs() < 1e-12 && (both.degrees - 8.0).abs() < 1e-12, "{both:?}");
        let exact = Spread { error: 0.0, degrees: 4.0 };
        assert_eq!(exact.and(exact), Spread { error: 0.0, degrees: 8.0 });
        let larger = one.and(exact);
        assert!((larger.degrees - 4.0).abs() < 1e-12, "{larger:?}");
    }

    #[test]
    fn the_degrees_of_an_interval_are_its_own_where_it_says() {
        // Cut at 0 below; 12.706 is t of one degree of freedom.
        let rare = Estimate::new(1.0, (0.0, 1.0 + 12.706_204_736), CONFIDENCE, 20.0, String::new()).with_degrees(1.0);
        let found = Spread::of(&rare).unwrap();
        assert!((found.error - 1.0).abs() < 1e-9 && found.degrees == 1.0, "{found:?}");
    }

    #[test]
    fn equal_loads_are_merged_as_independent_measurements() {
        let samples = [measured(8.0, 100.0, 3.0), measured(8.0, 110.0, 4.0), measured(4.0, 60.0, 1.0)];
        let [four, eight] = &merged(&by_load(&samples))[..] else { panic!("two loads") };
        assert_eq!((four, eight.load, eight.throughput.value), (&samples[2], 8.0, 105.0));
        // Errors of 3 and 4 units of t of 4 degrees, of which Welch makes 25² / (9² / 4 + 16² / 4).
        let Spread { error, degrees } = Spread::absolute(&eight.throughput).unwrap();
        let expected = (2.5 / 2.776_445_105, 2_500.0 / 337.0);
        assert!((error - expected.0).abs() < 1e-9 && (degrees - expected.1).abs() < 1e-9, "{error} {degrees}");
        let twins = [measured(1.0, 100.0, 3.0), measured(4.0, 300.0, 9.0), measured(4.0, 320.0, 9.0)];
        let [delta] = &deltas(&twins)[..] else { panic!("one delta") };
        assert!((delta.change.value - 2.1).abs() < 1e-12, "{delta:?}");
    }

    #[test]
    fn deltas_are_against_the_smallest_load() {
        let found = deltas(&[measured(4.0, 300.0, 9.0), measured(1.0, 100.0, 3.0), measured(2.0, 150.0, 0.0)]);
        assert_eq!(found.iter().map(|delta| delta.load).collect::<Vec<_>>(), [2.0, 4.0]);
        assert_eq!((found[0].change.value, found[1].change.value), (0.5, 2.0));
        // Only the base is uncertain: its own t interval, on the scale of logarithms.
        let (low, high) = found[0].change.interval().unwrap();
        assert!((low - (1.5 * (-0.03_f64).exp() - 1.0)).abs() < 1e-9, "{low}");
        assert!((high - (1.5 * 0.03_f64.exp() - 1.0)).abs() < 1e-9, "{high}");
        let silent = deltas(&[measured(1.0, 0.0, 0.0), measured(2.0, 150.0, 0.0), measured(4.0, 0.0, 0.0)]);
        assert!(silent.is_empty() && deltas(&[]).is_empty() && deltas(&[measured(1.0, 100.0, 3.0)]).is_empty());
    }

    #[test]
    fn a_delta_without_both_intervals_says_which_loads_need_them() {
        let mut samples = [measured(1.0, 100.0, 3.0), measured(2.0, 150.0, 3.0)];
        samples[1].throughput.low = None;
        let [delta] = &deltas(&samples)[..] else { panic!("one delta") };
        let expected = "loads 1 and 2 both need intervals: measure 10 s or longer, or several rounds";
        assert_eq!(delta.change.missing.as_deref(), Some(expected));
    }
}
