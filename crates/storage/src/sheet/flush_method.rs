//! Which flush method the servers should use: direct support, and probe 4.

use super::evidence::{MeasuredValue, SheetEvidence, has};
use super::figures::iops;
use super::line;
use plimsoll_model::io::{Probe, SheetLine};
use plimsoll_model::number::{three_digits, whole_percent};

const TOPIC: &str = "Flush method";
/// A smaller gain is not worth a setting.
const WORTHWHILE: f64 = 1.1;

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    [method(evidence), sync_call(evidence), write_through(evidence)].into_iter().flatten().collect()
}

fn method(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let (statement, value) = match evidence.device.direct? {
        true => (
            "innodb_flush_method=O_DIRECT: files here can bypass the page cache, so that pages are not kept twice \
             (MariaDB 11 and later: innodb_data_file_buffering=OFF).",
            "O_DIRECT",
        ),
        false => (
            "innodb_flush_method=fsync: files here cannot be opened with O_DIRECT, so leave memory to the page cache \
             (MariaDB 11 and later: innodb_data_file_buffering=ON).",
            "fsync",
        ),
    };
    Some(line(TOPIC, "flush_method", statement.to_owned(), value, "", &[]))
}

/// A way to make an overwritten block durable.
fn overwriting<'a>(evidence: &SheetEvidence<'a>, primitive: &str) -> Option<&'a Probe> {
    evidence.find(4, &[("primitive", primitive.into()), ("allocation", "overwrite".into())])
}

/// fsync also writes the time of modification, which nobody needs after a crash.
fn sync_call(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let (fsync, fdatasync) = (overwriting(evidence, "fsync")?, overwriting(evidence, "fdatasync")?);
    let gain = iops(fdatasync) / iops(fsync);
    let figures = format!(
        "{} synced writes per second with fdatasync, {} with fsync",
        three_digits(iops(fdatasync)),
        three_digits(iops(fsync))
    );
    let statement = match evidence.differs(MeasuredValue::rate(fsync), MeasuredValue::rate(fdatasync), WORTHWHILE) {
        Some(true) => {
            let setting = evidence.advised(&[fsync, fdatasync], "So innodb_use_fdatasync=ON (MySQL).");
            format!("fdatasync saves work compared with fsync: {figures}. {setting}")
        }
        Some(false) => format!("fdatasync does not save enough over fsync to be worth a setting: {figures}."),
        None => format!("Whether fdatasync saves work compared with fsync {}: {figures}.", evidence.untold()),
    };
    Some(line(TOPIC, "fdatasync_gain", statement, gain, "ratio", &[fdatasync, fsync]))
}

/// One call instead of two.
fn write_through(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let synced = overwriting(evidence, "fdatasync")?;
    let is_through =
        |probe: &&Probe| ["o_dsync", "rwf_dsync"].into_iter().any(|way| has(probe, &[("primitive", way.into())]));
    let all = evidence.of(4).into_iter().filter(|probe| has(probe, &[("allocation", "overwrite".into())]));
    let through = all.filter(is_through).max_by(|a, b| iops(a).total_cmp(&iops(b)))?;
    let gain = iops(through) / iops(synced);
    let figures = format!("{} against {} writes per second", three_digits(iops(through)), three_digits(iops(synced)));
    let statement = match evidence.differs(MeasuredValue::rate(synced), MeasuredValue::rate(through), WORTHWHILE) {
        Some(true) => {
            let setting = "So innodb_flush_method=O_DSYNC (MySQL) or innodb_log_file_write_through=ON (MariaDB).";
            format!(
                "A log that is written through (O_DSYNC) is {} faster than one that is synced: {figures}. {}",
                whole_percent(gain - 1.0),
                evidence.advised(&[through, synced], setting)
            )
        }
        Some(false) => {
            format!("A log that is written through (O_DSYNC) is no faster than one that is synced: {figures}.")
        }
        None => format!(
            "Whether a log that is written through (O_DSYNC) is faster than one that is synced {}: {figures}.",
            evidence.untold()
        ),
    };
    Some(line(TOPIC, "log_write_through", statement, gain, "ratio", &[through, synced]))
}
