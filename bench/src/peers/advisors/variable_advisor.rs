//! pt-variable-advisor: rules with prose of its manual, which says in words what a value should be. [`CHANGES`] has the
//! settings that these words come to.

use super::{Advised, Proposal};
use plimsoll_plan::knowledge::release::Release;
use plimsoll_plan::knowledge::settings::facts;

/// The value that a rule asks for.
enum Value {
    /// "Left at its default".
    Default,
    Is(&'static str),
}

use Value::{Default, Is};

/// By the name of the rule: setting and value. Rules that leave the value open, or are of what cannot be changed, are not
/// here.
const CHANGES: &[(&str, &str, Value)] = &[
    ("connect_timeout", "connect_timeout", Default),
    ("delay_key_write", "delay_key_write", Is("OFF")),
    ("flush", "flush", Is("OFF")),
    ("flush_time", "flush_time", Is("0")),
    ("innodb_doublewrite", "innodb_doublewrite", Is("ON")),
    ("innodb_fast_shutdown", "innodb_fast_shutdown", Default),
    ("innodb_flush_log_at_trx_commit-1", "innodb_flush_log_at_trx_commit", Is("1")),
    ("innodb_flush_log_at_trx_commit-2", "innodb_flush_log_at_trx_commit", Is("2")),
    ("innodb_flush_method", "innodb_flush_method", Is("O_DIRECT")),
    ("innodb_lock_wait_timeout", "innodb_lock_wait_timeout", Default),
    ("innodb_log_buffer_size", "innodb_log_buffer_size", Is("16M")),
    ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct", Default),
    ("key_buffer_size", "key_buffer_size", Is("16M")),
    ("log_bin", "log_bin", Is("ON")),
    ("log_output", "log_output", Is("FILE")),
    ("log_warnings-1", "log_warnings", Is("2")),
    ("log_warnings-2", "log_warnings", Is("2")),
    ("low_priority_updates", "low_priority_updates", Is("OFF")),
    ("max_binlog_size", "max_binlog_size", Is("1G")),
    ("max_connect_errors", "max_connect_errors", Is("4294967295")),
    ("max_connections", "max_connections", Is("1000")),
    ("myisam_recover_options", "myisam_recover_options", Is("BACKUP,FORCE")),
    ("query_cache_size-1", "query_cache_size", Is("128M")),
    ("query_cache_size-2", "query_cache_size", Is("128M")),
    ("read_buffer_size-1", "read_buffer_size", Default),
    ("read_buffer_size-2", "read_buffer_size", Default),
    ("read_rnd_buffer_size-1", "read_rnd_buffer_size", Default),
    ("read_rnd_buffer_size-2", "read_rnd_buffer_size", Default),
    ("slave_net_timeout", "slave_net_timeout", Is("60")),
    ("sort_buffer_size-1", "sort_buffer_size", Default),
    ("sort_buffer_size-2", "sort_buffer_size", Default),
    ("sync_binlog", "sync_binlog", Is("1")),
    ("tx_isolation-1", "tx_isolation", Default),
    ("tx_isolation-2", "tx_isolation", Is("REPEATABLE-READ")),
];

/// Words by which a rule says that the server will be faster, or less loaded.
const CLAIMS: [&str; 4] = ["performance", "overload", "I/O system", "scheduling threads"];

/// Reads what it printed of a server of this release.
pub fn read(printed: &str, release: Release) -> Advised {
    let rules: Vec<(&str, &str)> = printed.lines().filter_map(rule).collect();
    if rules.is_empty() {
        let last = printed.lines().map(str::trim).rfind(|line| !line.is_empty());
        return Advised::Nothing(format!("it found nothing, or died: {}", last.unwrap_or("nothing was printed")));
    }
    Advised::Said(rules.into_iter().map(|(rule, text)| proposal(rule, text, release)).collect())
}

/// `# WARN sync_binlog: Binary logging is enabled, but …`: the rule, and what it says.
fn rule(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("# ")?;
    let (severity, rest) = line.split_once(' ')?;
    if !["NOTE", "WARN", "CRIT"].contains(&severity) {
        return None;
    }
    rest.split_once(": ")
}

fn proposal(rule: &str, text: &str, release: Release) -> Proposal {
    let change = CHANGES.iter().find(|(of, ..)| *of == rule).and_then(|(_, setting, value)| {
        let value = match value {
            Is(value) => value,
            Default => facts(setting)?.default(release)?,
        };
        Some(((*setting).to_owned(), value.to_owned()))
    });
    Proposal {
        text: format!("{rule}: {text}"),
        change,
        claims_gain: CLAIMS.iter().any(|word| text.contains(word)),
        // None of the changes costs safety, but for two that are told by their own prose.
        tells_cost: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Flavour;

    fn release() -> Release {
        Release::of(Flavour::MariaDb, "10.11.19-MariaDB")
    }

    #[test]
    fn rules_become_settings_where_their_prose_says_which() {
        let printed = "\n# WARN sync_binlog: Binary logging is on.\n\n# NOTE port: Another port.\n\n\
                       # NOTE sort_buffer_size-1: Leave it.\n\n";
        let Advised::Said(all) = read(printed, release()) else { panic!("it was said") };
        let changes: Vec<_> = all.iter().map(|proposal| proposal.change.clone()).collect();
        let is = |name: &str, value: &str| Some((name.to_owned(), value.to_owned()));
        assert_eq!(changes, [is("sync_binlog", "1"), None, is("sort_buffer_size", "2M")]);
        assert!(matches!(read("DBI connect failed\n", release()), Advised::Nothing(_)));
    }

    #[test]
    fn defaults_are_known() {
        for (rule, setting, value) in CHANGES {
            let is_known = match value {
                Is(_) => true,
                Default => facts(setting).is_some_and(|of| of.default(release()).is_some()),
            };
            assert!(is_known, "{rule}: {setting} has no default");
        }
    }
}
