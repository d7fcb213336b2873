//! The tables that both the page and the terminal show.

use crate::interval::Measured;
use crate::table::{Column, Table};
use plimsoll_model::io::{DeviceFacts, IoSummary, Prediction, Probe, SHORTEST_US};
use plimsoll_model::metric::Statistic;
use plimsoll_model::number::{NOTHING, short};
use plimsoll_model::summary::Counts;
use plimsoll_model::{ProbeMetric, Scalar};

pub(crate) fn iops(probe: &Probe) -> Measured {
    Measured::of_probe(probe, ProbeMetric::Iops)
}

/// The value of a line of the sheet.
pub(crate) fn sheet_value(value: Option<&Scalar>) -> String {
    match value {
        None => NOTHING.to_owned(),
        Some(Scalar::Switch(on)) => if *on { "yes" } else { "no" }.to_owned(),
        Some(Scalar::Text(word)) => word.clone(),
        Some(number) => number.number().map_or(NOTHING.to_owned(), short),
    }
}

/// One row per measurement. Without `room` the intervals of percentiles are left out.
pub(crate) fn probes(probes: &[&Probe], room: bool) -> Table {
    let words = |of: &dyn Fn(&Probe) -> String| probes.iter().map(|probe| of(probe)).collect::<Vec<_>>();
    let numbers = |of: &dyn Fn(&Probe) -> Option<f64>| words(&|probe| of(probe).map_or(NOTHING.to_owned(), short));
    let percentile = |statistic: Statistic| {
        let of = |probe: &Probe| match probe.main_latency() {
            Some((kind, _)) => Measured::of_probe(probe, ProbeMetric::Latency(kind, statistic)),
            None => Measured::default(),
        };
        let mut column =
            Column::measured(statistic.field(), "µs", 1, &probes.iter().map(|probe| of(probe)).collect::<Vec<_>>());
        for (cell, probe) in column.cells.iter_mut().zip(probes) {
            if of(probe).value.is_some_and(|us| us <= SHORTEST_US) {
                *cell = "≤ 1".to_owned();
            }
        }
        // Percentiles without an estimate are not means, and a remark for each would hide the remarks on means.
        let column = if column.has_intervals() { column } else { Column { spreads: Vec::new(), ..column } };
        if room { column } else { column.narrow() }
    };
    let mut columns = vec![Column::words("probe", words(&|probe| probe.id.clone()))];
    if room {
        columns.push(Column::words("what", words(&|probe| probe.name.clone())));
    }
    columns.extend([
        Column::measured("rate", "1/s", 0, &probes.iter().map(|probe| iops(probe)).collect::<Vec<_>>()),
        Column::numbers("MB/s", "", numbers(&|probe| probe.mb_per_second.filter(|mb| *mb > 0.0))),
        Column::words("of", words(&|probe| probe.main_latency().map_or(NOTHING, |(kind, _)| kind.name()).to_owned())),
        percentile(Statistic::P50),
        percentile(Statistic::P99),
        Column::numbers("max", "µs", numbers(&|probe| probe.main_latency()?.1.max)),
        Column::numbers("flushes", "per op", numbers(&|probe| probe.flushes_per_op)),
        Column::numbers("CPU", "µs/op", numbers(&|probe| probe.cpu_us_per_op)),
    ]);
    columns.retain(|column| !column.is_number || column.cells.iter().any(|cell| cell != NOTHING));
    Table::new(columns)
}

/// Why figures of the sheet have no interval, if any have none.
pub(crate) fn without_interval(summary: &IoSummary) -> Option<String> {
    let rests = |probe: &&Probe| summary.sheet.iter().any(|line| line.probes.contains(&probe.id));
    let rates: Vec<Measured> = summary.probes.iter().filter(rests).map(iops).collect();
    Table::new(vec![Column::measured("rates of the sheet", "1/s", 0, &rates)]).missing().pop()
}

/// What could not be measured, or not completely, and why.
pub(crate) fn failures(probes: &[Probe]) -> Vec<String> {
    probes.iter().filter_map(|probe| Some(format!("{}: {}", probe.id, probe.error.as_ref()?))).collect()
}

/// What fell behind its arrival schedule, where one was set.
pub(crate) fn dropped(probes: &[Probe]) -> Vec<String> {
    let told = |probe: &&Probe| probe.counts != Counts::default() && probe.counts.dropped > 0;
    let text = |probe: &Probe| {
        format!(
            "{}: {} of {} operations could not be started in time",
            probe.id, probe.counts.dropped, probe.counts.offered
        )
    };
    probes.iter().filter(told).map(text).collect()
}

/// Predictions, and what servers reached.
pub(crate) fn validation(summary: &IoSummary) -> Option<Table> {
    let rows = &summary.validation;
    let number = |value: Option<f64>| value.map_or(NOTHING.to_owned(), short);
    let predicted = |found: Option<Prediction>| found.map_or(NOTHING.to_owned(), Prediction::in_words);
    (!rows.is_empty()).then(|| {
        Table::new(vec![
            Column::words("what", rows.iter().map(|row| row.what.clone()).collect()),
            Column::words("server", rows.iter().map(|row| row.server.clone()).collect()),
            Column::numbers("predicted", "", rows.iter().map(|row| predicted(row.prediction())).collect()),
            Column::numbers("reached", "", rows.iter().map(|row| number(row.reached)).collect()),
            Column::words("unit", rows.iter().map(|row| row.unit.clone()).collect()),
            Column::words(
                "limit",
                rows.iter().map(|row| if row.cpu_bound { "CPU" } else { "storage" }.to_owned()).collect(),
            ),
            Column::words("remark", rows.iter().map(|row| row.remark.clone()).collect()),
        ])
    })
}

/// The figures of a document that was repeated, beside the results here.
pub(crate) fn published(summary: &IoSummary) -> Option<Table> {
    let rows = &summary.published;
    let or_nothing = |text: &Option<String>| text.clone().unwrap_or_else(|| NOTHING.to_owned());
    (!rows.is_empty()).then(|| {
        let mut columns = vec![
            Column::words("what", rows.iter().map(|row| row.what.clone()).collect()),
            Column::words("figure", rows.iter().map(|row| row.metric.clone()).collect()),
            Column::numbers("published", "", rows.iter().map(|row| row.published.clone()).collect()),
            Column::numbers("measured", "", rows.iter().map(|row| or_nothing(&row.measured)).collect()),
            Column::words("unit", rows.iter().map(|row| row.unit.clone()).collect()),
        ];
        if rows.iter().any(|row| row.note.is_some()) {
            columns.push(Column::words("note", rows.iter().map(|row| row.note.clone().unwrap_or_default()).collect()));
        }
        Table::new(columns)
    })
}

/// What lies below the directory, as far as it is known.
pub(crate) fn device(device: &DeviceFacts) -> Vec<(&'static str, String)> {
    let bytes =
        |value: Option<u64>| value.map(|bytes| format!("{} bytes", plimsoll_model::number::number(bytes as f64, 0)));
    let yes = |value: Option<bool>| value.map(|yes| if yes { "yes" } else { "no" }.to_owned());
    let rotational =
        device.rotational.map(|yes| rotational(device.name.as_deref().unwrap_or_default(), yes).to_owned());
    let atomic = device.atomic_write_bytes.map(|(least, most)| match most {
        0 => "not offered".to_owned(),
        _ => format!("{least} to {most} bytes"),
    });
    let options = (!device.mount_options.is_empty()).then(|| device.mount_options.join(","));
    let all = [
        ("device", device.name.clone()),
        ("mounted from", device.source.clone()),
        ("mount point", device.mount_point.clone()),
        ("file system", device.filesystem.clone()),
        ("mount options", options),
        ("device’s write cache", device.write_cache.clone()),
        ("logical block", bytes(device.logical_block_bytes)),
        ("physical block", bytes(device.physical_block_bytes)),
        ("rotational", rotational),
        ("scheduler", device.scheduler.clone()),
        ("read-ahead", bytes(device.read_ahead_bytes)),
        ("file below the loop device", device.backing_file.clone()),
        ("loop device with direct I/O", yes(device.loop_direct_io)),
        ("untorn writes", atomic),
        ("O_DIRECT", yes(device.direct)),
        ("io_uring", device.io_uring_refused.as_ref().map(|why| format!("not usable: {why}"))),
        ("free space", bytes(device.free_bytes)),
        ("memory", bytes(device.memory_bytes)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Virtual disks rarely say what lies below them, and then the kernel assumes that they rotate.
fn rotational(name: &str, flag: bool) -> &'static str {
    const VIRTUAL: [&str; 5] = ["vd", "xvd", "nbd", "loop", "dm-"];
    match (VIRTUAL.iter().any(|prefix| name.starts_with(prefix)), flag) {
        (true, true) => "not known: the kernel’s default for a virtual disk",
        (false, true) => "yes",
        (_, false) => "no",
    }
}
