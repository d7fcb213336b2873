//! This machine's own ceiling as a load generator: one loop against a null server in this process, which
//! answers every statement with the same row at once.

use crate::error::LabError;
use crate::target::private_endpoint;
use crate::watch::Watcher;
use jiff::Timestamp;
use plimsoll_engine::{LoopEvent, Protocol, Run, RunSpec};
use plimsoll_load::arrivals::Arrivals;
use plimsoll_load::window::Limit;
use plimsoll_model::samples::Phase;
use plimsoll_server::Home;
use plimsoll_server::host::host_facts;
use plimsoll_wire::bytes::put_counted;
use plimsoll_wire::capability::DEPRECATE_EOF;
use plimsoll_wire::{command, frame, server};
use plimsoll_workloads::null::Null;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const CONNECTIONS: usize = 64;
const LOOK: Duration = Duration::from_millis(50);
/// A row as `oltp_point_select` reads it: one CHAR(120).
const ROW_BYTES: usize = 119;

/// What was found, as it stands in `<home>/calibration.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    pub queries_per_second: f64,
    pub cpu_us_per_query: f64,
    pub connections: usize,
    pub seconds: f64,
    pub measured: Timestamp,
    cpu_model: Option<String>,
    cpus: usize,
}

fn file(home: &Home) -> PathBuf {
    home.path().join("calibration.json")
}

/// What an earlier calibration of this very machine found.
pub fn read(home: &Home) -> Option<Calibration> {
    let text = std::fs::read_to_string(file(home)).ok()?;
    let found: Calibration = serde_json::from_str(&text).ok()?;
    let host = host_facts(home.path());
    (found.cpu_model == host.cpu_model && found.cpus == host.cpus).then_some(found)
}

/// Measures for `seconds` after a short warm-up, and keeps the result.
pub fn calibrate(home: &Home, seconds: f64, watcher: &mut dyn Watcher) -> Result<Calibration, LabError> {
    let socket = home.socket(&format!("null-{}", std::process::id()))?;
    let null_server = NullServer::listen(&socket)?;
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
    };
    let run = Run::begin(spec, Arc::new(Null));
    let counted = count(&run, watcher);
    run.finish();
    drop(null_server);
    let (queries, cpu_ns, measured_ns) = counted?;
    if queries == 0 || measured_ns == 0 {
        return Err(LabError::Environment("nothing was answered during the calibration".to_owned()));
    }
    let host = host_facts(home.path());
    let calibration = Calibration {
        queries_per_second: queries as f64 / (measured_ns as f64 / 1e9),
        cpu_us_per_query: cpu_ns as f64 / 1e3 / queries as f64,
        connections: CONNECTIONS,
        seconds: measured_ns as f64 / 1e9,
        measured: Timestamp::now(),
        cpu_model: host.cpu_model,
        cpus: host.cpus,
    };
    let text = serde_json::to_string_pretty(&calibration).unwrap_or_default();
    let kept = std::fs::write(file(home), text);
    kept.map_err(|error| LabError::Environment(format!("cannot write {}: {error}", file(home).display())))?;
    Ok(calibration)
}

/// Queries, CPU and time of the measured window.
fn count(run: &Run, watcher: &mut dyn Watcher) -> Result<(u64, u64, u64), LabError> {
    let (mut queries, mut cpu_ns, mut measured_ns) = (0, 0, 0);
    loop {
        match run.next(LOOK) {
            Some(LoopEvent::Ready { .. }) => {
                run.start();
            }
            Some(LoopEvent::Interval(tally)) if tally.phase == Phase::Measure => {
                queries += tally.counters.queries;
                cpu_ns += tally.counters.loop_cpu_ns;
                measured_ns += tally.end_ns - tally.start_ns;
            }
            Some(LoopEvent::Interval(_)) | None => {}
            Some(LoopEvent::Drained(_)) => return Ok((queries, cpu_ns, measured_ns)),
            Some(LoopEvent::Failed(reason)) => return Err(LabError::Environment(reason.to_string())),
        }
        if watcher.interrupted() {
            return Err(LabError::Interrupted);
        }
        if run.ended() > 0 {
            return Err(LabError::Environment("an event loop ended by itself".to_owned()));
        }
    }
}

/// A server that knows one answer. It listens on a socket of its own, which goes with it.
pub struct NullServer {
    socket: PathBuf,
}

impl NullServer {
    pub fn listen(socket: &Path) -> Result<NullServer, LabError> {
        let failed =
            |error: std::io::Error| LabError::Environment(format!("cannot listen on {}: {error}", socket.display()));
        let listener = UnixListener::bind(socket).map_err(failed)?;
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                // A connection that breaks has had its answers.
                std::thread::spawn(move || serve(stream));
            }
        });
        Ok(NullServer { socket: socket.to_owned() })
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
    }
}

fn serve(mut stream: UnixStream) -> Option<()> {
    let mut out = Vec::new();
    server::put_greeting(&mut out, "8.0.0-null", server::OFFERED, "mysql_native_password", &[7; 20]);
    stream.write_all(&out).ok()?;
    let mut input = vec![0; 16 << 10];
    let mut filled = 0;
    let login = read_packet(&mut stream, &mut input, &mut filled)?;
    let (capabilities, _) = server::parse_login(&login).ok()?;
    let deprecate_eof = capabilities & DEPRECATE_EOF != 0;
    out.clear();
    server::put_ok(&mut out, 2, 0, 0, 2);
    stream.write_all(&out).ok()?;
    let mut row = vec![0, 0];
    put_counted(&mut row, &[b'0'; ROW_BYTES]);
    let mut result = Vec::new();
    server::put_result(&mut result, &[&row], deprecate_eof, 2);
    loop {
        let packet = read_packet(&mut stream, &mut input, &mut filled)?;
        match *packet.first()? {
            command::STMT_PREPARE => {
                out.clear();
                server::put_prepared(&mut out, 1, 0, 1, deprecate_eof);
                stream.write_all(&out).ok()?;
            }
            command::QUIT => return None,
            _ => stream.write_all(&result).ok()?,
        }
    }
}

fn read_packet(stream: &mut UnixStream, input: &mut [u8], filled: &mut usize) -> Option<Vec<u8>> {
    loop {
        if let Some((_, payload)) = frame::split(&input[..*filled]) {
            let payload = payload.to_vec();
            let used = frame::HEADER + payload.len();
            input.copy_within(used..*filled, 0);
            *filled -= used;
            return Some(payload);
        }
        match stream.read(&mut input[*filled..]).ok()? {
            0 => return None,
            count => *filled += count,
        }
    }
}
