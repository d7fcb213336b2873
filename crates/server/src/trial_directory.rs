//! The directory in which the server of a lab works: locked for the lab, filled again for each trial, removed at the
//! end.

use crate::directory::{ServerDirectory, remove_tree};
use crate::error::DuringServer;
use crate::instance::PrivateServer;
use crate::opening::Opening;
use crate::{ServerError, Settings};
use plimsoll_host::Home;
use plimsoll_host::fingerprint::fingerprint;
use plimsoll_host::lock::Lock;
use plimsoll_host::remove::must_hold_no_mount;
use plimsoll_host::replace::rename;
use plimsoll_model::Build;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a server left by a killed lab may take to end.
const STOPS_WITHIN: Duration = Duration::from_secs(60);

/// A server directory of a lab, whose lock it holds.
#[derive(Debug)]
pub struct TrialDirectory {
    home: Home,
    directory: ServerDirectory,
    /// None only while [`TrialDirectory::let_go_while`] runs.
    lock: Mutex<Option<Arc<Lock>>>,
}

impl TrialDirectory {
    /// Takes the directory `name` of `home` (or of a place) for `holder`. What a killed lab left in it is ended and
    /// removed.
    ///
    /// # Errors
    /// [`ServerError::Locked`] names its holder; [`ServerError::Foreign`] if it is not a directory of ours.
    pub fn take(home: &Home, name: &str, holder: &str) -> Result<TrialDirectory, ServerError> {
        let directory = ServerDirectory::prepare(home, name)?;
        let lock = Mutex::new(Some(Arc::new(directory.lock(holder)?)));
        directory.become_trial_directory()?;
        directory.bring_down(STOPS_WITHIN)?;
        let directory = TrialDirectory { home: home.clone(), directory, lock };
        directory.clear()?;
        Ok(directory)
    }

    /// The name of a lab's directory for `subject` (a variant, say): unique, and always the same. `parts` distinguish the
    /// directories of one subject.
    pub fn name_of(subject: &str, parts: &[&str]) -> String {
        let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
        let shown: String = subject.chars().map(plain).take(32).collect();
        let told_apart = fingerprint([subject].iter().chain(parts).map(|part| part.as_bytes()));
        format!("lab-{shown}-{told_apart:016x}")
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    pub fn directory(&self) -> &ServerDirectory {
        &self.directory
    }

    /// The path of the data directory.
    pub fn data(&self) -> PathBuf {
        self.directory.data()
    }

    /// The path of an incomplete data directory: `clean` and the next trial remove it.
    pub fn half_made_data(&self) -> PathBuf {
        self.directory.half_made_data()
    }

    /// A directory for files that are separate from the data: `redo`, `undo`.
    pub fn part(&self, name: &str) -> PathBuf {
        self.directory.parts().join(name)
    }

    /// Marks a data directory as made by `build`; no server may be started on it before.
    ///
    /// # Errors
    /// [`HostError::Io`].
    pub fn mark_data(data: &Path, build: &Build) -> Result<(), ServerError> {
        ServerDirectory::mark_data(data, build)
    }

    /// Starts a server on the data here, or on a new data directory of its build if there are none.
    ///
    /// # Errors
    /// As [`PrivateServer::open`].
    pub fn open(&self, build: &Build, settings: &Settings, opening: Opening) -> Result<PrivateServer, ServerError> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lock = lock.ok_or_else(|| ServerError::Locked {
            name: self.directory.name().to_owned(),
            holder: "whoever works on the file system below it".to_owned(),
        })?;
        PrivateServer::open_locked(&self.home, self.directory.clone(), lock, build, settings, opening)
    }

    /// Has nothing open in the directory while `work` replaces the file system that it is on, and takes it again for
    /// `holder` afterwards. The server must be down.
    ///
    /// # Errors
    /// Those of `work`; [`ServerError::Locked`] if somebody has taken the directory meanwhile.
    pub fn let_go_while<E: From<ServerError>>(
        &self,
        holder: &str,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        *lock = None;
        let worked = work();
        match self.directory.lock(holder) {
            Ok(taken) => *lock = Some(Arc::new(taken)),
            // A failure may have left nothing to lock.
            Err(_) if worked.is_err() => {}
            Err(error) => return Err(error.into()),
        }
        worked
    }

    /// Removes the data and all parts. The server must be down.
    ///
    /// # Errors
    /// [`HostError::Io`].
    pub fn clear(&self) -> Result<(), ServerError> {
        self.directory.clear()
    }

    /// Removes the directory with everything in it. The server must be down.
    ///
    /// # Errors
    /// [`HostError::Io`].
    pub fn remove(self) -> Result<(), ServerError> {
        self.directory.remove(self.lock)
    }
}

/// Every removal here can be interrupted at any point and repeated.
impl ServerDirectory {
    /// What a layout has apart from the data on the same path; it need not exist.
    pub fn parts(&self) -> PathBuf {
        self.path().join("parts")
    }

    /// Whether it is the directory of a lab.
    pub(crate) fn is_rig(&self) -> bool {
        self.rig_marker().is_file()
    }

    /// Whether `clean` removes it as a whole: the directory of a lab, or one in which a Plimsoll was killed before
    /// there was anything to keep.
    pub(crate) fn goes_as_a_whole(&self) -> Result<bool, ServerError> {
        Ok(self.is_rig() || self.is_fresh()?)
    }

    /// Marks it, unless it is a server that was created by hand.
    fn become_trial_directory(&self) -> Result<(), ServerError> {
        let record = self.record()?;
        if !self.is_rig() && (record.process.is_some() || self.data_build()?.is_some()) {
            self.must_be_rig()?;
        }
        fs::write(self.rig_marker(), "").during("write", &self.rig_marker())?;
        self.write_record(&record)
    }

    fn must_be_rig(&self) -> Result<(), ServerError> {
        match self.goes_as_a_whole()? {
            true => Ok(()),
            false => Err(ServerError::Foreign {
                path: self.path().to_owned(),
                found: "it is a private server that was created by hand, not one of a lab".to_owned(),
            }),
        }
    }

    /// Removes data and parts. Data without their marker would belong to nobody, so they are renamed first.
    fn clear(&self) -> Result<(), ServerError> {
        must_hold_no_mount(&self.data())?;
        remove_tree(&self.half_made_data())?;
        match rename(&self.data(), &self.half_made_data()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed.during("rename", &self.data())?,
        }
        remove_tree(&self.half_made_data())?;
        remove_tree(&self.parts()).map(drop)
    }

    /// Removes the directory of a directory whose server is down, and releases its `lock`. The files that mark it as ours go
    /// last.
    pub(crate) fn remove(&self, lock: impl Sized) -> Result<(), ServerError> {
        self.must_be_rig()?;
        self.clear()?;
        for entry in fs::read_dir(self.path()).during("read", self.path())? {
            let path = entry.during("read", self.path())?.path();
            if self.markers().contains(&path) {
                continue;
            }
            match fs::symlink_metadata(&path).during("look at", &path)?.is_dir() {
                true => remove_tree(&path).map(drop)?,
                false => fs::remove_file(&path).during("remove", &path)?,
            }
        }
        self.markers()
            .iter()
            .filter(|path| path.exists())
            .try_for_each(|path| fs::remove_file(path).during("remove", path))?;
        // On NFS, an open file stays in its directory under another name.
        drop(lock);
        fs::remove_dir(self.path()).during("remove", self.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subject_has_a_name_that_a_server_may_have() {
        let (one, other) =
            (TrialDirectory::name_of("fc/pool", &["plan"]), TrialDirectory::name_of("fc-pool", &["plan"]));
        assert!(one.starts_with("lab-fc-pool-"), "{one}");
        assert_ne!(one, other);
        assert_ne!(one, TrialDirectory::name_of("fc/pool", &["another plan"]));
        assert!(TrialDirectory::name_of(&"x".repeat(200), &[]).len() <= 64 - "-apart".len());
    }
}
