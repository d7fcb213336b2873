//! One file per subcommand, all of the same shape: arguments in, an exit code out.

pub mod advise;
pub mod agent;
mod baseline;
pub mod calibrate;
pub mod check;
pub mod clean;
pub mod compare;
pub mod completions;
pub mod crash;
pub mod datasets;
mod drafted;
pub mod drop;
pub mod fleet;
pub mod gate;
pub mod io;
pub mod lab;
pub mod lane;
pub mod lane_part;
pub mod load;
pub mod man;
pub mod quickstart;
pub mod recordings;
pub mod report;
pub mod run;
pub mod script;
pub mod serve;
pub mod server;
pub mod sysbench;
pub mod target;
pub mod tune;
pub mod workloads;

use plimsoll_analysis::AnalysisError;
use plimsoll_archive::ArchiveError;
use plimsoll_data::DataError;
use plimsoll_data::dataset::Marker;
use plimsoll_host::HostError;
use plimsoll_host::replace::replace;
use plimsoll_lab::LabError;
use plimsoll_plan::PlanError;
use plimsoll_workloads::chosen::ChosenWorkload;
use std::fs;
use std::path::Path;

pub const DONE: u8 = 0;
pub const CHECK_FAILED: u8 = 1;
const USAGE: u8 = 2;
pub const ENVIRONMENT: u8 = 3;
/// Of `--fail-if-unclear`.
pub const UNDECIDED: u8 = 4;
pub const INTERRUPTED: u8 = 130;

/// Writes a file as a whole: where the new one has no room, the old one stays. What is no file, such as a link or a pipe, is
/// written to where it is.
///
/// # Errors
/// If it cannot be written.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> std::io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::write(path, content);
    }
    match replace(path, content.as_ref()) {
        Ok(()) => Ok(()),
        // The file may be written, and its directory not.
        Err(HostError::Io { source, .. }) if source.kind() == std::io::ErrorKind::PermissionDenied => {
            fs::write(path, content)
        }
        Err(HostError::Io { source, .. }) => Err(source),
        Err(error) => Err(std::io::Error::other(error)),
    }
}

/// Refuses a file for whose directory nobody could write it, before anything is measured.
pub fn has_directory(path: &Path) -> Result<(), LabError> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match directory.is_dir() {
        true => Ok(()),
        false => Err(LabError::Refused(format!("{}: there is no directory {}", path.display(), directory.display()))),
    }
}

/// What an error that reached the top means to the caller.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(error) = error.downcast_ref::<LabError>() {
        return error.exit_code();
    }
    if let Some(error) = error.downcast_ref::<DataError>() {
        return error.exit_code();
    }
    if let Some(error) = error.downcast_ref::<AnalysisError>() {
        return error.exit_code();
    }
    match error.downcast_ref::<ArchiveError>() {
        Some(ArchiveError::Foreign(_) | ArchiveError::Exists { .. }) => return USAGE,
        Some(ArchiveError::Interrupted) => return INTERRUPTED,
        Some(ArchiveError::Record(_) | ArchiveError::Io { .. }) | None => {}
    }
    let usage = error.is::<PlanError>() || error.is::<plimsoll_workloads::Error>();
    if usage { USAGE } else { ENVIRONMENT }
}

/// The workload with the parameters given, on top of those that its data were loaded with.
pub fn chosen(
    name: &str,
    typed: &[(String, String)],
    marker: Option<&Marker>,
) -> Result<ChosenWorkload, plimsoll_workloads::Error> {
    ChosenWorkload::new(name, typed, marker.map(|marker| marker.description.loaded()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_a_link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let [file, link] = ["my.cnf", "link.cnf"].map(|name| directory.path().join(name));
        symlink(&file, &link).unwrap();
        for (path, content) in [(&file, "one"), (&link, "two"), (&file, "three")] {
            write_whole(path, content).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), content);
        }
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing stays beside them");
        assert!(write_whole(&directory.path().join("none/my.cnf"), "x").is_err());
    }
}
