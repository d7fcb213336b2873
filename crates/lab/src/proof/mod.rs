//! Settings are proved, not assumed: accepted, read back, and where it shows, acted upon.
//!
//! [`read_back`] asks the server before the load, [`in_the_load`] adds what the load's own connections have, and
//! [`behaviour`] looks afterwards whether the server did what its settings say. Each can only take a verdict away.

mod behaviour;
mod error_log;
mod process;

use crate::error::LabError;
use behaviour::Shown;
pub use behaviour::{Evidence, Sight};
use error_log::Said;
use plimsoll_data::target::OpenTarget;
use plimsoll_engine::Failure;
use plimsoll_model::durability::Risks;
use plimsoll_model::lab::{Proof, ProofVerdict};
use plimsoll_model::{Caveat, Flavour};
use plimsoll_plan::knowledge;
use plimsoll_plan::knowledge::value::{self, Match};
use plimsoll_plan::lab::Setting;
use plimsoll_server::settings::ORIGIN;
use plimsoll_wire::text::identifier;
use process::Process;
use std::collections::BTreeMap;

/// What to ask a connection of the load's own for [`in_the_load`].
pub const QUESTION: &str = "SHOW SESSION VARIABLES";
/// As much of the error log as a start fills.
const LOG_LINES: usize = 1000;
/// The server knows the variable, but sessions have none of their own.
const GLOBAL_ONLY: u16 = 1238;

/// What is known of the settings of a running server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proofs {
    pub proofs: Vec<Proof>,
    /// Of what is in effect.
    pub risks: Risks,
    pub caveats: Vec<Caveat>,
    /// Names of settings of which each session has its own, and the variable that shows them.
    of_sessions: BTreeMap<String, String>,
}

impl Proofs {
    /// Settings that are not in effect.
    pub fn missing(&self) -> impl Iterator<Item = &Proof> {
        self.proofs.iter().filter(|proof| proof.verdict != ProofVerdict::InEffect)
    }

    /// Says of each setting that is not in effect why results are not for it.
    fn caution(&mut self) {
        self.caveats = self.missing().map(|proof| Caveat::new("setting_not_in_effect", objection(proof))).collect();
    }
}

/// Why a setting is not in effect, in a sentence that names it and the place where it was asked for.
pub fn objection(proof: &Proof) -> String {
    let found = match (&proof.remark, &proof.behaviour, &proof.effective) {
        (Some(remark), _, _) => remark.clone(),
        (None, Some(behaviour), _) => behaviour.clone(),
        (None, None, Some(effective)) => format!("the server has {effective}"),
        (None, None, None) => "the server has no such variable".to_owned(),
    };
    let Proof { name, requested, origin, .. } = proof;
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
) -> Result<Proofs, LabError> {
    let version = numbers(&target.version);
    let log = target.server.as_ref().map(|server| server.error_log_tail(LOG_LINES)).unwrap_or_default();
    let process = target.server.as_ref().and_then(|server| Process::of(server.pid()));
    let mut proofs = Proofs { risks: knowledge::risks(variables, target.flavour), ..Proofs::default() };
    for setting in requested {
        let (option, value) = knowledge::unswitched(&setting.name, &setting.value);
        let variable = knowledge::variable(option, target.flavour, version);
        let variable = if variables.contains_key(variable) { variable } else { setting.name.as_str() };
        let mut proof = first_proof(setting, target.flavour, variables.get(variable));
        hear(&mut proof, error_log::lines_of(&log, option));
        proof.compare(value, variables.get(variable));
        if proof.effective.is_some()
            && let Some(session) = session_value(target, variable)?
        {
            proof.compare_session(value, &session, "a new session");
            proofs.of_sessions.insert(setting.name.clone(), variable.to_owned());
        }
        if let Some(process) = &process {
            proof.show(process.shows(option, value));
        }
        proofs.proofs.push(proof);
    }
    proofs.caution();
    Ok(proofs)
}

/// What the load's own connections have: `answer` is theirs to [`QUESTION`].
pub fn in_the_load(proofs: &mut Proofs, answer: &BTreeMap<String, String>) {
    for proof in &mut proofs.proofs {
        let variable = proofs.of_sessions.get(&proof.name);
        let Some(value) = variable.and_then(|variable| answer.get(variable)) else { continue };
        proof.load = Some(value.clone());
        let Proof { name, requested, .. } = proof.clone();
        let (_, requested) = knowledge::unswitched(&name, &requested);
        proof.compare_session(requested, value, "the load's own session");
    }
    proofs.caution();
}

/// After the load: whether what the server did meanwhile agrees with its settings.
pub fn behaviour(proofs: &mut Proofs, evidence: &Evidence) {
    for proof in &mut proofs.proofs {
        let effective = proof.effective.clone().unwrap_or_else(|| proof.requested.clone());
        proof.show(evidence.shows(&proof.name, &effective));
    }
    proofs.caution();
}

fn first_proof(setting: &Setting, flavour: Flavour, effective: Option<&String>) -> Proof {
    let origin = if setting.at.file.is_empty() { ORIGIN.to_owned() } else { setting.at.to_string() };
    Proof {
        name: setting.name.clone(),
        requested: setting.value.clone(),
        origin,
        effective: effective.cloned(),
        load: None,
        verdict: ProofVerdict::InEffect,
        class: knowledge::class(&setting.name, &setting.value, flavour),
        log: Vec::new(),
        behaviour: None,
        remark: None,
    }
}

fn hear(proof: &mut Proof, lines: Vec<(Said, String)>) {
    for (said, line) in lines {
        match said {
            Said::Removed => proof.object(ProofVerdict::Removed, &line),
            Said::Ignored => proof.object(ProofVerdict::NotApplied, &line),
            Said::Noted => {}
        }
        proof.log.push(line);
    }
}

/// What this connection has, of which the server says that it is new; none for what sessions have no value of.
fn session_value(target: &mut OpenTarget, variable: &str) -> Result<Option<String>, LabError> {
    match target.control.rows(&format!("SELECT 'value', @@SESSION.{}", identifier(variable))) {
        Ok(rows) => Ok(rows.pairs().next().map(|(_, value)| value.to_owned())),
        Err(Failure::Server(message)) if message.code == GLOBAL_ONLY => Ok(None),
        // A variable that only SHOW knows.
        Err(Failure::Server(_)) => Ok(None),
        Err(failure) => Err(LabError::sql("reading a setting back", &failure)),
    }
}

/// `10.11.6-MariaDB` is 10, 11, 6.
fn numbers(version: &str) -> knowledge::Version {
    let digits = version.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    let mut parts = digits.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

/// How a proof loses its verdict: what speaks first stays the reason.
trait Doubt {
    fn object(&mut self, verdict: ProofVerdict, why: &str);
    fn compare(&mut self, requested: &str, effective: Option<&String>);
    fn compare_session(&mut self, requested: &str, session: &str, whose: &str);
    fn show(&mut self, shown: Option<Shown>);
}

impl Doubt for Proof {
    fn object(&mut self, verdict: ProofVerdict, why: &str) {
        if self.verdict == ProofVerdict::InEffect {
            self.verdict = verdict;
            self.remark = Some(why.to_owned());
        }
    }

    fn compare(&mut self, requested: &str, effective: Option<&String>) {
        let Some(effective) = effective else {
            let remark = "it has no variable; that the server started with it is all there is to see";
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
                    ProofVerdict::NotApplied,
                    &format!("{requested} was asked for, the server has {effective}"),
                );
            }
        }
    }

    fn compare_session(&mut self, requested: &str, session: &str, whose: &str) {
        if value::compare(&self.name, requested, session) == Match::Different {
            self.object(ProofVerdict::NotApplied, &format!("{requested} was asked for, {whose} has {session}"));
        }
    }

    fn show(&mut self, shown: Option<Shown>) {
        let Some(Shown { what, contradicts }) = shown else { return };
        if contradicts {
            self.object(ProofVerdict::NotApplied, &what);
        }
        self.behaviour = Some(what);
    }
}

#[cfg(test)]
mod tests;
