//! How to undo a lane, written step by step before each step is done, so that after a kill at any point everything can
//! be found again.

use super::site::Site;
use super::spec::Spec;
use super::{Lane, LaneSide, loops, mounts, namespace, process, throttle, tool};
use crate::LaneError;
use crate::error::DuringLane;
use plimsoll_host::owner;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalLine {
    /// How the next step is undone.
    Undo(Undo),
    /// All steps were done. The last line, until the lane is taken down.
    Up(Lane),
}

/// How one step is undone; undoing it twice, or when it was not done, does no harm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// The directory of the lane, with the image and the journal itself.
    Directory,
    /// A server of the lane, found by its command line, which names the lane's directory.
    Process {
        program: String,
    },
    /// Everything that runs in one of the lane's network namespaces.
    Processes {
        namespace: PathBuf,
    },
    /// A network namespace of the lane, with everything that runs in it.
    Namespace {
        kept_by: PathBuf,
    },
    /// A device is found by its file, never by its number.
    Loop {
        backing: PathBuf,
    },
    /// The device attached to this file had another scheduler; the setting outlives the file.
    Scheduler {
        backing: PathBuf,
        before: String,
    },
    Mount {
        point: PathBuf,
        source: String,
    },
    Cgroup {
        path: PathBuf,
    },
    /// The children of this control group were given the I/O controller for the lane.
    Controller {
        root: PathBuf,
    },
}

impl Undo {
    fn undo(&self, site: &Site) -> Result<(), LaneError> {
        match self {
            Undo::Directory => site.remove(),
            Undo::Process { program } => process::end(program, site),
            Undo::Processes { namespace } => process::end_all_in(namespace),
            Undo::Namespace { kept_by } => {
                process::end_all_in(kept_by).and_then(|()| mounts::unmount(kept_by, namespace::FILE_SYSTEM))
            }
            Undo::Loop { backing } => loops::detach(backing),
            Undo::Scheduler { backing, before } => loops::schedule(backing, before),
            Undo::Mount { point, source } => mounts::unmount(point, source),
            Undo::Cgroup { path } => throttle::remove(path),
            Undo::Controller { root } => throttle::take_back(root),
        }
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub struct LaneJournal {
    file: File,
    path: PathBuf,
}

impl LaneJournal {
    /// Begins the journal of a lane whose directory is locked and has none.
    ///
    /// # Errors
    /// [`LaneError::Refused`] if it has one: the lane is up, or was left behind.
    pub fn begin(site: &Site, spec: &Spec) -> Result<LaneJournal, LaneError> {
        let path = site.journal();
        let file = match OpenOptions::new().append(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let name = spec.name();
                return Err(LaneError::Refused(match state(site)? {
                    LaneState::Up(_) => {
                        format!("the lane {name} is up already; `plimsoll lane down {name}` takes it down")
                    }
                    _ => format!("the lane {name} was left half built; `plimsoll clean` removes what is left"),
                }));
            }
            opened => opened.during("create the journal", &path)?,
        };
        let mut journal = LaneJournal { file, path };
        journal.write(&JournalLine::Undo(Undo::Directory))?;
        Ok(journal)
    }

    /// Opens the journal of a locked lane that is up. From now on the lane is not up until [`LaneJournal::up`] says so
    /// again.
    ///
    /// # Errors
    /// [`LaneError::Io`].
    pub fn reopen(site: &Site) -> Result<LaneJournal, LaneError> {
        withdraw(site)?;
        let path = site.journal();
        let file = OpenOptions::new().append(true).open(&path).during("open the journal", &path)?;
        Ok(LaneJournal { file, path })
    }

    /// Notes how the next step is undone; the step may be done once this has returned.
    pub fn before(&mut self, undo: Undo) -> Result<(), LaneError> {
        self.write(&JournalLine::Undo(undo))
    }

    /// Notes that the lane is up.
    pub fn up(&mut self, lane: &Lane) -> Result<(), LaneError> {
        self.write(&JournalLine::Up(lane.clone()))
    }

    fn write(&mut self, line: &JournalLine) -> Result<(), LaneError> {
        let mut text = serde_json::to_vec(line).map_err(std::io::Error::from).during("write", &self.path)?;
        text.push(b'\n');
        self.file.write_all(&text).and_then(|()| self.file.sync_data()).during("write", &self.path)
    }
}

/// The lines of a lane's journal; none if there is no journal.
///
/// # Errors
/// [`LaneError::Io`] if it cannot be read.
pub fn read(site: &Site) -> Result<Vec<JournalLine>, LaneError> {
    let lines = whole_lines(site)?.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    lines.map_err(std::io::Error::from).during("parse the journal", &site.journal())
}

/// The text of a journal without a line that a kill cut short: its step had not begun.
fn whole_lines(site: &Site) -> Result<String, LaneError> {
    let path = site.journal();
    // It decides what is ended, unmounted and removed.
    owner::check_if_there(&path)?;
    let mut text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        text => text.during("read", &path)?,
    };
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    Ok(text)
}

/// Whether all steps were done, whatever has become of them since.
///
/// # Errors
/// As [`read`].
pub fn is_finished(site: &Site) -> Result<bool, LaneError> {
    Ok(matches!(read(site)?.last(), Some(JournalLine::Up(_))))
}

/// The control group that limits the lane, if there is one.
///
/// # Errors
/// As [`read`].
pub fn group(site: &Site) -> Result<Option<PathBuf>, LaneError> {
    Ok(read(site)?.into_iter().find_map(|line| match line {
        JournalLine::Undo(Undo::Cgroup { path }) => Some(path),
        _ => None,
    }))
}

/// Removes the line that the lane is up, and a line that was cut short: from now on it is being taken down. This works
/// on a full disk too.
fn withdraw(site: &Site) -> Result<(), LaneError> {
    shorten(site, |line| !matches!(line, JournalLine::Up(_)))
}

/// Keeps the first lines of a journal, as long as they are meant.
fn shorten(site: &Site, is_meant: impl Fn(&JournalLine) -> bool) -> Result<(), LaneError> {
    let text = whole_lines(site)?;
    let steps =
        text.split_inclusive('\n').take_while(|line| serde_json::from_str(line).is_ok_and(|line| is_meant(&line)));
    let bytes = steps.map(str::len).sum::<usize>() as u64;
    let path = site.journal();
    let opened = OpenOptions::new().write(true).open(&path);
    opened.and_then(|file| file.set_len(bytes).and_then(|()| file.sync_all())).during("shorten", &path)
}

/// The state of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneState {
    /// It can be used.
    Up(Lane),
    /// It was not finished, not completely taken down, or dismantled by a restart of the machine.
    Left,
}

/// # Errors
/// [`LaneError::Io`] if the journal cannot be read.
pub fn state(site: &Site) -> Result<LaneState, LaneError> {
    let lines = read(site)?;
    let Some(JournalLine::Up(lane)) = lines.last() else { return Ok(LaneState::Left) };
    let mut whole = lane.directory.is_dir() && lane.group.as_ref().is_none_or(|group| group.is_dir());
    for line in &lines {
        whole &= match line {
            JournalLine::Undo(Undo::Mount { point, source }) => {
                mounts::at(point)?.is_some_and(|mount| mount.source == *source)
            }
            JournalLine::Undo(Undo::Namespace { kept_by }) => namespace::is_kept(kept_by),
            _ => true,
        };
    }
    Ok(if whole { LaneState::Up(lane.clone()) } else { LaneState::Left })
}

/// Undoes the steps in the journal of a locked lane, the last one first, and removes its directory.
///
/// # Errors
/// Those of the first step that cannot be undone; the next call continues from there. A lane that is up and in use is
/// as it was.
pub fn undo(site: &Site) -> Result<(), LaneError> {
    let lines = read(site)?;
    if lines.is_empty() {
        return site.remove_empty();
    }
    if let Some(JournalLine::Up(lane)) = lines.last() {
        let_go(site, &lines, lane)?;
    }
    withdraw(site)?;
    // A program that outlived Plimsoll may still finish what was under way.
    if end_brief(site).is_err() {
        // A program that waits for an answer from a server ends with the server, whose lane was never up.
        lines.iter().try_for_each(|line| match line {
            JournalLine::Undo(Undo::Processes { namespace }) => process::end_all_in(namespace),
            _ => Ok(()),
        })?;
        end_brief(site)?;
    }
    reunite(site)?;
    lines.iter().rev().try_for_each(|line| match line {
        JournalLine::Undo(undo) => undo.undo(site),
        JournalLine::Up(_) => Ok(()),
    })
}

/// Takes a lane that is up from its users, before anything of it changes: one that is in use stays up, with its limits.
///
/// # Errors
/// [`LaneError::Environment`] while it is in use.
fn let_go(site: &Site, lines: &[JournalLine], lane: &Lane) -> Result<(), LaneError> {
    reunite(site)?;
    let mounted = lines.iter().find_map(|line| match line {
        JournalLine::Undo(Undo::Mount { point, source }) if *point == lane.directory => Some(source),
        _ => None,
    });
    match mounted {
        Some(source) => mounts::unmount(&lane.directory, source),
        // Without a mount the kernel does not keep files that are in use from being removed.
        None => process::none_uses(&lane.directory),
    }
}

/// Lets no client of a network lane wait for its server at every step: the link carries again, and a client whose server is
/// gone is ended before anything is asked of it.
pub(super) fn reunite(site: &Site) -> Result<(), LaneError> {
    let server = site.namespace(LaneSide::Server);
    if !namespace::is_kept(&server) {
        return Ok(());
    }
    // Half built there may be nothing to carry yet.
    let _ = namespace::carry(site, true);
    if process::runs_any_in(&server) { Ok(()) } else { process::end_all_in(&site.namespace(LaneSide::Client)) }
}

/// Undoes the steps in the journal of a locked lane but the first, the last one first: what is left is its directory with
/// the image. It is not up until the journal says so again.
///
/// # Errors
/// Those of the first step that cannot be undone.
pub fn undo_to_image(site: &Site) -> Result<LaneJournal, LaneError> {
    let lines = read(site)?;
    withdraw(site)?;
    end_brief(site)?;
    lines.iter().rev().try_for_each(|line| match line {
        JournalLine::Up(_) | JournalLine::Undo(Undo::Directory) => Ok(()),
        JournalLine::Undo(undo) => undo.undo(site),
    })?;
    shorten(site, |line| *line == JournalLine::Undo(Undo::Directory))?;
    LaneJournal::reopen(site)
}

fn end_brief(site: &Site) -> Result<(), LaneError> {
    tool::BRIEF.iter().try_for_each(|program| process::end(program, site))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn begun(lanes: &Path) -> (Site, LaneJournal) {
        let spec = Spec::parse("ext4").unwrap();
        let site = Site::of(lanes, &spec);
        drop(site.create().unwrap());
        let journal = LaneJournal::begin(&site, &spec).unwrap();
        (site, journal)
    }

    fn lane_in(directory: PathBuf) -> Lane {
        Lane {
            name: "ext4".to_owned(),
            directory,
            device: None,
            group: None,
            trigger: None,
            parts: Vec::new(),
            server_device: None,
            operations: None,
            is_volatile: false,
        }
    }

    #[test]
    fn what_was_written_is_read_and_undone() {
        let lanes = tempfile::tempdir().unwrap();
        let (site, mut journal) = begun(lanes.path());
        let step = Undo::Mount { point: site.mount(), source: "none".to_owned() };
        journal.before(step.clone()).unwrap();
        journal.before(Undo::Loop { backing: site.image() }).unwrap();
        let lines = read(&site).unwrap();
        assert_eq!((lines.len(), &lines[1]), (3, &JournalLine::Undo(step)));
        assert_eq!(state(&site).unwrap(), LaneState::Left);
        fs::write(site.image(), "x").unwrap();
        undo(&site).unwrap();
        assert!(!site.root().exists());
        undo(&site).unwrap();
    }

    #[test]
    fn a_line_that_was_cut_short_is_no_step() {
        let lanes = tempfile::tempdir().unwrap();
        let (site, mut journal) = begun(lanes.path());
        journal.file.write_all(b"{\"undo\":{\"loo").unwrap();
        assert_eq!(read(&site).unwrap(), [JournalLine::Undo(Undo::Directory)]);
        withdraw(&site).unwrap();
        assert_eq!(fs::read_to_string(site.journal()).unwrap(), "{\"undo\":\"directory\"}\n");
        undo(&site).unwrap();
        assert!(!site.root().exists());
    }

    #[test]
    fn a_lane_is_not_begun_twice_and_one_without_its_mount_is_not_up() {
        let lanes = tempfile::tempdir().unwrap();
        let (site, mut journal) = begun(lanes.path());
        let spec = Spec::parse("ext4").unwrap();
        assert!(LaneJournal::begin(&site, &spec).unwrap_err().to_string().contains("plimsoll clean"));
        fs::create_dir(site.mount()).unwrap();
        let lane = lane_in(site.mount());
        journal.up(&lane).unwrap();
        assert_eq!(state(&site).unwrap(), LaneState::Up(lane.clone()));
        assert!(LaneJournal::begin(&site, &spec).unwrap_err().to_string().contains("is up already"));
        withdraw(&site).unwrap();
        assert_eq!(state(&site).unwrap(), LaneState::Left);
        journal.before(Undo::Mount { point: site.mount(), source: "gone".to_owned() }).unwrap();
        journal.up(&lane).unwrap();
        assert_eq!((read(&site).unwrap().len(), state(&site).unwrap()), (3, LaneState::Left));
        undo(&site).unwrap();
    }

    #[test]
    fn a_lane_that_cannot_be_unmounted_stays_up_with_its_limits() {
        let lanes = tempfile::tempdir().unwrap();
        let (site, mut journal) = begun(lanes.path());
        // A mount that is there, and that nobody may remove.
        let lane = lane_in(PathBuf::from("/"));
        let group = lanes.path().join("group");
        fs::create_dir(&group).unwrap();
        journal.before(Undo::Mount { point: lane.directory.clone(), source: "of the lane".to_owned() }).unwrap();
        journal.before(Undo::Cgroup { path: group.clone() }).unwrap();
        journal.up(&lane).unwrap();
        undo(&site).unwrap_err();
        assert!(group.exists() && is_finished(&site).unwrap());
    }

    #[test]
    fn a_lane_without_a_mount_is_not_removed_under_its_users() {
        let lanes = tempfile::tempdir().unwrap();
        let (site, mut journal) = begun(lanes.path());
        let lane = lane_in(site.mount());
        fs::create_dir(site.mount()).unwrap();
        journal.up(&lane).unwrap();
        let file = File::create(site.mount().join("ibdata1")).unwrap();
        let error = undo(&site).unwrap_err().to_string();
        assert!(error.contains("end what is using") && error.contains(&std::process::id().to_string()), "{error}");
        assert_eq!(state(&site).unwrap(), LaneState::Up(lane));
        drop(file);
        undo(&site).unwrap();
        assert!(!site.root().exists());
    }
}
