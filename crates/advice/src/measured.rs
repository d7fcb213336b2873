//! From advice to the ladder that measures it, and from what the ladder found to what is said and written.

use crate::window::is_need;
use plimsoll_model::advice::{Advice, AdviceFinding, MeasuredWorth, Severity};
use plimsoll_model::lab::{Ladder, RungVerdict};
use plimsoll_model::number::{counted, signed_percent, signed_range};
use plimsoll_model::{Class, Estimate};
use plimsoll_plan::lab::file::draft::{DraftRung, DraftSettings};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Fewer rounds decide too little to be worth a rung.
const FEWEST_ROUNDS: u32 = 5;
/// What so many rounds leave open, twice as many would, too.
pub const MOST_ROUNDS: u32 = 40;

/// What a ladder can try of this advice, most promising first; without what was tried before.
pub fn proposals(advice: &Advice, tried: &[AdviceFinding]) -> Vec<AdviceFinding> {
    let mut proposals = most_promising(advice.findings.clone());
    proposals.retain(|finding| !was_tried(finding, tried));
    proposals
}

/// Those that are a change of settings, most promising first. What is needed is not among them: it is needed whatever it costs.
pub fn most_promising(mut findings: Vec<AdviceFinding>) -> Vec<AdviceFinding> {
    findings.retain(|finding| finding.change().is_some() && !is_need(finding));
    findings.sort_by(|a, b| b.worth.total_cmp(&a.worth).then(b.severity.cmp(&a.severity)));
    findings
}

/// Whether this change, if it is one, was tried.
fn was_tried(finding: &AdviceFinding, tried: &[AdviceFinding]) -> bool {
    finding.change().is_some_and(|change| tried.iter().any(|before| before.change() == Some(change)))
}

/// The rung of a proposal.
pub fn rung(proposal: &AdviceFinding) -> DraftRung {
    let setting = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    DraftRung {
        name: rung_name(proposal),
        settings: proposal.changes().map(setting).collect(),
        why: format!("{}: {}", proposal.rule, proposal.found),
    }
}

/// The setting, as names of rungs are written.
fn rung_name(proposal: &AdviceFinding) -> String {
    proposal.setting.as_deref().unwrap_or_default().replace('_', "-")
}

/// How many of so many rungs there is time for, and the rounds of each at most; none if there is not enough for one.
/// `each` is the time of a trial, `left` that of all, seconds. Where all of them are kept it takes longer: what each is worth
/// beside the others is measured again.
pub fn affordable(rungs: usize, each: f64, left: f64) -> Option<(usize, u32)> {
    let rounds = |rungs: usize| (left / (2.0 * each.max(1.0) * (rungs + 1) as f64)) as u32;
    let taken = (1..=rungs).rev().find(|taken| rounds(*taken) >= FEWEST_ROUNDS)?;
    Some((taken, rounds(taken).min(MOST_ROUNDS)))
}

/// The proposals that came to their rungs, with what those brought.
pub fn with_worth(proposals: Vec<AdviceFinding>, ladder: &Ladder) -> Vec<AdviceFinding> {
    let measured = |finding: AdviceFinding| {
        let step = ladder.steps.iter().find(|step| step.rung == rung_name(&finding))?;
        let worth = MeasuredWorth { verdict: step.verdict, why: step.why.clone(), change: step.change.clone() };
        Some(judged(AdviceFinding { measured: Some(worth), ..finding }))
    };
    proposals.into_iter().filter_map(measured).collect()
}

/// What does not help is not advised any more.
fn judged(finding: AdviceFinding) -> AdviceFinding {
    let names: Vec<&str> = finding.changes().map(|(name, _)| name).collect();
    let is = if names.len() > 1 { "they are" } else { "it is" };
    let left = format!("leave {} as {is}", names.join(" and "));
    match finding.measured.as_ref().map(|measured| measured.verdict) {
        None | Some(RungVerdict::Kept) => finding,
        Some(RungVerdict::NotMeasurableHere) => AdviceFinding { severity: Severity::Info, ..finding },
        Some(_) => AdviceFinding { severity: Severity::Info, advised: left, ..finding },
    }
}

/// What was kept: of a setting that was changed twice the later value.
pub fn kept(measured: &[AdviceFinding]) -> Vec<&AdviceFinding> {
    let mut seen = BTreeSet::new();
    let is_kept = |finding: &&AdviceFinding| {
        finding.measured.as_ref().is_some_and(|measured| measured.verdict == RungVerdict::Kept)
    };
    let mut kept: Vec<&AdviceFinding> =
        measured.iter().rev().filter(is_kept).filter(|finding| seen.insert(finding.setting.as_ref())).collect();
    kept.reverse();
    kept
}

/// The settings of what was kept.
pub fn kept_settings(measured: &[AdviceFinding]) -> DraftSettings {
    let changes = kept(measured).into_iter().flat_map(|finding| finding.changes());
    changes.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// An option file with what was kept, each line below what it brought and what it costs. `head` says what was measured.
pub fn option_file(head: &[String], measured: &[AdviceFinding]) -> String {
    let mut text: String = head.iter().fold(String::new(), |text, line| text + "# " + line + "\n");
    text.push_str("[mysqld]\n");
    for finding in kept(measured) {
        let why = finding.measured.iter().flat_map(|measured| measured.why.lines());
        why.for_each(|why| text.push_str(&format!("# {why}\n")));
        text.push_str(&format!("# {}\n", costs(&finding.costs)));
        text.extend(finding.line.iter().map(|line| format!("{line}\n")));
    }
    text
}

/// `class d1: loses the last second of commits if the machine fails`.
fn costs(classes: &[Class]) -> String {
    let worst = classes.iter().max().copied().unwrap_or_default();
    format!("class {worst}: {}", worst.words())
}

/// The advice that is left after everything was measured: `last` is that of the server with what was kept, `together` what
/// all of it brings.
pub fn conclude(last: Advice, measured: Vec<AdviceFinding>, together: Option<&Estimate>) -> Advice {
    let is_left = |finding: &&AdviceFinding| is_need(finding) || !was_tried(finding, &measured);
    let left: Vec<AdviceFinding> = last.findings.iter().filter(is_left).cloned().collect();
    let needed = left.iter().find(|finding| is_need(finding) && finding.change().is_some());
    let answer = match (answer(&measured, together), needed) {
        (None, _) => last.answer.clone(),
        (Some(answer), None) => answer,
        (Some(answer), Some(need)) => format!("{answer} Needed all the same: {}.", need.advised),
    };
    let mut findings = [measured, left].concat();
    findings.sort_by_key(|finding| (finding.step, Reverse(finding.severity)));
    Advice { answer, findings, ..last }
}

/// `+60.0 % (+50.0 % to +70.0 %)`.
pub fn gain_words(gain: &Estimate) -> String {
    let ends = gain.interval().map_or_else(|| "no interval".to_owned(), signed_range);
    format!("{} ({ends})", signed_percent(gain.value))
}

/// The one thing to do; none if nothing was measured.
fn answer(measured: &[AdviceFinding], together: Option<&Estimate>) -> Option<String> {
    let kept = kept(measured);
    if measured.is_empty() {
        return None;
    }
    if kept.is_empty() {
        let of = |verdict: RungVerdict| {
            let is = |finding: &&AdviceFinding| finding.measured.as_ref().is_some_and(|of| of.verdict == verdict);
            let count = measured.iter().filter(is).count();
            (count > 0).then(|| format!("{count} {}", verdict.words()))
        };
        let told: Vec<String> = RungVerdict::ALL.into_iter().filter_map(of).collect();
        let all = counted(measured.len() as f64, "proposal");
        return Some(format!("Leave the settings as they are: {all}, none shown to help here ({}).", told.join(", ")));
    }
    let lines: Vec<String> = kept.iter().filter_map(|finding| finding.change_words()).collect();
    let worth = together.map(|gain| format!(": {}", gain_words(gain)));
    Some(format!("Do first: set {}{}, as measured here.", lines.join(", "), worth.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::judge;
    use crate::window::rules::fixtures::{limited_by, needs};
    use plimsoll_model::Metric;
    use plimsoll_model::diagnosis::Bottleneck;
    use plimsoll_model::durability::Risks;
    use plimsoll_model::lab::LadderStep;

    /// What a server that reads too much and opens tables again and again is advised.
    fn advice() -> Advice {
        let mut seen = limited_by(Bottleneck::ReadIo);
        seen.counted.table_cache_overflows = Some(2.0);
        seen.settings.remove("innodb_flush_method");
        judge("run, 8 connections", &seen)
    }

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate::new(value, (low, high), 0.95, 8.0, "t interval".to_owned())
    }

    fn ladder(verdicts: &[(&str, RungVerdict)]) -> Ladder {
        let step = |(rung, verdict): &(&str, RungVerdict)| LadderStep {
            rung: (*rung).to_owned(),
            verdict: *verdict,
            why: format!("{rung} is {}", verdict.words()),
            change: Some(estimate(0.6, 0.5, 0.7)),
            with: None,
            without: None,
            risks: Risks::new(),
            worth: None,
            stopping: None,
        };
        Ladder {
            variant: "base".to_owned(),
            metric: Metric::TransactionsPerSecond,
            floor: None,
            steps: verdicts.iter().map(step).collect(),
            gain: None,
        }
    }

    #[test]
    fn a_ladder_begins_with_what_is_worth_most_and_tries_nothing_twice() {
        let all = proposals(&advice(), &[]);
        let names: Vec<_> = all.iter().filter_map(|of| of.setting.as_deref()).collect();
        assert_eq!(names, ["innodb_buffer_pool_size", "table_open_cache"]);
        let first = rung(&all[0]);
        assert_eq!(first.name, "innodb-buffer-pool-size");
        assert_eq!(first.settings["innodb_buffer_pool_size"], "4G");
        assert!(first.why.starts_with("mem.pool-small: 70 % of the transactions’ time"), "{}", first.why);
        assert_eq!(proposals(&advice(), &all[..1]).len(), 1);
    }

    /// What a server without a binary log is advised whose temporary tables go to disk.
    fn advice_with_needs() -> Advice {
        let mut seen = limited_by(Bottleneck::CommitSync);
        seen.release = plimsoll_plan::knowledge::Release::parse("mariadb-10.11").unwrap();
        (seen.counted.tmp_tables, seen.counted.tmp_disk_tables) = (Some(100.0), Some(20.0));
        seen.settings.insert("log_bin".to_owned(), "OFF".to_owned());
        seen.needs = needs("replication = true\nisolation = \"READ-COMMITTED\"");
        judge("run, 8 connections", &seen)
    }

    #[test]
    fn what_is_needed_is_not_tried_and_stays_advised_whatever_was_measured() {
        let all = proposals(&advice_with_needs(), &[]);
        let rules: Vec<&str> = all.iter().map(|of| of.rule.as_str()).collect();
        assert_eq!(rules, ["tmp.disk"]);
        let measured = with_worth(all, &ladder(&[("tmp-table-size", RungVerdict::Worse)]));
        let told = conclude(advice_with_needs(), measured, None);
        let log = told.findings.iter().find(|of| of.rule == "needs.replication").expect("it is needed");
        assert_eq!((log.severity, log.change()), (Severity::Critical, Some(("log_bin", "binlog"))));
        assert!(told.findings.iter().any(|of| of.rule == "needs.isolation" && of.severity == Severity::Warn));
        assert!(told.answer.contains("none shown to help here"), "{}", told.answer);
        assert!(told.answer.ends_with("Needed all the same: set log_bin = binlog in the option file, and restart."));
    }

    #[test]
    fn settings_of_which_one_does_nothing_without_the_other_are_one_rung() {
        let all = proposals(&advice_with_needs(), &[]);
        let settings: Vec<(String, String)> = rung(&all[0]).settings.into_iter().collect();
        let to = |name: &str| (name.to_owned(), "32M".to_owned());
        assert_eq!(settings, [to("max_heap_table_size"), to("tmp_table_size")]);
        let kept = with_worth(all.clone(), &ladder(&[("tmp-table-size", RungVerdict::Kept)]));
        assert_eq!(kept_settings(&kept).len(), 2);
        let text = option_file(&[], &kept);
        assert!(text.ends_with("\ntmp_table_size = 32M\nmax_heap_table_size = 32M\n"), "{text}");
        let told = conclude(advice_with_needs(), kept, None).answer;
        assert!(told.starts_with("Do first: set tmp_table_size = 32M and max_heap_table_size = 32M"), "{told}");
        let worse = with_worth(all, &ladder(&[("tmp-table-size", RungVerdict::Worse)]));
        assert_eq!(worse[0].advised, "leave tmp_table_size and max_heap_table_size as they are");
    }

    #[test]
    fn time_bounds_rungs_before_rounds() {
        assert_eq!(affordable(3, 10.0, 1e5), Some((3, MOST_ROUNDS)));
        assert_eq!(affordable(3, 10.0, 1000.0), Some((3, 12)));
        assert_eq!(affordable(3, 10.0, 350.0), Some((2, 5)));
        assert_eq!(affordable(3, 10.0, 150.0), None);
    }

    #[test]
    fn what_was_kept_is_written_with_its_worth_and_its_cost() {
        let verdicts = [("innodb-buffer-pool-size", RungVerdict::Kept), ("table-open-cache", RungVerdict::Worse)];
        let measured = with_worth(proposals(&advice(), &[]), &ladder(&verdicts));
        let text = option_file(&["tpcc".to_owned()], &measured);
        let expected = "# tpcc\n[mysqld]\n# innodb-buffer-pool-size is kept\n# class a: may cost availability\ninnodb_buffer_pool_size = 4G\n";
        assert_eq!(text, expected);
        let told = conclude(advice(), measured, Some(&estimate(0.6, 0.5, 0.7)));
        let answer = "Do first: set innodb_buffer_pool_size = 4G: +60.0 % (+50.0 % to +70.0 %), as measured here.";
        assert_eq!((told.answer.as_str(), told.findings.len()), (answer, 2));
        let worse = told.findings.iter().find(|of| of.rule == "tc.overflow").expect("it was tried");
        assert_eq!((worse.severity, worse.advised.as_str()), (Severity::Info, "leave table_open_cache as it is"));
    }

    #[test]
    fn of_a_setting_that_grew_twice_the_last_value_counts() {
        let mut once =
            with_worth(proposals(&advice(), &[]), &ladder(&[("innodb-buffer-pool-size", RungVerdict::Kept)]));
        once.truncate(1);
        let again = AdviceFinding { line: Some("innodb_buffer_pool_size = 8G".to_owned()), ..once[0].clone() };
        assert_eq!(kept_settings(&[once, vec![again]].concat())["innodb_buffer_pool_size"], "8G");
    }

    #[test]
    fn where_nothing_helped_nothing_is_to_be_done() {
        let verdicts = [("innodb-buffer-pool-size", RungVerdict::NoEffect), ("table-open-cache", RungVerdict::Worse)];
        let told = conclude(advice(), with_worth(proposals(&advice(), &[]), &ladder(&verdicts)), None);
        let answer = "Leave the settings as they are: 2 proposals, none shown to help here (1 no effect, 1 worse).";
        assert_eq!(told.answer, answer);
    }
}
