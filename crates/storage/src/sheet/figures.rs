//! Formats the sheet's numbers: three digits are enough for a decision.

use plimsoll_model::io::{Probe, SHORTEST_US};

/// Operations per second; 0 if there were none, or no number.
pub fn iops(probe: &Probe) -> f64 {
    probe.iops.filter(|iops| iops.is_finite()).unwrap_or(0.0)
}

/// Three significant digits, thousands apart: `21,600`, `438`, `4.38`; a small whole number as it is.
pub fn short(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return "0".to_owned();
    }
    let unit = 10f64.powf(value.abs().log10().floor() - 2.0);
    if value.fract() == 0.0 && value.abs() < 1000.0 {
        return format!("{value}");
    }
    // Rounding may bring one more digit: 999.6 is 1,000.
    let rounded = (value / unit).round() * unit;
    let decimals = (2.0 - rounded.abs().log10().floor() - 1e-9).ceil().clamp(0.0, 6.0) as usize;
    let plain = format!("{rounded:.decimals$}");
    match plain.split_once('.') {
        Some((whole, fraction)) => format!("{}.{fraction}", grouped(whole)),
        None => grouped(&plain),
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A latency: `≤ 1 µs`, `46.1 µs`, `4.99 ms`, `1.20 s`.
pub fn time(us: f64) -> String {
    match us {
        us if us <= SHORTEST_US => "≤ 1 µs".to_owned(),
        us if us < 999.5 => format!("{} µs", short(us)),
        us if us < 999_500.0 => format!("{} ms", short(us / 1e3)),
        us => format!("{} s", short(us / 1e6)),
    }
}

/// `512 bytes`, `64 MiB`.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] =
        [(1099511627776.0, "TiB"), (1073741824.0, "GiB"), (1048576.0, "MiB"), (1024.0, "KiB")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{} {unit}", short(bytes / size)),
        None => format!("{} bytes", short(bytes)),
    }
}

/// A share as percent: `31 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// `2.40 times`, for a ratio.
pub fn times(ratio: f64) -> String {
    format!("{} times", if ratio >= 10.0 { format!("{ratio:.0}") } else { format!("{ratio:.1}") })
}

/// A probe's rate per second, with half of its 95 % interval if it has one: `21,600 ± 700`.
pub fn rate(probe: &Probe) -> String {
    let half = probe.estimates.get("iops").and_then(|estimate| estimate.half_width());
    match half.filter(|half| *half > 0.0) {
        Some(half) => format!("{} ± {}", short(iops(probe)), two_digits(half)),
        None => short(iops(probe)),
    }
}

fn two_digits(value: f64) -> String {
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    short((value / unit).round() * unit)
}

/// `1 session`, `8 sessions`.
pub fn counted(count: f64, what: &str) -> String {
    format!("{} {what}{}", short(count), if count == 1.0 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_their_unit() {
        let shown = [0.0, 0.0456, 4.378, 9.996, 46.12, 99.96, 438.4, 999.6, 21_637.0, 1_234_567.0].map(short);
        assert_eq!(shown, ["0", "0.0456", "4.38", "10.0", "46.1", "100", "438", "1,000", "21,600", "1,230,000"]);
        assert_eq!(
            [1.0, 1.5, 46.12, 999.4, 999.7, 4_990.0, 1_200_000.0].map(time),
            ["≤ 1 µs", "1.50 µs", "46.1 µs", "999 µs", "1.00 ms", "4.99 ms", "1.20 s"]
        );
        assert_eq!([512.0, 65_536.0, 1_610_612_736.0].map(bytes), ["512 bytes", "64 KiB", "1.50 GiB"]);
        assert_eq!([counted(1.0, "session"), counted(64.0, "session")], ["1 session", "64 sessions"]);
        assert_eq!(
            (short(f64::NAN), percent(0.314), times(2.4), times(12.3)),
            ("0".into(), "31 %".into(), "2.4 times".into(), "12 times".into())
        );
    }
}
