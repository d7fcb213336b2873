//! Formats the sheet's numbers: three digits are enough for a decision.

use plimsoll_model::ProbeMetric;
use plimsoll_model::io::{Probe, SHORTEST_US};
use plimsoll_model::number::three_digits;

/// Operations per second; 0 if there were none, or no number.
pub fn iops(probe: &Probe) -> f64 {
    probe.iops.filter(|iops| iops.is_finite()).unwrap_or(0.0)
}

/// A latency: `≤ 1 µs`, `46.1 µs`, `4.99 ms`, `1.20 s`.
pub fn time(us: f64) -> String {
    match us {
        us if us <= SHORTEST_US => "≤ 1 µs".to_owned(),
        us if us < 999.5 => format!("{} µs", three_digits(us)),
        us if us < 999_500.0 => format!("{} ms", three_digits(us / 1e3)),
        us => format!("{} s", three_digits(us / 1e6)),
    }
}

/// `512 bytes`, `64 MiB`.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(1099511627776.0, "TiB"), (1073741824.0, "GiB"), (1048576.0, "MiB"), (1024.0, "KiB")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{} {unit}", three_digits(bytes / size)),
        None => format!("{} bytes", three_digits(bytes)),
    }
}

/// `2.40 times`, for a ratio.
pub fn times(ratio: f64) -> String {
    format!("{} times", if ratio >= 10.0 { format!("{ratio:.0}") } else { format!("{ratio:.1}") })
}

/// A probe's rate per second, with half of its 95 % interval if it has one: `21,600 ± 700`.
pub fn rate(probe: &Probe) -> String {
    let half = ProbeMetric::Iops.estimate(probe).and_then(|estimate| estimate.half_width());
    match half.filter(|half| *half > 0.0) {
        Some(half) => format!("{} ± {}", three_digits(iops(probe)), two_digits(half)),
        None => three_digits(iops(probe)),
    }
}

fn two_digits(value: f64) -> String {
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    three_digits((value / unit).round() * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_their_unit() {
        let shown = [0.0, 0.0456, 4.378, 9.996, 46.12, 99.96, 438.4, 999.6, 21_637.0, 1_234_567.0].map(three_digits);
        assert_eq!(shown, ["0", "0.0456", "4.38", "10.0", "46.1", "100", "438", "1,000", "21,600", "1,230,000"]);
        assert_eq!(
            [1.0, 1.5, 46.12, 999.4, 999.7, 4_990.0, 1_200_000.0].map(time),
            ["≤ 1 µs", "1.50 µs", "46.1 µs", "999 µs", "1.00 ms", "4.99 ms", "1.20 s"]
        );
        assert_eq!([512.0, 65_536.0, 1_610_612_736.0].map(bytes), ["512 bytes", "64 KiB", "1.50 GiB"]);
        assert_eq!(
            (three_digits(f64::NAN), times(2.4), times(12.3)),
            ("0".into(), "2.4 times".into(), "12 times".into())
        );
    }
}
