//! The limits of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files besides the sockets: the recording, the event loops, what was inherited.
pub const SPARE_FILES: u64 = 64;

/// Raises the limit of this process (RLIMIT_NOFILE) if it is lower.
///
/// # Errors
/// How many files it may open, if that is fewer.
pub fn allow_open_files(wanted: u64) -> Result<(), u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let allowed = maximum.is_none_or(|maximum| maximum >= wanted);
    match allowed && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() {
        true => Ok(()),
        false => Err(maximum.or(current).unwrap_or(0)),
    }
}
