//! This machine's own ceiling as a load generator: one loop against a null server in this process, which
//! answers every statement with the same row at once.

use crate::error::LabError;
use crate::null_server::NullServer;
use jiff::Timestamp;
use plimsoll_data::target::private_endpoint;
use plimsoll_engine::{LoopEvent, Protocol, Run, RunSpec};
use plimsoll_host::Home;
use plimsoll_host::facts::host_facts;
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::Limit;
use plimsoll_measures::estimates::{Around, Seconds};
use plimsoll_model::Estimate;
use plimsoll_model::Metric;
use plimsoll_model::samples::Phase;
use plimsoll_watch::Watcher;
use plimsoll_workloads::null::Null;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

const CONNECTIONS: usize = 64;
const LOOK: Duration = Duration::from_millis(50);
/// A row as `oltp_point_select` reads it: one CHAR(120).
const VALUE: &[u8] = &[b'0'; 119];

/// The result, as in `<home>/calibration.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    pub queries_per_second: f64,
    pub cpu_us_per_query: f64,
    pub connections: usize,
    pub seconds: f64,
    pub measured: Timestamp,
    pub estimates: CalibrationEstimates,
    cpu_model: Option<String>,
    cpus: usize,
}

/// How far the two means of a [`Calibration`] can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationEstimates {
    pub queries_per_second: Estimate,
    pub cpu_us_per_query: Estimate,
}

fn file(home: &Home) -> PathBuf {
    home.path().join("calibration.json")
}

/// The result of an earlier calibration of this very machine.
pub fn read(home: &Home) -> Option<Calibration> {
    let text = std::fs::read_to_string(file(home)).ok()?;
    let found: Calibration = serde_json::from_str(&text).ok()?;
    let host = host_facts(home.path());
    (found.cpu_model == host.cpu_model && found.cpus == host.cpus).then_some(found)
}

/// Measures for `seconds` after a short warm-up, and keeps the result.
pub fn calibrate(home: &Home, seconds: f64, watcher: &mut dyn Watcher) -> Result<Calibration, LabError> {
    let socket = home.socket(&format!("null-{}", std::process::id()))?;
    let null_server = NullServer::listen(&socket, |_| &[&[Some(VALUE)]])?;
    let ns = |seconds: f64| (seconds * 1e9) as u64;
    let spec = RunSpec {
        endpoint: private_endpoint(&socket),
        connections: CONNECTIONS,
        loops: 1,
        arrivals: Arrivals::Closed,
        limit: Limit::Time(ns(seconds)),
        warmup_ns: ns(0.5),
        seed: 1,
        protocol: Protocol::Prepared,
        outage_limit_ns: ns(10.0),
        ignore_errors: Vec::new(),
        private: true,
        ask: None,
        part: None,
        commits: None,
    };
    let run = Null.begin(spec);
    let counted = count(&run, watcher);
    run.finish();
    drop(null_server);
    let seconds = counted?;
    let nothing = || LabError::Environment("no statement was answered during the calibration".to_owned());
    let queries_per_second = seconds.mean(Metric::QueriesPerSecond).ok_or_else(nothing)?;
    let cpu_us_per_query = seconds.mean(Metric::ClientCpuUsPerQuery).ok_or_else(nothing)?;
    let host = host_facts(home.path());
    let calibration = Calibration {
        queries_per_second: queries_per_second.value,
        cpu_us_per_query: cpu_us_per_query.value,
        connections: CONNECTIONS,
        seconds: seconds.length(),
        measured: Timestamp::now(),
        estimates: CalibrationEstimates { queries_per_second, cpu_us_per_query },
        cpu_model: host.cpu_model,
        cpus: host.cpus,
    };
    let text = serde_json::to_string_pretty(&calibration).unwrap_or_default();
    let kept = std::fs::write(file(home), text);
    kept.map_err(|error| LabError::Environment(format!("cannot write {}: {error}", file(home).display())))?;
    Ok(calibration)
}

/// The seconds of the measured window.
fn count(run: &Run, watcher: &mut dyn Watcher) -> Result<Seconds, LabError> {
    let mut seconds = Seconds::default();
    loop {
        match run.next(LOOK) {
            Some(LoopEvent::Ready(_)) => {
                run.start();
            }
            Some(LoopEvent::Interval(tally)) if tally.phase == Phase::Measure => {
                seconds.add(&tally, &run.facts.names, &Around { loops: 1, edges: None, host: None });
            }
            Some(LoopEvent::Interval(_)) | None => {}
            Some(LoopEvent::Drained(_)) => return Ok(seconds),
            Some(LoopEvent::Failed(reason)) => return Err(LabError::Environment(reason.to_string())),
        }
        if watcher.interrupted() {
            return Err(LabError::Interrupted);
        }
        if run.ended() > 0 {
            return Err(LabError::Environment("an event loop ended unexpectedly".to_owned()));
        }
    }
}
