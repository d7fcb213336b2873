//! A private server for the length of a test.

use plimsoll_engine::endpoint::Password;
use plimsoll_engine::tls::Tls;
use plimsoll_engine::{Address, Endpoint};
use plimsoll_host::Home;
use plimsoll_server::{Opening, PrivateServer, baseline};
use plimsoll_testkit::servers;
use std::path::Path;
use std::sync::Arc;

/// Calls `test` with the way to log in to a new server of this binary, which is gone afterwards.
#[track_caller]
pub fn with_server(binary: &Path, buffer_pool: &str, test: impl FnOnce(Endpoint)) {
    let (_slot, home) = (servers::slot(), servers::home());
    let build = plimsoll_server::find::inspect(binary).expect("a server");
    let mut settings = baseline(&build, 0);
    for (name, value) in [
        ("performance_schema", "OFF"),
        ("innodb_buffer_pool_size", buffer_pool),
        // What is tested here is not whether data outlive a power cut.
        ("innodb_flush_log_at_trx_commit", "0"),
        ("max_connections", "200"),
        ("local_infile", "ON"),
    ] {
        settings.set(name, value, "test").expect("a setting");
    }
    let place = Home::resolve(|name| match name {
        "PLIMSOLL_HOME" => Some(home.path().join("home").into()),
        // Data directories made once per build are shared with everybody.
        other => std::env::var_os(other),
    });
    let server = PrivateServer::open(&place.expect("a home"), "test", &build, &settings, Opening::new("a test"));
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    let address = Address::Unix(server.socket().to_owned());
    test(Endpoint {
        resolved: address.resolve().expect("a local address"),
        address,
        user: "root".to_owned(),
        password: Password::default(),
        database: None,
        tls: Arc::new(Tls::disabled()),
        local_files: true,
    });
}
