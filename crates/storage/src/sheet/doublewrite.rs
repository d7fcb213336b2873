//! What the protection against torn pages costs: probe 8.

use super::evidence::{MeasuredValue, SheetEvidence};
use super::figures::bytes;
use super::figures::iops;
use super::line;
use plimsoll_model::io::{DeviceFacts, Probe, SheetLine};
use plimsoll_model::number::{three_digits, whole_percent};

const TOPIC: &str = "Doublewrite";
const PAGE: u64 = 16384;
/// A smaller factor does not count as a cost.
const NOTICEABLE: f64 = 1.1;

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    cost(evidence).into_iter().chain(untorn(evidence)).collect()
}

fn measured(probe: &Probe) -> MeasuredValue {
    MeasuredValue::rate(probe)
}

/// The probe with the doublewrite buffer on, off, …
pub fn with<'a>(evidence: &SheetEvidence<'a>, how: &str) -> Option<&'a Probe> {
    evidence.find(8, &[("doublewrite", how.into())])
}

fn cost(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let (on, off) = (with(evidence, "on")?, with(evidence, "off")?);
    let lost = 1.0 - iops(on) / iops(off);
    let figures = format!("{} pages flushed per second, {} without", three_digits(iops(on)), three_digits(iops(off)));
    let mut statement = match evidence.differs(measured(on), measured(off), NOTICEABLE) {
        Some(true) => format!("innodb_doublewrite=ON costs {} of the pages: {figures}", whole_percent(lost)),
        Some(false) => format!("innodb_doublewrite=ON has no visible cost: {figures}"),
        None => format!("What innodb_doublewrite=ON costs {}: {figures}", evidence.untold()),
    };
    let mut probes = vec![on, off];
    if let Some(synced) = with(evidence, "on-synced") {
        statement += &format!("; {} with a sync in between, as in MariaDB", three_digits(iops(synced)));
        probes.push(synced);
    }
    let statement = statement + ". Without it a power cut can leave torn pages that no log repairs.";
    Some(line(TOPIC, "doublewrite_cost", statement, lost.max(0.0), "share", &probes))
}

/// Whether whole pages can be written untorn without it.
fn untorn(evidence: &SheetEvidence<'_>) -> Option<SheetLine> {
    let (least, most) = evidence.device.atomic_write_bytes?;
    if !is_offered(evidence.device) {
        let statement = "Untorn writes of 16 KiB are not offered here: keep innodb_doublewrite=ON.";
        return Some(line(TOPIC, "atomic_page_writes", statement.to_owned(), false, "", &[]));
    }
    let mut statement = format!("Untorn writes are offered from {} to {}", bytes(least as f64), bytes(most as f64));
    let mut probes = Vec::new();
    if let Some(atomic) = with(evidence, "atomic") {
        statement += &format!(" and put {} pages in place per second", three_digits(iops(atomic)));
        probes.push(atomic);
        if let Some(on) = with(evidence, "on") {
            statement += &format!(" ({} with doublewrite)", three_digits(iops(on)));
            probes.push(on);
        }
    }
    statement += "; they replace innodb_doublewrite only in a server that uses them (RWF_ATOMIC), so keep it on until \
                  yours does.";
    Some(line(TOPIC, "atomic_page_writes", statement, true, "", &probes))
}

fn is_offered(device: &DeviceFacts) -> bool {
    device.atomic_write_bytes.is_some_and(|(least, most)| least > 0 && (least..=most).contains(&PAGE))
}
