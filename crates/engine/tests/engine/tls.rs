//! TLS with real servers, as each `ssl-mode` has it, and with ones that tamper with it.

use crate::conduct::{at, conduct, impatient, spec};
use crate::real::{Real, log_in, on_each_server, with_tls};
use crate::steps::Steps;
use plimsoll_engine::tls::{Mode, Tls};
use plimsoll_engine::{Address, Endpoint, Failure, Reason, RunSpec};
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind::Select;
use plimsoll_testkit::fake::Fake;
use plimsoll_wire::{capability, server};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An authority, a server's certificate from it, and an authority that has nothing to do with it.
struct Certificates {
    directory: TempDir,
}

impl Certificates {
    /// `names` are the hosts for which the server's certificate holds.
    fn for_hosts(names: &[&str]) -> Certificates {
        let directory = plimsoll_testkit::servers::home();
        let write = |name: &str, text: String| fs::write(directory.path().join(name), text).unwrap();
        let authority = |file: &str| {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.distinguished_name.push(rcgen::DnType::CommonName, file);
            let certificate = params.self_signed(&key).unwrap();
            write(file, certificate.pem());
            (certificate, key)
        };
        authority("stranger.pem");
        let (certificate, authority_key) = authority("ca.pem");
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let params = CertificateParams::new(names).unwrap();
        write("server.pem", params.signed_by(&key, &certificate, &authority_key).unwrap().pem());
        write("server-key.pem", key.serialize_pem());
        Certificates { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }
}

/// The cipher of a session, empty without TLS.
fn cipher(endpoint: &Endpoint) -> Result<String, String> {
    log_in(endpoint).map(|(_, cipher)| cipher).map_err(|failure| failure.to_string())
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
    let [ca, certificate, key] = ["ca.pem", "server.pem", "server-key.pem"].map(|name| certificates.path(name));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let settings = [("ssl_ca", text(&ca)), ("ssl_cert", text(&certificate)), ("ssl_key", text(&key))];
    let settings: Vec<(&str, &str)> = settings.iter().map(|(name, path)| (*name, path.as_str())).collect();
    let stranger = certificates.path("stranger.pem");
    on_each_server(&settings, |server| {
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
    assert_eq!(reason_for(impatient, &silence), Reason::Lost("the server did not answer for 1 s".to_owned()));
    let closing = Fake::tcp(|talk| {
        talk.send_greeting(OFFERS_TLS, "mysql_native_password")?;
        talk.packet().map(drop)
    });
    assert!(matches!(reason(&closing), Reason::Lost(_)));
}
