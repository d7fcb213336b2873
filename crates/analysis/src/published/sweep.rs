//! What all load points of a variant tell together: where throughput peaks, and what is lost beyond.

use plimsoll_model::Estimate;
use plimsoll_plan::lab::Printed;
use plimsoll_report::subject::Trial;
use plimsoll_schedule::quantity::over_rounds;

/// With so much of the peak a sweep is said to have reached it.
const NEAR_PEAK: f64 = 0.95;
const LOSS: &str = "loss_after_peak_percent";

/// Whether a metric is one of sweeps.
pub(super) fn is_of(metric: &str) -> bool {
    matches!(metric, "peak" | "peak_connections" | "knee_connections" | LOSS)
}

/// The mean over rounds of a metric of the sweep that each of them made. What is lost is a change, and negative: up to
/// the connections that the number speaks of, else to the most that there are.
///
/// # Errors
/// Why there is none.
pub(super) fn measured(printed: &Printed, trials: &[&Trial]) -> Result<Estimate, String> {
    let sweeps: Vec<Sweep> = Sweep::by_round(trials).into_iter().filter(|sweep| sweep.0.len() > 1).collect();
    let values: Vec<f64> = sweeps.iter().filter_map(|sweep| sweep.value(printed)).collect();
    let mean = over_rounds(&values).ok_or("it takes a sweep over several numbers of connections")?;
    Ok(if printed.metric == LOSS { as_change(mean) } else { mean })
}

/// Connections with the transactions per second that they reached, fewest connections first.
struct Sweep(Vec<(f64, f64)>);

impl Sweep {
    fn by_round(trials: &[&Trial]) -> Vec<Sweep> {
        let mut rounds: Vec<u32> = trials.iter().map(|trial| trial.round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        let sweep = |round: u32| {
            let of_round = trials.iter().filter(|trial| trial.round == round);
            let place =
                |trial: &&Trial| Some((trial.load.connections as f64, trial.point.as_ref()?.transactions_per_second?));
            let mut places: Vec<(f64, f64)> = of_round.filter_map(place).collect();
            places.sort_by(|a, b| a.0.total_cmp(&b.0));
            Sweep(places)
        };
        rounds.into_iter().map(sweep).collect()
    }

    fn value(&self, printed: &Printed) -> Option<f64> {
        let (peak_connections, peak) = self.0.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
        match printed.metric.as_str() {
            "peak" => Some(peak),
            "peak_connections" => Some(peak_connections),
            "knee_connections" => self.reaches(NEAR_PEAK * peak),
            LOSS => {
                let end = |of: &&(f64, f64)| printed.connections.is_none_or(|asked| of.0 == asked as f64);
                Some(self.0.iter().rfind(end)?.1 / peak)
            }
            _ => None,
        }
    }

    /// The connections with which so many transactions per second are reached first, on straight lines between points.
    fn reaches(&self, wanted: f64) -> Option<f64> {
        let at = self.0.iter().position(|(_, reached)| *reached >= wanted)?;
        let (connections, reached) = self.0[at];
        let Some((before, less)) = at.checked_sub(1).map(|before| self.0[before]) else { return Some(connections) };
        Some(before + (connections - before) * (wanted - less) / (reached - less))
    }
}

/// A ratio as percent of change.
fn as_change(ratio: Estimate) -> Estimate {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    Estimate { value: percent(ratio.value), low: ratio.low.map(percent), high: ratio.high.map(percent), ..ratio }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3-2 of the Sun BluePrint 820-4498, "Optimizing MySQL Server on Sun x64 Servers and Storage", 2008.
    const READ_ONLY: [(f64, f64); 8] = [
        (2.0, 104.73),
        (4.0, 251.33),
        (8.0, 451.56),
        (16.0, 555.64),
        (32.0, 577.96),
        (64.0, 563.84),
        (128.0, 558.66),
        (256.0, 519.96),
    ];

    fn of(metric: &str, connections: Option<usize>) -> Option<f64> {
        let printed = Printed { metric: metric.to_owned(), connections, ..Printed::default() };
        Sweep(READ_ONLY.to_vec()).value(&printed)
    }

    #[test]
    fn a_sweep_has_a_peak_a_knee_and_what_is_lost_beyond() {
        assert_eq!((of("peak", None), of("peak_connections", None)), (Some(577.96), Some(32.0)));
        assert_eq!(of("knee_connections", None).map(f64::round), Some(15.0));
        let lost = |connections| of(LOSS, connections).map(|ratio| (1000.0 * (ratio - 1.0)).round() / 10.0);
        assert_eq!((lost(None), lost(Some(128)), lost(Some(512))), (Some(-10.0), Some(-3.3), None));
        assert_eq!(of("nopm", None), None);
    }

    #[test]
    fn a_sweep_that_begins_at_its_peak_has_its_knee_there() {
        let falling = Sweep(vec![(8.0, 100.0), (16.0, 90.0)]);
        assert_eq!(falling.reaches(95.0), Some(8.0));
    }
}
