//! Advice: what to do about a server, why, what it costs in safety, and how to see that it was done.

use crate::durability::Class;
use crate::estimate::Estimate;
use crate::lab::RungVerdict;
use crate::origin::Where;
use serde::{Deserialize, Serialize};

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// The server does something else than it seems, or is less safe than it could be.
    Warn,
    /// The server does not start, or data are at risk.
    Critical,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warn => "warn",
            Severity::Critical => "critical",
        }
    }
}

/// The six steps of "Optimizing MySQL Database Application Performance" (Sun BluePrints, 2008, chapter 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdviceStep {
    Assess,
    Install,
    Io,
    Memory,
    FileSystem,
    Measure,
}

impl AdviceStep {
    pub const ALL: [AdviceStep; 6] = [
        AdviceStep::Assess,
        AdviceStep::Install,
        AdviceStep::Io,
        AdviceStep::Memory,
        AdviceStep::FileSystem,
        AdviceStep::Measure,
    ];

    /// From 1.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// A heading.
    pub fn words(self) -> &'static str {
        match self {
            AdviceStep::Assess => "Assess what is needed",
            AdviceStep::Install => "Install and configure",
            AdviceStep::Io => "Fit the kinds of I/O",
            AdviceStep::Memory => "Memory and CPU",
            AdviceStep::FileSystem => "File systems",
            AdviceStep::Measure => "Measure and adjust",
        }
    }
}

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdviceFinding {
    /// What found it: `config.removed`.
    pub rule: String,
    pub step: AdviceStep,
    pub severity: Severity,
    /// The setting as variables are written, if it is about one.
    pub setting: Option<String>,
    /// Where somebody wrote what is to be changed.
    pub at: Option<Where>,
    /// What is: the line as it is written.
    pub found: String,
    /// What to do, in the imperative: `delete the line`.
    pub advised: String,
    /// What the line should say; empty if it should go, none if nobody but its author knows. Several lines where one does
    /// nothing without the others.
    pub line: Option<String>,
    /// Why, in a sentence.
    pub why: String,
    /// What it costs in safety as it is.
    pub costs: Vec<Class>,
    /// How to see that it took effect.
    pub shows: Option<String>,
    /// What it is known from.
    pub source: String,
    /// Whether a server of this series said so itself; else its documentation does.
    pub confirmed: bool,
    /// Share of the transactions' time that is at stake, 0 to 1; 0 where none is, or where nobody measured.
    pub worth: f64,
    /// What it brought, where it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredWorth>,
}

impl AdviceFinding {
    /// A setting and the value that it should have, if that is what there is to do.
    pub fn change(&self) -> Option<(&str, &str)> {
        self.changes().next().filter(|(name, _)| self.setting.as_deref() == Some(*name))
    }

    /// The settings of all its lines and the values that they should have; that of [`AdviceFinding::change`] comes first.
    pub fn changes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.line.iter().flat_map(|line| line.lines()).filter_map(|line| line.split_once(" = "))
    }

    /// All its lines in one: `tmp_table_size = 32M and max_heap_table_size = 32M`.
    pub fn change_words(&self) -> Option<String> {
        self.line.as_ref().map(|line| line.replace('\n', " and "))
    }
}

/// What a piece of advice brought, as a rung of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredWorth {
    pub verdict: RungVerdict,
    /// The sentence that goes with the verdict.
    pub why: String,
    /// With it ÷ without it − 1, as a share.
    pub change: Option<Estimate>,
}

/// What was found, and what was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// What it is about: `my.cnf for MySQL 9.7`.
    pub about: String,
    /// The one thing to do first, or that there is nothing to do.
    pub answer: String,
    /// By step; in each, what matters most first.
    pub findings: Vec<AdviceFinding>,
    /// The steps of which something could be seen.
    pub steps_seen: Vec<AdviceStep>,
    pub looked_at: Vec<String>,
    /// What could not be seen, and what would show it.
    pub unseen: Vec<String>,
}

impl Advice {
    /// The findings of one step, in their order.
    pub fn of_step(&self, step: AdviceStep) -> impl Iterator<Item = &AdviceFinding> {
        self.findings.iter().filter(move |finding| finding.step == step)
    }

    /// The most severe of all.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}
