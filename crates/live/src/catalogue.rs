//! The recordings of a home by their ids, and what their manifests say: nothing else is read for a list.

use crate::page::Refused;
use axum::http::StatusCode;
use jiff::Timestamp;
use plimsoll_record::manifest::folded;
use plimsoll_record::read::{self, Entry, Listing};
use plimsoll_record::{Manifest, RecordError};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A directory of recordings.
#[derive(Clone, Debug)]
pub struct Catalogue {
    recordings: PathBuf,
}

impl Catalogue {
    pub fn new(recordings: PathBuf) -> Catalogue {
        Catalogue { recordings }
    }

    pub fn directory(&self) -> &Path {
        &self.recordings
    }

    /// Everything that is there, oldest first.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(&self) -> Result<Listing, Refused> {
        read::list(&self.recordings).map_err(|error| Refused::failed(&error.to_string()))
    }

    /// The recording whose directory is called `id`. An id is one name, no path; a symbolic link is no recording.
    ///
    /// # Errors
    /// Not found, if there is none of that name; what is wrong with it, if it cannot be read.
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

/// What was to be measured, in a few words; as others wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct What {
    /// A plan's title, or the name of the recording.
    pub title: String,
    /// `oltp_read_write, 2 variants`.
    pub work: String,
    /// `private:mariadb`.
    pub on: String,
}

impl What {
    pub fn of(manifest: &Manifest) -> What {
        let plan = &manifest.plan;
        let title = text(&plan["title"]).unwrap_or(&manifest.name).to_owned();
        let (work, on) = match (plan["variants"].as_array(), text(&plan["workload"])) {
            (Some(variants), _) => of_lab(variants),
            (None, Some(workload)) => {
                let points = plan["points"].as_array().map_or(0, Vec::len);
                (
                    format!("{workload}, {}", counted(points, "load point")),
                    text(&plan["target"]).unwrap_or_default().into(),
                )
            }
            (None, None) => ("storage".to_owned(), text(&plan["directory"]).unwrap_or_default().to_owned()),
        };
        What { title, work, on }
    }

    /// Whether every word of a search is somewhere in what is shown of a recording.
    pub fn matches(&self, id: &str, query: &str) -> bool {
        let all = format!("{id} {} {} {}", self.title, self.work, self.on).to_lowercase();
        // Names are found however they are spelt.
        let names = folded(&all);
        let has = |word: &str| all.contains(word) || word.is_ascii() && names.contains(&folded(word));
        query.to_lowercase().split_whitespace().all(has)
    }
}

fn of_lab(variants: &[Value]) -> (String, String) {
    let kinds = variants.iter().filter_map(|variant| text(&variant["workload"]["kind"])).map(str::to_owned);
    let server = |variant: &Value| match (text(&variant["target"]), text(&variant["build"])) {
        (Some(url), _) => url.to_owned(),
        (None, Some(build)) => format!("private:{build}"),
        (None, None) => String::new(),
    };
    let work = format!("{}, {}", distinct(kinds), counted(variants.len(), "variant"));
    (work, distinct(variants.iter().map(server)))
}

/// Each once, in the order in which they first come.
fn distinct(texts: impl Iterator<Item = String>) -> String {
    let mut each: Vec<String> = Vec::new();
    for text in texts {
        if !each.contains(&text) {
            each.push(text);
        }
    }
    each.join(", ")
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}

/// `1 variant`, `2 variants`.
pub fn counted(count: usize, singular: &str) -> String {
    plimsoll_report::format::counted(count as f64, singular)
}

/// `2026-11-21 19:30`, in UTC as in the names of recordings.
pub fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_record::read::State;
    use serde_json::json;

    fn manifest(plan: Value) -> Manifest {
        Manifest::new("pool", "0.1.0", Timestamp::UNIX_EPOCH, 1, plan, Value::Null)
    }

    #[test]
    fn a_manifest_is_told_in_a_few_words() {
        let variant = |target: Value| json!({ "build": "auto", "target": target, "workload": { "kind": "tpcc" } });
        let lab = What::of(&manifest(
            json!({ "title": "A pool", "variants": [variant(Value::Null), variant(json!("mysql://db/"))] }),
        ));
        assert_eq!((lab.work.as_str(), lab.on.as_str()), ("tpcc, 2 variants", "private:auto, mysql://db/"));
        let run = What::of(&manifest(json!({ "workload": "oltp_read_only", "target": "private", "points": [1, 2] })));
        assert_eq!((run.title.as_str(), run.work.as_str()), ("pool", "oltp_read_only, 2 load points"));
        assert!(run.matches("2026-pool", "OLTP-read_only") && !run.matches("2026-pool", "oltp-read-write"));
        assert!(lab.matches("2026-pool", "POOL tpcc") && !lab.matches("2026-pool", "pool nfs"));
        assert_eq!(What::of(&manifest(Value::Null)).title, "pool");
    }

    #[test]
    fn an_id_is_one_name_and_no_link() {
        let home = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::new(home.path().join("recordings"));
        let made = plimsoll_record::Recording::create(catalogue.directory(), manifest(json!({}))).unwrap();
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
