//! What a load is doing now, and did in the last minute.

use super::super::line::{Style, TerminalLine};
use super::super::tty::Room;
use super::agents::Agents;
use super::sparkline::{Alphabet, sparkline};
use plimsoll_model::number::{in_percent, number, short};
use plimsoll_model::samples::{AgentSample, HostSample, Interval, Phase, ServerSample};
use std::collections::VecDeque;

/// Seconds that are shown at most.
const SHOWN: usize = 60;
/// Room needed to show what the height of a sparkline means.
const WORTH_A_SCALE: usize = 72;
/// A wait for storage below this share is not mentioned.
const WORTH_A_WAIT: f64 = 0.05;

#[derive(Clone, Debug, Default)]
pub struct Pulse {
    seconds: VecDeque<Second>,
    host: Option<HostSample>,
    /// The last two samples.
    server: (Option<ServerSample>, Option<ServerSample>),
    errors: u64,
    reconnects: u64,
    dropped: u64,
    agents: Agents,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Second {
    transactions_per_second: f64,
    queries_per_second: f64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
    is_warm_up: bool,
    /// The latencies count from when transactions were due.
    is_response: bool,
}

impl Second {
    fn of(interval: &Interval) -> Second {
        let per_second = |count: u64| if interval.seconds > 0.0 { count as f64 / interval.seconds } else { 0.0 };
        // If transactions have due times, latency counts from then.
        let latency = interval.response_ms.unwrap_or(interval.latency_ms);
        Second {
            transactions_per_second: per_second(interval.transactions),
            queries_per_second: per_second(interval.queries),
            p50_ms: latency.p50,
            p95_ms: latency.p95,
            p99_ms: latency.p99,
            is_warm_up: interval.phase == Phase::WarmUp,
            is_response: interval.response_ms.is_some(),
        }
    }
}

impl Pulse {
    /// The number of lines that it takes.
    pub const LINES: usize = 4;

    pub fn add(&mut self, interval: &Interval, host: Option<&HostSample>, server: Option<&ServerSample>) {
        if self.seconds.len() == SHOWN {
            self.seconds.pop_front();
        }
        self.seconds.push_back(Second::of(interval));
        self.host = host.cloned();
        self.server = (self.server.1, server.copied());
        self.errors += interval.error_count();
        self.reconnects += interval.reconnects;
        self.dropped += interval.counts.dropped;
    }

    pub fn agent(&mut self, sample: &AgentSample) {
        self.agents.add(sample);
    }

    /// Another load begins; what went wrong in the previous one is told elsewhere.
    pub fn begin(&mut self) {
        (self.errors, self.reconnects, self.dropped) = (0, 0, 0);
        self.server = (None, None);
        self.agents = Agents::default();
    }

    pub fn lines(&self, room: Room) -> Vec<TerminalLine> {
        let Some(last) = self.seconds.back() else { return Vec::new() };
        let throughput = |second: &Second| Some(second.transactions_per_second);
        let p99 = |second: &Second| second.p99_ms;
        let rate = number(last.transactions_per_second, 0);
        let mut lines = vec![
            self.curve("tps", rate, "/s", Style::Green, throughput, room),
            self.curve("p99", told(last.p99_ms), "ms", Style::Blue, p99, room),
            self.details(last),
        ];
        lines.extend(self.machine());
        lines.extend(self.agents.line());
        lines
    }

    /// A name, the last value, and the values before it; those of a warm-up are dim.
    fn curve(
        &self,
        name: &str,
        value: String,
        unit: &str,
        style: Style,
        of: impl Fn(&Second) -> Option<f64>,
        room: Room,
    ) -> TerminalLine {
        let mut line = TerminalLine::quantity(name, &value, unit);
        let top = self.seconds.iter().filter_map(&of).fold(0.0, f64::max);
        let scale = if room.columns >= WORTH_A_SCALE { format!("  max {} {unit}", short(top)) } else { String::new() };
        let columns = room.columns.saturating_sub(1 + line.width() + scale.len()).min(SHOWN);
        let end = line.width() + columns;
        let shown: Vec<&Second> = self.seconds.iter().skip(self.seconds.len().saturating_sub(columns)).collect();
        let alphabet = if room.unicode { Alphabet::Blocks } else { Alphabet::Ascii };
        for alike in shown.chunk_by(|a, b| a.is_warm_up == b.is_warm_up) {
            let style = if alike.first().is_some_and(|second| second.is_warm_up) { Style::Dim } else { style };
            line = line.with(style, &sparkline(alike.iter().map(|second| of(second)), top, alphabet));
        }
        line.padded_to(end).with(Style::Dim, &scale)
    }

    fn details(&self, last: &Second) -> TerminalLine {
        let response = if last.is_response { "response " } else { "" };
        let latency = format!("{response}p50 {} ms · p95 {} ms", told(last.p50_ms), told(last.p95_ms));
        TerminalLine::quantity("qps", &number(last.queries_per_second, 0), "/s")
            .with(Style::Dim, &latency)
            .alerted(self.errors, "error")
            .alerted(self.reconnects, "reconnect")
            .alerted(self.dropped, "dropped arrival")
    }

    /// What the host and the server use.
    fn machine(&self) -> Option<TerminalLine> {
        let host = self.host.as_ref()?;
        let mut said = vec!["of the host".to_owned()];
        if host.iowait >= WORTH_A_WAIT {
            said.push(format!("{} % waiting for storage", in_percent(host.iowait)));
        }
        if let (Some(before), Some(after)) = self.server {
            let seconds = after.t_ns.saturating_sub(before.t_ns) as f64 / 1e9;
            let cpus = after.cpu_us().saturating_sub(before.cpu_us()) as f64 / 1e6 / seconds.max(1e-3);
            said.push(format!("server {} CPUs, {} MB", number(cpus, 1), number(after.resident_bytes as f64 / 1e6, 0)));
        }
        Some(
            TerminalLine::quantity("CPU", &in_percent(host.user + host.system), "%")
                .with(Style::Dim, &said.join(" · ")),
        )
    }
}

fn told(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), short)
}
