//! A cache of freshly initialised data directories, one per server build, and how one is copied.
//!
//! Initialising takes seconds, copying tens of milliseconds. An entry is created under its own lock in a directory
//! beside it and renamed when complete, so an entry that exists is complete.

use crate::directory::remove_tree;
use crate::error::DuringServer;
use crate::opening::OpeningWatch;
use crate::{ServerError, ServerSetting, Settings, bootstrap};
use plimsoll_host::fingerprint::fingerprint;
use plimsoll_host::lock::Lock;
use plimsoll_host::owner;
use plimsoll_host::replace::rename;
use plimsoll_host::{Home, HostError};
use plimsoll_model::Build;
use plimsoll_model::OpeningStep;
use rustix::fs::ioctl_ficlone;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const BUILDING: &str = ".building";
const CACHE: &str = "cache of data directories";
const POLL: Duration = Duration::from_millis(50);

/// The template for `build` and those `settings` that are fixed when data are created; created now if missing.
///
/// # Errors
/// [`ServerError::InitialiseFailed`], [`ServerError::Interrupted`], or [`HostError::Io`].
pub(crate) fn obtain(
    home: &Home,
    build: &Build,
    settings: &Settings,
    watch: &mut OpeningWatch,
) -> Result<PathBuf, ServerError> {
    let fixed: Vec<&ServerSetting> = settings.fixed_at_initialisation().collect();
    let cache = home.templates();
    DirBuilder::new().recursive(true).mode(0o700).create(&cache).during("create", &cache)?;
    must_be_ours(&cache)?;
    let key = key_of(build, &fixed)?;
    let template = cache.join(&key);
    if is_whole(&template)? {
        return Ok(template);
    }
    let _lock = wait_for_lock(&cache.join(format!("{key}.lock")), watch)?;
    if is_whole(&template)? {
        return Ok(template);
    }
    let scratch = cache.join(format!("{key}{BUILDING}"));
    remove_tree(&scratch)?;
    DirBuilder::new().mode(0o700).create(&scratch).during("create", &scratch)?;
    let made = bootstrap::initialise(build, &fixed, &scratch, watch).and_then(|data| {
        // Otherwise every copy would claim to be the same server.
        let _ = fs::remove_file(data.join("auto.cnf"));
        rename(&data, &template).during("rename to", &template)
    });
    remove_tree(&scratch)?;
    made.map(|()| template)
}

/// If others could write to the cache, every new server of ours would run on their files.
fn must_be_ours(cache: &Path) -> Result<(), ServerError> {
    Ok(owner::check(cache).map_err(HostError::ours(CACHE, "set XDG_CACHE_HOME to a directory of your own"))?)
}

/// Whether a template exists and is ours.
fn is_whole(template: &Path) -> Result<bool, ServerError> {
    match template.is_dir() {
        true => Ok(owner::itself(template).map_err(HostError::ours(CACHE, "remove it")).map(|()| true)?),
        false => Ok(false),
    }
}

/// Another binary at the same path is another build, even if it reports the same version.
fn key_of(build: &Build, fixed: &[&ServerSetting]) -> Result<String, ServerError> {
    let facts = fs::metadata(&build.binary).during("look at", &build.binary)?;
    let identity = format!("{} {} {}", facts.mtime(), facts.mtime_nsec(), facts.len());
    let fixed: Vec<String> = fixed.iter().map(|setting| format!("{}={}", setting.name, setting.value)).collect();
    let parts = [build.binary.as_os_str().as_bytes(), identity.as_bytes()];
    let hash = fingerprint(parts.into_iter().chain(fixed.iter().map(String::as_bytes)));
    let version: String = build.version.chars().filter(|c| c.is_ascii_alphanumeric() || ".-+".contains(*c)).collect();
    Ok(format!("{}-{version}-{hash:016x}", build.flavour))
}

fn wait_for_lock(path: &Path, watch: &mut OpeningWatch) -> Result<Lock, ServerError> {
    let begun = Instant::now();
    loop {
        if let Some(lock) = Lock::try_take(path, "initialising a data directory")? {
            return Ok(lock);
        }
        watch.tell(OpeningStep::WaitingForTemplate, begun.elapsed())?;
        thread::sleep(POLL);
    }
}

/// Copies the tree `from` to the new directory `to`, sharing blocks if the file system can. Only files and directories
/// are copied: a template has nothing else.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), ServerError> {
    DirBuilder::new().mode(0o700).create(to).during("create", to)?;
    for entry in fs::read_dir(from).during("read", from)? {
        let entry = entry.during("read", from)?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type().during("look at", &entry.path())?;
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            copy_file(&entry.path(), &target).during("copy to", &target)?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let target = File::create_new(to)?;
    target.set_permissions(source.metadata()?.permissions())?;
    if ioctl_ficlone(&target, &source).is_ok() {
        return Ok(());
    }
    // Uses copy_file_range if possible.
    let (mut source, mut target) = (source, target);
    io::copy(&mut source, &mut target).map(drop)
}

/// Removes templates whose creation was interrupted; those being created now are locked and left alone.
pub(crate) fn remove_half_built(home: &Home) -> Result<Vec<PathBuf>, ServerError> {
    let cache = home.templates();
    let mut gone = Vec::new();
    let entries = match fs::read_dir(&cache) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(gone),
        entries => entries.during("read", &cache)?,
    };
    must_be_ours(&cache)?;
    for entry in entries {
        let name = entry.during("read", &cache)?.file_name();
        let Some(key) = name.to_str().and_then(|name| name.strip_suffix(BUILDING)) else { continue };
        let Some(_lock) = Lock::try_take(&cache.join(format!("{key}.lock")), "clean")? else { continue };
        if remove_tree(&cache.join(&name))? {
            gone.push(cache.join(&name));
        }
    }
    Ok(gone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_template_that_others_can_write_to_is_not_copied() {
        let cache = tempfile::tempdir().unwrap();
        let template = cache.path().join("mariadb-10.11-00");
        assert!(!is_whole(&template).unwrap());
        fs::create_dir(&template).unwrap();
        for (mode, expected) in [(0o755, true), (0o757, false), (0o700, true)] {
            fs::set_permissions(&template, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_whole(&template).is_ok(), expected, "{mode:o}");
        }
        fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = must_be_ours(cache.path()).unwrap_err().to_string();
        assert!(refused.contains("cache of data directories") && refused.contains("XDG_CACHE_HOME"), "{refused}");
    }
}
