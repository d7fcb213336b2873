//! What a measured load point calls for: rules over its window. [`seen`] is what they may look at; each file of `rules/` has
//! rules of one theme, and a rule is a row of [`rules::RULES`].

pub mod rules;
pub mod seen;

use plimsoll_model::Flavour;
use plimsoll_model::advice::{Advice, AdviceFinding, AdviceStep, Severity};
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_model::durability::Risks;
use plimsoll_model::number::short;
use plimsoll_plan::knowledge::settings::{Applies, facts};
use plimsoll_plan::knowledge::value::truth;
use plimsoll_plan::knowledge::{Release, classes, variable};
use plimsoll_plan::quantity;
use rules::RULES;
use seen::SeenServer;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Of a shorter window too little is known, seconds.
pub const LEAST_SECONDS: f64 = 5.0;

/// What a rule says.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowVerdict {
    /// What it needs was not recorded, in a few words.
    Unseen(&'static str),
    Fine,
    Found(WindowFinding),
}

/// What is wrong, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFinding {
    /// Share of the transactions' time that it may be worth, 0 to 1; 0 if no time is at stake.
    pub worth: f64,
    pub severity: Severity,
    /// The setting that it is about and the value that is advised, and those without which that does nothing.
    pub changes: Vec<(&'static str, String)>,
    /// What is, with its numbers.
    pub found: String,
    /// What to do, if it is not the changes alone.
    pub advised: Option<String>,
    pub why: String,
}

/// What this load point calls for. `about` says whose it is.
pub fn judge(about: &str, seen: &SeenServer) -> Advice {
    let looked_at = vec![format!("{about}: {} s, {} rules", short(seen.seconds), RULES.len())];
    let mut advice = Advice {
        about: about.to_owned(),
        answer: "Not known: the load point was measured for too short a time.".to_owned(),
        findings: Vec::new(),
        steps_seen: steps_seen(seen),
        looked_at,
        unseen: Vec::new(),
    };
    if seen.seconds < LEAST_SECONDS {
        advice.unseen.push(format!("{} s were measured, and rules need {LEAST_SECONDS}", short(seen.seconds)));
        return advice;
    }
    let mut unseen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut found: Vec<AdviceFinding> = Vec::new();
    for rule in &RULES {
        match (rule.judge)(seen) {
            WindowVerdict::Unseen(what) => unseen.entry(what).or_default().push(rule.id),
            WindowVerdict::Fine => {}
            WindowVerdict::Found(of) => found.push(finding(rule.id, rule.step, of, seen)),
        }
    }
    advice.findings = in_order(found);
    advice.answer = answer(&advice.findings, seen);
    advice.findings.sort_by_key(|finding| (finding.step, Reverse(finding.severity)));
    if seen.needs.backup_seconds.is_some() {
        unseen
            .entry("how long a backup takes (`plimsoll io` measures how fast data are read)")
            .or_default()
            .push("needs");
    }
    advice.unseen = unseen.into_iter().map(|(what, rules)| format!("{what}, for {}", rules.join(", "))).collect();
    advice
}

/// Whether it is about what the application needs, whatever that costs.
pub(crate) fn is_need(finding: &AdviceFinding) -> bool {
    finding.rule.starts_with("needs.")
}

/// Settings that are needed first, then what is worth most; what comes first owns its setting.
fn in_order(mut found: Vec<AdviceFinding>) -> Vec<AdviceFinding> {
    let is_set = |finding: &AdviceFinding| is_need(finding) && finding.setting.is_some();
    found.sort_by(|a, b| is_set(b).cmp(&is_set(a)).then(b.worth.total_cmp(&a.worth)));
    let mut owned = BTreeSet::new();
    found.retain(|finding| finding.setting.as_ref().is_none_or(|setting| owned.insert(setting.clone())));
    found
}

/// An installation shows in its files alone, and file systems on their machine.
fn steps_seen(seen: &SeenServer) -> Vec<AdviceStep> {
    let is_seen = |step: &AdviceStep| match step {
        AdviceStep::Install => false,
        AdviceStep::FileSystem => seen.machine.is_some(),
        _ => true,
    };
    AdviceStep::ALL.into_iter().filter(is_seen).collect()
}

/// The first of these that is more than good to know.
fn answer(found: &[AdviceFinding], seen: &SeenServer) -> String {
    let limit = match seen.limit {
        Some(limit) => format!("limited by {}", limit.words()),
        None => "without a clear limit".to_owned(),
    };
    match found.iter().find(|finding| finding.severity > Severity::Info) {
        Some(first) => format!("Do first: {}. {}", first.advised, first.why),
        None => format!("Nothing to do: {} rules looked at a load point that was {limit}.", RULES.len()),
    }
}

fn finding(rule: &str, step: AdviceStep, of: WindowFinding, seen: &SeenServer) -> AdviceFinding {
    let flavour = seen.release.flavour;
    let setting = of.changes.first().map(|(name, _)| *name);
    let facts = setting.and_then(facts);
    let lines: Vec<String> = of.changes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let advised = of.advised.unwrap_or_else(|| format!("set {}{}", lines.join(" and "), how(&of.changes, seen)));
    let costs: Risks = of.changes.iter().flat_map(|(name, value)| classes(name, value, flavour)).collect();
    AdviceFinding {
        rule: rule.to_owned(),
        step,
        severity: of.severity,
        setting: setting.map(str::to_owned),
        at: None,
        found: of.found,
        advised,
        line: (!lines.is_empty()).then(|| lines.join("\n")),
        why: of.why,
        costs: costs.into_iter().collect(),
        shows: facts.and_then(|facts| facts.shows.clone()),
        source: facts.map_or_else(|| "docs/bottlenecks.md".to_owned(), |facts| facts.source(flavour)),
        confirmed: true,
        worth: of.worth,
        measured: None,
    }
}

/// How values are put into effect, the first of which says when they count.
fn how(changes: &[(&'static str, String)], seen: &SeenServer) -> String {
    let release = seen.release;
    let applies = changes.first().and_then(|(name, value)| applies(name, value, seen));
    let persists = release.flavour == Flavour::MySql && release.version >= (8, 0, 0);
    let statement = |scope: &str| {
        let each = changes.iter().map(|(name, value)| format!("{scope} {}", assignment(name, value, release)));
        format!(": SET {}", each.collect::<Vec<_>>().join(", "))
    };
    match (applies, persists) {
        (Some(Applies::Live | Applies::Session), true) => statement("PERSIST"),
        (Some(Applies::Live | Applies::Session), false) => {
            let lines = if changes.len() > 1 { "lines" } else { "line" };
            format!("{}, and the {lines} in the option file", statement("GLOBAL"))
        }
        (Some(Applies::Restart), _) => " in the option file, and restart".to_owned(),
        (Some(Applies::Initialisation), _) => ", with a new data directory".to_owned(),
        (None, _) => String::new(),
    }
}

/// When a value counts on this server as it is.
fn applies(name: &str, value: &str, seen: &SeenServer) -> Option<Applies> {
    let applies = facts(name)?.applies(seen.release)?;
    // While it runs, MySQL changes how pages are written twice, and not whether they are.
    let is_switch = name == "innodb_doublewrite" && seen.release.flavour == Flavour::MySql;
    let is_off = |value: &str| truth(value) == Some(false);
    let switches = is_switch && (is_off(value) || seen.setting(name).is_some_and(is_off));
    Some(if switches { Applies::Restart } else { applies })
}

/// `tx_isolation = 'READ-COMMITTED'`: what the variable of an option is called, and its value as SQL reads it, which knows no
/// suffixes and would subtract here.
fn assignment(name: &str, value: &str, release: Release) -> String {
    let is_word = value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let value = match quantity::size(value) {
        Ok(bytes) => bytes.to_string(),
        Err(_) if is_word || value.parse::<f64>().is_ok() => value.to_owned(),
        Err(_) => format!("'{}'", value.replace('\'', "''")),
    };
    format!("{} = {value}", variable(name, release.flavour, release.version))
}

/// What a finding says of a bottleneck's share: `71 % of the transactions’ time went to reads from storage`.
pub(crate) fn share_words(seen: &SeenServer, bottleneck: Bottleneck) -> String {
    let share = plimsoll_model::number::whole_percent(seen.share(bottleneck));
    format!("{share} of the transactions’ time went to {}", bottleneck.words())
}

#[cfg(test)]
mod tests {
    use super::rules::fixtures::{healthy, limited_by};
    use super::*;

    #[test]
    fn a_healthy_server_has_nothing_to_do_and_says_what_was_looked_at() {
        let advice = judge("run, 8 connections", &healthy());
        assert_eq!((advice.findings.len(), advice.unseen.len()), (0, 0), "{advice:#?}");
        assert_eq!(advice.answer, "Nothing to do: 43 rules looked at a load point that was without a clear limit.");
    }

    #[test]
    fn what_is_worth_most_comes_first_and_owns_its_setting() {
        let mut seen = limited_by(Bottleneck::ReadIo);
        seen.signals.host.swapped_bytes = Some(1e7);
        let advice = judge("run, 8 connections", &seen);
        let pool: Vec<_> =
            advice.findings.iter().filter(|of| of.setting.as_deref() == Some("innodb_buffer_pool_size")).collect();
        assert_eq!(pool.len(), 1, "{advice:#?}");
        assert_eq!(pool[0].rule, "mem.too-much", "a machine that swaps gets no larger pool");
        assert!(advice.answer.starts_with(
            "Do first: set innodb_buffer_pool_size = 768M: SET PERSIST innodb_buffer_pool_size = 805306368."
        ));
    }

    /// How this is put into effect on a server of this release.
    fn how_on(release: &str, changes: &[(&'static str, &str)]) -> String {
        let seen = SeenServer { release: Release::parse(release).unwrap(), ..healthy() };
        let changes: Vec<_> = changes.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        how(&changes, &seen)
    }

    #[test]
    fn how_a_value_is_set_depends_on_the_server() {
        assert_eq!(
            how_on("mariadb-10.11", &[("innodb_io_capacity", "400")]),
            ": SET GLOBAL innodb_io_capacity = 400, and the line in the option file"
        );
        let restarts = " in the option file, and restart";
        assert_eq!(how_on("mariadb-10.11", &[("innodb_log_buffer_size", "32M")]), restarts);
        assert_eq!(how_on("mysql-9.7", &[("log_bin", "binlog")]), restarts);
        assert_eq!(
            how_on("mariadb-10.11", &[("tmp_table_size", "32M"), ("max_heap_table_size", "32M")]),
            ": SET GLOBAL tmp_table_size = 33554432, GLOBAL max_heap_table_size = 33554432, and the lines in the \
             option file"
        );
    }

    #[test]
    fn a_statement_has_the_name_of_the_variable_and_quotes_what_is_no_word() {
        let level = [("transaction_isolation", "READ-COMMITTED")];
        assert_eq!(
            how_on("mariadb-10.11", &level),
            ": SET GLOBAL tx_isolation = 'READ-COMMITTED', and the line in the option file"
        );
        assert_eq!(how_on("mysql-9.7", &level), ": SET PERSIST transaction_isolation = 'READ-COMMITTED'");
        let release = Release::parse("mysql-9.7").unwrap();
        assert_eq!(assignment("innodb_adaptive_hash_index", "ON", release), "innodb_adaptive_hash_index = ON");
        assert_eq!(assignment("innodb_max_dirty_pages_pct", "7.5", release), "innodb_max_dirty_pages_pct = 7.5");
    }

    #[test]
    fn whether_pages_are_written_twice_takes_a_restart_on_mysql() {
        let restarts = " in the option file, and restart";
        assert_eq!(how_on("mysql-9.7", &[("innodb_doublewrite", "OFF")]), restarts);
        assert_eq!(
            how_on("mysql-9.7", &[("innodb_doublewrite", "DETECT_AND_RECOVER")]),
            ": SET PERSIST innodb_doublewrite = DETECT_AND_RECOVER"
        );
        assert!(how_on("mariadb-11.8", &[("innodb_doublewrite", "OFF")]).starts_with(": SET GLOBAL"));
    }

    #[test]
    fn what_is_needed_owns_its_setting_whatever_something_else_is_worth() {
        let seen = healthy();
        let of = |rule: &str, worth: f64, size: &str| {
            let found = WindowFinding {
                worth,
                severity: Severity::Warn,
                changes: vec![("innodb_redo_log_capacity", size.to_owned())],
                found: String::new(),
                advised: None,
                why: String::new(),
            };
            finding(rule, AdviceStep::Io, found, &seen)
        };
        let found = in_order(vec![of("redo.small", 0.7, "8G"), of("needs.recovery", 0.0, "512M")]);
        let rules: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(rules, ["needs.recovery"]);
        let found = in_order(vec![of("flush.over", 0.1, "2G"), of("redo.small", 0.7, "8G")]);
        assert_eq!((found.len(), found[0].rule.as_str()), (1, "redo.small"), "what is worth most");
    }

    #[test]
    fn the_answer_is_not_that_nothing_is_to_be_done_because_a_guess_is_worth_more() {
        let mut seen = limited_by(Bottleneck::Threads);
        seen.signals.server.threads_running = Some(100.0);
        seen.settings.insert("sync_binlog".to_owned(), "0".to_owned());
        let advice = judge("run, 8 connections", &seen);
        assert!(advice.findings.iter().any(|finding| finding.severity == Severity::Info && finding.worth > 0.0));
        assert!(advice.answer.starts_with("Do first: make them safe"), "{}", advice.answer);
    }

    #[test]
    fn a_server_elsewhere_is_not_judged_by_the_machine_of_whoever_watches() {
        let mut seen = limited_by(Bottleneck::Cpu);
        seen.signals.host.swapped_bytes = Some(1e7);
        (seen.is_here, seen.memory_left, seen.machine) = (false, None, None);
        let advice = judge("run, 8 connections", &seen);
        let unseen = advice.unseen.join("; ");
        assert!(advice.findings.iter().all(|finding| finding.rule != "mem.too-much"), "{advice:#?}");
        assert!(unseen.contains("swapping of the server’s machine, for mem.too-much"), "{unseen}");
        assert!(unseen.contains("CPUs of the server’s machine, for redo.writer-threads"), "{unseen}");
    }

    #[test]
    fn of_a_moment_nothing_is_known() {
        let advice = judge("run, 8 connections", &SeenServer { seconds: 3.0, ..limited_by(Bottleneck::ReadIo) });
        assert!(advice.findings.is_empty() && advice.unseen[0].starts_with("3.00 s were measured"), "{advice:#?}");
    }
}
