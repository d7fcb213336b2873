//! Verdicts in both directions, at their thresholds, and with probes that are missing or failed; all made by hand.

mod advice;
mod evidence;
mod log_blocks;
mod matrix;
mod trust;

use super::sheet;
use plimsoll_model::io::{DeviceFacts, LatencyUs, Probe, Second, SheetLine};
use plimsoll_model::{Estimate, NamedScalars, OpKind, ProbeMetric, Scalar};
use serde_json::{Value, json};

/// A measurement with its parameters as an object.
fn probe(number: u8, params: Value, iops: f64) -> Probe {
    let params: NamedScalars = serde_json::from_value(params).expect("scalars");
    let id = format!("{number}.{}", serde_json::to_string(&params).unwrap());
    Probe { probe: number, id, params, seconds: 10.0, iops: Some(iops), ..Probe::default() }
}

fn with_latency(mut probe: Probe, kind: OpKind, p50: f64, p99: f64) -> Probe {
    let latency = LatencyUs { count: 100, p50: Some(p50), p99: Some(p99), ..LatencyUs::default() };
    probe.latency_us.insert(kind, latency);
    probe
}

fn with_series(rates: &[f64], mut probe: Probe) -> Probe {
    probe.series =
        rates.iter().enumerate().map(|(t, &iops)| Second { t: t as f64, iops, ..Second::default() }).collect();
    probe
}

fn failed(number: u8, params: Value) -> Probe {
    Probe { iops: None, error: Some("EINVAL (22): pwrite".to_owned()), ..probe(number, params, 0.0) }
}

/// A virtual disk with a volatile cache.
fn disk() -> DeviceFacts {
    DeviceFacts {
        name: Some("vda".to_owned()),
        filesystem: Some("ext4".to_owned()),
        write_cache: Some("write back".to_owned()),
        rotational: Some(false),
        direct: Some(true),
        atomic_write_bytes: Some((0, 0)),
        ..DeviceFacts::default()
    }
}

#[track_caller]
fn line<'a>(lines: &'a [SheetLine], key: &str) -> &'a SheetLine {
    lines.iter().find(|line| line.key == key).unwrap_or_else(|| panic!("no line {key}: {lines:#?}"))
}

/// The line of a key from these probes on an ordinary disk.
#[track_caller]
fn told(key: &str, probes: &[Probe]) -> SheetLine {
    line(&sheet(&disk(), probes), key).clone()
}

fn says_nothing_of(key: &str, probes: &[Probe]) {
    let lines = sheet(&disk(), probes);
    assert!(lines.iter().all(|line| line.key != key), "{lines:#?}");
}

#[test]
fn nothing_measured_leaves_nothing_to_say() {
    let keys = |probes: &[Probe]| -> Vec<String> {
        let memory = DeviceFacts { filesystem: Some("tmpfs".to_owned()), name: None, ..disk() };
        [disk(), memory].iter().flat_map(|device| sheet(device, probes)).map(|line| line.key).collect()
    };
    assert_eq!(keys(&[]), Vec::<String>::new());
    assert_eq!(keys(&[failed(5, json!({}))]), ["not_measured_flush", "failed", "not_measured_flush", "failed"]);
}

#[test]
fn commits_are_told_by_server_and_sessions() {
    let commits = |number, server, committers, iops, p50| {
        let params = json!({"server": server, "committers": committers});
        with_latency(probe(number, params, iops), OpKind::Commit, p50, 3.0 * p50)
    };
    let mut probes = [
        commits(1, "mysql", 1, 4321.0, 210.0),
        commits(2, "mysql", 8, 21_637.0, 350.0),
        commits(2, "mariadb", 64, 900.0, 9e3),
    ];
    let estimate = Estimate::new(4321.0, (4200.0, 4442.0), 0.95, 9.0, String::new());
    probes[0].estimates.insert(ProbeMetric::Iops, estimate);
    let lines = sheet(&disk(), &probes);
    assert_eq!(
        line(&lines, "commits_1_mysql").statement,
        "MySQL: 3,540 to 5,270 synced autocommit transactions per second with 1 session; committers that work as its \
         sessions do reached 4,320 ± 120 (half of them wait at most 210 µs, 99 % at most 630 µs)."
    );
    let eight = line(&lines, "commits_8_mysql");
    assert!(eight.statement.contains("21,600") && eight.statement.contains("5.0 times what one alone"), "{eight:?}");
    assert_eq!((eight.number(), eight.unit.as_str()), (Some(21_637.0), "1/s"));
    assert_eq!(eight.probes, [probes[1].id.clone(), probes[0].id.clone()]);
    let impossible = [commits(2, "mysql", 1, 100.0, 9.0), commits(2, "mysql", 8, 801.0, 9.0)];
    assert!(told("commits_8_mysql", &impossible).statement.contains("the measurement of one was disturbed"));
    let many = &line(&lines, "commits_64_mariadb").statement;
    assert!(many.ends_with("99 % at most 27 ms)."), "{many}");
    says_nothing_of("commits_64_mysql", &probes);
}

#[test]
fn the_binary_log_costs_what_it_takes_from_one_session() {
    let alone = probe(1, json!({"server": "mariadb", "committers": 1}), 1000.0);
    let with = |binlog, event_bytes, iops| {
        probe(3, json!({"server": "mariadb", "committers": 1, "binlog": binlog, "event_bytes": event_bytes}), iops)
    };
    let probes =
        [alone.clone(), with("extend", 4096, 300.0), with("extend", 300, 400.0), with("preallocated", 300, 500.0)];
    let line = told("commits_1_mariadb_binlog", &probes);
    assert!(line.statement.contains("at most 400 per second") && line.statement.contains("60 % less"), "{line:?}");
    assert!(line.statement.contains("would allow 500"), "{line:?}");
    says_nothing_of("commits_1_mariadb_binlog", &probes[1..]);
    says_nothing_of("commits_1_mariadb_binlog", &[alone]);
}

fn honesty(allocation: &str, writes: u64, syncs: u64, flushes_per_op: f64, sync_us: f64) -> Probe {
    let probe = probe(5, json!({"allocation": allocation}), writes as f64);
    let operations = [(OpKind::Write, writes), (OpKind::Sync, syncs)].into();
    let probe = Probe { operations, flushes_per_op: Some(flushes_per_op), seconds: 3.0, ..probe };
    with_latency(probe, OpKind::Sync, sync_us, 2.0 * sync_us)
}

#[test]
fn flushes_are_counted_per_sync() {
    let honest = told(
        "flush_reaches_device",
        &[honesty("overwrite", 100, 100, 1.0, 900.0), honesty("extend", 100, 100, 2.0, 1e3)],
    );
    assert!(
        honest.value == Some(true.into()) && !honest.warning && honest.statement.contains("fdatasync are 1 for a file"),
        "{honest:?}"
    );
    assert!(honest.statement.contains("2 for one that grows: logs that are laid out"), "{honest:?}");
    assert!(honest.statement.contains("need fewer (100 against 100 synced writes per second"), "{honest:?}");
    // Ten writes for one sync, and one flush for it.
    assert_eq!(told("flush_reaches_device", &[honesty("overwrite", 1000, 100, 0.1, 900.0)]).value, Some(true.into()));
    assert_eq!(told("flush_reaches_device", &[honesty("overwrite", 1000, 1000, 0.5, 900.0)]).value, Some(true.into()));
    for flushes in [0.0, 0.49] {
        let lying = told("flush_reaches_device", &[honesty("overwrite", 1000, 1000, flushes, 900.0)]);
        assert!(lying.value == Some(false.into()), "{lying:?}");
        assert!(
            lying.statement.contains("does not reach the device") && lying.statement.contains("eatmydata"),
            "{lying:?}"
        );
    }
    says_nothing_of("flush_reaches_device", &[honesty("overwrite", 0, 0, 0.0, 1.0)]);
}

#[test]
fn why_flushes_are_missing_is_said_where_it_is_known() {
    let probes = [honesty("overwrite", 100, 100, 0.0, 900.0)];
    let unguarded = DeviceFacts { mount_options: vec!["rw".to_owned(), "barrier=0".to_owned()], ..disk() };
    assert!(line(&sheet(&unguarded, &probes), "flush_reaches_device").statement.contains("mounted with barrier=0"));
    let many_of_others = [honesty("overwrite", 100, 100, 1.0, 900.0)];
    let told = line(&sheet(&unguarded, &many_of_others), "flush_reaches_device").clone();
    assert!(told.value == Some(false.into()), "whatever is counted: {told:?}");
}

#[test]
fn flushes_that_cannot_be_counted_are_no_alarm() {
    let on = |device: &DeviceFacts, probe: Probe| line(&sheet(device, &[probe]), "flush_reaches_device").clone();
    let through = DeviceFacts { write_cache: Some("write through".to_owned()), ..disk() };
    let none_due = on(&through, honesty("overwrite", 100, 100, 0.0, 900.0));
    let uncounted = on(&disk(), Probe { flushes_per_op: None, ..honesty("overwrite", 100, 100, 0.0, 900.0) });
    for (told, why) in [(none_due, "no volatile cache"), (uncounted, "does not count flushes of this device")] {
        assert!(told.value.is_none() && !told.warning && told.statement.contains(why), "{told:?}");
    }
}

#[test]
fn flushes_of_others_are_not_taken_for_ours() {
    // 100 syncs in 3 seconds.
    let with = |others, per_op| {
        let device = DeviceFacts { flushes_per_second_idle: Some(others), ..disk() };
        line(&sheet(&device, &[honesty("overwrite", 100, 100, per_op, 900.0)]), "flush_reaches_device").clone()
    };
    assert_eq!(with(8.0, 1.24).value, Some(true.into()));
    assert!(with(8.0, 1.24).statement.contains("are 1 for a file"), "those of others are taken off");
    let unclear = [with(20.0, 1.6), with(8.0, 0.6)];
    for told in &unclear {
        assert!(told.value.is_none() && !told.warning && told.statement.contains("others flush"), "{told:?}");
    }
    assert_eq!(with(20.0, 0.4).value, Some(false.into()), "fewer than syncs, those of others included");
}

fn verdict(device: &DeviceFacts, probe: Probe) -> SheetLine {
    line(&sheet(device, &[probe]), "durability").clone()
}

#[test]
fn a_sync_that_no_medium_can_do_is_called_out() {
    let at = |us| verdict(&disk(), honesty("overwrite", 100, 100, 1.0, us));
    assert!(at(99.0).warning && at(99.0).statement.contains("memory acknowledges fsync"), "{:?}", at(99.0));
    assert!(!at(100.0).warning && !at(100.0).statement.contains("memory acknowledges"), "{:?}", at(100.0));
    let turning = |name: &str| {
        let device = DeviceFacts { name: Some(name.to_owned()), rotational: Some(true), ..disk() };
        verdict(&device, honesty("overwrite", 100, 100, 1.0, 500.0)).warning
    };
    assert!(turning("sda") && !turning("vda"), "a virtual disk need not turn, whatever the kernel takes it for");
    let persistent = DeviceFacts { name: Some("pmem0".to_owned()), ..disk() };
    assert!(!verdict(&persistent, honesty("overwrite", 9, 9, 1.0, 5.0)).warning);
}

#[test]
fn one_verdict_on_durability_is_what_all_sentences_have() {
    let memory = DeviceFacts { filesystem: Some("tmpfs".to_owned()), name: None, ..disk() };
    let through = DeviceFacts { write_cache: Some("write through".to_owned()), ..disk() };
    for (device, flushes, sync_us, value) in [
        (disk(), 1.0, 900.0, Some("durable")),
        (disk(), 1.0, 90.0, Some("memory")),
        (disk(), 0.0, 900.0, Some("lost")),
        (disk(), 0.0, 90.0, Some("lost")),
        (memory, 0.0, 2.0, Some("lost")),
        (through.clone(), 0.0, 900.0, None),
        (through, 0.0, 90.0, Some("memory")),
    ] {
        let commit =
            with_latency(probe(1, json!({"server": "mysql", "committers": 1}), 900.0), OpKind::Sync, sync_us, 1e3);
        let lines = sheet(&device, &[commit, honesty("overwrite", 100, 100, flushes, sync_us)]);
        let told = line(&lines, "durability");
        assert_eq!(
            (&told.value, told.warning),
            (&value.map(Scalar::from), matches!(value, Some("memory" | "lost"))),
            "{told:?}"
        );
        let durable: Vec<&str> =
            lines.iter().map(|line| line.statement.as_str()).filter(|s| s.contains("durable")).collect();
        assert_eq!(durable.is_empty(), value != Some("durable"), "{durable:?}");
        let warnings = lines.iter().filter(|line| line.topic == "Durability" && line.warning).count();
        assert!(warnings <= 1, "{lines:#?}");
    }
}

#[test]
fn the_fastest_syncs_decide_what_answers_them() {
    let syncs = |number, min, p50| {
        let mut probe = with_latency(probe(number, json!({}), 100.0), OpKind::Sync, p50, 2.0 * p50);
        probe.latency_us.get_mut(&OpKind::Sync).expect("syncs").min = Some(min);
        probe
    };
    // Others made most of them wait; what answered the rest was no medium.
    let busy = [syncs(1, 90.0, 1200.0), syncs(2, 38.0, 44.0), syncs(5, 155.0, 3969.0)];
    let latency = told("sync_latency", &busy);
    assert!(
        latency.value == Some(44.0.into()) && latency.statement.contains("memory acknowledges them"),
        "{latency:?}"
    );
    assert!(told("durability", &busy).warning && told("durability", &busy).value == Some("memory".into()));
    let unclear = told("sync_latency", &[syncs(1, 900.0, 1200.0), syncs(17, 42.0, 3969.0)]);
    assert!(!unclear.warning && unclear.statement.contains("cannot be told whether memory"), "{unclear:?}");
    assert!(unclear.statement.contains("one took 42 µs"), "{unclear:?}");
    let slow = told("sync_latency", &[syncs(1, 900.0, 1200.0), syncs(5, 700.0, 3969.0)]);
    assert!(!slow.warning && slow.statement.contains("nothing suggests"), "{slow:?}");
}

#[test]
fn file_systems_without_a_device_say_what_can_be_known() {
    let on = |filesystem: &str, options: &[&str]| {
        let mount_options = options.iter().map(|option| (*option).to_owned()).collect();
        let device = DeviceFacts { name: None, filesystem: Some(filesystem.to_owned()), mount_options, ..disk() };
        line(&sheet(&device, &[honesty("overwrite", 9, 9, 0.0, 5.0)]), "flush_reaches_device").clone()
    };
    assert!(on("tmpfs", &[]).value == Some(false.into()));
    assert!(on("nfs4", &[]).value.is_none() && on("nfs4", &[]).statement.contains("network file system"));
    assert!(on("overlay", &[]).value.is_none() && on("overlay", &["volatile"]).value == Some(false.into()));
    assert!(on("zfs", &[]).statement.starts_with("zfs has no block device"));
}

fn read(depth: u32, iops: f64) -> Probe {
    let params = json!({"depth": depth, "block": 16384, "engine": "io_uring", "set_bytes": 1 << 30});
    with_latency(probe(6, params, iops), OpKind::Read, 100.0, 400.0)
}

#[test]
fn reads_have_a_first_a_ceiling_and_a_knee() {
    let probes = [read(64, 51_000.0), read(1, 9_000.0), read(16, 50_000.0), read(32, 50_500.0)];
    let lines = sheet(&disk(), &probes);
    let one = &line(&lines, "page_reads_1").statement;
    assert_eq!(
        one,
        "A session that misses the buffer pool reads 9,000 pages of 16 KiB per second: it waits 100 µs for a page (median; \
         99 % within 400 µs)."
    );
    let most = line(&lines, "page_reads_max");
    assert!(most.statement.starts_with("At most 51,000 page reads per second, with 64 reads under way"), "{most:?}");
    assert!(
        most.statement.contains("9,000 at 1 (99 % within 400 µs), 50,000 at 16") && most.statement.contains("1 GiB")
    );
    assert!(line(&lines, "page_reads_knee").statement.contains("with about 14"), "{lines:#?}");
    let growing = [read(1, 9_000.0), read(16, 30_000.0), read(64, 90_000.0)];
    let grows = told("page_reads_knee", &growing).statement;
    assert!(grows.starts_with("The rate still grew at 64") && grows.contains("no interval: "), "{grows}");
    assert!(!line(&lines, "page_reads_knee").statement.contains("still grew"), "{lines:#?}");
    let falling = [read(1, 9_000.0), read(16, 50_000.0), read(64, 40_000.0)];
    assert!(told("page_reads_knee", &falling).statement.contains("more only wait longer"));
    let flat = [read(1, 200.0), read(16, 200.0), read(64, 201.0)];
    assert!(told("page_reads_knee", &flat).statement.starts_with("One read under way already reaches 95 %"));
    says_nothing_of("page_reads_knee", &falling[..2]);
    says_nothing_of("page_reads_1", &[read(4, 9.0)]);
}

#[test]
fn only_measurements_of_one_kind_make_a_sweep() {
    let mut threads = read(16, 90_000.0);
    threads.params.insert("engine".to_owned(), "threads".into());
    let most = told("page_reads_max", &[threads, read(1, 9_000.0), read(16, 50_000.0)]);
    assert_eq!(most.number(), Some(50_000.0));
}

fn write(depth: u32, iops: f64) -> Probe {
    let params = json!({"depth": depth, "block": 16384, "engine": "io_uring", "sync_every": 64, "set_bytes": 1 << 30});
    with_latency(probe(7, params, iops), OpKind::Write, 300.0, 900.0)
}

#[test]
fn io_capacity_follows_from_what_is_sustained() {
    let lines = sheet(&disk(), &[write(1, 3_000.0), write(16, 8_390.0), write(64, 8_100.0)]);
    let sustained = line(&lines, "page_writes_sustained");
    assert!(
        sustained.statement.starts_with("At most 8,390 page writes of 16 KiB per second (with 16 under way"),
        "{sustained:?}"
    );
    let capacity = |lines: &[SheetLine]| {
        ["innodb_io_capacity", "innodb_io_capacity_max"]
            .map(|key| line(lines, key).value.as_ref().and_then(Scalar::count).unwrap())
    };
    assert_eq!(capacity(&lines), [4100, 8300]);
    assert!(line(&lines, "innodb_io_capacity").statement.starts_with("innodb_io_capacity=4100: half"));
    for (rate, expected, warns) in [(200.0, [100, 200], false), (199.0, [100, 190], true), (3.0, [100, 100], true)] {
        let lines = sheet(&disk(), &[write(1, rate)]);
        assert_eq!((capacity(&lines), line(&lines, "innodb_io_capacity").warning), (expected, warns), "{rate}");
    }
    says_nothing_of("innodb_io_capacity", &[write(1, 0.0), write(16, f64::NAN)]);
}

#[test]
fn what_lasts_counts_more_than_the_first_seconds() {
    let steady = |last: f64| with_series(&[[8000.0; 10], [last; 10]].concat(), probe(14, json!({}), 5000.0));
    let lines = sheet(&disk(), &[write(16, 8_390.0), steady(1000.0)]);
    let falls = line(&lines, "page_writes_steady");
    assert!(falls.warning && falls.statement.contains("fall from 8,000 to 1,000 per second"), "{falls:?}");
    assert_eq!(line(&lines, "innodb_io_capacity_max").value, Some(1000_u64.into()));
    assert!(!told("page_writes_steady", &[steady(5600.0)]).warning);
    assert!(told("page_writes_steady", &[steady(5599.0)]).warning);
    says_nothing_of("page_writes_steady", &[with_series(&[1.0; 3], probe(14, json!({}), 1.0))]);
}

#[test]
fn doublewrite_has_its_price_and_atomic_writes_their_condition() {
    let with = |how, pages: f64| probe(8, json!({"doublewrite": how}), pages);
    let costly = told("doublewrite_cost", &[with("on", 690.0), with("off", 1000.0), with("on-synced", 500.0)]);
    assert!(
        costly.statement.contains("costs 31 % of the pages") && costly.statement.contains("500 with a sync"),
        "{costly:?}"
    );
    assert!(told("doublewrite_cost", &[with("on", 960.0), with("off", 1000.0)]).statement.contains("no visible cost"));
    assert_eq!(told("doublewrite_cost", &[with("on", 1100.0), with("off", 1000.0)]).number(), Some(0.0));
    says_nothing_of("doublewrite_cost", &[with("on", 690.0)]);
    let offered = |limits, probes: &[Probe]| {
        line(&sheet(&DeviceFacts { atomic_write_bytes: Some(limits), ..disk() }, probes), "atomic_page_writes").clone()
    };
    let xfs = offered((4096, 1 << 20), &[with("atomic", 400.0), with("on", 690.0)]);
    assert!(
        xfs.value == Some(true.into())
            && xfs.statement.contains("400 pages in place per second (690 with doublewrite)"),
        "{xfs:?}"
    );
    assert_eq!(offered((16384, 16384), &[read(1, 9.0)]).value, Some(true.into()));
    assert!(
        [(0, 0), (4096, 8192), (32768, 65536)]
            .iter()
            .all(|limits| offered(*limits, &[read(1, 9.0)]).value == Some(false.into()))
    );
}

#[test]
fn flush_method_follows_direct_support() {
    let with = |direct| sheet(&DeviceFacts { direct, ..disk() }, &[read(1, 9.0)]);
    assert_eq!(line(&with(Some(true)), "flush_method").value, Some("O_DIRECT".into()));
    assert_eq!(line(&with(Some(false)), "flush_method").value, Some("fsync".into()));
    assert!(with(None).iter().all(|line| line.key != "flush_method"));
}

#[test]
fn sync_primitives_are_compared_where_a_block_is_overwritten() {
    let of = |primitive, allocation, iops| probe(4, json!({"primitive": primitive, "allocation": allocation}), iops);
    let probes = |dsync| {
        [
            of("fdatasync", "overwrite", 1000.0),
            of("fsync", "overwrite", 900.0),
            of("fsync", "extend", 5.0),
            of("o_dsync", "overwrite", dsync),
        ]
    };
    assert!(told("fdatasync_gain", &probes(1.0)).statement.ends_with("So innodb_use_fdatasync=ON (MySQL)."));
    assert!(told("log_write_through", &probes(1500.0)).statement.contains("is 50 % faster"));
    assert!(told("log_write_through", &probes(1050.0)).statement.contains("is no faster"));
    says_nothing_of("log_write_through", &probes(0.0));
}

fn files(threads: u32, files: u32, allocation: &str, iops: f64) -> Probe {
    probe(9, json!({"threads": threads, "files": files, "allocation": allocation}), iops)
}

#[test]
fn one_file_serialises_below_six_tenths_of_many() {
    let hole = |one| told("serialised_hole", &[files(4, 1, "hole", one), files(4, 8, "hole", 1000.0)]);
    let (serialised, free) = (hole(599.0), hole(601.0));
    assert!(serialised.value == Some(true.into()) && serialised.warning, "{serialised:?}");
    assert!(serialised.statement.contains("4 threads write 599 per second into one file, 1,000 into 8 files"));
    assert!(free.value == Some(false.into()) && !free.warning && free.statement.contains("do not wait"), "{free:?}");
    let alone = [files(4, 1, "hole", 438.0), files(4, 8, "hole", 1361.0), files(1, 1, "hole", 440.0)];
    assert!(told("serialised_hole", &alone).statement.contains("one thread alone 440"));
    says_nothing_of("serialised_overwrite", &alone);
    says_nothing_of("serialised_hole", &[files(1, 1, "hole", 1.0), files(1, 8, "hole", 9.0)]);
    says_nothing_of("serialised_hole", &[files(4, 1, "hole", 1.0), files(8, 8, "hole", 9.0)]);
}

#[test]
fn of_a_matrix_four_threads_and_eight_files_are_shown() {
    let probes = [2, 4, 64]
        .map(|threads| [1, 2, 8, 128].map(|count| files(threads, count, "overwrite", f64::from(threads * count))));
    let line = told("serialised_overwrite", &probes.concat());
    assert!(line.statement.contains("4 threads write 4 per second into one file, 32 into 8 files"), "{line:?}");
}

#[test]
fn more_files_are_advised_where_they_help() {
    let with = |many| told("file_count", &[files(4, 1, "overwrite", 1000.0), files(4, 8, "overwrite", many)]);
    assert_eq!((with(1150.0).value, with(1149.0).value), (Some("many".into()), Some("any".into())));
    assert!(with(5200.0).statement.contains("5.2 times"));
    assert!(with(500.0).statement.contains("1.0 times"));
    says_nothing_of("file_count", &[files(4, 8, "overwrite", 1000.0)]);
}

#[test]
fn a_cache_shows_as_a_step_of_the_median() {
    let set = |mebibytes: u64, p50| {
        with_latency(probe(13, json!({"what": "read", "set_bytes": mebibytes << 20}), 9.0), OpKind::Read, p50, p50)
    };
    let seen = told("cached_set", &[set(1024, 200.0), set(64, 100.0), set(256, 110.0)]);
    assert_eq!(seen.value, Some((256_u64 << 20).into()));
    assert!(seen.statement.contains("up to 256 MiB") && seen.statement.contains("110 µs there"), "{seen:?}");
    let flat = told("cached_set", &[set(64, 100.0), set(1024, 199.0)]);
    assert!(flat.value.is_none() && flat.statement.starts_with("No cache was seen"), "{flat:?}");
    says_nothing_of("cached_set", &[set(64, 100.0)]);
    says_nothing_of("cached_set", &[set(64, 0.0), set(1024, 100.0)]);
}

#[test]
fn a_write_burst_ends_where_the_rate_falls_for_good() {
    let burst = |rates: &[f64]| Probe {
        mb_per_second: Some(16.384),
        ..with_series(rates, probe(13, json!({"what": "burst"}), 1000.0))
    };
    let falls = burst(&[9000.0, 9000.0, 9000.0, 100.0, 9000.0, 9000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0, 1000.0]);
    let line = told("write_burst", std::slice::from_ref(&falls));
    assert!(line.warning && line.number() == Some(6.0), "{line:?}");
    assert!(line.statement.contains("9,000 per second, then 1,000"), "{line:?}");
    let steady = told("write_burst", &[burst(&[5000.0; 12])]);
    assert!(!steady.warning && steady.statement.contains("do not slow down within 12 s"), "{steady:?}");
    says_nothing_of("write_burst", &[burst(&[9.0; 7])]);
    says_nothing_of("write_burst", &[Probe { error: Some("ENOSPC".to_owned()), ..falls }]);
}

#[test]
fn reads_and_commits_are_compared_with_and_without_the_other_load() {
    let tail = |flushing, p99| {
        let mut probe = probe(10, json!({"rate": 500, "flushing": flushing}), 500.0);
        probe.response_us.insert(OpKind::Read, LatencyUs { p99: Some(p99), ..LatencyUs::default() });
        probe
    };
    let disturbed = told("read_tail_while_flushing", &[tail(false, 400.0), tail(true, 4000.0)]);
    assert!(
        disturbed.warning && disturbed.statement.contains("within 4 ms instead of 400 µs, 10 times as long"),
        "{disturbed:?}"
    );
    assert!(!told("read_tail_while_flushing", &[tail(false, 400.0), tail(true, 1199.0)]).warning);
    says_nothing_of("read_tail_while_flushing", &[tail(true, 4000.0)]);
    let commits = |data_writes, iops| probe(11, json!({"server": "mysql", "data_writes": data_writes}), iops);
    let kept = |beside| told("log_beside_data_mysql", &[commits(false, 1000.0), commits(true, beside)]);
    assert!(kept(799.0).warning && kept(799.0).statement.contains("20 % less"), "{:?}", kept(799.0));
    assert!(!kept(801.0).warning && kept(801.0).statement.contains("needs no separate volume"));
}

#[test]
fn growth_metadata_content_and_cpu_have_their_lines() {
    let extend = |how, p50| {
        with_latency(probe(15, json!({"how": how, "step_bytes": 4 << 20}), 9.0), OpKind::Extend, p50, 2.0 * p50)
    };
    let line = told("extension", &[extend("fallocate", 200.0), extend("zero-write", 12_000.0)]);
    assert!(line.statement.contains("4 MiB within 200 µs") && line.statement.contains("24 ms"), "{line:?}");
    let mut metadata = with_latency(probe(16, json!({"file_bytes": 1 << 30}), 9.0), OpKind::Unlink, 40_000.0, 90_000.0);
    metadata = with_latency(metadata, OpKind::Create, 300.0, 800.0);
    let line = told("metadata", &[metadata]);
    assert!(
        line.statement.contains("create 300 µs, unlink 40 ms") && line.statement.contains("unlink is the slowest"),
        "{line:?}"
    );
    let content = |what, iops| probe(20, json!({"content": what}), iops);
    let special = |zeros| told("content_matters", &[content("random", 1000.0), content("zeros", zeros)]);
    assert!(special(1200.0).warning && !special(1199.0).warning);
    let cost = |engine, us| Probe {
        cpu_us_per_op: Some(us),
        ..probe(21, json!({"engine": engine, "rate": 2000, "what": "read"}), 2000.0)
    };
    let line = told("cpu_per_read", &[cost("threads", 25.0), cost("io_uring", 12.0)]);
    assert!(
        line.statement.contains("12 µs with io_uring, 25 µs with threads") && line.statement.contains("take 12 %"),
        "{line:?}"
    );
}

#[test]
fn a_probe_that_failed_is_no_good_news() {
    let lines = sheet(&disk(), &[failed(6, json!({"depth": 1})), failed(2, json!({})), failed(20, json!({}))]);
    let line = line(&lines, "not_measured_page_reads");
    assert!(
        line.warning && line.statement == "It is not known how fast pages are read: EINVAL (22): pwrite.",
        "{line:?}"
    );
    assert!(lines.iter().any(|line| line.key == "not_measured_commits"));
    assert_eq!(lines.iter().filter(|line| line.topic == "Not measured").count(), 3);
    assert_eq!(self::line(&lines, "failed").value, Some(3_u64.into()));
    says_nothing_of("not_measured_page_reads", &[failed(6, json!({"depth": 1})), read(16, 9.0)]);
    assert!(told("not_measured_page_writes", &[write(1, 0.0)]).statement.contains("no operation completed"));
}

#[test]
fn keys_are_unique() {
    let probes = [
        read(1, 9.0),
        write(1, 9.0),
        files(4, 1, "hole", 9.0),
        files(4, 8, "hole", 9.0),
        honesty("overwrite", 9, 9, 1.0, 9.0),
    ];
    let lines = sheet(&disk(), &probes);
    let mut keys: Vec<&str> = lines.iter().map(|line| line.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), lines.len());
}
