//! `plimsoll server`: manages private servers by hand.

use super::DONE;
use crate::args::{ServerAction, ServerArgs};
use crate::terminal::{self, Progress};
use plimsoll_data::target::private_server;
use plimsoll_host::{Home, facts};
use plimsoll_lab::LabError;
use plimsoll_plan::PlanError;
use plimsoll_server::registry::{self, ServerInfo, ServerState};
use plimsoll_server::{Opening, PrivateServer, baseline};
use plimsoll_watch::{Event, Watcher};
use std::ops::ControlFlow;
use std::time::Duration;

const STOPS_WITHIN: Duration = Duration::from_secs(120);

pub fn run(args: ServerArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    match args.action {
        ServerAction::Start { name, server, set } => start(&home, name, &server, &set),
        ServerAction::Stop { name } => stop(&home, name),
        ServerAction::List { json } => list(&home, json),
        ServerAction::Logs { name } => logs(&home, name),
    }
}

fn start(home: &Home, name: Option<String>, choice: &str, set: &[String]) -> anyhow::Result<u8> {
    let (build, default_name) = private_server(choice)?;
    let name = name.unwrap_or(default_name);
    let mut settings = baseline(&build, facts::memory_bytes());
    for pair in set {
        let (variable, value) = pair.split_once('=').ok_or_else(|| PlanError::value("--set", pair, "NAME=VALUE"))?;
        settings.set(variable.trim(), value.trim(), "user").map_err(LabError::from)?;
    }
    let mut progress = Progress::new(0)?;
    let opening = Opening::new("plimsoll server start").keep_running().watched_by(|step, since| {
        progress.tell(Event::Server { step, since });
        if progress.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let server = PrivateServer::open(home, &name, &build, &settings, opening).map_err(LabError::from)?;
    if !server.settings_applied() {
        terminal::note("it was up already, with other settings, which it keeps; to change them, stop it first");
    }
    terminal::note(&format!(
        "{name}: {} {} is up as pid {}; stop it with `plimsoll server stop {name}`",
        build.flavour,
        build.version,
        server.pid()
    ));
    terminal::result(&format!("mysql://root@localhost/?socket={}", server.socket().display()))?;
    Ok(DONE)
}

fn stop(home: &Home, name: Option<String>) -> anyhow::Result<u8> {
    let all = registry::list(home).map_err(LabError::from)?;
    let running = |info: &ServerInfo| matches!(info.state, ServerState::Running { .. } | ServerState::Leftover { .. });
    let names: Vec<(Home, String)> = match name {
        Some(name) => named(all, home, &name),
        None => all.into_iter().filter(running).map(|info| (info.home, info.name)).collect(),
    };
    if names.is_empty() {
        terminal::note("no private server is up");
    }
    stop_each(names, |home, name| {
        terminal::note(&format!("stopping {name} …"));
        Ok(registry::stop(home, name, STOPS_WITHIN).map(drop).map_err(LabError::from)?)
    })?;
    Ok(DONE)
}

/// Where servers of this name are, in the home and its places; in the home if there is none.
fn named(all: Vec<ServerInfo>, home: &Home, name: &str) -> Vec<(Home, String)> {
    let found = all.into_iter().filter(|info| info.name == name);
    let found: Vec<_> = found.map(|info| (info.home, info.name)).collect();
    if found.is_empty() { vec![(home.clone(), name.to_owned())] } else { found }
}

/// Stops all of them, also those after one that cannot be stopped.
///
/// # Errors
/// The first of them; each further one is told.
fn stop_each(
    names: Vec<(Home, String)>,
    mut stop: impl FnMut(&Home, &str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut first = Ok(());
    for (home, name) in names {
        match stop(&home, &name) {
            Ok(()) => terminal::note(&format!("{name} is down")),
            Err(error) if first.is_ok() => first = Err(error),
            Err(error) => terminal::note(&error.to_string()),
        }
    }
    first
}

fn list(home: &Home, json: bool) -> anyhow::Result<u8> {
    let all = registry::list(home).map_err(LabError::from)?;
    if json {
        let rows: Vec<_> = all.iter().map(row).collect();
        terminal::json(&rows)?;
        return Ok(DONE);
    }
    if all.is_empty() {
        terminal::note("no private servers; `plimsoll server start` creates one");
    }
    for info in &all {
        let place = if info.home == *home { String::new() } else { format!("  in {}", info.home.path().display()) };
        terminal::result(&format!("{:24} {:20} {}{place}", info.name, state(info), build(info)))?;
    }
    Ok(DONE)
}

fn state(info: &ServerInfo) -> String {
    match &info.state {
        ServerState::Running { pid, held_by: Some(holder) } => format!("up, pid {pid}, used by {holder}"),
        ServerState::Running { pid, held_by: None } => format!("up, pid {pid}"),
        ServerState::Leftover { pid } => format!("left over, pid {pid}; `plimsoll clean` stops it"),
        ServerState::Stopped => "down".to_owned(),
        ServerState::Stale => "stale; `plimsoll clean` cleans it up".to_owned(),
    }
}

fn build(info: &ServerInfo) -> String {
    info.build.as_ref().map_or("no data yet".to_owned(), |build| format!("{} {}", build.flavour, build.version))
}

fn row(info: &ServerInfo) -> serde_json::Value {
    serde_json::json!({
        "name": info.name, "state": state(info), "build": build(info), "socket": info.socket,
        "data_bytes": info.data_bytes, "home": info.home.path().to_string_lossy(),
    })
}

fn logs(home: &Home, name: Option<String>) -> anyhow::Result<u8> {
    let name = match name {
        Some(name) => name,
        None => private_server("auto")?.1,
    };
    let all = registry::list(home).map_err(LabError::from)?;
    let of = all.into_iter().find(|info| info.name == name).map_or_else(|| home.clone(), |info| info.home);
    let path = registry::error_log(&of, &name).map_err(LabError::from)?;
    let log = std::fs::read(&path).map_err(|error| LabError::Environment(format!("{}: {error}", path.display())))?;
    terminal::result(&String::from_utf8_lossy(&log))?;
    Ok(DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_in_a_place_is_found_by_its_name() {
        let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [home, place] = directories
            .each_ref()
            .map(|directory| Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| directory.path().into())).unwrap());
        let info = |home: &Home, name: &str| ServerInfo {
            name: name.to_owned(),
            home: home.clone(),
            build: None,
            state: ServerState::Stopped,
            socket: None,
            data_bytes: 0,
            up_since: None,
            error_log: home.path().join("error.log"),
        };
        let all = || vec![info(&home, "a"), info(&place, "b")];
        assert_eq!(named(all(), &home, "b"), [(place.clone(), "b".to_owned())]);
        assert_eq!(named(all(), &home, "c"), [(home.clone(), "c".to_owned())], "which says that there is none");
    }

    #[test]
    fn a_server_that_is_used_does_not_keep_the_others_up() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::resolve(|name| (name == "PLIMSOLL_HOME").then(|| directory.path().into())).unwrap();
        let names = ["a", "used", "b", "used too"].map(|name| (home.clone(), name.to_owned())).into();
        let mut asked = Vec::new();
        let stopped = stop_each(names, |_, name| {
            asked.push(name.to_owned());
            if name.starts_with("used") { Err(anyhow::anyhow!("{name}: in use")) } else { Ok(()) }
        });
        assert_eq!(stopped.unwrap_err().to_string(), "used: in use");
        assert_eq!(asked, ["a", "used", "b", "used too"]);
    }
}
