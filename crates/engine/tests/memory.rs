//! However much a server announces or sends, the client's memory has bounds. Alone in its process, whose peak it is
//! that is looked at.

#[allow(dead_code)]
#[path = "engine/conduct.rs"]
mod conduct;
#[allow(dead_code)]
#[path = "engine/scripts.rs"]
mod scripts;
#[allow(dead_code)]
#[path = "engine/steps.rs"]
mod steps;

use conduct::{Conducted, at, conduct, impatient, spec};
use plimsoll_engine::{Endpoint, Reason, RunSpec};
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind::Select;
use plimsoll_testkit::fake::{Fake, Talk};
use scripts::{answering, flood};
use std::io;
use std::thread;
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// The most memory that this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Runs against a server that answers like this, and fails where the peak rises by more than so many MiB.
#[track_caller]
fn within(
    mebibytes: u64,
    spec: fn(Endpoint) -> RunSpec,
    connections: usize,
    answer: impl Fn(&mut Talk) -> io::Result<()> + Clone + Send + Sync + 'static,
) -> Conducted {
    let fake = Fake::unix(answering(answer));
    let before = peak();
    let spec = RunSpec { connections, limit: Limit::Time(500_000_000), ..spec(at(&fake)) };
    let conducted = conduct(spec, steps::Steps::autocommit(&[(Select, "SELECT c FROM t WHERE id = ?")]));
    let grown = peak() - before;
    assert!(grown < mebibytes * MIB, "{} MiB", grown / MIB);
    conducted
}

#[test]
fn a_server_cannot_make_the_client_take_memory_without_bound() {
    // What the run itself takes, above all its histograms.
    within(32, impatient, 64, |talk| talk.stall());

    // 64 × 16 MiB announced, one byte of each sent.
    let conducted = within(32, impatient, 64, |talk| {
        talk.send(&[0xff, 0xff, 0xff, 1, 0])?;
        talk.stall()
    });
    assert!(matches!(conducted.reason(), Reason::Lost(_)));

    // Rows that never end; the run does.
    let conducted = within(16, spec, 4, flood);
    assert_eq!((conducted.totals.counts.started, conducted.totals.counts.unfinished), (4, 4));

    // One row that never ends, in pieces of 16 MiB: one piece is held at a time, with room to read into; the server
    // here has one as well.
    let conducted = within(96, spec, 1, |talk| {
        talk.send(&[1, 0, 0, 1, 1])?;
        let mut column = Vec::new();
        plimsoll_wire::server::put_column(&mut column, 2, "c");
        talk.send(&column)?;
        let mut piece = vec![0xff, 0xff, 0xff, 3];
        piece.resize(4 + 0xff_ffff, b'x');
        loop {
            talk.send(&piece)?;
            piece[3] = piece[3].wrapping_add(1);
            thread::sleep(Duration::from_millis(20));
        }
    });
    assert_eq!((conducted.totals.counts.started, conducted.totals.counts.unfinished), (1, 1));
}
