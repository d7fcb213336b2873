//! Numbers as people read them.

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
