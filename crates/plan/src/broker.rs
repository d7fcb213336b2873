//! Where a broker listens, and how it is trusted: one text for the command line and for plans.

use crate::error::PlanError;
use crate::listen::ListenAddress;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use url::{Host, Url};

const PORT: u16 = 4222;
const ACCEPTED: &str = "nats://127.0.0.1:4222 on this machine, or tls://HOST:4222?key=FILE&ca=FILE (an nkey, and who signed the broker's certificate)";

/// The address of a broker. It has no secret in it: a key is named by its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BrokerAddress {
    host: String,
    port: u16,
    is_encrypted: bool,
    is_local: bool,
    key: Option<PathBuf>,
    authority: Option<PathBuf>,
}

impl BrokerAddress {
    /// Reads the address of a broker.
    ///
    /// # Errors
    /// It is none, it has a secret in it, or it is one on another machine without TLS and a key.
    pub fn parse(text: &str) -> Result<BrokerAddress, PlanError> {
        // It may have a password in it, so it is not shown.
        let refuse = |why: &str| PlanError::value("address of the broker", &format!("(not shown; {why})"), ACCEPTED);
        let url = Url::parse(text).map_err(|_| refuse("it is no URL"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse("it names a user or a password; a key is named by its file"));
        }
        let is_encrypted = match url.scheme() {
            "nats" => false,
            "tls" => true,
            _ => return Err(refuse("it begins with neither nats:// nor tls://")),
        };
        let Some(host) = url.host_str().filter(|host| !host.is_empty()).map(str::to_owned) else {
            return Err(refuse("it names no host"));
        };
        if !matches!(url.path(), "" | "/") {
            return Err(refuse("it has a path"));
        }
        let port = url.port().unwrap_or(PORT);
        let is_local = is_loopback(&host);
        let mut address = BrokerAddress { host, port, is_encrypted, is_local, key: None, authority: None };
        for (name, value) in url.query_pairs() {
            let place = match &*name {
                "key" => &mut address.key,
                "ca" => &mut address.authority,
                _ => return Err(refuse(&format!("{name:?} is none of its options"))),
            };
            *place = Some(PathBuf::from(&*value));
        }
        match address.is_local || (address.is_encrypted && address.key.is_some()) {
            true => Ok(address),
            false => Err(refuse("a broker on another machine needs TLS and a key")),
        }
    }

    /// That of a broker which is reached there over TLS by whoever has this key; `authority` has signed its certificate.
    pub fn secured(listen: &ListenAddress, key: &Path, authority: &Path) -> BrokerAddress {
        let host = if listen.host.contains(':') { format!("[{}]", listen.host) } else { listen.host.clone() };
        BrokerAddress {
            is_local: is_loopback(&host),
            host,
            port: listen.port,
            is_encrypted: true,
            key: Some(key.to_owned()),
            authority: Some(authority.to_owned()),
        }
    }

    /// The same, for whoever is known by this key.
    pub fn with_key(&self, key: &Path) -> BrokerAddress {
        BrokerAddress { key: Some(key.to_owned()), ..self.clone() }
    }

    /// As the client takes it.
    pub fn url(&self) -> String {
        let scheme = if self.is_encrypted { "tls" } else { "nats" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }

    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Who has signed the broker's certificate, where that is nobody whom the system knows.
    pub fn authority(&self) -> Option<&Path> {
        self.authority.as_deref()
    }

    /// The file with the key that we are known by; `None` where the broker trusts everybody on its machine.
    pub fn key(&self) -> Option<&Path> {
        self.key.as_deref()
    }
}

impl TryFrom<String> for BrokerAddress {
    type Error = PlanError;

    fn try_from(text: String) -> Result<BrokerAddress, PlanError> {
        BrokerAddress::parse(&text)
    }
}

impl From<BrokerAddress> for String {
    fn from(address: BrokerAddress) -> String {
        address.to_string()
    }
}

impl fmt::Display for BrokerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url())?;
        for (mark, (name, path)) in ["?", "&"].into_iter().zip(
            [("key", &self.key), ("ca", &self.authority)]
                .into_iter()
                .filter_map(|(name, path)| Some((name, path.as_ref()?))),
        ) {
            write!(f, "{mark}{name}={}", written(&path.display().to_string()))?;
        }
        Ok(())
    }
}

/// A path as it is written in an address: what means something else there is written by its number (RFC 3986).
pub(crate) fn written(path: &str) -> String {
    let letter = |c: char| match c {
        '%' | '&' | '+' | '#' | '?' | ' ' => format!("%{:02X}", u32::from(c)),
        other => other.to_string(),
    };
    path.chars().map(letter).collect()
}

fn is_loopback(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Domain(name)) => name == "localhost",
        Ok(Host::Ipv4(address)) => address.is_loopback(),
        Ok(Host::Ipv6(address)) => address.is_loopback(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_what_was_written() {
        for (text, shown) in [
            ("nats://127.0.0.1", "nats://127.0.0.1:4222"),
            ("nats://localhost:7/", "nats://localhost:7"),
            ("nats://[::1]:4223", "nats://[::1]:4223"),
            (
                "tls://broker.example:4222?ca=/x/ca.pem&key=/x/a1.nk",
                "tls://broker.example:4222?key=/x/a1.nk&ca=/x/ca.pem",
            ),
        ] {
            assert_eq!(BrokerAddress::parse(text).map(|address| address.to_string()), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_path_is_what_was_written_whatever_is_in_it() {
        let address = BrokerAddress::parse("nats://127.0.0.1").unwrap().with_key(Path::new("/a b/x&y+z%20#1/?.nk"));
        assert_eq!(BrokerAddress::parse(&address.to_string()), Ok(address.clone()));
        assert_eq!(address.key(), Some(Path::new("/a b/x&y+z%20#1/?.nk")));
    }

    #[test]
    fn one_that_is_made_of_its_parts_is_read_as_written() {
        for text in ["db1.example:4222", "localhost:1", "[fd00::1]:4222"] {
            let listen = ListenAddress::parse(text).unwrap();
            let address = BrokerAddress::secured(&listen, Path::new("/a+b/a1.nk"), Path::new("/a+b/ca.pem"));
            assert_eq!(BrokerAddress::parse(&address.to_string()), Ok(address.clone()), "{address}");
        }
    }

    #[test]
    fn what_is_no_address_or_too_trusting_is_refused_without_a_secret() {
        for (text, why) in [
            ("127.0.0.1:4222", "no URL"),
            ("http://127.0.0.1", "neither nats:// nor tls://"),
            ("nats://bench:secret@127.0.0.1", "names a user or a password"),
            ("nats://10.0.0.7:4222", "needs TLS and a key"),
            ("nats://10.0.0.7:4222?key=/x", "needs TLS and a key"),
            ("tls://10.0.0.7:4222", "needs TLS and a key"),
            ("nats://127.0.0.1?token=secret", "none of its options"),
            ("nats://127.0.0.1/plimsoll", "has a path"),
            ("nats://", "no"),
        ] {
            let found = BrokerAddress::parse(text).unwrap_err().to_string();
            assert!(found.contains(why) && !found.contains("secret"), "{text}: {found}");
        }
    }
}
