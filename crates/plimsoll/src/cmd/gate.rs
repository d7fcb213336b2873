//! What a gate decided: said, written where continuous integration looks for it, and as an exit code.

mod formats;

use super::report::generated;
use super::{CHECK_FAILED, DONE, UNDECIDED, write_whole};
use crate::args::VerdictArgs;
use crate::terminal;
use anyhow::Context;
use plimsoll_lab::LabError;
use plimsoll_model::gate::{Decision, GateFinding};
use plimsoll_render::{Format, render};
use serde::Serialize;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Where GitHub Actions takes the summary of a job from (GitHub, "Variables": `GITHUB_STEP_SUMMARY`).
const JOB_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The options that set limits on what `run` and `lab` measure.
pub const LIMITS: &str = "--fail-if or --fail-if-slower";

/// What was judged.
pub struct GateOutcome<'a> {
    /// What its test suite is called: `plimsoll run`.
    pub suite: &'a str,
    /// The answer of what was measured, one sentence.
    pub answer: String,
    pub findings: Vec<GateFinding>,
    /// Why it ended before its plan did.
    pub ended_early: Option<String>,
}

/// A document with what the gate decided.
#[derive(Serialize)]
pub struct Gated<'a, T> {
    #[serde(flatten)]
    pub document: &'a T,
    #[serde(skip_serializing_if = "<[GateFinding]>::is_empty")]
    pub gate: &'a [GateFinding],
}

/// Refuses what would only show after everything was measured: outputs that nothing fills, files that cannot be written.
/// `limits` are the options that set one.
///
/// # Errors
/// [`LabError::Refused`].
pub fn check(args: &VerdictArgs, limits: &str, has_limits: bool) -> Result<(), LabError> {
    let asked =
        [("--fail-if-unclear", args.fail_if_unclear), ("--junit", args.junit.is_some()), ("--github", args.github)];
    if let Some((option, _)) = asked.iter().find(|(_, asked)| *asked && !has_limits) {
        return Err(LabError::Refused(format!("{option} says what a gate decided; give it a limit: {limits}")));
    }
    let Some(file) = &args.junit else { return Ok(()) };
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let why = match (file.is_dir(), directory.is_dir()) {
        (true, _) => "it is a directory",
        (false, false) => "its directory does not exist",
        (false, true) => return Ok(()),
    };
    Err(LabError::Refused(format!("--junit {}: {why}; accepted is the name of a file", file.display())))
}

/// Says what was decided and writes it; the exit code is `code` if that is not [`DONE`].
///
/// # Errors
/// If something cannot be written.
pub fn conclude(args: &VerdictArgs, judged: &GateOutcome<'_>, code: u8) -> anyhow::Result<u8> {
    let findings = &judged.findings;
    findings.iter().for_each(|finding| terminal::note(&finding.sentence()));
    if let Some(file) = &args.junit {
        let xml = formats::junit(judged.suite, findings, args.fail_if_unclear, judged.ended_early.as_deref());
        write_whole(file, xml).with_context(|| format!("the JUnit file cannot be written: {}", file.display()))?;
    }
    if args.github && !findings.is_empty() {
        formats::annotations(findings, args.fail_if_unclear).lines().for_each(terminal::note);
        summarise(judged)?;
    }
    let any = |decision| formats::count(findings, decision) > 0;
    Ok(match code {
        DONE if any(Decision::Failed) => CHECK_FAILED,
        DONE if any(Decision::Undecided) && args.fail_if_unclear => UNDECIDED,
        code => code,
    })
}

/// Adds to the summary of the job, if there is one.
fn summarise(judged: &GateOutcome<'_>) -> anyhow::Result<()> {
    let Some(file) = std::env::var_os(JOB_SUMMARY).filter(|file| !file.is_empty()) else { return Ok(()) };
    let document = formats::document(&judged.answer, &judged.findings, &generated());
    let markdown = render(&document, Format::Markdown)?;
    let opened = OpenOptions::new().create(true).append(true).open(&file);
    opened
        .and_then(|mut opened| opened.write_all(markdown.as_bytes()))
        .with_context(|| format!("the summary of the job cannot be written: {}", Path::new(&file).display()))
}
