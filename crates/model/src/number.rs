//! Numbers as people read them. Units are converted here and nowhere else.

/// What stands where there was no sample.
pub const NOTHING: &str = "–";

/// `1234567.25` with one decimal is `1,234,567.3`.
pub fn number(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    let plain = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = plain.split_once('.').map_or((plain.as_str(), None), |(w, f)| (w, Some(f)));
    let mut grouped = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let negative = value < 0.0 && plain.bytes().any(|b| matches!(b, b'1'..=b'9'));
    let sign = if negative { "−" } else { "" };
    match fraction {
        Some(fraction) => format!("{sign}{grouped}.{fraction}"),
        None => format!("{sign}{grouped}"),
    }
}

/// A number with the decimals that it has, six at most: a tick of an axis, a rate that was asked for.
pub fn tick(value: f64) -> String {
    let text = number(value, 6);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// `1 connection`, `8 connections`.
pub fn counted(count: f64, singular: &str) -> String {
    let shown = number(count, 0);
    if shown == "1" { format!("{shown} {singular}") } else { format!("{shown} {singular}s") }
}

/// The number that [`number`] has written.
pub fn parsed(text: &str) -> Option<f64> {
    let plain: String = text.chars().filter(|c| *c != ',').map(|c| if c == '−' { '-' } else { c }).collect();
    let is_plain = plain.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if is_plain { plain.parse().ok() } else { None }
}

/// A number as people type it, also in thousands or millions: `20k`, `1.5M`.
pub fn thousands(text: &str) -> Option<f64> {
    let (number, factor) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |number| (number, 1e6)),
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// About three significant digits, never fewer than all whole ones: `0.612`, `2.13`, `21.3`, `213`, `2,130`.
pub fn short(value: f64) -> String {
    number(value, decimals_for(value))
}

/// The decimals of [`short`].
pub fn decimals_for(value: f64) -> usize {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    }
}

/// The decimals that show two significant digits of any number however small, but at most ten: `0.00031`.
pub fn fine_decimals(value: f64) -> usize {
    match value.abs() {
        v if v.is_normal() => (1.0 - v.log10().floor()).clamp(0.0, 10.0) as usize,
        _ => 2,
    }
}

/// `1,740 – 1,832`; `−75 to 133`, where a dash would be taken for a minus.
pub fn range(low: f64, high: f64, decimals: usize) -> String {
    let dash = if low.min(high) < 0.0 { "to" } else { "–" };
    format!("{} {dash} {}", number(low, decimals), number(high, decimals))
}

/// An interval in as little room as possible: `± 34`; `31.2–41.0` or [`range`] if one half is longer by a tenth or
/// more; `≥ 31.2` or `≤ 41.0` with one end alone; `None` without any. It has the decimals of [`interval_decimals`].
pub fn interval(value: f64, ends: (Option<f64>, Option<f64>), decimals: usize) -> Option<String> {
    let decimals = interval_decimals(value, ends, decimals);
    let shown = |end| number(end, decimals);
    Some(match ends {
        (Some(low), Some(high)) => {
            let (below, above) = (value - low, high - value);
            match (below - above).abs() > 0.1 * below.max(above) {
                true if low < 0.0 => range(low, high, decimals),
                true => format!("{}–{}", shown(low), shown(high)),
                false => format!("± {}", shown(below.max(above))),
            }
        }
        (Some(low), None) => format!("≥ {}", shown(low)),
        (None, Some(high)) => format!("≤ {}", shown(high)),
        (None, None) => return None,
    })
}

/// So many decimals or, up to three, as many more as it takes to tell the longer half of an interval from nothing.
pub fn interval_decimals(value: f64, ends: (Option<f64>, Option<f64>), decimals: usize) -> usize {
    let halves = [ends.0.map(|low| value - low), ends.1.map(|high| high - value)];
    let longest = halves.into_iter().flatten().fold(0.0, f64::max);
    let shows = |decimals: &usize| longest <= 0.0 || longest >= 0.5 * 10f64.powi(-(*decimals as i32));
    (decimals..=3).find(shows).unwrap_or(decimals.max(3))
}

/// A column of numbers with the same decimals.
pub fn column(values: &[Option<f64>], most: usize) -> Vec<String> {
    let decimals = column_decimals(values, most);
    values.iter().map(|value| value.map_or(NOTHING.to_owned(), |v| number(v, decimals))).collect()
}

/// As many decimals as the smallest value of a column needs but at most `most`.
pub fn column_decimals(values: &[Option<f64>], most: usize) -> usize {
    let smallest = values.iter().flatten().copied().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
    let needed = match smallest {
        v if v < 0.1 => 3,
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    needed.min(most)
}

/// A share from 0 to 1 as percent, without its unit.
pub fn in_percent(share: f64) -> String {
    number(100.0 * share, percent_decimals(100.0 * share))
}

/// The decimals of so many percent.
pub fn percent_decimals(percent: f64) -> usize {
    usize::from(percent > 0.0 && percent < 9.95)
}

/// How long something takes or has taken: `0.5 s`, `45 s`, `12 min`, `12 min 5 s`, `3 h 20 min`.
pub fn duration(seconds: f64) -> String {
    if (0.05..0.95).contains(&seconds) {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// `−15.2 %`, `+3.1 %`.
pub fn signed_percent(share: f64) -> String {
    format!("{} %", signed(share, share_decimals(share)))
}

/// `+1.0 % to +5.2 %`.
pub fn signed_range(ends: (f64, f64)) -> String {
    format!("{} to {}", signed_percent(ends.0), signed_percent(ends.1))
}

/// `+3.1`, of a share.
pub fn signed(share: f64, decimals: usize) -> String {
    let plus = if share > 0.0 { "+" } else { "" };
    format!("{plus}{}", number(100.0 * share, decimals))
}

/// Decimals of a share in percent.
pub fn share_decimals(share: f64) -> usize {
    usize::from(share.abs() < 0.9995)
}

/// `15.2 %`, `138 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", number(100.0 * share, share_decimals(share)))
}

/// `31 %`: as exact as a sentence needs it.
pub fn whole_percent(share: f64) -> String {
    format!("{} %", number(100.0 * share, 0))
}

/// `14 %`, `0.3 %`: the upper end of a share, never less than it is.
pub fn at_most(share: f64) -> String {
    bound(share, share, f64::ceil)
}

/// `86 %`, `99.51 %`: the lower end of a share, never more than it is.
pub fn at_least(share: f64) -> String {
    bound(share, 1.0 - share, f64::floor)
}

/// With two decimals where less than a percent is left to the `edge`.
fn bound(share: f64, edge: f64, round: fn(f64) -> f64) -> String {
    let decimals = if edge < 0.01 { 2 } else { 0 };
    let unit = 10f64.powi(decimals);
    // What is whole but for the last bits is whole.
    let percent = 100.0 * share * unit;
    let whole = if (percent - percent.round()).abs() < 1e-6 { percent.round() } else { round(percent) };
    format!("{} %", tick(whole / unit))
}

/// `64 KiB`, `1 GiB`, `98.5 MiB`: bytes in the largest unit that they fill.
pub fn binary_size(bytes: f64) -> String {
    const UNITS: [(f64, &str); 4] = [
        (1024.0 * 1024.0 * 1024.0 * 1024.0, "TiB"),
        (1024.0 * 1024.0 * 1024.0, "GiB"),
        (1024.0 * 1024.0, "MiB"),
        (1024.0, "KiB"),
    ];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit).unwrap_or((1.0, "B"));
    format!("{} {name}", tick((10.0 * bytes / unit).round() / 10.0))
}

/// Three significant digits, whole ones too: `21,600`, `438`, `4.38`; a small whole number as it is.
pub fn three_digits(value: f64) -> String {
    if !value.is_finite() || value == 0.0 {
        return "0".to_owned();
    }
    let unit = 10f64.powf(value.abs().log10().floor() - 2.0);
    if value.fract() == 0.0 && value.abs() < 1000.0 {
        return number(value, 0);
    }
    // Rounding may bring one more digit: 999.6 is 1,000.
    let rounded = (value / unit).round() * unit;
    number(rounded, (2.0 - rounded.abs().log10().floor() - 1e-9).ceil().clamp(0.0, 6.0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(number(0.0, 0), "0");
        assert_eq!(number(999.96, 1), "1,000.0");
        assert_eq!(number(1234567.25, 0), "1,234,567");
        assert_eq!(number(-1234.5, 1), "−1,234.5");
        assert_eq!(number(-0.001, 1), "0.0");
        assert_eq!(number(f64::NAN, 1), "–");
    }

    #[test]
    fn what_was_written_is_read_again() {
        assert_eq!(parsed(&number(-1234567.25, 2)), Some(-1234567.25));
        assert_eq!([parsed(NOTHING), parsed(""), parsed("inf"), parsed("1e3"), parsed("5 %")], [None; 5]);
    }

    #[test]
    fn bounds_are_rounded_outward() {
        assert_eq!([0.1391, 0.1129, 0.0487, 0.002_996, 1.0].map(at_most), ["14 %", "12 %", "5 %", "0.3 %", "100 %"]);
        assert_eq!([0.8609, 0.99511, 0.0].map(at_least), ["86 %", "99.51 %", "0 %"]);
        assert_eq!((at_most(0.07), at_least(0.07)), ("7 %".to_owned(), "7 %".to_owned()));
    }

    #[test]
    fn three_digits_are_enough() {
        let shown: Vec<_> = [0.0, 0.0614, 0.612, 2.134, 21.34, 213.4, 2134.0].into_iter().map(short).collect();
        assert_eq!(shown, ["0", "0.061", "0.612", "2.13", "21.3", "213", "2,134"]);
    }

    #[test]
    fn small_numbers_keep_two_digits() {
        let shown: Vec<_> =
            [0.0, 0.000312, 0.0312, 0.5, 3.12, 312.0, f64::NAN].into_iter().map(fine_decimals).collect();
        assert_eq!(shown, [2, 5, 3, 2, 1, 0, 2]);
    }

    #[test]
    fn an_interval_is_as_symmetric_as_it_is_shown() {
        let shown = |value, low, high, decimals| interval(value, (low, high), decimals).unwrap_or_default();
        assert_eq!(shown(1786.0, Some(1752.0), Some(1820.0), 0), "± 34");
        assert_eq!(shown(1786.0, Some(1753.0), Some(1820.0), 0), "± 34", "the longer half");
        assert_eq!(shown(34.4, Some(31.2), Some(41.0), 1), "31.2–41.0");
        assert_eq!(shown(318.0, Some(317.8), Some(318.2), 0), "± 0.2", "never ± 0 for what is wider");
        assert_eq!(shown(5.0, Some(5.0), Some(5.0), 2), "± 0.00");
        assert_eq!(shown(5.0, Some(-75.0), Some(133.0), 0), "−75 to 133", "a dash beside a minus is misread");
        assert_eq!(shown(5.0, Some(4.5), None, 1), "≥ 4.5");
        assert_eq!(shown(5.0, None, Some(5.5), 1), "≤ 5.5");
        assert_eq!(interval(5.0, (None, None), 1), None);
        assert_eq!(range(1740.2, 1832.4, 0), "1,740 – 1,832");
        assert_eq!(range(-4.0, -1.5, 1), "−4.0 to −1.5");
    }

    #[test]
    fn a_column_shares_its_decimals() {
        assert_eq!(column(&[Some(4.5), None, Some(213.0)], 3), ["4.50", "–", "213.00"]);
        assert_eq!(column(&[Some(412.7), Some(1234.6)], 1), ["413", "1,235"]);
        assert_eq!(column(&[None], 1), ["–"]);
    }

    #[test]
    fn durations_are_told_as_people_tell_them() {
        let told: Vec<String> =
            [0.0, 0.52, 0.97, 44.6, 119.7, 725.0, 3600.0, 12_010.0].into_iter().map(duration).collect();
        assert_eq!(told, ["0 s", "0.5 s", "1 s", "45 s", "2 min", "12 min 5 s", "1 h", "3 h 20 min"]);
    }

    #[test]
    fn units_and_shares() {
        assert_eq!(tick(0.5), "0.5");
        assert_eq!(tick(20_000.0), "20,000");
        assert_eq!((in_percent(0.043), in_percent(0.874)), ("4.3".to_owned(), "87".to_owned()));
        assert_eq!((percent(0.152), percent(1.38)), ("15.2 %".to_owned(), "138 %".to_owned()));
        assert_eq!(whole_percent(0.314), "31 %");
        assert_eq!(counted(1.0, "connection"), "1 connection");
        assert_eq!(counted(11.3, "connection"), "11 connections");
    }
}
