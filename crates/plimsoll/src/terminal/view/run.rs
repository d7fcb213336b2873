//! A run: its load points, one after the other.

use super::super::line::{Style, TerminalLine};
use super::super::tty::Room;
use super::bar::with_bar;
use super::doing::Doing;
use super::pulse::Pulse;
use plimsoll_model::LoadPoint;
use plimsoll_model::number::duration;
use plimsoll_model::samples::{AgentSample, HostSample, Interval, ServerSample};
use plimsoll_plan::RunPlan;
use plimsoll_plan::plan::Measure;
use std::time::Instant;

#[derive(Clone, Debug)]
pub struct RunView {
    workload: String,
    warmup_seconds: f64,
    /// None if a number of transactions ends it.
    measure_seconds: Option<f64>,
    /// From 1, over all rounds.
    place: usize,
    of: usize,
    /// Load points of a round, where there are several rounds.
    in_round: Option<usize>,
    point: LoadPoint,
    /// How far the load has come, in seconds, and when that was told.
    reached: Option<(f64, Instant)>,
    pulse: Pulse,
}

impl RunView {
    pub fn new(plan: &RunPlan, place: usize, of: usize, point: LoadPoint) -> RunView {
        let in_round = Some(plan.points.len()).filter(|points| *points > 0 && of > *points);
        let measure_seconds = match plan.measure {
            Measure::Seconds(seconds) => Some(seconds),
            Measure::Events(_) | Measure::EventsPerConnection(_) => None,
        };
        RunView {
            workload: plan.workload.clone(),
            warmup_seconds: plan.warmup_seconds,
            measure_seconds,
            place,
            of,
            in_round,
            point,
            reached: None,
            pulse: Pulse::default(),
        }
    }

    /// The next load point; its curves continue those of the one before.
    pub fn next(&mut self, place: usize, point: LoadPoint) {
        (self.place, self.point, self.reached) = (place, point, None);
        self.pulse.begin();
    }

    pub fn add(&mut self, interval: &Interval, host: Option<&HostSample>, server: Option<&ServerSample>) {
        self.reached = Some((interval.t_ns as f64 / 1e9 + interval.seconds, Instant::now()));
        self.pulse.add(interval, host, server);
    }

    pub fn agent(&mut self, sample: &AgentSample) {
        self.pulse.agent(sample);
    }

    pub fn lines(&self, doing: Option<&Doing>, now: Instant, room: Room) -> Vec<TerminalLine> {
        let mut lines = vec![self.head(now, room), self.phase(doing, now, room)];
        lines.extend(self.pulse.lines(room));
        lines
    }

    fn head(&self, now: Instant, room: Room) -> TerminalLine {
        let title = TerminalLine::new()
            .with(Style::Bold, &self.workload)
            .with(Style::Plain, &format!("  {}", self.point))
            .with(Style::Dim, &format!("  {}", self.progress()));
        match self.left(now) {
            Some(left) => {
                title.and_right(TerminalLine::new().with(Style::Dim, &format!("about {} left", duration(left))), room)
            }
            None => title,
        }
    }

    /// `load point 2 of 7, round 2 of 3`.
    fn progress(&self) -> String {
        let Some(points) = self.in_round else { return format!("load point {} of {}", self.place, self.of) };
        let before = self.place.saturating_sub(1);
        let (round, rounds) = (before / points + 1, self.of.div_ceil(points));
        format!("load point {} of {points}, round {round} of {rounds}", before % points + 1)
    }

    /// Seconds since the load began.
    fn elapsed(&self, now: Instant) -> Option<f64> {
        let (seconds, told) = self.reached?;
        Some(seconds + now.saturating_duration_since(told).as_secs_f64())
    }

    /// How long the remaining load points take, in seconds.
    fn left(&self, now: Instant) -> Option<f64> {
        let each = self.warmup_seconds + self.measure_seconds?;
        let this = (each - self.elapsed(now).unwrap_or(0.0)).max(0.0);
        Some(this + each * self.of.saturating_sub(self.place) as f64)
    }

    fn phase(&self, doing: Option<&Doing>, now: Instant, room: Room) -> TerminalLine {
        let Some(elapsed) = self.elapsed(now) else {
            return doing.map_or(TerminalLine::new().with(Style::Plain, "connecting"), |doing| doing.line(now, room));
        };
        let (name, at, of) = match elapsed < self.warmup_seconds {
            true => ("warming up", elapsed, Some(self.warmup_seconds)),
            false => ("measuring", elapsed - self.warmup_seconds, self.measure_seconds),
        };
        phase_line(name, at, of, room)
    }
}

/// A phase that has lasted `at` seconds, and of how many if that is known.
pub fn phase_line(name: &str, at: f64, of: Option<f64>, room: Room) -> TerminalLine {
    let line = TerminalLine::new().with(Style::Plain, name);
    let Some(of) = of.filter(|of| *of > 0.0) else { return line.with(Style::Dim, &format!("  {at:.0} s")) };
    let at = at.min(of);
    with_bar(line.with(Style::Dim, &format!("  {at:.0} of {of:.0} s")), at / of, "", room)
}
