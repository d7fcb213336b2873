//! Where a server is and how to log in there.

use crate::error::Failure;
use crate::tls::Tls;
use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    Tcp { host: String, port: u16 },
}

impl Address {
    /// Looks the host name up, once, before anything is timed.
    pub fn resolve(&self) -> Result<Resolved, Failure> {
        match self {
            Address::Unix(path) => Ok(Resolved::Unix(path.clone())),
            Address::Tcp { host, port } => {
                let found = (host.as_str(), *port).to_socket_addrs().map(Vec::from_iter).unwrap_or_default();
                if found.is_empty() {
                    return Err(Failure::Lost(format!("the host name `{host}` cannot be resolved")));
                }
                Ok(Resolved::Tcp(found))
            }
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "socket {}", path.display()),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Resolved {
    Unix(PathBuf),
    /// All addresses of the host, at least one, in the order in which they are to be tried.
    Tcp(Vec<SocketAddr>),
}

/// A password: never shown, not even by `{:?}`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "Password(none)" } else { "Password(hidden)" })
    }
}

/// Everything that a connection needs to be made.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub address: Address,
    pub resolved: Resolved,
    pub user: String,
    pub password: Password,
    pub database: Option<String>,
    pub tls: Arc<Tls>,
    /// Whether LOAD DATA LOCAL may be used on this connection.
    pub local_files: bool,
}
