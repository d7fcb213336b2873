//! Blocks rewritten in place: reads around them, refused sizes, misalignment.

use super::*;

fn in_place(block: u32, misaligned: u32, iops: f64) -> Probe {
    probe(17, json!({"block": block, "misaligned": misaligned}), iops)
}

#[test]
fn small_log_blocks_may_be_read_before_they_are_written() {
    let reading = |kb_per_op: f64, mut probe: Probe| {
        probe.found.insert("read_kb_per_second".to_owned(), kb_per_op * probe.iops.unwrap());
        probe
    };
    let with = |small, read_below, read_above| {
        let blocks = [
            reading(read_below, in_place(512, 0, small)),
            reading(read_above, in_place(4096, 0, 1100.0)),
            reading(0.0, in_place(16384, 0, 1000.0)),
        ];
        told("log_write_ahead_size", &blocks)
    };
    assert_eq!(with(799.0, 4.1, 0.1).number(), Some(4096.0));
    assert!(with(799.0, 4.1, 0.1).statement.contains("less than 4 KiB are read before"));
    for (below, above) in [(0.0, 0.0), (4.1, 4.1)] {
        let unclear = with(799.0, below, above);
        assert!(unclear.value.is_none() && unclear.statement.contains("not clear why"), "{unclear:?}");
    }
    assert!(with(801.0, 4.1, 0.1).statement.contains("may stay"));
    let disordered =
        [in_place(512, 0, 300.0), in_place(4096, 0, 1200.0), in_place(16384, 0, 500.0), in_place(8192, 0, 200.0)];
    assert!(told("log_write_ahead_size", &disordered).statement.contains("may stay"), "chance has no step");
    let without_512 = |error: &str| {
        let small = Probe { iops: None, error: Some(error.to_owned()), ..in_place(512, 0, 0.0) };
        told("log_write_ahead_size", &[small, in_place(4096, 0, 9.0), in_place(8192, 0, 9.0)])
    };
    let full = without_512("writing 512 bytes at 0: No space left on device (os error 28)");
    assert!(!full.statement.contains("refused"), "that is no word about blocks: {full:?}");
    let refused = without_512("writing 512 bytes at 0: Invalid argument (os error 22)");
    assert!(
        refused.statement.starts_with("Direct writes of 512 bytes are refused, and 4 KiB is the smallest"),
        "{refused:?}"
    );
    says_nothing_of("log_write_ahead_size", &[in_place(4096, 0, 9.0)]);
    let off = |iops| told("misaligned_blocks", &[in_place(4096, 0, 1000.0), in_place(4096, 512, iops)]);
    assert!(off(799.0).warning && !off(801.0).warning);
}
