//! Storage lanes: a medium, a file system, its options, a throttle and injected latency, as one mounted directory.
//!
//! A lane is in `<home>/lanes/<name>/`; its files are read and written in `mount` there. How to undo it is in its
//! [`journal`], written before each step, so that [`Lanes::down`] and [`Lanes::clean`] work after a kill at any point.
//! Begin with [`spec::Spec`], what a name means, then [`build`], how a lane is built. [`check`] finds out whether a
//! lane may be measured at all; [`image`] keeps its contents and restores them. [`site`] is its directory; [`loops`],
//! [`mounts`], [`served`], [`throttle`], [`process`] and [`tool`] are the parts that it is made of. [`power`] takes the power from a
//! lane, and gives it back; [`disturb`] is what goes wrong on a network. A [`cable`] joins two servers and can be cut.
//!
//! A network lane has a server and a client with a protocol between them, all in user space: [`network`] builds it from
//! the programs that its [`transport`] names, each a [`daemon`], in two network [`namespace`]s, with a [`link`] that
//! delays.

pub mod build;
pub mod cable;
pub mod check;
pub mod daemon;
pub mod disturb;
pub mod error;
mod fsck;
pub mod image;
pub mod journal;
pub mod kind;
pub mod link;
pub mod loops;
pub mod mounts;
pub mod namespace;
pub mod network;
#[cfg(feature = "nfs")]
pub mod nfs;
pub mod nfs_options;
pub mod power;
pub mod process;
pub mod sample;
pub mod served;
pub mod site;
pub mod spec;
pub mod tcp;
pub mod throttle;
pub mod tool;
pub mod transport;
mod volatile;

pub use plimsoll_faults as faults;

use build::Builder;
use check::LaneFinding;
use error::DuringLane;
pub use error::LaneError;
use journal::{LaneJournal, LaneState};
use serde::{Deserialize, Serialize};
use site::Site;
use spec::Spec;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Called before each step; if it returns false, building ends with [`LaneError::Interrupted`] and is undone.
pub type StepListener<'a> = &'a mut dyn FnMut(&str) -> bool;

/// A lane that is up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    pub name: String,
    /// Where to work.
    pub directory: PathBuf,
    /// `loop3`, if it has a device of its own.
    pub device: Option<String>,
    /// The control group that is limited; processes have to [`join`] it.
    pub group: Option<PathBuf>,
    /// Reads and writes fail while this file exists.
    pub trigger: Option<PathBuf>,
    /// The processes of a network lane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LaneProcess>,
    /// The loop device on which the server of a network lane keeps its data, such as `loop4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_device: Option<String>,
    /// A Unix socket that answers each connection with one line of JSON: the number of operations of each kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<PathBuf>,
    /// Its device can lose its power.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_volatile: bool,
}

/// The side of the network that a process is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneSide {
    Client,
    /// Between the two: the link.
    Link,
    Server,
}

/// A process of a network lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneProcess {
    pub side: LaneSide,
    pub program: String,
    pub pid: u32,
}

impl Lane {
    /// Whether a storage server is a part of it.
    pub fn is_on_a_network(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Whether its storage acknowledges what it would lose without power.
    pub fn acknowledges_early(&self) -> bool {
        Spec::parse(&self.name).is_ok_and(|spec| spec.acknowledges_early())
    }

    /// Its processes that have ended although the lane is up: a server's reads and writes then fail or hang.
    pub fn dead_parts(&self) -> Vec<&LaneProcess> {
        self.parts.iter().filter(|part| !part.is_alive()).collect()
    }
}

impl LaneProcess {
    /// A zombie has ended.
    fn is_alive(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // The state follows the name, which is in parentheses and may contain any character.
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
    }
}

/// A lane and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub name: String,
    pub state: LaneState,
}

/// A lane that was built, and the findings of its check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    pub lane: Lane,
    /// Empty if no check was requested. If one did not pass, the lane is down again.
    pub findings: Vec<LaneFinding>,
}

impl Built {
    pub fn is_sound(&self) -> bool {
        check::is_sound(&self.findings)
    }
}

/// All lanes of a home.
#[derive(Clone, Debug)]
pub struct Lanes {
    home: PathBuf,
    root: PathBuf,
}

impl Lanes {
    /// `home` must be canonical: mounts and loop devices are found by their paths.
    pub fn of(home: &Path) -> Lanes {
        Lanes { home: home.to_owned(), root: home.join("lanes") }
    }

    /// # Errors
    /// [`LaneError::Io`] if a journal cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, LaneError> {
        let listed = self.specs()?.into_iter().map(|spec| {
            let state = journal::state(&Site::of(&self.root, &spec))?;
            Ok(Listed { name: spec.name().to_owned(), state })
        });
        listed.collect()
    }

    /// Bytes that there are for data on a lane: what is free on one that is up, else the size that it would be built with.
    ///
    /// # Errors
    /// [`LaneError::Refused`] if there is no room for it; [`LaneError::Io`] if that cannot be read.
    pub fn room(&self, spec: &Spec) -> Result<u64, LaneError> {
        if let LaneState::Up(lane) = journal::state(&Site::of(&self.root, spec))? {
            return build::free_bytes(&lane.directory);
        }
        match build::size(spec, None, &self.home)? {
            0 => build::free_bytes(&self.home),
            bytes => Ok(bytes),
        }
    }

    /// Builds a lane, sparse and of `bytes` if its kind has a size, and checks it on request. If anything fails, all
    /// steps are undone.
    ///
    /// # Errors
    /// [`LaneError::Refused`] for an impossible lane, or one that is up; [`LaneError::Environment`] for missing
    /// packages, rights and devices, and for programs that fail.
    pub fn up(
        &self,
        spec: &Spec,
        bytes: Option<u64>,
        checked: bool,
        told: StepListener<'_>,
    ) -> Result<Built, LaneError> {
        let site = Site::of(&self.root, spec);
        let bytes = build::ready(&site, spec, bytes, &self.home)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&self.root).during("make", &self.root)?;
        let _lock = site.create()?;
        let mut journal = LaneJournal::begin(&site, spec)?;
        let built = Builder { site: &site, spec, bytes, journal: &mut journal, told: &mut *told }.build();
        let built = built.and_then(|lane| {
            let findings = match checked {
                false => Vec::new(),
                true if told("checking") => check::check(&site, spec, &lane),
                true => return Err(LaneError::Interrupted),
            };
            let built = Built { lane, findings };
            match built.is_sound() {
                true if told("done") => journal.up(&built.lane).map(|()| built),
                true => Err(LaneError::Interrupted),
                false => Ok(built),
            }
        });
        match built {
            Ok(built) if built.is_sound() => Ok(built),
            built => taken_down(&site, built, told),
        }
    }

    /// Checks a lane that is up.
    ///
    /// # Errors
    /// [`LaneError::Refused`] if it is not up.
    pub fn check(&self, spec: &Spec) -> Result<Vec<LaneFinding>, LaneError> {
        let site = Site::of(&self.root, spec);
        let _lock = site.lock()?;
        match journal::state(&site)? {
            LaneState::Up(lane) => Ok(check::check(&site, spec, &lane)),
            LaneState::Left => Err(not_up(spec)),
        }
    }

    /// Takes a lane down, and removes everything on it.
    ///
    /// # Errors
    /// [`LaneError::Refused`] if there is none; [`LaneError::Environment`] while it is in use: then it stays up.
    pub fn down(&self, spec: &Spec) -> Result<(), LaneError> {
        let site = Site::of(&self.root, spec);
        let Some(_lock) = site.lock()? else { return Err(not_up(spec)) };
        journal::undo(&site)
    }

    /// Lets nobody wait for the storage server of a lane that was left in the middle of a change, so that what is on it can be
    /// cleaned up; lanes that cannot be looked at are left as they are.
    pub fn reunite(&self) {
        for spec in self.specs().unwrap_or_default() {
            let site = Site::of(&self.root, &spec);
            let Ok(Some(_lock)) = site.lock() else { continue };
            if journal::is_finished(&site).is_ok_and(|is_finished| !is_finished) {
                // `clean` says what is wrong.
                let _ = journal::reunite(&site);
            }
        }
    }

    /// Removes lanes that were not finished or not completely taken down. Returns their names, and what was left alone
    /// and why. Lanes that are up stay up.
    ///
    /// # Errors
    /// [`LaneError::Io`] if the directory of the lanes cannot be read.
    pub fn clean(&self) -> Result<(Vec<String>, Vec<LaneError>), LaneError> {
        let (mut cleaned, mut left) = (Vec::new(), Vec::new());
        for spec in self.specs()? {
            match clean(&Site::of(&self.root, &spec)) {
                Ok(true) => cleaned.push(spec.name().to_owned()),
                Ok(false) => {}
                Err(error) => left.push(error),
            }
        }
        Ok((cleaned, left))
    }

    /// What is in the directory of the lanes. What is not named like a lane is not ours.
    fn specs(&self) -> Result<Vec<Spec>, LaneError> {
        let entries = match fs::read_dir(&self.root) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.during("list", &self.root)?,
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut specs: Vec<Spec> = names.filter_map(|name| Spec::of_directory_name(&name).ok()).collect();
        specs.sort_by(|one, other| one.name().cmp(other.name()));
        Ok(specs)
    }
}

/// Undoes a lane that did not come up; if that fails too, both errors are reported. Failures after Ctrl-C count as
/// interrupted.
fn taken_down(site: &Site, built: Result<Built, LaneError>, told: StepListener<'_>) -> Result<Built, LaneError> {
    let interrupted = !told("taking it down again");
    journal::undo(site).map_err(|error| {
        let why = built.as_ref().err().map_or("the check refused it".to_owned(), ToString::to_string);
        LaneError::Environment(format!("{why}; undoing it failed as well ({error}); `plimsoll clean` tries again"))
    })?;
    if interrupted { Err(LaneError::Interrupted) } else { built }
}

/// The words that run a part of a lane in this program: `plimsoll lane-part`.
fn own_program(part: &str) -> Result<Vec<String>, LaneError> {
    let path = std::env::current_exe().during("find", Path::new("/proc/self/exe"))?;
    Ok(vec![path.display().to_string(), "lane-part".to_owned(), part.to_owned()])
}

fn not_up(spec: &Spec) -> LaneError {
    let name = spec.name();
    LaneError::Refused(format!("the lane {name} is not up; `plimsoll lane up {name}` builds it"))
}

/// Whether there was something to remove.
fn clean(site: &Site) -> Result<bool, LaneError> {
    let Some(_lock) = site.lock()? else { return Ok(false) };
    if journal::state(site)? != LaneState::Left {
        return Ok(false);
    }
    journal::undo(site).map(|()| true)
}

/// The lane that a directory is on, if there is one and it is up. A directory that does not exist is on none.
///
/// # Errors
/// [`LaneError::Io`] if the lane's journal cannot be read.
pub fn below(home: &Path, directory: &Path) -> Result<Option<Lane>, LaneError> {
    let Ok(directory) = directory.canonicalize() else { return Ok(None) };
    let root = home.join("lanes");
    let Some(name) = directory.strip_prefix(&root).ok().and_then(|below| below.iter().next()).and_then(OsStr::to_str)
    else {
        return Ok(None);
    };
    let Ok(spec) = Spec::of_directory_name(name) else { return Ok(None) };
    match journal::state(&Site::of(&root, &spec))? {
        LaneState::Up(lane) => Ok(Some(lane)),
        LaneState::Left => Ok(None),
    }
}

/// Puts this process into the control group of the lane that a directory is on, so that the lane's limits apply to it
/// and to everything that it starts. Returns the lane, if there is a limited one.
///
/// # Errors
/// [`LaneError::Io`], especially without root.
pub fn join(home: &Path, directory: &Path) -> Result<Option<Lane>, LaneError> {
    let limited = below(home, directory)?.filter(|lane| lane.group.is_some());
    if let Some(group) = limited.as_ref().and_then(|lane| lane.group.as_deref()) {
        throttle::enter(group)?;
    }
    Ok(limited)
}
