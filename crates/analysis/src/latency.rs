//! How long the transactions of a trial took: percentiles, and second by second.

use plimsoll_record::RecordError;
use plimsoll_record::read::TrialView;
use plimsoll_report::subject::Latency;
use plimsoll_stats::latency::new_histogram;
use std::collections::BTreeMap;
use std::ops::Range;

/// Percentiles in each tenfold of rarity: 90 %, 92.1 % … 99 %.
const PER_DECADE: i32 = 10;
/// Rows of the heat map in each doubling of the latency.
const PER_OCTAVE: f64 = 2.0;
/// The shortest latency that a histogram tells, nanoseconds.
const SHORTEST_NS: f64 = 1_000.0;
const MS_PER_NS: f64 = 1e-6;
const SECOND_NS: u64 = 1_000_000_000;
/// Shares that are read off everywhere, to be told exactly beside the steps between them.
const NAMED: [f64; 8] = [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999];
/// Shares nearer to each other than this part of what lies beyond them are one.
const ALIKE: f64 = 1e-6;

/// Columns of a heat map: a window of more seconds has several in each.
const MOST_COLUMNS: u64 = 960;

/// Latencies of all transactions of `window` (nanoseconds since the trial's start), which is read in one pass; response
/// times if they had a due time. None without any.
///
/// # Errors
/// If the histograms cannot be read.
pub fn latency(trial: &TrialView, window: Range<u64>, open_loop: bool) -> Result<Option<Latency>, RecordError> {
    let which = if open_loop { ".response" } else { ".service" };
    let last_second = second(window.end, &window).max(1) - 1;
    let width = (last_second + 1).div_ceil(MOST_COLUMNS);
    let mut whole = new_histogram();
    let mut columns: BTreeMap<u64, BTreeMap<u32, u64>> = BTreeMap::new();
    trial.each_latency(
        window.clone(),
        |tag| tag.starts_with("txn.") && tag.ends_with(which),
        |_, start_ns, values| {
            // What begins in the last half of a second belongs to the second that ends there.
            let rows = columns.entry(second(start_ns, &window).min(last_second) / width).or_default();
            for (ns, count) in values.iter() {
                whole.saturating_record_n(ns, count);
                let row = rows.entry(row(ns)).or_default();
                *row = row.saturating_add(count);
            }
            Ok(())
        },
    )?;
    let used = columns.values().flat_map(BTreeMap::keys);
    let Some((lowest, highest)) = used.clone().min().copied().zip(used.max().copied()) else { return Ok(None) };
    let count = |column: u64, row: u32| columns.get(&column).and_then(|rows| rows.get(&row)).copied().unwrap_or(0);
    let counts = |column: u64| (lowest..=highest).map(|row| count(column, row)).collect();
    Ok(Some(Latency {
        percentiles: percentiles(&whole),
        bins_ms: (lowest..=highest).map(upper_end_ms).collect(),
        columns: (0..=last_second / width).map(counts).collect(),
        width: width as usize,
        seconds: last_second as usize + 1,
    }))
}

/// Which second of the window begins nearest to a time; intervals end close to a full second, not on it.
fn second(t_ns: u64, window: &Range<u64>) -> u64 {
    (t_ns.saturating_sub(window.start) + SECOND_NS / 2) / SECOND_NS
}

/// The row of the heat map that a latency belongs to.
fn row(ns: u64) -> u32 {
    (PER_OCTAVE * (ns as f64 / SHORTEST_NS).max(1.0).log2()).ceil() as u32
}

fn upper_end_ms(row: u32) -> f64 {
    SHORTEST_NS * MS_PER_NS * (f64::from(row) / PER_OCTAVE).exp2()
}

/// As far as the values tell: the rarest of n is one in n. [`NAMED`] shares are there exactly.
fn percentiles(values: &hdrhistogram::Histogram<u64>) -> Vec<(f64, f64)> {
    let is_told = |share: &f64| (1.0 - share) * values.len() as f64 >= 1.0 - ALIKE;
    let step = |step: i32| 1.0 - 10f64.powf(-f64::from(step) / f64::from(PER_DECADE));
    let is_named = |share: &f64| NAMED.iter().any(|named| (named - share).abs() < ALIKE * (1.0 - named));
    let steps = (0..).map(step).take_while(is_told).filter(|share| !is_named(share));
    let mut shares: Vec<f64> = steps.chain(NAMED.into_iter().filter(is_told)).chain([1.0]).collect();
    shares.sort_by(f64::total_cmp);
    let at = |share: f64| (share, values.value_at_quantile(share).min(values.max()) as f64 * MS_PER_NS);
    shares.into_iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_lies_below_the_end_of_its_row_and_above_that_of_the_row_before() {
        for ns in [1_001, 5_000, 123_456, 1_000_000, 987_654_321, 3_600_000_000_000] {
            let ms = ns as f64 * MS_PER_NS;
            let row = row(ns);
            assert!(upper_end_ms(row) >= ms * (1.0 - 1e-9) && upper_end_ms(row - 1) < ms, "{ns}");
        }
        assert_eq!(row(1), 0);
    }

    #[test]
    fn percentiles_rise_as_far_as_the_values_tell() {
        let mut values = new_histogram();
        (1..=1000u64).for_each(|ms| values.record(ms * 1_000_000).unwrap());
        let told = percentiles(&values);
        assert_eq!(told.len(), 35, "one in 1000, ten for each tenfold, three named between them, the longest of all");
        assert!(told.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{told:?}");
        for named in &NAMED[..6] {
            let (_, ms) = told.iter().find(|(share, _)| share == named).expect("exactly this share");
            assert!((ms / (1000.0 * named) - 1.0).abs() < 1e-3, "{named}: {ms}");
        }
        assert_eq!(told.last().unwrap().0, 1.0);
    }

    #[test]
    fn seconds_are_counted_from_the_window_whatever_is_missing() {
        let window = 10_000_300_000..22_000_100_000;
        let starts = [10_000_300_000, 11_000_200_000, 15_000_000_000, 20_999_900_000];
        assert_eq!(starts.map(|t_ns| second(t_ns, &window)), [0, 1, 5, 11]);
        assert_eq!(second(window.end, &window), 12);
    }
}
