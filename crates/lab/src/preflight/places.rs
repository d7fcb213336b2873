//! Where servers may work: directories that exist and can be written, lanes that can be built, room for the data.

use super::builds::Builds;
use super::directories::left_bytes;
use super::work::nearest;
use super::{Prepared, data_bytes};
use crate::error::LabError;
use crate::error::refused;
use crate::own_lanes::OwnLanes;
use plimsoll_data::datasets::backup_program;
use plimsoll_data::starting_data::recipe::Recipe;
use plimsoll_host::Home;
use plimsoll_lanes::kind::FileSystem;
use plimsoll_lanes::spec::{Spec, not_for_timing};
use plimsoll_lanes::tool;
use plimsoll_model::crash::FaultNeeds;
use plimsoll_model::{Build, FaultKind, Flavour};
use plimsoll_plan::LabPlan;
use plimsoll_plan::knowledge::value::truth;
use plimsoll_plan::lab::{Method, Restore, Setting, Storage, Variant};
use plimsoll_server::snapshot::{store, tree};
use rustix::fs::{Access, access, statfs, statvfs};
use rustix::process::geteuid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// `f_type` of file systems on which a copy shares its blocks with the original: Btrfs, XFS (statfs(2)).
const SHARING: [i64; 2] = [0x9123_683e, 0x5846_5342];

/// Since this MySQL, replication and its plugins have their names of today.
const REPLICATES: (u32, u32, u32) = (8, 0, 26);

/// Refuses paths where no server can work, and lanes that cannot be built.
pub(super) fn check(home: &Home, plan: &LabPlan, prepared: &Prepared, variant: &Variant) -> Result<(), LabError> {
    match &variant.storage {
        Storage::Lane(name) => lane(home, plan, name, variant)?,
        Storage::Home => {}
        Storage::Directory(path) => directory(path, "datadir", variant)?,
    }
    let path = off_lanes(home, variant)?;
    can_restore(home, plan, variant)?;
    can_fail(plan, variant)?;
    can_replicate(plan, prepared, variant)?;
    can_copy(home, plan, prepared, variant)?;
    if let (Some((path, place)), Some(build)) = (path, &prepared.build) {
        let asked = Variant { config: prepared.requested.clone(), ..variant.clone() };
        let kept = plan.trials.restore.copies() && !is_stored(&place, build, &asked)?;
        // What a search finds is confirmed on other data.
        let is_confirmed = plan.tune.is_some() && variant.workload.dataset.is_none();
        let is_second = asks_for(plan, FaultKind::Replica) || asks_for(plan, FaultKind::Backup) || is_confirmed;
        let copies = u64::from(kept) + u64::from(is_second);
        has_room(path, copies, left_bytes(&place, plan), variant)?;
    }
    let mut elsewhere = variant.layout.parts().filter(|(_, path)| path.is_absolute());
    elsewhere.try_for_each(|(key, path)| directory(path, &key, variant))
}

/// Where the data of a variant are, and the home or place there; none of a lane, which has a size of its own.
fn off_lanes<'v>(home: &'v Home, variant: &'v Variant) -> Result<Option<(&'v Path, Home)>, LabError> {
    Ok(match &variant.storage {
        Storage::Lane(_) => None,
        Storage::Home => Some((home.path(), home.clone())),
        Storage::Directory(path) => Some((path.as_path(), home.place_below(path)?)),
    })
}

/// Refuses datasets that fit one by one, but not together: each is kept beyond the end of the lab. `prepared` is that of
/// the plan's variants in turn.
pub(super) fn fit_together(home: &Home, plan: &LabPlan, prepared: &[Prepared]) -> Result<(), LabError> {
    if !plan.trials.restore.copies() {
        return Ok(());
    }
    let (mut rooms, mut counted) = (BTreeMap::new(), BTreeSet::new());
    for (variant, prepared) in plan.variants.iter().zip(prepared) {
        let (Some((path, place)), Some(build)) = (off_lanes(home, variant)?, &prepared.build) else { continue };
        let (Ok(facts), Ok(free)) = (fs::metadata(path), statvfs(path)) else { continue };
        let (room, ..) = rooms.entry(facts.dev()).or_insert_with(|| {
            let free = free.f_bavail.saturating_mul(free.f_frsize);
            let shares = statfs(path).is_ok_and(|kind| SHARING.contains(&kind.f_type));
            (SharedRoom { free, shares, ..SharedRoom::default() }, variant, path)
        });
        if counted.insert((place.path().to_owned(), None)) && !room.shares {
            room.free = room.free.saturating_add(left_bytes(&place, plan));
        }
        let asked = Variant { config: prepared.requested.clone(), ..variant.clone() };
        let (id, bytes) = (dataset_id(build, &asked)?, data_bytes(variant)?);
        room.largest = room.largest.max(bytes);
        let is_new = counted.insert((place.path().to_owned(), Some(id.clone())));
        if is_new && store::find(&place, &id)?.is_none() {
            room.datasets = room.datasets.saturating_add(bytes);
        }
    }
    let mut full = rooms.into_values().filter_map(|(room, first, path)| Some((room.lacks()?, room.free, first, path)));
    let Some((wanted, free, first, path)) = full.next() else { return Ok(()) };
    let mega = |bytes: u64| bytes / 1_000_000;
    let problem = format!(
        "the datasets of all variants and the data of one trial take about {} MB together, but {} has only {} MB free; make \
         room, or make `workload` smaller",
        mega(wanted),
        path.display(),
        mega(free)
    );
    Err(refused(nearest(first, &["datadir", "workload.kind"]), problem))
}

/// Of a file system on which several variants work, bytes.
#[derive(Default)]
struct SharedRoom {
    /// With what is freed before anything is created.
    free: u64,
    /// Whether the data of a trial share their blocks with the dataset.
    shares: bool,
    /// Datasets that have to be made.
    datasets: u64,
    /// The largest data of a trial.
    largest: u64,
}

impl SharedRoom {
    /// What is wanted, if that is more than there is.
    fn lacks(&self) -> Option<u64> {
        let of_a_trial = if self.shares { 0 } else { self.largest };
        Some(self.datasets.saturating_add(of_a_trial)).filter(|wanted| *wanted > self.free)
    }
}

/// Whether the dataset of a variant is in the store of the home or place where it works.
fn is_stored(place: &Home, build: &Build, variant: &Variant) -> Result<bool, LabError> {
    Ok(store::find(place, &dataset_id(build, variant)?)?.is_some())
}

/// The name of the dataset that a variant starts from.
fn dataset_id(build: &Build, variant: &Variant) -> Result<String, LabError> {
    Ok(match &variant.workload.dataset {
        Some(name) => name.clone(),
        None => Recipe::of(build, variant)?.id(),
    })
}

/// Refuses ways of restoring that the file system of the data does not support.
fn can_restore(home: &Home, plan: &LabPlan, variant: &Variant) -> Result<(), LabError> {
    let Restore::Snapshot(Some(method)) = plan.trials.restore else { return Ok(()) };
    let path = match &variant.storage {
        Storage::Lane(name) => return lane_can_restore(name, method, variant),
        Storage::Home => home.path(),
        Storage::Directory(path) => path,
    };
    let can = match method {
        Method::Reflink => tree::can_share(path),
        Method::BtrfsSnapshot => tree::is_btrfs(path),
        Method::ImageClone | Method::Copy => true,
    };
    if can { Ok(()) } else { cannot_restore(method, &path.display().to_string(), variant) }
}

/// Refuses faults that need another place than that of the data, and those of a place where some of the data are not.
fn can_fail(plan: &LabPlan, variant: &Variant) -> Result<(), LabError> {
    let mut faults = plan.crash.iter().flat_map(|rules| &rules.faults);
    let of_a_place = faults.find(|fault| fault.needs() != FaultNeeds::Nothing);
    if let (Some(fault), Some((key, path))) = (of_a_place, variant.layout.parts().next()) {
        let problem = format!(
            "crash: the fault {} happens to one place, but `{}` has files in {}; leave {key} out",
            fault.name(),
            variant.name,
            path.display()
        );
        return Err(refused(variant.at(&key), problem));
    }
    let lane = match &variant.storage {
        Storage::Lane(name) => Some(Spec::parse(name)?),
        Storage::Home | Storage::Directory(_) => None,
    };
    let mut faults = plan.crash.iter().flat_map(|rules| &rules.faults);
    let missing = faults.find_map(|fault| Some((fault.name(), lacks(lane.as_ref(), fault.needs())?)));
    let Some((fault, needed)) = missing else { return Ok(()) };
    let found = match &variant.storage {
        Storage::Lane(name) => format!("the lane {name}"),
        Storage::Home => "Plimsoll's home".to_owned(),
        Storage::Directory(path) => path.display().to_string(),
    };
    let problem = format!("crash: the data of `{}` are in {found}, but the fault {fault} needs {needed}", variant.name);
    Err(refused(nearest(variant, &["lane", "datadir", "workload.kind"]), problem))
}

/// What data on this lane lack for a fault, and what is accepted.
fn lacks(lane: Option<&Spec>, needs: FaultNeeds) -> Option<&'static str> {
    let (has_it, needed) = match needs {
        FaultNeeds::Nothing => return None,
        FaultNeeds::Device => (
            lane.is_some_and(|spec| spec.is_volatile && !spec.is_network()),
            "a device of its own, behind no network; accepted is a lane with device=volatile, as in lane = \"ext4,device=volatile\"",
        ),
        FaultNeeds::Network => {
            (lane.is_some_and(Spec::is_network), "a network; accepted is a network lane, as in lane = \"nfs-files\"")
        }
        FaultNeeds::StorageServer => (
            lane.is_some_and(Spec::has_restartable_server),
            "a storage server whose device can lose its power; accepted is lane = \"nfs-files,device=volatile\"",
        ),
    };
    (!has_it).then_some(needed)
}

fn asks_for(plan: &LabPlan, fault: FaultKind) -> bool {
    plan.crash.iter().any(|rules| rules.faults.contains(&fault))
}

/// Refuses a replica that could not be made, or not follow.
fn can_replicate(plan: &LabPlan, prepared: &Prepared, variant: &Variant) -> Result<(), LabError> {
    if !asks_for(plan, FaultKind::Replica) {
        return Ok(());
    }
    let refuse = |at, problem: String| Err(refused(at, format!("crash: the fault replica {problem}")));
    if let Some((key, path)) = variant.layout.parts().next() {
        let problem =
            format!("copies one directory, but `{}` has files in {}; leave {key} out", variant.name, path.display());
        return refuse(variant.at(&key), problem);
    }
    let is_off = |setting: &&Setting| setting.name == "log_bin" && truth(&setting.value) == Some(false);
    if let Some(setting) = prepared.requested.iter().find(is_off) {
        return refuse(setting.at.clone(), "needs a binary log; leave log_bin = OFF out".to_owned());
    }
    match &prepared.build {
        Some(build) if build.flavour == Flavour::MySql && build.numbers() < REPLICATES => {
            let problem = format!("found {build}; accepted are MariaDB and MySQL from 8.0.26");
            refuse(nearest(variant, &["build", "workload.kind"]), problem)
        }
        _ => Ok(()),
    }
}

/// Refuses an online copy where there is no way to make one.
fn can_copy(home: &Home, plan: &LabPlan, prepared: &Prepared, variant: &Variant) -> Result<(), LabError> {
    let (true, Some(build)) = (asks_for(plan, FaultKind::Backup), &prepared.build) else { return Ok(()) };
    let logs = |setting: &Setting| setting.name == "log_bin" && truth(&setting.value) != Some(false);
    let is_in_one_place = variant.layout.parts().next().is_none() && !prepared.requested.iter().any(logs);
    let shares = match &variant.storage {
        Storage::Lane(name) => lane_can_restore(name, Method::Reflink, variant).is_ok(),
        Storage::Home => tree::can_share(home.path()),
        Storage::Directory(path) => tree::can_share(path),
    };
    let own = match build.flavour {
        Flavour::MariaDb => backup_program(build).err(),
        Flavour::MySql => {
            let is_there = Builds::has_library(build, "mysql_clone.so", "clone_buffer_size")?;
            (!is_there).then(|| "it has no mysql_clone.so, which comes with MySQL since 8.0.17".to_owned())
        }
    };
    match own {
        Some(why) if !(shares && is_in_one_place) => {
            let problem = format!(
                "crash: the fault backup: `{}` cannot be copied while it runs: {why}; accepted is that, or data without log_bin and \
                 layout on XFS or Btrfs, as in lane = \"xfs\"",
                variant.name
            );
            Err(refused(nearest(variant, &["lane", "datadir", "workload.kind"]), problem))
        }
        _ => Ok(()),
    }
}

fn lane_can_restore(name: &str, method: Method, variant: &Variant) -> Result<(), LabError> {
    let spec = Spec::parse(name)?;
    let can = match method {
        // What a server shows of its file system is not what the file system can do.
        Method::Reflink | Method::BtrfsSnapshot if spec.transport.serves_files() => false,
        Method::Reflink => !matches!(spec.kind, FileSystem::Tmpfs | FileSystem::Overlay | FileSystem::Ext4),
        Method::BtrfsSnapshot => matches!(spec.kind, FileSystem::Root | FileSystem::Btrfs | FileSystem::BtrfsNocow),
        Method::ImageClone => spec.has_image(),
        Method::Copy => true,
    };
    if can { Ok(()) } else { cannot_restore(method, &format!("the lane {name}"), variant) }
}

fn cannot_restore(method: Method, what: &str, variant: &Variant) -> Result<(), LabError> {
    let problem = format!(
        "restore: {what}, where the data of `{}` are stored, has no {}; accepted is \"snapshot\", the fastest way that it has",
        variant.name,
        method.name()
    );
    Err(refused(variant.at("trials.restore"), problem))
}

fn directory(path: &Path, key: &str, variant: &Variant) -> Result<(), LabError> {
    let refuse = |found: &str| {
        let problem =
            format!("{key}: `{}` {found}; accepted is a directory that this user can write to", path.display());
        Err(refused(variant.at(key), problem))
    };
    match fs::metadata(path) {
        Err(error) => refuse(&format!("cannot be used: {error}")),
        Ok(facts) if !facts.is_dir() => refuse("is not a directory"),
        Ok(_) => match access(path, Access::WRITE_OK | Access::EXEC_OK) {
            Ok(()) => Ok(()),
            Err(error) => refuse(&format!("cannot be written: {error}")),
        },
    }
}

/// Whether a fault of the plan may leave a lane that has to be built anew.
fn breaks_lanes(plan: &LabPlan) -> bool {
    let mut needs = plan.crash.iter().flat_map(|rules| &rules.faults).map(|fault| fault.needs());
    needs.any(|needs| matches!(needs, FaultNeeds::Device | FaultNeeds::StorageServer))
}

/// What somebody who is not root can do in place of a lane.
fn without_root(plan: &LabPlan) -> String {
    let Some(rules) = &plan.crash else { return "name a datadir".to_owned() };
    let needing: Vec<&str> =
        rules.faults.iter().filter(|of| of.needs() != FaultNeeds::Nothing).map(|of| of.name()).collect();
    if needing.is_empty() {
        "leave the lane out".to_owned()
    } else {
        format!("leave out what needs it: {}", needing.join(", "))
    }
}

/// Refuses what would fill the disk, on which `freed` bytes will be freed first. The `copies` of the data, a dataset that
/// is kept and a replica, an online copy or other data, take room too, unless they share blocks.
fn has_room(path: &Path, copies: u64, freed: u64, variant: &Variant) -> Result<(), LabError> {
    let (Ok(facts), Ok(kind)) = (statvfs(path), statfs(path)) else { return Ok(()) };
    let shares = SHARING.contains(&kind.f_type);
    let copies = if shares { 0 } else { copies };
    // Data that share blocks free little when they go.
    let freed = if shares { 0 } else { freed };
    let free = facts.f_bavail.saturating_mul(facts.f_frsize).saturating_add(freed);
    let wanted = data_bytes(variant)?.saturating_mul(1 + copies);
    if wanted <= free {
        return Ok(());
    }
    let mega = |bytes: u64| bytes / 1_000_000;
    let problem = format!(
        "the data of `{}` take about {} MB{}, but {} has only {} MB free; make room, or make `workload` smaller",
        variant.name,
        mega(wanted),
        match copies {
            0 => "",
            1 => " with the copy beside them",
            _ => " with the copies beside them",
        },
        path.display(),
        mega(free)
    );
    Err(refused(nearest(variant, &["datadir", "workload.kind"]), problem))
}

fn lane(home: &Home, plan: &LabPlan, name: &str, variant: &Variant) -> Result<(), LabError> {
    let spec = Spec::parse(name).map_err(|error| refused(variant.at("lane"), format!("lane: {error}")))?;
    if let Some(why) = not_for_timing(name) {
        return Err(refused(variant.at("lane"), why));
    }
    let lanes = OwnLanes::of(home.path());
    if lanes.free(name)?.is_some() {
        return match breaks_lanes(plan) && !lanes.is_of_a_lab(name)? {
            true => Err(refused(
                variant.at("lane"),
                format!(
                    "crash: the lane {name} is up, and a fault may leave nothing of what is on it; `plimsoll lane down {name}` first"
                ),
            )),
            false => Ok(()),
        };
    }
    let missing = tool::missing_for(&spec);
    if !missing.is_empty() {
        let install = tool::install_line(&missing);
        return Err(LabError::Environment(format!("{}: the lane {name} needs: {install}", variant.at("lane"))));
    }
    let plain = spec.kind == FileSystem::Root && !spec.is_throttled();
    match plain || geteuid().is_root() {
        true => Ok(()),
        false => {
            let (at, instead) = (variant.at("lane"), without_root(plan));
            Err(LabError::Environment(format!("{at}: only root can build the lane {name}; run as root, or {instead}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datasets_have_to_fit_together_beside_the_data_of_a_trial() {
        let room = |datasets| SharedRoom { free: 1000, shares: false, datasets, largest: 400 };
        assert_eq!(room(600).lacks(), None);
        assert_eq!(room(601).lacks(), Some(1001));
        assert_eq!(SharedRoom { shares: true, ..room(1000) }.lacks(), None);
        assert_eq!(SharedRoom { shares: true, ..room(1001) }.lacks(), Some(1001));
        assert_eq!(SharedRoom { largest: 1001, ..room(0) }.lacks(), Some(1001), "also where all datasets are there");
    }
}
