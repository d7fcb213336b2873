//! What a measured load point calls for: rules over its window. [`seen`] is what they may look at; each file of `rules/` has
//! rules of one theme, and a rule is a row of [`rules::RULES`].

pub mod rules;
pub mod seen;

use plimsoll_model::Flavour;
use plimsoll_model::advice::{Advice, AdviceFinding, AdviceStep, Severity};
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_model::number::short;
use plimsoll_plan::knowledge::classes;
use plimsoll_plan::knowledge::settings::{Applies, facts};
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
    /// A setting and the value that is advised.
    pub change: Option<(&'static str, String)>,
    /// What is, with its numbers.
    pub found: String,
    /// What to do, if it is not the change alone.
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
    let mut found: Vec<(f64, AdviceFinding)> = Vec::new();
    for rule in &RULES {
        match (rule.judge)(seen) {
            WindowVerdict::Unseen(what) => unseen.entry(what).or_default().push(rule.id),
            WindowVerdict::Fine => {}
            WindowVerdict::Found(of) => found.push((of.worth, finding(rule.id, rule.step, of, seen))),
        }
    }
    // What is worth most owns its setting.
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut owned = BTreeSet::new();
    found.retain(|(_, finding)| finding.setting.as_ref().is_none_or(|setting| owned.insert(setting.clone())));
    advice.answer = answer(found.first().map(|(_, finding)| finding), seen);
    advice.findings = found.into_iter().map(|(_, finding)| finding).collect();
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

/// An installation shows in its files alone, and file systems on their machine.
fn steps_seen(seen: &SeenServer) -> Vec<AdviceStep> {
    let is_seen = |step: &AdviceStep| match step {
        AdviceStep::Install => false,
        AdviceStep::FileSystem => seen.machine.is_some(),
        _ => true,
    };
    AdviceStep::ALL.into_iter().filter(is_seen).collect()
}

fn answer(first: Option<&AdviceFinding>, seen: &SeenServer) -> String {
    let limit = match seen.limit {
        Some(limit) => format!("limited by {}", limit.words()),
        None => "without a clear limit".to_owned(),
    };
    match first.filter(|first| first.severity > Severity::Info) {
        Some(first) => format!("Do first: {}. {}", first.advised, first.why),
        None => format!("Nothing to do: {} rules looked at a load point that was {limit}.", RULES.len()),
    }
}

fn finding(rule: &str, step: AdviceStep, of: WindowFinding, seen: &SeenServer) -> AdviceFinding {
    let flavour = seen.release.flavour;
    let facts = of.change.as_ref().and_then(|(name, _)| facts(name));
    let advised = match (&of.advised, &of.change) {
        (Some(advised), _) => advised.clone(),
        (None, Some((name, value))) => format!("set {name} = {value}{}", how(name, value, seen)),
        (None, None) => "see why".to_owned(),
    };
    let costs = of.change.iter().flat_map(|(name, value)| classes(name, value, flavour)).collect();
    AdviceFinding {
        rule: rule.to_owned(),
        step,
        severity: of.severity,
        setting: of.change.as_ref().map(|(name, _)| (*name).to_owned()),
        at: None,
        found: of.found,
        advised,
        line: of.change.as_ref().map(|(name, value)| format!("{name} = {value}")),
        why: of.why,
        costs,
        shows: facts.and_then(|facts| facts.shows.clone()),
        source: facts.map_or_else(|| "docs/bottlenecks.md".to_owned(), |facts| facts.source(flavour)),
        confirmed: true,
        worth: of.worth,
        measured: None,
    }
}

/// How a value is put into effect.
fn how(name: &str, value: &str, seen: &SeenServer) -> String {
    let release = seen.release;
    let applies = facts(name).and_then(|facts| facts.applies(release));
    // SQL has no suffixes.
    let number = quantity::size(value).map_or_else(|_| value.to_owned(), |bytes| bytes.to_string());
    let persists = release.flavour == Flavour::MySql && release.version >= (8, 0, 0);
    match (applies, persists) {
        (Some(Applies::Live | Applies::Session), true) => format!(": SET PERSIST {name} = {number}"),
        (Some(Applies::Live | Applies::Session), false) => {
            format!(": SET GLOBAL {name} = {number}, and the line in the option file")
        }
        (Some(Applies::Restart), _) => " in the option file, and restart".to_owned(),
        (Some(Applies::Initialisation), _) => ", with a new data directory".to_owned(),
        (None, _) => String::new(),
    }
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

    #[test]
    fn how_a_value_is_set_depends_on_the_server() {
        let mut seen = limited_by(Bottleneck::ReadIo);
        seen.release = plimsoll_plan::knowledge::Release::parse("mariadb-10.11").unwrap();
        assert_eq!(
            how("innodb_io_capacity", "400", &seen),
            ": SET GLOBAL innodb_io_capacity = 400, and the line in the option file"
        );
        assert_eq!(how("innodb_log_buffer_size", "32M", &seen), " in the option file, and restart");
    }

    #[test]
    fn of_a_moment_nothing_is_known() {
        let advice = judge("run, 8 connections", &SeenServer { seconds: 3.0, ..limited_by(Bottleneck::ReadIo) });
        assert!(advice.findings.is_empty() && advice.unseen[0].starts_with("3.00 s were measured"), "{advice:#?}");
    }
}
