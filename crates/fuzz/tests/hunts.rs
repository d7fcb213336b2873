//! Hunts of a set length: short ones with every `make test`, long ones with `make test-all`. What a hunt finds becomes a
//! test of the crate that could not read it, and an input of the corpus.

use plimsoll_fuzz::hunt::{Hunt, Until, read};
use plimsoll_fuzz::target::TargetKind;

const SHORT: u64 = 20_261_123;
const LONG: u64 = 20_261_124;

#[track_caller]
fn hunt(kind: TargetKind, seed: u64, inputs: u64) {
    let mut target = kind.open().expect("inputs to begin with");
    let hunt = Hunt { seed, from: 0, until: Until::Inputs(inputs) };
    let tally = hunt.run(target.as_mut()).unwrap_or_else(|found| panic!("{found}"));
    // What is refused at its first byte attacks nothing.
    assert!(tally.inputs == inputs && 50 * tally.read >= inputs, "{kind:?}: {tally:?}");
}

#[test]
fn what_hunts_begin_with_is_read_to_its_end() {
    for kind in [TargetKind::Packets, TargetKind::Plans, TargetKind::Options, TargetKind::Recordings, TargetKind::Loads]
    {
        let mut target = kind.open().expect("inputs to begin with");
        let entries = target.entries().to_vec();
        for (place, entry) in entries.iter().enumerate() {
            assert_eq!(read(target.as_mut(), place, &entry.bytes), Ok(true), "{}", entry.name);
        }
    }
}

#[test]
fn some_packets_are_read_or_refused() {
    hunt(TargetKind::Packets, SHORT, 1_000);
}

#[test]
fn some_plans_are_read_or_refused() {
    hunt(TargetKind::Plans, SHORT, 100);
}

#[test]
fn some_option_files_are_read_or_refused() {
    hunt(TargetKind::Options, SHORT, 200);
}

#[test]
fn some_recordings_are_shown_or_refused() {
    hunt(TargetKind::Recordings, SHORT, 20);
}

#[test]
fn some_loads_are_added_up_or_refused() {
    hunt(TargetKind::Loads, SHORT, 500);
}

#[test]
#[ignore = "hunts for a minute or two; make test-all"]
fn many_packets_are_read_or_refused() {
    hunt(TargetKind::Packets, LONG, 30_000);
}

#[test]
#[ignore = "hunts for a minute or two; make test-all"]
fn many_plans_are_read_or_refused() {
    hunt(TargetKind::Plans, LONG, 3_000);
}

#[test]
#[ignore = "hunts for a minute or two; make test-all"]
fn many_option_files_are_read_or_refused() {
    hunt(TargetKind::Options, LONG, 20_000);
}

#[test]
#[ignore = "hunts for a minute or two; make test-all"]
fn many_recordings_are_shown_or_refused() {
    hunt(TargetKind::Recordings, LONG, 600);
}

#[test]
#[ignore = "hunts for a minute or two; make test-all"]
fn many_loads_are_added_up_or_refused() {
    hunt(TargetKind::Loads, LONG, 10_000);
}
