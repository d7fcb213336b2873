//! A catalogue of hostile servers: each gets one clear reason, soon, whether it lies, trickles, floods or stalls.
//!
//! What trickles is never silent, so that no limit on silence ends it.

use crate::conduct::{at, conduct, impatient, watched};
use crate::scripts::{answering, column, flood, header, trickle};
use crate::steps::Steps;
use plimsoll_engine::control::Control;
use plimsoll_engine::tls::{Mode, Tls};
use plimsoll_engine::{Endpoint, Failure, Reason, RunSpec};
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind::Select;
use plimsoll_testkit::fake::{Fake, Talk};
use plimsoll_wire::capability::{MORE_RESULTS, TLS};
use plimsoll_wire::{command, server};
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

type Script = Box<dyn Fn(&mut Talk) -> io::Result<()> + Send + Sync>;

/// What a server does, and what the reason for the end of a run against it says.
struct Case {
    name: &'static str,
    script: Script,
    says: &'static str,
}

fn case(
    name: &'static str,
    says: &'static str,
    script: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static,
) -> Case {
    Case { name, script: Box::new(script), says }
}

/// The same for a server that behaves up to the first execution.
fn answer(
    name: &'static str,
    says: &'static str,
    script: impl Fn(&mut Talk) -> io::Result<()> + Clone + Send + Sync + 'static,
) -> Case {
    case(name, says, answering(script))
}

/// The same for a server that behaves up to the first statement to prepare.
fn preparing(
    name: &'static str,
    says: &'static str,
    script: impl Fn(&mut Talk) -> io::Result<()> + Clone + Send + Sync + 'static,
) -> Case {
    case(name, says, move |talk| {
        talk.greet()?;
        talk.packet()?;
        script(talk)
    })
}

const LOGIN_LATE: &str = "did not come to the end of the login and of preparing the statements within 8 s";
const ANSWER_LATE: &str = "did not come to the end of its answer within 8 s";

/// The header of a packet of 16 MiB less one byte.
const LARGEST: [u8; 3] = [0xff; 3];

fn announced(sequence: u8, first: u8) -> Vec<u8> {
    [LARGEST.as_slice(), &[sequence, first]].concat()
}

/// An OK packet that says that another result follows.
fn and_more(sequence: u8) -> Vec<u8> {
    let mut out = Vec::new();
    server::put_ok(&mut out, sequence, 0, u64::MAX, 2 | MORE_RESULTS);
    out
}

fn before_the_statements() -> Vec<Case> {
    let offers_tls = |talk: &mut Talk| {
        talk.send_greeting(server::OFFERED | TLS, "mysql_native_password")?;
        // The request for TLS.
        talk.packet()
    };
    vec![
        case("a greeting of 16 MiB, byte by byte", "login is not understood: a packet of 16777215 bytes", |talk| {
            talk.send(&announced(0, 10))?;
            trickle(talk, |_| vec![b'x'])
        }),
        case("a greeting, byte by byte", LOGIN_LATE, |talk| {
            talk.send(&[0, 60, 0, 0, 10])?;
            trickle(talk, |_| vec![b'x'])
        }),
        case("a greeting with nothing in it", "greeting", |talk| talk.send(&[0, 0, 0, 0])),
        case("a greeting that ends too early", "greeting ends in the middle of a field", |talk| {
            talk.send(b"\x05\0\0\0\x0a9.0\0")
        }),
        case("an error instead of a greeting, cut", "error packet ends in the middle of a field", |talk| {
            talk.send(&[2, 0, 0, 0, 0xff, 1])
        }),
        case("packets of the login, one every now and then", LOGIN_LATE, |talk| {
            talk.send_greeting(server::OFFERED, "mysql_native_password")?;
            talk.packet()?;
            thread::sleep(Duration::from_millis(300));
            talk.send_packet(2, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0")?;
            talk.packet()?;
            talk.send(&[0, 60, 0, 4, 0xfe])?;
            trickle(talk, |_| vec![b'x'])
        }),
        case("a packet of the login of 16 MiB", "login is not understood: a packet of 16777215 bytes", |talk| {
            talk.send_greeting(server::OFFERED, "mysql_native_password")?;
            talk.packet()?;
            talk.send(&announced(2, 1))?;
            talk.stall()
        }),
        case("a login that says yes for ever", "login", |talk| {
            talk.send_greeting(server::OFFERED, "caching_sha2_password")?;
            talk.packet()?;
            for sequence in 2..=255 {
                talk.send_packet(sequence, b"\x01\x03")?;
            }
            talk.stall()
        }),
        case("plain text instead of TLS", "TLS", move |talk| {
            offers_tls(talk)?;
            talk.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")?;
            talk.stall()
        }),
        case("a TLS record, byte by byte", LOGIN_LATE, move |talk| {
            offers_tls(talk)?;
            talk.send(&[22, 3, 3, 0x3f, 0xff, 2, 0, 0x3f, 0])?;
            trickle(talk, |_| vec![0])
        }),
        case("warnings of TLS without end", "TLS", move |talk| {
            offers_tls(talk)?;
            loop {
                talk.send(&[21, 3, 3, 0, 2, 1, 90])?;
            }
        }),
        preparing("definitions without end, one every now and then", LOGIN_LATE, |talk| {
            talk.send_packet(1, &[0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0])?;
            trickle(talk, |n| column(2u8.wrapping_add(n)))
        }),
        preparing("a definition of 16 MiB", "the server sent a column definition of 16777215 bytes", |talk| {
            talk.send_packet(1, &[0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0])?;
            talk.send(&announced(2, 3))?;
            talk.stall()
        }),
        preparing("definitions that do not come", "did not answer", |talk| {
            talk.send_packet(1, &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0])?;
            talk.stall()
        }),
        preparing("rows for an answer to a prepare", "answer to a prepare", |talk| {
            talk.send(&header(1, 1))?;
            talk.stall()
        }),
    ]
}

fn of_statements() -> Vec<Case> {
    vec![
        answer("another result without end", "more than 1000 results in one answer", |talk| {
            let mut sequence = 1u8;
            loop {
                talk.send(&and_more(sequence))?;
                sequence = sequence.wrapping_add(1);
            }
        }),
        answer("another result every now and then", ANSWER_LATE, |talk| {
            trickle(talk, |n| and_more(1u8.wrapping_add(n)))
        }),
        answer("a row every now and then", ANSWER_LATE, |talk| {
            talk.send(&[header(1, 1), column(2)].concat())?;
            trickle(talk, |n| vec![3, 0, 0, 3u8.wrapping_add(n), 0, 0, 0])
        }),
        answer("a row, byte by byte", ANSWER_LATE, |talk| {
            talk.send(&[header(1, 1), column(2), announced(3, 0)].concat())?;
            trickle(talk, |_| vec![b'x'])
        }),
        answer("rows without end", ANSWER_LATE, flood),
        answer("the end of the rows of 16 MiB", "the server sent the end of a result of 16777214 bytes", |talk| {
            talk.send(&[header(1, 1), column(2), vec![0xfe, 0xff, 0xff, 3, 0xfe]].concat())?;
            talk.stall()
        }),
        answer("a header of 16 MiB", "the server sent the head of an answer of 16777215 bytes", |talk| {
            talk.send(&announced(1, 1))?;
            talk.stall()
        }),
        answer("an error of 16 MiB", "the server sent the head of an answer of 16777215 bytes", |talk| {
            talk.send(&announced(1, 0xff))?;
            talk.stall()
        }),
        answer("an error with nothing in it", "error packet ends in the middle of a field", |talk| {
            talk.send(&[1, 0, 0, 1, 0xff])
        }),
        answer("4,096 columns of 16 MiB", "the server sent a column definition of 16777215 bytes", |talk| {
            talk.send(&[5, 0, 0, 1, 0xfc, 0, 16, 0, 0])?;
            talk.send(&announced(2, 3))?;
            talk.stall()
        }),
        answer("more columns than a server has", "result header is not understood: 65535 columns", |talk| {
            talk.send(&[3, 0, 0, 1, 0xfc, 0xff, 0xff])
        }),
        answer("no columns at all", "result header", |talk| talk.send(&[9, 0, 0, 1, 0xfe, 0, 0, 0, 0, 0, 0, 0, 0])),
        answer("packets with nothing in them", "ends in the middle of a field", |talk| {
            talk.send(&[0, 0, 0, 1, 0, 0, 0, 2])
        }),
        answer("an OK packet that is cut", "OK packet ends in the middle of a field", |talk| {
            talk.send(&[2, 0, 0, 1, 0, 0xfe])
        }),
        answer("two answers to one statement", "more bytes after its end", |talk| {
            let mut ok = Vec::new();
            server::put_ok(&mut ok, 1, 0, 1, 2);
            talk.send(&ok.repeat(2))?;
            talk.stall()
        }),
        answer("a wish for a file", "asked for a local file", |talk| talk.send_packet(1, b"\xfb/etc/shadow")),
        answer("a row that is numbered wrong, begun", "out of order", |talk| {
            talk.send(&[header(1, 1), column(2), announced(77, 0)].concat())?;
            trickle(talk, |_| vec![b'x'])
        }),
        answer("half a header, then the end", "closed the connection", |talk| talk.send(&[1, 0])),
    ]
}

/// What the run says that ended by itself, and how a case is at fault otherwise.
fn judged(case: Case, endpoint: impl Fn(&Fake) -> Endpoint) -> Result<(), String> {
    let Case { name, script, says } = case;
    let fake = Fake::unix(script);
    let spec = RunSpec { limit: Limit::EventsPerConnection(3), ..impatient(endpoint(&fake)) };
    match conduct(spec, Steps::autocommit(&[(Select, "SELECT c FROM t WHERE id = ?")])).reasons.as_slice() {
        [reason] if reason.to_string().contains(says) => Ok(()),
        reasons => Err(format!("{name}: {reasons:?}, expected `{says}`")),
    }
}

fn judged_all(cases: Vec<Case>, endpoint: impl Fn(&Fake) -> Endpoint + Copy + Send + 'static) {
    let threads = cases.into_iter().map(|case| {
        let name = case.name;
        (name, thread::spawn(move || judged(case, endpoint)))
    });
    let threads: Vec<_> = threads.collect();
    let ends = threads.into_iter().map(|(name, thread)| {
        thread.join().unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map_or("panicked", String::as_str);
            Err(format!("{name}: {}", text.chars().take(60).collect::<String>()))
        })
    });
    let faults: Vec<String> = ends.filter_map(Result::err).collect();
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn a_server_that_is_hostile_before_the_first_statement_gets_one_clear_reason() {
    let required = |fake: &Fake| Endpoint { tls: Arc::new(Tls::new(Mode::Required, None).unwrap()), ..at(fake) };
    let (tls, plain): (Vec<Case>, Vec<Case>) =
        before_the_statements().into_iter().partition(|case| case.name.contains("TLS"));
    let with_tls = thread::spawn(move || judged_all(tls, required));
    judged_all(plain, at);
    if let Err(panic) = with_tls.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn a_server_that_is_hostile_in_an_answer_gets_one_clear_reason() {
    judged_all(of_statements(), at);
}

/// What a control statement ends with, which may take a day, though its answer may not.
fn asked(within: Duration, answer: impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static) -> Failure {
    watched(move || {
        let fake = Fake::unix(move |talk| {
            talk.greet()?;
            talk.packet()?;
            answer(talk)
        });
        let mut control = Control::open(&at(&fake)).unwrap();
        control.set_limit(Duration::from_secs(24 * 3600));
        control.set_answer_limit(within);
        control.rows("SELECT 1").unwrap_err()
    })
}

#[test]
fn an_answer_to_a_control_statement_ends_however_long_the_statement_may_take() {
    let answers: [fn(&mut Talk) -> io::Result<()>; 4] = [
        |talk| trickle(talk, |n| and_more(1u8.wrapping_add(n))),
        |talk| {
            talk.send(&[header(1, 1), column(2)].concat())?;
            trickle(talk, |n| vec![1, 0, 0, 3u8.wrapping_add(n), 0xfb])
        },
        |talk| {
            talk.send(&header(1, 200))?;
            trickle(talk, |n| column(2u8.wrapping_add(n)))
        },
        |talk| {
            talk.send(&[header(1, 1), column(2)].concat())?;
            talk.stall()
        },
    ];
    for answer in answers {
        let failure = asked(Duration::from_millis(400), answer);
        assert!(failure.to_string().contains("did not come to the end of its answer within 0 s"), "{failure}");
    }
    let failure = asked(Duration::from_secs(60), |talk| {
        for sequence in (1..=255u8).cycle() {
            talk.send(&and_more(sequence))?;
        }
        Ok(())
    });
    assert!(matches!(failure, Failure::Wire(_)), "numbers begin with 0 again: {failure}");
}

#[test]
fn a_login_of_a_control_connection_has_an_end() {
    let failure = watched(|| {
        let fake = Fake::unix(|talk| {
            talk.send(&[0, 60, 0, 0, 10])?;
            trickle(talk, |_| vec![b'x'])
        });
        Control::open_within(&at(&fake), Duration::from_millis(400)).err().expect("no login")
    });
    assert!(failure.to_string().contains("did not come to the end of the login within 0 s"), "{failure}");
}

#[test]
fn a_server_that_falls_silent_is_told_from_one_that_trickles() {
    let silent = watched(|| {
        let fake = Fake::unix(|talk| {
            talk.greet()?;
            talk.serve(|payload, _| assert_eq!(payload[0], command::QUERY))
        });
        let mut control = Control::open(&at(&fake)).unwrap();
        control.set_limit(Duration::from_millis(400));
        control.run("DO 1").unwrap_err()
    });
    assert!(matches!(silent, Failure::Silent(_)), "{silent}");
    assert_eq!(Reason::Lost(silent.to_string()), Reason::Lost("the server did not answer for 0 s".to_owned()));
}
