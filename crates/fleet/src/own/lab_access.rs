//! What agents on other machines need to load the private servers of a lab: a login that is made with the fleet, and the
//! certificate of its broker, which the servers have as well.

use crate::error::FleetError;
use plimsoll_host::random;
use plimsoll_plan::defaults;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// As whom agents come.
pub const USER: &str = "plimsoll_agent";
/// The option file with their login, below the directory of the broker and below those of agents on other machines.
pub const FILE: &str = "lab.cnf";
/// Bytes of a password before they are written as text.
const BYTES: usize = 24;

/// The login of agents, and how a server proves to them who it is.
#[derive(Clone)]
pub struct LabAccess {
    pub password: String,
    pub certificate: PathBuf,
    pub key: PathBuf,
    pub authority: PathBuf,
}

impl fmt::Debug for LabAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LabAccess").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// The option file of a login with a password that nobody has had before.
///
/// # Errors
/// The operating system's.
pub(super) fn option_file() -> io::Result<String> {
    let password = random::hex(BYTES)?;
    Ok(format!("[client]\nuser = {USER}\npassword = {password}\n"))
}

/// The password in the option file below this directory.
///
/// # Errors
/// It cannot be read, or has none.
pub(super) fn password(directory: &Path) -> Result<String, FleetError> {
    let path = directory.join(FILE);
    let failed = |why: String| FleetError::Environment(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
    let client = defaults::parse(&text, &path.display().to_string()).map_err(|error| failed(error.to_string()))?;
    client.password.ok_or_else(|| failed("it has no password".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_read_as_it_was_written_and_never_shown() {
        let directory = tempfile::tempdir().unwrap();
        let text = option_file().unwrap();
        assert_ne!(text, option_file().unwrap());
        fs::write(directory.path().join(FILE), &text).unwrap();
        let password = password(directory.path()).unwrap();
        assert!(text.contains(&password) && password.len() == 2 * BYTES, "{password}");
        let path = PathBuf::new;
        let access = LabAccess { password: password.clone(), certificate: path(), key: path(), authority: path() };
        assert!(!format!("{access:?}").contains(&password));
    }
}
