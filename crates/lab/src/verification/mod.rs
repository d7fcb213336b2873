//! Settings are verified, not assumed: accepted, read back, and observed in behaviour where that shows.
//!
//! [`read_back`] asks the server before the load, [`in_the_load`] adds what the load's own connections have, and
//! [`behaviour`] checks afterwards whether the server did what its settings say. Each can only revoke the verdict.

mod behaviour;
mod error_log;
mod process;

use crate::error::LabError;
use behaviour::Shown;
pub use behaviour::{ObservedBehaviour, Sight, writes_through};
use error_log::Said;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::Failure;
use plimsoll_lanes::Lane;
use plimsoll_model::durability::{Class, Risks};
use plimsoll_model::lab::{Verification, VerificationVerdict};
use plimsoll_model::{Caveat, Flavour};
use plimsoll_plan::knowledge::value::{self, Match};
use plimsoll_plan::knowledge::{self, Release};
use plimsoll_plan::lab::Setting;
use plimsoll_server::settings::ORIGIN;
use plimsoll_wire::text::identifier;
use process::Process;
use std::collections::BTreeMap;

/// What to ask a connection of the load's own for [`in_the_load`].
pub const QUESTION: &str = "SHOW SESSION VARIABLES";
/// Enough of the error log for the lines of one start.
const LOG_LINES: usize = 1000;
/// The server knows the variable, but sessions have none of their own.
const GLOBAL_ONLY: u16 = 1238;

/// What is known about the settings of a running server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verifications {
    pub verifications: Vec<Verification>,
    /// The durability of what is in effect.
    pub risks: Risks,
    pub caveats: Vec<Caveat>,
    /// By the name of a setting, the variable that shows it.
    shown_by: BTreeMap<String, String>,
}

impl Verifications {
    /// Settings that are not in effect.
    pub fn missing(&self) -> impl Iterator<Item = &Verification> {
        self.verifications.iter().filter(|verification| verification.verdict != VerificationVerdict::InEffect)
    }

    /// Says for each setting that is not in effect why results are not for it.
    fn caution(&mut self) {
        self.caveats =
            self.missing().map(|verification| Caveat::new("setting_not_in_effect", objection(verification))).collect();
    }
}

/// Why a setting is not in effect, in a sentence that names it and the place that requests it.
pub fn objection(verification: &Verification) -> String {
    let found = match (&verification.remark, &verification.behaviour, &verification.effective) {
        (Some(remark), _, _) => remark.clone(),
        (None, Some(behaviour), _) => behaviour.clone(),
        (None, None, Some(effective)) => format!("the server has {effective}"),
        (None, None, None) => "the server has no such variable".to_owned(),
    };
    let Verification { name, requested, origin, .. } = verification;
    format!("{name} = {requested} ({origin}) is not in effect: {found}; results are for what the server has")
}

/// Before the load: what the error log says, what is read back in a new connection, and what the process shows.
/// `requested` is everything that the plan asks for, `variables` all global variables of the server.
///
/// # Errors
/// If the server cannot be asked.
pub fn read_back(
    target: &mut OpenTarget,
    requested: &[Setting],
    variables: &BTreeMap<String, String>,
) -> Result<Verifications, LabError> {
    let Release { version, .. } = Release::of(target.flavour, &target.version);
    let log = target.server.as_ref().map(|server| server.error_log_tail(LOG_LINES)).unwrap_or_default();
    let process = target.server.as_ref().and_then(|server| Process::of(server.pid()));
    let mut verifications =
        Verifications { risks: knowledge::risks(variables, target.flavour), ..Verifications::default() };
    if target.lane.as_ref().is_some_and(Lane::acknowledges_early) {
        // Whatever the server flushes.
        verifications.risks.extend([Class::D1, Class::D2]);
    }
    for setting in requested {
        let (option, value) = knowledge::unswitched(&setting.name, &setting.value);
        let variable = knowledge::variable(option, target.flavour, version);
        let variable = if variables.contains_key(variable) { variable } else { setting.name.as_str() };
        let mut verification = first_verification(setting, target.flavour, variables.get(variable));
        hear(&mut verification, error_log::lines_of(&log, option));
        verification.compare(value, variables.get(variable));
        if verification.effective.is_some() {
            verifications.shown_by.insert(setting.name.clone(), variable.to_owned());
            if let Some(session) = session_value(target, variable)? {
                verification.compare_session(value, &session, "a new session");
            }
        }
        if let Some(process) = &process {
            verification.show(process.shows(option, value));
        }
        verifications.verifications.push(verification);
    }
    verifications.caution();
    Ok(verifications)
}

/// What the load's own connections have: `answer` is their answer to [`QUESTION`], which has global values where sessions have
/// none of their own.
pub fn in_the_load(verifications: &mut Verifications, answer: &BTreeMap<String, String>) {
    for verification in &mut verifications.verifications {
        let variable = verifications.shown_by.get(&verification.name);
        let Some(value) = variable.and_then(|variable| answer.get(variable)) else { continue };
        verification.load = Some(value.clone());
        let Verification { name, requested, .. } = verification.clone();
        let (_, requested) = knowledge::unswitched(&name, &requested);
        verification.compare_session(requested, value, "the load's own session");
    }
    verifications.caution();
}

/// After the load: whether what the server did in the meantime agrees with its settings.
pub fn behaviour(verifications: &mut Verifications, evidence: &ObservedBehaviour) {
    for verification in &mut verifications.verifications {
        let effective = verification.effective.clone().unwrap_or_else(|| verification.requested.clone());
        verification.show(evidence.shows(&verification.name, &effective));
    }
    verifications.caution();
}

fn first_verification(setting: &Setting, flavour: Flavour, effective: Option<&String>) -> Verification {
    let origin = if setting.at.file.is_empty() { ORIGIN.to_owned() } else { setting.at.to_string() };
    Verification {
        name: setting.name.clone(),
        requested: setting.value.clone(),
        origin,
        effective: effective.cloned(),
        load: None,
        verdict: VerificationVerdict::InEffect,
        class: knowledge::class(&setting.name, &setting.value, flavour),
        log: Vec::new(),
        behaviour: None,
        remark: None,
    }
}

fn hear(verification: &mut Verification, lines: Vec<(Said, String)>) {
    for (said, line) in lines {
        match said {
            Said::Removed => verification.object(VerificationVerdict::Removed, &line),
            Said::Ignored => verification.object(VerificationVerdict::NotApplied, &line),
            Said::Noted => {}
        }
        verification.log.push(line);
    }
}

/// The value in this connection, which is new to the server; `None` if sessions have no value of it.
fn session_value(target: &mut OpenTarget, variable: &str) -> Result<Option<String>, LabError> {
    match target.control.rows(&format!("SELECT 'value', @@SESSION.{}", identifier(variable))) {
        Ok(rows) => Ok(rows.pairs().next().map(|(_, value)| value.to_owned())),
        Err(Failure::Server(message)) if message.code == GLOBAL_ONLY => Ok(None),
        // A variable that only SHOW knows.
        Err(Failure::Server(_)) => Ok(None),
        Err(failure) => Err(LabError::sql("reading a setting back", &failure)),
    }
}

/// How a verification loses its verdict: the first reason stays.
trait Doubt {
    fn object(&mut self, verdict: VerificationVerdict, why: &str);
    fn compare(&mut self, requested: &str, effective: Option<&String>);
    fn compare_session(&mut self, requested: &str, session: &str, whose: &str);
    fn show(&mut self, shown: Option<Shown>);
}

impl Doubt for Verification {
    fn object(&mut self, verdict: VerificationVerdict, why: &str) {
        if self.verdict == VerificationVerdict::InEffect {
            self.verdict = verdict;
            self.remark = Some(why.to_owned());
        }
    }

    fn compare(&mut self, requested: &str, effective: Option<&String>) {
        let Some(effective) = effective else {
            let remark = "it has no variable; all that shows is that the server started with it";
            self.remark.get_or_insert_with(|| remark.to_owned());
            return;
        };
        match value::compare(&self.name, requested, effective) {
            Match::Same => {}
            Match::Rounded => {
                self.remark.get_or_insert_with(|| format!("rounded by the server to {effective}"));
            }
            Match::Different => {
                self.object(
                    VerificationVerdict::NotApplied,
                    &format!("{requested} was requested, the server has {effective}"),
                );
            }
        }
    }

    fn compare_session(&mut self, requested: &str, session: &str, whose: &str) {
        if value::compare(&self.name, requested, session) == Match::Different {
            self.object(VerificationVerdict::NotApplied, &format!("{requested} was requested, {whose} has {session}"));
        }
    }

    fn show(&mut self, shown: Option<Shown>) {
        let Some(Shown { what, contradicts }) = shown else { return };
        if contradicts {
            self.object(VerificationVerdict::NotApplied, &what);
        }
        self.behaviour = Some(what);
    }
}

#[cfg(test)]
mod tests;
