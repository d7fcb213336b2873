//! What disturbs what: reads while pages are flushed (probe 10), commits while pages are written (probe 11).

use super::evidence::{MeasuredValue, SheetEvidence, find_pair, response};
use super::figures::iops;
use super::figures::{rate, time, times};
use super::{line, warning_if};
use plimsoll_model::io::SheetLine;
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::whole_percent;
use plimsoll_model::{OpKind, ProbeMetric};

const TOPIC: &str = "Interference";
/// Queries notice a tail that is this many times as long.
const DISTURBED: f64 = 3.0;
/// If a log commits this many times as often alone, it is worth a device of its own.
const SLOWED: f64 = 1.25;

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    let logs = ["mysql", "mariadb"].into_iter().filter_map(|server| log_and_data(evidence, server));
    read_tail(evidence).into_iter().chain(logs).collect()
}

fn read_tail(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let (quiet, flushing) = find_pair(&evidence.of(10), "flushing")?;
    let (before, during) =
        (response(quiet, OpKind::Read, Statistic::P99)?, response(flushing, OpKind::Read, Statistic::P99)?);
    let longer = during / before;
    let p99 = |probe, us| MeasuredValue::of(probe, ProbeMetric::Response(OpKind::Read, Statistic::P99), us);
    let disturbed = evidence.differs(p99(quiet, before), p99(flushing, during), DISTURBED);
    let consequence = match disturbed {
        Some(true) => evidence
            .advised(&[quiet, flushing], "A lower innodb_io_capacity_max, or a larger redo log, spreads flushing out."),
        Some(false) => "Flushing hardly disturbs queries.".to_owned(),
        None => format!("Whether flushing disturbs queries {}.", evidence.untold()),
    };
    let statement = format!(
        "While pages are flushed, 99 % of reads are done within {} instead of {}, {} as long, at {} reads per second. \
         {consequence}",
        time(during),
        time(before),
        times(longer),
        rate(flushing)
    );
    let told = line(TOPIC, "read_tail_while_flushing", statement, during, "us", &[quiet, flushing]);
    Some(warning_if(disturbed == Some(true), told))
}

fn log_and_data(evidence: &SheetEvidence<'_>, server: &str) -> Option<SheetLine> {
    let of_server: Vec<_> = evidence.of(11).into_iter().filter(|probe| probe.word("server") == server).collect();
    let (alone, beside) = find_pair(&of_server, "data_writes")?;
    let kept = iops(beside) / iops(alone);
    let name = if server == "mysql" { "MySQL" } else { "MariaDB" };
    let figures = format!(
        "{} synced commits per second while data pages are written, {} without ({name})",
        rate(beside),
        rate(alone)
    );
    let disturbed = evidence.differs(MeasuredValue::rate(beside), MeasuredValue::rate(alone), SLOWED);
    let statement = match disturbed {
        Some(true) => format!(
            "Log and data disturb each other: {figures}, {} less. {}",
            whole_percent(1.0 - kept),
            evidence.advised(
                &[alone, beside],
                "A separate volume for the log (innodb_log_group_home_dir) is worth trying."
            )
        ),
        Some(false) => {
            let setting = evidence.advised(&[alone, beside], "The log needs no separate volume.");
            format!("Log and data do not disturb each other: {figures}. {setting}")
        }
        None => format!("Whether log and data disturb each other {}: {figures}.", evidence.untold()),
    };
    let told = line(TOPIC, format!("log_beside_data_{server}"), statement, kept, "share", &[alone, beside]);
    Some(warning_if(disturbed == Some(true), told))
}
