//! Real servers of a test's own, reachable over a Unix socket and over TCP.

use crate::conduct;
use plimsoll_engine::control::Control;
use plimsoll_engine::endpoint::Password;
use plimsoll_engine::password_key::PasswordKey;
use plimsoll_engine::tls::{Mode, Tls};
use plimsoll_engine::{Endpoint, Failure};
use plimsoll_host::Home;
use plimsoll_model::Flavour;
use plimsoll_server::{Opening, PrivateServer, baseline};
use plimsoll_testkit::servers::{self, SlotGuard};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

pub struct Real {
    server: PrivateServer,
    pub flavour: Flavour,
    pub address: SocketAddr,
    // In this order, which is the order in which they are dropped: the server is gone before its place is.
    _home: TempDir,
    _slot: SlotGuard,
}

/// Calls `test` with a server of each flavour that this machine has, set up with these settings besides the usual.
#[track_caller]
pub fn on_each_server(settings: &[(&str, &str)], test: impl Fn(&Real)) {
    for binary in servers::of_each_flavour() {
        test(&Real::open(&binary, settings));
    }
}

impl Real {
    /// `None` was said with a loud skip.
    #[track_caller]
    pub fn mariadb(settings: &[(&str, &str)]) -> Option<Real> {
        servers::mariadb().map(|binary| Real::open(&binary, settings))
    }

    /// `None` was said with a loud skip.
    #[track_caller]
    pub fn mysql(settings: &[(&str, &str)]) -> Option<Real> {
        servers::mysql().map(|binary| Real::open(&binary, settings))
    }

    /// `None` was said with a loud skip.
    #[track_caller]
    pub fn mariadb_new(settings: &[(&str, &str)]) -> Option<Real> {
        servers::mariadb_new().map(|binary| Real::open(&binary, settings))
    }

    fn open(binary: &Path, settings: &[(&str, &str)]) -> Real {
        let slot = servers::slot();
        let home = servers::home();
        let address = SocketAddr::from((servers::loopback(), 33_060));
        let build = plimsoll_server::find::inspect(binary).expect("a server");
        let mut all = baseline(&build, 0);
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let redo = if build.flavour == Flavour::MariaDb { "innodb_log_file_size" } else { "innodb_redo_log_capacity" };
        let quick = [
            ("skip_networking", "OFF"),
            ("bind_address", host.as_str()),
            ("port", port.as_str()),
            ("performance_schema", "OFF"),
            ("innodb_buffer_pool_size", "128M"),
            (redo, "64M"),
            // What is tested here is not whether data outlive a power cut.
            ("innodb_flush_log_at_trx_commit", "0"),
            ("max_connections", "200"),
            ("max_allowed_packet", "64M"),
        ];
        for (name, value) in quick.iter().chain(settings) {
            all.set(name, value, "test").expect("a setting");
        }
        let base = home.path().to_owned();
        let place = Home::resolve(|name| match name {
            "PLIMSOLL_HOME" => Some(base.join("home").into()),
            // Data directories made once per build are shared with everybody.
            other => std::env::var_os(other).or_else(|| other.eq("HOME").then(|| OsString::from("/root"))),
        });
        let server = PrivateServer::open(&place.expect("a home"), "test", &build, &all, Opening::new("a test"));
        let server = server.unwrap_or_else(|error| panic!("{error}"));
        Real { server, flavour: build.flavour, address, _home: home, _slot: slot }
    }

    pub fn data(&self) -> PathBuf {
        self.server.directory().path().join("data")
    }

    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// As `root`, over the socket.
    pub fn unix(&self) -> Endpoint {
        conduct::unix(self.server.socket())
    }

    /// As `root`, over TCP without TLS.
    pub fn tcp(&self) -> Endpoint {
        conduct::tcp(self.address)
    }

    #[track_caller]
    pub fn control(&self) -> Control {
        Control::open(&self.unix()).unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Runs statements as `root`.
    #[track_caller]
    pub fn run(&self, statements: &[&str]) {
        let mut control = self.control();
        for sql in statements {
            control.run(sql).unwrap_or_else(|failure| panic!("{sql}: {failure}"));
        }
    }
}

/// The same endpoint for somebody else.
pub fn as_user(endpoint: Endpoint, user: &str, password: &str) -> Endpoint {
    Endpoint { user: user.to_owned(), password: Password(password.to_owned()), ..endpoint }
}

/// The same endpoint with this `ssl-mode`.
pub fn with_tls(endpoint: Endpoint, mode: Mode, authority: Option<&Path>) -> Endpoint {
    let tls = Tls::new(mode, authority).unwrap_or_else(|failure| panic!("{failure}"));
    Endpoint { tls: Arc::new(tls), ..endpoint }
}

/// The same endpoint with a key for the password.
pub fn with_key(endpoint: Endpoint, key: PasswordKey) -> Endpoint {
    let Tls { mode, config, .. } = &*endpoint.tls;
    let tls = Tls { mode: *mode, config: config.clone(), key };
    Endpoint { tls: Arc::new(tls), ..endpoint }
}

/// Whom the server takes us for, and the cipher of the connection, empty without TLS.
pub fn log_in(endpoint: &Endpoint) -> Result<(String, String), Failure> {
    let mut control = Control::open(endpoint)?;
    let user = control.rows("SELECT USER()")?.single().expect("one row").to_owned();
    let cipher = control.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'")?;
    let cipher = cipher.pairs().next().map(|(_, cipher)| cipher.to_owned()).expect("one row");
    Ok((user, cipher))
}
