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

/// About three significant digits, never fewer than all whole ones: `0.612`, `2.13`, `21.3`, `213`, `2,130`.
pub fn short(value: f64) -> String {
    number(value, decimals_for(value))
}

fn decimals_for(value: f64) -> usize {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    }
}

/// A column of numbers with the same decimals, as many as its smallest value needs but at most `most`.
pub fn column(values: &[Option<f64>], most: usize) -> Vec<String> {
    let smallest = values.iter().flatten().copied().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
    let needed = match smallest {
        v if v < 0.1 => 3,
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    let decimals = needed.min(most);
    values.iter().map(|value| value.map_or(NOTHING.to_owned(), |v| number(v, decimals))).collect()
}

/// A tick of an axis: no more decimals than the number has.
pub fn tick(value: f64) -> String {
    let text = number(value, 6);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A share from 0 to 1 as percent, without the sign.
pub fn percent(share: f64) -> String {
    number(100.0 * share, if share > 0.0 && share < 0.0995 { 1 } else { 0 })
}

/// `1 connection`, `8 connections`.
pub fn counted(count: f64, singular: &str) -> String {
    let shown = number(count, 0);
    if shown == "1" { format!("{shown} {singular}") } else { format!("{shown} {singular}s") }
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
    fn three_digits_are_enough() {
        let shown: Vec<_> = [0.0, 0.0614, 0.612, 2.134, 21.34, 213.4, 2134.0].into_iter().map(short).collect();
        assert_eq!(shown, ["0", "0.061", "0.612", "2.13", "21.3", "213", "2,134"]);
    }

    #[test]
    fn a_column_shares_its_decimals() {
        assert_eq!(column(&[Some(4.5), None, Some(213.0)], 3), ["4.50", "–", "213.00"]);
        assert_eq!(column(&[Some(412.7), Some(1234.6)], 1), ["413", "1,235"]);
        assert_eq!(column(&[None], 1), ["–"]);
    }

    #[test]
    fn units_and_shares() {
        assert_eq!(tick(0.5), "0.5");
        assert_eq!(tick(20_000.0), "20,000");
        assert_eq!(percent(0.043), "4.3");
        assert_eq!(percent(0.874), "87");
        assert_eq!(counted(1.0, "connection"), "1 connection");
        assert_eq!(counted(11.3, "connection"), "11 connections");
    }
}
