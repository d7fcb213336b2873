//! MariaDB's own copy of a running server: the program `mariadb-backup`.

use super::source::DatasetSource;
use crate::DataError;
use plimsoll_host::process::{Lifetime, scrub, spawn};
use plimsoll_model::Build;
use plimsoll_watch::Watcher;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::Duration;

const NAMES: [&str; 2] = ["mariadb-backup", "mariabackup"];
/// Prefixes of the files that it leaves in the copy for its own use.
const NOTES: [&str; 3] = ["xtrabackup_", "mariadb_backup_", "backup-my.cnf"];
const LOOK: Duration = Duration::from_millis(50);
/// Lines of its log that a message quotes.
const QUOTED: usize = 4;

/// The backup program for a server: beside its binary, or in the PATH.
///
/// # Errors
/// If it is not there: which package has it.
pub fn program(build: &Build) -> Result<PathBuf, String> {
    let beside = build.binary.parent().map(Path::to_owned);
    let below = beside.iter().filter_map(|directory| Some(directory.parent()?.join("bin"))).next();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = beside.into_iter().chain(below).chain(std::env::split_paths(&path));
    let mut programs = places.flat_map(|place| NAMES.map(|name| place.join(name)));
    programs.find(|program| program.is_file()).ok_or_else(|| {
        "there is no program `mariadb-backup`; install the package `mariadb-backup` of the server's version".to_owned()
    })
}

/// Makes the new directory `to` a copy of the data of `source` that a server can be started on. The program's output
/// goes to the file `log`.
///
/// # Errors
/// [`DataError::Environment`] with its last words; [`DataError::Interrupted`].
pub fn copy(source: &DatasetSource, to: &Path, log: &Path, watcher: &mut dyn Watcher) -> Result<(), DataError> {
    let program = program(&source.build).map_err(DataError::Environment)?;
    let target = format!("--target-dir={}", to.display());
    let config = format!("--defaults-file={}", source.directory.my_cnf().display());
    let socket = format!("--socket={}", source.socket.display());
    // As root over the socket, without a password: nothing that `ps` must not show.
    run(&program, &[&config, "--backup", "--user=root", &socket, &target], log, watcher)?;
    run(&program, &["--prepare", &target], log, watcher)?;
    remove_notes(to)
}

fn run(program: &Path, words: &[&str], log: &Path, watcher: &mut dyn Watcher) -> Result<(), DataError> {
    let failed = |what: String| DataError::Environment(format!("{} {}: {what}", program.display(), words.join(" ")));
    let status = execute(program, words, log, watcher).map_err(|error| failed(error.to_string()))?;
    match status {
        None => Err(DataError::Interrupted),
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(failed(format!("{status}\n{}", end_of(log)))),
    }
}

/// Runs it to the end; none if it was interrupted.
fn execute(
    program: &Path,
    words: &[&str],
    log: &Path,
    watcher: &mut dyn Watcher,
) -> std::io::Result<Option<ExitStatus>> {
    let output = File::create(log)?;
    let directory = log.parent().unwrap_or(Path::new("/"));
    let mut command = Command::new(program);
    scrub(&mut command, directory, directory);
    command.args(words).stdout(output.try_clone()?).stderr(output);
    let mut child = spawn(command, Lifetime::WithPlimsoll)?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if watcher.interrupted() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

fn end_of(log: &Path) -> String {
    let text = fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(QUOTED)..].join("\n")
}

fn remove_notes(data: &Path) -> Result<(), DataError> {
    let failed = |error: std::io::Error| DataError::Environment(format!("{}: {error}", data.display()));
    for entry in fs::read_dir(data).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if NOTES.iter().any(|beginning| entry.file_name().to_string_lossy().starts_with(beginning)) {
            fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}
