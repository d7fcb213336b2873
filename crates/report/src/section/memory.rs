//! What it cost a server to have little memory: faults, swapping, pages that were evicted and read again.

use crate::document::{Block, Section};
use crate::found::span;
use crate::interval::Measured;
use crate::subject::{MemoryRates, Trial};
use crate::table::{Column, Table};
use plimsoll_model::number::{NOTHING, short};
use plimsoll_model::samples::{HostSample, Interval, MemorySample, Phase, ServerSample};
use plimsoll_model::series::Series;

const MIB: f64 = (1u64 << 20) as f64;

/// Means over the trials of each group; `None` if no server's memory was limited and nothing was swapped.
pub fn section(groups: &[(String, Vec<&Trial>)]) -> Option<Section> {
    let is_shown =
        |rates: &MemoryRates| rates.is_limited || rates.swapped_in.or(rates.swapped_out).is_some_and(|rate| rate > 0.0);
    if !groups.iter().flat_map(|(_, trials)| trials).any(|trial| is_shown(&trial.memory)) {
        return None;
    }
    let column = |name: &str, unit: &str, of: fn(&MemoryRates) -> Option<f64>| {
        let values: Vec<Measured> = groups
            .iter()
            .map(|(_, trials)| mean(trials.iter().filter_map(|trial| of(&trial.memory))))
            .map(|value| Measured { value, ..Measured::default() })
            .collect();
        let cells = values.iter().map(|of| of.value.map_or(NOTHING.to_owned(), short)).collect();
        Column { of: values, ..Column::numbers(name, unit, cells) }
    };
    let table = Table::new(vec![
        Column::words("", groups.iter().map(|(label, _)| label.clone()).collect()),
        column("major faults", "1/s", |rates| rates.major_faults),
        column("swapped in", "MiB/s", |rates| rates.swapped_in),
        column("swapped out", "MiB/s", |rates| rates.swapped_out),
        column("pages read again", "1/s", |rates| rates.refaults),
        column("at the limit", "1/s", |rates| rates.limit_hits),
    ]);
    let remark = "Faults of the server that waited for a device; swapping of the whole host; pages of the server and \
                  of its page cache that had been evicted and were read again, and how often its memory was at its \
                  limit.";
    let faults =
        span(groups.iter().filter_map(|(_, trials)| mean(trials.iter().filter_map(|trial| trial.memory.major_faults))));
    let found = faults.map_or(String::new(), |faults| format!("{faults} major faults per second"));
    Some(Section::of("memory", "Memory", vec![Block::table("memory", table, [remark.to_owned()])])?.found(found))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let known: Vec<f64> = values.collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// What memory cost the server of a trial.
pub fn memory_rates(series: &Series) -> MemoryRates {
    let has_limit = |sample: &ServerSample| sample.group.is_some_and(|group| group.memory_limit_bytes.is_some());
    let is_limited = series.server.iter().any(has_limit);
    let measured = || series.intervals.iter().filter(|interval| interval.phase == Phase::Measure);
    let Some(first) = measured().next() else { return MemoryRates { is_limited, ..MemoryRates::default() } };
    let end = measured().map(end_ns).max().unwrap_or(first.t_ns);
    let within = |t_ns: u64| (first.t_ns..=end).contains(&t_ns);
    let server: Vec<&ServerSample> = series.server.iter().filter(|sample| within(sample.t_ns)).collect();
    // Counters have a value at the moment; a line of the host is of the second before it.
    let host: Vec<&HostSample> =
        series.host.iter().filter(|sample| within(sample.t_ns) && sample.t_ns > first.t_ns).collect();
    let swapped = |of: fn(&MemorySample) -> u64| {
        let seconds: f64 = host.iter().map(|sample| sample.seconds).sum();
        let bytes: Vec<u64> = host.iter().filter_map(|sample| sample.memory.as_ref().map(of)).collect();
        (seconds > 0.0 && !bytes.is_empty())
            .then(|| bytes.iter().map(|bytes| *bytes as f64).sum::<f64>() / seconds / MIB)
    };
    MemoryRates {
        is_limited,
        major_faults: counted(&server, |sample| sample.major_faults),
        swapped_in: swapped(|memory| memory.swapped_in_bytes),
        swapped_out: swapped(|memory| memory.swapped_out_bytes),
        refaults: counted(&server, |sample| sample.group?.refaults),
        limit_hits: counted(&server, |sample| sample.group?.memory_limit_hits),
    }
}

/// By how much a counter rises per second from the first sample to the last.
fn counted(samples: &[&ServerSample], of: fn(&ServerSample) -> Option<u64>) -> Option<f64> {
    let (first, last) = (samples.first()?, samples.last()?);
    let seconds = last.t_ns.saturating_sub(first.t_ns) as f64 / 1e9;
    let (from, to) = (of(first)?, of(last)?);
    (seconds > 0.0).then(|| to.saturating_sub(from) as f64 / seconds)
}

fn end_ns(interval: &Interval) -> u64 {
    interval.t_ns.saturating_add((interval.seconds.max(0.0) * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_second_of_the_warm_up_is_not_counted() {
        const SECOND: u64 = 1_000_000_000;
        let host = |second: u64, mib: u64| HostSample {
            t_ns: second * SECOND,
            seconds: 1.0,
            memory: Some(MemorySample { swapped_in_bytes: mib << 20, ..MemorySample::default() }),
            ..HostSample::default()
        };
        let intervals = vec![
            Interval::empty(0, Phase::WarmUp, 1.0),
            Interval::empty(SECOND, Phase::Measure, 1.0),
            Interval::empty(2 * SECOND, Phase::Measure, 1.0),
        ];
        let host = vec![host(1, 90), host(2, 3), host(3, 1), host(4, 50)];
        let series = Series { intervals, host, ..Series::default() };
        assert_eq!(memory_rates(&series).swapped_in, Some(2.0));
    }

    #[test]
    fn counters_are_rates_between_the_first_and_the_last_sample() {
        let at = |seconds: u64, faults| ServerSample {
            t_ns: seconds * 1_000_000_000,
            major_faults: faults,
            ..ServerSample::default()
        };
        let (a, b, c) = (at(1, Some(10)), at(2, Some(40)), at(3, Some(70)));
        let faults = |samples: &[&ServerSample]| counted(samples, |sample| sample.major_faults);
        assert_eq!(faults(&[&a, &b, &c]), Some(30.0));
        assert_eq!(faults(&[&a]), None, "one sample has no rate");
        assert_eq!(faults(&[&a, &at(3, None)]), None, "what is not known is not 0");
    }
}
