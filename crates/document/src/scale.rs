//! From values to places on paper, and where the ticks go.

/// No axis has room for more; it also ends the search when numbers are too large to count in steps.
const MOST_TICKS: usize = 50;

/// Maps values to positions, linearly or by their logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    logarithmic: bool,
    domain: (f64, f64),
    range: (f64, f64),
}

impl Scale {
    /// From 0 to a round number at or above `highest`, in about `steps` steps.
    pub fn from_zero(highest: f64, range: (f64, f64), steps: usize) -> Scale {
        // Zero, infinity and what is not a number are drawn as nothing.
        let highest = if (1e-12..1e18).contains(&highest) { highest } else { 1.0 };
        let step = nice_step(highest, steps);
        Scale { logarithmic: false, domain: (0.0, step * (highest / step - 1e-9).ceil().max(1.0)), range }
    }

    /// Linear with exactly this domain.
    pub fn linear(domain: (f64, f64), range: (f64, f64)) -> Scale {
        let end = if domain.1 > domain.0 { domain.1 } else { domain.0 + 1.0 };
        Scale { logarithmic: false, domain: (domain.0, end), range }
    }

    /// Logarithmic with exactly this domain, which is widened if it is empty.
    pub fn logarithmic(domain: (f64, f64), range: (f64, f64)) -> Scale {
        let low = domain.0.max(f64::MIN_POSITIVE);
        let domain = if domain.1 > low * 1.0001 { (low, domain.1) } else { (low / 2.0, low * 2.0) };
        Scale { logarithmic: true, domain, range }
    }

    /// Logarithmic from a round number (1, 2 or 5 times a power of ten) below to one above.
    pub fn logarithmic_round(domain: (f64, f64), range: (f64, f64)) -> Scale {
        let low = round_numbers(domain.0 / 10.0, domain.0 * 1.0001).pop().unwrap_or(domain.0);
        let high = round_numbers(domain.1 * 0.9999, domain.1 * 10.0).first().copied().unwrap_or(domain.1);
        Scale::logarithmic((low, high), range)
    }

    pub fn is_logarithmic(&self) -> bool {
        self.logarithmic
    }

    /// The position of a value; outside the domain it lies outside the range.
    pub fn at(&self, value: f64) -> f64 {
        let place = |v: f64| if self.logarithmic { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let (low, high) = (place(self.domain.0), place(self.domain.1));
        self.range.0 + (place(value) - low) / (high - low) * (self.range.1 - self.range.0)
    }

    /// Round values inside the domain, about `count` of them.
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        let (low, high) = self.domain;
        if !self.logarithmic {
            let step = nice_step(high - low, count);
            let first = (low / step - 1e-9).ceil() as i64;
            return (first..)
                .map(|n| n as f64 * step)
                .take_while(|v| *v <= high * (1.0 + 1e-9))
                .take(MOST_TICKS)
                .collect();
        }
        let all = round_numbers(low * 0.9999, high * 1.0001);
        if all.len() <= count + 2 {
            return all;
        }
        let decades: Vec<f64> = all.iter().copied().filter(|v| (v.log10() - v.log10().round()).abs() < 1e-9).collect();
        if decades.len() >= 2 { decades } else { all }
    }
}

/// The largest of 1, 2, 5 × 10ⁿ that divides `span` into at least about `steps` steps.
fn nice_step(span: f64, steps: usize) -> f64 {
    if !(1e-12..1e18).contains(&span) {
        return 1.0;
    }
    let rough = span / steps.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    match rough / power {
        r if r < 1.5 => power,
        r if r < 3.5 => 2.0 * power,
        r if r < 7.5 => 5.0 * power,
        _ => 10.0 * power,
    }
}

/// 1, 2 and 5 times powers of ten in `low..=high`.
fn round_numbers(low: f64, high: f64) -> Vec<f64> {
    if low.is_nan() || low <= 0.0 || !high.is_finite() {
        return Vec::new();
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    (first..=last)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|m| format!("{m}e{power}").parse().unwrap_or(m)))
        .filter(|v: &f64| (low..=high).contains(v))
        .collect()
}

/// Moves apart labels that would overlap: `wanted` positions, at least `gap` from each other, inside `range` as
/// far as they fit. Keeps their order.
pub fn spread(wanted: &[f64], gap: f64, range: (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut placed = wanted.to_vec();
    for pair in order.windows(2) {
        placed[pair[1]] = placed[pair[1]].max(placed[pair[0]] + gap);
    }
    let mut ceiling = range.1;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(ceiling);
        ceiling = placed[at] - gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_from_zero_ends_on_a_round_number() {
        let scale = Scale::from_zero(1234.0, (100.0, 0.0), 5);
        assert_eq!(scale.ticks(5), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 1200.0, 1400.0]);
        assert_eq!((scale.at(0.0), scale.at(1400.0)), (100.0, 0.0));
        assert_eq!(Scale::from_zero(1000.0, (0.0, 1.0), 5).ticks(5).last(), Some(&1000.0));
    }

    #[test]
    fn nothing_and_nonsense_still_make_a_scale() {
        for highest in [0.0, f64::NAN, f64::INFINITY, -1.0, 1e300, 1e-300] {
            let scale = Scale::from_zero(highest, (0.0, 1.0), 5);
            assert_eq!((scale.at(0.0), scale.at(1.0)), (0.0, 1.0), "{highest}");
            assert!(scale.ticks(5).len() < 10);
        }
        assert!((Scale::logarithmic((8.0, 8.0), (0.0, 100.0)).at(8.0) - 50.0).abs() < 1e-9);
        assert!(Scale::logarithmic((0.0, 0.0), (0.0, 100.0)).at(0.0).is_finite());
    }

    #[test]
    fn doublings_are_equally_far_apart_on_a_logarithmic_scale() {
        let scale = Scale::logarithmic((1.0, 64.0), (0.0, 600.0));
        for (n, load) in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].into_iter().enumerate() {
            assert!((scale.at(load) - 100.0 * n as f64).abs() < 1e-9);
        }
    }

    #[test]
    fn logarithmic_ticks_are_one_two_five() {
        let scale = Scale::logarithmic_round((0.7, 23.0), (0.0, 1.0));
        assert_eq!(scale.ticks(6), [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        assert_eq!(Scale::logarithmic_round((0.07, 2300.0), (0.0, 1.0)).ticks(6), [0.1, 1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn labels_move_apart_and_stay_inside() {
        assert_eq!(spread(&[10.0, 12.0, 50.0], 10.0, (0.0, 100.0)), [10.0, 20.0, 50.0]);
        assert_eq!(spread(&[99.0, 98.0], 10.0, (0.0, 100.0)), [100.0, 90.0]);
    }
}
