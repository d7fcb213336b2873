//! What guarding against torn pages costs: probe 8.

use super::evidence::{Evidence, iops};
use super::figures::{bytes, percent, short};
use super::line;
use plimsoll_model::io::{DeviceFacts, Probe, SheetLine};
use serde_json::json;

const TOPIC: &str = "Doublewrite";
const PAGE: u64 = 16384;
/// A cost below this is lost in noise.
const NOTICEABLE: f64 = 0.05;

pub fn lines(evidence: &Evidence<'_>) -> Vec<SheetLine> {
    cost(evidence).into_iter().chain(untorn(evidence)).collect()
}

/// Pages that came to their places per second, which is less than was written.
fn pages(probe: &Probe) -> f64 {
    probe.found.get("pages_per_second").copied().unwrap_or_else(|| iops(probe))
}

fn with<'a>(evidence: &Evidence<'a>, how: &str) -> Option<&'a Probe> {
    evidence.find(8, &[("doublewrite", json!(how))]).filter(|probe| pages(probe) > 0.0)
}

fn cost(evidence: &Evidence<'_>) -> Option<SheetLine> {
    let (on, off) = (with(evidence, "on")?, with(evidence, "off")?);
    let lost = 1.0 - pages(on) / pages(off);
    let mut statement = match lost < NOTICEABLE {
        true => format!(
            "innodb_doublewrite=ON costs nothing that shows: {} pages flushed per second, {} without",
            short(pages(on)),
            short(pages(off))
        ),
        false => format!(
            "innodb_doublewrite=ON costs {} of the pages flushed per second: {} instead of {}",
            percent(lost),
            short(pages(on)),
            short(pages(off))
        ),
    };
    let mut probes = vec![on, off];
    if let Some(synced) = with(evidence, "on-synced") {
        statement += &format!("; {} with a sync in between, as MariaDB does", short(pages(synced)));
        probes.push(synced);
    }
    let statement = statement + ". Without it a power cut can leave torn pages that no log repairs.";
    Some(line(TOPIC, "doublewrite_cost", statement, (lost.max(0.0), "share"), &probes))
}

/// Whether writes of a whole page can be untorn without it.
fn untorn(evidence: &Evidence<'_>) -> Option<SheetLine> {
    let (least, most) = evidence.device.atomic_write_bytes?;
    if !is_offered(evidence.device) {
        let statement = "Untorn writes of 16 KiB are not offered here: keep innodb_doublewrite=ON.";
        return Some(line(TOPIC, "atomic_page_writes", statement.to_owned(), (false, ""), &[]));
    }
    let mut statement = format!("Untorn writes are offered from {} to {}", bytes(least as f64), bytes(most as f64));
    let mut probes = Vec::new();
    if let Some(atomic) = with(evidence, "atomic") {
        statement += &format!(" and put {} pages in place per second", short(pages(atomic)));
        probes.push(atomic);
        if let Some(on) = with(evidence, "on") {
            statement += &format!(" ({} with doublewrite)", short(pages(on)));
            probes.push(on);
        }
    }
    statement += "; they replace innodb_doublewrite only in a server that asks for them (RWF_ATOMIC), so keep it on until \
                  yours does.";
    Some(line(TOPIC, "atomic_page_writes", statement, (true, ""), &probes))
}

fn is_offered(device: &DeviceFacts) -> bool {
    device.atomic_write_bytes.is_some_and(|(least, most)| least > 0 && (least..=most).contains(&PAGE))
}
