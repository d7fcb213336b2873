//! Who is let in, by which method, on real servers.

use crate::real::{Real, as_user, log_in, on_each_server, with_key, with_tls};
use plimsoll_engine::control::Control;
use plimsoll_engine::password_key::PasswordKey;
use plimsoll_engine::tls::Mode;
use plimsoll_engine::{Endpoint, Failure};
use plimsoll_testkit::servers;

const PASSWORD: &str = "Tr0ub4dor & a ☃";
const WRONG: &str = "hunter2 & secret";

#[track_caller]
fn let_in(endpoint: &Endpoint) {
    match log_in(endpoint) {
        Ok((user, _)) => assert!(user.starts_with(&format!("{}@", endpoint.user)), "{user}"),
        Err(failure) => panic!("{} at {}: {failure}", endpoint.user, endpoint.address),
    }
}

/// The server's own words, without the password that was tried.
#[track_caller]
fn refused(endpoint: &Endpoint) {
    match Control::open(endpoint).err() {
        Some(Failure::Server(message)) => {
            assert_eq!(message.code, 1045, "{message}");
            assert_eq!(&message.state, b"28000");
            let text = message.to_string();
            assert!(text.contains("Access denied for user") && text.contains(&endpoint.user), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert!(!format!("{endpoint:?}").contains("hunter2"));
}

/// The right password lets in, a wrong one and none do not.
#[track_caller]
fn checks_password(endpoint: Endpoint, user: &str) {
    let_in(&as_user(endpoint.clone(), user, PASSWORD));
    refused(&as_user(endpoint.clone(), user, WRONG));
    refused(&as_user(endpoint, user, ""));
}

fn create(user: &str, how: &str) -> String {
    format!("CREATE OR REPLACE USER '{user}'@'%' IDENTIFIED {how}").replace("{password}", PASSWORD)
}

#[test]
fn mariadb_knows_its_users() {
    let Some(server) = Real::mariadb(&[]) else { return };
    server.run(&[
        &create("native", "VIA mysql_native_password USING PASSWORD('{password}')"),
        "CREATE USER nobody IDENTIFIED BY ''",
    ]);
    checks_password(server.unix(), "native");
    checks_password(server.tcp(), "native");
    let_in(&as_user(server.tcp(), "nobody", ""));
    refused(&as_user(server.tcp(), "nobody", WRONG));
    refused(&as_user(server.tcp(), "unknown", WRONG));
}

#[test]
fn the_socket_itself_says_who_we_are() {
    let Some(server) = Real::mariadb(&[]) else { return };
    let Some(me) = current_user() else { return servers::skip("this process has no user name") };
    server.run(&[
        &format!("CREATE OR REPLACE USER '{me}'@localhost IDENTIFIED VIA unix_socket"),
        "CREATE USER somebody_else@localhost IDENTIFIED VIA unix_socket",
    ]);
    let_in(&as_user(server.unix(), &me, ""));
    let other = Control::open(&as_user(server.unix(), "somebody_else", "")).err();
    assert!(matches!(&other, Some(Failure::Server(message)) if [1045, 1698].contains(&message.code)), "{other:?}");
}

#[test]
fn ed25519_signs_its_way_in() {
    let Some(plugins) = servers::mariadb_plugins() else { return };
    let plugins = plugins.to_str().expect("a path of letters");
    let Some(server) = Real::mariadb(&[("plugin_dir", plugins)]) else { return };
    server.run(&[
        "INSTALL SONAME 'auth_ed25519'",
        &create("signer", "VIA ed25519 USING PASSWORD('{password}')"),
        // Asked for the one method, then for the other.
        &create(
            "either",
            "VIA ed25519 USING PASSWORD('another') OR mysql_native_password USING PASSWORD('{password}')",
        ),
    ]);
    checks_password(server.unix(), "signer");
    checks_password(server.tcp(), "signer");
    let_in(&as_user(server.tcp(), "either", PASSWORD));
}

#[test]
fn caching_sha2_takes_each_of_its_ways() {
    let Some(server) = Real::mysql(&[]) else { return };
    server.run(&[
        &format!("CREATE USER sha2 IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'"),
        "CREATE USER nobody IDENTIFIED WITH caching_sha2_password BY ''",
    ]);
    let tls = with_tls(server.tcp(), Mode::Required, None);
    // What the server remembers of an account is forgotten by FLUSH PRIVILEGES; the first login after it takes the
    // long way: under the server's key over TCP, in clear where nobody can listen.
    for endpoint in [with_key(server.tcp(), PasswordKey::Servers), tls, server.unix()] {
        server.run(&["FLUSH PRIVILEGES"]);
        refused(&as_user(endpoint.clone(), "sha2", WRONG));
        let_in(&as_user(endpoint.clone(), "sha2", PASSWORD));
        checks_password(endpoint.clone(), "sha2");
        let_in(&as_user(endpoint.clone(), "nobody", ""));
        refused(&as_user(endpoint, "nobody", WRONG));
    }
}

#[test]
fn auth_socket_says_who_we_are() {
    let Some(server) = Real::mysql(&[]) else { return };
    let Some(me) = current_user() else { return servers::skip("this process has no user name") };
    if let Err(failure) = server.control().run("INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'") {
        return servers::skip(&format!("this MySQL has no auth_socket: {failure}"));
    }
    // `root` without a password is needed to get in; another account has another name.
    server.run(&[
        &format!("CREATE USER mapped@localhost IDENTIFIED WITH auth_socket AS '{me}'"),
        "CREATE USER somebody_else@localhost IDENTIFIED WITH auth_socket",
    ]);
    let_in(&as_user(server.unix(), "mapped", ""));
    let other = Control::open(&as_user(server.unix(), "somebody_else", "")).err();
    assert!(matches!(&other, Some(Failure::Server(message)) if [1045, 1698].contains(&message.code)), "{other:?}");
}

#[test]
fn other_refusals_are_the_servers_own_words() {
    on_each_server(&[("max_connections", "10")], |server| {
        let lost = Endpoint { database: Some("no_such".to_owned()), ..server.unix() };
        let failure = Control::open(&lost).err();
        assert!(matches!(&failure, Some(Failure::Server(message)) if message.code == 1049), "{failure:?}");
        server.run(&["CREATE DATABASE there"]);
        let mut there = Control::open(&Endpoint { database: Some("there".to_owned()), ..server.unix() }).unwrap();
        assert_eq!(there.rows("SELECT DATABASE()").unwrap().single(), Some("there"));
        assert_eq!((there.flavour(), there.peer_pid()), (server.flavour, Some(server.pid())));
        let mut open = vec![there];
        let failure = loop {
            match Control::open(&server.unix()) {
                Ok(control) => open.push(control),
                Err(failure) => break failure,
            }
            assert!(open.len() < 20);
        };
        assert!(matches!(&failure, Failure::Server(message) if message.code == 1040), "{failure:?}");
    });
}

#[test]
fn a_connection_that_the_server_ended_says_so() {
    on_each_server(&[], |server| {
        let mut victim = server.control();
        let id = victim.rows("SELECT CONNECTION_ID()").unwrap().single().unwrap().to_owned();
        server.run(&[&format!("KILL {id}")]);
        // Servers differ in whether they say why before they hang up.
        match victim.run("DO 1") {
            Err(Failure::Lost(_)) => {}
            Err(Failure::Server(message)) => assert!([1053, 1317, 1927, 3169].contains(&message.code), "{message}"),
            other => panic!("{other:?}"),
        }
    });
}

fn current_user() -> Option<String> {
    let output = std::process::Command::new("id").arg("-un").output().ok()?;
    let name = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}
