//! Where others reach what listens on this machine: one text for the command line and for plans.

use crate::error::PlanError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A name or an address of this machine, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ListenAddress {
    pub host: String,
    pub port: u16,
}

impl ListenAddress {
    /// Reads `HOST:PORT` or `[ADDRESS]:PORT`.
    ///
    /// # Errors
    /// [`PlanError::Value`] with what is accepted.
    pub fn parse(text: &str) -> Result<ListenAddress, PlanError> {
        let refuse = || PlanError::value("address", text, "HOST:PORT at which other machines reach this one");
        let (host, port) = text.rsplit_once(':').ok_or_else(refuse)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_host = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:".contains(c));
        match port.parse() {
            Ok(port) if is_host && port > 0 => Ok(ListenAddress { host: host.to_owned(), port }),
            _ => Err(refuse()),
        }
    }
}

impl TryFrom<String> for ListenAddress {
    type Error = PlanError;

    fn try_from(text: String) -> Result<ListenAddress, PlanError> {
        ListenAddress::parse(&text)
    }
}

impl From<ListenAddress> for String {
    fn from(address: ListenAddress) -> String {
        address.to_string()
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ListenAddress { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
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
            assert_eq!((listen.host.as_str(), listen.to_string().as_str()), (host, text));
        }
        for text in ["", "db1", ":4222", "db1:", "db1:99999", "db1:0", "a b:1", "a\":1", "nats://db1:4222"] {
            assert!(ListenAddress::parse(text).is_err(), "{text}");
        }
    }
}
