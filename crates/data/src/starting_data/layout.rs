//! Files that a layout puts on other paths than the data. In a dataset everything is in the data directory; restoring
//! it separates these files, and settings tell the server where they are.
//!
//! | part | files | the server finds them by |
//! |---|---|---|
//! | `redo` | `ib_logfile*`; MySQL since 8.0.30 `#innodb_redo/` | `innodb_log_group_home_dir` |
//! | `undo` | MariaDB `undo001`…, MySQL `undo_001`… | `innodb_undo_directory` |
//! | `doublewrite` | MySQL `#ib_*.dblwr`, `#ib_*.bdblwr`; MariaDB has it in its system tablespace | `innodb_doublewrite_dir` |
//! | `tables` | `SCHEMA/TABLE.ibd`, `SCHEMA/TABLE#P#….ibd` | MySQL `innodb_directories`; MariaDB a link file `SCHEMA/TABLE.isl` |
//! | `binlog`, `tmp` | none in a dataset | `log_bin`, `tmpdir` |

use super::TrialDirectories;
use crate::DataError;
use plimsoll_model::Build;
use plimsoll_model::Flavour;
use plimsoll_plan::lab::Layout;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// A directory on another path, and the files of a dataset that belong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LayoutPart {
    pub name: &'static str,
    pub directory: PathBuf,
    /// Paths within the data directory, and the same ones below `directory`.
    pub files: Vec<PathBuf>,
}

/// The parts of a dataset with these `files` that have directories of their own in `directories`.
///
/// # Errors
/// [`DataError::Environment`] for a table that the dataset does not have.
pub(super) fn parts(
    directories: &TrialDirectories,
    layout: &Layout,
    files: &[PathBuf],
) -> Result<Vec<LayoutPart>, DataError> {
    let select = |wanted: &dyn Fn(&Path) -> bool| files.iter().filter(|file| wanted(file)).cloned().collect();
    let mut parts = Vec::new();
    for (name, path) in layout.directories() {
        let directory = directories.on(path).part(name);
        let files = match name {
            "redo" => select(&is_redo),
            "undo" => select(&is_undo),
            "doublewrite" => select(&is_doublewrite),
            _ => Vec::new(),
        };
        parts.push(LayoutPart { name, directory, files });
    }
    for (table, path) in &layout.tables {
        let files: Vec<PathBuf> = select(&|file| is_of_table(file, table));
        if files.is_empty() {
            return Err(DataError::Environment(format!(
                "the layout puts the table `{table}` on {}, but the dataset has no file of a table of that name",
                path.display()
            )));
        }
        parts.push(LayoutPart { name: TABLES, directory: directories.on(path).part(TABLES), files });
    }
    Ok(merged(parts))
}

const TABLES: &str = "tables";

/// Several tables may be in one directory.
fn merged(parts: Vec<LayoutPart>) -> Vec<LayoutPart> {
    let mut all: Vec<LayoutPart> = Vec::new();
    for part in parts {
        match all.iter_mut().find(|known| known.directory == part.directory) {
            Some(known) => known.files.extend(part.files),
            None => all.push(part),
        }
    }
    all
}

/// The settings, by variable, that the server `build` needs to find what the layout puts elsewhere. They override those
/// of the plan.
pub fn layout_settings(directories: &TrialDirectories, layout: &Layout, build: &Build) -> Vec<(String, String)> {
    let is_mysql = build.flavour == Flavour::MySql;
    let mut settings = Vec::new();
    for (name, path) in layout.directories() {
        let directory = directories.on(path).part(name);
        let (variable, value) = match name {
            "redo" => ("innodb_log_group_home_dir", directory),
            "undo" => ("innodb_undo_directory", directory),
            "doublewrite" if is_mysql => ("innodb_doublewrite_dir", directory),
            "doublewrite" => continue,
            "binlog" => ("log_bin", directory.join("binlog")),
            _ => ("tmpdir", directory),
        };
        settings.push((variable.to_owned(), value.display().to_string()));
    }
    if is_mysql && !layout.tables.is_empty() {
        let mut directories: Vec<String> =
            layout.tables.values().map(|path| directories.on(path).part(TABLES).display().to_string()).collect();
        directories.sort();
        directories.dedup();
        settings.push(("innodb_directories".to_owned(), directories.join(";")));
    }
    settings
}

/// For each file of a table in `part`, the MariaDB link file that names it: its path in the data directory, and its
/// text (MariaDB writes such files itself for DATA DIRECTORY).
pub(super) fn links(part: &LayoutPart) -> Vec<(PathBuf, String)> {
    let tables = part.files.iter().filter(|_| part.name == TABLES);
    tables.map(|file| (file.with_extension("isl"), part.directory.join(file).display().to_string())).collect()
}

fn top(file: &Path) -> Option<&str> {
    match file.components().next() {
        Some(Component::Normal(name)) => name.to_str(),
        _ => None,
    }
}

fn is_at_top(file: &Path) -> bool {
    file.components().count() == 1
}

fn is_redo(file: &Path) -> bool {
    let name = top(file).unwrap_or_default();
    name == "#innodb_redo" || (is_at_top(file) && name.starts_with("ib_logfile"))
}

fn is_undo(file: &Path) -> bool {
    let number = top(file).and_then(|name| name.strip_prefix("undo"));
    let number = number.map(|rest| rest.strip_prefix('_').unwrap_or(rest));
    is_at_top(file) && number.is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
}

fn is_doublewrite(file: &Path) -> bool {
    let extension = file.extension().and_then(OsStr::to_str);
    is_at_top(file)
        && top(file).is_some_and(|name| name.starts_with("#ib_"))
        && matches!(extension, Some("dblwr" | "bdblwr"))
}

/// A file of this table, or of one of its partitions: `#P#` on MariaDB, `#p#` on MySQL.
fn is_of_table(file: &Path, table: &str) -> bool {
    let rest = file.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_prefix(table));
    let is_of = |rest: &str| rest == ".ibd" || (rest.to_ascii_lowercase().starts_with("#p#") && rest.ends_with(".ibd"));
    file.components().count() == 2 && rest.is_some_and(is_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_the_names_that_servers_give_them() {
        let is = |test: fn(&Path) -> bool, name: &str| test(Path::new(name));
        for name in ["ib_logfile0", "#innodb_redo/#ib_redo7", "#innodb_redo/#ib_redo8_tmp"] {
            assert!(is(is_redo, name), "{name}");
        }
        for name in ["undo001", "undo_002"] {
            assert!(is(is_undo, name), "{name}");
        }
        for name in ["#ib_16384_0.dblwr", "#ib_16384_1.bdblwr"] {
            assert!(is(is_doublewrite, name), "{name}");
        }
        for name in ["ibdata1", "mysql.ibd", "undo", "undo_x", "sbtest/undo001", "sbtest/ib_logfile0", "ib_buffer_pool"]
        {
            assert!(!is(is_redo, name) && !is(is_undo, name) && !is(is_doublewrite, name), "{name}");
        }
    }

    #[test]
    fn a_table_has_the_files_of_its_partitions() {
        for name in ["sbtest/stock.ibd", "sbtest/stock#P#p0.ibd", "sbtest/stock#p#p1.ibd"] {
            assert!(is_of_table(Path::new(name), "stock"), "{name}");
        }
        for name in ["sbtest/stock2.ibd", "stock.ibd", "sbtest/stock.frm", "sbtest/a/stock.ibd"] {
            assert!(!is_of_table(Path::new(name), "stock"), "{name}");
        }
    }
}
