//! What was kept of a name, to judge new recordings by.

use plimsoll_analysis::compare::{NamedRounds, compare_rounds};
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_measures::gate::{nothing_measured, slower};
use plimsoll_model::gate::GateFinding;
use plimsoll_model::text::escaped;
use plimsoll_record::{labels, read};
use std::path::{Path, PathBuf};

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
            Ok(found) => slower(&self.name, &name, &found.unlike_work, &found.headline, limit),
            Err(error) => GateFinding { why: error.to_string(), ..nothing_measured(&self.name, &name, limit) },
        }
    }
}
