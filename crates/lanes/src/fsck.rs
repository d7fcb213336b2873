//! Whether a file system is whole, as its own checker says, which changes nothing (e2fsck(8), xfs_repair(8), btrfs-check(8)).
//! The file system was mounted and unmounted before: its journal has been replayed, so that what is left is damage.

use super::kind::FileSystem;
use super::tool;
use crate::LaneError;
use std::path::Path;

/// How much of what a checker says is kept, characters.
const QUOTED: usize = 300;

/// What is wrong with the file system on a device that is not mounted; none if it is whole.
///
/// # Errors
/// [`LaneError::Environment`] if the checker is missing or cannot be run.
pub(super) fn damage(kind: FileSystem, device: &Path) -> Result<Option<String>, LaneError> {
    let (program, options) = tool::checker(kind);
    let mut command = tool::command(program)?;
    let failed = |why: String| LaneError::Environment(format!("{program} failed: {why}"));
    let output = command.args(options).arg(device).output().map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(None);
    }
    let said = [output.stdout, output.stderr].concat();
    let said: Vec<String> = String::from_utf8_lossy(&said).lines().map(|line| line.trim().to_owned()).collect();
    let said: String = said.join(" ").chars().take(QUOTED).collect();
    match output.status.code() {
        Some(code) if finds(kind, code) => Ok(Some(format!("{program}: {said}"))),
        _ => Err(failed(format!("{}: {said}", output.status))),
    }
}

/// What whoever runs a machine does before it mounts a file system of the ext family again: one that has seen an I/O error says
/// so, its kernel leaves its deleted files as they are and recommends e2fsck(8), and with `-y` that repairs it. Of any other it
/// replays the journal alone. What it cannot repair, [`damage`] finds. The others repair themselves when they are mounted.
///
/// # Errors
/// [`LaneError::Environment`] if the checker is missing or cannot be run.
pub(super) fn repair(kind: FileSystem, device: &Path) -> Result<(), LaneError> {
    let (program, _) = tool::checker(kind);
    if program != "e2fsck" {
        return Ok(());
    }
    let output = tool::command(program)?.arg("-y").arg(device).output();
    output.map(drop).map_err(|error| LaneError::Environment(format!("{program} failed: {error}")))
}

/// Whether an exit code means damage, and not that the checker could not do its work: e2fsck has 4 for errors that it left,
/// the others 1.
fn finds(kind: FileSystem, code: i32) -> bool {
    match kind {
        FileSystem::Ext4 => code & 4 != 0,
        _ => code == 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::path::PathBuf;

    /// A file system in a file; none where its programs are not installed.
    fn made(directory: &Path, kind: FileSystem) -> Option<PathBuf> {
        let (program, options): (_, &[&str]) = match kind {
            FileSystem::Xfs => ("mkfs.xfs", &["-q", "-f"]),
            FileSystem::Btrfs => ("mkfs.btrfs", &["-q", "-f"]),
            _ => ("mkfs.ext4", &["-q", "-F", "-b", "4096"]),
        };
        let (program, path) = (tool::find(program)?, directory.join(kind.name()));
        File::create(&path).unwrap().set_len(320 << 20).unwrap();
        let mut command = std::process::Command::new(program);
        assert!(command.args(options).arg(&path).status().unwrap().success());
        Some(path)
    }

    /// Changes an ext4 file system.
    fn tamper(path: &Path, order: &str) {
        let mut command = std::process::Command::new(tool::find("debugfs").expect("it comes with mkfs.ext4"));
        assert!(command.args(["-w", "-R", order]).arg(path).output().unwrap().status.success());
    }

    #[test]
    fn a_file_system_that_saw_an_error_is_repaired_and_no_other_is() {
        let directory = tempfile::tempdir().unwrap();
        let Some(path) = made(directory.path(), FileSystem::Ext4) else {
            eprintln!("SKIPPED: ext4 is not installed");
            return;
        };
        let damage_after_repair = || {
            repair(FileSystem::Ext4, &path).unwrap();
            damage(FileSystem::Ext4, &path).unwrap()
        };
        // As a deleted file that was open.
        tamper(&path, "set_inode_field <11> dtime 77");
        assert!(damage_after_repair().is_some_and(|said| said.contains("has dtime set")));
        // Its state: not clean, but with errors.
        tamper(&path, "set_super_value state 2");
        assert_eq!(damage_after_repair(), None);
    }

    #[test]
    fn damage_is_found_and_none_is_none() {
        let directory = tempfile::tempdir().unwrap();
        for (kind, at) in [(FileSystem::Ext4, 4096), (FileSystem::Xfs, 512), (FileSystem::Btrfs, 64 << 10)] {
            let Some(path) = made(directory.path(), kind) else {
                eprintln!("SKIPPED: {} is not installed", kind.name());
                continue;
            };
            assert_eq!(damage(kind, &path).unwrap(), None, "{}", kind.name());
            let file = File::options().write(true).open(&path).unwrap();
            file.write_all_at(&[0xa5; 1 << 20], at).unwrap();
            let found = damage(kind, &path);
            // One that is damaged beyond recognition may also be refused, with the reason.
            assert!(!matches!(found, Ok(None)), "{}: {found:?}", kind.name());
        }
    }
}
