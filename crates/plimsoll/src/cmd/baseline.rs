//! What was kept of a name, to judge new recordings by.

use crate::terminal;
use plimsoll_analysis::AnalysisError;
use plimsoll_analysis::compare::{NamedRounds, compare_rounds};
use plimsoll_analysis::find::nothing;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_measures::gate::{nothing_measured, slower};
use plimsoll_model::Caveat;
use plimsoll_model::gate::{Decision, GateFinding};
use plimsoll_model::text::{escaped, shell_word};
use plimsoll_record::read::Listing;
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
    /// Of this name, however it is spelt, if one is given.
    ///
    /// # Errors
    /// [`LabError::Refused`] if nothing of this name is kept; what is called so and cannot be read.
    pub fn find(home: &Home, name: Option<&str>) -> Result<Option<Baseline>, LabError> {
        let Some(typed) = name else { return Ok(None) };
        let listing = read::list(&home.recordings())?;
        let name = listing.name_meant(typed);
        if !listing.recordings.iter().any(|entry| entry.manifest.name == name) {
            return Err(no_recording(&listing, typed));
        }
        if let Some(error) = listing.unreadable_of(name) {
            terminal::note(&format!("--baseline {name}: left out is what cannot be read: {error}"));
        }
        let recordings = labels::baseline(&listing, name)?;
        match recordings.is_empty() {
            true => Err(LabError::Refused(format!(
                "--baseline {name}: nothing called `{name}` is kept; `plimsoll recordings keep {}` keeps what was \
                 recorded under that name",
                shell_word(name),
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

fn no_recording(listing: &Listing, typed: &str) -> LabError {
    match nothing(listing, typed) {
        AnalysisError::Refused(why) => LabError::Refused(format!(
            "--baseline {}: {why}; once there is one, `plimsoll recordings keep {}` keeps it",
            escaped(typed),
            shell_word(typed)
        )),
        other => other.into(),
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
    use jiff::Timestamp;
    use plimsoll_host::facts::HostFacts;
    use plimsoll_plan::{Plan, StoragePlan};
    use plimsoll_record::{Manifest, Status};
    use std::fs;

    #[test]
    fn a_baseline_is_found_however_its_name_is_spelt() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| directory.path().into())).unwrap();
        let recording = home.recordings().join("20260101T000000Z-oltp-read-write-1f3a");
        fs::create_dir_all(&recording).unwrap();
        let plan = Plan::Storage(StoragePlan::default());
        let of = Manifest::new("oltp-read-write", "0.1.0", Timestamp::UNIX_EPOCH, plan, HostFacts::default());
        let manifest = Manifest { status: Status::Done, ..of };
        fs::write(recording.join("manifest.json"), serde_json::to_string(&manifest).unwrap()).unwrap();
        let refused = |typed| Baseline::find(&home, Some(typed)).err().map(|error| error.to_string());
        let not_kept = refused("oltp_read_write").unwrap();
        assert!(not_kept.contains("`plimsoll recordings keep oltp-read-write` keeps what was"), "{not_kept}");
        fs::write(recording.join("labels.json"), r#"{"kept":true}"#).unwrap();
        for typed in ["oltp-read-write", "oltp_read_write", "OLTP_read_write"] {
            let found = Baseline::find(&home, Some(typed)).unwrap().expect("it is kept");
            assert_eq!((found.name.as_str(), &found.recordings[..]), ("oltp-read-write", &[recording.clone()][..]));
        }
        let unknown = refused("main").unwrap();
        assert!(unknown.contains("no recording is called `main`") && unknown.contains("keep main"), "{unknown}");
    }

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
