//! The recordings of a home by their ids, and their manifests: nothing else is read for a list.

use crate::page::Refused;
use axum::http::StatusCode;
use jiff::Timestamp;
use plimsoll_model::number::counted;
use plimsoll_model::text::each_once;
use plimsoll_plan::lab::Variant;
use plimsoll_plan::{LabPlan, Plan};
use plimsoll_record::manifest::folded;
use plimsoll_record::read::{self, Entry, Listing};
use plimsoll_record::{Manifest, RecordError};
use std::path::{Path, PathBuf};

/// A directory of recordings.
#[derive(Clone, Debug)]
pub struct RecordingCatalogue {
    recordings: PathBuf,
}

impl RecordingCatalogue {
    pub fn new(recordings: PathBuf) -> RecordingCatalogue {
        RecordingCatalogue { recordings }
    }

    pub fn directory(&self) -> &Path {
        &self.recordings
    }

    /// All recordings, oldest first.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(&self) -> Result<Listing, Refused> {
        read::list(&self.recordings).map_err(|error| Refused::failed(&error.to_string()))
    }

    /// The recording whose directory is called `id`. An id is a single name, not a path; a symbolic link is not a
    /// recording.
    ///
    /// # Errors
    /// Not found, if there is none of that name; otherwise why it cannot be read.
    pub fn entry(&self, id: &str) -> Result<Entry, Refused> {
        let unknown = || Refused::new(StatusCode::NOT_FOUND, &format!("There is no recording `{id}`."));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'+' | b'_');
        if id.is_empty() || id.starts_with('.') || !id.bytes().all(plain) {
            return Err(unknown());
        }
        let directory = self.recordings.join(id);
        match read::manifest(&directory) {
            Ok(manifest) => {
                let being_written = read::is_being_written(&directory);
                Ok(Entry { directory, manifest, being_written })
            }
            Err(RecordError::NotARecording { .. }) => Err(unknown()),
            Err(error) => Err(Refused::failed(&error.to_string())),
        }
    }
}

/// What was to be measured, in a few words; the text may be written by others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingTopic {
    /// A plan's title, or the name of the recording.
    pub title: String,
    /// `oltp_read_write, 2 variants`.
    pub work: String,
    /// `private:mariadb`.
    pub on: String,
}

impl RecordingTopic {
    pub fn of(manifest: &Manifest) -> RecordingTopic {
        let title = manifest.plan.lab().and_then(|plan| plan.title.as_ref()).unwrap_or(&manifest.name).clone();
        let (work, on) = match &manifest.plan {
            Plan::Lab(plan) => of_lab(plan),
            Plan::Run(plan) | Plan::Quickstart(plan) | Plan::Sysbench(plan) => {
                (format!("{}, {}", plan.workload, counted(plan.points.len() as f64, "load point")), plan.target.clone())
            }
            Plan::Storage(plan) => ("storage".to_owned(), plan.directory.display().to_string()),
        };
        RecordingTopic { title, work, on }
    }

    /// Whether every word of a search occurs in what is shown of a recording.
    pub fn matches(&self, id: &str, query: &str) -> bool {
        let all = format!("{id} {} {} {}", self.title, self.work, self.on).to_lowercase();
        // Names are found in either spelling.
        let names = folded(&all);
        let has = |word: &str| all.contains(word) || word.is_ascii() && names.contains(&folded(word));
        query.to_lowercase().split_whitespace().all(has)
    }
}

fn of_lab(plan: &LabPlan) -> (String, String) {
    let kinds = plan.variants.iter().map(|variant| variant.workload.kind.clone());
    let server = |variant: &Variant| variant.target.clone().unwrap_or_else(|| format!("private:{}", variant.build));
    let work = format!("{}, {}", each_once(kinds).join(", "), counted(plan.variants.len() as f64, "variant"));
    (work, each_once(plan.variants.iter().map(server)).join(", "))
}

/// `2026-11-21 19:30`, in UTC as in the names of recordings.
pub fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_host::facts::HostFacts;
    use plimsoll_model::LoadPoint;
    use plimsoll_plan::{RunPlan, StoragePlan};
    use plimsoll_record::read::State;
    use plimsoll_testkit::simulated;

    fn manifest(plan: Plan) -> Manifest {
        Manifest::new("pool", "0.1.0", Timestamp::UNIX_EPOCH, plan, HostFacts::default())
    }

    #[test]
    fn a_manifest_is_told_in_a_few_words() {
        let variant = |target: Option<&str>| Variant {
            build: "auto".to_owned(),
            target: target.map(str::to_owned),
            ..simulated::variant("v", &[])
        };
        let pool = simulated::plan(1, 1, vec![variant(None), variant(Some("mysql://db/"))]);
        let lab =
            RecordingTopic::of(&manifest(Plan::Lab(Box::new(LabPlan { title: Some("A pool".to_owned()), ..pool }))));
        assert_eq!((lab.work.as_str(), lab.on.as_str()), ("tpcc, 2 variants", "private:auto, mysql://db/"));
        let points = [LoadPoint::closed(1), LoadPoint::closed(2)];
        let read_only = RunPlan { workload: "oltp_read_only".to_owned(), ..simulated::run_plan(&points) };
        let run = RecordingTopic::of(&manifest(Plan::Run(read_only)));
        assert_eq!((run.title.as_str(), run.work.as_str()), ("pool", "oltp_read_only, 2 load points"));
        assert!(run.matches("2026-pool", "OLTP-read_only") && !run.matches("2026-pool", "oltp-read-write"));
        assert!(lab.matches("2026-pool", "POOL tpcc") && !lab.matches("2026-pool", "pool nfs"));
        assert_eq!(RecordingTopic::of(&manifest(Plan::Storage(StoragePlan::default()))).title, "pool");
    }

    #[test]
    fn an_id_is_one_name_and_no_link() {
        let home = tempfile::tempdir().unwrap();
        let catalogue = RecordingCatalogue::new(home.path().join("recordings"));
        let made =
            plimsoll_record::Recording::create(catalogue.directory(), manifest(Plan::Run(simulated::run_plan(&[]))))
                .unwrap();
        let id = made.directory().file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(catalogue.entry(&id).unwrap().state(), State::Running);
        drop(made);
        assert_eq!(catalogue.entry(&id).unwrap().state(), State::Killed);
        std::os::unix::fs::symlink(catalogue.directory().join(&id), catalogue.directory().join("link")).unwrap();
        for wrong in ["", ".", "..", "link", "nothing", &format!("../recordings/{id}"), &format!("{id}/"), "a\0"] {
            assert!(catalogue.entry(wrong).is_err(), "{wrong:?}");
        }
    }
}
