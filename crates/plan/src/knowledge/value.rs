//! Whether two ways to write the value of a setting mean the same, and whether a server has what was requested.

/// A size that a server rounds by no more than this share is in effect.
const ROUNDING: f64 = 0.05;
/// Variables that show all their switches, although only some were set.
const LISTS: [&str; 3] = ["optimizer_switch", "old_mode", "sql_mode"];
/// Endings of the names of sizes, which servers round to blocks.
const SIZES: [&str; 4] = ["_size", "_capacity", "_packet", "_length"];
/// Two words for one value.
const ALIASES: [(&str, &str); 3] =
    [("DETECT_AND_RECOVER", "ON"), ("utf8", "utf8mb3"), ("one-thread-per-connection", "0")];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    Same,
    /// A size, to a multiple of its block.
    Rounded,
    Different,
}

/// Whether the requested value is in effect, exactly or rounded.
pub fn in_effect(name: &str, requested: &str, effective: &str) -> bool {
    compare(name, requested, effective) != Match::Different
}

/// Compares the requested value with what a server has, however each is written.
pub fn compare(name: &str, requested: &str, effective: &str) -> Match {
    if same_value(requested, effective) || aliases(requested, effective) {
        return Match::Same;
    }
    if LISTS.contains(&name) && includes(requested, effective) {
        return Match::Same;
    }
    match (crate::quantity::size(requested), effective.parse::<u64>()) {
        (Ok(requested), Ok(effective)) if SIZES.iter().any(|size| name.ends_with(size)) => {
            let off = requested.abs_diff(effective) as f64;
            if off <= ROUNDING * requested as f64 { Match::Rounded } else { Match::Different }
        }
        _ => Match::Different,
    }
}

fn aliases(a: &str, b: &str) -> bool {
    let is = |x: &str, y: &str| same_value(x, a) && same_value(y, b);
    ALIASES.iter().any(|(one, other)| is(one, other) || is(other, one))
}

fn includes(requested: &str, effective: &str) -> bool {
    let parts: Vec<&str> = effective.split(',').map(str::trim).collect();
    let found = |wanted: &str| parts.iter().any(|part| part.eq_ignore_ascii_case(wanted.trim()));
    requested.split(',').filter(|part| !part.trim().is_empty()).all(found)
}

/// Whether the server made `effective` of `requested`: knows `1` and `ON`, `1G` and `1073741824`, a closing
/// slash, and lists in another order.
pub fn same_value(requested: &str, effective: &str) -> bool {
    let normal = |text: &str| {
        let mut parts: Vec<String> = text.split(',').map(|part| scalar(part.trim())).collect();
        parts.sort();
        parts
    };
    normal(requested) == normal(effective)
}

fn scalar(text: &str) -> String {
    if let Some(truth) = truth(text) {
        return u8::from(truth).to_string();
    }
    if let Some(bytes) = bytes(text) {
        return bytes.to_string();
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => number.to_string(),
        _ => match text.trim_end_matches('/') {
            "" => text.to_owned(),
            path => path.to_ascii_lowercase(),
        },
    }
}

/// `ON`, `1` and `true`, `OFF`, `0` and `false`.
pub fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// A number as servers read it, with its suffix: `128M`, `90.5`; none of another text.
pub fn number(text: &str) -> Option<f64> {
    let plain = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    plain.or_else(|| bytes(text.trim()).map(|bytes| bytes as f64))
}

/// `128M` → 134217728; the suffixes that servers know, 1024-based.
fn bytes(text: &str) -> Option<u128> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        "p" | "P" => 50,
        "e" | "E" => 60,
        _ => return None,
    };
    digits.parse::<u64>().ok().map(|number| u128::from(number) << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rounded_is_in_effect() {
        assert!(in_effect("innodb_buffer_pool_size", "1000M", "1073741824"));
        assert!(!in_effect("innodb_buffer_pool_size", "300M", "402653184"));
    }

    #[test]
    fn values_are_the_same_rounded_or_different() {
        for (name, requested, effective, expected) in [
            ("innodb_doublewrite", "0", "OFF", Match::Same),
            ("innodb_doublewrite", "DETECT_AND_RECOVER", "ON", Match::Same),
            ("innodb_doublewrite", "OFF", "ON", Match::Different),
            ("innodb_max_dirty_pages_pct", "90", "90.000000", Match::Same),
            ("innodb_buffer_pool_size", "1000M", "1073741824", Match::Rounded),
            // A chunk of 128 MiB above the requested size is no longer rounding.
            ("innodb_buffer_pool_size", "300M", "402653184", Match::Different),
            ("innodb_log_buffer_size", "100", "2097152", Match::Different),
            ("table_open_cache", "8000", "7985", Match::Different),
            ("optimizer_switch", "mrr=on,mrr_sort_keys=off", "index_merge=on,mrr=on,mrr_sort_keys=off", Match::Same),
            ("optimizer_switch", "mrr=on", "index_merge=on,mrr=off", Match::Different),
            ("innodb_flush_method", "fsync", "O_DIRECT", Match::Different),
            ("sync_binlog", "0", "1", Match::Different),
        ] {
            assert_eq!(compare(name, requested, effective), expected, "{name}: {requested} against {effective}");
        }
    }

    #[test]
    fn values_are_compared_by_meaning() {
        for (requested, effective) in [
            ("1", "ON"),
            ("off", "OFF"),
            ("1G", "1073741824"),
            ("128m", "134217728"),
            ("0.5", "0.500000"),
            ("/var/tmp", "/var/tmp/"),
            ("ansi_quotes,STRICT_ALL_TABLES", "STRICT_ALL_TABLES,ANSI_QUOTES"),
            ("O_DIRECT", "o_direct"),
            ("", ""),
            ("/", "/"),
        ] {
            assert!(same_value(requested, effective), "{requested} {effective}");
        }
        for (requested, effective) in
            [("1", "2"), ("ON", "OFF"), ("1G", "1G1"), ("1G", "1073741825"), ("O_DIRECT", "fsync"), ("", "x")]
        {
            assert!(!same_value(requested, effective), "{requested} {effective}");
        }
    }
}
