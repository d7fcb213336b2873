//! What fake servers do that answer, but not as they should.

use plimsoll_testkit::fake::{Answers, Talk};
use plimsoll_wire::bytes::put_counted;
use plimsoll_wire::{command, frame, server};
use std::io;
use std::thread;
use std::time::Duration;

/// Greets, lets the statement be prepared, then answers the first execution with this.
pub fn answering(answer: impl Fn(&mut Talk) -> io::Result<()> + Clone) -> impl Fn(&mut Talk) -> io::Result<()> + Clone {
    move |talk| {
        talk.greet()?;
        let mut answers = Answers::new(talk.capabilities());
        loop {
            let (_, payload) = talk.packet()?;
            if payload[0] == command::STMT_EXECUTE {
                return answer(talk);
            }
            let mut out = Vec::new();
            answers.put(&payload, &mut out);
            talk.send(&out)?;
        }
    }
}

/// Sends rows without end, 100 MB in a second at most: more would only keep the machine busy.
pub fn flood(talk: &mut Talk) -> io::Result<()> {
    let mut out = Vec::new();
    server::put_result(&mut out, &[], true, 2);
    // Header and column, without the end.
    let mut sequence = 3u8;
    out.truncate(out.len() - 11);
    talk.send(&out)?;
    loop {
        out.clear();
        for _ in 0..1000 {
            let mut row = Vec::new();
            put_counted(&mut row, &[b'x'; 200]);
            let start = frame::begin(&mut out);
            out.extend(row);
            sequence = frame::finish(&mut out, start, sequence);
        }
        talk.send(&out)?;
        thread::sleep(Duration::from_millis(2));
    }
}

/// The header of a result.
pub fn header(sequence: u8, columns: u8) -> Vec<u8> {
    vec![1, 0, 0, sequence, columns]
}

/// A column definition.
pub fn column(sequence: u8) -> Vec<u8> {
    let mut out = Vec::new();
    server::put_column(&mut out, sequence, "c");
    out
}

/// Sends a piece every now and then, of which it is told the number, for as long as somebody listens.
pub fn trickle(talk: &mut Talk, piece: impl Fn(u8) -> Vec<u8>) -> io::Result<()> {
    let mut number = 0u8;
    loop {
        talk.send(&piece(number))?;
        number = number.wrapping_add(1);
        thread::sleep(Duration::from_millis(20));
    }
}
