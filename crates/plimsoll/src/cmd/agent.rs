//! `plimsoll agent`: makes parts of loads for a coordinator elsewhere.

use super::{DONE, INTERRUPTED, target};
use crate::args::AgentArgs;
use crate::terminal::{self, Progress};
use plimsoll_engine::endpoint::Password;
use plimsoll_fleet::own::{OwnPlace, name_of};
use plimsoll_fleet::{AgentFacts, AgentNews, serve};
use plimsoll_host::Home;
use plimsoll_host::facts::{cpus, host_name};
use plimsoll_lab::calibrate;
use plimsoll_lab::fleet::{AgentMaker, LabLogin, build, incarnation};
use plimsoll_lab::{LabError, login::Login};
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_watch::Watcher;
use std::path::Path;

pub fn run(args: AgentArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let machine = host_name();
    let facts = AgentFacts {
        name: args.name.unwrap_or_else(|| name_of(&machine)),
        address: args.fleet,
        build: build(),
        machine,
        cpus: cpus() as u32,
        ceiling: calibrate::read(&home).map(|found| found.queries_per_second),
        incarnation: incarnation(),
        spools: OwnPlace::of(home.path()).spools(),
        keeps_spools: args.keep_spools,
    };
    let login = login(args.defaults_file.as_deref())?;
    let lab = args.lab_login.as_deref().map(|file| lab_login(file, &facts.address)).transpose()?;
    let maker = AgentMaker { allowed: args.allow_target, login, lab, home };
    let progress = Progress::new(0)?;
    let mut say = |news: AgentNews| terminal::note(&in_words(&facts.name, &facts.address.to_string(), news));
    let served = serve(&facts, maker, &mut say, &|| progress.interrupted());
    served.map_err(LabError::from)?;
    Ok(if progress.interrupted() { INTERRUPTED } else { DONE })
}

fn login(file: Option<&Path>) -> anyhow::Result<Login> {
    let client = target::client(file)?;
    let file = client.as_ref().map(|client| client.url.clone());
    let password = Some(target::password(false, client)?).filter(|password| !password.0.is_empty());
    Ok(Login { password, places: Vec::new(), file })
}

/// The login for private servers of labs, which have the broker's certificate.
fn lab_login(file: &Path, broker: &BrokerAddress) -> anyhow::Result<LabLogin> {
    let refuse = |why: &str| LabError::Refused(format!("--lab-login {}: {why}", file.display()));
    let authority = broker.authority().ok_or_else(|| refuse("the broker's address has no ca="))?.to_owned();
    let client = target::client_of("--lab-login", file)?;
    match (client.url.user, client.password) {
        (Some(user), Some(password)) => Ok(LabLogin { user, password: Password(password), authority }),
        _ => Err(refuse("it has no user and password; `plimsoll fleet up --hosts` and `--names` make one").into()),
    }
}

fn in_words(name: &str, address: &str, news: AgentNews) -> String {
    match news {
        AgentNews::Waits => format!("{name} waits for loads at {address}; Ctrl-C ends it"),
        AgentNews::Refuses { trial, why } => format!("{trial}: refused: {why}"),
        AgentNews::Prepares { trial } => format!("{trial}: connecting"),
        AgentNews::Starts { trial } => format!("{trial}: starting"),
        AgentNews::Ends { trial, why: None } => format!("{trial}: done"),
        AgentNews::Ends { trial, why: Some(why) } => format!("{trial}: ended: {why}"),
        AgentNews::Abandoned { trial } => format!("{trial}: nobody follows it any more; what it told is kept"),
        AgentNews::BrokerIsGone(why) => format!("the broker: {why}; what the load tells is kept until it is back"),
        AgentNews::BrokerIsBack => "the broker is back".to_owned(),
    }
}
