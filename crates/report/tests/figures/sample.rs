//! One of each figure, with a cell that was not measured where it can have one.

use plimsoll_model::Estimate;
use plimsoll_model::LoadPoint;
use plimsoll_model::diagnosis::Cost;
use plimsoll_model::lab::TrialStatus;
use plimsoll_model::published::Printed;
use plimsoll_model::samples::{CollectorSample, DeviceSample, HostSample, Interval, Phase, StatusSample};
use plimsoll_model::series::Series;
use plimsoll_model::summary::{HostShares, LatencyMs};
use plimsoll_report::document::Figure;
use plimsoll_report::figure::bars::{self, Bars};
use plimsoll_report::figure::curves::{self, CurvePoint, Curves, Line};
use plimsoll_report::figure::delta::{self, Deltas};
use plimsoll_report::figure::staircase::{self, Staircase, StaircaseStep};
use plimsoll_report::figure::{beside, costs, cpu_split, diagram, latency, seconds};
use plimsoll_report::interval::Measured;
use plimsoll_report::subject::{Diagram, Latency, Published, Trial};

/// What a server or a plan may call itself.
pub const HOSTILE: &str = "</text></svg></script><b onclick='x'>&\"\u{1b}[31m\u{202e}\u{7}\n\u{2028}";

pub fn measured(value: f64) -> Measured {
    Measured::from(&Estimate::new(value, (0.95 * value, 1.08 * value), 0.95, 9.0, "8 batches".to_owned()))
}

/// A number without an interval.
pub fn printed(value: f64) -> Measured {
    Measured { value: Some(value), ..Measured::default() }
}

/// One of each; `name` stands wherever somebody else chooses a name.
pub fn all(name: &str) -> Vec<Figure> {
    let latencies = latencies();
    let trials = [trial(1, name, 1, 20), trial(2, name, 8, 20)];
    let figures = [
        bars::draw("bars", &bars_of(name), name),
        cpu_split::draw("cpu", &[(name.to_owned(), Some(shares())), ("b".to_owned(), None)], name),
        delta::draw("delta", &deltas(name), name),
        staircase::draw("staircase", &ladder(name)),
        curves::draw("curves", &curves_of(name, 3), name),
        curves::draw("curve", &curves_of(name, 1), name),
        latency::percentiles("percentiles", &[(name.to_owned(), &latencies), ("b".to_owned(), &latencies)], name),
        latency::heat_map("heat-map", &latencies, name),
        costs::draw(
            "costs",
            &[(name.to_owned(), cost(1.0)), ("b".to_owned(), Cost { reads: None, ..cost(2.0) })],
            name,
        ),
        beside::draw("beside", &published(name), name),
        diagram::draw("diagram", &environment(name)),
        seconds::draw("seconds", &trials.iter().collect::<Vec<_>>(), name),
    ];
    figures.into_iter().flatten().collect()
}

fn bars_of(name: &str) -> Bars {
    Bars {
        what: name.to_owned(),
        unit: name.to_owned(),
        groups: vec![name.to_owned(), "b".to_owned()],
        members: vec![name.to_owned(), "d".to_owned()],
        values: vec![vec![measured(13_431.0), measured(12_222.0)], vec![Measured::default(), printed(11_262.0)]],
        published: vec![vec![Some(13_000.0), None], vec![Some(9000.0), None]],
        has: Vec::new(),
        against_first: true,
    }
}

fn shares() -> HostShares {
    HostShares { cpus: 8, busy: 0.85, user: 0.55, system: 0.27, iowait: 0.1, steal: 0.02 }
}

fn deltas(name: &str) -> Deltas {
    Deltas {
        what: name.to_owned(),
        of: "throughput".to_owned(),
        systems: vec![name.to_owned(), "b".to_owned()],
        workloads: vec![name.to_owned()],
        changes: vec![vec![measured(0.97), Measured::default()]],
    }
}

fn ladder(name: &str) -> Staircase {
    let step = |value: Measured, kept| StaircaseStep {
        rung: name.to_owned(),
        change: printed(0.2),
        value,
        verdict: name.to_owned(),
        kept,
        risks: name.to_owned(),
        published: Some(5000.0),
    };
    let steps = vec![step(measured(5532.0), true), step(measured(5400.0), false), step(Measured::default(), false)];
    let (what, unit, caption) = (name.to_owned(), name.to_owned(), name.to_owned());
    Staircase { what, unit, caption, base: measured(4501.0), steps, ..Staircase::default() }
}

fn curves_of(name: &str, lines: usize) -> Curves {
    let place = |n: u32| CurvePoint {
        x: f64::from(1 << n),
        throughput: measured(100.0 * f64::from(n + 1)),
        seconds: Some((80.0, 900.0)),
        p50_ms: measured(1.5),
        p95_ms: measured(4.0),
        p99_ms: measured(f64::from(1 << n)),
        disturbed: n == 3,
    };
    let line = |number: usize| Line {
        name: if number == 1 { name.to_owned() } else { format!("line {number}") },
        places: (0..8).map(place).collect(),
        scaling: None,
        is_published: number == 2,
    };
    let (axis, what, unit, latency) = (name.to_owned(), name.to_owned(), name.to_owned(), name.to_owned());
    Curves { axis, what, unit, latency, lines: (0..lines).map(line).collect() }
}

fn latencies() -> Latency {
    let percentiles = (0..60).map(|n| (1.0 - 10f64.powf(-f64::from(n) / 20.0), 1.0 + f64::from(n * n))).collect();
    let columns = (0..90).map(|second| (0..40).map(|bin| (second * bin) % 50).collect()).collect();
    Latency { percentiles, bins_ms: (0..40).map(|n| 1.2f64.powi(n)).collect(), columns, width: 1, seconds: 90 }
}

fn cost(factor: f64) -> Cost {
    Cost { server_cpu_us: Some(842.0 * factor), reads: Some(1.2), fsyncs: Some(1.0), ..Cost::default() }
}

fn published(name: &str) -> Vec<Published> {
    let measured = Some(Estimate::new(9.0, (8.0, 10.0), 0.95, 9.0, String::new()));
    let printed = Printed {
        place: Some(name.to_owned()),
        metric: name.to_owned(),
        unit: Some(name.to_owned()),
        variant: Some(name.to_owned()),
        value: Some(10.0),
        ..Printed::default()
    };
    let number = Published { printed, measured, ..Published::default() };
    let ordering = Some(vec![name.to_owned(), "b".to_owned()]);
    let printed = Printed { place: Some("2.3".to_owned()), ordering, ..Printed::default() };
    vec![number, Published { printed, holds: Some(true), ..Published::default() }]
}

fn environment(name: &str) -> Diagram {
    Diagram {
        client: vec![name.to_owned(), name.to_owned()],
        connection: name.to_owned(),
        server: vec![name.to_owned()],
        storage: vec![vec![name.to_owned()], vec!["b".to_owned()]],
        same_machine: true,
        storage_is_local: false,
    }
}

/// A trial with two seconds of warm-up and so many that were measured.
pub fn trial(index: u32, variant: &str, connections: usize, measured: u64) -> Trial {
    let mut series = Series::default();
    for second in 0..measured + 2 {
        let wave = 1.0 + 0.3 * ((second * 7919) % 13) as f64 / 13.0;
        series.intervals.push(interval(second, connections as f64 * 123.4 * wave));
        series.host.push(host((second + 1) * 1_000_000_000 + 4_000_000, wave));
        series.status.push(StatusSample {
            t_ns: (second + 1) * 1_000_000_000,
            seconds: 1.0,
            checkpoint_age_bytes: Some(second * 1_234_567 % 99_000_000),
            row_lock_waits: Some(second % 7),
            pool_reads: Some(second * 37 % 311),
            ..StatusSample::default()
        });
        let (t_ns, name) = ((second + 1) * 1_000_000_000, variant.to_owned());
        series.collectors.push(CollectorSample { t_ns, name, value: Some(wave), error: None });
    }
    Trial { index, variant: variant.to_owned(), load: LoadPoint::closed(connections), series, ..empty() }
}

fn interval(second: u64, rate: f64) -> Interval {
    let latency_ms = LatencyMs { p50: Some(1e4 / rate), p99: Some(3e4 / rate), ..LatencyMs::default() };
    Interval {
        t_ns: second * 1_000_000_000,
        phase: if second < 2 { Phase::WarmUp } else { Phase::Measure },
        seconds: 1.0,
        transactions: rate as u64,
        rollbacks: 0,
        committed: Default::default(),
        queries: 0,
        statements: Default::default(),
        sent: Default::default(),
        errors: Default::default(),
        retries: 0,
        lost_connections: 0,
        reconnects: 0,
        counts: Default::default(),
        latency_ms,
        response_ms: None,
        loop_cpu_us: 0.0,
        scheduling_lag_ms_max: 0.0,
        completed: None,
        script_us: None,
        missing: 0,
    }
}

fn host(t_ns: u64, wave: f64) -> HostSample {
    let device =
        DeviceSample { t_ns, seconds: 1.0, reads: 30, writes: (300.0 * wave) as u64, busy: 0.4, ..Default::default() };
    HostSample {
        t_ns,
        seconds: 1.0,
        user: 0.4 * wave,
        system: 0.1 * wave,
        iowait: 0.05 * wave,
        devices: [("sda".to_owned(), device)].into(),
        ..HostSample::default()
    }
}

fn empty() -> Trial {
    Trial {
        index: 1,
        variant: String::new(),
        base: String::new(),
        workload: "oltp_read_write".to_owned(),
        parameters: Default::default(),
        cpus: None,
        load: LoadPoint::closed(1),
        round: 1,
        status: TrialStatus::Done,
        why: None,
        caveats: Vec::new(),
        point: None,
        io: None,
        diagnosis: None,
        cost: Cost::default(),
        storage: None,
        phases: Vec::new(),
        restored: None,
        recovery_seconds: None,
        crash: None,
        verifications: Vec::new(),
        settings: Vec::new(),
        durability: Default::default(),
        memory: Default::default(),
        has_seconds: false,
        series: Series::default(),
        latency: None,
    }
}
