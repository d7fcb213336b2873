//! A lab on a server that is reached like a production server: over TCP with TLS, by an account with a password.

use crate::harness::Lab;
use plimsoll_engine::control::Control;
use plimsoll_engine::endpoint::Password;
use plimsoll_engine::tls::{Mode, Tls};
use plimsoll_engine::{Address, Endpoint};
use plimsoll_testkit::certificates::Certificates;
use plimsoll_testkit::servers;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

/// An account that the server lets in with TLS only.
pub const USER: &str = "remote";
pub const PASSWORD: &str = "q7-Distant-Anchor";

pub struct Remote {
    address: Ipv4Addr,
    certificates: Certificates,
    /// What stands behind the URL: `ssl-mode=required`, or nothing.
    pub options: String,
}

impl Remote {
    pub fn new(options: &str) -> Remote {
        let certificates = Certificates::for_hosts(&["localhost"]);
        Remote { address: servers::loopback(), certificates, options: options.to_owned() }
    }

    /// The address is the test's own, and so is every port of it.
    pub fn socket_address(&self) -> SocketAddr {
        SocketAddr::from((self.address, 33_060))
    }

    /// The URL for somebody.
    pub fn url(&self, user: &str, options: &str) -> String {
        format!("mysql://{user}@{}/?{options}", self.socket_address())
    }

    /// The authority whose certificate the server has.
    pub fn authority(&self) -> PathBuf {
        self.certificates.path("ca.pem")
    }

    /// What makes a private server listen on TCP, with a certificate: not every server makes one by itself.
    pub fn settings(&self) -> String {
        let own = [("skip_networking", "OFF".to_owned()), ("bind_address", self.address.to_string())];
        let port = [("port", self.socket_address().port().to_string())];
        let all = own.into_iter().chain(port).chain(self.certificates.settings());
        all.map(|(name, value)| format!("--set {name}={value} ")).collect()
    }

    /// Makes the command use the account.
    pub fn aim(&self, command: &mut Command) {
        command.arg(format!("--target={}", self.url(USER, &self.options))).env("MYSQL_PWD", PASSWORD);
    }

    /// Makes the account in the server that is up. MySQL is told the password once, by a way that it may go, so that it
    /// remembers the account.
    #[track_caller]
    pub fn let_in(&self, lab: &Lab) {
        lab.sql(&[
            &format!("CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL"),
            &format!("GRANT ALL ON *.* TO '{USER}'@'%'"),
        ]);
        let address = self.socket_address();
        let address = Address::Tcp { host: address.ip().to_string(), port: address.port() };
        let endpoint = Endpoint {
            resolved: address.resolve().expect("an address"),
            address,
            user: USER.to_owned(),
            password: Password(PASSWORD.to_owned()),
            database: None,
            tls: Arc::new(Tls::new(Mode::Required, None).expect("it needs nothing")),
            local_files: false,
        };
        Control::open(&endpoint).unwrap_or_else(|failure| panic!("{USER} is not let in: {failure}"));
    }
}
