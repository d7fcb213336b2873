//! What disturbs what: reads while pages are flushed (probe 10), commits while pages are written (probe 11).

use super::evidence::{Evidence, P99, find_pair, iops, number, response, word};
use super::figures::{percent, rate, short, time, times};
use super::{line, warning_if};
use plimsoll_model::io::SheetLine;

const TOPIC: &str = "Interference";
/// Queries notice a tail that is so many times as long.
const DISTURBED: f64 = 3.0;
/// A log that keeps more than this share of its commits has no need of a device of its own.
const UNDISTURBED: f64 = 0.8;

pub fn lines(evidence: &Evidence<'_>) -> Vec<SheetLine> {
    let logs = ["mysql", "mariadb"].into_iter().filter_map(|server| log_and_data(evidence, server));
    read_tail(evidence).into_iter().chain(logs).collect()
}

fn read_tail(evidence: &Evidence<'_>) -> Option<SheetLine> {
    let (quiet, flushing) = find_pair(&evidence.of(10), "flushing")?;
    let (before, during) = (response(quiet, "read", P99)?, response(flushing, "read", P99)?);
    let longer = during / before;
    let disturbed = longer >= DISTURBED;
    let consequence = match disturbed {
        true => "a lower innodb_io_capacity_max, or a larger redo log, spreads flushing out",
        false => "flushing hardly disturbs queries",
    };
    let statement = format!(
        "While pages are flushed, 99 % of reads are done within {} instead of {}, {} as long, at {} reads per second: \
         {consequence}.",
        time(during),
        time(before),
        times(longer),
        short(number(quiet, "rate"))
    );
    let told = line(TOPIC, "read_tail_while_flushing", statement, (during, "us"), &[quiet, flushing]);
    Some(warning_if(disturbed, told))
}

fn log_and_data(evidence: &Evidence<'_>, server: &str) -> Option<SheetLine> {
    let of_server: Vec<_> = evidence.of(11).into_iter().filter(|probe| word(probe, "server") == server).collect();
    let (alone, beside) = find_pair(&of_server, "data_writes")?;
    let kept = iops(beside) / iops(alone);
    let name = if server == "mysql" { "MySQL" } else { "MariaDB" };
    let figures = format!(
        "{} durable commits per second while data pages are written, {} without ({name})",
        rate(beside),
        rate(alone)
    );
    let statement = match kept < UNDISTURBED {
        true => format!(
            "Log and data disturb each other: {figures}, {} less. A volume of its own for the log (innodb_log_group_home_dir) \
             is worth trying.",
            percent(1.0 - kept)
        ),
        false => format!("Log and data do not disturb each other: {figures}. The log needs no volume of its own."),
    };
    let told = line(TOPIC, format!("log_beside_data_{server}"), statement, (kept, "share"), &[alone, beside]);
    Some(warning_if(kept < UNDISTURBED, told))
}
