//! `[needs]`: what an application needs of its database, which bounds what may be advised.

use super::load::objective;
use super::value::{self, DocumentValue};
use crate::error::PlanError;
use crate::lab::Objective;
use plimsoll_model::Class;
use std::collections::BTreeSet;

const KEYS: [&str; 6] = ["latency", "loss", "recovery", "backup", "replication", "isolation"];
const ISOLATIONS: [&str; 4] = ["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];

/// What a crash may cost of the last second's commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcceptedLoss {
    #[default]
    None,
    /// If the machine fails.
    Machine,
    /// Already if the server's process dies.
    Server,
}

/// The needs that were told; what was not is not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// How fast transactions have to be answered.
    pub latency: Option<Objective>,
    pub loss: Option<AcceptedLoss>,
    /// How soon the server has to answer again after a crash, seconds.
    pub recovery_seconds: Option<f64>,
    /// How long a backup may take, seconds.
    pub backup_seconds: Option<f64>,
    /// Whether there are replicas, or recovery to a point in time.
    pub replication: Option<bool>,
    /// As servers write it: `READ-COMMITTED`.
    pub isolation: Option<String>,
}

impl Needs {
    /// The classes of safety that advice may cost.
    pub fn allowed(&self) -> BTreeSet<Class> {
        let loss: &[Class] = match self.loss.unwrap_or_default() {
            AcceptedLoss::None => &[],
            AcceptedLoss::Machine => &[Class::D1],
            AcceptedLoss::Server => &[Class::D1, Class::D1p],
        };
        // Without replicas nobody misses what the binary log has lost.
        let log = (self.replication == Some(false) && !loss.is_empty()).then_some(Class::D4);
        loss.iter().copied().chain(log).collect()
    }
}

/// Reads a file with a section `[needs]`, and no other.
///
/// # Errors
/// [`PlanError::File`] for the first mistake: its line, what was found and what is accepted.
pub fn needs(name: &str, text: &str) -> Result<Needs, PlanError> {
    let document = value::parse(name, text)?;
    let sections = document.fields(&["needs"])?;
    sections.need("needs", "what the application needs", of_section)
}

fn of_section(section: &DocumentValue) -> Result<Needs, PlanError> {
    let fields = section.fields(&KEYS)?;
    let loss = [("none", AcceptedLoss::None), ("machine", AcceptedLoss::Machine), ("server", AcceptedLoss::Server)];
    let isolations = ISOLATIONS.map(|name| (name, name));
    Ok(Needs {
        latency: fields.read("latency", |value| value.parsed(objective))?,
        loss: fields.read("loss", |value| value.choice(&loss))?,
        recovery_seconds: fields.read("recovery", DocumentValue::some_seconds)?,
        backup_seconds: fields.read("backup", DocumentValue::some_seconds)?,
        replication: fields.read("replication", DocumentValue::truth)?,
        isolation: fields.read("isolation", |value| value.choice(&isolations))?.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Needs, String> {
        needs("needs.toml", text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_may_be_lost_bounds_the_classes() {
        let allowed = |text: &str| read(&format!("[needs]\n{text}\n")).map(|needs| needs.allowed());
        assert_eq!(allowed("loss = \"none\""), Ok([].into()));
        assert_eq!(allowed("loss = \"machine\""), Ok([Class::D1].into()));
        assert_eq!(allowed("loss = \"server\"\nreplication = false"), Ok([Class::D1, Class::D1p, Class::D4].into()));
        assert_eq!(allowed("replication = false"), Ok([].into()), "a commit is a commit");
    }

    #[test]
    fn every_need_is_read_and_a_mistake_has_its_line() {
        let all = "[needs]\nlatency = \"p99 < 20ms\"\nloss = \"none\"\nrecovery = \"2m\"\nbackup = \"4h\"\n\
                   replication = true\nisolation = \"READ-COMMITTED\"\n";
        let needs = read(all).unwrap();
        assert_eq!(needs.latency.map(|of| (of.quantile, of.limit_ms)), Some((0.99, 20.0)));
        assert_eq!((needs.recovery_seconds, needs.backup_seconds), (Some(120.0), Some(14_400.0)));
        assert_eq!((needs.replication, needs.isolation.as_deref()), (Some(true), Some("READ-COMMITTED")));
        for (text, found) in [
            ("", "needs"),
            ("[needs]\nloss = \"all\"", "line 2"),
            ("[needs]\nlatncy = \"p99 < 1s\"", "latency"),
            ("[needs]\nisolation = \"chaos\"", "SERIALIZABLE"),
            ("[wishes]\n", "needs"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(found), "{text}: {told}");
        }
    }
}
