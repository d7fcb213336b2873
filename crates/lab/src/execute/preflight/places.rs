//! Where servers may work: directories that are there and can be written, lanes that can be built, room for the data.

use super::{data_bytes, refused};
use crate::error::LabError;
use crate::execute::own_lanes::OwnLanes;
use plimsoll_plan::lab::{Layout, Storage, Variant};
use plimsoll_server::Home;
use plimsoll_storage::lane::spec::{Kind, Spec};
use plimsoll_storage::lane::tool;
use rustix::fs::{Access, access, statvfs};
use rustix::process::geteuid;
use std::fs;
use std::path::Path;

/// Refuses paths where no server can work, and lanes that cannot be built.
pub(super) fn check(home: &Home, variant: &Variant) -> Result<(), LabError> {
    match &variant.storage {
        Storage::Home => has_room(home.path(), "datadir", variant)?,
        Storage::Directory(path) => {
            directory(path, "datadir", variant)?;
            has_room(path, "datadir", variant)?;
        }
        Storage::Lane(name) => lane(home, name, variant)?,
    }
    parts(&variant.layout).into_iter().try_for_each(|(key, path)| directory(path, &key, variant))
}

/// The paths of a layout by the keys that name them.
fn parts(layout: &Layout) -> Vec<(String, &Path)> {
    let Layout { redo, doublewrite, undo, binlog, tmp, tables } = layout;
    let named = [("redo", redo), ("doublewrite", doublewrite), ("undo", undo), ("binlog", binlog), ("tmp", tmp)];
    let named = named.into_iter().filter_map(|(key, path)| Some((format!("layout.{key}"), path.as_deref()?)));
    named.chain(tables.iter().map(|(table, path)| (format!("layout.tables.{table}"), path.as_path()))).collect()
}

fn directory(path: &Path, key: &str, variant: &Variant) -> Result<(), LabError> {
    let refuse = |found: &str| {
        let problem =
            format!("{key}: `{}` {found}; accepted is a directory that this user can write to", path.display());
        Err(refused(variant.at(key), problem))
    };
    match fs::metadata(path) {
        Err(error) => refuse(&format!("cannot be used: {error}")),
        Ok(facts) if !facts.is_dir() => refuse("is no directory"),
        Ok(_) => match access(path, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => Ok(()),
            Err(error) => refuse(&format!("cannot be written: {error}")),
        },
    }
}

/// Refuses what would fill the disk. That the data are kept a second time may cost nothing, so it is not counted.
fn has_room(path: &Path, key: &str, variant: &Variant) -> Result<(), LabError> {
    let Ok(facts) = statvfs(path) else { return Ok(()) };
    let (free, wanted) = (facts.f_bavail.saturating_mul(facts.f_frsize), data_bytes(variant)?);
    if wanted <= free {
        return Ok(());
    }
    let mega = |bytes: u64| bytes / 1_000_000;
    let problem = format!(
        "the data of `{}` take about {} MB, and {} has {} MB free; make room, or make `workload` smaller",
        variant.name,
        mega(wanted),
        path.display(),
        mega(free)
    );
    Err(refused(variant.at(key), problem))
}

fn lane(home: &Home, name: &str, variant: &Variant) -> Result<(), LabError> {
    let spec = Spec::parse(name).map_err(|error| refused(variant.at("lane"), format!("lane: {error}")))?;
    if OwnLanes::of(home.path()).up(name)?.is_some() {
        return Ok(());
    }
    let missing = tool::missing_for(&spec);
    if !missing.is_empty() {
        let install = tool::install_line(&missing);
        return Err(LabError::Environment(format!("{}: the lane {name} needs: {install}", variant.at("lane"))));
    }
    let plain = spec.kind == Kind::Root && !spec.is_throttled();
    match plain || geteuid().is_root() {
        true => Ok(()),
        false => {
            let at = variant.at("lane");
            Err(LabError::Environment(format!(
                "{at}: only root can build the lane {name}; run as root, or name a datadir"
            )))
        }
    }
}
