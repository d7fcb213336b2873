//! A broker of our own: on this machine alone, or for others with TLS and a key for each agent.

use super::lab_access::{self, LabAccess};
use crate::broker_config::{BrokerConfig, Secured, TlsFiles};
use crate::error::FleetError;
use nkeys::KeyPair;
use plimsoll_host::process::{Identity, Lifetime, kill_family, scrub, spawn};
use plimsoll_host::remove;
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_plan::listen::ListenAddress;
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
/// Which process it is.
const PROCESS: &str = "process.json";
/// The broker's certificate and its key.
const CERTIFICATE: &str = "broker.pem";
const KEY: &str = "broker-key.pem";

/// A broker that was started.
pub struct StartedBroker {
    pub address: BrokerAddress,
    pub process: Identity,
}

/// Starts a broker below `directory`, to which the coordinator and agents of these names come with a key each, in `NAME.nk`:
/// from other machines at `listen`, over TLS, or on a free port of this machine alone.
///
/// # Errors
/// There is no such program, or it does not begin.
pub fn start(directory: &Path, listen: Option<&ListenAddress>, agents: &[String]) -> Result<StartedBroker, FleetError> {
    made(directory)?;
    let secured =
        keys(directory, listen, agents).map_err(|why| FleetError::Environment(format!("the broker's keys: {why}")))?;
    let at = listen.map_or("127.0.0.1:-1".to_owned(), ToString::to_string);
    let config = BrokerConfig { listen: at, directory: directory.to_owned(), secured: Some(secured) };
    let (mut child, process) = begun(directory, &config)?;
    let coordinator = directory.join(COORDINATOR);
    let address = where_it_listens(directory, &mut child).map(|here| match listen {
        // It writes the same file as in the clear.
        Some(listen) => BrokerAddress::secured(listen, &coordinator, &directory.join(AUTHORITY)),
        None => here.with_key(&coordinator),
    });
    match address {
        Ok(address) => Ok(StartedBroker { address, process }),
        Err(error) => {
            kill_family(&mut child);
            Err(error)
        }
    }
}

/// The broker of a directory, as it was noted as soon as it was started.
pub fn noted(directory: &Path) -> Option<Identity> {
    serde_json::from_slice(&fs::read(directory.join(PROCESS)).ok()?).ok()
}

/// What an agent needs of a broker that was started with it.
pub struct AgentSecrets {
    /// Of its key.
    pub seed: String,
    /// Of its login to private servers of labs.
    pub password: String,
    /// Who has signed the certificate.
    pub authority: String,
}

/// Reads them.
///
/// # Errors
/// The operating system's.
pub fn of_agent(directory: &Path, name: &str) -> Result<AgentSecrets, FleetError> {
    let read = |path: PathBuf| {
        fs::read_to_string(&path).map_err(|error| FleetError::Environment(format!("{}: {error}", path.display())))
    };
    Ok(AgentSecrets {
        seed: read(key_file(directory, name))?,
        password: lab_access::password(directory)?,
        authority: read(directory.join(AUTHORITY))?,
    })
}

/// What a private server of a lab needs of a broker that was started with keys.
///
/// # Errors
/// It was started without, or they cannot be read.
pub fn lab_access(directory: &Path) -> Result<LabAccess, FleetError> {
    Ok(LabAccess {
        password: lab_access::password(directory)?,
        certificate: directory.join(CERTIFICATE),
        key: directory.join(KEY),
        authority: directory.join(AUTHORITY),
    })
}

/// Where the key of an agent is.
pub fn key_file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.nk"))
}

fn made(directory: &Path) -> Result<(), FleetError> {
    let failed = |why: String| FleetError::Environment(format!("{}: {why}", directory.display()));
    remove::tree(directory).map_err(|error| failed(error.to_string()))?;
    DirBuilder::new().mode(0o700).create(directory).map_err(|error| failed(error.to_string()))
}

/// Makes all keys: one for everybody who comes, and for a broker that others reach an authority, a certificate, and a login to
/// the private servers of labs.
fn keys(directory: &Path, listen: Option<&ListenAddress>, agents: &[String]) -> Result<Secured, String> {
    let write =
        |name: &str, text: &str| secret(&directory.join(name), text).map_err(|error| format!("{name}: {error}"));
    let tls = listen.map(|listen| {
        write(lab_access::FILE, &lab_access::option_file().map_err(|error| error.to_string())?)?;
        let made = certificate(&listen.host).map_err(|error| error.to_string())?;
        made.iter().try_for_each(|(name, text)| write(name, text))?;
        Ok::<_, String>(TlsFiles { certificate: directory.join(CERTIFICATE), key: directory.join(KEY) })
    });
    let user = |file: &str| {
        let pair = KeyPair::new_user();
        write(file, &(pair.seed().map_err(|error| error.to_string())? + "\n"))?;
        Ok::<_, String>(pair.public_key())
    };
    let public = |name: &String| Ok::<_, String>((name.clone(), user(&format!("{name}.nk"))?));
    Ok(Secured {
        tls: tls.transpose()?,
        coordinator: user(COORDINATOR)?,
        agents: agents.iter().map(public).collect::<Result<_, _>>()?,
    })
}

/// An authority, a certificate of it for this host, and the key of that, as files.
fn certificate(host: &str) -> Result<[(&'static str, String); 3], rcgen::Error> {
    let authority_key = rcgen::KeyPair::generate()?;
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(rcgen::DnType::CommonName, "Plimsoll fleet");
    let authority = authority.self_signed(&authority_key)?;
    let key = rcgen::KeyPair::generate()?;
    let certificate = CertificateParams::new(vec![host.to_owned()])?.signed_by(&key, &authority, &authority_key)?;
    Ok([(AUTHORITY, authority.pem()), (CERTIFICATE, certificate.pem()), (KEY, key.serialize_pem())])
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
    let mut child = child.map_err(|error| {
        failed(format!("{error}; `apt-get install nats-server` installs it, or --fleet names one that runs"))
    })?;
    let Some(process) = Identity::of(child.id()) else { return Err(failed(last_words(directory))) };
    let note = serde_json::to_string(&process).map_err(|error| error.to_string());
    match note.and_then(|note| secret(&directory.join(PROCESS), &note).map_err(|error| error.to_string())) {
        Ok(()) => Ok((child, process)),
        Err(why) => {
            kill_family(&mut child);
            Err(failed(why))
        }
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
