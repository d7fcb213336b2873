//! How many commits per second are possible, for how many sessions: probes 1, 2 and 3.

use super::durability::{self, DurabilityVerdict};
use super::evidence::{SheetEvidence, has, latency, number};
use super::figures::iops;
use super::figures::{rate, time, times};
use super::line;
use plimsoll_model::OpKind;
use plimsoll_model::io::{Prediction, Probe, SheetLine};
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::{counted, three_digits, whole_percent};

const TOPIC: &str = "Commits";
const SERVERS: [(&str, &str); 2] = [("mysql", "MySQL"), ("mariadb", "MariaDB")];
const SESSIONS: [u32; 3] = [1, 8, 64];

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    let of = |(key, name)| {
        let commits = SESSIONS.iter().filter_map(move |sessions| commits(evidence, key, name, *sessions));
        commits.chain(with_binary_log(evidence, key, name))
    };
    SERVERS.into_iter().flat_map(of).collect()
}

/// The redo log alone: what this many sessions can commit.
fn commits(evidence: &SheetEvidence<'_>, key: &str, name: &str, sessions: u32) -> Option<SheetLine> {
    let probe = redo(evidence, key, sessions)?;
    let (kind, shown_by) = DurabilityVerdict::of_commits(durability::verdict(evidence));
    let mut statement = format!(
        "{name}: {} {kind} autocommit transactions per second with {}; committers that work as its sessions do reached {}{}",
        Prediction::around(iops(probe), sessions as usize).in_words(),
        counted(f64::from(sessions), "session"),
        rate(probe),
        waits(probe)
    );
    let mut probes = vec![probe];
    match redo(evidence, key, 1).filter(|_| sessions > 1) {
        Some(alone) => {
            probes.push(alone);
            statement += &sharing(iops(probe) / iops(alone), sessions);
        }
        None => statement += ".",
    }
    probes.extend(shown_by);
    Some(line(TOPIC, format!("commits_{sessions}_{key}"), statement, iops(probe), "1/s", &probes))
}

/// The gain of many sessions over one. Sessions that share syncs commit at most as often as all of them would alone.
fn sharing(gain: f64, sessions: u32) -> String {
    match gain > f64::from(sessions) {
        true => format!(
            "; that is {} what one alone commits, more than sharing syncs can gain, so the measurement of one was \
             disturbed: repeat it.",
            times(gain)
        ),
        false => format!("; sessions share syncs, which gives {} what one alone commits.", times(gain)),
    }
}

/// All numbers of sessions from one probe if it has them, so that they were measured within seconds.
fn redo<'a>(evidence: &SheetEvidence<'a>, server: &str, sessions: u32) -> Option<&'a Probe> {
    let wanted = [("server", server.into()), ("committers", sessions.into())];
    evidence.find(2, &wanted).or_else(|| evidence.find(1, &wanted))
}

/// ` (half of them wait at most 46.0 µs, 99 % at most 120 µs)`.
fn waits(probe: &Probe) -> String {
    match (latency(probe, OpKind::Commit, Statistic::P50), latency(probe, OpKind::Commit, Statistic::P99)) {
        (Some(p50), Some(p99)) => format!(" (half of them wait at most {}, 99 % at most {})", time(p50), time(p99)),
        _ => String::new(),
    }
}

/// What remains with a binary log that is synced at each commit, as it grows and if it were laid out in advance.
fn with_binary_log(evidence: &SheetEvidence<'_>, key: &str, name: &str) -> Option<SheetLine> {
    let alone = redo(evidence, key, 1)?;
    let of = |binlog: &str| {
        let logs = evidence.of(3).into_iter().filter(|probe| {
            has(probe, &[("server", key.into()), ("binlog", binlog.into()), ("committers", 1_u64.into())])
        });
        logs.min_by(|a, b| number(a, "event_bytes").total_cmp(&number(b, "event_bytes")))
    };
    let growing = of("extend")?;
    let lost = 1.0 - iops(growing) / iops(alone);
    let mut statement = format!(
        "{name}: with the binary log and sync_binlog=1 at most {} per second with 1 session, {} less than with the \
         redo log alone",
        rate(growing),
        whole_percent(lost.max(0.0))
    );
    let mut probes = vec![growing, alone];
    if let Some(laid_out) = of("preallocated") {
        statement +=
            &format!("; a binary log with blocks allocated in advance would allow {}", three_digits(iops(laid_out)));
        probes.push(laid_out);
    }
    let statement = statement + ".";
    Some(line(TOPIC, format!("commits_1_{key}_binlog"), statement, iops(growing), "1/s", &probes))
}
