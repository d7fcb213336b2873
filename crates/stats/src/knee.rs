//! The knee of a sweep: the load from which more load brings hardly more throughput.

/// Share of the highest throughput that counts as having reached it.
pub const REACHED: f64 = 0.95;

/// Where a sweep's throughput stops growing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// Smallest load that reaches [`REACHED`] of the peak; between two points it is interpolated.
    pub connections: f64,
    /// Throughput there, in the unit of the points.
    pub throughput: f64,
    pub peak_connections: f64,
    /// The highest throughput that was observed at a point.
    pub peak_throughput: f64,
    /// True if the sweep does not enclose the knee: already its first point reaches it, or its last one is the
    /// highest and more load might give more.
    pub open_ended: bool,
}

/// The knee of `points`, pairs of connections and throughput in any order. Between points throughput is taken as
/// linear over log2(connections), since sweeps double. `None` with fewer than three usable points.
pub fn knee(points: &[(f64, f64)]) -> Option<Knee> {
    let mut points: Vec<(f64, f64)> =
        points.iter().copied().filter(|&(load, rate)| load > 0.0 && load.is_finite() && rate.is_finite()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if points.len() < 3 {
        return None;
    }
    let peak_throughput = points.iter().map(|&(_, rate)| rate).fold(f64::MIN, f64::max);
    if peak_throughput <= 0.0 {
        return None;
    }
    let peak = points.iter().position(|&(_, rate)| rate == peak_throughput)?;
    let wanted = REACHED * peak_throughput;
    let at = points.iter().position(|&(_, rate)| rate >= wanted)?;
    let (connections, throughput) = match at.checked_sub(1) {
        None => points[0],
        Some(before) => (crossing(points[before], points[at], wanted), wanted),
    };
    Some(Knee {
        connections,
        throughput,
        peak_connections: points[peak].0,
        peak_throughput,
        open_ended: at == 0 || peak == points.len() - 1,
    })
}

/// The load between two points at which the line between them, drawn over log2(load), reaches `wanted`.
fn crossing((low, below): (f64, f64), (high, above): (f64, f64), wanted: f64) -> f64 {
    let share = (wanted - below) / (above - below);
    (low.log2() + share * (high.log2() - low.log2())).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} where {expected} belongs");
    }

    #[test]
    fn the_knee_is_interpolated_over_the_logarithm_of_the_load() {
        // 950 lies three quarters of the way from 800 to 1000, so at 2^(2 + 0.75) connections.
        let found = knee(&[(1.0, 300.0), (2.0, 550.0), (4.0, 800.0), (8.0, 1000.0), (16.0, 990.0)]).unwrap();
        near(found.connections, 6.727171322029716);
        near(found.throughput, 950.0);
        assert_eq!((found.peak_connections, found.peak_throughput), (8.0, 1000.0));
        assert!(!found.open_ended);
    }

    #[test]
    fn a_point_exactly_at_the_threshold_is_the_knee() {
        let found = knee(&[(1.0, 500.0), (2.0, 950.0), (4.0, 1000.0), (8.0, 900.0)]).unwrap();
        near(found.connections, 2.0);
        assert!(!found.open_ended);
    }

    #[test]
    fn order_of_the_points_does_not_matter() {
        let sorted = [(1.0, 100.0), (2.0, 180.0), (4.0, 200.0), (8.0, 150.0)];
        let mut turned = sorted;
        turned.reverse();
        assert_eq!(knee(&sorted), knee(&turned));
    }

    #[test]
    fn a_sweep_that_does_not_enclose_its_knee_is_open_ended() {
        let growing = knee(&[(1.0, 100.0), (2.0, 200.0), (4.0, 400.0)]).unwrap();
        assert!(growing.open_ended);
        near(growing.connections, 3.732131966147648);
        let flat = knee(&[(1.0, 100.0), (2.0, 101.0), (4.0, 99.0)]).unwrap();
        assert!(flat.open_ended);
        assert_eq!((flat.connections, flat.throughput, flat.peak_connections), (1.0, 100.0, 2.0));
    }

    #[test]
    fn too_little_or_nothing_has_no_knee() {
        assert_eq!(knee(&[(1.0, 100.0), (2.0, 200.0)]), None);
        assert_eq!(knee(&[(1.0, 0.0), (2.0, 0.0), (4.0, 0.0)]), None);
        assert_eq!(knee(&[(1.0, 100.0), (2.0, f64::NAN), (0.0, 1.0), (4.0, 120.0)]), None);
    }
}
