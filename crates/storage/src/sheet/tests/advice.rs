//! No setting is advised from measurements that are too short or too noisy to choose one by.

use super::*;
use plimsoll_model::{Caveat, OpKind, ProbeMetric};

/// Evidence that speaks for every setting that the sheet advises by measurements.
fn all(change: impl Fn(Probe) -> Probe) -> Vec<SheetLine> {
    let reading = |mut probe: Probe| {
        probe.found.insert("read_kb_per_second".to_owned(), 41_000.0);
        probe
    };
    let overwrite = |primitive, iops| probe(4, json!({"primitive": primitive, "allocation": "overwrite"}), iops);
    let commits = |data_writes, iops| probe(11, json!({"server": "mysql", "data_writes": data_writes}), iops);
    let tail = |flushing, p99| {
        let mut probe = probe(10, json!({"rate": 500, "flushing": flushing}), 500.0);
        probe.response_us.insert(OpKind::Read, LatencyUs { p99: Some(p99), ..LatencyUs::default() });
        probe
    };
    let probes = [
        write(16, 8_390.0),
        overwrite("fsync", 1000.0),
        overwrite("fdatasync", 2000.0),
        overwrite("o_dsync", 3000.0),
        files(4, 1, "overwrite", 100.0),
        files(4, 8, "overwrite", 900.0),
        commits(false, 900.0),
        commits(true, 100.0),
        tail(false, 400.0),
        tail(true, 4000.0),
        reading(probe(17, json!({"block": 512, "misaligned": 0}), 100.0)),
        probe(17, json!({"block": 4096, "misaligned": 0}), 1000.0),
        probe(17, json!({"block": 16384, "misaligned": 0}), 1000.0),
    ];
    sheet(&disk(), &probes.map(change))
}

/// What tells a reader to set something.
const ADVICE: [&str; 9] = [
    "innodb_io_capacity=",
    "innodb_io_capacity_max=",
    "So innodb_use_fdatasync",
    "So innodb_flush_method",
    "So keep innodb_file_per_table",
    "So innodb_file_per_table",
    "innodb_log_group_home_dir",
    "A lower innodb_io_capacity_max",
    "innodb_log_write_ahead_size=4096",
];

fn advised(lines: &[SheetLine]) -> Vec<&'static str> {
    ADVICE.into_iter().filter(|advice| lines.iter().any(|line| line.statement.contains(advice))).collect()
}

#[test]
fn no_setting_is_advised_from_less_than_ten_seconds_or_from_noise() {
    assert_eq!(advised(&all(|probe| probe)), ADVICE, "{:#?}", all(|probe| probe));
    let short = all(|probe| Probe { seconds: 1.5, ..probe });
    assert_eq!(advised(&short), Vec::<&str>::new(), "{short:#?}");
    let capacity = line(&short, "innodb_io_capacity");
    assert!(capacity.value.is_none() && capacity.statement.contains("1.50 s of measurement"), "{capacity:?}");
    assert!(capacity.statement.contains("--time 10s"), "what would tell: {capacity:?}");
    let busy = all(|mut probe| {
        probe.found.insert("cpus_of_others".to_owned(), 0.6);
        probe
    });
    assert_eq!(advised(&busy), Vec::<&str>::new(), "{busy:#?}");
    assert!(
        line(&busy, "innodb_io_capacity").statement.contains("other processes and kernel threads used 0.6 CPUs"),
        "{busy:#?}"
    );
    let falling = all(|probe| Probe { caveats: vec![Caveat::new("decaying", "it fell")], ..probe });
    assert_eq!(advised(&falling), Vec::<&str>::new(), "{falling:#?}");
    let vague = all(|mut probe| {
        let rate = probe.iops.unwrap();
        let estimate = Estimate::new(rate, (0.74 * rate, 1.26 * rate), 0.95, 9.0, String::new());
        probe.estimates.insert(ProbeMetric::Iops, estimate);
        probe
    });
    assert!(line(&vague, "innodb_io_capacity").value.is_none(), "{vague:#?}");
}
