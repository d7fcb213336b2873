//! Lanes that a lab built for itself, and takes down when it ends. Those that were up before stay up.
//!
//! `<home>/lanes-of-labs/<name of the lane's directory>` is made before the lane, and locked while its lab lives. A
//! note without a lock was left by a killed lab; the resumed lab or `plimsoll clean` takes it over.

use crate::error::LabError;
use plimsoll_host::lock::try_lock;
use plimsoll_host::owner;
use plimsoll_lanes::LaneError;
use plimsoll_lanes::check::CheckVerdict;
use plimsoll_lanes::journal::LaneState;
use plimsoll_lanes::spec::Spec;
use plimsoll_lanes::{Built, Lane, Lanes};
use rustix::fs::FlockOperation;
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The lanes of a living lab; they are taken down when this is dropped.
#[derive(Debug)]
pub(crate) struct OwnLanes {
    home: PathBuf,
    own: Vec<(Spec, PathBuf, File)>,
}

impl OwnLanes {
    pub fn of(home: &Path) -> OwnLanes {
        OwnLanes { home: home.to_owned(), own: Vec::new() }
    }

    /// The lane of this name if it is up, and may be used.
    ///
    /// # Errors
    /// [`LabError::Environment`] if it belongs to another living lab, which will take it down.
    pub fn free(&self, name: &str) -> Result<Option<Lane>, LabError> {
        let note = notes(&self.home).join(Spec::parse(name)?.directory_name());
        let up = self.up(name)?;
        match up.is_some() && note.exists() && !self.has(name) && locked(&note)?.is_none() {
            true => Err(of_another(name)),
            false => Ok(up),
        }
    }

    /// Whether a lab, this one or another, has built the lane of this name.
    ///
    /// # Errors
    /// [`LaneError`] if there is no such lane.
    pub fn is_of_a_lab(&self, name: &str) -> Result<bool, LabError> {
        Ok(notes(&self.home).join(Spec::parse(name)?.directory_name()).exists())
    }

    /// The lane of this name if it is up.
    fn up(&self, name: &str) -> Result<Option<Lane>, LabError> {
        let listed = Lanes::of(&self.home).list()?;
        Ok(listed.into_iter().find_map(|listed| match listed.state {
            LaneState::Up(lane) if listed.name == name => Some(lane),
            _ => None,
        }))
    }

    /// Whether this lab built the lane of this name, or took it over from a lab that did.
    pub fn has(&self, name: &str) -> bool {
        self.own.iter().any(|(spec, ..)| spec.name() == name)
    }

    /// Takes down a lane that this lab built and that cannot be used any more; the next trial has it built again.
    pub fn give_up(&mut self, name: &str) -> Result<(), LabError> {
        let Some(place) = self.own.iter().position(|(spec, ..)| spec.name() == name) else { return Ok(()) };
        let (spec, note, _lock) = self.own.swap_remove(place);
        take_down(&self.home, &spec, &note)
    }

    /// The lane of this name, built if it is not up; `checked`, unless it may lie. `told` hears of each step, and says whether
    /// to go on.
    pub fn take(&mut self, name: &str, checked: bool, told: &mut dyn FnMut(&str) -> bool) -> Result<Lane, LabError> {
        let spec = Spec::parse(name)?;
        let note = notes(&self.home).join(spec.directory_name());
        // One that a killed lab left is ours now.
        let is_left = note.exists() && !self.has(name);
        let left = is_left.then(|| locked(&note)?.ok_or_else(|| of_another(name))).transpose()?;
        match (self.up(name)?, left) {
            (Some(lane), None) => return Ok(lane),
            (Some(lane), Some(lock)) if !lane.is_volatile => {
                self.own.push((spec, note, lock));
                return Ok(lane);
            }
            // That lab did not finish it, or may have left its device without power, full, or failing.
            (_, Some(_lock)) => take_down(&self.home, &spec, &note)?,
            (None, None) => {}
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(notes(&self.home))
            .map_err(|error| failed(&note, &error))?;
        must_be_ours(&self.home)?;
        let lock = locked(&note)?.ok_or_else(|| of_another(name))?;
        let built = Lanes::of(&self.home).up(&spec, None, checked, told).map_err(LabError::from);
        let lane = built.and_then(|built| if built.is_sound() { Ok(built.lane) } else { Err(unsound(name, &built)) });
        match lane {
            Ok(_) => self.own.push((spec, note, lock)),
            // It is down again, and the next trial may try again. If the note stays, `clean` removes it.
            Err(_) => drop(fs::remove_file(&note)),
        }
        lane
    }
}

fn unsound(name: &str, built: &Built) -> LabError {
    let refused = built.findings.iter().filter(|finding| finding.verdict == CheckVerdict::Refused);
    let found: Vec<String> = refused.map(|finding| format!("{}: {}", finding.check, finding.found)).collect();
    LabError::Environment(format!("the lane {name} must not be measured: its check found {}", found.join("; ")))
}

fn of_another(name: &str) -> LabError {
    LabError::Environment(format!(
        "the lane {name} belongs to another lab that is under way, which will take it down; wait for that lab to end"
    ))
}

impl Drop for OwnLanes {
    fn drop(&mut self) {
        for (spec, note, _lock) in &self.own {
            // `clean` finds what could not be removed; there is nobody here to tell.
            let _ = take_down(&self.home, spec, note);
        }
    }
}

/// Takes down the lanes of labs that were killed: their names, and what was left alone and why.
///
/// # Errors
/// If the notes cannot be read.
pub fn clean(home: &Path) -> Result<(Vec<String>, Vec<LabError>), LabError> {
    let entries = match fs::read_dir(notes(home)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Default::default()),
        entries => entries.map_err(|error| failed(&notes(home), &error))?,
    };
    if let Err(error) = must_be_ours(home) {
        return Ok((Vec::new(), vec![error]));
    }
    let (mut cleaned, mut left) = (Vec::new(), Vec::new());
    for note in entries.flatten().map(|entry| entry.path()) {
        let name = note.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Ok(spec) = Spec::of_directory_name(&name) else { continue };
        let Some(_lock) = locked(&note)? else { continue };
        match take_down(home, &spec, &note) {
            Ok(()) => cleaned.push(spec.name().to_owned()),
            Err(error) => left.push(error),
        }
    }
    Ok((cleaned, left))
}

fn take_down(home: &Path, spec: &Spec, note: &Path) -> Result<(), LabError> {
    match Lanes::of(home).down(spec) {
        // It was never up.
        Ok(()) | Err(LaneError::Refused(_)) => fs::remove_file(note).map_err(|error| failed(note, &error)),
        Err(error) => Err(error.into()),
    }
}

fn notes(home: &Path) -> PathBuf {
    home.join("lanes-of-labs")
}

/// Anyone who can write notes decides which lanes are taken down.
fn must_be_ours(home: &Path) -> Result<(), LabError> {
    owner::check(&notes(home)).map_err(|error| LabError::Environment(error.to_string()))
}

/// The lock on a note, unless its lab lives.
fn locked(note: &Path) -> Result<Option<File>, LabError> {
    let file = File::options().create(true).append(true).open(note).map_err(|error| failed(note, &error))?;
    let is_ours = try_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| failed(note, &error))?;
    Ok(is_ours.then_some(file))
}

fn failed(path: &Path, error: &std::io::Error) -> LabError {
    LabError::Environment(format!("{}: {error}", path.display()))
}
