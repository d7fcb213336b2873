//! How much CPU time an I/O takes from the server: probe 21.

use super::evidence::{SheetEvidence, has};
use super::figures::iops;
use super::line;
use plimsoll_model::io::{Probe, SheetLine};
use plimsoll_model::number::{three_digits, whole_percent};

const TOPIC: &str = "CPU";

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    ["read", "write"].into_iter().filter_map(|what| cost(evidence, what)).collect()
}

/// For the cheapest way of doing I/O.
fn cost(evidence: &SheetEvidence<'_>, what: &str) -> Option<SheetLine> {
    let all = evidence.of(21).into_iter().filter(|probe| has(probe, &[("what", what.into())]));
    let known = all.filter_map(|probe| Some((probe, probe.cpu_us_per_op.filter(|us| us.is_finite() && *us > 0.0)?)));
    let mut each: Vec<(&Probe, f64)> = known.collect();
    each.sort_by(|a, b| a.1.total_cmp(&b.1));
    let &(least, us) = each.first()?;
    let ways: Vec<String> =
        each.iter().map(|(probe, us)| format!("{} µs with {}", three_digits(*us), probe.word("engine"))).collect();
    let statement = format!(
        "CPU time of a page {what}, on the whole machine at {} per second: {}. 10,000 of them per second take {} of \
         one CPU from the server.",
        three_digits(iops(least)),
        ways.join(", "),
        whole_percent(us / 100.0)
    );
    let probes: Vec<&Probe> = each.iter().map(|(probe, _)| *probe).collect();
    Some(line(TOPIC, format!("cpu_per_{what}"), statement, us, "us", &probes))
}
