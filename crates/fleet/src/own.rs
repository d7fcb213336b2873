//! A fleet of our own: a broker and agents, noted in the home as soon as they are started, so that `down` and `clean` end
//! them whatever became of whoever began them.

mod broker;
mod names;
mod remote;

use crate::error::FleetError;
use crate::link::BrokerLink;
use crate::message::{self, Call};
use crate::subject;
pub use broker::ListenAddress;
use broker::StartedBroker;
pub use names::AgentNames;
use plimsoll_host::process::{Identity, Lifetime, spawn};
use plimsoll_host::remove;
use plimsoll_host::replace::replace;
use plimsoll_plan::broker::BrokerAddress;
pub use remote::{RemoteAccess, name_of};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What was told to end has ended within this time, or is killed. An agent drains its load first.
const ENDS_WITHIN: Duration = Duration::from_secs(8);
/// An agent on another machine, without a load.
const LEAVES_WITHIN: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);

/// What was begun here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnFleet {
    /// Of the broker, ours or somebody else's.
    pub address: BrokerAddress,
    /// `null` if the broker is not ours.
    pub broker: Option<Identity>,
    pub agents: Vec<OwnAgent>,
}

/// Where an agent is that was begun here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentPlace {
    Here(Identity),
    There {
        host: String,
        /// What it keeps there; empty until that is known.
        directory: String,
        /// How the host is reached.
        ssh: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnAgent {
    pub name: String,
    pub place: AgentPlace,
}

impl OwnAgent {
    /// Whether its process has ended, as far as that can be seen from here.
    pub fn has_ended(&self) -> bool {
        matches!(&self.place, AgentPlace::Here(process) if !process.is_alive())
    }
}

/// The place of our own fleet in a home.
pub struct OwnPlace {
    directory: PathBuf,
}

impl OwnPlace {
    pub fn of(home: &Path) -> OwnPlace {
        OwnPlace { directory: home.join("fleet") }
    }

    /// Where agents of this home keep what their loads tell.
    pub fn spools(&self) -> PathBuf {
        self.directory.join("spools")
    }

    fn note(&self) -> PathBuf {
        self.directory.join("own.json")
    }

    fn broker(&self) -> PathBuf {
        self.directory.join("broker")
    }

    /// What was begun and not ended.
    ///
    /// # Errors
    /// The note of it cannot be read.
    pub fn read(&self) -> Result<Option<OwnFleet>, FleetError> {
        let failed = |why: String| FleetError::Environment(format!("{}: {why}", self.note().display()));
        match fs::read(self.note()) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| failed(error.to_string())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn write(&self, own: &OwnFleet) -> Result<(), FleetError> {
        let text = serde_json::to_vec_pretty(own).map_err(|error| FleetError::Environment(error.to_string()))?;
        replace(&self.note(), &text).map_err(|error| FleetError::Environment(error.to_string()))
    }

    /// Makes the place, if nothing was begun there.
    fn is_free(&self) -> Result<(), FleetError> {
        if let Some(own) = self.read()? {
            let why = format!("a fleet was begun here at {}; `plimsoll fleet down` ends it", own.address);
            return Err(FleetError::Refused(why));
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        made.map_err(|error| FleetError::Environment(format!("{}: {error}", self.directory.display())))
    }

    /// Notes that a fleet is begun on other machines, at a broker of our own that they reach at `listen`.
    ///
    /// # Errors
    /// As [`OwnPlace::begin`].
    pub fn begin_elsewhere(&self, listen: &ListenAddress, agents: &[String]) -> Result<OwnFleet, FleetError> {
        self.is_free()?;
        agents.iter().try_for_each(|name| subject::check_name(name))?;
        let StartedBroker { address, process } = broker::start_secured(&self.broker(), listen, agents)?;
        let own = OwnFleet { address, broker: Some(process), agents: Vec::new() };
        self.write(&own)?;
        Ok(own)
    }

    /// Notes that a fleet is begun at `address`, or at a broker of our own.
    ///
    /// # Errors
    /// There is one already, or no broker can be started.
    pub fn begin(&self, address: Option<&BrokerAddress>) -> Result<OwnFleet, FleetError> {
        self.is_free()?;
        let (address, broker) = match address {
            Some(address) => (address.clone(), None),
            None => {
                let started = broker::start(&self.broker())?;
                (started.address, Some(started.process))
            }
        };
        let own = OwnFleet { address, broker, agents: Vec::new() };
        self.write(&own)?;
        Ok(own)
    }

    /// Starts an agent that stays up when this process ends; `words` follow `plimsoll agent`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_agent(&self, own: &mut OwnFleet, name: &str, words: &[String]) -> Result<(), FleetError> {
        let failed = |error: io::Error| FleetError::Environment(format!("the agent {name}: {error}"));
        let log = File::create(self.directory.join(format!("{name}.log"))).map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.arg("agent").args(["--fleet", &own.address.to_string(), "--name", name]).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = spawn(command, Lifetime::UntilStopped).map_err(failed)?;
        let process = Identity::of(child.id()).ok_or_else(|| failed(io::Error::other("it ended at once")))?;
        own.agents.push(OwnAgent { name: name.to_owned(), place: AgentPlace::Here(process) });
        self.write(own)
    }

    /// The same on another machine, at a broker that [`OwnPlace::begin_elsewhere`] has started.
    ///
    /// # Errors
    /// The machine cannot be reached, or has no Plimsoll.
    pub fn start_agent_on(
        &self,
        own: &mut OwnFleet,
        host: &str,
        access: &RemoteAccess,
        words: &[String],
    ) -> Result<(), FleetError> {
        let name = remote::name_of(host);
        let place = |directory: String| AgentPlace::There { host: host.to_owned(), directory, ssh: access.ssh.clone() };
        own.agents.push(OwnAgent { name: name.clone(), place: place(String::new()) });
        self.write(own)?;
        let directory = access.start(host, &name, &self.broker(), words)?;
        if let Some(agent) = own.agents.last_mut() {
            agent.place = place(directory);
        }
        self.write(own)
    }

    /// Where the keys of agents are that others start: `NAME.nk`, and `ca.pem` for all of them.
    pub fn keys(&self) -> PathBuf {
        self.broker()
    }

    /// Why an agent of ours is not there: the last that it said.
    pub fn last_of(&self, agent: &OwnAgent) -> Option<String> {
        let here = || fs::read_to_string(self.directory.join(format!("{}.log", agent.name))).ok();
        let text = agent.last_there().or_else(here)?;
        text.lines().last().map(str::to_owned)
    }

    /// Tells agents on other machines to leave, as long as there is a broker to do so.
    fn leave_elsewhere(&self, own: &OwnFleet) {
        let is_for_others = own.broker.is_some() && own.address.is_encrypted();
        if !is_for_others {
            return;
        }
        if let Ok(link) = BrokerLink::connect(&own.address, "down") {
            link.tell(subject::ALL, message::write(&Call::Leave));
            link.flush();
            thread::sleep(LEAVES_WITHIN);
        }
    }

    /// Ends what was begun, in words; nothing if nothing was.
    ///
    /// # Errors
    /// The note of it cannot be read, or what it made cannot be removed.
    pub fn end(&self) -> Result<Vec<String>, FleetError> {
        let Some(own) = self.read()? else { return Ok(Vec::new()) };
        let mut ended = Vec::new();
        self.leave_elsewhere(&own);
        let alive: Vec<bool> = own.agents.iter().map(|agent| !agent.has_ended()).collect();
        own.agents.iter().for_each(|agent| agent.send(Signal::INT));
        let since = Instant::now();
        for (agent, was_alive) in own.agents.iter().zip(alive) {
            agent.wait(ENDS_WITHIN.saturating_sub(since.elapsed()));
            ended.push(match (&agent.place, was_alive) {
                (_, false) => format!("the agent {} had ended", agent.name),
                (AgentPlace::Here(_), true) => format!("ended the agent {}", agent.name),
                (AgentPlace::There { host, .. }, true) => match agent.tidy() {
                    Ok(()) => format!("ended the agent {} on {host}", agent.name),
                    Err(error) => {
                        format!("told the agent {} to leave; what it kept there is left: {error}", agent.name)
                    }
                },
            });
        }
        if let Some(broker) = &own.broker {
            send(broker, Signal::TERM);
            wait(broker, ENDS_WITHIN);
            ended.push(format!("ended the broker at {}", own.address));
        }
        let failed = |error: plimsoll_host::HostError| FleetError::Environment(error.to_string());
        remove::tree(&self.broker()).map_err(failed)?;
        for OwnAgent { name, .. } in &own.agents {
            remove::entry(&self.directory.join(format!("{name}.log"))).map_err(failed)?;
        }
        remove::entry(&self.note()).map_err(failed)?;
        Ok(ended)
    }
}

impl OwnAgent {
    fn send(&self, signal: Signal) {
        if let AgentPlace::Here(process) = &self.place {
            send(process, signal);
        }
    }

    fn wait(&self, patience: Duration) {
        if let AgentPlace::Here(process) = &self.place {
            wait(process, patience);
        }
    }

    /// Removes what it kept on another machine.
    fn tidy(&self) -> Result<(), FleetError> {
        let AgentPlace::There { host, directory, ssh } = &self.place else { return Ok(()) };
        remote::remove(ssh, host, directory)
    }

    /// The last that it said on another machine.
    fn last_there(&self) -> Option<String> {
        let AgentPlace::There { host, directory, ssh } = &self.place else { return None };
        remote::last_of(ssh, host, directory)
    }
}

/// Only what is still the same process.
fn send(process: &Identity, signal: Signal) {
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| process.is_alive()) {
        let _ = kill_process(pid, signal);
    }
}

fn wait(process: &Identity, patience: Duration) {
    let since = Instant::now();
    while process.is_alive() && since.elapsed() < patience {
        thread::sleep(LOOK);
    }
    send(process, Signal::KILL);
}
