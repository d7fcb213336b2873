//! Pages whose checksum is wrong: innochecksum, which comes with each server, reads every file of InnoDB
//! (MySQL Reference Manual, "innochecksum").

use plimsoll_model::text::clean;
use plimsoll_model::{Build, Caveat};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PROGRAM: &str = "innochecksum";
/// Says that a page is wrong, and not that the program itself failed.
const OF_A_PAGE: &str = "Fail: page";
/// Pages have 16 KiB where nothing else was asked for.
const DEFAULT_PAGE_BITS: u32 = 14;
/// How much of what it says about a file is kept, characters.
const QUOTED: usize = 200;

/// What the checksums of pages say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PageFindings {
    /// The files with pages that are not whole, and what is said of them.
    pub wrong: Vec<String>,
    /// What could not be looked at, and why.
    pub not_checked: Vec<String>,
}

/// Checks all files below a directory on which no server runs.
pub(super) fn look_at(build: &Build, directory: &Path, found: &mut PageFindings) {
    let Some(program) = find(&build.binary) else {
        return found.not_checked.push("innochecksum is neither beside the server nor in /usr/bin".to_owned());
    };
    let mut files = Vec::new();
    if let Err(error) = tablespaces(directory, &mut files) {
        found.not_checked.push(format!("{}: {error}", directory.display()));
    }
    files.sort();
    for file in files {
        for part in parts(&file) {
            let mut command = Command::new(&program);
            command.args(&part).arg(&file).stdin(Stdio::null()).env_clear();
            let said = match command.output() {
                Ok(output) if output.status.success() => continue,
                Ok(output) => clean(&String::from_utf8_lossy(&output.stderr)),
                Err(error) => error.to_string(),
            };
            let said: String = said.trim().chars().take(QUOTED).collect();
            let told = format!("{}: {said}", file.strip_prefix(directory).unwrap_or(&file).display());
            if said.contains(OF_A_PAGE) { found.wrong.push(told) } else { found.not_checked.push(told) }
        }
    }
}

/// The parts of a file that hold pages of its own, as options. In the system tablespace two extents are MariaDB's doublewrite
/// buffer, whose pages are copies of others (InnoDB: `FSP_EXTENT_SIZE`, `TRX_SYS_DOUBLEWRITE_BLOCK1`).
fn parts(file: &Path) -> Vec<Vec<String>> {
    if file.file_name().is_none_or(|name| name != "ibdata1") {
        return vec![Vec::new()];
    }
    // An extent is 1 MiB of small pages, and 64 of others.
    let extent = ((1u64 << 20) >> page_bits(file).unwrap_or(DEFAULT_PAGE_BITS)).max(64);
    vec![vec![format!("--end-page={}", extent - 1)], vec![format!("--start-page={}", 3 * extent)]]
}

/// The size of a tablespace's pages as a power of two, from the flags in its first page (InnoDB: `FSP_SPACE_FLAGS`,
/// `FSP_FLAGS_POS_PAGE_SSIZE`, and where MariaDB's `FSP_FLAGS_FCRC32_MASK_MARKER` is set, the lowest four bits).
fn page_bits(file: &Path) -> Option<u32> {
    let mut flags = [0; 4];
    File::open(file).and_then(|file| file.read_exact_at(&mut flags, 54)).ok()?;
    let flags = u32::from_be_bytes(flags);
    let size = if flags & 0x10 == 0 { flags >> 6 } else { flags } & 0xf;
    // A size is stored as 3 for 4 KiB; as nothing for 16 KiB, by older servers.
    Some(if size == 0 { DEFAULT_PAGE_BITS } else { 9 + size })
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

pub(super) fn not_checked(what: &[String]) -> Caveat {
    let (first, others) = (what.first().map_or("", String::as_str), what.len().saturating_sub(1));
    let others = if others > 0 { format!(", and {others} more") } else { String::new() };
    Caveat::new("pages_not_checked", format!("not all checksums of pages were looked at: {first}{others}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Flavour;

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
    fn copies_in_the_system_tablespace_are_left_out_whatever_pages_have() {
        let data = tempfile::tempdir().unwrap();
        let file = data.path().join("ibdata1");
        // Flags of old servers and of MySQL, of 4 KiB in the same form, and of 4 and 8 KiB in MariaDB's.
        for (flags, end) in [(0u32, 63), (5 << 6, 63), (3 << 6, 255), (0x13, 255), (0x14, 127)] {
            let mut page = vec![0; 64];
            page[54..58].copy_from_slice(&flags.to_be_bytes());
            fs::write(&file, page).unwrap();
            let left = [[format!("--end-page={end}")], [format!("--start-page={}", 3 * (end + 1))]];
            assert_eq!(parts(&file), left, "{flags}");
        }
        assert_eq!(parts(&data.path().join("a.ibd")), [Vec::<String>::new()]);
    }

    #[test]
    fn a_file_that_cannot_be_read_hides_nothing_of_the_others() {
        let data = tempfile::tempdir().unwrap();
        let mut found = PageFindings::default();
        let build = Build { flavour: Flavour::MySql, version: "9.7.4".to_owned(), binary: data.path().join("mysqld") };
        look_at(&build, &data.path().join("missing"), &mut found);
        assert!(found.wrong.is_empty() && found.not_checked.len() == 1, "{found:?}");
    }

    #[test]
    fn a_server_that_finds_half_a_page_says_so() {
        assert!(speaks_of_pages("[ERROR] InnoDB: Database page corruption on disk or a failed read of file"));
        assert!(!speaks_of_pages("[ERROR] Can't start server: Bind on unix socket"));
    }
}
