//! A fleet of our own: a broker and agents, noted in the home as soon as they are started, so that `down` and `clean` end
//! them whatever became of whoever began them.

mod broker;
mod lab_access;
mod names;
mod remote;

use crate::error::FleetError;
use crate::link::BrokerLink;
use crate::message::{self, Call};
use crate::subject;
use broker::StartedBroker;
pub use lab_access::{LabAccess, USER as AGENT_USER};
pub use names::AgentNames;
use plimsoll_host::lock::Lock;
use plimsoll_host::process::{Identity, Lifetime, spawn};
use plimsoll_host::remove;
use plimsoll_host::replace::replace;
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_plan::listen::ListenAddress;
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
const HOLDER: &str = "plimsoll fleet up";

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
        /// What it keeps there.
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

    /// Of how many loads agents of this home keep what they told: nobody has recorded it, or they were told to.
    pub fn kept(&self) -> usize {
        let entries = fs::read_dir(self.spools()).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "jsonl")).count()
    }

    fn note(&self) -> PathBuf {
        self.directory.join("own.json")
    }

    fn lock(&self) -> PathBuf {
        self.directory.join("lock")
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

    /// Makes the place, if nothing was begun there; nobody else begins anything as long as the lock is held.
    fn is_free(&self) -> Result<Lock, FleetError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        made.map_err(|error| FleetError::Environment(format!("{}: {error}", self.directory.display())))?;
        let lock = Lock::try_take(&self.lock(), HOLDER).map_err(|error| FleetError::Environment(error.to_string()))?;
        let lock = lock.ok_or_else(|| FleetError::Refused("another Plimsoll begins a fleet here".to_owned()))?;
        if let Some(own) = self.read()? {
            let why = format!("a fleet was begun here at {}; `plimsoll fleet down` ends it", own.address);
            return Err(FleetError::Refused(why));
        }
        self.end_what_was_not_noted()?;
        Ok(lock)
    }

    /// Notes that a fleet is begun at this broker, which is not ours.
    ///
    /// # Errors
    /// There is one already.
    pub fn begin_at(&self, address: &BrokerAddress) -> Result<OwnFleet, FleetError> {
        let _lock = self.is_free()?;
        let own = OwnFleet { address: address.clone(), broker: None, agents: Vec::new() };
        self.write(&own)?;
        Ok(own)
    }

    /// Starts a broker for agents of these names, which come from other machines at `listen`, or from this one; notes that a
    /// fleet is begun there.
    ///
    /// # Errors
    /// There is one already, or no broker can be started.
    pub fn begin(&self, listen: Option<&ListenAddress>, agents: &[String]) -> Result<OwnFleet, FleetError> {
        agents.iter().try_for_each(|name| subject::check_name(name))?;
        let _lock = self.is_free()?;
        let StartedBroker { address, process } = broker::start(&self.broker(), listen, agents)?;
        let own = OwnFleet { address, broker: Some(process), agents: Vec::new() };
        let noted = self.write(&own);
        if noted.is_err() {
            self.end_what_was_not_noted()?;
        }
        noted.map(|()| own)
    }

    /// Ends a broker of ours whose fleet was not noted, because whoever began it was killed.
    fn end_what_was_not_noted(&self) -> Result<Vec<String>, FleetError> {
        let Some(process) = broker::noted(&self.broker()) else { return Ok(Vec::new()) };
        send(&process, Signal::TERM);
        wait(&process, ENDS_WITHIN);
        self.remove_broker()?;
        Ok(vec!["ended a broker whose fleet was never begun".to_owned()])
    }

    fn remove_broker(&self) -> Result<(), FleetError> {
        remove::tree(&self.broker()).map(drop).map_err(|error| FleetError::Environment(error.to_string()))
    }

    /// Starts an agent that stays up when this process ends; `words` follow `plimsoll agent`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_agent(&self, own: &mut OwnFleet, name: &str, words: &[String]) -> Result<(), FleetError> {
        let failed = |error: io::Error| FleetError::Environment(format!("the agent {name}: {error}"));
        let log = File::create(self.directory.join(format!("{name}.log"))).map_err(failed)?;
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        let address = match own.broker {
            Some(_) => own.address.with_key(&broker::key_file(&self.broker(), name)),
            None => own.address.clone(),
        };
        command.arg("agent").args(["--fleet", &address.to_string(), "--name", name]).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = spawn(command, Lifetime::UntilStopped).map_err(failed)?;
        let process = Identity::of(child.id()).ok_or_else(|| failed(io::Error::other("it ended at once")))?;
        own.agents.push(OwnAgent { name: name.to_owned(), place: AgentPlace::Here(process) });
        self.write(own)
    }

    /// The same on another machine, at a broker that [`OwnPlace::begin`] has started for those of other machines.
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
        let directory = remote::new_directory().map_err(|error| FleetError::Environment(error.to_string()))?;
        // Noted first: whatever becomes of this process, it is found there.
        let place = AgentPlace::There { host: host.to_owned(), directory: directory.clone(), ssh: access.ssh.clone() };
        own.agents.push(OwnAgent { name: name.clone(), place });
        self.write(own)?;
        access.start(host, &name, &directory, &self.broker(), words)
    }

    /// Where the keys of agents are that others start: `NAME.nk`, and `ca.pem` for all of them.
    pub fn keys(&self) -> PathBuf {
        self.broker()
    }

    /// What a lab needs so that agents of the fleet at this address, on other machines, load its private servers.
    ///
    /// # Errors
    /// [`FleetError::Refused`] if the fleet was not begun here with keys: then its agents have no login.
    pub fn lab_access(&self, address: &BrokerAddress) -> Result<LabAccess, FleetError> {
        let is_this = self.read()?.is_some_and(|own| own.address == *address && own.broker.is_some());
        if !is_this || !address.is_encrypted() {
            let why = "[fleet] listen needs agents that have a login: those of a fleet that `plimsoll fleet up --hosts HOSTS \
                       --listen HOST:PORT`, or with --names, has begun here, at the address that it printed";
            return Err(FleetError::Refused(why.to_owned()));
        }
        broker::lab_access(&self.broker())
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
        let Some(own) = self.read()? else {
            let is_being_begun = !Lock::try_peek(&self.lock()).unwrap_or(true);
            return if is_being_begun { Ok(Vec::new()) } else { self.end_what_was_not_noted() };
        };
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
        self.remove_broker()?;
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
