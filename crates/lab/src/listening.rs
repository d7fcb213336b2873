//! Private servers that agents on other machines load: each listens where the plan says, with TLS and a login that was made
//! with the fleet.

use crate::error::LabError;
use plimsoll_data::target::OpenTarget;
use plimsoll_fleet::own::{AGENT_USER, LabAccess, OwnPlace};
use plimsoll_host::Home;
use plimsoll_plan::listen::ListenAddress;
use plimsoll_plan::plan::FleetPlan;
use plimsoll_server::Settings;
use plimsoll_wire::text::identifier;
use std::net::ToSocketAddrs;

/// The origin of the settings of such a server.
const ORIGIN: &str = "[fleet] listen";

/// Where the private servers of a lab listen, and how agents log in.
#[derive(Clone, Debug)]
pub struct Listening {
    pub address: ListenAddress,
    access: LabAccess,
}

impl Listening {
    /// What a plan asks for; `None` if its servers need no network.
    ///
    /// # Errors
    /// [`LabError::Refused`] if its fleet was not begun here with keys, so that agents have no login.
    pub fn of(plan: Option<&FleetPlan>, home: &Home) -> Result<Option<Listening>, LabError> {
        let Some(FleetPlan { broker, listen: Some(address), .. }) = plan else { return Ok(None) };
        if is_everywhere(address) {
            let why =
                format!("[fleet] listen: {address} is every address of this machine; name the one that agents reach");
            return Err(LabError::Refused(why));
        }
        let access = OwnPlace::of(home.path()).lab_access(broker)?;
        Ok(Some(Listening { address: address.clone(), access }))
    }

    /// Opens the network to a server, with the certificate of the fleet.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn open(&self, settings: &mut Settings) -> Result<(), LabError> {
        let (host, port) = (self.address.host.as_str(), self.address.port.to_string());
        let paths = [&self.access.authority, &self.access.certificate, &self.access.key];
        let [authority, certificate, key] = paths.map(|path| path.display().to_string());
        for (name, value) in [
            ("skip_networking", "OFF"),
            ("skip_name_resolve", "ON"),
            ("bind_address", host),
            ("port", &port),
            ("ssl_ca", &authority),
            ("ssl_cert", &certificate),
            ("ssl_key", &key),
        ] {
            settings.set(name, value, ORIGIN)?;
        }
        Ok(())
    }

    /// Makes the login on a server that answers. It may change the rows of the load's database, and nothing else: not even the
    /// definition of its tables.
    ///
    /// # Errors
    /// If the server refuses.
    pub fn let_in(&self, target: &mut OpenTarget) -> Result<(), LabError> {
        // Neither has anything in it that would have to be escaped.
        let (user, password) = (format!("'{AGENT_USER}'@'%'"), &self.access.password);
        // In a grant, an underscore stands for any character.
        let database = identifier(&target.database).replace('_', "\\_");
        for statement in [
            format!("DROP USER IF EXISTS {user}"),
            format!("CREATE USER {user} IDENTIFIED BY '{password}' REQUIRE SSL"),
            format!("GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON {database}.* TO {user}"),
        ] {
            target.control.run(&statement).map_err(|failure| LabError::sql("making the login of agents", &failure))?;
        }
        Ok(())
    }
}

/// Whether it means every address of this machine, however that is written: `0` and `0x0` do, too.
fn is_everywhere(address: &ListenAddress) -> bool {
    let resolved = (address.host.as_str(), address.port).to_socket_addrs();
    resolved.is_ok_and(|mut all| all.any(|one| one.ip().to_canonical().is_unspecified()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_known_however_it_is_written() {
        for text in ["0.0.0.0:13306", "0:13306", "0.0:13306", "0x0:13306", "[::]:13306", "[::ffff:0.0.0.0]:13306"] {
            assert!(is_everywhere(&ListenAddress::parse(text).unwrap()), "{text}");
        }
        for text in ["127.0.0.1:13306", "10.0.0.7:13306", "[::1]:13306"] {
            assert!(!is_everywhere(&ListenAddress::parse(text).unwrap()), "{text}");
        }
    }
}
