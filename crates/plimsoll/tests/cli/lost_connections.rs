//! A server that hangs up while it is asked about its tables has said nothing about them.

use crate::harness::{Done, run};
use plimsoll_testkit::fake::{Answers, Fake, FakePlace, Talk};
use plimsoll_testkit::servers;
use std::io;

/// What a server does instead of answering.
type End = fn(&mut Talk) -> io::Result<()>;

/// Behaves, but for queries of the catalogue of tables, which get this.
fn at_the_tables(end: End) -> impl Fn(&mut Talk) -> io::Result<()> + Send + Sync + 'static {
    move |talk| {
        talk.greet()?;
        let mut answers = Answers::new(talk.capabilities());
        loop {
            let (_, payload) = talk.packet()?;
            let said = String::from_utf8_lossy(&payload);
            if said.contains("information_schema.columns") {
                return end(talk);
            }
            if said.contains("plimsoll_dataset") {
                talk.send_packet(1, b"\xff\x7a\x04#42S02There is no such table")?;
                continue;
            }
            let mut out = Vec::new();
            answers.put(&payload, &mut out);
            talk.send(&out)?;
        }
    }
}

fn against(fake: &Fake, command: &str) -> Done {
    let FakePlace::Unix(socket) = &fake.place else { panic!("a Unix socket") };
    let home = servers::home();
    let mut plimsoll = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
    plimsoll.args(command.split_whitespace()).arg("--target");
    plimsoll.arg(format!("mysql://root@localhost/sbtest?socket={}", socket.display()));
    run(plimsoll)
}

#[test]
fn a_connection_lost_during_the_check_of_tables_says_nothing_of_the_tables() {
    let lost = "reading the tables: waiting for the server's answer: the server closed the connection";
    let shutdown = "reading the tables: error 1053 (HY000): Server shutdown in progress";
    let ends: [(End, &str); 2] =
        [(|_| Ok(()), lost), (|talk| talk.send_packet(1, b"\xff\x1d\x04#HY000Server shutdown in progress"), shutdown)];
    for (end, message) in ends {
        let fake = Fake::unix(at_the_tables(end));
        for command in ["run oltp_read_write --time 1s", "check oltp_read_write"] {
            let done = against(&fake, command).refuses(3, &[message]);
            assert!(!done.err.contains("makes them") && !done.out.contains("BROKEN"), "{command}: {done}");
        }
    }
}
