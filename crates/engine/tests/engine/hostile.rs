//! Servers that send what no server should: each gets one clear answer, soon, in bounded memory.

use crate::conduct::{at, conduct, conduct_with, impatient, spec, watched};
use crate::scripts::{answering, flood};
use crate::steps::Steps;
use plimsoll_engine::control::Control;
use plimsoll_engine::endpoint::Resolved;
use plimsoll_engine::{Address, Endpoint, Failure, Reason, RunSpec};
use plimsoll_load::source::{LoadEvent, LoadSource, LocalLoad};
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind::Select;
use plimsoll_testkit::fake::{Fake, FakePlace, Talk};
use plimsoll_wire::server;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn point_select() -> Steps {
    Steps::autocommit(&[(Select, "SELECT c FROM t WHERE id = ?")])
}

/// The reason why a run against this script ends, on a Unix socket and over TCP, which has to be the same.
#[track_caller]
fn reason(script: impl Fn(&mut Talk) -> io::Result<()> + Clone + Send + Sync + 'static) -> Reason {
    reason_for(spec, script)
}

/// The same for a server that falls silent.
#[track_caller]
fn reason_of_silence(script: impl Fn(&mut Talk) -> io::Result<()> + Clone + Send + Sync + 'static) -> Reason {
    reason_for(impatient, script)
}

#[track_caller]
fn reason_for(
    spec: fn(Endpoint) -> RunSpec,
    script: impl Fn(&mut Talk) -> io::Result<()> + Clone + Send + Sync + 'static,
) -> Reason {
    let [unix, tcp] = Fake::both(script).map(|fake| conduct(spec(at(&fake)), point_select()).reason().clone());
    assert_eq!(unix, tcp);
    unix
}

#[test]
fn a_greeting_that_is_none_is_named() {
    let reason = reason(|talk| {
        talk.send_packet(0, b"SSH-2.0-OpenSSH_9.2\r\n")?;
        talk.stall()
    });
    assert_eq!(reason, Reason::Setup("the server's greeting is not understood: protocol version 83".to_owned()));
}

#[test]
fn another_protocol_is_told_by_its_first_bytes() {
    let http: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\r\n";
    let patient = reason(move |talk| {
        talk.send(http)?;
        talk.stall()
    });
    let closing = reason(move |talk| talk.send(http));
    let message = "the server's login is not understood: a packet of 5526600 bytes, where no server sends more than \
                   65536; is this the port of one?";
    assert_eq!((patient, closing), (Reason::Setup(message.to_owned()), Reason::Setup(message.to_owned())));
}

#[test]
fn a_server_that_never_greets_is_given_up() {
    let begun = Instant::now();
    let silent = reason_of_silence(Talk::stall);
    assert_eq!(silent, Reason::Lost("the server did not answer for 2 s".to_owned()));
    assert!(begun.elapsed() < Duration::from_secs(20), "twice 2 s and some turns");
}

#[test]
fn a_server_that_stalls_in_mid_answer_is_given_up() {
    let script = answering(|talk| {
        let mut out = Vec::new();
        server::put_result(&mut out, &[b"\0\0\x05value"], true, 2);
        talk.send(&out[..out.len() / 2])?;
        talk.stall()
    });
    let fake = Fake::unix(script);
    let conducted = conduct(impatient(at(&fake)), point_select());
    assert_eq!(conducted.reason(), &Reason::Lost("the server did not answer for 2 s".to_owned()));
    let counts = conducted.totals.counts;
    assert_eq!((counts.started, counts.finished, counts.unfinished), (1, 0, 1));
}

#[test]
fn a_server_that_hangs_up_in_mid_packet_is_lost() {
    let lost = reason(answering(|talk| talk.send(&[7, 0, 0, 1, 0])));
    let message = "waiting for the server's answer: the server closed the connection";
    assert_eq!(lost, Reason::Lost(message.to_owned()));
}

#[test]
fn packets_out_of_order_are_refused() {
    let refused = reason(answering(|talk| {
        talk.send_packet(3, &[0, 0, 0, 2, 0, 0, 0])?;
        talk.stall()
    }));
    let message = "the server's packets are out of order: expected number 1, found 3";
    assert_eq!(refused, Reason::Lost(message.to_owned()));
}

#[test]
fn no_file_is_sent_that_nobody_wanted_to_load() {
    let refused = reason(answering(|talk| {
        talk.send_packet(1, b"\xfb/etc/passwd")?;
        talk.stall()
    }));
    let message = "the server asked for a local file although no load was under way";
    assert_eq!(refused, Reason::Lost(message.to_owned()));
}

#[test]
fn what_an_error_says_reaches_the_user_clean() {
    let failed = reason(answering(|talk| {
        talk.send_packet(1, b"\xff\x7a\x04#42S02Table '\x1b]0;owned\x07\x1b[31mt\r\n' doesn't exist\0")?;
        talk.stall()
    }));
    let expected = Reason::Statement {
        statement: "SELECT c FROM t WHERE id = ?".to_owned(),
        message: "error 1146 (42S02): Table ']0;owned[31mt ' doesn't exist".to_owned(),
    };
    assert_eq!(failed, expected);
}

#[test]
fn a_statement_that_cannot_be_prepared_is_named() {
    let refused = reason(|talk| {
        talk.greet()?;
        talk.serve(|_, out| {
            server::put_error(out, 1, 1146, "Table 't' doesn't exist");
        })
    });
    let message = "the statement `SELECT c FROM t WHERE id = ?` cannot be prepared: \
                   error 1146 (HY000): Table 't' doesn't exist";
    assert_eq!(refused, Reason::Setup(message.to_owned()));
}

#[test]
fn a_full_server_says_so_itself() {
    let refused = reason(|talk| talk.send_packet(0, b"\xff\x10\x04#08004Too many connections"));
    assert_eq!(refused, Reason::Setup("error 1040 (08004): Too many connections".to_owned()));
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let fake = Fake::unix(Talk::behave);
    let mut nowhere = at(&fake);
    nowhere.address = Address::Unix("/tmp/plimsoll-no-such.sock".into());
    nowhere.resolved = nowhere.address.resolve().unwrap();
    let conducted = conduct(spec(nowhere), point_select());
    let message = "cannot connect to the socket /tmp/plimsoll-no-such.sock: No such file or directory (os error 2)";
    assert_eq!(conducted.reason(), &Reason::Lost(message.to_owned()));
    let closed = crate::conduct::tcp(std::net::SocketAddr::from((plimsoll_testkit::servers::loopback(), 9)));
    match conduct(spec(closed), point_select()).reason() {
        Reason::Lost(message) => {
            assert!(message.starts_with("cannot connect to 127.") && message.contains("refused"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_listens_on_the_last_address_of_its_name_is_found() {
    let fake = Fake::tcp(Talk::behave);
    let FakePlace::Tcp(listening) = fake.place.clone() else { panic!("it listens on TCP") };
    let deaf = SocketAddr::from((plimsoll_testkit::servers::loopback(), 9));
    let endpoint = Endpoint { resolved: Resolved::Tcp(vec![deaf, listening]), ..at(&fake) };
    assert_eq!(conduct(spec(endpoint.clone()), point_select()).totals.counts.finished, 10);
    let nowhere = Endpoint { resolved: Resolved::Tcp(vec![deaf, deaf]), ..endpoint };
    let conducted = conduct(spec(nowhere), point_select());
    assert!(matches!(conducted.reason(), Reason::Lost(why) if why.contains("refused")), "{:?}", conducted.reason());
}

#[test]
fn a_login_that_never_ends_is_ended() {
    let endless = reason(|talk| {
        talk.send_greeting(server::OFFERED, "mysql_native_password")?;
        loop {
            let (sequence, _) = talk.packet()?;
            talk.send_packet(sequence + 1, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0")?;
        }
    });
    let message = "the server's login is not understood: no end after 16 packets";
    assert_eq!(endless, Reason::Setup(message.to_owned()));
}

#[test]
fn a_control_statement_gives_up_an_endless_answer_and_the_connection() {
    let failures = watched(|| {
        let fake = Fake::unix(|talk| {
            talk.greet()?;
            talk.packet()?;
            flood(talk)
        });
        let mut control = Control::open(&at(&fake)).unwrap();
        control.set_answer_limit(Duration::from_millis(300));
        [control.run("SELECT * FROM endless").unwrap_err(), control.run("SELECT 1").unwrap_err()]
    });
    assert_eq!(failures[0].to_string(), "the server did not come to the end of its answer within 0 s");
    assert!(matches!(&failures[1], Failure::Lost(text) if text.contains("given up")), "{failures:?}");
}

#[test]
fn another_limit_holds_for_what_is_asked_within_it_alone() {
    let failure = watched(|| {
        let fake = Fake::unix(|talk| {
            talk.greet()?;
            let mut asked = 0;
            talk.serve(|_, out| {
                asked += 1;
                // Longer than what the connection allows otherwise.
                std::thread::sleep(Duration::from_millis(if asked == 1 { 600 } else { 3000 }));
                server::put_ok(out, 1, 0, 0, 2);
            })
        });
        let mut control = Control::open(&at(&fake)).unwrap();
        control.set_limit(Duration::from_millis(200));
        control.within(Duration::from_secs(20), |control| control.run("ANALYZE TABLE t")).unwrap();
        control.run("SELECT 1").unwrap_err()
    });
    assert!(matches!(failure, Failure::Silent(_)), "{failure:?}");
}

#[test]
fn a_control_connection_that_broke_off_is_not_used_again() {
    watched(|| {
        let fake = Fake::unix(|talk| {
            talk.greet()?;
            talk.serve(|_, out| {
                server::put_ok(out, 9, 0, 0, 2);
                // What a second statement would take for its answer.
                server::put_ok(out, 1, 0, 42, 2);
            })
        });
        let mut control = Control::open(&at(&fake)).unwrap();
        assert!(matches!(control.run("DO 1"), Err(Failure::Wire(_))));
        assert!(matches!(control.run("DO 2"), Err(Failure::Lost(_))));
    });
}

#[test]
fn a_run_can_be_stopped_while_it_connects_and_before_it_starts() {
    let stalling = Fake::unix(Talk::stall);
    let good = Fake::unix(Talk::behave);
    for fake in [stalling, good] {
        watched(move || {
            let run = plimsoll_engine::Run::begin(spec(at(&fake)), Arc::new(point_select()));
            std::thread::sleep(Duration::from_millis(50));
            run.finish();
        });
    }
}

#[test]
fn a_run_can_be_stopped_before_the_start_that_was_agreed_on() {
    watched(|| {
        let fake = Fake::unix(Talk::behave);
        let mut run = plimsoll_engine::Run::begin(spec(at(&fake)), Arc::new(point_select()));
        let until = |wanted: fn(&LoadEvent) -> bool, run: &mut plimsoll_engine::Run| loop {
            if let Some(event) = LoadSource::next(run, Duration::from_millis(20)).filter(wanted) {
                return event;
            }
        };
        until(|event| matches!(event, LoadEvent::Ready(_)), &mut run);
        LocalLoad::start_at(&mut run, Instant::now() + Duration::from_secs(3600));
        LoadSource::stop(&mut run);
        let LoadEvent::Drained(totals) = until(|event| matches!(event, LoadEvent::Drained(_)), &mut run) else {
            panic!()
        };
        assert_eq!(totals.counts.started, 0);
        run.finish();
    });
}

#[test]
fn a_run_can_be_stopped_in_its_middle() {
    let fake = Fake::unix(Talk::behave);
    let spec = RunSpec { limit: Limit::Time(60_000_000_000), connections: 4, loops: 2, ..spec(at(&fake)) };
    let stop = |run: &plimsoll_engine::Run| {
        std::thread::sleep(Duration::from_secs(1));
        run.stop();
    };
    let (conducted, _) = conduct_with(spec, point_select(), stop, || {});
    let tally = conducted.tally();
    let counts = conducted.totals.counts;
    assert!(counts.finished > 0 && counts.started == counts.finished, "{counts:?}");
    assert_eq!(tally.counters.transactions, counts.finished);
}
