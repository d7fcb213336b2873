//! Greetings of servers that the other tests do not run, byte by byte according to their documented layouts, and
//! anything that may come instead.

use plimsoll_model::Flavour;
use plimsoll_wire::auth::{AuthStep, Authentication, Trust};
use plimsoll_wire::capability::{self as cap, DEPRECATE_EOF, LONG_PASSWORD, MARIADB_CACHE_METADATA, PLUGIN_AUTH, TLS};
use plimsoll_wire::frame::{self, HEADER};
use plimsoll_wire::handshake::{Greeting, HandshakeOptions, negotiate, parse_greeting, put_login, put_tls_request};
use plimsoll_wire::server::{parse_login, put_greeting};
use proptest::prelude::*;

const FIRST: &[u8; 8] = b"\x3a\x23\x3d\x4b\x43\x4a\x2e\x43";
const SECOND: &[u8; 12] = b"\x29\x4c\x69\x5b\x6d\x33\x2c\x7f\x21\x50\x44\x62";

/// The payload of a greeting: what differs between servers, in the order in which it is sent.
fn greeting(version: &str, low: [u8; 2], charset: u8, high: [u8; 2], extended: [u8; 4], plugin: &str) -> Vec<u8> {
    let mut payload = vec![10];
    payload.extend(version.bytes().chain([0]));
    payload.extend([0x2a, 0x01, 0, 0]); // connection 298
    payload.extend(FIRST);
    payload.push(0);
    payload.extend(low);
    payload.extend([charset, 0x02, 0x00]);
    payload.extend(high);
    payload.push(21);
    payload.extend([0; 6]);
    payload.extend(extended);
    payload.extend(SECOND);
    payload.push(0);
    payload.extend(plugin.bytes().chain([0]));
    payload
}

fn parsed(payload: &[u8]) -> Greeting {
    parse_greeting(payload).expect("a greeting").expect("no error")
}

struct Expected {
    version: &'static str,
    flavour: Flavour,
    plugin: &'static str,
    tls: bool,
    deprecates_eof: bool,
    caches_metadata: bool,
}

fn check(payload: &[u8], expected: &Expected) {
    let greeting = parsed(payload);
    assert_eq!(greeting.version, expected.version);
    assert_eq!(greeting.flavour(), expected.flavour);
    assert_eq!(greeting.plugin, expected.plugin);
    assert_eq!(greeting.connection_id, 298);
    assert_eq!(greeting.scramble, [&FIRST[..], &SECOND[..]].concat());
    assert_eq!(greeting.capabilities & TLS != 0, expected.tls);
    let agreed =
        negotiate(&greeting, &HandshakeOptions { tls: expected.tls, ..HandshakeOptions::default() }).capabilities();
    assert_eq!(agreed & DEPRECATE_EOF != 0, expected.deprecates_eof);
    assert_eq!(agreed & MARIADB_CACHE_METADATA != 0, expected.caches_metadata);
    // MariaDB looks at the extended flags only where the first of all is clear.
    assert_eq!(agreed & LONG_PASSWORD == 0, expected.caches_metadata);
    assert!(agreed & PLUGIN_AUTH != 0 && agreed & cap::LOCAL_FILES == 0);
    assert_eq!(agreed & !(cap::WANTED | TLS), 0, "nothing is agreed to that was not wanted");
}

#[test]
fn servers_that_are_not_run_here_are_understood() {
    let mysql = |version, plugin, tls| Expected {
        version,
        flavour: Flavour::MySql,
        plugin,
        tls,
        deprecates_eof: true,
        caches_metadata: false,
    };
    let native = "mysql_native_password";
    let sha2 = "caching_sha2_password";
    check(&greeting("5.7.44", [0xff, 0xf7], 8, [0xff, 0x81], [0; 4], native), &mysql("5.7.44", native, false));
    check(&greeting("5.7.44-log", [0xff, 0xff], 8, [0xff, 0xc1], [0; 4], native), &mysql("5.7.44-log", native, true));
    check(&greeting("8.0.36", [0xff, 0xff], 255, [0xff, 0xdf], [0; 4], sha2), &mysql("8.0.36", sha2, true));
    check(&greeting("8.0.36-28", [0xff, 0xff], 255, [0xff, 0xdf], [0; 4], sha2), &mysql("8.0.36-28", sha2, true));
    let mariadb = |version, tls, caches_metadata| Expected {
        version,
        flavour: Flavour::MariaDb,
        plugin: native,
        tls,
        deprecates_eof: true,
        caches_metadata,
    };
    check(
        &greeting("5.5.5-10.3.39-MariaDB-0+deb10u1", [0xfe, 0xf7], 45, [0xff, 0x81], [7, 0, 0, 0], native),
        &mariadb("10.3.39-MariaDB-0+deb10u1", false, false),
    );
    check(
        &greeting("5.5.5-10.6.16-MariaDB-log", [0xfe, 0xff], 45, [0xff, 0x81], [0x1f, 0, 0, 0], native),
        &mariadb("10.6.16-MariaDB-log", true, true),
    );
}

#[test]
fn a_server_without_plugins_has_the_native_method() {
    // MySQL 5.1: 13 bytes of scramble with their zero, and no more.
    let mut payload = b"\x0a5.1.73\0".to_vec();
    payload.extend([0x2a, 0x01, 0, 0]);
    payload.extend(FIRST);
    payload.extend([0, 0xff, 0xf7, 8, 2, 0]);
    payload.extend([0; 13]);
    payload.extend(SECOND);
    payload.push(0);
    let greeting = parsed(&payload);
    assert_eq!((greeting.version.as_str(), greeting.plugin.as_str()), ("5.1.73", "mysql_native_password"));
    assert_eq!(greeting.scramble.len(), 20);
    let agreed = negotiate(&greeting, &HandshakeOptions { local_files: true, ..HandshakeOptions::default() });
    assert_eq!(agreed.capabilities() & (DEPRECATE_EOF | PLUGIN_AUTH), 0);
}

#[test]
fn a_server_that_is_full_or_too_old_is_told_apart() {
    let refused = parse_greeting(b"\xff\x10\x04Too many\x1b connections").unwrap().unwrap_err();
    assert_eq!((refused.code, refused.text.as_str()), (1040, "Too many connections"));
    assert_eq!(refused.to_string(), "error 1040 (HY000): Too many connections");
    let error = parse_greeting(b"\x093.23.58\0").unwrap_err().to_string();
    assert_eq!(error, "the server's greeting is not understood: protocol version 9");
    let error = parse_greeting(&greeting("4.0.1", [0, 0], 8, [0, 0], [0; 4], "")).unwrap_err().to_string();
    assert_eq!(error, "the server's greeting is not understood: a server older than 4.1");
    assert!(parse_greeting(b"HTTP/1.1 400 Bad Request\r\n").is_err());
}

#[test]
fn what_we_answer_has_the_documented_layout() {
    let payload =
        greeting("5.5.5-10.6.16-MariaDB-log", [0xfe, 0xff], 45, [0xff, 0x81], [0x1f, 0, 0, 0], "mysql_native_password");
    let greeting = parsed(&payload);
    let agreed = negotiate(&greeting, &HandshakeOptions { tls: true, local_files: false, database: Some("db") });
    let capabilities = cap::WANTED & !LONG_PASSWORD | TLS | cap::CONNECT_WITH_DB;
    let mut out = Vec::new();
    assert_eq!(put_tls_request(&mut out, &agreed, 1), 2);
    assert_eq!(out[..4], [32, 0, 0, 1]);
    assert_eq!(out[4..8], (capabilities as u32).to_le_bytes());
    assert_eq!(out[8..13], [0, 0, 0, 0x40, 45], "1 GiB, utf8mb4");
    assert_eq!(out[13..32], [0; 19]);
    assert_eq!(out[32..36], [0x10, 0, 0, 0]);

    let mut out = Vec::new();
    assert_eq!(put_login(&mut out, &agreed, 2, "us", "client_ed25519", &[7; 3]), 3);
    assert_eq!(out[3], 2);
    assert_eq!(&out[36..], b"us\0\x03\x07\x07\x07db\0client_ed25519\0");
    let (said, user) = parse_login(&out[HEADER..]).unwrap();
    assert_eq!((said, user.as_str()), (capabilities, "us"));
}

/// Servers go by the first packet that has capabilities, which is the request for TLS.
#[test]
fn the_request_for_tls_and_the_login_say_the_same() {
    let answers = [
        greeting("8.0.36", [0xff, 0xff], 255, [0xff, 0xdf], [0; 4], "caching_sha2_password"),
        greeting("5.5.5-10.3.39-MariaDB", [0xfe, 0xff], 45, [0xff, 0x81], [7, 0, 0, 0], "mysql_native_password"),
        greeting("5.5.5-10.6.16-MariaDB", [0xfe, 0xff], 45, [0xff, 0x81], [0x1f, 0, 0, 0], "mysql_native_password"),
        // One that offers nothing but what is needed, not even a database.
        greeting("5.1.73", [0x00, 0x8a], 8, [0x00, 0x00], [0; 4], ""),
    ];
    for payload in &answers {
        let greeting = parsed(payload);
        for (tls, local_files, database) in
            (0..8).map(|bits| (bits & 1 > 0, bits & 2 > 0, (bits & 4 > 0).then_some("db")))
        {
            let asked = HandshakeOptions { tls, local_files, database };
            let agreed = negotiate(&greeting, &asked);
            let (mut request, mut login) = (Vec::new(), Vec::new());
            put_tls_request(&mut request, &agreed, 1);
            put_login(&mut login, &agreed, 2, "us", "mysql_native_password", &[7; 20]);
            assert_eq!(request.len(), HEADER + 32);
            assert_eq!(request[HEADER..], login[HEADER..HEADER + 32], "{}: {asked:?}", greeting.version);
            let (said, _) = parse_login(&login[HEADER..]).unwrap();
            assert_eq!(said, agreed.capabilities(), "{}: {asked:?}", greeting.version);
            assert_eq!(said & cap::CONNECT_WITH_DB != 0, database.is_some(), "{}: {asked:?}", greeting.version);
            assert_eq!(login.windows(4).any(|part| part == b"\0db\0" || part == b"\x07db\0"), database.is_some());
        }
    }
}

fn payloads() -> impl Strategy<Value = Vec<u8>> {
    let near = (0usize..110, any::<u8>(), 0usize..110).prop_map(|(at, byte, length)| {
        let mut payload = greeting("8.0.36", [0xff, 0xff], 255, [0xff, 0xdf], [0; 4], "caching_sha2_password");
        let place = at % payload.len();
        payload[place] = byte;
        payload.truncate(length.max(1));
        payload
    });
    prop_oneof![near, prop::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn greetings_come_back_as_they_were_written(
        version in "[ -~]{1,40}",
        capabilities in any::<u64>(),
        scramble in prop::array::uniform20(1u8..),
    ) {
        let capabilities = capabilities | cap::PROTOCOL_41 | cap::SECURE_CONNECTION | PLUGIN_AUTH;
        let mut out = Vec::new();
        put_greeting(&mut out, &version, capabilities, "client_ed25519", &scramble);
        let (sequence, payload) = frame::split(&out).unwrap();
        prop_assert_eq!((sequence, HEADER + payload.len()), (0, out.len()));
        let greeting = parsed(payload);
        prop_assert_eq!(greeting.version, version.strip_prefix("5.5.5-").unwrap_or(&version));
        prop_assert_eq!(greeting.plugin, "client_ed25519");
        prop_assert_eq!(greeting.scramble, scramble);
        let extended = if capabilities & LONG_PASSWORD == 0 { u64::MAX } else { u64::from(u32::MAX) };
        prop_assert_eq!(greeting.capabilities, capabilities & extended);
    }

    #[test]
    fn no_greeting_breaks_the_client(payload in payloads()) {
        if let Ok(Ok(greeting)) = parse_greeting(&payload) {
            prop_assert!(greeting.version.len() + greeting.scramble.len() <= 4 * payload.len());
            let mut authentication = Authentication::new(b"secret", Trust::Anybody, &greeting.plugin, &greeting.scramble);
            prop_assert!(authentication.first_proof().is_ok());
        }
    }

    #[test]
    fn no_login_answer_breaks_the_client(
        plugin in prop::sample::select(vec!["mysql_native_password", "caching_sha2_password", "client_ed25519", "?"]),
        packets in prop::collection::vec(
            (prop::sample::select(vec![0u8, 1, 1, 2, 0xfe, 0xff]), prop::collection::vec(any::<u8>(), 0..40)),
            0..8,
        ),
        trust in prop::sample::select(vec![Trust::Private, Trust::AnyKey, Trust::Anybody]),
    ) {
        let mut authentication = Authentication::new(b"hunter2", trust, plugin, &[9; 20]);
        authentication.first_proof().unwrap();
        for (first, rest) in packets {
            let Ok(step) = authentication.step(&[&[first], rest.as_slice()].concat()) else { break };
            match step {
                // In clear only where nobody listens, and only when asked for by the method that may.
                AuthStep::Send(answer) => {
                    let clear = answer.windows(7).any(|part| part == b"hunter2");
                    prop_assert!(!clear || matches!(trust, Trust::Private) && plugin == "caching_sha2_password");
                }
                AuthStep::Wait => {}
                AuthStep::Accepted | AuthStep::Refused(_) => break,
            }
        }
    }
}
