//! The matrix of an article of 2008 on evaluating I/O for MySQL with sysbench fileio, with the figures that it prints:
//! "Evaluating IO subsystem performance for MySQL Needs", MySQL Performance Blog, 5 March 2008.
//!
//! Pages of 16 KiB at random, direct, no sync during a run: a set that fits the controller's cache and one that does not,
//! one file and 128, 1 thread and 64, reads and writes. The article switched the controller's cache between write-through
//! and write-back. That cannot be done from here; what stands for them is when a write returns: with O_DSYNC when it is
//! on the medium (write-through), without when the storage has taken it (write-back). Its runs took 60 s each or a
//! million requests; ours end by time alone.

mod article;

use crate::job::{Access, Engine, Job, Places, Syncs};
use crate::layout::{Layout, Open};
use crate::op::SyncMode;
use crate::probe::{Extent, PAGE, Step};
use article::{FIGURES, Figure, Measure};
use plimsoll_model::io::{LatencyUs, Probe, Published};
use serde_json::{Value, json};

const MIB: u64 = 1 << 20;
/// The article's sets.
const SMALL: u64 = 128 * MIB;
const LARGE: u64 = 2048 * MIB;
/// Sets on a small disk are a multiple of this: 128 files of whole pages.
const GRAIN: u64 = 128 * PAGE as u64;
/// No probe of the other suites.
const NUMBER: u8 = 0;

/// One run of the article.
struct Run {
    /// In its words.
    name: &'static str,
    large: bool,
    files: u32,
    what: What,
    threads: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Reads,
    WritesThrough,
    WritesBack,
}

const fn run(name: &'static str, large: bool, files: u32, what: What, threads: u32) -> Run {
    Run { name, large, files, what, threads }
}

/// In the article's order.
const RUNS: [Run; 12] = [
    run("128 MB, 1 file, random read, 1 thread", false, 1, What::Reads, 1),
    run("128 MB, 1 file, random read, 64 threads", false, 1, What::Reads, 64),
    run("128 MB, 1 file, random write, write-through, 1 thread", false, 1, What::WritesThrough, 1),
    run("128 MB, 1 file, random write, write-through, 64 threads", false, 1, What::WritesThrough, 64),
    run("128 MB, 128 files, random write, write-through, 64 threads", false, 128, What::WritesThrough, 64),
    run("128 MB, 1 file, random write, write-back, 1 thread", false, 1, What::WritesBack, 1),
    run("128 MB, 1 file, random write, write-back, 64 threads", false, 1, What::WritesBack, 64),
    run("128 MB, 128 files, random write, write-back, 64 threads", false, 128, What::WritesBack, 64),
    run("2 GB, 128 files, random read, 1 thread", true, 128, What::Reads, 1),
    run("2 GB, 128 files, random read, 64 threads", true, 128, What::Reads, 64),
    run("2 GB, 128 files, random write, write-back, 1 thread", true, 128, What::WritesBack, 1),
    run("2 GB, 128 files, random write, write-back, 64 threads", true, 128, What::WritesBack, 64),
];

/// Bytes of the small and of the large set where so many may be used: the article's own where there is room.
pub(crate) fn sizes(usable: u64) -> (u64, u64) {
    let grained = |bytes: u64| (bytes / GRAIN * GRAIN).max(GRAIN);
    (SMALL.min(grained(usable / 16)), LARGE.min(grained(usable)))
}

/// The article's runs. The small set has the size of the page files, the large one that of the largest working set.
pub fn steps(extent: &Extent) -> Vec<Step> {
    (1..).zip(&RUNS).map(|(number, run)| run.step(extent, number)).collect()
}

fn id(number: usize) -> String {
    format!("percona.{number}")
}

impl Run {
    fn step(&self, extent: &Extent, number: usize) -> Step {
        let (set, bytes) = if self.large { ("large", extent.most_bytes) } else { ("small", extent.data_bytes) };
        let layout = Layout::of(&format!("{set}-{}", self.files), self.files, bytes);
        let params = [
            ("set_bytes", json!(layout.bytes())),
            ("files", json!(self.files)),
            ("threads", json!(self.threads)),
            ("block", json!(PAGE)),
            ("what", json!(if self.what == What::Reads { "read" } else { "write" })),
            ("dsync", json!(self.what == What::WritesThrough)),
        ];
        let access = match self.what {
            What::Reads => Access::page_reads(Places::Anywhere),
            // As sysbench does unless told otherwise: a sync of all files when the run is over.
            _ => Access::page_writes(
                Places::Anywhere,
                Syncs { mode: SyncMode::Fsync, all_files: true, at_end: true, ..Syncs::NEVER },
            ),
        };
        let job = extent.job(layout, access, Engine::Threads { workers: self.threads });
        let open = Open { dsync: self.what == What::WritesThrough, ..job.open };
        let step = Step::new(NUMBER, "", self.name, params, Job { open, warmup_ns: 0, ..job });
        Step { id: id(number), ..step }
    }

    /// What a reader has to know to compare a rate of this run with the article's.
    fn note(&self) -> Option<&'static str> {
        match self.what {
            What::Reads => None,
            What::WritesThrough => {
                Some("write-through stands for O_DSYNC here: a write returns when it is on the medium")
            }
            What::WritesBack => Some("write-back stands for direct writes without a sync here"),
        }
    }
}

/// Each printed figure in the article's order, with what was measured here beside it.
pub fn published(probes: &[Probe]) -> Vec<Published> {
    FIGURES.iter().map(|figure| beside(figure, probes)).collect()
}

fn beside(figure: &Figure, probes: &[Probe]) -> Published {
    let run = figure.run.checked_sub(1).and_then(|index| RUNS.get(index));
    let probe = run.and_then(|_| find(probes, figure.run));
    let measured = probe.and_then(|probe| measured(&figure.measure, probe, probes));
    let missing = || match (&figure.measure, probe) {
        (Measure::Not(why), _) => (*why).to_owned(),
        (_, None) => "this run was not made".to_owned(),
        (_, Some(probe)) => probe.error.clone().unwrap_or_else(|| "the system does not tell".to_owned()),
    };
    let note = match &measured {
        None => Some(missing()),
        Some(_) => note(figure, run, probe).map(|notes| notes.to_string()),
    };
    Published {
        what: figure.of.or(run.map(|run| run.name)).unwrap_or_default().to_owned(),
        metric: figure.metric.to_owned(),
        unit: figure.unit.to_owned(),
        published: figure.published.to_owned(),
        probe: measured.is_some().then(|| id(figure.run)),
        measured,
        note,
    }
}

fn find(probes: &[Probe], run: usize) -> Option<&Probe> {
    let id = id(run);
    probes.iter().find(|probe| probe.id == id)
}

/// Why a measured figure is not quite the printed one.
fn note(figure: &Figure, run: Option<&Run>, probe: Option<&Probe>) -> Option<String> {
    let of_figure = match figure.measure {
        Measure::Host(_) => Some("the mean of the run, of the whole machine"),
        Measure::Requests => run.and_then(Run::note),
        _ => None,
    };
    let set = probe.map_or(0.0, |probe| number(probe, "set_bytes"));
    let wanted = if run.is_some_and(|run| run.large) { LARGE } else { SMALL };
    let smaller = (set < wanted as f64).then(|| format!("over a set of {} MB, for want of space", set / MIB as f64));
    let notes: Vec<String> = of_figure.map(str::to_owned).into_iter().chain(smaller).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The value in the article's own format; `None` where there is none.
fn measured(measure: &Measure, probe: &Probe, probes: &[Probe]) -> Option<String> {
    const GIB: f64 = (1u64 << 30) as f64;
    let what = probe.params.get("what").and_then(Value::as_str)?;
    let latency = probe.latency_us.get(what).copied().unwrap_or_default();
    let events = probe.operations.get(what).copied().unwrap_or(0) as f64;
    let (block, threads) = (number(probe, "block"), number(probe, "threads"));
    let in_events = || latency.mean.map(|mean| latency.count as f64 * mean / 1e6);
    match measure {
        Measure::Requests => probe.iops.map(|iops| format!("{iops:.2}")),
        Measure::Thousands => probe.iops.map(|iops| format!("{:.3}", (iops / 1000.0).round())),
        Measure::Events => Some(format!("{events:.0}")),
        Measure::Data => Some(format!("{:.3}Gb", events * block / GIB)),
        Measure::Throughput => probe.iops.map(|iops| format!("{:.2}Mb/sec", iops * block / MIB as f64)),
        Measure::Seconds => Some(format!("{:.4}s", probe.seconds)),
        Measure::TimeLimit => Some(format!("{:.0}", probe.seconds)),
        Measure::InEvents => in_events().map(|seconds| format!("{seconds:.4}")),
        Measure::Latency(of) => of(&latency).map(seconds),
        Measure::Milliseconds(of) => of(&latency).map(|us| format!("{:.1}ms", us / 1000.0)),
        // How far threads differ is not kept; one does not differ from itself.
        Measure::EventsPerThread if threads == 1.0 => Some(format!("{events:.4}/0.00")),
        Measure::TimePerThread if threads == 1.0 => in_events().map(|seconds| format!("{seconds:.4}/0.00")),
        Measure::EventsPerThread | Measure::TimePerThread => None,
        Measure::TimesOf(run) => {
            let one = find(probes, *run)?.iops.filter(|iops| *iops > 0.0)?;
            probe.iops.map(|iops| format!("{:.1}x", iops / one))
        }
        Measure::Host(name) => probe.found.get(*name).map(|mean| format!("{mean:.0}")),
        Measure::Parameter(name, unit, suffix) => Some(format!("{}{suffix}", number(probe, name) / unit)),
        Measure::FileSize => Some(format!("{}Kb", number(probe, "set_bytes") / number(probe, "files") / 1024.0)),
        Measure::Not(_) => None,
    }
    .filter(|_| probe.error.is_none() || probe.seconds > 0.0)
}

/// Four digits as printed; more of them for times that would be 0.0000.
fn seconds(us: f64) -> String {
    let seconds = us / 1e6;
    if seconds < 0.001 { format!("{seconds:.6}s") } else { format!("{seconds:.4}s") }
}

fn number(probe: &Probe, name: &str) -> f64 {
    probe.params.get(name).and_then(Value::as_f64).unwrap_or(0.0)
}

/// Which of the latencies of a run a figure is of.
type Of = fn(&LatencyUs) -> Option<f64>;

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_load::window::SECOND_NS;
    use std::collections::BTreeMap;

    /// The figures that the article prints, read off it a second time; a column of vmstat is one line.
    const PRINTED: &str = "256MB
60|1000000|1|1|128Mb|16Kb|1.50
11.808Gb|201.52Mb/sec|12897.22|60.0001s|773835|59.0285|0.0001s|0.0001s|0.0086s|0.0001s|773835.0000/0.00|59.0285/0.00|13.000
23727.46|0.0008s|0.0027s|0.0112s|0.0030s|3ms
142.62|8|142.83|1|1024Kb|827.94|4735.27|4740.19|5228.68
2GB|259.28|2334.63|6|a bit more than 8x|583.43|605.88";
    const VMSTAT_READS: &str = "0 64  90560 3196492  86832 12631072    0    0 37760    23 3402  6932  0 12 64 24
0 64  90560 3196500  86836 12631068    0    0 37222    26 3328  7694  0  1 75 24
0 64  90560 3196436  86836 12631068    0    0 36998     6 3340  7716  0  1 74 24
0 64  90560 3196428  86836 12631064    0    0 37395    12 3320  7774  0  1 74 24
0 64  90560 3196440  86836 12631064    0    0 37498     6 3365  7758  0  1 74 24
0 64  90560 3196436  86836 12631064    0    0 37702     6 3370  7680  0  2 74 24";
    const VMSTAT_WRITES: &str = "2 39  90560 5305556  86920 10534204    0    0     0  9345 1625  4587  0  0 70 30
1  1  90560 5305548  86920 10534204    0    0     0  9017 1661  4934  0  0 74 26
1  1  90560 5305556  86924 10534200    0    0     0  9223 1638  4881  0  0 73 27
1  3  90560 5305556  86932 10534192    0    0     0  9634 1715  5033  0  0 74 26
1  1  90560 5305556  86932 10534192    0    0     0  9235 1643  5035  0  0 73 26";
    const MACHINE: &str = "6|10K|RAID5";

    /// One line per column, its samples one after the other.
    fn columns(vmstat: &str) -> Vec<String> {
        let lines: Vec<Vec<&str>> = vmstat.lines().map(|line| line.split_whitespace().collect()).collect();
        (0..16).map(|column| lines.iter().map(|line| line[column]).collect::<Vec<_>>().join(" ")).collect()
    }

    fn extent() -> Extent {
        Extent {
            data_bytes: SMALL,
            most_bytes: LARGE,
            window_ns: 10 * SECOND_NS,
            full: false,
            io_uring: true,
            direct: true,
            atomic: false,
        }
    }

    /// What each step might have found: a thousand operations per second and more with each run.
    fn probes() -> Vec<Probe> {
        let probe = |(number, step): (u64, Step)| {
            let what = step.params["what"].as_str().unwrap_or_default().to_owned();
            let us = LatencyUs {
                count: 10_000 * number,
                min: Some(37.4),
                mean: Some(900.0),
                p95: Some(1234.5),
                max: Some(8600.0),
                ..LatencyUs::default()
            };
            Probe {
                id: step.id,
                params: step.params,
                seconds: 10.0,
                operations: BTreeMap::from([(what.clone(), 10_000 * number)]),
                iops: Some(1000.0 * number as f64),
                latency_us: BTreeMap::from([(what, us)]),
                found: BTreeMap::from([("blocked".to_owned(), 63.6)]),
                ..Probe::default()
            }
        };
        (1..).zip(steps(&extent())).map(probe).collect()
    }

    #[test]
    fn every_printed_figure_is_there_in_the_order_of_the_article() {
        let lines = PRINTED.lines().chain([MACHINE]).map(|line| line.split('|').map(str::to_owned).collect());
        let mut printed: Vec<Vec<String>> = lines.collect();
        let machine = printed.pop().into_iter();
        printed.extend([columns(VMSTAT_READS), columns(VMSTAT_WRITES)]);
        let printed: Vec<String> = printed.into_iter().chain(machine).flatten().collect();
        let published: Vec<String> = published(&probes()).into_iter().map(|figure| figure.published).collect();
        assert_eq!(published, printed);
    }

    #[test]
    fn every_figure_is_measured_or_says_why_not() {
        for figure in published(&probes()) {
            assert!(!figure.what.is_empty());
            assert!(figure.measured.is_some() || figure.note.is_some(), "{figure:?}");
            assert_eq!(figure.measured.is_some(), figure.probe.is_some(), "{figure:?}");
        }
        assert!(published(&[]).iter().all(|figure| figure.measured.is_none() && figure.note.is_some()));
    }

    #[test]
    fn figures_are_measured_in_the_format_of_the_article() {
        let all = published(&probes());
        let measured = |metric: &str, run: &str| {
            let found = all.iter().find(|figure| figure.metric == metric && figure.probe.as_deref() == Some(run));
            found.and_then(|figure| figure.measured.clone()).unwrap()
        };
        assert_eq!(measured("requests", "percona.2"), "2000.00");
        assert_eq!(measured("read", "percona.1"), "0.153Gb");
        assert_eq!(measured("throughput", "percona.1"), "15.62Mb/sec");
        assert_eq!(measured("total time", "percona.1"), "10.0000s");
        assert_eq!(measured("total time taken by event execution", "percona.1"), "9.0000");
        assert_eq!(measured("events per thread (avg/stddev)", "percona.1"), "10000.0000/0.00");
        assert_eq!(measured("min", "percona.1"), "0.000037s");
        assert_eq!(measured("max", "percona.2"), "0.0086s");
        assert_eq!(measured("95th percentile, as the author rounds it", "percona.2"), "1.2ms");
        assert_eq!(measured("size of each file", "percona.5"), "1024Kb");
        assert_eq!(measured("total file size", "percona.9"), "2GB");
        assert_eq!(measured("scaling from 1 thread to 64", "percona.10"), "1.1x");
        assert_eq!(measured("blocked processes", "percona.10"), "64");
    }

    #[test]
    fn runs_are_those_of_the_article() {
        let steps = steps(&extent());
        assert_eq!(steps.len(), RUNS.len());
        for (step, run) in steps.iter().zip(&RUNS) {
            assert_eq!(step.job.engine.depth(), run.threads, "{}", step.name);
            assert_eq!(step.job.open.dsync, step.name.contains("write-through"));
            assert_eq!(step.job.layout.bytes(), if step.name.starts_with("2 GB") { LARGE } else { SMALL });
            assert!(step.name.contains(&format!("{} file", run.files)) && step.job.layout.files == run.files);
        }
    }

    #[test]
    fn a_smaller_set_and_a_run_that_failed_are_said() {
        let mut probes = probes();
        probes[0].params.insert("set_bytes".to_owned(), json!(64 * MIB));
        probes[1] =
            Probe { id: "percona.2".to_owned(), error: Some("the disk is full".to_owned()), ..Probe::default() };
        let all = published(&probes);
        let rate = |published: &str| all.iter().find(|figure| figure.published == published).unwrap();
        assert_eq!(rate("12897.22").note.as_deref(), Some("over a set of 64 MB, for want of space"));
        assert_eq!((&rate("23727.46").measured, rate("23727.46").note.as_deref()), (&None, Some("the disk is full")));
    }
}
