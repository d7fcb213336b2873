//! Numbers as values of settings: what no server can hold, and what means nothing to any. A server would either cut
//! such a number to its own bounds, with a line in its error log, or not start.

use super::normal;

/// Names, and beginnings of names, whose numbers may be negative: those whose minimum is below 0 in MySQL 9.7
/// (`performance_schema.variables_info`) and MariaDB 10.11 and 11.8 (`information_schema.SYSTEM_VARIABLES`), and those
/// of storage engines that are not part of either.
const SIGNED: [&str; 5] =
    ["performance_schema_", "max_user_connections", "optimizer_trace_offset", "rocksdb_", "spider_"];
/// What servers multiply a number by: powers of 1024 (MySQL Reference Manual, "Program Option Modifiers"; MariaDB
/// Knowledge Base, "mariadbd Options").
const UNITS: &str = "KMGTPE";

const OF_64_BITS: &str =
    "a number of at most 18446744073709551615, which may end in K, M, G, T, P or E for powers of 1024";
const NOT_NEGATIVE: &str = "a number of 0 or more: no server accepts a negative one for it";

/// Names, and endings of names, of numbers that may have a point, on a server of either vendor.
const FRACTIONS: [&str; 8] = [
    "long_query_time",
    "log_slow_query_time",
    "max_statement_time",
    "expire_logs_days",
    "innodb_adaptive_flushing_lwm",
    "_pct",
    "_pct_lwm",
    "_cost",
];

/// A number as servers read it in an option file: digits, and maybe a letter for a power of 1024, whatever follows it: `8GB` is
/// `8G` (`eval_num_suffix` of both vendors). `None` of what they do not read as a number: they do not start with it.
pub fn in_option_file(name: &str, value: &str) -> Option<f64> {
    let text = value.trim();
    let name = normal(name);
    let may_have_point = FRACTIONS.iter().any(|ending| name.ends_with(ending));
    let fraction = text.parse::<f64>().ok().filter(|number| may_have_point && number.is_finite());
    fraction.or_else(|| whole(text))
}

fn whole(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let rest = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: f64 = unsigned[..unsigned.len() - rest.len()].parse().ok()?;
    let power = match rest.chars().next() {
        None => 0,
        Some(unit) => UNITS.find(unit.to_ascii_uppercase())? as i32 + 1,
    };
    let size = number * 1024_f64.powi(power);
    Some(if text.starts_with('-') { -size } else { size })
}

/// What is accepted instead of a number that the setting cannot have; `None` for every other value.
pub fn refusal(name: &str, value: &str) -> Option<&'static str> {
    let (sign, rest) = value.trim().strip_prefix('-').map_or(("", value.trim()), |rest| ("-", rest));
    let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match rest[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        unit => 10 * (UNITS.find(unit).filter(|_| unit.len() == 1)? as u32 + 1),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse::<u64>().ok();
    let fits = number.is_some_and(|number| number.checked_shl(shift).is_some_and(|bytes| bytes >> shift == number));
    let name = normal(name);
    match (fits, sign, SIGNED.iter().any(|signed| name.starts_with(signed))) {
        (false, ..) => Some(OF_64_BITS),
        (true, "-", false) if number != Some(0) => Some(NOT_NEGATIVE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_server_holds_are_refused() {
        for value in
            ["99999999999999999999999999G", "18446744073709551616", "16E", "17179869184G", "-99999999999999999999"]
        {
            assert_eq!(refusal("innodb-buffer-pool-size", value), Some(OF_64_BITS), "{value}");
        }
        for (name, value) in [("max_connections", "-1"), ("innodb_buffer_pool_size", "-5"), ("sync_binlog", "-1G")] {
            assert_eq!(refusal(name, value), Some(NOT_NEGATIVE), "{name}");
        }
    }

    #[test]
    fn numbers_in_an_option_file_are_read_as_servers_read_them() {
        for (name, value, number) in [
            ("innodb_buffer_pool_size", "8G", 8_589_934_592.0),
            ("innodb_buffer_pool_size", "8GB", 8_589_934_592.0),
            ("innodb_buffer_pool_size", " 128m ", 134_217_728.0),
            ("max_connections", "-1", -1.0),
            ("long_query_time", "0.5", 0.5),
            ("innodb_max_dirty_pages_pct_lwm", "7.5", 7.5),
        ] {
            assert_eq!(in_option_file(name, value), Some(number), "{value}");
        }
        for value in ["1.5G", "70%", "8 G", "abc", "", "G", "ON", "-"] {
            assert_eq!(in_option_file("innodb-buffer-pool-size", value), None, "{value}");
        }
        assert_eq!(in_option_file("long_query_time", "fast"), None);
    }

    #[test]
    fn what_servers_take_and_what_is_no_number_is_left_to_them() {
        for (name, value) in [
            ("innodb_buffer_pool_size", "18446744073709551615"),
            ("innodb_buffer_pool_size", "15E"),
            ("innodb_buffer_pool_size", "128m"),
            ("max_connections", "-0"),
            ("performance_schema_digests_size", "-1"),
            ("max_user_connections", "-1"),
            ("optimizer_trace_offset", "-1"),
            ("loose-rocksdb-max-open-files", "-2"),
            ("default_time_zone", "-05:00"),
            ("innodb_data_file_path", "ibdata1:12M:autoextend"),
            ("long_query_time", "0.5"),
            ("init_connect", "-"),
            ("log_bin", ""),
            ("character_set_server", "utf8mb4"),
        ] {
            assert_eq!(refusal(name, value), None, "{name}={value}");
        }
    }
}
