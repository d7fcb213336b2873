//! How fast pages are flushed, and the capacity to give InnoDB: probes 7, 8 and 14.
//!
//! `innodb_io_capacity` is how many I/O operations per second background work may use, `innodb_io_capacity_max` how
//! many it may use when it falls behind (MySQL Reference Manual, "Configuring InnoDB I/O Capacity"). So the maximum is
//! what the storage sustains, and the normal capacity is half of it: reads and the log need the other half. The lowest
//! of several rates counts: with the doublewrite buffer each page is written twice.

use super::doublewrite;
use super::evidence::{SheetEvidence, latency, number};
use super::figures::iops;
use super::figures::{bytes, rate, time};
use super::{line, line_if_known, warning_if};
use plimsoll_model::OpKind;
use plimsoll_model::io::{Probe, SheetLine};
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::{three_digits, whole_percent};

const TOPIC: &str = "Page writes";
/// The smallest value that both servers accept.
const LEAST_CAPACITY: f64 = 100.0;
/// Storage that keeps less than this share of its first rate has used something up.
const KEPT: f64 = 0.7;

pub fn lines(evidence: &SheetEvidence<'_>) -> Vec<SheetLine> {
    let steady = Steady::of(evidence);
    let depths = Probe::sweep(&evidence.of(7));
    let best = depths.iter().copied().max_by(|a, b| iops(a).total_cmp(&iops(b)));
    let mut lines: Vec<SheetLine> = best.map(|best| sustained(best, &depths)).into_iter().collect();
    lines.extend(steady.as_ref().map(Steady::line));
    let flushed = doublewrite::with(evidence, "on").map(|on| Sustained {
        rate: iops(on),
        told: format!("in {} s with the doublewrite buffer", three_digits(on.seconds)),
        probe: on,
    });
    let written = best.map(|best| Sustained {
        rate: iops(best),
        told: format!("in {} s without the doublewrite buffer", three_digits(best.seconds)),
        probe: best,
    });
    let lasting = steady.map(|steady| Sustained {
        rate: steady.last,
        told: format!("over {} s", three_digits(steady.probe.series.len() as f64)),
        probe: steady.probe,
    });
    let known: Vec<Sustained> = [written, flushed, lasting].into_iter().flatten().collect();
    lines.extend(capacity(evidence, &known));
    lines
}

/// Pages written per second, and under which conditions.
struct Sustained<'a> {
    rate: f64,
    told: String,
    probe: &'a Probe,
}

fn sustained(best: &Probe, depths: &[&Probe]) -> SheetLine {
    let every = number(best, "sync_every");
    let synced = if every > 0.0 { format!(", a sync after every {}", three_digits(every)) } else { String::new() };
    let within = latency(best, OpKind::Write, Statistic::P99)
        .map_or(String::new(), |p99| format!(", 99 % within {}", time(p99)));
    let block = match number(best, "block") {
        block if block > 0.0 => format!(" of {}", bytes(block)),
        _ => String::new(),
    };
    let statement = format!(
        "At most {} page writes{block} per second (with {} under way{synced}{within}): the buffer pool can be flushed \
         this fast.",
        rate(best),
        three_digits(number(best, "depth"))
    );
    line(TOPIC, "page_writes_sustained", statement, iops(best), "pages/s", depths)
}

/// Both variables, as servers accept them, by the lowest known rate; one line if neither can be advised.
fn capacity(evidence: &SheetEvidence<'_>, known: &[Sustained<'_>]) -> Vec<SheetLine> {
    let Some(lowest) = known.iter().min_by(|a, b| a.rate.total_cmp(&b.rate)) else { return Vec::new() };
    let probes: Vec<&Probe> = known.iter().map(|sustained| sustained.probe).collect();
    if let Some(why) = evidence.unsettled(&probes) {
        let statement = format!("No value of innodb_io_capacity or innodb_io_capacity_max can be advised: {why}.");
        return vec![line_if_known(TOPIC, "innodb_io_capacity", statement, None, "1/s", &probes)];
    }
    let Sustained { rate, told, .. } = lowest;
    let (most, usual) = (rounded_down(*rate), rounded_down(rate / 2.0));
    let too_slow = *rate < 2.0 * LEAST_CAPACITY;
    let usual_statement = match too_slow {
        true => format!(
            "innodb_io_capacity={LEAST_CAPACITY}, the smallest value that servers accept, is more than half of what \
             this storage sustains: flushing will disturb queries."
        ),
        false => format!(
            "innodb_io_capacity={usual}: half of what the storage sustained {told}, so that the other half is left for \
             reads and the log."
        ),
    };
    let most_statement = match *rate < LEAST_CAPACITY {
        true => format!(
            "innodb_io_capacity_max={LEAST_CAPACITY}, the smallest value that servers accept, is more than this \
             storage sustains: {} page writes per second {told}.",
            three_digits(*rate)
        ),
        false => format!(
            "innodb_io_capacity_max={most}: all that the storage sustained {told}; with a higher value, flushing \
             queues up at the storage and queries wait behind it."
        ),
    };
    let capacity = line(TOPIC, "innodb_io_capacity", usual_statement, usual, "1/s", &probes);
    let capacity_max = line(TOPIC, "innodb_io_capacity_max", most_statement, most, "1/s", &probes);
    vec![warning_if(too_slow, capacity), warning_if(*rate < LEAST_CAPACITY, capacity_max)]
}

/// Two significant digits, rounded down: capacity that does not exist helps nobody.
fn rounded_down(rate: f64) -> u64 {
    let unit = 10f64.powf((rate.log10().floor() - 1.0).max(0.0));
    ((rate / unit).floor() * unit).max(LEAST_CAPACITY) as u64
}

/// What long writing does.
struct Steady<'a> {
    probe: &'a Probe,
    first: f64,
    last: f64,
}

impl<'a> Steady<'a> {
    /// The means of the first and of the last quarter of the series.
    fn of(evidence: &SheetEvidence<'a>) -> Option<Steady<'a>> {
        let probe = evidence.of(14).into_iter().next()?;
        let rates: Vec<f64> = probe.series.iter().map(|second| second.iops).collect();
        let quarter = rates.len() / 4;
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        (quarter > 0).then(|| Steady {
            probe,
            first: mean(&rates[..quarter]),
            last: mean(&rates[rates.len() - quarter..]),
        })
    }

    fn line(&self) -> SheetLine {
        let falls = self.last < KEPT * self.first;
        let over = three_digits(self.probe.series.len() as f64);
        let (first, last) = (three_digits(self.first), three_digits(self.last));
        let statement = match falls {
            true => format!(
                "Page writes fall from {first} to {last} per second over {over} s, to {}: a cache fills or credits run \
                 out, and only the lower rate counts.",
                whole_percent(self.last / self.first)
            ),
            false => format!("Page writes stay as fast over {over} s: {first} per second at first, {last} at the end."),
        };
        warning_if(falls, line(TOPIC, "page_writes_steady", statement, self.last, "pages/s", &[self.probe]))
    }
}
