//! MySQLTuner: its list "Variables to adjust". It says between which bounds a value should lie; the value that its reader
//! would take is the bound itself, or twice or half of it where the bound is what there is.

use super::{Advised, Proposal};

/// What stands above the list.
const HEADING: &str = "Variables to adjust:";
/// Words of whoever tells what a change costs in safety.
const COSTS: [&str; 4] = ["durab", "crash", "lose", "ACID"];

/// Reads what it printed, in plain text without colours.
pub fn read(printed: &str) -> Advised {
    let lines = || printed.lines().map(str::trim).filter(|line| !line.is_empty());
    if let Some(died) = lines().find(|line| line.contains("Illegal division") || line.contains("Uncaught exception")) {
        return Advised::Nothing(format!("it died: {died}"));
    }
    if !printed.contains("Recommendations ---") {
        return Advised::Nothing(format!("it ended early: {}", lines().next_back().unwrap_or("nothing was printed")));
    }
    let list = printed.lines().skip_while(|line| !line.starts_with(HEADING)).skip(1);
    let list = list.take_while(|line| line.starts_with(' ')).map(str::trim).filter(|line| !line.starts_with("***"));
    Advised::Said(list.map(proposal).collect())
}

fn proposal(text: &str) -> Proposal {
    Proposal {
        text: text.to_owned(),
        change: change(text),
        claims_gain: true,
        tells_cost: COSTS.iter().any(|word| text.contains(word)),
    }
}

/// `tmp_table_size (> 16.0M)`: the setting, and what the bound comes to.
fn change(text: &str) -> Option<(String, String)> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    let (name, rest) = text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()));
    // `vm.swappiness`, and what is no name at all.
    if !name.contains(['_', '-']) || rest.starts_with('.') {
        return None;
    }
    let value = match rest.find(['>', '<', '=', '~']) {
        Some(at) => {
            let bound = rest[at..].trim_start_matches(['>', '<', '=', '~', ' ']);
            let includes_bound = !rest[at..].starts_with(['>', '<']) || rest[at + 1..].starts_with('=');
            let factor = match &rest[at..=at] {
                _ if includes_bound => 1.0,
                ">" => 2.0,
                _ => 0.5,
            };
            number(bound, factor).or_else(|| word(bound))
        }
        None => number(rest.trim_start_matches(|c: char| !c.is_ascii_digit()), 1.0),
    };
    Some((name.replace('-', "_"), value?))
}

/// `16.0M`, times this, as servers take it.
fn number(text: &str, factor: f64) -> Option<String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = match text[digits..].chars().next() {
        Some('K') => 1024.0,
        Some('M') => 1024.0 * 1024.0,
        Some('G') => 1024.0 * 1024.0 * 1024.0,
        _ => 1.0,
    };
    let number: f64 = text[..digits].parse().ok()?;
    Some(format!("{:.0}", number * unit * factor))
}

/// `ON`.
fn word(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_becomes_the_value_that_its_reader_would_take() {
        let is = |text: &str, name: &str, value: &str| {
            assert_eq!(change(text), Some((name.to_owned(), value.to_owned())), "{text}");
        };
        is("innodb_buffer_pool_size (>= 1.5G) if possible.", "innodb_buffer_pool_size", "1610612736");
        is("innodb_log_file_size should be (=2M) if possible", "innodb_log_file_size", "2097152");
        is("tmp_table_size (> 16.0M)", "tmp_table_size", "33554432");
        is("wait_timeout (< 28800)", "wait_timeout", "14400");
        is("key_buffer_size (~ 24M)", "key_buffer_size", "25165824");
        is("skip-name-resolve=1", "skip_name_resolve", "1");
        is("performance_schema=ON", "performance_schema", "ON");
        is("thread_cache_size (start at 4)", "thread_cache_size", "4");
        is("binlog_cache_size (16.0M)", "binlog_cache_size", "16777216");
        is("table_definition_cache (400) > 500 or -1", "table_definition_cache", "1000");
        for text in ["vm.swappiness <= 10 (echo 10)", "STOP: too many processes", "fs.aio-max-nr > 1M"] {
            assert_eq!(change(text), None, "{text}");
        }
    }

    #[test]
    fn what_died_has_said_nothing() {
        let whole = "-------- Recommendations ---\nGeneral:\n    Sleep\nVariables to adjust:\n    join_buffer_size (> 256.0K, or use indexes)\n";
        let Advised::Said(all) = read(whole) else { panic!("it was said") };
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].change, Some(("join_buffer_size".to_owned(), "524288".to_owned())));
        assert!(
            matches!(read("[--] x\nIllegal division by zero at line 1"), Advised::Nothing(why) if why.contains("died"))
        );
        assert!(matches!(read("[!!] no login"), Advised::Nothing(why) if why.contains("no login")));
    }
}
