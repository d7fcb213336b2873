//! TLS with real servers, as each `ssl-mode` has it, and with ones that tamper with it.

use crate::conduct::{at, conduct, impatient, spec};
use crate::real::{Real, log_in, on_each_server, with_tls};
use crate::steps::Steps;
use plimsoll_engine::control::Control;
use plimsoll_engine::password_key::PasswordKey;
use plimsoll_engine::tls::{Mode, Tls};
use plimsoll_engine::{Address, Endpoint, Failure, Reason, RunSpec};
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind::Select;
use plimsoll_testkit::certificates::Certificates;
use plimsoll_testkit::fake::Fake;
use plimsoll_wire::{capability, server};
use std::fs;
use std::path::Path;

/// The cipher of a session, empty without TLS.
fn cipher(endpoint: &Endpoint) -> Result<String, String> {
    log_in(endpoint).map(|(_, cipher)| cipher).map_err(|failure| failure.to_string())
}

fn borrowed<'a>(settings: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    settings.iter().map(|(name, path)| (*name, path.as_str())).collect()
}

fn under_name(endpoint: Endpoint, host: &str) -> Endpoint {
    let address = match endpoint.address {
        Address::Tcp { port, .. } => Address::Tcp { host: host.to_owned(), port },
        unix => unix,
    };
    Endpoint { address, ..endpoint }
}

#[test]
fn each_ssl_mode_does_what_it_says() {
    let certificates = Certificates::for_hosts(&["db.example", "localhost"]);
    let [ca, stranger] = ["ca.pem", "stranger.pem"].map(|name| certificates.path(name));
    on_each_server(&borrowed(&certificates.settings()), |server| {
        let [tcp, unix] = [under_name(server.tcp(), "db.example"), server.unix()];
        let with = |endpoint: &Endpoint, mode, authority| cipher(&with_tls(endpoint.clone(), mode, authority));
        let plain = Ok(String::new());
        assert_eq!(with(&tcp, Mode::Disabled, None), plain);
        // A Unix socket is private already, and TLS over it a choice.
        assert_eq!(with(&unix, Mode::Preferred, None), plain);
        let wrong_name = under_name(tcp.clone(), "other.example");
        let encrypted = [
            with(&tcp, Mode::Preferred, None),
            with(&tcp, Mode::Required, None),
            with(&unix, Mode::Required, None),
            with(&tcp, Mode::VerifyCa, Some(&ca)),
            with(&wrong_name, Mode::VerifyCa, Some(&ca)),
            with(&tcp, Mode::VerifyIdentity, Some(&ca)),
            with(&unix, Mode::VerifyIdentity, Some(&ca)),
        ];
        assert!(encrypted.iter().all(|cipher| cipher.as_ref().is_ok_and(|cipher| !cipher.is_empty())), "{encrypted:?}");
        for mode in [Mode::VerifyCa, Mode::VerifyIdentity] {
            let error = with(&tcp, mode, Some(&stranger)).unwrap_err();
            assert_eq!(error, "TLS with the server failed: invalid peer certificate: UnknownIssuer");
        }
        let error = with(&wrong_name, Mode::VerifyIdentity, Some(&ca)).unwrap_err();
        assert!(error.contains("not valid for") && error.contains("other.example"), "{error}");
        assert!(error.contains("db.example"), "{error}");
        // And a whole run.
        let select = Steps::autocommit(&[(Select, "SELECT ?")]);
        let endpoint = with_tls(tcp, Mode::VerifyIdentity, Some(&ca));
        let spec = RunSpec { connections: 8, loops: 2, limit: Limit::Events(400), ..spec(endpoint) };
        assert_eq!(conduct(spec, select).tally().counters.transactions, 400);
    });
}

/// Each server goes by the capabilities that came first, those of the request for TLS.
fn logs_in_to_its_database(server: &Real) {
    server.run(&["CREATE DATABASE there"]);
    for mode in [Mode::Disabled, Mode::Preferred, Mode::Required] {
        for endpoint in [server.unix(), server.tcp()] {
            let endpoint = Endpoint { database: Some("there".to_owned()), ..with_tls(endpoint, mode, None) };
            let mut control = Control::open(&endpoint).unwrap();
            let found = control.rows("SELECT DATABASE()").unwrap();
            assert_eq!(found.single(), Some("there"), "{:?}, {mode:?}, {}", server.flavour, endpoint.address);
        }
    }
}

#[test]
fn the_database_of_the_login_is_that_of_the_session_under_each_ssl_mode() {
    let certificates = Certificates::for_hosts(&["localhost"]);
    on_each_server(&borrowed(&certificates.settings()), logs_in_to_its_database);
}

#[test]
#[ignore = "one more server; make test-all"]
fn the_database_of_the_login_is_that_of_the_session_on_the_next_mariadb() {
    // It makes its certificate by itself.
    let Some(server) = Real::mariadb_new(&[]) else { return };
    logs_in_to_its_database(&server);
}

#[test]
fn a_server_without_a_certificate_is_told_from_one_with() {
    // MariaDB 10.11 has none by itself.
    let Some(server) = Real::mariadb(&[]) else { return };
    let with = |mode| cipher(&with_tls(server.tcp(), mode, None));
    if with(Mode::Preferred).is_ok_and(|cipher| !cipher.is_empty()) {
        return plimsoll_testkit::servers::skip("this MariaDB makes a certificate by itself");
    }
    assert_eq!(with(Mode::Disabled), Ok(String::new()));
    assert_eq!(with(Mode::Preferred), Ok(String::new()));
    let error = with(Mode::Required).unwrap_err();
    assert!(error.contains("the server does not offer it") && error.contains("ssl-mode=preferred"), "{error}");
}

#[test]
fn the_certificates_that_mysql_makes_are_accepted() {
    let Some(server) = Real::mysql(&[]) else { return };
    let own = server.data().join("ca.pem");
    let tcp = server.tcp();
    for endpoint in [
        with_tls(tcp.clone(), Mode::Preferred, None),
        with_tls(tcp.clone(), Mode::Required, None),
        with_tls(tcp.clone(), Mode::VerifyCa, Some(&own)),
    ] {
        let cipher = cipher(&endpoint);
        assert!(cipher.as_ref().is_ok_and(|cipher| !cipher.is_empty()), "{:?}: {cipher:?}", endpoint.tls.mode);
    }
    let error = cipher(&with_tls(tcp, Mode::VerifyIdentity, Some(&own))).unwrap_err();
    assert!(error.starts_with("TLS with the server failed: invalid peer certificate"), "{error}");
}

#[test]
fn an_authority_that_cannot_be_read_is_named() {
    let message = |mode, authority: Option<&Path>| match Tls::new(mode, authority) {
        Err(Failure::Setup(message)) => message,
        other => panic!("{other:?}"),
    };
    assert!(message(Mode::VerifyCa, None).contains("add ssl-ca=FILE.pem"));
    let missing = Path::new("/no/such/ca.pem");
    assert!(message(Mode::VerifyIdentity, Some(missing)).starts_with("ssl-ca /no/such/ca.pem: "));
    let directory = plimsoll_testkit::servers::home();
    let empty = directory.path().join("empty.pem");
    fs::write(&empty, "no certificate\n").unwrap();
    assert!(message(Mode::VerifyCa, Some(&empty)).ends_with("empty.pem: no certificate in it"));
    let broken = directory.path().join("broken.pem");
    fs::write(&broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    assert!(message(Mode::VerifyCa, Some(&broken)).contains("broken.pem: "));
    // What has no end is not read, whichever option names it.
    for endless in [Path::new("/dev/zero"), directory.path()] {
        assert!(message(Mode::VerifyCa, Some(endless)).contains("it is no regular file"), "{}", endless.display());
        let key = PasswordKey::read(endless).unwrap_err().to_string();
        assert!(key.starts_with("server-public-key-path /") && key.contains("it is no regular file"), "{key}");
    }
    let key = PasswordKey::read(&broken).unwrap_err().to_string();
    assert!(key.contains("broken.pem: ") && key.ends_with("begins with -----BEGIN PUBLIC KEY-----"), "{key}");
    fs::File::create(&empty).and_then(|file| file.set_len(2 << 20)).unwrap();
    assert!(PasswordKey::read(&empty).unwrap_err().to_string().contains("more than 1 MiB"));
}

#[test]
fn modes_are_named_as_mysql_names_them() {
    for (text, mode) in
        [("DISABLED", Mode::Disabled), ("verify_ca", Mode::VerifyCa), ("Verify-Identity", Mode::VerifyIdentity)]
    {
        assert_eq!(Mode::parse(text), Some(mode));
    }
    assert_eq!(Mode::parse("on"), None);
}

#[track_caller]
fn reason(fake: &Fake) -> Reason {
    reason_for(spec, fake)
}

#[track_caller]
fn reason_for(spec: fn(Endpoint) -> RunSpec, fake: &Fake) -> Reason {
    let endpoint = with_tls(at(fake), Mode::Preferred, None);
    conduct(spec(endpoint), Steps::autocommit(&[(Select, "SELECT ?")])).reason().clone()
}

const OFFERS_TLS: u64 = server::OFFERED | capability::TLS;

#[test]
fn what_came_before_tls_is_not_taken_for_what_comes_in_it() {
    let fake = Fake::tcp(|talk| {
        let mut out = Vec::new();
        server::put_greeting(&mut out, "9.0.0", OFFERS_TLS, "mysql_native_password", &[7; 20]);
        // Somebody in the middle lets us in ahead of the server.
        server::put_ok(&mut out, 3, 0, 0, 2);
        talk.send(&out)?;
        talk.stall()
    });
    let message = "the server's greeting is not understood: more bytes after it";
    assert_eq!(reason(&fake), Reason::Setup(message.to_owned()));
}

#[test]
fn garbage_and_silence_instead_of_tls_are_told_apart() {
    let garbage = Fake::tcp(|talk| {
        talk.send_greeting(OFFERS_TLS, "mysql_native_password")?;
        talk.packet()?;
        talk.send(b"\0\0\0\x02 this is no TLS, and never was")?;
        talk.stall()
    });
    match reason(&garbage) {
        Reason::Setup(message) => assert!(message.starts_with("TLS with the server failed: "), "{message}"),
        other => panic!("{other:?}"),
    }
    let silence = Fake::tcp(|talk| {
        talk.send_greeting(OFFERS_TLS, "mysql_native_password")?;
        talk.stall()
    });
    assert_eq!(reason_for(impatient, &silence), Reason::Lost("the server did not answer for 2 s".to_owned()));
    let closing = Fake::tcp(|talk| {
        talk.send_greeting(OFFERS_TLS, "mysql_native_password")?;
        talk.packet().map(drop)
    });
    assert!(matches!(reason(&closing), Reason::Lost(_)));
}
