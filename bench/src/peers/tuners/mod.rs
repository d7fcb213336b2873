//! Those who look for better settings, all asked alike: what is tried next, and what they believe to be best in the end. Optuna
//! and SMAC3 come from the Python registry; each is a process that is asked line by line.

use anyhow::{Context, bail};
use plimsoll_plan::lab::space::{Levels, SearchSpace};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The script that asks a tuner.
const SCRIPT: &str = include_str!("tuners.py");

/// Who looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tuner {
    Plimsoll,
    Optuna,
    Smac,
    Random,
}

impl Tuner {
    pub const ALL: [Tuner; 4] = [Tuner::Plimsoll, Tuner::Optuna, Tuner::Smac, Tuner::Random];

    pub fn name(self) -> &'static str {
        match self {
            Tuner::Plimsoll => "Plimsoll",
            Tuner::Optuna => "Optuna (TPE)",
            Tuner::Smac => "SMAC3",
            Tuner::Random => "random",
        }
    }

    /// As the script calls it; none of ours.
    fn word(self) -> Option<&'static str> {
        match self {
            Tuner::Plimsoll => None,
            Tuner::Optuna => Some("optuna"),
            Tuner::Smac => Some("smac"),
            Tuner::Random => Some("random"),
        }
    }

    /// The module that it needs.
    fn module(self) -> &'static str {
        if self == Tuner::Smac { "smac" } else { "optuna" }
    }

    /// Whether it is there, with this Python.
    pub fn is_there(self, python: Option<&Path>) -> bool {
        let imports = |python: &Path| {
            let mut command = Command::new(python);
            command.args(["-c", &format!("import {}", self.module())]).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        self == Tuner::Plimsoll || python.is_some_and(imports)
    }
}

/// What a tuner says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TunerWord {
    Try(Levels),
    /// None if everything came to no good end.
    Best(Option<Levels>),
}

#[derive(Debug, Serialize)]
struct TunerAnswer {
    value: Option<f64>,
}

/// How a peer is asked.
#[derive(Clone, Copy, Debug)]
pub struct PeerSearch<'a> {
    pub tuner: Tuner,
    pub python: &'a Path,
    pub space: &'a SearchSpace,
    pub seed: u64,
    pub trials: usize,
}

/// What a peer believes to be best after its trials, each of which `measure` makes: the logarithm of what the levels bring, or none
/// if they come to no good end.
///
/// # Errors
/// It ended before it said so, or it says what is no level; those of `measure`.
pub fn best_of_peer(
    of: PeerSearch<'_>,
    measure: &mut dyn FnMut(&Levels) -> anyhow::Result<Option<f64>>,
) -> anyhow::Result<Option<Levels>> {
    let PeerSearch { tuner, python, space, seed, trials } = of;
    let Some(word) = tuner.word() else { bail!("{} is no peer", tuner.name()) };
    let mut child = Command::new(python)
        .args(["-c", SCRIPT, word, &seed.to_string(), &trials.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("starting {}", python.display()))?;
    let (Some(mut asked), Some(told)) = (child.stdin.take(), child.stdout.take()) else {
        bail!("{} cannot be asked", tuner.name())
    };
    writeln!(asked, "{}", serde_json::to_string(space)?)?;
    for line in BufReader::new(told).lines() {
        let line = line?;
        let word: TunerWord = serde_json::from_str(&line).with_context(|| format!("{} says {line:?}", tuner.name()))?;
        match word {
            TunerWord::Best(levels) => {
                drop(asked);
                child.wait()?;
                return Ok(levels.map(|levels| space.tidy(levels)));
            }
            TunerWord::Try(levels) => {
                let levels = space.tidy(levels);
                // What exceeds a limit of the space would not have been run.
                let value = if space.exceeded(&levels).is_none() { measure(&levels)? } else { None };
                writeln!(asked, "{}", serde_json::to_string(&TunerAnswer { value })?)?;
            }
        }
    }
    bail!("{} ended before it said what is best", tuner.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::lab::space::SettingLevel;

    #[test]
    fn levels_are_written_as_the_script_reads_them() {
        let levels: Levels = vec![SettingLevel::At(0.5), SettingLevel::Word(1), SettingLevel::Idle];
        let text = r#"[{"at":0.5},{"word":1},"idle"]"#;
        assert_eq!(serde_json::to_string(&levels).unwrap(), text);
        let word: TunerWord = serde_json::from_str(&format!("{{\"try\":{text}}}")).unwrap();
        assert!(matches!(word, TunerWord::Try(read) if read == levels));
        assert!(matches!(serde_json::from_str(r#"{"best":null}"#).unwrap(), TunerWord::Best(None)));
    }
}
