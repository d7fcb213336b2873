//! Judges an option file for a release, without a server: what is dead, renamed, shadowed, clamped, contradictory, idle or
//! dangerous in it.
//!
//! [`read`] reads it, [`options`] says what each line means there, and each file of `rules/` has one function, `judge`, from
//! [`options::ConfigOptions`] to findings.

pub mod options;
pub mod read;
pub mod rules;

use options::ConfigOptions;
use plimsoll_model::Class;
use plimsoll_model::advice::{Advice, AdviceFinding, AdviceStep, Severity};
use plimsoll_model::number::counted;
use plimsoll_plan::knowledge::Release;
use read::ReadOptions;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Findings of one rule that are shown; of a file with more of them, the rest is counted.
const MOST_OF_A_RULE: usize = 50;

/// What to do about these files, for a server of this release, where a crash may cost what is `allowed`.
pub fn judge(read: ReadOptions, release: Release, allowed: BTreeSet<Class>) -> Advice {
    let file = read.files.first().cloned().unwrap_or_default();
    let looked_at = looked_at(&read);
    let options = ConfigOptions::of(read, release, allowed);
    let judged = owned(rules::RULES.iter().flat_map(|rule| rule(&options)).collect());
    let mut findings = few(judged);
    findings.sort_by_key(|finding| (finding.step, Reverse(finding.severity), finding.at.clone()));
    Advice {
        about: format!("{file} for {release}"),
        answer: answer(&file, &findings, &options),
        findings,
        steps_seen: vec![AdviceStep::Assess, AdviceStep::Install, AdviceStep::Io, AdviceStep::Memory],
        looked_at,
        unseen: vec![
            "what a running server has made of these lines: SHOW GLOBAL VARIABLES tells it".to_owned(),
            "options of the command line and of mysqld-auto.cnf, which win over these files".to_owned(),
        ],
    }
}

fn looked_at(read: &ReadOptions) -> Vec<String> {
    let files = read.files.iter().skip(1).map(|file| format!("{file}, which is included"));
    let [options, lines, files_read] =
        [(read.options.len(), "option"), (read.lines, "line"), (read.files.len(), "file")]
            .map(|(count, one)| counted(count as f64, one));
    let whole = format!("{options} in {lines} of {files_read}");
    [whole].into_iter().chain(files.take(MOST_OF_A_RULE)).collect()
}

/// One finding for each line, the most severe: what else is wrong with a line shows when that is mended.
fn owned(mut findings: Vec<AdviceFinding>) -> Vec<AdviceFinding> {
    findings.sort_by_key(|finding| (finding.at.clone(), Reverse(finding.severity)));
    findings.dedup_by(|later, kept| later.at.is_some() && later.at == kept.at);
    findings
}

/// The first of each rule's findings, and how many more there are.
fn few(findings: Vec<AdviceFinding>) -> Vec<AdviceFinding> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for finding in &findings {
        *counts.entry(finding.rule.clone()).or_default() += 1;
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let shown = findings.into_iter().filter_map(|mut finding| {
        let seen = seen.entry(finding.rule.clone()).or_default();
        *seen += 1;
        let more = counts[&finding.rule].saturating_sub(MOST_OF_A_RULE);
        if *seen == MOST_OF_A_RULE && more > 0 {
            finding.why = format!("{} {more} more lines are like it.", finding.why);
        }
        (*seen <= MOST_OF_A_RULE).then_some(finding)
    });
    shown.collect()
}

fn answer(file: &str, findings: &[AdviceFinding], options: &ConfigOptions) -> String {
    // What keeps the server from starting comes before what it costs when it runs.
    let urgency = |finding: &&AdviceFinding| {
        let starts = finding.step == AdviceStep::Install;
        (finding.severity, starts, Reverse((finding.step, finding.at.clone())))
    };
    let worst = findings.iter().max_by_key(urgency);
    let Some(first) = worst.filter(|first| first.severity > Severity::Info) else {
        let looked_at = counted(options.of_server().count() as f64, "option");
        return format!("Nothing to do: looked at {looked_at} of the server, for {}.", options.release);
    };
    let place = match &first.at {
        Some(at) if at.file == file => format!(" (line {})", at.line),
        Some(at) => format!(" ({}, line {})", at.file, at.line),
        None => String::new(),
    };
    let name = first.setting.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
    format!("Do first: {name}{}{place}. {}", first.advised, first.why)
}
