//! Where a broker listens, and how it is trusted: one text for the command line and for plans.

use crate::error::FleetError;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use url::{Host, Url};

const PORT: u16 = 4222;
const ACCEPTED: &str = "nats://127.0.0.1:4222 on this machine, or tls://HOST:4222?key=FILE&ca=FILE (an nkey, and who signed the broker's certificate)";

/// The address of a broker. It has no secret in it: a key is named by its file.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub fn parse(text: &str) -> Result<BrokerAddress, FleetError> {
        // It may have a password in it, so it is not shown.
        let refuse = |why: &str| FleetError::Refused(format!("the address of the broker: {why}; accepted: {ACCEPTED}"));
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

    /// The seed of the key that we are known by; `None` where the broker trusts everybody on its machine.
    ///
    /// # Errors
    /// Its file cannot be read, is everybody's to read, or has no seed in it.
    pub fn seed(&self) -> Result<Option<String>, FleetError> {
        let Some(path) = &self.key else { return Ok(None) };
        let refuse = |why: String| FleetError::Refused(format!("the key {}: {why}", path.display()));
        let mode = |path: &Path| {
            std::fs::metadata(path).map(|facts| std::os::unix::fs::PermissionsExt::mode(&facts.permissions()))
        };
        match mode(path) {
            Ok(mode) if mode & 0o077 != 0 => {
                return Err(refuse("others may read it; `chmod 600` ends that".to_owned()));
            }
            Ok(_) => {}
            Err(error) => return Err(refuse(error.to_string())),
        }
        let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
        let is_seed = |line: &&str| line.starts_with("SU") && line.len() == 58;
        let seed = text.lines().map(str::trim).find(is_seed);
        seed.map(|seed| Some(seed.to_owned())).ok_or_else(|| refuse("it has no seed of a user (SU…) in it".to_owned()))
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
            write!(f, "{mark}{name}={}", path.display())?;
        }
        Ok(())
    }
}

fn is_loopback(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Domain(name)) => name == "localhost",
        Ok(Host::Ipv4(address)) => address.is_loopback(),
        Ok(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
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

    #[test]
    fn a_key_that_others_may_read_or_that_is_none_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a1.nk");
        let address = BrokerAddress::parse(&format!("tls://b.example?key={}", path.display())).unwrap();
        let why = |address: &BrokerAddress| address.seed().unwrap_err().to_string();
        assert!(why(&address).contains("No such file"), "{}", why(&address));
        let seed = format!("SU{}", "A".repeat(56));
        std::fs::write(&path, format!("# a1\n{seed}\n")).unwrap();
        let give = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        give(0o644);
        assert!(why(&address).contains("others may read it"), "{}", why(&address));
        give(0o600);
        assert_eq!(address.seed(), Ok(Some(seed)));
        std::fs::write(&path, "nothing").unwrap();
        assert!(why(&address).contains("no seed"), "{}", why(&address));
    }
}
