//! A fleet of our own on this machine: a broker and agents, noted in the home as soon as they are started, so that `down`
//! and `clean` end them whatever became of whoever began them.

use crate::error::FleetError;
use plimsoll_host::process::{Identity, Lifetime, kill_family, scrub, spawn};
use plimsoll_host::remove;
use plimsoll_host::replace::replace;
use plimsoll_plan::broker::BrokerAddress;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A broker says within this time where it listens.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);
/// What was told to end has ended within this time, or is killed. An agent drains its load first.
const ENDS_WITHIN: Duration = Duration::from_secs(8);
const LOOK: Duration = Duration::from_millis(20);
/// Where Debian has it, which is not in everybody's PATH.
const BROKER: [&str; 2] = ["nats-server", "/usr/sbin/nats-server"];

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnAgent {
    pub name: String,
    pub process: Identity,
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

    /// Notes that a fleet is begun at `address`, or at a broker of our own.
    ///
    /// # Errors
    /// There is one already, or no broker can be started.
    pub fn begin(&self, address: Option<&BrokerAddress>) -> Result<OwnFleet, FleetError> {
        if let Some(own) = self.read()? {
            let why = format!("a fleet was begun here at {}; `plimsoll fleet down` ends it", own.address);
            return Err(FleetError::Refused(why));
        }
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.directory);
        made.map_err(|error| FleetError::Environment(format!("{}: {error}", self.directory.display())))?;
        let own = match address {
            Some(address) => OwnFleet { address: address.clone(), broker: None, agents: Vec::new() },
            None => self.start_broker()?,
        };
        self.write(&own)?;
        Ok(own)
    }

    /// Starts a broker on a free port of this machine.
    fn start_broker(&self) -> Result<OwnFleet, FleetError> {
        let failed = |why: String| FleetError::Environment(format!("the broker: {why}"));
        let directory = self.broker();
        remove::tree(&directory).map_err(|error| failed(error.to_string()))?;
        let written = DirBuilder::new().mode(0o700).create(&directory).and_then(|()| {
            let place = directory.display().to_string().replace('"', "");
            let text = format!(
                "listen: \"127.0.0.1:-1\"\nports_file_dir: \"{place}\"\nmax_payload: 1MB\njetstream {{ store_dir: \"{place}/store\" }}\n"
            );
            fs::write(directory.join("nats.conf"), text)?;
            File::create(directory.join("log"))
        });
        let log = written.map_err(|error| failed(error.to_string()))?;
        let mut child = start(BROKER, |command| {
            scrub(command, &directory, &directory);
            command.arg("-c").arg(directory.join("nats.conf")).stdout(Stdio::null()).stderr(log.try_clone()?);
            Ok(())
        })
        .map_err(|error| {
            failed(format!("{error}; `apt-get install nats-server` installs it, or --fleet names one that runs"))
        })?;
        let Some(broker) = Identity::of(child.id()) else { return Err(failed(self.last_words())) };
        let listens = self.where_it_listens(&mut child);
        match listens {
            Ok(address) => Ok(OwnFleet { address, broker: Some(broker), agents: Vec::new() }),
            Err(error) => {
                kill_family(&mut child);
                Err(error)
            }
        }
    }

    fn where_it_listens(&self, child: &mut Child) -> Result<BrokerAddress, FleetError> {
        let since = Instant::now();
        while since.elapsed() < LISTENS_WITHIN {
            if let Some(address) = listening(&self.broker()) {
                return Ok(address);
            }
            if matches!(child.try_wait(), Ok(Some(_))) {
                return Err(FleetError::Environment(format!("the broker: {}", self.last_words())));
            }
            thread::sleep(LOOK);
        }
        Err(FleetError::Environment("the broker does not say where it listens".to_owned()))
    }

    fn last_words(&self) -> String {
        let text = fs::read_to_string(self.broker().join("log")).unwrap_or_default();
        text.lines().last().map_or("it ended without a word".to_owned(), str::to_owned)
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
        own.agents.push(OwnAgent { name: name.to_owned(), process });
        self.write(own)
    }

    /// Why an agent of ours is not there: the last that it said.
    pub fn last_of(&self, agent: &str) -> Option<String> {
        let text = fs::read_to_string(self.directory.join(format!("{agent}.log"))).ok()?;
        text.lines().last().map(str::to_owned)
    }

    /// Ends what was begun, in words; nothing if nothing was.
    ///
    /// # Errors
    /// The note of it cannot be read, or what it made cannot be removed.
    pub fn end(&self) -> Result<Vec<String>, FleetError> {
        let Some(own) = self.read()? else { return Ok(Vec::new()) };
        let mut ended = Vec::new();
        let alive: Vec<bool> = own.agents.iter().map(|agent| agent.process.is_alive()).collect();
        own.agents.iter().for_each(|agent| send(&agent.process, Signal::INT));
        let since = Instant::now();
        for (OwnAgent { name, process }, was_alive) in own.agents.iter().zip(alive) {
            wait(process, ENDS_WITHIN.saturating_sub(since.elapsed()));
            ended.push(if was_alive {
                format!("ended the agent {name}")
            } else {
                format!("the agent {name} had ended")
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

/// Starts the first of these programs that there is.
fn start(programs: [&str; 2], prepare: impl Fn(&mut Command) -> io::Result<()>) -> io::Result<Child> {
    let mut missing = io::Error::from(io::ErrorKind::NotFound);
    for program in programs {
        let mut command = Command::new(program);
        prepare(&mut command)?;
        match spawn(command, Lifetime::UntilStopped) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => missing = error,
            started => return started,
        }
    }
    Err(io::Error::new(missing.kind(), format!("{} is not there", programs[0])))
}

/// The address that a broker has written into its directory (`ports_file_dir`).
fn listening(directory: &Path) -> Option<BrokerAddress> {
    #[derive(Deserialize)]
    struct Ports {
        nats: Vec<String>,
    }
    let is_ports = |name: &str| name.ends_with(".ports");
    let entries = fs::read_dir(directory).ok()?;
    let file = entries.filter_map(Result::ok).find(|entry| entry.file_name().to_str().is_some_and(is_ports))?;
    let ports: Ports = serde_json::from_slice(&fs::read(file.path()).ok()?).ok()?;
    BrokerAddress::parse(ports.nats.first()?).ok()
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
