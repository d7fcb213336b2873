//! Pages whose checksum is wrong: innochecksum, which comes with each server, reads every file of InnoDB
//! (MySQL Reference Manual, "innochecksum").

use crate::error::LabError;
use plimsoll_model::text::clean;
use plimsoll_model::{Build, Caveat};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = "innochecksum";
/// Says that a page is wrong, and not that the program itself failed.
const OF_A_PAGE: &str = "Fail: page";
/// How much of what it says about a file is kept, characters.
const QUOTED: usize = 200;

/// What the checksums of pages say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PageFindings {
    /// The files with pages that are not whole, and what is said of them.
    Checked(Vec<String>),
    /// For this reason.
    NotChecked(String),
}

/// Checks all files below a data directory on which no server runs.
///
/// # Errors
/// If the files cannot be listed.
pub(super) fn wrong(build: &Build, data: &Path) -> Result<PageFindings, LabError> {
    let Some(program) = find(&build.binary) else {
        return Ok(PageFindings::NotChecked("innochecksum is neither beside the server nor in /usr/bin".to_owned()));
    };
    let mut files = Vec::new();
    tablespaces(data, &mut files).map_err(|error| LabError::Environment(format!("{}: {error}", data.display())))?;
    files.sort();
    let mut wrong = Vec::new();
    for file in files {
        for part in parts(&file) {
            let mut command = Command::new(&program);
            command.args(*part).arg(&file).stdin(Stdio::null()).env_clear();
            let said = match command.output() {
                Ok(output) if output.status.success() => continue,
                Ok(output) => clean(&String::from_utf8_lossy(&output.stderr)),
                Err(error) => error.to_string(),
            };
            let said: String = said.trim().chars().take(QUOTED).collect();
            if !said.contains(OF_A_PAGE) {
                return Ok(PageFindings::NotChecked(format!("{}: {said}", program.display())));
            }
            wrong.push(format!("{}: {said}", file.strip_prefix(data).unwrap_or(&file).display()));
        }
    }
    Ok(PageFindings::Checked(wrong))
}

/// The parts of a file that hold pages of its own. In the system tablespace two extents of 64 pages are MariaDB's doublewrite
/// buffer, whose pages are copies of others (InnoDB: `FSP_EXTENT_SIZE`, `TRX_SYS_DOUBLEWRITE_BLOCK1`).
fn parts(file: &Path) -> &'static [&'static [&'static str]] {
    let is_system = file.file_name().is_some_and(|name| name == "ibdata1");
    if is_system { &[&["--end-page=63"], &["--start-page=192"]] } else { &[&[]] }
}

/// Beside the server, where it was unpacked, or in the usual places.
fn find(server: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(server).unwrap_or_else(|_| server.to_owned());
    let beside = [server, &real]
        .into_iter()
        .filter_map(Path::parent)
        .flat_map(|directory| [directory.join(PROGRAM), directory.with_file_name("bin").join(PROGRAM)]);
    beside.chain([Path::new("/usr/bin").join(PROGRAM)]).find(|path| path.is_file())
}

/// Files of tables, of the system and of undo.
fn tablespaces(directory: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_tablespace = name.ends_with(".ibd") || name.starts_with("ibdata") || name.starts_with("undo");
        if kind.is_dir() && !name.starts_with('#') {
            tablespaces(&path, files)?;
        } else if kind.is_file() && is_tablespace {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a server that does not start says that pages are the reason.
pub(super) fn speaks_of_pages(why: &str) -> bool {
    let why = why.to_lowercase();
    ["corrupt", "checksum", "torn"].iter().any(|word| why.contains(word))
}

pub(super) fn not_checked(why: &str) -> Caveat {
    Caveat::new("pages_not_checked", format!("the checksums of pages were not looked at: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tablespaces_are_found_and_other_files_are_not() {
        let data = tempfile::tempdir().unwrap();
        fs::create_dir_all(data.path().join("sbtest")).unwrap();
        fs::create_dir(data.path().join("#innodb_redo")).unwrap();
        for name in ["ibdata1", "undo001", "sbtest/a.ibd", "sbtest/a.frm", "ib_logfile0", "#innodb_redo/x.ibd"] {
            fs::write(data.path().join(name), "").unwrap();
        }
        let mut files = Vec::new();
        tablespaces(data.path(), &mut files).unwrap();
        assert_eq!(files.len(), 3, "{files:?}");
    }

    #[test]
    fn a_server_that_finds_half_a_page_says_so() {
        assert!(speaks_of_pages("[ERROR] InnoDB: Database page corruption on disk or a failed read of file"));
        assert!(!speaks_of_pages("[ERROR] Can't start server: Bind on unix socket"));
    }
}
