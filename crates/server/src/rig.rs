//! The directory in which the server of a lab works: locked for the lab, filled anew for each trial, gone at its end.

use crate::directory::{ServerDirectory, remove_tree};
use crate::error::During;
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

/// What is left running from a lab that was killed gets no longer than this.
const STOPS_WITHIN: Duration = Duration::from_secs(60);

/// A server directory of a lab, whose lock it holds.
#[derive(Debug)]
pub struct Rig {
    home: Home,
    directory: ServerDirectory,
    /// None only while [`Rig::let_go_while`] runs.
    lock: Mutex<Option<Arc<Lock>>>,
}

impl Rig {
    /// Takes the directory `name` of `home` (or of a place) for `holder`; what a killed lab has left in it is ended and
    /// removed.
    ///
    /// # Errors
    /// [`ServerError::Locked`] names who has it; [`ServerError::Foreign`] if it is no rig of ours.
    pub fn take(home: &Home, name: &str, holder: &str) -> Result<Rig, ServerError> {
        let directory = ServerDirectory::prepare(home, name)?;
        let lock = Mutex::new(Some(Arc::new(directory.lock(holder)?)));
        directory.become_rig()?;
        directory.bring_down(STOPS_WITHIN)?;
        let rig = Rig { home: home.clone(), directory, lock };
        rig.clear()?;
        Ok(rig)
    }

    /// What the rig of a lab is called that works on `subject`, a variant say: a name of its own for each, and always the
    /// same. `parts` are what tells those of one subject apart.
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

    /// Where the data directory is to be.
    pub fn data(&self) -> PathBuf {
        self.directory.data()
    }

    /// Where a half-made data directory is to be: `clean` and the next trial remove it.
    pub fn half_made_data(&self) -> PathBuf {
        self.directory.half_made_data()
    }

    /// A directory for files that lie apart from the data: `redo`, `undo`.
    pub fn part(&self, name: &str) -> PathBuf {
        self.directory.parts().join(name)
    }

    /// Marks a data directory as made by `build`, which a server has to be told before it may be started on it.
    ///
    /// # Errors
    /// [`HostError::Io`].
    pub fn mark_data(data: &Path, build: &Build) -> Result<(), ServerError> {
        ServerDirectory::mark_data(data, build)
    }

    /// Starts a server on the data that lie here; if there are none, on fresh ones of its build.
    ///
    /// # Errors
    /// As [`PrivateServer::open`].
    pub fn open(&self, build: &Build, settings: &Settings, opening: Opening) -> Result<PrivateServer, ServerError> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lock = lock.ok_or_else(|| ServerError::Locked {
            name: self.directory.name().to_owned(),
            holder: "whoever works on the file system below it".to_owned(),
        })?;
        let ready = (self.directory.clone(), lock);
        PrivateServer::open_locked(&self.home, ready, build, settings, opening)
    }

    /// Has nothing open in the directory while `work` replaces the file system that it lies on; afterwards it is taken
    /// again for `holder`. The server must be down.
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
            // What has failed may have left nothing to lock.
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

    /// Removes the directory with all that is in it. The server must be down.
    ///
    /// # Errors
    /// [`HostError::Io`].
    pub fn remove(self) -> Result<(), ServerError> {
        self.directory.remove(self.lock)
    }
}

/// Every removal here can be interrupted at any point and be done again.
impl ServerDirectory {
    fn parts(&self) -> PathBuf {
        self.path().join("parts")
    }

    /// Whether it is the directory of a lab.
    pub(crate) fn is_rig(&self) -> bool {
        self.rig_marker().is_file()
    }

    /// Whether `clean` removes it as a whole: the directory of a lab, or one in which a Plimsoll was killed before
    /// there was anything in it to keep.
    pub(crate) fn goes_as_a_whole(&self) -> Result<bool, ServerError> {
        Ok(self.is_rig() || self.is_fresh()?)
    }

    /// Marks it, unless it is a server that was made by hand.
    fn become_rig(&self) -> Result<(), ServerError> {
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
                found: "it is a private server that was made by hand, not one of a lab".to_owned(),
            }),
        }
    }

    /// Removes data and parts. Data without their marker would be nobody's, so they lose their name first.
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

    /// Removes the directory of a rig whose server is down, and lets go of `lock`, which is held on it. What says that
    /// it is ours goes last.
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
        // On NFS a file that is open keeps its directory, under another name.
        drop(lock);
        fs::remove_dir(self.path()).during("remove", self.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subject_has_a_name_that_a_server_may_have() {
        let (one, other) = (Rig::name_of("fc/pool", &["plan"]), Rig::name_of("fc-pool", &["plan"]));
        assert!(one.starts_with("lab-fc-pool-"), "{one}");
        assert_ne!(one, other);
        assert_ne!(one, Rig::name_of("fc/pool", &["another plan"]));
        assert!(Rig::name_of(&"x".repeat(200), &[]).len() <= 64 - "-apart".len());
    }
}
