//! Dates in loaded rows.

/// Whether this is a real date, written as YYYY-MM-DD, that a DATETIME column holds (years from 1000 on).
pub fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else { return false };
    let number = |digits: &[&u8]| {
        digits.iter().try_fold(0u32, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + u32::from(**digit - b'0')))
    };
    let (Some(year), Some(month), Some(day)) = (number(&[y1, y2, y3, y4]), number(&[m1, m2]), number(&[d1, d2])) else {
        return false;
    };
    year >= 1_000 && (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day)
}

fn days_of(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_dates_are_dates() {
        for date in ["2026-01-01", "2024-02-29", "2000-02-29", "1000-12-31", "9999-04-30"] {
            assert!(is_date(date), "{date}");
        }
        let broken = [
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-01-00",
            "2026-04-31",
            "0999-01-01",
            "2026-1-1",
            "26-01-01",
            "2026/01/01",
            "2026-01-01 ",
            "+026-01-01",
            "",
            "2026-01-1é",
        ];
        for text in broken {
            assert!(!is_date(text), "{text}");
        }
    }
}
