//! Who is told a password: scrambles of it cross any connection, the password itself goes where the user has chosen.

use crate::conduct::{at, tcp};
use crate::real::{Real, as_user, log_in, with_key, with_tls};
use plimsoll_engine::control::Control;
use plimsoll_engine::password_key::PasswordKey;
use plimsoll_engine::tls::Mode;
use plimsoll_engine::{Endpoint, Failure};
use plimsoll_testkit::fake::{Fake, STRANGERS_KEY, Talk};
use plimsoll_wire::auth::PublicKey;
use plimsoll_wire::{WireError, capability, frame, server};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

const PASSWORD: &str = "correct horse battery";

fn strangers() -> PasswordKey {
    PasswordKey::Of(PublicKey::from_pem(STRANGERS_KEY.as_bytes()).unwrap())
}

/// Whether the session has TLS, or why there is none.
fn logged_in(endpoint: &Endpoint) -> Result<bool, Failure> {
    log_in(endpoint).map(|(_, cipher)| !cipher.is_empty())
}

#[track_caller]
fn is_kept(endpoint: &Endpoint) {
    match logged_in(endpoint) {
        Err(Failure::Wire(WireError::PasswordKept)) => {}
        other => panic!("{:?}, {:?}: {other:?}", endpoint.tls.mode, endpoint.tls.key),
    }
}

/// The ways to the server in which it gets a password that it does not remember, each with whether it is TLS.
fn trusted_ways(server: &Real) -> Vec<(Endpoint, bool)> {
    let (tcp, data) = (server.tcp(), server.data());
    let [preferred, required] = [Mode::Preferred, Mode::Required].map(|mode| with_tls(tcp.clone(), mode, None));
    let own = || PasswordKey::read(&data.join("public_key.pem")).expect("MySQL makes a key");
    vec![
        (server.unix(), false),
        (required.clone(), true),
        (with_tls(tcp.clone(), Mode::VerifyCa, Some(&data.join("ca.pem"))), true),
        (with_key(tcp.clone(), PasswordKey::Servers), false),
        (with_key(preferred.clone(), PasswordKey::Servers), true),
        (with_key(tcp, own()), false),
        // Within TLS the key would not be used, and a certificate that nobody checks would be all.
        (with_key(preferred, own()), false),
        (with_key(required, strangers()), true),
    ]
}

#[test]
fn a_password_that_mysql_does_not_remember_goes_only_where_the_user_has_chosen() {
    let Some(server) = Real::mysql(&[]) else { return };
    server.run(&[
        &format!("CREATE USER pat IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'"),
        "CREATE USER nobody IDENTIFIED WITH caching_sha2_password BY ''",
    ]);
    let [plain, preferred] = [Mode::Disabled, Mode::Preferred].map(|mode| with_tls(server.tcp(), mode, None));
    let pat = |endpoint: &Endpoint| as_user(endpoint.clone(), "pat", PASSWORD);
    for (endpoint, tls) in trusted_ways(&server) {
        // What the server remembers is forgotten by it.
        server.run(&["FLUSH PRIVILEGES"]);
        is_kept(&pat(&plain));
        is_kept(&pat(&preferred));
        // Whoever has no password has none to keep.
        assert_eq!(logged_in(&as_user(plain.clone(), "nobody", "")).ok(), Some(false));
        let what = format!("{}, {:?}, {:?}", endpoint.address, endpoint.tls.mode, endpoint.tls.key);
        assert_eq!(logged_in(&pat(&endpoint)).map_err(|failure| failure.to_string()), Ok(tls), "{what}");
        // It remembers, and a scramble is enough.
        assert_eq!(logged_in(&pat(&plain)).ok(), Some(false), "{what}");
        assert_eq!(logged_in(&pat(&preferred)).ok(), Some(true), "{what}");
    }
    // The server cannot read what is under the key of somebody else.
    server.run(&["FLUSH PRIVILEGES"]);
    let failure = logged_in(&pat(&with_key(plain, strangers())));
    assert!(matches!(&failure, Err(Failure::Server(message)) if message.code == 1045), "{failure:?}");
}

/// What a server that is not ours was told, packet by packet.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Vec<u8>>>>);

impl Heard {
    fn hear(&self, talk: &mut Talk) -> io::Result<u8> {
        let (sequence, payload) = talk.packet()?;
        self.0.lock().unwrap().push(payload);
        Ok(sequence.wrapping_add(1))
    }

    /// All of it since the last time, none of which may be the password.
    #[track_caller]
    fn taken(&self) -> Vec<Vec<u8>> {
        let heard = std::mem::take(&mut *self.0.lock().unwrap());
        let clear = |payload: &Vec<u8>| payload.windows(7).any(|part| PASSWORD.as_bytes().starts_with(part));
        assert!(!heard.is_empty() && !heard.iter().any(clear), "{heard:?}");
        heard
    }
}

/// Somebody who answers instead of the server: greets without TLS, sends each of these in turn, and hangs up once it has
/// heard the answer.
fn stranger(heard: &Heard, requests: Vec<Vec<u8>>) -> Fake {
    let heard = heard.clone();
    Fake::tcp(move |talk| {
        talk.send_greeting(server::OFFERED, "mysql_native_password")?;
        for request in &requests {
            let sequence = heard.hear(talk)?;
            talk.send_packet(sequence, request)?;
        }
        heard.hear(talk).map(drop)
    })
}

fn switch_to(plugin: &str) -> Vec<u8> {
    [b"\xfe", plugin.as_bytes(), b"\0abcdefghijklmnopqrst\0"].concat()
}

fn asks_for_all() -> Vec<Vec<u8>> {
    let key = [&[1], STRANGERS_KEY.as_bytes()].concat();
    vec![switch_to("caching_sha2_password"), vec![1, 4], key]
}

#[test]
fn a_stranger_with_a_valid_key_gets_nothing_by_default() {
    let heard = Heard::default();
    let fake = stranger(&heard, asks_for_all());
    for mode in [Mode::Disabled, Mode::Preferred] {
        is_kept(&as_user(with_tls(at(&fake), mode, None), "pat", PASSWORD));
        let lengths: Vec<usize> = heard.taken().iter().map(Vec::len).skip(1).collect();
        assert_eq!(lengths, [32], "{mode:?}: after the login a scramble, and no request for a key");
    }
}

#[test]
fn a_stranger_cannot_use_the_key_that_the_user_has_given() {
    let heard = Heard::default();
    let fake = stranger(&heard, asks_for_all());
    let own = with_key(with_tls(at(&fake), Mode::Preferred, None), strangers());
    assert!(Control::open(&as_user(own, "pat", PASSWORD)).is_err(), "an answer was no key to ask for");
    let lengths: Vec<usize> = heard.taken().iter().map(Vec::len).skip(1).collect();
    assert_eq!(lengths, [32, 256], "the password under the given key; the other side is asked for none");
    // The user has chosen to take any key, and this is one.
    let any = with_key(at(&fake), PasswordKey::Servers);
    assert!(Control::open(&as_user(any, "pat", PASSWORD)).is_err(), "it has what it wanted");
    let lengths: Vec<usize> = heard.taken().iter().map(Vec::len).skip(1).collect();
    assert_eq!(lengths, [32, 1, 256]);
}

#[test]
fn a_switch_to_another_method_under_preferred_gives_no_password_away() {
    for (plugin, words) in [
        ("mysql_clear_password", "would send the password in clear"),
        ("mysql_old_password", "can be broken by anyone who listens"),
        ("dialog", "is not one of"),
    ] {
        let heard = Heard::default();
        let fake = stranger(&heard, vec![switch_to(plugin)]);
        for key in [PasswordKey::None, PasswordKey::Servers, strangers()] {
            let endpoint = with_key(with_tls(at(&fake), Mode::Preferred, None), key);
            match logged_in(&as_user(endpoint, "pat", PASSWORD)) {
                Err(Failure::Wire(WireError::Authentication { plugin: named, reason })) => {
                    assert!(named == plugin && reason.contains(words), "{named}: {reason}");
                }
                other => panic!("{plugin}: {other:?}"),
            }
            assert_eq!(heard.taken().len(), 1, "{plugin}: the login, and no answer");
        }
    }
}

/// One packet of a server's, whole.
fn packet_of(server: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; frame::HEADER];
    server.read_exact(&mut bytes)?;
    let length = frame::size(&bytes).unwrap_or(frame::HEADER);
    bytes.resize(length, 0);
    server.read_exact(&mut bytes[frame::HEADER..])?;
    Ok(bytes)
}

/// Somebody in the middle, who takes TLS out of the server's greeting and hands everything else on.
fn stripping(heard: &Heard, address: SocketAddr) -> Fake {
    let heard = heard.clone();
    Fake::tcp(move |talk| {
        let mut server = TcpStream::connect(address)?;
        let mut greeting = packet_of(&mut server)?;
        // Behind the version, the number of the connection, eight bytes of the scramble and a zero.
        let version =
            greeting[frame::HEADER + 1..].iter().position(|byte| *byte == 0).ok_or(io::ErrorKind::InvalidData)?;
        let flags = frame::HEADER + 1 + version + 1 + 4 + 8 + 1;
        greeting[flags + 1] &= !((capability::TLS >> 8) as u8);
        talk.send(&greeting)?;
        loop {
            let sequence = heard.hear(talk)?.wrapping_sub(1);
            let payload = heard.0.lock().unwrap().last().cloned().unwrap_or_default();
            let mut out = Vec::new();
            let start = frame::begin(&mut out);
            out.extend_from_slice(&payload);
            frame::finish(&mut out, start, sequence);
            server.write_all(&out)?;
            // That it remembers us is said ahead of the answer to the login.
            let mut remembers = true;
            while remembers {
                let answer = packet_of(&mut server)?;
                remembers = answer[frame::HEADER..] == [1, 3];
                talk.send(&answer)?;
            }
        }
    })
}

#[test]
fn tls_that_is_stripped_under_preferred_gives_no_password_away() {
    let Some(server) = Real::mysql(&[]) else { return };
    server.run(&[&format!("CREATE USER pat IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'")]);
    let heard = Heard::default();
    let fake = stripping(&heard, server.address);
    let plimsoll_testkit::fake::FakePlace::Tcp(address) = fake.place else { panic!("it listens on TCP") };
    let through = |mode, authority: Option<&Path>| as_user(with_tls(tcp(address), mode, authority), "pat", PASSWORD);
    is_kept(&through(Mode::Preferred, None));
    heard.taken();
    let authority = server.data().join("ca.pem");
    for (mode, authority) in [(Mode::Required, None), (Mode::VerifyCa, Some(authority.as_path()))] {
        let failure = Control::open(&through(mode, authority)).err().map(|failure| failure.to_string());
        assert!(failure.is_some_and(|text| text.contains("the server does not offer it")), "{mode:?}");
        assert!(heard.0.lock().unwrap().is_empty(), "{mode:?}: nothing was said");
    }
    // Where the server remembers the account, a scramble lets in, through the middle as well.
    assert_eq!(logged_in(&as_user(server.unix(), "pat", PASSWORD)).ok(), Some(false));
    assert!(Control::open(&through(Mode::Preferred, None)).is_ok());
    heard.taken();
}
