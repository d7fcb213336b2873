//! `plimsoll lane`: builds, checks and takes down storage paths on one machine.

use super::{CHECK_FAILED, DONE};
use crate::args::{LaneAction, LaneArgs};
use crate::terminal;
use plimsoll_host::Home;
use plimsoll_lab::LabError;
use plimsoll_lanes::build::is_allowed;
use plimsoll_lanes::check::{LaneFinding, is_sound};
use plimsoll_lanes::journal::LaneState;
use plimsoll_lanes::kind::FileSystem;
use plimsoll_lanes::kind::Transport;
use plimsoll_lanes::spec::Spec;
use plimsoll_lanes::{Lane, Lanes, Listed, tool};
use plimsoll_model::text::shell_word;
use serde_json::json;
use std::sync::atomic::Ordering;

pub fn run(args: &LaneArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let lanes = Lanes::of(home.path());
    match &args.action {
        LaneAction::List { json } => list(&lanes, *json),
        LaneAction::Up { name, size, no_check } => up(&lanes, name, *size, !no_check),
        LaneAction::Check { name } => check(&lanes, name),
        LaneAction::Down { name: Some(name) } => down(&lanes, name).map(|()| DONE),
        LaneAction::Down { name: None } => all_down(&lanes),
    }
}

fn up(lanes: &Lanes, name: &str, size: Option<u64>, checked: bool) -> anyhow::Result<u8> {
    let spec = Spec::parse(name).map_err(LabError::from)?;
    let interrupted = terminal::interrupt_flag()?;
    let mut told = |step: &str| {
        terminal::note(&format!("{name}: {step} …"));
        !interrupted.load(Ordering::Relaxed)
    };
    let built = lanes.up(&spec, size, checked, &mut told).map_err(LabError::from)?;
    built.findings.iter().for_each(|finding| terminal::note(&line(finding)));
    if !built.is_sound() {
        terminal::note(&format!("{name} is down again, because it must not be measured; --no-check builds it anyway"));
        return Ok(CHECK_FAILED);
    }
    explain(&built.lane);
    terminal::result(&built.lane.directory.display().to_string())?;
    Ok(DONE)
}

/// How to use what a lane has besides its directory.
fn explain(lane: &Lane) {
    if let Some(group) = &lane.group {
        let line = format!("echo $$ > {}", shell_word(&group.join("cgroup.procs").to_string_lossy()));
        terminal::note(&format!("its limits apply to `plimsoll io`; another shell joins them with: {line}"));
    }
    if let Some(device) = &lane.server_device {
        terminal::note(&format!("its storage server keeps the data on /dev/{device}; everything is on this machine"));
    }
    if let Some(trigger) = &lane.trigger {
        terminal::note(&format!("its reads and writes fail while this file exists: {}", trigger.display()));
    }
    terminal::note(&format!("`plimsoll lane down {}` removes it with everything on it", lane.name));
}

fn line(LaneFinding { check, verdict, found }: &LaneFinding) -> String {
    format!("{check:8}{:9}{found}", verdict.name())
}

fn check(lanes: &Lanes, name: &str) -> anyhow::Result<u8> {
    let spec = Spec::parse(name).map_err(LabError::from)?;
    terminal::note(&format!("{name}: checking …"));
    let found = lanes.check(&spec).map_err(LabError::from)?;
    found.iter().try_for_each(|finding| terminal::result(&line(finding)))?;
    Ok(if is_sound(&found) { DONE } else { CHECK_FAILED })
}

fn down(lanes: &Lanes, name: &str) -> anyhow::Result<()> {
    let spec = Spec::parse(name).map_err(LabError::from)?;
    terminal::note(&format!("{name}: taking it down …"));
    lanes.down(&spec).map_err(LabError::from)?;
    terminal::note(&format!("{name} is down"));
    Ok(())
}

/// One that is in use does not stop the others from being taken down.
fn all_down(lanes: &Lanes) -> anyhow::Result<u8> {
    let listed = lanes.list().map_err(LabError::from)?;
    if listed.is_empty() {
        terminal::note("no lane is up");
    }
    let standing: Vec<String> =
        listed.iter().filter_map(|lane| down(lanes, &lane.name).err()).map(|error| error.to_string()).collect();
    match standing.is_empty() {
        true => Ok(DONE),
        false => Err(LabError::Environment(standing.join("; ")).into()),
    }
}

fn list(lanes: &Lanes, json: bool) -> anyhow::Result<u8> {
    let listed = lanes.list().map_err(LabError::from)?;
    let missing = missing();
    if json {
        terminal::json(&document(&listed, &missing))?;
        return Ok(DONE);
    }
    for LaneKind { name, what, packages, is_allowed } in kinds() {
        let mut needs = packages;
        needs.extend((!is_allowed).then_some("root"));
        let state = if needs.is_empty() { "ready".to_owned() } else { format!("needs {}", needs.join(", ")) };
        terminal::result(&format!("{name:13}{state:24}{what}"))?;
    }
    for Listed { name, state } in &listed {
        let shown = match state {
            LaneState::Up(lane) => format!("up, {}", lane.directory.display()),
            LaneState::Left => "left over; `plimsoll clean` removes it".to_owned(),
        };
        terminal::result(&format!("{name:24} {shown}"))?;
    }
    if !missing.is_empty() {
        terminal::note(&format!("to install all of them: {}", tool::install_line(&missing)));
    }
    Ok(DONE)
}

/// A kind of lane, and what stands in the way of it here.
struct LaneKind {
    name: &'static str,
    what: &'static str,
    /// Those that are missing.
    packages: Vec<&'static str>,
    /// Whether this user may build it.
    is_allowed: bool,
}

impl LaneKind {
    /// `like` is a lane of this kind.
    fn new(name: &'static str, what: &'static str, like: &str) -> LaneKind {
        let spec = Spec::parse(like).ok();
        LaneKind {
            name,
            what,
            packages: spec.as_ref().map(tool::missing_for).unwrap_or_default(),
            is_allowed: spec.as_ref().is_some_and(is_allowed),
        }
    }
}

/// Each kind, the modifiers that put a server in between, and each transport.
fn kinds() -> Vec<LaneKind> {
    let mut all: Vec<LaneKind> =
        FileSystem::ALL.into_iter().map(|kind| LaneKind::new(kind.name(), kind.describe(), kind.name())).collect();
    all.push(LaneKind::new("…,delay=1ms", "also error=, cache= and nbd=", "ext4,delay=1ms"));
    let network = Transport::NETWORK.into_iter();
    all.extend(network.map(|transport| LaneKind::new(transport.name(), transport.describe(), transport.name())));
    all
}

/// All missing packages, without repetition.
fn missing() -> Vec<&'static str> {
    let mut packages: Vec<_> = kinds().into_iter().flat_map(|kind| kind.packages).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn document(listed: &[Listed], missing: &[&str]) -> serde_json::Value {
    let kinds: Vec<_> = kinds()
        .into_iter()
        .map(|LaneKind { name, what, packages, is_allowed }| {
            json!({ "name": name, "description": what, "missing": packages, "allowed": is_allowed })
        })
        .collect();
    let lanes: Vec<_> = listed.iter().map(row).collect();
    let install = (!missing.is_empty()).then(|| tool::install_line(missing));
    json!({ "kinds": kinds, "lanes": lanes, "install": install })
}

fn row(Listed { name, state }: &Listed) -> serde_json::Value {
    let LaneState::Up(Lane { directory, device, group, trigger, .. }) = state else {
        return json!({ "name": name, "state": "left over" });
    };
    json!({
        "name": name, "state": "up", "directory": directory, "device": device, "group": group, "trigger": trigger,
    })
}
