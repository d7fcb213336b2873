//! `plimsoll agent`: makes parts of loads for a coordinator elsewhere.

use super::{DONE, INTERRUPTED, target};
use crate::args::AgentArgs;
use crate::terminal::{self, Progress};
use plimsoll_fleet::own::OwnPlace;
use plimsoll_fleet::{AgentFacts, AgentNews, serve};
use plimsoll_host::Home;
use plimsoll_host::facts::{cpus, host_name};
use plimsoll_lab::calibrate;
use plimsoll_lab::fleet::{AgentMaker, build, incarnation};
use plimsoll_lab::{LabError, login::Login};
use plimsoll_watch::Watcher;

pub fn run(args: AgentArgs) -> anyhow::Result<u8> {
    let home = Home::from_env().map_err(LabError::from)?;
    let machine = host_name();
    let facts = AgentFacts {
        name: args.name.unwrap_or_else(|| machine.clone()),
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
    let maker = AgentMaker { allowed: args.allow_target, login, home };
    let progress = Progress::new(0)?;
    let mut say = |news: AgentNews| terminal::note(&in_words(&facts.name, &facts.address.to_string(), news));
    let served = serve(&facts, maker, &mut say, &|| progress.interrupted());
    served.map_err(LabError::from)?;
    Ok(if progress.interrupted() { INTERRUPTED } else { DONE })
}

fn login(file: Option<&std::path::Path>) -> anyhow::Result<Login> {
    let client = target::client(file)?;
    let file = client.as_ref().filter(|client| client.names_server).map(|client| client.url.clone());
    let password = Some(target::password(false, client)?).filter(|password| !password.0.is_empty());
    Ok(Login { password, places: Vec::new(), file })
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
