//! What watching costs: the CPU time of one second's look at the host, the processes and the server's status, with few
//! and with many connections; and what a run loses if it is watched once more.

use super::{BenchExtent, BenchRow, BenchTarget, PeerComparison, in_turn};
use crate::arena::Arena;
use crate::peers::{DATABASE, PeerLoad, PeerMeasurement, plimsoll};
use anyhow::Context;
use plimsoll_engine::control::Control;
use plimsoll_engine::meter::thread_cpu_ns;
use plimsoll_host::sample::{Sampler, process};
use plimsoll_lab::telemetry::status::StatusReader;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const FEW: usize = 1;
const MANY: usize = 1_000;
/// Looks of one round. The server's CPU time comes in ticks of 10 ms.
const LOOKS: u32 = 200;
/// In a run there is one look a second.
const EVERY: Duration = Duration::from_secs(1);
/// Percent of one core.
const COST: BenchTarget = BenchTarget::AtMost(1.0);

pub fn expected_seconds(pairs: u32, seconds: u64) -> u64 {
    u64::from(pairs) * (2 * seconds + 8) + 10
}

/// CPU time of one look, microseconds.
struct Cost {
    /// Host, processes, control groups; as lines of JSON.
    sampling: f64,
    /// Asking for the status and making a line of it.
    asking: f64,
    /// The server's part of that.
    answering: f64,
}

impl Cost {
    /// Percent of one core at one look a second, the server's part included.
    fn percent(&self) -> f64 {
        (self.sampling + self.asking + self.answering) / 1e6 * 100.0
    }
}

pub fn compare(arena: &Arena, extent: &BenchExtent) -> anyhow::Result<PeerComparison> {
    let title = format!("telemetry on {}: one look a second", arena.label());
    plimsoll::prepare(arena)?;
    let costs = |connections| move || cost(arena, connections);
    let describe =
        |cost: &Cost| format!("{:.0} µs and {:.0} µs in the server", cost.sampling + cost.asking, cost.answering);
    let [few, many] = in_turn(
        &title,
        extent.pairs as usize,
        [("1 connection", &costs(FEW)), ("1,000 connections", &costs(MANY))],
        describe,
    )?;
    let load = PeerLoad { workload: "oltp_point_select", connections: 16, seconds: extent.seconds };
    let [once, twice] = in_turn(
        "point-select, watched once and twice",
        extent.pairs as usize,
        [("once", &|| plimsoll::run(arena, &load)), ("twice", &|| watched(arena, &load))],
        PeerMeasurement::to_string,
    )?;
    let rate = |who: &str, all: &[PeerMeasurement]| {
        BenchRow::new(
            format!("queries/s, watched {who}"),
            0,
            all.iter().map(|measured| measured.transactions_per_second),
        )
    };
    let (once, twice) = (rate("once", &once), rate("twice", &twice));
    let percent =
        |who: &str, all: &[Cost]| BenchRow::new(format!("% of one core, {who}"), 3, all.iter().map(Cost::percent));
    let (few_percent, many_percent) = (percent("1 connection", &few), percent("1,000", &many).with_target(COST));
    let findings = vec![many_percent.finding("telemetry-cost", arena)];
    let mut rows = Vec::new();
    for (who, all) in [("1 connection", &few), ("1,000 connections", &many)] {
        let row =
            |what: &str, of: fn(&Cost) -> f64| BenchRow::new(format!("{what}, {who}: CPU µs"), 0, all.iter().map(of));
        rows.push(row("host and processes", |cost| cost.sampling));
        rows.push(row("status, asking", |cost| cost.asking));
        rows.push(row("status, answering", |cost| cost.answering));
    }
    let ratio = BenchRow::ratio("queries/s: watched twice ÷ once", &twice, &once);
    rows.extend([few_percent, many_percent, once, twice, ratio]);
    let notes = vec![
        "every run is watched; the cost of it shows in what one more watcher of the same kind takes away".to_owned(),
        "the context switches of the server's threads, at the edges of a window only, are not in it".to_owned(),
    ];
    Ok(PeerComparison { title, rows, findings, notes, ..PeerComparison::default() })
}

/// Looks again and again while so many connections are open.
fn cost(arena: &Arena, connections: usize) -> anyhow::Result<Cost> {
    arena.go_on()?;
    let open = |_| Control::open(&arena.endpoint(DATABASE)).context("opening a connection that stays idle");
    let _idle = (0..connections).map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let mut sampler = Sampler::new(Some(arena.pid()));
    let begun_ns = thread_cpu_ns();
    for look in 0..LOOKS {
        let sample = sampler.sample(look.into());
        serde_json::to_vec(&sample.host)?;
        serde_json::to_vec(&sample.server)?;
    }
    let sampling_ns = thread_cpu_ns() - begun_ns;
    let mut reader = StatusReader::open(&arena.endpoint(DATABASE))?;
    let server_us = || process(arena.pid(), 0).map(|sample| sample.cpu_us()).context("the server is gone");
    let (begun_ns, begun_us) = (thread_cpu_ns(), server_us()?);
    for look in 0..LOOKS {
        serde_json::to_vec(&reader.sample(look.into())?)?;
    }
    let asking_ns = thread_cpu_ns() - begun_ns;
    let answering_us = server_us()? - begun_us;
    let looks = f64::from(LOOKS);
    Ok(Cost {
        sampling: sampling_ns as f64 / 1e3 / looks,
        asking: asking_ns as f64 / 1e3 / looks,
        answering: answering_us as f64 / looks,
    })
}

/// A run with a second watcher beside its own.
fn watched(arena: &Arena, load: &PeerLoad) -> anyhow::Result<PeerMeasurement> {
    let (stop, stopped) = mpsc::channel::<()>();
    let mut sampler = Sampler::new(Some(arena.pid()));
    let endpoint = arena.endpoint(DATABASE);
    let watcher = thread::spawn(move || -> anyhow::Result<()> {
        let mut reader = StatusReader::open(&endpoint)?;
        while stopped.recv_timeout(EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
            let sample = sampler.sample(0);
            serde_json::to_vec(&sample.host)?;
            serde_json::to_vec(&reader.sample(0)?)?;
        }
        Ok(())
    });
    let measured = plimsoll::run(arena, load);
    drop(stop);
    watcher.join().map_err(|_| anyhow::anyhow!("the second watcher panicked"))??;
    measured
}
