//! A broker of our own: on this machine alone, or for others with TLS and a key for each agent.

use crate::broker_config::{BrokerConfig, Secured};
use crate::error::FleetError;
use nkeys::KeyPair;
use plimsoll_host::process::{Identity, Lifetime, kill_family, scrub, spawn};
use plimsoll_host::remove;
use plimsoll_plan::broker::BrokerAddress;
use rcgen::{BasicConstraints, CertificateParams, IsCa};
use serde::Deserialize;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A broker says within this time where it listens.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// Where Debian has it, which is not in everybody's PATH.
const PROGRAMS: [&str; 2] = ["nats-server", "/usr/sbin/nats-server"];
/// The key of the coordinator, and who has signed the broker's certificate.
const COORDINATOR: &str = "coordinator.nk";
const AUTHORITY: &str = "ca.pem";

/// Where others reach a broker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    pub host: String,
    pub port: u16,
}

impl ListenAddress {
    /// Reads `HOST:PORT` or `[ADDRESS]:PORT`.
    ///
    /// # Errors
    /// [`FleetError::Refused`] with what is accepted.
    pub fn parse(text: &str) -> Result<ListenAddress, FleetError> {
        let refuse = || FleetError::Refused(format!("{text:?} is no HOST:PORT at which agents reach the broker"));
        let (host, port) = text.rsplit_once(':').ok_or_else(refuse)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_host = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:".contains(c));
        match port.parse() {
            Ok(port) if is_host => Ok(ListenAddress { host: host.to_owned(), port }),
            _ => Err(refuse()),
        }
    }

    fn text(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// A broker that was started.
pub struct StartedBroker {
    pub address: BrokerAddress,
    pub process: Identity,
}

/// Starts a broker below `directory`, on a free port of this machine.
///
/// # Errors
/// There is no such program, or it does not begin.
pub fn start(directory: &Path) -> Result<StartedBroker, FleetError> {
    let config = BrokerConfig { listen: "127.0.0.1:-1".to_owned(), directory: directory.to_owned(), secured: None };
    made(directory)?;
    let (mut child, process) = begun(directory, &config)?;
    match where_it_listens(directory, &mut child) {
        Ok(address) => Ok(StartedBroker { address, process }),
        Err(error) => {
            kill_family(&mut child);
            Err(error)
        }
    }
}

/// Starts a broker that agents of these names reach at `listen`, over TLS and each with its key in `NAME.nk`.
///
/// # Errors
/// As [`start`].
pub fn start_secured(directory: &Path, listen: &ListenAddress, agents: &[String]) -> Result<StartedBroker, FleetError> {
    made(directory)?;
    let secured =
        keys(directory, listen, agents).map_err(|why| FleetError::Environment(format!("the broker's keys: {why}")))?;
    let config = BrokerConfig { listen: listen.text(), directory: directory.to_owned(), secured: Some(secured) };
    let (mut child, process) = begun(directory, &config)?;
    // It writes the same file as in the clear.
    if let Err(error) = where_it_listens(directory, &mut child) {
        kill_family(&mut child);
        return Err(error);
    }
    let address = secured_address(listen, &directory.join(COORDINATOR), &directory.join(AUTHORITY));
    let address = address.map_err(|error| FleetError::Refused(error.to_string()))?;
    Ok(StartedBroker { address, process })
}

/// The address with which somebody comes who has this key.
///
/// # Errors
/// A path that no URL can have.
pub fn secured_address(
    listen: &ListenAddress,
    key: &Path,
    authority: &Path,
) -> Result<BrokerAddress, plimsoll_plan::PlanError> {
    let text = format!("tls://{}?key={}&ca={}", listen.text(), key.display(), authority.display());
    BrokerAddress::parse(&text)
}

/// What an agent needs of a broker that was started with it: the seed of its key, and who has signed the certificate.
///
/// # Errors
/// The operating system's.
pub fn of_agent(directory: &Path, name: &str) -> io::Result<(String, String)> {
    Ok((fs::read_to_string(key_file(directory, name))?, fs::read_to_string(directory.join(AUTHORITY))?))
}

fn key_file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.nk"))
}

fn made(directory: &Path) -> Result<(), FleetError> {
    let failed = |why: String| FleetError::Environment(format!("{}: {why}", directory.display()));
    remove::tree(directory).map_err(|error| failed(error.to_string()))?;
    DirBuilder::new().mode(0o700).create(directory).map_err(|error| failed(error.to_string()))
}

/// Makes all keys: an authority and a certificate for the broker, and one key for everybody who comes.
fn keys(directory: &Path, listen: &ListenAddress, agents: &[String]) -> Result<Secured, String> {
    let told = |error: rcgen::Error| error.to_string();
    let pair = || rcgen::KeyPair::generate().map_err(told);
    let write =
        |name: &str, text: &str| secret(&directory.join(name), text).map_err(|error| format!("{name}: {error}"));
    let authority_key = pair()?;
    let mut authority = CertificateParams::new(Vec::new()).map_err(told)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(rcgen::DnType::CommonName, "Plimsoll fleet");
    let authority = authority.self_signed(&authority_key).map_err(told)?;
    write(AUTHORITY, &authority.pem())?;
    let key = pair()?;
    let certificate = CertificateParams::new(vec![listen.host.clone()]).map_err(told)?;
    let certificate = certificate.signed_by(&key, &authority, &authority_key).map_err(told)?;
    write("broker.pem", &certificate.pem())?;
    write("broker-key.pem", &key.serialize_pem())?;
    let user = |file: &str| {
        let pair = KeyPair::new_user();
        write(file, &(pair.seed().map_err(|error| error.to_string())? + "\n"))?;
        Ok::<_, String>(pair.public_key())
    };
    let public = |name: &String| Ok::<_, String>((name.clone(), user(&format!("{name}.nk"))?));
    Ok(Secured {
        certificate: directory.join("broker.pem"),
        key: directory.join("broker-key.pem"),
        coordinator: user(COORDINATOR)?,
        agents: agents.iter().map(public).collect::<Result<_, _>>()?,
    })
}

/// Writes what nobody else may read.
fn secret(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())
}

fn begun(directory: &Path, config: &BrokerConfig) -> Result<(Child, Identity), FleetError> {
    let failed = |why: String| FleetError::Environment(format!("the broker: {why}"));
    let file = directory.join("nats.conf");
    secret(&file, &config.to_string()).map_err(|error| failed(error.to_string()))?;
    let log = File::create(directory.join("log")).map_err(|error| failed(error.to_string()))?;
    let child = first_of(PROGRAMS, |command| {
        scrub(command, directory, directory);
        command.arg("-c").arg(&file).stdout(Stdio::null()).stderr(log.try_clone()?);
        Ok(())
    });
    let child = child.map_err(|error| {
        failed(format!("{error}; `apt-get install nats-server` installs it, or --fleet names one that runs"))
    })?;
    match Identity::of(child.id()) {
        Some(process) => Ok((child, process)),
        None => Err(failed(last_words(directory))),
    }
}

/// Starts the first of these programs that there is.
fn first_of(programs: [&str; 2], prepare: impl Fn(&mut Command) -> io::Result<()>) -> io::Result<Child> {
    for program in programs {
        let mut command = Command::new(program);
        prepare(&mut command)?;
        match spawn(command, Lifetime::UntilStopped) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            started => return started,
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, format!("{} is not installed", programs[0])))
}

fn where_it_listens(directory: &Path, child: &mut Child) -> Result<BrokerAddress, FleetError> {
    let since = Instant::now();
    while since.elapsed() < LISTENS_WITHIN {
        if let Some(address) = listening(directory) {
            return Ok(address);
        }
        if matches!(child.try_wait(), Ok(Some(_))) {
            return Err(FleetError::Environment(format!("the broker: {}", last_words(directory))));
        }
        thread::sleep(LOOK);
    }
    Err(FleetError::Environment("the broker does not say where it listens".to_owned()))
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
    let first = ports.nats.first()?.replace("tls://", "nats://");
    // Of one that others reach, the port is all that is asked for.
    let port = first.rsplit_once(':')?.1;
    BrokerAddress::parse(&format!("nats://127.0.0.1:{port}")).ok()
}

fn last_words(directory: &Path) -> String {
    let text = fs::read_to_string(directory.join("log")).unwrap_or_default();
    text.lines().last().map_or("it ended without a word".to_owned(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_is_reached_is_a_host_and_a_port() {
        for (text, host) in
            [("db1.example:4222", "db1.example"), ("10.0.0.7:1", "10.0.0.7"), ("[fd00::1]:4222", "fd00::1")]
        {
            let listen = ListenAddress::parse(text).unwrap();
            assert_eq!((listen.host.as_str(), listen.text().as_str()), (host, text));
        }
        for text in ["", "db1", ":4222", "db1:", "db1:99999", "a b:1", "a\":1", "nats://db1:4222"] {
            assert!(ListenAddress::parse(text).is_err(), "{text}");
        }
    }
}
