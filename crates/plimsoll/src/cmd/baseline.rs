//! What was kept of a name, to judge new recordings by.

use crate::terminal;
use plimsoll_analysis::compare::{NamedRounds, compare_rounds};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_measures::gate::{nothing_measured, slower};
use plimsoll_model::Caveat;
use plimsoll_model::gate::{Decision, GateFinding};
use plimsoll_model::text::escaped;
use plimsoll_record::{labels, read};
use std::path::{Path, PathBuf};

/// Caveats of a comparison that somebody who reads what a gate decided has to know.
const TOLD: [&str; 2] = ["mixed_rounds", "unlike_durability"];

/// The rounds that were kept.
pub struct Baseline {
    name: String,
    recordings: Vec<PathBuf>,
}

impl Baseline {
    /// Of this name, if one is given.
    ///
    /// # Errors
    /// [`LabError::Refused`] if nothing of this name is kept.
    pub fn find(home: &Home, name: Option<&str>) -> Result<Option<Baseline>, LabError> {
        let Some(name) = name else { return Ok(None) };
        let recordings = labels::baseline(&read::list(&home.recordings())?, name)?;
        match recordings.is_empty() {
            true => Err(LabError::Refused(format!(
                "--baseline {name}: nothing called `{name}` is kept; `plimsoll recordings keep {name}` keeps what was \
                 recorded under that name",
                name = escaped(name)
            ))),
            false => Ok(Some(Baseline { name: name.to_owned(), recordings })),
        }
    }

    /// Whether a recording, of a lab one of its variants, is slower by more than `limit`, a share. What cannot be compared
    /// fails: nobody knows that it is not.
    pub fn judge(&self, recording: &Path, variant: Option<&str>, limit: f64) -> GateFinding {
        let id = recording.file_name().unwrap_or_default().to_string_lossy();
        let name = variant.map_or_else(|| id.to_string(), |variant| format!("{id}:{variant}"));
        let new = NamedRounds { name: &name, recordings: &[recording.to_owned()], variant };
        match compare_rounds(NamedRounds { name: &self.name, recordings: &self.recordings, variant }, new) {
            Ok(found) => {
                let told = found.caveats.iter().filter(|caveat| TOLD.contains(&caveat.code.as_str()));
                told.for_each(|caveat| terminal::note(&format!("{}: {}", self.name, caveat.message)));
                let carried = found.switchback.as_ref();
                let finding = slower(&self.name, &name, &found.unlike_work, &found.headline, carried, limit);
                of_all_loads(finding, &found.caveats)
            }
            Err(error) => GateFinding { why: error.to_string(), ..nothing_measured(&self.name, &name, limit) },
        }
    }
}

/// What was decided where all load points were compared: nobody knows that one that was left out is not slower.
fn of_all_loads(finding: GateFinding, caveats: &[Caveat]) -> GateFinding {
    match caveats.iter().find(|caveat| caveat.code == "load_points_left_out") {
        Some(left_out) if finding.decision == Decision::Passed => GateFinding {
            decision: Decision::Undecided,
            why: format!("{}; {}", finding.why, left_out.message),
            ..finding
        },
        _ => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_does_not_pass_by_some_of_the_load_points() {
        let finding = |decision| GateFinding { decision, ..nothing_measured("main", "change", 0.1) };
        let left_out = [Caveat::new("load_points_left_out", "c32 is not in all rounds and is left out")];
        let passed = of_all_loads(finding(Decision::Passed), &left_out);
        assert_eq!(passed.decision, Decision::Undecided);
        assert!(passed.why.ends_with("; c32 is not in all rounds and is left out"), "{passed:?}");
        assert_eq!(of_all_loads(finding(Decision::Failed), &left_out), finding(Decision::Failed));
        assert_eq!(of_all_loads(finding(Decision::Passed), &[]), finding(Decision::Passed));
    }
}
