//! Durations (`30s`, `5m`, `1h30m`, `500ms`), sizes (`128M`, `22G`, 1024-based) and percentages (`5%`).

use crate::error::PlanError;
use std::time::Duration;

const DURATION: &str = "a duration such as 10s, 500ms, 5m or 1h30m";
const PERCENT: &str = "a percentage above 0 and below 100, such as 5% or 0.5%";
const SIZE: &str = "a size such as 64K, 128M or 22G";

/// Reads a duration; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, PlanError> {
    let wrong = || PlanError::value("duration", text, DURATION);
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|_| wrong());
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        let unit_end = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
        let unit = match &rest[digits..unit_end] {
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        let part = Duration::try_from_secs_f64(number * unit).map_err(|_| wrong())?;
        total = total.checked_add(part).ok_or_else(wrong)?;
        rest = &rest[unit_end..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(total) }
}

/// Reads a limit on a time, as milliseconds above 0. A bare number would be seconds, which nobody means here.
pub(crate) fn limit_ms(text: &str) -> Option<f64> {
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    let ms = duration(text).ok().filter(|_| has_unit)?.as_secs_f64() * 1e3;
    (ms > 0.0).then_some(ms)
}

/// Reads a size in bytes.
pub fn size(text: &str) -> Result<u64, PlanError> {
    let wrong = || PlanError::value("size", text, SIZE);
    let (number, shift) = match text.char_indices().last() {
        Some((at, suffix)) if suffix.is_ascii_alphabetic() => {
            let shift = match suffix.to_ascii_uppercase() {
                'K' => 10,
                'M' => 20,
                'G' => 30,
                'T' => 40,
                _ => return Err(wrong()),
            };
            (&text[..at], shift)
        }
        _ => (text, 0),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_shl(shift).filter(|bytes| bytes >> shift == number).ok_or_else(wrong)
}

/// Writes a number of bytes with the largest suffix that leaves it whole: `384M`.
pub fn shown_size(bytes: u64) -> String {
    let whole = [("T", 40), ("G", 30), ("M", 20), ("K", 10)]
        .into_iter()
        .find(|(_, shift)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    match whole {
        Some((suffix, shift)) => format!("{}{suffix}", bytes >> shift),
        None => bytes.to_string(),
    }
}

/// Reads a percentage as a share, `5%` as 0.05; the sign may be left out.
pub fn percent(text: &str) -> Result<f64, PlanError> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err(PlanError::value("percentage", text, PERCENT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let ms = |text| duration(text).map(|d| d.as_millis()).ok();
        assert_eq!(ms("10"), Some(10_000));
        assert_eq!(ms("30s"), Some(30_000));
        assert_eq!(ms("0.5s"), Some(500));
        assert_eq!(ms("500ms"), Some(500));
        assert_eq!(ms("1h30m"), Some(5_400_000));
        for wrong in ["", "s", "10x", "-1s", "1s2", "1e400s", "ten"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size("128M"), Ok(128 << 20));
        assert_eq!(size("22g"), Ok(22 << 30));
        assert_eq!(size("17"), Ok(17));
        for wrong in ["", "G", "1.5G", "1Q", "99999999999T", "-1K"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
    #[test]
    fn percentages() {
        assert_eq!((percent("5%"), percent("0.5 %"), percent(" 20")), (Ok(0.05), Ok(0.005), Ok(0.2)));
        for wrong in ["", "%", "0", "-5%", "100%", "nan", "inf", "5%%", "five"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
