//! A storage evaluation as a virtual disk gives it, for the example page and the tests. Nothing in it is random.

use plimsoll_model::io::*;
use plimsoll_model::{Caveat, Estimate, OpKind, ProbeMetric};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub fn summary() -> IoSummary {
    IoSummary {
        schema_version: SCHEMA_VERSION,
        directory: "/var/lib/mysql-new".to_owned(),
        suite: "full".to_owned(),
        seed: 8140305719362277,
        device: device(),
        probes: probes(),
        sheet: sheet(),
        validation: vec![Validated {
            what: "commits at 8 sessions".to_owned(),
            server: "mariadb 10.11.14".to_owned(),
            sessions: 8,
            predicted: Some(10_900.0),
            predicted_low: Some(7_320.0),
            reached: Some(9_120.0),
            unit: "1/s".to_owned(),
            cpu_bound: true,
            remark: "as predicted".to_owned(),
            probes: vec!["2.mariadb.8".to_owned()],
        }],
        published: Vec::new(),
        caveats: vec![Caveat::new(
            "sparse_files",
            "The file below the loop device has holes, which never reach the device; fill it with data first.",
        )],
        recording: Some("/srv/.local/share/plimsoll/recordings/2026-11-21T19-30-00Z-io".to_owned()),
        interrupted: false,
    }
}

fn device() -> DeviceFacts {
    DeviceFacts {
        name: Some("vda".to_owned()),
        filesystem: Some("ext4".to_owned()),
        mount_point: Some("/".to_owned()),
        source: Some("/dev/vda1".to_owned()),
        mount_options: vec!["rw".to_owned(), "relatime".to_owned()],
        write_cache: Some("write back".to_owned()),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        rotational: Some(false),
        atomic_write_bytes: Some((0, 0)),
        direct: Some(true),
        memory_bytes: Some(24 << 30),
        ..DeviceFacts::default()
    }
}

fn probes() -> Vec<Probe> {
    let mut probes = Vec::new();
    for (committers, rate, p50) in [(1u32, 6_420.0, 142.0), (8, 21_637.0, 330.0), (64, 48_210.0, 1_240.0)] {
        let params = json!({"server": "mariadb", "committers": committers});
        let mut probe = measured(
            if committers == 1 { 1 } else { 2 },
            &format!("mariadb.{committers}"),
            params,
            OpKind::Commit,
            rate,
            p50,
        );
        probe.histogram.insert(OpKind::Commit, bell(p50));
        probes.push(probe);
    }
    for (depth, reads, writes) in
        [(1, 9_120.0, 6_310.0), (4, 24_300.0, 9_600.0), (16, 41_200.0, 10_400.0), (64, 43_800.0, 10_100.0)]
    {
        let params =
            json!({"depth": depth, "block": 16384, "engine": "io_uring", "set_bytes": 1 << 30, "sync_every": 64});
        let latency = |rate: f64| 0.8e6 * f64::from(depth) / rate;
        probes.push(measured(6, &format!("depth-{depth}"), params.clone(), OpKind::Read, reads, latency(reads)));
        probes.push(measured(7, &format!("depth-{depth}"), params, OpKind::Write, writes, latency(writes)));
    }
    for (mebibytes, p50) in [(64u64, 61.0), (256, 63.0), (1024, 66.0), (4096, 310.0), (16384, 345.0)] {
        let params = json!({"what": "read", "set_bytes": mebibytes << 20});
        probes.push(measured(13, &format!("read.{mebibytes}m"), params, OpKind::Read, 1e6 / p50, p50));
    }
    let mut burst =
        measured(13, "burst.4096m", json!({"what": "burst", "set_bytes": 4u64 << 30}), OpKind::Write, 9_000.0, 420.0);
    let level = |t: u32| if t < 14 { 21_000.0 } else { 3_000.0 } + 400.0 * f64::from(t % 5);
    burst.series = (0..40).map(|t| Second { t: f64::from(t), iops: level(t), ..Second::default() }).collect();
    probes.push(burst);
    let mut failed = Probe { probe: 17, id: "17.512".to_owned(), name: "log block".to_owned(), ..Probe::default() };
    failed.error = Some("write of 512 bytes at 0: EINVAL (22)".to_owned());
    probes.push(failed);
    probes
}

/// A measurement whose tail is three times its median.
fn measured(number: u8, slug: &str, params: Value, kind: OpKind, rate: f64, p50: f64) -> Probe {
    let latency = LatencyUs {
        count: (3.0 * rate) as u64,
        min: Some(0.5 * p50),
        mean: Some(1.1 * p50),
        p50: Some(p50),
        p90: Some(1.8 * p50),
        p95: Some(2.2 * p50),
        p99: Some(3.0 * p50),
        p999: Some(6.1 * p50),
        max: Some(14.0 * p50),
    };
    let method = "3 batches of 1 s, t interval".to_owned();
    let estimate = Estimate::new(rate, (0.97 * rate, 1.03 * rate), 0.95, 3.0, method);
    Probe {
        probe: number,
        id: format!("{number}.{slug}"),
        name: format!("page {kind}"),
        params: serde_json::from_value(params).expect("scalars"),
        seconds: 3.0,
        operations: BTreeMap::from([(kind, latency.count)]),
        iops: Some(rate),
        mb_per_second: Some(rate * 0.016384),
        latency_us: BTreeMap::from([(kind, latency)]),
        flushes_per_op: Some(if kind == OpKind::Read { 0.0 } else { 1.0 }),
        cpu_us_per_op: Some(17.3),
        estimates: BTreeMap::from([(ProbeMetric::Iops, estimate)]),
        ..Probe::default()
    }
}

/// Counts in buckets that grow by an eighth of an octave, most of them at the median.
fn bell(median: f64) -> Vec<(f64, u64)> {
    let bucket =
        |at: i32| (median * 2f64.powf(f64::from(at) / 8.0), (10_000.0 * (-f64::from(at * at) / 20.0).exp()) as u64);
    (-12..=16).map(bucket).filter(|(_, count)| *count > 0).collect()
}

fn sheet() -> Vec<SheetLine> {
    let line =
        |key: &str, topic: &str, statement: &str, value: Value, unit: &str, probes: &[&str], warning: bool| SheetLine {
            key: key.to_owned(),
            topic: topic.to_owned(),
            statement: statement.to_owned(),
            value: serde_json::from_value(value).expect("a scalar"),
            unit: unit.to_owned(),
            probes: probes.iter().map(|id| (*id).to_owned()).collect(),
            warning,
        };
    vec![
        line(
            "commits_1_mariadb",
            "Commits",
            "MariaDB: 5,260 to 7,830 synced autocommit transactions per second with 1 session; committers that work as its \
             sessions do reached 6,420 ± 190 (half of them wait at most 142 µs, 99 % at most 426 µs).",
            json!(6420.0),
            "1/s",
            &["1.mariadb.1"],
            false,
        ),
        line(
            "commits_64_mariadb",
            "Commits",
            "MariaDB: 34,400 to 67,500 synced autocommit transactions per second with 64 sessions; committers that work as \
             its sessions do reached 48,200 ± 1,400; sessions share syncs, which gives 7.5 times what one alone commits.",
            json!(48210.0),
            "1/s",
            &["2.mariadb.64", "1.mariadb.1"],
            false,
        ),
        line(
            "durability",
            "Durability",
            "A power cut may lose what was committed: fsync is acknowledged by memory. That is safe only if a battery or \
             capacitors protect that memory.",
            json!("memory"),
            "",
            &["5.overwrite"],
            true,
        ),
        line(
            "page_reads_max",
            "Page reads",
            "At most 43,800 ± 1,300 page reads per second, with 64 reads under way.",
            json!(43800.0),
            "pages/s",
            &["6.depth-1", "6.depth-4", "6.depth-16", "6.depth-64"],
            false,
        ),
        line(
            "page_writes_sustained",
            "Page writes",
            "At most 10,400 ± 310 page writes per second.",
            json!(10400.0),
            "pages/s",
            &["7.depth-16"],
            false,
        ),
    ]
}
