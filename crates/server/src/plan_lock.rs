//! One lab at a time for each plan: two would take each other's directories and recordings.

use crate::ServerError;
use plimsoll_host::Home;
use plimsoll_host::home::real_directory;
use plimsoll_host::lock::Lock;
use std::fs;
use std::path::PathBuf;

/// The lock on the plans of one name, `<home>/labs/<name>.lock`; its file is removed when it is dropped. A file left by
/// a kill does no harm.
#[derive(Debug)]
pub struct PlanLock {
    path: PathBuf,
    _lock: Lock,
}

impl PlanLock {
    /// Takes the lock on `plan` for `holder` (a command, say).
    ///
    /// # Errors
    /// [`ServerError::PlanLocked`] names its holder; [`HostError::Place`], [`HostError::Io`].
    pub fn take(home: &Home, plan: &str, holder: &str) -> Result<PlanLock, ServerError> {
        let directory = real_directory("directory of labs", &home.path().join("labs"), "move it away")?;
        // Names have no underscores of their own, so no two become equal.
        let path = directory.join(format!("{}.lock", plan.replace('/', "_")));
        match Lock::try_take(&path, holder)? {
            Some(lock) => Ok(PlanLock { path, _lock: lock }),
            None => Err(ServerError::PlanLocked { name: plan.to_owned(), holder: Lock::holder(&path) }),
        }
    }
}

impl Drop for PlanLock {
    fn drop(&mut self) {
        // If it stays, the next lab takes it.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lab_at_a_time_has_a_plan() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| directory.path().into())).unwrap();
        let first = PlanLock::take(&home, "group/one", "the first").unwrap();
        let other = PlanLock::take(&home, "group/other", "the first").unwrap();
        let second = PlanLock::take(&home, "group/one", "the second").unwrap_err().to_string();
        assert!(second.contains("`group/one`") && second.contains("the first (pid"), "{second}");
        drop((first, other));
        PlanLock::take(&home, "group/one", "the second").unwrap();
        assert_eq!(fs::read_dir(home.path().join("labs")).unwrap().count(), 0);
    }
}
