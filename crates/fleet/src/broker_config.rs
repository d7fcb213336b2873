//! What a broker is configured with: where it listens, and what each of its users may do.

use std::fmt;
use std::path::{Path, PathBuf};

/// The configuration of a NATS server (<https://docs.nats.io/running-a-nats-service/configuration>), as text.
#[derive(Clone, Debug)]
pub struct BrokerConfig {
    /// `HOST:PORT`; port -1 is any that is free.
    pub listen: String,
    /// Where it writes which port that is, and what it stores.
    pub directory: PathBuf,
    /// Who may come; `None` for a broker that trusts everybody on its machine.
    pub secured: Option<Secured>,
}

/// Who may come to a broker, and how it proves who it is.
#[derive(Clone, Debug)]
pub struct Secured {
    /// Its certificate and the key of that; `None` where nobody comes from another machine.
    pub tls: Option<TlsFiles>,
    /// The public key of the coordinator, who may do everything.
    pub coordinator: String,
    /// Those of agents, by name. An agent may hear its orders and tell of itself, and nothing else: neither what others
    /// are told or tell, nor what is stored.
    pub agents: Vec<(String, String)>,
}

/// How a broker proves who it is.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl fmt::Display for BrokerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "listen: {}", quoted(&self.listen))?;
        writeln!(f, "ports_file_dir: {}", path(&self.directory))?;
        writeln!(f, "max_payload: 1MB")?;
        writeln!(f, "jetstream {{ store_dir: {} }}", path(&self.directory.join("store")))?;
        self.secured.as_ref().map_or(Ok(()), |secured| secured.fmt(f))
    }
}

impl fmt::Display for Secured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(TlsFiles { certificate, key }) = &self.tls {
            writeln!(f, "tls {{ cert_file: {}, key_file: {} }}", path(certificate), path(key))?;
        }
        writeln!(f, "authorization {{ users: [")?;
        writeln!(f, "  {{ nkey: {} }}", self.coordinator)?;
        for (name, key) in &self.agents {
            let words =
                |subjects: &[String]| subjects.iter().map(|subject| quoted(subject)).collect::<Vec<_>>().join(", ");
            let tells = [crate::subject::told(name), crate::subject::hello(name), crate::subject::heartbeat(name)];
            let hears = [
                crate::subject::to(name),
                crate::subject::clock(name),
                crate::subject::ALL.to_owned(),
                format!("{}.>", crate::subject::inbox(name)),
            ];
            writeln!(f, "  {{ nkey: {key}, permissions: {{")?;
            writeln!(f, "    publish: {{ allow: [{}] }}, subscribe: {{ allow: [{}] }},", words(&tells), words(&hears))?;
            writeln!(f, "    allow_responses: {{ max: 1, expires: \"24h\" }} }} }}")?;
        }
        writeln!(f, "] }}")
    }
}

fn path(path: &Path) -> String {
    quoted(&path.display().to_string())
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
